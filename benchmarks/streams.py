"""Text to model: the parser alone beside scikit-learn's, then one pass from a file to a saved multiclass model.

Every contender reads its own text format from a file that the system has in memory, without a cache of its own, and
ends with a model on disk (scikit-learn's stays in memory, which costs it nothing).

All processors are open to all. We scan in as many threads as there are processors, and learn in another; Vowpal Wabbit
parses in one thread and learns in another; scikit-learn uses one. Ratios by the processor's time, all threads counted,
stand beside those on the wall. No contender's imports or compilation are counted; the last figures say what the whole
commands take, with them.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from ellipsoid import PassiveAggressive
from ellipsoid.streams.opening import open_stream

from . import peers
from .data import Data, load
from .harness import Case, Contender, Effort, Target, attempt, figure
from .processes import seconds

# Name of the set, and how its values are written.
SETS = (("letter", "%d"), ("mnist-whole", "%d"), ("covtype", "%.6g"))
# The cap C of our learner and of scikit-learn's: of a coarse grid the one with the smallest online error of our own
# pass over the training part. The test part had no say. Vowpal Wabbit adapts its steps by itself.
CAP = {"letter": 1e-3, "mnist-whole": 3e-8, "covtype": 1e-2}
# MNIST / 255 with all its digits, which only the parser is asked to read.
LONG = ("mnist", "%.16g")


def run(quick: bool, effort: Effort) -> Iterator[dict[str, Any]]:
    """Parser by parser, then learner by learner."""
    rows = 2000 if quick else None
    with tempfile.TemporaryDirectory() as folder:
        for name, form in (*SETS, LONG):
            yield attempt(f"parse-{name}", lambda n=name, f=form: parse(n, f, rows, Path(folder)), effort)
        for name, form in SETS:
            yield attempt(f"learn-{name}", lambda n=name, f=form: learn(n, f, rows, Path(folder)), effort)
        for name, form in SETS:
            yield command(name, form, rows, Path(folder))


def texts(name: str, form: str, rows: int | None, folder: Path) -> tuple[Data, Path, Path]:
    """The training part as svmlight text and as Vowpal Wabbit's; zeros are left out of both."""
    data = load(name, rows)
    svmlight, vw = folder / f"{name}{len(form)}.svm", folder / f"{name}{len(form)}.vw"
    if not svmlight.exists():
        with open(svmlight, "w") as ours, open(vw, "w") as theirs:
            for x, label in zip(csr_matrix(data.X), np.searchsorted(data.classes, data.y).tolist(), strict=True):
                features = written(x, form)
                ours.write(f"{label} {features}\n")
                theirs.write(f"{label + 1} | {features}\n")
    return data, svmlight, vw


def written(x: Any, form: str) -> str:
    """The features of a sparse row."""
    return " ".join(f"{j + 1}:{form % value}" for j, value in zip(x.indices.tolist(), x.data.tolist(), strict=True))


def parse(name: str, form: str, rows: int | None, folder: Path) -> Case:
    """All rows of a file, nothing else."""
    from sklearn.datasets import load_svmlight_file

    data, path, _ = texts(name, form, rows, folder)
    size = path.stat().st_size

    def ours(threads: int | None) -> int:
        return sum(X.shape[0] for X, _, _ in open_stream(path, threads=threads))

    return Case(
        f"parse-{name}",
        f"{size / 1e6:.0f} MB of svmlight text, values as {form}: {data.describe()}",
        data.X.shape[0],
        Contender("open_stream", lambda: None, ours, "all chunks of the file"),
        [
            Contender(
                "scikit-learn load_svmlight_file",
                lambda: None,
                lambda _: load_svmlight_file(str(path)),
                "the whole file",
                target=None if rows else Target(15),
            ),
            Contender("open_stream, threads=1", lambda: 1, ours, "all chunks of the file"),
        ],
    )


