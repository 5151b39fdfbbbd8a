"""A sample of the join for a solver: drawn in the database, scaled here."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sqlsvm.compile.categories import number_column
from sqlsvm.compile.sample import TIMES, drawn_nodes, sample, thinnable, whole
from sqlsvm.compile.statement import Statement
from sqlsvm.engine.base import Rows
from sqlsvm.plan.parameters import DENSITY, SEED, points
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.scaling import Moments, Scaling
from sqlsvm.plan.target import CODE
from sqlsvm.run.problem import Problem
from sqlsvm.run.workspace import Workspace
from sqlsvm.solve.arrays import Array, Indices, Singles
from sqlsvm.solve.rows import SampleRows

steps = logging.getLogger(__name__)

T = TypeVar("T", np.float32, np.float64)

LARGEST_SAMPLE = 80_000_000  # numbers, 320 MB
LARGEST_WHOLE = LARGEST_SAMPLE // 2  # in double precision
MANY = 1000
"""From this size on, it does not matter that a thinned table keeps a few rows more or less than were asked for."""


@dataclass(frozen=True)
class Drawn:
    """Rows of the join with the codes of their labels: what these mean is up to each training."""

    rows: SampleRows
    codes: Array
    weights: Array
    optima: dict[int, dict[Any, Array]] = field(default_factory=dict)
    """What was found on them, by the code of the class that is +1."""


def drawn_sample(problem: Problem, size: int, seed: int) -> Drawn:
    """Rows drawn in proportion to their weights, so that all have weight 1 here. There are fewer than asked for if so
    many would not fit in memory."""
    work, plan, moments = problem.work, problem.plan, problem.moments
    columns = len(plan.design.coordinates) + len(plan.design.dictionaries)
    size = max(1, min(size, LARGEST_SAMPLE // max(1, columns), _enough(plan, moments)))
    table = thinnable(plan) if size >= MANY else None
    statements = list(sample(plan, thinned=table is not None and work.engine.thins(table)))
    places = _places(plan, moments, size, seed)
    with work.clock.during("sampling"), work.scratch():
        work.run((s for s in statements if s.table), places)
        reader, rows = _Reader(problem.scaling), _rows(work, [s for s in statements if not s.table], places)
        numbers, ones, labels = (np.concatenate(parts) for parts in zip(*map(reader.read, rows), strict=True))
    return Drawn(SampleRows(numbers, ones, problem.scaling.dimension), labels, np.ones(len(labels)))


def whole_join(problem: Problem, most: int) -> Drawn | None:
    """Every row of the join with its weight; None if there are more than so many, or too many for memory."""
    design = problem.plan.design
    columns = len(design.coordinates) + len(design.dictionaries)
    if problem.rows > min(most, LARGEST_WHOLE // max(1, columns)) or (found := whole(problem.plan)) is None:
        return None
    steps.info("reading all %s rows of the join", f"{problem.rows:,.0f}")
    with problem.work.clock.during("sampling"):
        answers = problem.work.run([found])[found.name]
        return read_rows(problem, answers, answers[TIMES].astype(float))


def read_rows(problem: Problem, rows: Rows, weights: Array) -> Drawn:
    """Rows of the join that were read already, each with its weight."""
    numbers, ones, codes = _Reader(problem.scaling).read_once(rows, np.float64)
    return Drawn(SampleRows(numbers, ones, problem.scaling.dimension), codes, weights)


def _rows(work: Workspace, answers: list[Statement], places: Mapping[str, object]) -> Iterator[Rows]:
    """A block at a time, or all at once if several answers hold the parts of a row."""
    if len(answers) == 1:
        yield from work.blocks(answers[0], places)
        return
    every: Rows = {}
    for answer in answers:
        blocks = list(work.blocks(answer, places))
        every |= {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
    yield every


def _enough(plan: Plan, moments: Moments) -> int:
    """With one bag and no weights the rows of the join are those of a table, and one point a row takes them all."""
    return ceil(moments.n) if plan.centre is None and not plan.design.weighted else LARGEST_SAMPLE


def _places(plan: Plan, moments: Moments, size: int, seed: int) -> dict[str, object]:
    """Points that are stratified over the whole join at the root, and uniform in [0, 1) at every other node."""
    rng = np.random.default_rng(seed)
    places = {points(node): rng.random(size) for node, _ in drawn_nodes(plan)}
    root = points(plan.label_node)
    stratified = (np.arange(size) + places[root]) / size * moments.n
    return places | {root: stratified, DENSITY: size / moments.n, SEED: float(seed)}


class _Reader:
    """Turns blocks of the answer into features: scaled numbers, then a 0/1 column for each category."""

    def __init__(self, scaling: Scaling) -> None:
        self.scaling, self.design, self.matrix = scaling, scaling.design, scaling.matrix

    def read(self, rows: Rows) -> tuple[Singles, Indices, Array]:
        """Numbers, places of ones, labels: each row as often as it was drawn."""
        times = rows[TIMES].astype(int)
        numbers, ones, labels = self.read_once(rows, np.float32)
        if (times == 1).all():
            return numbers, ones, labels
        return numbers.repeat(times, axis=0), ones.repeat(times, axis=0), labels.repeat(times)

    def read_once(self, rows: Rows, precision: type[T]) -> tuple[NDArray[T], Indices, Array]:
        return self._numbers(rows, precision), self._ones(rows), rows[CODE].astype(float)

    def _numbers(self, rows: Rows, precision: type[T]) -> NDArray[T]:
        constant = np.ones(len(rows[CODE]))
        columns = [rows.get(c.column, constant) for c in self.design.coordinates]
        found = np.empty((len(constant), len(self.matrix)), dtype=precision)
        for place, row in enumerate(self.matrix):
            found[:, place] = sum(row[index] * columns[index] for index in np.flatnonzero(row).tolist())
        return found

    def _ones(self, rows: Rows) -> Indices:
        found = np.full((len(rows[CODE]), len(self.design.dictionaries)), self.scaling.dimension)
        for d in self.design.dictionaries:
            number = rows[number_column(d)].astype(float)
            (known,) = np.nonzero(~np.isnan(number))
            found[known, d.number] = number[known].astype(int) - 1 - self.scaling.unkept
        return found
