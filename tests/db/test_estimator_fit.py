"""RelationalSVC on a database: what it keeps, and that its scores are those of SQL."""

from pathlib import Path

import numpy as np
import pytest
from sqlglot import exp, parse_one

from sqlsvm import ConvergenceWarning, RelationalSVC
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError
from sqlsvm.model.predict import predict, query_rows
from tests.ground.joins import categories, left_join
from tests.ground.opened import build


def test_it_is_the_model(engine: Engine) -> None:
    join = categories(np.random.default_rng(0))
    join.create(engine)
    svc = RelationalSVC(lam=1e-2, categorical=join.categorical, sample=1000)
    assert svc.fit(engine, join.query, label="y") is svc
    model = svc.model_
    assert svc.coef_.shape == (1, len(svc.feature_names_in_)) == (1, len(model.weights))
    assert {"x", "price", "month=3", "city=n° 2"} <= set(svc.feature_names_in_)
    assert svc.classes_.tolist() == [False, True]
    assert (svc.n_iter_, svc.history_) == (model.passes, model.history)
    assert svc.lower_bound_ <= svc.objective_ <= svc.objective_upper_
    assert 0 <= svc.gap_ <= 1e-3


@pytest.mark.parametrize("nulls", ["mean", "drop"])
def test_scores_are_those_of_the_database(engine: Engine, nulls: str) -> None:
    """With NULLs of two kinds; in memory, as a prediction and as an expression."""
    join = left_join(np.random.default_rng(1))
    join.create(engine)
    svc = RelationalSVC(lam=1e-2, sample=1000).set_params(nulls=nulls).fit(engine, join.query, "y")
    found = engine.fetch(predict(engine, svc.model_))
    np.testing.assert_allclose(svc.decision_function(found), found["score"], rtol=1e-9, atol=1e-12)
    known = {name: values[~np.isnan(found["score"])] for name, values in found.items()}
    assert svc.predict(known).tolist() == known["prediction"].tolist()
    score = parse_one(svc.score_sql(), read=engine.dialect).as_("s")
    scores = engine.fetch(exp.select(score).from_(query_rows(engine, svc.model_).subquery("r")))["s"]
    np.testing.assert_allclose(np.sort(scores), np.sort(found["score"]), rtol=1e-9, atol=1e-12)


def test_evaluation(engine: Engine) -> None:
    """On its own rows, and on others."""
    join = categories(np.random.default_rng(2))
    join.create(engine)
    svc = RelationalSVC(lam=1e-2, categorical=join.categorical, class_weight="balanced", sample=1000)
    svc.fit(engine, join.query, "y")
    found = engine.fetch(predict(engine, svc.model_))
    right = found["y"] == found["prediction"]
    assert svc.evaluate().accuracy.value == pytest.approx(right.mean())
    fewer = svc.evaluate(query=f"{join.query} WHERE t.x > 0")
    assert fewer.accuracy.value == pytest.approx(right[found["x"] > 0].mean())


def test_a_url_is_opened_and_closed(tmp_path: Path) -> None:
    url = f"duckdb:{tmp_path / 'shop.db'}"
    join = categories(np.random.default_rng(3))
    with connect(url) as engine:
        join.create(engine)
    svc = RelationalSVC(lam=1e-1, sample=1000).fit(url, join.query, "y")
    assert svc.evaluate().exact
    assert svc.model_.label == "y"


def test_too_few_passes(duckdb: Engine) -> None:
    """A warning, and the model with what is proven of it; a refusal leaves the model as it was."""
    join = categories(np.random.default_rng(4))
    join.create(duckdb)
    svc = RelationalSVC(lam=1e-4, max_passes=1, sample=500)
    with pytest.warns(
        ConvergenceWarning, match=r"the gap is .* after 1 passes, not 0\.001: raise max_passes"
    ) as warned:
        svc.fit(duckdb, join.query, "y")
    assert warned[0].filename == __file__
    assert svc.n_iter_ == 1
    assert svc.gap_ > 1e-3
    before = svc.model_
    with pytest.raises(DataError, match="one class only"):
        svc.fit(duckdb, f"{join.query} WHERE t.y", "y")
    assert svc.model_ is before


IDS = """
CREATE TABLE f (y INT, id DECIMAL(20, 0), x INT);
INSERT INTO f SELECT CASE WHEN i % 7 < 2 * (i % 3) + 1 THEN 1 ELSE 0 END, 9007199254740992 + i % 3, i % 5
FROM GENERATE_SERIES(1, 300) AS g(i)
"""


def test_ids_beyond_doubles(engine: Engine) -> None:
    """A decimal would be read as another one's double; the hint is typed, and each integer has a weight of its own."""
    build(engine, IDS)
    svc = RelationalSVC(lam=1e-2, categorical=["id"], sample=1000)
    with pytest.raises(DataError, match="the category 9007199254740993 of id has more digits than a double") as refused:
        svc.fit(engine, "SELECT y, id, x FROM f", "y")
    assert refused.value.hint is not None
    typed = refused.value.hint.removeprefix("write ").partition(",")[0]
    for own, ids in ((typed, str), (typed.replace("text", "bigint"), int)):
        svc.fit(engine, f"SELECT y, {own}, x FROM f", "y")
        known = {w.category: w.weight for w in svc.model_.weights if w.feature == "id"}
        assert list(known) == [ids(9007199254740992 + n) for n in range(3)]
        assert len(set(known.values())) == 3
        found = engine.fetch(predict(engine, svc.model_))
        np.testing.assert_allclose(svc.decision_function(found), found["score"], rtol=1e-9, atol=1e-12)
        assert svc.predict(found).tolist() == found["prediction"].tolist()
