"""The predictions of a model: as an SQL expression, as a table or a view, as CSV, or as Parquet.

The rows are those of the model's query, or any others whose columns have the names of its features.
"""

import csv
import logging
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Literal, TextIO

from sqlglot import exp
from sqlglot.errors import SqlglotError

from sqlsvm import sql
from sqlsvm.engine.base import Column, Engine, StatementError
from sqlsvm.engine.languages import LANGUAGES
from sqlsvm.errors import OptionError, nearest
from sqlsvm.model.model import Model, Term
from sqlsvm.model.score import (
    PREDICTION,
    PROBABILITY,
    SCORE,
    Curve,
    Named,
    Operand,
    Operands,
    chance_of,
    class_of,
    curve_of,
    numbers,
    predictions,
    predictions_of_classes,
    probabilities_of_classes,
    score,
)
from sqlsvm.model.stored_query import stored_query
from sqlsvm.query import parse
from sqlsvm.query.facts import Facts
from sqlsvm.query.guards import Fragment, as_typed
from sqlsvm.query.names import column_of
from sqlsvm.query.parse import statements
from sqlsvm.query.read_query import fast, taken_apart
from sqlsvm.query.rewrites.kinds import plain_keys
from sqlsvm.query.rewrites.split import by_column
from sqlsvm.query.rows import render, typed_outputs
from sqlsvm.times import TIMES

steps = logging.getLogger(__name__)

Of = Literal["features", "query"]
Kind = Literal["table", "view"]

UTC = ("UTC", "Etc/UTC")
_ZONE = re.compile(r"[\w+:-]+(/[\w+:-]+)*")
_NAMES = """write table, schema.table or, in double quotes within others, '"My Table"'"""


def predict(engine: Engine, model: Model, rows: str | None = None, *, probability: bool = False) -> exp.Select:
    """The rows with two more columns, score and prediction, and with the probability; with that of each class, where
    there are more than two. `rows` is a table, a SELECT or, in DuckDB and Spark, a CSV or Parquet file; None is the
    query of the model."""
    if probability:
        model.must_be_likely()
    engine.in_zone(model.trained_on.zone)
    source = query_rows(engine, model) if rows is None else input_rows(engine, rows)
    columns = _described(engine, source, rows)
    named = _named(columns, model, probability=probability)
    operands, again = _operands(engine, model, columns, "r"), _operands(engine, model, columns, "s")
    curves = curves_of(model, again) if probability else []
    if model.kinds:
        _check_distinct(columns)
        scores = [score(part, operands) for part in model.against_others]
        return predictions_of_classes(source, [c.name for c in columns], scores, model.kinds, curves, named)
    made = score(model, operands)
    if model.of_numbers:
        return numbers(source, made, named)
    single = engine.abilities.single  # 0.9 is equal to no real, but the real that is written 0.9 is
    type = next((single for c in columns if (c.name, c.type) == (model.label, single)), None)
    return predictions(source, made, model.trained_on.label_values, type, next(iter(curves), None), named)


def _named(columns: tuple[Column, ...], model: Model, *, probability: bool) -> Named:
    """What is added has another name if the rows have a column of its name, in letters of any case."""
    taken = {column.name.lower() for column in columns}

    def free(name: str) -> str:
        own = [Named(probability=name).of_class(kind) for kind in model.kinds] if name == PROBABILITY else []
        if not taken.intersection(each.lower() for each in own or [name]):
            return name
        if f"{sql.WORKING}{name}" in taken:
            hint = "give them other names in a SELECT of your own"
            raise OptionError(f"the rows have columns {name} and {sql.WORKING}{name} already", hint=hint)
        return f"{sql.WORKING}{name}"

    return Named(free(SCORE), free(PREDICTION), free(PROBABILITY) if probability else PROBABILITY)


def _check_distinct(columns: tuple[Column, ...]) -> None:
    """Where columns are named one by one, because the scores of the classes do not belong to the answer, and in a file
    whose columns are found by name."""
    names = [column.name for column in columns]
    for name in names:
        if names.count(name) > 1:
            hint = "give one of them another name in a SELECT of your own"
            raise OptionError(f"the rows have two columns with the name {name}", hint=hint)


def curves_of(model: Model, operands: Operands) -> list[Curve]:
    """That of the positive class, or those of each class against all others."""
    return [curve_of(one, operands) for one in model.against_others or (model,)]


def _described(engine: Engine, source: exp.Query, rows: str | None) -> tuple[Column, ...]:
    try:
        return engine.describe(source)
    except StatementError as error:
        if rows is None:
            raise
        hint = (
            nearest(rows, engine.table_names())
            or "--input takes a table, a SELECT or, in DuckDB and Spark, a CSV or Parquet file"
        )
        raise OptionError(f"cannot read the input: {error.message}", detail=error.detail, hint=hint) from error


# -- text --------------------------------------------------------------------------------------------------------------


