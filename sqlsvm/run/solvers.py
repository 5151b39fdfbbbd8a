"""Solvers by their names. Those of the papers are in lab/ and register themselves once one of them is asked for."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from sqlsvm.model.model import Model
from sqlsvm.options import Solver as Name
from sqlsvm.run.data import Data
from sqlsvm.run.training import Training
from sqlsvm.solve import bundle, dane
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.cuts import Certificate
from sqlsvm.solve.penalty import Penalty
from sqlsvm.solve.run import Proposal, Run
from sqlsvm.solve.solution import Effort, Going, OnPass, Record, Solution

LAB = "sqlsvm.lab.run.solvers"


class Machine(Protocol):
    """What was learned of a sample, and what is proven about it there."""

    @property
    def certificate(self) -> Certificate: ...
    @property
    def history(self) -> Sequence[Record]: ...
    @property
    def converged(self) -> bool: ...
    def put_into(self, model: Model) -> Model: ...


@dataclass(frozen=True)
class Solver:
    proposals: Callable[[Run[Any]], Iterator[Proposal]] | None = None
    """Where it wants passes, whose cuts prove what it finds."""
    start: Callable[[Data, Training, Callable[[int], None]], Array] | None = None
    """Where it is without any: one pass then proves how good that is. It says how many rows it has looked at."""
    solve: Callable[[Data, Penalty, Effort, Going], Solution] | None = None
    """It goes its own way."""
    learn: Callable[[Data, Training, OnPass | None], Machine] | None = None
    """With a kernel."""


SOLVERS: dict[Name, Solver] = {"dane": Solver(dane.proposals), "bundle": Solver(bundle.proposals)}


def solver(name: Name) -> Solver:
    if name not in SOLVERS:
        import_module(LAB)
    return SOLVERS[name]
