"""`sqlsvm VERB ...`. Heavy imports stand inside the verbs, so that --help and a typing mistake are answered at once."""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterable
from io import TextIOWrapper
from types import FrameType
from typing import Any, NoReturn, TypeVar

import click

from sqlsvm.errors import OptionError, SqlsvmError
from sqlsvm.terminal import in_colour, printable

INTERRUPTED = 130
READER_GONE = 141  # what a shell reports of a program that SIGPIPE ended

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class Ended(KeyboardInterrupt):
    """SIGTERM or SIGHUP. It goes the way of Ctrl-C: the statement is cancelled, the snapshot rolled back."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = 128 + number


# -- running -----------------------------------------------------------------------------------------------------------


def main() -> None:
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """One command line -> its exit code. Whatever goes wrong ends as a line on stderr, never as a traceback."""
    _prepare()
    try:
        # Without standalone_mode click hands over exit codes, and raises instead of printing and exiting.
        code = cli.main(arguments or ["--help"], prog_name="sqlsvm", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        _complain(_usage(error))
        return error.exit_code
    except click.Abort as error:
        return _interrupted(error.__cause__)
    except SqlsvmError as error:
        _complain(error)
        return 1
    except Exception as error:
        if os.environ.get("SQLSVM_DEBUG"):
            raise
        problem = f"{type(error).__name__}: {error}"
        _complain(SqlsvmError(problem, hint="SQLSVM_DEBUG=1 shows where; please report it"), "internal error:")
        return 1


def _prepare() -> None:
    """Names of the user may hold characters that the terminal's encoding lacks; other signals end us as Ctrl-C does."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, _end)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    raise Ended(number)


def _interrupted(cause: BaseException | None) -> int:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)  # all is tidy by now: a second one need not be caught
    click.echo("interrupted", err=True)
    return cause.exit_code if isinstance(cause, Ended) else INTERRUPTED


