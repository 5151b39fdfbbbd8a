"""Each class of a label against all others: problems that share everything but the signs of the rows."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sqlsvm.plan.target import Classes
from sqlsvm.run.data import Data
from sqlsvm.run.measuring import read_moments
from sqlsvm.run.small import missing_tables


def against_others(problem: Data) -> list[Data]:
    """One for each class, in the order of the codes; the problem itself if it has no more than two."""
    return [*_each(problem)] or [problem]


def _each(problem: Data) -> Iterator[Data]:
    """The sums over the rows with y = -1 are the only moments that differ."""
    plan, moments, work = problem.plan, problem.moments, problem.work
    for code in range(1, plan.design.target.classes + 1):
        target = plan.design.target
        assert isinstance(target, Classes)
        own = replace(plan, design=replace(plan.design, target=replace(target, chosen=code)))
        negative = moments.total_negative
        if code != target.chosen and not np.isnan(negative).all():
            with work.scratch():
                work.run(missing_tables(work, plan))  # where the rows are in memory there are none
                negative = read_moments(work, own, frozenset({"negative"})).total_negative
        n_negative = sum(moments.of_codes) - moments.of_codes[code - 1]
        found = replace(moments, n_negative=n_negative, total_negative=negative)
        yield replace(problem, plan=own, moments=found)
