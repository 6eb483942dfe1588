"""What ``ellipsoid predict`` writes: one line for each row, from which the label can be read."""

import json

import numpy as np

from ellipsoid import Perceptron

from .conftest import run


def test_a_predicted_label_takes_one_line_whatever_it_holds(tmp_path):
    """What begins with a quotation mark is JSON; every other line is the label itself."""
    labels = [
        "plain",
        "two\nlines",
        "carriage\rreturn",
        "line\u2028separator",
        '"quoted"',
        "ends with one\n",
        "it's a \\n",
    ]
    labels += ["", "last"]
    X = np.eye(len(labels))
    Perceptron(n_epochs=30, random_state=0).fit(X, labels).save(tmp_path / "m")
    np.savez(tmp_path / "rows.npz", X=X)
    predict = ("predict", tmp_path / "m", tmp_path / "rows.npz", "--no-label")
    lines = run(*predict).stdout.split("\n")
    assert lines.pop() == ""
    assert [json.loads(line) if line.startswith('"') else line for line in lines] == labels
    assert lines[0] == "plain"
    run(*predict, "-o", tmp_path / "labels")
    assert len((tmp_path / "labels").read_text().splitlines()) == len(labels)


def test_a_dash_is_standard_output(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = np.eye(4), [0, 1, 0, 1]
    Perceptron().fit(X, y).save("m")
    np.savez("few.npz", X=X, y=y)
    assert run("predict", "m", "few.npz", "-o", "-").stdout == run("predict", "m", "few.npz").stdout != ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["few.npz", "m"]
