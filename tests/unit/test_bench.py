"""The parts of the benchmarks that measure nothing: statistics, tables, tuning, the guard, what a matrix means."""

import doctest
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.checks import check, shapes
from bench.races import competitors, grids, plan, tasks
from bench.races.alone import numbered
from bench.races.lines import Worst, lines, worst
from bench.races.matrix import matrix, scores
from bench.races.measure import Answer, Spread
from bench.races.measure import run as run_job
from bench.races.report import _series, report
from bench.races.results import DIRTY, OUT_OF_TIME, Entry, RaceResult, Results, machine
from sqlsvm.engine import connect

BASELINE = {
    "DuckDB / star / pass statements": 7.0,
    "DuckDB / star / pass rows": 1000.0,
    "DuckDB / star / pass: active rows": 400.0,
    "DuckDB / star / passes to 1e-3": 4.0,
}


# -- the guard ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("figure", "now", "worse"),
    [
        ("pass statements", 8.0, True),
        ("pass statements", 6.0, False),
        ("pass rows", 1052.0, False),
        ("pass rows", 1053.0, True),
        ("pass: active rows", 500.0, True),
        ("passes to 1e-3", 5.0, False),
        ("passes to 1e-3", 6.0, True),
    ],
)
def test_a_figure_may_grow_by_its_slack(figure: str, now: float, worse: bool) -> None:
    (change,) = check.changes(BASELINE, BASELINE | {f"DuckDB / star / {figure}": now})
    assert change.worse is worse


def test_the_check_fails_on_a_regression_and_says_what_to_type(capsys: pytest.CaptureFixture[str]) -> None:
    assert check.report(BASELINE, BASELINE | {"DuckDB / star / pass statements": 9.0}) == 1
    said = capsys.readouterr().out
    assert "WORSE  DuckDB / star / pass statements: 7 -> 9" in said
    assert "make bench-check UPDATE=1" in said


def test_the_check_passes_on_an_improvement_and_reports_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert check.report(BASELINE, BASELINE | {"DuckDB / star / pass rows": 500.0}) == 0
    said = capsys.readouterr().out
    assert "pass rows: 1,000 -> 500" in said
    assert "UPDATE=1" in said
    assert check.report(BASELINE, BASELINE) == 0


def test_a_renamed_statement_is_no_regression() -> None:
    found = {name.replace("active rows", "rows that count"): n for name, n in BASELINE.items()}
    assert [str(c).strip() for c in check.changes(BASELINE, found)] == [
        "DuckDB / star / pass: rows that count: none -> 400",
        "DuckDB / star / pass: active rows: 400 -> none",
    ]
    assert not any(c.worse for c in check.changes(BASELINE, found))


def test_the_committed_baseline_counts_every_instance_in_every_engine() -> None:
    baseline = json.loads(check.BASELINE.read_text(encoding="utf-8"))
    wanted = {f"{e} / {i} / {check.PASSES}" for e in check.ENGINES for i in check.INSTANCES}
    wanted |= {f"{e} / tiny star / {check.CALLS}" for e in check.ENGINES}
    assert wanted <= set(baseline)


# -- races -------------------------------------------------------------------------------------------------------------


def test_spread() -> None:
    assert Spread.of([3.0, 1.0, 2.0, 9.0]) == Spread(2.5, 1.0, 9.0, 4)


def test_a_turn_is_over_when_everybody_has_run_who_can() -> None:
    entries = [Entry("a", [1.0, 1.5]), Entry("b", error="not possible")]
    assert RaceResult("r", "", 1e-4).turns == 0
    assert RaceResult("r", "", 1e-4, entries=entries).turns == 2
    assert RaceResult("r", "", 1e-4, entries=[*entries, Entry("c", [1.0])]).turns == 1


def test_what_time_was_too_short_for_is_not_complete() -> None:
    entries = [Entry("a", [1.0]), Entry("b", error="more than 60 s")]
    assert RaceResult("r", "", 1e-4, entries=entries).complete
    assert not RaceResult("r", "", 1e-4, entries=[*entries, Entry("c", error=OUT_OF_TIME)]).complete
    assert not RaceResult("r", "", 1e-4, error=OUT_OF_TIME).complete


