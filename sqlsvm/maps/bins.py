"""bins:COLUMN:K: a column in K steps of about as many rows each."""

from itertools import pairwise

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.maps import formula
from sqlsvm.maps.asked import Asked
from sqlsvm.maps.mapped import Mapped


def bins(asked: Asked) -> Mapped:
    """A column of 0 and 1 for each step but the last: together they are 1, and the intercept is there already."""
    column, wanted = asked.number(), asked.whole(0, "K", 2, 1000)
    edges = asked.quantiles(column, np.linspace(0.0, 1.0, wanted + 1).tolist())
    ends = [-np.inf, *edges[1:-1], np.inf]
    if len(ends) < 3:
        raise asked.refusal(f"most rows have the same {column.name}, so there is one step", "give a larger K")
    made = {f"{column.name}_bin{n}": _step(*pair) for n, pair in enumerate(pairwise(ends[:-1]), 1)}
    return Mapped(f"bins:{column.name}:{wanted}", (column.name,), made)


def _step(low: float, high: float) -> str:
    """CASE WHEN low <= x AND x < high THEN 1 ELSE 0 END"""
    x, ends = formula.argument(1), list[exp.Expression]()
    if np.isfinite(low):
        ends.append(sql.at_least(x, formula.number(low)))
    ends.append(sql.less(x, formula.number(high)))
    return formula.text_of(sql.case(sql.every(ends), formula.number(1), formula.number(0)))
