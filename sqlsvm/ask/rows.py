"""The rows on which a model is measured: those of its query, of another one, that meet a condition, of a table."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from sqlglot import exp
from sqlglot.errors import ParseError

from sqlsvm import sql
from sqlsvm.engine.base import Bound, Column, Engine
from sqlsvm.engine.languages import LANGUAGES
from sqlsvm.errors import OptionError
from sqlsvm.model.model import Model
from sqlsvm.model.predict import input_rows
from sqlsvm.model.stored_query import stored_query
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.plan.target import Target, classes_known, two_known
from sqlsvm.query import FeatureQuery, parse
from sqlsvm.query.facts import Facts
from sqlsvm.query.names import column_of
from sqlsvm.query.read_query import Roles
from sqlsvm.query.rewrites.split import PARTS, HeldOut, Part, holdout_of, marked
from sqlsvm.run.data import Data, prepared
from sqlsvm.run.derived import reading
from sqlsvm.run.folding import prepared_part
from sqlsvm.run.offload import brought
from sqlsvm.run.opening import labelled
from sqlsvm.run.training import anew
from sqlsvm.run.workspace import Workspace
from sqlsvm.solve.loss import custom

Found = TypeVar("Found")


@anew
def on_all(
    engine: Engine,
    model: Model,
    measured: Callable[[Data], Found],
    *,
    offload: bool | None = None,
    target: Callable[[FeatureQuery], Target | None] = lambda query: None,
) -> Found:
    """`target` says what the rows are measured against, if it is not the label as it is."""
    with _rows(engine, model, offload) as (work, query):
        wanted = target(query) or classes_of(work, query, model)
        return measured(prepared(work, query, options_of(model), wanted, origins=model.origins))


@anew
def on_parts(
    engine: Engine,
    model: Model,
    measured: Callable[[Data], Found],
    parts: Sequence[Part] = PARTS,
    *,
    offload: bool | None = None,
    held_out: Callable[[Data], Found] | None = None,
    holdout: HeldOut | None = None,
) -> dict[Part, Found]:
    """`held_out`: how the rows held out are measured, if that is another way. `holdout`: which they are, if the model
    does not know."""
    holdout = holdout or holdout_of(model.options)
    if holdout is None:
        raise OptionError(f"model {model.name} was trained on all rows", hint="train with ⟦holdout 0.2⟧, say")
    found: dict[Part, Found] = {}
    with _rows(engine, model, offload, holdout) as (work, query):
        for part in parts:
            with work.scratch():
                of_part = held_out if held_out and part == "holdout" else measured
                found[part] = of_part(part_for(work, query, model, holdout, part))
    return found


def part_for(work: Workspace, query: FeatureQuery, model: Model, holdout: HeldOut, part: Part) -> Data:
    """A part of a marked query, for what is asked of a model."""
    target = classes_of(work, query, model)
    return prepared_part(work, query, options_of(model), holdout, part, target=target, origins=model.origins)


def classes_of(work: Workspace, query: FeatureQuery, model: Model) -> Target | None:
    """Those of the model: the label's relation may have others, and lack some. None if it says itself what they
    are."""
    if model.kinds:
        return classes_known(work.engine, query, model.kinds)
    return None if model.of_numbers else two_known(work.engine, query, model.trained_on.label_values)


@contextmanager
def _rows(
    engine: Engine, model: Model, offload: bool | None, holdout: HeldOut | None = None
) -> Iterator[tuple[Workspace, FeatureQuery]]:
    query = labelled(engine, stored_query(engine, model), options_of(model), model.maps)
    query = marked(holdout)(query, Facts(engine))
    with brought(engine, query, offload) as (here, query), reading(here, query) as (work, query):
        yield work, query


def roles_of(model: Model) -> Roles:
    """What its outputs were, for what is asked about its query."""
    asked = options_of(model)
    return {"label": asked.label, "weight": asked.weight, "categorical": asked.categorical}


def options_of(model: Model) -> ProblemOptions:
    """What its rows were made by. Class weights and scaling are matters of the training alone: the weights of a model
    are those of the query's own columns."""
    stored = model.options.get("problem", {})
    kept = {name: stored[name] for name in _KEPT if name in stored}
    return ProblemOptions(
        label=model.label,
        positive=model.positive,
        nulls=model.nulls,
        categorical=tuple(stored.get("categorical", ())),
        constrain=tuple(stored.get("constrain", ())),
        pieces=custom.given(stored.get("pieces", ())),
        scale="none",
        **kept,
    )


_KEPT = "by", "time", "weight", "counting", "intercept", "loss", "width", "tube", "quantile", "delta"


FILES = ".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet"  # of these the database finds the types


def of_query(engine: Engine, model: Model, text: str) -> Model:
    """The same model over the rows of a query with the same features and label. It is the caller's own."""
    known = replace(model.trained_on, names=() if isinstance(text, Bound) else None)
    return replace(model, query=text, dialect=engine.dialect, owner="", trained_on=known)


def where(engine: Engine, model: Model, condition: str) -> Model:
    """Over the rows of its query that meet a condition too: over its tables, or over its outputs if it groups rows."""
    text = stored_query(engine, model)
    try:
        more = exp.condition(condition, dialect=engine.dialect)
    except ParseError as error:
        raise OptionError(f"--where {condition}: this is no condition", detail=str(error).split("\n")[0]) from error
    query = parse(text, engine.dialect)
    if isinstance(text, Bound):  # the names of the condition are the caller's
        alone = query.copy()
        alone.set("expressions", [exp.Literal.number(1)])
        for part in ("where", "group", "having", "order", "limit", "qualify", "distinct"):
            alone.set(part, None)
        more = engine.bound(alone.where(more)).args["where"].this
    found = query.where(more).sql(dialect=engine.dialect)
    return of_query(engine, model, Bound(found) if isinstance(text, Bound) else found)


def of_input(engine: Engine, model: Model, rows: str) -> Model:
    """Over a table, a SELECT or a file, whose columns are named as features and label."""
    is_file = LANGUAGES[engine.dialect].names_files and rows.lower().endswith(FILES)
    source = exp.select("*").from_(exp.to_identifier(rows, quoted=True)) if is_file else input_rows(engine, rows)
    known = engine.describe(source)
    named = [exp.alias_(_column(engine, model, known, name), name, quoted=True) for name in _read(model)]
    text = exp.select(*named).from_(source.subquery("r")).sql(dialect=engine.dialect)
    options = {**model.options, "problem": {**model.options.get("problem", {}), "time": None}}
    return replace(of_query(engine, model, text), options=options)


def _read(model: Model) -> Iterator[str]:
    """The columns that a row must have: features, or what maps make them of, and the roles."""
    options, made = model.options.get("problem", {}), {name for each in model.maps for name in each.formulas}
    columns = [name for name in model.features if name not in made]
    columns += [name for each in model.maps for name in each.columns]
    roles = (options.get(role) for role in ("weight", "by"))
    return iter(dict.fromkeys([*columns, model.label, *(name for name in roles if name)]))


def _column(engine: Engine, model: Model, known: tuple[Column, ...], name: str) -> exp.Column:
    names = {c.name: c.name for c in known}
    return sql.named(column_of(name, names, engine.fold, f", which model {model.name} needs"), "r")
