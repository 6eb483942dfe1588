"""Programs from numbers: an estimator, a stream and a list of steps, each drawn at random, printed as Python.

python -m tests.fuzz.program 30012          prints a program
python -m tests.fuzz.program 30012 --run    runs it, and prints a smaller one that fails in the same way, if it does
"""

import argparse
import re
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import spoil
from .grid import Choice, expression, family_of, spelled
from .streams import FLAVOURS, GENTLE, NAMES, SCALES, Stream


@dataclass(frozen=True)
class Program:
    """``steps`` are lines of Python about the world ``w``."""

    seed: int
    family: Any
    parameters: dict[str, Any]
    options: dict[str, Any]
    classes: Any
    steps: tuple[str, ...]

    def estimator(self):
        return expression(self.family, self.parameters)

    def text(self):
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        head = f"w = World(\n    {self.estimator()!r},\n    Stream({options}),\n    classes={self.classes!r},\n)"
        return "\n".join(
            [
                "from tests.fuzz.world import Stream, World, inf, small_blocks",
                "",
                "small_blocks()",
                head,
                *self.steps,
                "",
            ]
        )

    def run(self):
        from .world import World, small_blocks

        small_blocks()
        world = World(self.estimator(), Stream(**self.options), classes=self.classes)
        for step in self.steps:
            try:
                eval(step, {"w": world, "inf": np.inf})
            except Exception as error:
                error.add_note(f"in the step {step}")
                raise
        return world


def program(seed):
    """The program of a number."""
    family = family_of(seed)
    pick = Choice(np.random.default_rng(seed))
    parameters = family.parameters(pick)
    options = stream_of(family, pick, seed)
    kernel = parameters.get("kernel")
    if "dict" in options["kinds"] or options["grows"]:
        if kernel is not None:
            parameters["gamma"] = pick.size(-1, 1)
        if options["grows"]:
            parameters["grow_features"] = True
    if options["flavour"] == "planted" and family.learner == "CELLIP":
        parameters |= {"margin": pick.one(0.1, 0.03, 0.01), "radius": pick.one(None, 1.0, 2.0)}
    if options["kinds"] == ("dict",) or options["sets"] or options["numbers"]:
        classes = None
    elif family.closed and options["labels"] > 2:
        classes = NAMES[options["names"]][: options["labels"]]
    else:
        classes = NAMES[options["names"]][: options["labels"]] if pick.maybe(0.5) else None
    return Program(seed, family, parameters, options, classes, tuple(steps_of(family, pick, options)))


def stream_of(family, pick, seed):
    kinds = pick.one(*family.rows)
    flavour = "gram" if family.given else pick.one(*FLAVOURS)
    n = pick.one(5, 12, 25, 40, 60)
    labels = 2 if flavour == "planted" else pick.one(1, 2, 2, 3, 4)
    if family.two or (family.closed and kinds == ("dict",)):
        labels = min(labels, 2)
    if family.sets:
        labels = max(labels, 2)
    if pick.maybe(0.5) or family.gentle or family.given:
        scale = "1" if family.given else pick.one(*GENTLE)
    else:
        scale = pick.one(*SCALES)
    if kinds == ("float32",):
        scale = pick.one("1", "1e-8", "1e8")
    return {
        "seed": seed, "n": n, "width": n if family.given else pick.one(1, 2, 3, 5, 8), "labels": labels,
        "names": pick.one(*(name for name in NAMES if labels <= len(NAMES[name]))), "flavour": flavour,
        "scale": scale, "zeros": pick.one(0.0, 0.0, 0.1, 0.5), "holes": pick.one(0.0, 0.3, 0.8),
        "repeats": pick.one(0.0, 0.0, 0.3, 0.9), "late": pick.maybe(0.3), "kinds": kinds,
        "grows": not family.given and kinds in (("dense",), ("csr",)) and pick.maybe(0.2) and family.grows,
        "sets": family.sets, "numbers": family.numbers,
    }  # fmt: skip


