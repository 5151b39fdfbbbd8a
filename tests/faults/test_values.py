"""Values and names that people do not expect: each is trained on with a proof that holds, or is refused."""

import string
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from sqlsvm.cli import run as command
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.engine.pg_connection import _options
from sqlsvm.errors import SqlsvmError
from sqlsvm.options import OPTIONS
from sqlsvm.run.train import train
from tests.faults.grammar import NASTY
from tests.faults.profile import LONG, number, only_long, record
from tests.ground.opened import build, truth
from tests.ground.trained import assert_proven, training, wish_of
from tests.ground.world import noted
from tests.typed import run

pytestmark = pytest.mark.each

FORTY_DIGITS = "1234567890123456789012345678901234567890"
NUMBERS = {
    "denormals": ("FLOAT8", "5e-324", "-5e-324", "1e-310"),
    "1e308": ("FLOAT8", "1e308", "-1e308", "1.7e308"),
    "1e308 beside 1": ("FLOAT8", "1e308", "1", "2"),
    "1e154": ("FLOAT8", "1e154", "-1e154", "1"),
    "-0.0": ("FLOAT8", "-0.0", "0.0", "1"),
    "infinity": ("FLOAT8", "'Infinity'", "1", "2"),
    "NaN": ("FLOAT8", "'NaN'", "1", "2"),
    "near 2^63": ("BIGINT", "9223372036854775807", "-9223372036854775807", "9223372036854775806"),
    "close together near 2^63": ("BIGINT", "9223372036854775807", "9223372036854775806", "9223372036854775805"),
    "numerics of 38 digits": ("DECIMAL(38, 0)", FORTY_DIGITS[:38], f"-{FORTY_DIGITS[:38]}", "1"),
    "numerics of 40 digits": ("DECIMAL(40, 0)", FORTY_DIGITS, f"-{FORTY_DIGITS}", "1"),
}


@pytest.mark.thin(3)
@pytest.mark.parametrize("case", NUMBERS if LONG else ("denormals", "1e308 beside 1", "near 2^63"))
def test_numbers(engine: Engine, case: str) -> None:
    """As a feature, and as a key of the join."""
    type, *values = NUMBERS[case]
    if "40" in type and engine.dialect == "duckdb":
        pytest.skip("decimals of DuckDB have up to 38 digits")
    rows = ", ".join(f"({n % 4}, {n % 2 if n % 3 else 1}, {values[n % 3]})" for n in range(12))
    build(
        engine,
        f"CREATE TABLE f (k INT, y INT, x {type}); INSERT INTO f VALUES {rows}; CREATE TABLE g (k INT, z FLOAT8)",
    )
    run(engine, "INSERT INTO g VALUES (0, 1), (0, 2), (1, 3), (2, 4)")
    for text in (
        "SELECT f.y, f.x, g.z FROM f JOIN g ON g.k = f.k",
        "SELECT f.y, h.k AS z FROM f JOIN f AS h ON h.x = f.x",
    ):
        asked_for = training(lam=0.1, sample=50)
        try:
            model = train(engine, "m", text, asked_for)
        except SqlsvmError:
            continue
        assert_proven(engine, model, truth(engine, text, wish_of(asked_for)))


LONGEST = "n" * 63
NAMES = (
    LONGEST,
    "é" * 31,
    "select",
    "a b",
    'quote"d',
    "$1",
    "\uff26\uff35",
    "🙂",
    "sqlsvm_n0",
    "k0",
    "x1",
    "y",
    "w",
    "g0",
    "%s",
    "\\n",
)


@pytest.mark.thin(3)
@pytest.mark.parametrize("name", NAMES if LONG else NAMES[:5])
def test_names(duckdb: Engine, name: str) -> None:
    """Of a table, an alias, a column, a key and a category."""
    trained(duckdb, name)


def test_names_on_a_server(postgres: Engine) -> None:
    for name in NAMES if LONG else NAMES[:2]:
        trained(postgres, name)
        run(postgres, f"DROP TABLE {quoted(name)}")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def trained(engine: Engine, name: str) -> None:
    q, value = quoted(name), name.replace("'", "''")
    run(engine, f"CREATE TABLE {q} ({q} INT, label INT, word TEXT)")
    run(engine, f"INSERT INTO {q} VALUES (1, 1, '{value}'), (1, 0, ''), (2, 1, '{value}'), (3, 0, ' ')")
    text = f"SELECT {q}.label, {q}.{q}, {q}.word, o.word AS other FROM {q} JOIN {q} AS o ON o.{q} = {q}.{q}"
    options = training(label="label", lam=0.1, sample=50)
    model = train(engine, "m", text, options)
    assert_proven(engine, model, truth(engine, text, wish_of(options)))
    assert name in {w.category for w in model.weights}


