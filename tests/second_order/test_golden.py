"""Seven rounds of every rule, from a run with 40 digits."""

# ruff: noqa: E501 (all digits of a vector on one line)
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import ndtr
from sklearn.base import clone

from ellipsoid import AROW, NHERD, SCW, ConfidenceWeighted, SecondOrderPerceptron

ONE_DEVIATION = float(ndtr(1.0))
X = np.array([
    [1.0, 0.5, -0.5], [0.5, -1.0, 0.25], [-0.75, 0.5, 1.0], [0.25, 1.0, 0.5],
    [0.5, -0.25, -1.0], [-0.5, -0.75, 0.5], [1.0, 0.25, 0.5],
])  # fmt: skip
TWO, THREE = [1, 0, 0, 1, 1, 1, 0], [0, 1, 2, 0, 1, 2, 1]


class Run(NamedTuple):
    """A learner, its weights, log det S and some entries of S after seven rounds, and what each round was."""

    name: str
    learner: object
    weights: list
    log_det: float
    entries: dict
    mistakes: str
    updates: str


# fmt: off
RUNS = [
    Run(
        "AROW r=1", AROW(shape="dense"),
        [[-0.08258141175596896, 0.2594779250677658, -0.6111915636255616]],
        -4.1858522446995, {(0, 0): 0.25493297686680777, (0, 1): -0.03267609817682225}, "1000011", "1111111",
    ),
    Run(
        "SOP a=1", SecondOrderPerceptron(shape="dense"),
        [[-0.0701051577366049, -0.328492739108663, -0.3895843765648473]],
        -2.054223888936253, {(0, 0): 0.3885828743114672, (0, 1): -0.23635453179769655}, "1000011", "1000011",
    ),
    Run(
        "AROW inverse", AROW(shape="diagonal"),
        [[0.0024568816045286023, 0.2802309866921618, -0.49245324586226713]],
        -4.309808964616619, {(0, 0): 0.22857142857142856, (2, 2): 0.24615384615384617}, "1000011", "1111111",
    ),
    Run(
        "AROW drop", AROW(shape="diagonal", diagonal="drop"),
        [[-0.09877381825748667, 0.2565422854450865, -0.486483946401379]],
        -3.6378394830153153, {(0, 0): 0.2956079481502786, (2, 2): 0.3081561714184075}, "1000011", "1111111",
    ),
    Run(
        "NHERD C=1", NHERD(shape="dense"),
        [[0.0006709036306116525, 0.3857556904330299, -0.6395474388287862]],
        -6.641856647045051, {(0, 0): 0.11250783110796969, (0, 1): -0.012969080678144894}, "1000011", "1111111",
    ),
    Run(
        "NHERD exact", NHERD(shape="diagonal"),
        [[0.1735454149137209, 0.3858376875398838, -0.4973476973176075]],
        -6.402016669818269, {(0, 0): 0.11107690267141891, (2, 2): 0.1246564629127828}, "1000011", "1111111",
    ),
    Run(
        "NHERD project", NHERD(shape="diagonal", diagonal="project"),
        [[0.20165394879566387, 0.3602791361473385, -0.4670877400273572]],
        -6.641568883912238, {(0, 0): 0.0995072331100889, (2, 2): 0.11668194066858348}, "1000011", "1111111",
    ),
    Run(
        "NHERD drop", NHERD(shape="diagonal", diagonal="drop"),
        [[0.01969339778734317, 0.4009849914177085, -0.5297587731957313]],
        -5.388723141786659, {(0, 0): 0.17183698063420094, (2, 2): 0.17048525660412997}, "1000011", "1111111",
    ),
    Run(
        "CW variance phi=1", ConfidenceWeighted(eta=ONE_DEVIATION, variant="variance", shape="dense"),
        [[-0.2735865955575225, -0.12750787150537277, -0.1818637671399229]],
        -4.441118758666968, {(0, 0): 0.25291412790528167, (0, 1): -0.07234821092818013}, "1000011", "1111011",
    ),
    Run(
        "CW stdev phi=1", ConfidenceWeighted(eta=ONE_DEVIATION, shape="dense"),
        [[-0.468248595175719, -0.16237329728004946, -0.19491461078732905]],
        -5.097646867171951, {(0, 0): 0.24883365394555496, (0, 1): -0.10144904908391181}, "1000011", "1111111",
    ),
    Run(
        "CW stdev inverse", ConfidenceWeighted(eta=ONE_DEVIATION, shape="diagonal", diagonal="inverse"),
        [[-0.37080356722892305, -0.1219042211299665, 0.08066910682957784]],
        -6.407544004749013, {(0, 0): 0.1112248227316662, (2, 2): 0.15991082566826129}, "1000010", "1111111",
    ),
    Run(
        "SCW-I phi=1 C=1/2", SCW(eta=ONE_DEVIATION, C=0.5, shape="dense"),
        [[0.17856538655826745, 0.6262855182032698, -0.7353047749067164]],
        -3.0356651054666366, {(0, 0): 0.3524743761612977, (0, 1): -0.05207706982376824}, "1000011", "1111111",
    ),
    Run(
        "SCW-II phi=1 C=1/2", SCW(eta=ONE_DEVIATION, C=0.5, variant="II", shape="dense"),
        [[-0.07100575125986787, 0.2095126892260408, -0.5228714761215465]],
        -2.9077575841850622, {(0, 0): 0.3915303377227963, (0, 1): -0.08836209360929316}, "1000011", "1111111",
    ),
    Run(
        "AROW r=1, three classes", AROW(shape="dense"),
        [[-0.0018456703148119087, 0.616487983345311, -0.12318747394577367], [0.5090899138241972, -0.3957487332294044, -0.0046212814528372925], [-0.5072442435093854, -0.22073925011590656, 0.12780875539861097]],
        -7.628621559730185, {(0, 0): 0.5694398739270988, (0, 1): -0.11826212954844459}, "1001011", "1111111",
    ),
    Run(
        "AROW inverse, three classes", AROW(shape="diagonal"),
        [[-0.14388089854040878, 0.4549427080252075, 0.1478668998939665], [0.3363400399752492, -0.19949064318438725, -0.15865065388274693], [-0.5426794232678452, -0.0001267895038927453, 0.19813633794873076]],
        -10.066381664027414, {(0, 0): 0.3018867924528302}, "1001011", "1111111",
    ),
    Run(
        "NHERD C=1, three classes", NHERD(shape="dense"),
        [[0.043101630270659344, 0.7088916046785253, -0.1621778245803239], [0.3066327670108671, -0.5636369495567215, -0.002862816493780011], [-0.34973439728152644, -0.14525465512180377, 0.16504064107410393]],
        -13.685681238457303, {(0, 0): 0.4736064819157385, (0, 1): -0.1054791957819166}, "1001011", "1111111",
    ),
    Run(
        "CW stdev phi=1, three classes", ConfidenceWeighted(eta=ONE_DEVIATION, shape="dense"),
        [[-0.09855430048901166, 0.838558095235499, -0.16237532966352683], [0.9510220813576294, -0.5067050944383102, -0.043249838317383285], [-0.8524677808686177, -0.3318530007971887, 0.2056251679809101]],
        -5.347588661054308, {(0, 0): 0.6068868881476351, (0, 1): -0.09566479898676347}, "1001011", "1111111",
    ),
    Run(
        "SCW-I phi=1 C=1/2, three classes", SCW(eta=ONE_DEVIATION, C=0.5, shape="dense"),
        [[0.13974082677366154, 0.7892245543096953, 0.04372714156740751], [0.6110327389619781, -0.6363075403947038, -0.21600827715076606], [-0.7507735657356396, -0.15291701391499152, 0.17228113558335856]],
        -4.563641948765314, {(0, 0): 0.6633013804908986, (0, 1): -0.09909833752758722}, "1001011", "1111111",
    ),
    Run(
        "SCW-II phi=1 C=1/2, three classes", SCW(eta=ONE_DEVIATION, C=0.5, variant="II", shape="dense"),
        [[-0.02378195023675429, 0.6218565235755869, -0.059759773006168415], [0.6647220585724233, -0.43410886805844767, -0.10182011576058968], [-0.640940108335669, -0.1877476555171392, 0.1615798887667581]],
        -3.9774605911663614, {(0, 0): 0.6726116321860812, (0, 1): -0.09277768554220955}, "1001011", "1111111",
    ),
]
# fmt: on


