"""What the ellipsoids are good for: rows of which the version space is certain, and labels worth asking for."""

import numpy as np
import pytest

from ellipsoid import CELLIP, IELLIP, load


def rows(rng, n, d):
    X = rng.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def world(seed, classes, margin, n=60, d=3):
    """A unit separator and unit rows that it separates with this margin."""
    rng = np.random.default_rng(seed)
    U = rng.normal(size=(1, d))
    if classes == 3:
        plane = np.linalg.qr(rng.normal(size=(d, 2)))[0]
        turns = 2.0 * np.pi * np.arange(3) / 3.0
        U = np.column_stack([np.cos(turns), np.sin(turns)]) @ plane.T
    U /= np.linalg.norm(U)
    X = rows(rng, 12 * n, d)
    scores = X @ U.T
    if classes == 1:
        y, gap = (scores[:, 0] > 0.0).astype(int), np.abs(scores[:, 0])
    else:
        order = np.sort(scores, axis=1)
        y, gap = scores.argmax(axis=1), order[:, -1] - order[:, -2]
    keep = np.flatnonzero(gap >= margin)[:n]
    return X[keep], y[keep], U


CUTS = [("paper", "margin"), ("paper", "always"), ("minvol", "margin"), ("minvol", "always"), ("minvol", "mistake")]


@pytest.mark.parametrize(("classes", "streams"), [(1, 700), (3, 300)])
def test_certain_rows_are_never_wrong(classes, streams):
    """1000 streams in all: the separator is in the ball and has the margin, so what is certain is right."""
    sure = wrong = asked = seen = 0
    for seed in range(streams):
        margin, n, d = (0.2, 120, 3) if classes == 1 else (0.2, 300, 2)
        X, y, U = world(seed, classes, margin, n, d)
        cut, trigger = CUTS[seed % 5]
        model = CELLIP(margin=margin, cut=cut, trigger=trigger, selective=True, fit_intercept=False)
        guesses = model.learn_predict(X, y, classes=range(2 if classes == 1 else 3))
        # Rows that were not asked for were certain, so that wrong guesses are all among the mistakes counted.
        assert (guesses != y).sum() <= model.mistakes_
        fresh = rows(np.random.default_rng(10_000 + seed), 100, d)
        truth = (fresh @ U[0] > 0.0).astype(int) if classes == 1 else (fresh @ U.T).argmax(axis=1)
        certain = model.certain(fresh)
        gap = np.sort(fresh @ U.T, axis=1)
        certain &= (np.abs(gap[:, 0]) if classes == 1 else gap[:, -1] - gap[:, -2]) >= margin
        sure += certain.sum()
        wrong += (model.predict(fresh) != truth)[certain].sum()
        asked += model.asked_
        seen += len(X)
        assert model.infeasible_ == 0
    assert wrong == 0
    assert sure > (50 if classes == 1 else 5) * streams
    assert asked < (0.6 if classes == 1 else 0.95) * seen


def test_certain_is_what_every_member_says(dense):
    """Against classifiers drawn from the version space: on certain rows all agree, on doubtful ones two disagree."""
    for classes in (1, 3):
        d = 3 if classes == 1 else 2
        X, y, _ = world(5, classes, 0.2, 400, d)
        model = CELLIP(margin=0.2, cut="minvol", trigger="always", fit_intercept=False)
        model.partial_fit(X, y, classes=range(2 if classes == 1 else 3))
        fresh = rows(np.random.default_rng(1), 300, d)
        certain = model.certain(fresh)
        assert (model.query(fresh) == ~certain).all()
        E = model.version_space_
        members = E.sample(3000, 2).reshape(-1, classes, d)
        if classes == 1:
            verdicts = np.einsum("mkd,nd->mn", members, fresh) > 0.0
        else:
            verdicts = np.einsum("mkd,nd->mkn", members, fresh).argmax(axis=1)
        assert (verdicts[:, certain] == verdicts[0, certain]).all()
        assert certain.any()
        assert not certain.all()
        assert (model.predict(fresh)[certain] == verdicts[0, certain]).all()
    # In the binary case the extreme member is known: w -+ Px / sqrt(x'Px).
    fresh = rows(np.random.default_rng(1), 300, 3)
    model = CELLIP(margin=0.1, trigger="margin", fit_intercept=False).partial_fit(
        *world(5, 1, 0.1, n=40)[:2], classes=[0, 1]
    )
    w, P = model.coef_[0], model.version_space_.shape_matrix()
    for x, sure in zip(fresh, model.certain(fresh), strict=True):
        reach = P @ x / np.sqrt(x @ P @ x)
        assert sure == ((x @ (w - reach) > 0.0) == (x @ (w + reach) > 0.0))


def run_rows(model, X, y, known):
    """Learn row by row; whether each label was asked for."""
    asked = []
    for i in range(len(X)):
        before = model.asked_ if i else 0
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=known)
        asked.append(model.asked_ > before)
    return np.array(asked)


@pytest.mark.parametrize("classes", [1, 3])
@pytest.mark.parametrize("kind", ["CELLIP", "IELLIP"])
def test_unasked_labels_are_not_learned_from(kind, classes, state):
    known = [0, 1] if classes == 1 else [0, 1, 2]
    X, y, _ = world(8, classes, 0.2, 300, 3 if classes == 1 else 2)
    params = {"margin": 0.2, "selective": True, "fit_intercept": False, "random_state": 3}
    make = (
        (lambda: CELLIP(**params, cut="minvol", trigger="margin"))
        if kind == "CELLIP"
        else (lambda: IELLIP(**params, smoothing=0.5))
    )
    asked = run_rows(first := make(), X, y, known)
    assert 0 < asked.sum() < len(X)
    assert first.asked_ == asked.sum()
    assert first.t_ == len(X)
    flipped = np.where(asked, y, (y + 1) % len(known))
    assert (run_rows(second := make(), X, flipped, known) == asked).all()
    assert state(first) == state(second)
    for size in (7, len(X)):
        chunked = make()
        for i in range(0, len(X), size):
            chunked.partial_fit(X[i : i + size], y[i : i + size], classes=known)
        assert state(chunked) == state(first)


