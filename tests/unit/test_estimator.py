"""RelationalSVC without a database: its parameters, and scores of rows in memory."""

import pickle
import subprocess
import sys
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import estimator_checks

import sqlsvm
from sqlsvm import NotFittedError, RelationalSVC
from sqlsvm.errors import DataError, EngineError, OptionError, SqlsvmError
from sqlsvm.estimator import ParameterError
from sqlsvm.model.weights import Weight
from sqlsvm.options import Nulls
from tests.ground.modelled import category, modelled, number

PARAMETERS = {
    *("lam", "tol", "solver", "counting", "epsilon", "max_passes", "scale", "intercept", "class_weight", "nulls"),
    *("loss", "measure", "width", "positive", "categorical", "top", "weight", "sample", "holdout", "seed", "offload"),
    *("tube", "quantile", "delta", "pieces", "l1", "constrain", "work_schema", "probability", "warm_start", "verbose"),
    *(
        "folds",
        "rare",
        "split_by",
        "time",
        "gap",
        "as_of",
        "by",
        "map",
        "kernel",
        "gamma",
        "cache",
        "cache_mb",
        "cache_share",
        "work_folder",
        "in_memory",
        "no_temp",
        "make_at_most",
    ),
}


def fitted(nulls: Nulls = "mean", more: tuple[Weight, ...] = ()) -> RelationalSVC:
    """price and fresh are numbers, colour is text, month is an integer by name."""
    missing = 0.5 if nulls == "mean" else None
    weights = [number("price", -1.0, missing), number("fresh", 0.25, missing)]
    weights += [category("colour", "red", 3.0), category("colour", "7", 5.0), category("month", 7, 10.0), *more]
    svc = RelationalSVC(nulls="mean")
    svc._take(modelled(weights, 0.5, nulls=nulls, trained_on={"label_values": ["no", "yes"]}))
    return svc


# -- parameters --------------------------------------------------------------------------------------------------------


def test_parameters() -> None:
    svc = RelationalSVC(1e-2, nulls="mean")
    assert set(svc.get_params()) == PARAMETERS
    assert svc.set_params(tol=1e-2, categorical=["month"]) is svc
    assert (svc.lam, svc.tol, svc.nulls, svc.categorical) == (1e-2, 1e-2, "mean", ["month"])
    assert repr(svc) == "RelationalSVC(lam=0.01, tol=0.01, nulls='mean', categorical=['month'])"
    assert repr(RelationalSVC()) == "RelationalSVC()"


def test_scikit_learn_can_clone_it() -> None:
    svc = fitted().set_params(lam=0.5, categorical=("month",), class_weight=(1.0, 2.0))
    copy = clone(svc)
    assert copy.get_params() == svc.get_params()
    assert not hasattr(copy, "coef_")


