"""What a caller has is what is trained on: connections and frames. All give the model of a DuckDB file."""

import gc
import os
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event, Thread, Timer
from typing import Any

import duckdb
import numpy as np
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

import sqlsvm
from sqlsvm import RelationalSVC
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.engine.given import opened
from sqlsvm.errors import ConnectionLost, EngineError, OptionError, QueryError, SqlsvmError
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.run.join_oracle import JoinOracle
from tests.docs.markdown import blocks
from tests.docs.test_sessions import README
from tests.faults.cluster import cluster
from tests.ground.opened import build
from tests.typed import meant

QUERY = "SELECT o.late, o.days, o.kind, c.age FROM orders o JOIN customers c ON c.id = o.customer"
Columns = Mapping[str, Any]
Tables = Mapping[str, Columns]


def _tables() -> Tables:
    rng = np.random.default_rng(0)
    days, customer, kind = rng.normal(size=300), rng.integers(0, 20, 300), rng.choice(["gift", "book"], 300)
    age = rng.normal(size=20)
    late = days + age[customer] + (kind == "gift") + 0.5 * rng.normal(size=300) > 0
    orders = {"late": late, "days": days, "kind": kind.astype(object), "customer": customer}
    return {"orders": orders, "customers": {"id": np.arange(20), "age": age}}


TABLES = _tables()


def fitted(database: Any, **parameters: Any) -> RelationalSVC:
    return RelationalSVC(1e-2, sample=200, **parameters).fit(database, QUERY, "late")


def rows(svc: RelationalSVC, query: str | None = None) -> float:
    found = svc.evaluate(query=query)
    assert isinstance(found, Evaluation)
    return found.negatives + found.positives


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shop") / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        for name, columns in TABLES.items():
            connection.register("columns", columns)
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM columns")
    return path


@pytest.fixture(scope="module")
def expected(shop: Path) -> float:
    return fitted(f"duckdb:{shop}").objective_


@pytest.fixture
def connection(shop: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(shop)) as opened:
        yield opened


@pytest.fixture
def server_shop(postgres: Engine, postgres_dsn: str) -> str:
    """The same rows on a server; a role and a schema of their own path."""
    filled(postgres)
    return postgres_dsn


def filled(engine: Engine) -> None:
    build(
        engine,
        "CREATE TABLE orders (late boolean, days double precision, kind text, customer integer);"
        "CREATE TABLE customers (id integer, age double precision)",
    )
    for name, columns in TABLES.items():
        engine.copy_in(meant(engine, name), columns)


# -- frames ------------------------------------------------------------------------------------------------------------


def _pandas(columns: Columns) -> object:
    return pytest.importorskip("pandas").DataFrame(columns)


def _polars(columns: Columns) -> object:
    return pytest.importorskip("polars").DataFrame({name: list(values) for name, values in columns.items()})


def _lazy(columns: Columns) -> object:
    frame: Any = _polars(columns)
    return frame.lazy()


def _pyarrow(columns: Columns) -> object:
    return pytest.importorskip("pyarrow").table({name: list(values) for name, values in columns.items()})


def _narwhals(columns: Columns) -> object:
    frame: object = pytest.importorskip("narwhals").from_native(_pyarrow(columns))
    return frame


def _lists(columns: Columns) -> object:
    return {name: list(values) for name, values in columns.items()}


@pytest.mark.parametrize("frame", [dict, _lists, _pandas, _polars, _lazy, _pyarrow, _narwhals])
def test_frames_by_name(frame: Callable[[Columns], object], expected: float) -> None:
    frames = {name: frame(columns) for name, columns in TABLES.items()}
    svc = fitted(frames)
    assert svc.objective_ == pytest.approx(expected, rel=1e-3)
    assert svc.coef_.shape == (1, 4)
    assert rows(svc, f"{QUERY} WHERE o.days > 0") == (TABLES["orders"]["days"] > 0).sum()


def test_a_frame_that_changes_after_the_training() -> None:
    frames: Any = {name: _pandas(columns) for name, columns in TABLES.items()}
    svc = fitted(frames)
    before = svc.score()
    frames["orders"].loc[0, "days"] = 1e3
    with pytest.warns(UserWarning, match="^orders changed after the training: the rows are those that are there now"):
        now = svc.score()
    assert now == svc.score(frames, QUERY)
    frames["orders"].loc[0, "days"] = TABLES["orders"]["days"][0]
    assert svc.score() == before


