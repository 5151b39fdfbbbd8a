"""What the columns of a query are over its join, without a plan: for what looks at a join and trains nothing.

Each row of a node knows in how many rows of the join it is (`count.py`). A measure of one column is a weighted measure
over the rows of its node. Next to that total, messages carry the sum of the label over these rows of the join.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import nan
from typing import ClassVar

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.count import Counts, total_table
from sqlsvm.compile.moments import Factor, Factored
from sqlsvm.compile.prepare import Output, node_rows, node_table, prepare_derived
from sqlsvm.compile.statement import Asked, Statement, asked, binned, in_row, one_number, statement
from sqlsvm.engine.base import Rows
from sqlsvm.plan.design import as_number
from sqlsvm.plan.join_tree import JoinTree
from sqlsvm.plan.target import Target
from sqlsvm.query import Feature
from sqlsvm.solve.arrays import Array
from sqlsvm.sql import Named

LARGEST = 1e100  # the squares of larger numbers, added up, may not be doubles. Like NaN they are left out and counted.
TOTAL = "total"  # in how many rows of the join a row is
LABELLED, CODED, SQUARED = OF_LABEL = "labelled", "coded", "squared"
"""In how many of these the label is known, and the sums of the label and of its square there."""


@dataclass(frozen=True)
class Category:
    place: int
    name: str
    relation: str
    value: exp.Expression
    letter: ClassVar[str] = "v"

    @property
    def column(self) -> str:
        return f"{self.letter}{self.place}"


class Number(Category):
    """An output that is a number, a term of one, or the label as a number."""

    letter = "x"

    def is_known(self, table: str) -> exp.Expression:
        size = exp.Abs(this=sql.column(self.column, table))
        return sql.at_most(size, sql.number(LARGEST))

    def known(self, table: str, otherwise: exp.Expression | None = None) -> exp.Expression:
        return sql.case(self.is_known(table), sql.column(self.column, table), otherwise)


@dataclass(frozen=True)
class NumberFacts:
    known: float  # rows of the join where it is a number
    nulls: float
    mean: float  # nan if it is never known, like the next two
    least: float
    largest: float


@dataclass(frozen=True)
class Columns:
    tree: JoinTree
    numbers: tuple[Number, ...]
    categories: tuple[Category, ...]
    target: Number | None = None
    """The label as a number: 1 and 0 for two classes, else less a centre. It is one of the numbers."""
    weight: Feature | None = None

    @cached_property
    def root(self) -> int:
        return self.tree.node_of(self.target.relation) if self.target else self.tree.root

    @cached_property
    def outputs(self) -> tuple[Output, ...]:
        every: tuple[Number | Category, ...] = (*self.numbers, *self.categories)
        found = [Output(c.relation, c.value, c.column) for c in every]
        weight = [Output(self.weight.relation, sql.double(self.weight.expression), "w")] if self.weight else []
        return (*found, *weight)

    def rows(self, node: int) -> exp.Expr:
        """A node as an item of FROM. What a cycle joins is joined once."""
        if len(self.tree.nodes[node]) > 1:
            return sql.table(node_table(node), "n")
        return sql.derived(node_rows(self.tree, node, self.outputs), "n")

    def weighted(self, node: int) -> bool:
        return self.weight is not None and self.weight.relation in self.tree.nodes[node]

    @property
    def join(self) -> Counts:
        return Counts(self.tree, self.rows, self.weighted)

    def numbers_of(self, node: int) -> list[Number]:
        return [c for c in self.numbers if c.relation in self.tree.nodes[node]]

    def categories_of(self, node: int) -> list[Category]:
        return [c for c in self.categories if c.relation in self.tree.nodes[node]]


def columns_of(tree: JoinTree, features: Sequence[Feature], target: Target | None) -> Columns:
    """The features, in order, and the label at the end."""
    query, found = tree.query, list(enumerate(features))
    numbers = [Number(i, f.name, f.relation, as_number(f.expression, f.kind)) for i, f in found if is_number(f)]
    categories = [Category(i, f.name, f.relation, f.expression) for i, f in found if not is_number(f)]
    if target is None:
        return Columns(tree, tuple(numbers), tuple(categories), None, query.weight)
    code = sql.by_truth(sql.positive(exp.paren(target.code)), 1.0, 0.0) if target.signed else target.code
    last = Number(len(features), target.label.name, target.label.relation, code)
    return Columns(tree, (*numbers, last), tuple(categories), last, query.weight)


def is_number(feature: Feature) -> bool:
    return feature.kind != "categorical"


# -- the rows of each node with their totals ---------------------------------------------------------------------------


def prepared(columns: Columns) -> Iterator[Statement]:
    """What all later statements read."""
    tree = columns.tree
    yield from prepare_derived(tree.query)
    for node in (n for n, block in enumerate(tree.nodes) if len(block) > 1):
        yield Statement(f"rows of {tree.name(node)}", node_rows(tree, node, columns.outputs), node_table(node))


def counts_of(columns: Columns) -> Counts:
    return columns.join.of(columns.root, _label_factors(columns))


def totals(columns: Columns, counts: Counts) -> Iterator[Statement]:
    """The rows of each node that has columns, and of the root, with their totals."""
    for node, _ in counts.tree.down():
        if node == columns.root or columns.numbers_of(node) or columns.categories_of(node):
            yield Statement(f"totals of {counts.tree.name(node)}", _totals(columns, counts, node), total_table(node))


def _label_factors(columns: Columns) -> dict[str, exp.Expression]:
    if columns.target is None:
        return {}
    is_known, zero, one = columns.target.is_known("n"), sql.number(0), sql.number(1)
    y = columns.target.known("n", zero)
    return {"c": one, LABELLED: sql.case(is_known, one, zero), CODED: y, SQUARED: sql.product(y, y)}


def _totals(columns: Columns, counts: Counts, node: int) -> exp.Select:
    names = [c.column for c in columns.numbers_of(node)] + [c.column for c in columns.categories_of(node)]
    sums: Named = [(counts.total(node), TOTAL)]
    sums += [(counts.times(node, name), name) for name in OF_LABEL if columns.target]
    rows = counts.joined(node, [*sql.columns(names, "n"), *sums])
    found = sql.select(sql.columns(rows.named_selects), sql.derived(rows, "t"))
    return sql.where(found, sql.positive(TOTAL))


def rows_of_join(columns: Columns) -> Asked[float]:
    return asked("rows of the join", sql.select([(sql.sum_or_zero(TOTAL), "n")], _kept(columns.root)), one_number)


def _kept(node: int) -> exp.Expr:
    return sql.table(total_table(node), "t")


# -- one column --------------------------------------------------------------------------------------------------------


def measures(columns: Columns, node: int) -> Asked[dict[int, NumberFacts]]:
    total = sql.column(TOTAL, "t")
    made: Named = []
    for c in columns.numbers_of(node):
        x = sql.column(c.column, "t")
        made += [
            (sql.sum_or_zero(sql.case(c.is_known("t"), total, 0.0)), f"n{c.place}"),
            (sql.sum_or_zero(sql.case(sql.is_null(x), total, 0.0)), f"nulls{c.place}"),
            (sql.sum_or_zero(sql.product(total, c.known("t"))), f"sum{c.place}"),
            (sql.smallest(c.known("t")), f"least{c.place}"),
            (sql.largest(c.known("t")), f"largest{c.place}"),
        ]

    def read(rows: Rows) -> dict[int, NumberFacts]:
        values, found = in_row(rows), dict[int, NumberFacts]()
        for c in columns.numbers_of(node):
            n, nulls, total, least, most = (values[f"{of}{c.place}"] for of in OF_NUMBER)
            found[c.place] = NumberFacts(n, nulls, min(max(total / n, least), most) if n > 0.0 else nan, least, most)
        return found

    return asked(f"numbers {node}", sql.select(made, _kept(node)), read)


OF_NUMBER = "n", "nulls", "sum", "least", "largest"


QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
SLACK = 1e-12  # of a count of rows: less is rounding


def quantiles(columns: Columns, c: Number, n: float) -> Asked[dict[float, float]]:
    """The least value such that so many of the n rows with a known number are not above it."""
    rows = sql.select([(sql.column(c.column, "t"), "x"), (sql.column(TOTAL, "t"), "c")], _kept(_node(columns, c)))
    values = sql.grouped(sql.columns(["x"]), sql.totals(["c"]), sql.derived(_known(rows, c), "r"))
    found = sql.at_ranks(values, [q * n * (1.0 - SLACK) for q in QUANTILES])
    return Asked(
        [statement(f"quantiles {c.place}", found)],
        lambda rows: dict(zip(QUANTILES, in_row(rows).values(), strict=True)),
    )


BINS = 30


def histogram(columns: Columns, c: Number, least: float, width: float) -> Asked[Array]:
    """The rows in each of BINS parts of equal width; the largest value is in the last."""
    place = exp.Floor(this=sql.ratio(sql.minus(sql.column(c.column, "t"), sql.number(least)), sql.number(width)))
    last = sql.least(sql.double(place), sql.number(BINS - 1))
    rows = sql.select([(last, "bin"), (sql.column(TOTAL, "t"), "c")], _kept(_node(columns, c)))
    found = sql.grouped(sql.columns(["bin"]), sql.totals(["c"]), sql.derived(_known(rows, c), "r"))
    return asked(f"histogram {c.place}", found, lambda rows: binned(rows, "c", BINS))


def _known(rows: exp.Select, c: Number) -> exp.Select:
    return sql.where(rows, c.is_known("t"))


def _node(columns: Columns, c: Number | Category) -> int:
    return columns.tree.node_of(c.relation)


def categories(columns: Columns, c: Category, most: int) -> tuple[Asked[dict[str, float]], Asked[Rows]]:
    """How many values there are, and the rows without one; then the most frequent values with their rows."""
    v, size = sql.column("v"), sql.column(TOTAL)
    names = [TOTAL, *(OF_LABEL if columns.target else ())]
    values = sql.grouped([(sql.column(c.column, "t"), "v")], sql.totals(names, "t"), _kept(_node(columns, c)))
    nulls = sql.sum_or_zero(sql.case(sql.is_null(v), size, 0.0))
    how_many: Named = [(sql.double(exp.Count(this=v)), "distinct"), (nulls, "nulls")]
    how_many += _between() if columns.target else []
    whole = asked(f"values {c.place}", sql.select(how_many, sql.derived(values, "g")), in_row)
    found = sql.where(sql.select(sql.columns(["v", *names]), sql.derived(values, "g")), sql.not_null(v))
    by_rows = exp.Ordered(this=size, desc=True, nulls_first=False)
    ordered = found.order_by(by_rows, exp.Ordered(this=v, nulls_first=False)).limit(most)
    return whole, asked(f"top values {c.place}", ordered, dict)


def _between() -> Named:
    """The sums of the label over the rows with a value, and the squares of its mean in each value."""
    has_value, squares = sql.not_null(sql.column("v")), sql.ratio(sql.product(CODED, CODED), LABELLED)
    between = sql.case(sql.every([has_value, sql.positive(LABELLED)]), squares, 0.0)
    sums = [(sql.sum_or_zero(sql.case(has_value, name, 0.0)), name) for name in OF_LABEL]
    return [*sums, (sql.sum_or_zero(between), BETWEEN)]


BETWEEN = "between"


# -- two columns -------------------------------------------------------------------------------------------------------


CONSTANT = 0  # the place of the factor that is 1 in every row


VALUE, KNOWN, SQUARE = 1, 2, 3  # the factors of a number


def place(number: int, of: int) -> int:
    return 3 * number + of


def factors(columns: Columns, means: Mapping[int, float], partial: frozenset[int]) -> Factored:
    """The i-th number less its mean, and 0 where it is not known. If some of the numbers, `partial`, are not known in
    all rows, also if it is known, and the square: then each pair is measured over the rows where both are known."""
    found: dict[int, list[Factor]] = {columns.root: [Factor(CONSTANT, sql.number(1), 0)]}
    for i, c in enumerate(columns.numbers):
        centred = sql.minus(sql.column(c.column, "n"), sql.number(means[i]))
        made = [Factor(place(i, VALUE), sql.case(c.is_known("n"), centred, 0.0), 1)]
        if i in partial:
            made.append(Factor(place(i, KNOWN), sql.case(c.is_known("n"), 1.0, 0.0), 0))
        if partial:
            made.append(Factor(place(i, SQUARE), sql.case(c.is_known("n"), sql.product(centred, centred), 0.0), 2))
        found.setdefault(_node(columns, c), []).extend(made)
    return Factored(columns.join, dict(sorted(found.items())))
