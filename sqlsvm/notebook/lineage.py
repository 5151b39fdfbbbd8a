"""Of which table, which span and which line of SQL each feature of a suggested query is."""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from sqlsvm.query.sources import from_items
from sqlsvm.suggestion.suggest import Suggestion


@dataclass(frozen=True)
class Line:
    feature: str
    table: str
    window: str
    sql: str


def lines(tree: exp.Select, suggestion: Suggestion, dialect: str) -> Iterator[Line]:
    for output in tree.expressions:
        if output.alias_or_name == suggestion.label:
            continue
        value = output.unalias()
        past = value.find(exp.Select)
        name = output.alias_or_name
        window = suggestion.windows.get(name, "")
        yield Line(name, _table(past or tree, value), window, value.sql(dialect, comments=False))


def _table(select: exp.Select, value: exp.Expr) -> str:
    """What a value is read from. Of a span between two times, that of the earlier one."""
    tables = [table for table in from_items(select) if isinstance(table, exp.Table)]
    column = next(reversed(list(value.find_all(exp.Column))), None)
    named = {table.alias_or_name: table.name for table in tables}
    return named.get(column.table, tables[0].name) if column else tables[0].name


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