def test_a_column_of_objects_has_the_type_of_all_its_cells() -> None:
    """DuckDB by itself looks at the first thousand: a text after them would be an error."""
    cells = np.array([None] * 2000 + ["a", "b"] * 500, dtype=object)
    with opened({"t": {"x": cells}}) as engine:
        assert engine.describe(_star("t"))[0].kind == "categorical"


def _star(table: str) -> Any:
    from sqlglot import exp

    return exp.select("*").from_(table)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([1], r"type builtins.list is not a database\nHINT: give a URL .*duckdb or psycopg.*SQLAlchemy.*ibis.*Spark"),
        (None, "NoneType is not a database"),
        (np.zeros(3), "numpy.ndarray is not a database"),
        ({"t": 3}, "t is an object of the type builtins.int, which is not a frame"),
        ({1: {"x": [1]}}, "the name of a frame is a text, not 1"),
    ],
)
def test_what_is_no_database_is_told_what_is(given: object, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        fitted(given)


def test_a_relation_of_duckdb_is_a_frame(connection: duckdb.DuckDBPyConnection, expected: float) -> None:
    """By name; alone it is no database."""
    pytest.importorskip("pyarrow")
    relations = {name: connection.sql(f"SELECT * FROM {name}") for name in TABLES}
    assert fitted(relations).objective_ == pytest.approx(expected, rel=1e-3)
    with pytest.raises(OptionError, match=r"DuckDBPyRelation is not a database\nHINT: give the connection"):
        fitted(relations["orders"])


def test_frames_that_are_nowhere() -> None:
    with pytest.raises(QueryError, match=r"no tables .* Python takes frames by name"):
        fitted("duckdb:")


def test_a_frame_needs_a_name() -> None:
    with pytest.raises(OptionError, match=r'DataFrame is not a database\nHINT: name it: {"orders": orders}'):
        fitted(_pandas(TABLES["orders"]))


# -- a connection of duckdb --------------------------------------------------------------------------------------------


def held(connection: duckdb.DuckDBPyConnection) -> list[Any]:
    """Everything that a connection can see, and its settings."""
    asked = (
        "SELECT table_name FROM duckdb_tables() ORDER BY ALL",
        "SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL",
        "SELECT name, value FROM duckdb_settings() ORDER BY ALL",
    )
    return [connection.execute(text).fetchall() for text in asked]


def test_a_connection_is_used_and_nothing_is_left_in_it(connection: duckdb.DuckDBPyConnection, expected: float) -> None:
    before = held(connection)
    svc = fitted(connection, in_memory=0)
    assert svc.objective_ == pytest.approx(expected, rel=1e-3)
    assert rows(svc) == 300
    assert held(connection) == before
    assert "_database" not in svc.__getstate__()


def test_what_is_registered_is_seen(expected: float) -> None:
    """A frame, and a view of another. The function that reads them stays out of queries: it reads any memory."""
    with duckdb.connect() as connection:
        connection.register("orders", _pandas(TABLES["orders"]))
        connection.register("everyone", TABLES["customers"])
        connection.execute("CREATE TEMP VIEW customers AS SELECT * FROM everyone WHERE id >= 0")
        before = held(connection)
        assert fitted(connection).objective_ == pytest.approx(expected, rel=1e-3)
        assert held(connection) == before
        with pytest.raises(QueryError, match="pandas_scan is volatile"):
            RelationalSVC(1e-4).fit(connection, "SELECT t.y, t.x FROM (SELECT * FROM pandas_scan(1)) AS t", "y")


def test_an_open_transaction_stays_open(connection: duckdb.DuckDBPyConnection) -> None:
    """Rows that are not yet committed are seen."""
    connection.execute("BEGIN")
    connection.execute("DELETE FROM orders WHERE days < 0")
    svc = fitted(connection, in_memory=0)
    left = int((TABLES["orders"]["days"] >= 0).sum())
    assert rows(svc) == left
    assert connection.execute("SELECT count(*) FROM orders").fetchall() == [(left,)]
    connection.execute("ROLLBACK")
    assert connection.execute("SELECT count(*) FROM orders").fetchall() == [(300,)]


def test_a_connection_that_only_reads(shop: Path, expected: float) -> None:
    with duckdb.connect(str(shop), read_only=True) as connection:
        assert fitted(connection, in_memory=0).objective_ == pytest.approx(expected, rel=1e-3)


def test_a_closed_connection() -> None:
    connection = duckdb.connect()
    connection.close()
    with pytest.raises(EngineError, match=r"this connection cannot be used\nDETAIL: .*closed"):
        fitted(connection)


def test_two_threads_take_turns_or_are_told(connection: duckdb.DuckDBPyConnection) -> None:
    begun, go_on = Event(), Event()

    def hold() -> None:
        with opened(connection):
            begun.set()
            go_on.wait(60)

    thread = Thread(target=hold)
    thread.start()
    begun.wait(60)
    try:
        with pytest.raises(EngineError, match="another thread uses this connection\nHINT: give each thread its own"):
            fitted(connection)
        assert fitted(connection.cursor()).gap_ <= 1e-3
    finally:
        go_on.set()
        thread.join()
    assert fitted(connection).gap_ <= 1e-3


def test_an_interrupted_cell_leaves_nothing(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*given: Any) -> None:
        raise KeyboardInterrupt

    before = held(connection)
    with monkeypatch.context() as patched:
        patched.setattr(JoinOracle, "pass_", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fitted(connection, in_memory=0)
    assert held(connection) == before
    assert fitted(connection).gap_ <= 1e-3


# -- a notebook --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_lines_of_the_readme_in_a_notebook(shop: Path, server_shop: str, tmp_path: Path) -> None:
    """Each line in a cell of its own: on files, on a server, and on frames."""
    if not os.environ.get("CI"):
        pytest.importorskip("nbclient")
        pytest.importorskip("ipykernel")
    from nbclient import NotebookClient
    from nbformat import v4

    with duckdb.connect(str(shop)) as connection:
        for name in TABLES:
            connection.execute(f"COPY {name} TO '{tmp_path}/{name}.parquet'")
    files = re.sub(r"(orders|customers) ", r"'\1.parquet' ", QUERY)
    frames = f"import pandas as pd; frames = {{n: pd.read_parquet(n + '.parquet') for n in {list(TABLES)}}}"
    given = {
        f"'duckdb:', {files!r}": "DuckDB",
        f"{server_shop!r}, {QUERY!r}": "PostgreSQL",
        f"frames, {QUERY!r}": "DuckDB",
    }
    (block,) = blocks(README.read_text(encoding="utf-8"), "python")
    cells = [v4.new_code_cell(frames)]
    for arguments in given:
        text = re.sub(r"fit\(.*\)", lambda found, own=arguments: f"fit({own}, 'late')", block.text)  # type: ignore[misc]
        text = re.sub(r"print\((.*)\)", r"\1", text)
        cells += [v4.new_code_cell(line) for line in text.splitlines() if line]
    notebook = v4.new_notebook(cells=cells)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    ran = iter(notebook.cells[1:])
    for engine in given.values():
        _, trained, proof, measured, score = (next(ran)["outputs"] for _ in range(5))
        line, *shown = [each["data"]["text/html"] for each in (*trained, *proof, *measured)]
        assert line == "", "that of the passes is gone"
        assert f"trained in {engine}" in shown[0]
        assert "no weights have a lower objective" in shown[0]
        assert "accuracy" in shown[1]
        assert "CASE" in score[0]["data"]["text/plain"]


# -- a connection of psycopg, and what SQLAlchemy has ------------------------------------------------------------------


def state(connection: psycopg.Connection[Any]) -> list[Any]:
    """All that a connection knows, besides its rows, and what psycopg has of it."""
    asked = (
        "SELECT name, setting FROM pg_settings WHERE name NOT LIKE 'transaction%' ORDER BY 1",
        "SELECT relname FROM pg_class WHERE relnamespace = pg_my_temp_schema() ORDER BY 1",
    )
    kept = connection.autocommit, connection.prepare_threshold, connection.cursor_factory, connection.row_factory
    return [*kept, *(connection.execute(text).fetchall() for text in asked)]


@pytest.mark.parametrize("autocommit", [True, False])
def test_a_connection_of_psycopg(server_shop: str, expected: float, autocommit: bool) -> None:
    """Also one that gives rows as dicts and writes Latin-1, with a frame of its session."""
    with psycopg.connect(server_shop, autocommit=autocommit, client_encoding="latin1") as connection:
        connection.execute("CREATE TEMP TABLE grown AS SELECT id, age, 'é' AS accent FROM customers")
        connection.commit()
        connection.row_factory = psycopg.rows.dict_row  # type: ignore[assignment]
        before = state(connection)
        connection.commit()
        svc = RelationalSVC(1e-2, sample=200, in_memory=0)
        svc.fit(connection, QUERY.replace("customers", "grown").replace("c.age", "c.age, c.accent"), "late")
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        assert svc.objective_ <= expected * 1.001
        assert svc.feature_names_in_[-1] == "accent=é"
        assert rows(svc) == 300
        assert state(connection) == before


def test_two_threads_wait_for_each_other(server_shop: str, expected: float) -> None:
    """psycopg has a lock for that: each training has the connection alone."""
    with psycopg.connect(server_shop) as connection, ThreadPoolExecutor(2) as pool:
        for svc in pool.map(lambda _: fitted(connection, in_memory=0), range(2)):
            assert svc.objective_ == pytest.approx(expected, rel=1e-3)
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A process in the background of a script ignores SIGINT, and hypothesis has a callback of the collector of
    garbage, in which an interrupt is lost."""
    before, callbacks = signal.signal(signal.SIGINT, signal.default_int_handler), gc.callbacks[:]
    gc.callbacks.clear()
    yield
    gc.callbacks.extend(callbacks)
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_in_a_cell(server_shop: str, within: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection is as it was, also with an open transaction, and the passes are kept."""
    whole = JoinOracle.pass_

    def about_to_end(oracle: JoinOracle, *given: Any, **named: Any) -> Any:
        if not asked:
            asked.append(Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)))
            asked[0].start()
        return whole(oracle, *given, **named)

    asked: list[Timer] = []
    with psycopg.connect(server_shop) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        if within:
            connection.execute("DELETE FROM orders WHERE days < 0")
        before = state(connection)
        if not within:
            connection.commit()
        svc = RelationalSVC(1e-2, sample=20, in_memory=0, tol=0.0, max_passes=100_000, warm_start=True)
        with monkeypatch.context() as patched:
            patched.setattr(JoinOracle, "pass_", about_to_end)
            with pytest.raises(KeyboardInterrupt):
                svc.fit(connection, QUERY, "late")
        assert state(connection) == before
        assert rows(fitted(connection)) == ((TABLES["orders"]["days"] >= 0).sum() if within else 300)
        kept = svc._passes
        assert kept
        again = svc.set_params(tol=1e-3).fit(connection, QUERY, "late")
        assert again.gap_ <= 1e-3
        assert again.n_iter_ >= kept.passes > 0


