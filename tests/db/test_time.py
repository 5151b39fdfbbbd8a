"""Rows split by their time: what is held out is later than what trains, and each fold is measured on the part after the
rows of its training."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sqlsvm import RelationalSVC
from sqlsvm.engine.base import Engine, Values
from sqlsvm.errors import DataError, OptionError, QueryError, SqlsvmError
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.model.model import Model
from sqlsvm.run.data import Data
from sqlsvm.run.problems import Weighed
from sqlsvm.run.train import train
from tests.ground.opened import build
from tests.ground.trained import training
from tests.typed import asked, meant, typed

pytestmark = pytest.mark.twin

N = 600
QUERY = "SELECT o.y, o.x, v.m FROM o JOIN v ON v.c = o.c"
SCALED: dict[str, Any] = {"lam": 1e-2, "scale": "none"}


def orders(engine: Engine) -> None:
    """Two visits of each customer: a row of o is in two rows of the join. The days and the times say the same."""
    rng, i = np.random.default_rng(4), np.arange(N)
    x = rng.normal(size=N)
    build(engine, "CREATE TABLE o (c INT, x FLOAT8, n INT, y BOOLEAN, late BOOLEAN); CREATE TABLE v (c INT, m FLOAT8)")
    n = i * 37 % 100
    columns = {"c": i % 40, "x": x, "n": n, "y": x + rng.normal(size=N) > n / 100, "late": n > 90}
    engine.copy_in(meant(engine, "o"), columns)
    engine.copy_in(meant(engine, "v"), {"c": np.arange(80) % 40, "m": rng.normal(size=80)})
    typed(engine, "ALTER TABLE o ADD COLUMN day DATE")
    typed(engine, "ALTER TABLE o ADD COLUMN tm TIMESTAMP")
    typed(
        engine, "UPDATE o SET day = DATE '2024-01-01' + n, tm = TIMESTAMP '2024-01-01 12:00:00' + n * INTERVAL '1 day'"
    )


HELD: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "the latest fifth": ({"holdout": 0.2, "time": "day"}, "n < 80", "n >= 80", "2024-03-21"),
    "with a gap": ({"holdout": 0.2, "time": "tm", "gap": "10 days"}, "n < 70", "n >= 80", "2024-03-21 12:00:00"),
    "from a date on": ({"holdout": "2024-02-01", "time": "day"}, "n < 31", "n >= 31", "2024-02-01"),
    "a number": ({"holdout": "50", "time": "n", "gap": 5}, "n < 45", "n >= 50", "50"),
    "a share of numbers": ({"holdout": 0.1, "time": "n"}, "n < 90", "n >= 90", "90"),
}


@pytest.mark.twin(False)
@pytest.mark.thin(5)
@pytest.mark.parametrize("offload", [False, True])
@pytest.mark.parametrize("case", HELD)
def test_rows_held_out_are_later(engine: Engine, case: str, offload: bool) -> None:
    options, trains, held, start = HELD[case]
    copies = offload and not engine.abilities.in_process
    orders(engine)
    svc = RelationalSVC(**SCALED, **options, offload=copies, in_memory=0).fit(engine, QUERY, "y")
    model, alone = svc.model_, train(engine, "m", f"{QUERY} WHERE {trains}", training(**SCALED))
    assert model.options["holdout"] == start
    assert model.join_rows == alone.join_rows
    assert model.lower_bound <= alone.objective_upper
    assert alone.lower_bound <= model.objective_upper
    found = svc.evaluate(part="holdout")
    assert isinstance(found, Evaluation)
    rows = asked(engine, f"{QUERY} WHERE {held}")
    scores = svc.decision_function({name: rows[name] for name in ("x", "m")})
    y = rows["y"].astype(bool)
    assert found.positives == y.sum()
    assert found.negatives == (~y).sum()
    assert found.true_positive.value == (y & (scores > 0)).sum()


def test_an_output_that_is_the_time_is_no_feature(engine: Engine) -> None:
    orders(engine)
    text = "SELECT o.y, o.x, v.m, o.day AS placed FROM o JOIN v ON v.c = o.c"
    model = train(engine, "m", text, training(holdout=0.2, time="placed", lam=1e-2))
    assert [w.feature for w in model.weights] == ["x", "m"]
    assert Model.from_json(model.as_json()).options["holdout"] == "2024-03-21"


FOLDS: dict[str, tuple[dict[str, Any], int]] = {
    "days": ({"folds": 4, "time": "day"}, 0),
    "numbers with a gap": ({"folds": 4, "time": "n", "gap": 10}, 10),
    "times with a gap": ({"folds": 4, "time": "tm", "gap": "240 hours"}, 10),
}


@pytest.mark.slow
@pytest.mark.thin(3)
@pytest.mark.parametrize("in_memory", [0, None])
@pytest.mark.parametrize("case", FOLDS)
def test_folds_go_forward(engine: Engine, case: str, in_memory: int | None) -> None:
    """Each is the training on the rows before, and is measured on the part after it."""
    options, gap = FOLDS[case]
    orders(engine)
    found: list[tuple[float, Values]] = []

    def on_fold(problem: Data, weights: Mapping[str, Weighed]) -> None:
        rows = problem.moments.n if problem.raw is None else problem.raw["times"].astype(float).sum()
        found.append((rows, weights["m"].thetas[0]))

    asked = training(**SCALED, **options)
    asked = replace(asked, in_memory=in_memory)
    model = train(engine, "m", QUERY, asked, on_fold=on_fold)
    for (rows, theta), start in zip(found, (20, 40, 60, 80), strict=True):
        assert rows == 2 * N / 5
        text = f"{QUERY} WHERE n < {start - gap}"
        alone = train(engine, "m", text, training(**SCALED))
        again = train(engine, "m", text, training(**SCALED, max_passes=1), start=moved(model, theta))
        assert again.history[0]["objective"] <= alone.objective_upper * (1 + 2e-3)


@pytest.mark.parametrize("options", [{"time": "day"}, {"split_by": "c"}], ids=list)
def test_a_query_that_is_made_as_a_whole_need_not_return_the_column(engine: Engine, options: dict[str, Any]) -> None:
    """It is that of the table with the label, also if others have one of that name."""
    orders(engine)
    said = "MAX(o.x) OVER (PARTITION BY o.c ORDER BY o.n, o.x) AS best"
    rest = "FROM o JOIN h ON h.c = o.c AND h.day = o.day"
    whole = f"WITH h AS (SELECT DISTINCT c, day FROM o) SELECT o.y, o.x, {said} {rest}"
    part = f"WITH h AS (SELECT DISTINCT c, day FROM o) SELECT o.y, o.x, {said}, o.c, o.day {rest}"
    models = [
        train(engine, "m", query, training(**SCALED, holdout=0.2, **options))
        for query in (whole, f"SELECT r.y, r.x, r.best FROM ({part}) AS r")
    ]
    assert [w.feature for w in models[0].weights] == ["x", "best"]
    assert 0.6 * N < models[0].join_rows < N
    assert models[0].join_rows == models[1].join_rows
    assert models[0].objective_upper == pytest.approx(models[1].objective_upper, rel=1e-9)


def moved(model: Model, theta: Values) -> Model:
    return replace(model, intercept=float(theta[0]), weights=replace(model.weights, values=theta[1:]))


def test_rows_without_a_time_are_on_no_side(engine: Engine) -> None:
    orders(engine)
    typed(engine, "UPDATE o SET day = NULL WHERE n % 10 = 3")
    model = train(engine, "m", QUERY, training(holdout=0.2, time="day", lam=1e-2))
    assert model.join_rows + sum(model.trained_on.held_out.values()) == 2 * N * 9 / 10
    typed(engine, "UPDATE o SET day = NULL")
    with pytest.raises(DataError, match="no row of o has a day"):
        train(engine, "m", QUERY, training(holdout=0.2, time="day"))


def test_infinite_times_are_the_latest(engine: Engine) -> None:
    """No round begins at infinity."""
    orders(engine)
    typed(engine, "UPDATE o SET tm = TIMESTAMP 'infinity' WHERE n >= 50")
    measured: list[float] = []

    def on_fold(problem: Data, weights: Mapping[str, Weighed]) -> None:
        measured.append(problem.moments.n if problem.raw is None else len(problem.raw["times"]))

    train(engine, "m", QUERY, training(folds=4, time="tm", lam=1e-2), on_fold=on_fold)
    assert len(measured) == 2


REFUSED: dict[str, tuple[dict[str, Any], type[SqlsvmError], str]] = {
    "no such column": ({"time": "dat", "holdout": 0.2}, OptionError, "time: o, which has the label, has no column dat"),
    "of another table": ({"time": "m", "holdout": 0.2}, OptionError, "time: m is not a column of o"),
    "the label": ({"time": "y", "holdout": 0.2}, OptionError, "time: y is the label"),
    "no time": ({"time": "late", "holdout": 0.2}, QueryError, "time: late is of type"),
    "all rows": ({"time": "n", "holdout": "-1"}, DataError, "the join has no rows"),
    "no date": ({"time": "n", "holdout": "2024-01-01"}, OptionError, "holdout='2024-01-01': n is a number"),
    "no number": ({"time": "day", "holdout": "7"}, OptionError, "holdout=7: day is a date"),
    "a gap with a unit": ({"time": "n", "holdout": "7", "gap": "3 days"}, OptionError, "gap='3 days': n is a number"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_time(duckdb: Engine, case: str) -> None:
    options, error, said = REFUSED[case]
    orders(duckdb)
    with pytest.raises(error, match=said):
        train(duckdb, "m", QUERY, training(**options))


TYPED = (
    ({"time": "day"}, "time says which rows"),
    ({"holdout": "2024-01-01"}, "holdout='2024-01-01' says from when on"),
    ({"holdout": 0.2, "time": "day", "split_by": "c"}, "split_by keeps rows of one value together"),
    ({"holdout": 0.2, "gap": "30 days"}, "gap lies between"),
    ({"holdout": 0.2, "time": "day", "gap": "a while"}, "gap must be a span such as '30 days'"),
)


@pytest.mark.parametrize(("options", "said"), TYPED, ids=[said for _, said in TYPED])
def test_what_does_not_go_together(options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        training(**options)


def test_a_random_split_is_said(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    """It puts rows of one customer on both sides, and earlier and later ones. A unique key does no harm."""
    orders(engine)
    typed(engine, "ALTER TABLE o DROP COLUMN tm")
    caplog.set_level("INFO")
    options: dict[str, Any] = {"lam": 1e-2, "holdout": 0.2}

    def said(text: str, **more: Any) -> list[str]:
        caplog.clear()
        train(engine, "m", text, training(**options, **more))
        return [r.getMessage() for r in caplog.records if "split is random" in r.getMessage()]

    both = "rows with equal c (split_by='c') and earlier and later rows (time='day') are on both sides"
    assert said(QUERY) == [f"note: the split is random: {both}"]
    alone = "earlier and later rows (time='day') are on both sides"
    assert said("SELECT y, x FROM o") == [f"note: the split is random: {alone}"]
    assert said(QUERY, split_by="c") == []
    assert said(QUERY, time="day") == []
    assert said("SELECT y, x FROM (SELECT y, x FROM o) AS s") == []


FOUND: dict[str, dict[str, Any]] = {
    "an output elsewhere": {"time": "day", "holdout": 0.2},
    "forward": {"time": "day", "folds": 3},
    "an expression": {"time": "later", "holdout": 0.2},
    "no output": {"split_by": "circuit", "holdout": 0.4},
    "of folds": {"split_by": "circuit", "folds": 3},
    "equal by the join": {"split_by": "race", "holdout": 0.4},
}


@pytest.mark.twin(False)
@pytest.mark.thin(2)
@pytest.mark.parametrize("case", FOUND)
def test_what_the_label_finds_by_unique_keys_splits_it(engine: Engine, case: str) -> None:
    """As if the label's table had that column itself."""
    build(
        engine,
        """CREATE TABLE races AS SELECT race, DATE '2020-01-01' + CAST(race * 37 % 100 AS INT) AS day,
        race % 9 AS circuit
        FROM generate_series(1, 50) AS g(race);
        CREATE TABLE results AS SELECT n, n % 50 + 1 AS race, n * 7919 % 13 AS grid, n * 7919 % 13 + n % 5 < 7 AS podium
        FROM generate_series(1, 400) AS g(n);
        CREATE TABLE whole AS SELECT n, podium, grid, races.* FROM results JOIN races USING (race)""",
    )
    outputs = "podium, grid, ra.race, day, day + 3 AS later, circuit + grid AS z"
    text, asked_for = f"SELECT {outputs} FROM results r JOIN races ra USING (race)", FOUND[case]
    alone = f"SELECT {outputs.replace('ra.', '')} FROM whole"
    svcs = [RelationalSVC(lam=1e-2, **asked_for).fit(engine, each, "podium") for each in (text, alone)]
    ours, theirs = (svc.model_ for svc in svcs)
    assert (ours.features, ours.join_rows) == (theirs.features, theirs.join_rows)
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-3)
    assert ours.trained_on.held_out == theirs.trained_on.held_out
    if "split_by" not in asked_for and "folds" in asked_for:
        assert ours.validation["auc"].mean == pytest.approx(theirs.validation["auc"].mean, abs=1e-6)
