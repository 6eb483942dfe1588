"""Kernel learners on a GPU: ``python -m benchmarks.gpu [PART ...]`` measures, and adds to benchmarks/results/gpu.json.

Parts: digits (MNIST in its published order), million and millions (of deformed digits), seeds (millions again, deformed
otherwise), products (how much of the time is the matrix products' own), sets (Letter and covtype), cores (200,000
deformed digits on the CPU), machine (the ellipsoidal SVM), shapes (learners with an ellipsoid in a kernel's space).
"""

import argparse
import json
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

import ellipsoid
from ellipsoid import AROW, IELLIP, MIRA, EllipsoidalSVC, SecondOrderPerceptron
from ellipsoid.representation.kernel.device import DevicePatterns, cuda_arrays
from ellipsoid.representation.kernel.functions import Poly
from ellipsoid.streams.sets.deformed import DeformedDigits

from .machine import describe

RESULTS = Path(__file__).parent / "results" / "gpu.json"
# Crammer and Singer's kernel for digits, on rows of length one.
DIGITS = {"kernel": "poly", "degree": 9, "gamma": 1.0, "fit_intercept": False, "margin": 0.01}
CHECKED = (60_000, 125_000, 250_000, 500_000, 1_000_000, 2_000_000, 4_000_000, 8_100_000)


def unit(X):
    X = np.asarray(X, dtype=np.float64)
    return X / np.sqrt(np.einsum("ij,ij->i", X, X))[:, None]


def mnist():
    data = ellipsoid.datasets.load("mnist")
    return data.train[0], data.train[1].astype(int), unit(data.test[0]), data.test[1].astype(int)


def warmed(**parameters):
    """A learner whose code is compiled, on both sides."""
    rng = np.random.default_rng(0)
    X = unit(rng.normal(size=(3000, 784)))
    MIRA(**{**DIGITS, **parameters}).partial_fit(X, rng.integers(0, 10, 3000)).predict(X[:10])
    return MIRA(**{**DIGITS, **parameters})


def digits():
    X, y, X_test, y_test = mnist()
    rows = unit(X)
    for precision in ("double", "single"):
        seconds = []
        for _ in range(3):
            model = warmed(device="cuda", precision=precision)
            begun = time.perf_counter()
            model.partial_fit(rows, y, classes=range(10))
            seconds.append(time.perf_counter() - begun)
        error = float((model.predict(X_test) != y_test).mean())
        yield {"rows": len(y), "precision": precision, "seconds": min(seconds), "runs": seconds,
               "updates": model.updates_, "test_error": error}  # fmt: skip


def deformed(rows, *, device="cuda", precision="double", seed=0):
    """A pass over deformed digits, the making of them counted; the error on the way is not."""
    X, y, X_test, y_test = mnist()
    model, arrays = warmed(device=device, precision=precision), cuda_arrays() if device == "cuda" else np
    stream = DeformedDigits(X, y, rows=rows, seed=seed, unit=True, arrays=arrays)
    stream.rows(0, 10)
    seconds = learning = done = 0.0
    curve, begun = [], time.perf_counter()
    for block, labels in stream:
        start = time.perf_counter()
        model.partial_fit(block, labels, classes=range(10))
        learning += time.perf_counter() - start
        before, done = done, done + len(labels)
        if any(before < stop <= done for stop in CHECKED) or done == rows:
            seconds += time.perf_counter() - begun
            error = float((model.predict(X_test) != y_test).mean())
            curve.append({"rows": int(done), "seconds": seconds, "learning": learning, "test_error": error,
                          "patterns": len(model.dual_coef_[0])})  # fmt: skip
            print(curve[-1], flush=True)
            begun = time.perf_counter()
    return {"rows": rows, "seed": seed, "device": device, "precision": precision, "seconds": seconds,
            "learning": learning, "updates": model.updates_, "test_error": curve[-1]["test_error"],
            "curve": curve}  # fmt: skip


def million():
    yield deformed(1_000_000)
    yield deformed(1_000_000, precision="single")


def millions():
    yield deformed(8_100_000)


def seeds():
    """The same with other deformations: how far one stream's error is chance."""
    for seed in (1, 2):
        yield deformed(8_100_000, seed=seed)


def cores():
    yield deformed(200_000)
    yield deformed(200_000, device="cpu")


def products():
    """Scores of a block, over the bare product of the same rows and patterns."""
    arrays = cuda_arrays()
    device, rng = DevicePatterns(arrays, "double"), arrays.random.default_rng(0)
    for patterns in (60_000, 240_000, 900_000):
        device.rows, device.norms = rng.standard_normal((patterns, 784)), arrays.ones(patterns)
        coef, rows = rng.standard_normal((patterns, 10)), (rng.standard_normal((1024, 784)), arrays.ones(1024))

        def bare(rows=rows, patterns=patterns):
            for begin, end in pairwise([*range(0, patterns, 65_536), patterns]):
                rows[0] @ device.rows[begin:end].T

        def whole(rows=rows, coef=coef):
            device.sums_of(Poly(1e-3, 9.0, 0.0), rows, coef, 0.0)

        seconds = {}
        for name, job in (("bare", bare), ("whole", whole)):
            runs = []
            for _ in range(8):
                arrays.cuda.Device().synchronize()
                begun = time.perf_counter()
                job()
                arrays.cuda.Device().synchronize()
                runs.append(time.perf_counter() - begun)
            seconds[name] = float(np.median(runs[2:]))
        yield {"patterns": patterns, "rows": 1024, "products": seconds["bare"], "scores": seconds["whole"],
               "ratio": seconds["whole"] / seconds["bare"],
               "teraflops": 2e-12 * 1024 * patterns * 784 / seconds["bare"]}  # fmt: skip