ESTIMATORS = [name for name in sqlsvm.__all__ if name.startswith("Relational")]
NO_CHECK = {
    "check_fit_score_takes_y": "the second argument is a query or a y",
    "check_classifiers_train": "the class with the largest score need not have the largest probability",
    "check_classifiers_one_label": "one class has no model",
    "check_class_weight_classifiers": "class_weight is a pair, not a mapping",
    "check_regressors_no_decision_function": "a score is a number's prediction too",
    "check_estimator_sparse_array": "a sparse array has no columns by name",
    "check_estimator_sparse_matrix": "a sparse matrix has no columns by name",
}
"""The checks of scikit-learn that do not apply, and why."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_checks_of_scikit_learn(name: str) -> None:
    found = estimator_checks.check_estimator(
        getattr(sqlsvm, name)(1e-2, verbose=False), expected_failed_checks=NO_CHECK, on_fail=None, on_skip=None
    )
    failed = {each["check_name"]: str(each["exception"]) for each in found if each["status"] == "failed"}
    assert failed == {}
    assert sum(each["status"] == "passed" for each in found) > 40
    if is_classifier(getattr(sqlsvm, name)()):
        scores = type(name, (getattr(sqlsvm, name),), {"_finds_probability": False})
        estimator_checks.check_classifiers_train(name, scores(1e-2, verbose=False))


def test_a_probability_is_there_if_a_fit_gives_one() -> None:
    assert all(hasattr(each, "predict_proba") for each in (RelationalSVC(), RelationalSVC(0.1, loss="logistic")))
    assert hasattr(RelationalSVC(0.1), "predict_proba")
    assert not hasattr(RelationalSVC(solver="kernel"), "predict_proba")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_scikit_learn_knows_what_it_predicts(name: str) -> None:
    estimator = getattr(sqlsvm, name)()
    numbers = name not in ("RelationalSVC", "RelationalLogisticRegression")
    assert (is_regressor(estimator), is_classifier(estimator)) == (numbers, not numbers)


def test_an_unknown_parameter_is_refused_and_none_is_set() -> None:
    svc = RelationalSVC()
    with pytest.raises(ValueError, match="has no parameter max_pass\nHINT: did you mean max_passes") as refused:
        svc.set_params(tol=1.0, max_pass=3)
    assert isinstance(refused.value, SqlsvmError)
    assert svc.tol == 1e-3
    for name, said in {
        "lamda": "did you mean lam",
        "C": r"lam = 1 / \(2 \* C \* n\)",
        "alpha": "lam = alpha / 2",
    }.items():
        unknown: Any = {name: 1e-3}
        with pytest.raises(TypeError, match=f"has no parameter {name}\nHINT: .*{said}") as unknown_one:
            RelationalSVC(**unknown)
        assert isinstance(unknown_one.value, SqlsvmError)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "solver": ({"solver": "sgd"}, "solver must be dane, bundle, descent, kernel or pegasos, not 'sgd'"),
    "scale": ({"scale": None}, "scale must be standard, maxabs or none, not None"),
    "class_weight": (
        {"class_weight": (1, -2)},
        r"class_weight must be none, balanced or two numbers .*, not \(1, -2\)",
    ),
    "class_weight word": ({"class_weight": "ba"}, "class_weight must be .*, not 'ba'"),
    "top": ({"top": "month"}, "top must be a list of limits, .*, not 'month'"),
    "lam": ({"lam": 0.0}, "lam must be a number above 0, or auto, not 0.0"),
    "max_passes": ({"max_passes": 0}, "max_passes must be a whole number of at least 1, not 0"),
    "class_weight dict": ({"class_weight": {0: 1, 1: 2}}, r"class_weight must be .*, not \{0: 1"),
    "class_weight three": ({"class_weight": (1, 2, 3)}, r"class_weight must be .*, not \(1, "),
    "class_weight nan": ({"class_weight": (1, float("nan"))}, r"class_weight must be .*, not \(1, "),
    "lam text": ({"lam": "0.1"}, "lam must be a number above 0, or auto, not '0.1'"),
    "tol text": ({"tol": "x"}, "tol must be a number of at least 0, not 'x'"),
    "part of a pass": ({"max_passes": 2.5}, "max_passes must be a whole number of at least 1, not 2.5"),
    "truth": ({"max_passes": True}, "max_passes must be .*, not True"),
    "part of a row": ({"sample": 100.5}, "sample must be auto or a whole number of at least 1, not 100.5"),
    "sample word": ({"sample": "all"}, "sample must be .*, not 'all'"),
    "seed below 0": ({"seed": -1}, "seed must be a whole number of at least 0, not -1"),
    "no seed": ({"seed": None}, "seed must be .*, not None"),
    "holdout text": ({"holdout": "0.2"}, "holdout must be a number between 0 and 1.*, not '0.2'"),
    "intercept word": ({"intercept": "no"}, "intercept must be True, False or 'free', not 'no'"),
    "offload word": ({"offload": "no"}, "offload must be auto, True or False, not 'no'"),
    "weight number": ({"weight": 3}, "weight must be the name of a column, not 3"),
}


@pytest.mark.parametrize(
    "given",
    [
        {"class_weight": None},
        {"class_weight": [1, 2.5]},
        {"class_weight": np.array([1.0, 2.0])},
        {"positive": True},
        {"positive": 1},
        {"categorical": None},
        {"categorical": np.array(["month"])},
        {"max_passes": np.int64(3), "tol": np.float32(0.1), "lam": 1, "intercept": np.True_, "sample": 100},
    ],
)
def test_values_of_other_kinds_that_say_the_same(given: dict[str, Any]) -> None:
    """They are let through: what fails is the database that is not there."""
    with pytest.raises(EngineError):
        RelationalSVC().set_params(**given).fit("postgresql://nowhere.invalid/x", "SELECT 1", "y")


@pytest.mark.parametrize("name", REFUSED)
def test_values_are_checked_before_anything_is_opened(name: str) -> None:
    given, message = REFUSED[name]
    with pytest.raises(OptionError, match=message):
        RelationalSVC().set_params(**given).fit("postgresql://127.0.0.1:1/x", "SELECT 1", "y")


def test_not_fitted() -> None:
    svc = RelationalSVC()
    for use in (svc.evaluate, svc.score_sql, lambda: svc.predict({"x": [1]}), lambda: svc.decision_function({})):
        with pytest.raises(NotFittedError, match="not fitted yet") as refused:
            use()
        assert isinstance(refused.value, ValueError)
        assert isinstance(refused.value, AttributeError)
    assert not hasattr(svc, "coef_")


def test_it_is_imported_only_when_asked_for() -> None:
    code = "import sys, sqlsvm; assert 'numpy' not in sys.modules; sqlsvm.RelationalSVC; assert 'numpy' in sys.modules"
    code += "; assert not {'sklearn', 'psycopg', 'duckdb'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="has no attribute 'RelationalSVM'"):
        _ = sqlsvm.RelationalSVM


def test_attributes_have_the_shapes_of_scikit_learn() -> None:
    svc = fitted()
    assert svc.feature_names_in_.tolist() == ["price", "fresh", "colour=red", "colour=7", "month=7"]
    assert svc.coef_.tolist() == [[-1.0, 0.25, 3.0, 5.0, 10.0]]
    assert svc.intercept_.tolist() == [0.5]
    assert svc.classes_.tolist() == ["no", "yes"]


def test_a_pickle_scores_but_holds_no_password() -> None:
    svc = fitted()
    svc._database = "postgresql://me:secret@host/db"
    data = pickle.dumps(svc)
    assert b"secret" not in data
    copy = pickle.loads(data)
    assert copy.decision_function(ROWS).tolist() == svc.decision_function(ROWS).tolist()
    with pytest.raises(OptionError, match="came without its database"):
        copy.evaluate()


# -- rows in memory ----------------------------------------------------------------------------------------------------

ROWS: dict[str, list[Any]] = {
    "price": [1, 2.5, None, Decimal("4")],
    "fresh": [True, False, None, True],
    "colour": ["red", "blue", None, 7],
    "month": [7, 8, None, "7"],
}
SCORES = [0.5 - 1 + 0.25 + 3 + 10, 0.5 - 2.5, 0.5 - 0.5 + 0.125, 0.5 - 4 + 0.25 + 5 + 10]


class Table:
    """What a data frame is to us."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.columns = [*columns, "other"]
        self.held = {name: np.array(values, dtype=object) for name, values in columns.items()}

    def __getitem__(self, name: str) -> Any:
        return self.held.get(name, np.zeros(4))


