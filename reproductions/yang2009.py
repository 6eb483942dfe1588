"""Figures 1 and 2 of Yang, Jin and Ye, "Online learning by ellipsoid method", ICML 2009, section 3.

The figures are curves without printed numbers, so there are none to put beside ours: what can be held against the
paper is the order of the learners, and how many updates each needs. The paper reports b = 0.3, margin 0.1 and three
permutations; it reports no c, no scaling of the rows, no aggressiveness of PA, and not which ten letters of Isolet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from ellipsoid.evaluate.cell import Protocol
from ellipsoid.streams.sets.datasets import Dataset, load

from .cuts import share_of_each_class, some_of_each_class
from .entry import Entry, Experiment, Quick, Spec
from .report import Curve, Panel, Report, Table, beside, ratio, shown
from .results import Results

PAPER = "Yang, Jin and Ye, Online learning by ellipsoid method, ICML 2009"
PASSES = 3
SEEDS = (0, 1, 2)

SETS: Mapping[str, Callable[[], Dataset]] = {
    "USPS": partial(load, "usps"),
    "Letter": partial(share_of_each_class, "letter", 0.8),
    "Isolet, A to J": partial(some_of_each_class, "isolet", range(10), 80, 20),
    "Isolet, Q to Z": partial(some_of_each_class, "isolet", range(16, 26), 80, 20),
    "Isolet, all 26": partial(load, "isolet"),
    "Shuttle": partial(load, "shuttle"),
}
SCALES = {"unit": "", "none": ", values as they are", "standard": ", standardised"}


def _iellip(**changed: object) -> Spec:
    return Spec("IELLIP", {"margin": 0.1, "b": 0.3, "c": 0.1, "fit_intercept": False, **changed})


def _pa(**changed: object) -> Spec:
    return Spec("PassiveAggressive", {"variant": "hard", "margin": 0.1, "fit_intercept": False, **changed})


def _mira(**changed: object) -> Spec:
    return Spec("MIRA", {"margin": 0.1, "fit_intercept": False, **changed})


PRINTED = {"IELLIP": _iellip(), "PA": _pa(), "MIRA": _mira()}
FURTHER = {
    "IELLIP, margin trigger": _iellip(trigger="margin"),
    "IELLIP, averaged": _iellip(average=True),
    "IELLIP, margin trigger, averaged": _iellip(trigger="margin", average=True),
    "PA, averaged": _pa(average=True),
    "MIRA, averaged": _mira(average=True),
    "CELLIP": Spec("CELLIP", {"margin": 0.1, "fit_intercept": False}),
}
OPEN = {
    "IELLIP, c = 0.5": _iellip(c=0.5),
    "IELLIP, c = 0.9": _iellip(c=0.9),
    "IELLIP, decay by rounds": _iellip(decay="round"),
    "PA-I, C = 0.01": _pa(variant="I", C=0.01),
}
BS = (0.1, 0.3, 0.6, 0.9)
CS = (0.1, 0.5)
DECAYS = {f"IELLIP, b = {b}, c = {c}": _iellip(b=b, c=c) for c in CS for b in BS}


def _figure_1() -> list[Experiment]:
    found = []
    for scale, suffix in SCALES.items():
        learners = {**PRINTED, **FURTHER, **OPEN} if scale == "unit" else PRINTED
        protocol = Protocol(passes=PASSES, seeds=SEEDS, scale=scale)
        found += [Experiment(name + suffix, data, learners, protocol) for name, data in SETS.items()]
    return found


def _figure_2() -> list[Experiment]:
    protocol = Protocol(passes=PASSES, seeds=SEEDS, scale="unit")
    learners = {"MIRA": PRINTED["MIRA"], **DECAYS}
    return [Experiment(name, data, learners, protocol) for name, data in SETS.items()]


def _report_1(results: Results) -> Report:
    main = [name for name in SETS if name in results.experiments]
    return Report(
        lead="Test error and updates of IELLIP, PA and MIRA (linear, margin 0.1) after each of three passes.",
        verdicts=[
            _order(results, main),
            *(_verdict(results, name) for name in main),
            _bought(results, main),
            _moved_by_open(results, main),
        ],
        tables=[
            *(_passes_table(results, name, {**PRINTED, **FURTHER}) for name in main),
            _ratios(results, main),
            _scales(results),
            *(_passes_table(results, name, {"IELLIP": None, "PA": None, **OPEN}, "open settings") for name in main),
        ],
        panels=[panel for name in main for panel in _curves(results, name)],
        choices=[
            "The paper draws curves and prints no numbers; there is no column of the paper's to compare with.",
            "The c of IELLIP is not reported: 0.1 here, 0.5 and 0.9 in the tables of open settings. Its margin has no "
            "effect on IELLIP, which starts from zero weights.",
            "PA's aggressiveness is not reported: uncapped here, C = 0.01 in the tables of open settings.",
            "The scaling of the rows is not reported: each row divided by its 2-norm here (the mistake bound asks for "
            "that), the other two ways in the table of scalings.",
            "The ten classes of Isolet are not reported: A to J and Q to Z, 80 and 20 rows of each drawn by seed 0, "
            "and all 26 with the usual split.",
            "Updates are counted where the weights change; nothing is averaged in the rows that the paper has.",
        ],
    )


def _order(results: Results, names: list[str]) -> str:
    """On how many sets the means have the order of the paper's curves: fewer updates, and no more errors."""

    def below(what: str, other: str) -> int:
        means = ([results.spread(name, learner, what).mean for name in names] for learner in ("IELLIP", other))
        return sum(a < b for a, b in zip(*means, strict=True))

    counts = {(what, other): below(what, other) for what in ("updates", "test_errors") for other in ("PA", "MIRA")}
    return (
        f"After {PASSES} passes IELLIP's mean number of updates is below PA's on {counts['updates', 'PA']} of "
        f"{len(names)} sets and below MIRA's on {counts['updates', 'MIRA']}; its mean test error is below PA's on "
        f"{counts['test_errors', 'PA']} and below MIRA's on {counts['test_errors', 'MIRA']}."
    )


