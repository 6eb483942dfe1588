"""``merge="dual"``: one dual solution over all rows of all shards, with its duality gap.

Every row has one multiplier, which each round changes. The shards' changes are added, not averaged; the dual never
falls, and its distance to the primal value, which is a sum over shards, bounds how far the weights are from the
optimum. The driver keeps the multipliers, eight bytes a row, so that no worker that dies takes any with it.
"""

import os
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4
from zipfile import BadZipFile

import numpy as np
from scipy import sparse

from ellipsoid.certificates.mixed import DUAL, Mixed
from ellipsoid.certificates.rounding import Span
from ellipsoid.engine import call
from ellipsoid.engine import tally as tallies
from ellipsoid.merging.parts import Part, add_two, in_pairs
from ellipsoid.representation.table_protocol import Floats
from ellipsoid.streams.atomic import atomic_write

from . import ascent
from .blocks import BlockReading, rows_that_count
from .rounds import run_jobs
from .shard import Counts


class DualJob(NamedTuple):
    """A shard: its blocks, the multipliers of its rows (None before the first pass), the margin and the cap.

    ``sigma`` is the number of shards; 0 means that no multiplier moves and losses are summed.
    """

    number: int
    blocks: list[Any]
    reading: BlockReading
    alphas: Floats | None
    goal: float
    cap: float
    sigma: float


class AscentResult(NamedTuple):
    """The result of a pass over a shard: change of the weights and sums in ``part``, multipliers of its rows."""

    part: Part
    alphas: Floats
    counts: Counts


def ascend_shard(start: Any, job: DualJob) -> AscentResult:
    """A pass over a shard, from the weights that all shards start from."""
    core = start._core
    begun = np.ascontiguousarray(core.table.weights(1, 0)[0])
    view, change, sums, kept = begun.copy(), np.zeros_like(begun), np.zeros(ascent.PASS_SIZE), []
    done = 0
    for block in job.blocks:
        for chunk in rows_that_count(block, job.reading):
            X = sparse.csr_matrix(chunk.X, dtype=np.float64)
            count = X.shape[0]
            alpha = np.zeros(count) if job.alphas is None else job.alphas[done : done + count].copy()
            caps = job.cap * (np.ones(count) if chunk.weights is None else np.asarray(chunk.weights, dtype=float))
            codes, _ = core.labels.encode(np.asarray(chunk.y))
            if (codes > 1).any():
                raise ValueError("the data hold a label that is not in classes; add it")
            sigma = job.sigma if job.sigma > 0.0 else np.inf
            args = (X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64), 2.0 * codes - 1.0, core.constant,
                    caps, alpha, begun, view, change, np.array([job.goal, sigma]), sums)  # fmt: skip
            call(ascent.ascend_rows, *args)
            kept.append(alpha)
            done += count
    alphas = np.concatenate(kept) if kept else np.zeros(0)
    added = {
        "change": change,
        "sums": sums[: ascent.PASS_RADIUS2],
        "alpha": np.array([alphas.sum(), float(len(alphas))]),
    }
    largest = {"radius2": sums[ascent.PASS_RADIUS2 :], "alpha": np.array([alphas.max(initial=0.0)])}
    counts = Counts(job.number, len(alphas), int(sums[ascent.PASS_MISTAKES]), int(sums[ascent.PASS_STEPS]))
    return AscentResult(Part(1, 1.0, {}, added, largest, {}), alphas, counts)


