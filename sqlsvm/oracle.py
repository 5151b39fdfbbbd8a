"""The join as an oracle for the solvers: passes through the database in, cuts out."""

from collections.abc import Mapping
from functools import cached_property
from math import ceil

import numpy as np

from sqlsvm.compile.moments import EVERY, category_moments_name, moments, moments_name
from sqlsvm.compile.oracle import NEAR, TOTALS, oracle_pass, reach
from sqlsvm.compile.resolve import COUNT, category_name, sums_name
from sqlsvm.compile.sample import (
    DENSITY,
    TIMES,
    answer_name,
    category_number,
    drawn_nodes,
    points,
    sample,
    sample_name,
)
from sqlsvm.compile.statement import Statement
from sqlsvm.compile.tally import BLUR, BOUND, BUCKETS, WIDTH, rounding_name
from sqlsvm.design import Moments, Scaling
from sqlsvm.engine.base import Rows, Values
from sqlsvm.plan import Plan
from sqlsvm.program import Workspace
from sqlsvm.solve.oracle import Cut, Sample
from sqlsvm.solve.rows import Rows as SampleRows

Answers = Mapping[str, Rows]

LARGEST_SAMPLE = 80_000_000  # numbers, 320 MB


def read_moments(work: Workspace, plan: Plan, measured: frozenset[str] = EVERY) -> Moments:
    """N, N- and the moments of every coordinate; nan for what was not measured."""
    with work.scratch():
        answers = work.run(moments(plan, measured))
    design, size = plan.design, plan.design.size
    found = {name: np.full(size, 0.0 if name in measured else np.nan) for name in EVERY}
    for node in range(len(plan.tree.nodes)):
        for c in plan.coordinates(node):
            for name in measured:
                found[name][c.index] = answers[moments_name(node)][f"{name}{c.index}"][0]
    for d in design.dictionaries:
        here = slice(d.offset, d.offset + len(d.categories))
        if (rows := answers.get(category_moments_name(d.number))) is None:
            for name in EVERY:
                found[name][here] = np.nan
            continue
        places = rows["n"].astype(int) - 1
        of_one = {"total": rows["total"], "squares": rows["total"], "largest": 1.0, "negative": rows["negative"]}
        for name in measured:
            found[name][places] = of_one[name]
    root = answers[moments_name(plan.label_node)]
    n, n_negative, n_unlabelled = (float(root[name][0]) for name in ("n", "n_negative", "n_unlabelled"))
    return Moments(n, n_negative, n_unlabelled, *(found[m] for m in ("total", "squares", "largest", "negative")))


