"""A condition of order between two relations -> a bridge: two derived relations with equal nodes (query/bridge.py)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations, product
from typing import NamedTuple

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.query.bridge import Bridge, Line, best_fan
from sqlsvm.query.facts import Facts, grouped, one
from sqlsvm.query.ir import Equality, FeatureQuery, Once, Parsed, Relation, Spanning, Term
from sqlsvm.query.line import End, comparisons, ends_of
from sqlsvm.query.names import relations_in
from sqlsvm.query.rewrites.meet import finds, meets
from sqlsvm.query.variables import Variable, inner_variables

FEW = 100
"""With fewer pairs of equal keys for each row, the database joins them sooner than a training counts them."""
MOST_LINES = 2
"""The nodes of a row on one line are multiplied by those on the others."""


class Ordered(NamedTuple):
    """A condition as ends of an interval around a point, seen from one side."""

    spans: str
    points: str
    point: exp.Expression
    ends: tuple[End, ...]


def bridges(query: FeatureQuery, facts: Facts) -> FeatureQuery:
    """Of each pair of relations that meet in no row."""
    if not isinstance(query, Parsed):
        return query
    pairs = dict.fromkeys(frozenset(relations_in(each.expression)) for each in query.spanning)
    for pair in (pair for pair in pairs if len(pair) == 2):
        own = tuple(each for each in query.spanning if set(relations_in(each.expression)) == pair)
        plain = all(query.relation(alias).optional is None for alias in pair)
        if plain and not meets(query, facts, pair) and (found := _bridge(query, facts, sorted(pair), own)):
            query = _bridged(query, facts, found)
    return query


def _bridge(query: Parsed, facts: Facts, pair: list[str], own: tuple[Spanning, ...]) -> Bridge | None:
    """None if the whole join has few rows, or the conditions have another form."""
    keys = tuple(v for v in inner_variables(query) if v.holders.issuperset(pair))
    every = list(_lines([c for each in own for c in comparisons(each.expression)], pair))
    if not every or (FEW and _are_few(query, facts, pair, keys)):
        return None
    rows = {alias: facts.of(query.relation(alias)).rows for alias in pair}
    told = query.label.relation if query.label else ""
    first, second = sorted(pair, key=lambda alias: alias != told)
    lines = min(every, key=lambda each: (len(each), *best_fan(each, rows)))
    return Bridge((first, second), keys, lines, own, len(query.relations), best_fan(lines, rows)[1])


def _are_few(query: FeatureQuery, facts: Facts, pair: Sequence[str], keys: Sequence[Variable]) -> bool:
    """Has the whole join few rows? It has as many as the pair, if all other relations are found along unique keys."""
    if not all(any(finds(query, facts, alias, r.alias) for alias in pair) for r in query.relations):
        return False
    left, right = (facts.of(query.relation(alias)) for alias in pair)
    if not keys:
        return left.rows * right.rows < FEW * (left.rows + right.rows)
    names = [f"k{i}" for i in range(len(keys))]
    sides = [grouped(f.own_rows(tuple(v.at(f.relation.alias)[0] for v in keys)), names) for f in (left, right)]
    pairs = sql.sum_or_zero(sql.product(*(sql.column("c", side) for side in "lr")))
    met = sql.select([(pairs, "n")], sql.derived(sides[0], "l"))
    found = one(facts.engine, sql.join(met, sql.derived(sides[1], "r"), sql.same(names, "l", "r")))["n"]
    return found < FEW * (left.rows + right.rows)


# -- conditions --------------------------------------------------------------------------------------------------------


def _lines(conditions: Sequence[exp.Expression], pair: Sequence[str]) -> Iterator[tuple[Line, ...]]:
    """The ways to see them as intervals: on each line, all ends are around one point."""
    for chosen in product(*(list(_seen(each, pair)) for each in conditions)):
        lines: dict[tuple[str, exp.Expression], list[End]] = {}
        for way in chosen:
            lines.setdefault((way.spans, way.point), []).extend(way.ends)
        if len(lines) <= MOST_LINES and all(len({end.kind for end in ends}) == len(ends) for ends in lines.values()):
            yield tuple(
                Line(spans, next(a for a in pair if a != spans), point, tuple(ends))
                for (spans, point), ends in lines.items()
            )


def _seen(condition: exp.Expression, pair: Sequence[str]) -> Iterator[Ordered]:
    for spans, points in permutations(pair):
        if found := list(_ends(condition, spans, points)):
            (point, *_), ends = zip(*found, strict=True)
            yield Ordered(spans, points, point, ends)


def _ends(condition: exp.Expression, spans: str, points: str) -> Iterator[tuple[exp.Expression, End]]:
    """A row of values is no column that a line could be of."""
    if condition.find(exp.Tuple):
        return iter(())
    return ends_of(condition, lambda e: relations_in(e) == [points], lambda e: set(relations_in(e)) <= {spans})


# -- the query ---------------------------------------------------------------------------------------------------------


def _bridged(query: Parsed, facts: Facts, bridge: Bridge) -> Parsed:
    once = Once(" AND ".join(each.expression.sql(query.dialect) for each in bridge.of).replace('"', ""))
    for alias in bridge.pair:
        query = query.with_relation(_numbered(facts, query.relation(alias), bridge, once))
    relations = {alias: query.relation(alias) for alias in bridge.pair}
    left, right = (_nodes(facts, bridge.named, alias, relations, once) for alias in bridge.pair)
    first, second = bridge.pair
    equalities = (
        *_without(query, bridge),
        _equal(first, left.alias, bridge.row),
        *(_equal(left.alias, right.alias, name) for name in bridge.nodes),
        _equal(right.alias, second, bridge.row),
    )
    rest = tuple(each for each in query.spanning if each not in bridge.of)
    made = replace(query, relations=(*query.relations, left, right), equalities=equalities, spanning=rest)
    return _with_own_equal(made, bridge)


def _nodes(facts: Facts, bridge: Bridge, of: str, relations: dict[str, Relation], once: Once) -> Relation:
    alias = f"{of} nodes {bridge.number}"
    if facts.engine.fold(alias, True) != alias:  # PostgreSQL would cut it, and then it may be the name of another one
        alias = f"nodes {bridge.number} of {'the right' if of == bridge.pair[1] else 'the left'}"
    source, once = sql.aliased(bridge.entries(of, relations), alias), once._replace(nodes_of=of)
    return _described(facts, Relation(alias, "", source, (), once=once))


def _equal(left: str, right: str, name: str) -> Equality:
    return Equality(Term(left, sql.named(name, left)), Term(right, sql.named(name, right)))


def _numbered(facts: Facts, relation: Relation, bridge: Bridge, once: Once) -> Relation:
    """With a number for each row, in the order of keys and values: rows that are equal there have equal nodes, so it
    does not matter which of them has which number."""
    alias, values = relation.alias, bridge.values(relation.alias)
    order = [*(v.at(alias)[0].expression for v in bridge.keys), *values]
    number = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=[exp.Ordered(this=e.copy()) for e in order]))
    outputs = [(number, bridge.row), *((e.copy(), bridge.names_of[e]) for e in values if e in bridge.names_of)]
    rows = exp.select(sql.everything(alias), *(exp.alias_(e, name, quoted=True) for e, name in outputs))
    source = sql.aliased(rows.from_(relation.source.copy()), alias)
    return _described(facts, replace(relation, source=source, once=once))


def _described(facts: Facts, relation: Relation) -> Relation:
    sql.keep_names(relation.source)
    return replace(relation, columns=facts.engine.describe(exp.select("*").from_(relation.source.copy())))


def _without(query: FeatureQuery, bridge: Bridge) -> Iterator[Equality]:
    """The equalities that stay: a node is of one key, so those of the second relation are those of the first."""
    first, second = bridge.pair
    instead = {t: v.at(first)[0] for v in bridge.keys for t in v.at(second)}
    for equality in query.equalities:
        left, right = (instead.get(term, term) for term in (equality.left, equality.right))
        if left != right:
            yield Equality(left, right)


def _with_own_equal(query: Parsed, bridge: Bridge) -> Parsed:
    """Several terms of the second relation for one key are equal there."""
    for variable in bridge.keys:
        first, *others = variable.at(bridge.pair[1])
        if others:
            equal = (sql.equal(first.expression.copy(), other.expression.copy()) for other in others)
            query = query.where(bridge.pair[1], *equal)
    return query
