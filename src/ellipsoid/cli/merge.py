"""``ellipsoid merge``: merge the models of several files, which learned different rows, into one."""

from typing import Any

import click

from .inputs import Inputs
from .reading import NONEMPTY_TEXT, NewFile, refuse_missing, refuse_overwriting
from .startup import import_libraries
from .summary import absolute_error_on, error_on, labels_asked, show_proof
from .terminal import show_certificates, show_table


@click.command(name="merge", short_help="Merge models that were learned separately.")
@click.argument("models", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False), metavar="MODEL...")
@click.option("--save", "target", required=True, type=NewFile(dir_okay=False), help="Write the merged model here.")
@click.option(
    "--weights", type=click.Choice(["uniform", "mistakes", "updates"]), default="uniform",
    help="How much each model counts: all the same, or in proportion to its mistakes or updates.",
)  # fmt: skip
@click.option("--validate", type=NONEMPTY_TEXT, metavar="DATA", help="Show the error of each model on these rows.")
def command(models: tuple[str, ...], target: str, weights: str, validate: str | None) -> None:
    """Merge the models of several files, which were learned separately from different rows of the same kind.

    They must be of one class, with the same parameters, labels and features: announce the labels of each by --classes
    when it is learned. Prints the certificates that hold for the result.
    """
    refuse_overwriting("--save", target, (*models, validate))
    import_libraries()
    from sklearn.base import is_regressor

    from ellipsoid.estimators.files.saving import save
    from ellipsoid.estimators.loading import open_model
    from ellipsoid.merging import merge
    from ellipsoid.streams.atomic import check_folder

    check_folder(target)
    refuse_missing([validate])
    opened = [open_model(name) for name in models]
    position = joined_position(models, [content.header["stream"] for _, content in opened])
    try:
        model = merge([model for model, _ in opened], weights=weights)
    except ValueError as error:
        raise ValueError(str(error).replace("with classes= at the first call", "with --classes")) from error
    save(model, target, stream=None if position is None else position.record())
    lines = [("learner", repr(model)), ("models", f"{len(models)}, of {model.t_:,} rows in all"), *labels_asked(model)]
    if validate:
        columns = None if position is None else position.columns
        how = {} if position is None else position.options()
        for name, each in [*zip(models, (model for model, _ in opened), strict=True), ("merged", model)]:
            inputs = Inputs(
                (validate,),
                columns,
                of_classes=not is_regressor(each),
                n_features=each.n_features_in_,
                extra="drop",
                **how,
            )
            if is_regressor(each):
                lines.append((f"error of {name}", absolute_error_on(each, inputs)))
                continue
            try:
                wrong, count = error_on(each, inputs)
            except ValueError as error:
                advice = "name the column of the labels by label, or learn numbers with a regressor"
                raise ValueError(str(error).replace(advice, "the labels must stand in the last column")) from error
            lines.append((f"error of {name}", f"{100 * wrong / max(1, count):.2f} % (of {count:,} rows)"))
    lines.append(("saved in", target))
    show_table(("", ""), lines, words=(0, 1))
    show_certificates(model)
    show_proof(model)


def joined_position(names: tuple[str, ...], records: list[Any]) -> Any:
    """The streams of all files as one, one after another; None where a file has no record of its stream."""
    from ellipsoid.evaluate.position import KEPT, Position

    if any(record is None for record in records):
        return None
    found = [Position.read(record) for record in records]
    first = found[0]
    for name, other in zip(names[1:], found[1:], strict=True):
        for option in ("columns", "zero_based", "bits"):
            if getattr(other, option) != getattr(first, option):
                raise ValueError(
                    f"{names[0]} and {name} have learned features with different meanings: {option} is "
                    f"{getattr(first, option)!r} in one and {getattr(other, option)!r} in the other"
                )
    kept = {option: getattr(first, option) for option in KEPT}
    joined = Position([], [], columns=first.columns, complete=True, **kept)
    for each in found:
        joined.inputs += each.inputs
        joined.heads += each.heads
        joined.missing = joined.missing or each.missing
        joined.rows, joined.errors = joined.rows + each.rows, joined.errors + each.errors
    return joined