def _usage(error: click.ClickException) -> SqlsvmError:
    """click's complaint in our form."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    hint = getattr(error, "hint", None) or f"{context.command_path if context else 'sqlsvm'} --help"
    return OptionError(error.format_message(), hint=hint)


def _complain(error: SqlsvmError, kind: str = "error:") -> None:
    text = "\n".join(printable(line) for line in str(error).expandtabs().splitlines())
    red = in_colour(sys.stderr)
    click.echo(f"{click.style(kind, fg='red', bold=True)} {text}", err=True, color=red)


def _show(text: str) -> None:
    """Print a verb's answer; a reader that has seen enough, as `head` may, is no error."""
    try:
        print(text, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is left in the buffer
        if isinstance(error, BrokenPipeError):
            raise SystemExit(READER_GONE) from None
        raise SqlsvmError("cannot write the answer", detail=str(error)) from error


# -- options that verbs share ------------------------------------------------------------------------------------------


def _option(name: str, *argument: str, **settings: Any) -> Callable[[Decorated], Decorated]:
    """An option that is in $SQLSVM_<NAME> too; `argument` is what the verb calls it, if not by its name."""
    variable = name.removeprefix("--").replace("-", "_").upper()
    return click.option(name, *argument, envvar=f"SQLSVM_{variable}", **settings)


def _together(*options: Callable[[Any], Any]) -> Callable[[Decorated], Decorated]:
    def decorate(command: Decorated) -> Decorated:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


class Missing(click.UsageError):
    """A missing option; the hint says how to give it."""

    def __init__(self, message: str, hint: str, context: click.Context) -> None:
        super().__init__(message, context)
        self.hint = hint


def _needed(hint: str) -> Callable[[click.Context, click.Parameter, str | None], str | None]:
    """A check that an option is there. click's own says neither how to spell it nor where else it may stand."""

    def check(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
        if not value and not context.resilient_parsing:
            raise Missing(f"{option.opts[0]} is missing", hint, context)
        return value

    return check


_query_needed = _needed("--query features.sql, or --query 'SELECT ... FROM ...', or --query - for stdin")


def _query_text(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """`-` is standard input, the name of a file stands for what is in it, anything else is SQL."""
    if not _query_needed(context, option, value) or value is None:
        return value
    if value == "-" or os.path.exists(value):
        return _read(value)
    if not any(c.isspace() for c in value.strip()):
        raise OptionError(f"there is no file {value}", hint="--query takes the name of a file, or the SQL itself")
    return value


def _read(name: str) -> str:
    try:
        with click.open_file(name, encoding="utf-8-sig") as file:
            return str(file.read())
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"cannot read the query from {name}", detail=str(error)) from error


database = _option(
    "--dsn",
    metavar="URL",
    callback=_needed(
        "--dsn postgresql://user@host/database, or set SQLSVM_DSN; "
        "`embedded:` starts a PostgreSQL of its own, `duckdb:` reads files"
    ),
    help="The database: postgresql://..., embedded:[PATH] or duckdb:[PATH].",
)

feature_query = _together(
    _option(
        "--query",
        metavar="FILE|SQL",
        callback=_query_text,
        help="The query that would return features and label; - reads it from stdin.",
    ),
    _option("--label", metavar="COLUMN", help="The output column to predict."),
    _option("--weight", metavar="COLUMN", help="The output column that says how much a row counts."),
    _option("--positive", metavar="VALUE", help="The label's positive class, where it is not true or 1."),
    _option("--categorical", metavar="COLUMN", multiple=True, help="Numbers that are names, not amounts; repeatable."),
)

json_wanted = _option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def _examples(*lines: str) -> str:
    return "\n".join(("\b", "Example:", *(f"  {line}" for line in lines)))


# -- verbs -------------------------------------------------------------------------------------------------------------


def _version(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        click.echo(f"sqlsvm {version('sqlsvm')}")
    except PackageNotFoundError:
        click.echo("sqlsvm, from a checkout that is not installed")
    context.exit()


@click.group(epilog="Every option can be set as $SQLSVM_<NAME>, for instance SQLSVM_DSN.")
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version."
)
def cli() -> None:
    """Linear support vector machines over the join of your tables, without building the join."""


@cli.command(
    epilog=_examples(
        "sqlsvm inspect --dsn postgresql://localhost/flights --label late --query '",
        "  SELECT f.arr_delay > 15 AS late, f.distance, p.seats",
        "  FROM flights f JOIN planes p USING (tailnum)'",
    )
)
@database
@feature_query
@json_wanted
def inspect(
    dsn: str,
    query: str,
    label: str | None,
    weight: str | None,
    positive: str | None,
    categorical: Iterable[str],
    as_json: bool,
) -> None:
    """Show what a query joins, how, and how many rows that would be.

    Relations and their rows, the join tree, how many rows meet on each key, keys without a partner, NULLs, the
    features, and the balance of the label. Nothing is changed, and the join is counted, not made.
    """
    from sqlsvm import inspect as inspection
    from sqlsvm.draw import draw
    from sqlsvm.engine import connect

    with connect(dsn) as engine:
        found = inspection.inspect(
            engine, query, label=label, weight=weight, positive=positive, categorical=tuple(categorical)
        )
    _show(json.dumps(inspection.as_json(found), indent=2) if as_json else draw(found, sys.stdout))


@cli.command(
    short_help="Inspect a join of 10^9 rows over a small shop.",
    epilog=_examples("sqlsvm demo", "sqlsvm demo --dsn embedded:shop   # keeps the database in ./shop"),
)
@click.option(
    "--dsn",
    envvar="SQLSVM_DEMO_DSN",
    metavar="URL",
    help="Put it there, into the schema sqlsvm_demo, and leave it there. $SQLSVM_DSN is not used.",
)
def demo(dsn: str | None) -> None:
    """Make a small shop in a throw-away PostgreSQL and inspect a join of 10^9 rows over it."""
    from sqlsvm import demo as shop
    from sqlsvm.draw import draw
    from sqlsvm.engine import connect
    from sqlsvm.inspect import inspect

    with connect(dsn or "embedded:") as engine:
        made = shop.make(engine, shop.schema_in(engine.url))
        _show(made.introduction)
        _show(draw(inspect(engine, made.query, label=shop.LABEL), sys.stdout))
    _show(made.next_steps)
