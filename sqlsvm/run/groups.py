"""A model for each value of a column of the label's relation, as if it were trained on the rows with that value alone.

All groups share a snapshot, the features, and the tables of the other relations. The rows of small groups are read in
one scan of the join, in the order of the groups. Each of these is then solved and proven in memory. A group with more
rows is a problem of its own: the same plan, over a table with the rows of the label's relation that belong to it.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter

import numpy as np

from sqlsvm import sql
from sqlsvm.compile.categories import number_column
from sqlsvm.compile.joined import TIMES, is_narrow, rows_by_group, sizes_by_group
from sqlsvm.compile.moments import needed
from sqlsvm.compile.prepare import node_table
from sqlsvm.engine.base import Engine, Rows
from sqlsvm.errors import DataError, OptionError
from sqlsvm.model.literals import literal
from sqlsvm.model.model import Model, Skipped
from sqlsvm.model.several import grouped
from sqlsvm.options import OPTIONS, ClassWeights, Nulls, Scale
from sqlsvm.plan.design import Dictionary
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.scaling import Moments, scaling
from sqlsvm.plan.target import Target, centred_at, centres
from sqlsvm.query import FeatureQuery
from sqlsvm.query.rows import rows_of
from sqlsvm.run.centring import centred, centred_rows
from sqlsvm.run.checks import check_rows
from sqlsvm.run.data import Data, Key, with_weights
from sqlsvm.run.folding import kept
from sqlsvm.run.in_memory import class_weighted, moments_in_memory, moments_of, read_rows, with_own_categories
from sqlsvm.run.making import Making
from sqlsvm.run.measuring import read_again, read_moments, with_constants, with_products
from sqlsvm.run.notes import BY_CHANCE, DEFAULT, DOUBLES, NAMED, PREDICTS, UNMEASURED, listed, unmeasured
from sqlsvm.run.small import missing_tables
from sqlsvm.run.training import Training
from sqlsvm.run.workspace import Workspace
from sqlsvm.solve.solution import Effort

steps = logging.getLogger(__name__)

MOST = 10_000  # groups
ROWS = "sqlsvm_group"
EVERY = 2.0  # seconds between two lines that say how many groups are done


def check_number(engine: Engine, query: FeatureQuery) -> None:
    """Refuse a column with very many values before they are read."""
    by = query.features[-1]
    values = sql.distinct(sql.derived(rows_of(query, by.relation, [(by.expression.copy(), "v")]), "r")).limit(MOST + 1)
    found = engine.fetch(sql.select([(sql.count(), "n")], sql.derived(values, "v")))
    if int(found["n"][0]) > MOST:
        raise OptionError(
            f"⟦by {by.name}⟧ makes more than {MOST:,} groups",
            hint="take a column with fewer values; one with very many can be a feature, with ⟦categorical⟧ and ⟦top⟧",
        )


@dataclass(frozen=True)
class Group:
    place: int  # of its value, among those of the column
    value: object
    rows: float


@dataclass(frozen=True)
class Groups:
    """The groups of a problem without class weights, whose last feature is the column that makes them."""

    all: Data
    totals: tuple[float, ...]
    """The rows of the join with each value of the column. With weights of the user, their sum."""
    sizes: tuple[float, ...]  # how many rows these are, without weights

    @classmethod
    def of(cls, problem: Data) -> "Groups":
        plan, totals = problem.plan, _totals(problem.work, problem.plan)
        if plan.design.weight is None:
            return cls(problem, totals, totals)
        return cls(problem, totals, _totals(problem.work, plan.bare))

    @property
    def work(self) -> Workspace:
        return self.all.work

    @property
    def by(self) -> Dictionary:
        return self.all.plan.design.dictionaries[-1]

    @cached_property
    def plan(self) -> Plan:
        """Without that column."""
        design = self.all.plan.design
        return replace(self.all.plan, design=replace(design, dictionaries=design.dictionaries[:-1]))

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Those that have rows."""
        each = zip(self.by.categories, self.totals, strict=True)
        return tuple(Group(n, value, rows) for n, (value, rows) in enumerate(each) if rows > 0.0)

    @property
    def ungrouped(self) -> float:
        return max(0.0, self.all.moments.n - sum(group.rows for group in self.groups))

    @cached_property
    def _centres(self) -> Mapping[object, float]:
        """Of a label that is a number."""
        target = self.plan.design.target
        if target.signed or not any(c.role == "intercept" for c in self.plan.design.coordinates):
            return {}
        return centres(self.work.engine, self.all.query, target.label, self.by.value)

    def _target(self, group: Group) -> Target:
        target = self.plan.design.target
        return centred_at(target.label, self._centres[group.value]) if group.value in self._centres else target

    def small(self, effort: Effort | None, among: Sequence[Group] | None = None) -> tuple[list[Group], list[Group]]:
        """Those that are read, and the others."""
        most = of_group = self.work.engine.sizes.of_group
        if effort is not None:
            most = (effort.sample or of_group) if effort.in_memory is None else effort.in_memory
        limit, among = most if is_narrow(self.all.plan) else 0, self.groups if among is None else among
        read = [group for group in among if self.sizes[group.place] <= limit]
        return read, [group for group in among if self.sizes[group.place] > limit]

    def rows(
        self, read: Sequence[Group], plan: Plan | None = None, *, apart: bool = False
    ) -> Iterator[tuple[Group, Rows]]:
        """The rows of the join, group by group, from one scan. `plan`: if they have more than those of all."""
        if not read:
            return
        places = {group.place: group for group in read}
        others = [self.by.offset + 1 + group.place for group in self.groups if group.place not in places]
        statement = rows_by_group(plan or self.all.plan, self.by, others, apart=apart)
        assert statement is not None
        steps.info("reading the rows of %s groups", f"{len(read):,}")
        number = number_column(self.by)
        parameters = self.plan.design.target.parameters
        for n, rows in _by_number(self.work.blocks(statement, parameters), number):
            if group := places.get(n - 1 - self.by.offset):  # if there is none, its rows weigh nothing
                yield group, rows

    def in_memory(self, group: Group, rows: Rows, weights: ClassWeights, how: Scale, nulls: Nulls) -> Data:
        design, rows = with_own_categories(replace(self.plan.design, target=self._target(group)), rows)
        plan, rows = centred_rows(replace(self.plan, design=design), rows, rows[TIMES].astype(float), how)
        plan = with_weights(plan, weights, lambda plan: moments_of(plan, rows, rows[TIMES].astype(float)))
        weighing = class_weighted(plan.design.target, rows)
        moments = moments_in_memory(plan, rows, weighing, how, nulls, by_class=True)
        own = scaling(plan.design, moments, how)
        drawn = read_rows(own, rows, weighing)
        raw, key = {**rows, TIMES: weighing}, self._key(group)
        return replace(self.all, plan=plan, moments=moments, scaling=own, drawn=drawn, key=key, raw=raw)

    def measured(self, group: Group, rows: Rows, *, check: bool) -> Data:
        """Those of a group, to be measured. `check` that all classes have some."""
        design, rows = with_own_categories(self.plan.design, rows)
        plan = replace(self.plan, design=design)
        if check:
            check_rows(plan, moments_of(plan, rows, rows[TIMES].astype(float)))
        return replace(self.all, plan=plan, raw=rows, key=self._key(group))

    def _key(self, group: Group) -> Key:
        return self.all.key._replace(group=group.value)

    @contextmanager
    def in_database(
        self, group: Group, weights: ClassWeights, *, scale: Scale, by_class: bool, check: bool = True
    ) -> Iterator[Data]:
        """The same plan, over a table with the rows of the label's relation in this group. `check` that all classes
        have some."""
        work, alias = self.work, self.by.relation
        is_own = sql.equal(self.by.value.copy(), literal(group.value))
        own = node_table(self.plan.label_node)
        work.drop([table for table in work.tables if table == own])
        with work.scratch():
            query = kept(work, self.plan.tree.query.where(alias, is_own), ROWS)
            plan = replace(self.plan, tree=replace(self.plan.tree, query=query))
            plan = replace(plan, design=replace(plan.design, target=self._target(group)))
            measured = needed(plan, scale, by_class=by_class)

            def sizes(plan: Plan) -> Moments:
                with work.scratch():
                    work.run(missing_tables(work, plan))
                    return read_moments(work, plan, measured)

            plan = with_weights(plan, weights, sizes)
            work.run(missing_tables(work, plan))  # the group before may have had other origins
            found = read_moments(work, plan, measured)
            if check:
                check_rows(plan, found)
            made = centred(work, plan, found)
            plan, found = (plan, found) if made is plan else (made, read_again(work, made, plan, found, measured))
            found = with_products(work, plan, with_constants(work, plan, found))
            how = scaling(plan.design, found, scale)
            yield replace(self.all, plan=plan, moments=found, scaling=how, key=self._key(group))