def test_what_goes_on_loses_nothing(tmp_path: Path) -> None:
    """A race that is run again stands where it stood; one for which there was no time leaves what there was."""
    entries = [Entry("a", [1.0])]
    found = Results({"revision": "abc"}, [RaceResult(name, "", 1e-4, entries=entries) for name in "pq"])
    found.save(tmp_path / "results.json")
    again = Results.load(tmp_path / "results.json").again({"revision": f"abc{DIRTY}"})
    assert (again.goes, [race.name for race in again.races]) == (2, ["p", "q"])
    again.put(RaceResult("p", "", 1e-4, entries=[Entry("a", [1.0, 2.0])]))
    again.put(RaceResult("q", "", 1e-4, error=OUT_OF_TIME))
    again.put(RaceResult("r", "", 1e-4, error=OUT_OF_TIME))
    assert [(race.name, race.turns) for race in again.races] == [("p", 2), ("q", 1), ("r", 0)]
    assert again.begun("", "r") is None


def test_what_a_run_writes_is_no_change_of_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    (tmp_path / "bench").mkdir()
    code, page = tmp_path / "code.py", tmp_path / "bench" / "RESULTS.md"
    code.write_text("x = 1\n")
    page.write_text("# Results\n")
    git("init")
    git("add", ".")
    git("commit", "-m", "all")
    monkeypatch.chdir(tmp_path / "bench")
    page.write_text("# Results of today\n")
    clean = str(machine("")["revision"])
    assert not clean.endswith(DIRTY)
    code.write_text("x = 2\n")
    assert machine("")["revision"] == clean + DIRTY


def test_another_revision_is_another_run() -> None:
    with pytest.raises(SystemExit, match="start anew"):
        Results({"revision": "abc"}).again({"revision": "abd"})


def member(x: float, *entries: Entry) -> RaceResult:
    return RaceResult(f"{x:g} rows", "", 1e-4, series="rows", x=x, entries=list(entries))


def test_who_failed_at_a_size_is_not_asked_at_a_larger_one() -> None:
    failed, late = Entry("a", error="more than 60 s"), Entry("b", error=OUT_OF_TIME)
    found = Results({}, [member(10, Entry("a", [1.0]), late), member(100, failed, Entry("b", [1.0]))])
    assert found.gave_up("rows", 1000, "a")
    assert not found.gave_up("rows", 100, "a")
    assert not found.gave_up("rows", 1000, "b")
    assert not found.gave_up("columns", 1000, "a")


def test_a_series_says_how_often_everybody_ran() -> None:
    once, often = Entry("a", [1.0]), Entry("a", [3.0, 1.0, 2.5])
    page = [str(line) for line in _series([member(10, once)])]
    assert "One turn." in page
    assert "| a | 1.00 |" in page
    page = list(_series([member(10, often), member(20_000, often, Entry("b", error="not possible: 20,000 rows"))]))
    assert "Medians of 3 turns (least-most)." in page
    assert "| seconds | 10 | 20,000 |" in page
    assert page[-2:] == ["| a | 2.50 (1.00-3.00) | 2.50 (1.00-3.00) |", "| b |  | not possible |"]
    assert "Medians of 1 to 3 turns (least-most)." in list(_series([member(10, once), member(20, often)]))


def test_every_race_can_be_run() -> None:
    for race in (*plan.FULL, *plan.growth(), *plan.QUICK):
        assert set(race.competitors) <= set(competitors.COMPETITORS)
        assert tasks.task(race.family, **race.sizes).text
    assert len({(r.series, r.name) for r in plan.FULL}) == len(plan.FULL)


def test_a_job_that_fails_is_an_answer() -> None:
    answer = run_job({"role": "compete", "competitor": "nobody", "family": "star", "sizes": {}}, 60)
    assert answer.said is None
    assert "nobody" in answer.error


def test_a_job_that_takes_too_long_is_an_answer() -> None:
    assert run_job({"role": "passes", "rows": 3000}, 0.01) == Answer(None, "more than 0 s", timed_out=True)


