"""Where a training in psql starts, and the curvature there: they come from a sample, when the program is compiled.

The numbers and the most frequent categories have a dense curvature, which is stored by its eigenvectors: with any
penalty it is diagonal in them. For any other category it is the density of the residuals at the knot, times the share
of its rows, which each run counts again.

Where residuals come in a heap on a knot, only rows of a sample know where it moves with the weights. So there `compile`
makes the passes of a training, and stores the point that they find.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from sqlsvm.engine.base import Engine
from sqlsvm.maps.mapped import Mapped
from sqlsvm.model.plain import plain
from sqlsvm.plan.design import OTHER
from sqlsvm.plan.scaling import Element
from sqlsvm.run.data import Data
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.opening import open_problem
from sqlsvm.run.training import Training
from sqlsvm.solve import dane
from sqlsvm.solve.arrays import Array, Indices
from sqlsvm.solve.elastic import Elastic
from sqlsvm.solve.grain import ERROR_SHARE
from sqlsvm.solve.local import LocalProblem
from sqlsvm.solve.loss import Loss
from sqlsvm.solve.oracle import Oracle
from sqlsvm.solve.run import Run
from sqlsvm.solve.threads import fitting_threads

DENSE = 400  # columns with a dense curvature. Numbers are always among them.
LARGEST = 200_000  # numbers in all eigenvectors together
AT_REST = 20
"""Of the weights that l1 or a constraint keeps at 0, so many are among them: each may need a limit of its own."""


@dataclass(frozen=True)
class Start:
    stored: dict[str, Any]  # what _check_start.sql describes
    loss: Loss  # the one that was asked for, with pieces near it that are close enough there
    width: float  # of a soft pass there
    centre: float  # the label is measured from here: its mean over the join
    origins: Mapping[tuple[str, str], float]
    """Numbers that are far from 0 are measured from here, by relation and feature."""
    slopes: tuple[float, ...]  # the steepest ones of the loss; if there are none, those at a residual of the usual size


def start(engine: Engine, text: str, training: Training, maps: Sequence[Mapped]) -> Start:
    with open_problem(engine, text, training, maps) as problem:
        penalty = training.penalising.of(problem)
        run: Run[Oracle] = Run(JoinOracle(problem), penalty, training)
        local = dane.sampled(run)
        with fitting_threads(local.columns):
            search = dane.Search(run, local)
            if search.tilts and training.solver == "dane":
                run.follow(search.proposals())
            point, width = search.settled
            local, unit, nothing = search.local, search.local.unit, np.zeros_like(point)
            columns = _dense(local, point, penalty.l1 if isinstance(penalty, Elastic) else 0.0)
            matrix = local.loss_curvature(point, search.curved, columns)
            found = _eigen(matrix)
    value, near = local.value(point, nothing, 0.0), width or dane.NEAR * unit
    stored = found | {
        "theta": _by_name(problem, problem.scaling.to_raw(point)),
        "passes": len(run.cuts),
        "objective": value,
        "at_zero": local.cut(nothing, 0.0).value_low,
        "width": width,
        "density": 6.0 * max(0.0, local.blur(point, near)) / near**2,
        "grain": search.density(point),
        "unit": unit,
        "heap": search.heap,
        "columns": len(columns),
        "places": _by_name(problem, _places(problem, columns)),
        "curvature": local.mean_curvature(point, search.curved),
    }
    loss = problem.plan.loss.finer(ERROR_SHARE * training.tol * value)
    design = problem.plan.design
    origins = {(c.relation, c.feature): c.origin for c in design.coordinates if c.origin}
    return Start(stored, loss, width or dane.WIDTHS[0] * unit, design.target.centre, origins, _steepest(local))


def _steepest(local: LocalProblem) -> tuple[float, ...]:
    usual = local.loss.slope(np.array([-1.0, 1.0]) * (local.origin or 1.0)).tolist()
    return tuple(end if isfinite(end) else u for end, u in zip(local.loss.slopes, usual, strict=True))


def _dense(local: LocalProblem, point: Array, l1: float) -> Indices:
    """Of the weights at 0, those that l1 holds least firmly: they are the first to move."""
    numbers, shares = local.rows.numbers.shape[1], local.rows.squares(local.shares)
    frequent = numbers + np.argsort(-shares[numbers:], kind="stable")
    columns = np.append(np.arange(numbers), frequent[: max(0, DENSE - numbers)])
    slope = local.loss_slope(point, dane.WIDTHS[-1] * local.unit)
    at_rest = columns[point[columns] == 0.0]
    firm = at_rest[np.argsort(np.abs(l1 - np.abs(slope[at_rest])), kind="stable")][AT_REST:]
    return columns[~np.isin(columns, firm)]


def _eigen(matrix: Array) -> dict[str, Any]:
    """The largest eigenvalues, a row for the vector of each, and the mean of the rest of them."""
    values, vectors = np.linalg.eigh(matrix)
    values, vectors = np.maximum(values, 0.0)[::-1], np.where(np.abs(vectors) > 1e-12, vectors, 0.0).T[::-1]
    kept = min(len(matrix) - 1, LARGEST // len(matrix))
    return {
        "values": values[:kept].tolist(),
        "vectors": vectors[:kept].ravel().tolist(),
        "rest": float(values[kept:].mean()),
    }


def _places(problem: Data, columns: Indices) -> Array:
    """For each raw coordinate its place among the dense columns, from 1; 0 for all others."""
    places = np.zeros(problem.scaling.dimension)
    places[columns] = 1.0 + np.arange(len(columns))
    theta = np.zeros(problem.plan.design.size)
    for e in problem.scaling.elements():
        theta[e.index] = places[e.place]
    return theta


def _by_name(problem: Data, theta: Array) -> Mapping[str, Any]:
    """{"intercept": 0.1, "weights": {"distance": 0.3, "carrier": {"UA": -0.2}}} for _theta.sql, without zeros.
    The label and numbers are measured from their origins."""
    found: dict[str, Any] = {"weights": {}, "old": True, "centre": 0.0}
    for e in problem.scaling.elements():
        if not (value := float(theta[e.index])):
            continue
        if not e.feature:
            found["intercept"] = value
        elif e.category is None:
            found["weights"][e.feature] = value
        elif e.category is OTHER:
            found.setdefault("other", {})[e.feature] = value
        else:
            found["weights"].setdefault(e.feature, {})[_spelt(e)] = value
    return found


def _spelt(e: Element) -> str:
    category = plain(e.category)
    return category if isinstance(category, str) else json.dumps(category)
