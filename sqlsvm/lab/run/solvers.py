"""The solvers of papers, by their names."""

from sqlsvm.lab.run.machine import learned, streamed
from sqlsvm.lab.run.pseudo_oracle import PseudoJoinOracle
from sqlsvm.lab.solve import descent
from sqlsvm.run.data import Data
from sqlsvm.run.problems import SOLVERS, Solver
from sqlsvm.solve import bundle
from sqlsvm.solve.penalty import L2, Penalty
from sqlsvm.solve.solution import Effort, Going, Solution


def _descended(data: Data, penalty: Penalty, effort: Effort, going: Going) -> Solution:
    assert isinstance(penalty, L2)  # the rules let no other pass
    return descent.solve(PseudoJoinOracle(data), penalty, effort, **going)


SOLVERS["descent"] = Solver(solve=_descended)
SOLVERS["kernel"] = Solver(learn=learned)
SOLVERS["pegasos"] = Solver(bundle.proposals, start=streamed, learn=learned)
