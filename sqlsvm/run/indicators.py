"""Whether a number is NULL, as a feature of its own, if a training that chooses is better with it on rows not seen."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from sqlsvm.maps.mapped import KNOWN, indicator
from sqlsvm.plan.design import Design
from sqlsvm.query import FeatureQuery
from sqlsvm.run.data import Data
from sqlsvm.run.in_memory import Drawn
from sqlsvm.run.notes import listed
from sqlsvm.run.training import Training
from sqlsvm.solve.arrays import Mask
from sqlsvm.solve.choosing import TENTH, Candidate, Measuring, Part, Tried, difference, error_of_mean, path, unseen
from sqlsvm.solve.oracle import Sample
from sqlsvm.solve.penalty import Penalty

FEWEST = 10  # rows of the sample with a NULL, and rows without
TELLS = 2.0, 1.0  # standard errors. The fewer there are, the more the parts must say.
SURE = 2.0  # of what the parts say, times those
TINY = 1e-300
AROUND = (100.0, 10.0, 1.0, 0.1, 0.01)  # with fewer columns another penalty may be the best one
WEAKER = (1.0, 10.0, 100.0)  # with more columns a weaker penalty may be the best one


class Helping(Exception):
    """The training is better if it knows where these columns are NULL. It begins again, with columns that say so."""

    step = "with columns that tell where a number is NULL"

    def __init__(self, query: FeatureQuery, names: Sequence[str], without: str) -> None:
        booleans = {f.name for f in query.features if f.kind == "boolean"}
        booleans |= {name for each in query.maps for name in each.booleans}
        taken = {f.name for f in query.outputs} | {name for each in query.maps for name in each.formulas}
        own = [indicator(name, taken, is_boolean=name in booleans) for name in names]
        self.maps = (*query.maps, *own)
        said, tell = listed([name for each in own for name in each.formulas]), "tells" if len(own) == 1 else "tell"
        them, number = ("it", "a number is") if len(own) == 1 else ("them", "numbers are")
        self.note = f"{said} {tell} where {number} NULL: without {them} {without} on rows not seen"

    def of(self, training: Training) -> Training:
        return training.naming_nulls


class Idle(Helping):
    """The training is as good without its trees. It begins again without them."""

    step = "without trees"

    def __init__(self, query: FeatureQuery, said: str, without: Tried, own: Tried) -> None:
        self.maps = tuple(each for each in query.maps if not each.takes_nulls)
        self.note = (
            f"trees are left out: the {said} on rows not seen is {without.mean:.4g}, and with them {own.mean:.4g}"
        )

    def of(self, training: Training) -> Training:
        return training.with_maps(self.maps)


def idle(
    problem: Data, own: Candidate, best: Tried, parts: Sequence[Part], measuring: Measuring, measure: str
) -> Helping | None:
    """Unless trees are better than no trees by more than an error."""
    query = problem.plan.tree.query
    names = {name for each in query.maps if each.takes_nulls for name in each.formulas}
    if not (places := [e.place for e in problem.scaling.numbers if e.feature in names]):
        return None

    def without(sample: Sample) -> Sample:
        numbers = sample.rows.numbers.copy()
        numbers[:, places] = 0.0
        return replace(sample, rows=replace(sample.rows, numbers=numbers), optima={})

    bare = replace(own, samples=list(map(without, own.samples)))
    tried = path(bare, parts, measuring, [best.strength * factor for factor in AROUND])
    other = (min if measuring.smaller else max)(tried, key=lambda each: each.mean)
    gain, error = difference(best, other, smaller=measuring.smaller)
    needed = max(error, TENTH * error_of_mean(best))
    return Idle(query, measure.replace("_", " "), other, best) if gain <= needed else None


def helping(
    problem: Data, drawn: Drawn, own: Candidate, best: Tried, parts: Sequence[Part], measuring: Measuring, measure: str
) -> Helping | None:
    """With the columns that tell something where they are NULL, if together they are better by more than an error:
    those that surely tell something, and then also the others."""
    query, found, names = problem.plan.tree.query, best, list[str]()
    flags = dict(_different(query, problem.plan.design, drawn))
    errors = {name: _told(flag, own, best, parts) for name, flag in flags.items()}
    for least in TELLS:
        more = [name for name in flags if errors[name] > least]
        if len(more) > len(names):
            tried = _with([flags[name] for name in more], own, best, parts, measuring)
            gain, error = difference(tried, found, smaller=measuring.smaller)
            if gain > max(SURE / least * error, TENTH * error_of_mean(tried)):
                found, names = tried, more
    return Helping(query, names, f"the {measure.replace('_', ' ')} is {best.mean:.4g}") if names else None


def _with(flags: Sequence[Mask], own: Candidate, best: Tried, parts: Sequence[Part], measuring: Measuring) -> Tried:
    samples = [replace(each, rows=each.rows.wider(flags), optima={}) for each in own.samples]

    def penalties(strength: float) -> list[Penalty]:
        return [each.wider(len(flags)) for each in own.penalties(strength)]

    wider = replace(own, samples=samples, penalties=penalties)
    tried = path(wider, parts, measuring, [best.strength / factor for factor in WEAKER])
    return (min if measuring.smaller else max)(tried, key=lambda each: each.mean)


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


def _told(flag: Mask, own: Candidate, best: Tried, parts: Sequence[Part]) -> float:
    """By so many errors the loss of rows that were not seen falls, where it is NULL, with a higher or a lower score."""
    rows, scores = unseen(replace(best, placed=()), parts)
    here, found = flag[rows] - flag[rows].mean(), 0.0
    for sample, own_scores in zip(own.samples, scores, strict=True):
        signs = sample.signs[rows]
        pull = here * sample.weights[rows] * signs * own.loss.slope(sample.origins[rows] - signs * own_scores)
        found = max(found, abs(float(pull.sum())) / max(float(np.sqrt(pull @ pull)), TINY))
    return found
