"""The verb suggest: a query for a label, written from what the database says of its tables."""

from typing import TYPE_CHECKING, Any

import click

from sqlsvm.cli.group import cli, examples, show_either
from sqlsvm.cli.options import database, json_wanted, opened, option, together

if TYPE_CHECKING:
    from sqlsvm.suggest.suggest import Wanted


def _listed(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(each.strip() for each in value.split(",") if each.strip())


suggestion_wanted = together(
    option("--table", metavar="TABLE", required=True, help="The table whose rows have the label; a file in DuckDB."),
    option("--label", metavar="COLUMN", required=True, help="The column to predict."),
    option("--time", metavar="COLUMN", required=True, help="When a row is. Nothing from then on is a feature."),
    option(
        "--entity",
        metavar="COLUMN,...",
        callback=_listed,
        help="The column that says whose history counts; all foreign keys of the table if there is none.",
    ),
    option("--tables", metavar="TABLE,...", callback=_listed, help="Use only these other tables, or files in DuckDB."),
)


@cli.command(
    short_help="Write a query from what the database says of its tables.",
    epilog=examples(
        "sqlsvm suggest --dsn postgresql://localhost/shop --table orders --label late --time placed_at > features.sql",
    ),
)
@database
@suggestion_wanted
@json_wanted
def suggest(dsn: str, as_json: bool, **wanted: Any) -> None:
    """Write a query whose features are what is known of a row before its time, for you to read and edit.

    It has the row's own columns and those of the rows that its foreign keys lead to. Foreign keys are those that the
    database declares, or guesses, which the comments say. What is left out is in a comment, with the reason.
    """
    from sqlsvm.suggest.suggest import suggest as written

    with opened(dsn) as engine:
        found = written(engine, wanted_of(**wanted))
    for question in found.questions:
        click.echo(f"note: {question}", err=True)
    show_either(as_json, lambda: {"query": found.query, "questions": found.questions}, lambda: found.query)


def wanted_of(**options: Any) -> "Wanted":
    from sqlsvm.suggest.suggest import Wanted

    return Wanted(**{name: value for name, value in options.items() if value is not None})
