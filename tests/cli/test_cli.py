"""The command line as a user meets it: what it prints, writes, and says when something is wrong."""

import json
import subprocess
import sys
import warnings
from importlib import import_module

import numpy as np
import pytest
from click.testing import CliRunner

import ellipsoid
from ellipsoid import MIRA, datasets, load
from ellipsoid.cli import COMMANDS, main

from .conftest import COMMAND, run


def rows(n, start=0):
    X, y = datasets.load("digits").train
    return X[start : start + n], y[start : start + n]


def write_csv(path, X, y):
    path.write_text(
        "".join(",".join(map(repr, [*x.tolist(), int(label)])) + "\n" for x, label in zip(X, y, strict=True))
    )
    return path


def test_help_names_every_command_and_each_has_help():
    text = run("--help").stdout
    assert "..." not in text.partition("Commands:")[2]  # no sentence is cut short
    for name in COMMANDS:
        assert name in text
        assert "Usage" in run(name, "--help").stdout


def test_help_names_every_group_of_benchmarks_and_every_format():
    from benchmarks.__main__ import GROUPS

    shown = " ".join(run("bench", "--help").stdout.split())
    assert all(group in shown for group in GROUPS)
    shown = " ".join(run("learn", "--help").stdout.split())
    formats = ("svmlight", "CSV", "Vowpal Wabbit", "JSON lines", "Parquet", "Arrow", "NumPy")
    assert all(name in shown for name in (*formats, "Zstandard"))
    assert all(name in " ".join(run("--help").stdout.split()) for name in formats)


def test_help_in_a_process_of_its_own():
    done = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True)
    assert "compare" in done.stdout
    assert done.stderr == ""


