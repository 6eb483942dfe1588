"""Weights computed by another program, from the formulas alone."""

import numpy as np
import pytest
import scipy.sparse as sp

from ellipsoid import EllipsoidClassifier
from ellipsoid.representation.speeds.copies import ENERGY

X = np.array(
    [[3, 3, 1], [-1, 2, -1], [2, -3, 3], [3, -1, -3], [0, -2, 2], [-3, -2, 1], [-2, -2, 3], [-3, 1, -2]], dtype=float
)
TWO, THREE = [0, 0, 1, 0, 0, 0, 1, 0], [0, 2, 1, 1, 2, 0, 0, 1]

# Labels, shape: updates, wrong predictions, energy, last weights and average of each class, the constant last. The last
# class is left out: all classes sum to zero.
GOLDEN = {
    ("two", "diagonal"): (
        TWO, 7, 3, 13.5515033752718,
        [[0.009451010857, 0.065216053168, -0.1039240028, 0.364208241537]],
        [[0.003743438919, 0.061093695662, -0.089774149157, 0.376714687588]],
    ),
    ("two", "full"): (
        TWO, 6, 2, 2.55195169645936,
        [[-0.014649863506, 0.049203514944, -0.136357875013, 0.427828595301]],
        [[-0.019629256443, 0.056265739091, -0.103952720844, 0.406811521705]],
    ),
    ("three", "diagonal"): (
        THREE, 8, 6, 14.6058536792381,
        [[-4.545487365924e-02, 1.770237681344e-02, 1.835342718544e-01, 8.912894923836e-03],
         [3.338089143505e-02, -1.774261822877e-02, -7.413303356407e-02, 4.154810782286e-02]],
        [[-0.036909226043, 0.0308767005, 0.167517661398, -0.010347076089],
         [0.061757531334, -0.03733011104, -0.038386813852, -0.019629915595]],
    ),
    ("three", "full"): (
        THREE, 8, 6, 3.41659740281811,
        [[-0.024836255977, 0.019409494364, 0.181833794352, 0.076394348935],
         [0.010294178282, -0.040280045153, -0.116407722743, -0.03723920713]],
        [[-0.012586247419, 0.027371575736, 0.145647079833, 0.053817349851],
         [0.033600494201, -0.049580986716, -0.053143046778, -0.100935118747]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("rows", [X, X.astype(np.float32), sp.csr_matrix(X)], ids=["float64", "float32", "csr"])
@pytest.mark.parametrize("case", GOLDEN)
def test_golden_vectors(case, rows):
    y, updates, wrong, energy, last, average = GOLDEN[case]
    model = EllipsoidClassifier(speeds=1, margin="unit", shape=case[1])
    predicted = model.learn_predict(rows, y, classes=sorted(set(y)))
    assert (model.updates_, int((predicted != np.array(y)).sum())) == (updates, wrong)
    table = model._core.table
    assert table.shared[ENERGY] == pytest.approx(energy, rel=1e-14)
    for place, expected in enumerate((last, average)):
        W = table.weights_of(0, place, model._core.scores)
        # One function for two classes: the second class's weights less the first's.
        W = W if len(set(y)) > 2 else -0.5 * W
        np.testing.assert_allclose(W[: len(expected), [1, 2, 3, 0]], expected, rtol=0.0, atol=1e-12)
