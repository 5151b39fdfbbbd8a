"""What the planner asks of the relations of a query, and how two of them meet."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import itemgetter

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Column, Engine
from sqlsvm.query import Feature, FeatureQuery, Term
from sqlsvm.query.facts import Facts, RowFacts, as_facts, grouped, how_many, key_facts, key_measures, keyed, names, one
from sqlsvm.query.facts import whole as whole_key
from sqlsvm.query.ir import Variable, gathered, inner_variables
from sqlsvm.query.rows import Outputs

FEW = 3  # to group the small keys of so many relations takes PostgreSQL no longer than to list their constraints
AT_ONCE = 100  # A union of so many takes DuckDB half as long as each alone; one of 2,000 takes seven times as long


@dataclass(frozen=True)
class EdgeFacts:
    """How two relations meet: the largest group of a key on each side, rows without a partner, rows without a key."""

    max_left: float
    max_right: float
    dangling_left: float
    dangling_right: float
    null_left: float
    null_right: float

    @property
    def null_keys(self) -> float:
        return self.null_left + self.null_right


@dataclass(frozen=True)
class Heaviest:
    """The key with the most pairs of rows of two relations."""

    key: tuple[object, ...]
    left: float
    right: float  # rows with it on each side
    share: float  # of all pairs


@dataclass(frozen=True)
class Oddities:
    """In how many rows of its relation a feature is not a finite number."""

    nulls: float
    nans: float = 0.0
    infinite: float = 0.0


class Catalog:
    """The facts about the relations of one query."""

    def __init__(self, facts: Facts, query: FeatureQuery) -> None:
        self.facts, self.engine, self.query = facts, facts.engine, query
        self._of = {r.alias: facts.of(r) for r in query.relations}

    def of(self, alias: str) -> RowFacts:
        return self._of[alias]

    def rows(self, alias: str) -> float:
        return self.of(alias).rows

    def is_never_null(self, feature: Feature) -> bool:
        """Is a value never NULL in rows of the join, also in those that come later? A constraint says so, or WHERE."""
        relation, value = self.query.relation(feature.relation), feature.expression
        declared = isinstance(value, exp.Column) and value.name in self.of(relation.alias).never_null
        known = exp.Is(this=value.copy(), expression=exp.null(), negate=True)
        return relation.optional is None and (declared or known in relation.filters)

    def known_rows(self) -> float:
        """Those of all relations together, as far as they are known."""
        return sum(each.known_rows or 0.0 for each in self._of.values())

    def distinct(self, alias: str, terms: tuple[Term, ...]) -> float:
        """A LEFT JOIN finds as many numbers as there are keys, and 0; or one for each row that looks."""
        for join in self.query.left_joins:
            if terms in ((join.found.left,), (join.found.right,)):
                keys = self.of_partners(join.relation).key(join.key).distinct + 1.0
                return self.rows(join.parent) if join.numbers == "parents" else keys
        return self.of(alias).key(terms).distinct

    def of_partners(self, alias: str) -> RowFacts:
        return self.facts.of(self.query.relation(alias).partners)

    # -- variables -----------------------------------------------------------------------------------------------------

    def held(self, variable: Variable) -> list[Column]:
        """The columns of a variable, as the database describes them at each of its holders."""
        return [self.of(term.relation).described(term) for term in variable.terms]

    def alike(self, variable: Variable) -> bool:
        """Does a variable have one type at all its holders, or is it a number?"""
        if variable.is_found:
            return True
        described = self.held(variable)
        return len({d.type for d in described}) == 1 or {d.kind for d in described} == {"numeric"}

    def whole(self, variable: Variable) -> bool:
        """Is a variable a whole number of the tables at all its holders?"""
        if variable.is_found:
            return False
        known = [column for term in variable.terms if (column := self.of(term.relation).column(term))]
        columns = known if len(known) == len(variable.terms) else self.held(variable)
        return self.engine.abilities.integers.issuperset(column.type for column in columns)

    # -- keys ----------------------------------------------------------------------------------------------------------

    def unique(self, alias: str, terms: tuple[Term, ...]) -> bool:
        """All rows that find nothing look for the same number, unless each has its own."""
        alike = [join.found.left for join in self.query.left_joins if join.numbers != "parents"]
        told = tuple(t for term in terms if term not in alike for t in self.query.spelt(term))
        return self._unique(alias, told) if told or not terms else False

    def _unique(self, alias: str, terms: tuple[Term, ...]) -> bool:
        own = self.of(alias)
        quick = own.is_small and (self.engine.abilities.in_process or len(self.query.relations) <= FEW)
        if not quick:
            self.facts.declare(self._of.values())
        if self.engine.rates.slow_to_start and (quick or not own.is_declared(terms)):
            self._look_at_keys()
        return own.is_unique(terms, quick=quick)

    def _look_at_keys(self) -> None:
        """Asks in one statement what `unique` asks of the variables one by one."""
        pairs = [(self.of(a), v.at(a)[:1]) for v in inner_variables(self.query) for a in sorted(v.holders)]
        asked = [(of, key) for of, key in dict.fromkeys(pairs) if key not in of.keys and key not in of.early]
        if len(asked) < 2:
            return
        rows = [of.rows_of(keyed(key)) if of.is_small else of.first(key) for of, key in asked]
        for (of, key), found in zip(asked, _each(self.engine, [key_measures(each, 1) for each in rows]), strict=True):
            (of.keys if of.is_small else of.early)[key] = as_facts(found)

    def edge(self, left: str, right: str, pairs: Sequence[tuple[Term, Term]], *, looked: bool = False) -> EdgeFacts:
        """How two relations of the query meet over pairs of equal terms. `looked`: before WHERE, as LEFT JOINs do."""
        ours, theirs, equal = _sides(pairs)
        of = self.of_partners if looked else self.of
        return edge_facts(self.engine, of(left).own_rows(ours), of(right).own_rows(theirs), equal)

    def heaviest(
        self, left: str, right: str, pairs: Sequence[tuple[Term, Term]], named: Sequence[int]
    ) -> Heaviest | None:
        """None if no rows meet. The key is named by some of the pairs, given by their places."""
        ours, theirs, equal = _sides(pairs)
        a, b = (grouped(self.of(side).own_rows(key), names(len(key))) for side, key in ((left, ours), (right, theirs)))
        return _heaviest(self.engine, a, b, equal, [equal[place][0] for place in named])

    # -- values --------------------------------------------------------------------------------------------------------

    def oddities(self, alias: str, features: Sequence[Feature]) -> dict[str, Oddities]:
        """NULL, NaN and infinity in each feature over its relation, without the row of NULLs of a LEFT JOIN."""
        relation = self.query.relation(alias)
        counts = [(how_many(odd), f"{name}{i}") for i, f in enumerate(features) for name, odd in _odd(f).items()]
        found = one(self.engine, relation.rows(counts))
        return {f.name: Oddities(**{name: found[f"{name}{i}"] for name in _odd(f)}) for i, f in enumerate(features)}

    def nulls_in_join(self, features: Sequence[Feature]) -> dict[Feature, float]:
        """NULLs of each feature over the rows that its relation brings to the join, with the row of NULLs. One
        statement asks for all: where statements take long, that counts more than what they read."""
        asked = gathered((f.relation, f) for f in features if f.expression not in self.of(f.relation).nulls)
        widest = max(map(len, asked.values()), default=0)
        found = _each(self.engine, [self._present(alias, own, widest) for alias, own in asked.items()])
        for (alias, own), row in zip(asked.items(), found, strict=True):
            self.of(alias).counted = row["n"]
            self.of(alias).nulls |= {f.expression: row["n"] - row[f"v{i}"] for i, f in enumerate(own)}
        return {f: self.of(f.relation).nulls[f.expression] for f in features}

    def _present(self, alias: str, features: Sequence[Feature], width: int) -> exp.Select:
        """SELECT rows AS n, COUNT(feature) AS v0, ..., 0 AS v3 .. up to a width"""
        relation = self.query.relation(alias)
        values: Outputs = [(relation.presence(f.expression), f"v{i}") for i, f in enumerate(features)]
        counts: list[exp.Expression] = [exp.Count(this=sql.column(name)) for _, name in values]
        counts += [sql.integer(0)] * (width - len(counts))
        outputs = [(sql.count(), "n"), *((c, f"v{i}") for i, c in enumerate(counts))]
        return sql.select(outputs, sql.derived(self.of(alias).rows_of(values), "r"))


def _each(engine: Engine, queries: Sequence[exp.Select]) -> list[dict[str, float]]:
    """The one row of each of these, which have the same columns, in as few statements as engines read fast."""
    rows: list[dict[str, float]] = []
    for at in range(0, len(queries), AT_ONCE):
        placed: list[exp.Query] = [
            query.select(exp.alias_(sql.integer(place), "place"), copy=False)
            for place, query in enumerate(queries[at : at + AT_ONCE], at)
        ]
        found = engine.fetch(reduce(sql.union_all, placed))
        rows += [dict(zip(found, map(float, row), strict=True)) for row in zip(*found.values(), strict=True)]
    return sorted(rows, key=itemgetter("place"))


def _odd(feature: Feature) -> dict[str, exp.Expression]:
    """The conditions to count. Both engines sort NaN above infinity, and so NaN equals itself."""
    odd = {"nulls": sql.is_null(feature.expression)}
    if feature.kind == "numeric":
        value, infinity = sql.double(feature.expression.copy()), sql.double(exp.Literal.string("Infinity"))
        odd["nans"] = sql.more(value, infinity)
        odd["infinite"] = sql.equal(exp.Abs(this=value.copy()), infinity.copy())
    return odd


def _sides(pairs: Sequence[tuple[Term, Term]]) -> tuple[tuple[Term, ...], tuple[Term, ...], list[tuple[int, int]]]:
    """The terms of the left, those of the right, each once, and the places that are equal."""
    ours, theirs = (tuple(dict.fromkeys(side)) for side in (zip(*pairs, strict=True) if pairs else ((), ())))
    return ours, theirs, [(ours.index(a), theirs.index(b)) for a, b in pairs]


def edge_facts(
    engine: Engine,
    left: exp.Query,
    right: exp.Query,
    equal: Sequence[tuple[int, int]],
    size: exp.Expression | None = None,
) -> EdgeFacts:
    """The facts of two SELECTs of keys k0, k1, ... joined where k_i of the left equals k_j of the right, for (i, j) in
    equal. `size` is the number of rows of a group: COUNT(*), unless the rows have a multiplicity.

    Both are grouped by key first, so the join has at most one row a key, and no product.
    """
    if not equal:
        a, b = (key_facts(engine, side, 0, size).rows for side in (left, right))
        return EdgeFacts(a, b, 0.0 if b else a, 0.0 if a else b, 0.0, 0.0)
    ours, theirs = (names(1 + max(places)) for places in zip(*equal, strict=True))
    measures = [*_side_measures("l", "r", ours), *_side_measures("r", "l", theirs)]
    on = [sql.equal(sql.column(f"k{i}", "l"), sql.column(f"k{j}", "r")) for i, j in equal]
    met = sql.select(measures, sql.derived(grouped(left, ours, size), "l"))
    f = one(engine, sql.join(met, sql.derived(grouped(right, theirs, size), "r"), on, "full"))
    return EdgeFacts(f["max_l"], f["max_r"], f["dangling_l"], f["dangling_r"], f["null_l"], f["null_r"])


def _heaviest(
    engine: Engine, left: exp.Query, right: exp.Query, equal: Sequence[tuple[int, int]], named: Sequence[int]
) -> Heaviest | None:
    pairs = sql.product("l.c", "r.c")
    keys = [(sql.column(f"k{i}", "l"), f"k{n}") for n, i in enumerate(named)]
    sizes = [(sql.column("c", side), name) for side, name in (("l", "left"), ("r", "right"))]
    on = [sql.equal(sql.column(f"k{i}", "l"), sql.column(f"k{j}", "r")) for i, j in equal]
    met = sql.select([*keys, *sizes, (pairs, "pairs"), (sql.window(sql.total(pairs.copy())), "total")])
    met = sql.join(met.from_(sql.derived(left, "l")), sql.derived(right, "r"), on)
    heaviest = exp.Ordered(this=sql.column("pairs"), desc=True, nulls_first=False)
    found = engine.fetch(met.order_by(heaviest, *(sql.column(name) for _, name in keys)).limit(1))
    if not len(found["pairs"]):
        return None
    key = tuple(value for _, name in keys for value in found[name].tolist())
    n, m, own, total = (float(found[name][0]) for name in ("left", "right", "pairs", "total"))
    return Heaviest(key, n, m, own / total)


def _side_measures(side: str, other: str, names: Sequence[str]) -> Outputs:
    """Over outer-joined groups of keys. If only the other side has a key, ours and its size c are NULL."""
    c, whole, alone = sql.column("c", side), whole_key(names, side), sql.is_null(sql.column("c", other))
    return [
        (sql.or_zero(sql.largest(sql.case(whole, c))), f"max_{side}"),
        (sql.sum_or_zero(sql.case(sql.every([alone, whole]), c)), f"dangling_{side}"),
        (sql.sum_or_zero(sql.case(exp.not_(whole), c)), f"null_{side}"),
    ]
