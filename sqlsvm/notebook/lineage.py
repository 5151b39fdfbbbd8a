"""Of which table, which span and which line of SQL each feature of a suggested query is."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from sqlsvm.suggestion.suggest import Suggestion

_WINDOW = re.compile(r"_(\d[\d_]*_(?:second|minute|hour|day|week|month|year)s?)$")


@dataclass(frozen=True)
class Line:
    feature: str
    table: str
    window: str
    sql: str


def lines(tree: exp.Select, suggestion: Suggestion, dialect: str) -> Iterator[Line]:
    own = tree.args["from_"].this
    made = {cte.alias: cte.this for cte in tree.ctes}
    for output in tree.expressions:
        if output.alias_or_name == suggestion.label:
            continue
        value, inside = output.unalias(), tree
        while isinstance(value, exp.Column) and (source := _source(inside, value)) in made and source != own.name:
            inside = made[source]
            value = next(e for e in inside.expressions if e.alias_or_name == value.name).unalias()
        window, is_history = _WINDOW.search(output.alias_or_name), inside is not tree
        span = window[1].replace("_", " ") if window else f"all before {suggestion.time}" if is_history else ""
        yield Line(output.alias_or_name, _table(inside, value, made), span, value.sql(dialect, comments=False))


def _source(select: exp.Select, column: exp.Column) -> str:
    """The name of the table that a column is of."""
    named = {table.alias_or_name: table.name for table in _tables(select)}
    return named.get(column.table, "")


def _tables(select: exp.Select) -> list[exp.Table]:
    from_ = select.args.get("from_")
    found = [from_.this, *(join.this for join in select.args.get("joins") or [])] if from_ else []
    return [each for each in found if isinstance(each, exp.Table)]


def _table(select: exp.Select, value: exp.Expr, made: dict[str, exp.Select]) -> str:
    """The table of the database behind a value: of a span between two times, that of the earlier one."""
    column = next(reversed(list(value.find_all(exp.Column))), None)
    name = _source(select, column) if column else ""
    while name in made:
        inner = [table.name for table in made[name].find_all(exp.Table) if table.name != name]
        name = next((each for each in reversed(inner) if each not in made), inner[0] if inner else "")
    return name


def with_time(tree: exp.Select, time: str) -> exp.Select:
    """The query with the time of each row as an output."""
    if time in tree.named_selects:
        return tree
    return tree.select(exp.column(time, tree.args["from_"].this.alias_or_name, quoted=True))


def at_time(tree: exp.Select, suggestion: Suggestion, at: str) -> exp.Select:
    """The query of the rows from a time on or, if it makes its rows, of the entities then; without the label."""
    found = tree.copy()
    found.set("expressions", [each for each in found.expressions if each.alias_or_name != suggestion.label])
    base = found.args["from_"].this
    literal = exp.Literal.string(at) if suggestion.is_dated else exp.Literal.number(at)
    times = next((cte.this for cte in found.ctes if cte.alias == f"{base.name}_times"), None)
    if times is None:
        return found.where(exp.column(suggestion.time, base.alias_or_name, quoted=True) >= literal)
    inner = times.args["from_"].this.this
    (when,) = inner.expressions
    cast = when.find(exp.Cast)
    value = exp.cast(literal, cast.to) if cast else literal
    inner.replace(exp.select(exp.alias_(value, when.alias)))
    return found
