"""The forms in which B is kept, the arrays of each, and how large they may become."""

from typing import Any

from .column import Column
from .flat import Full, Product
from .gram import Gram, SparseGram

FORMS: dict[str, Any] = {"column": Column, "product": Product, "gram": Gram, "full": Full, "sparse": SparseGram}
ARRAYS = {
    "column": ("H", "debt"), "product": ("H", "T"), "gram": ("Z", "S", "pairs", "lengths"), "full": ("J",),
    "sparse": ("Z", "S", "pairs", "small", "slot", "lengths"),
}  # fmt: skip
# Arrays that older files do not have; they were zero there.
LATER = ("debt", "lengths")

# Not made on our own account: a full matrix of more rows (134 MB), a product of more numbers for sparse rows (32 MB).
LARGEST_FULL, LARGEST_PRODUCT = 4096, 1 << 22
# Features of stored sparse examples that there is room for at first.
COMPACT = 1024
