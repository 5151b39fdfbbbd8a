"""pca:K: principal components of the numbers and booleans of a query, from their covariance over its join."""

from collections.abc import Sequence

from sqlsvm import sql
from sqlsvm.maps import formula
from sqlsvm.maps.asked import Asked
from sqlsvm.maps.mapped import Mapped


def pca(asked: Asked) -> Mapped:
    inputs = {f.name: f.kind for f in asked.query.features if f.kind != "categorical"}
    if not inputs:
        hint = "select a number; a text that is one can be cast: CAST(x AS double precision) AS x"
        raise asked.refusal("the query has no feature that is a number", hint)
    wanted = asked.whole(0, "K", 1, 1000)
    axes = asked.join.axes(wanted)
    if (most := len(axes.loadings)) < wanted:
        numbers = "1 number, which has" if len(inputs) == 1 else f"{len(inputs)} numbers, which have"
        hint = f"K can be {most}" if most else "leave out the map, and numbers that are constant"
        raise asked.refusal(f"the query has {numbers} {most} components", hint)
    booleans = tuple(name for name in axes.columns if inputs[name] == "boolean")
    made = {f"pca{n}": _component(row, axes.means) for n, row in enumerate(axes.loadings, 1)}
    return Mapped(f"pca:{wanted}", axes.columns, made, booleans=booleans)


def _component(loadings: Sequence[float], means: Sequence[float]) -> str:
    terms = enumerate(zip(loadings, means, strict=True), 1)
    made = (sql.product(formula.number(w), formula.centred(place, mean)) for place, (w, mean) in terms if w)
    return formula.text_of(sql.plus(*made))
