"""Options of `ellipsoid learn` that would have no effect are refused, with what to give instead."""

import pytest

from .conftest import run


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "(or '--resume', to go on with a saved model). To begin with, try EllipsoidClassifier."),
        (("--model", "MIRA", "--param", "n_epochs=5"), "rows are learned as they come: use --epochs."),
        (("--model", "MIRA", "--param", "shuffle=true"), "rows are learned as they come: use --shuffle."),
        (("--model", "MIRA", "--param", "early_stopping=true"), "rows are learned as they come: leave it out."),
    ],
)
def test_parameters_of_fit_are_refused(options, message):
    assert message in run("learn", "digits", *options, code=2).stderr
