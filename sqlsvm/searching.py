"""Grids and cross-validation over the rows of a query. Values of a penalty or of a quantile share their scans, as in
`fit_path`; those of other parameters make a training each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Self

import numpy as np

from sqlsvm.ask.validation import best, means
from sqlsvm.engine.base import Values
from sqlsvm.engine.given import Database, Query
from sqlsvm.errors import OptionError
from sqlsvm.estimator import Relational
from sqlsvm.notebook.frames import DataFrame, frame
from sqlsvm.notebook.told import all_in_python, in_python
from sqlsvm.options import OPTIONS

__all__ = ["GridSearch", "cross_validate"]

FOLDS = 5


@all_in_python
@dataclass(eq=False)
class GridSearch:
    """The combination of values of a grid that is the best on rows that a training has not seen: of `folds` parts, or
    those of `holdout` or `folds` of the estimator. `measure` decides: auc, accuracy or r2 if it is not given.

    After `fit`: best_estimator_, which is trained on all rows, best_params_, best_score_, and results_, a frame with a
    row for each combination."""

    estimator: Relational
    grid: Mapping[str, Sequence[object]]
    measure: str | None = None
    folds: int = FOLDS

    best_estimator_: Relational = field(init=False, repr=False)
    best_params_: Mapping[str, Any] = field(init=False, repr=False)
    best_score_: float = field(init=False, repr=False)
    results_: DataFrame = field(init=False, repr=False)

    def fit(self, database: Database, query: Query | None = None, label: str | None = None) -> Self:
        found = [
            (given | shared, each)
            for given in _combinations({n: v for n, v in self.grid.items() if not _shares(n)})
            for shared, each in self._together(given, database, query, label)
        ]
        measured = [each.model_.validation for _, each in found]
        if not all(measured):
            raise OptionError("not all combinations could be measured", hint="are there enough rows of each class?")
        by = self.measure or next(name for name in ("auc", "accuracy", "r2", *measured[0]) if name in measured[0])
        place = best([means(each) for each in measured], by)
        self.best_params_, self.best_estimator_ = found[place]
        self.best_score_ = measured[place][by].mean
        columns: dict[str, Any] = {name: [params[name] for params, _ in found] for name in self.grid}
        errors = [each[by].standard_error for each in measured]
        self.results_ = frame(columns | {by: [each[by].mean for each in measured], "standard_error": errors})
        return self

    def _together(
        self, given: Mapping[str, Any], database: Database, query: Query | None, label: str | None
    ) -> list[tuple[dict[str, Any], Relational]]:
        """One training for all values of a penalty and of a quantile."""
        base = _measuring(self.estimator, self.folds, given)
        each = _combinations({name: values for name, values in self.grid.items() if _shares(name)})
        return list(zip(each, base.fit_each(database, query, label, each), strict=True))


@in_python
def cross_validate(
    estimator: Relational,
    database: Database,
    query: Query | None = None,
    label: str | None = None,
    *,
    folds: int = FOLDS,
) -> dict[str, Values]:
    """What the trainings without each part of the rows do on that part: test_auc and others, with a value for each."""
    made = _measuring(estimator, folds, {}).fit(database, query, label)
    return {f"test_{name}": np.array(each.folds) for name, each in made.model_.validation.items()}


def _measuring(estimator: Relational, folds: int, given: Mapping[str, Any]) -> Relational:
    params = estimator.get_params() | dict(given)
    more = {} if params["folds"] or params["holdout"] else {"folds": folds}
    return type(estimator)(**params | more)


def _shares(name: str) -> bool:
    return name in OPTIONS and OPTIONS[name].several is not None


def _combinations(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
