"""The change of variables between features and raw coordinates, and what is refused, without a database."""

from dataclasses import replace

import numpy as np
import pytest

from sqlsvm.engine.base import Values
from sqlsvm.errors import DataError, only_finite
from sqlsvm.options import Scale
from sqlsvm.plan.design import Coordinate, Design, Dictionary, Role
from sqlsvm.plan.scaling import Moments, check_values, flat, means, scaling
from sqlsvm.plan.target import Binary
from sqlsvm.query import Feature
from sqlsvm.query.rewrites.kinds import without_nulls
from sqlsvm.sql import column, number
from tests.unit.queries import NoKeys, lines, read

RAW = np.array([[1.0, 2.0, 0.0, -3.0], [1.0, 0.0, 1.0, 5.0], [1.0, 7.0, 0.0, 5.0], [1.0, -1.0, 0.0, 1.0]])
"""Constant, a with 0 where it is NULL, whether it is, b."""
CATEGORY = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
ROLES: list[tuple[str, Role]] = [("", "intercept"), ("a", "value"), ("a", "missing"), ("b", "value")]
MEAN_OF_A = (2 + 7 - 1) / 3


def coordinates(roles: list[tuple[str, Role]]) -> tuple[Coordinate, ...]:
    return tuple(Coordinate(i, "r", name, role, column(name or "one", "r")) for i, (name, role) in enumerate(roles))


def made(roles: list[tuple[str, Role]] = ROLES) -> Design:
    colours = Dictionary(0, "r", "colour", column("colour", "r"), len(roles), ("red", "blue"))
    label = Feature("y", "r", column("y", "r"), "numeric")
    return Design(Binary(label, number(1)), None, coordinates(roles), (colours,))


def moments_of(rows: Values) -> Moments:
    total, squares, largest = rows.sum(axis=0), (rows**2).sum(axis=0), np.abs(rows).max(axis=0)
    n = float(len(rows))
    nothing = np.zeros(rows.shape[1])
    return Moments(
        n=n, n_negative=0, n_unlabelled=0, total=total, squares=squares, largest=largest, total_negative=nothing
    )


ROWS = np.hstack([RAW, CATEGORY])
FILLED = np.column_stack([RAW[:, 0], [2, MEAN_OF_A, 7, -1], RAW[:, 3], CATEGORY])
"""What is trained on before scaling: the mean for what is missing, and no indicator."""


def expected(how: Scale) -> Values:
    features = FILLED.copy()
    for place in (1, 2):
        if how == "standard":
            features[:, place] = (features[:, place] - features[:, place].mean()) / features[:, place].std()
        if how == "maxabs":
            features[:, place] /= np.abs(features[:, place]).max()
    return features


@pytest.mark.parametrize("how", ["none", "maxabs", "standard"])
def test_scaled_features_score_as_raw_coordinates_do(how: Scale) -> None:
    found = scaling(made(), moments_of(ROWS), how)
    beta = np.random.default_rng(0).normal(size=5)
    np.testing.assert_allclose(ROWS @ found.to_raw(beta), expected(how) @ beta)


@pytest.mark.parametrize("how", ["none", "maxabs", "standard"])
def test_sums_over_raw_coordinates_become_sums_over_features(how: Scale) -> None:
    found = scaling(made(), moments_of(ROWS), how)
    counts = np.random.default_rng(1).normal(size=4)
    np.testing.assert_allclose(found.from_raw(counts @ ROWS), counts @ expected(how))


def test_the_indicator_of_what_is_missing_is_no_feature() -> None:
    assert scaling(made(), moments_of(ROWS), "none").kept.tolist() == [0, 1, 3]


def test_elements_of_beta_are_the_features_in_order() -> None:
    found = scaling(made(), moments_of(ROWS), "standard")
    elements = [(e.place, e.index, e.feature, e.category) for e in found.elements()]
    numbers = [(0, 0, "", None), (1, 1, "a", None), (2, 3, "b", None)]
    assert elements == [*numbers, (3, 4, "colour", "red"), (4, 5, "colour", "blue")]
    assert found.dimension == 5
    assert found.design.size == 6


@pytest.mark.parametrize("how", ["none", "maxabs", "standard"])
def test_theta_leads_back_to_its_beta(how: Scale) -> None:
    found = scaling(made(), moments_of(ROWS), how)
    beta = np.random.default_rng(2).normal(size=found.dimension)
    np.testing.assert_allclose(found.to_scaled(found.to_raw(beta)), beta)


def test_the_mean_is_that_of_the_numbers_that_are_there() -> None:
    assert means(made(), moments_of(ROWS)) == pytest.approx({"a": MEAN_OF_A, "b": 2.0})


def test_without_an_intercept_nothing_is_centred() -> None:
    """A zero stays a zero: there is no constant to take a mean from."""
    found = scaling(made([("a", "value"), ("b", "value")]), moments_of(ROWS[:, [1, 3, 4, 5]]), "standard")
    assert not found.matrix[~np.eye(2, dtype=bool)].any()
    np.testing.assert_allclose(np.diag(found.matrix), 1 / RAW[:, [1, 3]].std(axis=0))


