"""How well and how fast a learner does: test-then-train runs, and comparisons made of them."""

from ellipsoid.evaluate.compare import Comparison, Protocol, compare
from ellipsoid.evaluate.prequential import prequential
from ellipsoid.evaluate.run import Prequential

__all__ = ["Comparison", "Prequential", "Protocol", "compare", "prequential"]
