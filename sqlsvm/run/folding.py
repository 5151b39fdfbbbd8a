"""Folds: the rows of the label's relation in parts, of which each is left out of a training once.

A row is in the fold that the MD5 of a seed and of its values says, as for rows that are held out; or of one column, so
that all rows with the same value are in one fold. Join rows are never parted: in a many-to-many join they repeat.

The trainings share the design, the scaling, the sample and all working tables but that of the label's node.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.copies import working_tables
from sqlsvm.compile.prepare import node_table
from sqlsvm.compile.statement import Statement
from sqlsvm.engine.base import Column
from sqlsvm.errors import DataError, OptionError, nearest
from sqlsvm.query import FeatureQuery
from sqlsvm.run.holdout import digest, label_relation, threshold
from sqlsvm.run.measuring import read_moments
from sqlsvm.run.problem import Problem, check_rows

ROWS, FOLD = "sqlsvm_fold_rows", "sqlsvm_fold"


@dataclass(frozen=True)
class Folds:
    number: int
    seed: int = 0
    by: str | None = None
    """The column of the label's relation that decides."""


@dataclass(frozen=True)
class Folded:
    """A problem whose rows know their fold."""

    problem: Problem
    query: FeatureQuery
    folds: Folds
    measured: frozenset[str]
    """Of the moments."""

    @contextmanager
    def without(self, fold: int) -> Iterator[Problem]:
        with self._on(fold, exp.NEQ, "leaves to train on") as found:
            yield found

    @contextmanager
    def within(self, fold: int) -> Iterator[Problem]:
        with self._on(fold, exp.EQ, "has") as found:
            yield found

    @contextmanager
    def _on(self, fold: int, which: type[exp.EQ | exp.NEQ], said: str) -> Iterator[Problem]:
        """The same problem on some of the rows. What is measured there has no class weights."""
        alias = label_relation(self.query)
        condition: exp.Expression = which(this=sql.named(FOLD, alias), expression=sql.integer(fold))
        plan, work = self.problem.plan, self.problem.work
        plan = replace(plan, tree=replace(plan.tree, query=self.query.where(alias, condition)))
        if which is exp.EQ:
            target = replace(plan.design.target, class_weights=(1.0, 1.0))
            plan = replace(plan, design=replace(plan.design, target=target))
        own = node_table(plan.label_node)
        with work.scratch():
            work.run(s for s in working_tables(plan) if s.table == own)
            moments = read_moments(work, plan, self.measured)
            try:
                check_rows(plan, moments)
            except DataError as error:
                which_rows = f"of the rows that fold {fold + 1} of {self.folds.number} {said}"
                raise DataError(error.message, detail=which_rows, hint="use fewer folds, or another --seed") from error
            yield replace(self.problem, plan=plan, moments=moments)


def folded(problem: Problem, folds: Folds, measured: frozenset[str]) -> Folded:
    """Its own table of the label's node goes: each part of the rows has another."""
    work, query = problem.work, problem.plan.tree.query
    alias = label_relation(query)
    if query.is_optional(alias):
        raise OptionError(f"--folds cannot part the rows of {alias}: it is behind a LEFT JOIN")
    relation = query.relation(alias)
    columns = query.used_columns(alias)
    number = _fold(query, alias, folds)
    values = [*(sql.named(c.name, alias) for c in columns), exp.alias_(number, FOLD)]
    rows = exp.select(*values).from_(relation.source.copy()).where(*(f.copy() for f in relation.filters))
    work.drop([t for t in work.tables if t == node_table(problem.plan.label_node)])
    work.run([Statement(f"rows of {alias} with their folds", rows, ROWS)])
    known = (*columns, Column(FOLD, "integer", "numeric"))
    changed = replace(relation, source=sql.users_table(ROWS, alias), filters=(), columns=known)
    relations = tuple(changed if r.alias == alias else r for r in query.relations)
    return Folded(problem, replace(query, relations=relations), folds, measured)


def _fold(query: FeatureQuery, alias: str, folds: Folds) -> exp.Expression:
    """CASE WHEN digest < '3333333333333' THEN 0 ... ELSE the last END."""
    columns = query.used_columns(alias)
    if folds.by is not None:
        columns = tuple(c for c in query.relation(alias).columns if c.name == folds.by)
        if not columns:
            hint = nearest(folds.by, (c.name for c in query.relation(alias).columns))
            raise OptionError(f"--fold-by: {alias}, which has the label, has no column {folds.by}", hint=hint)
    found = digest(columns, alias, folds.seed)

    def or_before(rest: exp.Expression, fold: int) -> exp.Expression:
        end = exp.Literal.string(threshold((fold + 1) / folds.number))
        return sql.case(exp.LT(this=found.copy(), expression=end), sql.integer(fold), rest)

    last = folds.number - 1
    return reduce(or_before, reversed(range(last)), sql.integer(last))
