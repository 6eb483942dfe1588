"""Write changing.md and proofs.md, the tables of the page "Streams that change", and draw its pictures.

Every learner predicts a row and then learns it. Ours and river's linear learners get rows scaled as they come, river's
trees rows as they are. Its forest is slow, and gets the first rows of each stream only.

    ELLIPSOID_DATA=... python docs/figures/changing.py [learner ...]

Every run is kept in changing.json as soon as it ends, and what is there is not run again: delete entries to do so.
It needs the data sets elec2 and covtype, and river. Names of learners, or how they begin, are those to run.
"""

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.base import clone

from ellipsoid import AROW, CELLIP, Committee, PassiveAggressive, Scaled, datasets

FOLDER = Path(__file__).parent.parent / "_static" / "tables"
STORE = FOLDER / "changing.json"
# Stream: how many of its rows, where not all.
STREAMS = {"elec2": None, "sea": None, "rotating": None, "abrupt": None, "abrupt-noise": None, "covtype": 50_000}
WINDOW = 1000
RATES = (0.001, 0.00316, 0.01, 0.0316, 0.1, 0.316, 1.0)
FOREST_ROWS = 10_000
RUNS = 8
COMMITTEE, REPEAT = "`Scaled(Committee())`", "repeat the last label"
PA, FOREST = "`Scaled(PassiveAggressive())`, C = 1", "river ARFClassifier, 10 trees, seed 0"
ADWIN = "river SGD(0.1), reset by ADWIN"


def rows_of(name):
    """A stream as float64 rows and labels from 0 on."""
    X, y = datasets.stream(name, rows=STREAMS[name])
    return np.ascontiguousarray(X, dtype=np.float64), np.unique(y, return_inverse=True)[1]


def ours(model):
    """The errors of one of our learners on the rows of a stream."""
    return lambda X, y: clone(model).learn_predict(X, y) != y


def theirs(make, rows=None):
    """Those of one of river's, on the first so many rows."""

    def run(X, y):
        model, labels = make(int(y.max()) + 1), y[:rows].tolist()
        names = [str(j) for j in range(X.shape[1])]
        wrong = np.zeros(len(labels), dtype=bool)
        for i, row in enumerate(X[:rows].tolist()):
            example = dict(zip(names, row, strict=True))
            wrong[i] = model.predict_one(example) != labels[i]
            model.learn_one(example, labels[i])
        return wrong

    return run


def repeat(X, y):
    """Those of repeating the last label."""
    return np.concatenate([[True], y[1:] != y[:-1]])


def logistic_of(rate):
    """The name of logistic regression at a rate."""
    return f"river LogisticRegression, SGD({rate:g})"


def river_learners():
    """Learners of river behind its scaler, with the settings named; its trees on rows as they are."""
    from river import drift, forest, linear_model, multiclass, optim, preprocessing, tree

    def scaled(model, labels):
        model = model if labels == 2 else multiclass.OneVsRestClassifier(model)
        return preprocessing.StandardScaler() | model

    def logistic(rate):
        return lambda labels: scaled(linear_model.LogisticRegression(optim.SGD(rate)), labels)

    def reset(detector):
        return lambda labels: drift.DriftRetrainingClassifier(
            logistic(0.1)(labels), drift_detector=detector(), train_in_background=False
        )

    return {
        **{logistic_of(rate): theirs(logistic(rate)) for rate in RATES},
        "river PAClassifier, C = 0.01": theirs(lambda n: scaled(linear_model.PAClassifier(C=0.01), n)),
        ADWIN: theirs(reset(drift.ADWIN)),
        "river SGD(0.1), reset by DDM": theirs(reset(drift.binary.DDM)),
        "river HoeffdingAdaptiveTree, seed 0": theirs(lambda _: tree.HoeffdingAdaptiveTreeClassifier(seed=0)),
        FOREST: theirs(lambda _: forest.ARFClassifier(n_models=10, seed=0), FOREST_ROWS),
    }


def measure(found, chosen):
    """Add the errors of every learner on every stream that are missing, of those that are chosen."""
    learners = {COMMITTEE: None, REPEAT: repeat, PA: ours(Scaled(PassiveAggressive()))}
    learners["`Scaled(AROW())`, no drift"] = ours(Scaled(AROW()))
    learners |= river_learners()
    for name, run in learners.items():
        for stream in STREAMS:
            if stream in found.get(name, {}) or not name.startswith(chosen):
                continue
            X, y = rows_of(stream)
            if run is not None:
                note(found, name, stream, run(X, y))
                continue
            model = Scaled(Committee())
            wrong = model.learn_predict(X, y) != y
            own = {
                "members": (model.losses_ / 2.0 / len(y)).tolist(), "loss": model.loss_, "best": model.best_,
                "switching": model.switching_losses_.tolist(), "bounds": model.switching_bounds_.tolist(),
            }  # fmt: skip
            note(found, name, stream, wrong, **own)


