"""Learning files and pipes from the command line: saved on the way, resumed at the right row, shown on stderr only."""

import os
import re
import shlex
import signal
import subprocess
import sys
from hashlib import sha256

import numpy as np
import pytest
from click.testing import CliRunner

from ellipsoid import MIRA, Scaled, datasets, load
from ellipsoid.cli import main
from ellipsoid.estimators.files import container
from ellipsoid.estimators.shell import kernelized
from ellipsoid.representation.kernel import patterns

from .conftest import COMMAND, PROGRAM, learned, lines_of, run, stream_of

OPTIONS = ("--model", "MIRA", "--param", "average=true", "--scale", "standard")


def test_two_halves_equal_the_whole_to_the_last_bit(svm):
    run("learn", svm / "all.svm", *OPTIONS, "--save", svm / "whole")
    run("learn", svm / "first.svm", svm / "second.svm", *OPTIONS, "--save", svm / "both")
    run("learn", svm / "first.svm", *OPTIONS, "--save", svm / "half")
    run("learn", svm / "second.svm", *OPTIONS, "--resume", svm / "half", "--save", svm / "resumed")
    assert learned(svm / "whole") == learned(svm / "both") == learned(svm / "resumed")
    assert load(svm / "whole").t_ == 600
    assert stream_of(svm / "both")["complete"]


@pytest.mark.parametrize("stop", [1, 100, 250, 599, 600])
def test_a_run_cut_off_anywhere_goes_on_at_the_right_row(stop, svm, monkeypatch):
    """The save that would have been the last before a kill, whichever it was."""
    from ellipsoid.estimators.files import saving

    class Killed(BaseException):
        pass

    real = saving.save

    def save(model, path, stream=None):
        real(model, path, stream)
        if stream["rows"] >= stop:
            raise Killed

    files = (svm / "first.svm", svm / "second.svm")
    command = [str(word) for word in ("learn", *files, *OPTIONS, "--save", svm / "m", "--save-every")]
    monkeypatch.setattr(saving, "save", save)
    with pytest.raises(Killed):
        CliRunner().invoke(
            main, [*command, "1" if stop == 1 else "50"], standalone_mode=False, catch_exceptions=False
        )  # fmt: skip
    monkeypatch.undo()
    assert load(svm / "m").t_ == stop if stop != 599 else 600
    shown = run(*command, 50, "--resume", svm / "m").stdout
    run("learn", *files, *OPTIONS, "--save", svm / "whole")
    assert (svm / "m").read_bytes() == (svm / "whole").read_bytes()
    assert "resumed" in shown


@pytest.mark.parametrize("settings", [("PassiveAggressive", "budget=30"), ("OnlineSVM", "window=5")])
def test_kernel_models_are_those_of_one_file_too(tmp_path, settings):
    model = ("--model", settings[0], "--param", "kernel=rbf", "--param", "gamma=0.001", "--param", settings[1])
    # The budget and the window are full before the first file ends. Announced labels compile one loop, not two.
    model = (*model, "--classes", ",".join(map(str, range(10))))
    for name, part in (("all", lines_of(150)), ("first", lines_of(60)), ("second", lines_of(90, 60))):
        (tmp_path / f"{name}.svm").write_text("".join(part))
    run("learn", tmp_path / "all.svm", *model, "--save", tmp_path / "whole")
    run("learn", tmp_path / "first.svm", tmp_path / "second.svm", *model, "--save", tmp_path / "both")
    run("learn", tmp_path / "first.svm", *model, "--save", tmp_path / "half")
    run("learn", tmp_path / "second.svm", "--resume", tmp_path / "half", "--save", tmp_path / "resumed")
    assert learned(tmp_path / "resumed") == learned(tmp_path / "both") == learned(tmp_path / "whole")


