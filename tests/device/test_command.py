"""``--device`` on the command line, and what is said where there is no device to use; the device is NumPy here."""

import numpy as np
import pytest
from click.testing import CliRunner

from ellipsoid import AROW, MIRA, Committee, datasets, load
from ellipsoid.cli import main
from ellipsoid.estimators.state import device_learner
from ellipsoid.representation.kernel import device
from ellipsoid.representation.kernel.device import DevicePatterns

RBF = ("--model", "MIRA", "--param", "kernel=rbf", "--param", "gamma=0.001")


def run(*arguments, code=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output + repr(result.exception)
    return result


def put(monkeypatch, arrays):
    for module in (device, device_learner):
        monkeypatch.setattr(module, "cuda_arrays", lambda: arrays)


@pytest.fixture
def asked(monkeypatch):
    """NumPy as the device, and how many blocks of kernel values it was asked for."""
    put(monkeypatch, np)
    calls = []

    def counted(self, *args, real=DevicePatterns.values):
        calls.append(1)
        return real(self, *args)

    monkeypatch.setattr(DevicePatterns, "values", counted)
    return calls


def test_learning_predicting_and_going_on(asked, tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    run("learn", "digits", *RBF, "--save", here)
    assert not asked
    shown = run("learn", "digits", *RBF, "--device", "cuda", "--progress", "--save", there)
    assert asked
    assert "support patterns" in shown.stderr
    assert load(here).updates_ == load(there).updates_
    assert load(there).device == "cpu"
    asked.clear()
    labels = run("predict", there, "digits", "--device", "cuda").stdout
    assert asked
    assert labels == run("predict", here, "digits").stdout
    asked.clear()
    run("learn", "digits", "--resume", there, "--device", "cuda", "--scale", "none")
    assert asked


@pytest.mark.interpreted
@pytest.mark.parametrize("name", ["IELLIP", "AROW", "SecondOrderPerceptron"])
def test_learners_with_a_shape(name, asked, tmp_path):
    model, here, there = ("--model", name, *RBF[2:]), tmp_path / "here", tmp_path / "there"
    run("learn", "digits:rows=30", *model, "--save", here)
    assert not asked
    run("learn", "digits:rows=30", *model, "--device", "cuda", "--save", there)
    assert asked
    assert load(here).updates_ == load(there).updates_
    asked.clear()
    labels = run("predict", there, "digits:rows=30", "--device", "cuda").stdout
    assert asked
    assert labels == run("predict", here, "digits:rows=30").stdout


def test_a_scaled_learner_is_placed_too(asked):
    run("learn", "digits", *RBF, "--scale", "unit", "--device", "cuda")
    assert asked


@pytest.mark.interpreted
def test_members_of_a_committee_are_placed_too(asked, tmp_path):
    data = datasets.load("digits")
    kernel = {"kernel": "rbf", "gamma": 0.001}
    Committee([MIRA(**kernel), AROW(**kernel)]).partial_fit(data.X[:30], data.y[:30]).save(tmp_path / "model")
    here = run("predict", tmp_path / "model", "digits:rows=30").stdout
    assert not asked
    assert run("predict", tmp_path / "model", "digits:rows=30", "--device", "cuda").stdout == here
    assert asked


@pytest.mark.interpreted
def test_comparing_places_what_has_a_kernel(asked, tmp_path):
    pytest.importorskip("matplotlib")
    told = ("--output", tmp_path, "--quiet", "--device", "cuda")
    found = run("compare", "digits:rows=30", "--models", "IELLIP:kernel=rbf:gamma=0.001,MIRA", *told)
    assert asked
    assert "on the CPU, having no kernel values to make on a device: MIRA." in found.stderr
    refused = run("compare", "digits:rows=30", "--models", "MIRA,Perceptron", *told, code=2)
    assert "--device is for learners with a kernel" in refused.stderr


class Full:
    """NumPy with little memory."""

    def __getattr__(self, name):
        return getattr(np, name)

    @staticmethod
    def zeros(shape, dtype=float):
        if np.prod(shape) > 1500:
            raise MemoryError
        return np.zeros(shape, dtype)


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ((*RBF,), 1, 'Error: --device cuda needs CuPy, which is not installed: pip install "ellipsoid[cuda12]"'),
        (
            ("--model", "MIRA"),
            1,
            "--device cuda computes kernel values, but a linear learner has none; use --device cpu",
        ),
        ((*RBF, "--param", "budget=9"), 1, "use --device cpu, or --param budget=none"),
        (("--model", "CELLIP"), 2, "CELLIP takes no device"),
        ((*RBF, "--workers", 2), 2, "--device is not for a run over shards"),
    ],
)
def test_impossible_devices_are_refused_with_one_sentence(arguments, code, told, monkeypatch):
    monkeypatch.setattr(device, "find_spec", lambda name: None)
    assert told in run("learn", "digits", *arguments, "--device", "cuda", code=code).stderr


def test_no_device_and_no_memory_are_one_sentence(monkeypatch):
    def none():
        raise ValueError('device="cuda" finds no GPU; use device="cpu"')

    for module in (device, device_learner):
        monkeypatch.setattr(module, "cuda_arrays", none)
    assert run("learn", "digits", *RBF, "--device", "cuda", code=1).stderr == (
        "Error: --device cuda finds no GPU; use --device cpu\n"
    )
    put(monkeypatch, Full())
    told = run("learn", "digits", *RBF, "--device", "cuda", code=1).stderr
    assert told.startswith("Error: not enough memory: the device has no memory left for more than")
    assert told.endswith("use --param precision=single, a budget, or --device cpu\n")