def test_tuning_takes_the_first_setting_that_reaches_the_objective() -> None:
    tried: list[float] = []

    def fit(setting: grids.Setting) -> float:
        tried.append(setting["tol"])
        return float(setting["tol"])

    settings = [{"tol": tol} for tol in (1.0, 0.1, 0.01)]
    assert grids.tuned(settings, fit, lambda tol: 5 + tol, 5.2).setting == {"tol": 0.1}
    assert tried == [1.0, 0.1]
    assert grids.tuned(settings, fit, lambda tol: 5 + tol, 0.0).setting == {"tol": 0.01}
    assert grids.tuned(settings, fit, lambda tol: 5 + tol, 5.2, {"tol": 1.0}).setting == {"tol": 1.0}


# -- the matrix of a peer ----------------------------------------------------------------------------------------------


def test_a_matrix_gives_its_weights_on_the_original_columns_and_takes_them_back() -> None:
    rng = np.random.default_rng(0)
    age, town = rng.normal(40, 10, 50), rng.choice(["a", "bb"], 50)
    age[3] = np.nan
    made = matrix("y", (), {"y": rng.integers(0, 2, 50), "age": age, "town": town})
    beta = np.array([0.3, -1.0, 0.5, 0.25])
    given = made.given(beta)
    assert made.beta(given) == pytest.approx(beta)
    filled = np.where(np.isnan(age), np.nanmean(age), age)
    shares = np.array([given["weights"]["town"][t] for t in town.tolist()])
    scores = given["intercept"] + given["weights"]["age"] * filled + shares
    assert made.x @ beta == pytest.approx(scores)
    assert made.objective(beta, 0.1) == pytest.approx(np.maximum(0, 1 - made.y * scores).mean() + 0.1 * beta @ beta)


def test_examples_of_the_docstrings_are_so() -> None:
    assert doctest.testmod(grids).failed == 0
    assert (
        doctest.testmod(pytest.importorskip("bench.races.draw", reason="the extra bench is not installed")).failed == 0
    )


# -- the page ----------------------------------------------------------------------------------------------------------


def results() -> Results:
    proof = {"objective": 0.5, "objective_upper": 0.5, "lower_bound": 0.4999, "gap": 2e-4}
    history: list[dict[str, Any]] = [{"pass": 1, **proof}]
    ours = Entry("sqlsvm", [2.0, 1.0, 3.0], objective=(0.5, 0.5), proof=proof, history=history, client_bytes=9e7)
    peer = Entry("export + LIBLINEAR", [8.0], objective=(0.502, 0.502), setting={"tol": 0.1})
    failed = Entry("export + SGD", error="not possible: 1e+09 rows, 176 GB")
    race = RaceResult("star", "some facts", 1e-4, 1e9, 1.76e11, [ours, peer, failed], dict(proof))
    grown = RaceResult("10 facts", "", 1e-4, 10.0, 80.0, [ours, failed], dict(proof), "facts", 10.0)
    look = {"race": "star", "engine": "duckdb", "forms": {"pass": [0.1], "cased": [0.4]},
            "statements": [{"statement": "totals", "rows": 1.0, "seconds": 0.1}]}  # fmt: skip
    passes = [{"solver": "dane", "lam": 1e-3, "tol": 1e-2, "passes": [1, 2, 2]}]
    return Results(machine("PostgreSQL 15"), [race, grown], [look], passes)


def test_the_page_says_who_reached_the_objective_and_who_has_a_proof() -> None:
    lines = report(results()).splitlines()
    ours, peer, failed = (next(li for li in lines if li.startswith(f"| {e.competitor} |"))
                          for e in results().races[0].entries)  # fmt: skip
    assert "**2.00** (1.00-3.00) | 3 | 1.00 |  | 0.0e+00 | 2.0e-04 | 1 | 90 |" in ours
    assert "| 4.00 |  | 4.0e-03 **not reached** | none |" in peer
    assert peer.endswith("| tol 0.1 |")
    assert "not possible: 1e+09 rows, 176 GB" in failed


def test_the_page_shows_growth_and_one_pass() -> None:
    page = report(results())
    assert "| seconds | 10 |\n|---|---|\n| sqlsvm | 2.00 (1.00-3.00) |\n| export + SGD | not possible |" in page
    assert "| star | duckdb | 0.100 (0.100-0.100) |  | 0.400 (0.400-0.400); the pass is 0.25 x | 1 | totals |" in page
    assert "| dane | 0.001 | 1 2 2 |" in page


