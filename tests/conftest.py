"""Engines for tests: `postgres`, `duckdb`, and `engine`, which is one after the other, or with the mark `twin` both at
once.

Each test gets a database of its own. `statements` lists what the engine of the test sent. `shared_engine` lives as
long as the session, for hypothesis, which cannot use one per test; so does `installed`, which has the SQL functions.
"""

import gc
import os
import random
import secrets
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from math import inf
from pathlib import Path
from typing import cast
from zlib import crc32

import pytest
from hypothesis import settings
from sqlglot import exp

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Text
from sqlsvm.engine.duckdb import _CONFIG, DuckDB
from sqlsvm.psql.install import install
from sqlsvm.query import faults
from tests import leftovers, servers
from tests.sized import sized
from tests.twin import Twin
from tests.typed import typed

ENGINES = ("postgres", "duckdb")

PROFILES = {"quick": ("not slow", 10), "ci": ("not nightly", 50), "nightly": ("", 500)}
"""What is tried: the tests by their marks, and the examples of hypothesis."""
for name, (_, examples) in PROFILES.items():  # how busy the machine is says nothing of the code
    settings.register_profile(name, deadline=None, max_examples=examples, derandomize="CI" in os.environ)
settings.load_profile("ci")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--order", help="a number: files, and tests in a file, come in the order that it gives; or random")
    parser.addoption("--profile", choices=PROFILES, help="how much is tried")


@pytest.hookimpl(tryfirst=True)
def pytest_report_header(config: pytest.Config) -> str | None:
    return f"--order={config.option.order}" if config.option.order else None