def _verdict(results: Results, name: str) -> str:
    updates, errors = (
        {learner: results.values(name, learner, what) for learner in PRINTED} for what in ("updates", "test_errors")
    )
    to_pa, to_mira = (ratio(updates["IELLIP"], updates[other]) for other in ("PA", "MIRA"))
    error = {learner: results.spread(name, learner, "test_errors") for learner in PRINTED}
    return (
        f"{name}: after {PASSES} passes IELLIP has made {shown(to_pa)} times PA's updates and {shown(to_mira)} times "
        f"MIRA's. Its test error is {shown(error['IELLIP'])} % beside PA's {shown(error['PA'])} %, "
        f"{beside(errors['IELLIP'], errors['PA'])}, and MIRA's {shown(error['MIRA'])} %, "
        f"{beside(errors['IELLIP'], errors['MIRA'])}."
    )


def _bought(results: Results, names: list[str]) -> str:
    """What the choices that the paper does not have do to the error."""

    def below(one: str, other: str) -> str:
        pairs = [[results.spread(name, learner, "test_errors").mean for learner in (one, other)] for name in names]
        return f"{sum(a < b for a, b in pairs)} of {len(names)}"

    triggered = "IELLIP, margin trigger"
    more = [
        ratio(*(results.values(name, learner, "updates") for learner in (triggered, "IELLIP"))).mean for name in names
    ]
    cellip = [results.spread(name, "CELLIP", "test_errors").mean for name in names]
    return (
        f'What each choice buys: with trigger="margin" IELLIP errs less on {below(triggered, "IELLIP")} sets, for '
        f"{min(more):.1f} to {max(more):.1f} times the updates, and less than PA on {below(triggered, 'PA')}; averaged "
        f"it errs less on {below('IELLIP, averaged', 'IELLIP')}, and less than averaged PA on "
        f"{below('IELLIP, averaged', 'PA, averaged')}. CELLIP, made for rows that a margin separates, errs "
        f"on {min(cellip):.0f} to {max(cellip):.0f} %."
    )


def _moved_by_open(results: Results, names: list[str]) -> str:
    """How far settings that the paper leaves open move the mean error."""

    def error(name: str, learner: str) -> float:
        return results.spread(name, learner, "test_errors").mean

    def widest(*learners: str) -> float:
        found = [[error(name, learner) for learner in learners] for name in names]
        return max(max(errors) - min(errors) for errors in found)

    scaled = [
        [error(name + suffix, "IELLIP") for suffix in SCALES.values() if name + suffix in results.experiments]
        for name in names
    ]
    isolet = [error(name, "IELLIP") for name in ("Isolet, A to J", "Isolet, Q to Z") if name in names]
    letters = f", the choice of ten letters by {max(isolet) - min(isolet):.1f}" if isolet else ""
    return (
        f"What the paper leaves open, at most over the sets: c between 0.1 and 0.9 moves IELLIP's mean error by "
        f"{widest('IELLIP', 'IELLIP, c = 0.5', 'IELLIP, c = 0.9'):.1f} points, the scaling of the rows by "
        f"{max(max(errors) - min(errors) for errors in scaled):.1f}{letters}; a cap of C = 0.01 moves PA's by "
        f"{widest('PA', 'PA-I, C = 0.01'):.1f}."
    )


def _passes_table(results: Results, name: str, learners: Mapping[str, object], about: str = "") -> Table:
    passes = range(1, PASSES + 1)
    lines = [
        (
            learner,
            *(shown(results.spread(name, learner, "test_errors", after)) for after in passes),
            *(shown(results.spread(name, learner, "updates", after), ",.0f") for after in passes),
        )
        for learner in learners
    ]
    setting = results.setting(name)
    counts = (
        f"{setting['rows']:,} rows to learn from, {setting['test_rows']:,} to test on, {setting['classes']} classes"
    )
    title = f"{name}, {about}" if about else name
    errors, updates = ([f"{what} {after}" for after in passes] for what in ("error % after pass", "updates after pass"))
    note = "" if about else "The first three learners are the paper's; it does not have the others."
    return Table(title, ("learner", *errors, *updates), lines, f"{counts}. {note}".strip())