def test_help_imports_nothing_heavy():
    probe = (
        "import sys\nfrom ellipsoid.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print(*{'numpy', 'numba', 'sklearn', 'scipy', 'rich', 'matplotlib'}"
        " & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""


def test_version():
    assert ellipsoid.__version__ in run("--version").stdout


def test_learn_prints_error_updates_speed_and_certificates():
    result = run("learn", "digits", "--model", "MIRA")
    reference = MIRA()
    found = ellipsoid.prequential(reference, "digits", classes=np.arange(10))
    assert f"{100 * found.error:.2f} % ({found.errors:,} rows)" in result.stdout
    assert f"{found.updates:,}" in result.stdout
    assert "rows/s" in result.stdout
    for certificate in reference.certificates():
        assert certificate.name in result.stdout
    assert "\x1b" not in result.output


def test_learner_of_another_room(tmp_path):
    X, y = rows(60)
    data = write_csv(tmp_path / "a.csv", X, y)
    first = run("learn", data, "--model", "OnlineEllipsoidalSVC", "--param", "nu=0.01", "--save", tmp_path / "m")
    assert "least objective" in first.stdout
    run("learn", data, "--resume", tmp_path / "m", "--save", tmp_path / "m")
    model = load(tmp_path / "m")
    assert (type(model).__name__, model.nu, model.t_) == ("OnlineEllipsoidalSVC", 0.01, 120)
    assert len(run("predict", tmp_path / "m", data).stdout.split()) == 60


def test_learn_in_a_pipe_is_plain_text():
    done = subprocess.run([*COMMAND, "learn", "digits", "--model", "Perceptron"], capture_output=True, check=True)
    assert b"online error" in done.stdout
    assert b"\x1b" not in done.stdout + done.stderr
    assert done.stderr == b""


def test_reader_that_leaves_early_is_no_error(tmp_path):
    model = tmp_path / "m"
    MIRA().fit(*rows(100)).save(model)
    np.savez(tmp_path / "many.npz", X=np.ones((200_000, 64)), y=np.zeros(200_000, dtype=int))
    with subprocess.Popen(
        [*COMMAND, "predict", str(model), str(tmp_path / "many.npz")], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


def test_learn_parameters_reach_the_model(tmp_path):
    run(
        "learn",
        "digits",
        "--model",
        "PassiveAggressive",
        "--param",
        "C=0.5",
        "--param",
        "variant=II",
        "--save",
        tmp_path / "m",
    )
    model = load(tmp_path / "m")
    assert (model.C, model.variant) == (0.5, "II")


def test_resuming_equals_one_long_run(tmp_path):
    X, y = rows(300)
    first = write_csv(tmp_path / "first.csv", X[:120], y[:120])
    second = write_csv(tmp_path / "second.csv", X[120:], y[120:])
    run("learn", first, "--model", "MIRA", "--save", tmp_path / "half")
    run("learn", second, "--resume", tmp_path / "half", "--save", tmp_path / "whole")
    np.testing.assert_array_equal(load(tmp_path / "whole").coef_, MIRA().partial_fit(X, y).coef_)


def test_bounds_are_finite_whether_labels_are_announced_or_not(tmp_path):
    data = write_csv(tmp_path / "rows.csv", *rows(100))
    announced = ("--classes", "0,1,2,3,4,5,6,7,8,9")
    for extra in ((), announced):
        output = run("learn", data, "--model", "MIRA", *extra).stdout
        assert "mistakes" in output
        assert "infinite  " not in output


def test_a_version_space_of_many_classes_wants_its_labels_announced(tmp_path):
    data = write_csv(tmp_path / "rows.csv", *rows(100))
    refused = run("learn", data, "--model", "CELLIP", code=1)
    assert "give --classes" in refused.stderr
    assert "online error" in run("learn", data, "--model", "CELLIP", "--classes", "0,1,2,3,4,5,6,7,8,9").stdout


def test_epochs_and_shuffle_are_repeatable(tmp_path):
    options = ("learn", "digits", "--model", "Perceptron", "--epochs", 2, "--shuffle", "--seed", 3, "--save")
    assert "pass 2" in run(*options, tmp_path / "a").stdout
    run(*options, tmp_path / "b")
    assert (load(tmp_path / "a").coef_ == load(tmp_path / "b").coef_).all()
    assert load(tmp_path / "a").t_ == 2 * 1797


def test_saved_model_predicts_as_it_did(tmp_path):
    X, y = rows(400)
    data = write_csv(tmp_path / "rows.csv", X, y)
    run("learn", data, "--model", "MIRA", "--save", tmp_path / "m")
    expected = [str(label) for label in MIRA().partial_fit(X, y).predict(X)]
    assert run("predict", tmp_path / "m", data).stdout.split() == expected
    run("predict", tmp_path / "m", data, "-o", tmp_path / "labels.txt")
    assert (tmp_path / "labels.txt").read_text().split() == expected
    np.savez(tmp_path / "bare.npz", X=X)
    assert run("predict", tmp_path / "m", tmp_path / "bare.npz", "--no-label").stdout.split() == expected


def test_narrow_sparse_rows_fit_a_wider_model(tmp_path):
    (tmp_path / "wide.svm").write_text("+1 1:1 9:1\n-1 2:1\n" * 5)
    (tmp_path / "narrow.svm").write_text("0 1:1\n0 2:1\n")
    run("learn", tmp_path / "wide.svm", "--model", "Perceptron", "--save", tmp_path / "m")
    assert run("predict", tmp_path / "m", tmp_path / "narrow.svm").stdout.split() == ["1", "-1"]


def test_compare_writes_a_page_a_picture_and_the_numbers(tmp_path):
    data = write_csv(tmp_path / "rows.csv", *rows(300))
    output = tmp_path / "deep" / "report"
    result = run("compare", data, "--output", output)
    for name in ("report.html", "curves.png", "results.json"):
        assert str(output / name) in result.stdout
        assert (output / name).stat().st_size > 1000
    record = json.loads((output / "results.json").read_text())
    page = (output / "report.html").read_text()
    for learner in record["learners"]:
        assert learner in result.stdout
        assert learner in page
    assert record["setting"]["test_rows"] == 60
    assert "\x1b" not in result.output


def test_compare_options(tmp_path):
    data = write_csv(tmp_path / "rows.csv", *rows(200))
    options = ("--models", "MIRA,Perceptron:multiclass=ovr", "--seed", 5, "--shuffles", 2, "--passes", 2)
    how = ("--scale", "unit", "--hold-out", 0, "--quiet")
    result = run("compare", data, *options, *how, "--output", tmp_path / "out")
    assert result.output == ""
    record = json.loads((tmp_path / "out" / "results.json").read_text())
    assert list(record["learners"]) == ["MIRA", "Perceptron (multiclass=ovr)"]
    assert record["setting"]["seeds"] == [5, 6]
    assert len(record["cells"][0]["passes"]) == 2
    assert record["setting"]["scale"] == "unit"
    assert record["setting"]["test_rows"] == 0


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [("a.csv", "1,2,0\n3,,1\n2,1,1\n", ("--missing", "zero")), ("a.svm", "1 99999999:1\n0 2:1\n", ("--bits", "9"))],
)
def test_compare_has_the_options_that_its_errors_advise(tmp_path, monkeypatch, name, text, options):
    def stop(models, source, *_, **how):
        raise ValueError(f"all read, {source.arrays()[0].shape}")

    monkeypatch.setattr(import_module("ellipsoid.evaluate.compare"), "compare", stop)
    (tmp_path / name).write_text(text)
    how = ("compare", tmp_path / name, "--output", tmp_path / "out")
    assert f"give {options[0]}" in run(*how, code=1).stderr
    assert "all read, " in run(*how, *options, code=1).stderr


def test_datasets_lists_names():
    listed = run("datasets").stdout
    assert "digits" in listed
    assert "chess-board" in listed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("learn", "digits"), "Missing option '--model'"),
        (("learn", "digits", "--model", "Adaline"), "no learner 'Adaline'; there are EllipsoidClassifier, Perceptron"),
        (("learn", "digits", "--model", "MIRA", "--param", "size=3"), "MIRA has no parameter 'size'"),
        (("learn", "digits", "--model", "MIRA", "--param", "margin"), "key=value"),
        (("compare", "digits", "--models", "MIRA,Adaline"), "no learner 'Adaline'"),
        (("compare", "digits", "--passes", "0"), "--passes"),
        (("learn", "digits", "--model", "MIRA", "--save", ""), "'--save': the file name is empty; is the variable"),
        (("learn", "digits", "--model", "MIRA", "--classes", "0,1,"), "'--classes': '0,1,' names an empty label"),
        (("learn", "digits", "--model", "MIRA", "--classes", ","), "names an empty label; remove the extra comma"),
        (("predict", "no-such-model", "digits"), "does not exist"),
        (("frobnicate",), "No such command"),
    ],
)
def test_wrong_use_exits_with_2(arguments, message):
    result = run(*arguments, code=2)
    assert message in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("bad.csv", "1,2,0\n3,oops,1\n", "line 2: 'oops' is not a number"),
        ("bad.csv", "1,2,0\n3,nan,1\n", "line 2: column 2 is missing"),
        ("bad.svm", "1 x:y\n", "line 1: a feature must be written index:value"),
        ("bad.xyz", "1", "format cannot be detected"),
    ],
)
def test_bad_data_is_one_line_and_exits_with_1(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    result = run("learn", tmp_path / name, "--model", "MIRA", code=1)
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("name", "text", "options", "advice"),
    [
        ("a.csv", "1,2,0\n3,,1\n", (), "give --missing zero"),
        ("a.svm", "1 1:1\n0 0:1\n", ("--first-feature", "1"), "give --first-feature 0"),
        ("a.svm", "1 99999999:1\n", (), "the most that are read without being told; give --bits"),
        ("a.xyz", "1", (), "give --format, one of"),
        ("a.svm", "1 1:1\n", ("--label", "y"), "--label names a column"),
        ("a.svm", "1 1:1\n", ("--columns", "y"), "--columns names columns of a table"),
        ("a.svm", "1 1:1\n2 1:1\n3 1:2\n", ("--model", "CELLIP"), "without --classes the version space"),
        ("a.svm", "1 1:1\n2 1:1\n3 1:2\n", ("--model", "CELLIP"), "; give --classes with all labels"),
        ("a.svm", "1 1:1\n2 1:1\n", ("--classes", "1,3"), "2, which is not in --classes [1, 3]"),
        ("a.csv", "1,2,u\n", ("--validate", "numbers.csv"), "label 0 is of another kind than the labels of the model"),
        ("a.vw", "|a x\n", (), "a number, got '|a'\n"),
        ("a.csv", "1,2,0\n", ("--validate", "wide.csv"), "a model learned with --param grow_features=true"),
    ],
)
def test_advice_names_options_and_not_arguments(tmp_path, monkeypatch, name, text, options, advice):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text)
    (tmp_path / "wide.csv").write_text("1,2,3,0\n")
    (tmp_path / "numbers.csv").write_text("1,2,0\n")
    assert advice in run("learn", name, "--model", "MIRA", *options, code=1).stderr