def test_a_category_of_a_megabyte(engine: Engine) -> None:
    build(engine, "CREATE TABLE f (y INT, word TEXT)")
    words = "repeat(CASE WHEN n % 3 = 0 THEN 'a' ELSE 'b' END, 1000000)"
    run(engine, f"INSERT INTO f SELECT n % 2, {words} FROM generate_series(1, 9) AS t(n)")
    model = train(engine, "m", "SELECT y, word FROM f", training(lam=0.1, sample=50))
    assert sorted(len(str(w.category)) for w in model.weights) == [1_000_000] * 2


@only_long
def test_a_hundred_thousand_categories(engine: Engine) -> None:
    build(engine, "CREATE TABLE f (y INT, word TEXT)")
    run(engine, "INSERT INTO f SELECT n % 2, 'w' || (n % 100000) FROM generate_series(1, 200000) AS t(n)")
    model = train(engine, "m", "SELECT y, word FROM f", training(lam=0.1, sample=50, max_passes=2))
    assert len(model.weights) == 100_000


@only_long
@pytest.mark.parametrize("no_temp", [False, True])
def test_as_many_columns_as_a_table_may_have(engine: Engine, no_temp: bool) -> None:
    if engine.dialect == "postgres":
        engine.place(no_temp=no_temp)
    columns = [f"c{n}" for n in range(1_598)]
    build(engine, f"CREATE TABLE f (y INT, {', '.join(f'{c} REAL' for c in columns)})")
    values = ", ".join(f"(n * {place} % 7)" for place in range(1_598))
    run(engine, f"INSERT INTO f SELECT n % 2, {values} FROM generate_series(1, 9) AS t(n)")
    model = train(engine, "m", "SELECT * FROM f", training(lam=0.1, sample=50, max_passes=3))
    assert len(model.weights) == 1_598


def junk(chance: Random) -> str:
    letters = string.printable.replace("\n", "") + "é🙂"
    made = (
        "0",
        "-1",
        "nan",
        "inf",
        "1e999",
        "9" * 30,
        "1e-3",
        "",
        " ",
        "none",
        "mean",
        "0.5:0.1:3",
        "{}",
        "[1]",
        "null",
        "x:y",
    )
    own = "".join(chance.choice(letters) for _ in range(chance.randint(0, 12)))
    return chance.choice([*made, *NASTY, own]).replace("\x00", "")


def test_options(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """No value of an option gives an internal error: it is taken, or refused with exit code 1 or 2."""
    dsn = f"duckdb:{tmp_path / 'x.duckdb'}"
    with connect(dsn) as engine:
        build(
            engine,
            "CREATE TABLE f (k INT, y INT, x FLOAT8); INSERT INTO f VALUES (1, 1, 1), (1, 0, 2), (2, 1, 3), (2, 0, 0)",
        )
    chance, codes = Random("options"), Counter[int]()
    base = [
        "train",
        "--dsn",
        dsn,
        "--query",
        "SELECT y, x FROM f",
        "--label",
        "y",
        "--sample",
        "50",
        "--max-passes",
        "3",
    ]
    flags = [o.flag for o in OPTIONS.values() if o.flag not in ("--offload", "--work-folder")]
    for _ in range(number(2_000, 40)):
        words = [word for flag in chance.sample(flags, chance.randint(1, 2)) for word in (flag, junk(chance))]
        with noted(repr(words)):
            code = command([*base, *words])
            said = capfd.readouterr()
            assert code in (0, 1, 2, 3)
            assert "internal error" not in said.err
        codes[code] += 1
    record(where="command line", fault="random values of options", moments=codes.total(), ends=dict(codes))


def test_dsns() -> None:
    """What libpq reads of them is checked before a name server is asked; nothing is connected to here."""
    chance, refused, total = Random("dsns"), 0, number(20_000, 500)
    for _ in range(total):
        text = chance.choice(
            ["postgresql://me:secret@host:5432/db?sslmode=disable", "host=h port=5 dbname='d b' password=secret"]
        )
        letters = list(text)
        for _ in range(chance.randint(1, 4)):
            letters[chance.randrange(len(letters))] = chance.choice(
                [*NASTY, "@", ":", "%", "%E7", "=", "&", "?", ",", ""]
            )
        with noted(repr(text)):
            try:
                _options("".join(letters))
            except SqlsvmError as error:
                refused += 1
                told = str(error)
                assert "secret" not in told
    assert refused > total / 5
    record(where="postgres", fault="random DSNs", moments=total, ends={"refused": refused})
