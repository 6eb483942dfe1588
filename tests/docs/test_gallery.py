"""The examples of the gallery, on small sizes: each must show what its page says it shows."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).parent.parent.parent / "docs"
SCRIPTS = sorted((DOCS / "gallery").glob("*.py"))


def example(name):
    spec = spec_from_file_location(f"gallery_{name}", DOCS / "gallery" / f"{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_spam_is_learned_again_after_it_has_changed():
    model, words, wrong = example("spam").run(n=600)
    calm, changed, end = (
        np.mean(wrong[start : start + length]) for start, length in ((200, 100), (300, 15), (500, 100))
    )
    assert calm < 0.1
    assert changed > 3 * calm
    assert end < 0.1
    assert model.coef_.shape == (1, len(words))
    weights = dict(zip(words, model.coef_[0] * (1 if model.classes_[1] == "spam" else -1), strict=True))
    assert weights["password"] > 0 > weights["are"]


def test_labels_that_are_chosen_are_worth_more_than_labels_by_lot():
    bought, chosen, drawn, everything = example("costly_labels").run(smoothings=(0.05, 0.3), seeds=5)
    assert bought[0] < bought[1] < 600
    assert (chosen < drawn).all()
    assert chosen[1] < everything + 0.01


def test_a_kernel_helps_and_a_budget_is_kept():
    _, y, results = example("kernel_digits").run(n=900)
    late = {name: np.mean(predicted[450:] != y[450:]) for name, (_, predicted) in results.items()}
    assert late["kernel"] < late["linear"]
    assert late["kernel, 150 patterns"] < late["linear"]
    assert len(results["kernel, 150 patterns"][0].support_vectors_) == 150


def test_averages_of_all_rounds_do_not_follow_a_turn_and_a_relay_does():
    results = example("drift").run(n=6000, every=500)
    calm = {way: wrong[1500:2000].mean() for way, wrong in results.items()}
    turned = {way: wrong[3200:3900].mean() for way, wrong in results.items()}
    assert calm["average of all rounds"] < 0.15
    assert turned.pop("average of all rounds") > 0.3
    assert max(turned.values()) < 0.2


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is measured by Linux's /proc")
def test_memory_does_not_grow_with_the_file():
    # The smaller file is large enough to have as many blocks in memory at a time as there ever are.
    (small, before), (large, after) = example("large_file").run(sizes=(1, 30, 90))
    assert large - small > 55
    assert after - before < 30


def test_the_proof_is_right_and_separable_rows_have_none():
    proof = example("proof")
    X, y, model, _ = proof.run(n=60)
    assert model.infeasible_ == 1
    assert model.t_ == model.infeasible_round_ > 24
    assert proof.best_margin(X[: model.t_], y[: model.t_]) < proof.MARGIN
    X, y, model, spaces = proof.run(n=60, false_label=None)
    assert model.infeasible_ == 0
    assert proof.best_margin(X, y) >= proof.MARGIN - 1e-6
    assert spaces[-1].contains([proof.TRUTH]).all()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_example_has_its_place_and_its_picture(script):
    page = (DOCS / "gallery.md").read_text("utf-8")
    picture = f"_static/gallery/{script.stem}.png"
    assert f"gallery/{script.name}" in page
    assert picture in page
    assert 1_000 < (DOCS / picture).stat().st_size < 80_000
    assert script.stem not in sys.modules  # examples do not import one another