def _ratios(results: Results, names: list[str]) -> Table:
    lines = []
    for name in names:
        made = {learner: results.values(name, learner, "updates") for learner in PRINTED}
        wrong = {learner: results.values(name, learner, "test_errors") for learner in PRINTED}
        found = [ratio(values["IELLIP"], values[other]) for values in (made, wrong) for other in ("PA", "MIRA")]
        lines.append((name, *map(shown, found)))
    titles = ("set", "updates / PA's", "updates / MIRA's", "error / PA's", "error / MIRA's")
    return Table("IELLIP beside PA and MIRA after the last pass", titles, lines, "Ratios order by order: mean (sd).")


def _scales(results: Results) -> Table:
    lines = []
    for name in SETS:
        for scale, suffix in SCALES.items():
            if name + suffix in results.experiments:
                errors = (shown(results.spread(name + suffix, learner, "test_errors")) for learner in PRINTED)
                updates = (shown(results.spread(name + suffix, learner, "updates"), ",.0f") for learner in PRINTED)
                lines.append((name, scale, *errors, *updates))
    titles = ("set", "scaling", *(f"{learner} error %" for learner in PRINTED), *(f"{a} updates" for a in PRINTED))
    return Table("How much the scaling of the rows matters, after the last pass", titles, lines, words=2)


def _curves(results: Results, name: str) -> list[Panel]:
    passes = range(1, PASSES + 1)
    # CELLIP, which is for separable rows, errs so often that nothing else could be told apart beside it.
    drawn = (*PRINTED, "IELLIP, margin trigger", "IELLIP, averaged")

    def curves(what: str) -> list[Curve]:
        found = []
        for learner in drawn:
            spreads = [results.spread(name, learner, what, after) for after in passes]
            found.append(Curve(learner, list(passes), [s.mean for s in spreads], [s.sd for s in spreads]))
        return found

    return [
        Panel(name, "passes", "test error, %", curves("test_errors")),
        Panel(name, "passes", "updates", curves("updates")),
    ]


def _report_2(results: Results) -> Report:
    names = [name for name in SETS if name in results.experiments]
    lines, verdicts, panels = [], [], []
    moved, told_apart = [], []
    for name in names:
        made, wrong = (results.values(name, "MIRA", what) for what in ("updates", "test_errors"))
        drawn = []
        for c in CS:
            ratios = {}
            for b in BS:
                learner = f"IELLIP, b = {b}, c = {c}"
                found = ratios[b] = (
                    ratio(results.values(name, learner, "updates"), made),
                    ratio(results.values(name, learner, "test_errors"), wrong),
                )
                lines.append((name, str(c), str(b), *map(shown, found)))
            drawn += [
                Curve(f"b = {b}", [u.mean], [e.mean], [e.sd], dashed=c != CS[0], sd_x=[u.sd])
                for b, (u, e) in ratios.items()
            ]
            updates, errors = ([found[k].mean for found in ratios.values()] for k in (0, 1))
            moved.append(max(updates) / min(updates) - 1.0)
            told_apart.append(max(errors) - min(errors) > 2 * max(found[1].sd for found in ratios.values()))
            few = min(BS, key=lambda b: ratios[b][0].mean)
            good = min(BS, key=lambda b: ratios[b][1].mean)
            verdicts.append(
                f"{name}, c = {c}: fewest updates at b = {few}, {shown(ratios[few][0])} times MIRA's; least error at "
                f"b = {good}, {shown(ratios[good][1])} times MIRA's."
            )
        panels.append(Panel(name, "updates / MIRA's", "test error / MIRA's", drawn, joined=False))
    titles = ("set", "c", "b", "updates / MIRA's", "error / MIRA's")
    return Report(
        lead="What the decay b of IELLIP buys: updates against test error after the last pass, both divided by MIRA's. "
        f"Full marks are c = {CS[0]}, open ones c = {CS[1]}.",
        verdicts=[
            f"Between b = {BS[0]} and {BS[-1]} the number of updates moves by at most {100 * max(moved):.0f} %; the "
            f"errors of the best and the worst b are two standard deviations apart on {sum(told_apart)} of "
            f"{len(told_apart)} settings.",
            *verdicts,
        ],
        tables=[Table("Ratios to MIRA, order by order: mean (sd)", titles, lines, words=3)],
        panels=panels,
        choices=[
            "The paper draws points and prints no numbers; there is no column of the paper's to compare with.",
            "c is not reported: 0.1 and 0.5 here. With b + c >= 1 (b = 0.9) the paper's bound says nothing; the "
            "corrected one still holds.",
            "Rows have 2-norm 1; the sets are those of figure 1.",
        ],
    )


# Letter and Shuttle bring other layouts and shapes, each with a learner's loop to compile.
QUICK = Quick(rows=150, without=("Letter", "Shuttle"))
ENTRIES = (
    Entry("yang2009-fig1", "IELLIP, PA and MIRA on four sets: figure 1", PAPER, _figure_1, _report_1, QUICK),
    Entry("yang2009-fig2", "The decay b of IELLIP: figure 2", PAPER, _figure_2, _report_2),
)
