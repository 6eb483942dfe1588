"""``ellipsoid inspect``: show what a model file holds."""

import os
from typing import Any

import click

from .startup import import_libraries
from .summary import labels_asked, show_proof
from .terminal import show_certificates, show_table


@click.command(name="inspect", short_help="Show what a model file holds.")
@click.argument("model", type=click.Path(exists=True, dir_okay=False))
@click.option("--top", type=click.IntRange(min=0), default=5, help="Features to show for each label.")
def command(model: str, top: int) -> None:
    """Show what the file MODEL holds: the learner, its counts, its arrays, its certificates and its largest weights."""
    import_libraries()
    from ellipsoid.estimators.loading import open_model
    from ellipsoid.evaluate.position import Position
    from ellipsoid.streams.several_files import first_of

    learner, content = open_model(model)
    header = content.header
    position = None if header["stream"] is None else Position.read(header["stream"])
    names = [str(name) for name in header["features"] or header["names"] or (position and position.columns) or []]
    size = os.path.getsize(model)
    lines = [
        ("file", f"{model}, {size:,} bytes, layout version {content.version}, checksum {content.sha256[:16]}… agrees"),
        ("learner", repr(learner)),
        ("seen", f"{learner.t_:,} rows; {_mistakes(learner)}{learner.updates_:,} updates"),
        *labels_asked(learner),
        ("features", f"{learner.n_features_in_:,}{': ' if names else ''}{first_of(names)}"),
        ("labels", first_of([repr(label) for label in header["labels"]]) or "none: it learns numbers"),
    ]
    if header["scaler"] is not None:
        lines.append(("scaler", f"{learner.scaler_!r}{_moments(learner.scaler_)}"))
    if position is not None and position.inputs:
        lines.append(("stream", str(position)))
    show_table(("", ""), lines, words=(0, 1))
    click.echo()
    arrays = [
        (name, str(array.dtype), " x ".join(map(str, array.shape)) or "1", f"{array.nbytes:,}")
        for name, array in sorted(content.arrays.items())
    ]
    show_table(("array", "type", "shape", "bytes"), arrays, words=(0, 1))
    show_certificates(learner)
    show_proof(learner)
    weights = _largest_weights(learner, header["labels"], names, top) if top else []
    if weights:
        click.echo()
        numbering = "" if len(names) == learner.n_features_in_ else ", features counted from 0"
        show_table(("label", f"largest {top} weights{numbering}"), weights, words=(0, 1))


def _mistakes(model: Any) -> str:
    from sklearn.base import is_regressor

    return "" if is_regressor(model) else f"{model.mistakes_:,} mistakes (ties included), "


def _moments(scaler: Any) -> str:
    rows = getattr(scaler, "n_samples_seen_", None)
    return "" if rows is None else f", moments of {rows:,} rows"


def _largest_weights(model: Any, labels: list[Any], names: list[str], top: int) -> list[tuple[str, str]]:
    """For each label its weights of largest size, with the names of their features."""
    import numpy as np

    try:
        weights = model.coef_
    except AttributeError:
        return []  # a kernel model has no weights of features
    if weights.ndim == 1:  # a regressor
        labels, weights = ["number"], weights[None]
    rows = [(labels[1], weights[0])] if len(weights) == 1 and len(labels) == 2 else zip(labels, weights, strict=True)
    lines = []
    for label, row in rows:
        best = [j for j in np.argsort(-np.abs(row), kind="stable")[:top].tolist() if row[j]]
        shown = [f"{names[j] if j < len(names) else f'feature {j}'} {row[j]:+.4g}" for j in best]
        lines.append((str(label), ", ".join(shown)))
    return lines
