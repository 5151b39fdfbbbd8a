"""The models of groups of rows: for each group the same steps as for all rows."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

from sqlsvm.engine.base import Rows
from sqlsvm.errors import DataError
from sqlsvm.model.model import Model, Skipped
from sqlsvm.model.several import grouped
from sqlsvm.options import LAMBDA, OPTIONS
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.scaling import Moments
from sqlsvm.run.data import Data
from sqlsvm.run.groups import Group, Groups, Progress
from sqlsvm.run.making import Making
from sqlsvm.run.notes import BY_CHANCE, DEFAULT, DOUBLES, NAMED, PREDICTS, UNMEASURED, listed
from sqlsvm.run.training import Training


@dataclass(frozen=True)
class Grouping:
    making: Making
    groups: Groups

    @property
    def _training(self) -> Training:
        return next(iter(self.making.trainings.values()))

    def models(self, left_out: Moments | None) -> list[Model]:
        """One for each training."""
        found: dict[object, list[Model]] = {}
        skipped: list[Skipped] = []
        progress = Progress(len(self.groups.groups))
        for group, rows in self._in_turn():
            try:
                with self._opened(group, rows) as data:
                    found[group.value] = self.making.models(data)
            except DataError as error:
                skipped.append(Skipped(group.value, group.rows, error.message))
            progress.one()
        if not found:
            why = skipped[0].why if skipped else "no row of the join has a value there"
            hint = "take a column with fewer values, of which each has rows of both classes"
            raise DataError(f"no group of --by {self.groups.by.feature} can be trained", detail=why, hint=hint)
        values = [group.value for group in self.groups.groups if group.value in found]
        parts = zip(*(found[value] for value in values), strict=True)
        return [self._model(dict(zip(values, each, strict=True)), skipped, left_out) for each in parts]

    def _in_turn(self) -> Iterator[tuple[Group, Rows | None]]:
        """The groups, each with its rows if these are read."""
        read, others = self.groups.small(self._training)
        with self.groups.work.scratch():
            if read:
                yield from self.groups.rows(read, self._plan(), apart=bool(self._training.folds))
        yield from ((group, None) for group in others)

    def _plan(self) -> Plan:
        """Over rows that know their fold, and tell what a choice needs. Their label is from 0 on: less a centre of all
        groups it would lose digits of a group that is far from there."""
        plan = self.groups.from_zero
        if self._training.folds:
            from sqlsvm.run.folding import in_place, numbered

            numbers, _ = numbered(replace(self.groups.all, plan=plan), self._training.parts)
            plan = in_place(numbers)
        return plan.telling if self._training.chooses else plan

    def _opened(self, group: Group, rows: Rows | None) -> AbstractContextManager[Data]:
        asked = self._training
        if rows is not None:
            return nullcontext(self.groups.in_memory(group, rows, asked.class_weight, asked.scale, asked.nulls))
        free = asked.intercept == "free"
        return self.groups.in_database(group, asked.class_weight, scale=asked.scale, by_class=free)

    def _model(self, parts: dict[object, Model], skipped: list[Skipped], left_out: Moments | None) -> Model:
        model = grouped(self.groups.by.feature, parts, skipped, self.groups.ungrouped)
        model = replace(model, notes=tuple(self._notes(model)))
        if left_out is None or model.kinds:
            return model
        held_out = self.groups.all.plan.design.target.by_class(left_out.n, left_out.n_negative)
        return replace(model, trained_on=replace(self.making.known, held_out=held_out))

    def _notes(self, model: Model) -> Iterator[str]:
        if model.skipped:
            named = "; ".join(f"{each.value}: {each.why}" for each in model.skipped[:NAMED])
            more = f"; and {len(model.skipped) - NAMED:,} more" if len(model.skipped) > NAMED else ""
            number = len(model.skipped)
            are = "1 group of {} is" if number == 1 else f"{number:,} groups of {{}} are"
            yield f"{are.format(model.by)} skipped: {named}{more}"
        if model.ungrouped:
            yield f"{model.by} is NULL in {model.ungrouped:,.10g} rows of the join: these are in no group"
        tol, each = self._training.tol, zip(model.groups, model.parts, strict=True)
        if nothing := [str(of.value) for of, part in each if part.converged and part.gap > tol]:
            said = "no more than what rounding may add to sums of such numbers: it may be 0"
            yield f"the objective of {model.by} {listed(nothing)} is {said}"
        if lost := [str(of.value) for of in model.groups if any(DOUBLES in note for note in of.notes)]:
            yield f"most of the gap of {model.by} {listed(lost)} {DOUBLES}"
        if ones := [str(of.value) for of in model.groups if any(note.startswith(PREDICTS) for note in of.notes)]:
            hint = "; try --class-weight balanced" if self._training.class_weight == "none" else ""
            yield f"the model predicts one class for every row of {model.by} {listed(ones)}{hint}"
        for note in (DEFAULT, BY_CHANCE):
            if few := [of.value for of in model.groups if any(note in each for each in of.notes)]:
                said = f"{OPTIONS[self._training.strength_chosen or LAMBDA].said} {note}" if note == DEFAULT else note
                yield f"{said} for {model.by} {listed(few)}: few different rows of the label's table are in the group"
        if missed := [str(of.value) for of in model.groups if any(UNMEASURED in note for note in of.notes)]:
            yield f"not all folds of {model.by} {listed(missed)} could be measured: use fewer folds"
