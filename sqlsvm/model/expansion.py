"""The sum over support vectors as one SQL expression.

        SELECT SUM(coefficient * kernel(s of table 0 + s of table 1)) FROM
            (SELECT coefficient, columns FROM vectors JOIN rows of table 0 ON n = place in table 0 JOIN ...) AS vectors

The sub-query joins rows of tables to support vectors and does not depend on the row to score: DuckDB takes minutes
where each table depends on it. The numbers are in texts that are cast to arrays, which a database reads once and much
faster than VALUES. All names start with sqlsvm_, so that none of them hides a column of the rows to score.
"""

from collections.abc import Callable, Sequence

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.kernel.functions import DEGREE, Kernel
from sqlsvm.model.literals import exact
from sqlsvm.model.support import Support, SupportTable

Inputs = Callable[[str], exp.Expression]
"""The value of a feature in the row to score."""

SMALLEST = -700.0
"""PostgreSQL refuses exp of numbers that are much smaller."""


def expansion(support: Support, inputs: Inputs) -> exp.Expression:
    function = support.function
    sums = [_sum(n, table, function, inputs) for n, table in enumerate(support.tables)]
    weighed = sql.product(_name("c"), _kernel(function, sums))
    found = sql.derived(_vectors(support), "sqlsvm_v")
    return exp.select(exp.alias_(sql.total(weighed), "sqlsvm_score")).from_(found, copy=False).subquery(copy=False)


def _vectors(support: Support) -> exp.Select:
    """SELECT coefficient, the columns of each table FROM support vectors JOIN the different rows of each table"""
    places = [(f"p{n}", _wholes(table.rows)) for n, table in enumerate(support.tables)]
    vectors = sql.derived(_columns([("c", _numbers(support.coefficients)), *places]), "sqlsvm_p")
    cells = [_cells(n, table) for n, table in enumerate(support.tables)]
    outputs = [_name("c"), *(_name(name) for columns in cells for name, _ in columns)]
    found = sql.select(sql.columns(outputs), vectors)
    for n, (table, columns) in enumerate(zip(support.tables, cells, strict=True)):
        rows = _columns([(f"n{n}", _wholes(range(len(table.numbers)))), *columns])
        met = sql.equal(_name(f"n{n}"), _name(f"p{n}"))
        found = sql.join(found, sql.derived(rows, f"sqlsvm_t{n}"), [met])
    return found


def _cells(n: int, table: SupportTable) -> list[tuple[str, exp.Expression]]:
    numbers = [(f"x{n}_{i}", _numbers([row[i] for row in table.numbers])) for i in range(len(table.numeric))]
    codes = [(f"k{n}_{i}", _wholes([row[i] for row in table.codes])) for i in range(len(table.categorical))]
    return numbers + codes


def _sum(n: int, table: SupportTable, kernel: Kernel, inputs: Inputs) -> exp.Expression:
    """The inner product or the squared distance over the columns of a table."""
    terms = [_of_number(inputs(name), f"x{n}_{i}", kernel.by_distance) for i, name in enumerate(table.numeric)]
    terms += [_of_category(inputs(name), f"k{n}_{i}", kernel.by_distance) for i, name in enumerate(table.categorical)]
    return sql.plus(*terms)


def _of_number(value: exp.Expression, name: str, by_distance: bool) -> exp.Expression:
    if not by_distance:
        return sql.product(value, _name(name))
    difference = sql.minus(_name(name), value)
    return sql.product(difference, difference)


def _of_category(value: exp.Expression, name: str, by_distance: bool) -> exp.Expression:
    """A category is a column that is 1: the same gives 1, and two others are 2 apart. 0 is no category."""
    own, value = sql.column(_name(name)), exp.paren(value)
    same, none = sql.equal(own, value), sql.equal(sql.product(own, value), 0.0)
    if by_distance:
        return sql.case(same, 0.0, sql.case(none, 1.0, 2.0))
    return sql.case(sql.every([same, sql.positive(own)]), 1.0, 0.0)


def _kernel(kernel: Kernel, sums: Sequence[exp.Expression]) -> exp.Expression:
    if kernel.name == "additive":
        return sql.plus(*(_falling(kernel.gamma, s) for s in sums))
    s = sql.plus(*sums)
    if kernel.name == "linear":
        return s
    if kernel.name == "rbf":
        return _falling(kernel.gamma, s)
    scaled = sql.product(exact(kernel.gamma), s)
    if kernel.name == "sigmoid":
        return exp.Tanh(this=scaled)
    return sql.product(*(sql.plus(scaled, exact(1.0)) for _ in range(DEGREE)))


def _falling(gamma: float, s: exp.Expression) -> exp.Expression:
    """exp(-gamma s). Where s is NULL the score is NULL by its other terms."""
    return exp.Exp(this=sql.greatest(exact(SMALLEST), sql.product(exact(-gamma), s)))


# -- columns of numbers ------------------------------------------------------------------------------------------------


def _name(name: str) -> str:
    return f"sqlsvm_{name}"


def _columns(named: Sequence[tuple[str, exp.Expression]]) -> exp.Select:
    return sql.select([(values, _name(name)) for name, values in named])


def _numbers(values: Sequence[float]) -> exp.Expression:
    return _unnested(map(repr, map(float, values)), "double[]")


def _wholes(values: Sequence[int]) -> exp.Expression:
    return _unnested(map(str, values), "int[]")


def _unnested(texts: "map[str]", type: str) -> exp.Expression:
    parts = exp.StringToArray(this=exp.Literal.string(",".join(texts)), expression=exp.Literal.string(","))
    return exp.Explode(this=exp.cast(parts, exp.DataType.build(type)))
