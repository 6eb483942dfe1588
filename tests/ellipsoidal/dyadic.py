"""Streams on which a known classifier has the margin in exact arithmetic, and what must then hold of the version space.

All numbers are dyadic, so that floats hold them exactly: the classifier u, the margin, the rows. Some rows have exactly
the margin, some a little more; they are repeated, mirrored, nearly collinear, long and short. What a model holds is
read as rational numbers and compared without rounding.
"""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import sqrt
from random import Random
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp

from ellipsoid import CELLIP

CUTS, TRIGGERS = ("paper", "minvol"), ("mistake", "margin", "always")
KINDS = [
    (task, shape, sparse)
    for task in ("binary", "multiclass", "sets")
    for shape, sparse in (("auto", False), ("auto", True), ("column", False), ("product", False), ("gram", False),
                          ("dense", False))
]  # fmt: skip


def classifier(random, size):
    """A dyadic u of ``size`` numbers and a radius that it reaches, exactly where there is one, else to rounding."""
    u = [Fraction(0)] * size
    how = random.randrange(4)
    if how == 0:
        u[random.randrange(size)] = Fraction(random.choice([-1, 1]))
    elif how == 1 and size >= 4:
        for i in random.sample(range(size), 4):
            u[i] = Fraction(random.choice([-1, 1]), 2)
    else:
        u = [Fraction(random.randrange(-32, 33), 64) for _ in range(size)]
        u[random.randrange(size)] = Fraction(random.choice([-1, 1]), random.choice([1, 2, 4]))
    norm2 = sum(q * q for q in u)
    radius = sqrt(norm2)
    while Fraction(radius) ** 2 < norm2:
        radius = float(np.nextafter(radius, 2.0))
    return u, radius * random.choice([1.0, 1.0, 1.0, 1.5])


def dot(a, b):
    return sum((p * q for p, q in zip(a, b, strict=True)), Fraction(0))


def adjusted(random, normal, x, target, free):
    """x with one number changed so that <normal, x> is ``target``; None where that is no float."""
    places = [i for i in free if normal[i] != 0 and abs(normal[i]).numerator == 1]
    if not places:
        return None
    i = random.choice(places)
    x = list(x)
    x[i] = 0 * x[i]
    x[i] = (target - dot(normal, x)) / normal[i]
    return x if Fraction(float(x[i])) == x[i] else None


def slack(random):
    """0 mostly, else tiny or something."""
    kind = random.randrange(6)
    return (
        Fraction(0)
        if kind < 3
        else Fraction(random.randrange(1, 8), 2 ** (random.randrange(34, 51) if kind < 5 else 3))
    )


def row(random, W, threshold, task, intercept):
    """A row and its label, or labels, on which W (a row for each class) has the margin; None for one that has not."""
    d = len(W[0])
    x = [Fraction(random.randrange(-64, 65), 64) * Fraction(2) ** random.choice([-6, -2, 0, 0, 0, 3, 8]) for _ in W[0]]
    if random.random() < 0.3:
        x = [q if random.random() < 0.4 else Fraction(0) for q in x]
    if intercept:
        x[0] = Fraction(1)
    free = range(1 if intercept else 0, d)
    first = random.randrange(len(W))
    if len(W) == 1:
        normal, sign = W[0], random.choice([-1, 1])
        x = adjusted(random, normal, x, sign * (threshold + slack(random)), free)
        return None if x is None else (x, int(sign > 0))
    second = random.choice([k for k in range(len(W)) if k != first])
    x = adjusted(random, [p - q for p, q in zip(W[first], W[second], strict=True)], x, threshold + slack(random), free)
    if x is None:
        return None
    scores = [dot(w, x) for w in W]
    if task == "multiclass":
        fine = all(scores[first] - scores[k] >= threshold for k in range(len(W)) if k != first)
        return (x, first) if fine else None
    right = [int(scores[k] >= scores[first]) for k in range(len(W))]
    lowest = min(s for s, is_right in zip(scores, right, strict=True) if is_right)
    wrong = [s for s, is_right in zip(scores, right, strict=True) if not is_right]
    return (x, right) if not wrong or lowest - max(wrong) >= threshold else None


