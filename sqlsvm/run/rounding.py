"""The rounding of sums, from the rows of the tables. docs/how-it-works.md has the proof, in section 7."""

from collections.abc import Collection
from math import inf, prod

import numpy as np

from sqlsvm.plan.plan import Rows, Terms, met, terms
from sqlsvm.run.data import Data
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.rounding import UNIT, Rounding, Stored

WHOLE = 2.0**53  # counts below it are not rounded
CHANGES = 8  # more than a loss has where the two sides meet: each is one entry more
FAR = 1e3  # a label whose mean is so many deviations
FEW = 64  # more than the operations on one value that are no sums: products along the tree, scaling, dividing by N


def rounding(problem: Data, *, whole: bool = True, shared: Collection[int] = ()) -> Rounding:
    """`whole`: do messages count rows? If not, they add up slopes or shares. A row of a shared bag is two terms."""
    plan, design = problem.plan, problem.plan.design
    rounded = design.weighted or problem.moments.n >= WHOLE or not whole
    longest = sum(_most(problem, t, shared) for t in terms(plan) if rounded or not t.weighted)
    # With several bags a cut is the difference of two sums. N is a sum too, and so are balanced weights.
    sums = (1 if plan.centre is None else 2) + (2 if rounded else 0)
    steps = sums * (longest + FEW * len(plan.tree.nodes) + 2 * design.size)
    return Rounding.after(steps, _sizes(problem), len(design.dictionaries), **_stored(problem))


def of_rows(problem: Data, rows: int) -> Rounding:
    """Where all rows are in memory: their features are scaled, their shares are divided, and they are added up."""
    design = problem.plan.design
    steps = 3 * (rows + FEW + 2 * design.size)
    return Rounding.after(steps, _sizes(problem), len(design.dictionaries), **_stored(problem))


def of_lists(problem: Data, shared: Collection[int] = ()) -> Rounding:
    """Of the running sums where the two sides meet. With two bags they go over the entries with one key."""
    if len(problem.plan.bags) > 2:
        return rounding(problem, whole=False, shared=shared)
    longest = sum(_most(problem, t, shared) for t in met(problem.plan))
    return Rounding.after(CHANGES * longest + FEW, _sizes(problem), len(problem.plan.design.dictionaries))


def is_far(problem: Data) -> bool:
    """Do scores need digits that the intercept has no room for: is the mean of the label, or are numbers far from 0?"""
    label, design = problem.moments.label, problem.plan.design
    size = 0.0 if label is None else (label.squares / problem.moments.n) ** 0.5
    return abs(design.target.centre) > FAR * size or any(c.origin for c in design.coordinates)


def _stored(problem: Data) -> Stored:
    """What scores lose: with the centre of the label, in the last sum or, if that is in the intercept, in all; as terms
    are added up, which may cancel; and where several terms that are far from 0 are one number."""
    design, scaling = problem.plan.design, problem.scaling
    every = len(design.numbers) + len(design.dictionaries) + 2
    sums = 3 if is_far(problem) else every
    far = np.zeros(scaling.dimension)
    for e in scaling.numbers:
        terms = design.numbers.get(e.feature, ())
        if len(terms) > 1:
            far[e.place] = 3.0 * UNIT * sum(abs(c.origin) for c in terms) * abs(scaling.matrix[e.place, e.index])
    loss = problem.plan.loss
    bend = max((piece.bend for piece in loss.near.loss.pieces), default=0.0) if loss.bent else 0.0
    label = sums * UNIT * abs(design.target.centre)
    return {"label": label, "terms": 2.0 * (every + 2) * UNIT, "far": far, "bend": bend}


def _most(problem: Data, t: Terms, shared: Collection[int]) -> float:
    """Each term of a sum over messages that counts in an answer is a part of other rows of the join, or of other shares
    of them."""
    rows = prod(_rows(problem, factor, shared) for factor in t.factors)
    return min(rows, inf if t.most is None else t.most, 2 ** len(shared) * problem.rows if t.weighted else inf)


def _rows(problem: Data, rows: Rows, shared: Collection[int]) -> float:
    plan, variables = problem.plan, problem.plan.tree.variables
    found = problem.catalog.of(rows.relation).key(tuple(variables[v].at(rows.relation)[0] for v in rows.on)).largest
    return (2 if plan.bag_of(plan.tree.node_of(rows.relation)) in shared else 1) * found


def _sizes(problem: Data) -> Array:
    """For each number at least the mean of |x|, and of what centring subtracts; the root of the mean square is more."""
    moments, (kept, numbers) = problem.moments, problem.scaling.matrix.shape
    root = np.maximum(np.sqrt(moments.squares / moments.n), np.abs(moments.total) / moments.n)
    means = np.where(np.isnan(moments.squares), moments.largest, root)[:numbers]
    return np.concatenate([np.abs(problem.scaling.matrix) @ means, np.zeros(problem.scaling.dimension - kept)])