def test_scores_of_a_mapping_and_of_a_frame() -> None:
    assert fitted().decision_function(ROWS).tolist() == SCORES
    assert fitted().decision_function(Table(ROWS)).tolist() == SCORES
    assert fitted().decision_function({k.upper(): v for k, v in ROWS.items()}).tolist() == SCORES
    assert fitted().predict(ROWS).tolist() == ["yes", "no", "yes", "yes"]


def test_scores_of_a_structured_array() -> None:
    types = [("price", "f4"), ("fresh", "?"), ("colour", "U5"), ("month", "i4")]
    rows = np.array([(1, True, "red", 7), (2.5, False, "blue", 8), (np.nan, False, "", 7)], dtype=types)
    assert fitted().decision_function(rows).tolist() == [*SCORES[:2], 0.5 - 0.5 + 10]


def test_a_masked_cell_is_missing() -> None:
    columns: dict[str, Any] = {**ROWS, "price": np.ma.masked_equal([1.0, 2.5, 99.0, 4.0], 99.0)}
    assert fitted().decision_function(columns).tolist() == SCORES


def test_no_rows() -> None:
    assert fitted().predict({name: [] for name in ROWS}).tolist() == []


def test_a_missing_value_without_a_mean_has_no_score() -> None:
    known = {**ROWS, "price": [1, 2.5, 3, 4], "fresh": [True] * 4}
    assert np.isnan(fitted("error").decision_function(ROWS)).tolist() == [False, False, True, False]
    assert np.isnan(fitted("drop").decision_function(known)).tolist() == [False, False, True, False]
    assert not np.isnan(fitted("error").decision_function(known)).any()
    with pytest.raises(DataError, match="1 rows have no score"):
        fitted("drop").predict(known)


def test_a_score_of_zero_is_negative() -> None:
    svc = RelationalSVC()
    svc._take(modelled([number("x", 1.0)], trained_on={"label_values": [False, True]}))
    assert svc.predict({"x": [0.0, 1e-300, -1.0]}).tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({**ROWS, "price": ["cheap"] * 4}, "feature price is a number, not 'cheap'"),
        ({**ROWS, "month": ["May"] * 4}, "feature month is a number, not 'May'"),
        ({"prices": [1], "fresh": [1]}, "no column price\nHINT: did you mean prices"),
        ({**ROWS, "fresh": [True]}, "the columns differ in length: fresh"),
        (np.zeros((3, 4)), "the rows have no column names"),
        ({"price": 1.0, "fresh": True, "month": 5}, "the rows have one price, not a column of them"),
    ],
)
def test_rows_that_cannot_be_scored(frame: Any, message: str) -> None:
    with pytest.raises(SqlsvmError, match=message):
        fitted().decision_function(frame)


