"""Model files: safetensors arrays beside one JSON header, versioned and checksummed; loading never runs code.

The header (the ``ellipsoid`` entry of the safetensors metadata) is a JSON object:

    format      1
    class       name of the learner, one of a fixed list
    params      constructor parameters (JSON values; inf as "inf")
    labels      known labels and their kind
    features    names of dict features, or null
    state       scalars of the learner
    checksum    SHA-256 over the arrays (name, type, shape, bytes) and the rest of the header
"""

import hashlib
import json
import os
import tempfile
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

FORMAT = 1


class DamagedModel(ValueError):
    """A file that is not a whole, untampered model of a version this library reads."""


def save(model: Any, path: Any) -> None:
    """Write a learner to ``path``, atomically: a crash leaves the old file whole."""
    from safetensors.numpy import save as serialise

    core = model._learned()
    header: dict[str, Any] = {
        "format": FORMAT,
        "class": type(model).__name__,
        "params": {name: _plain(name, value) for name, value in model.get_params(deep=False).items()},
        "labels": _labels(core.labels.values),
        "features": None if core.features is None else [_name(name) for name in core.features],
        "names": None if not hasattr(model, "feature_names_in_") else [str(n) for n in model.feature_names_in_],
        "state": core.scalars(),
    }
    arrays = {"tally": core.tally, **core.table.state(core.scores)}
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    header["checksum"] = _checksum(header, arrays)
    blob = serialise(arrays, metadata={"ellipsoid": json.dumps(header, sort_keys=True)})
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(blob)
            out.flush()
            os.fsync(out.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load(path: Any) -> Any:
    """Read a learner written by ``save``.

    >>> import tempfile, os
    >>> from ellipsoid import MIRA, load
    >>> model = MIRA().fit([[0.0, 1.0], [1.0, 0.0]], ["north", "east"])
    >>> path = os.path.join(tempfile.mkdtemp(), "compass.model")
    >>> model.save(path)
    >>> str(load(path).predict_one([0.0, 2.0]))
    'north'
    """
    from ellipsoid.batch import OnlineEllipsoidalSVC

    from . import LEARNERS

    header, arrays = _read(Path(path))
    kind = header.get("class")
    known = {**LEARNERS, "OnlineEllipsoidalSVC": OnlineEllipsoidalSVC}
    if not isinstance(kind, str) or kind not in known:
        raise DamagedModel(f"{path} holds a {kind!r}, which this version does not know; it knows {', '.join(known)}")
    try:
        model = known[kind](**{name: _value(value) for name, value in header["params"].items()})
        core = model._start()
        core.restore(header["state"], arrays, _listed(_labels(header["labels"]["values"])["values"]))
        if header["features"] is not None:
            core.features = {_name(name): column for column, name in enumerate(_listed(header["features"]))}
        names = header.get("names")
        for columns in (core.features, names):
            if columns is not None and len(columns) > core.width:
                raise ValueError(f"it names {len(columns)} features and has {core.width}")
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise DamagedModel(f"{path} is not a sound {kind} model: {error}") from error
    model._install(core)
    if names is not None:
        model.feature_names_in_ = np.array([str(name) for name in names], dtype=object)
    return model


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise FileNotFoundError(f"there is no model file {path}")
    try:
        with safe_open(path, framework="numpy") as file:
            header = json.loads((file.metadata() or {})["ellipsoid"])
            version = header["format"]
            if version != FORMAT:
                raise DamagedModel(
                    f"{path} has format {version!r}; this version of ellipsoid reads format {FORMAT}. Update ellipsoid"
                )
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        if isinstance(error, DamagedModel):
            raise
        raise DamagedModel(f"{path} is not a model file of ellipsoid, or is damaged: {error}") from error
    if header.pop("checksum", None) != _checksum(header, arrays):
        raise DamagedModel(f"{path} is damaged: its checksum does not agree with its content")
    return header, arrays


def _checksum(header: dict[str, Any], arrays: dict[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _labels(values: list[Any]) -> dict[str, Any]:
    for label in values:
        if not isinstance(label, str | int | float):
            raise ValueError(f"a model file holds labels that are strings or numbers, not {label!r}")
    return {"values": values}


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"it holds {type(value).__name__} where a list is due")
    return value


def _name(name: Any) -> Any:
    if not isinstance(name, str | int):
        raise ValueError(f"a model file holds feature names that are strings or integers, not {name!r}")
    return name


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value == inf:
        return "inf"
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if name == "random_state":
        return None  # a generator's position is not part of what was learned
    raise ValueError(f"the parameter {name}={value!r} cannot be written to a model file")


def _value(value: Any) -> Any:
    return inf if value == "inf" else value


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
