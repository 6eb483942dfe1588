"""The sketch form: a product that keeps the p largest directions of B^{-1} and drops the others (frequent directions).

It has room for at most 2 p columns. When they are used up, B^{-1} = I + V diag(sigma^2) V' loses delta, the (p + 1)-th
largest sigma^2, along each of its directions: sigma^2 - delta is left of the p largest, nothing of the others. What was
dropped is at most the sum of all deltas, along any direction:

    B_sketch^{-1} <= B^{-1} <= B_sketch^{-1} + (sum of deltas) I

Luo, Agarwal, Cesa-Bianchi, Langford (NIPS 2016); Ghashami, Liberty, Phillips, Woodruff (SIAM J. Comput. 2016).
"""

from typing import Self

import numpy as np

from ellipsoid.representation.tables import Floats

from ..state import DROPPED, LOG_KEPT, STORED
from .form import Room
from .vector_forms import ProductForm


class SketchForm(ProductForm):
    """``lost`` is what B^{-1} w has lost with what B^{-1} dropped."""

    name = "sketch"

    @staticmethod
    def layout(room: Room) -> dict[str, tuple[int, ...]]:
        return {**ProductForm.layout(room), "lost": (room.functions, room.columns)}

    def compressed(self, size: int, w: Floats) -> Self:
        """The sketch with at most ``size`` columns, around the weights w."""
        H, T, _ = self.root(*w.shape)
        basis, upper = np.linalg.qr(H.T)
        axes, roots, _ = np.linalg.svd(np.eye(len(upper)) - upper @ T @ upper.T)
        roots = np.clip(roots[::-1], 1e-100, 1.0)
        # Largest first; a root of 1 is a direction in which nothing was learned.
        vectors, sigma2 = (basis @ axes[:, ::-1]).T, (1.0 - roots) * (1.0 + roots) / roots**2
        delta = float(sigma2[size]) if len(sigma2) > size else 0.0
        kept = np.maximum(sigma2[:size] - delta, 0.0)
        whole = np.sqrt(1.0 + kept)
        new = type(self)(self.numbers, self.room)
        new.take(vectors[: len(kept)], np.diag(kept / (whole * (1.0 + whole))))
        given_up = (np.minimum(sigma2, delta) * (vectors @ w.ravel())) @ vectors
        new.arrays["lost"][:] = self.arrays["lost"] + given_up.reshape(w.shape)
        self.numbers[STORED] = len(kept)
        self.numbers[LOG_KEPT] = -float(np.log1p(kept).sum())
        self.numbers[DROPPED] += delta
        return new

    def split(self, room: Room) -> Self:
        new = super().split(room)
        # B^{-1} w is s times a sum over z, and s is halved.
        half = 0.5 * self.arrays["lost"][0]
        new.arrays["lost"][:, : len(half)] = -half, half
        return new
