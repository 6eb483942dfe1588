"""Draw iellip_freezes.svg: the printed shape of IELLIP stops learning, one that looks at the variance does not."""

import matplotlib.pyplot as plt
import numpy as np
import style
from style import BLUE, GREEN, ORANGE

ROWS, FEATURES = 4000, 20


def stream(rng):
    """Signed rows of unit length on average, a tenth of them wrong: feature j is as large as 0.7^j."""
    X = rng.standard_normal((ROWS, FEATURES)) * 0.7 ** np.arange(FEATURES)
    X /= np.sqrt((X**2).sum(axis=1).mean())
    signs = np.sign(X @ (rng.standard_normal(FEATURES) / 0.7 ** np.arange(FEATURES)))
    return X * (signs * np.where(rng.random(ROWS) < 0.1, -1.0, 1.0))[:, None]


def run(Z, take):
    """Mistakes after each row, and the share c_t of z'Pz that each update took away."""
    w, P, shares, mistakes = np.zeros(FEATURES), np.eye(FEATURES), [], []
    for z in Z:
        margin = w @ z
        mistakes.append(margin <= 0.0)
        if mistakes[-1]:
            Pz = P @ z
            v = z @ Pz
            step, share = take(margin, v, len(shares))
            w, P = w + step * Pz, P - share / v * np.outer(Pz, Pz)
            shares.append(share)
    return np.cumsum(mistakes), np.array(shares)


def printed(margin, v, k):
    """IELLIP, c = 0.1 and b = 0.3: a step onto the margin, and a share that the number of the update decides."""
    return (0.1 - margin) / v, 0.1 * 0.3**k


def constant(margin, v, k):
    """The same with b = 1: the newest row takes the most, and the shape forgets."""
    return (0.1 - margin) / v, 0.1


def learning(margin, v, k):
    """AROW on mistakes: q / (1 + q) of both, where q = z'Pz."""
    return (1.0 - margin) / (v + 1.0), v / (v + 1.0)


def main():
    """Two panels."""
    style.use()
    plt.rcParams.update({"svg.hashsalt": "iellip", "svg.fonttype": "none"})
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.4, 3.7), layout="constrained")
    rules = [(printed, "$c_k = 0.1 \\cdot 0.3^k$", BLUE), (constant, "$c_k = 0.1$", ORANGE)]
    rules.append((learning, "$c_t = q/(1+q)$", GREEN))
    Z = stream(np.random.default_rng(1))
    for rule, label, colour in rules:
        mistakes, shares = run(Z, rule)
        print(f"{label}: {mistakes[-1]} mistakes in {ROWS} rows")
        drawn = np.unique(np.geomspace(1, len(shares), 150).astype(int))
        left.loglog(drawn, np.maximum(shares[drawn - 1], 1e-30), ".", color=colour, ms=4)
        rows = np.arange(100, ROWS + 1, 20)
        right.plot(rows, mistakes[rows - 1] / rows, color=colour, label=label)
    left.set(title="what an update takes away of z'Pz", xlabel="update", ylabel="share", ylim=(1e-17, 2.0))
    right.set(title="mistakes, noise included", xlabel="rows", ylabel="share of rows so far")
    right.legend()
    figure.savefig(style.FOLDER / "iellip_freezes.svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)


if __name__ == "__main__":
    main()
