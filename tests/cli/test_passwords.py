"""No piece of a password is in what sqlsvm says, however the database URL was mistyped."""

import traceback
from pathlib import Path
from random import Random

import click
import duckdb
import pytest

from sqlsvm.cli import cli
from sqlsvm.engine import connect
from sqlsvm.errors import EngineError, OptionError, SqlsvmError, hide_typed, masked, redacted
from tests.cli.command import sqlsvm

PRINTABLE = "".join(map(chr, range(32, 127)))
AWKWARD = [
    "q@Wx@Zk9vQ",
    "q%zzWx7v",
    "Qx7 Zk9v",
    "it's Qx7v",
    'Qx "Zk9vQ"',
    "q/W@Zk9v/Qx",
    "Qx:Zk:9vQ7",
    "Qx%e77Zk",
    "Qx7 v=Zk9vQ",
]

# {} is the password. The server would be at port 1, where none is.
MISTYPED = [
    "postgresql://me:{}@127.0.0.1:1/db",
    "postgres://me:{}@127.0.0.1:1/db",
    "postgresql://me%3A{}@127.0.0.1:1/db",
    "postgresql://me:{}@extra@127.0.0.1:1/db",
    "postgresql://me:{}@127.0.0.1:1x/db",
    "postgresql://me:{}%zz@127.0.0.1:1/db",
    "postgresql://[me:{}@127.0.0.1:1/db",
    "postgresql://me:x{}",
    "postgresql://127.0.0.1:x{}/db",
    "postgresql://me@127.0.0.1:1/db?password={}",
    "postgresql://me:{}@127.0.0.1:1/db?no_such_option=1",
    "postgresql:/me:{}@127.0.0.1/db",
    "postgresql:me:{}@127.0.0.1/db",
    "mysql://me:{}@127.0.0.1/db",
    "me:{}@127.0.0.1:1/db",
    "host=127.0.0.1 port=1 password={}",
    "host=127.0.0.1 port=1 password = {} dbname=db",
    "password={} host=127.0.0.1 port=1",
    "host=127.0.0.1 port=1 pasword={}",
    "host=me:{}@127.0.0.1 port=1",
    "host=127.0.0.1 port=1 dbname=postgresql://me:{}@127.0.0.1:1/db",
    "host=127.0.0.1 port=x{}",
]

# {} is what was mistyped.
PLACES = [
    ("{}",),
    ("models", "{}"),
    ("models", "--dsn", "{}"),
    ("models", "--model-file", "{}"),
    ("models", "--dsn", "embedded:{}"),
    ("show", "{}", "--dsn", "duckdb:{place}"),
    ("show", "late", "{}"),
    ("show", "late", "--version", "{}"),
    ("show", "late", "--model-file", "{}"),
    ("drop", "{}", "--yes", "--dsn", "duckdb:{place}"),
    ("inspect", "--dsn", "duckdb:", "--query", "{}"),
    ("inspect", "--dsn", "duckdb:", "--query", "SELECT 1 AS a, 2 AS b", "--label", "{}"),
    ("train", "--dsn", "duckdb:", "--query", "SELECT 1 AS a, 2 AS b", "--label", "a", "--model-file", "{}"),
    ("report", "late", "--dsn", "duckdb:{place}", "-o", "{}"),
    ("extension", "--dir", "{}"),
]


# What has neither the beginning of a URL nor the name of an option of libpq is not known to be one.
RECOGNISED = [mistyped for mistyped in MISTYPED if not mistyped.startswith("me:")]


def pieces(password: str) -> set[str]:
    """With the blanks that a message may join or drop."""
    return {password[i : i + 4] for i in range(len(password) - 3)} | {password}


def leaked(said: str, password: str) -> set[str]:
    return {piece for piece in pieces(password) if piece in said and not piece.islower()}  # our words are lower case


def passwords(seed: int, count: int) -> list[str]:
    random = Random(seed)
    return ["".join(random.choices(PRINTABLE, k=random.randint(6, 20))) for _ in range(count)]


