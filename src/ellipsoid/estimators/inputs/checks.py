"""Checks of labels and rows as users pass them: their shapes, and which new labels and features are allowed.

Everything here raises ``ValueError`` before anything has changed.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from ellipsoid.streams.label_kinds import in_form_of, label_array

from .labels import Labels, label_sets, unseen
from .rows import RowSource

if TYPE_CHECKING:
    from ..state.learner import Learner

LabelArray = NDArray[Any]


def labels_of(y: Any, rows: int, *, sets: bool) -> LabelArray:
    """``y`` as an array with a label for each row, or with ``sets`` as a 0/1 matrix of label sets."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    labels = label_array(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = label_array(column_or_1d(labels, warn=True))
    if labels.ndim == 2 and sets:
        return label_sets(labels, rows)
    if labels.ndim != 1:
        hint = "; with these parameters this learner takes no label sets; MIRA, PassiveAggressive and AROW do"
        hint = hint if labels.ndim == 2 else ""
        raise ValueError(f"y must be 1-D, one label per example, got shape {labels.shape}{hint}")
    if len(labels) != rows:
        raise ValueError(f"y has {len(labels)} labels for the {rows} rows of X")
    return labels


def all_labels(learner: "Learner", labels: LabelArray) -> list[Any]:
    """The sorted labels of ``fit``, at least two; none where numbers are learned."""
    if learner.numbers:
        return []
    known: list[Any] = list(range(labels.shape[1])) if labels.ndim == 2 else np.unique(labels).tolist()
    if len(known) < 2:
        raise ValueError(f"fit needs at least two classes in y, got one class: {known[0]!r}")
    return known


def new_labels(learner: "Learner", labels: LabelArray, classes: Any, watch: bool) -> list[Any]:
    """The labels that ``classes`` or label sets make known before rows are learned; checks also those of the rows."""
    if learner.numbers:
        if classes is not None:
            raise ValueError(f"a regressor has no classes, got {classes!r}; leave classes out")
        return []
    if labels.ndim == 2 or learner.multilabel:
        return new_columns(learner, labels, classes, watch)
    known = new_classes(learner.labels.values, classes)
    refuse_unknown(learner, known, labels, closed=learner.closed or classes is not None)
    return known


def new_columns(learner: "Learner", sets: LabelArray, classes: Any, watch: bool) -> list[Any]:
    """Columns of label sets to make known now; ``ValueError`` if they contradict the known labels."""
    if watch:
        raise ValueError(
            "learn_predict follows one label per row; use partial_fit and decision_function for label sets"
        )
    if sets.ndim != 2:
        raise ValueError("this learner was started on label sets: y must be a 0/1 matrix, one column per label")
    if classes is not None and label_array(classes, "classes").tolist() != list(range(sets.shape[1])):
        raise ValueError(
            f"the labels of label sets are the columns of y, 0 to {sets.shape[1] - 1}, got classes={classes!r}: "
            "leave classes out, and keep the names of the columns yourself"
        )
    if len(learner.labels) == 0:
        return list(range(sets.shape[1]))
    if not learner.multilabel:
        raise ValueError("this learner was started on single labels: y must be 1-D")
    if sets.shape[1] != len(learner.labels):
        raise ValueError(f"y has {sets.shape[1]} label columns, but this learner knows {len(learner.labels)}")
    return []


def new_classes(known: list[Any], classes: Any) -> list[Any]:
    """Labels of ``classes`` to make known now; ``ValueError`` if they contradict the known labels."""
    if classes is None:
        return []
    array = label_array(classes, "classes")
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(f"classes must be a non-empty 1-D sequence of labels, got {classes!r}")
    given = array.tolist()
    if len(set(given)) != len(given):
        raise ValueError(f"classes must not repeat a label, got {classes!r}")
    if not known:
        return list(given)
    if set(given) != set(known):
        raise ValueError(f"classes={given} differs from the classes of earlier calls: {known}")
    return []


def refuse_unknown(learner: "Learner", known: list[Any], labels: LabelArray, closed: bool) -> None:
    """Refuse labels outside a closed set, or of another kind than those known."""
    table = Labels(known) if known else learner.labels
    for row, label in unseen(table, labels) if len(table) else ():
        if closed:
            raise ValueError(f"row {row} of y holds the label {label!r}, which is not in classes={table.values}")
        first = table.values[0]
        if isinstance(label, str) != isinstance(first, str):
            raise ValueError(
                f"row {row} of y holds the label {label!r}, of another kind than the known label {first!r}"
            )
        in_form_of(first, label)


def rows_that_fit(source: RowSource, core: "Learner | None", name: str, *, growing: bool, learning: bool) -> RowSource:
    """Rows of a width that a learner takes, or ``ValueError``; for prediction without features that are not known."""
    if source.n == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape={(source.n, source.width)}): X must hold at least one example"
        )
    # Sparse rows may begin without a feature: the first of a stream of dicts may be a text without words.
    if source.width == 0 and core is None and not source.sparse:
        raise ValueError(f"0 feature(s) (shape={(source.n, 0)}) while a minimum of 1 is required.")
    if core is None or source.width == core.width:
        return source
    if not growing or (source.width < core.width and not source.sparse):
        growing_helps = not growing and (source.sparse or source.width > core.width)
        raise ValueError(
            f"X has {source.width} features, but {name} is expecting {core.width} features "
            f"as input{'; grow_features=True, set before learning starts, lets it change' if growing_helps else ''}"
        )
    if source.width > core.width and not learning:
        source.check()
        return source.narrowed(core.width)
    started = core.started
    if source.width > core.width and started.get("gamma") == "auto" and started["kernel"] in ("rbf", "poly"):
        raise ValueError(
            f'gamma="auto" is one over the number of features, and X has {source.width} instead of '
            f"{core.width}, which would be another kernel; set gamma to a number if features may be added"
        )
    return source