@pytest.mark.parametrize("rows", [np.array, sp.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_seven_rounds(run, rows):
    labels = THREE if len(run.weights) == 3 else TWO
    model, counts = clone(run.learner).set_params(fit_intercept=False), [(0, 0)]
    for t, label in enumerate(labels):
        model.partial_fit(rows(X[t : t + 1]), [label], classes=np.unique(labels) if t == 0 else None)
        counts.append((model.mistakes_, model.updates_))
    rounds = np.diff(counts, axis=0)
    assert "".join(map(str, rounds[:, 0])) == run.mistakes
    assert "".join(map(str, rounds[:, 1])) == run.updates
    np.testing.assert_allclose(model.coef_, run.weights, rtol=1e-12, atol=1e-14)
    assert model.log_volume_ == pytest.approx(run.log_det, rel=1e-12)
    covariance = model.ellipsoid_.shape_matrix()
    for place, entry in run.entries.items():
        assert covariance[place] == pytest.approx(entry, rel=1e-12)


def test_the_diagonal_of_arow_has_a_closed_form():
    model = AROW(shape="diagonal", fit_intercept=False).partial_fit(X, TWO, classes=[0, 1])
    np.testing.assert_allclose(1.0 / np.diag(model.ellipsoid_.shape_matrix()), [4.375, 4.1875, 4.0625], rtol=1e-14)
