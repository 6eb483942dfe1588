"""``PassiveAggressiveRegressor``: the golden run, its bounds on any stream, and a learner of numbers like any other."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.estimator_checks import check_estimator

from ellipsoid import DamagedModel, PassiveAggressiveRegressor, Scaled, load, merge, prequential
from ellipsoid.engine import tally as tallies
from ellipsoid.estimators.files import container

X = np.array([(1, 2), (2, -1), (-1, 1), (1, 1), (-2, 1)]) / 2.0
Y, WEIGHTS = np.array([1.0, 0.5, -0.25, 2.0, -1.0]), np.array([1.0, 2.0, 1.0, 0.5, 3.0])
GOLDEN = {
    "hard": ([0.0, 0.0, -0.06, 0.62, -1.175], [1.99, 1.78], 3.84, 5.985),
    "I": ([0.0, 0.0, -0.115, 0.455, -0.515], [1.038, 0.276], 1.448, 1.4855),
    "II": ([0.0, 0.0, -0.0714285714, 0.3571428571, -0.4792857143], [1.0290476190, 0.4352380952],
          1.5638095238, 2.0273809524),
}  # fmt: skip


def stream(n=120, width=4, seed=0):
    rng = np.random.default_rng(seed)
    rows = np.round(8.0 * rng.normal(size=(n, width))) / 8.0
    return rows, rows @ rng.normal(size=width) + 0.3 * rng.normal(size=n) + 1.0


def known(model):
    core = getattr(model, "learner_", model)._core
    return core.tally.tobytes(), core.table.weights(1, 0).tobytes(), core.features


@pytest.mark.interpreted
@pytest.mark.parametrize("variant", GOLDEN)
def test_the_golden_run(variant):
    predictions, weights, A, B = GOLDEN[variant]
    model = PassiveAggressiveRegressor(variant=variant, C=0.5, tube=0.1, fit_intercept=False)
    given = {} if variant == "hard" else {"sample_weight": WEIGHTS}
    assert model.learn_predict(X, Y, **given) == pytest.approx(predictions, abs=1e-10)
    assert model.coef_ == pytest.approx(weights, abs=1e-10)
    assert model._core.tally[[tallies.PUSH, tallies.GAIN]] == pytest.approx([A, B], abs=1e-10)


HOSTILE = {
    "two numbers for one row": lambda: (np.ones((50, 2)), np.tile([5.0, -5.0], 25)),
    "numbers without rhyme": lambda: (
        np.random.default_rng(0).normal(size=(60, 3)),
        np.random.default_rng(1).standard_cauchy(60),
    ),
    "sizes of every kind": lambda: (
        np.random.default_rng(2).normal(size=(60, 2)) * 10.0 ** np.random.default_rng(3).integers(-20, 20, (60, 1)),
        np.random.default_rng(4).normal(size=60) * 10.0 ** np.random.default_rng(5).integers(-20, 20, 60),
    ),
    "a function of them": lambda: stream(60, 3),
}


@pytest.mark.interpreted
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("variant", GOLDEN)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_every_bound_holds_for_every_comparator(name, variant, kernel):
    rows, y = HOSTILE[name]()
    if kernel == "rbf" and name == "sizes of every kind":
        y = np.sign(y)
    model = PassiveAggressiveRegressor(variant=variant, C=0.3, tube=0.05, kernel=kernel, gamma=0.5)
    told, rng = model.learn_predict(rows, y), np.random.default_rng(6)
    losses = np.maximum(0.0, np.abs(y - told) - 0.05)
    comparators = [None]
    if kernel == "linear":
        comparators += [
            np.zeros(rows.shape[1]),
            *(rng.normal(size=(8, 1 + rows.shape[1])) * 10.0 ** rng.integers(-3, 3, (8, 1))),
        ]
        comparators.append(np.linalg.lstsq(np.column_stack([np.ones(len(y)), rows]), y, rcond=None)[0])
    for u in comparators:
        found = {c.name: c for c in model.certificates(u)}
        assert all(c.observed <= c.bound for c in found.values())
        if variant != "I":
            assert (losses**2).sum() <= found["squared losses"].bound * (1.0 + 1e-9)
            assert found["squared losses"].observed <= (losses**2).sum() * (1.0 + 1e-9)
    if variant == "I" and kernel == "linear":
        wide = np.column_stack([np.ones(len(y)), rows])
        for u in comparators[1:]:
            full = u if len(u) == wide.shape[1] else np.r_[0.0, u]
            cost = full @ full / 2.0 + 0.3 * np.maximum(0.0, np.abs(y - wide @ full) - 0.05).sum()
            assert model.dual_objective_ <= cost * (1.0 + 1e-9)


@pytest.mark.interpreted
def test_losses_whose_products_vanish_are_within_their_bounds():
    model = PassiveAggressiveRegressor(variant="hard", tube=0.0, fit_intercept=False)
    found = model.partial_fit([[1e70]], [1e-100]).certificates([0.0])
    assert all(each.observed <= each.bound for each in found)
    assert found[1].observed > 0.0


@pytest.mark.interpreted
@pytest.mark.parametrize("variant", GOLDEN)
@pytest.mark.parametrize(("small", "large"), [(1e-149, 1e72), (1e-120, 1e70), (1e-100, 1e72), (1e-60, 1e72)])
def test_large_numbers_of_tiny_rows_leave_a_model_that_can_be_saved_and_merged(variant, small, large, tmp_path):
    """Steps whose products overflow, or that would make the values of other rows infinite."""
    rows, y = [[small]] * 3, [large, -large, large]
    model = PassiveAggressiveRegressor(variant=variant, C=1e300, tube=0.0, fit_intercept=False).partial_fit(rows, y)
    other = copy.deepcopy(model).partial_fit([[1.0]], [1.0])
    merged = merge([model, other])
    for each in (model, other, merged, merge([merged, other]).partial_fit(rows, y)):
        assert np.isfinite(each.predict([[1e144], [small]])).all()
        assert not np.isnan(each.dual_objective_)
        assert all(c.observed <= c.bound for u in (None, [0.0], [1e100]) for c in each.certificates(u))
        each.save(tmp_path / "numbers.model")
        assert load(tmp_path / "numbers.model").certificates() == each.certificates()


@pytest.mark.interpreted
@pytest.mark.parametrize("variant", GOLDEN)
def test_the_bounds_of_a_mixture_hold_and_say_so(variant):
    """What rounding has done is bounded by the sums of all shards: one may have gone farther than their mean."""
    rows, y = stream(60)
    models = [PassiveAggressiveRegressor(variant=variant).partial_fit(rows[i::3], y[i::3]) for i in range(3)]
    merged = merge([*models, PassiveAggressiveRegressor(variant=variant).partial_fit(1e-9 * rows, 1e60 * y)])
    rng = np.random.default_rng(7)
    for u in (None, *rng.normal(size=(5, 5))):
        for told in (merge(models).certificates(u), merged.certificates(u)):
            assert all(each.observed <= each.bound and "weighted over" in each.holds_if for each in told)


@pytest.mark.interpreted
def test_a_step_ends_on_the_edge_of_the_tube_or_at_the_cap():
    rows, y = stream()
    model = PassiveAggressiveRegressor(variant="hard", tube=0.2)
    capped = PassiveAggressiveRegressor(C=0.01, tube=0.2).partial_fit(rows[:1], y[:1])
    for x, target in zip(rows, y.tolist(), strict=True):
        before = model.predict_one(x) if model.__sklearn_is_fitted__() else 0.0
        model.learn_one(x, target)
        after = abs(target - model.predict_one(x))
        assert after == pytest.approx(0.2 if abs(target - before) > 0.2 else abs(target - before), abs=1e-9)
    for x, target in zip(rows, y.tolist(), strict=True):
        old = np.r_[capped.intercept_, capped.coef_]
        moved = np.r_[capped.learn_one(x, target).intercept_, capped.coef_] - old
        assert np.linalg.norm(moved) <= 0.01 * np.sqrt(1.0 + x @ x) * (1.0 + 1e-9)


@pytest.mark.interpreted
def test_weight_k_is_k_copies_in_a_row():
    rows, y = stream(30)
    weights = np.random.default_rng(0).integers(0, 4, 30)
    one = PassiveAggressiveRegressor(C=0.05).partial_fit(rows, y, sample_weight=weights)
    many = PassiveAggressiveRegressor(C=0.05).partial_fit(np.repeat(rows, weights, axis=0), np.repeat(y, weights))
    assert one.coef_ == pytest.approx(many.coef_, abs=1e-12)
    told = PassiveAggressiveRegressor(C=0.05).learn_predict(rows, y, sample_weight=weights)
    assert told.dtype == np.float64
    with pytest.raises(
        ValueError, match=r"takes only the weights 0 and 1.* Use PassiveAggressiveRegressor\(variant=\"I\"\)$"
    ):
        PassiveAggressiveRegressor(variant="hard").partial_fit(rows, y, sample_weight=np.full(30, 2.0))


@pytest.mark.parametrize("options", [{}, {"average": True}, {"kernel": "rbf", "gamma": 0.3}], ids=repr)
@pytest.mark.parametrize("scaled", [False, True])
def test_no_cut_or_file_changes_a_bit_and_predictions_are_those_of_before(options, scaled, tmp_path):
    rows, y = stream(60)

    def new():
        model = PassiveAggressiveRegressor(C=0.1, **options)
        return Scaled(model) if scaled else model

    whole, cut, single = new(), new(), new()
    foretold, slow = whole.learn_predict(rows, y), []
    for start in range(0, 60, 13):
        cut.partial_fit(rows[start : start + 13], y[start : start + 13])
        cut.save(tmp_path / "cut")
        cut = load(tmp_path / "cut")
    for x, target in zip(rows, y.tolist(), strict=True):
        slow.append(single.predict_one(x) if single.__sklearn_is_fitted__() else 0.0)
        single.learn_one(x, target)
    assert foretold.tolist() == slow
    assert known(whole) == known(cut) == known(single)
    for again in (copy.deepcopy(whole), pickle.loads(pickle.dumps(whole))):
        assert (again.predict(rows) == whole.predict(rows)).all()
    assert [whole.predict_one(x) for x in rows] == whole.predict(rows).tolist()
    assert whole.score(rows, y) > 0.2


@pytest.mark.interpreted
def test_sparse_rows_and_dicts_learn_the_same():
    rows, y = stream(60)
    dense, sparse, named = (PassiveAggressiveRegressor() for _ in range(3))
    dense.partial_fit(rows, y)
    sparse.partial_fit(sp.csr_matrix(rows), y)
    for x, target in zip(rows, y.tolist(), strict=True):
        named.learn_one({str(j): v for j, v in enumerate(x.tolist())}, target)
    for other in (sparse, named):
        assert other.coef_ == pytest.approx(dense.coef_)
    assert named.predict_one({"0": 1.0, "new": 5.0}) == pytest.approx(dense.predict([[1.0, 0.0, 0.0, 0.0]])[0])


@pytest.mark.interpreted
def test_what_is_refused_changes_nothing():
    rows, y = stream(20)
    model = PassiveAggressiveRegressor().partial_fit(rows, y)
    before = known(model)
    for values, sentence in (
        ([np.nan] * 20, "row 0 of y holds nan"), (y * 1e80, "below"), (["a"] * 20, "y must hold numbers"),
        (y[:5], "5 numbers"),
        (np.ones((20, 2)), "y must be 1-D"), (None, "target y is None"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=sentence):
            model.partial_fit(rows, values)
        assert known(model) == before
    bad = rows.copy()
    bad[7, 0] = np.inf
    with pytest.raises(ValueError, match="row 7 of X"):
        model.learn_predict(bad, y)
    with pytest.raises(ValueError, match="a regressor has no classes"):
        model.partial_fit(rows, y, classes=[0, 1])
    assert known(model) == before
    for name in ("classes_", "decision_function", "predict_proba"):
        assert not hasattr(model, name)
        assert not hasattr(Scaled(model), name)
        assert not hasattr(Scaled(model).partial_fit(rows, y), name)
    for options in ({"tube": -1.0}, {"C": 0.0}, {"variant": "III"}, {"average": "vote", "kernel": "rbf"}):
        with pytest.raises(ValueError, match=f"{next(iter(options))} must be"):
            PassiveAggressiveRegressor(**options).partial_fit(rows, y)


@pytest.mark.interpreted
def test_a_forged_file_is_refused(tmp_path):
    rows, y = stream(20)
    PassiveAggressiveRegressor().partial_fit(rows, y).save(tmp_path / "model")
    content = container.read(tmp_path / "model")
    for header, arrays in (
        ({**content.header, "labels": [0, 1]}, content.arrays),
        ({**content.header, "class": "PassiveAggressive"}, content.arrays),
        (content.header, {**content.arrays, "W": np.ones((2, 5))}),
    ):
        container.write(tmp_path / "forged", header, arrays)
        with pytest.raises(DamagedModel):
            load(tmp_path / "forged")


@pytest.mark.interpreted
def test_prequential_tells_distances():
    rows, y = stream(200)
    model = PassiveAggressiveRegressor(C=0.1)
    run = prequential(model, (rows, y), chunk_size=64, window=50)
    off = np.abs(PassiveAggressiveRegressor(C=0.1).learn_predict(rows, y) - y)
    assert (run.mae, run.rmse) == pytest.approx((off.mean(), np.sqrt((off**2).mean())))
    assert run.windowed_mae[-1] == pytest.approx(off[-50:].mean())
    assert run.repeat_mae == pytest.approx(np.abs(np.diff(y, prepend=0.0)).mean())
    assert run.to_dict()["coverage"] is None
    weight = np.random.default_rng(0).random(200)
    weighed = [
        prequential(PassiveAggressiveRegressor(C=0.1), (rows, y), sample_weight=weight, chunk_size=size, window=50)
        for size in (7, 200)
    ]
    # No digit depends on how the stream was cut.
    assert [part.to_dict() | {"seconds": 0} for part in weighed[:1]] == [weighed[1].to_dict() | {"seconds": 0}]
    late = prequential(PassiveAggressiveRegressor(C=0.1), (rows, y), delay=10)
    assert late.mae > run.mae
    dicts = prequential(PassiveAggressiveRegressor(C=0.1), [({"a": a}, 2.0 * a) for a in rows[:50, 0].tolist()])
    assert dicts.rows == 50


@pytest.mark.interpreted
def test_the_command_line_learns_numbers(tmp_path):
    from click.testing import CliRunner

    from ellipsoid.cli import main

    rows, y = stream(50, 2)
    file = tmp_path / "prices.csv"
    file.write_text("a,b,price\n" + "".join(f"{a},{b},{p}\n" for (a, b), p in zip(rows, y, strict=True)))
    done = CliRunner().invoke(main, ["learn", str(file), "--task", "regression", "--save", str(tmp_path / "m")])
    assert done.exit_code == 0, done.output
    assert "mean absolute error" in done.output
    told = CliRunner().invoke(main, ["predict", str(tmp_path / "m"), str(file)])
    assert [float(line) for line in told.output.split()] == pytest.approx(load(tmp_path / "m").predict(rows))
    refused = CliRunner().invoke(main, ["learn", str(file), "--task", "regression", "--model", "MIRA"])
    assert refused.exit_code == 2


@pytest.mark.interpreted
def test_scikit_learn_finds_nothing(monkeypatch):
    from ..estimators.expected_failures import SHUFFLED

    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    model = PassiveAggressiveRegressor(n_epochs=2)
    results = check_estimator(model, expected_failed_checks=SHUFFLED, on_fail=None, on_skip=None)
    assert {r["check_name"]: r["exception"] for r in results if r["status"] not in ("passed", "xfail")} == {}
    assert len(results) > 40


def test_the_steps_are_those_of_scikit_learn_without_an_intercept():
    from sklearn.linear_model import SGDRegressor

    rows, y = stream(200)
    ours = PassiveAggressiveRegressor(C=0.2, tube=0.1, fit_intercept=False).partial_fit(rows, y)
    theirs = SGDRegressor(loss="epsilon_insensitive", penalty=None, learning_rate="pa1", eta0=0.2, epsilon=0.1,
                          fit_intercept=False, shuffle=False)  # fmt: skip
    for start in range(0, 200, 50):
        theirs.partial_fit(rows[start : start + 50], y[start : start + 50])
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-9)


@pytest.mark.interpreted
def test_single_examples_behind_a_scaler_are_predicted_as_numbers():
    rows, y = stream(20)
    named = [{f"f{j}": value for j, value in enumerate(row)} for row in rows]
    model = Scaled(PassiveAggressiveRegressor())
    for x, number in zip(named, y.tolist(), strict=True):
        model.learn_one(x, number)
    for x, row in zip(named, rows, strict=True):
        assert model.predict_one(x) == model.predict(row[np.newaxis])[0]


@pytest.mark.interpreted
@pytest.mark.parametrize("y", [[1.0 + 1.0j], np.array(["2001-02-03"], dtype="datetime64[D]"), np.array([3], "m8[s]")])
def test_values_that_are_not_real_numbers_are_refused(y):
    with pytest.raises(ValueError, match="not a type of real numbers"):
        PassiveAggressiveRegressor().partial_fit([[1.0]], y)


@pytest.mark.data
def test_half_hourly_demand_by_three_earlier_numbers(dataset):
    demand = dataset("elec2").X[: 8000 + 48, 4]
    lags, y = np.column_stack([demand[47:-1], demand[46:-2], demand[:-48]]), demand[48:]
    told = PassiveAggressiveRegressor(C=1.0, tube=0.0).learn_predict(lags, y)
    assert np.abs(told - y).mean() <= 0.0136


def test_approval_polls_without_a_setting():
    river = pytest.importorskip("river.datasets")
    rows = list(river.TrumpApproval())
    X = np.array([[x[name] for name in sorted(x)] for x, _ in rows])
    y = np.array([number for _, number in rows])
    for C in (0.01, 0.1, 1.0):
        told = PassiveAggressiveRegressor(C=C, tube=0.0).learn_predict(X, y)
        assert np.abs(told - y).mean() <= 0.21


@pytest.mark.interpreted
@pytest.mark.parametrize("budget", [None, 2])
def test_a_kernel_model_compares_with_no_weight_vector(budget):
    model = PassiveAggressiveRegressor(kernel="rbf", gamma=1.0, budget=budget).partial_fit(X, Y)
    with pytest.raises(ValueError, match="comparator must be None"):
        model.certificates([0.0, 0.0])