def test_without_selection_every_label_is_asked_for():
    X, y, _ = world(8, 1, 0.05, n=50)
    assert CELLIP(margin=0.05).partial_fit(X, y, classes=[0, 1]).asked_ == 50
    assert IELLIP().partial_fit(X, y, classes=[0, 1]).asked_ == 50


@pytest.mark.parametrize("model", [CELLIP(selective=True), IELLIP(selective=True, smoothing=1e-6, random_state=0)])
def test_the_first_labels_are_asked_for(model):
    """Which labels there are is learned by asking: one known label, or a new one, leaves nothing to be certain of."""
    model.partial_fit([[1.0, 0.0]], ["a"])
    assert model.asked_ == 1
    model.partial_fit([[1.0, 0.0]], ["a"])
    assert model.asked_ == 2
    model.partial_fit([[-1.0, 0.0]], ["b"])
    assert model.asked_ == 3


def test_a_row_that_brings_a_new_label_is_asked_for():
    X, y, _ = world(8, 1, 0.05, n=100)
    model = IELLIP(selective=True, smoothing=1e-9, random_state=0).partial_fit(X, y, classes=None)
    before = model.asked_
    assert before < 20
    model.partial_fit(X[:1] * 5.0, [7])
    assert model.asked_ == before + 1


@pytest.mark.parametrize("classes", [1, 3])
def test_randomised_rule_asks_with_its_probability(classes):
    """smoothing / (smoothing + lead), lead in units of the margin: counted over 4000 rows."""
    rng = np.random.default_rng(0)
    known = [0, 1] if classes == 1 else [0, 1, 2]
    X = rows(rng, 4000, 4)
    y = np.where(rng.random(4000) < 0.1, rng.integers(len(known), size=4000), X[:, : len(known)].argmax(axis=1))
    goal, smoothing = 0.5, 0.4
    model = IELLIP(margin=goal, selective=True, smoothing=smoothing, random_state=1, fit_intercept=False)
    model.partial_fit(X[:1], y[:1], classes=known)
    chances, asked = [], []
    for x, label in zip(X[1:], y[1:], strict=True):
        scores = np.sort(np.atleast_1d(model.decision_function(x[None])[0]))
        lead = abs(scores[0]) if classes == 1 else scores[-1] - scores[-2]
        chances.append(smoothing / (smoothing + lead / goal))
        before = model.asked_
        model.learn_one(x, label)
        asked.append(model.asked_ - before)
    chances, asked = np.array(chances), np.array(asked)
    deviation = np.sqrt((chances * (1.0 - chances)).sum())
    assert abs(asked.sum() - chances.sum()) < 3.5 * deviation
    likely = chances > np.median(chances)
    for part in (likely, ~likely):
        spread = np.sqrt((chances[part] * (1.0 - chances[part])).sum())
        assert abs(asked[part].sum() - chances[part].sum()) < 3.5 * spread
    assert 200 < asked.sum() < 3800


def test_randomised_rule_is_a_function_of_its_seed(state):
    X, y, _ = world(8, 1, 0.05, n=150)
    one, same, other = (
        IELLIP(selective=True, smoothing=0.3, random_state=seed).partial_fit(X, y, classes=[0, 1]) for seed in (1, 1, 2)
    )
    assert state(one) == state(same)
    assert one.update_rounds_.tolist() != other.update_rounds_.tolist() or one.asked_ != other.asked_


def test_query_of_iellip_follows_the_same_rule():
    X, y, _ = world(8, 1, 0.05, n=100)
    model = IELLIP(margin=0.5, smoothing=0.4, fit_intercept=False).partial_fit(X, y, classes=[0, 1])
    fresh = np.repeat(rows(np.random.default_rng(2), 4, 3), 4000, axis=0)
    asked = model.query(fresh, random_state=0).reshape(4, 4000).mean(axis=1)
    chance = 0.4 / (0.4 + np.abs(model.decision_function(fresh[::4000])) / 0.5)
    np.testing.assert_allclose(asked, chance, atol=0.03)
    assert (model.query(fresh, random_state=0) == model.query(fresh, random_state=0)).all()


@pytest.mark.interpreted
def test_label_sets_are_always_asked_for():
    rng = np.random.default_rng(4)
    X, Y = rows(rng, 30, 3), rng.integers(0, 2, size=(30, 3))
    model = CELLIP(margin=0.05, selective=True).partial_fit(X, Y)
    assert model.asked_ == 30
    assert model.query(X).all()


@pytest.mark.interpreted
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_drawn_seed_is_part_of_the_file(kernel, tmp_path):
    """Without ``random_state`` the seed is drawn when learning starts, and a file between two calls draws no other."""
    rng = np.random.default_rng(0)
    X = rows(rng, 80, 3)
    model = IELLIP(kernel=kernel, selective=True, smoothing=0.1).partial_fit(X[:40], X[:40, 0] > 0.0)
    model.save(tmp_path / "half.model")
    asked = [each.partial_fit(X[40:], X[40:, 0] > 0.0).asked_ for each in (model, load(tmp_path / "half.model"))]
    assert asked[0] == asked[1] < 80
