"""What a compiled program is made of."""

from dataclasses import dataclass

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.plan.parameters import THETA


@dataclass(frozen=True)
class Statement:
    """One named query. With `table` its rows are kept under that name for the statements after it; without, they are
    an answer for the driver. `parameters` are the names of its $1, $2, ..."""

    name: str
    query: exp.Query
    table: str | None = None
    parameters: tuple[str, ...] = ()


def statement(name: str, query: exp.Query, table: str | None = None) -> Statement:
    """Numbers the named parameters of a query in the order in which they appear."""
    query = query.copy()  # parts of a query may be shared; numbering must see each of them
    placeholders = list(query.find_all(exp.Placeholder))
    names = list(dict.fromkeys(placeholder.name for placeholder in placeholders))
    for placeholder in placeholders:
        placeholder.replace(exp.Parameter(this=sql.integer(names.index(placeholder.name) + 1)))
    return Statement(name, query, table, tuple(names))


def theta(index: exp.Expression) -> exp.Expression:
    """The coordinate theta[index], counted from 1, of the one array parameter."""
    return sql.element(sql.array(THETA), index)
