"""The relations of a program, under its own names, and its parameters, numbered by their place."""

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.prepare import key
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.plan.parameters import IN_ORDER, family
from sqlsvm.plan.plan import Plan, met, terms
from sqlsvm.query import FeatureQuery
from sqlsvm.query.rewrites.left_joins import inner
from sqlsvm.query.rows import rows_of


def own_relation(number: int) -> str:
    return f"sqlsvm_r{number}"


def own_relations(query: FeatureQuery) -> FeatureQuery:
    """The same query over relations of these names."""
    own = [sql.users_table(own_relation(i), r.alias) for i, r in enumerate(query.relations)]
    renamed = tuple(replace(r, source=source, computed=()) for r, source in zip(query.relations, own, strict=True))
    return replace(query, relations=renamed)


def planned_over(plan: Plan, query: FeatureQuery) -> Plan:
    """The same plan over other relations of these aliases. Their sizes are known from the real ones."""
    return replace(plan, tree=replace(plan.tree, query=inner(query)))


def sources(query: FeatureQuery) -> Iterator[Statement]:
    """SELECT the used columns FROM each of the user's relations."""
    for number, relation in enumerate(query.relations):
        names = sorted(c.name for c in query.used_columns(relation.alias))
        outputs = [sql.named(name, relation.alias) for name in names] if names else [sql.integer(1).as_("one")]
        yield Statement(relation.alias, exp.select(*outputs).from_(relation.serving(outputs)), own_relation(number))


def largest_groups(plan: Plan) -> Iterator[Statement]:
    """SELECT how many rows with one key there are at most, for the keys that bound the sums of messages."""
    query, variables = plan.tree.query, plan.tree.variables
    every = (*terms(plan), *(met(plan) if plan.centre else ()))
    for rows in dict.fromkeys(rows for of in every for rows in of.factors if rows.on):
        keys = [(variables[v].at(rows.relation)[0].expression.copy(), key(v)) for v in rows.on]
        brought = sql.derived(rows_of(query, rows.relation, keys), "r")
        sizes = sql.grouped(sql.columns([name for _, name in keys]), [(sql.count(), "c")], brought)
        largest = sql.or_zero(sql.largest("c"))
        yield statement(rows.name, sql.select([(largest, "n")], sql.derived(sizes, "g")))


# -- parameters --------------------------------------------------------------------------------------------------------


def numbered(given: Statement) -> Statement:
    """The statement with $1, $2, ... by the place of each name in IN_ORDER. All arrays of points have one place."""
    query = given.query.copy()
    for placeholder in list(query.find_all(exp.Placeholder, exp.Parameter)):
        own = isinstance(placeholder, exp.Placeholder)
        name = placeholder.name if own else given.parameters[int(placeholder.name) - 1]
        placeholder.replace(exp.Parameter(this=sql.integer(IN_ORDER.index(family(name)) + 1)))
    return replace(given, query=query)
