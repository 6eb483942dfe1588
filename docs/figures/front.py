"""Write front.md, the tables of "The learner to start with": one pass of every linear learner over eighteen sets.

Three random orders of the training part, which also draw the test part where a set has none; two sets are streams, kept
in their order of time and judged by the errors made on the way. Of long sets 60,000 rows are taken. Every contender
gets the rows twice, as published and prepared (SETS says how). Peers are judged by the better of the two, with
hindsight, EllipsoidClassifier by the rows as published. Peers that are not installed are left out; ``front_peers``
runs them.

    ELLIPSOID_DATA=... python docs/figures/front.py [--only CONTENDER] [set ...]

Every run is kept in front.json as soon as it ends, and what is there is not run again: delete entries to do so.
"""

import argparse
import json
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from time import process_time

import numpy as np
from front_peers import ROWS_OF_RIVER, river, sgd, vowpal_wabbit
from scipy.sparse import csr_matrix, issparse

import ellipsoid
from ellipsoid.streams.scale import scale

FOLDER = Path(__file__).parent.parent / "_static" / "tables"
ORDERS = 3
# Longer parts are cut: some peers learn a few thousand rows a second.
MOST = 60_000
# Data set: how its rows are prepared.
SETS = {
    "shuttle": "standard", "letter": "standard", "phishing": "standard", "satimage": "standard", "covtype": "standard",
    "elec2": "standard", "kddcup99": "maximum", "a9a": "unit", "dna": "unit", "usps": "unit", "w8a": "unit",
    "isolet": "unit", "mnist": "unit", "news20": "unit", "news20-log": "none", "imdb": "unit", "imdb-log": "none",
    "spam_stream": "unit",
}  # fmt: skip
STREAMS = ("elec2", "spam_stream")
FORMS = ("published", "prepared")


