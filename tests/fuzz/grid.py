"""Every learner with every option: families of estimators that share compiled code, with parameters drawn at random."""

from dataclasses import dataclass

import numpy as np

ROWS = (("dense",), ("csr",), ("dict",))
ALSO_SINGLE = (*ROWS, ("float32",))
SCALES_INTERCEPT = (
    "Perceptron", "PassiveAggressive", "MIRA", "ROMMA", "ALMA", "OnlineSVM", "QuasiAdditive", "AROW", "SCW", "NHERD",
    "SecondOrderPerceptron", "ConfidenceWeighted", "PassiveAggressiveRegressor",
)  # fmt: skip
DENSE_AND_SPARSE = (("dense",), ("csr",))


def measured(A, B):
    """A kernel function: not symmetric, and the same for a pair of rows in whatever matrices they come."""
    A, B = (np.asarray(M.todense()) if hasattr(M, "todense") else M for M in (A, B))
    distances = sum(np.abs(A[:, j : j + 1] - B[:, j]) for j in range(A.shape[1]))
    return (1.0 + 0.1 * np.tanh(A[:, :1])) / (1.0 + distances)


class Choice:
    """Draws from a seeded generator, in words."""

    def __init__(self, rng):
        self.rng = rng

    def one(self, *options):
        return options[int(self.rng.integers(len(options)))]

    def maybe(self, share):
        return bool(self.rng.random() < share)

    def size(self, low, high):
        """A number between two powers of ten."""
        return float(f"{10.0 ** self.rng.uniform(low, high):.3g}")


@dataclass(frozen=True)
class Family:
    """Estimators of one learner. ``draw`` gives parameters; what it does not name has its default.

    ``closed``: three labels must be announced. ``given``: rows are values of a precomputed kernel. ``gentle``: rows of
    usual size only, because kernel values of others are refused. ``around``: what the learner is wrapped in.
    ``numbers``: it learns numbers. ``two``: labels are two at the most.
    """

    name: str
    learner: str
    draw: object
    rows: tuple = DENSE_AND_SPARSE
    programs: int = 100
    closed: bool = False
    sets: bool = False
    given: bool = False
    gentle: bool = False
    around: str | None = None
    grows: bool = True
    numbers: bool = False
    two: bool = False

    def parameters(self, pick):
        common = {
            "fit_intercept": not pick.maybe(0.4),
            "average": pick.maybe(0.4),
            "n_epochs": pick.one(1, 2),
            "shuffle": pick.maybe(0.5),
            "random_state": int(pick.rng.integers(1000)),
            # Rows that are held out need several of each label.
            "early_stopping": False,
            "validation_fraction": 0.1,
            "n_iter_no_change": 5,
            "tol": 1e-3,
        }
        found = {**common, **self.draw(pick)}
        if self.learner in ("Perceptron", "PassiveAggressive", "QuasiAdditive", "OnlineSVM", "AROW"):
            # No draw of its own: the other parameters of a program stay what they were.
            found["class_weight"] = "balanced" if found["random_state"] % 4 == 0 and self.weighs(found) else None
        if self.learner in SCALES_INTERCEPT:
            found["intercept_scaling"] = 0.1 if found["random_state"] % 3 == 0 else 1.0
        if self.learner == "AROW":
            walks = found["shape"] in ("auto", "diagonal") and "kernel" not in found and not found["selective"]
            found["drift"] = (0.0, 1e-6, 1e-3, 0.1)[found["random_state"] % 4] if walks else 0.0
            found["ceiling"] = 2.0 if found["random_state"] % 5 == 0 else 10.0
        if self.learner == "CELLIP":
            found.setdefault("drift", 0.0)
        if self.learner in (
            "Perceptron", "PassiveAggressive", "MIRA", "ROMMA", "ALMA", "OnlineSVM", "PassiveAggressiveRegressor",
            "IELLIP", "AROW", "SecondOrderPerceptron",
        ):  # fmt: skip
            found |= {"device": "cpu", "precision": "double"}
        return found

    def weighs(self, found):
        """Does a learner of these parameters take other weights than 0 and 1, and one label a row?"""
        price = found.get("C", 1.0) < np.inf and found.get("variant", "I") != "hard"
        return price and found.get("trigger", "margin") == "margin" and not self.sets


