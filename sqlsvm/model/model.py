"""The result of a training: weights on the user's own columns, the proof, and facts about the data."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, replace
from functools import cached_property
from itertools import groupby
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from sqlsvm import words
from sqlsvm.engine.base import Meaning, Spelling
from sqlsvm.engine.languages import LANGUAGES
from sqlsvm.errors import OptionError
from sqlsvm.maps.mapped import Mapped, Maps
from sqlsvm.model.chosen import Chosen
from sqlsvm.model.plain import plain
from sqlsvm.model.probability import Probability, StoredProbability
from sqlsvm.model.support import StoredSupport
from sqlsvm.model.weights import Weight, Weights
from sqlsvm.options import (
    CHOSEN,
    DEFAULTS,
    LAMBDA,
    NUMBER_LOSSES,
    OPTIONS,
    STRENGTHS,
    Choice,
    Nulls,
    Number,
    Share,
    Solver,
)
from sqlsvm.plan.design import OTHER
from sqlsvm.plan.plan import Method
from sqlsvm.query.forms import RESULT_ROWS
from sqlsvm.reading import EDITED, Bound, Misread, form_of, has_default, in_json, key, made, reader, unexpected
from sqlsvm.solve.arrays import Array
from sqlsvm.times import TimeKind

TermKind = Literal["numeric", "boolean", "categorical"] | TimeKind

InMemory = Literal["in memory"]
IN_MEMORY: InMemory = "in memory"  # how the rows of a join were counted that was read once
FORMAT = 22
"""The number of the form of `Model.as_json`. Models stored without a number have this form. A new field is a new form:
then an older sqlsvm says that the model is newer, and not that it does not know the field."""

Count = Annotated[int, Number(0, whole=True)]
ByLabel = Mapping[Literal["-1", "1"], float]


@dataclass(frozen=True)
class FeatureScale:
    """A number as it was trained on: (x - centre) / width. With `standard` these are its mean and its deviation, or 1
    where that is 0. `origin`: what it is less in a score of a model with a `base`."""

    centre: float
    width: float
    origin: float = 0.0

    def of(self, values: Array) -> Array:
        return (values - self.centre) / self.width


@dataclass(frozen=True)
class Held:
    """A constraint on the weights, and by how much it holds: 0 where it holds as an equation."""

    row: str
    slack: float


@dataclass(frozen=True)
class Validated:
    """A measure on rows that the training has not seen: for each fold, and their mean with its error."""

    mean: float
    standard_error: float | None  # None if it is not known
    folds: tuple[float, ...]


@dataclass(frozen=True)
class Term:
    """A feature of a model: its weights, and how to read a value of it."""

    feature: str
    weights: tuple[Weight, ...]
    kind: TermKind  # the kind of its column, for categories too
    spelling: Spelling  # how its texts are compared
    origin: float = 0.0  # what a number is less in a score

    @property
    def categories(self) -> tuple[Weight, ...]:
        """Those of values."""
        return tuple(w for w in self.weights if w.category is not OTHER)

    @property
    def others(self) -> float | None:
        """The weight of all other values; None if the model has none, and then it is 0."""
        return self.weights[-1].weight if self.weights[-1].category is OTHER else None

    @property
    def number(self) -> Weight | None:
        """The weight of a feature that has no categories."""
        return self.weights[0] if self.weights[0].category is None else None

    @property
    def coded(self) -> "Term":
        """The same with the place of each category, from 1, in place of its weight."""
        return replace(self, weights=tuple(replace(w, weight=float(n)) for n, w in enumerate(self.weights, 1)))


def code_of(each: Mapped, name: str) -> Term:
    """A column of a map that has categories, with the numbers that stand for them in place of weights."""
    weights = tuple(Weight(name, category, code, code) for category, code in each.codes[name])
    kind: TermKind = "categorical" if not weights or isinstance(weights[0].category, str) else "numeric"
    return Term(name, weights, kind, "exact")


def checked_term(terms: Mapping[str, Term], feature: str) -> Term:
    """That of a feature of a support vector. An edited model may have others."""
    if feature not in terms:
        raise OptionError(f"the support vectors have a feature {feature}, and the model has none", hint=EDITED)
    return terms[feature]


@dataclass(frozen=True)
class TrainedOn:
    """Facts about the query and its data when the model was trained. None and {} mean: not known."""

    fingerprint: str | None = None  # of the query
    rows: Mapping[str, float] = field(default_factory=dict)  # per relation
    relations: Mapping[str, str] = field(default_factory=dict)  # the relation of each feature
    booleans: tuple[str, ...] = ()  # features that are true or false
    padded: tuple[str, ...] | None = None  # features of type character(n)
    caseless: tuple[str, ...] = ()  # features of type citext
    times: Mapping[str, TimeKind] = field(default_factory=dict)
    """Features, and the label, that are numbers of a date or of a time."""
    label_values: tuple[object, ...] = (-1, 1)
    """The label's own values for -1 and +1, or for all classes where there are more."""
    database: str | None = None
    versions: Mapping[str, str | None] = field(default_factory=dict)  # of sqlsvm and sqlglot
    held_out: ByLabel = field(default_factory=dict)  # rows of each class that the training did not see
    digests: Mapping[str, str] = field(default_factory=dict)
    """One for the rows of each relation, if they were asked for."""
    typed: str | None = None  # the query as it was typed, if that is not the one that runs
    names: tuple[Meaning, ...] | None = None
    """What the names of the query stood for; none in a file, where it is not known. None: nobody has looked them up."""
    zone: str | None = None  # the time zone of the session
    UNREAD: ClassVar = frozenset({"sqlsvm"})

    def spelling(self, feature: str) -> Spelling:
        """If the padded features are not known, any feature may be one."""
        if feature in self.caseless:
            return "caseless"
        return "padded" if self.padded is None or feature in self.padded else "exact"

    def as_json(self) -> dict[str, Any]:
        return {name: plain(value) for name, value in vars(self).items() if value is not None and value != {}}


