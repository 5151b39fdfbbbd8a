"""The place of theta for a category: by CASE if there are few, else from the table of the dictionary."""

from collections.abc import Sequence

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.plan.design import Dictionary


def placed(found: exp.Select, d: Dictionary, rows: str) -> tuple[exp.Select, exp.Expression]:
    """A SELECT from rows with categories, and their place n there; NULL for a row without a category."""
    if d.listed:
        return found, d.listing(sql.integer, rows)
    same = sql.equal(sql.column("v", d.table), sql.column(d.column, rows))
    return sql.join(found, exp.to_table(d.table), [same], "left"), sql.column("n", d.table)


def by_category(
    numbers: Sequence[tuple[Dictionary, str]], added: Sequence[tuple[exp.Expression, str]], rows: exp.Expr
) -> exp.Select:
    """SELECT SUM(added), n FROM rows GROUP BY n, for the place n of each of these dictionaries, under its name; grouped
    by the categories themselves first, as g. n is NULL for a row without a category."""
    values = sql.columns((d.column for d, _ in numbers), rows.alias_or_name)
    grouped = sql.grouped(values, [(sql.total(value), name) for value, name in added], rows.copy())
    found = sql.select(sql.columns((name for _, name in added), "g"), sql.derived(grouped, "g"))
    for d, name in numbers:
        found, n = placed(found, d, "g")
        found = sql.also(found, [(n, name)])
    return found


def number_column(d: Dictionary) -> str:
    """What the place is called where rows have several."""
    return f"n{d.number}"