def test_parameter_errors_are_value_errors() -> None:
    assert issubclass(ParameterError, ValueError)


# -- categories --------------------------------------------------------------------------------------------------------


def of_categories(values: dict[Any, float], frame: Any, **trained_on: Any) -> list[float]:
    """The scores of one column, by its categories and their weights."""
    svc = RelationalSVC()
    svc._take(modelled([category("c", value, weight) for value, weight in values.items()], trained_on=trained_on))
    return list(svc.decision_function({"c": frame}).tolist())


@pytest.mark.parametrize("filled", [{"UA": 1.0, "DAL": 2.0}, {"UA ": 1.0, "DAL": 2.0}])
def test_blanks_that_fill_a_text_up_do_not_count(filled: dict[str, float]) -> None:
    """A driver brings a character(n) with them, a file without; so it was in models that were stored earlier."""
    assert of_categories(filled, ["UA", "UA ", "DAL", " UA", "ua", "", None]) == [1.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0]


def test_blanks_count_in_what_was_no_padded_text() -> None:
    """Where a model says so."""
    assert of_categories({"UA": 1.0}, ["UA", "UA "], padded=["c"]) == [1.0, 1.0]
    assert of_categories({"UA": 1.0}, ["UA", "UA "], padded=["d"]) == [1.0, 0.0]


def test_blanks_that_tell_categories_apart_count() -> None:
    assert of_categories({"a ": 1.0, "a": 2.0, "b  ": 3.0}, ["a", "a ", "a  ", "b"]) == [2.0, 1.0, 1.0, 3.0]


def test_case_counts_but_for_citext() -> None:
    values, frame = {"Red": 1.0, "blue": 2.0}, ["red", "RED", "Red", "Blue", "green"]
    assert of_categories(values, frame) == [0.0, 0.0, 1.0, 0.0, 0.0]
    assert of_categories(values, frame, caseless=["c"]) == [1.0, 1.0, 1.0, 2.0, 0.0]
    assert of_categories(values, frame, caseless=["d"]) == [0.0, 0.0, 1.0, 0.0, 0.0]


HUGE = 2**53


@pytest.mark.parametrize("spelled", [int, str, Decimal, np.int64])
def test_integers_beyond_doubles_are_told_apart(spelled: Any) -> None:
    values = {HUGE: 1.0, HUGE + 1: 2.0, HUGE + 3: 3.0}
    frame = [spelled(v) for v in (HUGE, HUGE + 1, HUGE + 2, HUGE + 3)]
    assert of_categories(values, frame) == [1.0, 2.0, 0.0, 3.0]
    assert of_categories(values, np.array([HUGE, HUGE + 1, HUGE + 2, HUGE + 3])) == [1.0, 2.0, 0.0, 3.0]
    assert of_categories(values, [7, 10**400]) == [0.0, 0.0]


def test_a_real_may_come_by_its_few_digits() -> None:
    """As psycopg hands it over."""
    values = {float(np.float32(0.1)): 1.0, 0.2: 2.0, -float(np.float32(1e-7)): 3.0, float(2**53): 4.0, 1e300: 5.0}
    frame = [
        0.1,
        float(np.float32(0.1)),
        np.float32(0.1),
        0.2,
        np.float32(0.2),
        -1e-7,
        2.0**53,
        9007199000000000.0,
        1e300,
    ]
    assert of_categories(values, frame) == [1, 1, 1, 2, 0, 3, 4, 0, 5]


def test_a_number_is_one_however_it_is_spelled() -> None:
    """Of decimals the doubles are the categories; psql's models may have whole ones as integers among them."""
    values = {7: 1.0, 7.1: 2.0, 0.25: 3.0, 1e22: 4.0}
    frame = [7, 7.0, "7", "7.00", Decimal("7.00"), Decimal("7.10"), "7.1", 0.25, "1e22", 10**22, Decimal("1E22"), True]
    assert of_categories(values, frame) == [1, 1, 1, 1, 1, 2, 2, 3, 4, 4, 4, 0]
    with pytest.raises(DataError, match="feature c is a number, not 10000"):
        of_categories(values, [10**400])
