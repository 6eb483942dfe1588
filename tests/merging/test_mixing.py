"""What the mixing theorem promises: certificates survive any number of rounds, shards and weights."""

from copy import deepcopy
from math import inf
from threading import Thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from ellipsoid import (
    ALMA,
    IELLIP,
    MIRA,
    ROMMA,
    OnlineSVM,
    PassiveAggressive,
    Perceptron,
    QuasiAdditive,
    Winnow,
    load,
    merge,
)

from .shards import in_rounds, learned, parts, stream

pytestmark = pytest.mark.interpreted

LEARNERS = [
    Perceptron(), Perceptron(multiclass="uniform", margin=0.3), Perceptron(multiclass="ovr"), MIRA(), MIRA(margin=1.0),
    PassiveAggressive(variant="hard"), PassiveAggressive(C=0.1), PassiveAggressive(variant="II", C=0.5),
    QuasiAdditive(C=0.2), QuasiAdditive(update="fixed"), QuasiAdditive(link="p-norm", p=3.0),
    QuasiAdditive(link="balanced", margin=0.2), QuasiAdditive(link="entropy", update="curvature", margin=0.1),
    Winnow(), Winnow(version=1), OnlineSVM(window=3, C=0.3), OnlineSVM(window=None), ALMA(), ALMA(p=3.0),
    ROMMA(aggressive=True), IELLIP(), IELLIP(b=0.9, c=0.9, trigger="margin"),
]  # fmt: skip
SEEDS = st.integers(0, 2**32 - 1)
KINDS = st.sampled_from(["noisy", "separable", "sorted"])


def excess(model, *comparators):
    """Certificates that are contradicted."""
    told = [model.certificates(), *(model.certificates(U) for U in comparators)]
    return [each for certificates in told for each in certificates if not each.observed <= each.bound]


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@settings(max_examples=6)
@given(
    SEEDS,
    st.sampled_from([2, 4]),
    st.integers(2, 6),
    st.integers(1, 3),
    KINDS,
    st.sampled_from(["uniform", "mistakes"]),
)
def test_no_certificate_of_a_mixture_is_exceeded(learner, seed, classes, shards, rounds, kind, weights):
    X, y, truth = stream(seed, classes, rows=40, kind=kind)
    model = in_rounds(learner, parts(X, y, shards, kind), classes, rounds, weights)
    U = truth[1] - truth[0] if classes == 2 else truth
    assert not excess(model, U, np.random.default_rng(seed).normal(size=U.shape))
    assert model.t_ == rounds * len(y)
    # It learns on, and so it may be merged once more.
    model.partial_fit(X[:20], y[:20])
    assert not excess(model, U)
    again = merge([model, *learned(learner, parts(X, y, 2, kind), classes)])
    assert not excess(again, U)
    assert again.t_ == (rounds + 1) * len(y) + len(y[:20])


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_shards_that_were_never_updated_have_certificates(learner):
    for X, told in ((np.zeros((1, 2)), {"classes": [0, 1]}), (np.ones((1, 2)), {})):
        shards = [deepcopy(learner).partial_fit(X, [0], **told) for _ in range(2)]
        assert not excess(merge(shards))


@pytest.mark.parametrize("learner", [Perceptron(), MIRA(), PassiveAggressive(variant="hard"), IELLIP()], ids=repr)
def test_bounds_of_a_mixture_say_something(learner):
    X, y, truth = stream(5, classes=3, rows=300, kind="separable")
    model = in_rounds(learner, parts(X, y, 4), 3, 2)
    told = {each.name: each for each in model.certificates(truth)}
    weighted, everywhere = told["mistakes, weighted over the shards"], told["mistakes on all shards"]
    assert everywhere.observed == model.mistakes_ > 0
    assert weighted.observed == pytest.approx(model.mistakes_ / 4)
    assert weighted.bound < inf
    assert everywhere.bound == pytest.approx(4 * weighted.bound)
    assert "sums weighted over 4 shards" in weighted.holds_if


@pytest.mark.parametrize("learner", [QuasiAdditive(C=0.2), QuasiAdditive(link="p-norm"), QuasiAdditive(link="balanced"),
                                     QuasiAdditive(link="entropy", margin=0.1), OnlineSVM(window=4, C=0.2)],
                         ids=repr)  # fmt: skip
@settings(max_examples=6)
@given(SEEDS, st.sampled_from([2, 3]), st.integers(2, 5), KINDS)
def test_the_dual_of_a_mixture_is_no_less_than_the_mixture_of_the_duals(learner, seed, classes, shards, kind):
    X, y, _ = stream(seed, classes, kind=kind)
    models = learned(learner, parts(X, y, shards, kind), classes)
    mixed = merge(models)
    mean = np.mean([model.dual_objective_ for model in models])
    assert mixed.dual_objective_ >= mean - 1e-9 * (1.0 + abs(mean))
    # An alpha is that of a shard over the number of shards.
    assert 0.0 <= mixed._core.solution().largest <= learner.C / shards * (1.0 + 1e-12)


