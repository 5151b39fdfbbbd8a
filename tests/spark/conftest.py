"""One session with Spark for all tests: to start Java takes longer than most of them.

Tables come from DuckDB, as views of the session. Most tests do without generated code and adaptive plans, and Java
compiles in haste: all that takes longer than it saves on these tables. `compiled` is as users have it.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from sqlsvm import cli
from sqlsvm.cli import progress
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.query import faults
from tests.sized import sized

URL = (
    "spark:local[2]?spark.driver.memory=2g&spark.sql.shuffle.partitions=2&spark.sql.codegen.wholeStage=false"
    "&spark.sql.codegen.factoryMode=NO_CODEGEN&spark.sql.adaptive.enabled=false"
    "&spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:%2BUseSerialGC"
)
COMPILED = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.adaptive.enabled": "true",
}
Move = Callable[..., None]


@pytest.fixture(autouse=True)
def lenient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark does not read all that rules write."""
    monkeypatch.setattr(faults, "STRICT", False)


class Said(NamedTuple):
    code: int
    out: str
    err: str


Command = Callable[..., Said]


@pytest.fixture(scope="session")
def spark() -> Iterator[Engine]:
    with connect(URL) as engine:
        yield engine


@pytest.fixture(autouse=True)
def in_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tables are so small that trainings would copy them."""
    sized(monkeypatch, copied=0, read=0, few_pairs=0)


@pytest.fixture
def move(spark: Engine, duckdb: Engine) -> Iterator[Move]:
    """Tables of DuckDB, under the same names in Spark."""
    session, made = spark._session, list[str]()  # type: ignore[attr-defined]

    def move(*names: str, schema: str = "main") -> None:
        for name in names:
            rows = duckdb._connection.sql(f'SELECT * FROM "{schema}"."{name}"').to_arrow_table()  # type: ignore[attr-defined]
            session.createDataFrame(rows).createOrReplaceTempView(f"`{name}`")
            made.append(name)

    yield move
    for name in made:
        session.catalog.dropTempView(name)


@pytest.fixture
def command(spark: Engine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """A command line in this process, on the session that it has: its exit code, and what it says. On a busy machine
    any step may be slow, which is not told."""
    monkeypatch.setattr(progress, "PATIENCE", 600.0)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}

    def command(*words: object, dsn: str = "spark:") -> Said:
        code = cli.run([*map(str, words), "--dsn", dsn])
        return Said(code, *capsys.readouterr())

    yield command
    for number, handler in handlers.items():
        signal.signal(number, handler)


@contextmanager
def compiled(spark: Engine) -> Iterator[None]:
    conf = spark._session.conf  # type: ignore[attr-defined]
    before = {name: conf.get(name) for name in COMPILED}
    for name, value in COMPILED.items():
        conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            conf.set(name, value)
