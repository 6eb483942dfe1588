"""All that a model has learned, as one value that can be compared: learners, and what is wrapped around them."""

from ellipsoid.estimators.files import container, saving

from ..estimators.conftest import bits
from ..estimators.conftest import everything as learned


def started(model):
    return model.__sklearn_is_fitted__()


def unwrapped(model):
    """The learner that has learned, without what is around it; of a committee, its first member."""
    if "learners" in vars(model):
        return unwrapped(model.learners_[0])
    return unwrapped(model.learner_) if "learner" in vars(model) else model


def everything(model):
    if "learners" in vars(model):
        return committee(model) if started(model) else None
    if "learner" not in vars(model):
        return learned(model)
    if not started(model):
        return None
    if "calibration_" in vars(model):
        found = model.calibration_
        scalars, arrays = {"forget": found.forget}, {"table": found.table, "spread": found.spread}
    elif "conformity_" in vars(model):
        found = model.conformity_
        scalars, arrays = {"threshold": found.threshold}, found.state()
    else:
        scalars, arrays = model.scaler_.state()
    own = scalars, {name: bits(array) for name, array in arrays.items()}
    return {**everything(model.learner_), type(model).__name__: own}


def committee(model):
    """The members, their weights and the counts of all together."""
    members = [everything(member) for member in model.learners_]
    names = [member.pop("features") for member in members]
    council = model._core
    arrays = {"tally": council.tally, **council.mixture.state()}
    return {
        "features": names[0],
        "members": dict(enumerate(members)),
        "own": {name: bits(array) for name, array in arrays.items()},
    }


def content(model):
    """What a file of the model would hold, or all of its state where no file can hold its parameters."""
    if not started(model):
        return {name: repr(value) for name, value in vars(model).items()}
    try:
        return container.encode(*saving.describe(model))
    except ValueError as error:
        if "cannot be written to a model file" not in str(error):
            raise
        return everything(model)


def check_unchanged(model, before, told):
    assert content(model) == before, f"something has changed: {told}"


def difference(one, other, where="model"):
    """The first place where two states differ, or None."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in [*one, *(key for key in other if key not in one)]:
            if key not in one or key not in other:
                return f"{where}[{key!r}] is in one of them only"
            if found := difference(one[key], other[key], f"{where}[{key!r}]"):
                return found
        return None
    if one == other:
        return None
    return f"{where}: {str(one)[:300]} and {str(other)[:300]}"
