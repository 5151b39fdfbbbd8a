"""The rows of a bag with their scores: p = theta . x over the core and everything that folds into it.

Scores that are looked up by place, not by a join: for keys that are whole numbers and lie close together.

PostgreSQL needs some 200 ns to join a row by a hash table, and it carries all columns along. Where the key of a
dimension is a place in an array of scores, each pass makes the array once, and a scan of the facts reads from it. This
takes less than half the time. Where a pass is one scan, the columns of the dimension are in arrays too.

The scan leaves out keys beyond the array and NULL. A hole between the keys has the score NaN, because PostgreSQL walks
an array that contains NULL from its beginning. The sum is then NaN too. Both engines say that NaN is greater than all
numbers, so rows without a partner are never active, as if they had been dropped.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.categories import in_table, place_in_table
from sqlsvm.compile.prepare import Name, Output, key, node_rows, node_table
from sqlsvm.compile.statement import theta
from sqlsvm.plan.design import Coordinate, Dictionary
from sqlsvm.plan.join_tree import Edge
from sqlsvm.plan.plan import PART, Places, Plan
from sqlsvm.plan.target import CODE
from sqlsvm.query.ir import gathered
from sqlsvm.sql import Named

Bend = Callable[[exp.Expression], exp.Expression]  # what becomes of each term theta_j x_j of a score


def number_columns(plan: Plan, node: int) -> list[str]:
    """The numbers of a node, as they are."""
    return [c.column for c in plan.coordinates(node) if c.role == "value"]


def value_columns(plan: Plan, node: int) -> list[str]:
    """What the rows of a core keep so that their counts can be resolved: coordinates, categories."""
    return [*number_columns(plan, node), *(d.column for d in plan.dictionaries(node))]


def weight_of(rows: exp.Select) -> exp.Expression:
    """What each of these rows weighs: w, or 1 if there is none."""
    return sql.double(sql.column("w")) if "w" in rows.named_selects else sql.number(1)


def outputs(plan: Plan, node: int) -> list[Output]:
    """What a node gives apart from its keys: coordinates, categories, the label's code, the part that a row belongs to,
    and the factors of a weight."""
    target = plan.design.target
    made = [Output(c.relation, c.value, c.column) for c in plan.coordinates(node) if c.role == "value"]
    made += [Output(d.relation, d.value, d.column) for d in plan.dictionaries(node)]
    if node == plan.label_node:
        made.append(Output(target.label.relation, target.code, CODE))
        if plan.split:
            whose = plan.tree.query.label_relation
            made.append(Output(whose, sql.named(plan.split, whose), PART))
    query = plan.tree.query
    made += [Output(query.label_relation, query.marks[name], name) for name in plan.marks(node)]
    return made + _factors(plan, node)


def of_label(plan: Plan, alias: str | None = None) -> Named:
    """What the label's node says of a row: its code, and the part that it belongs to."""
    return sql.columns([CODE, *plan.parts], alias)


def _factors(plan: Plan, node: int) -> list[Output]:
    """What the rows of a node weigh, as one factor for each of its relations that says so."""
    design, target = plan.design, plan.design.target
    factors: list[tuple[str, exp.Expression]] = []
    if design.weight is not None and design.weight.relation in plan.tree.nodes[node]:
        factors.append((design.weight.relation, sql.double(design.weight.expression.copy())))
    if target.weighted and node == plan.label_node:
        factors.append((target.label.relation, target.factor()))
    return [Output(r, sql.product(*f), f"w{i}") for i, (r, f) in enumerate(gathered(factors).items())]


def rows(plan: Plan, node: int) -> exp.Select:
    """SELECT k.., x.., v.., y, w over a node, wherever it is read from."""
    found = node_rows(plan.tree, node, outputs(plan, node))
    factors = [factor.name for factor in _factors(plan, node)]
    if not factors and isinstance(found, exp.Select):
        return found
    made = sql.columns(n for n in found.named_selects if n not in factors)
    made += [(sql.product(*(sql.column(n) for n in factors)), "w")] if factors else []
    return sql.select(made, sql.derived(found, "q"))


def source(plan: Plan, node: int, alias: str = "r") -> exp.Expr:
    if node in plan.copied:
        return sql.table(node_table(node), alias)
    return sql.derived(rows(plan, node), alias)


def filled(plan: Plan, node: int, alias: str) -> exp.Expr:
    """A source where every coordinate is a column, with 0 for nothing."""
    found = source(plan, node, alias)
    if not any(c.nullable for c in plan.coordinates(node)):
        return found
    columns = [(c.of("q"), c.column) for c in plan.coordinates(node) if c.role != "intercept"]
    names = [n for n in rows(plan, node).named_selects if n not in (*number_columns(plan, node), "w")]
    names += ["w"] if plan.weighted(node) else []
    return sql.derived(sql.select([*sql.columns(names, "q"), *columns], source(plan, node, "q")), alias)


