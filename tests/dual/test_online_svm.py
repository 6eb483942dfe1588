"""OnlineSVM: golden runs, the maximum over the window after every round, strong duality on every prefix, edges."""

import numpy as np
import pytest
import scipy.sparse as sp

from ellipsoid import OnlineSVM, PassiveAggressive, load
from ellipsoid.engine import tally as tallies
from ellipsoid.engine.loop import NO_WEIGHTS, learn
from ellipsoid.engine.rows import Dense
from ellipsoid.engine.tasks import PLAIN
from ellipsoid.representation.window import ascent as window_ascent
from ellipsoid.representation.window import slots
from ellipsoid.representation.window.linear import UNDONE

GOLDEN_X = np.array([[0.5, 0.8], [0.7, -0.6], [-0.7, 0.4], [0.1, 0.9], [0.3, -0.1], [0.2, 0.9]])
GOLDEN_Y = np.array([1, 1, -1, 1, -1, -1])
GOLDEN = {
    1: (1.0097476923076922, [0.4, 0.4, 0.3015384615384617, 0.4, 0.4, 0.4], [0.5310769230769232, -0.0006153846153847]),
    2: (1.0101647058823529, [0.4, 0.3058823529411766, 0.4, 0.4, 0.4, 0.4], [0.5341176470588236, 0.016470588235294]),
    3: (1.0192, [0.4] * 6, [0.6, -0.04]),
    None: (1.0192, [0.4] * 6, [0.6, -0.04]),
}


class Follower:
    """Learns row by row and keeps, for every round, z, all alphas so far, the weights and the dual."""

    def __init__(self, model, X, y, classes, *, sparse=False):
        self.model, self.margin, self.C = model, model.margin, model.C
        rows = sp.csr_matrix(X) if sparse else np.asarray(X)
        seen = np.column_stack([np.ones(len(X)), X]) if model.fit_intercept else np.column_stack([np.zeros(len(X)), X])
        size = 1 if len(classes) == 2 else len(classes)
        alphas, Z, W = np.zeros(0), [], np.zeros((size, seen.shape[1]))
        self.alphas, self.duals, self.weights, self.losses = [], [], [], []
        for t in range(len(X)):
            Z.append(self.direction(W, seen[t], y[t], classes))
            self.losses.append(max(0.0, self.margin - np.vdot(Z[-1], W)))
            model.partial_fit(rows[t : t + 1], y[t : t + 1], classes=classes if t == 0 else None)
            window = model._core.table.slots.alphas()
            alphas = np.concatenate([np.append(alphas, 0.0)[: t + 1 - len(window)], window])
            W = np.column_stack([model.intercept_, model.coef_])
            self.alphas.append(alphas)
            self.duals.append(model.dual_objective_)
            self.weights.append(W)
        self.Z = np.array(Z)

    @staticmethod
    def direction(W, x, y, classes):
        z = np.zeros_like(W)
        if len(classes) == 2:
            z[0] = x if y == classes[1] else -x
            return z
        rival = max((r for r in range(len(W)) if r != y), key=lambda r: (W[r] @ x, -r))
        z[y], z[rival] = x, -x
        return z

    def primal(self, t, W):
        """P after t rounds."""
        margins = np.tensordot(self.Z[:t], W, axes=2)
        return 0.5 * (W**2).sum() + self.C * np.maximum(0.0, self.margin - margins).sum()