def kernel(pick, *more):
    name = pick.one("rbf", "poly", *more)
    return {
        "kernel": name,
        "gamma": pick.one("auto", pick.size(-1, 1), pick.size(-1, 1)),
        "degree": pick.one(1, 2, 3),
        "coef0": pick.one(0.0, 1.0),
    }


def given(pick, *more):
    return {"kernel": "precomputed"}


def of_function(pick):
    return {"kernel": measured}


def averaged(pick):
    """A budget, votes or an average: what an expansion can do besides."""
    how = pick.one("budget", "vote", "average", "plain")
    return {"budget": pick.one(1, 2, 5) if how == "budget" else None,
            "average": "vote" if how == "vote" else how == "average"}  # fmt: skip


def budgeted(pick):
    """A budget or an average."""
    how = pick.one("budget", "average", "plain")
    return {"budget": pick.one(1, 2, 5) if how == "budget" else None, "average": how == "average"}


def perceptron(pick):
    return {
        "multiclass": pick.one("uniform", "max", "proportional", "ovr"),
        "margin": pick.one(0.0, 0.0, pick.size(-3, 3)),
    }


def passive_aggressive(pick):
    return {"variant": pick.one("hard", "I", "II"), "C": pick.one(1.0, np.inf, pick.size(-6, 6)),
            "margin": pick.one(1.0, pick.size(-6, 6))}  # fmt: skip


def mira(pick):
    return {"margin": pick.one(0.01, pick.size(-6, 6))}


def romma(pick):
    return {"aggressive": pick.maybe(0.5), "multiclass": pick.one("uniform", "max", "proportional")}


def alma(pick):
    return {"alpha": pick.one(1.0, 0.9, pick.size(-3, 0))}


def powers(pick):
    return {**alma(pick), "p": pick.one(2.5, 3.0, 6.0, 20.0)}


def winnow(pick):
    return {"version": pick.one(1, 2), "eta": pick.size(-3, 1), "balanced": pick.maybe(0.6),
            "multiclass": pick.one("uniform", "max", "proportional"),
            "margin": pick.one(0.0, pick.size(-3, 1))}  # fmt: skip


def euclidean(pick):
    update = pick.one("fixed", "adaptive", "curvature", "exact")
    return {"link": "euclidean", "update": update, "margin": pick.size(-3, 3),
            "C": pick.size(-3, 3) if update in ("fixed", "adaptive") else pick.one(np.inf, pick.size(-3, 3)),
            "multiclass": pick.one("max", "ovr")}  # fmt: skip


def linked(pick):
    link = pick.one("entropy", "balanced", "p-norm")
    found = {**euclidean(pick), "link": link, "p": pick.one(2.0, 3.0, 4.0, 10.0)}
    return found if link == "p-norm" or found["C"] < np.inf else {**found, "C": 1.0}


def online_svm(pick):
    return {"window": pick.one(1, 2, 5, 16, None), "C": pick.one(np.inf, 1.0, pick.size(-3, 3)),
            "margin": pick.one(1.0, pick.size(-3, 3))}  # fmt: skip


def cellip(pick, *shapes):
    return {"margin": pick.one(0.1, 0.01, pick.size(-6, 1)), "a": pick.one(1.0, 1.0, 0.5, 0.1),
            "radius": pick.one(None, None, 1.0, 3.0, 100.0), "cut": pick.one("paper", "minvol"),
            "trigger": pick.one("mistake", "margin", "always"),
            "on_infeasible": pick.one("skip", "freeze", "restart", "raise"),
            "selective": pick.maybe(0.3), "shape": pick.one(*shapes)}  # fmt: skip


def moving(pick):
    """A version space of classifiers that move."""
    return {**cellip(pick, "auto"), "cut": "minvol", "selective": False, "average": False,
            "drift": pick.one(0.001, pick.size(-6, 0))}  # fmt: skip


