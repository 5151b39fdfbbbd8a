"""From the text of a query to its features, with those that maps make, and to a problem on one snapshot."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from sqlsvm import sql, words
from sqlsvm.compile.copies import working_tables
from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError, FormError
from sqlsvm.maps.asked import columns_of
from sqlsvm.maps.mapped import Mapped, Maps, mapped, readable
from sqlsvm.options import INDICATOR, MEANS, Scale
from sqlsvm.plan.catalog import Catalog
from sqlsvm.plan.constraints import audited
from sqlsvm.plan.preflight import ProblemOptions, naming_features, planned
from sqlsvm.plan.scaling import Moments
from sqlsvm.plan.target import Target, named, without_classes
from sqlsvm.query import Feature, FeatureQuery
from sqlsvm.query.facts import Facts
from sqlsvm.query.read_query import Roles, read_query
from sqlsvm.query.rewrites import rewritten
from sqlsvm.query.rewrites.left_joins import without_unread
from sqlsvm.query.rewrites.meet import showing
from sqlsvm.query.rewrites.split import HeldOut, by_column, grouped, marked, timed
from sqlsvm.reading import made
from sqlsvm.rules import refuse
from sqlsvm.run.checks import Lacking, LostClasses
from sqlsvm.run.data import Data, prepared
from sqlsvm.run.derived import reading
from sqlsvm.run.measuring import read_moments
from sqlsvm.run.notes import at_random, listed
from sqlsvm.run.training import Training
from sqlsvm.run.workspace import Workspace
from sqlsvm.terminal import NOTE

steps = logging.getLogger(__name__)

MapsOrSeed = Sequence[Mapped] | int  # those of a stored model, or the seed of those that the options ask for


@contextmanager
def open_problem(engine: Engine, text: str, options: ProblemOptions, maps: MapsOrSeed = 0) -> Iterator[Data]:
    """Names and types are read before the snapshot, rows inside. At the end the working tables are dropped."""
    query = labelled(engine, text, options, maps)
    with naming_features(engine, query), reading(engine, query) as (work, query):
        yield prepared(work, query, options)


def maps_of(beta: Any) -> tuple[Mapped, ...]:
    """Those of weights that a user gives, if they are the JSON of a model."""
    return made(Maps, beta.get("maps", []) if isinstance(beta, Mapping) else [], "beta")


def labelled(
    engine: Engine,
    text: str,
    options: ProblemOptions,
    maps: MapsOrSeed = 0,
    *,
    offload: bool | None = None,
    held: HeldOut | None = None,
) -> FeatureQuery:
    """The query as it is trained on. The column that makes groups is its last feature. `offload`: facts about the join
    are read from a copy. What maps learn from the label, they learn without the rows that are `held` out."""
    read = columns_of(options.map) if isinstance(maps, int) else [name for each in maps for name in each.columns]
    facts, query = Facts(engine), unmapped(engine, text, options, read)
    query = rewritten(query, facts, *([by_column(options.by)] if options.by else []), timed(options.time))
    if isinstance(maps, int) and (options.map or options.nulls == INDICATOR):
        from sqlsvm.run.mapping import maps_asked  # it takes as many modules as a training without maps

        maps = maps_asked(facts, query, options, maps, offload=offload, held=held)
    return rewritten(query, facts, mapped(() if isinstance(maps, int) else maps), grouped, marked(held))


def unmapped(engine: Engine, text: str, options: ProblemOptions, read: Sequence[str]) -> FeatureQuery:
    """The query before its maps, which read some of its columns."""
    roles: Roles = {"weight": options.weight, "categorical": options.categorical, "top": options.top}
    roles |= {"label": named(options.label), "audited": audited(options.constrain)}
    query, facts = read_query(engine, text, **roles), Facts(engine)
    if options.nulls in MEANS and (because := _null_sum(query, facts, options)):
        query = read_query(engine, text, because, **roles)
    if options.rare:
        own = (replace(f, rare=options.rare) if f.kind == "categorical" else f for f in query.features)
        query = replace(query, features=tuple(own))
    query = replace(query, labelled_only=options.nulls in MEANS)
    return readable(read)(query, facts)


def _null_sum(query: FeatureQuery, facts: Facts, options: ProblemOptions) -> FormError | None:
    """A sum is NULL where one of its terms is, and no mean of that term stands for the mean of the sum."""
    terms = [t for each in query.sums.values() for t in each]
    if not (some := [t for t in terms if facts.may_be_null(query.relation(t.relation), t.expression)]):
        return None
    needed = replace(without_unread(query, {term.relation for term in terms}), features=tuple(terms))
    with reading(facts.engine, needed) as (work, made):
        _, found = missing(work, made, options.target(work.engine, made), some)
    hint = "write COALESCE there"
    return next((FormError(f"{name} is NULL in some rows, and then so is the sum", hint=hint) for name in found), None)


def query_of(engine: Engine, text: str, training: Training, known: tuple[Mapped, ...] = ()) -> FeatureQuery:
    """With its maps, if they are not known, and with a mark for the rows that are held out."""
    maps, held = known or training.seed, training.held
    query = labelled(engine, text, training, maps, offload=training.offload, held=held)
    query = rewritten(query, Facts(engine), showing("⟦split_by⟧", training.split_by))
    copies = training.offload or (training.offload is None and engine.rates.slow_to_start)
    if training.reads_parts or (training.folds and copies):  # a copy has no other columns that could say it
        from sqlsvm.query.rewrites.split import telling

        query = rewritten(query, Facts(engine), telling(training.split_by))
    check_plan(query, training)
    if training.is_random and not known and (said := at_random(query, Facts(engine))):
        steps.log(NOTE, "note: %s", words.said(said))
    return query


def check_plan(query: FeatureQuery, training: Training) -> None:
    """What the query itself does not go with."""
    optional = query.label_relation if query.label_relation in query.parents else None
    refuse(training.options | {"sums": next(iter(query.sums), None), "optional": optional}, "plan known")


def opened(work: Workspace, query: FeatureQuery, training: Training, models: int = 1) -> tuple[Data, Moments | None]:
    """The problem to train so many models on, and the sizes of the part that is held out. It says which rows have a
    NULL and are left out."""
    if training.nulls != "drop" or training.weight:
        return _with_classes(work, query, training, None, models)
    target = training.target(work.engine, query)
    nulls = nulls_of(work, query, target)
    try:
        problem, left_out = _with_classes(work, query, training, target, models)
    except Lacking as error:
        if nulls is None:
            raise
        raise DataError(error.message, detail=nulls.said(0), hint="keep rows: ⟦nulls mean⟧, or COALESCE") from error
    if nulls:
        steps.log(NOTE, "note: %s", words.said(nulls.said(problem.rows + (left_out.n if left_out else 0))))
    return problem, left_out


def _with_classes(
    work: Workspace, query: FeatureQuery, training: Training, target: Target | None, models: int
) -> tuple[Data, Moments | None]:
    """Without the classes that no row of the join has: the values of the label are read from its relation alone."""
    before = work.tables
    try:
        return _opened(work, query, training, target, models)
    except LostClasses as error:
        work.drop([table for table in work.tables if table not in before])
        target = without_classes(work.engine, query, error.lost, training.positive)
        steps.log(NOTE, "note: no row to train on has the %s %s", target.label.name, listed(error.lost))
        return _opened(work, query, training, target, models)


def _opened(
    work: Workspace, query: FeatureQuery, training: Training, target: Target | None, models: int
) -> tuple[Data, Moments | None]:
    holdout, left_out = training.held, None
    effort = training if training.solver == "dane" and not training.by else None
    if holdout is None:
        problem = prepared(work, query, training, target, effort, models=models)
    else:
        from sqlsvm.run.folding import counted_part, prepared_part  # only here, as in run/train

        target = target or training.target(work.engine, query)
        left_out = counted_part(work, query, training, holdout, "holdout", target)
        problem = prepared_part(work, query, training, holdout, "train", effort, target, models=models)
    return descending(problem, training.scale) if training.solver == "descent" else problem, left_out


def descending(problem: Data, scale: Scale) -> Data:
    """The paper's bounds need features in [-1, 1], and counts within a factor, which a grid does not give."""
    plan = problem.plan
    if scale == "none":
        largest = read_moments(problem.work, plan, frozenset({"largest"})).largest
        for c in plan.design.coordinates:
            if largest[c.index] > 1.0:
                raise DataError(
                    f"feature {c.feature} reaches {largest[c.index]:g}, and descent needs features in [-1, 1]",
                    hint="use ⟦scale maxabs⟧",
                )
    return replace(problem, plan=replace(plan, method="sketch") if plan.method == "grid" else plan)


