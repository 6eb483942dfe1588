"""A committee as a model file: the header of each member, and their arrays under names that begin with its number."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ellipsoid.engine import tally as tallies
from ellipsoid.representation.table_protocol import StoredArrays
from ellipsoid.streams.label_kinds import plain

Described = tuple[dict[str, Any], StoredArrays]


def describe_committee(
    model: Any, describe: Callable[[Any], Described], params: Callable[[Any], dict[str, Any]]
) -> Described:
    """The header and the arrays of a committee; ``describe`` gives those of a member."""
    council = model._learned()
    headers, arrays = [], {"tally": tallies.trimmed(council.tally)}
    for number, member in enumerate(council.members):
        header, parts = describe(member)
        headers.append(header)
        arrays |= {f"{number}.{name}": array for name, array in parts.items()}
    arrays |= {f"committee_{name}": array.copy() for name, array in council.mixture.state().items()}
    if council.ahead.any():
        arrays["ahead"] = council.ahead.copy()
    own, started = params(model.get_params(deep=False)), params(council.started)
    header = {
        "class": "Committee",
        "params": own,
        "started": None if started == own else started,
        "labels": [plain(value) for value in council.labels.values],
        "features": headers[0]["features"],
        "names": headers[0]["names"],
        "state": {},
        "scaler": None,
        "stream": None,
        "members": headers,
    }
    return header, arrays


def read_committee(
    header: dict[str, Any], arrays: StoredArrays, read: Callable[[Any, StoredArrays], Any], values: Callable[[Any], Any]
) -> Any:
    """The committee of a file; ``read`` makes a member of its header and arrays."""
    from sklearn.base import clone

    from ..wrappers.committee import Committee
    from ..wrappers.council import Council
    from ..wrappers.mixture import Mixture

    headers = header["members"]
    if not isinstance(headers, list) or not headers:
        raise ValueError("it holds a committee without members")
    members = []
    for number, own in enumerate(headers):
        parts = {
            name.removeprefix(f"{number}."): array for name, array in arrays.items() if name.startswith(f"{number}.")
        }
        members.append(read({**own, "stream": None}, parts))
    model = Committee(**_completed(values(header["started"] or header["params"]), members))
    share, rate = model._speeds()
    council = Council(members, Mixture(len(members), share, rate), model.mix == "votes")
    council.started = model.get_params(deep=False)
    council.mixture.restore(
        {name.removeprefix("committee_"): array for name, array in arrays.items() if name.startswith("committee_")}
    )
    council.tally[:] = arrays["tally"]
    council.ahead[:] = arrays.get("ahead", 0)
    for member, ahead in zip(members, council.ahead.tolist(), strict=True):
        same = member.classes_.tolist() == members[0].classes_.tolist() and member.t_ == council.rounds + ahead
        if not same or member.n_features_in_ != members[0].n_features_in_:
            raise ValueError("the members of its committee have not learned the same rows")
    model._keep(council)
    own = _completed(values(header["params"]), [clone(member) for member in members])
    return model.set_params(**own)


def with_total(arrays: StoredArrays) -> StoredArrays:
    """The arrays of a file; one from before committees added up weights of rows, and had a least share, gets both."""
    if "committee_counts" not in arrays:
        return arrays
    from ..inputs.weights import LARGEST_WEIGHT
    from ..wrappers.mixture import COUNTED, LEAST_SHARE, TOTAL

    counts, weights = arrays["committee_counts"], arrays["committee_weights"]
    if counts.shape != (TOTAL,):
        return arrays
    most = LARGEST_WEIGHT if arrays["tally"][tallies.WEIGHED] else 1.0
    held = np.maximum(weights, LEAST_SHARE / max(1, weights.size))
    return {**arrays, "committee_counts": np.append(counts, most * counts[COUNTED]), "committee_weights": held}


def _completed(params: dict[str, Any], members: list[Any]) -> dict[str, Any]:
    """Parameters with the learners that a file only says were given."""
    given = params.get("learners")
    if given not in (None, "given"):
        raise ValueError("its learners are neither the usual ones nor given")
    return {**params, "learners": None if given is None else members}


def last_part(name: str) -> str:
    """What an array is called by the model that it is of, be it alone or a member.

    >>> last_part("numbers"), last_part("12.numbers")
    ('numbers', 'numbers')
    """
    return name.rpartition(".")[2]