@pytest.mark.parametrize(
    "model",
    [
        "Winnow",
        "IELLIP --param kernel=rbf --param gamma=1",
        "PassiveAggressive --param kernel=rbf --param gamma=1 --param budget=30",
    ],
)
def test_features_that_come_late_are_known_from_their_first_row_on(model, tmp_path, monkeypatch):
    """A chunk would tell of them before: weights that share one sum, and an ellipsoid's dimension, would be others.

    Kernel values of very wide rows are made in another way.
    """
    monkeypatch.setattr(patterns, "WIDEST_LAYOUT", 50)
    monkeypatch.setattr(kernelized, "WIDEST_LAYOUT", 50)
    rng, lines = np.random.default_rng(3), []
    for t in range(160):
        features = np.unique(rng.integers(1, 5 + t // 2, size=6))
        lines.append(f"{rng.integers(2)} " + " ".join(f"{j}:{rng.normal():.3f}" for j in features) + "\n")
    for name, part in (("all", lines), ("first", lines[:60]), ("second", lines[60:])):
        (tmp_path / name).write_text("".join(part))
    how = ("--format", "svmlight", "--model", *model.split(), "--classes", "0,1")
    run("learn", tmp_path / "all", *how, "--save", tmp_path / "whole")
    run("learn", tmp_path / "first", *how, "--save", tmp_path / "half")
    run("learn", tmp_path / "second", *how[:2], "--resume", tmp_path / "half", "--save", tmp_path / "resumed")
    assert learned(tmp_path / "resumed") == learned(tmp_path / "whole")
    assert load(tmp_path / "half").n_features_in_ < load(tmp_path / "whole").n_features_in_


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_kill_9_and_resume_from_a_pipe(svm, nursery):
    """The killed process had saved after 100 rows or more; the resumed one is given the pipe from its beginning."""
    command = ["learn", "-", *OPTIONS, "--save", str(svm / "m"), "--save-every", "100"]
    rows = lines_of(600)
    os.mkfifo(svm / "pipe")
    process = nursery.start(PROGRAM, *command, stdin=svm / "pipe")
    with open(svm / "pipe", "wb", buffering=0) as pipe:
        # More than a block of text, so that the reader hands out rows before the pipe is closed.
        pipe.write("".join(rows[:450] + rows[:450] * 60).encode())
        while not (svm / "m").exists():
            assert nursery.wait(process, 0.01) is None
        os.kill(process, signal.SIGKILL)
        assert nursery.wait(process) == -signal.SIGKILL
    saved = stream_of(svm / "m")
    assert saved["rows"] > 0
    assert not saved["complete"]
    text = "".join(rows[:450] + rows[:450] * 60 + rows[450:])
    (svm / "long.svm").write_text(text)
    process = nursery.start(PROGRAM, *command, "--resume", svm / "m", stdin=svm / "pipe", out=svm / "out")
    (svm / "pipe").write_text(text)
    assert nursery.wait(process) == 0
    assert f"after {saved['rows']:,} rows" in (svm / "out").read_text()
    run("learn", svm / "long.svm", *OPTIONS, "--save", svm / "whole")
    assert learned(svm / "m") == learned(svm / "whole")


def test_a_saved_run_does_not_go_on_with_other_rows(svm):
    run("learn", svm / "first.svm", *OPTIONS, "--save", svm / "m", "--save-every", 100)
    content = container.read(svm / "m")
    stopped = {**content.header["stream"], "epoch": 0, "row": 100, "rows": 100, "complete": False}
    container.write(svm / "m", {**content.header, "stream": stopped}, content.arrays)
    refused = run("learn", svm / "second.svm", "--resume", svm / "m", code=1).stderr
    assert "in the middle of a run (100 rows of" in refused
    assert "resume it with the same DATA" in refused
    short = svm / "short.svm"
    short.write_text("".join(lines_of(250)[:90]))
    (svm / "moved.svm").write_text((svm / "first.svm").read_text())
    assert "after 100 rows" in run("learn", svm / "moved.svm", "--resume", svm / "m").stdout
    assert "resume it with the same DATA" in run("learn", short, "--resume", svm / "m", code=1).stderr
    # Before 0.2 a file was known by its first bytes alone.
    stopped["heads"] = [sha256((svm / "first.svm").read_bytes()[:4096]).hexdigest()]
    container.write(svm / "m", {**content.header, "stream": stopped}, content.arrays)
    assert "after 100 rows" in run("learn", svm / "moved.svm", "--resume", svm / "m").stdout
    assert "ends 10 rows before" in run("learn", short, "--resume", svm / "m", code=1).stderr
    assert "resume it with the same DATA" in run("learn", svm / "second.svm", "--resume", svm / "m", code=1).stderr


def test_files_are_told_apart_also_behind_a_long_beginning(tmp_path):
    """A comment of many lines, or the first rows, may be the same in every file."""
    beginning = "# the same in all\n" * 300
    for day, rows in (("monday", lines_of(40)), ("tuesday", lines_of(60, 40))):
        (tmp_path / f"{day}.svm").write_text(beginning + "".join(rows))
    model, every = ("--model", "MIRA", "--save", tmp_path / "m"), ("--save-every", 25)
    run("learn", tmp_path / "monday.svm", *model, *every)
    assert run("learn", tmp_path / "tuesday.svm", "--resume", tmp_path / "m", *model, *every).stderr == ""
    assert load(tmp_path / "m").t_ == 100


@pytest.mark.parametrize("rows", [5, 100])
def test_a_file_that_has_grown_is_the_same_however_short_it_was(rows, tmp_path):
    command = ("learn", tmp_path / "d.svm", "--model", "MIRA", "--save", tmp_path / "m", "--save-every", 25)
    for have, more in ((rows, ()), (rows + 30, ("--resume", tmp_path / "m"))):
        (tmp_path / "d.svm").write_text("".join(lines_of(have)))
        run(*command, *more)
        assert load(tmp_path / "m").t_ == have


def test_epochs_and_shuffled_orders_resume_in_the_right_pass(svm):
    for extra in ((), ("--shuffle", "--seed", 3)):
        command = ("learn", svm / "first.svm", *OPTIONS, "--epochs", 3, *extra, "--save-every", 100, "--save")
        run(*command, svm / "whole")
        whole = container.read(svm / "whole")
        assert whole.header["stream"]["rows"] == 750
        one = ("learn", svm / "first.svm", *OPTIONS, "--epochs", 3, *extra, "--save")
        run(*one, svm / "m")
        assert learned(svm / "m") == learned(svm / "whole")


def test_wrong_use(svm):
    data = svm / "first.svm"
    assert "needs --save" in run("learn", data, *OPTIONS, "--save-every", 5, code=2).stderr
    for text in ("0", "x", "-3s", "s"):
        assert (
            "--save-every must be"
            in run("learn", data, *OPTIONS, "--save", svm / "m", "--save-every", text, code=2).stderr
        )
    for option in ("validate", "classes", "columns", "label", "weights", "format"):
        result = run("learn", data, *OPTIONS, f"--{option}", "", code=2).stderr
        assert f"'--{option}': it must not be empty; is the variable that should hold it set?" in result
    for command in (("learn", data, *OPTIONS, "--shuffle"), ("compare", data)):
        assert "'--seed': -1 is not in the range" in run(*command, "--seed", -1, code=2).stderr
    # Without an order to draw it would be ignored.
    assert "give --shuffle too" in run("learn", data, *OPTIONS, "--seed", 3, code=2).stderr
    assert "give --shuffle too" in run("learn", data, *OPTIONS, "--seed", 0, code=2).stderr
    assert "--seed is not for a run" in run("learn", data, *OPTIONS, "--seed", 3, "--workers", 2, code=2).stderr
    run("learn", data, *OPTIONS, "--save", svm / "m", "--save-every", "0.0001s")
    assert "contradicts" in run("learn", data, "--resume", svm / "m", "--scale", "unit", code=2).stderr
    assert "gamma" in run("learn", data, "--model", "IELLIP", "--param", "kernel=rbf", code=1).stderr


@pytest.mark.parametrize("option", ["--save", "--plot"])
def test_a_folder_that_is_not_there_is_noticed_before_the_first_row(svm, option):
    broken = svm / "broken.svm"
    broken.write_text("no row at all\n")
    assert "create it first" in run("learn", broken, *OPTIONS, option, svm / "none" / "m", code=1).stderr


@pytest.mark.parametrize("name", ["none.svm", "none", "folder"])
@pytest.mark.parametrize("words", ["learn BROKEN NAME", "learn BROKEN --validate NAME", "predict MODEL BROKEN NAME"])
def test_a_file_that_is_not_there_is_noticed_before_the_first_row(svm, words, name):
    (svm / "folder").mkdir()
    names = {"BROKEN": svm / "broken.svm", "NAME": svm / name, "MODEL": svm / "m"}
    names["BROKEN"].write_text("no row at all\n")
    MIRA().partial_fit(np.eye(2), [1, 2]).save(names["MODEL"])
    more = OPTIONS if words.startswith("learn") else ()
    result = run(*(names.get(word, word) for word in words.split()), *more, code=1).stderr
    assert str(names["NAME"]) in result
    assert "broken.svm" not in result


def test_learning_the_same_files_again_prints_a_note(svm):
    """A kill may have come after the last save, and the command been repeated."""
    first, m = svm / "first.svm", svm / "m"
    assert run("learn", first, *OPTIONS, "--save", m).stderr == ""
    assert "once more" in run("learn", first, "--resume", m).stderr
    assert run("learn", svm / "second.svm", "--resume", m).stderr == ""


@pytest.mark.parametrize("passes", [1, 2])
def test_a_kill_after_the_last_save_changes_nothing(passes, svm):
    """The command is repeated as after any other kill; rows that have come since are learned."""
    command = ("learn", svm / "d.svm", *OPTIONS, "--epochs", passes, "--save-every", 100, "--save", svm / "m")
    (svm / "d.svm").write_text((svm / "first.svm").read_text())
    run(*command)
    complete = (svm / "m").read_bytes()
    repeated = run(*command, "--resume", svm / "m")
    assert "had learned all of DATA" in repeated.stderr
    assert (svm / "m").read_bytes() == complete
    if passes == 1:
        (svm / "d.svm").write_text((svm / "all.svm").read_text())
        run(*command, "--resume", svm / "m")
        run("learn", svm / "all.svm", *OPTIONS, "--save", svm / "whole")
        assert learned(svm / "m") == learned(svm / "whole")


def test_the_curve_and_the_validation_error(svm):
    shown = run("learn", svm / "first.svm", *OPTIONS, "--test-then-train", "--validate", svm / "second.svm").stdout
    assert "error so far" in shown
    assert re.search(r"\n *128 +\d+\.\d\d %", shown)
    X, y = datasets.load("digits").train
    model = Scaled(MIRA(average=True))
    import scipy.sparse as sp

    model.partial_fit(sp.csr_matrix(X[:250]), y[:250])
    error = np.mean(model.predict(sp.csr_matrix(X[250:600])) != y[250:600])
    assert f"validation error  {100 * error:.2f} % (of 350 rows)" in shown


def test_predict_reads_standard_input_and_applies_the_scaler(svm, nursery):
    run("learn", svm / "first.svm", *OPTIONS, "--save", svm / "m")
    expected = run("predict", svm / "m", svm / "second.svm").stdout
    done = nursery.run(PROGRAM, "predict", svm / "m", "-", stdin=svm / "second.svm")
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")
    assert len(expected.split()) == 350


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="this system has no pseudo-terminals")
def test_progress_is_shown_on_stderr_only(svm, nursery):
    ours, theirs = os.openpty()
    place = {"stdin": svm / "all.svm", "out": svm / "out", "err": os.ttyname(theirs), "COLUMNS": 100, "TERM": "xterm"}
    process = nursery.start(PROGRAM, "learn", "-", "--model", "MIRA", **place)
    shown = b""
    while b"wrong" not in shown and (more := read(ours)):
        shown += more
    # No end is seen before both sides of the terminal have let go of it.
    os.close(theirs)
    while read(ours):
        pass
    os.close(ours)
    assert nursery.wait(process) == 0
    printed = (svm / "out").read_bytes()
    assert b"rows" in shown
    assert b"\x1b" in shown
    assert b"\x1b" not in printed
    assert b"online error" in printed


def read(terminal):
    """What was written to a terminal; nothing once its other side is closed."""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


def test_progress_in_lines_where_there_is_no_terminal(svm, nursery):
    long = svm / "long.svm"
    long.write_text("".join(lines_of(600) * 4))
    done = nursery.run(PROGRAM, "learn", long, "--model", "MIRA", "--progress")
    assert done.returncode == 0
    assert "2,400 rows" in done.stderr
    assert "wrong" not in done.stdout


def test_inspect_names_what_a_file_holds(svm):
    model = MIRA()
    for t in range(40):
        model.learn_one({"rain": float(t % 3), "wind": 1.0, "ß": -float(t % 2)}, "wet" if t % 3 else "dry")
    model.save(svm / "m")
    shown = run("inspect", svm / "m").stdout
    for text in ("40 rows", "rain, wind, ß", "'dry', 'wet'", "version 1", "agrees", "mistakes", "rain +", "W"):
        assert text in shown
    run("learn", svm / "first.svm", *OPTIONS, "--save", svm / "s")
    shown = run("inspect", svm / "s", "--top", 2).stdout
    for text in ("moments of 250 rows", "first.svm, to the end", "largest 2 weights, features counted from 0"):
        assert text in shown
    (svm / "m").write_bytes((svm / "m").read_bytes()[:-8])
    assert "damaged" in run("inspect", svm / "m", code=1).stderr


@pytest.mark.interpreted
def test_a_table_is_shown_also_where_letters_are_few(tmp_path):
    """As in a pipe of a system that is set to ASCII, or to Latin letters without the dots of what is left out."""
    MIRA().partial_fit(np.eye(2), ["naïve", "wise"]).save(tmp_path / "m")
    shown = CliRunner(charset="ascii").invoke(main, ["inspect", str(tmp_path / "m")])
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert r"'na\xefve', 'wise'" in shown.stdout


def test_commands_for_long_files_do_without_pandas_and_what_else_they_never_use(svm):
    """It would take half of their memory, and of the time of a short one."""
    pytest.importorskip("pandas")
    data, model = str(svm / "first.svm"), str(svm / "m")
    commands = [["learn", data, "--model", "MIRA", "--save", model], ["predict", model, data], ["inspect", model]]
    code = (
        "import sys\nfrom ellipsoid.cli import main\n"
        f"for command in {commands!r}: main(command, standalone_mode=False)\n"
        "assert 'sklearn' in sys.modules\nassert 'pandas' not in sys.modules\nassert 'pyarrow' not in sys.modules\n"
        "assert 'ellipsoid.estimators.cellip' not in sys.modules\nfrom ellipsoid.cli.startup import LATER_IMPORTS\n"
        "assert [name for name in LATER_IMPORTS if type(sys.modules.get(name)) is type(sys)] == []\n"
        "import scipy.stats\nassert scipy.stats.norm.cdf(0.0) == 0.5\n"
        "import pandas\nassert pandas.DataFrame({'a': [1]}).shape == (1, 1)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.parametrize("closed", [1, 2])
def test_a_command_works_with_closed_standard_streams(svm, closed):
    """As a daemon may start it; files that are opened next must not be taken for the terminal."""
    arguments = ["learn", str(svm / "all.svm"), "--model", "MIRA", "--save", str(svm / "m")]
    command = shlex.join([*COMMAND, *arguments])
    done = subprocess.run(["sh", "-c", f"{command} {closed}>&-"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert load(svm / "m").t_ == 600


def test_a_closed_standard_input_is_one_line(svm):
    command = shlex.join([*COMMAND, "learn", "-", "--model", "MIRA"])
    done = subprocess.run(["sh", "-c", f"{command} <&-"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        1, "Error: standard input is closed; pipe the stream into it, or name a file\n"
    )  # fmt: skip


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no disk that is always full")
@pytest.mark.parametrize("option", ["--help", "--version"])
def test_what_cannot_be_shown_is_one_line(option):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*COMMAND, option], check=False, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "Error: [Errno 28] No space left on device\n")