def straight(term: exp.Expression) -> exp.Expression:
    return term


_alias: Name = "f{}".format  # of a child
ROW = "r"  # the node itself, where its rows are scored


@dataclass(frozen=True)
class Vector:
    """One of the vectors of weights in theta: the column of its score, and how many numbers come before it."""

    score: str = "p"
    before: int = 0

    def at(self, place: exp.Expression) -> exp.Expression:
        return theta(sql.plus(place, self.before) if self.before else place)


@dataclass(frozen=True)
class Part:
    """What the node itself, or something attached to it, adds to the scored rows."""

    terms: Callable[[Vector], list[exp.Expression]]  # of a score
    columns: Named = field(default_factory=list)
    labels: Named = field(default_factory=list)
    weight: exp.Expression | None = None
    conditions: list[exp.Expression] = field(default_factory=list)
    joined: tuple[exp.Expr, list[exp.Expression], str] | None = None  # an item of FROM, what it is joined on, and how


@dataclass(frozen=True)
class Scoring:
    """How rows are scored. What is placed is looked up, not joined; whole rows also have the coordinates of what folds
    in. With several vectors of weights there is a score for each, and nothing is placed."""

    plan: Plan
    bend: Bend = straight
    placed: Mapping[int, Places] = field(default_factory=dict)
    whole: bool = False
    vectors: Sequence[Vector] = (Vector(),)

    def rows(self, node: int, keys: Sequence[int], extra: Sequence[tuple[exp.Expression, str]] = ()) -> exp.Select:
        """SELECT keys, extra, the score as p, and the code and w where there are any: one row for each row of the node.

        What folds into it is joined on its unique key, so no row is ever repeated; rows without a partner drop out.
        Where it is placed, rows without a partner may stay, and their p is NaN.
        """
        parts, homes = list(self._parts(node, keys)), self._homes(node)
        made: Named = [(sql.column(key(v), homes[v]), key(v)) for v in keys]
        made += [*extra, *(column for part in parts for column in part.columns)]
        made += [(sql.plus(*(term for part in parts for term in part.terms(v))), v.score) for v in self.vectors]
        made += [label for part in parts for label in part.labels]
        weights = [part.weight for part in parts if part.weight]
        made += [(sql.product(*weights), "w")] if weights else []
        found = sql.select(made or [(sql.integer(1), "one")], _filtered_first(self.plan, node, ROW))
        found = sql.where(found, *(condition for part in parts for condition in part.conditions))
        for part in parts:
            found = sql.join(found, *part.joined) if part.joined else found
        return found

    def _parts(self, node: int, keys: Sequence[int]) -> Iterator[Part]:
        yield self._own(node)
        homes = self._homes(node)
        for child, edge in self.plan.folded(node):
            if places := self.placed.get(child):
                yield self._looked_up(child, edge, places)
            else:
                wanted = {v for v in keys if homes[v] == _alias(child)}
                yield self._folded(child, edge, sorted({*edge.on, *wanted}))
        yield from map(self._category, self.plan.dictionaries(node))

    def _homes(self, node: int) -> dict[int, str]:
        """Where the keys of a node are read: in its own rows, or else in the first of its children that has them."""
        homes = dict.fromkeys(self.plan.tree.variables_of(node), ROW)
        for child, _ in self.plan.folded(node):
            if child not in self.placed:
                found = {v for n in self.plan.together(child) for v in self.plan.tree.variables_of(n)}
                homes = dict.fromkeys(found, _alias(child)) | homes
        return homes

    def _own(self, node: int) -> Part:
        plan = self.plan
        labels = of_label(plan, ROW) if node == plan.label_node else []
        weight = sql.column("w", ROW) if plan.weighted(node) else None

        def terms(v: Vector) -> list[exp.Expression]:
            """COALESCE(theta x, what counts for NULL): the coordinate for NULLs comes next."""
            at = {c.index: v.at(sql.integer(c.index + 1)) for c in plan.coordinates(node)}
            found = [(c, self._term(at[c.index], c.raw(ROW))) for c in plan.coordinates(node) if c.role != "missing"]
            return [sql.coalesce(x, self._term(at[c.index + 1])) if c.nullable else x for c, x in found]

        return Part(terms, labels=labels, weight=weight)

    def _looked_up(self, child: int, edge: Edge, places: Places) -> Part:
        (variable,) = edge.on
        at = sql.column(key(variable), ROW)
        scores = Scoring(self.plan, self.bend).rows(child, [variable])
        return Part(lambda v: [score_in(places, scores, at)], conditions=within(places, at))

    def _folded(self, child: int, edge: Edge, keys: Sequence[int]) -> Part:
        plan, f, nodes = self.plan, _alias(child), self.plan.together(child)
        found = replace(self, placed={}).rows(child, keys, carried(plan, child) if self.whole else ())
        meet = sql.same(map(key, edge.on), ROW, f)
        return Part(
            lambda v: [sql.column(v.score, f)],
            sql.columns((name for n in nodes for name in value_columns(plan, n)), f) if self.whole else [],
            of_label(plan, f) if plan.label_node in nodes else [],
            sql.column("w", f) if any(map(plan.weighted, nodes)) else None,
            joined=(sql.derived(sql.fenced(found), f), meet, ""),
        )

    def _category(self, d: Dictionary) -> Part:
        if d.listed:
            return Part(lambda v: [d.listing(lambda n: self._term(v.at(sql.integer(n))), ROW, sql.number(0))])
        place = place_in_table(d, ROW)
        return Part(lambda v: [sql.or_zero(self._term(v.at(place.copy())))], joined=(*in_table(d, ROW), "left"))

    def _term(self, *factors: exp.Expression) -> exp.Expression:
        return self.bend(sql.product(*factors))


