"""Commands as their users type them, files, snapshots, working tables, models."""

import io
import itertools
import stat
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlglot import exp, parse_one

from sqlsvm import RelationalSVC
from sqlsvm.ask.describe import describe
from sqlsvm.ask.evaluate import measure
from sqlsvm.ask.explain import explain, script
from sqlsvm.ask.inspect import inspect
from sqlsvm.ask.rows import on_all
from sqlsvm.demo import make
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, StatementError
from sqlsvm.engine.spark import Spark
from sqlsvm.errors import EngineError, OptionError
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict, save, write_csv, write_parquet
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.report.gather import gather_from
from sqlsvm.run.components import components
from sqlsvm.run.offload import copies
from sqlsvm.run.opening import labelled, open_problem
from sqlsvm.run.train import train
from sqlsvm.run.training import Training
from sqlsvm.store import open_store
from tests.sized import sized

LABEL = Training.of(label="y", lam=0.01)
LABEL_IN_PASSES = Training.of(label="y", lam=0.01, in_memory=0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """400 facts, 20 dimensions with a category and many-to-many visits."""
    folder, rng = tmp_path_factory.mktemp("files"), np.random.default_rng(0)
    k, x = rng.integers(0, 20, 400), rng.normal(size=400)
    facts = pa.table({"k": k, "x": x, "y": x + k / 10 + rng.normal(size=400) > 1})
    pq.write_table(facts, folder / "facts.parquet")
    pq.write_table(pa.table({"k": np.arange(20), "c": [f"c{i % 3}" for i in range(20)]}), folder / "dims.parquet")
    (folder / "visits.csv").write_text("k,minutes\n" + "".join(f"{i % 20},{i / 4}\n" for i in range(60)))
    return folder


def star(folder: Path) -> str:
    return f"SELECT f.y, f.x, d.c FROM '{folder}/facts.parquet' AS f JOIN '{folder}/dims.parquet' AS d ON d.k = f.k"


def chain(folder: Path) -> str:
    return star(folder).replace("d.c", "d.c, visits.minutes") + f" JOIN '{folder}/visits.csv' ON visits.k = f.k"


def left(spark: Engine) -> list[str]:
    session = spark._session  # type: ignore[attr-defined]
    stored = session.sql(f"SHOW TABLES IN {spark._database}").collect() if spark._database else []  # type: ignore[attr-defined]
    return [name for name in spark.table_names() if name.startswith("sqlsvm_")] + [row["tableName"] for row in stored]


def test_a_model_of_files_is_that_of_duckdb(spark: Engine, duckdb: Engine, folder: Path) -> None:
    one, other = (train(engine, "m", chain(folder), LABEL) for engine in (spark, duckdb))
    assert one.objective == pytest.approx(other.objective, rel=1e-3)
    assert max(one.lower_bound, other.lower_bound) <= min(one.objective_upper, other.objective_upper) * (1 + 1e-9)
    assert one.join_rows == other.join_rows
    assert left(spark) == []


def test_shuffle_files_are_private(spark: Engine) -> None:
    """Other users can read the files, but cannot enter the folder above them."""
    session = spark._session  # type: ignore[attr-defined]
    session.range(0, 100, 1, 2).selectExpr("id % 7 AS k").groupBy("k").count().collect()
    place = Path(session.sparkContext.getConf().get("spark.local.dir", tempfile.gettempdir()))
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert list(place.rglob("shuffle_*.data"))


USED = 400 * 3 + 20 * 2
"""Values of the columns that the query uses."""


@pytest.mark.parametrize("little", [USED, USED - 1])
def test_few_values_are_copied(spark: Engine, folder: Path, monkeypatch: pytest.MonkeyPatch, little: int) -> None:
    """Unless the user says no, or the catalog knows of many bytes."""
    monkeypatch.setattr(Spark, "size", lambda *_: 8.0)
    sized(monkeypatch, copied=little)
    model = train(spark, "m", star(folder), LABEL)
    assert ("offloaded from Spark" in model.engine) is (little == USED)
    assert ("copying" in model.phases) is (little == USED)
    assert train(spark, "m", star(folder), replace(LABEL, offload=False)).engine.startswith("Spark")


def test_many_bytes_are_not_counted(spark: Engine, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [f.stat().st_size for f in (folder / "facts.parquet", folder / "dims.parquet")]
    query, sent = labelled(spark, star(folder), LABEL), list[str]()
    monkeypatch.setattr(spark, "on_statement", sent.append)
    for little in (sum(sizes) // 16, sum(sizes) // 4):
        assert not any("COUNT(" in text for text in sent)
        sized(monkeypatch, copied=little)
        copies.copied(spark, query, None)
    assert any("EXPLAIN COST" in text for text in sent)
    assert any("COUNT(" in text for text in sent)


def test_what_is_asked_of_a_model(spark: Engine, duckdb: Engine, folder: Path, tmp_path: Path) -> None:
    model = train(spark, "m", star(folder), LABEL)
    measured = [on_all(e, model_on, lambda p: measure(p, model)) for e, model_on in ((spark, model),)]
    rows = spark.fetch(predict(spark, model))
    correct = (rows["prediction"] == rows["y"]).mean()
    assert measured[0].as_json()["accuracy"] == pytest.approx(correct, abs=1e-12)
    assert len(rows["score"]) == model.join_rows == 400
    of_csv = tmp_path / "new.csv"
    of_csv.write_text('x,c\n0.5,"c1"\n-1,c9\n')
    with connect(spark._session) as own:  # type: ignore[attr-defined]
        of_spark = own.fetch(predict(own, model, str(of_csv)))
    of_duckdb = duckdb.fetch(predict(duckdb, model, str(of_csv)))
    assert sorted(of_spark["score"]) == pytest.approx(sorted(of_duckdb["score"]), rel=1e-9)
    assert not [name for name in left(spark) if "csv" in name]
    assert scores_of_parquet(spark, model, tmp_path) == pytest.approx(sorted(rows["score"]), rel=1e-12)
    assert not gather_from(spark, model).missing
    save(spark, predict(spark, model), "scored", "view")
    try:
        view = spark.fetch(exp.select("score").from_("scored"))
        assert sorted(view["score"]) == pytest.approx(sorted(rows["score"]), rel=1e-12)
        with pytest.raises(OptionError, match="scored exists already"):
            save(spark, predict(spark, model), "scored", "view")
    finally:
        spark.execute(exp.Drop(tables=[exp.to_table("scored")], kind="VIEW"))


def scores_of_parquet(spark: Engine, model: Model, folder: Path) -> list[float]:
    """Read by another program. What is there is replaced only if that is asked."""
    place = folder / "scored.parquet"
    write_parquet(spark, predict(spark, model), str(place))
    with pytest.raises(OptionError, match="exists already"):
        write_parquet(spark, predict(spark, model), str(place))
    write_parquet(spark, predict(spark, model, "SELECT 1 AS x, 'c1' AS c"), str(place), overwrite=True)
    assert pq.read_table(place).num_rows == 1
    again = predict(spark, model, f"SELECT x, c FROM '{place}'")
    with pytest.raises(OptionError, match="before they are read"):
        write_parquet(spark, again, str(place), overwrite=True)
    with pytest.raises(OptionError, match="not Parquet"):
        write_parquet(spark, again, str(folder), overwrite=True)
    write_parquet(spark, predict(spark, model), str(place), overwrite=True)
    out = io.StringIO()
    assert write_csv(spark, predict(spark, model), out) == model.join_rows
    assert out.getvalue().startswith("y,x,c,score,prediction\n")
    return sorted(pq.read_table(place)["score"].to_pylist())


def test_inspect_and_explain(spark: Engine, duckdb: Engine, folder: Path) -> None:
    found = [inspect(engine, chain(folder), label="y") for engine in (spark, duckdb)]
    assert found[0].join_rows == found[1].join_rows
    text = script(explain(spark, chain(folder), LABEL))
    assert "CREATE TEMPORARY VIEW sqlsvm_" in text
    assert "CREATE TABLE sqlsvm_" in text


def test_the_script_of_explain_runs_in_another_session(
    spark: Engine, duckdb: Engine, folder: Path, tmp_path: Path
) -> None:
    """With values in place of the parameters. The sums are over the rows whose score is below their label: what the
    driver knows of all rows tells it the rest."""
    found = explain(spark, chain(folder), LABEL)
    values = {"theta": "'0.5,-1,0.2,0.25,1,-2'", "bound": "1.0"}
    elsewhere, answers = spark._session.newSession(), {}  # type: ignore[attr-defined]
    elsewhere.sql(f"CREATE DATABASE elsewhere LOCATION '{tmp_path}/elsewhere'")
    try:
        elsewhere.sql("USE elsewhere")
        for own in found.preamble:
            elsewhere.sql(own)
        for each in (each for each in found.statements if each.phase != "measure"):
            given = zip(each.marks, (values[name] for name in each.statement.parameters), strict=True)
            for text in each.texts:
                answers[each.name] = elsewhere.sql(
                    reduce(lambda text, mark: text.replace(*mark), given, text)
                ).collect()
    finally:
        elsewhere.sql("USE default")
        elsewhere.sql("DROP DATABASE elsewhere CASCADE")
    theta = "0.5 - x + 0.2 * minutes + CASE c WHEN 'c0' THEN 0.25 WHEN 'c1' THEN 1 ELSE -2 END"
    signed = f"SELECT x, CASE WHEN y THEN 1 ELSE -1 END AS s, {theta} AS p FROM ({chain(folder)}) AS q"
    rows = parse_one(signed, read="duckdb", into=exp.Select).subquery("q")
    wanted = duckdb.fetch(exp.select("SUM(s) AS b", "COUNT(*) AS n", "SUM(x) AS x").from_(rows).where("p < s"))
    assert list(answers["sums of f"][0]) == pytest.approx([float(wanted[name][0]) for name in wanted], rel=1e-12)


def test_describe_and_components(spark: Engine, duckdb: Engine, folder: Path) -> None:
    one, other = (describe(engine, chain(folder), label="y") for engine in (spark, duckdb))
    assert one.rows == other.rows
    assert one.numbers == other.numbers
    np.testing.assert_allclose(one.correlations, other.correlations, atol=1e-9)
    found = [components(engine, chain(folder), label="y", k=1).components[0] for engine in (spark, duckdb)]
    assert found[0].variance == pytest.approx(found[1].variance, rel=1e-9)


def test_the_demo_is_for_one_machine(spark: Engine) -> None:
    before = spark.table_names()
    with pytest.raises(OptionError, match="PostgreSQL or DuckDB"):
        make(spark)
    assert spark.table_names() == before


def test_a_label_that_is_a_number(spark: Engine, duckdb: Engine, folder: Path) -> None:
    query = star(folder).replace("f.y, f.x", "f.x AS target, f.k")
    training = Training.of(label="target", loss="absolute", lam=0.01)
    one, other = (train(engine, "m", query, training) for engine in (spark, duckdb))
    assert one.objective == pytest.approx(other.objective, rel=2e-3)


def test_models_are_kept_in_the_catalog(spark: Engine, folder: Path) -> None:
    store = open_store(spark)
    try:
        model = train(spark, "it's", star(folder), LABEL)
        store.check("it's")
        assert [store.save(model), store.save(model)] == [1, 2]
        assert store.load("it's").weights == model.weights
        assert [(m.name, m.version) for m in store.models()] == [("it's", 2), ("it's", 1)]
        assert store.drop("it's", 2).versions == (2,)
        assert store.load("it's").version == 1
        assert store.save(model) == 3
        store.save_state("it's", {"a": 1})
        assert store.load_state("it's") == {"a": 1}
        assert store.drop("it's").versions == (1, 3)
        assert store.load_state("it's") is None
        with pytest.raises(OptionError, match="there is no model"):
            store.load("it's")
    finally:
        spark.execute(exp.Drop(tables=[exp.table_("", "sqlsvm")], kind="SCHEMA", exists=True, cascade=True))


def test_a_session_of_the_user(spark: Engine, folder: Path) -> None:
    """With a DataFrame that only this session knows."""
    session = spark._session  # type: ignore[attr-defined]
    session.read.parquet(str(folder / "facts.parquet")).createOrReplaceTempView("mine")
    svc = RelationalSVC(lam=0.01).fit(session, "SELECT mine.y, mine.x FROM mine", "y")
    assert svc.gap_ <= svc.tol
    session.catalog.dropTempView("mine")


def test_a_work_folder_that_cannot_be_used(spark: Engine, folder: Path, tmp_path: Path) -> None:
    """Nothing of Java is repeated, and nothing is left."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    session = spark._session  # type: ignore[attr-defined]
    databases = session.catalog.listDatabases()
    for place, why in (
        (str(tmp_path / "file" / "below"), "is not a directory"),
        ("/proc/nowhere", "Mkdirs failed"),
        ("nofs://host/folder", 'No FileSystem for scheme "nofs"'),
        ("hdfs://localhost:1/folder", "Connection refused"),
    ):
        with connect(session) as own:
            own.work_in_folder(place)
            with pytest.raises(EngineError, match="cannot use the work folder") as caught:
                train(own, "m", chain(folder), LABEL_IN_PASSES)
        assert why in str(caught.value.detail)
        assert not any(word in str(caught.value.detail) for word in ("java", "apache", "Exception", "\n"))
    assert session.catalog.listDatabases() == databases


def test_a_folder_is_below_the_one_where_the_command_runs(
    spark: Engine, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is made, if it is absent."""
    monkeypatch.chdir(tmp_path)
    with connect(spark._session) as own:  # type: ignore[attr-defined]
        own.work_in_folder("absent/work")
        with open_problem(own, chain(folder), LABEL):
            assert list((tmp_path / "absent" / "work").iterdir())
    assert not list((tmp_path / "absent" / "work").iterdir())


# -- what others do meanwhile ------------------------------------------------------------------------------------------


def count(spark: Engine, path: Path) -> float:
    rows = exp.select(exp.alias_(exp.Count(this=exp.Star()), "n")).from_(file(path))
    return float(spark.fetch(rows)["n"][0])


def file(path: Path) -> exp.Table:
    return exp.Table(this=exp.to_identifier(str(path), quoted=True))


def test_a_snapshot_does_not_see_what_is_appended(spark: Engine, tmp_path: Path) -> None:
    place = tmp_path / "grows.parquet"
    place.mkdir()
    pq.write_table(pa.table({"x": [1.0, 2.0]}), place / "a.parquet")
    with spark.snapshot():
        assert count(spark, place) == 2
        pq.write_table(pa.table({"x": [3.0]}), place / "b.parquet")
        assert count(spark, place) == 2
    with spark.snapshot():
        assert count(spark, place) == 3


def test_files_that_are_replaced_end_a_training(spark: Engine, tmp_path: Path) -> None:
    place = tmp_path / "changes.parquet"
    place.mkdir()
    rows = pa.table({"x": [1.0, 2.0, -1.0], "y": [True, False, True]})
    pq.write_table(rows, place / "a.parquet")
    query = f"SELECT t.y, t.x FROM '{place}' AS t"
    with pytest.raises(StatementError) as caught, open_problem(spark, query, ProblemOptions("y")) as problem:  # noqa: PT012
        (place / "a.parquet").unlink()
        pq.write_table(rows, place / "b.parquet")
        problem.work.engine.fetch(exp.select("x").from_(file(place)))
    assert "gone since this began" in caught.value.message
    assert "start again" in str(caught.value.hint)
    assert left(spark) == []


def at_statement(number: int, happens: Callable[[], object]) -> Callable[[str], None]:
    sent = itertools.count(1)

    def hook(_text: str) -> None:
        if next(sent) == number:
            happens()

    return hook


def test_appended_and_replaced_in_the_middle_of_a_training(
    spark: Engine, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "facts.parquet"
    place.mkdir()
    rows = pq.read_table(folder / "facts.parquet")
    pq.write_table(rows, place / "a.parquet")
    query = star(folder).replace(str(folder / "facts.parquet"), str(place))
    sent: list[str] = []
    monkeypatch.setattr(spark, "on_statement", sent.append)
    train(spark, "m", query, LABEL_IN_PASSES)
    middle = len(sent) // 2  # after the first facts, and before the passes

    monkeypatch.setattr(spark, "on_statement", at_statement(middle, lambda: pq.write_table(rows, place / "b.parquet")))
    model = train(spark, "m", query, LABEL_IN_PASSES)
    assert (place / "b.parquet").exists()
    assert model.converged
    assert model.join_rows == len(rows)

    monkeypatch.setattr(spark, "on_statement", at_statement(middle, (place / "a.parquet").unlink))
    with pytest.raises(StatementError, match="gone since this began"):
        train(spark, "m", query, LABEL_IN_PASSES)
    assert left(spark) == []


def test_nothing_is_left_after_an_error(spark: Engine, folder: Path) -> None:
    with pytest.raises(ValueError, match="ours"), open_problem(spark, chain(folder), ProblemOptions("y")) as problem:  # noqa: PT012
        assert problem.work.tables
        raise ValueError("ours")
    assert left(spark) == []


def test_a_session_that_is_closed(spark: Engine) -> None:
    engine = connect(spark._session)  # type: ignore[attr-defined]
    engine.close()
    engine.close()
    with pytest.raises(EngineError, match="is closed"):
        engine.fetch(exp.select("1 AS x"))
