"""Rows held out: a part of the label's relation that the training does not see, to measure the model on it.

A row is held out iff the MD5 of a seed and of its values, as text, is below the fraction. Only the columns count that
the query uses: rows that are equal there are in the same part, and a column that is added later changes nothing.
Numbers and times have the same text for any type, engine and session, except non-integers beyond 1e15. Other values
are cast to text by the database.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.copies import working_tables
from sqlsvm.compile.statement import Statement
from sqlsvm.engine.base import Column
from sqlsvm.errors import DataError
from sqlsvm.plan.design import drop_nulls
from sqlsvm.plan.preflight import ProblemOptions, planned
from sqlsvm.plan.scaling import Moments
from sqlsvm.query import FeatureQuery
from sqlsvm.run.checks import check_rows
from sqlsvm.run.measuring import read_moments
from sqlsvm.run.problem import Problem, prepared
from sqlsvm.run.workspace import Workspace
from sqlsvm.solve.solution import Effort

Part = Literal["train", "holdout"]
PARTS: tuple[Part, ...] = get_args(Part)
_VERBS: Mapping[Part, str] = {"train": "leaves to train on", "holdout": "holds out"}

steps = logging.getLogger(__name__)

KEPT = "sqlsvm_part"
DIGITS = 13
"""The hexadecimal digits of the MD5 that are compared: as many as a double has."""
WHOLE = 1e16
"""Smaller whole numbers are written without a point or an exponent."""


@dataclass(frozen=True)
class Holdout:
    fraction: float
    seed: int = 0

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "Holdout | None":
        """From the options of a training, or those stored with a model."""
        fraction = options.get("holdout")
        return cls(float(fraction), int(options["effort"]["seed"])) if fraction else None


# -- the query of one part ---------------------------------------------------------------------------------------------


def marked(query: FeatureQuery, holdout: Holdout) -> FeatureQuery:
    """The query with the condition by which rows of the label's relation are held out."""
    alias = query.label_relation
    end = exp.Literal.string(threshold(holdout.fraction))
    own = (c for c in query.used_columns(alias) if not c.name.startswith(sql.WORKING))  # without the steps of maps
    held_out = exp.LT(this=digest(own, alias, holdout.seed), expression=end)
    return replace(query, held_out=held_out)


def part_of(query: FeatureQuery, part: Part) -> FeatureQuery:
    """A marked query with one more conjunct in its WHERE."""
    assert query.held_out is not None
    held = query.held_out.copy()
    return query.where(query.label_relation, held if part == "holdout" else exp.not_(exp.paren(held)))


def digest(columns: Iterable[Column], alias: str, seed: int) -> exp.Expression:
    """MD5(seed || '|' || value || ...) COLLATE "C": hexadecimal digits compare as the numbers do."""
    text: exp.Expression = exp.Literal.string(str(seed))
    for column in columns:
        value = sql.coalesce(_written(column, alias), exp.Literal.string(""))
        text = exp.DPipe(this=exp.DPipe(this=text, expression=exp.Literal.string("|")), expression=value)
    return exp.Collate(this=exp.MD5(this=text), expression=exp.to_identifier("C", quoted=True))


def threshold(share: float) -> str:
    """So large a share of all digests comes before it."""
    return f"{int(share * 16**DIGITS):0{DIGITS}x}"


def _written(column: Column, alias: str) -> exp.Expression:
    own = sql.named(column.name, alias)
    if column.kind == "numeric":
        return _number_written(sql.double(own))
    type = column.type.lower()
    if type == "date" or (type.startswith("timestamp") and not type.endswith("]")):
        return _number_written(sql.double(exp.Extract(this=exp.var("EPOCH"), expression=own)))
    return sql.text(own)


def _number_written(value: exp.Expression) -> exp.Expression:
    """The same text for 3, 3.0 and 3.00: engines agree on that of integers, and of most other numbers."""
    is_small = exp.LT(this=exp.Abs(this=value.copy()), expression=sql.number(WHOLE))
    whole = sql.every([is_small, sql.equal(value, exp.Floor(this=value.copy()))])
    return sql.case(whole, sql.text(exp.cast(value.copy(), exp.DType.BIGINT)), sql.digits(value.copy()))


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
    return replace(query, relations=tuple(changed if r.alias == alias else r for r in query.relations))


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
        return prepared(work, kept(work, part_of(query, part)), options, target, effort)


def counted_part(
    work: Workspace, query: FeatureQuery, options: ProblemOptions, holdout: Holdout, part: Part
) -> Moments:
    """How many join rows of each class a part of a marked query has; an error if it lacks one. Leaves no table."""
    target = options.target(work.engine, query)
    query = part_of(drop_nulls(query) if options.nulls == "drop" else query, part)
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