def near(random, x, known, W, threshold, task, intercept):
    """A row nearly collinear to one met before, the margin kept by making it longer."""
    shift = [Fraction(random.randrange(-8, 9), 2 ** random.choice([10, 20, 30])) for _ in x]
    moved = [p + q for p, q in zip(x, shift, strict=True)]
    if intercept:
        moved[0] = Fraction(1)
    scores = [dot(w, moved) for w in W]
    if len(W) == 1:
        fine = (1 if known else -1) * scores[0] >= threshold
    elif task == "multiclass":
        fine = all(scores[known] - scores[k] >= threshold for k in range(len(W)) if k != known)
    else:
        wrong = [s for s, is_right in zip(scores, known, strict=True) if not is_right]
        fine = not wrong or min(s for s, ok in zip(scores, known, strict=True) if ok) - max(wrong) >= threshold
    return (moved, known) if fine and all(Fraction(float(q)) == q for q in moved) else None


def stream(seed, kind=None, longest=60):
    """A model's parameters, its rows and labels, and the classifier (a row for each class)."""
    random = Random(seed)
    task, shape, sparse = KINDS[seed % len(KINDS)] if kind is None else kind
    classes = 1 if task == "binary" else random.choice([3, 3, 4])
    d = random.randrange(1, 9) if classes == 1 else random.randrange(1, 4)
    intercept = d > 1 and random.random() < 0.4
    u, radius = classifier(random, classes * d)
    W = [u[k * d : (k + 1) * d] for k in range(classes)]
    threshold = Fraction(random.randrange(1, 65), 2 ** random.choice([6, 7, 9]))
    rows = []
    for _ in range(random.choice([8, 20, longest])):
        how = random.random()
        if rows and how < 0.35:
            found = random.choice(rows)
        elif rows and how < 0.5:
            found = near(random, *random.choice(rows), W, threshold, task, intercept)
        elif rows and classes == 1 and not intercept and how < 0.6:
            x, y = random.choice(rows)
            found = [-q for q in x], 1 - y
        else:
            found = row(random, W, threshold, task, intercept)
        rows += [found] if found is not None else []
    rows *= random.choice([1, 1, 2, 5])
    a = random.choice([1.0, 1.0, 0.5])
    params = {
        "margin": float(threshold / Fraction(a)), "a": a, "radius": radius, "shape": shape, "fit_intercept": intercept,
        "cut": random.choice(CUTS), "trigger": random.choice(TRIGGERS), "selective": random.random() < 0.2,
    }  # fmt: skip
    return SimpleNamespace(
        params=params, rows=rows, W=W, classes=classes, task=task, sparse=sparse, intercept=intercept, random=random
    )


def learned(world):
    """The model that has seen the whole stream, in pieces of any size."""
    model = CELLIP(**world.params)
    first = 1 if world.intercept else 0
    X = np.array([[float(q) for q in x[first:]] for x, _ in world.rows])
    y = np.array([label for _, label in world.rows])
    known = None if world.task == "sets" else range(max(2, world.classes))
    X = sp.csr_matrix(X) if world.sparse else X
    at = 0
    while at < len(y):
        stop = at + world.random.choice([1, 5, len(y)])
        model.partial_fit(X[at:stop], y[at:stop], classes=known)
        at = stop
    return model


# -- exact arithmetic ------------------------------------------------------------------------------------------------


def whole(array):
    """Integers and an exponent e with array = integers 2^-e, exactly."""
    fractions = [Fraction(float(v)) for v in np.ravel(array)]
    e = max((f.denominator.bit_length() - 1 for f in fractions), default=0)
    integers = np.array([f.numerator << (e - (f.denominator.bit_length() - 1)) for f in fractions], dtype=object)
    return integers.reshape(np.shape(array)), e


