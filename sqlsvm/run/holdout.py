"""Rows held out: a part of the label's relation that the training does not see, to measure the model on it."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.copies import working_tables
from sqlsvm.compile.statement import Statement
from sqlsvm.errors import DataError
from sqlsvm.plan.preflight import ProblemOptions, planned
from sqlsvm.plan.scaling import Moments
from sqlsvm.query import FeatureQuery
from sqlsvm.query.rewrites.holdout import Holdout, Part, part_of
from sqlsvm.query.rewrites.nulls import without_nulls
from sqlsvm.run.checks import check_rows
from sqlsvm.run.measuring import read_moments
from sqlsvm.run.problem import Problem, prepared
from sqlsvm.run.workspace import Workspace
from sqlsvm.solve.solution import Effort

_VERBS: Mapping[Part, str] = {"train": "leaves to train on", "holdout": "holds out"}

steps = logging.getLogger(__name__)

KEPT = "sqlsvm_part"
# -- its rows ----------------------------------------------------------------------------------------------------------


def kept(work: Workspace, query: FeatureQuery, table: str = KEPT) -> FeatureQuery:
    """The same query over a working table with the filtered rows of the label's relation: else the catalog and every
    pass would hash all rows again. A LEFT JOINed relation stays, as conditions of WHERE apply after the join."""
    alias = query.label_relation
    if query.is_optional(alias):
        return query
    relation = query.relation(alias)
    columns = [sql.named(c.name, alias) for c in query.used_columns(alias)]
    rows = exp.select(*columns).from_(relation.serving(columns)).where(*(f.copy() for f in relation.filters))
    work.run([Statement(f"rows of {alias} on one side", rows, table)])
    changed = replace(relation, source=sql.users_table(table, alias), filters=(), computed=())
    return query.with_relation(changed)


def prepared_part(
    work: Workspace,
    query: FeatureQuery,
    options: ProblemOptions,
    holdout: Holdout,
    part: Part,
    effort: Effort | None = None,
) -> Problem:
    """A part of a marked query, as `prepared` makes it. The values of both parts decide which label is positive."""
    target = options.target(work.engine, query)
    with _told_of(holdout, part):
        return prepared(work, kept(work, part_of(part)(query, work.facts)), options, target, effort)


def counted_part(
    work: Workspace, query: FeatureQuery, options: ProblemOptions, holdout: Holdout, part: Part
) -> Moments:
    """How many join rows of each class a part of a marked query has; an error if it lacks one. Leaves no table."""
    target = options.target(work.engine, query)
    query = part_of(part)(without_nulls(query, work.facts) if options.nulls == "drop" else query, work.facts)
    with _told_of(holdout, part), work.scratch():
        bare = replace(kept(work, query), features=())
        plan, _ = planned(work.facts, bare, ProblemOptions(options.label, weight=options.weight), target)
        work.run(working_tables(plan))
        found = read_moments(work, plan)
        check_rows(plan, found)
    return found


@contextmanager
def _told_of(holdout: Holdout, part: Part) -> Iterator[None]:
    """Steps and errors name the part in which they occur."""
    steps.info("selecting the rows that --holdout %s %s", holdout.fraction, _VERBS[part])
    try:
        yield
    except DataError as error:
        again = "choose another fraction or --seed to split the rows differently"
        these = f"of the rows that --holdout {holdout.fraction} {_VERBS[part]}; {again}"
        detail = f"{error.detail}; {these}" if error.detail else these
        raise DataError(error.message, detail=detail, hint=error.hint) from error
