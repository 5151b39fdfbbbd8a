"""Parts of the rows of the label's relation: one that is held out, and folds, each of which is left out once.

query/rewrites/split.py says which part a row is in, and which parts each round trains on and measures. The trainings
share the design, the scaling and all working tables but that of the label's node. With one bag they share their first
pass, too. A join that is small enough to be in memory is read once more, with the folds of its rows, and no
training makes passes.
"""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sqlsvm import sql, words
from sqlsvm.compile.copies import working_tables
from sqlsvm.compile.joined import TIMES
from sqlsvm.compile.moments import needed
from sqlsvm.compile.prepare import node_table
from sqlsvm.engine.base import Column, Rows
from sqlsvm.errors import DataError
from sqlsvm.model.model import Model
from sqlsvm.plan.design import NOWHERE
from sqlsvm.plan.plan import PART, Plan
from sqlsvm.plan.preflight import ProblemOptions, planned
from sqlsvm.plan.scaling import Moments
from sqlsvm.plan.target import Classes, Target
from sqlsvm.query import FeatureQuery
from sqlsvm.query.rewrites.kinds import without_nulls
from sqlsvm.query.rewrites.split import Folds, HeldOut, Part, Parts, Round, part_of, start_of
from sqlsvm.run import in_memory
from sqlsvm.run.checks import Lacking, LostClasses, check_rows
from sqlsvm.run.data import Data, prepared, weighted
from sqlsvm.run.derived import derived
from sqlsvm.run.in_memory import read_rows
from sqlsvm.run.join_oracle import Made, again, can_keep_apart, of_these
from sqlsvm.run.measuring import asked_moments, moments_of, read_moments
from sqlsvm.run.notes import UNMEASURED
from sqlsvm.run.problems import OnFold, Problems, Weighed
from sqlsvm.run.small import chosen, missing_tables, weighing_rows
from sqlsvm.run.workspace import Answers, Workspace, of_parts
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.loss import Loss
from sqlsvm.solve.solution import Effort, State
from sqlsvm.terminal import NOTE

_VERBS: Mapping[Part, str] = {"train": "leaves to train on", "holdout": "holds out"}


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
    steps.log(NOTE, "%s keeps out the rows of %s from %s %s on", words.said(f"⟦holdout {share}⟧"), alias, time, start)
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


steps = logging.getLogger(__name__)

ROWS, FOLD = "sqlsvm_fold_rows", "sqlsvm_fold"
ALIKE = 1.0, 1.0  # the weights of the classes where a fold is measured


@dataclass(frozen=True)
class Folded:
    """A problem whose rows know their fold."""

    problem: Data  # its plan keeps sums apart by fold
    rounds: tuple[Round, ...]
    measured: frozenset[str]  # of the moments
    counted: Answers | None = None  # the moments of each fold; None where they are those of the rows
    alone: Answers | None = None  # those without class weights
    rows: Rows | None = None
    """All rows of a small join, with their folds and the rows of the label's relation that they are of."""

    def begin(self, loss: Loss, state: State, points: Sequence[Array]) -> list[Made]:
        """Passes of the training of all rows as passes without each fold; none where that would cost as much as those
        of each training."""
        if self.rows is not None or not can_keep_apart(self.problem, len(self.rounds)):
            return []
        return again(replace(self.problem, plan=self.problem.plan.in_place()), loss, state, points)

    @contextmanager
    def without(self, fold: int) -> Iterator[Data]:
        trains = self.rounds[fold].trains
        with self._on(trains, f"fold {fold + 1} of {len(self.rounds)} leaves to train on", self.counted) as found:
            rest = self._chosen(trains)
            drawn = read_rows(self.problem.scaling, rest, rest[TIMES].astype(float)) if rest else None
            yield replace(found, drawn=drawn, raw=rest, key=self.problem.key._replace(fold=fold))

    @contextmanager
    def within(self, fold: int) -> Iterator[Data]:
        """What is measured has no class weights."""
        measures, said = self.rounds[fold].measures, f"fold {fold + 1} of {len(self.rounds)} has"
        with self._on(measures, said, self.alone, ALIKE) as found:
            part = self._measured(measures)
            yield replace(found, raw=part, key=self.problem.key._replace(fold=fold))

    def _measured(self, parts: Parts) -> Rows | None:
        """The rows in memory of these parts, without the weights of classes."""
        part = self._chosen(parts)
        return part and {**part, TIMES: in_memory.without_class_weights(self.problem.plan.design.target, part)}

    def _chosen(self, parts: Parts) -> Rows | None:
        return self.rows and chosen(self.rows, np.isin(self.rows[PART].astype(float), list(parts)))

    @contextmanager
    def _on(
        self, parts: Parts, said: str, answers: Answers | None, weights: tuple[float, ...] | None = None
    ) -> Iterator[Data]:
        """The same problem on some of the rows."""
        plan, work = self.problem.plan, self.problem.work
        plan = weighted(plan, weights) if weights else plan
        if answers is None:
            yield replace(self.problem, plan=plan, moments=_checked(plan, self._moments(plan, parts, weights), said))
            return
        query, alias = plan.tree.query, plan.tree.query.label_relation
        condition = sql.one_of(sql.named(FOLD, alias), sorted(parts))
        plan = replace(plan, tree=replace(plan.tree, query=query.where(alias, condition)), split=None)
        with work.scratch():
            work.run(s for s in working_tables(plan) if s.table == node_table(plan.label_node))
            moments = _checked(plan, moments_of(plan, of_parts(answers, parts), self.measured), said)
            yield replace(self.problem, plan=plan, moments=moments)

    def _moments(self, plan: Plan, parts: Parts, weights: tuple[float, ...] | None) -> Moments:
        rows = (self._measured if weights else self._chosen)(parts) or {}
        return in_memory.moments_of(plan, rows, rows[TIMES].astype(float))


