"""Facts about the relations of a query: sizes, keys, NULLs.

Almost all are read by plain SELECTs over the relations. So tables, views, materialised views, partitions, foreign
tables and sub-queries are treated alike, and SELECT is the only privilege needed.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import ceil, inf
from operator import itemgetter

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Column, Engine, Values
from sqlsvm.errors import DataError
from sqlsvm.query import Feature, FeatureQuery, Relation, Term
from sqlsvm.query.meeting import declared_keys, is_declared_unique
from sqlsvm.query.variables import Variable, inner_variables

# -- the rows of one relation ------------------------------------------------------------------------------------------

Outputs = Sequence[tuple[exp.Expression, str]]


def rows_of(query: FeatureQuery, alias: str, outputs: Outputs) -> exp.Query:
    """SELECT outputs over the rows that a relation brings to the join.

    The optional side of a LEFT JOIN brings one row more, all NULL, which stands for "no match": with it, the LEFT JOIN
    is an inner join. Conditions of WHERE on that side apply to this row too, as they do after the join.
    """
    relation = query.relation(alias)
    matched = relation.rows(outputs)
    if not query.is_optional(alias):
        return matched
    missing = no_match(relation, outputs).select(*(exp.alias_(e, name) for e, name in outputs))
    return exp.union(matched, missing.where(*(f.copy() for f in relation.late_filters)), distinct=False)


def met_rows_of(
    query: FeatureQuery, alias: str, through: Collection[str], outputs: Outputs, most: int | None = None
) -> exp.Query:
    """The same without rows of which some key has no row in these relations: no row of the join has them. `most`: only
    that many rows of each neighbour are looked at."""
    return _met(query, alias, set(through) - {alias}, outputs, most)


def _met(query: FeatureQuery, alias: str, unseen: set[str], outputs: Outputs, most: int | None = None) -> exp.Query:
    """key IN (SELECT key FROM relation), and so on from there; each relation once. A LEFT JOIN keeps rows without a
    match, and the row that stands for no match has no key."""
    inner = [pair for e in query.equalities for pair in ((e.left, e.right), (e.right, e.left))]
    outer = [(e.right, e.left) for j in query.left_joins for e in j.equalities]
    conditions: list[exp.Expression] = []
    for own, other in [*inner, *outer]:
        if own.relation == alias and other.relation in unseen:
            unseen.remove(other.relation)
            through = _first_rows(query, other.relation, most) if most else query
            keys = _met(through, other.relation, unseen, [(other.expression.copy(), "k")])
            conditions.append(sql.among(own.expression.copy(), keys.limit(most) if most else keys))
    met = (replace(r, filters=(*r.filters, *conditions)) if r.alias == alias else r for r in query.relations)
    return rows_of(replace(query, relations=tuple(met)), alias, outputs)


def _first_rows(query: FeatureQuery, alias: str, most: int) -> FeatureQuery:
    """The same over so many rows of a relation that meet its conditions. Those that they meet are then looked up from
    these few, where the limit alone would have all of them hashed."""
    relation = query.relation(alias)
    if relation.computed:
        return query
    conditions = (f.copy() for f in relation.filters)
    rows = exp.select(sql.everything(alias)).from_(relation.source.copy()).where(*conditions).limit(most)
    few = replace(relation, source=sql.aliased(rows, alias), filters=())
    return replace(query, relations=tuple(few if r is relation else r for r in query.relations))


def no_match(relation: Relation, outputs: Outputs) -> exp.Select:
    """FROM one row in which every column of the relation is NULL, with what these outputs read of it."""
    one = sql.derived(sql.select([(sql.integer(1), "one")]), "sqlsvm_one")
    source = relation.serving(value for value, _ in outputs)
    return sql.join(sql.select([], one), source, [exp.false()], "left")


# -- keys --------------------------------------------------------------------------------------------------------------


EARLY = 5000
"""Most keys that are not unique repeat among this many rows."""
SMALL = 20 * EARLY
"""To read so many rows takes no longer than one more statement, in this process or where statements take long."""
FEW = 3
"""To group the small keys of so many relations takes PostgreSQL no longer than to list their constraints."""
CLOSE = 4
"""Whole numbers lie close together, if they span as many places for each of them."""


@dataclass(frozen=True)
class KeyFacts:
    """The sizes of the groups of a key: all rows, those with a NULL, how many groups, and the largest."""

    rows: float
    nulls: float
    distinct: float
    largest: float


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
    """The key on which most pairs of rows of two relations meet."""

    key: tuple[object, ...]
    left: float
    right: float
    """Rows with it on each side."""
    share: float
    """Of all pairs."""


@dataclass(frozen=True)
class Oddities:
    """In how many rows of its relation a feature is not a finite number."""

    nulls: float
    nans: float = 0.0
    infinite: float = 0.0


class Catalog:
    """The facts of one query, each read once."""

    def __init__(self, engine: Engine, query: FeatureQuery) -> None:
        self.engine = engine
        self.query = query
        self._keys: dict[tuple[str, tuple[Term, ...]], KeyFacts] = {}
        self._early: dict[tuple[str, tuple[Term, ...]], KeyFacts] = {}
        """Of the first rows."""
        self._unique: dict[tuple[str, tuple[Term, ...]], bool] = {}
        self._variables: dict[int, list[Column]] = {}
        self._counted: dict[str, float] = {}
        """The rows of relations of which no more is known."""

    def rows_of(self, alias: str, outputs: Outputs) -> exp.Query:
        return rows_of(self.query, alias, outputs)

    def own_rows(self, alias: str, terms: tuple[Term, ...], *, before_where: bool = False) -> exp.Query:
        """The keys of the rows of the relation itself, without the one that stands for no match of a LEFT JOIN."""
        relation = self.query.relation(alias)
        return (replace(relation, late_filters=()) if before_where else relation).rows(_keyed(terms))

    def table_rows(self, alias: str) -> float:
        """All rows of the table, before any filter."""
        return self._count(self.query.relation(alias).source)

    def rows(self, alias: str) -> float:
        found = self._known_rows(alias)
        return self.key(alias, ()).rows if found is None else found

    def known_rows(self) -> float:
        """Of all relations together, as far as they are known."""
        return sum(self._known_rows(relation.alias) or 0.0 for relation in self.query.relations)

    def _known_rows(self, alias: str) -> float | None:
        return next((f.rows for (of, _), f in self._keys.items() if of == alias), self._counted.get(alias))

    def rows_up_to(self, alias: str, most: float) -> float:
        """How many rows a relation has after its own filters, but at most `most`. Reads no more than these."""
        is_optional = self.query.is_optional(alias)
        if not is_optional and (known := self._known_rows(alias)) is not None:
            return min(known, most)
        found = self._count(sql.derived(self.own_rows(alias, ()).limit(ceil(most)), "r"))
        if found < most and not is_optional:
            self._counted[alias] = found
        return found

    def held(self, variable: Variable) -> list[Column]:
        """The columns of a variable, as the database describes them at each of its holders."""
        if variable.index not in self._variables:
            self._variables[variable.index] = [self.described(term) for term in variable.terms]
        return self._variables[variable.index]

    def described(self, term: Term) -> Column:
        """With its blur. The columns of a relation are described already."""
        rows, known = self.own_rows(term.relation, (term,)), self._known(term)
        return replace(known, blur=self.engine.blur(known, rows)) if known else self.column(rows)

    def _known(self, term: Term) -> Column | None:
        """The column of its relation that a term is."""
        return self.query.relation(term.relation).column(term.expression)

    def column(self, rows: exp.Query) -> Column:
        """The only column of these rows, with its blur."""
        (column,) = self.engine.describe(rows)
        return replace(column, blur=self.engine.blur(column, rows))

    def alike(self, variable: Variable) -> bool:
        """Does a variable have one type at all its holders, or is it a number?"""
        described = self.held(variable)
        return len({d.type for d in described}) == 1 or {d.kind for d in described} == {"numeric"}

    def subscripts(self, variable: Variable) -> bool:
        """Is an array faster than a hash table of this key?"""
        return self.engine.abilities.subscripts and self.whole(variable)

    def whole(self, variable: Variable) -> bool:
        """Is a variable a whole number at all its holders?"""
        known = [column for term in variable.terms if (column := self._known(term))]
        columns = known if len(known) == len(variable.terms) else self.held(variable)
        return self.engine.abilities.integers.issuperset(column.type for column in columns)

    def ends(self, alias: str, variable: Variable) -> tuple[int, int] | None:
        """The least and the largest of whole numbers; None if there are none."""
        k, rows = sql.column("k0"), self.own_rows(alias, variable.at(alias)[:1])
        ends = sql.select([(exp.Min(this=k), "first"), (sql.largest(k.copy()), "last")], sql.derived(rows, "r"))
        first, last = (values[0] for values in self.engine.fetch(ends).values())
        return None if first != first else (int(first), int(last))

    def distinct(self, alias: str, terms: tuple[Term, ...]) -> float:
        return self.key(alias, terms).distinct

    def unique(self, alias: str, terms: tuple[Term, ...]) -> bool:
        if (alias, terms) not in self._unique:
            quick = self.engine.abilities.in_process or len(self.query.relations) <= FEW
            declared = not (quick and self._is_small(alias)) and self._declared(alias, terms)
            self._unique[alias, terms] = declared or self._found_unique(alias, terms)
        return self._unique[alias, terms]

    def _declared(self, alias: str, terms: tuple[Term, ...]) -> bool:
        """Then a constraint saves the scan."""
        return is_declared_unique(self.engine, self._declared_keys.get(alias, []), terms)

    @cached_property
    def _declared_keys(self) -> dict[str, list[frozenset[str]]]:
        return declared_keys(self.engine, self.query.relations)

    def _found_unique(self, alias: str, terms: tuple[Term, ...]) -> bool:
        if self.engine.abilities.slow_to_start:
            self._look_at_keys()
        if terms and not self._is_small(alias) and (alias, terms) not in self._keys:
            first = self._early.get((alias, terms)) or self._facts(self._first(alias, terms), terms)
            if first.rows < EARLY and not self.query.is_optional(alias):
                self._keys[alias, terms] = first
            if first.largest > 1:
                return False
            if (alias, terms) not in self._keys and (found := self._of_different(alias, terms)):
                self._keys[alias, terms] = found
        return self.key(alias, terms).largest <= 1

    def largest_known(self, alias: str, terms: tuple[Term, ...]) -> float:
        """No value of a key is in more rows; infinite if that was not asked yet."""
        found = self._keys.get((alias, terms))
        return found.largest if found else inf

    def _is_small(self, alias: str) -> bool:
        """Is it read as soon as a part of it?"""
        abilities = self.engine.abilities
        most = SMALL if abilities.in_process or abilities.slow_to_start else EARLY
        return (self._known_rows(alias) or inf) <= most

    def _first(self, alias: str, terms: tuple[Term, ...]) -> exp.Query:
        """If a key repeats in these rows, no others are read."""
        return self.own_rows(alias, terms).limit(EARLY)

    def _look_at_keys(self) -> None:
        """Asks in one statement what `unique` asks of the variables one by one."""
        pairs = [(alias, v.at(alias)[:1]) for v in inner_variables(self.query) for alias in sorted(v.holders)]
        asked = [key for key in dict.fromkeys(pairs) if key not in self._keys and key not in self._early]
        if len(asked) < 2:
            return
        rows = [self.rows_of(a, _keyed(t)) if self._is_small(a) else self._first(a, t) for a, t in asked]
        for key, found in zip(asked, _each(self.engine, [_key_measures(each, 1) for each in rows]), strict=True):
            (self._keys if self._is_small(key[0]) else self._early)[key] = _as_facts(found)

    def _of_different(self, alias: str, terms: tuple[Term, ...]) -> KeyFacts | None:
        """The facts of one number that does not repeat. To sort numbers takes PostgreSQL a fifth of the time in which
        it groups them."""
        if len(terms) > 1 or self.described(terms[0]).kind != "numeric":
            return None
        rows, k = sql.derived(self.rows_of(alias, _keyed(terms)), "r"), sql.column("k0")
        sizes = [(sql.count(), "rows"), (exp.Count(this=k), "whole"), (sql.different(k.copy()), "groups")]
        found = _one(self.engine, sql.select(sizes, rows))
        if found["groups"] < found["whole"]:
            return None
        return KeyFacts(found["rows"], found["rows"] - found["whole"], found["groups"], min(1.0, found["groups"]))

    def key(self, alias: str, terms: tuple[Term, ...]) -> KeyFacts:
        if (alias, terms) not in self._keys:
            known = None if terms else self._known_rows(alias)
            if known is not None:
                found = KeyFacts(known, 0.0, 1.0, known)
            else:
                found = self._facts(self.rows_of(alias, _keyed(terms)), terms, few=self._is_small(alias))
            self._keys[alias, terms] = found
        return self._keys[alias, terms]

    def _facts(self, rows: exp.Query, terms: tuple[Term, ...], *, few: bool = True) -> KeyFacts:
        """Of these rows. A few whole numbers are read: in this process that takes a third of planning to group them."""
        kinds = [known.kind if (known := self._known(term)) else None for term in terms]
        if few and self.engine.abilities.in_process and kinds == ["numeric"]:
            keys = self.engine.fetch(rows)["k0"]
            if keys.dtype.kind == "i":  # without NULLs
                sizes = _sizes(keys)
                return KeyFacts(len(keys), 0.0, len(sizes), float(sizes.max(initial=0)))
        return key_facts(self.engine, rows, len(terms))

    def match_key(self, alias: str, terms: tuple[Term, ...]) -> KeyFacts:
        """The key of a LEFT JOINed relation, before WHERE."""
        return key_facts(self.engine, self.own_rows(alias, terms, before_where=True), len(terms))

    def edge(
        self, left: str, right: str, pairs: Sequence[tuple[Term, Term]], *, before_where: bool = False
    ) -> EdgeFacts:
        """How two relations of the query meet over pairs of equal terms. A LEFT JOIN happens before WHERE."""
        ours, theirs, equal = _sides(pairs)
        a, b = (self.own_rows(*side, before_where=before_where) for side in ((left, ours), (right, theirs)))
        return edge_facts(self.engine, a, b, equal)

    def heaviest(
        self, left: str, right: str, pairs: Sequence[tuple[Term, Term]], named: Sequence[int]
    ) -> Heaviest | None:
        """None if no rows meet. The key is named by some of the pairs, given by their places."""
        ours, theirs, equal = _sides(pairs)
        a, b = (_grouped(self.own_rows(*side), _names(len(side[1]))) for side in ((left, ours), (right, theirs)))
        return _heaviest(self.engine, a, b, equal, [equal[place][0] for place in named])

    def oddities(self, alias: str, features: Sequence[Feature]) -> dict[str, Oddities]:
        """NULL, NaN and infinity in each feature over the rows of its relation, without the one for no match."""
        relation = self.query.relation(alias)
        counts = [(_how_many(odd), f"{name}{i}") for i, f in enumerate(features) for name, odd in _odd(f).items()]
        found = _one(self.engine, relation.rows(counts))
        return {f.name: Oddities(**{name: found[f"{name}{i}"] for name in _odd(f)}) for i, f in enumerate(features)}

    def nulls_in_join(self, features: Sequence[Feature]) -> dict[Feature, float]:
        """NULLs of each feature over the rows that its relation brings to the join, with the one for no match. One
        statement asks for all: where statements take long, that counts more than what they read."""
        of: dict[str, list[Feature]] = {f.relation: [] for f in features}
        for f in features:
            of[f.relation].append(f)
        widest = max(map(len, of.values()), default=0)
        found = _each(self.engine, [self._present(alias, own, widest) for alias, own in of.items()])
        nulls = dict[Feature, float]()
        for (alias, own), row in zip(of.items(), found, strict=True):
            n = self._counted[alias] = row["n"]
            nulls |= {f: n - row[f"v{i}"] for i, f in enumerate(own)}
        return nulls

    def _present(self, alias: str, features: Sequence[Feature], width: int) -> exp.Select:
        """SELECT rows AS n, COUNT(feature) AS v0, ..., 0 AS v3 .. up to a width"""
        relation = self.query.relation(alias)
        values: Outputs = [(relation.presence(f.expression), f"v{i}") for i, f in enumerate(features)]
        counts: list[exp.Expression] = [exp.Count(this=sql.column(name)) for _, name in values]
        counts += [sql.integer(0)] * (width - len(counts))
        outputs = [(sql.count(), "n"), *((c, f"v{i}") for i, c in enumerate(counts))]
        return sql.select(outputs, sql.derived(self.rows_of(alias, values), "r"))

    def _count(self, source: exp.Expr) -> float:
        return _one(self.engine, sql.select([(sql.count(), "n")], source))["n"]


def _sizes(keys: Values) -> Values:
    """How often each of these whole numbers is there. Those that lie close together need not be sorted."""
    if not len(keys) or int(keys.max()) - int(keys.min()) > CLOSE * len(keys):
        return np.asarray(np.unique(keys, return_counts=True)[1])
    sizes = np.bincount(keys - keys.min())
    return sizes[sizes > 0]


def _one(engine: Engine, query: exp.Query) -> dict[str, float]:
    return {name: float(values[0]) for name, values in engine.fetch(query).items()}


def _each(engine: Engine, queries: Sequence[exp.Select]) -> list[dict[str, float]]:
    """The one row of each of these, which have the same columns, in one statement."""
    if not queries:
        return []
    placed: list[exp.Query] = [
        query.select(exp.alias_(sql.integer(place), "place"), copy=False) for place, query in enumerate(queries)
    ]
    found = engine.fetch(reduce(sql.union_all, placed))
    rows = [dict(zip(found, map(float, row), strict=True)) for row in zip(*found.values(), strict=True)]
    return sorted(rows, key=itemgetter("place"))


def _odd(feature: Feature) -> dict[str, exp.Expression]:
    """The conditions to count. Both engines sort NaN above infinity, and so NaN equals itself."""
    odd = {"nulls": sql.is_null(feature.expression)}
    if feature.kind == "numeric":
        value, infinity = sql.double(feature.expression.copy()), sql.double(exp.Literal.string("Infinity"))
        odd["nans"] = exp.GT(this=value, expression=infinity)
        odd["infinite"] = exp.EQ(this=exp.Abs(this=value.copy()), expression=infinity.copy())
    return odd


def _sides(
    pairs: Sequence[tuple[Term, Term]],
) -> tuple[tuple[Term, ...], tuple[Term, ...], list[tuple[int, int]]]:
    """The terms of the left, those of the right, each once, and the places that are equal."""
    ours, theirs = (tuple(dict.fromkeys(side)) for side in (zip(*pairs, strict=True) if pairs else ((), ())))
    return ours, theirs, [(ours.index(a), theirs.index(b)) for a, b in pairs]


def _keyed(terms: tuple[Term, ...]) -> Outputs:
    """Terms under the names k0, k1 ...; a 1 if there is none, because SELECT needs an output."""
    return [(t.expression.copy(), f"k{i}") for i, t in enumerate(terms)] or [(sql.integer(1), "one")]


def _names(n: int) -> list[str]:
    return [f"k{i}" for i in range(n)]


def _how_many(condition: exp.Expression) -> exp.Expression:
    return sql.or_zero(sql.double(sql.total(sql.case(condition, sql.integer(1), sql.integer(0)))))


def _grouped(rows: exp.Query, names: list[str], size: exp.Expression | None = None) -> exp.Select:
    """SELECT k0, ..., COUNT(*) AS c FROM rows GROUP BY k0, ..."""
    keys: list[tuple[exp.Expression, str]] = [(sql.column(k), k) for k in names]
    counted = sql.select([*keys, (size.copy() if size else sql.count(), "c")], sql.derived(rows, "r"))
    return sql.group(counted, [sql.column(k) for k in names])


def _whole(names: Iterable[str], table: str | None = None) -> exp.Expression:
    """No part of the key is NULL."""
    return sql.every(sql.not_null(sql.column(k, table)) for k in names)


def key_facts(engine: Engine, rows: exp.Query, width: int, size: exp.Expression | None = None) -> KeyFacts:
    """The facts of a key, in one scan of a SELECT whose first outputs are k0, k1, ..."""
    return _as_facts(_one(engine, _key_measures(rows, width, size)))


def _as_facts(found: dict[str, float]) -> KeyFacts:
    return KeyFacts(found["rows"], found["rows"] - found["whole"], found["groups"], found["largest"])


def _key_measures(rows: exp.Query, width: int, size: exp.Expression | None = None) -> exp.Select:
    names = _names(width)
    whole, c = _whole(names), sql.column("c")
    measures: Outputs = [
        (sql.sum_or_zero(c), "rows"),
        (sql.sum_or_zero(sql.case(whole, c)), "whole"),
        (_how_many(whole), "groups"),
        (sql.or_zero(sql.largest(sql.case(whole, c))), "largest"),
    ]
    return sql.select(measures, sql.derived(_grouped(rows, names, size), "g"))


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
    ours, theirs = (_names(1 + max(places)) for places in zip(*equal, strict=True))
    measures = [*_side_measures("l", "r", ours), *_side_measures("r", "l", theirs)]
    on = [sql.equal(sql.column(f"k{i}", "l"), sql.column(f"k{j}", "r")) for i, j in equal]
    met = sql.select(measures, sql.derived(_grouped(left, ours, size), "l"))
    f = _one(engine, sql.join(met, sql.derived(_grouped(right, theirs, size), "r"), on, "full"))
    return EdgeFacts(f["max_l"], f["max_r"], f["dangling_l"], f["dangling_r"], f["null_l"], f["null_r"])


def _heaviest(
    engine: Engine, left: exp.Query, right: exp.Query, equal: Sequence[tuple[int, int]], named: Sequence[int]
) -> Heaviest | None:
    pairs = sql.product(sql.column("c", "l"), sql.column("c", "r"))
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
    c, whole, alone = sql.column("c", side), _whole(names, side), sql.is_null(sql.column("c", other))
    return [
        (sql.or_zero(sql.largest(sql.case(whole, c))), f"max_{side}"),
        (sql.sum_or_zero(sql.case(sql.every([alone, whole]), c)), f"dangling_{side}"),
        (sql.sum_or_zero(sql.case(exp.not_(whole), c)), f"null_{side}"),
    ]


def check_left_joins(catalog: Catalog) -> None:
    """A LEFT JOIN must find at most one row, else it would repeat its parent's rows."""
    for left_join in catalog.query.left_joins:
        found = catalog.match_key(left_join.relation, tuple(e.right for e in left_join.equalities))
        if found.largest > 1:
            sides = [(e.left.expression, e.right.expression) for e in left_join.equalities]
            on = " AND ".join(sql.equal(a.copy(), b.copy()).sql(catalog.query.dialect) for a, b in sides)
            raise DataError(
                f"LEFT JOIN {left_join.relation} is not to a unique key: {found.largest:.0f} rows share one",
                detail=f"joined ON {on}",
                hint=f"write JOIN instead of LEFT JOIN, or make {left_join.relation} unique on the key in a sub-query",
            )