def steps_of(family, pick, options):
    """Lines about the world ``w``; learning takes about all rows."""
    left = options["n"]
    if pick.maybe(0.15) and options["kinds"] != ("dict",) and not family.given:
        k = pick.one(3, 8, 20)
        left -= k
        yield f"w.fit({k})"
    while left > 0:
        k = min(left, pick.one(1, 1, 2, 5, 11, 30))
        left -= k
        how = pick.one("partial_fit", "partial_fit", "learn_one", "learn_predict")
        if pick.maybe(0.08):
            yield f"w.interrupt({k}, {round(float(pick.rng.random()), 3)}, {how!r})"
        elif how == "learn_one":
            yield f"w.learn({k}, {how!r})"
        else:
            form = pick.one("plain", "plain", "other order", "strided", "read-only", "list")
            yield f"w.learn({k}, {how!r}, {form!r})"
        yield from between(family, pick, options)
    yield "w.end()"


def between(family, pick, options):
    while pick.maybe(0.55):
        kind = pick.one(
            "predict", "certificates", "compare", "file", "file", "pickle", "deepcopy", "clone", "set_params",
            "refused", "refused", "refused", "third_label",
        )  # fmt: skip
        if kind == "refused":
            what = pick.one("rows", "rows", "labels", "classes", "one")
            tables = {
                "rows": spoil.DICTS if "dict" in options["kinds"] else spoil.ROWS,
                "labels": spoil.SETS if options["sets"] else spoil.NUMBERS if options["numbers"] else spoil.LABELS,
                "classes": spoil.CLASSES,
                "one": ("matrix", "word", "number", "name", "labels", "no label", "half a label", "nan label"),
            }
            how = pick.one("partial_fit", "learn_predict", "fit", "predict", "decision_function")
            yield f"w.refused({what!r}, {pick.one(*tables[what])!r}, {how!r})"
        elif kind == "set_params":
            fresh = family.parameters(pick)
            names = [name for name in fresh if name not in ("kernel", "gamma", "shape", "random_state", "n_epochs")]
            name = pick.one(*names)
            yield f"w.set_params({name}={spelled(fresh[name])})"
        elif kind == "certificates":
            yield f"w.certificates({int(pick.rng.integers(1000))})"
        elif kind != "third_label" or family.closed:
            yield f"w.{kind}()"


# -- smaller programs ------------------------------------------------------------------------------------------


def fails(candidate):
    """How a program fails, in a few words without numbers, or None."""
    try:
        candidate.run()
    except Exception as error:
        words = re.split(r"[\d:=(\[]", f"{type(error).__name__} {error}")[0].split()
        return " ".join(words[:7])
    return None


def shrunk(candidate, fails: Callable[[Program], str | None] = fails):
    """A program with fewer steps, parameters and oddities that fails in the same way."""
    how, again = fails(candidate), True
    while again:
        again = False
        for smaller in smaller_ones(candidate):
            if fails(smaller) == how:
                candidate, again = smaller, True
                break
    return candidate


PLAIN = {"scale": "1", "zeros": 0.0, "holes": 0.0, "repeats": 0.0, "late": False, "names": "int", "flavour": "blobs"}


def smaller_ones(big):
    for number in range(len(big.steps)):
        yield replace(big, steps=big.steps[:number] + big.steps[number + 1 :])
    for name in big.parameters:
        if name not in ("kernel", "random_state", "grow_features"):
            yield replace(big, parameters={key: value for key, value in big.parameters.items() if key != name})
    for name, value in PLAIN.items():
        if big.options[name] != value and not (name == "flavour" and big.options[name] == "gram"):
            yield replace(big, options={**big.options, name: value}, classes=None if name == "names" else big.classes)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("--run", action="store_true")
    given = parser.parse_args(arguments)
    found = program(given.seed)
    print(found.text())
    if not given.run:
        return 0
    try:
        found.run()
    except Exception:
        traceback.print_exc()
        print(f"\nA smaller program that fails:\n\n{shrunk(found).text()}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
