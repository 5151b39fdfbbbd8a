"""The passes of a program, and what _pass.sql has to know of each.

A soft pass with one bag and the hinge has its width as a parameter. Otherwise the width is a part of the SQL, so there
is a soft pass for each of a few widths, around the one that the sample asks for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

import numpy as np

from sqlsvm.compile.lines import CONJUGATE, PSI, Lines
from sqlsvm.compile.oracle import counting, oracle_pass
from sqlsvm.compile.statement import Statement
from sqlsvm.compile.weighting import Ramp, Weighting
from sqlsvm.plan.plan import Plan
from sqlsvm.solve.loss import Loss
from sqlsvm.solve.loss.piecewise import COMPUTED

WIDTHS = (2.0, 1.0, 0.5, 0.25, 0.125, 0.0625)
"""The widths of soft passes, as shares of the one that the sample asks for."""

LARGEST = 1e100  # what stands for an infinite slope


@dataclass(frozen=True)
class Pass:
    part: str
    width: float | None = 0.0  # None: it is a parameter

    def statements(self, plan: Plan) -> list[Statement]:
        return oracle_pass(plan, self._counted(plan))

    def _counted(self, plan: Plan) -> Weighting | Lines:
        return Ramp() if self.width is None else counting(plan, plan.loss, self.width)

    def facts(self, plan: Plan) -> dict[str, Any]:
        counted = self._counted(plan)
        lines = _facts_of_lines(counted, plan.loss) if isinstance(counted, Lines) else None
        return {"part": self.part, "width": self.width, "lines": lines}


def passes(plan: Plan, width: float) -> Iterator[Pass]:
    """`width`: that of the first soft pass, as the sample asks for it."""
    yield Pass("pass")
    if not plan.loss.knots or plan.method != "exact" or len(plan.bags) > 2:
        return
    if plan.centre is None and plan.loss.is_step:
        yield Pass("soft pass", None)
        return
    for place, share in enumerate(WIDTHS):
        yield Pass(f"soft pass {place}", width * share)


def _facts_of_lines(lines: Lines, loss: Loss) -> dict[str, Any]:
    """`loss` is that of the plan; `lines` count by what is near it."""
    near, of, sharp = loss.near, lines.loss, lines.sharp
    return {
        "conjugate": lines.constants[CONJUGATE],
        "psi": lines.constants[PSI] if PSI in lines.added else None,
        "farthest": lines.farthest,
        "sizes": [sizes.tolist() for sizes in lines.sizes],
        "above": near.above,
        "error": near.error,
        "sharp": [{"at": c.at, "jump": c.jump, "bend": abs(c.bend)} for c in sharp],
        "bend": sum(abs(c.bend) for c in of.changes if c not in sharp),
        "jumps": sum(c.jump for c in of.changes),
        "most_bent": max(p.bend for p in of.pieces),
    }


def facts_of_loss(loss: Loss, slopes: Sequence[float]) -> dict[str, Any]:
    """The growth of the rounding with the mean loss, for origins of the size 1, and what each unit of it adds. Labels
    that have classes have one origin. psi is at least what the pieces say. `slopes` are some of the steepest ones."""
    origins = (1.0, 2.0) if loss.origin is None else (loss.origin, loss.origin)
    growth, more = (np.array(loss.growth(origin)) for origin in origins)
    near, (steepest, dual), (steep, rise) = loss.near, loss.bounds, loss.steepness()
    lost, of_slope = (COMPUTED / 64.0 * size for size in loss.computed)  # sums lose as much as 64 operations at least
    found: dict[str, Any] = {
        "origin": loss.origin,
        "bent": min(loss.bent, LARGEST),
        "growth": (growth + np.array([lost, 0.0, 0.0])).tolist(),
        "growth_by_origin": (more - growth).tolist(),
        "steepness": [steep + of_slope, rise],
    }
    if isfinite(steepest):
        found |= {"steepest": steepest, "dual": dual}
    return found | {
        "pieces": [asdict(piece) | {"value": piece.value - near.above} for piece in near.loss.pieces],
        "pulls": [{"u": u, "conjugate": float(loss.conjugate(np.array([u]))[0])} for u in slopes if u],
    }
