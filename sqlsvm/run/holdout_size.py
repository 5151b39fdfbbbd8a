"""How many rows --holdout auto keeps out of a training, and from when on the latest ones are.

With a probability of 1 - delta, the share of wrong rows among n independent rows is within epsilon of that of all rows
for all linear classifiers with d weights at once, if n >= c / epsilon^2 (d + ln 1/delta) (uniform convergence). So it
also holds for the best of many models, if these rows chose it.

Rows of the join that share a row of the label's relation are not independent. A sample of clusters with the sizes s is
worth (sum s)^2 / sum s^2 independent rows at least (Kish), and a share of the clusters about this share of them.
"""

import logging
from dataclasses import replace
from math import ceil, log, sqrt
from typing import Any

from sqlsvm.compile.clusters import POWERS, apart, sizes
from sqlsvm.errors import DataError
from sqlsvm.model.interval import Sizes
from sqlsvm.options import Share
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.query import FeatureQuery
from sqlsvm.query.rewrites.split import start_of
from sqlsvm.run.data import prepared
from sqlsvm.run.workspace import Workspace
from sqlsvm.terminal import NOTE

steps = logging.getLogger(__name__)

C = 1.0
"""No proof gives a constant as small. It holds for labels at random, which are the worst case (see the tests)."""
DELTA = 0.05
MOST = 0.5
"""The share of the rows that may be held out."""


def needed_rows(weights: int, error: float) -> float:
    """
    >>> round(needed_rows(27, 0.05))
    11998
    """
    return C / error**2 * (weights + log(1.0 / DELTA))


def error_within(weights: int, rows: float) -> float:
    """The error that so many independent rows tell, rounded up.

    >>> error_within(27, needed_rows(27, 0.0499))
    0.05
    """
    return ceil(1000.0 * sqrt(needed_rows(weights, 1.0) / rows) - 1e-9) / 1000.0


def chosen_share(work: Workspace, query: FeatureQuery, options: ProblemOptions, asked: Any) -> float:
    """What `asked` means for the rows of this query, each class counting as it is."""
    error = Share.error(asked)
    assert error
    with work.scratch():
        problem = prepared(work, query, replace(options, class_weight="none"))
        weights = problem.scaling.dimension * max(1, problem.plan.design.target.classes)
        found = _clusters(work, problem.plan, asked)
    share = ceil(1000.0 * needed_rows(weights, error) / found.effective) / 1000.0
    if share > MOST:
        raise _too_few(weights, error, found, asked)
    steps.log(
        NOTE,
        "--holdout %s keeps out %s of the %s rows of the label's table, worth %s independent rows",
        *(asked, share, f"{found.clusters:,.0f}", f"{share * found.effective:,.0f}"),
    )
    return share


def chosen_start(work: Workspace, query: FeatureQuery, options: ProblemOptions, share: Any) -> str:
    """From when on the latest rows are."""
    start = start_of(query, work.facts, share)
    alias, time = query.label_relation, query.time and query.time.name
    steps.log(NOTE, "--holdout %s keeps out the rows of %s from %s %s on", share, alias, time, start)
    return start


def _clusters(work: Workspace, plan: Plan, asked: str) -> Sizes:
    alone = apart(plan)
    if alone is None:
        raise DataError(
            f"--holdout {asked}: the label's table is in a cycle of joins, where its rows are not counted",
            hint="say how many rows to keep out: --holdout 0.2",
        )
    answer = work.ask(sizes(alone))
    return Sizes(*(float(answer[name].astype(float).sum()) for name in POWERS))


def _too_few(weights: int, error: float, found: Sizes, asked: str) -> DataError:
    least = error_within(weights, MOST * found.effective)
    larger = f"--holdout auto:{least} is content with less; " if least < MOST else ""
    return DataError(
        f"--holdout {asked}: there are too few data to know the accuracy of {weights:,} weights within {error}",
        detail=f"that takes {needed_rows(weights, error):,.0f} independent rows, and at most half of the rows can be "
        f"held out; in the join, the {found.clusters:,.0f} rows of the label's table are worth {found.effective:,.0f}",
        hint=f"{larger}--holdout 0.2 holds out a fifth in any case, and --folds 5 measures on all rows",
    )