def tube(pick):
    return {"variant": pick.one("hard", "I", "II"), "C": pick.one(1.0, np.inf, pick.size(-6, 6)),
            "tube": pick.one(0.1, 0.0, pick.size(-6, 6))}  # fmt: skip


def slab(pick):
    return {"noise": pick.one(0.1, 0.0, pick.size(-6, 6)), "radius": pick.one(1.0, pick.size(-3, 6)),
            "drift": pick.one(0.0, 0.0, pick.size(-6, 0)), "average": False,
            "on_infeasible": pick.one("skip", "freeze", "restart", "raise")}  # fmt: skip


def iellip(pick, *shapes):
    return {"margin": pick.one(1.0, pick.size(-3, 3)), "b": pick.one(0.3, 0.0, 0.9, 1.0),
            "c": pick.one(0.1, 0.0, 0.5, 0.9), "decay": pick.one("update", "round"),
            "trigger": pick.one("mistake", "margin"), "selective": pick.maybe(0.3),
            "smoothing": pick.size(-2, 2), "shape": pick.one(*shapes)}  # fmt: skip


def esvc(pick):
    return {"nu": pick.size(-4, -0.5), "r": pick.one(0.5, 0.1, 0.9), "formulation": pick.one("relaxed", "trace"),
            "intercept_scaling": pick.one(None, None, 1.0, 10.0), "tol": 0.5}  # fmt: skip


def second_order(pick, *shapes):
    return {"shape": pick.one(*shapes), "size": pick.one(1, 4, 20), "selective": pick.maybe(0.3),
            "certainty": pick.one(0.9, 0.6, 0.999)}  # fmt: skip


def arow(pick, *shapes):
    return {**second_order(pick, *shapes), "r": pick.one(1.0, pick.size(-6, 6)),
            "trigger": pick.one("margin", "mistake"), "diagonal": pick.one("inverse", "drop")}  # fmt: skip


def sop(pick, *shapes):
    return {**second_order(pick, *shapes), "a": pick.one(1.0, pick.size(-6, 6))}


def confidence_weighted(pick, *shapes):
    return {**second_order(pick, *shapes), "eta": pick.one(0.9, 0.6, 0.999),
            "variant": pick.one("stdev", "variance"), "diagonal": pick.one("inverse", "drop")}  # fmt: skip


def scw(pick, *shapes):
    return {**confidence_weighted(pick, *shapes), "C": pick.one(1.0, np.inf, pick.size(-6, 6)),
            "variant": pick.one("I", "II")}  # fmt: skip


def nherd(pick, *shapes):
    return {**second_order(pick, *shapes), "C": pick.one(1.0, pick.size(-6, 6)),
            "diagonal": pick.one("exact", "project", "drop")}  # fmt: skip


def ellipsoid(pick):
    return {"speeds": pick.one(1, 3), "C": pick.one(1.0, np.inf, pick.size(-3, 3)),
            "damping": pick.one(0.1, 0.0, pick.size(-3, 3)), "margin": pick.one("length", "unit"),
            "shape": pick.one("auto", "full", "diagonal"), "average": pick.one("auto", True, False)}  # fmt: skip


def both(*draws):
    return lambda pick: {name: value for draw in draws for name, value in draw(pick).items()}


def shaped(draw, *shapes):
    return lambda pick: draw(pick, *shapes)


