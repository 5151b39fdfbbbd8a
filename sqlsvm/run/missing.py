"""In how many rows of the join an output is NULL, which one pass counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlsvm import sql
from sqlsvm.compile.copies import working_tables
from sqlsvm.plan.catalog import Catalog
from sqlsvm.plan.preflight import ProblemOptions, planned
from sqlsvm.plan.target import Target
from sqlsvm.query import Feature, FeatureQuery
from sqlsvm.run.measuring import read_moments
from sqlsvm.run.workspace import Workspace

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
        return f"--nulls drop leaves out {out} of the join: {', '.join(named)}"


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
