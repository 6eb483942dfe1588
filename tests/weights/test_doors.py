"""Where weights come from: importances, columns of tables, arguments of prequential, options of the command line."""

import io

import numpy as np
import pytest
from click.testing import CliRunner

from ellipsoid import MIRA, Calibrated, Committee, Conformal, PassiveAggressive, Scaled, load, open_stream, prequential
from ellipsoid.cli import main

ROWS = [(1, 0.5, 2.0), (0, -1.0, 1.0), (1, 0.2, 0.0), (0, 0.4, 0.5), (1, 1.5, 3.0), (0, -0.3, 1.0), (1, -0.1, 1.5)]
CSV = "height,label,worth\n" + "".join(f"{x},{y},{w}\n" for y, x, w in ROWS)
VW = "".join(f"{y} {w} 'row |a height:{x}\n" for y, x, w in ROWS)


@pytest.fixture(scope="module")
def rows():
    y, x, w = zip(*ROWS, strict=True)
    return np.array(x)[:, None], np.array(y), np.array(w)


def chunk_of(text, **options):
    (chunk,) = open_stream(io.BytesIO(text.encode()), **options)
    return chunk


def test_importances_are_the_weights_of_a_chunk(rows):
    chunk = chunk_of(VW, format="vw")
    assert chunk.weights.tolist() == rows[2].tolist()
    X, y, offset = chunk
    assert (X.shape[0], y.tolist(), offset) == (7, rows[1].tolist(), 0)
    assert chunk_of("1 |a x\n0 1 |a y\n", format="vw").weights is None


@pytest.mark.parametrize(("weight", "message"), [("-2", "must not be negative, got '-2'"), ("1e999", "is too large")])
def test_an_importance_that_is_none_is_named(weight, message):
    with pytest.raises(ValueError, match=f"line 2: .*{message}"):
        chunk_of(f"1 |a x\n1 {weight} |a x\n", format="vw")


@pytest.mark.parametrize("weight", ["5e-324", "0.1000000000000000055511151231257827", "1e-300", "12345678901234567"])
def test_every_numeral_is_an_importance(weight):
    assert chunk_of(f"1 {weight} |a x\n", format="vw").weights.tolist() == [float(weight)]


def test_a_column_of_weights_is_no_feature(rows):
    chunk = chunk_of(CSV, label="label", weights="worth")
    assert chunk.weights.tolist() == rows[2].tolist()
    assert chunk.X.tolist() == rows[0].tolist()


def test_a_parquet_column_of_weights(rows, tmp_path):
    table = pytest.importorskip("pyarrow").table({"height": rows[0][:, 0], "worth": rows[2], "label": rows[1]})
    from pyarrow import parquet

    parquet.write_table(table, tmp_path / "rows.parquet")
    (chunk,) = open_stream(tmp_path / "rows.parquet", weights="worth")
    assert chunk.weights.tolist() == rows[2].tolist()
    assert chunk.X.tolist() == rows[0].tolist()
    with pytest.raises(ValueError, match=r"'label' holds the labels, .* name another column"):
        list(open_stream(tmp_path / "rows.parquet", weights="label"))


def test_where_there_is_no_label_the_last_column_may_weigh(rows):
    chunk = chunk_of(CSV, weights="worth", labelled=False)
    assert chunk.weights.tolist() == rows[2].tolist()
    assert chunk.X.tolist() == [[x, y] for y, x, _ in ROWS]


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (CSV, {"weights": "weight", "label": "label"}, "no column 'weight' for weights"),
        (CSV.replace("2.0", "much"), {"weights": "worth", "label": "label"}, "holds no numbers"),
        ("1 1:2\n", {"weights": "worth"}, "weights names a column of a table"),
        (CSV, {"weights": "label", "label": "label"}, "'label' holds the labels, .* name another column"),
        (CSV, {"weights": "worth"}, "'worth' holds the labels, .* name another column"),
    ],
)
def test_columns_that_cannot_weigh(source, options, message):
    with pytest.raises(ValueError, match=message):
        chunk_of(source, **options)


@pytest.mark.parametrize("delay", [0, 2])
def test_prequential_weighs_rows_and_errors(rows, delay):
    X, y, w = rows
    run = prequential(model := PassiveAggressive(C=0.2), (X, y), sample_weight=w, delay=delay, chunk_size=3)
    kept = w > 0
    again = PassiveAggressive(C=0.2)
    assert run.rows == model.t_ == 6
    assert run.total_weight == pytest.approx(w.sum())
    again.partial_fit(X[kept], y[kept], sample_weight=w[kept])
    assert model.coef_.tolist() == again.coef_.tolist()
    if delay == 0:
        told = PassiveAggressive(C=0.2).learn_predict(X, y, sample_weight=w)
        assert run.weighted_error == pytest.approx(w[told != y].sum() / w.sum())


