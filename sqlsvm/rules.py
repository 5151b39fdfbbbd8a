"""Which options do not go together: each rule once, in the words of the command line, of Python and of psql.

A rule is checked as early as it can be known: as typed, when the label has been read, or when the plan is made. Besides
the options, the facts have `several` (the flag of the option with several values), `program` (is it stored in
PostgreSQL?) and, once known, `classes` (of a label with more than two), and `sums` and `optional` of the query.
"""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sqlsvm.errors import OptionError
from sqlsvm.measures import NUMBER as A_NUMBER
from sqlsvm.measures import SEVERAL, TWO, deciding
from sqlsvm.options import (
    AUTO,
    CHOSEN,
    INDICATOR,
    LAMBDA,
    MACHINES,
    NUMBER_LOSSES,
    OF_NUMBERS,
    OPTIONS,
    STRENGTHS,
    UNNAMED,
    Share,
)

Stage = Literal["typed", "label known", "plan known"]
Facts = Mapping[str, Any]
When = Mapping[str, Container[Any]]


# -- what an option can be where a rule holds --------------------------------------------------------------------------


class Given:
    def __contains__(self, value: object) -> bool:
        return bool(value)

    def __str__(self) -> str:
        return "given"


class Missing:
    def __contains__(self, value: object) -> bool:
        return not value

    def __str__(self) -> str:
        return "not given"


@dataclass(frozen=True)
class Is:
    words: tuple[object, ...]

    def __contains__(self, value: object) -> bool:
        return value in self.words

    def __str__(self) -> str:
        return _or(self.words)


class Not(Is):
    def __contains__(self, value: object) -> bool:
        return value not in self.words

    def __str__(self) -> str:
        return f"not {super().__str__()}"


class Start:
    """When the rows begin that are held out."""

    def __contains__(self, value: object) -> bool:
        return Share.is_start(value)

    def __str__(self) -> str:
        return "a date"


@dataclass(frozen=True)
class Has:
    """A list with an item that begins so."""

    start: str | tuple[str, ...]

    def __contains__(self, value: object) -> bool:
        return isinstance(value, tuple) and any(item.startswith(self.start) for item in value)

    def __str__(self) -> str:
        return self.start if isinstance(self.start, str) else " or ".join(self.start)


def _or(words: tuple[object, ...]) -> str:
    *others, last = map(str, words)
    return f"{', '.join(others)} or {last}" if others else last


