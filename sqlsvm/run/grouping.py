"""Training the groups of a problem, one model for each."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError
from sqlsvm.model.model import Model, Skipped, TrainedOn
from sqlsvm.model.plain import plain
from sqlsvm.model.raw import start_of
from sqlsvm.model.several import grouped
from sqlsvm.plan.scaling import Moments
from sqlsvm.run.data import Data
from sqlsvm.run.groups import Group, Groups, Progress
from sqlsvm.run.modelling import model_of
from sqlsvm.run.notes import one_class, predicts_one
from sqlsvm.run.solving import Solving
from sqlsvm.run.training import Training
from sqlsvm.solve.penalty import Penalty
from sqlsvm.solve.solution import Going, Solution

if TYPE_CHECKING:
    from sqlsvm.run.resume import Continuation


NAMED = 5
"""As many groups are named."""


@dataclass(frozen=True)
class Grouping:
    engine: Engine
    name: str
    text: str
    training: Training
    known: TrainedOn
    keeping: "Continuation | None" = None
    start: Model | None = None
    """Groups begin at its weights: each at those of its group, or at the only ones."""

    def model(self, groups: Groups, left_out: Moments | None) -> Model:
        found: dict[object, Model] = {}
        skipped: list[Skipped] = []
        progress = Progress(len(groups.groups))
        for group, made in self._each(groups):
            if isinstance(made, Model):
                found[group.value] = made
            else:
                skipped.append(Skipped(group.value, group.rows, made.message))
            progress.one()
        if not found:
            why = skipped[0].why if skipped else "no row of the join has a value there"
            hint = "take a column with fewer values, of which each has rows of both classes"
            raise DataError(f"no group of --by {groups.by.feature} can be trained", detail=why, hint=hint)
        found = {group.value: found[group.value] for group in groups.groups if group.value in found}
        model = grouped(groups.by.feature, found, skipped, groups.ungrouped)
        model = replace(model, notes=tuple(self._notes(model)))
        return model if left_out is None else replace(model, trained_on=self._held_out(groups.all, left_out))

    def _notes(self, model: Model) -> Iterator[str]:
        if model.skipped:
            named = "; ".join(f"{each.value}: {each.why}" for each in model.skipped[:NAMED])
            more = f"; and {len(model.skipped) - NAMED:,} more" if len(model.skipped) > NAMED else ""
            number = len(model.skipped)
            are = "1 group of {} is" if number == 1 else f"{number:,} groups of {{}} are"
            yield f"{are.format(model.by)} skipped: {named}{more}"
        if model.ungrouped:
            yield f"{model.by} is NULL in {model.ungrouped:,.10g} rows of the join: these are in no group"
        tol, each = self.training.effort.tol, zip(model.groups, model.parts, strict=True)
        if nothing := [str(of.value) for of, part in each if part.converged and part.gap > tol]:
            said = "no more than what rounding may add to sums of such numbers: it may be 0"
            yield f"the objective of {model.by} {_listed(nothing)} is {said}"
        if ones := [str(of.value) for of in model.groups if of.notes]:
            hint = "; try --class-weight balanced" if self.training.problem.class_weight == "none" else ""
            yield f"the model predicts one class for every row of {model.by} {_listed(ones)}{hint}"

    def _held_out(self, problem: Data, left_out: Moments) -> TrainedOn:
        """Of all groups together."""
        rows = problem.plan.design.target.by_class(left_out.n, left_out.n_negative)
        return replace(self.known, held_out=rows)

    def _each(self, groups: Groups) -> Iterator[tuple[Group, Model | DataError]]:
        read, others = groups.small(self.training.effort)
        for group, rows in groups.rows(read):
            try:
                asked = self.training.problem
                problem = groups.in_memory(group, rows, asked.class_weight, asked.scale, asked.nulls)
                yield group, self._solved(group, problem)
            except DataError as error:
                yield group, error
        for group in others:
            try:
                with self._in_database(groups, group) as problem:
                    made = self._solved(group, problem)
            except DataError as error:
                yield group, error
            else:
                yield group, made

    @cached_property
    def _starts(self) -> dict[object, Model]:
        if self.start is None:
            return {}
        return {plain(of.value): part for of, part in zip(self.start.groups, self.start.parts, strict=False)}

    @property
    def _one_start(self) -> Model | None:
        return None if self.start is None or self.start.family else self.start

    def _in_database(self, groups: Groups, group: Group) -> AbstractContextManager[Data]:
        asked = self.training.problem
        free = asked.intercept == "free"
        return groups.in_database(group, asked.class_weight, scale=asked.scale, by_class=free)

    def _solved(self, group: Group, problem: Data) -> Model:
        penalty, start = self.training.penalising.of(problem), self._starts.get(plain(group.value), self._one_start)
        going: Going = self.keeping.group(group.value, problem, penalty) if self.keeping else {}
        begins = None
        if start is not None and not going.get("state"):
            begins = problem.scaling.to_scaled(start_of(problem.plan, start))
        solution = Solving(problem).solve(self.training, penalty, begins, **going)
        if self.keeping:
            self.keeping.ended([solution], more=True, group=group.value)
        if problem.drawn is None:
            return self._model(problem, penalty, solution, None)
        signed = problem.plan.design.target.signed
        one = one_class(problem.drawn, solution.beta) if signed else None
        return self._model(problem, penalty, solution, (predicts_one(self.known.label_values[one > 0]),) if one else ())

    def _model(self, problem: Data, penalty: Penalty, solution: Solution, notes: tuple[str, ...] | None) -> Model:
        asked = self.engine, self.name, self.text, self.training
        return model_of(*asked, problem, penalty, solution, self.known, notes=notes)


def _listed(values: list[str]) -> str:
    more = f" and {len(values) - NAMED:,} more" if len(values) > NAMED else ""
    return f"{', '.join(values[:NAMED])}{more}"
