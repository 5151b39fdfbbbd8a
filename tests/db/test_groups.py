"""A model for each group of rows: each is that of a training on the rows of its group alone, and is proven for them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sqlglot import exp, parse_one

from sqlsvm.engine.base import Engine
from sqlsvm.model.model import Model
from sqlsvm.run.train import Training, train
from tests.db.test_numbers import met, numbers
from tests.ground.joins import Join, categories, chain, left_join, star
from tests.ground.opened import truth
from tests.ground.trained import assert_beside_liblinear, assert_proven, training, wish_of

BY = {
    "star": (star, "CASE s.store % 4 WHEN 0 THEN 'a' WHEN 1 THEN 'b''s' WHEN 2 THEN 'c' END"),
    "categories": (categories, "t.month"),
    "chain": (chain, "m.v"),
    "left join": (left_join, "c.k % 3 = 0"),
}


def made(shape: str, seed: int = 3) -> tuple[Join, str]:
    """A join that has the groups as the output g, and the expression that makes them."""
    make, by = BY[shape]
    join = make(np.random.default_rng(seed))
    return replace(join, query=join.query.replace("SELECT ", f"SELECT {by} AS g, ", 1)), by


def alone(engine: Engine, query: str, value: object, *, by: str = "g") -> str:
    """The query of one group, without the column that makes it."""
    select = parse_one(query, read=engine.dialect)
    assert isinstance(select, exp.Select)
    of_group = next(item for item in select.expressions if item.alias_or_name == by)
    select.set("expressions", [item for item in select.expressions if item is not of_group])
    is_own = exp.EQ(this=exp.paren(of_group.unalias().copy()), expression=exp.convert(value))
    return select.where(is_own).sql(engine.dialect)


def assert_as_alone(engine: Engine, part: Model, own: str, asked: Training) -> None:
    """Both bound the same optimum."""
    one = train(engine, "m", own, replace(asked, problem=replace(asked.problem, by=None)))
    assert part.join_rows == pytest.approx(one.join_rows)
    assert part.label_rows == pytest.approx(one.label_rows)
    assert part.label_centre == one.label_centre
    assert part.converged
    assert part.lower_bound <= one.objective_upper * (1 + 1e-9)
    assert one.lower_bound <= part.objective_upper * (1 + 1e-9)


OTHERS = (
    {"loss": "logistic", "class_weight": "balanced"},
    {"l1": 0.01, "scale": "none"},
    {"intercept": "free", "loss": "squared_hinge", "class_weight": (2.0, 1.0)},
    {"solver": "bundle", "scale": "maxabs", "lam": 0.1},
)


@pytest.mark.parametrize("sample", [None, 1])
@pytest.mark.parametrize("options", [{}, *(pytest.param(o, marks=pytest.mark.slow) for o in OTHERS)], ids=str)
@pytest.mark.parametrize("shape", BY)
def test_each_group_is_a_training_of_its_own(
    engine: Engine, shape: str, options: dict[str, Any], sample: int | None
) -> None:
    """Read and proven in memory, or, if it has more rows than the sample, by passes in the database."""
    join, _ = made(shape)
    asked = training(**{"lam": 1e-2, "categorical": join.categorical, "nulls": "mean", **options}, by="g")
    asked = replace(asked, effort=replace(asked.effort, sample=sample and 100))
    with join.created(engine):
        model = train(engine, "m", join.query, asked)
        assert len(model.groups) >= 2
        assert not model.skipped
        for of, part in zip(model.groups, model.parts, strict=True):
            own = alone(engine, join.query, of.value)
            assert_as_alone(engine, part, own, asked)
            if not options and sample is None:
                rows = truth(engine, own, wish_of(asked))
                assert_proven(engine, part, rows)
                assert_beside_liblinear(part, rows)
    rows = np.array([of.join_rows for of in model.groups])
    assert model.join_rows == rows.sum()
    assert model.objective == pytest.approx(np.average([of.objective for of in model.groups], weights=rows))
    assert model.gap == max(of.gap for of in model.groups)
