"""The six golden runs: 40-digit arithmetic, rounded."""

import numpy as np
import pytest

from ellipsoid import CELLIP, IELLIP

X = np.array([[0.5, 0.8], [0.7, -0.6], [-0.7, 0.4], [0.1, 0.9], [0.3, -0.1], [0.2, 0.9]])
Y = [1, 1, -1, 1, -1, -1]
SETS = [{0}, {1}, {2}, {0, 1}, {1}, {2}]

CLASSICAL = {"margin": 0.1, "a": 0.5, "radius": 1.05}
HALVES = {"c": 0.5, "b": 0.5, "margin": 1.0}
# Learner, labels, rounds of mistakes, rounds of updates, w, log det P, (P00, P01).
RUNS = {
    "paper": (
        CELLIP(**CLASSICAL), Y, "110011", "110011", [-0.16738509658560263, -0.01835886742542164], -0.8335702582964407,
        (0.6058201874152542, 0.06861061413884503),
    ),
    "minvol": (
        CELLIP(**CLASSICAL, cut="minvol"), Y, "110011", "110011", [-0.19751538648359868, -0.03762774119820216],
        -13.225998526287547, (9.28548766387363e-4, 6.308144733514206e-4),
    ),
    "margin": (
        CELLIP(**CLASSICAL, trigger="margin"), Y, "110011", "110111", [-0.1660871549188661, -0.018647298906918647],
        -1.01124691306792, (0.6015622306144919, 0.03889249785272285),
    ),
    "update": (
        IELLIP(**HALVES), Y, "110011", "110011", [-2.9921889534884367, -0.44618023255812506], 1.17889916677382,
        (2.004880706368996, -0.2530580667013981),
    ),
    "round": (
        IELLIP(**HALVES, decay="round"), Y, "110011", "110011", [-2.9450380173806683, -0.45665821835985143],
        1.0283263082944456, (1.8955868228437374, -0.27645572595748685),
    ),
    "multi-label": (
        IELLIP(**HALVES), SETS, "101101", "101101",
        [0.290742559695862, -0.6057754395013822, 0.10402082832529036, -0.051894887156572055, -0.39476338802115235,
         0.6576703266579543],
        5.8944958338691, (3.0182717142285327, -0.3783174765596131),
    ),
}  # fmt: skip


def check(dense, name, form, sparse):
    model, Y, mistakes, updates, w, logdet, corner = RUNS[name]
    model = type(model)(**{**model.get_params(), "fit_intercept": False, "shape": form})
    seen = [(0, 0)]
    for _ in dense.feed(model, X, Y, 3 if name == "multi-label" else 1, sparse=sparse):
        seen.append((model.mistakes_, model.updates_))
    steps = np.diff(np.array(seen), axis=0)
    assert "".join(map(str, steps[:, 0])) == mistakes
    assert "".join(map(str, steps[:, 1])) == updates
    # A version space is rounded outwards, a thin one (minvol leaves a thousandth of a direction) by more.
    atol, more = 1e-13, 1e-13
    if isinstance(model, CELLIP):
        atol, more = {"paper": (1e-12, 1e-12), "minvol": (1e-11, 5e-9)}[model.cut]
    np.testing.assert_allclose(dense.weights(model), w, rtol=0, atol=atol)
    assert logdet - atol <= model.log_volume_ <= logdet + more
    np.testing.assert_allclose(dense.shape(model)[0, :2], corner, rtol=0, atol=atol)
    assert "".join("01"[t in model.update_rounds_] for t in range(1, 7)) == updates


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("form", ["auto", "column", "product", "gram", "dense"])
@pytest.mark.parametrize("name", RUNS)
def test_golden_vector(dense, plain, name, form, sparse):
    check(dense, name, form, sparse)


@pytest.mark.parametrize("name", RUNS)
def test_golden_vector_compiled(dense, name):
    check(dense, name, "auto", sparse=False)


@pytest.mark.long
@pytest.mark.parametrize(("name", "form"), [("minvol", "column"), ("update", "dense"), ("round", "product")])
def test_golden_vector_compiled_in_a_form(dense, name, form):
    check(dense, name, form, sparse=False)


@pytest.mark.long
@pytest.mark.parametrize("name", ["paper", "update", "multi-label"])
def test_golden_vector_compiled_sparse(dense, name):
    check(dense, name, "auto", sparse=True)
