"""The numerical solvers: they see an oracle and numpy, never SQL. All are called
`solve(oracle, penalty, effort, on_pass=, state=, on_state=) -> Solution`."""

from sqlsvm.solve import bundle, dane, descent
from sqlsvm.solve.cuts import Certificate
from sqlsvm.solve.loss import Hinge, Loss
from sqlsvm.solve.oracle import Cut, Oracle, PseudoOracle, Sample
from sqlsvm.solve.penalty import L2
from sqlsvm.solve.solution import Effort, Record, Solution, State

__all__ = [
    "L2",
    "Certificate",
    "Cut",
    "Effort",
    "Hinge",
    "Loss",
    "Oracle",
    "PseudoOracle",
    "Record",
    "Sample",
    "Solution",
    "State",
    "bundle",
    "dane",
    "descent",
]