@pytest.mark.slow
def test_the_page_shows_the_pictures_that_are_drawn(tmp_path: Path) -> None:
    draw = pytest.importorskip("bench.races.draw", reason="the extra bench is not installed").draw
    found = results()
    found.descent = [{"epsilon": 0.0, "excess": [1.0, 0.1]}]
    found.races[1].series = "join rows of something"
    (tmp_path / "growth.png").touch()
    (tmp_path / "other.png").touch()
    draw(found, tmp_path)
    drawn = {path.stem for path in tmp_path.glob("*.png")} - {"other"}
    assert (tmp_path / "other.png").exists()
    assert drawn == {"join_rows", "convergence", "passes", "statements", "descent"}
    assert set(re.findall(r"pictures/(\w+)\.png", report(found))) == drawn


def test_every_row_of_a_table_is_as_wide_as_its_header() -> None:
    widths: list[int] = []
    for line in report(results()).splitlines():
        if line.startswith("|"):
            widths.append(line.count("|"))
        else:
            assert len(set(widths)) <= 1
            widths = []


def test_results_come_back_from_their_file(tmp_path: Path) -> None:
    results().save(tmp_path / "results.json")
    assert Results.load(tmp_path / "results.json") == results()


def test_lines_that_must_hold() -> None:
    found = results()
    found.races[0].entries[1].seconds = [20.0]
    asked = {line.asked: line for line in lines(found)}
    assert asked["star, sqlsvm / (export + LIBLINEAR)"].verdict == "holds"
    assert asked["star, sqlsvm / (export + LIBLINEAR)"].found == 0.1
    assert asked["star, one pass / flat aggregate, duckdb"].found == 0.25
    assert asked["chain of 10^9 rows, sqlsvm, seconds"].verdict == "not measured"
    found.races[0].entries[0].seconds = [7.0]
    assert lines(found)[0].verdict == "**missed**"
    named = {race.name for race in plan.FULL}
    assert {line.asked.partition(",")[0] for line in lines(found)} <= named


def test_the_worst_ratio_is_to_the_best_peer_in_the_same_place() -> None:
    """A peer that does not reach the objective is none, and of our two ways the faster one counts."""
    found, at = results(), (0.5, 0.5)
    assert worst(found) is None
    found.races[0].entries += [Entry("sample", [4.0], objective=at), Entry("sqlsvm, offloaded", [1.0], objective=at)]
    assert worst(found) == Worst(0.25, "star", "sqlsvm, offloaded", "sample")
    found.races[1].entries += [Entry("sqlsvm, DuckDB", [3.0], objective=at), Entry("flat, DuckDB", [2.0], objective=at)]
    assert worst(found) == Worst(1.5, "facts, 10 facts", "sqlsvm, DuckDB", "flat, DuckDB")
    assert "**1.50** is the worst ratio" in report(found)
    found.races[1].entries += [Entry("sample + any, DuckDB", [1.0], objective=at)]
    assert worst(found) == Worst(1.5, "facts, 10 facts", "sqlsvm, DuckDB", "flat, DuckDB")


def test_peers_with_our_sampler_stand_apart() -> None:
    found = results()
    found.races[0].entries.append(Entry("sample + any", [1.0], objective=(0.5, 0.5)))
    fair, apart = report(found).split("With our sampler, and without a proof:")
    assert "| export + LIBLINEAR |" in fair
    assert "| sample + any |" in apart
    assert "| sample + any |" not in fair


def test_a_line_has_the_auc_of_the_rows_held_out() -> None:
    found = results()
    found.races[0].entries[0].auc = 0.75
    found.races[0].entries.append(Entry("export + LightGBM", [1.0], auc=0.8))
    page = report(found)
    assert "| 1.00 | 0.7500 | 0.0e+00 |" in page
    assert "| export + LightGBM | **1.00** (1.00-1.00) | 1 | 0.50 | 0.8000 | another objective | none |" in page


