"""Folds: the rows of the label's relation in parts, of which each is left out of a training once.

A row is in the fold that a hash of a seed and of its values says; or of one column, so that all rows with the same
value are in one fold. Join rows are never parted: in a many-to-many join they repeat. It is the hash of the engine, as
the folds are not asked for again: the MD5 by which rows are held out takes as long as several passes.

The trainings share the design, the scaling, the sample and all working tables but that of the label's node. With one
bag they share their first pass, too. A join that is small enough to be in memory is read once more, with the folds of
its rows, and no training makes passes.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.copies import working_tables
from sqlsvm.compile.joined import TIMES
from sqlsvm.compile.prepare import node_table
from sqlsvm.engine.base import Column, Rows
from sqlsvm.errors import DataError
from sqlsvm.plan.plan import PART, Plan
from sqlsvm.query import FeatureQuery
from sqlsvm.query.facts import Facts
from sqlsvm.query.rewrites.holdout import deciding
from sqlsvm.run.apart import Made, again, can_share
from sqlsvm.run.checks import check_rows
from sqlsvm.run.derived import derived
from sqlsvm.run.drawn import Drawn, read_rows
from sqlsvm.run.in_memory import without_class_weights
from sqlsvm.run.measuring import asked_moments, moments_of
from sqlsvm.run.problem import Problem, weighted
from sqlsvm.run.small import chosen, missing_tables, weighing_rows
from sqlsvm.run.workspace import Answers, of_parts
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.loss import Loss
from sqlsvm.solve.solution import State

ROWS, FOLD = "sqlsvm_fold_rows", "sqlsvm_fold"
ALIKE = 1.0, 1.0
"""The weights of the classes where a fold is measured."""


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
    """Its plan keeps sums apart by fold."""
    folds: Folds
    measured: frozenset[str]
    """Of the moments."""
    counted: Answers
    """The moments of each fold."""
    alone: Answers
    """Those without class weights."""
    rows: Rows | None = None
    """All rows of a small join, with their folds and the rows of the label's relation that they are of."""

    def begin(self, loss: Loss, state: State, points: Sequence[Array]) -> list[Made]:
        """Passes of the training of all rows as passes without each fold; none where that would cost as much as those
        of each training."""
        if self.rows is not None or not can_share(self.problem, self.folds.number):
            return []
        return again(replace(self.problem, plan=in_place(self.problem.plan)), loss, state, points)

    @contextmanager
    def without(self, fold: int) -> Iterator[Problem]:
        with self._on(fold, exp.NEQ, "leaves to train on") as found:
            yield replace(found, drawn=self._read(fold))

    def _read(self, fold: int) -> Drawn | None:
        """The rows in memory without a fold."""
        if self.rows is None:
            return None
        rest = chosen(self.rows, self.rows[PART].astype(float) != fold)
        return read_rows(self.problem.scaling, rest, rest[TIMES].astype(float))

    @contextmanager
    def within(self, fold: int) -> Iterator[Problem]:
        with self._on(fold, exp.EQ, "has") as found:
            yield replace(found, part=self._measured(fold))

    def _measured(self, fold: int) -> Rows | None:
        """The rows in memory of a fold, without the weights of classes."""
        if self.rows is None:
            return None
        part = chosen(self.rows, self.rows[PART].astype(float) == fold)
        return {**part, TIMES: without_class_weights(self.problem.plan.design.target, part)}

    @contextmanager
    def _on(self, fold: int, which: type[exp.EQ | exp.NEQ], said: str) -> Iterator[Problem]:
        """The same problem on some of the rows. What is measured there has no class weights."""
        plan, work, answers, query = self.problem.plan, self.problem.work, self.counted, self.problem.plan.tree.query
        alias, is_inside = query.label_relation, which is exp.EQ
        condition: exp.Expression = which(this=sql.named(FOLD, alias), expression=sql.integer(fold))
        plan = replace(plan, tree=replace(plan.tree, query=query.where(alias, condition)), split=None)
        if is_inside:
            plan, answers = weighted(plan, ALIKE), self.alone
        with work.scratch():
            work.run(s for s in working_tables(plan) if s.table == node_table(plan.label_node))
            moments = moments_of(plan, of_parts(answers, lambda part: (part == fold) == is_inside), self.measured)
            try:
                check_rows(plan, moments)
            except DataError as error:
                which_rows = f"of the rows that fold {fold + 1} of {self.folds.number} {said}"
                raise DataError(f"{error.message}, {which_rows}", hint="use fewer folds, or another --seed") from error
            yield replace(self.problem, plan=plan, moments=moments)


def folded(problem: Problem, folds: Folds, measured: frozenset[str]) -> Folded:
    """Its own table of the label's node goes: each part of the rows has another. A small join has no tables yet."""
    work, query = problem.work, problem.plan.tree.query
    alias = query.label_relation
    number = {Column(FOLD, "integer", "numeric"): _fold(query, work.facts, alias, folds)}
    work.run(missing_tables(work, problem.plan))
    work.drop([t for t in work.tables if t == node_table(problem.plan.label_node)])
    tree = replace(problem.plan.tree, query=derived(work, query, alias, ROWS, "with their folds", number))
    plan = replace(problem.plan, tree=tree, split=FOLD)
    counted = alone = asked_moments(work, in_place(plan), measured)
    if plan.design.target.weighted:
        alone = asked_moments(work, weighted(in_place(plan), ALIKE), measured)
    read = (
        None
        if problem.drawn is None
        else weighing_rows(work, problem.catalog, in_place(plan), len(problem.drawn.weights), apart=True)
    )
    return Folded(replace(problem, plan=plan, drawn=None), folds, measured, counted, alone, read)


def in_place(plan: Plan) -> Plan:
    """The plan that reads the label's node from its own relation."""
    own = frozenset({plan.label_node})
    return replace(plan, copied=plan.copied - own, merged=plan.merged - own)


def _fold(query: FeatureQuery, facts: Facts, alias: str, folds: Folds) -> exp.Expression:
    """ABS(hash(seed, values) % number)"""

    def hashable(column: Column) -> exp.Expression:
        own = sql.named(column.name, alias)
        return sql.double(own) if column.kind == "numeric" else sql.text(own)

    found = facts.engine.hashed([sql.integer(folds.seed), *map(hashable, deciding(query, folds.by, facts))])
    return exp.cast(exp.Abs(this=exp.Mod(this=found, expression=sql.integer(folds.number))), exp.DType.INT)
