"""The assumptions of a plan, as queries that check them before it runs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlglot import exp, parse_one

from sqlsvm import sql
from sqlsvm.compile.prepare import key
from sqlsvm.compile.scores import source
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.engine.base import Engine
from sqlsvm.model.literals import literal
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.preflight import Rounded
from sqlsvm.query import Feature, FeatureQuery
from sqlsvm.query.rows import rows_of
from sqlsvm.run.weight import is_odd

_TYPE = parse_one(
    """
    SELECT t.typname || CASE WHEN NOT c.collisdeterministic THEN ' ' || c.collname ELSE '' END
    FROM pg_catalog.pg_type AS t LEFT JOIN pg_catalog.pg_collation AS c
      ON c.oid = TO_REGCOLLATION(PG_COLLATION_FOR(CAST(%(v)s AS TEXT)))
    WHERE t.oid = PG_TYPEOF(%(v)s)""",
    read="postgres",
    into=exp.Select,
)

LabelValues = tuple[Any, Any]
"""The label's own values for -1 and +1."""

AT_ONCE = 500
"""Columns that one statement looks at. PostgreSQL has a limit of 1,664."""

Kind = Literal["types", "unique", "rounded", "label", "weight", "null", "term"]


@dataclass(frozen=True)
class Check:
    """A query whose n is above 0 if an assumption of the plan no longer holds."""

    kind: Kind
    about: str
    """The key or the column."""
    query: exp.Query

    @property
    def statement(self) -> Statement:
        """_check_plan.sql reads the kind from the name, up to the first blank, and after it what the check is about,
        if the answer does not say so."""
        return statement(f"{self.kind} {self.about}" if self.about else self.kind, self.query)


def checks(
    plan: Plan,
    query: FeatureQuery,
    rounded: Iterable[Rounded],
    known_types: Iterable[str],
    label_values: LabelValues,
    label_type: str | None = None,
) -> Iterator[Check]:
    unique = {(n, e.on) for e in plan.tree.edges for n in (e.left, e.right) if e.unique_at(n)}
    yield _other_types(query, known_types)
    yield from (_repeated(plan, node, on) for node, on in sorted(unique))
    yield from (_merged(query, key) for key in rounded)
    for left_join in query.left_joins:
        if left_join.finds_one:
            yield _ambiguous(query, left_join.relation, [term.expression for term in left_join.key])
    if plan.design.target.signed:
        yield _other_labels(plan, label_values, label_type)
    if query.weight:
        yield _odd_weights(plan, query.weight)
    may_be_null = {(c.feature, c.relation) for c in plan.design.coordinates if c.role == "missing"}
    never_null = [f for f in query.features if f.kind != "categorical" and (f.name, f.relation) not in may_be_null]
    terms = [(f, f"{f.name}, its term over {f.relation},") for f in never_null if f.name in query.sums]
    yield from _nulls(plan, "term", terms)
    yield from _nulls(plan, "null", [(f, f.name) for f in never_null if f.name not in query.sums])


def types(engine: Engine, query: FeatureQuery) -> tuple[str, ...]:
    """The types of keys, features, label and weight, each with its collation if that makes different texts equal."""
    return tuple(str(engine.fetch(sql.select([(type, "t")]))["t"][0]) for type in _types(query))


def _other_types(query: FeatureQuery, known: Iterable[str]) -> Check:
    """SELECT how many types have changed: other values may be equal now."""
    same = (sql.equal(now, exp.Literal.string(then)) for now, then in zip(_types(query), known, strict=True))
    changed = sql.plus(*(sql.case(one, 0.0, 1.0) for one in same))
    return Check("types", "", sql.select([(changed, "n")]))


def _types(query: FeatureQuery) -> Iterator[exp.Subquery]:
    for relation, expression in dict.fromkeys((o.relation, o.expression) for o in query.valued):
        nothing = sql.select([(expression.copy(), "v")], query.relation(relation).serving([expression])).limit(0)
        type = _TYPE.copy()
        for v in list(type.find_all(exp.Placeholder)):
            v.replace(nothing.copy().subquery())
        yield type.subquery()


def _repeated(plan: Plan, node: int, on: tuple[int, ...]) -> Check:
    keys = [sql.column(key(v), "r") for v in on]
    return _excess(", ".join(_spelt(plan, node, v) for v in on), source(plan, node), keys)


