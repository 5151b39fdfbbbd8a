"""How to train: the options of a training, its penalty, and what happens where a choice fails.

A choice that was not asked for ends no training: the default is taken, and a note says why. The training begins again,
in a new snapshot: after an error a transaction of PostgreSQL takes no more statements.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import wraps
from math import sqrt
from typing import Any, ParamSpec, TypeVar, cast

from sqlsvm.errors import ConnectionLost, MovedError
from sqlsvm.maps.mapped import KNOWN, Mapped
from sqlsvm.measures import NUMBER, deciding
from sqlsvm.model.model import Model
from sqlsvm.options import AUTO as AUTO_WORD
from sqlsvm.options import (
    CHOSEN,
    DEFAULTS,
    LAMBDA,
    OF_NUMBERS,
    OPTIONS,
    STRENGTHS,
    CacheKind,
    CacheShare,
    KernelName,
    LossName,
    ProbabilityMethod,
    Solver,
)
from sqlsvm.plan.constraints import constraint, given
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.query.rewrites.split import Folds, HeldOut, OfFold, holdout_of
from sqlsvm.rules import GROWS, LEARNS, NO_CUTS, refuse
from sqlsvm.run.data import Data
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.constraint import Constraint
from sqlsvm.solve.elastic import Elastic, Free, Side
from sqlsvm.solve.loss import Loss, custom
from sqlsvm.solve.penalty import L2, Penalty
from sqlsvm.solve.solution import Effort
from sqlsvm.terminal import NOTE


@dataclass(frozen=True)
class Penalising:
    """What a training asks of the penalty."""

    strength: float
    l1: float = 0.0
    free: bool = False  # is the intercept not penalised?
    constrain: tuple[str, ...] = ()

    @property
    def strengths(self) -> tuple[float, float]:
        return self.strength, self.l1

    @property
    def is_plain(self) -> bool:
        return not (self.l1 or self.free or self.constrain)

    def of(self, problem: Data) -> Penalty:
        strength, l1 = self._in_deviations(problem.scaling.label, problem.plan.loss)
        if self.is_plain:
            return L2(strength)
        scaling, centre = problem.scaling, problem.plan.design.target.centre
        fold, rows = problem.work.engine.fold, None
        if self.constrain:
            rows = constraint(self.constrain, scaling, centre, problem.covariances, fold)
        place = next((e.place for e in scaling.numbers if not e.feature), None)
        free = Free(place, problem.plan.loss, tuple(sides(problem))) if self.free and place is not None else None
        return Elastic(strength, l1, rows or Constraint.none(scaling.dimension), place, free)

    def _in_deviations(self, width: float | None, loss: Loss) -> tuple[float, float]:
        """Both are for a label in deviations of this width, where weights are as much smaller, and psi is smaller by
        its unit. These are what they are in the unit of the label."""
        if width is None:
            return self.strength, self.l1
        unit = loss.unit(width)
        return self.strength * unit / width**2, self.l1 * unit / width


def sides(problem: Data) -> Iterator[Side]:
    """The rows of each class, or all of them where the label is a number."""
    moments, loss, n = problem.moments, problem.plan.loss, problem.moments.n

    def means(sums: Array, rows: float) -> Array:
        return problem.scaling.from_raw(sums / rows)

    if moments.label:
        origin, size = moments.label.total / n, sqrt(moments.label.squares / n)
        yield Side(1.0, 1.0, origin, size, means(moments.total, n))
        return
    origin, negative = loss.origin or 0.0, moments.n_negative
    yield Side(negative / n, -1.0, origin, abs(origin), means(moments.total_negative, negative))
    positive = moments.total - moments.total_negative
    yield Side(1.0 - negative / n, 1.0, origin, abs(origin), means(positive, n - negative))


_GROUPS = {
    "problem": tuple(field.name for field in fields(ProblemOptions)),
    "effort": tuple(field.name for field in fields(Effort)),
    "machine": ("kernel", "gamma", "cache", "cache_mb", "cache_share"),
}
"""The options that the file of a model has in an object of this name."""
_SAID = (
    *("problem", "lam", "l1", "solver", "effort", "holdout", "probability", "folds", "split_by", "gap", "as_of"),
    *("offload", "machine", "measure", "classes"),
)
"""The order there."""


@dataclass(frozen=True)
class Training(Effort, ProblemOptions):
    """Every option by its name, with those of the problem and of the effort."""

    lam: float = DEFAULTS["lam"]
    l1: float = DEFAULTS["l1"]
    solver: Solver = DEFAULTS["solver"]
    holdout: float | str | None = DEFAULTS["holdout"]
    """The share of the rows of the label's relation that is kept out of the training, or how to choose it; `seed`
    selects them."""
    probability: ProbabilityMethod | None = DEFAULTS["probability"]
    folds: int | None = DEFAULTS["folds"]  # `seed` makes them, too
    fold: int | None = None  # the one that is held out, where folds share nothing
    split_by: str | None = DEFAULTS["split_by"]
    gap: float | str | None = DEFAULTS["gap"]
    as_of: str | None = DEFAULTS["as_of"]
    offload: bool | None = DEFAULTS["offload"]
    kernel: KernelName | None = DEFAULTS["kernel"]
    gamma: float | None = DEFAULTS["gamma"]
    cache: CacheKind = DEFAULTS["cache"]
    cache_mb: float = DEFAULTS["cache_mb"]
    cache_share: CacheShare = DEFAULTS["cache_share"]
    measure: str | None = DEFAULTS["measure"]
    chooses: tuple[str, ...] = ()  # the options that are auto: until they are chosen, they have their defaults
    unnamed: tuple[str, ...] = ()
    """Those that are not named: where they cannot be chosen they have their defaults, and nothing is refused."""
    unchosen: str = ""  # why lambda has its default
    classes: bool = DEFAULTS["classes"]
    curves: bool = False  # shall classes have probabilities also where nothing is chosen?
    cut: float | None = None  # where scores are placed, as it was chosen: what is above is of the positive class
    spread: float = 0.0  # the deviation of scores on a sample, for a program that measures none

    @property
    def is_kernel(self) -> bool:
        """Is the model a sum over support vectors?"""
        return self.solver == "kernel" or bool(self.kernel)

    @classmethod
    def of(cls, **options: Any) -> "Training":
        """Of what was typed, with the words of auto: this is what the rules are about. Files are read."""
        options["constrain"] = given(options.get("constrain", ()))
        options["pieces"] = custom.given(options.get("pieces", ()))
        chooses = tuple(name for name in CHOSEN if options.get(name) == AUTO_WORD)
        training = cls(**options | {"chooses": chooses, **{name: DEFAULTS[name] for name in chooses}})
        refuse(training.options)
        return training

    @property
    def options(self) -> dict[str, Any]:
        """All of them, by name."""
        own = {name: value for name, value in vars(self).items() if name in OPTIONS}
        return own | dict.fromkeys(self.chooses, AUTO_WORD)

    @property
    def effort(self) -> Effort:
        return Effort(**{name: getattr(self, name) for name in _GROUPS["effort"]})

    @property
    def kept(self) -> dict[str, Any]:
        """What a model says of its options."""
        own = vars(self)
        groups = {group: {name: own[name] for name in names} for group, names in _GROUPS.items()}
        return {name: groups[name] if name in groups else own[name] for name in _SAID}

    @property
    def reads_parts(self) -> bool:
        """Does it measure rows of the sample that others were trained on?"""
        return bool(self.chooses) or self.curves

    @property
    def strength_chosen(self) -> str | None:
        """Which of lam and l1 is auto."""
        return next((name for name in STRENGTHS if name in self.chooses), None)

    def settled(self, loss: str, strength: float) -> "Training":
        """With these where it is auto."""
        found: dict[str, Any] = {name: loss if name == "loss" else strength for name in self.chooses}
        return replace(self, **found, chooses=())

    def with_loss(self, loss: str) -> "Training":
        return replace(self, loss=cast(LossName, loss))

    def as_chosen(self, model: Model) -> "Training":
        """With what a model has where it is auto."""
        found, grown = self.like(model).offering, any(each.takes_nulls for each in model.maps)
        found = found.with_maps(model.maps) if found.map in GROWS and not grown else found
        found = found.settled(model.loss, getattr(model, self.strength_chosen or LAMBDA))
        return replace(found, cut=model.chosen.cut if model.chosen else None)

    @property
    def offering(self) -> "Training":
        """With trees, if the maps are up to it and rows not seen are asked whether trees are of use."""
        offers = AUTO_WORD in self.map and self.chooses and not (self.by or self.map in GROWS)
        return replace(self, map=(*self.map, TREES)) if offers else self

    def with_maps(self, maps: Sequence[Mapped]) -> "Training":
        """With these, as they were made: nothing more is on offer."""
        return replace(self, map=tuple(each.map for each in maps if not each.map.startswith(KNOWN)))

    def with_default(self, why: str) -> "Training":
        """What is not named is not chosen."""
        chooses = tuple(name for name in self.chooses if name not in self.unnamed)
        return replace(self, chooses=chooses, unchosen=why)

    @property
    def adds_known(self) -> bool:
        """May it add columns that tell where numbers are NULL?"""
        return "nulls" in self.unnamed and not self.is_kernel

    @property
    def naming_nulls(self) -> "Training":
        return replace(self, unnamed=tuple(name for name in self.unnamed if name != "nulls"))

    @property
    def takes_numbers(self) -> bool:
        """Is a label that is a number predicted as one? Nothing that is named is for classes."""
        named = self.measure is not None and self.measure not in deciding(NUMBER)
        named = named or self.classes or self.probability is not None or self.positive is not None
        return "loss" in self.unnamed and self.solver not in NO_CUTS and self.class_weight == "none" and not named

    def of_numbers(self) -> "Training":
        """For such a label."""
        chooses = tuple(name for name in self.chooses if name != "loss")
        return replace(self, chooses=chooses, loss=OF_NUMBERS)

    def like(self, model: Model) -> "Training":
        """For a number, if the label of a model was one."""
        return self.of_numbers() if model.of_numbers and self.takes_numbers else self

    @property
    def ungrouped(self) -> "Training":
        """What is asked of the rows of all groups: class weights are those of each."""
        return replace(self, class_weight="none") if self.by else self

    @property
    def penalising(self) -> Penalising:
        return Penalising(self.lam, self.l1, self.intercept == "free", self.constrain)

    @property
    def is_open(self) -> bool:
        """Do the data say which rows are held out?"""
        return isinstance(self.holdout, float) and bool(self.time)

    @property
    def is_random(self) -> bool:
        """Are rows left out at random?"""
        some = self.folds if self.fold is None else None
        return bool(some or self.holdout or self.chooses) and not (self.split_by or self.time)

    @property
    def parts(self) -> Folds:
        return Folds(self.folds or 0, self.seed, self.split_by, self.gap)

    @property
    def learns_in_folds(self) -> bool:
        """Has each fold a network of its own?"""
        return bool(self.folds) and self.fold is None and self.offering.map in LEARNS

    @property
    def shares_folds(self) -> bool:
        return bool(self.folds) and self.fold is None and not self.learns_in_folds

    @property
    def held(self) -> HeldOut | None:
        if self.fold is not None:
            return OfFold(self.parts, self.fold)
        return holdout_of(self.kept)


TREES = "trees"
P = ParamSpec("P")
T = TypeVar("T")
Trainings = Mapping[str, Training]

steps = logging.getLogger(__name__)

MOST = 10


class NotChosenError(Exception):
    """The choice failed, for the reason that is its cause."""


@contextmanager
def choice_of(trainings: Trainings, *failures: type[Exception]) -> Iterator[None]:
    """An error of these kinds, where all that is chosen is chosen by default."""
    each = trainings.values()
    by_default = any(t.reads_parts for t in each) and all(set(t.chooses) <= set(t.unnamed) for t in each)
    try:
        yield
    except (ConnectionLost, MovedError):
        raise
    except failures as error:
        if not by_default:
            raise
        raise NotChosenError from error


def anew(work: Callable[P, T]) -> Callable[P, T]:
    """The work, again if what it reads has moved. A partition may be attached every hour, and every minute."""

    @wraps(work)
    def again(*given: P.args, **named: P.kwargs) -> T:
        for _ in range(MOST):
            try:
                return work(*given, **named)
            except MovedError as error:
                steps.log(NOTE, "note: beginning again: %s", error.message)
        return work(*given, **named)

    return again


def with_choice(trainings: Trainings, work: Callable[[Trainings], T]) -> T:
    """The work, or that with defaults."""
    try:
        return anew(work)(trainings)
    except NotChosenError as error:
        cause = error.__cause__
        some = any(each.chooses for each in trainings.values())
        lost = f"lambda is {DEFAULTS[LAMBDA]:g}, its default: choosing it" if some else "no class has a probability: it"
        steps.log(NOTE, "note: %s failed: %s", lost, _said(cause))
        steps.debug("the choice failed", exc_info=cause)
    return anew(work)({name: replace(each, chooses=(), curves=False) for name, each in trainings.items()})


def _said(cause: BaseException | None) -> str:
    return getattr(cause, "message", None) or f"{type(cause).__name__}: {cause}"
