"""Draw the pictures of the gallery by running its examples at full size: all of them, or those that are named.

``python docs/figures/gallery.py drift proof``
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import style
from style import BLUE, GREEN, GREY, INK, ORANGE, PALE, PURPLE, SKY

sys.path.append(str(Path(__file__).parent.parent / "gallery"))
import costly_labels
import drift as drift_example
import kernel_digits as kernel_example
import large_file as file_example
import proof as proof_example
import spam as spam_example

SIZE = (7.6, 3.1)


def rolling(wrong, window):
    """The share of wrong rows among the last ones, in percent; fewer rows at the start."""
    total = np.concatenate([[0], np.cumsum(wrong)])
    end = np.arange(1, len(wrong) + 1)
    start = np.maximum(0, end - window)
    return 100.0 * (total[end] - total[start]) / (end - start)


def spam():
    """Left the error over the stream, right the words that weigh most."""
    model, words, wrong = spam_example.run()
    figure, (left, right) = plt.subplots(1, 2, figsize=SIZE, layout="constrained", width_ratios=(3, 2))
    left.plot(np.arange(1, len(wrong) + 1)[20:], rolling(wrong, 100)[20:], color=BLUE)
    left.axvline(len(wrong) // 2, color=GREY, lw=1, ls=(0, (4, 3)))
    left.annotate(
        "the spam changes", (len(wrong) // 2, 21.5), (5, 0), textcoords="offset points", color=GREY, fontsize=9
    )
    left.set(ylim=(0, 24), xlim=(0, len(wrong)), xlabel="messages seen")
    left.set_title("wrong among the last 100, %", loc="left")
    weights = model.coef_[0] * (1 if model.classes_[1] == "spam" else -1)
    order = np.argsort(weights)
    chosen = np.concatenate([order[:5], order[-8:]])
    right.barh(np.arange(len(chosen)), weights[chosen], color=[BLUE if w < 0 else ORANGE for w in weights[chosen]])
    right.set_yticks(np.arange(len(chosen)), [words[k] for k in chosen], fontsize=8.5)
    right.set_xticks([])
    right.spines[["left", "bottom"]].set_visible(False)
    right.tick_params(axis="y", length=0)
    right.set_title("weight: spam right, ham left", loc="left")
    return figure


def labels():
    """Test error against the labels bought."""
    bought, chosen, drawn, everything = costly_labels.run()
    figure, axes = plt.subplots(figsize=SIZE, layout="constrained")
    axes.axhline(100 * everything, color=GREY, lw=1, ls=(0, (4, 3)))
    axes.annotate(
        "all 1,297 labels", (52, 100 * everything), (0, 4), textcoords="offset points", color=GREY, fontsize=9
    )
    axes.plot(bought, 100 * drawn, "o-", color=ORANGE)
    axes.plot(bought, 100 * chosen, "o-", color=BLUE)
    note = {"textcoords": "offset points"}
    axes.annotate("drawn by lot", (bought[1], 100 * drawn[1]), (8, 4), color=ORANGE, **note)
    axes.annotate("chosen by the learner", (bought[1], 100 * chosen[1]), (-8, -12), color=BLUE, ha="right", **note)
    axes.set(xscale="log", ylim=(0, None), xlabel="labels bought")
    axes.set_xticks([50, 100, 200, 500, 1000], ["50", "100", "200", "500", "1,000"])
    axes.minorticks_off()
    axes.set_title("test error, %", loc="left")
    return figure


def kernel():
    """Left the errors, right the last rows that the kernel got wrong."""
    X, y, results = kernel_example.run()
    figure = plt.figure(figsize=SIZE, layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(3, 2))
    axes = left.subplots()
    for (name, (_, predicted)), colour in zip(results.items(), (ORANGE, BLUE, SKY), strict=True):
        axes.plot(np.arange(1, len(y) + 1)[50:], rolling(predicted != y, 200)[50:], color=colour, label=name)
    axes.set(ylim=(0, 50), xlim=(0, len(y)), xlabel="digits seen")
    axes.set_title("wrong among the last 200, %", loc="left")
    axes.legend(loc="upper right")
    predicted = results["kernel"][1]
    last = np.flatnonzero(predicted != y)[-8:]
    right.suptitle("the kernel's last mistakes", fontsize=11)
    for cell, t in zip(right.subplots(2, 4).flat, last, strict=True):
        cell.imshow(X[t].reshape(8, 8), cmap="gray_r")
        cell.set_title(f"{predicted[t]}, not {y[t]}", fontsize=8.5)
        cell.set(xticks=[], yticks=[])
        cell.spines[:].set_visible(False)
    return figure


def drift():
    """The error of each way of coping over the stream."""
    results = drift_example.run()
    figure, axes = plt.subplots(figsize=SIZE, layout="constrained")
    colours = (ORANGE, BLUE, GREEN, PURPLE)
    n = len(next(iter(results.values())))
    for (name, wrong), colour in zip(results.items(), colours, strict=True):
        axes.plot(np.arange(1, n + 1)[200:], rolling(wrong, 500)[200:], color=colour, label=name)
    axes.axvline(n / 3, color=GREY, lw=1, ls=(0, (4, 3)))
    axes.axvspan(2 * n / 3, n, color=PALE, alpha=0.4, lw=0)
    for x, text in ((n / 3, "a sudden turn"), (2 * n / 3, "a slow turn")):
        axes.annotate(text, (x, 56), (5, 0), textcoords="offset points", color=GREY, fontsize=9)
    axes.set(ylim=(0, 62), xlim=(0, n), xlabel="rows seen")
    axes.set_title("wrong among the last 500, % (5 % is noise)", loc="left")
    figure.legend(loc="outside lower center", ncols=4, fontsize=9)
    return figure


def file():
    """Memory against the size of the file."""
    found = np.array(file_example.run())
    print(found.round(1).tolist())
    figure, axes = plt.subplots(figsize=SIZE, layout="constrained")
    axes.plot([0, found[-1, 0]], [0, found[-1, 0]], color=GREY, lw=1, ls=(0, (4, 3)))
    axes.annotate("as large as the file", (560, 560), (-8, 0), textcoords="offset points", ha="right", color=GREY)
    axes.plot(*found.T, "o-", color=BLUE)
    axes.annotate("ellipsoid learn", found[-1], (0, 8), textcoords="offset points", ha="right", color=BLUE)
    axes.set(xlim=(0, 1.05 * found[-1, 0]), ylim=(0, 1.05 * found[-1, 0]), xlabel="size of the file, MB")
    axes.set_title("most memory held by the process, its libraries included, MB", loc="left")
    return figure


def proof():
    """Left the volume, right the last ellipsoid and the cut that misses it."""
    X, y, model, spaces = proof_example.run()
    figure, (left, right) = plt.subplots(1, 2, figsize=SIZE, layout="constrained", width_ratios=(3, 2))
    # The volume is the root of the determinant; the unit disc, before any row, has log volume 0.
    areas = np.exp(0.5 * np.array([0.0] + [space.log_volume for space in spaces]))
    left.semilogy(np.arange(len(areas)), areas, color=BLUE, drawstyle="steps-post")
    left.plot(model.infeasible_round_, areas[-1], "X", color=ORANGE, ms=11)
    note = {"textcoords": "offset points", "ha": "right"}
    left.annotate("nothing is left", (model.infeasible_round_, areas[-1]), (6, 12), color=ORANGE, **note)
    left.annotate("a false label", (24, areas[24]), (-6, 0), color=GREY, **note)
    left.set(xlabel="rows seen", xlim=(0, model.infeasible_round_ + 1.5))
    left.set_title("what is possible, share of all", loc="left")
    z = y[model.t_ - 1] * X[model.t_ - 1]
    foot, along = proof_example.MARGIN * z / (z @ z), np.array([-z[1], z[0]]) / np.linalg.norm(z)
    right.plot(*spaces[-1].boundary(400).T, color=BLUE)
    line = np.array([foot - 3 * along, foot + 3 * along])
    right.plot(*line.T, color=ORANGE)
    right.fill(*np.vstack([line, line[::-1] + 3 * z / np.linalg.norm(z)]).T, color=ORANGE, alpha=0.15, lw=0)
    right.plot(*proof_example.TRUTH, "*", color=GREEN, ms=12, mec="white")
    centre = spaces[-1].centre
    right.set(xlim=centre[0] + np.array([-0.8, 0.8]), ylim=centre[1] + np.array([-0.8, 0.8]), aspect="equal")
    right.set(xticks=[], yticks=[])
    right.spines[:].set_color(INK)
    right.spines[:].set_visible(True)
    right.set_title("the last row asks for another side", loc="left", fontsize=10)
    return figure


PICTURES = {
    "spam": spam, "costly_labels": labels, "kernel_digits": kernel, "drift": drift, "large_file": file, "proof": proof,
}  # fmt: skip


if __name__ == "__main__":
    style.use()
    for name in sys.argv[1:] or PICTURES:
        style.save_small(PICTURES[name](), style.GALLERY / f"{name}.png")