def families():
    """All of them; those that follow each other are run by one process."""
    found = [
        Family("Perceptron", "Perceptron", perceptron, ALSO_SINGLE, 260),
        Family("PassiveAggressive", "PassiveAggressive", passive_aggressive, ROWS, 220),
        Family(
            "PassiveAggressive, rows of both kinds", "PassiveAggressive", passive_aggressive, (("dense", "csr"),), 60
        ),
        Family("MIRA", "MIRA", mira, ROWS, 220),
        Family("ROMMA", "ROMMA", romma, ROWS, 220),
        Family("ALMA", "ALMA", alma, ROWS, 160),
        Family("ALMA, p > 2", "ALMA", powers, ROWS, 200),
        Family("Winnow", "Winnow", winnow, ROWS, 220, closed=True),
        Family("QuasiAdditive", "QuasiAdditive", euclidean, ROWS, 200),
        Family("QuasiAdditive, links", "QuasiAdditive", linked, ROWS, 260, closed=True),
        Family("OnlineSVM", "OnlineSVM", online_svm, ROWS, 240),
        Family("OnlineEllipsoidalSVC", "OnlineEllipsoidalSVC", esvc, ROWS, 220),
    ]
    # Every form with dense or with sparse rows: each pair is compiled anew.
    for shape in ("auto", "column", "product", "gram", "dense"):
        one, other = (ROWS, ROWS) if shape == "auto" else ((("dense",),), (("csr",),))
        one, other = (other, one) if shape in ("product", "dense") else (one, other)
        found.append(Family(f"CELLIP, {shape}", "CELLIP", shaped(cellip, shape), one, 130, closed=True))
        found.append(Family(f"IELLIP, {shape}", "IELLIP", shaped(iellip, shape), other, 130))
    found += [
        Family("CELLIP, label sets", "CELLIP", shaped(cellip, "auto"), programs=80, closed=True, sets=True),
        Family("IELLIP, label sets", "IELLIP", shaped(iellip, "auto"), programs=80, sets=True),
        Family("IELLIP, kernels", "IELLIP", both(shaped(iellip, "auto", "gram"), kernel), programs=140, gentle=True),
    ]
    for name, draw in (
        ("AROW", arow), ("SecondOrderPerceptron", sop), ("ConfidenceWeighted", confidence_weighted), ("SCW", scw),
        ("NHERD", nherd),
    ):  # fmt: skip
        found.append(Family(f"{name}, auto", name, shaped(draw, "auto"), ROWS, 120))
        found.append(Family(f"{name}, diagonal", name, shaped(draw, "diagonal"), ROWS, 120))
        one = (("csr",),) if name in ("AROW", "SCW") else (("dense",),)
        found.append(Family(f"{name}, sketch", name, shaped(draw, "sketch"), one, 60))
    found += [
        Family("AROW, gram", "AROW", shaped(arow, "gram"), (("csr",),), 80),
        Family("AROW, label sets", "AROW", shaped(arow, "auto", "diagonal"), programs=80, sets=True),
        Family("SCW, label sets", "SCW", shaped(scw, "auto", "diagonal"), programs=60, sets=True),
        Family("AROW, kernels", "AROW", both(shaped(arow, "auto", "gram"), kernel), programs=80, gentle=True),
        Family("SOP, kernels", "SecondOrderPerceptron", both(shaped(sop, "auto"), kernel), programs=40, gentle=True),
    ]
    for name, draw in (("Perceptron", perceptron), ("PassiveAggressive", passive_aggressive), ("MIRA", mira)):
        found += [
            Family(f"{name}, kernels", name, both(kernel, averaged, draw), ALSO_SINGLE, 160, gentle=True),
            Family(f"{name}, given values", name, both(given, averaged, draw), (("dense",),), 40, given=True),
            Family(f"{name}, functions", name, both(of_function, averaged, draw), programs=40, gentle=True),
        ]
    for name, draw in (("ROMMA", romma), ("ALMA", alma), ("OnlineSVM", online_svm)):
        found += [
            Family(f"{name}, kernels", name, both(kernel, draw), ROWS, 140, gentle=True),
            Family(f"{name}, given values", name, both(given, draw), (("dense",),), 30, given=True),
            Family(f"{name}, functions", name, both(of_function, draw), programs=30, gentle=True),
        ]
    for scaler in ("StandardStream()", "StandardStream(with_mean=False)", "UnitNorm()", "None"):
        for name, draw, closed in (
            ("Perceptron", perceptron, False), ("MIRA", mira, False), ("Winnow", winnow, True),
            ("OnlineSVM", online_svm, False), ("CELLIP", shaped(cellip, "auto"), True),
            ("AROW", shaped(arow, "diagonal"), False),
        ):  # fmt: skip
            label = f"{name} behind {scaler}"
            around = f"Scaled({{}}, scaler={scaler})"
            found.append(Family(label, name, draw, ROWS, 40, closed=closed, around=around))
    draw = both(kernel, passive_aggressive)
    label, around = "PassiveAggressive of a kernel behind UnitNorm()", "Scaled({}, scaler=UnitNorm())"
    found.append(
        Family(label, "PassiveAggressive", draw, ROWS, 40, gentle=True, around="Scaled({}, scaler=UnitNorm())")
    )
    # At the end, so that the programs of others keep their numbers.
    found.append(Family("EllipsoidClassifier", "EllipsoidClassifier", ellipsoid, ALSO_SINGLE, 240))
    for name, draw in (("MIRA", mira), ("OnlineSVM", online_svm)):
        found.append(Family(f"{name}, label sets", name, draw, programs=60, sets=True))
    for name, draw in (("PassiveAggressive", passive_aggressive), ("MIRA", mira), ("AROW", shaped(arow, "diagonal"))):
        found.append(Family(f"{name}, calibrated", name, draw, ROWS, 60, around="Calibrated({}, forget=0.99)"))
    around = "Calibrated(Scaled({}, scaler=StandardStream()))"
    found.append(Family("Perceptron, scaled and calibrated", "Perceptron", perceptron, ROWS, 40, around=around))
    found.append(Family("CELLIP, moving", "CELLIP", moving, ROWS, 160, closed=True, two=True))
    for name, draw in (("PassiveAggressiveRegressor", tube), ("IntervalRegressor", slab)):
        found.append(Family(name, name, draw, ROWS, 200, numbers=True))
        around = "Scaled({}, scaler=StandardStream())"
        found.append(Family(f"{name}, scaled", name, draw, ROWS, 60, around=around, numbers=True))
        around = "Conformal({}, window=7, rate=0.1)"
        found.append(Family(f"{name}, conformal", name, draw, ROWS, 60, around=around, numbers=True))
    name, draw = "PassiveAggressiveRegressor", both(kernel, budgeted, tube)
    found.append(Family(f"{name}, kernels", name, draw, ROWS, 80, gentle=True, numbers=True))
    for name, draw in (("PassiveAggressive", passive_aggressive), ("MIRA", mira), ("AROW", shaped(arow, "diagonal"))):
        around = "Conformal({}, window=5, miscoverage=0.3, rate=0.1)"
        found.append(Family(f"{name}, conformal", name, draw, ROWS, 60, around=around))
    for name, draw in (("Perceptron", perceptron), ("PassiveAggressive", passive_aggressive), ("MIRA", mira),
                       ("AROW", shaped(arow, "diagonal"))):  # fmt: skip
        for number, options in enumerate(
            ("share=0.1", "share='decreasing', mix='margins'", "share=0, rate='adaptive'")
        ):
            around = f"Committee([{{}}, PassiveAggressive(C=0.01), AROW(drift=0.001)], {options}, random_state=0)"
            found.append(Family(f"{name}, committee {number}", name, draw, ROWS, 40, around=around, grows=False))
    around = "Conformal(Scaled(Committee([{}, MIRA(random_state=0)]), scaler=StandardStream()), window=9)"
    label = "PassiveAggressive, committee, scaled and conformal"
    found.append(Family(label, "PassiveAggressive", passive_aggressive, ROWS, 40, around=around, grows=False))
    return found


FAMILIES = families()
# Programs are numbered through; a family has a range of numbers.
ROOM = 10_000


def family_of(seed):
    return FAMILIES[seed // ROOM]


def seeds_of(name):
    """The numbers of a family's programs."""
    number = next(number for number, family in enumerate(FAMILIES) if family.name == name)
    return range(number * ROOM, number * ROOM + FAMILIES[number].programs)


def expression(family, parameters):
    """The estimator in Python."""
    inner = ", ".join(f"{name}={spelled(value)}" for name, value in parameters.items())
    text = f"{family.learner}({inner})"
    return text if family.around is None else family.around.format(text)


def spelled(value):
    return "inf" if isinstance(value, float) and value == np.inf else getattr(value, "__name__", repr(value))