def test_an_open_transaction_of_psycopg_stays_open(server_shop: str) -> None:
    with psycopg.connect(server_shop) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute("DELETE FROM orders WHERE days < 0")
        before = state(connection)
        svc = fitted(connection, in_memory=0)
        assert rows(svc) == (TABLES["orders"]["days"] >= 0).sum()
        with pytest.raises(SqlsvmError, match=r"nobody.*does not exist"):
            RelationalSVC(1e-4).fit(connection, QUERY.replace("customers", "nobody"), "late")
        assert state(connection) == before
        connection.rollback()
        assert connection.execute("SELECT count(*) FROM orders").fetchone() == (300,)
        connection.rollback()
        connection.isolation_level = None
        connection.execute("SELECT 1")
        with pytest.raises(EngineError, match=r"is read committed, so .*\nHINT: commit\(\) or rollback\(\) first"):
            fitted(connection)
        with pytest.raises(psycopg.Error):
            connection.execute("SELECT nothing")
        with pytest.raises(EngineError, match=r"its state is INERROR\nHINT: rollback\(\) ends"):
            fitted(connection)
    with pytest.raises(EngineError, match="its state is UNKNOWN"):
        fitted(connection)


def test_a_connection_of_psycopg_that_only_reads(server_shop: str) -> None:
    """No table is made, and no model is kept; also in an open transaction."""
    with psycopg.connect(server_shop) as connection:
        connection.read_only, connection.isolation_level = True, psycopg.IsolationLevel.REPEATABLE_READ
        for within in (False, True):
            if within:
                connection.execute("SELECT 1")
            svc = fitted(connection, in_memory=0)
            assert svc.gap_ <= 1e-3
            with pytest.raises(SqlsvmError, match="read-only transaction"):
                svc.save(connection, "late")
            assert (connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS) is within


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["url", "sqlalchemy", "connection"])
def test_a_restart_of_the_server(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The training goes on with its passes where it can connect again; a connection of the caller is gone, but the
    passes are not."""
    sqlalchemy = pytest.importorskip("sqlalchemy")
    whole, made = JoinOracle.pass_, 0
    with cluster() as server, ExitStack() as opened_here:
        with connect(server.dsn) as engine:
            filled(engine)
        database: Any = server.dsn
        if kind == "connection":
            database = opened_here.enter_context(psycopg.connect(server.dsn))
        if kind == "sqlalchemy":
            query = {name: str(value) for name, value in conninfo_to_dict(server.dsn).items()}
            database = sqlalchemy.create_engine(sqlalchemy.make_url("postgresql+psycopg://").set(query=query))
            opened_here.callback(database.dispose)

        def restarting(oracle: JoinOracle, *given: Any, **named: Any) -> Any:
            nonlocal made
            made += 1
            if made == 2:
                server.stop()
                server.start()
            return whole(oracle, *given, **named)

        monkeypatch.setattr(JoinOracle, "pass_", restarting)
        svc = RelationalSVC(1e-2, in_memory=0, sample=20, tol=1e-6, warm_start=True)
        if kind == "connection":
            with pytest.raises(ConnectionLost):
                svc.fit(database, QUERY, "late")
            database = server.dsn
        svc.fit(database, QUERY, "late")
        assert svc.gap_ <= 1e-6
        assert svc.n_iter_ == made - 1, "only the pass that was lost is made again"


def test_what_sqlalchemy_has(server_shop: str, expected: float) -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy")
    url = sqlalchemy.make_url("postgresql+psycopg://").set(
        query={name: str(value) for name, value in conninfo_to_dict(server_shop).items()}
    )
    engine = sqlalchemy.create_engine(url)
    try:
        with engine.connect() as connection:
            connection.execute(
                sqlalchemy.text("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE")
            )
            connection.commit()
            assert fitted(connection).objective_ == pytest.approx(expected, rel=1e-3)
        assert fitted(engine).objective_ == pytest.approx(expected, rel=1e-3)
        text = url.render_as_string(hide_password=False)
        assert fitted(text).objective_ == pytest.approx(expected, rel=1e-3)
        assert fitted(url).objective_ == pytest.approx(expected, rel=1e-3)
    finally:
        engine.dispose()
    with pytest.raises(OptionError, match="sqlsvm does not know the databases of mysql"):
        fitted(sqlalchemy.make_url("mysql://host/shop"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_expression_of_ibis_is_database_and_query(shop: Path, expected: float) -> None:
    ibis = pytest.importorskip("ibis")
    with duckdb.connect(str(shop)) as connection:
        backend = ibis.duckdb.from_connection(connection)
        orders, customers = backend.table("orders"), backend.table("customers")
        joined = orders.inner_join(customers, orders.customer == customers.id)
        svc = RelationalSVC(1e-2, sample=200).fit(joined[["late", "days", "kind", "age"]], label="late")
        assert svc.objective_ == pytest.approx(expected, rel=1e-3)
        assert rows(svc) == 300
        fewer = joined.filter(joined.days > 0)[["late", "days", "kind", "age"]]
        assert sqlsvm.inspect(fewer).join_rows == rows(svc, f"{QUERY} WHERE o.days > 0")
        assert svc.score(fewer) == svc.score(None, f"{QUERY} WHERE o.days > 0")
        assert RelationalSVC(1e-2, sample=200).fit(joined[["late", "days"]], "late").feature_names_in_ == ["days"]
        found = svc.predict(fewer)
        np.testing.assert_allclose(found["score"], svc.decision_function(found), rtol=1e-12)
        for use in (svc.decision_function, lambda rows: svc.score(rows, found["late"])):
            with pytest.raises(OptionError, match=r"ibis has its rows in no order.*\nHINT: .*\.to_pandas\(\)"):
                use(fewer)
        assert fitted(backend).objective_ == pytest.approx(expected, rel=1e-3)
    with pytest.raises(OptionError, match="there is no query"):
        RelationalSVC(1e-4).fit(f"duckdb:{shop}", label="late")
    with pytest.raises(OptionError, match="which column of the query is the label"):
        RelationalSVC(1e-4).fit(f"duckdb:{shop}", QUERY)


class Rows:
    """Of a library that has Arrow in common with us. It makes its rows again for each that asks, in another order."""

    def __init__(self, columns: Columns) -> None:
        self.columns, self._held, self._made = list(columns), columns, 0

    def __getitem__(self, name: str) -> Any:
        self._made += 1
        return np.roll(self._held[name], self._made)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        self._made += 1
        table: Any = _pyarrow({name: np.roll(values, self._made) for name, values in self._held.items()})
        return table.__arrow_c_stream__(requested_schema)


def test_rows_in_memory_are_made_once_or_refused(connection: duckdb.DuckDBPyConnection) -> None:
    x = np.random.default_rng(1).normal(size=300)
    svc = RelationalSVC(1e-2, sample=200).fit({"t": {"y": x > 0, "x": x, "z": -x}}, "SELECT y, x, z FROM t", "y")
    once = np.sort(svc.decision_function({"x": x, "z": -x}))
    np.testing.assert_allclose(np.sort(svc.decision_function(Rows({"x": x, "z": -x}))), once)
    for use in (svc.predict, svc.decision_function, lambda rows: svc.score(rows, x > 0)):
        with pytest.raises(OptionError, match=r"DuckDBPyRelation of duckdb has .*\nHINT: give its rows: .df\(\)"):
            use(connection.sql("SELECT 1.0 AS x, 1.0 AS z"))


def test_queries_that_are_no_text(
    connection: duckdb.DuckDBPyConnection, shop: Path, tmp_path: Path, expected: float
) -> None:
    """A file, a relation of DuckDB, a text and a select of SQLAlchemy; a database may be a file, too."""
    sa = pytest.importorskip("sqlalchemy")
    (tmp_path / "late.sql").write_text(QUERY)
    orders = sa.table("orders", *map(sa.column, ("late", "days", "kind", "customer")))
    customers = sa.table("customers", sa.column("id"), sa.column("age"))
    select = sa.select(orders.c.late, orders.c.days, orders.c.kind, customers.c.age)
    select = select.join(customers, customers.c.id == orders.c.customer).where(orders.c.kind.like("%i%"))
    same = (tmp_path / "late.sql", connection.sql(QUERY), sa.text(QUERY))
    for query in same:
        svc = RelationalSVC(1e-2, sample=200).fit(connection, query, "late")
        assert svc.objective_ == pytest.approx(expected, rel=1e-3)
    gifts = rows(svc, f"{QUERY} WHERE o.kind = 'gift'")
    assert rows(svc, select) == gifts == len(svc.predict(connection, select))
    assert sqlsvm.inspect(connection, select, "late").join_rows == gifts
    connection.close()
    assert RelationalSVC(1e-2, sample=200).fit(shop, tmp_path / "late.sql", "late").objective_ == svc.objective_
    for database, query, said in (
        (tmp_path / "late.parquet", QUERY, r"late.parquet is not a file of DuckDB\nHINT: .*duckdb:"),
        (shop, tmp_path / "none.sql", "cannot read the query in .*none.sql"),
        (shop, 3, "builtins.int is not a query"),
    ):
        with pytest.raises(OptionError, match=said):
            RelationalSVC().fit(database, query, "late")  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_frame_in_an_expression_of_ibis(expected: float) -> None:
    ibis = pytest.importorskip("ibis")
    pytest.importorskip("pyarrow_hotfix")
    orders, customers = (ibis.memtable(_pandas(columns)) for columns in TABLES.values())
    joined = orders.inner_join(customers, orders.customer == customers.id)[["late", "days", "kind", "age"]]
    svc = RelationalSVC(1e-2, sample=200).fit(joined, "late")
    assert svc.objective_ == pytest.approx(expected, rel=1e-3)
    assert svc.score() == svc.score(joined)


def test_values_of_other_libraries() -> None:
    """A text for a list of one; a timestamp, a span and a path for their texts."""
    pd = pytest.importorskip("pandas")
    rows = pd.DataFrame(
        {"y": [True, False] * 50, "x": np.arange(100.0) % 7, "d": pd.date_range("2023-11-01", periods=100)}
    )
    how: dict[str, Any] = {"time": "d", "sample": 100}
    query = "SELECT y, x, d FROM t"
    one = RelationalSVC(1e-2, holdout="2024-01-01", gap="3 days", categorical=["x"], map=["auto"], **how)
    other = RelationalSVC(
        1e-2, holdout=pd.Timestamp("2024-01-01"), gap=pd.Timedelta("3D"), categorical="x", map="auto", **how
    )
    assert other.fit({"t": rows}, query, "y").objective_ == one.fit({"t": rows}, query, "y").objective_
    found = sqlsvm.components({"t": rows}, "SELECT y, x FROM t", "y")
    assert list(found.means) == ["x"]
    with pytest.raises(OptionError, match=r"not 2\nHINT: components\(..., k=2\)"):
        sqlsvm.components({"t": rows}, "SELECT y, x FROM t", 2)  # type: ignore[arg-type]
