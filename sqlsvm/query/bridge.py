"""A bridge: two derived relations through which the rows of two others meet that satisfy conditions of order.

    FROM orders o JOIN "o nodes" USING (row) JOIN "v nodes" USING (node) JOIN visits v USING (row)

The points of a key, here the days of visits, are sorted. Those with no end of an interval between them are one slot.
Level l has nodes of f^l slots. A point is in one node of each level. An interval is the disjoint union of at most
2 (f - 1) nodes of each level. So a pair of rows meets in one node if it satisfies the condition, and in none if it does
not (Tziavelis, Gatterbauer and Riedewald, Beyond Equi-joins, 2021). Conditions on two lines take a node of each.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.query.ir import MADE, Relation, Spanning
from sqlsvm.query.line import AT, NODE, POINT, End, is_, point_nodes, slots, spanning_nodes
from sqlsvm.query.names import relations_in
from sqlsvm.query.variables import Variable

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
        """With other expressions."""
        ends = tuple(replace(end, value=change(end.value)) for end in self.ends)
        return replace(self, point=change(self.point), ends=ends)

    def entries(self, fan: int) -> float:
        """For each level, of a row with an interval."""
        return (fan - 1) / 2 * len(self.ends)


@dataclass(frozen=True)
class Bridge:
    pair: tuple[str, str]
    keys: tuple[Variable, ...]
    lines: tuple[Line, ...]
    """A pair of rows meets on all of them."""
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
        return [f"{NODE}{i}" for i in range(len(self.lines))]

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
        found = sql.select(
            [(sql.column(self.row, "p"), self.row), (sql.column(NODE, "q"), NODE)], sql.table(table, "p")
        )
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
