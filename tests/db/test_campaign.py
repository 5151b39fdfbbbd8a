"""Random trainings, checked on all rows of their joins. `make campaign` runs many more."""

import pytest

from sqlsvm.engine.base import Engine
from tests.ground.campaign import drawn, run

FOUND = (1020, 2027, 10005, 20139)
"""These have found something: a group whose objective is 0 up to rounding, and nothing said so; the largest |x| of rows
that weigh nothing, over all and in groups; a group of which all rows weigh nothing."""
FEW, EACH = 40, 5


@pytest.mark.parametrize("seed", FOUND)
def test_what_was_found(shared_engine: Engine, seed: int) -> None:
    run(shared_engine, drawn(seed))


@pytest.mark.parametrize("first", range(0, FEW, EACH))
def test_random_trainings(shared_engine: Engine, first: int) -> None:
    """Each engine has its own."""
    first += FEW if shared_engine.dialect == "postgres" else 0
    for seed in range(first, first + EACH):
        try:
            run(shared_engine, drawn(seed))
        except BaseException as error:
            error.add_note(f"seed {seed}: {drawn(seed).options}")
            raise
