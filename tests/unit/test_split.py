"""Which rows train and which measure: at random, by entity, forward in time; in memory and as SQL."""

from itertools import pairwise

import numpy as np
import pytest
from sqlglot import exp
from sqlglot.executor import execute

from sqlsvm.query.rewrites.split import Folds, Forward

ROWS = np.arange(400) // 4
"""Each row of the label's relation is in four rows of the join."""


def test_at_random_each_row_is_measured_once() -> None:
    rounds = Folds(5, seed=3).of_rows(ROWS)
    assert (np.sum([measures for _, measures in rounds], axis=0) == 1).all()
    assert all((trains == ~measures).all() for trains, measures in rounds)
    assert [measures.sum() for _, measures in rounds] == [80] * 5
    for _, measures in rounds:
        assert len(set(ROWS[measures]) & set(ROWS[~measures])) == 0


def test_an_entity_is_on_one_side() -> None:
    entities = np.array(["a", "b", "c", "d", "e", "f", "g"], dtype=object)[ROWS % 7]
    for trains, measures in Folds(3).of_rows(ROWS, entities):
        assert not set(entities[trains]) & set(entities[measures])
        assert measures.any()


@pytest.mark.parametrize("gap", [0.0, 3.0, 30.0])
def test_forward_in_time(gap: float) -> None:
    """Each round trains on all that is before what it measures, less the gap, and measures an equal share."""
    times = (ROWS * 37 % 100).astype(float)
    rounds = Folds(4).of_rows(ROWS, times=times, gap=gap)
    starts = [20.0, 40.0, 60.0, 80.0]
    expected = [start for start in starts if start > gap]
    assert len(rounds) == len(expected)
    for (trains, measures), start in zip(rounds, expected, strict=True):
        assert (trains == (times < start - gap)).all()
        assert (measures == ((times >= start) & (times < start + 20))).all()


def test_ties_and_missing_times() -> None:
    """Rows with the same time are on one side, and those without one are on none."""
    times = np.repeat([2000.0, 2001.0, 2002.0, np.nan], 100)
    rounds = Folds(5).of_rows(np.arange(400), times=times)
    assert [(trains.sum(), measures.sum()) for trains, measures in rounds] == [(100, 100), (200, 100)]
    assert not any(each[times != times].any() for masks in rounds for each in masks)
    assert Folds(5).of_rows(np.arange(9), times=np.full(9, 4.0)) == []
    assert Folds(5).of_rows(np.arange(9), times=np.full(9, np.nan)) == []


@pytest.mark.parametrize("forward", [Forward((3.0,)), Forward((3.0, 5.0, 8.0), 2.0), Forward((3.0, 4.0), 2.5)])
def test_sql_and_memory_number_the_same_parts(forward: Forward) -> None:
    times = np.linspace(0, 9, 19)
    select = exp.select(exp.alias_(forward.part(exp.column("t")), "part")).from_("rows")
    found = execute(select, tables={"rows": [{"t": time} for time in times.tolist()]})
    assert [row[0] for row in found.rows] == forward.parts(times).tolist()


def test_the_parts_of_a_round_are_among_those_of_the_next() -> None:
    rounds = Forward((3.0, 5.0, 8.0), 1.0).rounds
    assert all(first.trains < second.trains for first, second in pairwise(rounds))
    assert not any(each.trains & each.measures for each in rounds)