@pytest.mark.parametrize("weights", ["uniform", "mistakes"])
@pytest.mark.parametrize("seed", range(3))
def test_rounds_with_a_mistake_are_as_few_as_novikoff_has_it(weights, seed):
    """Separable rows: R^2 / g^2 rounds with a mistake if mistakes are the weights, S times that if all are alike."""
    X, y, truth = stream(seed, rows=200, kind="separable")
    u = truth[1] - truth[0]
    u /= np.linalg.norm(u)
    signed = X * np.where(y == 1, 1.0, -1.0)[:, np.newaxis]
    few = (np.linalg.norm(X, axis=1).max() / (signed @ u).min()) ** 2
    shards, erring = 4, []

    def count(start, models, mixed):
        erring.append(mixed.mistakes_ - (0 if start is None else start.mistakes_))

    model = in_rounds(Perceptron(fit_intercept=False), parts(X, y, shards), 2, 30, weights, count)
    assert erring[-1] == 0
    assert sum(made > 0 for made in erring) <= few * (1 if weights == "mistakes" else shards)
    assert model.mistakes_ == sum(erring) <= shards * few


@pytest.mark.parametrize("seed", range(4))
def test_romma_comes_nearer_to_weights_with_the_margin_by_every_mistake(seed):
    X, y, truth = stream(seed, rows=200, kind="separable")
    signed = X * np.where(y == 1, 1.0, -1.0)[:, np.newaxis]
    U = truth[1] - truth[0]
    U = U / (signed @ U).min()
    radius2 = (np.linalg.norm(X, axis=1) ** 2).max()
    shards = 4

    def potential(start, models, mixed):
        before = U @ U if start is None else ((start.coef_[0] - U) ** 2).sum()
        made = mixed.mistakes_ - (0 if start is None else start.mistakes_)
        assert ((mixed.coef_[0] - U) ** 2).sum() <= before - made / shards / radius2 + 1e-9

    model = in_rounds(ROMMA(fit_intercept=False), parts(X, y, shards), 2, 6, watch=potential)
    assert model.mistakes_ > 0


@pytest.mark.parametrize("learner", [IELLIP(fit_intercept=False), Perceptron(fit_intercept=False),
                                     PassiveAggressive(fit_intercept=False)], ids=repr)  # fmt: skip
@pytest.mark.parametrize("again", [False, True])
def test_models_that_were_mixed_since_their_start_count_what_is_left_of_them(learner, again):
    """Every shard errs in each of the same orthogonal rows: the bound on weighted mistakes is met."""
    rows = np.eye(24)
    start = deepcopy(learner).partial_fit(rows[:1], [1], classes=[0, 1])
    start = merge([start, start], start=start) if again else start
    shards = [deepcopy(start).partial_fit(rows[1:], [1] * 23) for _ in range(4)]
    model = shards[0]
    for other in shards[1:]:
        model = merge([model, other], start=start)
    assert not excess(model, np.ones(24))
    assert model.rounds_ == 3 + again


@pytest.mark.parametrize("learner", [MIRA(average=True), Winnow(average=True), ROMMA(average=True),
                                     ALMA(average=True, p=3.0), IELLIP(average=True)],
                         ids=repr)  # fmt: skip
def test_the_average_of_a_mixture_is_that_of_all_hypotheses_of_its_shards(learner):
    X, y, _ = stream(3, classes=3, rows=90)
    pieces = [(X[:20], y[:20]), (X[20:50], y[20:50]), (X[50:], y[50:])]
    models = learned(learner, pieces, 3)
    mixed = merge(models)
    means = [model._core.table.weights(3, model.t_) / getattr(model._core.table, "goal", 1.0) for model in models]
    mean = sum(len(part[1]) * each for part, each in zip(pieces, means, strict=True)) / len(y)
    np.testing.assert_allclose(mixed._core.table.weights(3, mixed.t_), mean, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("learner", [MIRA(average=True), QuasiAdditive(link="balanced"), OnlineSVM(window=3),
                                     ALMA(p=3.0)],
                         ids=repr)  # fmt: skip
def test_a_file_of_a_mixture_is_the_mixture(learner, tmp_path):
    X, y, _ = stream(4, classes=3, rows=90)
    model = in_rounds(learner, parts(X, y, 3), 3, 2)
    model.save(tmp_path / "mixed.model")
    read = load(tmp_path / "mixed.model")
    assert read.shards_ == 3
    assert read.rounds_ == 2
    assert read.certificates() == model.certificates()
    for each in (model, read):
        each.partial_fit(X, y)
    assert np.array_equal(read.decision_function(X), model.decision_function(X))
    assert read.certificates() == model.certificates()


def test_a_mixture_whose_dual_fell_beyond_float64_is_saved(tmp_path):
    """Steps as long as the loss, on rows of 1e140: each round loses more than a float64 can tell."""
    rows = 1e140 * np.random.default_rng(0).normal(size=(2, 10, 3))
    learner = QuasiAdditive(link="p-norm", update="adaptive", C=1e16)
    mixed = merge(learned(learner, [(X, np.arange(10) % 2) for X in rows], 2))
    mixed.save(tmp_path / "mixed.model")
    read = load(tmp_path / "mixed.model")
    assert read.certificates() == mixed.certificates()
    assert all(c.observed <= c.bound for c in read.certificates())


def test_threads_that_merge_leave_blas_as_it_was():
    models = [MIRA().partial_fit(np.eye(3) * sign, [0, 1, 2]) for sign in (1.0, 2.0)]

    def often():
        for _ in range(30):
            merge(models)

    def blas_threads():
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        workers = [Thread(target=often) for _ in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert blas_threads() == before
        assert 2 in before
