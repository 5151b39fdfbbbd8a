"""A pass looks at the label only through its target: codes other than -1 and +1 make the same cut."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.copies import working_tables
from sqlsvm.engine.base import Engine, Values
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.target import Binary
from sqlsvm.run.data import Data
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.measuring import read_moments
from sqlsvm.run.workspace import workspace
from sqlsvm.solve.oracle import Cut, Sample
from tests.ground.opened import Wish, build, opened_problem

pytestmark = pytest.mark.twin

TABLES = """
    CREATE TABLE f (k INT, j INT, y INT, x INT); CREATE TABLE d (k INT PRIMARY KEY, v INT);
    CREATE TABLE m (j INT, z INT);
    INSERT INTO f VALUES (1, 1, 0, 3), (1, 2, 1, 1), (2, 1, 1, -2), (2, 2, 0, 2), (2, 3, 1, 0), (1, 1, 0, -1);
    INSERT INTO d VALUES (1, 2), (2, -1);
    INSERT INTO m VALUES (1, 1), (1, -1), (2, 3), (2, 3), (3, 0)"""
ONE_BAG = "SELECT f.y, f.x, d.v FROM f JOIN d ON f.k = d.k"
TWO_BAGS = "SELECT f.y, f.x, d.v, m.z FROM f JOIN d ON f.k = d.k JOIN m ON m.j = f.j"


@dataclass(frozen=True)
class Numbered(Binary):
    """The positive class has the code 7, the other 3."""

    def sign(self, y: exp.Expression) -> exp.Expression:
        return sql.case(sql.equal(y, sql.integer(7)), sql.integer(1), exp.Neg(this=sql.integer(1)))

    def as_rows(self, codes: Values, bound: float) -> tuple[Values, Values]:
        return super().as_rows(np.where(codes == 7.0, 1.0, -1.0), bound)


def numbered(plan: Plan) -> Plan:
    target = plan.design.target
    code = sql.by_truth(sql.equal(target.code.copy(), sql.integer(1)), sql.integer(7), sql.integer(3))
    return replace(plan, design=replace(plan.design, target=Numbered(target.label, code, target.class_weights)))


def renumbered(problem: Data) -> Data:
    """The same problem, prepared once more with other codes."""
    plan, work = numbered(problem.plan), problem.work
    work.drop()
    work.run(working_tables(plan))
    return replace(problem, plan=plan, moments=read_moments(work, plan))


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        (ONE_BAG, Wish()),
        (ONE_BAG, Wish(at_once=True)),
        (ONE_BAG, Wish(class_weights=(1, 3))),
        (TWO_BAGS, Wish()),
        (TWO_BAGS, Wish(method="grid")),
    ],
    ids=["one bag", "at once", "class weights", "two bags", "grid"],
)
def test_codes_are_read_by_the_target_alone(engine: Engine, text: str, wish: Wish) -> None:
    build(engine, TABLES)
    with workspace(engine) as work:
        plain = opened_problem(work, text, wish)
        beta = np.array([0.5, -0.25, 0.5, 1.0])[: plain.scaling.dimension]
        first, drawn = answers(plain, beta)
        coded = renumbered(plain)
        second, redrawn = answers(coded, beta)
    np.testing.assert_array_equal(second.slope, first.slope)
    assert (second.offset, second.value_low, second.error) == (first.offset, first.value_low, first.error)
    assert coded.moments.n_negative == plain.moments.n_negative > 0
    np.testing.assert_array_equal(redrawn.signs, drawn.signs)


def answers(problem: Data, beta: Values) -> tuple[Cut, Sample]:
    oracle = JoinOracle(problem)
    return oracle.pass_(beta, None if oracle.exact else 4), oracle.sample(20, 1)
