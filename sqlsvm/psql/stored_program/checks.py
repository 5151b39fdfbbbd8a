"""The assumptions of a plan, as queries that check them before it runs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
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
from sqlsvm.query import FeatureQuery
from sqlsvm.query.rows import rows_of
from sqlsvm.run.checks import is_odd

_TYPE = parse_one(
    """
    SELECT t.typname || CASE WHEN NOT c.collisdeterministic THEN ' ' || c.collname ELSE '' END
    FROM pg_catalog.pg_type AS t LEFT JOIN pg_catalog.pg_collation AS c
      ON c.oid = TO_REGCOLLATION(PG_COLLATION_FOR(CAST(%(v)s AS TEXT)))
    WHERE t.oid = PG_TYPEOF(%(v)s)""",
    read="postgres",
    into=exp.Select,
)

LabelValues = tuple[Any, Any]  # the label's own values for -1 and +1
AT_ONCE = 500  # columns that one statement looks at. PostgreSQL has a limit of 1,664.


def checks(
    plan: Plan,
    query: FeatureQuery,
    rounded: Iterable[Rounded],
    known_types: Iterable[str],
    label_values: LabelValues,
    label_type: str | None = None,
) -> Iterator[Statement]:
    """Queries whose n is above 0 if an assumption of the plan no longer holds. _check_plan.sql reads what is wrong from
    the name, and after its first blank what that is about, unless the answer says both."""
    unique = {(n, e.on) for e in plan.tree.edges for n in (e.left, e.right) if e.unique_at(n)}
    yield _other_types(query, known_types)
    yield from (_repeated(plan, node, on) for node, on in sorted(unique))
    yield from (_merged(query, key) for key in rounded)
    for left_join in query.left_joins:
        if left_join.finds_one:
            yield _ambiguous(query, left_join.relation, [term.expression for term in left_join.key])
    yield from _scans(plan, [*_odd(plan, label_values, label_type)])


def types(engine: Engine, query: FeatureQuery) -> tuple[str, ...]:
    """The types of keys, features, label and weight, each with its collation if that makes different texts equal."""
    return tuple(str(engine.fetch(sql.select([(type, "t")]))["t"][0]) for type in _types(query))


def _other_types(query: FeatureQuery, known: Iterable[str]) -> Statement:
    """SELECT how many types have changed: other values may be equal now."""
    same = (sql.equal(now, exp.Literal.string(then)) for now, then in zip(_types(query), known, strict=True))
    changed = sql.plus(*(sql.case(one, 0.0, 1.0) for one in same))
    return statement("types", sql.select([(changed, "n")]))


def _types(query: FeatureQuery) -> Iterator[exp.Subquery]:
    for relation, expression in dict.fromkeys((o.relation, o.expression) for o in query.valued):
        nothing = sql.select([(expression.copy(), "v")], query.relation(relation).serving([expression])).limit(0)
        type = _TYPE.copy()
        for v in list(type.find_all(exp.Placeholder)):
            v.replace(nothing.copy().subquery())
        yield type.subquery()


def _repeated(plan: Plan, node: int, on: tuple[int, ...]) -> Statement:
    keys = [sql.column(key(v), "r") for v in on]
    return _excess(", ".join(_spelt(plan, node, v) for v in on), source(plan, node), keys)


def _spelt(plan: Plan, node: int, variable: int) -> str:
    """A key as the query spells it at a node. A LEFT JOIN may have more than one."""
    query, found = plan.tree.query, plan.tree.variables[variable]
    terms = query.spelt(found.at(plan.tree.holder(found, node))[0])
    return ", ".join(term.expression.sql(query.dialect) for term in terms)


def _ambiguous(query: FeatureQuery, alias: str, terms: list[exp.Expression]) -> Statement:
    rows = query.relation(alias).partners.rows([(t.copy(), f"k{i}") for i, t in enumerate(terms)])
    said = ", ".join(t.sql(query.dialect) for t in terms)
    keys = [sql.column(f"k{i}", "r") for i in range(len(terms))]
    return _excess(f"{said} of the LEFT JOIN", sql.derived(rows, "r"), keys)


def _excess(about: str, rows: exp.Expr, keys: list[exp.Column]) -> Statement:
    """SELECT how many rows there are beyond one for each key."""
    counted = sql.select([(sql.count(), "c")], rows).where(*(sql.not_null(k) for k in keys))
    grouped = sql.group(counted, [k.copy() for k in keys])
    beyond = sql.minus("c", 1.0)
    return statement(f"unique {about}", sql.select([(sql.sum_or_zero(beyond), "n")], sql.derived(grouped, "g")))


def _merged(query: FeatureQuery, rounded: Rounded) -> Statement:
    """SELECT how many keys become equal to others when they are rounded."""
    keys = " and ".join(term.expression.sql(query.dialect) for term in rounded.exact)
    lost = sql.minus("c.exact", "c.rounded")
    counts = sql.derived(rounded.counts(query), "c")
    return statement(f"rounded {keys} as {rounded.type}", sql.select([(sql.double(lost), "n")], counts))


Kind = Literal["label", "weight", "null", "term"]


@dataclass(frozen=True)
class Odd:
    """Rows of a relation as the program was compiled for none."""

    relation: str
    value: exp.Expression
    kind: Kind
    about: str
    is_odd: Callable[[exp.Column], exp.Expression]


def _odd(plan: Plan, label_values: LabelValues, label_type: str | None) -> Iterator[Odd]:
    """A third label would count as the negative class, without a message."""
    query, design = plan.tree.query, plan.design
    if design.target.signed:
        label, third = design.target.label, partial(_is_third, label_values, label_type)
        yield Odd(label.relation, label.expression, "label", label.name, third)
    if w := query.weight:
        yield Odd(w.relation, w.expression, "weight", w.name, lambda v: sql.either([sql.is_null(v), is_odd(v)]))
    may_be_null = {(c.feature, c.relation) for c in design.coordinates if c.role == "missing"}
    for f in query.features:
        if f.kind != "categorical" and (f.name, f.relation) not in may_be_null:
            term = f.name in query.sums
            said = f"{f.name}, its term over {f.relation}," if term else f.name
            yield Odd(f.relation, f.expression, "term" if term else "null", said, sql.is_null)


def _is_third(known: LabelValues, type: str | None, v: exp.Column) -> exp.Expression:
    """`type` is that of the label, if it is not that of the values."""
    values = [exp.cast(literal(value), type) if type else literal(value) for value in known]
    return sql.every([sql.not_null(v), *(sql.unequal(v.copy(), value) for value in values)])


def _scans(plan: Plan, odd: Sequence[Odd]) -> Iterator[Statement]:
    """SELECT how many rows each relation brings to the join, how many are odd, and how the first of these: in one scan,
    or several of some columns each."""
    for relation in plan.tree.query.relations:
        here = [each for each in odd if each.relation == relation.alias]
        for start in range(0, max(1, len(here)), AT_ONCE):
            yield statement(f"{start} {relation.alias}", _scan(plan, relation.alias, here[start : start + AT_ONCE]))


def _scan(plan: Plan, relation: str, odd: Sequence[Odd]) -> exp.Select:
    brought = [(each.value.copy(), f"v{i}") for i, each in enumerate(odd)] or [(sql.integer(1), "one")]
    counts: sql.Named = [(sql.count(), "rows")]
    n, kind, about = exp.Case(), exp.Case(), exp.Case()
    for i, each in enumerate(odd):
        counts.append((sql.sum_or_zero(sql.case(each.is_odd(sql.column(f"v{i}", "r")), 1.0)), f"n{i}"))
        counted, said = sql.column(f"n{i}", "c"), exp.Literal.string
        for case, found in (n, counted), (kind, said(each.kind)), (about, said(each.about)):
            case.append("ifs", exp.If(this=sql.positive(counted.copy()), true=found.copy()))
    rows = sql.select(counts, sql.derived(rows_of(plan.tree.query, relation, brought), "r"))
    told: sql.Named = [(n, "n"), (kind, "kind"), (about, "about")] if odd else []
    return sql.select([(sql.column("rows", "c"), "rows"), *told], sql.derived(rows, "c"))
