"""Measure the tables of the page "Streams that change", and draw its pictures.

``docs/figures/changing.py measure FILE`` adds what is missing to a JSON file of results, ``draw FILE`` writes the
pictures and prints the tables. It needs the data set elec2, and river.
"""

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.base import clone

from ellipsoid import AROW, CELLIP, Committee, PassiveAggressive, Scaled, datasets

STREAMS = ("elec2", "sea", "rotating", "abrupt", "abrupt-noise")
WINDOW = 1000


def rows_of(name):
    """A stream as float64 rows and labels from 0 on."""
    X, y = datasets.stream(name)
    return np.ascontiguousarray(X, dtype=np.float64), np.unique(y, return_inverse=True)[1]


def ours(model):
    """The errors of one of our learners on the rows of a stream."""
    return lambda X, y: clone(model).learn_predict(X, y) != y


def theirs(make):
    """Those of one of river's."""

    def run(X, y):
        model, labels = make(int(y.max()) + 1), y.tolist()
        names = [str(j) for j in range(X.shape[1])]
        wrong = np.zeros(len(y), dtype=bool)
        for i, row in enumerate(X.tolist()):
            example = dict(zip(names, row, strict=True))
            wrong[i] = model.predict_one(example) != labels[i]
            model.learn_one(example, labels[i])
        return wrong

    return run


def repeat(X, y):
    """Those of repeating the last label."""
    return np.concatenate([[True], y[1:] != y[:-1]])


def river_learners():
    """Learners of river behind its scaler, with the settings named; its tree on rows as they are."""
    from river import drift, linear_model, multiclass, optim, preprocessing, tree

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
        "river LogisticRegression, SGD(0.01)": logistic(0.01),
        "river LogisticRegression, SGD(1)": logistic(1.0),
        "river PAClassifier, C = 0.01": lambda n: scaled(linear_model.PAClassifier(C=0.01), n),
        "river SGD(0.1), reset by ADWIN": reset(drift.ADWIN),
        "river SGD(0.1), reset by DDM": reset(drift.binary.DDM),
        "river HoeffdingAdaptiveTree": lambda _: tree.HoeffdingAdaptiveTreeClassifier(seed=0),
    }


def measure(path, *streams):
    """Add to a file the errors of every learner on every stream, or on those that are named, that it lacks."""
    streams = streams or STREAMS
    found = json.loads(path.read_text()) if path.exists() else {}
    learners = {"repeat the last label": repeat}
    learners["Scaled(PassiveAggressive())"] = ours(Scaled(PassiveAggressive()))
    learners["Scaled(AROW())"] = ours(Scaled(AROW()))
    learners |= {name: theirs(make) for name, make in river_learners().items()}
    for stream in streams:
        if stream not in found.get("Scaled(Committee())", {}):
            X, y = rows_of(stream)
            model = Scaled(Committee())
            wrong = model.learn_predict(X, y) != y
            own = {
                "members": (model.losses_ / 2.0 / len(y)).tolist(), "loss": model.loss_, "best": model.best_,
                "switching": model.switching_losses_.tolist(), "bounds": model.switching_bounds_.tolist(),
            }  # fmt: skip
            note(found, path, "Scaled(Committee())", stream, wrong, **own)
    for name, run in learners.items():
        for stream in streams:
            if stream not in found.get(name, {}):
                note(found, path, name, stream, run(*rows_of(stream)))


def note(found, path, name, stream, wrong, **more):
    """Keep the errors of a run: in all, and in windows."""
    ends = np.arange(WINDOW, len(wrong) + 1, WINDOW)
    windows = [float(wrong[end - WINDOW : end].mean()) for end in ends]
    found.setdefault(name, {})[stream] = {"error": float(wrong.mean()), "windows": windows, **more}
    path.write_text(json.dumps(found, indent=1))
    print(f"{name}, {stream}: {100 * wrong.mean():.2f} %", flush=True)


# -- proofs of change --------------------------------------------------------------------------------------------


def turned(width, angle, seed, rows=4000, at=2000, margin=0.05):
    """Rows of length one whose truth turns by an angle, none nearer to it than the margin."""
    rng = np.random.default_rng(seed)
    first, other = np.linalg.qr(rng.normal(size=(width, 2)))[0].T
    late = np.cos(angle) * first + np.sin(angle) * other
    X = rng.normal(size=(2 * rows, width))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X = X[(np.abs(X @ first) > margin) & (np.abs(X @ late) > margin)][:rows]
    return X, np.where(np.arange(len(X)) < at, X @ first > 0, X @ late > 0).astype(int), at