def scored(plan: Plan, node: int) -> exp.Select:
    """The rows of a node without their keys."""
    return Scoring(plan).rows(node, ())


def total_at(plan: Plan, x: Coordinate, c: exp.Expression, at: str) -> exp.Expression:
    """SUM(c * a coordinate) of the rows that a bag counts, if they are whole: of a column of theirs, or looked up by
    place."""
    node = plan.tree.node_of(x.relation)
    child = next((child for child in plan.places_read if node in plan.together(child)), None)
    if child is None:
        return x.total(at, c)
    variable = plan.places_read[child]
    rows = Scoring(plan, whole=True, vectors=()).rows(child, [variable], carried(plan, child))
    return sql.sum_or_zero(sql.product(c, value_in(plan.placed[child], rows, x.of("f"), sql.column(key(variable), at))))


def _filtered_first(plan: Plan, node: int, alias: str) -> exp.Expr:
    """A node as an item of FROM, after its own filters. PostgreSQL begins with the cheapest condition, and that on the
    score may fail on what those of the query would have kept away."""
    relations = (plan.tree.query.relation(r) for r in plan.tree.nodes[node])
    if node in plan.copied or not any(r.filters for r in relations):
        return source(plan, node, alias)
    return sql.derived(sql.fenced(rows(plan, node)), alias)


def carried(plan: Plan, node: int) -> Named:
    """The same columns as outputs, where the rows are scored."""
    return sql.columns(value_columns(plan, node), ROW)


def fold_keys(plan: Plan, node: int) -> list[int]:
    """The counts of a core are grouped by these keys, back to what folds into it."""
    return sorted({v for _, edge in plan.folded(node) for v in edge.on})


# -- places ------------------------------------------------------------------------------------------------------------


def score_in(places: Places, scores: exp.Select, at: exp.Column) -> exp.Expression:
    """The p of the key that a row has, from a SELECT of a key and p:
    CASE WHEN key >= first AND key <= last THEN array[key - first + 1] END

    The condition is that of `within`. The WHERE clause has it too, but may be evaluated after this expression."""
    return sql.case(sql.every(within(places, at)), value_in(places, scores, sql.column("p", "f"), at))


def value_in(places: Places, rows: exp.Select, value: exp.Expression, at: exp.Column) -> exp.Expression:
    """A value of the row f with this key, from a SELECT of a key and columns: array[key - first + 1]"""
    place = exp.cast(sql.minus(at, places.first - 1), exp.DType.INT)
    return exp.Bracket(this=_array(places, rows, value, at.name), expressions=[place], offset=1)


def within(places: Places, at: exp.Column) -> list[exp.Expression]:
    """A row whose key is no place has no partner. An index on the key may find the others."""
    least = sql.at_least(at, places.first)
    return [least, sql.at_most(at, places.last)]


def _array(places: Places, rows: exp.Select, value: exp.Expression, key: str) -> exp.Subquery:
    """(SELECT ARRAY_AGG(value ORDER BY place) FROM every place LEFT JOIN the rows AS f)"""
    place = sql.column("place", "e")
    value = sql.coalesce(value, sql.double(exp.Literal.string("NaN")))
    in_order = exp.ArrayAgg(this=exp.Order(this=value, expressions=[exp.Ordered(this=place, nulls_first=False)]))
    every = exp.ExplodingGenerateSeries(start=sql.integer(places.first), end=sql.integer(places.last))
    alias = exp.TableAlias(this=exp.to_identifier("e"), columns=[exp.to_identifier("place")])
    found = sql.select([(in_order, "found")], exp.Table(this=every, alias=alias))
    same = sql.equal(sql.column(key, "f"), place)
    return sql.join(found, sql.derived(rows, "f"), [same], "left").subquery(copy=False)