@dataclass(frozen=True)
class _Pass:
    """The certificate after a pass."""

    pass_: Count = field(metadata={"key": "pass"})
    objective: Bound
    objective_upper: Bound
    lower_bound: Bound
    gap: Bound
    buckets: int | None
    seconds: float


def _as_pass(found: object) -> Mapping[str, Any]:
    read = reader(_Pass).read(found)
    return {key(f): getattr(read, f.name) for f in fields(_Pass)}


def _allowed(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options of a training, by name; two groups of them are objects. Unknown options are only shown."""
    for group in ("problem", "effort"):
        inner = options.get(group, {})
        if not isinstance(inner, Mapping):
            raise unexpected("an object", inner).at(group)
        _check_options(inner, f".{group}")
    _check_options(options, "")
    is_timed = bool(options.get("problem", {}).get("time"))
    if isinstance(options.get("holdout"), str) and not (is_timed and Share.is_start(options["holdout"])):
        raise unexpected("a date" if is_timed else "a number", options["holdout"]).at("holdout")
    if options.get("holdout") and "seed" not in options.get("effort", {}):
        raise Misread("is missing, and rows were held out by it", ".effort.seed")
    return options


def _as_given(value: object) -> object:
    """JSON has lists for tuples."""
    return tuple(map(_as_given, value)) if isinstance(value, list) else value


def _check_options(found: Mapping[str, Any], path: str) -> None:
    for name in found.keys() & OPTIONS.keys():
        option, value = OPTIONS[name], found[name]
        if not option.allows(_as_given(value)):
            wrong = unexpected(option.domain, value)
            raise Misread(wrong.fact, f"{path}.{name}")


@dataclass(frozen=True, kw_only=True)
class Proven:
    """A vector of weights and its certificate."""

    passes: Count
    seconds: float
    objective: Bound
    objective_upper: Bound
    lower_bound: Bound
    gap: Bound
    converged: bool
    intercept: float
    weights: Weights
    threshold: float = 0.0
    """The sum of weight * value and the intercept is above it where a row is predicted to be of the positive class: a
    score is what is left of that sum without it."""
    scaled_intercept: float | None = None
    """The intercept that the penalty counts: `intercept` less what the training subtracted from a label that is a
    number, plus the sum of weight * centre. None if that is not known."""
    base: float | None = None
    """Where a number or the label is far from 0: a score is this + the sum of weight * (x - origin) + `label_centre`,
    in this order, and so keeps the digits in which rows differ. None: it is `intercept` + the sum of weight * x."""
    constraints: tuple[Held, ...] = ()  # what the weights had to satisfy
    history: tuple[Annotated[Mapping[str, Any], _as_pass], ...] = ()

    @property
    def constant(self) -> float:
        """What is added to the sum of weight * value."""
        return self.intercept - self.threshold

    @property
    def used(self) -> int:
        """How many weights are not 0."""
        return int(np.count_nonzero(self.weights.values))


_PROVEN = frozenset(f.name for f in fields(Proven))


@dataclass(frozen=True, kw_only=True)
class OfClass(Proven):
    """What a model with more than two classes knows of one of them, against all others."""

    value: object  # the label's own
    rows: float  # those of the join, without class weights
    held_out: float  # the rows that the training did not see
    probability: StoredProbability | None = None
    """Of this class against all others. Those of all classes are divided by their sum."""


def _distinct(found: tuple[OfClass, ...]) -> tuple[OfClass, ...]:
    """Two classes are a model of another kind. All have weights for the same columns."""
    if len(found) in (1, 2):
        raise unexpected("no class, or 3 or more", [None] * len(found))
    columns = [list(each.weights.columns) for each in found]
    for place, each in enumerate(columns):
        if each != columns[0]:
            raise Misread("are not for the same columns as those of the first class").at("weights").at(place)
    return found


@dataclass(frozen=True, kw_only=True)
class OfGroup(Proven):
    """What a model with groups knows of one of them: all that a model of its rows alone would have."""

    value: object  # of the column that makes the groups
    join_rows: float
    classes: Annotated[tuple[OfClass, ...], _distinct] = ()  # if there are more than two: the weights are in them
    label_rows: ByLabel = field(default_factory=dict)
    label_centre: float = 0.0
    label_width: float | None = None
    scaling: Mapping[str, FeatureScale] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    validation: Mapping[str, Validated] = field(default_factory=dict)
    probability: StoredProbability | None = None
    lam: float | None = None  # each group may have chosen another one. None if it is that of the model.
    l1: float | None = None
    chosen: Chosen | None = None

    @property
    def used(self) -> int:
        return sum(of.used for of in self.classes) or super().used


@dataclass(frozen=True)
class Skipped:
    """A group without a model."""

    value: object
    rows: float
    why: str


def _vector(of: "OfGroup | Model") -> Proven:
    """What has weights, or the first part of it."""
    return of.classes[0] if of.classes else of


def _known_once(found: tuple[OfGroup, ...]) -> tuple[OfGroup, ...]:
    """All groups have the same classes, and the same features, perhaps with other categories."""
    features = [list(dict.fromkeys(_vector(each).weights.features)) for each in found]
    classes = [[of.value for of in each.classes] for each in found]
    seen: set[object] = set()
    for place, each in enumerate(found):
        if each.value is None or each.value in seen:
            raise unexpected("a value that no other group has", each.value).at("value").at(place)
        if features[place] != features[0]:
            raise Misread("are not for the same features as those of the first group").at("weights").at(place)
        if classes[place] != classes[0]:
            raise Misread("are not the classes of the first group").at("classes").at(place)
        seen.add(each.value)
    return found


AS_GROUPS = "export it as json or sql, or train one group alone, with WHERE"  # what to do where there can be no groups


@dataclass(frozen=True, kw_only=True)
class Model(Proven):
    """Its fields are also those of its JSON. A new one needs a default, or older models cannot be read, and a new
    FORMAT.

    A model with more than two classes has its weights in `classes`. Its certificate is that of the mean of all
    objectives; its gap is the largest of them. One with groups has them in `groups`: its objective and its bounds are
    means over all rows of these. A group of a model with both has classes of its own."""

    name: str = field(metadata={"key": "model"})
    engine: str
    query: str
    dialect: Annotated[str, Choice(tuple(LANGUAGES))]
    label: str
    positive: str | None
    lam: float = field(metadata={"key": "lambda"})
    solver: Solver
    counting: Method | InMemory
    nulls: Nulls
    bags: Count
    join_rows: float
    label_rows: ByLabel
    label_centre: float = 0.0
    """What the training subtracted from a label that is a number: the penalty counts the intercept from there."""
    label_width: float | None = None  # the deviation of such a label, if lambda and l1 are for a label in deviations
    scaling: Mapping[str, FeatureScale] = field(default_factory=dict)  # of each feature that is a number
    maps: Maps = ()  # what makes some of the features of columns of the query
    validation: Mapping[str, Validated] = field(default_factory=dict)  # each measure, if the training had folds
    chosen: Chosen | None = None  # how lambda, l1 or the loss was chosen, if it was auto
    classes: Annotated[tuple[OfClass, ...], _distinct] = ()  # if there are more than two
    by: str | None = None  # the column whose values are the groups, if there are any
    groups: Annotated[tuple[OfGroup, ...], _known_once] = ()
    skipped: tuple[Skipped, ...] = ()  # groups that could not be trained
    ungrouped: float = 0.0  # the rows of the join in which `by` is NULL: no group has them
    probability: StoredProbability | None = None
    """Of the positive class, fitted to the scores of rows that the training has not seen."""
    support: StoredSupport | None = None
    """Of a kernel machine, whose weights are all 0: they only say which columns and categories there are."""
    phases: Mapping[str, float] = field(default_factory=dict)
    """The seconds of each phase of the training, which add up to all of it; `seconds` are those of its passes."""
    notes: tuple[str, ...] = ()  # what its user may not expect, a sentence each
    options: Annotated[Mapping[str, Any], _allowed] = field(default_factory=dict)
    """Every option of the training, by name."""
    trained_on: TrainedOn = field(default_factory=TrainedOn)
    version: Count = 0  # counted by the store; 0 for a model that was never stored
    owner: str | None = field(default="", compare=False, metadata={"key": None})
    """The role that stored it in the database, or None if that is not known. Empty for a model that was trained in this
    process or that comes from a file. The store knows it, so the JSON does not say it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "notes", tuple(map(words.said, self.notes)))

    UNREAD: ClassVar = frozenset({"features", "total_seconds", "format"})

    @property
    def typed(self) -> str:
        """The query as its user wrote it."""
        return self.trained_on.typed or self.query

    @property
    def added(self) -> tuple[float, float]:
        """What a score adds to the sum of its terms: before them, and after them."""
        first, last = self.trained
        return first - self.threshold, last

    @property
    def trained(self) -> tuple[float, float]:
        """What F has in their place: it knows no threshold."""
        return (self.intercept, 0.0) if self.base is None else (self.base, self.label_centre)

    @property
    def total_seconds(self) -> float | None:
        """Of the whole training; None if that is not known."""
        return sum(self.phases.values()) if self.phases else None

    @property
    def loss(self) -> str:
        return str(self.options.get("problem", {}).get("loss", DEFAULTS["loss"]))

    @property
    def l1(self) -> float:
        return float(self.options.get("l1", DEFAULTS["l1"]))

    def chosen_by(self, of: OfGroup) -> dict[str, Any]:
        """What a group has of the options that auto chooses. One that could not choose has the default."""
        found = {name: getattr(self, name) if (own := getattr(of, name)) is None else own for name in STRENGTHS}
        usual = DEFAULTS["loss"] if self._chooses_loss else self.loss
        return found | {"loss": of.chosen.loss if of.chosen else usual}

    @cached_property
    def _chooses_loss(self) -> bool:
        return any(of.chosen is not None and "loss" in of.chosen.options for of in self.groups)

    def choices(self, name: str) -> dict[Any, float]:
        """Those of lam, l1 or the loss, with the rows of the groups that have each."""
        found = defaultdict[Any, float](float)
        for of in self.groups:
            found[self.chosen_by(of)[name]] += of.join_rows
        return dict(sorted(found.items())) or {getattr(self, name): self.join_rows}

    def with_usual(self) -> "Model":
        """Of groups: with what auto has chosen for most rows."""
        usual = {name: max(rows := self.choices(name), key=lambda value: rows[value]) for name in CHOSEN}
        return replace(self, lam=usual[LAMBDA], options=self._options_with(usual))

    def _options_with(self, chosen: Mapping[str, Any]) -> Mapping[str, Any]:
        found = {**self.options, **{name: chosen[name] for name in STRENGTHS}}
        if chosen["loss"] == self.loss:
            return found
        return found | {"problem": {**found.get("problem", {}), "loss": chosen["loss"]}}

    @property
    def of_numbers(self) -> bool:
        """Is the label a number? Then a prediction is the score."""
        return self.loss in NUMBER_LOSSES

    @property
    def family(self) -> "tuple[OfClass | OfGroup, ...]":
        """What has the vectors of weights, if there are several."""
        return self.classes or self.groups

    @property
    def parts(self) -> "tuple[Model, ...]":
        """The vectors of weights, each as a model of its own: that of each class against all others, that of each
        group, or the model itself."""
        return tuple(map(self._part, self.family)) or (self,)

    @property
    def leaves(self) -> "tuple[tuple[tuple[object, ...], Model], ...]":
        """Each vector of weights as a model of its own, with the values of the group and of the class that have it."""
        if not self.family:
            return (((), self),)
        each = zip(self.family, self.parts, strict=True)
        return tuple(((of.value, *values), leaf) for of, part in each for values, leaf in part.leaves)

    def part(self, place: int) -> "Model":
        """One of them."""
        return self._part(self.family[place])

    @property
    def kinds(self) -> tuple[object, ...]:
        """The values of the label, if there are more than two."""
        return tuple(of.value for of in self._group.classes)

    @property
    def _group(self) -> "OfGroup | Model":
        """The first one, or the model itself. All groups have the same classes and features."""
        return self.groups[0] if self.groups else self

    def levels(self, of_classes: str) -> tuple[str, ...]:
        """The names of what the values of `leaves` are of."""
        return (*([self.by or "group"] if self.groups else []), *([of_classes] if self.kinds else []))

    @property
    def against_others(self) -> "tuple[Model, ...]":
        """For each of the kinds the model of it against all others: in groups it has these groups."""
        return tuple(map(self._of_kind, range(len(self.kinds)))) if self.groups else self.parts

    def _of_kind(self, place: int) -> "Model":
        each = ((of, of.classes[place]) for of in self.groups)
        kept = (*_PROVEN, "probability")
        proven = (replace(of, classes=(), **{name: getattr(own, name) for name in kept}) for of, own in each)
        values = (f"not {self.kinds[place]}", self.kinds[place])
        return replace(self, groups=tuple(proven), trained_on=replace(self.trained_on, label_values=values))

    @property
    def curves(self) -> tuple[Probability, ...]:
        """That of the positive class, or one of each class against all others; none if the model has no probability, or
        has them in its groups."""
        each = self.classes or (self,)
        found = tuple(of.probability for of in each if of.probability)
        return found if len(found) == len(each) else ()

    @property
    def likely(self) -> bool:
        """Has it a probability, if only in some of its groups?"""
        return any(part.curves for part in self.parts) if self.groups else bool(self.curves)

    def must_be_likely(self) -> None:
        if not self.likely:
            hint = "a training with ⟦probability sigmoid⟧ and ⟦holdout 0.2⟧ fits one"
            raise OptionError(f"model {self.name} has no probability", hint=hint)

    def ungrouped_only(self, what: str, hint: str = "train one group alone, with WHERE") -> "Model":
        """Itself; an error for a model with groups."""
        if self.groups:
            raise OptionError(f"model {self.name} has a model for each {self.by}, and {what}", hint=hint)
        return self

    def must_be_one(self, what: str) -> None:
        """Refuse what is for one vector of weights."""
        if self.family:
            kind = "classes" if self.classes else "groups"
            raise OptionError(
                f"model {self.name} has {len(self.family)} {kind}, and {what}",
                hint=f"⟦predict()⟧ and ⟦evaluate()⟧ take any number of {kind}",
            )

    @property
    def used(self) -> int:
        """Of all its parts."""
        return sum(of.used for of in self.family) or super().used

    def _part(self, of: OfClass | OfGroup) -> "Model":
        own = {name: value for name, value in vars(of).items() if hasattr(self, name)}
        own |= {"by": None, "groups": (), "skipped": (), "ungrouped": 0.0}
        if isinstance(of, OfGroup):
            chosen = self.chosen_by(of)
            own |= {"lam": chosen[LAMBDA], "options": self._options_with(chosen)}
            own.pop("l1")
        else:
            own["classes"] = ()
            own["label_rows"] = {"-1": self.join_rows - of.rows, "1": of.rows}
            own["trained_on"] = replace(self.trained_on, label_values=(f"not {of.value}", of.value))
        return replace(self, **own)

    @property
    def is_made(self) -> bool:
        """Did the database make all rows before the training?"""
        return any(f" {RESULT_ROWS} for the training: " in note for note in self.notes)

    @property
    def in_memory(self) -> bool:
        """Was the join so small that it was read once? Groups may be, in a join that is large."""
        return self.counting == IN_MEMORY and not self.groups

    @property
    def weighted(self) -> bool:
        """Did rows have weights? Then a number of rows is the total weight of these rows."""
        return bool(self.options.get("problem", {}).get("weight"))

    @property
    def unseen(self) -> Mapping[str, Any] | None:
        """A measure on rows that the training has not seen: of those held out or of folds, or else what lambda was
        chosen by. The loss is that of rows whose label is a number."""
        if self.validation:
            name = next((each for each in ("auc", "accuracy") if each in self.validation), next(iter(self.validation)))
            found = self.validation[name]
            return {"measure": name, "mean": found.mean, "standard_error": found.standard_error}
        if self.chosen is None:
            return None
        best = self.chosen.best
        return {"measure": self.chosen.measure, "mean": best.mean, "standard_error": best.error_of_mean}

    def linear(self) -> "Model":
        """Itself; an error for a kernel machine, for what needs weights."""
        if self.support:
            raise OptionError(
                f"model {self.name} has no weights: it is a kernel machine",
                hint="train it with ⟦solver dane⟧; evaluate, predict and show know kernel machines",
            )
        return self

    @property
    def features(self) -> tuple[str, ...]:
        """The names of those that have weights."""
        return tuple(dict.fromkeys(self._first.weights.features))

    @property
    def _first(self) -> Proven:
        """What has weights, or the first part of it."""
        return _vector(self._group)

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        groups = groupby(self._first.weights, key=lambda w: w.feature)
        return tuple(self._term(feature, tuple(weights)) for feature, weights in groups)

    @property
    def origins(self) -> Mapping[str, float]:
        """Of its numbers; of groups those of the first."""
        return {term.feature: term.origin for term in (self.part(0) if self.family else self).terms if term.origin}

    @property
    def mapped(self) -> Mapping[str, Mapped]:
        """The features that maps make, each with its map."""
        return {name: each for each in self.maps for name in each.formulas}

    @property
    def inputs(self) -> tuple[Term, ...]:
        """What rows must have: the features that no map makes, and the columns that maps read; with groups also the
        column that makes them."""
        own = {term.feature: term for term in self.terms if term.feature not in self.mapped}
        names = ((name, each.kind_of(name)) for each in self.maps for name in each.columns if name not in own)
        read = {name: self.trained_on.times.get(name, kind) for name, kind in names}
        more = (Term(name, (), kind, self.trained_on.spelling(name)) for name, kind in read.items())
        return (*own.values(), *more, *([self.chooser] if self.groups else []))

    @property
    def chooser(self) -> Term:
        """The column that makes the groups, with the place of each, from 1, in place of a weight."""
        name = self.by or ""
        return self._term(name, tuple(Weight(name, of.value, float(n), 0.0) for n, of in enumerate(self.groups, 1)))

    def _term(self, feature: str, weights: tuple[Weight, ...]) -> Term:
        kind: TermKind = "categorical" if isinstance(weights[0].category, str) else "numeric"
        if feature in self.trained_on.booleans:
            kind = "boolean"
        kind = self.trained_on.times.get(feature, kind)
        scale = None if self._first.base is None else self.scaling.get(feature)
        return Term(feature, weights, kind, self.trained_on.spelling(feature), scale.origin if scale else 0.0)

    def as_json(self) -> dict[str, Any]:
        """The object that `train --json` prints and that is stored, in strict JSON (see `plain`)."""
        return {name: plain(value) for name, value in self.facts.items()}

    @property
    def facts(self) -> dict[str, Any]:
        """What its JSON has, in order."""
        found = {key(f): getattr(self, f.name) for f in _in_order(self)}
        return found | {"features": len(self.features), "total_seconds": self.total_seconds, "format": FORMAT}

    @classmethod
    def from_json(cls, found: Mapping[str, Any], where: str = "the model") -> "Model":
        form_of(found, where, FORMAT)
        return _agreed(made(cls, found, where), where)


def _agreed(model: Model, where: str) -> Model:
    """Each class has a value of the label, and each feature that a map makes has a weight."""
    values, number = model.trained_on.label_values, len(model.kinds) or 2
    if len(values) != number:
        wrong = unexpected(f"a list of {number}", list(values)).at("label_values").at("trained_on")
        raise wrong.error(where, EDITED)
    features = frozenset(model.features)
    for place, each in enumerate(model.maps):
        if unweighted := [name for name in each.formulas if name not in features]:
            wrong = Misread(f"the feature {unweighted[0]} has no weight").at("formulas").at(place).at("maps")
            raise wrong.error(where, EDITED)
    return model


def _in_order(model: Model) -> list["Field[Any]"]:
    """What every model has comes first, and what it is before what is proven."""
    return sorted(in_json(model), key=lambda f: (has_default(f), f.name in _PROVEN))
