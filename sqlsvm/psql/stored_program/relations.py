"""What a program reads and what it is given: relations under names of its own, parameters by their place."""

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.plan.catalog import rows_of
from sqlsvm.plan.parameters import (
    BOUND,
    BUCKETS,
    DENSITY,
    LABEL,
    LEVELS,
    LOWEST,
    POINTS,
    SHIFT,
    SLACK,
    THETA,
    WEIGHT_NEGATIVE,
    WEIGHT_POSITIVE,
    WIDTH,
    family,
)
from sqlsvm.plan.plan import Plan
from sqlsvm.query import FeatureQuery

PARAMETERS = (
    *(THETA, BOUND, BUCKETS, LABEL, LEVELS, SLACK, SHIFT, LOWEST, WIDTH, POINTS),
    *(WEIGHT_NEGATIVE, WEIGHT_POSITIVE, DENSITY),
)
"""The fields of the type sqlsvm._given, in their order."""


def own_relation(number: int) -> str:
    return f"sqlsvm_r{number}"


def over_own_relations(plan: Plan) -> Plan:
    """The same plan over relations of these names; how many rows they have was asked of the real ones."""
    query = plan.tree.query
    renamed = tuple(replace(r, source=_renamed(i, r.alias)) for i, r in enumerate(query.relations))
    return replace(plan, tree=replace(plan.tree, query=replace(query, relations=renamed)))


def _renamed(number: int, alias: str) -> exp.Expression:
    found = exp.to_table(own_relation(number))
    found.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    return found


def sources(query: FeatureQuery) -> Iterator[Statement]:
    """SELECT the columns that are used FROM each of the user's relations."""
    for number, relation in enumerate(query.relations):
        used = sorted({c.name for c in _columns(query) if c.table == relation.alias})
        outputs: list[exp.Expr] = [exp.column(name, table=relation.alias, quoted=True) for name in used]
        outputs = outputs or [exp.alias_(sql.integer(1), "one")]
        yield Statement(relation.alias, exp.select(*outputs).from_(relation.source.copy()), own_relation(number))


def row_counts(plan: Plan) -> Iterator[Statement]:
    """SELECT how many rows each relation brings to the join."""
    query = plan.tree.query
    for r in query.relations:
        rows = rows_of(query, r.alias, [(sql.integer(1), "one")])
        yield statement(r.alias, sql.select([(sql.count(), "n")], sql.derived(rows, "r")))


def _columns(query: FeatureQuery) -> Iterator[exp.Column]:
    expressions = [o.expression for o in query.valued]
    expressions += [f for r in query.relations for f in (*r.filters, *r.late_filters)]
    for expression in expressions:
        yield from expression.find_all(exp.Column)


# -- parameters --------------------------------------------------------------------------------------------------------


def numbered(given: Statement) -> Statement:
    """$1, $2, ... by the place of their names in PARAMETERS; the sample's points are made as they are needed."""
    query = given.query.copy()
    for placeholder in list(query.find_all(exp.Placeholder, exp.Parameter)):
        own = isinstance(placeholder, exp.Placeholder)
        name = placeholder.name if own else given.parameters[int(placeholder.name) - 1]
        placeholder.replace(exp.Parameter(this=sql.integer(PARAMETERS.index(family(name)) + 1)))
    return replace(given, query=query)