def alarms(width, angle, seed):
    """The rows at which each detector gave its alarms."""
    from river import drift

    X, y, at = turned(width, angle, seed)
    model = CELLIP(margin=0.05, cut="minvol", trigger="always", on_infeasible="restart", fit_intercept=False)
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


def detect(path, runs=8):
    """Add the table of detectors to a file."""
    found, table = json.loads(path.read_text()), {}
    for width, angle in ((3, 0.3), (3, 1.0), (10, 0.3), (10, 1.0), (10, 3.14159)):
        rows = {}
        for seed in range(runs):
            given, at = alarms(width, angle, seed)
            for name, times in given.items():
                after = [t - at for t in times if t >= at]
                rows.setdefault(name, []).append((after[0] if after else None, len(times) - len(after)))
        table[f"{width}, {angle:g}"] = {
            name: {"delay": [delay for delay, _ in each if delay is not None], "false": sum(early for _, early in each)}
            for name, each in rows.items()
        }
        print(width, angle, {name: (np.median(v["delay"]) if v["delay"] else None, len(v["delay"]), v["false"])
                             for name, v in table[f"{width}, {angle:g}"].items()}, flush=True)  # fmt: skip
    found["detectors"] = table
    path.write_text(json.dumps(found, indent=1))


# -- pictures ----------------------------------------------------------------------------------------------------


def draw(path):
    """Windowed errors of four streams, with the rows at which they change."""
    import matplotlib.pyplot as plt
    import style
    from style import BLUE, GREEN, GREY, ORANGE

    style.use()
    found = json.loads(path.read_text())
    shown = (
        ("Scaled(Committee())", BLUE), ("Scaled(PassiveAggressive())", ORANGE),
        ("river SGD(0.1), reset by ADWIN", GREEN), ("repeat the last label", GREY),
    )  # fmt: skip
    figure, axes = plt.subplots(2, 2, figsize=(10, 6), layout="constrained")
    for axis, stream in zip(axes.flat, ("elec2", "sea", "abrupt", "abrupt-noise"), strict=True):
        for name, colour in shown:
            if stream in found.get(name, {}) and not (name == "repeat the last label" and stream != "elec2"):
                windows = found[name][stream]["windows"]
                at = WINDOW * np.arange(1, 1 + len(windows))
                axis.plot(at, 100 * np.array(windows), color=colour, label=name, lw=1.2)
        for row in datasets.stream(stream).changes.tolist() if stream != "elec2" else []:
            axis.axvline(row, color=GREY, lw=0.8, ls=":")
        axis.set(title=stream, xlabel="rows", ylabel=f"error of the last {WINDOW} rows, %", ylim=(0, None))
    axes[0, 0].legend(fontsize=8)
    style.save(figure, "changing.png")
    figure, axis = plt.subplots(figsize=(8, 3), layout="constrained")
    found, at = alarms(3, 1.0, 1)
    for place, times in enumerate(found.values()):
        axis.plot(times, [place] * len(times), "o", color=BLUE if place == 0 else ORANGE)
    axis.axvline(at, color=GREY, ls=":")
    axis.set(yticks=range(len(found)), yticklabels=list(found), xlabel="rows", xlim=(0, 4000))
    axis.set_title("alarms; the truth turns at 2000")
    axis.invert_yaxis()
    style.save(figure, "proofs.png")


def table(path):
    """Print the table of errors, in percent."""
    found = json.loads(path.read_text())
    repeated = {stream: run["error"] for stream, run in found["repeat the last label"].items()}
    print("| learner | " + " | ".join(STREAMS) + " |\n|---|" + "---|" * len(STREAMS))
    committee = found["Scaled(Committee())"]
    best = [f"{100 * min(committee[s]['members']):.2f}" if s in committee else "" for s in STREAMS]
    print("| its best member, in hindsight | " + " | ".join(best) + " |")
    for name, runs in found.items():
        if name != "detectors":
            errors = {s: run["error"] for s, run in runs.items()}
            cells = [
                f"{100 * errors[s]:.2f} ({1 - errors[s] / repeated[s]:.2f})" if s in errors else "" for s in STREAMS
            ]
            print(f"| {name} | " + " | ".join(cells) + " |")
    for stream in committee:
        own = committee[stream]
        print(
            stream, round(own["loss"]), [(k, round(own["switching"][k]), round(own["bounds"][k])) for k in (0, 5, 20)]
        )


if __name__ == "__main__":
    {"measure": measure, "detect": detect, "draw": draw, "table": table}[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:])
