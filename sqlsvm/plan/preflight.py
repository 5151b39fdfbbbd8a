"""What is read and checked before the first working table is made, in the order in which this must happen.

Counts travel in groups of equal keys, so keys that are equal in one relation must be equal to the same keys in any
other. A comparison that converts types can break this: 'a' and 'A' are one citext and two texts, 2^53 and 2^53 + 1 are
two integers and one double, 'CA' and 'CA ' are two varying texts and one padded text. Two collations can break it too.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Column, Engine, StatementError
from sqlsvm.errors import DataError, OptionError, QueryError
from sqlsvm.options import DEFAULTS, MEANS, ClassWeights, Counting, Intercept, LossName, LossPiece, Nulls, Scale, check
from sqlsvm.plan.catalog import Catalog
from sqlsvm.plan.design import Design, design
from sqlsvm.plan.join_tree import DEEPEST, join_tree
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.planner import choose, fitted, in_one_scan
from sqlsvm.plan.scaling import odd_squares
from sqlsvm.plan.target import Target, target_of
from sqlsvm.query import Feature, FeatureQuery, Term
from sqlsvm.query.facts import Facts
from sqlsvm.query.ir import Variable, inner_variables
from sqlsvm.query.rewrites.kinds import without_nulls
from sqlsvm.query.rewrites.left_joins import numbers
from sqlsvm.query.rows import rows_of
from sqlsvm.solve.loss import Loss, named

Held = tuple[Term, Column]


@dataclass(frozen=True)
class Rounded:
    """A key that is compared as a type that rounds or pads it. Different values must stay different."""

    type: str
    exact: tuple[Term, ...]

    def counts(self, query: FeatureQuery) -> exp.Select:
        """SELECT how many different values there are, and how many after rounding."""
        first, *others = (query.relation(t.relation).rows([(t.expression.copy(), "k")]) for t in self.exact)
        rows: exp.Query = first
        for other in others:
            rows = exp.union(rows, other, distinct=False)
        k = sql.column("k", "r")
        as_rounded = exp.cast(k.copy(), self.type, dialect=query.dialect)
        return sql.select([(sql.different(k), "exact"), (sql.different(as_rounded), "rounded")], sql.derived(rows, "r"))


def check_keys(catalog: Catalog) -> None:
    for pair in _pairs(catalog):
        if catalog.engine.composite(pair[1]):
            said = f"the key {_spelled(catalog, pair)[0]} is of the composite type {pair[1].type}"
            detail = "if its fields are NULL it is NULL, and still equal to others"
            raise QueryError(said, detail=detail, hint="join on its fields: (a.k).x = (b.k).x AND (a.k).y = (b.k).y")
    for variable in inner_variables(catalog.query):
        held = _held(catalog, variable)
        if len({column.blur for _, column in held}) > 1:
            raise _blurred(catalog, held)
        if rounded := _rounded(catalog, held):
            _check_rounded(catalog, held, rounded)
    for pair in _pairs(catalog):
        if catalog.engine.own_equality(pair[1]):
            (key,) = _spelled(catalog, pair)
            hint = f"join on a type of the system, under which the same keys are equal: CAST({key} AS TEXT)"
            raise QueryError(f"the key {key} is of the type {pair[1].type}, which has an = of its own", hint=hint)


def check_relied(catalog: Catalog) -> None:
    """Inside the snapshot: the keys that the reading relied on must be unique in these rows too."""
    for key in catalog.query.relied:
        if not catalog.facts.of(key.relation).is_unique(key.terms):
            terms = ", ".join(t.expression.sql(catalog.query.dialect) for t in key.terms)
            said = f"the key {terms} is no longer unique: rows of {key.relation.alias} changed while the query was read"
            detail = "an output or a condition over several relations relies on this key"
            raise DataError(said, detail=detail, hint="run the command again")


def rounded_keys(catalog: Catalog) -> Iterator[Rounded]:
    """The keys whose values `check_keys` reads; a stored program checks them again."""
    return filter(None, (_rounded(catalog, _held(catalog, v)) for v in inner_variables(catalog.query)))


def _pairs(catalog: Catalog) -> Iterator[Held]:
    """All keys, those of LEFT JOINs too."""
    yield from ((term, catalog.of(term.relation).described(term)) for term in dict.fromkeys(catalog.query.terms))


def _held(catalog: Catalog, variable: Variable) -> list[Held]:
    return list(zip(variable.terms, catalog.held(variable), strict=True))


def _blurred(catalog: Catalog, held: Sequence[Held]) -> QueryError:
    blurred = next(pair for pair in held if pair[1].blur)
    other = next(pair for pair in held if pair[1].blur != blurred[1].blur)
    (ours, theirs), collation = _spelled(catalog, blurred, other), blurred[1].collation
    collated = f"compare them under one collation: {ours} {collation} = {theirs} {collation}"
    said = _are(catalog, blurred, other)
    detail = "keys that are equal in one way need not be equal in the other"
    return QueryError(said, detail=detail, hint=collated if collation else _cast(catalog, blurred, other, "text"))


def _rounded(catalog: Catalog, held: Sequence[Held]) -> Rounded | None:
    compared_as = catalog.engine.compared_as
    type = compared_as([column.type for _, column in held])
    return Rounded(type, tuple(term for term, column in held if compared_as([column.type, type]))) if type else None


def _check_rounded(catalog: Catalog, held: Sequence[Held], rounded: Rounded) -> None:
    found = catalog.engine.fetch(rounded.counts(catalog.query))
    if found["exact"][0] > found["rounded"][0]:
        exact = next(pair for pair in held if pair[0] in rounded.exact)
        other = next(pair for pair in held if catalog.engine.compared_as([exact[1].type, pair[1].type]))
        detail = f"they are compared as {rounded.type}, so two different keys would count as equal"
        raise DataError(_are(catalog, exact, other), detail=detail, hint=_cast(catalog, exact, other, rounded.type))


def _are(catalog: Catalog, *pairs: Held) -> str:
    kinds = (f"{c.type} {c.collation}" if c.collation else c.type for _, c in pairs)
    names = _spelled(catalog, *pairs)
    return f"the keys {' and '.join(names)} are {' and '.join(kinds)}"


def _spelled(catalog: Catalog, *pairs: Held) -> list[str]:
    return [term.expression.sql(catalog.query.dialect) for term, _ in pairs]


def _cast(catalog: Catalog, cast: Held, other: Held, as_type: str) -> str:
    ours, theirs = _spelled(catalog, cast, other)
    return f"compare them as one type: CAST({ours} AS {as_type}) = {theirs}"


steps = logging.getLogger(__name__)


@dataclass(frozen=True)
class ProblemOptions:
    """How to read a query's rows, and how to count them."""

    label: str | None
    weight: str | None = DEFAULTS["weight"]
    positive: str | None = DEFAULTS["positive"]
    categorical: tuple[str, ...] = DEFAULTS["categorical"]
    top: tuple[str, ...] = DEFAULTS["top"]
    rare: int = DEFAULTS["rare"]
    map: tuple[str, ...] = DEFAULTS["map"]
    by: str | None = DEFAULTS["by"]
    time: str | None = DEFAULTS["time"]
    counting: Counting = DEFAULTS["counting"]
    scale: Scale = DEFAULTS["scale"]
    intercept: Intercept = DEFAULTS["intercept"]
    nulls: Nulls = DEFAULTS["nulls"]
    class_weight: ClassWeights = DEFAULTS["class_weight"]
    constrain: tuple[str, ...] = DEFAULTS["constrain"]
    loss: LossName = DEFAULTS["loss"]
    width: float = DEFAULTS["width"]
    tube: float = DEFAULTS["tube"]
    quantile: float = DEFAULTS["quantile"]
    delta: float = DEFAULTS["delta"]
    pieces: tuple[LossPiece, ...] = DEFAULTS["pieces"]

    def __post_init__(self) -> None:
        check(self)
        self.named_loss  # noqa: B018 - one that cannot be made is refused here

    @property
    def named_loss(self) -> Loss:
        return named(self.loss, self.pieces, width=self.width, tube=self.tube, quantile=self.quantile, delta=self.delta)

    def target(self, engine: Engine, query: FeatureQuery) -> Target:
        return target_of(engine, query, self.loss, positive=self.positive, centred=bool(self.intercept))


