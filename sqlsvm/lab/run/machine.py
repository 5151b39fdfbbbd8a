"""Training on a sample of the join rows: kernel machines, and Pegasos."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from time import perf_counter

import numpy as np

from sqlsvm.errors import DataError
from sqlsvm.kernel.decomposition import Dual, Task, decomposed, stepped, usual_gamma
from sqlsvm.kernel.functions import Kernel
from sqlsvm.kernel.gram import Cache
from sqlsvm.kernel.pegasos import Linear
from sqlsvm.kernel.rows import Block, Joined
from sqlsvm.model.model import Model
from sqlsvm.model.support import Support
from sqlsvm.run.data import Data
from sqlsvm.run.in_memory import Drawn
from sqlsvm.run.sampling import drawn_sample, whole_join
from sqlsvm.run.training import Training
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.cuts import Certificate
from sqlsvm.solve.rows import SampleRows
from sqlsvm.solve.solution import OnPass, Record

steps = logging.getLogger(__name__)

USUAL_SAMPLE = 5000  # join rows of a kernel machine
USUAL_STREAM = 200_000  # join rows that linear Pegasos looks at
DRAWN_AT_ONCE = 20_000


@dataclass(frozen=True)
class Learned:
    """A kernel machine and what is proven about it on its sample."""

    support: Support
    intercept: float
    certificate: Certificate
    history: tuple[Record, ...]
    converged: bool

    def put_into(self, model: Model) -> Model:
        return replace(model, intercept=self.intercept, scaled_intercept=None, base=None, support=self.support)


def learned(problem: Data, asked: Training, on_pass: OnPass | None) -> Learned:
    """Its objective has half of the strength before the square of the norm."""
    size, strength = asked.sample or USUAL_SAMPLE, 2.0 * asked.penalising.strength
    found = whole_join(problem, size)
    sample = found or drawn_sample(problem, size, asked.seed)
    _check_classes(sample)
    relations, rows = joined(problem, sample.rows)
    task = Task(rows, sample.codes, sample.weights, strength, bool(asked.intercept), asked.intercept == "free")
    name = asked.kernel or "rbf"
    kernel = Kernel(name, asked.gamma or (1.0 if name == "linear" else usual_gamma(rows, name, asked.seed)))
    memory = Cache(asked.cache, int(asked.cache_mb * (1 << 20)), asked.cache_share)
    gram, told = task.gram(kernel, memory), _Told(kernel, on_pass)
    steps.info("training on %s join rows; %s", f"{len(rows):,}", _said(relations, rows))
    with problem.work.clock.during("passes"):
        if asked.solver == "pegasos":
            dual = stepped(task, gram, asked.tol, asked.max_passes, asked.seed, told.round)
        else:
            dual = decomposed(task, gram, asked.tol, asked.max_passes, told.round)
    support = Support.of(rows, relations, dual.beta, kernel, whole=found is not None)
    reached = dual.gap <= asked.tol
    return Learned(support, dual.offset, told.certificate(dual), tuple(told.history), reached)


def _said(relations: tuple[str, ...], rows: Joined) -> str:
    return ", ".join(f"{len(b):,} different rows of {r}" for r, b in zip(relations, rows.blocks, strict=True))


class _Told:
    """A record for each round, and its seconds."""

    def __init__(self, kernel: Kernel, on_pass: OnPass | None) -> None:
        self.kernel, self.on_pass, self.history, self.began = kernel, on_pass, list[Record](), perf_counter()

    def certificate(self, dual: Dual) -> Certificate:
        return Certificate(dual.objective, dual.objective, dual.lower_bound if self.kernel.is_definite else -inf)

    def round(self, dual: Dual) -> None:
        now, proof = perf_counter(), self.certificate(dual)
        bounds = proof.objective, proof.objective_upper, proof.lower_bound, proof.gap
        self.history.append(Record(len(self.history) + 1, *bounds, None, now - self.began))
        self.began = now
        if self.on_pass:
            self.on_pass(self.history[-1])


def _check_classes(sample: Drawn) -> None:
    for y, missing in ((-1, "negative"), (1, "positive")):
        if not (sample.codes == y).any():
            rows = f"{len(sample.codes):,}"
            hint = "draw more with ⟦sample⟧, draw others with ⟦seed⟧, or use ⟦class_weight balanced⟧"
            raise DataError(f"the sample of {rows} join rows has one class only: none of them is {missing}", hint=hint)


# -- the rows of each table --------------------------------------------------------------------------------------------


def joined(problem: Data, rows: SampleRows) -> tuple[tuple[str, ...], Joined]:
    """The relations, and their different rows with the index of who meets whom. A feature that adds up terms of several
    relations stands for itself, as if a relation had it."""
    blocks = _wide(problem, rows)
    return tuple(blocks), Joined.of(tuple(blocks.values()))


def _wide(problem: Data, rows: SampleRows) -> dict[str, Block]:
    """The rows of the sample, cut where tables meet."""
    design, scaling = problem.plan.design, problem.scaling
    coordinates = {c.index: c for c in design.coordinates}
    homes = {
        e: e.feature if e.feature in problem.query.sums else coordinates[e.index].relation
        for e in scaling.numbers
        if e.feature
    }
    names = dict.fromkeys([*homes.values(), *(d.relation for d in design.dictionaries)])
    found = {}
    for name in names:
        own = [e for e, home in homes.items() if home == name]
        lists = [d for d in design.dictionaries if d.relation == name]
        numbers = rows.numbers[:, [e.place for e in own]].astype(float)
        codes = [_codes(rows, d.number, d.offset - scaling.unkept, len(d.categories)) for d in lists]
        stacked = np.array(codes, dtype=np.int64).reshape(len(lists), len(rows)).T
        found[name] = Block(numbers, stacked, tuple(e.feature for e in own), tuple(d.feature for d in lists))
    return found


def _codes(rows: SampleRows, number: int, first: int, categories: int) -> Array:
    """The places of the ones of a feature, from 1; 0 where none is."""
    place = rows.ones[:, number] - first + 1
    return np.where(rows.ones[:, number] < rows.width, np.clip(place, 0, categories), 0)


# -- linear Pegasos ----------------------------------------------------------------------------------------------------


def streamed(problem: Data, training: Training, on_rows: Callable[[int], None]) -> Array:
    """beta after a step for each of so many join rows, which are drawn a part at a time."""
    walk = Linear(2.0 * training.penalising.strength, problem.scaling.dimension)
    asked, rng = training.sample or USUAL_STREAM, np.random.default_rng(training.seed)
    part = 0
    while walk.steps < asked:
        drawn = drawn_sample(problem, min(DRAWN_AT_ONCE, asked - walk.steps), training.seed + part)
        order = rng.permutation(len(drawn.codes))[: asked - walk.steps]
        walk.look(drawn.rows.take(order), drawn.codes[order])
        part += 1
        on_rows(walk.steps)
    return walk.beta
