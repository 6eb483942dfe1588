"""Export of linear models to other runtimes, as an ONNX graph that predicts the same labels.

    x  ->  (x - mean) / deviation, or x / |x|, if there is a scaler
       ->  scores  W x + b, in double precision
       ->  label   that of the largest score; with two labels the second if the score is positive

Ties must go to the label of the smallest index, as they do here. Equal rows of weights give exactly equal scores in
our loops; a matrix product elsewhere may sum two equal columns in different orders. So the product is made with the
distinct rows of weights, and their scores are copied to the labels that share them.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_regressor

from ellipsoid.streams.atomic import atomic_write

# The operator set with the newest operator that is used.
OPSET = 17
# If a sum of squares is not above this, `UnitNorm` scales the row before it squares.
LEAST_SQUARE = 1e-290


def export_onnx(model: Any, path: Any, *, dtype: Any = np.float64) -> None:
    """Write a learned linear model, with its scaler if it has one, as an ONNX graph.

    The graph has one input ``X`` of the type ``dtype`` (float64 or float32), shape (rows, features), and two outputs:
    ``label`` and ``scores``. It computes in double precision whatever its input is. Needs the package ``onnx``.

    >>> from ellipsoid import MIRA, export_onnx
    >>> model = MIRA().fit([[0.0, 1.0], [1.0, 0.0]], ["north", "east"])
    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "compass.onnx")
    >>> export_onnx(model, path)  # doctest: +SKIP
    """
    try:
        import onnx
    except ImportError as error:
        raise ImportError('export_onnx needs the package onnx: pip install "ellipsoid[onnx]"') from error
    if np.dtype(dtype) not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise ValueError(f"dtype must be float64 or float32, got {dtype!r}")
    if not Path(path).parent.is_dir():
        raise FileNotFoundError(f"the folder of {path} does not exist; create it first")
    doc, model = repr(model), _by_scores(model)
    graph = _Graph(onnx)
    rows = graph.op("Cast", "X", to=onnx.TensorProto.DOUBLE) if np.dtype(dtype) == np.float32 else "X"
    rows = _scaled(graph, rows, model.__dict__.get("scaler_"))
    label = _classifier(graph, rows, model)
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    several = [] if len(model.classes_) == 2 and not label.sets else [len(model.classes_)]
    proto = graph.finish(
        onnx.helper.make_tensor_value_info("X", kind, ["rows", int(model.n_features_in_)]),
        onnx.helper.make_tensor_value_info("label", label.kind, ["rows", *(several if label.sets else [])]),
        onnx.helper.make_tensor_value_info("scores", onnx.TensorProto.DOUBLE, ["rows", *several]),
    )
    proto.doc_string = doc
    with atomic_write(path, "wb") as file:
        file.write(proto.SerializeToString())


def _by_scores(model: Any) -> Any:
    """The learner, or `Scaled`, whose largest score belongs to the label that the model predicts."""
    name = type(model).__name__
    if is_regressor(model):
        raise ValueError(f"only classifiers can be written as ONNX, got {name}")
    if not hasattr(model, "learn_predict"):
        raise ValueError(f"only online learners of this library can be written as ONNX, got {name}")
    while "learner_" in model.__dict__ and "scaler_" not in model.__dict__:
        if "calibration_" in model.__dict__:
            raise ValueError(f"{name} predicts by probabilities, which ONNX cannot store; export its learner_ alone")
        model = model.learner_
    return model


class _Graph:
    """Nodes and constants, each with a unique name."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def op(self, kind: str, *inputs: str, out: str | None = None, **attributes: Any) -> str:
        name = out or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [name], **attributes))
        return name

    def constant(self, value: Any) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def finish(self, rows: Any, label: Any, scores: Any) -> Any:
        helper = self.onnx.helper
        graph = helper.make_graph(self.nodes, "ellipsoid", [rows], [label, scores], self.constants)
        model = helper.make_model(graph, producer_name="ellipsoid", opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = 8  # the version that came with the operator set, for older runtimes
        self.onnx.checker.check_model(model)
        return model


def _scaled(graph: _Graph, rows: str, scaler: Any) -> str:
    if scaler is None:
        return rows
    if hasattr(scaler, "scale_"):
        if scaler._centre:
            rows = graph.op("Sub", rows, graph.constant(scaler.mean_))
        return graph.op("Div", rows, graph.constant(scaler.scale_))
    # As in the scaler: if squares would underflow, the row is first divided by its largest entry; zeros stay zeros.
    largest = graph.op("ReduceMax", graph.op("Abs", rows), axes=[1], keepdims=1)
    zero = graph.op("Equal", largest, graph.constant(np.array([0.0])))
    largest = graph.op("Where", zero, graph.constant(np.array([1.0])), largest)
    squares, small_squares = _squared_norm(graph, rows), _squared_norm(graph, graph.op("Div", rows, largest))
    norm, small = graph.op("Sqrt", squares), graph.op("Mul", largest, graph.op("Sqrt", small_squares))
    norm = graph.op("Where", graph.op("Greater", squares, graph.constant(np.array([LEAST_SQUARE]))), norm, small)
    return graph.op("Div", rows, graph.op("Where", zero, graph.constant(np.array([1.0])), norm))


def _squared_norm(graph: _Graph, rows: str) -> str:
    return graph.op("ReduceSum", graph.op("Mul", rows, rows), graph.constant(np.array([1])), keepdims=1)


class _Label(NamedTuple):
    kind: int
    sets: bool


def _classifier(graph: _Graph, rows: str, model: Any) -> _Label:
    """Add the nodes of scores and labels; returns the type of the labels."""
    core = getattr(model, "learner_", model)._learned()
    try:
        weights, bias = model.coef_, model.intercept_
    except AttributeError as error:
        raise ValueError(f"only linear models can be written as ONNX: {error}") from error
    proto = graph.onnx.TensorProto
    distinct, which = np.unique(np.column_stack([bias, weights]), axis=0, return_inverse=True)
    product = graph.op("MatMul", rows, graph.constant(np.ascontiguousarray(distinct[:, 1:].T)))
    scores = graph.op("Add", product, graph.constant(distinct[:, 0]))
    two = len(core.labels) == 2 and not core.multilabel
    out = "column" if two else "scores"
    scores = graph.op("Gather", scores, graph.constant(which.reshape(-1).astype(np.int64)), axis=1, out=out)
    if two:
        graph.op("Squeeze", scores, graph.constant(np.array([1])), out="scores")
        scores = "scores"
    if core.multilabel or two:
        positive = graph.op("Greater", scores, graph.constant(np.array(0.0)))
        code = graph.op("Cast", positive, to=proto.INT64, **({"out": "label"} if core.multilabel else {}))
        if core.multilabel:
            return _Label(int(proto.INT64), sets=True)
    else:
        code = graph.op("ArgMax", scores, axis=1, keepdims=0, select_last_index=0)
    labels = model.classes_
    if labels.dtype.kind in "UO":
        labels = labels.astype(object)
        kind = proto.STRING
    else:
        kind = graph.onnx.helper.np_dtype_to_tensor_dtype(labels.dtype)
    graph.op("Gather", graph.constant(labels), code, axis=0, out="label")
    return _Label(int(kind), sets=False)
