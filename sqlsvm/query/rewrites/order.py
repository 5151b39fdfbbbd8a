"""A condition of order between two relations -> equalities on the nodes of a tree of slots.

    FROM orders o JOIN visits v ON v.customer = o.customer AND v.day < o.day
    FROM orders o JOIN "o nodes" USING (row) JOIN "v nodes" USING (customer, node) JOIN visits v USING (row)

The points of a key, here the days of visits, are sorted. Those with no end of an interval between them are one slot.
Level l has nodes of 2^l slots. A point is in one node of each level. An interval is the disjoint union of at most two
nodes of each level. So a pair of rows meets in one node if it satisfies the condition, and in none if it does not
(Tziavelis, Gatterbauer and Riedewald, Beyond Equi-joins, 2021). The rows of a relation are numbered in the order of key
and value: rows that are equal there have equal nodes, so it does not matter which of them has which number.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.query.facts import Facts, grouped, one
from sqlsvm.query.ir import Equality, FeatureQuery, Once, Parsed, Relation, Spanning, Term
from sqlsvm.query.line import AT, NODE, POINT, End, ends_of, is_, place_of, point_nodes, slots, spanning_nodes
from sqlsvm.query.names import relations_in
from sqlsvm.query.rewrites.meet import finds, meets
from sqlsvm.query.variables import Variable, inner_variables

FEW = 100
"""With fewer pairs of equal keys for each row, the database joins them sooner than a training counts them."""
ROW = f"{sql.WORKING}row"


@dataclass(frozen=True)
class Bridge:
    """Rows of `spans` have intervals, and rows of `points` have points."""

    spans: str
    points: str
    point: exp.Expression
    ends: tuple[End, ...]
    keys: tuple[Variable, ...]
    of: tuple[Spanning, ...]
    number: int
    """Of all relations so far: a relation may have several bridges."""
    outside: bool = False
    """Do rows meet outside of the interval? Below its high end or above its low one, which lie around one value."""

    @property
    def row(self) -> str:
        return f"{ROW}{self.number}"

    @property
    def names(self) -> list[str]:
        return [f"k{i}" for i in range(len(self.keys))]


def bridges(query: FeatureQuery, facts: Facts) -> FeatureQuery:
    """Of each pair of relations that meet in no row."""
    if not isinstance(query, Parsed):
        return query
    pairs = dict.fromkeys(frozenset(relations_in(each.expression)) for each in query.spanning)
    for pair in pairs:
        own = tuple(each for each in query.spanning if set(relations_in(each.expression)) == pair)
        found = _bridge(query, sorted(pair), own) if len(pair) == 2 else None
        if found and not meets(query, facts, pair) and not (FEW and _are_few(query, facts, found)):
            query = _bridged(query, facts, found)
    return query


def _are_few(query: FeatureQuery, facts: Facts, bridge: Bridge) -> bool:
    """Has the whole join few rows? It has as many as the pair, if all other relations are found along unique keys."""
    pair = bridge.spans, bridge.points
    if not all(any(finds(query, facts, alias, r.alias) for alias in pair) for r in query.relations):
        return False
    left, right = (facts.of(query.relation(alias)) for alias in pair)
    if not bridge.keys:
        return left.rows * right.rows < FEW * (left.rows + right.rows)
    sides = [
        grouped(f.own_rows(tuple(v.at(f.relation.alias)[0] for v in bridge.keys)), bridge.names) for f in (left, right)
    ]
    pairs = sql.sum_or_zero(sql.product(*(sql.column("c", side) for side in "lr")))
    met = sql.select([(pairs, "n")], sql.derived(sides[0], "l"))
    on = [sql.equal(sql.column(name, "l"), sql.column(name, "r")) for name in bridge.names]
    found = one(facts.engine, sql.join(met, sql.derived(sides[1], "r"), on))["n"]
    return found < FEW * (left.rows + right.rows)


def _bridge(query: FeatureQuery, pair: Sequence[str], own: tuple[Spanning, ...]) -> Bridge | None:
    """With the intervals at the label's relation, which tends to have fewer rows."""
    told = query.label.relation if query.label else ""
    for spans, points in sorted(permutations(pair), key=lambda both: both[0] != told):
        outside = len(own) == 1 and isinstance(own[0].expression, exp.NEQ)
        sides = [tuple(_sides(each.expression, points)) for each in own]
        found = [side for each in sides for side in each]
        values, ends = {point for point, _ in found}, tuple(end for _, end in found)
        is_plain = all(query.relation(alias).optional is None for alias in pair)
        if all(sides) and len(values) == 1 and is_plain and _are_two(ends):
            keys = tuple(v for v in inner_variables(query) if v.holders >= {spans, points})
            return Bridge(spans, points, values.pop(), ends, keys, own, len(query.relations), outside)
    return None


def _are_two(ends: Sequence[End]) -> bool:
    """At most one of each kind."""
    return 0 < len({end.kind for end in ends}) == len(ends)


def _sides(condition: exp.Expression, points: str) -> Iterator[tuple[exp.Expression, End]]:
    """Of <> those of < and of >."""
    parts = [condition]
    if isinstance(condition, exp.NEQ):
        left, right = condition.this, condition.expression
        parts = [exp.LT(this=left.copy(), expression=right.copy()), exp.GT(this=left.copy(), expression=right.copy())]
    for part in parts:
        yield from ends_of(part, lambda e: relations_in(e) == [points], lambda e: points not in relations_in(e))


# -- the query ---------------------------------------------------------------------------------------------------------


