"""How to train: the options of a training."""

from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, cast

from sqlsvm.lab.kernel.machine import Machine
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
    LossName,
    ProbabilityMethod,
    Solver,
    check,
)
from sqlsvm.plan.constraints import given
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.query.rewrites.split import Folds, HeldOut, Holdout, OfFold
from sqlsvm.rules import CUTS, NET, refuse
from sqlsvm.run.penalising import Penalising
from sqlsvm.solve.loss import custom
from sqlsvm.solve.solution import Effort


@dataclass(frozen=True)
class Training:
    """How to train."""

    problem: ProblemOptions
    lam: float = DEFAULTS["lam"]
    l1: float = DEFAULTS["l1"]
    solver: Solver = DEFAULTS["solver"]
    effort: Effort = field(default_factory=Effort)
    holdout: float | str | None = DEFAULTS["holdout"]
    """The share of the rows of the label's relation that is kept out of the training, or how to choose it;
    `effort.seed` selects them."""
    probability: ProbabilityMethod | None = DEFAULTS["probability"]
    folds: int | None = DEFAULTS["folds"]
    """`effort.seed` makes them, too."""
    fold: int | None = None
    """The one that is held out, where folds share nothing."""
    split_by: str | None = DEFAULTS["split_by"]
    gap: float | str | None = DEFAULTS["gap"]
    as_of: str | None = DEFAULTS["as_of"]
    offload: bool | None = DEFAULTS["offload"]
    machine: Machine = field(default_factory=Machine)
    measure: str | None = DEFAULTS["measure"]
    chooses: tuple[str, ...] = ()
    """The options that are auto: until they are chosen, they have their defaults."""
    chose: tuple[str, ...] = ()
    """Those that were."""
    unnamed: tuple[str, ...] = ()
    """Those that are not named: where they cannot be chosen they have their defaults, and nothing is refused."""
    unchosen: str = ""
    """Why lambda has its default."""
    classes: bool = DEFAULTS["classes"]
    threshold: float = 0.0
    """Of scores, as it was chosen: what is above is of the positive class."""

    def __post_init__(self) -> None:
        check(self)
        if not self.chose:  # the rules are about what was typed
            refuse(self.options)

    @property
    def is_kernel(self) -> bool:
        """Is the model a sum over support vectors?"""
        return self.solver == "kernel" or bool(self.machine.kernel)

    @classmethod
    def of(cls, **options: Any) -> "Training":
        """Each option is a field here, of the effort, or of the problem. Files of constraints and losses are read."""
        options["constrain"] = given(options.get("constrain", ()))
        options["pieces"] = custom.given(options.get("pieces", ()))
        chooses = tuple(name for name in CHOSEN if options.get(name) == AUTO_WORD)
        options |= {"chooses": chooses, **{name: DEFAULTS[name] for name in chooses}}
        groups = cls, Effort, Machine
        own, effort, machine = ({f.name: options.pop(f.name) for f in fields(k) if f.name in options} for k in groups)
        return cls(ProblemOptions(**options), effort=Effort(**effort), machine=Machine(**machine), **own)

    @property
    def options(self) -> dict[str, Any]:
        """All of them, by name."""
        own = {name: value for name, value in vars(self).items() if name in OPTIONS}
        asked = dict.fromkeys(self.chooses, AUTO_WORD)
        return vars(self.problem) | vars(self.effort) | vars(self.machine) | own | asked

    @property
    def kept(self) -> dict[str, Any]:
        """What a model says of its options."""
        found = asdict(self)
        for name in ("chooses", "chose", "unnamed", "unchosen", "threshold", "fold"):
            del found[name]
        return found

    @property
    def strength_chosen(self) -> str | None:
        """Which of lam and l1 is auto."""
        return next((name for name in STRENGTHS if name in self.chooses), None)

    def of_strength(self, strength: float) -> "Training":
        """With this in place of auto."""
        match self.strength_chosen:
            case "lam":
                return replace(self, lam=strength)
            case "l1":
                return replace(self, l1=strength)
        return self

    def settled(self, loss: str, strength: float) -> "Training":
        """With these where it is auto."""
        found = replace(self.of_strength(strength), chooses=(), chose=self.chooses)
        return found.with_loss(loss) if "loss" in self.chooses else found

    def with_loss(self, loss: str) -> "Training":
        return replace(self, problem=replace(self.problem, loss=cast(LossName, loss)))

    def as_chosen(self, model: Model) -> "Training":
        """With what a model has where it is auto."""
        found = self.like(model).settled(model.loss, getattr(model, self.strength_chosen or LAMBDA))
        return replace(found, threshold=model.threshold)

    def with_default(self, why: str) -> "Training":
        """What is not named is not chosen."""
        chooses = tuple(name for name in self.chooses if name not in self.unnamed)
        return replace(self, chooses=chooses, unchosen=why)

    @property
    def takes_numbers(self) -> bool:
        """Is a label that is a number predicted as one? Nothing that is named is for classes."""
        named, problem = self.measure is not None and self.measure not in deciding(NUMBER), self.problem
        named = named or self.classes or self.probability is not None or problem.positive is not None
        return "loss" in self.unnamed and self.solver in CUTS and problem.class_weight == "none" and not named

    def of_numbers(self) -> "Training":
        """For such a label."""
        chooses = tuple(name for name in self.chooses if name != "loss")
        return replace(self, chooses=chooses, problem=replace(self.problem, loss=OF_NUMBERS))

    def like(self, model: Model) -> "Training":
        """For a number, if the label of a model was one."""
        return self.of_numbers() if model.of_numbers and self.takes_numbers else self

    @property
    def ungrouped(self) -> "Training":
        """What is asked of the rows of all groups: class weights are those of each."""
        return replace(self, problem=replace(self.problem, class_weight="none")) if self.problem.by else self

    @property
    def penalising(self) -> Penalising:
        return Penalising(self.lam, self.l1, self.problem.intercept == "free", self.problem.constrain)

    @property
    def is_open(self) -> bool:
        """Do the data say which rows are held out?"""
        return isinstance(self.holdout, float) and bool(self.problem.time)

    @property
    def is_random(self) -> bool:
        """Are rows left out at random?"""
        some = self.folds if self.fold is None else None
        return bool(some or self.holdout or self.chooses) and not (self.split_by or self.problem.time)

    @property
    def parts(self) -> Folds:
        return Folds(self.folds or 0, self.effort.seed, self.split_by, self.gap)

    @property
    def learns_in_folds(self) -> bool:
        """Has each fold a network of its own?"""
        return bool(self.folds) and self.fold is None and self.problem.map in NET

    @property
    def shares_folds(self) -> bool:
        return bool(self.folds) and self.fold is None and not self.learns_in_folds

    @property
    def held(self) -> HeldOut | None:
        if self.fold is not None:
            return OfFold(self.parts, self.fold)
        return None if self.holdout is None else Holdout(self.holdout, self.effort.seed, self.split_by, self.gap)