def learn(name: str, form: str, rows: int | None, folder: Path) -> Case:
    """One pass from a file to a model."""
    data, path, vw = texts(name, form, rows, folder)
    width = data.X.shape[1]

    def sklearn(model: Any) -> Any:
        from sklearn.datasets import load_svmlight_file

        X, y = load_svmlight_file(str(path), n_features=width)
        # The reader gives indices of 64 bits, which the learner refuses.
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        return model.partial_fit(X, y, classes=np.arange(len(data.classes)))

    return Case(
        f"learn-{name}",
        f"one pass, svmlight text of {path.stat().st_size / 1e6:.0f} MB: {data.describe()}",
        data.X.shape[0],
        text_to_model(
            "PassiveAggressive", lambda: PassiveAggressive(C=CAP[name], grow_features=True), data, path, folder
        ),
        [
            vowpal_wabbit(data, form, vw, folder, None if rows else Target(3)),
            Contender(
                "scikit-learn SGD pa1",
                lambda: peers.sklearn_pa().set_params(eta0=CAP[name]),
                sklearn,
                "load_svmlight_file, partial_fit",
                error_on_test_part(data),
                None if rows else Target(10),
            ),
        ],
    )


def text_to_model(name: str, make: Callable[[], Any], data: Data, path: Path, folder: Path) -> Contender:
    """One of our learners, from a file of text to a model on disk."""

    def learn(model: Any) -> Any:
        for X, y, _ in open_stream(path):
            model.partial_fit(X, y)
        model.save(folder / "model")
        return model

    return Contender(name, make, learn, "open_stream, partial_fit, save", error_on_test_part(data))


def error_on_test_part(data: Data) -> Callable[[Any], float]:
    """The error of a model that may not have met the last features."""
    codes = np.searchsorted(data.classes, data.y_test)
    return lambda model: float(np.mean(model.predict(data.X_test[:, : model.n_features_in_]) != codes))


def vowpal_wabbit(data: Data, form: str, text: Path, folder: Path, target: Target | None) -> Contender:
    """Vowpal Wabbit as its command does it: it parses in a thread of its own, learns, and writes its model."""
    name = "Vowpal Wabbit, oaa"
    if peers.absent("vowpalwabbit"):
        return peers.missing(name, "vowpalwabbit")
    from vowpalwabbit import Workspace

    model = folder / "model.vw"
    # Room for the weights of all features, of which it gives each a power of 2.
    classes = len(data.classes)
    bits = max(18, (data.X.shape[1] - 1).bit_length() + (classes - 1).bit_length())
    kind = f"--oaa {classes} --loss_function hinge --bit_precision {bits}"

    def job(_: Any) -> Path:
        Workspace(f"{kind} --quiet --data {text} --final_regressor {model}").finish()
        return model

    def error(path: Path) -> float:
        margin_of = Workspace(f"--initial_regressor {path} --testonly --quiet")
        wrong = 0
        codes = np.searchsorted(data.classes, data.y_test).tolist()
        for x, label in zip(csr_matrix(data.X_test), codes, strict=True):
            wrong += margin_of.predict("| " + written(x, form)) != label + 1
        margin_of.finish()
        return wrong / len(data.y_test)

    return Contender(name, lambda: None, job, "--data FILE --final_regressor MODEL, one pass, no cache", error, target)


def command(name: str, form: str, rows: int | None, folder: Path) -> dict[str, Any]:
    """What a user waits for who starts ``ellipsoid learn`` on a file, and starts Vowpal Wabbit from Python."""
    try:
        data, path, vw = texts(name, form, rows, folder)
    except (ValueError, OSError) as error:
        return {"figure": f"ellipsoid learn {name}", "skipped": " ".join(str(error).split())}
    arguments = [
        "learn", str(path), "--model", "PassiveAggressive", "--param", f"C={CAP[name]}", "--save", str(folder / "m"),
    ]  # fmt: skip
    ours = f"import sys; sys.stdout = open('/dev/null', 'w')\nfrom ellipsoid.cli import main\nmain({arguments!r})"
    kind = f"--oaa {len(data.classes)} --loss_function hinge --bit_precision 18 --quiet"
    theirs = f"from vowpalwabbit import Workspace\nWorkspace('{kind} --data {vw} -f {folder / 'm.vw'}').finish()"
    absent = peers.absent("vowpalwabbit")
    runs = [(seconds(ours), None if absent else seconds(theirs)) for _ in range(3)]
    return figure(
        f"ellipsoid learn {name}",
        "the whole command, in a new process, fastest of three; compiled loops are in the cache",
        min(mine.wall for mine, _ in runs),
        "s",
        processor_time=min(mine.cpu for mine, _ in runs),
        **({} if absent else {"vowpal_wabbit_from_python": min(peer.wall for _, peer in runs if peer)}),
    )