def checked(facts: Facts, query: FeatureQuery, *, lasting: bool = False) -> Catalog:
    """The facts of a query, if its joins and keys can be counted. All are about the snapshot that this is called in."""
    catalog = Catalog(facts, numbers(query, facts, lasting=lasting))
    check_relied(catalog)
    check_keys(catalog)
    return catalog


def planned(
    facts: Facts, query: FeatureQuery, options: ProblemOptions, target: Target | None = None
) -> tuple[Plan, Catalog]:
    """The plan for the rows as they are. The target is read from the query's rows, unless it is known already."""
    steps.info("looking at rows and keys of the tables")
    target = target or options.target(facts.engine, query)
    catalog = _catalog(facts, query, options)
    plan = _chosen(catalog, design(catalog, target, intercept=bool(options.intercept)), options)
    return fitted(plan, catalog), catalog


def lasting(facts: Facts, query: FeatureQuery, options: ProblemOptions, target: Target) -> tuple[Plan, Catalog]:
    """The plan for rows that may change. It is ready for new NULLs and categories, and makes no choice that pays only
    for the rows as they are."""
    catalog = _catalog(facts, query, options, lasting=True)
    made = design(catalog, target, intercept=bool(options.intercept), any_nulls=options.nulls in MEANS)
    tables = tuple(replace(d, listed=False) for d in made.dictionaries)
    return in_one_scan(_chosen(catalog, replace(made, dictionaries=tables), options), catalog, partners=False), catalog


