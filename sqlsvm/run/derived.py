"""A relation of which a part is made once: its rows are in a working table, and the query reads that."""

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.statement import Statement
from sqlsvm.engine.base import Column
from sqlsvm.query import FeatureQuery
from sqlsvm.run.workspace import Workspace

NOTHING: Mapping[Column, exp.Expression] = {}


def derived(
    work: Workspace,
    query: FeatureQuery,
    alias: str,
    table: str,
    said: str,
    more: Mapping[Column, exp.Expression] = NOTHING,
) -> FeatureQuery:
    """The same query over the rows that meet the conditions of a relation. They have the columns that the query uses,
    and some more."""
    relation, used, marks = query.relation(alias), query.used_columns(alias), {}
    if alias == query.label_relation:
        marks = {Column(name, "double", "numeric"): value for name, value in query.marks.items()}
        query = replace(query, marks={name: sql.named(name, alias) for name in query.marks})
    more = {**more, **marks}
    values = [*(sql.named(c.name, alias) for c in used), *(exp.alias_(value, c.name) for c, value in more.items())]
    rows = exp.select(*values).from_(relation.serving(values)).where(*(f.copy() for f in relation.filters))
    work.run([Statement(f"rows of {alias} {said}", rows, table)])
    source, columns = sql.users_table(table, alias), (*used, *more)
    return query.with_relation(replace(relation, source=source, columns=columns, filters=(), computed=(), brought=None))
