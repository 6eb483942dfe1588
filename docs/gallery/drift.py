"""A world that changes: a sudden turn after a third of the stream, and a slow one in its last third.

Learners that forget on purpose have a page of their own. With any other one can begin again, which takes the ten lines
of `relay`.
"""

import numpy as np

import ellipsoid


def stream(n=12_000, d=20, noise=0.05, seed=0):
    """Rows and labels; the true direction jumps at n / 3 and turns by a right angle from 2 n / 3 on."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) / np.sqrt(d)
    first, second, third = np.linalg.qr(rng.standard_normal((d, 3)))[0].T
    angle = np.pi / 2 * np.clip((np.arange(n) - 2 * n / 3) / (n / 3), 0.0, 1.0)
    truth = np.cos(angle)[:, None] * second + np.sin(angle)[:, None] * third
    truth[: n // 3] = first
    y = np.where((X * truth).sum(axis=1) > 0.0, 1, -1)
    return X, np.where(rng.random(n) < noise, -y, y)


def alone(model, X, y, batch):
    """One model for ever: where it was wrong about a batch of rows before it learned them."""
    wrong = np.ones(len(y), dtype=bool)  # before the first batch nothing is known
    for start in range(0, len(y), batch):
        rows = slice(start, start + batch)
        if start > 0:
            wrong[rows] = model.predict(X[rows]) != y[rows]
        model.partial_fit(X[rows], y[rows], classes=[-1, 1])
    return wrong


def relay(make, X, y, batch, every):
    """Two models learn, the elder predicts; every so many rows the younger takes over."""
    elder, younger = make(), make()
    wrong = np.ones(len(y), dtype=bool)
    for start in range(0, len(y), batch):
        rows = slice(start, start + batch)
        if start > 0:
            wrong[rows] = elder.predict(X[rows]) != y[rows]
        if start % every == 0 and start > 0:
            elder, younger = younger, make()
        elder.partial_fit(X[rows], y[rows], classes=[-1, 1])
        younger.partial_fit(X[rows], y[rows], classes=[-1, 1])
    return wrong


def averaged():
    """The usual choice for a world that stands still."""
    return ellipsoid.PassiveAggressive(C=0.1, average=True)


def run(n=12_000, batch=50, every=800, seed=0):
    """For each way of coping, where it was wrong before it was told."""
    X, y = stream(n, seed=seed)
    return {
        "average of all rounds": alone(averaged(), X, y, batch),
        "last weights": alone(ellipsoid.PassiveAggressive(C=0.1), X, y, batch),
        "OnlineSVM(window=64)": alone(ellipsoid.OnlineSVM(window=64, C=0.1), X, y, batch),
        "averages in relay": relay(averaged, X, y, batch, every),
    }


if __name__ == "__main__":
    for way, wrong in run().items():
        print(f"{way:24} {wrong.mean():6.1%}", [f"{part.mean():.1%}" for part in np.array_split(wrong, 12)])
