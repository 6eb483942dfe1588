"""What learners that keep an ellipsoid around their weights have in common."""

from collections.abc import Iterator
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.certificates import Certificate
from ellipsoid.certificates.rounding import Span
from ellipsoid.ellipsoids import state as slots
from ellipsoid.ellipsoids.tables.kernel import KernelTable
from ellipsoid.ellipsoids.tables.table import EllipsoidTable
from ellipsoid.engine import CSR, Dense, call
from ellipsoid.engine import tally as tallies
from ellipsoid.engine.tasks import ORDER, ORDERED
from ellipsoid.representation.kernel.expansion import KernelSpec
from ellipsoid.representation.kernel.functions import KERNELS
from ellipsoid.representation.kernel.patterns import Block
from ellipsoid.representation.tables import LinearTable
from ellipsoid.rules import cellip, iellip

from .inputs.labels import Codes
from .inputs.rows import RowSource, flaw_message
from .parameters.declaration import declared
from .parameters.shared import KernelParameters
from .parameters.validation import one_of
from .shell.base import OnlineClassifier
from .state.device_learner import DeviceLearner, DeviceParameters
from .state.expansion import SCORED_AHEAD_ON_DEVICE
from .state.interruption import without_interrupts
from .state.kernel_values import check_values
from .state.learner import NO_LABELS, Learner
from .state.predict_then_learn import rows_to_learn

SHAPES = {"auto": None, "column": "column", "product": "product", "gram": "gram", "dense": "full"}