def score_sql(model: Model, dialect: str | None = None, of: Of = "features", *, probability: bool = False) -> str:
    """The score, or the probability, as one expression: over columns named as the features are, or over the query's
    own expressions. Of a model with more than two classes, the class, or an array of the probabilities of all."""
    if probability:
        model.must_be_likely()
    own, into = _own_expressions(model) if of == "query" else {}, dialect or model.dialect

    def operand(term: Term) -> Operand:
        value = own.get(term.feature) or own.get(term.feature.lower()) or exp.column(term.feature, quoted=True)
        return Operand(value, term.kind)

    curves = curves_of(model, operand) if probability else []
    if model.kinds:
        scores = [score(part, operand) for part in model.against_others]
        found = probabilities_of_classes(scores, curves) if curves else class_of(scores, model.kinds)
    else:
        found = score(model, operand)
        found = chance_of(curves[0], found) if curves else found
    return _text(found, into) + _of_zone(model.trained_on.zone)


def _of_zone(zone: str | None) -> str:
    """A comment, where hours and days of a time with a zone are not those of UTC."""
    is_other = zone and zone not in UTC and _ZONE.fullmatch(zone)
    return f" /* for a session in the time zone {zone} */" if is_other else ""


def _text(found: exp.Expr, dialect: str) -> str:
    """What a name stands for is computed once, also where a long curve uses the name often. The same in any session: a
    category may be the text of somebody who writes what would come after it."""
    language = LANGUAGES.get(dialect)
    found = sql.with_offsets(found) if language and language.pulls_up else found
    for string in [*found.find_all(exp.Literal)] if language and language.escapes else ():
        if string.is_string and "\\" in string.name:
            string.replace(exp.ByteString(this=string.name))
    return found.sql(dialect=dialect)


def _own_expressions(model: Model) -> dict[str, exp.Expression]:
    """The outputs of the query as typed, by name. Those of `*` are missing, but each has its feature's name anyway."""
    found: dict[str, exp.Expression] = {}
    for item in parse(model.query, model.dialect).expressions:
        inner = own = item.unalias()
        while isinstance(inner, exp.Cast | exp.Paren):
            inner = inner.this
        name = item.alias or (inner.name if isinstance(inner, exp.Column) else as_typed(item, model.dialect))
        found |= {name: own, name.lower(): found.get(name.lower(), own)}
    return found


# -- rows --------------------------------------------------------------------------------------------------------------


def query_rows(engine: Engine, model: Model) -> exp.Select:
    """The model's query, with each output under the name of its feature, and with the column that makes groups."""
    text = stored_query(engine, model)
    query, facts = taken_apart(engine, text), Facts(engine)
    outputs = {name: value for value, name in typed_outputs(query)}
    if model.by and model.by not in outputs:
        by = by_column(model.by)(taken_apart(engine, text, label=model.label), facts).by
        assert by
        outputs[by.name] = by.typed
    query = plain_keys(query, facts)  # as the training compares them
    return render(query, [(value, name) for name, value in outputs.items()])


def input_rows(engine: Engine, text: str) -> exp.Query:
    """SELECT * FROM the table or file of this name, or the SELECT itself."""
    if text.lower().endswith((".csv", ".tsv", ".csv.gz", ".tsv.gz")):
        return engine.csv(text)
    if text.lower().endswith(".parquet"):
        return exp.select("*").from_(exp.Table(this=exp.to_identifier(text, quoted=True)))
    try:
        (tree,) = statements(text, engine.dialect)
    except (SqlglotError, ValueError) as error:
        raise OptionError("the input is neither a table nor one SELECT", detail=text) from error
    if isinstance(tree, exp.Column | exp.Dot):
        tree = exp.select("*").from_(exp.to_table(text, dialect=engine.dialect))
    if not isinstance(tree, exp.Query) or tree.find(exp.DML):
        raise OptionError("the input is neither a table nor one SELECT", detail=text)
    sql.keep_names(tree)
    return fast(engine, engine.bound(tree))


def _operands(engine: Engine, model: Model, columns: tuple[Column, ...], rows: str) -> Operands:
    by_name = {c.name: c for c in columns}

    def operand(term: Term) -> Operand:
        column = column_of(term.feature, by_name, engine.fold, f", which model {model.name} needs")
        return _operand(model, term, column, rows)

    return operand


def _operand(model: Model, term: Term, column: Column, rows: str) -> Operand:
    value = exp.column(column.name, table=rows, quoted=True)
    if column.kind == "other":
        raise OptionError(f"feature {term.feature} of model {model.name} is of type {column.type} in these rows")
    if column.kind == "categorical" and term.kind == "boolean":
        return Operand(exp.cast(value, exp.DType.BOOLEAN), "boolean")
    if column.kind == "categorical" and term.kind in TIMES:
        return Operand(exp.cast(value, TIMES[term.kind].type), term.kind)
    if _unit(column.kind) != _unit(term.kind):
        said = f"feature {term.feature} of model {model.name} is a {term.kind}, and in these rows a {column.kind}"
        raise OptionError(said, hint="cast it in a SELECT of your own")
    return Operand(value, column.kind)