def pytest_configure(config: pytest.Config) -> None:
    """For workers and for commands that tests start: threads of BLAS wait in a loop, and others wait for them. Other
    threads of DuckDB cost more than they bring where tables have few rows: a tenth of the time."""
    if config.option.order == "random":  # workers get the words of the command, and the number by the environment
        config.option.order = os.environ.setdefault("PYTEST_ORDER", str(secrets.randbelow(1_000_000)))
    if config.option.profile:
        config.option.markexpr = config.option.markexpr or PROFILES[config.option.profile][0]
        settings.load_profile(config.option.profile)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _CONFIG["threads"] = "1"
    faults.STRICT = True


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The mark `twin`; a test that each engine runs by itself, among others that have it, says twin(False)."""
    marker = metafunc.definition.get_closest_marker("twin")
    if "engine" in metafunc.fixturenames and marker and marker.args != (False,):
        metafunc.definition.add_marker(pytest.mark.parametrize("engine", ["twin"], indirect=True))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a thinned test one variant of n is quick, and five are no campaign of a night. Of another test of a database
    or of a command one variant is quick, of both engines one or the other. The rest is slow. Of a test with other
    parameters the engines take turns until the night, unless it has the mark `each`. Slow tests come first, so that at
    the end no worker waits long for another."""
    tests = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        if _is_turn_of_other(item):
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.nightly)
        else:
            tests[item.nodeid.partition("[")[0]].append(item)
    for test, variants in tests.items():
        marker = variants[0].get_closest_marker("thin")
        few = [item for item in variants if not item.get_closest_marker("slow")]
        every = marker.args[0] if marker else len(few) if variants[0].path.parent.name in ("db", "cli") else 1
        first = crc32(test.encode()) % every if few and not marker else 0
        for place, item in enumerate(variants if marker else few):
            if place % every != first:
                item.add_marker(pytest.mark.slow)
            if marker and place % max(1, every // 5):
                item.add_marker(pytest.mark.nightly)
    if config.option.order:
        rng, files = random.Random(config.option.order), defaultdict[Path, list[pytest.Item]](list)
        for item in items:
            files[item.path].append(item)
        for variants in files.values():
            rng.shuffle(variants)
        items[:] = chain.from_iterable(rng.sample([*files.values()], len(files)))
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def _is_turn_of_other(item: pytest.Item) -> bool:
    """As on a chessboard: of two parameters each value meets both engines, and each pair one."""
    if item.get_closest_marker("each") or not isinstance(item, pytest.Function) or not hasattr(item, "callspec"):
        return False
    places = dict(item.callspec.indices)
    name = "shared_engine" if "shared_engine" in places else "engine"
    if item.callspec.params.get(name) not in ENGINES or any(
        m.args[0] == name for m in item.iter_markers("parametrize")
    ):
        return False  # it has no engine, or names its own, as a twin does
    engine = places.pop(name)
    return bool(places) and engine != sum(places.values()) % 2


def pytest_collection_finish() -> None:
    """Tests are no garbage, but trees of SQL are, once they are used. To look for it was a tenth of the time."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)


def pytest_unconfigure() -> None:
    """Libraries say at exit what is left."""
    gc.unfreeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, None, None]:
    return (yield from _skipped_without_icu())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    return (yield from _skipped_without_icu())


def _skipped_without_icu() -> Generator[None, None, None]:
    """Some builds of PostgreSQL come without ICU, whose collations some tests make."""
    try:
        return (yield)
    except Exception as error:
        if "ICU is not supported in this build" in str(error):
            pytest.skip("this PostgreSQL comes without ICU")
        raise


@pytest.fixture(scope="session")
def postgres_server(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server that is missing stops everything at once: hundreds of equal errors would say no more."""
    with ExitStack() as stack:
        missing = ""
        try:
            dsn = stack.enter_context(servers.server())
        except servers.NoServer as error:
            missing = str(error)
        if missing:
            request.session.shouldfail = missing
            pytest.fail(missing, pytrace=False)
        yield dsn


@pytest.fixture(scope="session")
def prefix() -> str:
    """Keeps the databases of two workers, or of two runs on one server, apart."""
    return f"sqlsvm_test_{os.getpid()}"


@pytest.fixture(scope="session")
def template(postgres_server: str, prefix: str) -> Iterator[str]:
    """The database that those of the tests are copies of: what every test needs is put into it once."""
    name = f"{prefix}_template"
    with servers.database(postgres_server, name):
        yield name


@pytest.fixture(scope="session")
def pool(postgres_server: str, prefix: str, template: str) -> Iterator[servers.Pool]:
    pool = servers.Pool(postgres_server, f"{prefix}_test", template)
    yield pool
    pool.close()


@pytest.fixture
def postgres_dsn(pool: servers.Pool) -> Iterator[str]:
    """A database of the test's own."""
    with pool.fresh() as dsn:
        yield dsn


@pytest.fixture
def in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Embedded servers of the test have their files in memory, if this machine has a folder there."""
    monkeypatch.setenv("TMPDIR", servers.fast_directory())


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder for an embedded server that does not exist yet."""
    with servers.reachable_folder() as folder:
        yield folder / "home"


@pytest.fixture(params=[Engine.sizes.in_bucket, inf], ids=["rounded", "shared"])
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> float:
    """Passes on the grid as they are, and with every row in two buckets that may be. Both as if many entries met."""
    found = float(request.param)
    sized(monkeypatch, in_bucket=found)
    monkeypatch.setattr(DuckDB, "rates", replace(DuckDB.rates, met=0.0))
    return found


@pytest.fixture
def statements() -> list[str]:
    return []


@pytest.fixture
def postgres(postgres_dsn: str, statements: list[str]) -> Iterator[Engine]:
    with connect(postgres_dsn) as engine:
        engine.on_statement = statements.append
        yield engine


@pytest.fixture
def plain_role(postgres: Engine) -> Iterator[str]:
    """A role that was given nothing in this database, quoted."""
    name = exp.to_identifier(f"Plain role {os.getpid()}", quoted=True).sql("postgres")
    typed(postgres, f"CREATE ROLE {name}")
    yield name
    postgres.execute(Text("RESET ROLE"))
    typed(postgres, f"DROP OWNED BY {name} CASCADE")
    typed(postgres, f"DROP ROLE {name}")


@pytest.fixture
def duckdb(statements: list[str]) -> Iterator[Engine]:
    with connect("duckdb:") as engine:
        engine.on_statement = statements.append
        yield engine


@pytest.fixture
def twin(postgres_dsn: str, statements: list[str]) -> Iterator[Twin]:
    """Both engines: each statement runs on both."""
    with connect(postgres_dsn) as other, Twin(other) as engine:
        engine.on_statement = statements.append
        yield engine


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    return cast(Engine, request.getfixturevalue("twin" if os.environ.get("TWIN") else request.param))


@pytest.fixture(scope="session")
def shared_postgres(postgres_server: str, prefix: str, template: str) -> Iterator[Engine]:
    with servers.database(postgres_server, f"{prefix}_shared", template) as dsn, connect(dsn) as engine:
        yield engine


@pytest.fixture(scope="session")
def shared_duckdb() -> Iterator[Engine]:
    with connect("duckdb:") as engine:
        yield engine


@pytest.fixture(scope="session", params=ENGINES)
def shared_engine(request: pytest.FixtureRequest) -> Engine:
    return cast(Engine, request.getfixturevalue(f"shared_{request.param}"))


@pytest.fixture(scope="session")
def installed_dsn(postgres_server: str, prefix: str, template: str) -> Iterator[str]:
    with servers.database(postgres_server, f"{prefix}_installed", template) as dsn:
        yield dsn


@pytest.fixture(scope="session")
def installed(installed_dsn: str) -> Iterator[Engine]:
    with connect(installed_dsn) as engine:
        install(engine)
        yield engine


OPENED = "engine", "postgres", "duckdb", "twin", "installed", "shared_engine", "shared_postgres", "shared_duckdb"


@pytest.fixture(autouse=True)
def passes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test with an engine of its own is about passes, and its joins are small. All others have the sizes that users
    have."""
    if not {*OPENED}.isdisjoint(request.fixturenames):
        sized(monkeypatch, read=0, few_pairs=0)


@pytest.fixture(autouse=True)
def left(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test makes in the database of `installed` is gone afterwards, and the names of the next test are free. A
    test fails that leaves anything else in what others share."""
    names = {"installed", "shared_postgres", "shared_duckdb", "shared_engine"} & {*request.fixturenames}
    engines: list[Engine] = [*{id(each): each for each in map(request.getfixturevalue, sorted(names))}.values()]
    before = [*map(leftovers.found, engines)]
    folder, environment = Path.cwd(), leftovers.environment()
    yield
    for engine, found in zip(engines, before, strict=True):
        leftovers.sweep(engine, found)
        leftovers.check(engine, found)
    assert (Path.cwd(), leftovers.environment()) == (folder, environment)
