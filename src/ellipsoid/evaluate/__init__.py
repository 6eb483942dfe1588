"""How well and how fast a learner does: test-then-train runs, and comparisons made of them."""

from .cell import Protocol
from .compare import Comparison, compare
from .prequential import prequential
from .run import Prequential

__all__ = ["Comparison", "Prequential", "Protocol", "compare", "prequential"]
