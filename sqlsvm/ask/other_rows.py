"""Rows on which a model is measured besides those of its query: of another query, that meet a condition, of a table."""

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp
from sqlglot.errors import ParseError

from sqlsvm import sql
from sqlsvm.engine.base import Bound, Column, Engine
from sqlsvm.engine.languages import LANGUAGES
from sqlsvm.errors import OptionError
from sqlsvm.model.model import Model
from sqlsvm.model.predict import input_rows
from sqlsvm.model.stored_query import stored_query
from sqlsvm.query import parse
from sqlsvm.query.names import column_of

FILES = ".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet"
"""Of these the database finds the types."""


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
