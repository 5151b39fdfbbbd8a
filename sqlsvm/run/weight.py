"""The weight of a row of the join must be a number that is not negative.

All proofs need that. A row with a negative weight could raise a cut above the objective, and a row whose weight is NULL
would be ignored without a message.
"""

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.copies import working_tables
from sqlsvm.errors import DataError
from sqlsvm.plan.plan import Plan
from sqlsvm.query import Feature, FeatureQuery
from sqlsvm.query.rows import rows_of
from sqlsvm.run.measuring import read_moments
from sqlsvm.run.workspace import Workspace


def check_weight(work: Workspace, query: FeatureQuery, plan: Plan) -> None:
    if plan.design.weight is not None:
        check_weight_of(work, query, plan.design.weight, lambda mark: _total(work, plan, mark))


def check_weight_of(work: Workspace, query: FeatureQuery, weight: Feature, total: Callable[[Feature], float]) -> None:
    """Check the rows of its relation. If some are wrong, check the join, which may leave them out: `total` is that of
    another weight."""
    w, rows = sql.column("w"), rows_of(query, weight.relation, [(weight.expression.copy(), "w")])
    counts = [(sql.total(_one_if(sql.is_null(w))), "missing"), (sql.total(_one_if(is_odd(w))), "odd")]
    found = work.engine.fetch(sql.select(counts, sql.derived(rows, "r")))
    own = weight.expression.sql(query.dialect)

    def in_the_join(bad: Callable[[exp.Expression], exp.Expression]) -> float:
        """How many rows have such a weight: the total if these weigh 1 and the others 0."""
        return total(replace(weight, expression=_one_if(bad(weight.expression))))

    if found["odd"][0] > 0 and (n := in_the_join(is_odd)):
        raise DataError(
            f"the weight {weight.name} is negative, NaN or infinite in {n:,.0f} rows of the join",
            detail="the proofs need weights of at least 0",
            hint=f"leave them out: WHERE {own} >= 0 AND {own} < 'Infinity'",
        )
    if found["missing"][0] > 0 and (n := in_the_join(sql.is_null)):
        raise DataError(
            f"the weight {weight.name} is NULL in {n:,.0f} rows of the join",
            hint=f"say how much they count: COALESCE({own}, 1) AS {weight.name}; or leave them out: --nulls drop",
        )


def is_odd(w: exp.Expression) -> exp.Expression:
    """NOT (w >= 0 AND w < infinity). On both engines NaN is greater than all numbers. A NULL is not odd."""
    number, infinity = sql.double(w.copy()), sql.double(exp.Literal.string("Infinity"))
    not_negative = sql.at_least(number, 0)
    return exp.not_(exp.and_(not_negative, sql.less(number.copy(), infinity)))


def _total(work: Workspace, plan: Plan, mark: Feature) -> float:
    """Of the rows of the join, if a row weighs this."""
    design = plan.design
    marked = replace(design, weight=mark, target=replace(design.target, class_weights=(1.0, 1.0)))
    marking = replace(plan, design=marked)
    with work.scratch():
        work.run(working_tables(marking))
        return read_moments(work, marking, frozenset({"total"})).n


def _one_if(condition: exp.Expression) -> exp.Expression:
    return sql.case(condition, 1.0, 0.0)
