"""What a row counts for its class, as SQL."""

import pytest

from sqlsvm.plan.target import Binary
from sqlsvm.query import Feature
from sqlsvm.sql import column

LATE = Feature("late", "f", column("late"), "boolean")


@pytest.mark.parametrize(
    ("target", "factor"),
    [
        (Binary(LATE, column("late"), (2.0, 5.0)), "CAST(5.0 AS DOUBLE) ELSE CAST(2.0 AS DOUBLE)"),
        (
            Binary(LATE, column("late"), class_parameters=True),
            "CAST(:weight_positive AS DOUBLE) ELSE CAST(:weight_negative AS DOUBLE)",
        ),
    ],
)
def test_a_row_counts_as_its_class_does(target: Binary, factor: str) -> None:
    assert target.weighted
    assert target.factor().sql() == f"CASE WHEN (late) > 0 THEN {factor} END"


def test_classes_of_weight_one_need_no_factor() -> None:
    assert not Binary(LATE, column("late")).weighted