class EllipsoidLearner(Learner):
    """A learner whose table keeps an ellipsoid."""

    table: EllipsoidTable

    def __init__(
        self, rule: Any, *, intercept: float, average: bool, table: dict[str, Any], halts: bool = False
    ) -> None:
        super().__init__(rule, intercept=intercept, average=average, half=0.5)
        self.table_options = table
        self.halts = halts

    def by_class(self, source: RowSource, classes: int = 0) -> bool:
        """The shapes of dense rows lie beside class-wise weights."""
        return not source.sparse

    def new_table(self, by_class: bool) -> EllipsoidTable:
        forced = self.table_options["form"]
        linear = LinearTable(by_class=by_class or forced is not None, average=self.average)
        return EllipsoidTable(linear, constant=self.constant != 0.0, **self.table_options)

    @property
    def learns_single_rows(self) -> bool:
        """Not by a rule that halts: the version space must be looked at after each row."""
        return super().learns_single_rows and not self.halts

    def learn_new_label(self, rows: Any, ledger: Any, mode: int, row: int) -> None:
        """A label cannot be new to a learner that did not ask for it."""
        unselective = {"selective": False} if isinstance(self.rule, cellip.CELLIPRule) else {"smoothing": 0.0}
        self.run(rows, ledger, mode, row, row + 1, rule=self.rule._replace(**unselective))

    def count_rows(self, ledger: Any, mode: int, start: int, stop: int) -> None:
        """One label known is no reason to be certain of it: every label is asked for."""
        self.table.numbers[slots.ASKED] += rows_to_learn(mode, start, stop)
        super().count_rows(ledger, mode, start, stop)

    def scalars(self) -> dict[str, Any]:
        # The seed is drawn when learning starts; what follows must not depend on whether a file lies between.
        return {**super().scalars(), "form": self.table.form_name, "seed": getattr(self.rule, "seed", 0)}

    def restore_table(self, scalars: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self.table.check(arrays, scalars["form"])
        self.table.restore(arrays, scalars["form"])
        self.restore_seed(scalars)

    def restore_seed(self, scalars: dict[str, Any]) -> None:
        """Go on drawing where the model of the file would have."""
        if isinstance(self.rule, iellip.IELLIPRule):
            seed = int(scalars["seed"])
            if not 0 <= seed < 2**31:
                raise ValueError(f"its seed {seed} is out of range")
            self.rule = self.rule._replace(seed=seed)


def largest_of(learner: Learner) -> Span:
    """R: the largest length of a signed row of an update."""
    found = Span.about(float(learner.tally[tallies.RADIUS2]), learner.width + 4)
    return (found * (1.0 if learner.scores == 1 else 2.0)).root()


class KernelLearner(DeviceLearner, EllipsoidLearner):
    """The same in the feature space of a kernel; on a device the loop is given the kernel values of a block of rows."""

    table: KernelTable  # type: ignore[assignment]

    @property
    def kernel(self) -> KernelSpec:  # type: ignore[override]
        """Its name and parameters."""
        return self.table_options["kernel"]

    @property
    def predicts_in_loop(self) -> bool:
        """On the CPU predictions sum a row's kernel values in another order than the loop does, and ties may differ."""
        return self.table.device is not None and not self.average

    @property
    def learns_single_rows(self) -> bool:
        """Not on a device, which gets every row in a block."""
        return super().learns_single_rows and self.table.device is None

    def run(
        self, rows: Dense | CSR, ledger: Codes, mode: int, start: int, stop: int, Y: NDArray[np.uint8] = NO_LABELS,
        rule: Any = None,
    ) -> None:  # fmt: skip
        """Run the loop over rows start..stop; with a device in blocks, whose kernel values it makes before."""
        if self.table.device is None or self.knows_one_label:
            super().run(rows, ledger, mode, start, stop, Y, rule)
            return
        # To be asked for a label by its confidence a row would have to wait twice.
        may_wait = not getattr(self.rule, "doubt", 0.0)
        try:
            for begin in range(start, stop, SCORED_AHEAD_ON_DEVICE):
                end = min(stop, begin + SCORED_AHEAD_ON_DEVICE)
                picks = ledger[ORDER, begin:end] if mode == ORDERED else slice(begin, end)
                self.table.prepare()
                self.table.look_ahead(rows, picks, self.tally, may_wait)
                if self.table.waiting is None:
                    super().run(rows, ledger, mode, begin, end, Y, rule)
                else:
                    self.run_waiting(rule or self.rule, self.task(ledger, mode, Y), rows, begin, end)
        finally:
            without_interrupts(self.table.look_back)

    def run_waiting(self, rule: Any, task: Any, rows: Dense | CSR, start: int, stop: int) -> None:
        """The same where a row that looks at the shape must wait for the device; it is learned whole or not at all."""

        def loop(begin: int, end: int) -> int:
            args = (rule, task, self.table.rep, rows, self.tally, self.work, begin, end, self.row_weights)
            reached = int(call(self.loop, *args))
            if reached < 0:
                raise ValueError(flaw_message(0, -1 - reached))
            return reached

        def go_on() -> None:
            nonlocal start
            reached = loop(start, stop)
            if self.table.waits():
                self.table.answer(lambda: loop(reached - 1, reached))
            start = reached

        while start < stop:
            without_interrupts(go_on)

    def decision(self, source: RowSource) -> NDArray[np.float64]:
        table = self.table
        if table.device is None:
            return super().decision(source)
        coef = table.coefficients(self.rounds)[:, : self.scores]
        blocks = (table.scores_on_device(block, coef) for block in self.blocks(source))
        return np.concatenate([*blocks])

    def blocks(self, source: RowSource) -> Iterator[Block]:
        """Rows as a device scores them."""
        for first, last in source.blocks():
            rows = source.rows(first, last)
            for start in range(0, last - first, SCORED_AHEAD_ON_DEVICE):
                yield self.table.block(rows, slice(start, min(last - first, start + SCORED_AHEAD_ON_DEVICE)))

    def new_table(self, by_class: bool) -> KernelTable:  # type: ignore[override]
        return KernelTable(
            self.table_options["kernel"], columns=self.table_options["columns"], average=self.average,
            constant=self.constant * self.constant,
        )  # fmt: skip

    def stored_width(self, scalars: dict[str, Any], arrays: dict[str, NDArray[Any]], functions: int) -> int:
        KernelTable.check(arrays, functions, self.table_options["columns"])
        return int(arrays["SV"].shape[1] - 1)

    def restore_table(self, scalars: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self.table.restore(arrays)
        self.restore_seed(scalars)

    def check(self, source: RowSource) -> None:
        """Refuse also a row whose kernel value with itself overflows."""
        super().check(source)
        check_values(self.new_table(True), source)


@declared
class EllipsoidalClassifier(OnlineClassifier):
    """What the learners share that keep an ellipsoid around their weights.

    Parameters
    ----------
    shape : {"auto", "column", "product", "gram", "dense"}
        The form in which the ellipsoid is kept.
    """

    shape: str = "auto"

    _core: EllipsoidLearner = field(init=False)
    _multilabel = True
    _counts_features = True  # they are dimensions of the ellipsoid

    @property
    def asked_(self) -> int:
        """The number of labels that were asked for: all of them unless ``selective``."""
        return int(self._fitted("asked_").table.numbers[slots.ASKED])

    @property
    def log_volume_(self) -> float:
        """log det P of the current ellipsoid."""
        return float(self._fitted("log_volume_").table.log_det())

    @property
    def update_rounds_(self) -> NDArray[np.int64]:
        """The rounds (counted from 1) whose examples made the ellipsoid: the witnesses of its certificates."""
        table = self._fitted("update_rounds_").table
        return table.rounds[: int(table.numbers[slots.CUTS])].astype(np.int64)


@declared
class KernelEllipsoidalClassifier(DeviceParameters, KernelParameters, EllipsoidalClassifier):
    """What those of them share that may live in the feature space of a kernel.

    Parameters
    ----------
    kernel : {"linear", "rbf", "poly"}
        The space in which the ellipsoid lives; kernels other than the linear one keep the update examples
        (``support_vectors_``, ``dual_coef_``) and need the Gram form.
    device : {"cpu", "cuda", "auto"}
        Where kernel values are computed, and the matrix of a shape over 1,024 examples or more is kept: "cuda" is an
        NVIDIA GPU, "auto" uses one if there is one and the kernel is not linear. With ``selective`` AROW and
        SecondOrderPerceptron keep the matrix on the CPU. Model files do not hold the device.
    """

    kernel: str = "linear"

    @property
    def support_vectors_(self) -> NDArray[np.float64]:
        """Kernel models: the examples of the updates."""
        return self._kernel_table("support_vectors_").patterns()

    @property
    def dual_coef_(self) -> NDArray[np.float64]:
        """Kernel models: coefficients of the update examples, one row per score."""
        return self._kernel_table("dual_coef_").coefficients(self.t_).T

    def _kernel_table(self, name: str) -> KernelTable:
        table = self._fitted(name).table
        if not isinstance(table, KernelTable):
            raise AttributeError(f"{name} is for kernel models; a linear model has coef_ and intercept_")
        return table

    def _kernel_options(self, columns: float) -> dict[str, Any] | None:
        """What the table of a kernel model with so many downdates needs; None for the linear kernel."""
        one_of("kernel", self.kernel, KERNELS)
        if self.kernel == "linear":
            return None
        one_of("shape", self.shape, {"auto": None, "gram": None})
        return {"kernel": self._kernel_spec(), "columns": columns}

    def certificates(self, comparator: Any = None) -> list[Certificate]:
        """The bounds that hold for this run so far; a kernel model is its own comparator."""
        core = self._learned()
        if not isinstance(core.table, KernelTable):
            return super().certificates(comparator)
        if comparator is not None:
            raise ValueError("a kernel model has no coordinates to compare with; comparator must be None")
        return self._kernel_bounds(core, core.table)

    def _kernel_bounds(self, learner: Any, table: KernelTable) -> list[Certificate]:
        """Certificates of a kernel model against its own weights."""
        raise NotImplementedError
