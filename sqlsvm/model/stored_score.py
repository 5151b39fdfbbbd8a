"""A score as texts for the functions in psql, over columns with the names of the features.

`WHEN CASES THEN 2` in them stands for the second list of categories and weights: a hundred thousand of them are data,
which nobody has to take apart.

`sql_templates/internal/_expression.sql` takes them apart before they run, so what is new in an expression must be
listed there too.
"""

import json
from math import isfinite
from typing import Any

from sqlglot import exp

from sqlsvm.maps.mapped import Mapped
from sqlsvm.model.model import Model, Term
from sqlsvm.model.score import HIDDEN, Cases, Operand, curve_of, mapped_values, score
from sqlsvm.plan.design import as_number
from sqlsvm.query import Feature, FeatureQuery

DIALECT = "postgres"


def stored_score(model: Model) -> str | None:
    """The score, or that of each class, and the probabilities at them, as JSON; None for a kernel machine."""
    if model.support:
        return None
    parts, cases = model.against_others or (model,), Cases()

    def operand(term: Term) -> Operand:
        return Operand(_column(term.feature), term.kind, cases)

    made: dict[str, Any] = {"scores": [score(part, operand).sql(DIALECT) for part in parts]}
    if model.likely:
        curves = (curve_of(part, operand)(_column(f"{HIDDEN}{n}")) for n, part in enumerate(parts, 1))
        made["chances"] = [curve.sql(DIALECT) for curve in curves]
    made["cases"] = [[(_as_json(category), weight) for category, weight in each] for each in cases]
    return json.dumps(made, ensure_ascii=False, allow_nan=False)


def stored_values(query: FeatureQuery) -> dict[str, Any]:
    """What a program multiplies by weights: the value of each feature, and of a map its place and its steps."""
    made = {name for each in query.maps for name in each.formulas}
    own = (f for f in query.features if f.name not in made)
    found: dict[str, Any] = {f.name: {"value": _value(f, query).sql(DIALECT)} for f in own}
    for place, each in enumerate(query.maps, 1):
        rows, values = mapped_values(each, [_read(query, each, name) for name in each.columns])
        steps = {"steps": f"FROM {rows.sql(DIALECT)}"} if rows else {}
        found |= {
            name: {"value": as_number(v.value, v.kind).sql(DIALECT), "map": place, **steps}
            for name, v in values.items()
        }
    return found


def _column(name: str) -> exp.Column:
    return exp.column(name, quoted=True)


def _as_json(category: object) -> object:
    is_number = isinstance(category, int) or (isinstance(category, float) and isfinite(category))
    return category if is_number else str(category)


def _value(feature: Feature, query: FeatureQuery) -> exp.Expression:
    own, kind = _column(feature.name), query.times.get(feature.name, feature.kind)
    if kind != "categorical":
        return as_number(own, kind)
    return exp.Lower(this=exp.cast(own, exp.DType.TEXT)) if feature.spelling == "caseless" else own


def _read(query: FeatureQuery, each: Mapped, name: str) -> Operand:
    return Operand(_column(name), query.times.get(name, each.kind_of(name)))
