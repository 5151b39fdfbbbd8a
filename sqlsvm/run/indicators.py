"""Whether a number is NULL, as a feature of its own, if a training that chooses is better with it on rows not seen."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from sqlsvm.maps.known import indicator
from sqlsvm.maps.mapped import KNOWN
from sqlsvm.plan.design import Design
from sqlsvm.query import FeatureQuery
from sqlsvm.run.data import Data
from sqlsvm.run.drawn import Drawn
from sqlsvm.run.notes import listed
from sqlsvm.solve.arrays import Mask
from sqlsvm.solve.choosing import Candidate, Measuring, Part, Tried, is_better, path, unseen
from sqlsvm.solve.penalty import Penalty

FEWEST = 10
"""Rows of the sample with a NULL, and rows without."""
TELLS = 1.0
"""Standard errors."""
WEAKER = (1.0, 10.0, 100.0)
"""With more columns a weaker penalty may be the best one."""


class Helping(Exception):
    """The training is better if it knows where these columns are NULL. It begins again, with columns that say so."""

    def __init__(self, query: FeatureQuery, names: Sequence[str], without: str) -> None:
        booleans = {f.name for f in query.features if f.kind == "boolean"}
        booleans |= {name for each in query.maps for name in each.booleans}
        taken = {f.name for f in query.outputs} | {name for each in query.maps for name in each.formulas}
        own = [indicator(name, taken, is_boolean=name in booleans) for name in names]
        self.maps = (*query.maps, *own)
        said, tell = listed([name for each in own for name in each.formulas]), "tells" if len(own) == 1 else "tell"
        them, number = ("it", "a number is") if len(own) == 1 else ("them", "numbers are")
        self.note = f"{said} {tell} where {number} NULL: without {them} {without} on rows not seen"


def helping(
    problem: Data, drawn: Drawn, own: Candidate, best: Tried, parts: Sequence[Part], measuring: Measuring, measure: str
) -> Helping | None:
    """With the columns that tell something where they are NULL, if together they are better by more than an error."""
    query = problem.plan.tree.query
    flags = {
        name: flag for name, flag in _different(query, problem.plan.design, drawn) if _tells(flag, own, best, parts)
    }
    if not flags:
        return None
    samples = [replace(each, rows=each.rows.wider([*flags.values()]), optima={}) for each in own.samples]

    def penalties(strength: float) -> list[Penalty]:
        return [each.wider(len(flags)) for each in own.penalties(strength)]

    wider = replace(own, samples=samples, penalties=penalties)
    tried = path(wider, parts, measuring, [best.strength / factor for factor in WEAKER])
    best_of = (min if measuring.smaller else max)(tried, key=lambda each: each.mean)
    if not is_better(best_of, best, smaller=measuring.smaller):
        return None
    return Helping(query, [*flags], f"the {measure.replace('_', ' ')} is {best.mean:.4g}")


def _different(query: FeatureQuery, design: Design, drawn: Drawn) -> Iterator[tuple[str, Mask]]:
    """Columns with NULLs, one of those with NULLs in the same rows."""
    made, seen = {name: each for each in query.maps for name in each.formulas}, set[bytes]()
    told = {name for each in query.maps if each.map.startswith(KNOWN) for name in each.columns}
    for c in design.coordinates:
        of = made.get(c.feature)
        names = of.columns if of else (c.feature,)
        is_plain = len(names) == 1 and c.feature not in query.sums and (of is None or of.kind == "numeric")
        if c.column not in drawn.marks or not is_plain or names[0] in told:
            continue
        flag: Mask = drawn.marks[c.column]
        if min(np.count_nonzero(flag), np.count_nonzero(~flag)) >= FEWEST and (key := flag.tobytes()) not in seen:
            seen.add(key)
            yield names[0], flag


def _tells(flag: Mask, own: Candidate, best: Tried, parts: Sequence[Part]) -> bool:
    """Where it is NULL, does the loss of rows that were not seen fall with a higher score, or a lower one?"""
    rows, scores = unseen(replace(best, placed=()), parts)
    here = flag[rows] - flag[rows].mean()
    for sample, own_scores in zip(own.samples, scores, strict=True):
        signs = sample.signs[rows]
        pull = here * sample.weights[rows] * signs * own.loss.slope(sample.origins[rows] - signs * own_scores)
        if abs(pull.sum()) > TELLS * np.sqrt(pull @ pull):
            return True
    return False
