"""What can be asked of a query before a training: the functions `inspect`, `describe`, `components`, `explain` and
`count`. Their results print as the command line shows them."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlsvm.ask import describe as of_columns
from sqlsvm.ask import explain as explaining
from sqlsvm.ask import inspect as of_joins
from sqlsvm.ask.describe import Description
from sqlsvm.ask.explain import Explanation
from sqlsvm.ask.inspect import Inspection
from sqlsvm.engine.given import Database, Query, opened, query_of, with_label
from sqlsvm.errors import OptionError
from sqlsvm.lab.ask import counting
from sqlsvm.notebook import cells
from sqlsvm.notebook.frames import DataFrame, frame
from sqlsvm.notebook.told import documented, in_python
from sqlsvm.options import OPTIONS, Nulls, Scale
from sqlsvm.plan.constraints import read_beta
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.query.read_query import Roles
from sqlsvm.run import components as of_components
from sqlsvm.run.components import Components
from sqlsvm.run.opening import open_problem
from sqlsvm.run.training import Training, anew

__all__ = ["components", "count", "describe", "explain", "inspect"]
assert cells

_OTHERS = {
    "database": "What you have: a URL, a connection, frames by name: see the `fit` of the estimators.",
    "query": "SQL with one row for each training example. It is read, and not run.",
    "label": "The output of the query to predict. All others are features.",
    "heavy": "For each many-to-many join, list so many keys that make the most rows.",
    "values": "Name so many categories of a column.",
    "k": "How many components.",
    "analyze": "Whether to make the first pass, and forecast all of it.",
    "weights": "Those of a model: its intercept, and a weight for each number and each category.",
    "bound": "Rows with label * score below it are counted.",
    "parameters": "Those of the estimators.",
}


@in_python
def inspect(
    database: Database,
    query: Query | None = None,
    label: str | None = None,
    *,
    weight: str | None = None,
    positive: str | None = None,
    categorical: str | Sequence[str] = (),
    heavy: int = 0,
) -> Inspection:
    """What a query joins: the rows of each table, keys, rows without a partner, the size of the join, the classes.

    `heavy` lists so many keys of each many-to-many join that make the most rows. Nothing is changed, and the join is
    counted, not made."""
    query, label = with_label(database, query, label)
    roles: Roles = {"label": label, "weight": weight, "categorical": listed(categorical)}
    with opened(database) as engine:
        return of_joins.inspect(engine, query_of(database, query), positive=positive, heavy=heavy, **roles)


@in_python
def describe(
    database: Database,
    query: Query | None = None,
    label: str | None = None,
    *,
    weight: str | None = None,
    positive: str | None = None,
    categorical: str | Sequence[str] = (),
    values: int = 5,
) -> Description:
    """What is in the columns of the join: NULLs, mean, deviation, range and quantiles of numbers, the `values` most
    frequent categories, and how each column goes with the label. All of it is exact."""
    query, label = with_label(database, query, label)
    roles: Roles = {"label": label, "weight": weight, "categorical": listed(categorical)}
    with opened(database) as engine:
        return of_columns.describe(engine, query_of(database, query), positive=positive, values=values, **roles)


@in_python
def components(
    database: Database,
    query: Query | None = None,
    label: str | None = None,
    *,
    k: int = 5,
    weight: str | None = None,
    categorical: str | Sequence[str] = (),
    nulls: Nulls = "error",
    scale: Scale = "standard",
) -> Components:
    """The first `k` principal components of the numbers of the join, from their exact covariance. The label, if it is
    named, is no feature."""
    if isinstance(label, int):
        raise OptionError(f"the label is the name of a column, not {label}", hint=f"components(..., k={label})")
    for name, given in (("nulls", nulls), ("scale", scale)):
        if not OPTIONS[name].allows(given):
            raise OptionError(f"{name} {OPTIONS[name].must}, not {given!r}")
    query, label = with_label(database, query, label)
    roles: Roles = {"label": label, "weight": weight, "categorical": listed(categorical)}
    with opened(database) as engine:
        return of_components.components(engine, query_of(database, query), k=k, nulls=nulls, scale=scale, **roles)


@in_python
def explain(
    database: Database,
    query: Query | None = None,
    label: str | None = None,
    *,
    analyze: bool = False,
    **parameters: object,
) -> Explanation:
    """How a training would go, and why. With `analyze` the first pass is made, and all of it is forecast. The
    parameters are those of the estimators."""
    query, label = with_label(database, query, label)
    with opened(database) as engine:
        unnamed = () if "loss" in parameters else ("loss",)
        training = Training.of(label=label, unnamed=unnamed, **parameters)
        if analyze:
            return explaining.analyze(engine, query_of(database, query), training)
        return explaining.explain(engine, query_of(database, query), training)


@in_python
@anew
def count(
    database: Database,
    query: Query,
    label: str,
    weights: Mapping[str, object],
    bound: float = 1.0,
    **parameters: object,
) -> DataFrame:
    """How many rows of the join have label * score below a bound, for each feature, value and label, as a frame:
    count(..., {"intercept": 0.1, "weights": {"distance": 0.3, "carrier": {"UA": -0.2}}})."""
    given: dict[str, Any] = parameters
    options = ProblemOptions(label=label, scale="none", **given)
    with opened(database) as engine, open_problem(engine, query_of(database, query), options) as problem:
        problem.plan.design.target.must_be_one("rows are counted for two", "make two of them in the query")
        found = list(counting.row_counts(problem, read_beta(problem.scaling, weights), bound))
    names = ("feature", "value", "label", "count")
    return frame({name: [getattr(each, name) for each in found] for name in names})


def listed(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


for _each in (inspect, describe, components, explain, count):
    documented(_each, _OTHERS)
