"""Relations whose rows are made once: they are in a working table, and the query reads that."""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.statement import Statement
from sqlsvm.engine.base import Column, Engine
from sqlsvm.errors import QueryError
from sqlsvm.query import FeatureQuery, Relation
from sqlsvm.query.forms import RESULT, check_steady
from sqlsvm.query.ir import MADE
from sqlsvm.query.rewrites.kinds import with_label
from sqlsvm.run.clock import Clock
from sqlsvm.run.workspace import Workspace, workspace

NOTHING: Mapping[Column, exp.Expression] = {}
steps = logging.getLogger(__name__)


@contextmanager
def reading(
    engine: Engine, query: FeatureQuery, clock: Clock | None = None
) -> Iterator[tuple[Workspace, FeatureQuery]]:
    """A workspace for a query, whose parts that no join tree has are made in it."""
    with workspace(engine, clock, query.tables) as work:
        yield work, with_label(made(work, query), work.facts)


def made(work: Workspace, query: FeatureQuery) -> FeatureQuery:
    """The query over working tables with the rows of these parts. In a session that makes no tables, every statement
    finds the rows again."""
    if work.engine.inlines:
        check_steady(query)
        return counted(work.engine, query)
    for number, alias in enumerate(r.alias for r in query.relations if r.once and r.once.rows is None):
        query = _shared(work, query, alias)
        query = _made(work, query, query.relation(alias), f"{MADE}{number}")
    return query


def _shared(work: Workspace, query: FeatureQuery, alias: str) -> FeatureQuery:
    """The query over tables of the CTEs that several relations have, of those that this one has."""
    tables = {cte.alias: cte.this for cte in query.relation(alias).source.find_all(exp.CTE)}
    tables = {name: rows for name, rows in tables.items() if name.startswith(MADE)}
    work.run(Statement(f"{name} for {alias}", rows, name) for name, rows in tables.items())

    def plain(relation: Relation) -> Relation:
        source = relation.source.copy()
        for found in list(source.find_all(exp.With)):
            if tables.keys() >= {cte.alias for cte in found.expressions}:
                found.pop()
        return replace(relation, source=source)

    return replace(query, relations=tuple(map(plain, query.relations))) if tables else query


def _made(work: Workspace, query: FeatureQuery, relation: Relation, table: str) -> FeatureQuery:
    """Its own rows, without what others have brought to it. Other relations to which its columns were brought read the
    table too."""
    _check_size(work.engine, relation)
    own = relation.bare
    work.run([Statement(f"rows of {relation.alias}", _rows(work.engine, query, own), table)])
    source = sql.users_table(table, relation.alias)

    def over(other: Relation) -> Relation:
        found = other.source.transform(lambda node: source.copy() if node == own.source else node)
        if other.alias != relation.alias:
            return replace(other, source=found)
        left = [condition for condition in other.at_first if condition not in own.at_first]
        brought = other.brought and other.brought._replace(source=source.copy())
        return replace(other.over(found).where_at_first(left), brought=brought)

    query = replace(
        query,
        relations=tuple(map(over, query.relations)),
        relied=tuple(key._replace(relation=over(key.relation)) for key in query.relied),
    )
    found = _counted(work.engine, query.relation(relation.alias), sql.table(table))
    return query.with_relation(found)


def counted(engine: Engine, query: FeatureQuery) -> FeatureQuery:
    """The query whose parts that would be made are only counted."""
    for relation in query.relations:
        if relation.once and relation.once.rows is None:
            _check_size(engine, relation)
            query = query.with_relation(_counted(engine, relation, sql.derived(_rows(engine, query, relation), "r")))
    return query


def _rows(engine: Engine, query: FeatureQuery, relation: Relation) -> exp.Select:
    """With one more than there may be, so that this is noticed before a disk is full. A table holds no records, and no
    columns of one name, which nothing can read."""
    assert relation.once
    steps.info("making the rows of %s: %s", relation.alias, relation.once.reason)
    used, computed = query.used_columns(relation.alias), {name for layer in relation.computed for name in layer}
    own = [c for c in relation.columns if c.name not in computed]
    names = Counter(c.name for c in own)
    kept = [c for c in own if names[c.name] == 1 and (c.kind != "other" or c in used)]
    values = [sql.named(c.name, relation.alias) for c in kept]
    rows = exp.select(*values).from_(relation.source.copy()).where(*(f.copy() for f in relation.at_first))
    return rows.limit(engine.make_at_most + 1)


def _counted(engine: Engine, relation: Relation, rows: exp.Expr) -> Relation:
    assert relation.once
    size = float(engine.fetch(sql.select([(sql.count(), "n")], rows))["n"][0])
    if size > engine.make_at_most:
        raise _too_many(relation, engine.make_at_most)
    return replace(relation, once=relation.once._replace(rows=size))


def _check_size(engine: Engine, relation: Relation) -> None:
    """Before they are made, if their number is that of a join, which is counted without it."""
    if relation.once and relation.once.size and not relation.at_first:
        size = float(engine.fetch(relation.once.size)["n"][0])
        if size > engine.make_at_most:
            raise _too_many(relation, engine.make_at_most, size)


def _too_many(relation: Relation, most: int, size: float | None = None) -> QueryError:
    assert relation.once
    number = f"{size:,.0f} rows, more than {most:,}" if size else f"more than {most:,} rows"
    name = "the query" if relation.alias == RESULT else relation.alias
    remedy = relation.once.hint or "leave out rows with WHERE"
    return QueryError(
        f"{name} has {number}, and all of them would have to be made: {relation.once.reason}",
        hint=f"{remedy}; or allow more with ⟦make_at_most⟧",
    )


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
    values = [
        *(sql.named(c.name, alias) for c in used),
        *(exp.alias_(value, c.name, quoted=True) for c, value in more.items()),
    ]
    rows = exp.select(*values).from_(relation.serving(values)).where(*(f.copy() for f in relation.filters))
    work.run([Statement(f"rows of {alias} {said}", rows, table)])
    source, columns = sql.users_table(table, alias), (*used, *more)
    return query.with_relation(relation.stored(source, columns))