def test_labels_that_a_saved_model_does_not_know_cannot_be_announced(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n2 1:-1\n")
    run("learn", tmp_path / "a.svm", "--model", "MIRA", "--classes", "1,2,3", "--save", tmp_path / "m")
    again = ("learn", tmp_path / "a.svm", "--resume", tmp_path / "m", "--classes")
    assert "--classes [1, 2] differs from the classes of" in run(*again, "1,2", code=1).stderr
    run(*again, "1,2,3")


def test_labels_announced_with_a_saved_model_are_the_last(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n2 1:-1\n")
    (tmp_path / "b.svm").write_text("1 1:1\n3 1:-1\n")
    run("learn", tmp_path / "a.svm", "--model", "MIRA", "--save", tmp_path / "m")
    again = ("learn", tmp_path / "b.svm", "--resume", tmp_path / "m")
    assert "3, which is not in --classes [1, 2]" in run(*again, "--classes", "2,1", code=1).stderr
    run("learn", tmp_path / "a.svm", "--resume", tmp_path / "m", "--classes", "1,2", "--save", tmp_path / "m")
    assert "3, which is not in --classes [1, 2]" in run(*again, code=1).stderr


def test_the_header_of_csv_text_is_described_and_can_be_given(tmp_path):
    """Where a column holds words, a first row looks like a header."""
    path = tmp_path / "a.csv"
    path.write_text("red,2,u\nblue,4,v\nred,1,u\n")
    found = run("learn", path, "--model", "MIRA").stdout
    assert "a header (detected), 1 columns of numbers" in found
    assert "2 rows" in found
    result = run("learn", path, "--model", "MIRA", "--no-header").stdout
    assert "no header, 1 columns of numbers" in result
    assert "3 rows" in result


def test_numbers_and_sizes_beyond_reach_are_one_line(tmp_path, monkeypatch):
    (tmp_path / "a.svm").write_text("1 1:1\n2 1:-1\n")
    learn = ("learn", tmp_path / "a.svm", "--model", "CELLIP", "--classes", "1,2", "--param")
    assert run(*learn, "radius=1e-200").stderr == ""

    def raised(error):
        def head(*args):
            raise error

        monkeypatch.setattr("ellipsoid.evaluate.position.mark_of", head)
        return run(*learn, "radius=1.0", code=1).stderr

    assert raised(MemoryError("Unable to allocate 16 GiB")) == "Error: not enough memory: Unable to allocate 16 GiB\n"
    assert raised(OverflowError("math range error")) == "Error: a number is too large or too small: math range error\n"


def test_warnings_are_lines_and_each_is_printed_once(tmp_path, monkeypatch):
    def head(name):
        for _ in range(2):
            warnings.warn("the moon is full", RuntimeWarning, stacklevel=1)

    (tmp_path / "a.svm").write_text("1 1:1\n2 1:-1\n")
    monkeypatch.setattr("ellipsoid.evaluate.position.mark_of", head)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        found = run("learn", tmp_path / "a.svm", "--model", "MIRA").stderr
    assert found == "Warning: the moon is full\n"


def test_debug_shows_the_traceback():
    result = CliRunner().invoke(main, ["--debug", "learn", "nonesuch", "--model", "MIRA"])
    assert isinstance(result.exception, ValueError)


def test_unknown_data_set_lists_the_known_ones():
    assert "there are digits, chess-board" in run("learn", "nonesuch", "--model", "MIRA", code=1).stderr


def test_damaged_model_is_one_line(tmp_path):
    (tmp_path / "m").write_bytes(b"not a model")
    assert len(run("predict", tmp_path / "m", "digits", code=1).stderr.splitlines()) == 1


def test_failed_prediction_leaves_the_old_file(tmp_path):
    MIRA().fit(*rows(50)).save(tmp_path / "m")
    (tmp_path / "narrow.csv").write_text("1,2,0\n")
    (tmp_path / "labels.txt").write_text("old")
    result = run("predict", tmp_path / "m", tmp_path / "narrow.csv", "-o", tmp_path / "labels.txt", code=1)
    assert "features" in result.stderr
    assert (tmp_path / "labels.txt").read_text() == "old"


def test_saved_model_is_not_changed_by_parameters(tmp_path):
    MIRA().fit(*rows(50)).save(tmp_path / "m")
    result = run("learn", "digits", "--resume", tmp_path / "m", "--param", "margin=1", code=2)
    assert "--param cannot change a saved model" in result.stderr
    assert "contradicts" in run("learn", "digits", "--resume", tmp_path / "m", "--model", "Perceptron", code=2).stderr


def test_progress_bar_moves_on_a_terminal(monkeypatch):
    from ellipsoid.cli.terminal import progress_bar

    with progress_bar("learning") as progress:
        assert progress is None
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress_bar("learning") as progress:
        progress(1, 2)
    with progress_bar("learning", quiet=True) as progress:
        assert progress is None


def test_learn_on_named_data_with_a_test_part(dataset):
    assert "of 2,007 rows" in run("learn", "usps", "--model", "Perceptron").stdout
