"""What is known between the points of passes holds."""

import numpy as np
import pytest

from sqlsvm.solve import bundle
from sqlsvm.solve.between import between
from sqlsvm.solve.oracle import Oracle
from sqlsvm.solve.penalty import L2
from sqlsvm.solve.run import Run
from sqlsvm.solve.solution import Effort
from tests.ground.chain import chain_oracle


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "grid"])
def test_a_point_between_others_is_proven_without_a_pass(exact: bool) -> None:
    oracle = chain_oracle(0, 10, discrete=False, exact=exact)
    strong = bundle.solve(oracle, L2(0.1), Effort(tol=1e-3))
    both = bundle.solve(oracle, L2(0.03), Effort(tol=1e-3), state=strong.state).state
    run = Run(oracle, L2(0.06), Effort(tol=0.05), state=both, own=True)
    assert not run.finished
    found = between(run)
    assert found
    assert found.cut
    run.observe(found)
    assert run.finished
    assert run.converged
    proof, best = run.certificate, min(run.merit(i) for i in range(len(both)))
    true = oracle.objective(found.point, 0.06)
    assert proof.objective <= true <= proof.objective_upper <= best
    assert found.cut.offset + found.cut.slope @ found.point <= true - 0.06 * found.point @ found.point


def test_points_that_have_seen_too_much_are_left_out() -> None:
    oracle = chain_oracle(0, 10, discrete=False, exact=True)
    state = bundle.solve(oracle, L2(0.1), Effort(tol=1e-3)).state
    assert between(Run(oracle, L2(0.1), Effort(tol=0.02), state=state, own=True))
    assert between(Run(oracle, L2(0.01), Effort(tol=1e-6), state=state)) is None
    run: Run[Oracle] = Run(oracle, L2(0.1), Effort(tol=0.02), state=state, own=True, seen=len(state))
    assert between(run) is None
    assert run.converged
    assert not run.finished
    solution = run.follow(bundle.proposals(run))
    assert len(solution.history) > len(state)
    assert not any(np.array_equal(solution.beta, point) for point in state.points)