def _catalog(facts: Facts, query: FeatureQuery, options: ProblemOptions, *, lasting: bool = False) -> Catalog:
    check_scale(query, options.scale)
    return checked(facts, without_nulls(query, facts) if options.nulls == "drop" else query, lasting=lasting)


def check_scale(query: FeatureQuery, scale: Scale) -> None:
    if scale == "maxabs":
        for name in query.sums:
            said = f"maxabs cannot scale {name}: its terms are of several relations"
            detail = "the largest sum in the join is not known from the tables"
            raise OptionError(said, detail=detail, hint="use ⟦scale standard⟧, or none")


def _chosen(catalog: Catalog, made: Design, options: ProblemOptions) -> Plan:
    tree = join_tree(catalog.query, catalog, to_count=True)
    if tree.depth > DEEPEST:
        said = f"{tree.depth:,} tables are joined in a chain, each to the one before; at most {DEEPEST} can be"
        raise QueryError(said, hint="join some of them in a table of your own")
    plan = choose(tree, made, catalog, options.counting, options.named_loss)
    return replace(plan, loss=options.named_loss)


LARGE, SMALL = 1e100, 1e-150  # sums of squares of larger numbers may overflow; squares of smaller ones are 0


@contextmanager
def naming_features(engine: Engine, query: FeatureQuery) -> Iterator[None]:
    """An error about a value names the feature. This goes around the transaction, because PostgreSQL answers no query
    in a transaction that has failed."""
    try:
        yield
    except StatementError as error:
        if error.kind == "value":
            _blame(engine, query, error)
        raise


def _blame(engine: Engine, query: FeatureQuery, error: StatementError) -> None:
    """Raise an error about the first feature that fails by itself, if there is one. A condition that fails is none."""
    for relation in query.relations:
        own = [f for f in query.features if f.relation == relation.alias]
        if own and _computed(engine, query, relation.alias, sql.integer(1)) is not None:
            for feature in own:
                _check(engine, query, feature, error)


def _check(engine: Engine, query: FeatureQuery, feature: Feature, error: StatementError) -> None:
    numeric = feature.kind == "numeric"
    own = feature.expression.copy()
    value = exp.Abs(this=sql.double(own)) if numeric else sql.case(sql.is_null(own), 0, 1)
    ends = _computed(engine, query, feature.relation, value)
    if ends is None:
        raise _not_computed(feature, error) from error
    if numeric and ends["largest"] > LARGE:
        raise odd_squares(feature.name, "large", "/ 1e100") from error
    if numeric and 0.0 < ends["least"] < SMALL:
        raise odd_squares(feature.name, "small", "* 1e100") from error


def _computed(engine: Engine, query: FeatureQuery, alias: str, value: exp.Expression) -> dict[str, float] | None:
    """The least value, zeros aside, and the largest, over all rows of a relation; None if one cannot be computed. For a
    constant PostgreSQL would read one row, if it did not have to count."""
    v = sql.column("v")
    least = sql.smallest(exp.Nullif(this=v, expression=sql.integer(0)))
    ends = [(least, "least"), (sql.largest(v.copy()), "largest"), (sql.count(), "rows")]
    rows = sql.derived(rows_of(query, alias, [(value, "v")]), "r")
    try:
        return {name: float(values[0]) for name, values in engine.fetch(sql.select(ends, rows)).items()}
    except StatementError:
        return None


def _not_computed(feature: Feature, error: StatementError) -> DataError:
    why = "it is computed before the join, also in rows that the join leaves out"
    return DataError(
        f"feature {feature.name} cannot be computed in every row of {feature.relation}: {error.message}",
        detail=f"{error.detail}; {why}" if error.detail else why,
        hint=f"leave such rows out in a sub-query: FROM (SELECT * FROM ... WHERE ...) AS {feature.relation}; "
        "or write NULLIF(..., 0), or CASE WHEN ... END",
    )