@pytest.mark.parametrize("how", ["maxabs", "standard"])
@pytest.mark.parametrize("value", [0.0, 3.0, -1e9])
def test_a_constant_feature_has_no_width_to_divide_by(how: Scale, value: float) -> None:
    rows = np.hstack([np.ones((4, 1)), np.full((4, 1), value), CATEGORY])
    design = made([("", "intercept"), ("a", "value")])
    found = scaling(design, moments_of(rows), how)
    width = abs(value) if how == "maxabs" and value else 1.0
    centre = value if how == "standard" else 0.0
    np.testing.assert_allclose(found.matrix[1], [-centre, 1 / width])


def test_what_rounding_leaves_of_a_constant_is_no_width() -> None:
    """The sums of x and x^2 are off in the last digits, their difference in all: 0.1 would get a width of 5e-8."""
    n, off = 2e5, 1 + 1e-13
    sums = moments_of(np.hstack([np.ones((4, 1)), np.full((4, 1), 0.1), CATEGORY]))
    sums = replace(sums, n=n, total=sums.total * n / 4, squares=sums.squares * n / 4 * off)
    found = scaling(made([("", "intercept"), ("a", "value")]), sums, "standard")
    np.testing.assert_allclose(found.matrix[1], [-0.1, 1.0])


def test_a_feature_that_is_always_missing_is_zero() -> None:
    rows = np.hstack([np.ones((4, 1)), np.zeros((4, 1)), np.ones((4, 1)), CATEGORY])
    found = scaling(made([("", "intercept"), ("a", "value"), ("a", "missing")]), moments_of(rows), "standard")
    np.testing.assert_allclose(found.matrix @ rows[0, :3], [1, 0])


def test_categories_pass_through() -> None:
    found = scaling(made(), moments_of(ROWS), "standard")
    beta = np.array([0, 0, 0, 5.0, 7.0])
    assert found.to_raw(beta)[4:].tolist() == [5.0, 7.0]
    assert found.from_raw(np.array([0, 0, 0, 0, 5.0, 7.0]))[3:].tolist() == [5.0, 7.0]


def test_a_model_of_categories_alone() -> None:
    found = scaling(made([]), moments_of(CATEGORY), "standard")
    assert found.to_raw(np.array([1.0, 2.0])).tolist() == [1.0, 2.0]


# -- what has no place in a model ------------------------------------------------------------------------------------


@pytest.mark.parametrize("total", [np.nan, np.inf])
def test_what_is_not_finite_is_refused(total: float) -> None:
    rows = moments_of(ROWS)
    rows.total[1] = rows.total[3] = total
    with pytest.raises(DataError) as refused:
        check_values(made(), rows, "mean")
    assert refused.value.message == "feature a is NaN or infinite in some rows of the join"
    assert refused.value.detail == "So is b."
    assert refused.value.hint == only_finite("a")


def test_null_is_refused_unless_it_was_said_what_it_means() -> None:
    rows = moments_of(np.vstack([ROWS] * 1234))
    check_values(made(), rows, "mean")
    with pytest.raises(DataError) as refused:
        check_values(made(), rows, "error")
    assert refused.value.message == "feature a is NULL in 1,234 rows of the join"
    assert refused.value.hint == (
        "say what that means: nulls='mean' (the mean of the others) or nulls='drop' (leave the row out)"
    )


def test_null_in_rows_that_are_not_in_the_join_is_no_error() -> None:
    rows = ROWS.copy()
    rows[:, 2] = 0
    check_values(made(), moments_of(rows), "error")


def test_dropping_nulls_filters_every_relation_of_a_feature() -> None:
    query = read(
        "SELECT f.late, f.distance, p.seats + 1 AS s FROM flights f JOIN planes p ON p.tailnum = f.tailnum",
        label="late",
        tables={"flights": ["late", "distance", "tailnum"]},
    )
    assert lines(without_nulls(query, NoKeys()))[:2] == [
        "from flights AS f WHERE NOT f.distance IS NULL AND NOT f.late IS NULL",
        "from planes AS p WHERE NOT (p.seats + 1) IS NULL",
    ]


def test_dropping_nulls_drops_what_has_no_match() -> None:
    """The condition on the optional side comes after the LEFT JOIN, or it would drop the match and keep the row."""
    query = read(
        "SELECT f.late, p.seats FROM flights f LEFT JOIN planes p ON p.tailnum = f.tailnum",
        label="late",
        tables={"flights": ["late", "tailnum"]},
    )
    assert lines(without_nulls(query, NoKeys()))[1] == "from planes AS p WHERE NOT p.seats IS NULL"


@pytest.mark.parametrize(("deviation", "is_flat"), [(0.9e-5, True), (1.1e-5, False)])
def test_a_number_is_flat_if_its_deviation_is_less_than_a_share_of_its_size(deviation: float, is_flat: bool) -> None:
    """10^-5 of it: then its squares have lost the digits of its variance."""
    design = made([("a", "value")])
    x = np.array([[1.0 + deviation, 0.0, 0.0], [1.0 - deviation, 0.0, 0.0]])
    assert bool(flat(design, moments_of(x))) is is_flat
