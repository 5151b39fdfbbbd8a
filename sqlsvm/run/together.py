"""The passes of several classes: with one bag, in one scan of the join."""

from collections.abc import Mapping, Sequence

import numpy as np

from sqlsvm.compile.categories import number_column
from sqlsvm.compile.oracle import counting
from sqlsvm.compile.resolve import COUNT
from sqlsvm.compile.together import AT_ONCE, MEMBER, OWN_WIDTH, TOGETHER, can_share, pass_together
from sqlsvm.compile.weighting import OFFSET, SHORTFALL, Ramp, Weighting
from sqlsvm.engine.base import Rows
from sqlsvm.plan.parameters import BOUND, MEMBERS, THETA, WIDTHS
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.target import Classes
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.workspace import Program
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.oracle import Cut, Oracle
from sqlsvm.solve.run import Passes, Proposal, passed
from sqlsvm.sql import column


def passes_of(oracles: Sequence[Oracle]) -> Passes:
    """How these oracles, which differ in the class that is +1, make their passes."""
    asked = [oracle for oracle in oracles if isinstance(oracle, JoinOracle)]
    return Together(asked) if asked else lambda proposals: {n: passed(oracles[n], p) for n, p in proposals.items()}


class Together:
    """The passes of these oracles, which differ in the class that is +1."""

    def __init__(self, oracles: Sequence[JoinOracle]) -> None:
        self._oracles = oracles
        self._shares = can_share(oracles[0].plan)
        self._programs: dict[tuple[float, int], Program] = {}
        """By their width, or that of all widths where it is a column, and by the classes that they are for."""

    def __call__(self, asked: Mapping[int, Proposal]) -> dict[int, Cut]:
        if not self._shares or len(asked) == 1:
            return {n: passed(self._oracles[n], proposal) for n, proposal in asked.items()}
        found: dict[int, Cut] = {}
        kinds = {n: self._kind(each) for n, each in asked.items()}
        for kind in dict.fromkeys(kinds.values()):
            members = [n for n, own in kinds.items() if own == kind]
            parts = (members[first : first + AT_ONCE] for first in range(0, len(members), AT_ONCE))
            for part in parts:
                found |= self._cuts(kind, part, [asked[n] for n in part])
        return found

    def _kind(self, asked: Proposal) -> float:
        """Passes with the same one share a scan."""
        return 1.0 if asked.width and isinstance(self._counted(1.0), Ramp) else asked.width

    def _counted(self, width: float) -> Weighting:
        oracle = self._oracles[0]
        found = counting(oracle.plan, oracle.loss, width)
        return Ramp(column(OWN_WIDTH)) if isinstance(found, Ramp) else found  # type: ignore[return-value]

    def _cuts(self, kind: float, members: Sequence[int], asked: Sequence[Proposal]) -> dict[int, Cut]:
        first, oracles = self._oracles[0], [self._oracles[n] for n in members]
        thetas = [oracle.problem.scaling.to_raw(each.point) for oracle, each in zip(oracles, asked, strict=True)]
        codes = [_code(oracle.plan) for oracle in oracles]
        asked_for = kind, len(members)
        if asked_for not in self._programs:
            statement = pass_together(first.plan, self._counted(kind), len(members))
            self._programs[asked_for] = Program(first.problem.work.engine, [statement])
        parameters = {
            THETA: np.concatenate(thetas),
            MEMBERS: np.array(codes, dtype=float),
            WIDTHS: np.array([each.width for each in asked]),
            BOUND: first.loss.origin or 0.0,
        }
        work = first.problem.work
        with work.clock.during("passes"):
            rows = work.run_and_drop(self._programs[asked_for], parameters)[TOGETHER]
        own = {code: rows[MEMBER].astype(float) == code for code in codes}
        parts = [{name: values[own[code]].astype(float) for name, values in rows.items()} for code in codes]
        each = zip(members, oracles, asked, parts, strict=True)
        return {n: _cut(oracle, proposal, part) for n, oracle, proposal, part in each}


def _code(plan: Plan) -> int:
    assert isinstance(plan.design.target, Classes)
    return plan.design.target.chosen


def _cut(oracle: JoinOracle, asked: Proposal, rows: Rows) -> Cut:
    n, scaling = oracle.join_rows, oracle.problem.scaling
    slope = scaling.from_raw(-_sums(oracle.plan, rows) / n)
    offset = float(rows[OFFSET].sum()) / n
    blur = float(rows[SHORTFALL].sum()) / n if SHORTFALL in rows else 0.0
    return Cut(slope, offset, offset + float(slope @ asked.point) + blur, 0.0, None, asked.width)


def _sums(plan: Plan, rows: Rows) -> Array:
    """For each coordinate and category; a row without a category has no number."""
    g = np.zeros(plan.design.size)
    for c in plan.design.coordinates:
        g[c.index] = rows[c.column].sum()
    for d in plan.design.dictionaries:
        places = rows[number_column(d)]
        known = ~np.isnan(places)
        np.add.at(g, places[known].astype(int) - 1, rows[COUNT][known])
    return g