def note(found, name, stream, wrong, **more):
    """Keep the errors of a run: in all, and in windows."""
    ends = np.arange(WINDOW, len(wrong) + 1, WINDOW)
    windows = [round(float(wrong[end - WINDOW : end].mean()), 6) for end in ends]
    found.setdefault(name, {})[stream] = {"error": float(wrong.mean()), "windows": windows, **more}
    STORE.write_text(packed(found))
    print(f"{name}, {stream}: {100 * wrong.mean():.2f} %", flush=True)


def packed(found):
    """JSON with a line for each run."""
    parts = [
        f'"{name}": {{\n' + ",\n".join(f' "{at}": {json.dumps(run)}' for at, run in runs.items()) + "\n}"
        for name, runs in found.items()
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def errors_table(found):
    """The errors in percent, with kappa-temporal, and what the committee lost beside its bounds."""

    def row(name, runs, rows=None):
        cells = []
        for stream in STREAMS:
            error = share(runs.get(stream), rows)
            lead = 1.0 - error / share(found[REPEAT][stream], rows) if error is not None else 0.0
            cells.append("" if error is None else f"{100 * error:.2f} ({0.0 if name == REPEAT else lead:.2f})")
        return f"| {name} | {' | '.join(cells)} |"

    def hindsight(name, choices):
        """A row of the best of several; ``choices`` are their errors by stream."""
        return row(f"{name}, in hindsight \\*", {at: {"error": min(some)} for at, some in choices.items() if some})

    committee = found[COMMITTEE]
    rates = {at: [found[logistic_of(rate)][at]["error"] for rate in RATES] for at in STREAMS}
    lines = ["<!-- written by docs/figures/changing.py -->", "", f"| learner | {' | '.join(STREAMS)} |"]
    lines += [
        "|---|" + "---:|" * len(STREAMS),
        row(COMMITTEE, committee),
        hindsight("its best member", {at: run["members"] for at, run in committee.items()}),
        hindsight("its best C of seven", {at: run["members"][:7] for at, run in committee.items()}),
        hindsight("its best drift of six", {at: run["members"][7:] for at, run in committee.items()}),
    ]
    shown = [name for name in found if name not in (COMMITTEE, FOREST, "detectors")]
    shown = [
        name
        for name in shown
        if name not in {logistic_of(r) for r in RATES} - {logistic_of(r) for r in (0.01, 0.1, 1.0)}
    ]
    for name in shown:
        lines.append(row(name, found[name]))
        if name == logistic_of(1.0):
            lines.append(hindsight("river LogisticRegression, best SGD rate of seven", rates))
    lines.append(row(f"{FOREST} \\*\\*", found[FOREST]))
    lines.append(row(f"{COMMITTEE} \\*\\*", committee, FOREST_ROWS))
    best = ", ".join(f"{at} {RATES[int(np.argmin(errors))]:g}" for at, errors in rates.items())
    lines += [
        "",
        f"\\* No learner that one could run: what was best is known in the end only. Of seven rates from 0.001 to 1, "
        f"the best: {best}. \\*\\* The first {FOREST_ROWS:,} rows of each stream.",
        "",
        "| stream | loss of the committee | best with 0, 5, 20 switches | bounds for them |",
        "|---|---:|---|---|",
    ]
    for stream, run in committee.items():
        least, bounds = (", ".join(f"{run[what][k]:.0f}" for k in (0, 5, 20)) for what in ("switching", "bounds"))
        lines.append(f"| {stream} | {run['loss']:.0f} | {least} | {bounds} |")
    return "\n".join(lines) + "\n"


def share(run, rows):
    """The error of a run, or of its first rows, which are whole windows; None where there is no run."""
    return run and (run["error"] if rows is None else float(np.mean(run["windows"][: rows // WINDOW])))


# -- proofs of change --------------------------------------------------------------------------------------------


def turned(width, angle, seed):
    """Rows of length one whose truth turns by an angle, none nearer to it than the margin."""
    rows, at, margin = 4000, 2000, 0.05
    rng = np.random.default_rng(seed)
    first, other = np.linalg.qr(rng.normal(size=(width, 2)))[0].T
    late = np.cos(angle) * first + np.sin(angle) * other
    X = rng.normal(size=(2 * rows, width))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X = X[(np.abs(X @ first) > margin) & (np.abs(X @ late) > margin)][:rows]
    return X, np.where(np.arange(len(X)) < at, X @ first > 0, X @ late > 0).astype(int), at


def proving(margin):
    """The detector that cannot raise a false alarm while some classifier has the margin."""
    return CELLIP(margin=margin, cut="minvol", trigger="always", on_infeasible="restart", fit_intercept=False)


def alarms(width, angle, seed):
    """The rows at which each detector gave its alarms."""
    from river import drift

    X, y, at = turned(width, angle, seed)
    model = proving(0.05)
    found = {"empty version space": (model.partial_fit(X, y, classes=[0, 1]).changes_ - 1).tolist()}
    wrong = PassiveAggressive(fit_intercept=False).learn_predict(X, y, classes=[0, 1]) != y
    for name, detector in {
        "ADWIN": drift.ADWIN(), "DDM": drift.binary.DDM(), "HDDM-W": drift.binary.HDDMW(),
        "Page-Hinkley": drift.PageHinkley(),
    }.items():  # fmt: skip
        found[name] = []
        for i, flag in enumerate(wrong.tolist()):
            detector.update(int(flag))
            if detector.drift_detected:
                found[name].append(i)
    return found, at


def detect(found):
    """Add what the detectors did."""
    for width, angle in ((3, 0.3), (3, 1.0), (10, 0.3), (10, 1.0), (10, np.pi)):
        place, rows = f"{width}, {'pi' if angle == np.pi else angle}", {}
        if place in found.get("detectors", {}):
            continue
        for seed in range(RUNS):
            given, at = alarms(width, angle, seed)
            for name, times in given.items():
                after = [t - at for t in times if t >= at]
                kept = rows.setdefault(name, {"delay": [], "false": 0, "runs": RUNS})
                kept["delay"] += after[:1]
                kept["false"] += len(times) - len(after)
        found.setdefault("detectors", {})[place] = rows
        STORE.write_text(packed(found))


def detectors_table(found):
    """The median number of rows until an alarm, how many streams had one, and the alarms before the turn."""

    def cell(run):
        delay = run["delay"]
        return f"{np.median(delay):g}; {len(delay)}/{run['runs']}; {run['false']}" if delay else f"none; {run['false']}"

    detectors = list(found["detectors"]["3, 0.3"])
    lines = ["<!-- written by docs/figures/changing.py -->", "", f"| features, angle | {' | '.join(detectors)} |"]
    lines.append("|---|" + "---|" * len(detectors))
    for place, runs in found["detectors"].items():
        lines.append(f"| {place} | {' | '.join(cell(runs[name]) for name in detectors)} |")
    return "\n".join(lines) + "\n"


# -- pictures ----------------------------------------------------------------------------------------------------


def draw(found):
    """Windowed errors, with the rows at which streams change and where that was proved; and the alarms of detectors."""
    import matplotlib.pyplot as plt
    import style
    from style import BLUE, GREEN, GREY, ORANGE

    style.use()
    shown = ((COMMITTEE, BLUE), (PA, ORANGE), (ADWIN, GREEN), (REPEAT, GREY))
    figure, axes = plt.subplots(3, 2, figsize=(10, 8.5), layout="constrained")
    for axis, stream in zip(axes.flat, STREAMS, strict=True):
        for name, colour in shown:
            if name != REPEAT or stream in ("elec2", "covtype"):
                windows = found[name][stream]["windows"]
                at = WINDOW * np.arange(1, 1 + len(windows))
                axis.plot(at, 100 * np.array(windows), color=colour, label=name.replace("`", ""), lw=1.2)
        for row in getattr(datasets.stream(stream), "changes", np.zeros(0)).tolist():
            axis.axvline(row, color=GREY, lw=0.8, ls=":")
        axis.set(title=stream, xlabel="rows", ylabel=f"error of the last {WINDOW} rows, %", ylim=(0, None))
    X, y = rows_of("abrupt")
    proved = proving(0.1).partial_fit(X, y, classes=[0, 1]).changes_ - 1
    axes[1, 1].plot(proved, np.zeros(len(proved)), "k^", clip_on=False, ms=6, label="a change is proved")
    lines = {
        line.get_label(): line for axis in (axes[1, 1], axes[0, 0]) for line in axis.get_legend_handles_labels()[0]
    }
    figure.legend(handles=list(lines.values()), loc="outside lower center", ncols=3, fontsize=9)
    style.save(figure, "changing.png")
    figure, axis = plt.subplots(figsize=(8, 3), layout="constrained")
    given, at = alarms(3, 1.0, 1)
    for place, times in enumerate(given.values()):
        axis.plot(times, [place] * len(times), "o", color=BLUE if place == 0 else ORANGE)
    axis.axvline(at, color=GREY, ls=":")
    axis.set(yticks=range(len(given)), yticklabels=list(given), xlabel="rows", xlim=(0, 4000))
    axis.set_title("alarms; the truth turns at 2000")
    axis.invert_yaxis()
    style.save(figure, "proofs.png")


def main(chosen):
    """Measure what is missing, and write the tables and the pictures."""
    found = json.loads(STORE.read_text()) if STORE.exists() else {}
    measure(found, tuple(chosen) or "")
    detect(found)
    (FOLDER / "changing.md").write_text(errors_table(found))
    (FOLDER / "proofs.md").write_text(detectors_table(found))
    draw(found)


if __name__ == "__main__":
    main(sys.argv[1:])