def _bridged(query: Parsed, facts: Facts, bridge: Bridge) -> Parsed:
    reason = " AND ".join(each.expression.sql(query.dialect) for each in bridge.of).replace('"', "")
    values = {bridge.spans: [end.value for end in bridge.ends], bridge.points: [bridge.point]}
    for alias, own in values.items():
        query = query.with_relation(_numbered(facts, query.relation(alias), bridge, own, reason))
    spans, points = (query.relation(alias) for alias in values)
    nodes = _spanning_nodes(bridge, spans, points)
    left = _relation(facts, f"{bridge.spans} nodes {bridge.number}", nodes, reason)
    right = _relation(
        facts, f"{bridge.points} nodes {bridge.number}", _point_nodes(bridge, spans, points, left), reason
    )
    on = [*bridge.names, NODE]
    equalities = (
        *_without(query, bridge),
        _equal(spans.alias, left.alias, bridge.row),
        *(_equal(left.alias, right.alias, name) for name in on),
        _equal(right.alias, points.alias, bridge.row),
    )
    rest = tuple(each for each in query.spanning if each not in bridge.of)
    made = replace(query, relations=(*query.relations, left, right), equalities=tuple(equalities), spanning=rest)
    return _with_own_equal(made, bridge)


def _equal(left: str, right: str, name: str) -> Equality:
    return Equality(Term(left, sql.named(name, left)), Term(right, sql.named(name, right)))


def _numbered(
    facts: Facts, relation: Relation, bridge: Bridge, values: Sequence[exp.Expression], reason: str
) -> Relation:
    """With a number for each row."""
    order = [*(v.at(relation.alias)[0].expression for v in bridge.keys), *values]
    number = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=[exp.Ordered(this=e.copy()) for e in order]))
    rows = exp.select(sql.everything(relation.alias), exp.alias_(number, bridge.row, quoted=True)).from_(
        relation.source.copy()
    )
    return _described(facts, replace(relation, source=sql.aliased(rows, relation.alias), once=Once(reason)))


def _relation(facts: Facts, alias: str, rows: exp.Select, reason: str) -> Relation:
    source = sql.aliased(rows, alias)
    return _described(facts, Relation(alias, "", source, (), once=Once(reason)))


def _described(facts: Facts, relation: Relation) -> Relation:
    sql.keep_names(relation.source)
    return replace(relation, columns=facts.engine.describe(exp.select("*").from_(relation.source.copy())))


def _without(query: FeatureQuery, bridge: Bridge) -> Iterator[Equality]:
    """The equalities that stay: a node is of one key, so those of the points are those of the intervals."""
    instead = {t: v.at(bridge.spans)[0] for v in bridge.keys for t in v.at(bridge.points)}
    for equality in query.equalities:
        left, right = (instead.get(term, term) for term in (equality.left, equality.right))
        if left != right:
            yield Equality(left, right)


def _with_own_equal(query: Parsed, bridge: Bridge) -> Parsed:
    """Several terms of the points for one key are equal there."""
    for variable in bridge.keys:
        first, *others = variable.at(bridge.points)
        if others:
            equal = (sql.equal(first.expression.copy(), other.expression.copy()) for other in others)
            query = query.where(bridge.points, *equal)
    return query


# -- the statements ----------------------------------------------------------------------------------------------------


def _spanning_nodes(bridge: Bridge, spans: Relation, points: Relation) -> exp.Select:
    """Of each interval, from the first slot that it has to the first one after it."""
    kinds, names = {end.kind for end in bridge.ends}, [bridge.row, *bridge.names]
    parts = [{kind} for kind in sorted(kinds)] if bridge.outside else [kinds]
    found = [spanning_nodes(_slots(bridge, spans, points), names, part) for part in parts]
    return found[0] if len(found) == 1 else exp.select("*").from_(sql.derived(sql.union_all(*found), "sides"))


def _point_nodes(bridge: Bridge, spans: Relation, points: Relation, met: Relation) -> exp.Select:
    """Those of each point that an interval has."""
    names = [bridge.row, *bridge.names]
    found = sql.select(place_of(names), _slots(bridge, spans, points)).where(is_(POINT))
    rows = point_nodes(found, names)
    on = [sql.equal(sql.column(n, "a"), sql.column(n, "b")) for n in (*bridge.names, NODE)]
    inside = exp.select("*").from_(sql.derived(_plain_names(met, bridge), "b")).where(*on)
    return exp.select("*").from_(sql.derived(rows, "a")).where(exp.Exists(this=inside))


def _plain_names(met: Relation, bridge: Bridge) -> exp.Select:
    return sql.select([(sql.named(n, met.alias), n) for n in (*bridge.names, NODE)], met.source.copy())


def _slots(bridge: Bridge, spans: Relation, points: Relation) -> exp.Subquery:
    line = _on_line(bridge, points, POINT, AT, bridge.point)
    for end in bridge.ends:
        line = sql.union_all(line, _on_line(bridge, spans, end.kind, end.place, end.value))
    return sql.derived(slots(line, bridge.names, [bridge.row]), "slots")


def _on_line(bridge: Bridge, relation: Relation, which: int, place: int, value: exp.Expression) -> exp.Query:
    """A NULL meets nothing."""
    alias = relation.alias
    keys = [(v.at(alias)[0].expression, name) for v, name in zip(bridge.keys, bridge.names, strict=True)]
    outputs = [
        (sql.named(bridge.row, alias), bridge.row),
        *keys,
        (value, "v"),
        (sql.integer(place), "place"),
        (sql.integer(which), "which"),
    ]
    whole = [value] if alias == bridge.points else [end.value for end in bridge.ends]
    present = [sql.not_null(e) for e in (*(e for e, _ in keys), *whole)]
    rows = sql.select([(e.copy(), n) for e, n in outputs], relation.source.copy())
    return rows.where(*(f.copy() for f in relation.at_first), *present)
