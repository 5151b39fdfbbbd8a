"""A bridge: two derived relations through which the rows of two others meet that satisfy conditions of order.

    FROM orders o JOIN "o nodes" USING (row) JOIN "v nodes" USING (node) JOIN visits v USING (row)

The points of a key, here the days of visits, are sorted. Those with no end of an interval between them are one slot.
Level l has nodes of f^l slots. A point is in one node of each level. An interval is the disjoint union of at most
2 (f - 1) nodes of each level. So a pair of rows meets in one node if it satisfies the condition, and in none if it does
not (Tziavelis, Gatterbauer and Riedewald, Beyond Equi-joins, 2021). Conditions on two lines take a node of each. What
is an OR of conditions that exclude each other, as an overlap of intervals is, has parts: a node is of one part.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import NamedTuple

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.query.ir import MADE, Relation, Spanning
from sqlsvm.query.line import HIGH, NODE, POINT, is_, point_nodes, slots, spanning_nodes
from sqlsvm.query.names import relations_in
from sqlsvm.query.variables import Variable

ROW = f"{sql.WORKING}row"
FANS = 2, 4, 8, 16, 32
Relations = Mapping[str, Relation]


class Place(NamedTuple):
    """Of a point or an end: its value, and where it stands among values that are equal."""

    value: exp.Expression
    among: exp.Expression
    which: int = POINT


@dataclass(frozen=True)
class Line:
    """Rows of `spans` have intervals, and rows of `points` have points."""

    spans: str
    points: str
    point: Place
    ends: tuple[Place, ...]
    outside: bool = False
    """Do rows meet outside of the interval? Below its high end or above its low one, which lie around one value."""
    unbounded: bool = False
    """Is NULL no bound? A point is before all others then."""
    only: Mapping[str, exp.Expression] = field(default_factory=dict)
    """A condition on the rows of a relation."""

    @property
    def sides(self) -> list[set[int]]:
        """The kinds of ends of disjoint intervals."""
        kinds = {end.which for end in self.ends}
        return [{kind} for kind in sorted(kinds)] if self.outside else [kinds]

    @property
    def expressions(self) -> Iterator[exp.Expression]:
        yield from (each for place in (self.point, *self.ends) for each in (place.value, place.among))
        yield from self.only.values()

    def over(self, change: Callable[[exp.Expression], exp.Expression]) -> "Line":
        """With other expressions."""

        def changed(place: Place) -> Place:
            return place._replace(value=change(place.value), among=change(place.among))

        only = {alias: change(condition) for alias, condition in self.only.items()}
        return replace(self, point=changed(self.point), ends=tuple(map(changed, self.ends)), only=only)

    def entries(self, fan: int) -> float:
        """For each level, of a row with an interval."""
        return (fan - 1) / 2 * len(self.ends)


@dataclass(frozen=True)
class Bridge:
    pair: tuple[str, str]
    keys: tuple[Variable, ...]
    lines: tuple[Line, ...]
    parts: tuple[tuple[int, ...], ...]
    """The lines of each. A pair of rows meets on all lines of one part."""
    of: tuple[Spanning, ...]
    number: int
    """Of all relations so far: a relation may have several bridges."""
    fan: int = 2

    @property
    def row(self) -> str:
        return f"{ROW}{self.number}"

    @property
    def names(self) -> list[str]:
        return [f"k{i}" for i in range(len(self.keys))]

    @property
    def nodes(self) -> list[str]:
        """A column for each line."""
        return [f"{NODE}{i}" for i in range(max(map(len, self.parts)))]

    def table(self, line: int) -> str:
        return f"{MADE}_line{self.number}_{line}"

    def values(self, alias: str) -> list[exp.Expression]:
        """What a relation has on the lines."""
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
        """The same over these columns."""

        def over(value: exp.Expression) -> exp.Expression:
            return sql.named(self.names_of[value], relations_in(value)[0]) if value in self.names_of else value

        return replace(self, lines=tuple(line.over(over) for line in self.lines))

    # -- statements ----------------------------------------------------------------------------------------------------

    def entries(self, alias: str, relations: Relations) -> exp.Select:
        """SELECT row, nodes of the rows of a relation"""
        found = _united(self._of_part(alias, number) for number in range(len(self.parts)))
        made = exp.select("*").from_(sql.derived(found, "parts"))
        for number, line in enumerate(self.lines):
            made = made.with_(self.table(number), self._slots(line, relations), materialized=True, copy=False)
        return made

    def _of_part(self, alias: str, number: int) -> exp.Select:
        each = [sql.derived(self._nodes(alias, line), f"n{i}") for i, line in enumerate(self.parts[number])]
        first: exp.Expression = sql.column(NODE, "n0")
        if len(self.parts) > 1:
            first = sql.plus(sql.product(first, len(self.parts)), number)
        nodes = [first, *(sql.column(NODE, f"n{i}") for i in range(1, len(each)))]
        nodes += [sql.integer(0)] * (len(self.nodes) - len(nodes))
        outputs = [(sql.column(self.row, "n0"), self.row), *zip(nodes, self.nodes, strict=True)]
        made = sql.select(outputs, each[0])
        for i, other in enumerate(each[1:], 1):
            made = sql.join(made, other, sql.same([self.row], "n0", f"n{i}"))
        return made

    def _nodes(self, alias: str, number: int) -> exp.Query:
        """SELECT row, node: of points those that an interval has."""
        line, table = self.lines[number], self.table(number)
        sides = (spanning_nodes(sql.table(table), [self.row], kinds, self.fan) for kinds in line.sides)
        spanning = _united(sides)
        if alias == line.spans:
            return spanning
        places = sql.select(sql.columns(["at", "base", "most"]), sql.table(table)).where(is_(POINT)).distinct()
        rows = sql.derived(point_nodes(places, ["at"], self.fan), "a")
        met = exp.select("*").from_(sql.derived(spanning, "b")).where(*sql.same([NODE], "a", "b"))
        nodes = sql.where(sql.select(sql.columns(["at", NODE]), rows), exp.Exists(this=met))
        found = sql.select(
            [(sql.column(self.row, "p"), self.row), (sql.column(NODE, "q"), NODE)], sql.table(table, "p")
        )
        found = sql.join(found, sql.derived(nodes, "q"), sql.same(["at"], "p", "q"))
        return sql.where(found, sql.equal("p.which", POINT))

    def _slots(self, line: Line, relations: Relations) -> exp.Select:
        order = ("known", "v", "place") if line.unbounded else ("v", "place")
        each = [self._on_line(line, relations[line.points], line.point)]
        each += [self._on_line(line, relations[line.spans], end) for end in line.ends]
        return slots(_united(each), self.names, [self.row], order)

    def _on_line(self, line: Line, relation: Relation, place: Place) -> exp.Select:
        """A NULL meets nothing, or is no bound: then a high end is not on the line."""
        alias = relation.alias
        keys = [(v.at(alias)[0].expression, name) for v, name in zip(self.keys, self.names, strict=True)]
        outputs = [(sql.named(self.row, alias), self.row), *keys, (place.value, "v"), (place.among, "place")]
        outputs += [(sql.integer(place.which), "which")]
        every = [place.value] if place.which == POINT else [end.value for end in line.ends]
        if line.unbounded:
            outputs += [(sql.case(sql.is_null(place.value), 0, 1), "known")]
            every = [place.value] if place.which == HIGH else []
        present = [sql.not_null(e) for e in (*(e for e, _ in keys), *every)]
        own = [line.only[alias]] if alias in line.only else []
        rows = sql.select([(e.copy(), n) for e, n in outputs], relation.source.copy())
        return rows.where(*(f.copy() for f in (*relation.at_first, *present, *own)))


def _united(queries: Iterable[exp.Query]) -> exp.Query:
    first, *others = queries
    return reduce(sql.union_all, others, first)


def best_fan(lines: Sequence[Line], parts: Sequence[Sequence[int]], rows: Mapping[str, float]) -> tuple[float, int]:
    """The fan with the fewest entries for each level of two: with many points, levels should be few. Of two lines the
    nodes multiply, so few of them are best."""

    def cost(fan: int) -> float:
        each = (line.entries(fan) * rows[line.spans] + (1 - 1 / fan) * rows[line.points] for line in lines)
        return sum(each) / (fan.bit_length() - 1)

    return min((cost(fan), fan) for fan in (FANS if max(map(len, parts)) == 1 else FANS[:1]))
