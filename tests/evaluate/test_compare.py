"""Comparisons: the same rows for every learner, deterministic, resumable, spread over processes."""

import io
import json

import numpy as np
import pytest

from ellipsoid import MIRA, PassiveAggressiveRegressor, Perceptron, datasets, prequential
from ellipsoid.evaluate import Protocol, compare
from ellipsoid.evaluate.cell import Cell
from ellipsoid.evaluate.compare import Spread
from ellipsoid.evaluate.lineup import LINE_UP, from_spec, line_up

MODELS = {"Perceptron": Perceptron(), "MIRA": MIRA()}


@pytest.fixture(scope="module")
def digits():
    X, y = datasets.load("digits").train
    return datasets.Dataset("few digits", X=X[:400], y=y[:400])


def counts(result):
    return [
        (cell.learner, cell.seed, [run.errors for run in cell.passes], cell.updates, cell.test_errors)
        for cell in result.cells
    ]


def test_a_cell_is_a_prequential_run_and_a_test_after_it(digits):
    result = compare(MODELS, digits, Protocol(hold_out=0.25))
    model = MIRA()
    run = prequential(model, (digits.X[:300], digits.y[:300]), classes=np.arange(10))
    (cell,) = result.of("MIRA")
    assert cell.passes[0].errors == run.errors
    assert cell.test_errors == (pytest.approx(1 - model.score(digits.X[300:], digits.y[300:])),)
    assert cell.mistakes == model.mistakes_
    assert result.setting["rows"] == 300
    assert result.setting["test_rows"] == 100
    assert result.setting["held_out"]


def test_passes_continue_the_same_model_in_the_same_order(digits):
    (cell,) = compare({"MIRA": MIRA()}, digits, Protocol(passes=3, seeds=(4,))).cells
    order = np.random.default_rng(4).permutation(400)
    model = MIRA()
    for _ in range(3):
        model.partial_fit(digits.X[order], digits.y[order], classes=np.arange(10))
    assert cell.updates == model.updates_
    assert len(cell.passes) == 3


def test_equal_seeds_give_equal_results_and_other_seeds_other_ones(digits):
    first, again = (compare(MODELS, digits, Protocol(seeds=(1, 2), hold_out=0.2)) for _ in range(2))
    assert counts(first) == counts(again)
    assert first.of("MIRA")[0].passes[0].errors != first.of("MIRA")[1].passes[0].errors


def test_models_are_left_as_they_were(digits):
    model = Perceptron()
    compare({"mine": model}, digits)
    assert not hasattr(model, "classes_")
    assert model.random_state is None


def test_processes_agree_with_one(digits):
    protocol = Protocol(seeds=(0, 1), hold_out=0.2)
    assert counts(compare(MODELS, digits, protocol, n_jobs=2)) == counts(compare(MODELS, digits, protocol))


def test_a_file_whose_name_is_no_text_can_be_reported(digits):
    file = io.BytesIO(b"".join(b"%d,%d,%d\n" % (i, i % 3, i % 2) for i in range(20)))
    file.name = "bad\udcff.csv"
    result = compare({"MIRA": MIRA()}, file)
    assert result.setting["data"] == r"bad\udcff.csv"


def test_no_processes_are_refused(digits):
    with pytest.raises(ValueError, match="n_jobs must be the number of processes, or -1"):
        compare(MODELS, digits, n_jobs=0)


def test_stored_cells_are_not_computed_again(digits, tmp_path, monkeypatch):
    protocol = Protocol(seeds=(0, 1))
    first = compare(MODELS, digits, protocol, store=tmp_path)
    assert len(list(tmp_path.glob("*.json"))) == 4
    monkeypatch.setattr("ellipsoid.evaluate.cell.prequential", None)
    again = compare({"renamed": Perceptron(), "MIRA": MIRA()}, digits, protocol, store=tmp_path)
    assert [cell.updates for cell in again.cells] == [cell.updates for cell in first.cells]
    assert again.learners == ("renamed", "MIRA")


