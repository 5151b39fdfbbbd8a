"""Formulas of maps: as SQL, in memory, and what a stored model may not have as one."""

import numpy as np
import pytest
from sqlglot import exp

from sqlsvm.maps import formula
from sqlsvm.reading import Misread


def test_numbers_keep_all_digits() -> None:
    for value in (0.1, -1 / 3, 5e-324, 1.7976931348623157e308, 12345678901234567.0, 0.0):
        assert formula.values(formula.text_of(formula.number(value)), []) == value


def test_a_column_takes_the_place_of_an_argument() -> None:
    x, total = exp.column("x", "r"), exp.Add(this=exp.column("a"), expression=exp.column("b"))
    found = formula.applied("$2 * ($1 - 1.5e0)", [x, total])
    assert found.sql("postgres") == "(a + b) * (r.x - 1.5e0)"


def test_a_long_sum_is_no_deep_call() -> None:
    weights = np.arange(1, 3001) / 7
    text = formula.text_of(formula.affine(weights.tolist(), 0.5))
    x = np.random.default_rng(0).normal(size=(3000, 4))
    np.testing.assert_allclose(formula.values(text, list(x)), 0.5 + weights @ x, rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pg_read_file($1)", "PG_READ_FILE"),
        ("(SELECT 1)", "SELECT 1"),
        ("$1 || 'a'", "is not allowed"),
        ("'a'", "'a' is not allowed"),
        ("x", "x is not allowed"),
        ("$1; DROP TABLE t", "not allowed"),
        ("$a", r"\$a is not allowed"),
        ("1 +", "expected a formula"),
        ("CAST($1 AS regclass)", "is not allowed"),
        ("", "expected a formula"),
    ],
)
def test_only_arithmetic_is_a_formula(text: str, said: str) -> None:
    with pytest.raises(Misread, match=said):
        formula.read(text)