@pytest.mark.parametrize("family", sorted(set(tasks.FAMILIES) - set(tasks.REAL)))
def test_as_many_rows_are_trained_on_and_others_are_held_out(family: str) -> None:
    sizes = {"history": {"orders": 300, "visits": 500, "customers": 20}, "star": {"facts": 300, "rows": 20},
             "posts": {"posts": 300, "users": 20, "badges": 50, "days": 10}, "snowflake": {"facts": 300},
             "categories": {"rows": 300, "values": 50}, "wide": {"rows": 300, "width": 50}}  # fmt: skip
    sized = sizes.get(family, {"rows": 300, "keys": 10})
    whole, made = tasks.task(family, **sized), tasks.task(family, **sized, unseen=10)
    tables = made.tables()
    own, others = tables[made.home], tables[f"{made.home}{tasks.UNSEEN}"]
    assert [len(own[made.label]), len(others[made.label])] == [300, 30]
    assert len(whole.tables()[made.home][made.label]) == 300
    assert not made.order or own[made.order].max() < others[made.order].min()
    assert f"{made.home}{tasks.UNSEEN} AS" in tasks.held_out(made).text


def test_rows_that_belong_together_are_held_out_together() -> None:
    own = {"y": np.arange(22), "ticket": np.array([1] * 10 + [2] * 5 + [3] * 7)}
    made = tasks.parted(tasks.Task("", lambda: {"t": dict(own)}, "", home="t", order="ticket"), 10)
    assert [set(made[name]["ticket"].tolist()) for name in ("t", "t_unseen")] == [{1, 2}, {3}]


def test_a_peer_alone_imports_nothing_of_ours() -> None:
    code = "import sys, bench.races.alone; print([m for m in sys.modules if m.split('.')[0] in ('sqlsvm', 'sqlglot')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_other_rows_have_the_scores_of_their_known_categories() -> None:
    given = {"intercept": 1.0, "weights": {"age": 2.0, "town": {"a": 0.5}}}
    columns = {"age": np.array([1.0, np.nan, 3.0]), "town": np.array(["a", "a", "new"], dtype=object)}
    assert scores(given, columns, {"age": 10.0}).tolist() == [3.5, 21.5, 7.0]
    assert numbered(columns, {"town": ["b", "a"]})[:, 1] == pytest.approx([1, 1, np.nan], nan_ok=True)


def test_the_tasks_with_a_signal_have_one() -> None:
    """The keys tell most of the label: the mean of the column that follows them, over the rows with a key."""
    for made, key, column, other in (
        (tasks.task("chain", rows=4000, keys=50, signal=1), "k1", "x0_0", "t0"),
        (tasks.task("hub", rows=4000, keys=50, signal=1), "k", "x1_0", "h1"),
    ):
        tables = made.tables()
        own, met = next(t for t in tables.values() if "y" in t), tables[other]
        told = tasks.key_mean(met[column], met[key], 50)[own[key]]
        assert np.corrcoef(told, own["y"])[0, 1] > 0.4


def test_the_forty_shapes_are_fixed_and_cover_what_they_should() -> None:
    made = list(shapes.shapes())
    assert made == list(shapes.shapes())
    assert len(made) == 40
    for shape in made:
        least, most = shapes.FACTS
        assert least <= shape.facts <= most
        assert 1 <= len(shape.dimensions) <= shapes.MOST_DIMENSIONS
        assert all(10 <= d.rows <= 0.3 * shape.facts and 1 <= d.columns <= 8 for d in shape.dimensions)
    for special in ("two levels", "few rows met", "few partners", "label in a dimension"):
        assert sum(special in str(shape) for shape in made) >= 4


def test_a_shape_is_passed_over_by_every_plan_and_by_hand() -> None:
    dimensions = shapes.Dimension("d0", 50, 3, met=0.5), shapes.Dimension("d1", 10, 2, of="d0", found=0.8)
    with connect("duckdb:") as engine:
        found = shapes.look(engine, shapes.Shape(0, 2000, 1, dimensions), 1)
        assert not engine.table_names()
    assert set(found.plans) == {"at once", "active rows"}
    assert found.ratio >= 1
    assert all(spent.wall > 0 for spent in (*found.plans.values(), found.by_hand))
    assert len(list(shapes.summary([found]))) == 3


def test_unreached_is_relative_to_the_best_of_all() -> None:
    race = RaceResult("r", "", 1e-4, entries=[Entry("a", objective=(1.0, 1.0)), Entry("b", objective=(1.0011, 1.0011))])
    assert [e.reaches(race.best) for e in race.entries] == [True, False]
    race.reference = {"objective": 0.99, "objective_upper": 0.99}
    assert [e.reaches(race.best) for e in race.entries] == [False, False]
    assert Entry("c").reaches(race.best) is None