class JoinOracle:
    """R(beta) over the virtual join, on scaled features, by relational passes."""

    def __init__(self, work: Workspace, plan: Plan, moments: Moments, scaling: Scaling) -> None:
        self.work = work
        self.plan = plan
        self.moments = moments
        self.scaling = scaling

    @property
    def dimension(self) -> int:
        return len(self.scaling.kept) + self.plan.design.size - len(self.plan.design.coordinates)

    @property
    def join_rows(self) -> float:
        return self.moments.n

    @property
    def exact(self) -> bool:
        return self.plan.method == "exact" or self.plan.centre is None

    @property
    def soft(self) -> bool:
        """With one bag every row of the join is at hand, and may as well count in part."""
        return self.plan.centre is None

    @cached_property
    def program(self) -> tuple[Statement, ...]:
        return tuple(oracle_pass(self.plan))

    @cached_property
    def _soft_program(self) -> tuple[Statement, ...]:
        return tuple(oracle_pass(self.plan, soft=True))

    def pass_(self, beta: Values, buckets: int | None, width: float = 0.0) -> Cut:
        h, theta = float(buckets or 1), self.scaling.to_raw(np.asarray(beta, dtype=float))
        parameters = {"theta": theta, BOUND: 1.0, BUCKETS: h, WIDTH: width}
        with self.work.scratch():
            answers = self.work.run(self._soft_program if width else self.program, parameters)
        slope, offset = self._cut(answers)
        slope = self.scaling.from_raw(slope)
        error = 0.0 if self.exact else self._error(answers, h)
        blur = float(answers[TOTALS][BLUR][0]) / self.moments.n if width else 0.0
        return Cut(slope, offset, offset + float(slope @ beta) + blur, error, None if self.exact else buckets, width)

    def sample(self, size: int, seed: int) -> Sample:
        """Rows drawn with their weights, so that all weigh the same here. Fewer than asked for where that many would
        not fit in memory."""
        columns = len(self.plan.design.coordinates) + len(self.plan.design.dictionaries)
        size = max(1, min(size, LARGEST_SAMPLE // max(1, columns), self._enough))
        with self.work.scratch():
            answers = self.work.run(sample(self.plan), self._places(size, seed))
        root = answers[sample_name(self.plan.label_node)]
        labels = root["y"].astype(float)
        rows = self._features(answers, len(labels))
        if TIMES in root:
            drawn = np.repeat(np.arange(len(labels)), root[TIMES].astype(int))
            rows, labels = rows[drawn], labels[drawn]
        return Sample(rows, labels, np.ones(len(labels)))

    @property
    def _enough(self) -> int:
        """One point a row, where that is the whole join: where no row is repeated and all weigh the same."""
        design, every = self.plan.design, self.plan.centre is None
        alike = design.weight is None and design.class_weights == (1.0, 1.0)
        return ceil(self.moments.n) if every and alike else LARGEST_SAMPLE

    def _places(self, size: int, seed: int) -> dict[str, object]:
        """Stratified over the whole join at the root, uniform within what is left at every node below."""
        rng = np.random.default_rng(seed)
        places = {points(node): rng.random(size) for node, _ in drawn_nodes(self.plan)}
        root = points(self.plan.label_node)
        stratified = (np.arange(size) + places[root]) / size * self.moments.n
        return places | {root: stratified, DENSITY: size / self.moments.n}

    def _features(self, answers: Answers, size: int) -> SampleRows:
        """The sample as beta sees it: scaled numbers, then a 0/1 column for each category."""
        design, matrix = self.plan.design, self.scaling.matrix
        columns = {c.index: np.ones(size) for c in design.coordinates if c.role == "intercept"}
        ones = np.full((size, len(design.dictionaries)), self.dimension)
        for node, _ in drawn_nodes(self.plan):
            rows = answers[answer_name(self.plan, node)]
            columns |= {c.index: rows[c.column] for c in self.plan.coordinates(node) if c.role != "intercept"}
            for d in self.plan.dictionaries(node):
                number = rows[category_number(d)].astype(float)
                (known,) = np.nonzero(~np.isnan(number))
                ones[known, d.number] = len(matrix) - matrix.shape[1] + number[known].astype(int) - 1
        numbers = np.empty((size, len(matrix)), dtype=np.float32)
        for place, row in enumerate(matrix):
            numbers[:, place] = sum(row[index] * columns[index] for index in np.flatnonzero(row).tolist())
        return SampleRows(numbers, ones, self.dimension)

    def _cut(self, answers: Answers) -> tuple[Values, float]:
        g, b, n = sums(self.plan, answers), float(answers[TOTALS]["b"][0]), self.moments.n
        if self.plan.centre is None:
            return -g / n, b / n
        return (self.moments.total_negative - g) / n, (self.moments.n_negative + b) / n

    def _error(self, answers: Answers, h: float) -> float:
        """E = (1/N) sum over |total| < delta of (delta - |total|), delta the sum of what was really rounded away."""
        blurred = [bag for bag in self.plan.bags if self.plan.scored(bag)]
        delta = sum(float(answers[rounding_name(bag)]["error"][0]) for bag in blurred)
        if delta > reach(self.plan) + 1:  # a score beyond all buckets: `near` looked too close, but |error| <= delta
            return delta / h
        near = answers[NEAR]
        slack = np.maximum(0.0, delta - np.abs(near["total"].astype(float)))
        return float(slack @ near[COUNT].astype(float)) / h / self.moments.n


def sums(plan: Plan, answers: Answers) -> Values:
    """The sum for every coordinate, gathered from the answers of all nodes."""
    g = np.zeros(plan.design.size)
    for node in range(len(plan.tree.nodes)):
        for c in plan.coordinates(node):
            g[c.index] = answers[sums_name(node)][c.column][0]
        for d in plan.dictionaries(node):
            rows = answers[category_name(d)]
            known = ~np.isnan(rows["n"].astype(float))
            g[rows["n"][known].astype(int) - 1] = rows[COUNT][known]
    return g
