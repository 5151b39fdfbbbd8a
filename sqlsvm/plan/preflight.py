"""What is read and checked before the first working table is made, in the order in which this must happen."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Engine, StatementError
from sqlsvm.errors import DataError, OptionError, QueryError
from sqlsvm.options import DEFAULTS, MEANS, ClassWeights, Counting, Intercept, LossName, LossPiece, Nulls, Scale, check
from sqlsvm.plan.catalog import Catalog
from sqlsvm.plan.design import Design, design
from sqlsvm.plan.join_tree import DEEPEST, join_tree
from sqlsvm.plan.keys import check_keys, check_relied
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.planner import choose, fitted, in_one_scan
from sqlsvm.plan.scaling import odd_squares
from sqlsvm.plan.target import Target, target_of
from sqlsvm.query import Feature, FeatureQuery
from sqlsvm.query.facts import Facts
from sqlsvm.query.rewrites.equalities import without_nulls
from sqlsvm.query.rewrites.left_joins import numbers
from sqlsvm.query.rows import rows_of
from sqlsvm.solve.loss import Loss, named

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
            raise OptionError(said, detail=detail, hint="use --scale standard, or none")


def _chosen(catalog: Catalog, made: Design, options: ProblemOptions) -> Plan:
    tree = join_tree(catalog.query, catalog, to_count=True)
    if tree.depth > DEEPEST:
        said = f"{tree.depth:,} tables are joined in a chain, each to the one before; at most {DEEPEST} can be"
        raise QueryError(said, hint="join some of them in a table of your own")
    plan = choose(tree, made, catalog, options.counting, options.named_loss)
    return replace(plan, loss=options.named_loss)


LARGE, SMALL = 1e100, 1e-150
"""The squares of larger numbers may overflow when they are added up; those of smaller ones are 0 in a double."""


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
