"""What the benchmarks say of others must be true: the export, the judge, the hand-written pass, a whole race."""

import os
from pathlib import Path

import numpy as np
import pytest
from sqlglot import exp

from bench.races import madlib, run, tasks
from bench.races.competitors import scaled
from bench.races.export import exported
from bench.races.flat import FlatOracle
from bench.races.judge import judge
from bench.races.matrix import matrix, scores
from bench.races.plan import Race
from bench.races.results import Results
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.opening import open_problem
from sqlsvm.solve import dane
from sqlsvm.solve.penalty import L2
from sqlsvm.solve.solution import Effort

SNOWFLAKE = tasks.task("snowflake", facts=500)
CHAIN = tasks.task("chain", rows=60, keys=6)
STAR = tasks.task("star", facts=500, rows=20, width=2)


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A DuckDB with the tables of all three."""
    url = f"duckdb:{tmp_path / 'bench.duckdb'}"
    with connect(url) as engine:
        for task in (SNOWFLAKE, CHAIN, STAR):
            tasks.load(engine, task.tables())
    return url


def test_both_engines_export_the_same_rows(file: str, postgres_dsn: str) -> None:
    tables = SNOWFLAKE.tables()
    with connect(postgres_dsn) as engine:
        tasks.load(engine, tables)
    ours, theirs = exported(postgres_dsn, SNOWFLAKE), exported(file, SNOWFLAKE)
    with connect(postgres_dsn) as engine:
        tasks.unload(engine, tables)
    assert list(ours) == list(theirs)
    assert sorted(zip(*(v.tolist() for v in ours.values()), strict=True)) == sorted(
        zip(*(v.tolist() for v in theirs.values()), strict=True)
    )


def test_a_null_of_an_export_is_nan(postgres: Engine, postgres_dsn: str) -> None:
    x = np.array([1.5, None, -2.0], dtype=object)
    tables = {"t": {"y": np.array([0, 1, 1]), "x": x, "c": np.array(["a", None, "bb"], dtype=object)}}
    tasks.load(postgres, tables)
    rows = exported(postgres_dsn, tasks.Task("SELECT y, x, c FROM t", dict, ""))
    tasks.unload(postgres, tables)
    assert rows["x"] == pytest.approx([1.5, np.nan, -2.0], nan_ok=True)
    assert rows["c"].tolist() == ["a", "", "bb"]


@pytest.mark.parametrize("task", [SNOWFLAKE, CHAIN, STAR], ids=["snowflake", "chain", "star"])
def test_both_judges_agree(file: str, task: tasks.Task) -> None:
    rows = matrix(task.label, task.categorical, exported(file, task))
    rng = np.random.default_rng(0)
    models = [rows.given(rng.normal(size=rows.x.shape[1]) / 3) for _ in range(2)]
    by_rows, by_pass = (judge(task, file, models, cells)["intervals"] for cells in (1.0, 1e12))
    assert len(by_rows) == 2
    for (exact, _), (low, high) in zip(by_rows, by_pass, strict=True):
        assert low - 1e-9 <= exact <= high + 1e-9
        assert high - low < 0.02 * exact


@pytest.mark.parametrize("family", ["snowflake", "chain", "star"])
def test_the_auc_is_that_of_the_rows_held_out(tmp_path: Path, family: str) -> None:
    """Of a sample it is near that of all rows, and that of all is what another way to count gives."""
    sizes = {"snowflake": {"facts": 3000}, "chain": {"rows": 600, "keys": 60}, "star": {"facts": 3000, "rows": 20}}
    made, url = tasks.task(family, **sizes[family], unseen=50), f"duckdb:{tmp_path / 'other.duckdb'}"
    with connect(url) as engine:
        tasks.load(engine, made.tables())
    rows = matrix(made.label, made.categorical, exported(url, made))
    beta = np.random.default_rng(0).normal(size=rows.x.shape[1]) / 3
    models = [rows.given(sign * beta) for sign in (1, -1)]
    exact, opposite = judge(made, url, models, 1.0)["aucs"]
    sampled, _ = judge(made, url, models, 1e12)["aucs"]
    columns = exported(url, tasks.held_out(made))
    found, y = scores(models[0], columns, dict.fromkeys(columns, 0.0)), columns["y"] > 0
    above, rest = found[y][None, ::7], found[~y][:, None]
    assert exact == pytest.approx((above > rest).mean() + (above == rest).mean() / 2, abs=0.05)
    assert exact == pytest.approx(1 - opposite)
    assert sampled == pytest.approx(exact, abs=0.02)


def test_the_hand_written_pass_is_the_relational_one(engine: Engine) -> None:
    tables = STAR.tables()
    tasks.load(engine, tables)
    flat = FlatOracle(engine, STAR)
    beta = np.random.default_rng(1).normal(size=flat.dimension) / 2
    mine = flat.pass_(beta)
    cased = flat.run(flat.cased, beta)
    with open_problem(engine, STAR.text, STAR.options) as problem:
        intercept, *slopes = flat.raw(beta).tolist()
        same = scaled(problem, {"intercept": intercept, "weights": dict(zip(flat.names, slopes, strict=True))})
        cut = JoinOracle(problem).pass_(same, None)
    filtered = flat.run(flat.filtered, beta)
    tasks.unload(engine, tables)
    assert same == pytest.approx(beta)
    assert mine.slope == pytest.approx(cut.slope)
    assert mine.offset == pytest.approx(cut.offset)
    assert mine.value_low == pytest.approx(cut.value_low)
    assert cased == pytest.approx(filtered[2:])


def test_madlib_gets_the_matrix_of_the_other_peers(postgres: Engine, postgres_dsn: str) -> None:
    x = np.array([1.5, None, -2.0, 4.0], dtype=object)
    c = np.array(["a", None, "bb", "a"], dtype=object)
    tables = {"t": {"y": np.array([0, 1, 1, 0]), "x": x, "same": np.array([3.0, 3.0, 3.0, 3.0]), "c": c}}
    task = tasks.Task("SELECT y > 0 AS y, x, same, c FROM t", dict, "", nulls="mean")
    tasks.load(postgres, tables)
    expected = matrix(task.label, task.categorical, exported(postgres_dsn, task))
    with madlib.clean(postgres):
        layout = madlib.prepare(postgres, task, shuffled=False)
        made = postgres.fetch(exp.select("*").from_(madlib.ROWS))
    tasks.unload(postgres, tables)
    ours = np.column_stack([made[madlib.SIGN], np.array(made[madlib.FEATURES].tolist())])
    theirs = np.column_stack([expected.y, expected.x.toarray()[:, [0, 1, 2, 4, 5]]])  # without a column for no category
    assert ours == pytest.approx(theirs)
    assert layout.rows == 4
    beta = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    known = expected.beta(layout.given(beta))
    assert known == pytest.approx([0.1, 0.2, 0.3, 0.0, 0.4, 0.5])


def test_our_solver_proves_its_optimum_on_hand_written_passes(file: str) -> None:
    with connect(file) as engine:
        flat = FlatOracle(engine, STAR)
        found = dane.solve(flat, L2(STAR.lam), Effort(tol=1e-3))
    assert found.converged


@pytest.mark.slow
def test_a_race_from_beginning_to_end(tmp_path: Path) -> None:
    competitors = ("sqlsvm, DuckDB", "export + LIBLINEAR", "MADlib", "export + LightGBM, DuckDB", "sample + LIBLINEAR")
    sizes = {"facts": 3000, "rows": 100, "width": 3}
    (race,) = raced(Race("small", "star", competitors, sizes, 1, 300, 120), tmp_path).races
    ours, peer, named, trees, sampled = race.entries
    assert race.error == ""
    assert race.join_rows == 3000
    assert ours.reaches(race.best)
    assert peer.reaches(race.best)
    assert ours.proof is not None
    assert peer.proof is None
    assert trees.objective is None
    aucs = [entry.auc for entry in (ours, peer, trees, sampled)]
    assert all(auc and 0.8 < auc < 1 for auc in aucs)
    assert named.reaches(race.best) if os.environ.get("SQLSVM_MADLIB_DSN") else named.error
    assert "| export + LIBLINEAR |" in (tmp_path / "RESULTS.md").read_text()
    assert race.turns == 1
    found = raced(
        Race("small", "star", competitors, sizes, 2, 300, 120), tmp_path, Results.load(tmp_path / "results.json")
    )
    assert found.goes == 2
    (more,) = found.races
    assert more.turns == 2
    assert more.entries[0].seconds[0] == ours.seconds[0]
    assert (more.reference, more.entries[0].objective) == (race.reference, ours.objective)


@pytest.mark.slow
def test_a_series_runs_once_and_goes_on(tmp_path: Path) -> None:
    race = Race("few", "star", ("sqlsvm, DuckDB", "export + LIBLINEAR"), {"facts": 2000, "rows": 100, "width": 3},
                2, seconds=0.0, series="rows", x=2000)  # fmt: skip
    (first,) = raced(race, tmp_path).races
    assert first.turns == 1
    assert "One turn." in (tmp_path / "RESULTS.md").read_text()
    (all_,) = raced(race, tmp_path, Results.load(tmp_path / "results.json")).races
    assert [len(entry.seconds) for entry in all_.entries] == [2, 2]
    assert [entry.setting for entry in all_.entries] == [entry.setting for entry in first.entries]
    assert "Medians of 2 turns" in (tmp_path / "RESULTS.md").read_text()


def raced(race: Race, folder: Path, before: Results | None = None) -> Results:
    run.run([race], folder, 10, 0, before)
    return Results.load(folder / "results.json")
