"""Options that verbs share, and what they turn into."""

import json
import os
from collections.abc import Callable
from math import isfinite
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from sqlsvm.errors import OptionError

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def option(name: str, *argument: str, **settings: Any) -> Callable[[Decorated], Decorated]:
    """An option that is in $SQLSVM_<NAME> too; `argument` is what the verb calls it, if not by its name."""
    variable = name.removeprefix("--").replace("-", "_").upper()
    return click.option(name, *argument, envvar=f"SQLSVM_{variable}", **settings)


def together(*options: Callable[[Any], Any]) -> Callable[[Decorated], Decorated]:
    def decorate(command: Decorated) -> Decorated:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def typed(name: str) -> bool:
    """Does the command line give it? What stands in a variable may be meant for other verbs."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


class Missing(click.UsageError):
    """A missing option; the hint says how to give it."""

    def __init__(self, message: str, hint: str, context: click.Context) -> None:
        super().__init__(message, context)
        self.hint = hint


def _needed(hint: str) -> Callable[[click.Context, click.Parameter, str | None], str | None]:
    """A check that an option is there. click's own says neither how to spell it nor where else it may stand."""

    def check(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
        if not value and not context.resilient_parsing:
            raise Missing(f"{parameter.opts[0]} is missing", hint, context)
        return value

    return check


_query_needed = _needed("--query features.sql, or --query 'SELECT ... FROM ...', or --query - for stdin")


def _query_text(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """`-` is standard input, the name of a file stands for what is in it, anything else is SQL."""
    if not _query_needed(context, parameter, value) or value is None:
        return value
    if value == "-" or os.path.exists(value):
        return _read(value, "the query")
    if not any(c.isspace() for c in value.strip()):
        raise OptionError(f"there is no file {value}", hint="--query takes the name of a file, or the SQL itself")
    return value


def _read(name: str, what: str) -> str:
    try:
        with click.open_file(name, encoding="utf-8-sig") as file:
            return str(file.read())
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"cannot read {what} from {name}", detail=str(error)) from error


def _beta(context: click.Context, _parameter: click.Parameter, value: str | None) -> Any:
    """The weights, from a file or as they stand."""
    if value is None or context.resilient_parsing:
        return None
    text = value if value.lstrip().startswith("{") else _read(value, "beta")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        hint = 'write {"intercept": 0.1, "weights": {"distance": 0.3, "carrier": {"UA": -0.2}}}'
        raise OptionError("beta is not JSON", detail=str(error), hint=hint) from error


def finite(_context: click.Context, parameter: click.Parameter, value: float) -> float:
    if not isfinite(value):
        raise click.BadParameter(f"{value} is not a finite number.", param=parameter)
    return value


database = option(
    "--dsn",
    metavar="URL",
    callback=_needed(
        "--dsn postgresql://user@host/database, or set SQLSVM_DSN; "
        "`embedded:` starts a PostgreSQL of its own, `duckdb:` reads files"
    ),
    help="The database: postgresql://..., embedded:[PATH] or duckdb:[PATH].",
)

feature_query = together(
    option(
        "--query",
        metavar="FILE|SQL",
        callback=_query_text,
        help="The query that would return features and label; - reads it from stdin.",
    ),
    option("--label", metavar="COLUMN", help="The output column to predict."),
    option("--weight", metavar="COLUMN", help="The output column that says how much a row counts."),
    option("--positive", metavar="VALUE", help="The label's positive class, where it is not true or 1."),
    option("--categorical", metavar="COLUMN", multiple=True, help="Numbers that are names, not amounts; repeatable."),
)

counting_wanted = option(
    "--counting",
    type=click.Choice(["auto", "exact", "grid", "sketch"]),
    default="auto",
    show_default=True,
    help="How to count: exactly, on a grid of scores, or within a factor.",
)

nulls_wanted = option(
    "--nulls",
    type=click.Choice(["error", "mean", "drop"]),
    default="error",
    show_default=True,
    help="What a NULL feature means: an error, the mean of the others, or to leave the row out.",
)


offload_wanted = option(
    "--offload",
    is_flag=True,
    help="Copy the columns used from PostgreSQL into a DuckDB of this process, and work there.",
)


def buckets_wanted(default: int) -> Callable[[Decorated], Decorated]:
    return option(
        "--buckets",
        type=click.IntRange(1, 1 << 16),
        default=default,
        show_default=True,
        help="How finely the grid rounds scores: buckets a unit.",
    )


def beta_wanted(help: str) -> Callable[[Decorated], Decorated]:
    return option("--beta", metavar="FILE|JSON", callback=_beta, help=help)


json_wanted = option("--json", "as_json", is_flag=True, help="Print one JSON object.")
