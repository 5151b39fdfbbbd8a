"""A condition of order between two relations -> a bridge: two derived relations through which the rows of the two
meet that satisfy it.

    FROM orders o JOIN "o nodes" USING (row) JOIN "v nodes" USING (node) JOIN visits v USING (row)

The points of a key, here the days of visits, are sorted. Those with no end of an interval between them are one slot.
Level l has nodes of f^l slots. A point is in one node of each level. An interval is the disjoint union of at most
2 (f - 1) nodes of each level. So a pair of rows meets in one node if it satisfies the condition, and in none if it does
not (Tziavelis, Gatterbauer and Riedewald, Beyond Equi-joins, 2021). Conditions on two lines take a node of each.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import permutations, product

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.query.facts import Facts, grouped, one
from sqlsvm.query.ir import (
    MADE,
    Equality,
    FeatureQuery,
    Once,
    Parsed,
    Relation,
    Spanning,
    Term,
    Variable,
    inner_variables,
)
from sqlsvm.query.line import AT, NODE, POINT, End, comparisons, ends_of, is_, point_nodes, slots, spanning_nodes
from sqlsvm.query.names import relations_in
from sqlsvm.query.rewrites.meet import finds, meets

ROW = f"{sql.WORKING}row"
FANS = 2, 4, 8, 16, 32
Relations = Mapping[str, Relation]


@dataclass(frozen=True)
class Line:
    """Rows of `spans` have intervals, and rows of `points` have points."""

    spans: str
    points: str
    point: exp.Expression
    ends: tuple[End, ...]

    @property
    def expressions(self) -> tuple[exp.Expression, ...]:
        return self.point, *(end.value for end in self.ends)

    def over(self, change: Callable[[exp.Expression], exp.Expression]) -> "Line":
        ends = tuple(replace(end, value=change(end.value)) for end in self.ends)
        return replace(self, point=change(self.point), ends=ends)

    def entries(self, fan: int) -> float:
        """For each level, of a row with an interval."""
        return (fan - 1) / 2 * len(self.ends)


@dataclass(frozen=True)
class Bridge:
    pair: tuple[str, str]
    keys: tuple[Variable, ...]
    lines: tuple[Line, ...]  # A pair of rows meets on all of them
    of: tuple[Spanning, ...]
    number: int  # of all relations so far: a relation may have several bridges
    fan: int = 2

    @property
    def row(self) -> str:
        return f"{ROW}{self.number}"

    @property
    def names(self) -> list[str]:
        return [f"k{i}" for i in range(len(self.keys))]

    @property
    def nodes(self) -> list[str]:
        return [f"{NODE}{i}" for i in range(len(self.lines))]

    def table(self, line: int) -> str:
        return f"{MADE}_line{self.number}_{line}"

    def values(self, alias: str) -> list[exp.Expression]:
        return [value for value in self._values if alias in relations_in(value)]

    @cached_property
    def _values(self) -> Mapping[exp.Expression, None]:
        every = (each for line in self.lines for each in line.expressions)
        return dict.fromkeys(each for each in every if each.find(exp.Column))

    @cached_property
    def names_of(self) -> Mapping[exp.Expression, str]:
        """The columns that the numbered rows have for what is no column."""
        return {e: f"{self.row}_{n}" for n, e in enumerate(self._values) if not isinstance(e, exp.Column)}

    @property
    def named(self) -> "Bridge":
        def over(value: exp.Expression) -> exp.Expression:
            return sql.named(self.names_of[value], relations_in(value)[0]) if value in self.names_of else value

        return replace(self, lines=tuple(line.over(over) for line in self.lines))

    # -- statements ----------------------------------------------------------------------------------------------------

    def entries(self, alias: str, relations: Relations) -> exp.Select:
        """SELECT row, nodes of the rows of a relation"""
        each = [sql.derived(self._nodes(alias, number), f"n{number}") for number in range(len(self.lines))]
        nodes = [(sql.column(NODE, f"n{i}"), name) for i, name in enumerate(self.nodes)]
        made = sql.select([(sql.column(self.row, "n0"), self.row), *nodes], each[0])
        for i, other in enumerate(each[1:], 1):
            made = sql.join(made, other, sql.same([self.row], "n0", f"n{i}"))
        for number, line in enumerate(self.lines):
            made = made.with_(self.table(number), self._slots(line, relations), materialized=True, copy=False)
        return made

    def _nodes(self, alias: str, number: int) -> exp.Query:
        """SELECT row, node: of points those that an interval has."""
        line, table = self.lines[number], self.table(number)
        spanning = spanning_nodes(sql.table(table), [self.row], {end.kind for end in line.ends}, self.fan)
        if alias == line.spans:
            return spanning
        places = sql.select(sql.columns(["at", "base", "most"]), sql.table(table)).where(is_(POINT)).distinct()
        rows = sql.derived(point_nodes(places, ["at"], self.fan), "a")
        met = exp.select("*").from_(sql.derived(spanning, "b")).where(*sql.same([NODE], "a", "b"))
        nodes = sql.where(sql.select(sql.columns(["at", NODE]), rows), exp.Exists(this=met))
        outputs = [(sql.column(self.row, "p"), self.row), (sql.column(NODE, "q"), NODE)]
        found = sql.select(outputs, sql.table(table, "p"))
        found = sql.join(found, sql.derived(nodes, "q"), sql.same(["at"], "p", "q"))
        return sql.where(found, sql.equal("p.which", POINT))

    def _slots(self, line: Line, relations: Relations) -> exp.Select:
        spans, ends = relations[line.spans], [end.value for end in line.ends]
        each = [self._on_line(relations[line.points], line.point, AT, POINT, [line.point])]
        each += [self._on_line(spans, end.value, end.place, end.kind, ends) for end in line.ends]
        return slots(reduce(sql.union_all, each), self.names, [self.row])

    def _on_line(
        self, relation: Relation, value: exp.Expression, place: int, which: int, known: Iterable[exp.Expression]
    ) -> exp.Query:
        """A row in which one of these values is NULL meets nothing."""
        alias = relation.alias
        keys = [(v.at(alias)[0].expression, name) for v, name in zip(self.keys, self.names, strict=True)]
        outputs = [(sql.named(self.row, alias), self.row), *keys, (value, "v"), (sql.integer(place), "place")]
        outputs += [(sql.integer(which), "which")]
        present = [sql.not_null(e) for e in (*(e for e, _ in keys), *known)]
        rows = sql.select([(e.copy(), n) for e, n in outputs], relation.source.copy())
        return rows.where(*(f.copy() for f in (*relation.at_first, *present)))


def best_fan(lines: Sequence[Line], rows: Mapping[str, float]) -> tuple[float, int]:
    """The fan with the fewest entries for each level of two: with many points, levels should be few. Of two lines the
    nodes multiply, so few of them are best."""

    def cost(fan: int) -> float:
        each = (line.entries(fan) * rows[line.spans] + (1 - 1 / fan) * rows[line.points] for line in lines)
        return sum(each) / (fan.bit_length() - 1)

    return min((cost(fan), fan) for fan in (FANS if len(lines) == 1 else FANS[:1]))


MOST_LINES = 2  # the nodes of a row on one line are multiplied by those on the others


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
    if not every or (facts.engine.sizes.few_pairs and _are_few(query, facts, pair, keys)):
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
    most = facts.engine.sizes.few_pairs * (left.rows + right.rows)
    if not keys:
        return left.rows * right.rows < most
    names = [f"k{i}" for i in range(len(keys))]
    sides = [grouped(f.own_rows(tuple(v.at(f.relation.alias)[0] for v in keys)), names) for f in (left, right)]
    pairs = sql.sum_or_zero(sql.product(*(sql.column("c", side) for side in "lr")))
    met = sql.select([(pairs, "n")], sql.derived(sides[0], "l"))
    found = one(facts.engine, sql.join(met, sql.derived(sides[1], "r"), sql.same(names, "l", "r")))["n"]
    return found < most


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


def _seen(condition: exp.Expression, pair: Sequence[str]) -> Iterator[Line]:
    """As ends of an interval around a point, seen from each side."""
    for spans, points in permutations(pair):
        if found := list(_ends(condition, spans, points)):
            (point, *_), ends = zip(*found, strict=True)
            yield Line(spans, points, point, ends)


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
    return reduce(lambda found, variable: variable.one_at(second, found), bridge.keys, made)


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
