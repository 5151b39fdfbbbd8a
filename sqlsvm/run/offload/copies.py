"""Exports -> tables of a DuckDB of this process, and the same query over them."""

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.prepare import key
from sqlsvm.engine import scratch
from sqlsvm.engine.base import Column, Engine, Rows
from sqlsvm.errors import OptionError
from sqlsvm.plan.catalog import Catalog
from sqlsvm.plan.preflight import checked, naming_features
from sqlsvm.query import Equality, FeatureQuery, LeftJoin, Relation, Term
from sqlsvm.query.facts import Facts
from sqlsvm.query.forms import check_steady
from sqlsvm.query.ir import inner_variables
from sqlsvm.run.derived import counted
from sqlsvm.run.offload.export import HELD, KEEP, TIME, Carried, Export, exports, match_key, output

REPORT_SECONDS = 5.0
steps = logging.getLogger(__name__)


def copied(engine: Engine, query: FeatureQuery, offload: bool | None) -> bool:
    """Is it offloaded? If the user does not say, then where statements take long and there is little to copy."""
    if offload is not None or not engine.rates.slow_to_start:
        return bool(offload)
    with naming_features(engine, query), engine.snapshot(query.tables):
        return _is_little(checked(Facts(engine), query))


def _is_little(catalog: Catalog) -> bool:
    """Rows are counted only where the catalog knows of few bytes: even a few rows take long to find in many files."""
    used = {r.alias: catalog.query.expressions(r.alias) or [sql.integer(1)] for r in catalog.query.relations}
    rows = [catalog.of(alias).rows_of([(e, f"c{n}") for n, e in enumerate(own)]) for alias, own in used.items()]
    left = catalog.engine.sizes.copied
    if any(size > left * np.dtype(float).itemsize for size in accumulate(map(catalog.engine.size, rows))):
        return False
    for alias, own in used.items():
        left -= len(own) * int(catalog.of(alias).rows_up_to(left // len(own) + 1))
    return left >= 0


@contextmanager
def brought(engine: Engine, query: FeatureQuery, offload: bool | None) -> Iterator[tuple[Engine, FeatureQuery]]:
    """The engine that does the work, and the query over its tables: the database itself, or copies in this process."""
    with naming_features(engine, query):
        if not copied(engine, query, offload):
            yield engine, query
            return
        with offloaded(engine, query) as there:
            yield there


@contextmanager
def offloaded(engine: Engine, query: FeatureQuery) -> Iterator[tuple[Engine, FeatureQuery]]:
    """A DuckDB in memory with one snapshot of the rows, and the query over them. The server is only read: it may be a
    replica, and the role may be one that cannot write."""
    if engine.abilities.in_process:
        raise OptionError("⟦offload⟧ copies into DuckDB, and this is DuckDB", hint="leave ⟦offload⟧ out")
    check_steady(query)
    with scratch() as local:
        with engine.snapshot(query.tables):
            query = counted(engine, query)
            made = exports(checked(Facts(engine), query))
            copies = [_copy(engine, local, number, export) for number, export in enumerate(made)]
        yield local, _query_over(copies, query, local.dialect)


# -- rows --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Copy:
    export: Export
    table: str
    columns: tuple[Column, ...]
    of_nothing: Mapping[str, exp.Expression]
    """Columns that are not NULL where a LEFT JOIN finds no row, such as COALESCE(x, 0), with their values there."""

    def value(self, name: str) -> exp.Expression:
        alias = self.export.relation.alias
        own = sql.named(name, alias)
        if name not in self.of_nothing:
            return own
        missing = sql.is_null(sql.named(KEEP, alias))
        return sql.case(missing, self.of_nothing[name].copy(), own)

    def term(self, name: str) -> Term:
        return Term(self.export.relation.alias, self.value(name))


Categories = Mapping[str, list[object]]  # the values of each spelled column, in the order of their numbers


def _copy(engine: Engine, local: Engine, number: int, export: Export) -> Copy:
    table, raw = f"copy{number}", f"raw{number}"
    categories = {c.name: _categories(engine, c.codes) for c in export.columns if c.codes and c.spelled}
    arrives = raw if categories else table
    _create(local, arrives, {c.name: c.type for c in export.columns})
    for rows in _told(engine.copy_out(export.rows), export.relation.alias):
        local.copy_in(sql.table(arrives), rows)
    if categories:
        _spell(local, table, raw, export, categories)
    columns = local.describe(exp.select("*").from_(table))
    return Copy(export, table, columns, _of_nothing(engine, table, export, categories) if export.optional else {})


def _told(blocks: Iterator[Rows], name: str) -> Iterator[Rows]:
    """Logs every few seconds how many rows have come."""
    steps.info("copying %s", name)
    came, last = 0, time.monotonic()
    for rows in blocks:
        yield rows
        came += len(next(iter(rows.values())))
        if time.monotonic() - last > REPORT_SECONDS:
            last = time.monotonic()
            steps.info("copying %s: %s rows so far", name, f"{came:,}")


def _create(local: Engine, table: str, columns: Mapping[str, exp.DType]) -> None:
    made = [exp.ColumnDef(this=exp.to_identifier(n), kind=exp.DataType(this=type)) for n, type in columns.items()]
    local.execute(exp.Create(this=exp.Schema(this=sql.table(table), expressions=made), kind="TABLE"))


def _categories(engine: Engine, codes: exp.Query) -> list[object]:
    values = sql.select([(sql.column("v"), "v")], sql.derived(codes.copy(), "d")).order_by(sql.column("n"))
    return list(engine.fetch(values)["v"].tolist())


def _spell(local: Engine, table: str, raw: str, export: Export, categories: Categories) -> None:
    """The table with categories in place of numbers. An enumeration is as small and as fast, and keeps the order."""
    found = exp.select().from_(raw)
    outputs: list[tuple[exp.Expression, str]] = []
    for c in export.columns:
        value: exp.Expression = sql.column(c.name, raw)
        if c.name in categories:
            words = _enumerate(local, table, c.name, categories[c.name])
            found = sql.join(found, sql.table(words), [sql.equal(sql.column("n", words), value)], "left")
            value = exp.cast(sql.column("v", words), _enumeration(table, c.name))
        outputs.append((value, c.name))
    spelled = found.select(*(exp.alias_(value, name) for value, name in outputs))
    local.execute(exp.Create(this=sql.table(table), kind="TABLE", expression=spelled))
    local.forget(raw)


def _enumerate(local: Engine, table: str, column: str, values: list[object]) -> str:
    """Make the type of a column's values, and a table of their numbers n and texts v; its name."""
    words = f"{table}_{column}"
    _create(local, words, {"n": exp.DType.BIGINT, "v": exp.DType.TEXT})
    local.copy_in(sql.table(words), {"n": np.arange(1, len(values) + 1), "v": np.array(values, dtype=object)})
    texts = exp.select("v").from_(words).order_by(sql.column("n"))
    enumeration = exp.DataType(this=exp.DType.ENUM, expressions=[texts])
    local.execute(exp.Create(this=sql.table(f"{words}_type"), kind="TYPE", expression=enumeration))
    return words


def _enumeration(table: str, column: str) -> exp.DataType:
    return exp.DataType.build(f"{table}_{column}_type", udt=True)


def _of_nothing(engine: Engine, table: str, export: Export, categories: Categories) -> dict[str, exp.Expression]:
    (row,) = engine.copy_out(export.nothing)
    present = [c for c in export.columns if not np.ma.getmaskarray(row[c.name])[0]]
    return {c.name: _constant(c, row, table, categories) for c in present}


def _constant(c: Carried, row: Rows, table: str, categories: Categories) -> exp.Expression:
    value = row[c.name][0]
    if c.name in categories:
        return exp.cast(exp.Literal.string(str(categories[c.name][int(value) - 1])), _enumeration(table, c.name))
    return exp.cast(exp.Literal.string(str(value)), c.type)


# -- the query ---------------------------------------------------------------------------------------------------------


def _query_over(copies: list[Copy], query: FeatureQuery, dialect: str) -> FeatureQuery:
    """Plain columns of the copies, joined as the originals are."""
    of = {copy.export.relation.alias: copy for copy in copies}
    features = {f: replace(f, expression=of[f.relation].value(output(n))) for n, f in enumerate(query.outputs)}
    spelling = {term: key(v.index) for v in inner_variables(query) for term in v.terms}
    joined = (
        Equality(of[e.left.relation].term(spelling[e.left]), of[e.right.relation].term(spelling[e.right]))
        for e in query.equalities
    )
    return FeatureQuery(
        text=query.text,
        dialect=dialect,
        relations=tuple(_relation(copy) for copy in copies),
        equalities=tuple(dict.fromkeys(joined)),
        left_joins=tuple(_left_join(of, number, j) for number, j in enumerate(query.left_joins)),
        features=tuple(features[f] for f in query.features),
        label=features[query.label] if query.label else None,
        weight=features[query.weight] if query.weight else None,
        audited=tuple(features[f] for f in query.audited),
        held_out=of[query.label_relation].value(HELD) if query.label and query.held_out else None,
        marks={name: of[query.label_relation].value(name) for name in query.marks},
        time=replace(query.time, value=of[query.label_relation].value(TIME)) if query.time else None,
        times=query.times,
        labelled_only=query.labelled_only,
        maps=query.maps,
        tells_of=query.label_relation if query.label else None,
    )


def _relation(copy: Copy) -> Relation:
    """The server has applied the first conditions. Those of WHERE after a LEFT JOIN are left."""
    old, source = copy.export.relation, sql.users_table(copy.table, copy.export.relation.alias)
    kept = (copy.value(KEEP),) if copy.export.optional and old.filters else ()
    optional = () if copy.export.optional else None
    return Relation(old.alias, old.table, source, copy.columns, kept, optional, once=old.once)


def _left_join(of: Mapping[str, Copy], number: int, old: LeftJoin) -> LeftJoin:
    names = [match_key(number, place) for place in range(len(old.equalities))]
    pairs = tuple(Equality(of[old.parent].term(name), of[old.relation].term(name)) for name in names)
    return LeftJoin(old.parent, old.relation, pairs, old.place)