MOST_NAMED = 5


@dataclass(frozen=True)
class Nulls:
    """What `--nulls drop` leaves out of the rows of a join."""

    rows: float
    by_name: Mapping[str, float]

    def said(self, left: float) -> str:
        """If so many rows are left."""
        first = sorted(self.by_name.items(), key=lambda each: -each[1])
        named = [f"{name} is NULL in {n:,.10g}" for name, n in first[:MOST_NAMED]]
        named += [f"{len(first) - MOST_NAMED} more columns are NULL in fewer"] if len(first) > MOST_NAMED else []
        out = f"{self.rows - left:,.10g} of {self.rows:,.10g} rows"
        return f"⟦nulls drop⟧ leaves out {out} of the join: {', '.join(named)}"


def nulls_of(work: Workspace, query: FeatureQuery, target: Target) -> Nulls | None:
    """None if no output of a query is NULL."""
    made = {name for each in query.maps for name in each.formulas}
    outputs = [f for f in query.outputs if f.name not in made]
    some = Catalog(work.facts, query).nulls_in_join(outputs)
    found, by_name = missing(work, query, target, [f for f in outputs if some[f]]) if any(some.values()) else (0.0, {})
    return Nulls(found, by_name) if by_name else None


def missing(
    work: Workspace, query: FeatureQuery, target: Target, features: Sequence[Feature]
) -> tuple[float, dict[str, float]]:
    """The rows of the join, and of each output, or term of a sum, that is NULL in some of them the number of these."""
    assert query.label
    counted = tuple(_counted(f, str(place)) for place, f in enumerate(features))
    bare = replace(query, features=counted, weight=None, audited=(), maps=())
    with work.scratch():
        plan, _ = planned(work.facts, bare, ProblemOptions(query.label.name, nulls="mean", scale="none"), target)
        work.run(working_tables(plan))
        found = read_moments(work, plan, frozenset({"total"}))
    totals = {c.feature: found.total[c.index] for c in plan.design.coordinates if c.role == "value"}
    named = {_name(query, feature): float(totals[str(place)]) for place, feature in enumerate(features)}
    return found.n, {name: n for name, n in named.items() if n > 0}


def _name(query: FeatureQuery, feature: Feature) -> str:
    return f"the term of {feature.name} over {feature.relation}" if feature.name in query.sums else feature.name


def _counted(feature: Feature, name: str) -> Feature:
    """1 where it is NULL."""
    is_null = sql.case(sql.is_null(feature.value), 1.0, 0.0)
    return Feature(name, feature.relation, is_null, "numeric")