def _spelt(plan: Plan, node: int, variable: int) -> str:
    """A key as the query spells it at a node. A LEFT JOIN may have more than one."""
    query, found = plan.tree.query, plan.tree.variables[variable]
    terms = query.spelt(found.at(plan.tree.holder(found, node))[0])
    return ", ".join(term.expression.sql(query.dialect) for term in terms)


def _ambiguous(query: FeatureQuery, alias: str, terms: list[exp.Expression]) -> Check:
    rows = query.relation(alias).partners.rows([(t.copy(), f"k{i}") for i, t in enumerate(terms)])
    said = ", ".join(t.sql(query.dialect) for t in terms)
    keys = [sql.column(f"k{i}", "r") for i in range(len(terms))]
    return _excess(f"{said} of the LEFT JOIN", sql.derived(rows, "r"), keys)


def _excess(about: str, rows: exp.Expr, keys: list[exp.Column]) -> Check:
    """SELECT how many rows there are beyond one for each key."""
    counted = sql.select([(sql.count(), "c")], rows).where(*(sql.not_null(k) for k in keys))
    grouped = sql.group(counted, [k.copy() for k in keys])
    beyond = sql.minus("c", 1.0)
    return Check("unique", about, sql.select([(sql.sum_or_zero(beyond), "n")], sql.derived(grouped, "g")))


def _merged(query: FeatureQuery, rounded: Rounded) -> Check:
    """SELECT how many keys become equal to others when they are rounded."""
    keys = " and ".join(term.expression.sql(query.dialect) for term in rounded.exact)
    lost = sql.minus("c.exact", "c.rounded")
    counts = sql.derived(rounded.counts(query), "c")
    return Check("rounded", f"{keys} as {rounded.type}", sql.select([(sql.double(lost), "n")], counts))


def _other_labels(plan: Plan, label_values: LabelValues, type: str | None) -> Check:
    """SELECT how many rows have a third value: it would count as the negative class, without a message. `type` is that
    of the label, if it is not that of the values."""
    label, v = plan.design.target.label, sql.column("v", "r")
    values = [exp.cast(literal(value), type) if type else literal(value) for value in label_values]
    known = [sql.equal(v, value) for value in values]
    is_known = exp.Or(this=known[0], expression=known[1])
    other = sql.case(is_known, 0.0).when(sql.not_null(v), sql.number(1))
    return _counted(plan, "label", label, other)


def _odd_weights(plan: Plan, weight: Feature) -> Check:
    v = sql.column("v", "r")
    bad = exp.Or(this=sql.is_null(v), expression=exp.paren(is_odd(v)))
    return _counted(plan, "weight", weight, sql.case(bad, 1.0))


def _counted(plan: Plan, kind: Kind, feature: Feature, condition: exp.Expression, about: str | None = None) -> Check:
    rows = rows_of(plan.tree.query, feature.relation, [(feature.expression.copy(), "v")])
    return Check(kind, about or feature.name, sql.select([(sql.sum_or_zero(condition), "n")], sql.derived(rows, "r")))


def _nulls(plan: Plan, kind: Kind, columns: Sequence[tuple[Feature, str]]) -> Iterator[Check]:
    """SELECT the first of the columns that is NULL in some rows, and in how many: one scan for many columns."""
    for relation in dict.fromkeys(f.relation for f, _ in columns):
        here = [(f.expression, about) for f, about in columns if f.relation == relation]
        for start in range(0, len(here), AT_ONCE):
            yield _first_null(plan, kind, relation, here[start : start + AT_ONCE])


def _first_null(plan: Plan, kind: Kind, relation: str, columns: Sequence[tuple[exp.Expression, str]]) -> Check:
    brought = [(expression.copy(), f"v{i}") for i, (expression, _) in enumerate(columns)]
    rows = sql.derived(rows_of(plan.tree.query, relation, brought), "r")
    is_null = [sql.case(sql.is_null(sql.column(name, "r")), 1.0) for _, name in brought]
    counts = sql.derived(sql.select([(sql.sum_or_zero(one), f"n{i}") for i, one in enumerate(is_null)], rows), "c")
    n, about = exp.Case(), exp.Case()
    for i, (_, said) in enumerate(columns):
        counted = sql.column(f"n{i}", "c")
        n.append("ifs", exp.If(this=sql.positive(counted), true=counted.copy()))
        about.append("ifs", exp.If(this=sql.positive(counted), true=exp.Literal.string(said)))
    return Check(kind, f"{relation} {columns[0][1]}", sql.select([(n, "n"), (about, "about")], counts))