# -- rules -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """Where all of `when` holds, none of `options` may be given; if it names none, `when` itself is refused. Texts may
    name facts, and {flag}, the first of the options that is given."""

    when: When
    options: tuple[str, ...]
    message: str
    hint: str
    stage: Stage = "typed"

    def refusal(self, facts: Facts) -> OptionError | None:
        if not all(_of(facts, name) in values for name, values in self.when.items()):
            return None
        given = [name for name in self.options if _of(facts, name) != _default(name)]
        if self.options and not given:
            return None
        words = {**facts, "flag": f"⟦{given[0]}⟧" if given else ""}
        return OptionError(self.message.format(**words), hint=self.hint.format(**words))


def _of(facts: Facts, name: str) -> Any:
    return facts.get(name, _default(name))


def _default(name: str) -> Any:
    return OPTIONS[name].default if name in OPTIONS else None


def refuse(facts: Facts, stage: Stage = "typed") -> None:
    """Raise what the first rule of this stage says that does not let the options pass."""
    for rule in RULES:
        if rule.stage == stage and (error := rule.refusal(facts)):
            raise error


GIVEN, MISSING = Given(), Missing()
CHOOSES, NOTHING_CHOSEN = Is((AUTO,)), dict.fromkeys(CHOSEN, Not((AUTO,)))
NET, GROWS, LEARNS = Has("net:"), Has("trees"), Has(("net:", "trees"))
DESCENT, A_MACHINE, NUMBER, NO_CUTS = Is(("descent",)), Is(MACHINES), Is(NUMBER_LOSSES), Is(("descent", *MACHINES))
DANE, HOLDOUT = "use ⟦solver dane⟧", "measure it with ⟦holdout 0.2⟧"
UNSEEN = "add ⟦folds 5⟧, or ⟦holdout 0.2⟧"
UNCHOSEN: tuple[tuple[When, str], ...] = (
    ({"l1": GIVEN}, "⟦l1⟧"),
    ({"constrain": GIVEN}, "⟦constrain⟧"),
    ({"by": GIVEN}, "⟦by⟧, unless it is auto"),
    ({"solver": NO_CUTS}, "⟦solver {solver}⟧"),
    ({"map": NET}, "⟦map net⟧"),
    ({"several": GIVEN}, "several values of {several}"),
    ({"warm_start": GIVEN}, "warm_start"),
)
"""Where lambda has its default if it is not named."""


def named(options: Facts, **more: Any) -> dict[str, Any]:
    """The options with a value for lambda and the loss where none was named: these are chosen, if they can be.
    `more` is for the rules. `unnamed` are their names, and `unchosen` says why lambda has its default."""
    unnamed = tuple(name for name in UNNAMED if name in options and options[name] is None)
    found = {**options, "unnamed": unnamed, "unchosen": ""}
    if LAMBDA in unnamed:
        facts = {**options, **more}
        whys = (said for when, said in UNCHOSEN if all(_of(facts, name) in values for name, values in when.items()))
        found["unchosen"] = next((why.format(**facts) for why in whys), "")
        found[LAMBDA] = _default(LAMBDA) if found["unchosen"] else OPTIONS[LAMBDA].unnamed
    if "nulls" in unnamed:
        found["nulls"] = OPTIONS["nulls"].unnamed
    if "intercept" in unnamed:
        is_chosen = AUTO in [found.get(name) for name in STRENGTHS]
        found["intercept"] = OPTIONS["intercept"].unnamed if is_chosen else _default("intercept")
    if "loss" in unnamed and options.get("measure") in {*deciding(A_NUMBER)} - {*deciding(TWO), *deciding(SEVERAL)}:
        found["loss"] = OF_NUMBERS
    elif "loss" in unnamed:
        is_chosen = found[LAMBDA] == AUTO and options.get("measure") != "loss"
        found["loss"] = OPTIONS["loss"].unnamed if is_chosen else _default("loss")
    return found


def several_of(trainings: Mapping[str, Facts]) -> str | None:
    """The option in which they differ."""
    first, *others = trainings.values()
    return next((f"⟦{name}⟧" for name in OPTIONS for each in others if _of(each, name) != _of(first, name)), None)


def _read() -> Iterator[Rule]:
    """An option that the others leave unread is a mistake."""
    for option in OPTIONS.values():
        if option.read_by:
            other, values = option.read_by
            first = f"⟦{other} {values[0]}⟧"
            said, hint = _or((first, *values[1:])), f"add {first}, or leave out ⟦{option.name}⟧"
            yield Rule({other: Not(values)}, (option.name,), f"⟦{option.name}⟧ is for {said}", hint)


def _of_steps() -> Iterator[Rule]:
    """What kernel machines, Pegasos and descent are not for."""
    without_kernel: When = {"solver": Is(("pegasos",)), "kernel": MISSING}
    of_kernels = "gamma", "cache", "cache_mb", "cache_share"
    yield Rule(without_kernel, of_kernels, "pegasos without a kernel makes a linear model", "add ⟦kernel rbf⟧")
    said, hint = "the linear kernel has no gamma", "leave out ⟦gamma⟧, or use ⟦kernel rbf⟧"
    yield Rule({"kernel": Is(("linear",))}, ("gamma",), said, hint)
    yield Rule({"solver": A_MACHINE}, ("loss",), "{solver} minimises the hinge, not {loss}", DANE)
    yield Rule({"solver": A_MACHINE}, ("l1", "constrain"), "{solver} has neither ⟦l1⟧ nor ⟦constrain⟧", DANE)
    kernels: tuple[When, ...] = {"solver": Is(("kernel",))}, {"kernel": GIVEN}
    for kernel in kernels:
        said = "a kernel takes no ⟦map⟧: it sees the columns as they are"
        yield Rule(kernel, ("map",), said, "leave out one of them")
        said = "a kernel takes no ⟦nulls {nulls}⟧: it sees the columns as they are"
        yield Rule({**kernel, "nulls": Is((INDICATOR,))}, (), said, "use ⟦nulls mean⟧")
    said = "{solver} takes neither ⟦folds⟧ nor ⟦probability⟧: it learns from a sample"
    yield Rule({"solver": A_MACHINE}, ("folds", "probability"), said, HOLDOUT)
    said = "pegasos penalises the intercept, or has none"
    yield Rule({"solver": Is(("pegasos",)), "intercept": Is(("free",))}, (), said, "use ⟦solver kernel⟧")
    standard = {"solver": DESCENT, "scale": Is(("standard",))}
    yield Rule(standard, (), "descent needs features in [-1, 1]", "use ⟦scale maxabs⟧")
    said = "descent needs counts within a factor, and the grid gives none"
    yield Rule({"solver": DESCENT, "counting": Is(("grid",))}, (), said, "use ⟦counting sketch⟧, or exact")
    yield Rule({"solver": DESCENT}, ("loss",), "descent minimises the hinge, not {loss}", DANE)
    said = "descent has neither ⟦l1⟧ nor ⟦constrain⟧, and penalises the intercept"
    yield Rule({"solver": DESCENT}, ("l1", "constrain"), said, DANE)
    yield Rule({"solver": DESCENT, "intercept": Is(("free",))}, (), said, DANE)
    yield Rule({"solver": DESCENT}, ("folds",), "descent takes no ⟦folds⟧: it begins each training at 0", DANE)
    said = "sketched counts prove nothing: they are no cuts"
    yield Rule({"solver": Not(("descent",)), "counting": Is(("sketch",))}, (), said, "use ⟦solver descent⟧")
    said = "⟦solver {solver}⟧ always begins at 0: leave out ⟦warm_start⟧ and --resume"
    yield Rule({"solver": A_MACHINE}, ("from", "resume"), said, DANE)
    said = "⟦solver descent⟧ begins at 0, as in the paper: leave out ⟦warm_start⟧"
    yield Rule({"solver": DESCENT}, ("from",), said, DANE)
    said = "⟦solver {solver}⟧ takes one value of {several}: its steps do not share passes"
    yield Rule({"solver": NO_CUTS, "several": GIVEN}, (), said, "use ⟦solver dane⟧, or train one after the other")


def _of_choosing() -> Iterator[Rule]:
    """Of lambda, l1 and the loss, where these are auto."""
    for name in CHOSEN:
        auto: When = {name: CHOOSES}
        yield Rule({**auto, "solver": NO_CUTS}, (), f"{{solver}} takes no ⟦{name} auto⟧", DANE)
    said = "⟦lam auto⟧ and ⟦l1 auto⟧: one of them is chosen where the other is given"
    yield Rule(dict.fromkeys(STRENGTHS, CHOOSES), (), said, "give one of them a number")
    said = "⟦measure⟧ decides what auto chooses, and neither ⟦lam⟧, ⟦l1⟧ nor ⟦loss⟧ is auto"
    yield Rule(NOTHING_CHOSEN, ("measure",), said, "add ⟦lam auto⟧, or leave out ⟦measure⟧")
    said = "⟦loss auto⟧ compares losses, so it cannot be by the loss"
    for by, hint in (("measure", "leave out ⟦measure⟧: then it is by the AUC"), ("select", "use --select accuracy")):
        yield Rule({"loss": CHOOSES, by: Is(("loss",))}, (), said, hint)
    yield from _deciding("measure")


def _deciding(option: str) -> Iterator[Rule]:
    """A measure that decides is one of the label."""
    for loss, label in ((NUMBER, A_NUMBER), (Not(NUMBER_LOSSES), TWO)):
        measures = deciding(label)
        said = f"⟦{option} {{{option}}}⟧ is not for a label with {label}"
        yield Rule({"loss": loss, option: Not((None, *measures))}, (), said, f"take {_or(measures)}")


def _of_parts() -> Iterator[Rule]:
    """Of rows that are left out, and of groups."""
    said = "⟦probability⟧ is of two classes, and ⟦loss {loss}⟧ is for numbers"
    yield Rule({"loss": NUMBER}, ("probability",), said, "leave out ⟦probability⟧")
    unseen = {"holdout": MISSING, "folds": MISSING}
    yield Rule(unseen, ("probability",), "⟦probability⟧ needs rows that the training has not seen", UNSEEN)
    said = "⟦folds⟧ and ⟦holdout⟧ both leave out rows to measure the model"
    yield Rule({"folds": GIVEN}, ("holdout",), said, "give one of them")
    said = "⟦split_by⟧ says which rows stay together in ⟦holdout⟧ and ⟦folds⟧, and where ⟦lam⟧ is auto"
    yield Rule({**unseen, **NOTHING_CHOSEN}, ("split_by",), said, UNSEEN)
    said = "⟦time⟧ says which rows of ⟦holdout⟧ and ⟦folds⟧ are later, and where ⟦lam⟧ is auto"
    yield Rule({**unseen, **NOTHING_CHOSEN}, ("time",), said, UNSEEN)
    said = "⟦holdout {holdout}⟧ says from when on rows are kept out, and no column says when a row is"
    yield Rule({"holdout": Start(), "time": MISSING}, (), said, "add ⟦time COLUMN⟧; a share is between 0 and 1")
    said = "⟦split_by⟧ keeps rows of one value together, and ⟦time⟧ separates earlier from later ones"
    yield Rule({"time": GIVEN}, ("split_by",), said, "give one of them")
    yield Rule({"time": MISSING}, ("gap",), "⟦gap⟧ lies between earlier and later rows", "add ⟦time COLUMN⟧")
    groups = {"by": GIVEN}
    yield Rule({**groups, "solver": NO_CUTS}, (), "{solver} trains no groups", "use ⟦solver dane⟧, or leave out ⟦by⟧")
    said = "⟦by⟧ takes no fair: constraint, whose covariance is over all rows"
    yield Rule({**groups, "constrain": Has("fair:")}, (), said, "train one group alone, with WHERE")
    said = "the loss {loss} is for numbers, which have no classes"
    yield Rule({"loss": NUMBER}, ("class_weight",), said, "leave out ⟦class_weight⟧")


def _of_sets() -> Iterator[Rule]:
    """Of several values, and of the place where models are kept."""
    alone, one = {"several": MISSING}, "give ⟦lam⟧ or ⟦l1⟧ several values"
    said = "--one-standard-error needs --select and ⟦folds⟧: the folds give the error"
    for missing in ("select", "folds"):
        yield Rule({missing: MISSING}, ("one_standard_error",), said, "add ⟦folds 5⟧ --select loss")
    yield Rule(alone, ("select",), "--select chooses among models", one)
    yield Rule(alone, ("png",), "--png draws several models", one)
    said = "--model-file keeps one model, and several values make several"
    yield Rule({"several": GIVEN, "select": MISSING}, ("model_file",), said, "add --select")
    said = "--select compares models of one loss, and each quantile is another"
    yield Rule({"several": Is(("⟦quantile⟧",))}, ("select",), said, "leave out --select")
    said = "--select measures models on rows that they have not seen"
    yield Rule({"holdout": MISSING, "folds": MISSING}, ("select",), said, UNSEEN)
    yield from _deciding("select")
    said = "--resume continues from passes, and ⟦warm_start⟧ from a model"
    yield Rule({"resume": GIVEN}, ("from",), said, "give one of them")
    said = "⟦work_schema⟧ makes tables on the server, and ⟦offload⟧ does not"
    yield Rule({"offload": GIVEN}, ("work_schema",), said, "choose one of them")


def _of_programs() -> Iterator[Rule]:
    stored = {"program": GIVEN}
    said = "a stored program trains by cuts: by dane or bundle, counting exactly or on a grid"
    hint = "⟦solver dane⟧; sqlsvm.pseudo_gradient has the step of descent"
    yield Rule({**stored, "solver": NO_CUTS}, (), said, hint)
    yield Rule({**stored, "counting": Is(("sketch",))}, (), said, hint)
    hint = "leave rows out in WHERE, or hold them out of sqlsvm train ⟦holdout⟧"
    said = "a stored program takes no ⟦nulls {nulls}⟧: the columns it would add depend on the rows there are"
    of_rows = "use ⟦nulls mean⟧, or train with sqlsvm train: sqlsvm.predict knows its model"
    yield Rule({**stored, "nulls": Is((INDICATOR,))}, (), said, of_rows)
    said = "a stored program takes no ⟦rare⟧: where all categories are rare, nothing would be left of a feature"
    yield Rule(stored, ("rare",), said, "⟦top COLUMN:NUMBER⟧ keeps the most frequent ones")
    yield Rule(stored, ("holdout",), "a stored program trains on all rows of its query", hint)
    hint = "train with sqlsvm train, and sqlsvm.predict knows its model"
    said = "a stored program takes no {constraint} constraint"
    for kind in ("fair:", "custom:"):
        yield Rule({**stored, "constrain": Has(kind)}, (), said.format(constraint=kind), hint)
    said = "a stored program takes no constraints with an intercept without a penalty"
    yield Rule({**stored, "constrain": GIVEN, "intercept": Is(("free",))}, (), said, hint)
    said = "{flag} is for sqlsvm train: a stored program trains one model, on all rows"
    yield Rule(stored, ("by", "folds", "split_by", "time", "gap", "probability", "offload"), said, hint)


def _of_label() -> Iterator[Rule]:
    """With more than two classes."""
    many, said = {"classes": GIVEN}, "the label {label} has {classes} classes, and "
    no_steps = said + "{solver} trains two"
    yield Rule({**many, "solver": NO_CUTS}, (), no_steps, DANE, "label known")
    for option in ("select", "measure"):
        measures, missing = deciding(SEVERAL), f"there is no {{{option}}} of a label with more than two classes"
        yield Rule({**many, option: Not((None, *measures))}, (), missing, f"take {_or(measures)}", "label known")


def _of_plan() -> Iterator[Rule]:
    """The paper bounds |beta|.|x| from the tables; of a sum only the terms are there."""
    said = "descent needs features of one relation, and {sums} adds up several"
    hint = "use ⟦solver dane⟧, or a column for each relation"
    yield Rule({"solver": DESCENT, "sums": GIVEN}, (), said, hint, "plan known")
    said = "⟦folds⟧ cannot part the rows of {optional}: it is behind a LEFT JOIN"
    hint = "read the label from a relation that is not behind a LEFT JOIN"
    yield Rule({"optional": GIVEN}, ("folds",), said, hint, "plan known")


RULES = (*_of_steps(), *_read(), *_of_choosing(), *_of_parts(), *_of_sets(), *_of_programs(), *_of_label(), *_of_plan())
