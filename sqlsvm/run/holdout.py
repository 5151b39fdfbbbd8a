"""Rows held out: a part of the label's relation that the training does not see, to measure the model on it."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from sqlsvm.compile.copies import working_tables
from sqlsvm.errors import DataError
from sqlsvm.plan.design import NOWHERE
from sqlsvm.plan.preflight import ProblemOptions, planned
from sqlsvm.plan.scaling import Moments
from sqlsvm.plan.target import Classes, Target
from sqlsvm.query import FeatureQuery
from sqlsvm.query.rewrites.kinds import without_nulls
from sqlsvm.query.rewrites.split import HeldOut, Part, part_of, start_of
from sqlsvm.run.checks import Lacking, LostClasses, check_rows
from sqlsvm.run.data import Data, prepared
from sqlsvm.run.derived import derived
from sqlsvm.run.measuring import read_moments
from sqlsvm.run.workspace import Workspace
from sqlsvm.solve.solution import Effort
from sqlsvm.terminal import NOTE

_VERBS: Mapping[Part, str] = {"train": "leaves to train on", "holdout": "holds out"}

steps = logging.getLogger(__name__)

KEPT = "sqlsvm_part"


def kept(work: Workspace, query: FeatureQuery, table: str = KEPT) -> FeatureQuery:
    """The same query over a working table with the filtered rows of the label's relation: else the catalog and every
    pass would hash all rows again. A LEFT JOINed relation stays, as conditions of WHERE apply after the join."""
    alias = query.label_relation
    return query if alias in query.parents else derived(work, query, alias, table, "on one side")


def prepared_part(
    work: Workspace,
    query: FeatureQuery,
    options: ProblemOptions,
    holdout: HeldOut,
    part: Part,
    effort: Effort | None = None,
    target: Target | None = None,
    origins: Mapping[str, float] = NOWHERE,
    models: int = 1,
) -> Data:
    """A part of a marked query, as `prepared` makes it. The values of both parts decide which label is positive."""
    target = target or options.target(work.engine, query)
    with _told_of(holdout, part):
        return prepared(work, kept(work, part_of(part)(query, work.facts)), options, target, effort, origins, models)


def counted_part(
    work: Workspace,
    query: FeatureQuery,
    options: ProblemOptions,
    holdout: HeldOut,
    part: Part,
    target: Target | None = None,
) -> Moments:
    """How many join rows of each class a part of a marked query has; an error if it lacks one of two. Leaves no
    table."""
    target = target or options.target(work.engine, query)
    target = replace(target, lacking=True) if isinstance(target, Classes) else target
    query = part_of(part)(without_nulls(query, work.facts) if options.nulls == "drop" else query, work.facts)
    with _told_of(holdout, part), work.scratch():
        bare = replace(kept(work, query), features=())
        plan, _ = planned(
            work.facts, bare, ProblemOptions(options.label, intercept=options.intercept, weight=options.weight), target
        )
        work.run(working_tables(plan))
        found = read_moments(work, plan)
        check_rows(plan, found)
    return found


def chosen_start(work: Workspace, query: FeatureQuery, share: Any) -> str:
    """The time from which on rows are held out, for a share of the rows."""
    start = start_of(query, work.facts, share)
    alias, time = query.label_relation, query.time and query.time.name
    steps.log(NOTE, "--holdout %s keeps out the rows of %s from %s %s on", share, alias, time, start)
    return start


@contextmanager
def _told_of(holdout: HeldOut, part: Part) -> Iterator[None]:
    """Steps and errors name the part in which they occur."""
    steps.info("selecting the rows that %s %s", holdout.said, _VERBS[part])
    try:
        yield
    except LostClasses:
        raise
    except DataError as error:
        again = f"; {holdout.hint}" if isinstance(error, Lacking) else ""
        these = f"of the rows that {holdout.said} {_VERBS[part]}{again}"
        detail = f"{error.detail}; {these}" if error.detail else these
        raise DataError(error.message, detail=detail, hint=error.hint) from error
