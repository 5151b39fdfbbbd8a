"""Which place of theta a category has: by CASE where they are few, else by a look into the table of the dictionary."""

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.design import Dictionary


def placed(found: exp.Select, d: Dictionary, rows: str) -> tuple[exp.Select, exp.Expression]:
    """A SELECT that has rows with categories, able to say their place n; NULL where a row has no category."""
    if d.listed:
        return found, d.listing(sql.integer, rows)
    meet = [sql.equal(sql.column("v", d.table), sql.column(d.column, rows))]
    return sql.join(found, exp.to_table(d.table), meet, "left"), sql.column("n", d.table)


def number_column(d: Dictionary) -> str:
    """What the place is called where rows have several."""
    return f"n{d.number}"
