"""The join as an oracle for the solvers: each pass through the database gives a cut. Some share a scan."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from time import perf_counter

import numpy as np

from sqlsvm.compile.categories import number_column
from sqlsvm.compile.lines import ADDED, BEND, CONJUGATE, PSI, RESTS, Lines
from sqlsvm.compile.messages import REST, SIZE, SQUARES
from sqlsvm.compile.moments import factors
from sqlsvm.compile.oracle import (
    CLASSES_AT_ONCE,
    MEMBER,
    NEAR,
    OWN_WIDTH,
    TOGETHER,
    can_share,
    counting,
    is_even,
    oracle_pass,
    pass_together,
    reach,
    roundings,
    totals_name,
)
from sqlsvm.compile.resolve import COUNT, category_name, cells, sums_name
from sqlsvm.compile.tally import MIDDLE, rounding_name
from sqlsvm.compile.weighting import OFFSET, SHORTFALL, Ramp, Weighting
from sqlsvm.engine.base import Rows
from sqlsvm.plan.parameters import BOUND, BUCKETS, MEMBERS, THETA, WIDTH, WIDTHS
from sqlsvm.plan.plan import Bag, Plan
from sqlsvm.run.clock import Phase
from sqlsvm.run.data import Data
from sqlsvm.run.in_memory import Samples
from sqlsvm.run.measuring import read_products
from sqlsvm.run.rounding import of_lists, rounding
from sqlsvm.run.sampling import drawn_sample
from sqlsvm.run.workspace import Answers, Program, of_parts
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.crossing import crossed
from sqlsvm.solve.loss import Loss
from sqlsvm.solve.oracle import Cut, Sample
from sqlsvm.solve.quadratic import Quadratic
from sqlsvm.solve.rounding import Rounding
from sqlsvm.solve.run import Proposal, passed
from sqlsvm.solve.solution import State
from sqlsvm.sql import column


def shareable(plan: Plan) -> frozenset[int]:
    """Bags that meet others by one key only. In the middle of the join nearly every row is a state of its own, and it
    would be two. The bag of the label has a residual, not only a score."""
    outer = (bag for bag in plan.bags if len(plan.linked(bag.number)) == 1)
    return frozenset(bag.number for bag in outer if plan.label_node not in bag.nodes and plan.scored(bag))


def is_narrow(problem: Data, bag: int, theta: Array, per_unit: float) -> bool:
    """Are the scores of this bag in few buckets?"""
    return 0.0 < _deviation(problem, problem.plan.bags[bag], theta) * per_unit < problem.work.engine.sizes.in_bucket


def _deviation(problem: Data, bag: Bag, theta: Array) -> float:
    """About that of its scores, as if no features went together. Scaling by the largest value measures no variance."""
    plan, moments = problem.plan, problem.moments
    numbers = [c.index for node in bag.nodes for c in plan.coordinates(node)]
    squares = moments.squares[numbers] / moments.n
    spread = squares - (moments.total[numbers] / moments.n) ** 2
    variances = np.where(np.isnan(squares), moments.largest[numbers] ** 2, np.maximum(spread, 0.0))
    of_categories = [theta[d.offset :][: len(d.categories)] for node in bag.nodes for d in plan.dictionaries(node)]
    return sqrt(theta[numbers] ** 2 @ variances + sum(np.max(each**2, initial=0.0) for each in of_categories))


WIDEST = 1.0  # any width: it only says that there is one


class JoinOracle:
    """R(beta) over the virtual join, on scaled features, by relational passes. Oracles of one problem may share their
    samples."""

    whole = False

    def __init__(
        self, problem: Data, loss: Loss | None = None, phase: Phase = "passes", samples: Samples | None = None
    ) -> None:
        self.problem = problem
        self._samples: Samples = {} if samples is None else samples
        self.plan = problem.plan
        self.loss = loss or problem.plan.loss
        self.phase = phase
        self._programs: dict[frozenset[int], Program] = {}
        self._parts: dict[frozenset[int], tuple[float, float]] = {}

    @property
    def _origin(self) -> float:
        """The root of the mean square of the origins."""
        label, n = self.problem.moments.label, self.join_rows
        return abs(self.loss.origin or 0.0) if label is None else (label.squares / n) ** 0.5

    @property
    def _unit(self) -> float:
        """Buckets are fractions of it: a label that is a number may have any size."""
        return 1.0 if self.problem.moments.label is None else self._origin or 1.0

    @property
    def dimension(self) -> int:
        return self.problem.scaling.dimension

    @property
    def join_rows(self) -> float:
        return self.problem.moments.n

    @property
    def rows_read(self) -> float:
        return self.problem.catalog.known_rows()

    @property
    def bags(self) -> int:
        return len(self.plan.bags)

    @property
    def exact(self) -> bool:
        return self.plan.method == "exact"

    @property
    def soft(self) -> bool:
        """On the grid, rows are counted whole. With three bags or more, running sums go over long lists, and their
        rounding would cost more of the proof than such a pass gains."""
        return self.exact and bool(self.loss.knots) and len(self.plan.bags) <= 2

    @property
    def soft_is_cheap(self) -> bool:
        return self.bags == 1

    @cached_property
    def rounding(self) -> Rounding:
        return rounding(self.problem)

    def adds_values(self, width: float) -> bool:
        return bool(width) and isinstance(self._counting(width), Lines)

    def size(self, beta: Array, cut: Cut) -> tuple[float, float]:
        mean = cut.value_low + cut.error
        if cut.buckets is not None and not self.loss.knots:  # slopes are those at rounded residuals
            mean = 2.0 * (mean + cut.error)
        found = self.loss.size(mean, self._origin, self.rounding.share)
        counted, shared = self._counting(cut.width), frozenset() if cut.buckets is None else self._shareable
        if not (shared or isinstance(counted, Lines)):
            return found
        sums, lists = self._of_parts(shared)
        if not isinstance(counted, Lines):
            return sums * found[0], sums * found[1]
        offset, slope = counted.size(self.rounding.reach(beta), self._origin)
        rows, steepest = (sums * each for each in found)
        return lists * (offset + slope) + max(rows, steepest), steepest + lists * slope

    def _of_parts(self, shared: frozenset[int]) -> tuple[float, float]:
        """How many times as much sums are off, and running sums, if slopes or parts of rows are added up, not rows."""
        if shared not in self._parts:
            found = rounding(self.problem, whole=False, shared=shared), of_lists(self.problem, shared)
            self._parts[shared] = found[0].share / self.rounding.share, found[1].share / self.rounding.share
        return self._parts[shared]

    def _counting(self, width: float) -> Weighting | Lines:
        return counting(self.plan, self.loss, width)

    @cached_property
    def _shareable(self) -> frozenset[int]:
        """On the grid."""
        return shareable(self.problem.plan)

    def _sharing(self, beta: Array, buckets: int | None) -> Plan:
        """The plan, with the bags whose rows are shared by buckets in the pass at beta."""
        bags = frozenset() if self.exact else self._shareable
        theta, h = self.problem.scaling.to_raw(np.asarray(beta, dtype=float)), self._per_unit(buckets)
        return replace(self.plan, shared=frozenset(bag for bag in bags if is_narrow(self.problem, bag, theta, h)))

    @property
    def even(self) -> bool:
        return is_even(self.plan, self._counting(0.0))

    def roundings(self, beta: Array, buckets: int) -> int:
        return 0 if self.exact else roundings(self._sharing(beta, buckets), even=self.even)

    @property
    def program(self) -> Program:
        """Of a pass that shares no rows."""
        return self._counting_whole(self.plan)

    def _counting_whole(self, plan: Plan) -> Program:
        """Of a pass without a width."""
        if plan.shared not in self._programs:
            self._programs[plan.shared] = self._program(plan)
        return self._programs[plan.shared]

    def _program(self, plan: Plan, width: float = 0.0) -> Program:
        return Program(self.problem.work.engine, oracle_pass(plan, self._counting(width)))

    @cached_property
    def _ramp(self) -> Program:
        """With one bag and the hinge, the width is a parameter."""
        return self._program(self.plan, WIDEST)

    def _soft(self, width: float) -> Program:
        return self._ramp if isinstance(self._counting(width), Ramp) else self._program(self.plan, width)

    def pass_(self, beta: Array, buckets: int | None, width: float = 0.0) -> Cut:
        return self.cut(self.asked(beta, buckets, width), beta, buckets, width)

    def asked(self, beta: Array, buckets: int | None, width: float = 0.0) -> Answers:
        """The answers of the database."""
        theta = self.problem.scaling.to_raw(np.asarray(beta, dtype=float))
        parameters = {THETA: theta, BOUND: self.loss.origin or 0.0, BUCKETS: self._per_unit(buckets), WIDTH: width}
        parameters |= self.plan.design.target.parameters
        work = self.problem.work
        with work.clock.during(self.phase):
            program = self._soft(width) if width else self._counting_whole(self._sharing(beta, buckets))
            return work.run_and_drop(program, parameters)

    def _per_unit(self, buckets: int | None) -> float:
        return (buckets or 1) / self._unit

    def cut(self, answers: Answers, beta: Array, buckets: int | None, width: float) -> Cut:
        """What they prove."""
        h, counted = self._per_unit(buckets), self._counting(width)
        slope = self.problem.scaling.from_raw(self._slope(answers, counted))
        offset, value = self._offset_and_value(answers, counted, float(slope @ beta))
        error = 0.0 if self.exact else self._error(answers, self._sharing(beta, buckets), counted, h)
        if isinstance(counted, Lines):  # of a loss that is near
            near = self.loss.near
            offset, value, error = offset - near.above, value - near.above, error + near.error
        return Cut(slope, offset, value, error, None if self.exact else buckets, width)

    def refine(self, enough: float) -> None:
        loss = self.loss.finer(enough)
        if loss is not self.loss:
            self.loss, self.plan = loss, replace(self.plan, loss=loss)
            self._programs.clear()

    def sample(self, size: int, seed: int) -> Sample:
        found = self._samples.get((size, seed)) or drawn_sample(
            replace(self.problem, plan=self.problem.plan.telling), size, seed
        )
        self._samples[size, seed] = found
        return found.as_sample(self.plan.design.target, self.loss.origin)

    def _slope(self, answers: Answers, counted: Weighting | Lines) -> Array:
        signed = self.problem.moments.total_negative if self._whole(counted) else 0.0
        return (signed - sums(self.plan, answers)) / self.join_rows

    def _whole(self, counted: Weighting | Lines) -> bool:
        """Was it counted how many rows have a total < 0, for both labels?"""
        return self.plan.centre is not None and not isinstance(counted, Lines)

    def _offset_and_value(self, answers: Answers, counted: Weighting | Lines, linear: float) -> tuple[float, float]:
        """`linear` is slope.beta."""
        totals, n = answers[totals_name(self.plan)], self.join_rows
        b = float(totals[OFFSET].sum()) / n
        if isinstance(counted, Lines):
            added = {name: float(answers[ADDED][name][0]) / n for name in counted.added}
            origin = 1.0 if self.loss.origin is None else self.loss.origin
            offset = origin * b - counted.constants[CONJUGATE] - added.get(CONJUGATE, 0.0)
            return offset, added[PSI] + counted.constants[PSI] if PSI in added else offset + linear
        offset = b + (self.problem.moments.n_negative / n if self._whole(counted) else 0.0)
        blur = float(totals[SHORTFALL].sum()) / n if SHORTFALL in totals else 0.0
        return offset, offset + linear + blur

    def _error(self, answers: Answers, plan: Plan, counted: Weighting | Lines, h: float) -> float:
        """What rounding may have changed, with delta the sum of what was really rounded away."""
        even, blurred = is_even(plan, counted), [bag for bag in plan.bags if plan.scored(bag)]
        delta = sum(float(answers[rounding_name(bag)]["error"][0]) for bag in blurred)
        beyond = delta > reach(plan, even=even) + 1  # a score beyond all buckets: `near` has too few rows
        if isinstance(counted, Lines):
            return counted.loss.most_beyond(delta / h) if beyond else self._error_of_lines(answers, counted, delta, h)
        if beyond:
            return delta / h
        near = answers[NEAR]
        d = near["z"].astype(float) - (MIDDLE if even else 0.0)
        return float(self._crossed(near, d, delta).sum()) / h

    def _error_of_lines(self, answers: Answers, lines: Lines, delta: float, h: float) -> float:
        """E = (1/N) sum of what psi is above its tangent at the rounded z: what its jumps add, and what psi'' adds.
        That is psi'' delta^2 / 2, and behind each change that is d < delta away bend (delta - d)^2 / 2; or the most
        that psi'' is, times the mean of the squares of what was rounded away, divided by 2."""
        n, loss = self.join_rows, lines.loss
        changes = {change.at: change for change in lines.sharp}
        bend = float(answers[ADDED][BEND][0]) / n if BEND in lines.added else 0.0
        bend += sum(abs(change.bend) for change in loss.changes if change.at not in changes)
        jumped, bent = 0.0, bend * (delta / h) ** 2 / 2.0
        if changes:
            near = answers[NEAR]
            at, rows = near["at"].astype(float), near[COUNT].astype(float)
            jump, bends = (np.array([getattr(changes[a], name) for a in at]) for name in ("jump", "bend"))
            d = near["z"].astype(float) - at * h
            jumped = float((jump * self._crossed(near, d, delta)).sum()) / h
            bent += float(np.abs(bends) @ (rows * np.maximum(0.0, (delta - np.abs(d)) / h) ** 2)) / 2.0 / n
        if RESTS in answers:
            squares = float(answers[RESTS][SQUARES][0]) / n / h**2
            bent = min(bent, max(piece.bend for piece in loss.pieces) * squares / 2.0)
        return min(jumped + bent, loss.most_beyond(delta / h))

    def _crossed(self, near: Rows, d: Array, delta: float) -> Array:
        """What rounding may have taken past a change, d buckets away, for each row of the join."""
        rows, rests, squares = (near[name].astype(float) for name in (SIZE, REST, SQUARES))
        return crossed(d, rows, rests, squares, delta) / self.join_rows


def sums(plan: Plan, answers: Answers) -> Array:
    """The sum for every coordinate, from the answer that has its column."""
    g = np.zeros(plan.design.size)
    columns = {name: values for rows in answers.values() for name, values in rows.items()}
    for c in plan.design.coordinates:
        g[c.index] = columns[c.column].sum()
    for node in range(len(plan.tree.nodes)):
        together = cells(plan.dictionaries(node))
        for d in plan.dictionaries(node):
            name, column = (sums_name(node), number_column(d)) if d in together else (category_name(d), "n")
            places = answers[name][column].astype(float)
            known = ~np.isnan(places)
            np.add.at(g, places[known].astype(int) - 1, answers[name][COUNT][known])
    return g


MOST = 1_000_000  # sums that a pass may have: they stay in memory

# -- classes: each row of the join is of all of them -------------------------------------------------------------------


class OfClasses:
    """The passes of these oracles, which differ in the class that is +1."""

    def __init__(self, oracles: Sequence[JoinOracle]) -> None:
        self._oracles, self._shares = oracles, can_share(oracles[0].plan)
        self._programs: dict[tuple[float, int], Program] = {}
        """By their width, or that of all widths where it is a column, and by the number of classes."""

    def __call__(self, asked: Mapping[int, Proposal]) -> dict[int, Cut]:
        if not self._shares or len(asked) == 1:
            return {n: passed(self._oracles[n], proposal) for n, proposal in asked.items()}
        found: dict[int, Cut] = {}
        kinds = {n: self._kind(each) for n, each in asked.items()}
        for kind in dict.fromkeys(kinds.values()):
            members = [n for n, own in kinds.items() if own == kind]
            for first in range(0, len(members), CLASSES_AT_ONCE):
                found |= self._cuts(kind, {n: asked[n] for n in members[first : first + CLASSES_AT_ONCE]})
        return found

    def _kind(self, asked: Proposal) -> float:
        """Passes with the same one share a scan."""
        return 1.0 if asked.width and isinstance(self._counted(1.0), Ramp) else asked.width

    def _counted(self, width: float) -> Weighting:
        found = counting(self._oracles[0].plan, self._oracles[0].loss, width)
        return Ramp(column(OWN_WIDTH)) if isinstance(found, Ramp) else found  # type: ignore[return-value]

    def _cuts(self, kind: float, asked: Mapping[int, Proposal]) -> dict[int, Cut]:
        first, codes = self._oracles[0], {n: self._oracles[n].plan.design.target.chosen for n in asked}
        work, of_kind = first.problem.work, (kind, len(asked))
        if of_kind not in self._programs:
            statement = pass_together(first.plan, self._counted(kind), len(asked))
            self._programs[of_kind] = Program(work.engine, [statement])
        parameters = {
            THETA: np.concatenate([self._oracles[n].problem.scaling.to_raw(each.point) for n, each in asked.items()]),
            MEMBERS: np.array([*codes.values()], dtype=float),
            WIDTHS: np.array([each.width for each in asked.values()]),
            BOUND: first.loss.origin or 0.0,
        }
        with work.clock.during("passes"):
            rows = work.run_and_drop(self._programs[of_kind], parameters)[TOGETHER]
        answers = dict.fromkeys([totals_name(first.plan), *map(sums_name, range(len(first.plan.tree.nodes)))], rows)
        each = ((n, proposal, of_parts(answers, [codes[n]], MEMBER)) for n, proposal in asked.items())
        return {n: self._oracles[n].cut(own, proposal.point, None, proposal.width) for n, proposal, own in each}


# -- folds: each row is in one part, and a training has several --------------------------------------------------------


def can_keep_apart(problem: Data, parts: int) -> bool:
    """One bag and one vector of weights."""
    plan = problem.plan
    few = parts * plan.design.size <= MOST
    return plan.centre is None and not plan.design.target.classes and not plan.by_moments and few


@dataclass(frozen=True)
class Made:
    """A pass over all rows, and the strength of the penalty for which it was made."""

    point: Array
    width: float
    strength: float
    seconds: float
    answers: Answers


def again(problem: Data, loss: Loss, state: State, points: Sequence[Array]) -> list[Made]:
    """These passes of a training of all rows once more. The plan of the problem keeps sums apart."""
    oracle, found = JoinOracle(problem, loss), []
    places = (next(i for i, each in enumerate(state.points) if np.array_equal(each, point)) for point in points)
    for place in dict.fromkeys(places):  # one point may be the best of several trainings
        point, began, width = state.points[place], perf_counter(), float(state.widths[place])
        answers = oracle.asked(point, None, width)
        found.append(Made(point, width, float(state.strengths[place]), perf_counter() - began, answers))
    return found


def of_these(problem: Data, loss: Loss, made: Sequence[Made], parts: Iterable[int]) -> State:
    """What they are for the training on this problem, which has these parts."""
    oracle, parts = JoinOracle(problem, loss), list(parts)
    cuts = [oracle.cut(of_parts(m.answers, parts), m.point, None, m.width) for m in made]
    return State.of([m.point for m in made], cuts, [m.seconds for m in made], [m.strength for m in made])


def read_quadratic(problem: Data) -> Quadratic:
    """With the seconds that it took."""
    began = perf_counter()
    with problem.work.clock.during("passes"):
        sums = read_products(problem.work, factors(problem.plan))
    scaled, size, n = problem.scaling.from_raw, problem.plan.design.size, problem.moments.n
    half = np.array([scaled(column) for column in sums[:size, :size]])
    matrix = np.array([scaled(row) for row in half.T]) / n
    matrix = (matrix + matrix.T) / 2.0
    seconds = perf_counter() - began
    found = rounding(problem, whole=False)
    return Quadratic(matrix, scaled(sums[:size, size]) / n, float(sums[size, size]) / n, n, found, seconds)