def _totals(work: Workspace, plan: Plan) -> tuple[float, ...]:
    """The rows of the join with each category of the last dictionary."""
    by = plan.design.dictionaries[-1]
    return tuple(work.ask(sizes_by_group(plan, by)).tolist())


def _by_number(blocks: Iterator[Rows], number: str) -> Iterator[tuple[int, Rows]]:
    """Blocks of rows in the order of a number, as one for each number."""
    parts: list[Rows] = []
    for block in blocks:
        values = block[number].astype(float)
        ends = [*(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
        first = 0
        for end in ends:
            if parts and values[first] != parts[0][number][0]:
                yield _joined(parts, number)
                parts = []
            if end > first:
                parts.append({name: column[first:end] for name, column in block.items()})
            first = end
    if parts:
        yield _joined(parts, number)


def _joined(parts: Sequence[Rows], number: str) -> tuple[int, Rows]:
    rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return int(rows[number][0]), rows


class Progress:
    """Says how many groups are done, not too often."""

    def __init__(self, groups: int) -> None:
        self._groups, self._done, self._said = groups, 0, perf_counter()

    def one(self) -> None:
        self._done += 1
        if perf_counter() - self._said >= EVERY:
            steps.info("%s of %s groups are done", f"{self._done:,}", f"{self._groups:,}")
            self._said = perf_counter()


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
            raise DataError(f"no group of ⟦by {self.groups.by.feature}⟧ can be trained", detail=why, hint=hint)
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
        plan = self.groups.all.plan.from_zero
        if self._training.folds:
            from sqlsvm.run.folding import numbered

            numbers, _ = numbered(replace(self.groups.all, plan=plan), self._training.parts)
            plan = numbers.in_place()
        return plan.telling if self._training.reads_parts else plan

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
            hint = "; try ⟦class_weight balanced⟧" if self._training.class_weight == "none" else ""
            yield f"the model predicts one class for every row of {model.by} {listed(ones)}{hint}"
        chooses = self._training.chooses
        chosen = f"{' and '.join(OPTIONS[name].said for name in chooses)} {DEFAULT[len(chooses) > 1]}"
        for notes, said in ((DEFAULT, chosen), ((BY_CHANCE,), BY_CHANCE)):
            if few := [of.value for of in model.groups if any(note in each for each in of.notes for note in notes)]:
                yield f"{said} for {model.by} {listed(few)}: few different rows of the label's table are in the group"
        if missed := [str(of.value) for of in model.groups if any(UNMEASURED in note for note in of.notes)]:
            yield unmeasured(model.by, missed)