def standard(X):
    X = np.asarray(X, dtype=np.float64)
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)


def sets():
    for name, some, part in (("letter", 16_000, 16_000), ("covtype", 500_000, 20_000)):
        data = ellipsoid.datasets.load(name)
        X, y = standard(data.X), np.unique(data.y, return_inverse=True)[1]
        order = np.random.default_rng(0).permutation(len(y))
        X, y = X[order], y[order]
        test = slice(some, some + 20_000)
        settings = {"kernel": "rbf", "gamma": 1.0 / X.shape[1], "margin": 0.1}
        for device, rows in (("cuda", part), ("cpu", part), *([("cuda", some)] if part < some else [])):
            MIRA(**settings, device=device).partial_fit(X[:2000], y[:2000])
            model, begun = MIRA(**settings, device=device), time.perf_counter()
            model.partial_fit(X[:rows], y[:rows], classes=range(y.max() + 1))
            seconds = time.perf_counter() - begun
            found = {"set": name, "device": device, "rows": rows, "seconds": seconds, "updates": model.updates_,
                     "test_error": float((model.predict(X[test]) != y[test]).mean())}  # fmt: skip
            print(found, flush=True)
            yield found


def machine():
    """The ellipsoidal SVM on digits 0-4 against 5-9, to a relative gap of 1e-3; and scikit-learn's NuSVC."""
    X, y, X_test, y_test = mnist()
    rows, two = unit(X), (y > 4).astype(int)
    EllipsoidalSVC(device="cuda", gamma=8.0, random_state=0).fit(rows[:1000], two[:1000])
    for n in (5_000, 20_000, 50_000):
        model, begun = EllipsoidalSVC(device="cuda", gamma=8.0, random_state=0), time.perf_counter()
        model.fit(rows[:n], two[:n])
        seconds = time.perf_counter() - begun
        error = float((model.predict(X_test) != (y_test > 4)).mean())
        found = {"points": n, "seconds": seconds, "gap": float(model.duality_gap_), "passes": int(model.n_iter_),
                 "dual": float(model.dual_objective_), "test_error": error}  # fmt: skip
        print(found, flush=True)
        yield found
    from sklearn.svm import NuSVC

    begun = time.perf_counter()
    peer = NuSVC(gamma=8.0, nu=0.1, cache_size=8000).fit(rows[:20_000], two[:20_000])
    found = {"points": 20_000, "peer": "NuSVC", "seconds": time.perf_counter() - begun,
             "test_error": float((peer.predict(X_test) != (y_test > 4)).mean())}  # fmt: skip
    yield found


def shapes():
    """IELLIP, AROW and SOP, rbf: a pass over digits, and what is asked of 10,000 others, on either device."""
    X, y, X_test, y_test = mnist()
    rows = unit(X)
    for kind, few, many in ((IELLIP, 10_000, 60_000), (AROW, 4_000, 20_000), (SecondOrderPerceptron, 10_000, 60_000)):
        for device, n in (("cpu", few), ("cuda", few), ("cuda", many)):
            settings = {"kernel": "rbf", "gamma": 2.0, "device": device}
            # As many as it takes to compile all that comes.
            ready = kind(**settings).partial_fit(rows[: min(n, 3000)], y[: min(n, 3000)], classes=range(10))
            asked = ("decision_function", *(("confidence",) if hasattr(ready, "confidence") else ()))
            for question in asked:
                getattr(ready, question)(X_test[:10])
            model, begun = kind(**settings), time.perf_counter()
            model.partial_fit(rows[:n], y[:n], classes=range(10))
            found = {"learner": kind.__name__, "device": device, "rows": n, "seconds": time.perf_counter() - begun,
                     "updates": model.updates_, "mistakes": model.mistakes_}  # fmt: skip
            for question in asked:
                begun = time.perf_counter()
                getattr(model, question)(X_test)
                found[question] = time.perf_counter() - begun
            found["test_error"] = float((model.predict(X_test) != y_test).mean())
            print(found, flush=True)
            yield found


PARTS = {part.__name__: part for part in (digits, million, millions, seeds, products, sets, cores, machine, shapes)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)} [default: all]")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    arrays = cuda_arrays()
    name = arrays.cuda.runtime.getDeviceProperties(0)["name"].decode()
    kept = json.loads(options.output.read_text()) if options.output.exists() else {"parts": {}}
    kept["machine"] = {**describe(), "threads_used": "all", "device": name, "cupy": arrays.__version__}
    for part in options.parts or PARTS:
        kept["parts"][part] = list(PARTS[part]())
        print(part, json.dumps(kept["parts"][part]), flush=True)
        options.output.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