def everything_said(error: BaseException) -> str:
    """With all that a debugger or a log would find."""
    chain, found = [error], error
    while found := found.__cause__ or found.__context__:  # type: ignore[assignment]
        chain.append(found)
    parts = [f"{e} {e!r} {e.args} {vars(e)}" for e in chain]
    return "\n".join([*parts, *traceback.format_exception(error)])


@pytest.mark.parametrize("mistyped", MISTYPED)
def test_what_cannot_be_opened(mistyped: str) -> None:
    for password in (*AWKWARD, *passwords(len(mistyped), 60)):
        if "@" in password and "@" not in mistyped and "://" in mistyped:
            continue  # it is the correct URL of a server that is named behind the @
        with pytest.raises(SqlsvmError) as caught:
            connect(mistyped.format(password))
        assert not leaked(everything_said(caught.value), password), (password, str(caught.value))


@pytest.mark.thin(3)
@pytest.mark.parametrize("place", PLACES, ids=" ".join)
def test_what_was_typed_in_a_wrong_place(place: tuple[str, ...], tmp_path: Path) -> None:
    random = Random(" ".join(place))
    connect(f"duckdb:{tmp_path / 'x.duckdb'}").close()
    for password in (random.choice(AWKWARD), *passwords(len(place), 1)):
        wrong = random.choice(RECOGNISED).format(password)
        arguments = [a.replace("{place}", str(tmp_path / "x.duckdb")).replace("{}", wrong) for a in place]
        done = sqlsvm(*arguments, cwd=tmp_path)
        assert not leaked(done.stdout + done.stderr, password), (arguments, done.stderr)


@pytest.mark.parametrize("mistyped", RECOGNISED)
def test_what_an_error_repeats(mistyped: str) -> None:
    for password in (*AWKWARD, *passwords(1, 200)):
        wrong = mistyped.format(password)
        for text in (f"there is no file {wrong}", f"no such command {wrong!r}: really", f"cannot read {Path(wrong)}"):
            assert not leaked(everything_said(SqlsvmError(text, detail=text)), password), text


def test_a_variable(tmp_path: Path) -> None:
    for password in AWKWARD[:3]:
        done = sqlsvm("models", env={"SQLSVM_DSN": f"postgresql://me:{password}@extra@127.0.0.1:1/db"}, cwd=tmp_path)
        assert done.returncode != 0
        assert not leaked(done.stdout + done.stderr, password)


def test_a_doubtful_name_of_a_server_is_asked_of_no_name_server() -> None:
    with pytest.raises(EngineError, match="not clear where the password ends") as caught:
        connect("postgresql://me:p@ss@host/db")
    assert "%40" in str(caught.value.hint)
    with pytest.raises(EngineError, match="port in the database URL is not a number"):
        connect("postgresql://me:secret@host:54x3/db")
    with pytest.raises(EngineError, match="holds a password"):
        connect("host=me:secret@host")


def test_the_reason_is_said_without_what_libpq_repeats() -> None:
    with pytest.raises(EngineError, match="cannot be read\nDETAIL: invalid percent-encoded token\n"):
        connect("postgresql://me:p%zzword@host/db")


@pytest.mark.parametrize(
    "text",
    [
        "the connection to postgresql://me@db.example.com:5432/shop was lost",
        "postgresql://me@[::1]:5432/shop",
        "postgresql://me@/shop?host=/tmp&port=5432",
        "cannot connect to PostgreSQL (host 127.0.0.1, port 1)",
        "cannot reach sc://localhost:15002: it does not answer",
        "cannot start Spark with the master spark://host.of.spark:7077",
        "connection to PostgreSQL: server closed: no password supplied",
        "duckdb:shop.duckdb: no such file",
    ],
)
def test_what_holds_no_password_is_said_as_it_is(text: str) -> None:
    assert redacted(text) == text
    assert OptionError(text, detail=text).detail == text


@pytest.mark.parametrize("text", ["spark:sc://host:15002/;token=abc", "sc://me:15002@host/abc", "spark://me:15002abc"])
def test_what_follows_a_port_of_spark_may_be_secret(text: str) -> None:
    assert "abc" not in redacted(text)