class DualRounds:
    """Rounds of dual ascent over all shards."""

    def __init__(self, run: Any, shards: list[list[Any]], checkpoint: Any) -> None:
        self.run, self.shards, self.checkpoint = run, shards, checkpoint
        if len(run.classes) != 2:
            raise ValueError(f"merge='dual' is for two classes, but the data have {len(run.classes)}")
        if run.start._core.class_weight is not None:
            raise ValueError("merge='dual' does not support class_weight: weight the rows instead")
        self.alphas: list[Floats] | None = None
        self.alphas_path: Path | None = None
        rule = run.start._core.rule
        self.goal, self.cap = float(rule.goal), float(rule.cap)
        if not self.cap < np.inf:
            raise ValueError("merge='dual' needs a finite C, without which no round can be bounded")

    def round(self, model: Any, name: str) -> Any:
        """The model after another pass of all shards."""
        total, alphas = self._pass(model, name, float(len(self.shards)))
        self.alphas = alphas
        grown = self._grown(model, total)
        self._write_alphas(grown.rounds_)
        return grown

    def measured(self, model: Any, name: str) -> Any:
        """The model with the primal value of its weights on all rows."""
        total, _ = self._pass(model, name, 0.0)
        weights = model._core.table.weights(1, 0)
        loss = Span.about(float(total.added["sums"][ascent.PASS_LOSS]), 4.0 * float(total.added["alpha"][1]) + 8.0)
        square = Span.about(float((weights * weights).sum()), weights.size + 4.0)
        model._core.mixed = model._core.mixed._replace(primal=(0.5 * square + loss).high)
        return model

    def _pass(self, model: Any, name: str, sigma: float) -> tuple[Part, list[Floats]]:
        engine = self.run.engine
        jobs = [
            DualJob(
                i, blocks, self.run.reading, None if self.alphas is None else self.alphas[i], self.goal, self.cap, sigma
            )
            for i, blocks in enumerate(self.shards)
        ]
        sent = engine.send(model, key=f"model-{name}")
        report = self.run.progress.shard if sigma else (lambda counts: None)
        leaves, _ = run_jobs(engine, jobs, sent, ascend_shard, name, report)
        found = [engine.result(leaf) for leaf in leaves]
        engine.forget()
        return in_pairs([each.part for each in found], add_two), [each.alphas for each in found]

    def _grown(self, model: Any, total: Part) -> Any:
        model = deepcopy(model)
        core, shards = model._core, len(self.shards)
        linear = getattr(core.table, "linear", core.table)
        W = linear._oriented(linear.W)
        W[0, : 1 + core.width] += total.added["change"]
        tally, sums = core.tally, total.added["sums"]
        tally[tallies.ROUNDS] += total.added["alpha"][1]
        tally[tallies.MISTAKES] += sums[ascent.PASS_MISTAKES]
        tally[tallies.UPDATES] += sums[ascent.PASS_STEPS]
        tally[tallies.STEPS] += sums[ascent.PASS_STEPS]
        for slot, own in (
            (tallies.PATH, ascent.PASS_PATH),
            (tallies.SWAY, ascent.PASS_SWAY),
            (tallies.HELD, ascent.PASS_HELD),
        ):
            tally[slot] += sums[own]
        tally[tallies.WEIGHT] = total.added["alpha"][0]
        tally[tallies.LARGEST] = total.largest["alpha"][0]
        tally[tallies.RADIUS2] = tally[tallies.HEAVY] = max(tally[tallies.RADIUS2], total.largest["radius2"][0])
        tally[tallies.FARTHEST] = tally[tallies.PATH] ** 2
        past = core.mixed
        core.mixed = Mixed(
            shards=shards, rounds=1 if past is None else past.rounds + 1, weights="uniform", kind=DUAL, factor=1.0,
            update_factor=1.0, operations=8.0 + shards + (0.0 if past is None else past.operations), cap=1.0,
            apart=np.zeros(tallies.SIZE),
        )  # fmt: skip
        core.mixed.apart[tallies.ROUNDS] = tally[tallies.ROUNDS]
        core.fast = core.named = core._predictor = None
        return model

    # -- the multipliers on disk -------------------------------------------------------------------------------

    def _files(self) -> list[Path]:
        return [Path(f"{self.checkpoint.path}.alphas{which}.npz") for which in ("", ".before")]

    def _write_alphas(self, rounds: int) -> None:
        """Write the multipliers before the checkpoint that needs them, to a file beside it."""
        if self.checkpoint.path is None or self.alphas is None:
            return
        newest, older = self._files()
        if self.alphas_path == newest:
            # The checkpoint is still that of the round before, and needs its multipliers.
            os.replace(newest, older)
        self.alphas_path = newest
        with atomic_write(newest, "wb") as file:
            np.savez(file, *self.alphas, round=np.array([rounds]))

    def resumed(self, model: Any) -> Any:
        """The model to go on with, of one that was read; also reads the multipliers that belong to it."""
        for path in self._files():
            try:
                with np.load(path) as read:
                    alphas = [read[f"arr_{i}"] for i in range(len(self.shards))]
                    # Files of earlier versions do not hold their round.
                    same = "round" not in read or int(read["round"][0]) == model.rounds_
            except (OSError, EOFError, ValueError, KeyError, BadZipFile):
                continue  # not there, or damaged
            total = in_pairs([np.array([each.sum()]) for each in alphas], np.add)
            if same and total[0] == model._core.tally[tallies.WEIGHT]:
                self.alphas, self.alphas_path = alphas, path
                return model
        raise ValueError(
            f"the multipliers beside {self.checkpoint.path} are missing, damaged, or not those of its model: start "
            "again without resume"
        )


def fit_dual(run: Any, shards: list[list[Any]], rounds: int, checkpoint: Any, resume: bool, validation: Any) -> Any:
    """Rounds of dual ascent, and a last pass over all rows for the gap."""
    dual_rounds = DualRounds(run, shards, checkpoint)
    model = run.run_rounds(dual_rounds.round, rounds, checkpoint, resume, validation, dual_rounds.resumed)
    inner = getattr(model, "learner_", model)
    dual_rounds.measured(inner, f"{checkpoint.digest[:8]}-{uuid4().hex[:8]}-gap")
    checkpoint.write(model, rounds, rounds, model.history_)
    run.progress.line(f"duality gap {inner.duality_gap_:.3g}, of a dual of {inner.dual_objective_:.6g}")
    return model