def solved(matrix, vector):
    """The solution of matrix y = vector as numerators and one denominator: elimination without fractions (Bareiss)."""
    n = len(vector)
    M = [[int(v) for v in matrix[i]] + [int(vector[i])] for i in range(n)]
    before = 1
    for k in range(n):
        pivot = next((i for i in range(k, n) if M[i][k]), None)
        if pivot is None:
            raise ArithmeticError("the shape is flat")
        M[k], M[pivot] = M[pivot], M[k]
        for i in range(n):
            if i != k:
                M[i] = [(M[k][k] * M[i][j] - M[i][k] * M[k][j]) // before for j in range(n + 1)]
        before = M[k][k]
    return [M[i][n] for i in range(n)], before


def distance2(table, offset):
    """(q - w)' B^{-1} (q - w) for the exact value of the stored arrays of B; offsets are fractions."""
    functions, columns, first = table.scores, 1 + table.width, 0 if table.constant else 1
    keep = [r * columns + j for r in range(functions) for j in range(first, columns)]
    size, stored = functions * columns, int(table.numbers[4])
    one = np.array([[int(i == j) for j in range(size)] for i in range(size)], dtype=object)
    scale = max(f.denominator for f in offset)
    target = [int(f * scale) for f in offset]
    if table.form is None or (table.form.name != "full" and stored == 0):
        return sum(f * f for f in offset)
    if table.form.name in ("full", "product"):
        if table.form.name == "full":
            J, e = whole(table.form.arrays["J"].reshape(size, size))
        else:
            H, eh = whole(table.form.arrays["H"][:stored].reshape(stored, size))
            T, et = whole(table.form.arrays["T"][:stored, :stored])
            e = 2 * eh + et
            J = (one << e) - H.T.dot(T).dot(H)
        top, bottom = solved(J[np.ix_(keep, keep)], target)
        return sum(Fraction(t * (1 << e), bottom * scale) ** 2 for t in top)
    if table.form.name == "column":
        H, eh = whole(table.form.arrays["H"][:stored].reshape(stored, size))
        B, e = (one << (2 * eh)) - H.T.dot(H), 2 * eh
    else:
        Z, ez = whole(table.form.examples(functions, columns).toarray())
        S, es = whole(table.form.arrays["S"][:stored, :stored])
        B, e = (one << (2 * ez + es + 1)) - Z.T.dot(S + S.T).dot(Z), 2 * ez + es + 1
    top, bottom = solved(B[np.ix_(keep, keep)], target)
    return sum(f * Fraction(t * (1 << e), bottom * scale) for f, t in zip(offset, top, strict=True))


def faults(world, model):
    """What the version space gets wrong about the classifier: nothing, if promises are kept."""
    found = []
    if model.infeasible_ or model.infeasible_round_ is not None:
        found.append(f"infeasible at {model.infeasible_round_}")
    table, E = model._core.table, model.version_space_
    u = [q for w in world.W for q in w]
    if not E.contains([[float(q) for q in u]]).all():
        found.append("contains says no")
    offset = [q - Fraction(float(c)) for q, c in zip(u, E.centre.ravel(), strict=True)]
    with localcontext() as context:
        context.prec = 60
        scale = Fraction(Decimal(float(table.numbers[0])).exp()) * (1 - Fraction(1, 10**50))
    distance = distance2(table, offset)
    if distance > scale or distance < 0:
        found.append(f"lost, {float(distance):.17g} for {float(scale):.17g}, in the form {table.form_name}")
    d, first = len(world.W[0]), 1 if world.intercept else 0
    fresh = [[Fraction(world.random.randrange(-64, 65), 64) for _ in range(d)] for _ in range(6)]
    fresh += [x for x, _ in world.rows[-3:]]
    if world.intercept:
        fresh = [[Fraction(1), *x[1:]] for x in fresh]
    for x in fresh:
        given = np.array([[float(q) for q in x[first:]]])
        scores = [dot(w, x) for w in world.W]
        if world.task != "sets" and model.certain(given)[0]:
            guess = int(model.predict(given)[0])
            if world.classes == 1:
                wrong = scores[0] * (1 if guess else -1) < 0
            else:
                wrong = scores[guess] < max(scores)
            if wrong:
                found.append("certain of the wrong label")
        z = [*([Fraction(0)] * d * (world.classes - 1)), *x]
        width = Fraction(float(E.width([[float(q) for q in z]])[0]))
        if abs(dot(offset, z)) > width:
            found.append("outside its width")
    return found


def failures(seeds, kinds=None, longest=60):
    """Seeds and faults of all streams that have any."""
    found = []
    for seed in seeds:
        world = stream(seed, None if kinds is None else kinds[seed % len(kinds)], longest)
        if world.rows:
            wrong = faults(world, learned(world))
            found += [(seed, world.params, wrong)] if wrong else []
    return found