def stream(n=60, classes=2, seed=0):
    """Rows of norm below one with some signal, labels with noise, rows that repeat with either label."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    y = (X @ rng.normal(size=(5, classes))).argmax(axis=1)
    y[rng.random(n) < 0.2] = 0
    X[rng.random(X.shape) < 0.2] = 0.0
    X[n // 2 : n // 2 + 4] = X[3]
    X[n - 5] = -X[4]
    X /= 1.01 * np.sqrt(2.0 if classes > 2 else 1.0) * np.linalg.norm(X, axis=1).max()
    return X, y


@pytest.mark.interpreted
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("window", GOLDEN)
def test_golden_run(window, sparse):
    dual, alpha, w = GOLDEN[window]
    model = OnlineSVM(window=window, C=0.4, margin=0.5, fit_intercept=False)
    run = Follower(model, GOLDEN_X, GOLDEN_Y, [-1, 1], sparse=sparse)
    assert model.dual_objective_ == pytest.approx(dual, abs=1e-12)
    np.testing.assert_allclose(run.alphas[-1], alpha, atol=1e-12)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-12)
    assert model.mistakes_ == 4
    assert [t for t in range(6) if run.losses[t] >= 0.5] == [0, 1, 4, 5]


SETTINGS = [(2, 2), (2, 3), (2, 7), (2, None), (3, 2), (3, 7), (3, None)]


@pytest.mark.parametrize("C", [0.3, 5.0])
@pytest.mark.parametrize(("classes", "window"), SETTINGS)
def test_after_every_round_the_dual_is_maximal_over_the_window(classes, window, C):
    X, y = stream(classes=classes)
    run = Follower(OnlineSVM(window=window, C=C), X, y, list(range(classes)))
    Z = run.Z.reshape(len(X), -1)
    for t in range(len(X)):
        alpha, theta = run.alphas[t], run.weights[t].ravel()
        np.testing.assert_allclose(theta, alpha @ Z[: t + 1], atol=1e-10)
        assert run.duals[t] == pytest.approx(run.margin * alpha.sum() - 0.5 * theta @ theta, abs=1e-10)
        assert (alpha >= 0.0).all()
        assert (alpha <= C).all()
        first = 0 if window is None else max(0, t + 1 - window)
        gradient = run.margin - Z[first : t + 1] @ theta
        inner = alpha[first:]
        slope = np.where(inner <= 0.0, np.maximum(gradient, 0), np.where(inner >= C, np.minimum(gradient, 0), gradient))
        assert np.abs(slope).max() <= 1e-8, f"round {t}"
        if t:
            assert (alpha[:first] == run.alphas[t - 1][:first]).all()


@pytest.mark.parametrize("C", [0.3, 5.0])
@pytest.mark.parametrize(("classes", "window"), [*SETTINGS, (2, 1), (3, 1)])
def test_every_round_raises_the_dual_by_what_the_theory_promises(classes, window, C):
    """dD >= C mu(loss) = m (loss - m / 2), m = min(loss, C), for |z| <= 1; and so lambda M <= D <= min P."""
    X, y = stream(classes=classes, seed=1)
    model = OnlineSVM(window=window, C=C, fit_intercept=False)
    run = Follower(model, X, y, list(range(classes)))
    rises, losses = np.diff([0.0, *run.duals]), np.array(run.losses)
    m = np.minimum(losses, C)
    assert (rises >= m * (losses - 0.5 * m) - 1e-12).all()
    assert (rises >= -1e-12).all()
    least = C - 0.5 * C * C if C <= 1.0 else 0.5
    assert least * model.mistakes_ <= model.dual_objective_
    rng = np.random.default_rng(0)
    for W in (run.weights[-1], *(rng.normal(size=(50, *run.weights[-1].shape)) * rng.uniform(0, 3, size=(50, 1, 1)))):
        assert model.dual_objective_ <= run.primal(len(X), W) + 1e-9


@pytest.mark.long
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("C", [0.1, 2.0, 50.0])
@pytest.mark.parametrize("classes", [2, 3])
def test_all_examples_strong_duality_on_every_prefix(classes, C, sparse):
    X, y = stream(90, classes, seed=2)
    run = Follower(OnlineSVM(window=None, C=C), 3.0 * X, y, list(range(classes)), sparse=sparse)
    gaps = [run.primal(t + 1, run.weights[t]) - run.duals[t] for t in range(len(X))]
    assert min(gaps) >= -1e-9
    assert max(gaps) <= 1e-6


def test_all_examples_against_a_conic_solver():
    cvxpy = pytest.importorskip("cvxpy", reason="cvxpy is not installed: no conic solver to compare with")
    pytest.importorskip("clarabel", reason="clarabel is not installed: no conic solver to compare with")
    X, y = stream(40, seed=3)
    run = Follower(OnlineSVM(window=None, C=2.0), 2.0 * X, y, [0, 1])
    for t in (1, 5, 12, 20, 33, 40):
        w = cvxpy.Variable(X.shape[1] + 1)
        Z = run.Z[:t, 0]
        problem = cvxpy.Problem(cvxpy.Minimize(0.5 * cvxpy.sum_squares(w) + 2.0 * cvxpy.sum(cvxpy.pos(1.0 - Z @ w))))
        problem.solve(solver=cvxpy.CLARABEL)
        assert run.duals[t - 1] == pytest.approx(problem.value, abs=1e-6)
        np.testing.assert_allclose(run.weights[t - 1][0], w.value, atol=1e-3)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_window_of_one_is_passive_aggressive(classes, sparse):
    X, y = stream(classes=classes)
    rows = sp.csr_matrix(X) if sparse else X
    for options in ({"C": 0.2}, {"C": 3.0, "average": True, "fit_intercept": False}, {"C": np.inf, "margin": 0.1}):
        svm = OnlineSVM(window=1, **options).partial_fit(rows, y, classes=range(classes))
        pa = PassiveAggressive(variant="I", **options).partial_fit(rows, y, classes=range(classes))
        assert (svm.coef_ == pa.coef_).all()
        assert (svm.intercept_ == pa.intercept_).all()
        assert (svm.mistakes_, svm.updates_) == (pa.mistakes_, pa.updates_)


@pytest.mark.parametrize("C", [0.3, np.inf])
@pytest.mark.parametrize(("classes", "window"), [(2, 2), (2, 7), (3, 7), (3, None)])
def test_certificates_hold_for_any_comparator(classes, window, C):
    X, y = stream(classes=classes, seed=8)
    model = OnlineSVM(window=window, C=C)
    run = Follower(model, X, y, list(range(classes)))
    assert [c.name for c in model.certificates()] == [
        "dual objective", "rescaled dual objective", "loss that nothing of the comparator's norm avoids",
        "average margin of the unit comparator on the updates", "dual increase on mistakes", "mistakes",
    ]  # fmt: skip
    rng = np.random.default_rng(1)
    for W in (
        run.weights[-1],
        *(rng.normal(size=(30, *run.weights[-1].shape)) * 10.0 ** rng.uniform(-3, 3, (30, 1, 1))),
    ):
        found = {c.name: c for c in model.certificates(W)}
        assert all(c.observed <= c.bound for c in found.values())
        losses = np.maximum(0.0, 1.0 - np.tensordot(run.Z, W, axes=2))
        assert model.least_loss(np.linalg.norm(W)) <= losses.sum() + 1e-9
        margins = np.tensordot(run.Z, W / np.linalg.norm(W), axes=2)[run.alphas[-1] > 0.0]
        best = found["average margin of the unit comparator on the updates"].bound
        assert margins.min() <= best + 1e-9
    rises = np.diff([0.0, *run.duals])
    mistaken = np.array(run.losses) >= 1.0
    assert found["dual increase on mistakes"].observed == pytest.approx(rises[mistaken].sum(), rel=1e-9)


# -- edges ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [1, 2, 4, None])
def test_a_zero_row_costs_everybody_the_margin_and_moves_nothing(window):
    X, y = stream(30)
    model = OnlineSVM(window=window, C=0.7, margin=0.5, fit_intercept=False).partial_fit(X, y, classes=[0, 1])
    dual, coef, mistakes, updates = model.dual_objective_, model.coef_, model.mistakes_, model.updates_
    model.partial_fit(np.zeros((1, 5)), [1])
    assert model.dual_objective_ == pytest.approx(dual + 0.5 * 0.7, rel=1e-15)
    assert (model.coef_ == coef).all()
    assert (model.mistakes_, model.updates_) == (mistakes + 1, updates)
    model.partial_fit(X, y)
    assert np.isfinite(model.coef_).all()


def test_a_zero_row_takes_a_place_in_the_window():
    """k = 2: between a zero row and the next one, the example before it can no longer move."""
    X = np.array([[1.0, 0.0], [0.0, 0.0], [-0.9, 0.1]])
    model = OnlineSVM(window=2, C=0.3, fit_intercept=False).partial_fit(X, [1, 1, 1], classes=[0, 1])
    assert model._core.table.slots.alphas()[0] == 0.0
    plain = PassiveAggressive(C=0.3, fit_intercept=False).partial_fit(X, [1, 1, 1], classes=[0, 1])
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-12)


def test_hard_margin_on_separable_rows_is_the_hard_margin_svm():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 4))
    y = (X @ [1.0, -2.0, 0.5, 0.0] > 0).astype(int)
    X[np.arange(80), 0] += 0.3 * (2 * y - 1)
    model = OnlineSVM(window=None, C=np.inf)
    run = Follower(model, X, y, [0, 1])
    w = run.weights[-1]
    assert np.tensordot(run.Z, w, axes=2).min() >= 1.0 - 1e-8
    assert model.dual_objective_ == pytest.approx(0.5 * (w**2).sum(), rel=1e-8)


@pytest.mark.parametrize("window", [1, 2, 5, None])
def test_hard_margin_without_a_solution_stays_finite_and_climbs(window):
    """The same row with both labels: no w serves both, min P is infinite, and D grows without end."""
    X = np.tile([[0.6, 0.2], [0.6, 0.2], [0.1, -0.7]], (8, 1))
    run = Follower(OnlineSVM(window=window, C=np.inf, fit_intercept=False), X, np.tile([0, 1, 1], 8), [0, 1])
    assert np.isfinite(run.weights[-1]).all()
    assert np.isfinite(run.duals).all()
    assert (np.diff(run.duals) >= -1e-12 * run.duals[-1]).all()
    # The alpha of a zero row would be infinite; it is left at zero, and the dual stays a lower bound of infinity.
    zero = run.model.partial_fit(np.zeros((1, 2)), [1])
    assert run.duals[-1] <= zero.dual_objective_ < 1e9
    assert all(c.observed <= c.bound for c in zero.certificates())


def test_an_early_stop_keeps_the_promise_and_is_made_up_for(monkeypatch):
    """One sweep a round, in plain Python: the dual still rises by C mu(loss), and what was left is taken up again."""
    monkeypatch.setattr(window_ascent, "MOST_SWEEPS", 1)
    monkeypatch.setattr(window_ascent, "newton", lambda *_: (0.0, False))
    X, y = stream(80, seed=4)
    model = OnlineSVM(window=6, C=3.0, fit_intercept=False)
    core = model._start()
    core.open(5, by_class=True, classes=2)
    for label in (0, 1):
        core.add_label(label)
    core.table.grow(None, 0)
    core.table.grow(None, 0)
    task = core.task(y[None], PLAIN)
    early = dual = 0.0
    for t in range(len(y)):
        z = (2 * y[t] - 1) * X[t]
        loss = max(0.0, 1.0 - z @ core.table.weights(1, 0)[0, 1:])
        rows = Dense(X, 0.0)
        learn.py_func(core.rule, task, core.table.rep, rows, core.tally, core.work, t, t + 1, NO_WEIGHTS)
        m, before, dual = min(loss, 3.0), dual, core.solution().objective
        assert dual - before >= m * (loss - 0.5 * m) - 1e-12
        early += core.table.slots.numbers[UNDONE]
    assert early > 10
    assert core.tally[tallies.ROUNDS] == 80


def test_where_newton_has_no_room_coordinates_arrive_too(monkeypatch):
    X, y = stream(60, seed=6)
    usual = OnlineSVM(window=20, C=2.0).partial_fit(X, y, classes=[0, 1])
    monkeypatch.setattr(slots, "NEWTON", 2)
    slow = OnlineSVM(window=20, C=2.0).partial_fit(X, y, classes=[0, 1])
    np.testing.assert_allclose(slow.coef_, usual.coef_, atol=1e-6)
    assert slow.dual_objective_ == pytest.approx(usual.dual_objective_, rel=1e-8)


@pytest.mark.parametrize("bad", [0, -1, 1.5, "all", True])
def test_a_window_is_a_positive_integer_or_none(bad):
    with pytest.raises(ValueError, match="window must be a positive integer, or None"):
        OnlineSVM(window=bad).partial_fit([[1.0]], [0])


def test_a_third_class_turns_the_run_into_that_of_two_rows():
    X, y = stream(50, 3, seed=7)
    y[:25] = y[:25] % 2
    model = OnlineSVM(window=8, C=0.5)
    for t in range(50):
        before = model.dual_objective_ if t else 0.0
        knew = len(model.classes_) if t else 0
        model.learn_one(X[t], y[t])
        factor = 0.5 if (knew, len(model.classes_)) == (2, 3) else 1.0
        assert model.dual_objective_ >= factor * before - 1e-12
        assert all(c.observed <= c.bound for c in model.certificates(np.ones((model._core.scores, 5))))
    assert len(model.classes_) == 3


# -- chunks and files ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("window", [1, 2, 5, 40, None])
def test_chunks_do_not_matter(window, sparse):
    X, y = stream(100, 3)
    rows = sp.csr_matrix(X) if sparse else X
    runs = []
    for size in (100, 7, 1):
        model = OnlineSVM(window=window, C=0.5, average=True)
        for start in range(0, 100, size):
            part = slice(start, start + size)
            model.partial_fit(rows[part], y[part], classes=range(3) if start == 0 else None)
        runs.append({name: array.tobytes() for name, array in model._core.table.state(3).items()})
    assert runs[0] == runs[1]
    assert runs[0] == runs[2]


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("window", [2, 5, None])
def test_a_file_holds_the_window(window, sparse, tmp_path):
    X, y = stream(60, 3)
    rows = sp.csr_matrix(X) if sparse else X
    model = OnlineSVM(window=window).partial_fit(rows[:33], y[:33], classes=range(3))
    model.save(tmp_path / "m")
    other = load(tmp_path / "m")
    for learner in (model, other):
        learner.partial_fit(rows[33:], y[33:])
    assert (model.coef_ == other.coef_).all()
    assert model.dual_objective_ == other.dual_objective_
    assert (model._core.table.slots.alphas() == other._core.table.slots.alphas()).all()


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_a_forged_window_is_refused(sparse):
    X, y = stream(20, 3)
    model = OnlineSVM(window=5).partial_fit(sp.csr_matrix(X) if sparse else X, y, classes=range(3))
    good = model._core.table.state(3)
    scalars = model._core.scalars()
    forged = {
        "window_pairs": np.full_like(good["window_pairs"], 3.0), "window_gram": good["window_gram"][:4, :4],
        "window_alpha": good["window_alpha"][:4], "window_numbers": np.full_like(good["window_numbers"], 2.5),
    }  # fmt: skip
    if sparse:
        indices, lengths, data = (good[f"window_{name}"] for name in ("indices", "lengths", "data"))
        forged |= {"window_indices": indices + 5, "window_lengths": lengths + 1, "window_data": data[:-1]}
    else:
        forged |= {"window_X": good["window_X"][:, :4]}
    for name, array in forged.items():
        core = model._start()
        with pytest.raises(ValueError, match="window"):
            core.restore(scalars, {**good, "tally": model._core.tally, name: array}, [0, 1, 2])
    core = model._start()
    core.restore(scalars, {**good, "tally": model._core.tally}, [0, 1, 2])
    assert (core.weights() == model._core.weights()).all()