CANARY = "Qx7Zk9vCanary"
SETTINGS = ("motherduck_token", "s3_secret_access_key", "s3_access_key_id", "http_proxy_password", "API-KEY")
OPTIONS = {
    f"{verb} {option.name}": (verb, command, option)
    for verb, command in cli.commands.items()
    for option in command.params
    if not getattr(option, "is_flag", False) and (verb, option.name) != ("demo", "output")
}
"""The file of the report of the demo is in test_demo_command.py, in the one demo that is run there."""


@pytest.mark.slow
def test_a_setting_that_was_typed_into_any_option(tmp_path: Path) -> None:
    """Each is refused in its own words, or repeated in the answer."""
    known = {"dsn": f"duckdb:{tmp_path / 'x.duckdb'}", "query": "SELECT 1 AS a, 2 AS b", "label": "a"}
    connect(known["dsn"]).close()
    for place, (verb, command, wrong) in enumerate(OPTIONS.values()):
        typed = f"duckdb:shop?threads=1&{SETTINGS[place % len(SETTINGS)]}={CANARY}"
        values = known | {o.name: "late" for o in command.params if isinstance(o, click.Argument) and o.required}
        words = [verb]
        for option in command.params:
            if value := typed if option is wrong else values.get(option.name or ""):
                words += [value] if isinstance(option, click.Argument) else [option.opts[0], value]
        done = sqlsvm(*words, cwd=tmp_path)
        assert CANARY not in done.stdout + done.stderr, words
        assert "internal error" not in done.stderr, (words, done.stderr)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(
    "url", ["duckdb:{}?{}={}", "spark:local[*]?threads=1&{1}={2}", "host=localhost {1}={2} port=1"]
)
def test_a_setting_that_the_engine_refuses(url: str, setting: str, tmp_path: Path) -> None:
    done = sqlsvm("models", "--dsn", url.format(tmp_path / "none" / "x", setting, CANARY), cwd=tmp_path)
    assert done.returncode == 1
    assert CANARY not in done.stdout + done.stderr


def test_a_setting_is_in_nothing_that_is_kept(tmp_path: Path) -> None:
    """The model, its file, its report, notes, and the answer of each verb."""
    shop = tmp_path / "shop.duckdb"
    with duckdb.connect(str(shop)) as connection:
        connection.execute("CREATE TABLE f AS SELECT i % 2 AS y, i * i % 7 AS x FROM range(40) AS r(i)")
    training = ("train", "--query", "SELECT y, x FROM f", "--label", "y", "--name", "late", "--max-passes", "2")
    secret = f"?http_proxy_password={CANARY}&threads=1"
    for dsn, *more in (
        (f"duckdb:{shop}{secret}", *training),
        (f"duckdb:{shop}{secret}", *training, "--resume", "--json"),
        (f"duckdb:{shop}{secret}", *training, "--model-file", "late.json"),
        (f"duckdb:{secret}", "train", "--query", "SELECT 1 AS y", "--label", "y"),
        (f"duckdb:{shop}{secret}", "report", "late", "-o", "late.html"),
        (f"duckdb:{shop}{secret}", "report", "late", "-o", "-"),
        (f"duckdb:{shop}{secret}", "evaluate", "late"),
        (f"duckdb:{shop}{secret}", "show", "late"),
        (f"duckdb:{shop}{secret}", "predict", "late", "--query", f"SELECT '{CANARY}' FROM nowhere"),
    ):
        done = sqlsvm(*more, "--dsn", dsn, cwd=tmp_path)
        assert CANARY not in done.stdout + done.stderr, (more, done.stdout, done.stderr)
        assert "internal" not in done.stderr
    assert {path.name for path in tmp_path.iterdir()} >= {"shop.duckdb", "late.json", "late.html"}
    assert not [path for path in tmp_path.iterdir() if CANARY.encode() in path.read_bytes()]


def test_each_secret_of_a_url_is_hidden() -> None:
    hide_typed([f"duckdb:?a_token={CANARY}1&b_secret={CANARY}%202"])
    assert masked(f"{CANARY}1, {CANARY} 2, {CANARY}%202") == "..., ..., ..."