def rows_of(name, order):
    """Training rows in a random order, test rows (or none), whole-number labels and how many there are."""
    data, rng = ellipsoid.datasets.load(name.removesuffix("-log")), np.random.default_rng(order)
    if name in STREAMS:
        X, y, X_test, y_test = data.X, data.y, data.X[:0], data.y[:0]
    elif data.test is not None:
        (X, y), (X_test, y_test) = data.train, data.test
        shuffled = rng.permutation(len(y))
        X, y = X[shuffled], y[shuffled]
    else:
        shuffled, kept = rng.permutation(len(data.y)), len(data.y) - len(data.y) // 5
        X, y, X_test, y_test = (part[rows] for rows in (shuffled[:kept], shuffled[kept:]) for part in (data.X, data.y))
    labels, codes = np.unique(np.concatenate([y, y_test]), return_inverse=True)
    # The rows of a test part may lie in an order of their own: every so many of them are taken.
    some = slice(None, None, -(-len(y_test) // MOST) or 1)
    y, y_test = codes[: len(y)][:MOST], codes[len(y) :][some]
    X, X_test = (csr_matrix(part, dtype=float) for part in (X[:MOST], X_test[some]))
    if name.endswith("-log"):
        X, X_test = (unit(part.log1p()) for part in (X, X_test))
    if X.nnz > 0.5 * X.shape[0] * X.shape[1]:
        X, X_test = X.toarray(), X_test.toarray()
    return X, y, X_test, y_test, len(labels)


def unit(X):
    """Rows of length one."""
    lengths = np.sqrt(X.multiply(X).sum(axis=1)).A1 if issparse(X) else np.linalg.norm(X, axis=1)
    lengths[lengths == 0.0] = 1.0
    return csr_matrix(X.multiply(1.0 / lengths[:, np.newaxis])) if issparse(X) else X / lengths[:, np.newaxis]


def prepared(how, X, X_test):
    """Both parts as a peer would like them; what is counted is counted on the training part."""
    if how == "unit":
        return unit(X), unit(X_test)
    if how == "standard":
        X, X_test = (part.toarray() if issparse(part) else part for part in (X, X_test))
        return scale(how, X, X_test) if len(X_test) else (scale(how, X, X[:1])[0], X_test)
    largest = abs(X).max(axis=0)
    largest = largest.toarray().ravel() if issparse(largest) else largest
    largest[largest == 0.0] = 1.0
    return tuple(csr_matrix(part.multiply(1.0 / largest)) for part in map(csr_matrix, (X, X_test)))


def own(name, **settings):
    """A learner of this library: wrong predictions online and on the test part, seconds, share of updates."""

    def run(X, y, X_test, y_test, classes):
        def make():
            return getattr(ellipsoid, name)(**settings)

        make().learn_predict(X[:20], y[:20], classes=range(classes))
        make().partial_fit(X[:20], y[:20], classes=range(classes))
        said = make().learn_predict(X, y, classes=range(classes))
        model, start = make(), process_time()
        model.partial_fit(X, y, classes=range(classes))
        seconds = process_time() - start
        return {
            "online": float((said != y).mean()),
            "test": float((model.predict(X_test) != y_test).mean()) if len(y_test) else None,
            "updates": model.updates_ / len(y),
            "seconds": seconds,
        }

    return run


# Contender: the family that it is ranked in, what runs it, the package it needs.
CONTENDERS = {
    "EllipsoidClassifier": ("three speeds", own("EllipsoidClassifier"), "ellipsoid"),
    "EllipsoidClassifier, one speed": ("one speed", own("EllipsoidClassifier", speeds=1), "ellipsoid"),
    "PA-I, averaged": ("PA-I", own("PassiveAggressive", average=True), "ellipsoid"),
    "PA-I, last": ("PA-I", own("PassiveAggressive"), "ellipsoid"),
    "MIRA, averaged": ("MIRA", own("MIRA", margin=1.0, average=True), "ellipsoid"),
    "AROW": ("AROW", own("AROW"), "ellipsoid"),
    "SCW": ("SCW", own("SCW"), "ellipsoid"),
    "VW, squared": ("VW", vowpal_wabbit("squared"), "vowpalwabbit"),
    "VW, hinge": ("VW", vowpal_wabbit("hinge"), "vowpalwabbit"),
    "VW, logistic": ("VW", vowpal_wabbit("logistic"), "vowpalwabbit"),
    "SGD, log loss, averaged": ("SGD", sgd("log_loss"), "sklearn"),
    "SGD, hinge, averaged": ("SGD", sgd("hinge"), "sklearn"),
    "river, logistic": ("river", river, "river"),
}
OURS = ("three speeds", "one speed")
# The rows of other contenders of this library are named by their class.
CLASSES = {"AROW", "SCW"}


def measure(chosen, only, orders):
    """Fill front.json, all sets in one order before the next."""
    store = FOLDER / "front.json"
    results = json.loads(store.read_text()) if store.exists() else {}
    for order, name in product(range(orders), chosen):
        jobs = [job for job in open_jobs(name, only) if len(kept(results, name, *job)) == order]
        if not jobs or (order > 0 and name in STREAMS):
            continue
        X, y, X_test, y_test, classes = rows_of(name, order)
        forms = {"published": (X, X_test)}
        for contender, form in jobs:
            if order > 0 and not whole(results, name, contender):
                continue  # one order of what is cut short is enough
            if form not in forms:
                forms[form] = prepared(SETS[name], X, X_test)
            rows, test = forms[form]
            found = CONTENDERS[contender][1](rows, y, test, y_test, classes)
            found["microseconds"] = 1e6 * found.pop("seconds") / found.get("rows", len(y))
            kept(results, name, contender, form).append(found)
            print(order, name, contender, form, found, flush=True)
            store.write_text(json.dumps(results, indent=1))
    (FOLDER / "front.md").write_text(table(results))


def open_jobs(name, only):
    """The pairs of contender and form that can be run on a set."""
    for contender, (_, _, package) in CONTENDERS.items():
        known = find_spec(package) is not None and (contender not in CLASSES or hasattr(ellipsoid, contender))
        if known and (only is None or contender.startswith(only)):
            for form in FORMS[: 1 if SETS[name] == "none" else 2]:
                yield contender, form


def kept(results, name, contender, form):
    """The runs of a contender, order after order."""
    return results.setdefault(name, {}).setdefault(contender, {}).setdefault(form, [])


def figures(results, name, contender, what):
    """One figure of all orders, in the form of rows that is best for it, or those as published for ours; or None."""
    forms = results[name].get(contender, {})
    chosen = FORMS[:1] if CONTENDERS[contender][0] in OURS else FORMS
    orders = orders_of_all(results, name) if whole(results, name, contender) else 1
    found = [[run[what] for run in forms.get(form, [])[:orders]] for form in chosen]
    found = [values for values in found if values and None not in values]
    return min(found, key=np.mean) if found else None


def orders_of_all(results, name):
    """How many orders every contender that learned all rows has run: further ones would not be the same for all."""
    finished = [contender for contender in results[name] if whole(results, name, contender)]
    return min(len(runs) for contender in finished for runs in results[name][contender].values() if runs)


def whole(results, name, contender):
    """Did the contender learn all rows?"""
    return not any("rows" in run for runs in results[name].get(contender, {}).values() for run in runs)


def judged(results, name, contender):
    """The error by which contenders are ranked on a set; None for one that did not learn all rows."""
    values = figures(results, name, contender, "online" if name in STREAMS else "test")
    return float(np.mean(values)) if values and whole(results, name, contender) else None


def table(results):
    """Test and online errors with their spread, then ranks, updates and times."""
    sets = [name for name in SETS if name in results]
    known = [contender for contender in CONTENDERS if any(results[name].get(contender) for name in sets)]
    lines = ["<!-- written by docs/figures/front.py -->", ""]
    for what, title in (("test", "Test error, %"), ("online", "Online error, %")):
        of_kind = [name for name in sets if what == "online" or name not in STREAMS]
        for part in range(0, len(of_kind), 6):
            some = of_kind[part : part + 6]
            lines += heading(title, some)
            lines += [row(c, [cell(results, name, c, what, known) for name in some]) for c in known]
            lines.append("")
    lines += [*summaries(results, sets, known), ""]
    for what, title in (("updates", "Updates, % of rows"), ("microseconds", "Time of a row, us")):
        own_kind = [c for c in known if what == "microseconds" or CONTENDERS[c][2] == "ellipsoid"]
        for part in range(0, len(sets), 9):
            some = sets[part : part + 9]
            lines += heading(title, some)
            lines += [row(c, [plain(results, name, c, what) for name in some]) for c in own_kind]
            lines.append("")
    lines.append(
        "A figure with a spread is the mean of three orders, or two, and the largest distance from it; others are of "
        f"one order. \\* learned at most {ROWS_OF_RIVER:,} products of values and classes, and is not ranked. Times "
        "are for rows as published, processor time of one order; Vowpal Wabbit's includes the reading of a text file."
    )
    return "\n".join(lines) + "\n"


def heading(title, sets):
    """The first two lines of a table."""
    return [row(title, sets), f"|---|{'---:|' * len(sets)}"]


def row(first, cells):
    """One line of a table."""
    return f"| {first} | {' | '.join(cells)} |"


def cell(results, name, contender, what, known):
    """Mean and spread of one error, the best of the column in bold."""
    values = figures(results, name, contender, what)
    if values is None:
        return "-"
    others = (figures(results, name, other, what) for other in known if whole(results, name, other))
    best = min(float(np.mean(v)) for v in others if v)
    text = short(np.mean(values))
    star = "" if whole(results, name, contender) else "\\*"
    text = f"**{text}**" if text == short(best) and not star else text + star
    spread = max(abs(v - np.mean(values)) for v in values)
    return text if len(values) == 1 else f"{text} ±{100 * spread:.2g}"


def short(error):
    """An error in percent, three digits of it."""
    return f"{100 * error:#.3g}"


def plain(results, name, contender, what):
    """A figure of the first order, of rows as published."""
    runs = results[name].get(contender, {}).get("published")
    if not runs:
        return "-"
    return f"{100 * runs[0][what]:.0f}" if what == "updates" else f"{min(run[what] for run in runs):.2g}"


def summaries(results, sets, known):
    """Ranks and ratios of families, each by its best member for a set; ours are ranked against the others alone."""
    families = list(dict.fromkeys(CONTENDERS[contender][0] for contender in known))
    errors = {name: best_of_families(results, name, known) for name in sets}
    lines = heading("test error (online of streams)", ["sets", "mean rank", "mean ratio to the best", "worst", "where"])
    for family in families:
        ranks, ratios = [], {}
        for name in sets:
            mine = errors[name].get(family)
            if mine is None:
                continue
            others = [e for other, e in errors[name].items() if other == family or not {other, family} <= set(OURS)]
            ranks.append(1 + sum(error < mine for error in others))
            ratios[name] = mine / max(min(others), 1e-9)
        if ranks:
            worst = max(ratios, key=ratios.get)
            numbers = [f"{len(ranks)}", f"{np.mean(ranks):.1f}", f"{np.mean(list(ratios.values())):.2f}"]
            lines.append(row(family, [*numbers, f"{ratios[worst]:.2f}", worst]))
    lines.append("")
    for family in OURS:
        if "VW, squared" not in known:
            break
        both = [name for name in sets if family in errors[name] and results[name].get("VW, squared")]
        won = sum(errors[name][family] < mean_of(results, name, "VW, squared", "published") for name in both)
        best = sum(errors[name][family] < errors[name]["VW"] for name in both)
        lines.append(
            f"{family.capitalize()}: lower error than Vowpal Wabbit's defaults on {won} of {len(both)} sets, than the "
            f"best of its three losses and two forms of rows, with hindsight, on {best}."
        )
        lines.append("")
    return lines[:-1]


def best_of_families(results, name, known):
    """The error of the best contender of each family on a set."""
    best = {}
    for contender in known:
        family, error = CONTENDERS[contender][0], judged(results, name, contender)
        if error is not None:
            best[family] = min(error, best.get(family, np.inf))
    return best


def mean_of(results, name, contender, form):
    """The mean error of a contender in one form of rows."""
    runs = results[name][contender][form][: orders_of_all(results, name)]
    return float(np.mean([run["online" if name in STREAMS else "test"] for run in runs]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", help="contenders whose name begins so")
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--orders", type=int, default=ORDERS)
    asked = parser.parse_args()
    measure(asked.sets or list(SETS), asked.only, asked.orders)
