"""Kernel learners on a GPU: the parameters that choose the device, and the base class of learners that use it."""

from typing import Any

from ellipsoid.representation.kernel.device import PRECISIONS, DevicePatterns, cuda_arrays, cuda_present
from ellipsoid.representation.kernel.expansion import KernelSpec

from ..parameters.declaration import declared
from ..parameters.validation import one_of
from .learner import Learner


class DeviceLearner(Learner):
    """A learner whose table has a ``device``, None for the CPU."""

    table: Any
    kernel: KernelSpec
    single_rows_wait = True
    # The largest number of support patterns.
    budget: int | None = None
    device, precision = "cpu", "double"

    def open(self, width: int, **options: Any) -> None:
        super().open(width, **options)
        self.place(self.device, self.precision)

    def place(self, device: str, precision: str) -> None:
        """Compute kernel values on this device from now on."""
        known = self.device, self.precision
        self.device, self.precision = device, precision
        if self.table is not None and (
            known != (device, precision) or (self.table.device is None) != (device == "cpu")
        ):
            self.table.device = None if device == "cpu" else DevicePatterns(cuda_arrays(), precision)
            self.fast = self.named = None


@declared
class DeviceParameters:
    """Where the kernel values of a learner are computed.

    Parameters
    ----------
    device : {"cpu", "cuda", "auto"}
        Where kernel values are computed: "cuda" is an NVIDIA GPU; "auto" uses it if there is one and the kernel is
        "rbf" or "poly". Model files do not hold the device.
    precision : {"double", "single"}
        The precision of kernel values on a GPU; coefficients and sums are always double.
    """

    device: str = "cpu"
    precision: str = "double"

    def _new_learner(self) -> Learner:
        learner: Learner = super()._new_learner()  # type: ignore[misc]
        if not isinstance(learner, DeviceLearner):
            self._place(("linear", None, 1.0, 0.0), None)
        self._placed(learner)
        return learner

    def _place(self, kernel: KernelSpec, budget: int | None) -> tuple[str, str]:
        """The device and the precision of kernel values, or ``ValueError`` if the device cannot be used."""
        one_of("device", self.device, {"cpu": None, "cuda": None, "auto": None})
        one_of("precision", self.precision, dict.fromkeys(PRECISIONS))
        named = isinstance(kernel[0], str) and kernel[0] in ("rbf", "poly") and budget is None
        if self.device == "cpu" or (self.device == "auto" and not (named and cuda_present())):
            return "cpu", "double"
        if kernel[0] == "linear":
            raise ValueError('device="cuda" computes kernel values, but a linear learner has none; use device="cpu"')
        if kernel[0] == "precomputed" or callable(kernel[0]):
            raise ValueError(
                'device="cuda" makes the values of rbf and poly; those of a function in Python, or given ones, come '
                'from the CPU: use device="cpu"'
            )
        if budget is not None:
            raise ValueError('budget keeps inverse matrices, which are on the CPU; use device="cpu", or budget=None')
        cuda_arrays()
        return "cuda", self.precision

    def _placed(self, learner: Any) -> Any:
        """The learner, moved to the device that the parameters name now."""
        if isinstance(learner, DeviceLearner):
            learner.place(*self._place(learner.kernel, learner.budget))
        return learner

    def _learned(self) -> Any:
        return self._placed(super()._learned())  # type: ignore[misc]

    def _check_call(self, *args: Any) -> tuple[Any, ...]:
        self._placed(self.__dict__.get("_core"))
        return super()._check_call(*args)  # type: ignore[misc]