def test_other_parameters_or_rows_are_other_cells(digits, tmp_path):
    compare({"a": Perceptron()}, digits, store=tmp_path)
    compare({"a": Perceptron(margin=0.5)}, digits, store=tmp_path)
    changed = datasets.Dataset("few digits", X=digits.X + 1, y=digits.y)
    compare({"a": Perceptron()}, changed, store=tmp_path)
    compare({"a": Perceptron()}, digits, Protocol(passes=2), store=tmp_path)
    assert len(list(tmp_path.glob("*.json"))) == 4


def test_an_interrupted_experiment_keeps_its_finished_cells(digits, tmp_path):
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(TypeError, match="online learner"):
        compare({"good": Perceptron(), "bad": LogisticRegression()}, digits, store=tmp_path)
    assert len(list(tmp_path.glob("*.json"))) == 1


def test_table_gives_mean_and_deviation_over_orders(digits):
    result = compare({"MIRA": MIRA()}, digits, Protocol(seeds=(0, 1, 2), hold_out=0.2))
    (row,) = result.table()
    errors = [cell.passes[0].error for cell in result.cells]
    assert row.error == (pytest.approx(np.mean(errors)), pytest.approx(np.std(errors, ddof=1)))
    assert row.certificate.name == "mistakes"
    assert row.certificate.observed <= row.certificate.bound
    assert Spread.of([3.0]) == (3.0, 0.0)


def test_results_survive_strict_json(digits, parrot):
    result = compare({"parrot": parrot()}, digits)
    record = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    cell = Cell.from_dict(record["cells"][0])
    assert cell.certificates == result.cells[0].certificates
    assert cell.certificates[0].bound == float("inf")
    assert record["learners"]["parrot"]["class"] == "Parrot"


def test_test_part_of_the_data_is_used_before_holding_out(digits):
    split = datasets.Dataset("split", X_train=digits.X, y_train=digits.y, X_test=digits.X[:7], y_test=digits.y[:7])
    setting = compare({"a": Perceptron()}, split, Protocol(hold_out=0.5)).setting
    assert (setting["rows"], setting["test_rows"], setting["held_out"]) == (400, 7, False)


def test_progress_ends_at_the_total(digits):
    calls = []
    compare(MODELS, digits, Protocol(passes=2), progress=lambda *told: calls.append(told))
    assert calls[-1] == (1600, 1600)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)


@pytest.mark.parametrize(
    ("protocol", "message"),
    [
        ({"passes": 0}, "passes must be positive"),
        ({"seeds": ()}, "seeds must hold at least one"),
        ({"hold_out": 1.0}, "hold_out must be"),
    ],
)
def test_bad_protocols(protocol, message):
    with pytest.raises(ValueError, match=message):
        Protocol(**protocol)


def test_a_failing_learner_is_named(digits):
    X = digits.X.copy()
    X[350, 3] = np.inf
    with pytest.raises(ValueError, match=r"mine: .*row"):
        compare({"mine": Perceptron()}, (X, digits.y))


def test_no_learners_or_no_rows_to_learn_are_refused(digits):
    with pytest.raises(ValueError, match="at least one learner"):
        compare({}, digits)
    with pytest.raises(ValueError, match="leaves none"):
        compare(MODELS, (np.eye(2), [0, 1]), Protocol(hold_out=0.9))


def test_regressors_and_learners_without_names_are_refused(digits):
    with pytest.raises(ValueError, match="number is a regressor, but only classifiers can be compared"):
        compare({"number": PassiveAggressiveRegressor()}, digits)
    with pytest.raises(TypeError, match="models must map names to learners"):
        compare([Perceptron()], digits)


def test_frame_has_a_line_a_learner(digits):
    pytest.importorskip("pandas")
    assert list(compare(MODELS, digits).to_frame().index) == list(MODELS)


def test_every_entry_of_the_line_up_that_is_there_can_be_made():
    models = line_up(10)
    assert {"Perceptron (max)", "PA-I", "MIRA"} <= set(models) <= {entry.label for entry in LINE_UP}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("Adaline", "no learner 'Adaline'; there are EllipsoidClassifier, Perceptron"),
        ("MIRA:size=3", "MIRA has no parameter 'size'; it has .*margin"),
        ("MIRA:margin", "key=value, got 'margin'"),
    ],
)
def test_bad_specs(spec, message):
    with pytest.raises(ValueError, match=message):
        from_spec(spec)