def test_rivers_clothes_pass_weights_on():
    pytest.importorskip("river")
    from ellipsoid.river import adapt

    model = adapt(PassiveAggressive(C=0.1))
    model.learn_one({"a": 1.0}, 1)
    model.learn_one({"a": -1.0}, 0, w=3.0)
    assert model.learner.certificates()[1].name == "weighted mistakes"


def test_prequential_without_weights_counts_rows(rows):
    run = prequential(PassiveAggressive(), rows[:2])
    assert run.weighted_error == run.error
    assert run.total_weight is None


def test_prequential_of_a_stream_with_importances(rows):
    stream = open_stream(io.BytesIO(VW.encode()), format="vw")
    run = prequential(model := PassiveAggressive(C=0.2), stream)
    assert run.total_weight == pytest.approx(rows[2].sum())
    assert model.t_ == 6


def test_prequential_refuses_too_few_weights_and_bad_ones(rows):
    with pytest.raises(ValueError, match="2 weights for the 7 rows"):
        prequential(PassiveAggressive(), rows[:2], sample_weight=[1, 2])
    with pytest.raises(ValueError, match="takes only the weights 0 and 1"):
        prequential(MIRA(), rows[:2], sample_weight=[2] * 7)


@pytest.mark.parametrize("model", [[], ["--scale", "standard"], ["--shuffle"]], ids=str)
def test_the_command_line_weighs_by_a_column(rows, tmp_path, model):
    table, target = tmp_path / "rows.csv", tmp_path / "rows.model"
    table.write_text(CSV, encoding="utf-8")
    told = [str(table), "--label", "label", "--weights", "worth"]
    done = CliRunner().invoke(
        main, ["learn", *told, "--model", "PassiveAggressive", "--param", "C=0.2", *model, "--save", str(target)],
        catch_exceptions=False,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    X, y, w = rows
    order = np.random.default_rng(0).permutation(7) if model == ["--shuffle"] else np.arange(7)
    by_hand = PassiveAggressive(C=0.2) if "--scale" not in model else Scaled(PassiveAggressive(C=0.2))
    by_hand.partial_fit(X[order], y[order], sample_weight=w[order])
    assert load(target).coef_.tolist() == by_hand.coef_.tolist()
    done = CliRunner().invoke(main, ["predict", str(target), *told], catch_exceptions=False)
    assert done.output.split() == [str(label) for label in by_hand.predict(X)]


def test_rows_of_weight_0_are_left_out_of_the_error_also_after_a_kill(tmp_path):
    (tmp_path / "rows.vw").write_text(VW, encoding="utf-8")
    command = ["learn", str(tmp_path / "rows.vw"), "--model", "PassiveAggressive", "--progress"]
    command += ["--save", str(tmp_path / "m"), "--save-every", "2"]
    told = [CliRunner().invoke(main, [*command, *more]).output for more in ([], ["--resume", str(tmp_path / "m")])]
    error, resumed = (next(line for line in text.splitlines() if "online error" in line).split() for text in told)
    assert error == resumed
    assert error[2] == f"{100 * int(error[4].lstrip('(')) / 6:.2f}"


def test_the_command_line_learns_importances(rows, tmp_path):
    (tmp_path / "rows.vw").write_text(VW, encoding="utf-8")
    done = CliRunner().invoke(
        main, ["learn", str(tmp_path / "rows.vw"), "--model", "PassiveAggressive"], catch_exceptions=False
    )
    assert "6 importance weights" not in done.output
    assert "5 importance weights" in done.output
    assert "weighted error" in done.output


@pytest.mark.interpreted
def test_dates_are_no_weights():
    pd = pytest.importorskip("pandas")
    days = np.array(["1970-01-02", "1970-01-03"], dtype="datetime64[D]")
    for given in (days, days - days, pd.Series(days), pd.Series(days - days)):
        with pytest.raises(
            ValueError, match="sample_weight must hold a real number for each row, got an array of type"
        ):
            PassiveAggressive().partial_fit([[1.0], [2.0]], [0, 1], sample_weight=given)


@pytest.mark.interpreted
@pytest.mark.parametrize("wrap", [lambda learner: learner, Scaled, Calibrated, Conformal, lambda one: Committee([one])])
def test_the_weight_of_one_example_is_one_number(wrap):
    fresh, model = wrap(PassiveAggressive()), wrap(PassiveAggressive()).partial_fit(np.eye(2), [0, 1])
    for learner in (fresh, model):
        for weight in (np.array([1.0, 2.0]), [1.0], np.ones((1, 1)), None):
            with pytest.raises(ValueError, match=r"weight must be one number, got .*partial_fit"):
                learner.learn_one(np.array([1.0, 2.0]), 1, weight=weight)
    for one in (1, True, np.float32(1.0), np.array(1.0)):
        model.learn_one(np.array([1.0, 2.0]), 1, weight=one)
    assert (hasattr(fresh, "t_"), model.t_) == (False, 6)
