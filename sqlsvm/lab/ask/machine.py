"""The quality of a kernel machine. Its score does not add up over the tables, so nothing can be counted: the rows of
the join are read and scored here, all of them if there are not too many, else a sample."""

import logging
from dataclasses import replace

import numpy as np

from sqlsvm.kernel.rows import Joined
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.model.memory import category_weights
from sqlsvm.model.model import Model, Term, checked_term
from sqlsvm.model.scored import Scored, of_two_classes
from sqlsvm.model.support import Support
from sqlsvm.plan.scaling import Scaling
from sqlsvm.run.data import Data
from sqlsvm.run.sampling import drawn_sample, whole_join
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.rows import SampleRows

steps = logging.getLogger(__name__)

MOST_READ = 100_000  # join rows that are all read
SAMPLED = 20_000
SEED = 1  # another than that of most trainings, whose rows would look too good


def evaluate_machine(problem: Data, model: Model, bins: int) -> Evaluation:
    assert model.support is not None
    problem = replace(problem, scaling=_scaling(problem, model))
    found = whole_join(problem, MOST_READ)
    sample = found or drawn_sample(problem, SAMPLED, SEED)
    steps.info("scoring %s join rows", f"{len(sample.codes):,}")
    scores = model.intercept + model.support.scores(_joined(problem, model, model.support, sample.rows))
    measured = of_two_classes(Scored(scores, sample.codes, sample.weights), bins)
    return measured if found else replace(measured, sample=len(scores))


# -- the rows as the model was trained on them -------------------------------------------------------------------------


def _scaling(problem: Data, model: Model) -> Scaling:
    """That of the model: other rows have other means."""
    design, old = problem.plan.design, problem.scaling
    constant = design.constant
    matrix = np.zeros_like(old.matrix)
    terms = {term.feature: term for term in model.terms}
    for e in old.numbers:
        if not e.feature:
            matrix[e.place, e.index] = 1.0
            continue
        term, scale = checked_term(terms, e.feature), model.scaling[e.feature]
        own, origin = [c.index for c in design.numbers[e.feature]], sum(c.origin for c in design.numbers[e.feature])
        matrix[e.place, own] = 1.0
        if e.index in design.indicators:
            missing = (term.number.missing if term.number else None) or 0.0
            matrix[e.place, design.indicators[e.index]] = missing - origin
        matrix[e.place] /= scale.width
        if constant is not None:
            matrix[e.place, constant] -= (scale.centre - origin) / scale.width
    return Scaling(design, matrix)


def _joined(problem: Data, model: Model, support: Support, rows: SampleRows) -> Joined:
    places = {e.feature: e.place for e in problem.scaling.numbers}
    dictionaries = {d.feature: d for d in problem.plan.design.dictionaries}
    terms = {term.feature: term for term in model.terms}

    def values(feature: str) -> Array:
        if feature in places:
            return rows.numbers[:, places[feature]].astype(float)
        d = dictionaries[feature]
        known = _codes(problem, checked_term(terms, feature), d.categories)
        return known[np.clip(rows.ones[:, d.number] - d.offset + problem.scaling.unkept, -1, len(d.categories))]

    return support.joined(values)


def _codes(problem: Data, term: Term, categories: tuple[object, ...]) -> Array:
    """The place in the model of each category of these rows, and 0 for none of them."""
    spellings = {f.name: f.spelling for f in problem.plan.tree.query.features}
    weigh = category_weights(term.coded, spellings[term.feature])
    return np.array([*map(weigh, categories), 0.0])