def _checked(plan: Plan, moments: Moments, said: str) -> Moments:
    try:
        check_rows(plan, moments)
    except DataError as error:
        hint = "use fewer folds, or another ⟦seed⟧"
        raise DataError(f"{error.message}, of the rows that {said}", hint=hint) from error
    return moments


def folded(data: Data, folds: Folds, measured: frozenset[str]) -> Folded:
    """A small join is read once more. Rows of a group that are in memory know their fold already."""
    if data.in_group and data.raw is not None:
        rounds = data.split.rounds if data.split else folds.rounds
        return Folded(replace(data, drawn=None), rounds, measured, rows=data.raw)
    work, (plan, rounds) = data.work, numbered(data, folds)
    counted = alone = asked_moments(work, plan.in_place(), measured)
    if plan.design.target.weighted:
        alone = asked_moments(work, weighted(plan.in_place(), ALIKE), measured)
    read = (
        None
        if data.drawn is None
        else weighing_rows(work, data.catalog, plan.in_place(), len(data.drawn.weights), apart=True)
    )
    return Folded(replace(data, plan=plan, drawn=None), rounds, measured, counted, alone, read)


def numbered(data: Data, folds: Folds) -> tuple[Plan, tuple[Round, ...]]:
    """The plan over rows of the label's relation that know their fold. Its own table of their node goes: each part of
    the rows has another. A small join has no tables yet."""
    work, query = data.work, data.plan.tree.query
    alias = query.label_relation
    split = data.split or folds.split(query, work.facts)
    number = {Column(FOLD, "integer", "numeric"): split.part}
    work.run(missing_tables(work, data.plan))
    work.drop([t for t in work.tables if t == node_table(data.plan.label_node)])
    tree = replace(data.plan.tree, query=derived(work, query, alias, ROWS, "with their folds", number))
    return replace(data.plan, tree=tree, split=FOLD), split.rounds


# -- the trainings without each fold -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Missed:
    """What the folds did not prove, or could not measure."""

    folds: int
    unproven: Counter[str]  # in how many folds a training, by its name, has not converged
    errors: list[DataError]  # why folds were left out: the models are proven, and the other folds measure them

    def told(self, models: Mapping[str, Model]) -> dict[str, Model]:
        each = models.items()
        return {name: replace(model, notes=(*model.notes, *self._notes(name))) for name, model in each}

    def _notes(self, name: str) -> Iterator[str]:
        if unproven := self.unproven[name]:
            said = f"the training without a fold has not converged in {unproven} of {self.folds} folds"
            yield f"{said}: the measures are of what it had reached; try more ⟦max_passes⟧"
        if self.errors:
            first, few = self.errors[0], "" if self.folds - len(self.errors) > 1 else ", and there are no measures"
            said = f"{len(self.errors)} of {self.folds} folds {UNMEASURED}{few}"
            yield f"{said}: {first.message}; {first.hint or 'use fewer folds'}"


def in_folds(problems: Problems, found: Mapping[str, list[Array]], on_fold: OnFold) -> Missed:
    """The same trainings without each fold."""
    data, training = problems.data, next(iter(problems.trainings.values()))
    folds = training.parts
    by_class = training.intercept == "free"
    rows = folded(data, folds, needed(data.plan, training.scale, by_class=by_class))
    begun, missed = _begun(problems, rows, found), Missed(folds.number, Counter[str](), list[DataError]())
    for fold in range(len(rows.rounds)):
        steps.info("training without fold %s of %s", fold + 1, len(rows.rounds))
        try:
            with rows.without(fold) as rest:
                here = problems.on(rest)
                for loss, made in begun.items():
                    here.know(loss, of_these(rest, loss, made, rows.rounds[fold].trains))
                weights = _solved(here, missed.unproven)
            with rows.within(fold) as part:
                on_fold(part, weights)
        except DataError as error:
            missed.errors.append(error)
    return missed


def _begun(problems: Problems, rows: Folded, found: Mapping[str, list[Array]]) -> dict[Loss, list[Made]]:
    """The passes that all folds share, of each loss."""
    begun, trainings = dict[Loss, list[Made]](), problems.trainings.items()
    for loss in dict.fromkeys(training.named_loss for _, training in trainings):
        points = [beta for name, each in trainings if each.named_loss == loss for beta in found[name]]
        if (state := problems.state(loss)) and (made := rows.begin(loss, state, points)):
            begun[loss] = made
    return begun


def _solved(here: Problems, unproven: Counter[str]) -> dict[str, Weighed]:
    """Those of each training. None begins at weights that have seen the fold."""
    weights = dict[str, Weighed]()
    for name, training in here.order.items():
        solutions = here.solve(training)
        unproven[name] += not all(solution.converged for solution in solutions)
        thetas = [here.data.scaling.to_raw(solution.beta) for solution in solutions]
        weights[name] = Weighed(thetas, training, here.threshold(training, solutions[0].beta))
    return weights