def _unit(kind: str) -> str:
    return TIMES[kind].unit if kind in TIMES else ""


# -- where they go -----------------------------------------------------------------------------------------------------


def save(
    engine: Engine,
    found: exp.Select,
    name: str,
    kind: Kind = "table",
    *,
    overwrite: bool = False,
    security_invoker: bool = False,
) -> None:
    """CREATE TABLE or VIEW name AS the predictions. With `overwrite` an existing one is replaced, if nothing fails.
    With `security_invoker` a view has the rights of the role that reads it."""
    target, properties = _target(engine, name), _properties(engine, security_invoker)
    found = sql.unfenced(found) if kind == "view" else found
    made = exp.Create(this=target, kind=kind.upper(), expression=found, properties=properties)
    with _placing(name, overwrite):
        engine.create(made, overwrite=overwrite)


def write_parquet(engine: Engine, found: exp.Select, path: str, *, overwrite: bool = False) -> None:
    """The predictions as a Parquet file, with the types that the columns have in the engine."""
    _check_distinct(engine.describe(found))
    with _placing(path, overwrite):
        engine.write_parquet(found, path, overwrite=overwrite)


@contextmanager
def _placing(name: str, overwrite: bool) -> Iterator[None]:
    steps.info("writing the predictions")
    try:
        yield
    except OSError as error:
        raise OptionError(f"cannot write {name}", detail=str(error)) from error
    except StatementError as error:
        if overwrite and error.kind == "no such name":
            detail, hint = "a query that reads a table cannot replace it", "write the predictions to another table"
            raise OptionError(f"cannot replace {name}: {error.message}", detail=detail, hint=hint) from error
        if overwrite or error.kind not in ("exists", "taken"):
            raise
        raise OptionError(f"{name} exists already", hint="choose another name, or add --overwrite") from error


def _properties(engine: Engine, security_invoker: bool) -> exp.Properties | None:
    if not security_invoker:
        return None
    if not engine.abilities.invoker_views:
        raise OptionError(f"{engine.version} has no roles, so a view cannot have the rights of its reader")
    return exp.Properties(expressions=[exp.Property(this=exp.var("security_invoker"), value=exp.true())])


def _target(engine: Engine, name: str) -> exp.Table:
    """A name as SQL has it: schema.table, "Quoted Name"."""
    try:
        target = exp.to_table(name, dialect=engine.dialect)
    except (SqlglotError, ValueError) as error:
        raise OptionError(f"not the name of a table: {name}", hint=_NAMES) from error
    if not isinstance(target.this, exp.Identifier) or set(target.args) - {"this", "db", "catalog"}:
        raise OptionError(f"not the name of a table: {Fragment(target, engine.dialect)}", hint=_NAMES)
    return engine.placed(target)


_FORMULA = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""With these begins what a spreadsheet runs, as OWASP lists them."""

_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)", re.IGNORECASE | re.ASCII)


def _as_text(cell: str | None) -> str | None:
    """After a ' a spreadsheet shows the cell and does not run it."""
    return f"'{cell}" if cell and cell[0] in _FORMULA and not _NUMBER.fullmatch(cell) else cell


@dataclass(frozen=True)
class _Lines:
    """Lines end with LF. The writer puts quotes around a cell only if an end of its own lines is in it, and
    a reader takes a lone CR for one too."""

    out: TextIO

    def write(self, line: str) -> int:
        return self.out.write(line.removesuffix("\r\n") + "\n")


def write_csv(engine: Engine, found: exp.Select, out: TextIO, *, keep_formulas: bool = False) -> int:
    """Write a line of names, then all rows; a NULL is an empty cell. Returns the number of rows."""
    writer = csv.writer(_Lines(out), lineterminator="\r\n")
    columns = engine.describe(found)
    with engine.snapshot(found.find_all(exp.Table)), closing(engine.texts(_texts(found, len(columns)))) as rows:
        first = next(rows, None)  # before the names are written, so that an error leaves no output
        names = [column.name for column in columns]
        written = -1
        for row in chain([names], [first] if first else [], rows):
            writer.writerow(row if keep_formulas else map(_as_text, row))
            written += 1
    return written


def _texts(found: exp.Select, width: int) -> exp.Select:
    """All cells as the engine's own text, named c0, c1, ..., because two columns may have the same name."""
    names = [exp.to_identifier(f"c{i}") for i in range(width)]
    source = exp.Subquery(this=found, alias=exp.TableAlias(this=exp.to_identifier("p"), columns=names))
    return sql.select([(sql.text(sql.column(name.name)), name.name) for name in names], source)
