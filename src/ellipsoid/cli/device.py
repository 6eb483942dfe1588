"""``--device``: whether kernel values are computed on the CPU or a GPU, and the error for learners without a kernel."""

from collections.abc import Callable
from typing import Any

import click

device_option: Callable[..., Any] = click.option(
    "--device", type=click.Choice(["cpu", "cuda", "auto"]),
    help="Where to compute kernel values: cuda is an NVIDIA GPU, auto uses one if there is one [default: cpu].",
)  # fmt: skip


def set_device(model: Any, device: str | None) -> None:
    """Have a learner, new or read from a file, compute its kernel values on a device."""
    if device is None:
        return
    for learner in {id(part): part for part in _parts(model)}.values():
        if "device" not in learner.get_params(deep=False):
            raise click.UsageError(
                f"{type(learner).__name__} takes no device, because it computes no blocks of kernel "
                "values. Leave --device out."
            )
        learner.set_params(device=device)


def set_device_of_kernels(models: dict[str, Any], device: str | None) -> None:
    """The same for those of several learners that have a kernel; a note names the others."""
    if device is None:
        return
    without = [name for name, model in models.items() if not has_kernel_values(model)]
    if len(without) == len(models):
        raise click.UsageError(
            "--device is for learners with a kernel, such as MIRA:kernel=rbf; leave it out, or add one."
        )
    for name, model in models.items():
        if name not in without:
            set_device(model, device)
    if without and device == "cuda":
        click.echo(f"Note: on the CPU, having no kernel values to make on a device: {', '.join(without)}.", err=True)


def _parts(model: Any) -> list[Any]:
    """The learner itself, or those inside it: the prototypes and the fitted copies of them."""
    inner = [getattr(model, name) for name in ("learner", "learner_") if name in model.__dict__]
    inner += [member for name in ("learners", "learners_") for member in getattr(model, name, None) or ()]
    return [part for each in inner for part in _parts(each)] or [model]


def has_kernel_values(model: Any) -> bool:
    """Does a learner compute blocks of kernel values, which a device may do?"""
    every = [part.get_params(deep=False) for part in _parts(model)]
    return all("device" in each and each.get("kernel") in ("rbf", "poly") and not each.get("budget") for each in every)
