"""An entry small enough to run many times; executed as a script it runs itself and is killed on the way."""

import os
import signal
import sys
from functools import partial
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))  # run as a script it is alone

from reproductions.cuts import some_of_each_class
from reproductions.entry import Entry, Experiment, Missing, Quick, Spec
from reproductions.report import Curve, Panel, Report, Table, shown
from reproductions.run import reproduce

from ellipsoid.evaluate.cell import Protocol
from ellipsoid.streams.sets.datasets import load

LEARNERS = {"Perceptron": Spec("Perceptron", {}), "MIRA": Spec("MIRA", {"margin": 0.1})}


def experiments():
    protocol = Protocol(passes=2, seeds=(0, 1))
    digits = partial(some_of_each_class, "digits", range(10), 20, 10)
    return [
        Experiment("digits", digits, LEARNERS, protocol),
        Experiment("nowhere", partial(load, "no-such-set"), LEARNERS, protocol),
        Experiment("scaled digits", digits, LEARNERS, Protocol(passes=2, seeds=(0,), scale="unit")),
    ]


def report(results):
    lines = [(learner, shown(results.spread("digits", learner, "test_errors"))) for learner in LEARNERS]
    curves = [
        Curve(learner, [1, 2], [results.spread("digits", learner, "updates", k)[0] for k in (1, 2)])
        for learner in LEARNERS
    ]
    return Report("A lead.", ["A verdict."], [Table("<Digits>", ("learner", "error %"), lines)],
                  [Panel("digits", "passes", "updates", curves)], ["A choice."])  # fmt: skip


TINY = Entry(
    "tiny", "A tiny table", "Nobody, Nowhere, 2000", experiments, report, Quick(100, 50, 1, ("scaled",)),
    (Missing("splice", "its split is not published"),),
)  # fmt: skip


def killed_after(cells):
    def progress(done, total):
        if done >= cells * 400:
            os.kill(os.getpid(), signal.SIGKILL)

    return progress


if __name__ == "__main__":
    reproduce(TINY, Path(sys.argv[1]), progress=killed_after(int(sys.argv[2])))
