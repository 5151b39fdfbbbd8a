"""A model as a pipeline of scikit-learn, for data frames whose columns have the names of its features."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from sqlsvm.errors import OptionError
from sqlsvm.maps.mapped import Mapped
from sqlsvm.model.memory import mapped_columns, numbers
from sqlsvm.model.model import AS_GROUPS, Model, Term
from sqlsvm.solve.arrays import Array
from sqlsvm.times import TIMES, TimeKind

MISSING = (None, np.nan)  # what a data frame has for NULL in a text


def pipeline(model: Model) -> Any:
    """Nothing is trained: each step gets its numbers from the model. A NULL category has weight 0."""
    try:
        import pandas as pd
        from sklearn.compose import ColumnTransformer
        from sklearn.linear_model import LinearRegression, LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.svm import LinearSVC
    except ImportError as error:
        raise OptionError("scikit-learn or pandas is not installed", hint="pip install 'sqlsvm[export]'") from error
    check_texts(model.ungrouped_only("a pipeline has one", AS_GROUPS).linear())
    own = [term.feature for term in model.terms if term.feature not in model.mapped]
    each = [_parts(part, own) for part in model.parts]
    columns_of = [[name] for name in own] + [list(each.columns) for each in model.maps]
    steps = [(f"f{n}", step, names) for n, (names, (step, _)) in enumerate(zip(columns_of, each[0], strict=True))]
    columns = ColumnTransformer(steps).fit(pd.DataFrame({term.feature: [_example(term)] for term in model.inputs}))
    weights = np.array([np.concatenate([np.zeros(0), *(own for _, own in parts)]) for parts in each])
    constants = np.array([sum((*part.added, *(term.others or 0.0 for term in part.terms))) for part in model.parts])
    # Without a curve of its own, this loss has the probabilities of that class.
    logistic = model.loss == "logistic" and not model.classes and not model.probability
    last: Any = LinearRegression() if model.of_numbers else LogisticRegression() if logistic else LinearSVC()
    if model.curves:
        from sqlsvm.model.likely import LikelyLinearSVC

        last = LikelyLinearSVC()
        last.curves_ = model.curves
    last.n_features_in_ = weights.shape[1]
    if model.of_numbers:
        last.coef_, last.intercept_ = weights[0], constants[0]
    else:
        last.coef_, last.intercept_ = weights, constants
        last.classes_ = np.array(model.trained_on.label_values)
    return make_pipeline(columns, last)


def _parts(model: Model, own: Sequence[str]) -> list[tuple[Any, Any]]:
    """The steps for these columns and for the maps, each with the weights of what it makes."""
    terms = {term.feature: term for term in model.terms}
    maps = (_map_part(each, terms, model.trained_on.times) for each in model.maps)
    return [*(_part(terms[name]) for name in own), *maps]


def check_texts(model: Model) -> None:
    """Only a database compares texts as citext does."""
    for term in model.terms:
        if term.spelling == "caseless" and not term.number:
            hint = "export it as sql or json"
            raise OptionError(f"{term.feature} is of a type that ignores case, which this format cannot say", hint=hint)


def _part(term: Term) -> tuple[Any, Any]:
    """The step for a column, and the weights of what it makes."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

    # tools that read pipelines know it; the mean of the one example is the origin
    as_float: Any = StandardScaler(with_mean=bool(term.origin), with_std=False)
    if term.kind in TIMES:
        as_float = FunctionTransformer(partial(_timed, term.feature, term.kind, term.origin))
    if number := term.number:
        if number.missing is None:
            return as_float, np.array([number.weight])
        fill = _filling(number.missing - term.origin)
        return make_pipeline(as_float, fill), np.array([number.weight])
    known = sorted(term.categories, key=lambda w: w.category)
    others, is_text = term.others or 0.0, isinstance(known[0].category, str)
    missing = (MISSING if is_text else (np.nan,)) if term.others is not None else ()
    values = np.array([*(w.category for w in known), *missing], dtype=object if is_text else float)
    weights = np.array([*(w.weight - others for w in known), *(-others for _ in missing)])
    encoder = OneHotEncoder(categories=[values], handle_unknown="ignore", sparse_output=False)
    return encoder if is_text else make_pipeline(as_float, encoder), weights


def _filling(missing: float) -> Any:
    from sklearn.impute import SimpleImputer

    return SimpleImputer(strategy="constant", fill_value=missing, keep_empty_features=True)


def _timed(feature: str, kind: str, origin: float, frame: Any) -> Any:
    return numbers(feature, np.asarray(frame).ravel(), kind)[:, None] - origin


def _map_part(each: Mapped, terms: Mapping[str, Term], times: Mapping[str, TimeKind]) -> tuple[Any, Any]:
    """The step for the columns that a map reads. Where it is loaded, sqlsvm must be installed."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    made = [number for name in each.formulas if (number := terms[name].number)]
    origins = [terms[number.feature].origin for number in made]
    makes = FunctionTransformer(partial(_made, each, dict(times), np.array(origins)))
    weights = np.array([number.weight for number in made])
    if made[0].missing is None:
        return makes, weights
    fills = [
        (f"f{n}", _filling((number.missing or 0.0) - origin), [n])
        for n, (number, origin) in enumerate(zip(made, origins, strict=True))
    ]
    return make_pipeline(makes, ColumnTransformer(fills)), weights


def _made(each: Mapped, times: Mapping[str, TimeKind], origins: Array, frame: Any) -> Any:
    return np.column_stack(list(mapped_columns(each, frame, times).values())) - origins


def _example(term: Term) -> object:
    """A value that it knows."""
    if term.kind in TIMES:
        return TIMES[term.kind].example
    if not term.weights:
        return "" if term.kind == "categorical" else 0.0
    return term.origin if term.number else term.categories[0].category
