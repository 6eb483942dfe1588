"""A committee of learners, weighted by how well each has predicted so far, for streams that change."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_random_state

from ellipsoid.certificates import Certificate
from ellipsoid.engine import NO_WEIGHTS
from ellipsoid.engine import tally as tallies
from ellipsoid.representation.table_protocol import Floats
from ellipsoid.streams.label_kinds import LABEL_TYPES

from ..inputs.checks import labels_of
from ..inputs.examples import are_named, is_named, one_row, rows_of
from ..inputs.labels import cast_labels
from ..inputs.row_numbers import add_progress_note, row_numbers_before_dropping
from ..inputs.rows import row_indexable
from ..inputs.weights import classes_declared_before, declare_classes, drop_zero_weights, weight_argument
from ..parameters.validation import one_of, positive
from ..shell.learned_attributes import missing
from ..state.interruption import without_interrupts
from ..state.observable import Observable
from ..state.one_row import FLOAT64
from ..state.one_thread import one_thread_at_a_time
from ..state.predict_then_learn import Observer
from .council import Council, default_family
from .mixture import DECREASING, GAP, HEDGED, MEAN_LOSS, OWN_LOSS, SWITCHES, Mixture
from .wrapper import MetaLearner, score_matrix, seed_of


class Committee(Observable, MetaLearner):
    """Several learners as one: their votes, weighted by how often each was right, above all recently.

    For streams that change, and instead of a search for the right rate, which may change as well. On any stream the
    committee loses little more than the best of its members, and little more than the best *sequence* of members that
    switches k times, for every k: ``certificates`` puts the numbers of the run into that bound. All members learn every
    row, in one pass, side by side on as many threads as BLAS may use.

    Members of the default family need features of about the same size: ``Scaled(Committee())`` scales for all at once.

    Parameters
    ----------
    learners : list of online classifiers, or None
        They are cloned when learning starts. None is seven ``PassiveAggressive`` with C from 0.001 to 1 and six
        ``AROW`` with a drift from 1e-6 to 0.1: one of them suits most streams.
    share : float from 0 to 1, or "decreasing"
        The share of all weights, at least 1e-290, that is divided evenly after each row: it sets how soon a member that
        was wrong for long counts again. "decreasing", 1 / (t + 2) after row t, needs no guess of how often that is.
    rate : float, or "adaptive"
        How fast weights move. "adaptive", with ``share=0``, is AdaHedge, for streams that do not change.
    mix : {"votes", "margins"}
        A member votes for its label, or by its scores less the highest of them, down to -1.
    grow_features : bool
        Let a wider X add features in mid-stream, to all members.
    random_state : the seed of ``fit`` and of the members, unless None

    Attributes
    ----------
    learners_
        The clones that have learned.

    Examples
    --------
    >>> from ellipsoid import Committee, PassiveAggressive, datasets
    >>> X, y = datasets.stream("abrupt", rows=6000)
    >>> model = Committee([PassiveAggressive(C=0.01), PassiveAggressive(C=1.0)])
    >>> wrong = (model.learn_predict(X, y) != y).sum()
    >>> bool(wrong <= min(model.losses_)), model.best_
    (True, 1)
    >>> all(c.observed <= c.bound for k in range(61) for c in model.certificates(k))
    True

    References
    ----------
    Herbster and Warmuth, "Tracking the best expert", Machine Learning 32 (1998); de Rooij, van Erven, Grünwald and
    Koolen, "Follow the leader if you can, hedge if you must", JMLR 15 (2014).
    """

    _learned_name = "_core"
    # Members are judged by rows as a scaler scaled them before it knew them, and learn them as it scales them after.
    _needs_early_rows = True

    def __init__(
        self, learners: Any = None, *, share: Any = 1e-3, rate: Any = 0.25, mix: str = "votes",
        grow_features: bool = False, random_state: Any = None,
    ) -> None:  # fmt: skip
        self.learners = learners
        self.share = share
        self.rate = rate
        self.mix = mix
        self.grow_features = grow_features
        self.random_state = random_state

    # -- learning ----------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything, let each member make its own passes, and weigh them by a pass of copies before."""
        trial, council, X = self._fresh(), self._fresh(), row_indexable(X)
        for member in council.members:
            X_, y_, weight = drop_zero_weights(member, X, y, sample_weight, must_keep_some=True)
            with row_numbers_before_dropping(sample_weight):
                member.fit(X_, y_, **weight_argument(weight))
        labels = labels_of(y_, len(weight) or _count(X_), sets=False)
        order = check_random_state(seed_of(self)).permutation(len(labels))
        own = weight[order] if len(weight) else weight
        self._learn_rows(trial, _safe_indexing(X_, order), labels[order], council.members[0].classes_, own)
        council.mixture, council.tally = trial.mixture, trial.tally
        council.ahead[:] = [member.t_ - council.rounds for member in council.members]
        self.__dict__.pop("stream_", None)  # of what is forgotten
        self._keep(council)
        return self

    def partial_fit(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """One pass in the given order; if interrupted, members and weights know the same rows, the first ``t_``."""
        self._pass(X, y, classes, sample_weight=sample_weight)
        return self

    def _learn_predict_positive(self, shown: Any, X: Any, y: ArrayLike, classes: Any, weight: Floats) -> NDArray[Any]:
        return self._pass(X, y, classes, watch=True, sample_weight=weight if len(weight) else None)

    @one_thread_at_a_time
    def _pass(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None, watch: bool | Observer = False, shown: Any = None,
        names: dict[Any, int] | None = None, sample_weight: Any = None,
    ) -> NDArray[Any]:  # fmt: skip
        X, y, weight = drop_zero_weights(self, row_indexable(X), y, sample_weight)
        if sample_weight is not None and len(weight) == 0:
            declare_classes(self, classes)
            return np.empty(0)
        council = self.__dict__.get("_core")
        if council is None:
            council, classes = self._fresh(), classes_declared_before(self, classes)
        if are_named(X) and council.plain:
            X, names = rows_of(X, council.features)
        labels = labels_of(y, _count(X), sets=False)
        observer = watch if callable(watch) else None
        with row_numbers_before_dropping(sample_weight):
            labels = self._learn_rows(council, X, labels, classes, weight, shown=shown, names=names, observer=observer)
        return cast_labels(labels, self.classes_.dtype)

    def _learn_rows(
        self, council: Council, X: Any, y: NDArray[Any], classes: Any, weight: Floats, *, shown: Any = None,
        names: Any = None, observer: Observer | None = None,
    ) -> NDArray[Any]:  # fmt: skip
        """Learn rows block by block; what was learned is kept, also if it is interrupted."""
        shown = None if shown is None else row_indexable(shown)
        if not are_named(X):
            council.check_call(X, y, classes, weight)
        predicted, before = np.empty(len(y), dtype=object), council.rounds

        def learn(part: slice) -> None:
            rows, seen = _part(X, part), None if shown is None else _part(shown, part)
            own = weight[part] if len(weight) else NO_WEIGHTS
            predicted[part] = council.learn_block(
                seen, rows, y[part], classes if part.start == 0 else None, names, own, observer
            )
            self._keep(council)

        try:
            for part in council.blocks(X, len(y)):
                without_interrupts(lambda part=part: learn(part))  # type: ignore[misc]
        except BaseException as error:
            if not council.broken:
                add_progress_note(error, council.rounds - before, len(y), council.rounds)
            raise
        return predicted

    def _learn_shown(self, shown: Any, x: Any, y: Any, weight: float = 1.0) -> None:
        """Learn one example; members are judged by what it was ``shown`` as, before a scaler knew it."""
        if not (weight == 1.0 and self._learn_quickly(x, y, shown)):
            self._learn_example(x, y, weight, shown)

    @one_thread_at_a_time
    def _learn_example(self, x: Any, y: Any, weight: float, shown: Any = None) -> None:
        if isinstance(y, np.ndarray | list | tuple):
            raise ValueError(f"y must be one label, got {y!r}")
        X, names = self._one_row(x)
        early, own = None if shown is None else self._one_row(shown)[0], None if weight == 1.0 else [weight]
        self._pass(X, [y], None, shown=early, names=names, sample_weight=own)

    @one_thread_at_a_time
    def _learn_quickly(self, x: Any, y: Any, shown: Any = None) -> bool:
        """Learn an example of a known label by the members' own calls for single ones; False if this is not one."""
        council = self.__dict__.get("_core")
        if council is None:
            return False
        code = council.labels.index.get(y) if type(y) in LABEL_TYPES else None
        single = type(x) is dict or (type(x) is np.ndarray and x.dtype is FLOAT64 and x.shape == (self.n_features_in_,))
        quick = council.plain and council.whole_votes and not council.risky and single
        if code is None or len(council.labels) < 2 or not quick:
            return False
        votes, codes = council.votes_for_one(x if shown is None else shown), np.array([code])

        def learn() -> None:
            try:
                for member in council.members:
                    member.learn_one(x, y)
                council.mixture.learn(votes, codes, len(council.labels), NO_WEIGHTS, council.tally)
            except BaseException as error:
                council.stop_if_out_of_step(error)
                raise
            self._keep(council)

        without_interrupts(learn)
        return True

    def _one_row(self, x: Any) -> tuple[Any, dict[Any, int] | None]:
        """One example as rows, and the feature names that it brings."""
        core = self.__dict__.get("_core")
        if is_named(x):
            council = core or self._fresh()
            return one_row(x, council.features) if council.plain else ([x], None)
        return one_row(x, {} if core is None else core.features, self)[0], None

    def _fresh(self) -> Council:
        """New members, not started, and their weights."""
        given = default_family() if self.learners is None else self.learners
        if not isinstance(given, list | tuple) or not len(given):
            raise ValueError(f"learners must be a list of at least one online classifier, got {given!r}")
        members = [clone(member) for member in given]
        for member in members:
            if not hasattr(member, "_learn_observed") or isinstance(member, Committee):
                raise ValueError(f"Committee takes online classifiers, alone or in Scaled; got {member!r}")
            learner = getattr(member, "learner", member)
            if self.grow_features:
                learner.set_params(grow_features=True)
            if self.random_state is not None:
                member.set_params(random_state=self.random_state)
        votes = one_of("mix", self.mix, {"votes": True, "margins": False})
        council = Council(members, Mixture(len(members), *self._speeds()), votes)
        council.started = self.get_params(deep=False)
        return council

    def _speeds(self) -> tuple[float, float]:
        """The share and the rate, checked."""
        if isinstance(self.rate, str):
            one_of("rate", self.rate, {"adaptive": None})
            if isinstance(self.share, str) or self.share != 0.0:
                raise ValueError(f'rate="adaptive" needs share=0, got share={self.share!r}')
            return HEDGED, 1.0
        rate = positive("rate", self.rate)
        if isinstance(self.share, str):
            return one_of("share", self.share, {"decreasing": DECREASING}), rate
        share = positive("share", self.share, zero=True)
        if share > 1.0:
            raise ValueError(f"share must lie between 0 and 1, got {self.share!r}")
        return share, rate

    def _keep(self, council: Council) -> None:
        self.__dict__.update({"_core": council, "n_features_in_": council.members[0].n_features_in_})

    # -- prediction --------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The weight of the members that say so: for two labels by how much the second leads, else of all labels."""
        council = self._learned()
        shares = council.decide(lambda member: score_matrix(member.decision_function(X)))
        return shares[:, 1] - shares[:, 0] if shares.shape[1] == 2 else shares

    def _decision_of_one(self, x: Any) -> NDArray[np.float64]:
        shares = self._learned().decide(lambda member: score_matrix(member._decision_of_one(x)))
        return shares[:, 1:] - shares[:, :1] if shares.shape[1] == 2 else shares

    def predict(self, X: Any) -> NDArray[Any]:
        """The labels of the greatest weight; a tie goes to the label of the smallest index."""
        council = self._learned()
        shares = council.decide(lambda member: score_matrix(member.decision_function(X)))
        return self.classes_[shares.argmax(axis=1)]

    def predict_one(self, x: Any) -> Any:
        """The label predicted for one example."""
        council = self._learned()
        if not council.whole_votes:
            shares = council.decide(lambda member: score_matrix(member._decision_of_one(x)))[0]
        else:
            shares = council.mixture.scores(council.votes_for_one(x))[0]
        return council.labels.values[int(shares.argmax())]

    # -- what was learned --------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        found = LEARNED.get(name)
        if found is None or "_core" not in self.__dict__:
            raise AttributeError(missing(self, name))
        return found(self.__dict__["_core"])

    def certificates(self, comparator: int | None = None) -> list[Certificate]:
        """Bounds on mistakes and on the loss, by the best sequence of members with at most that many switches.

        ``comparator`` is the number of switches, 0 (the best member) to 60; None takes the one with the least bound.
        """
        council = self._learned()
        mixture = council.mixture
        losses, bounds = mixture.switching_losses(), mixture.switching_bounds()
        if comparator is None:
            switches = int(bounds.argmin())
        elif isinstance(comparator, int | np.integer) and 0 <= comparator <= SWITCHES:
            switches = int(comparator)
        else:
            raise ValueError(f"comparator must be a number of switches from 0 to {SWITCHES}, got {comparator!r}")
        bound = float(bounds[switches])
        which = "member" if switches == 0 else f"sequence of members with {switches} switches"
        condition = f"always: the best {which} lost {losses[switches]:.6g}"
        weighed = council.tally[tallies.MISTAKES] + council.tally[tallies.EXCESS]
        loss = Certificate("loss of the committee", float(mixture.numbers[OWN_LOSS]), bound, condition)
        return [Certificate("mistakes", float(weighed), bound, condition), loss]


# What a committee has learned, by the name of the attribute.
LEARNED: dict[str, Callable[[Council], Any]] = {
    "classes_": lambda council: council.labels.array(),
    "feature_names_in_": lambda council: council.members[0].feature_names_in_,
    "learners_": lambda council: council.members,
    "weights_": lambda council: council.mixture.weights.copy(),
    "losses_": lambda council: council.mixture.sums.copy(),
    "best_": lambda council: int(council.mixture.sums.argmin()),
    "gap_": lambda council: float(council.mixture.numbers[GAP]),
    "loss_": lambda council: float(council.mixture.numbers[OWN_LOSS]),
    "mean_loss_": lambda council: float(council.mixture.numbers[MEAN_LOSS]),
    "switching_losses_": lambda council: council.mixture.switching_losses(),
    "switching_bounds_": lambda council: council.mixture.switching_bounds(),
    "t_": lambda council: council.rounds,
    "mistakes_": lambda council: int(council.tally[tallies.MISTAKES]),
    "updates_": lambda council: sum(member.updates_ for member in council.members),
}


def _count(X: Any) -> int:
    if getattr(X, "shape", None) == ():
        raise ValueError(f"X must be 2-D, one row per example, got {X!r}")
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _part(X: Any, part: slice) -> Any:
    return X[part] if isinstance(X, np.ndarray | list | tuple) or hasattr(X, "tocsr") else _safe_indexing(X, part)
