"""The verb suggest: a query for a label, written from what the database says of its tables."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from sqlsvm.cli.group import cli, examples, show_either
from sqlsvm.cli.options import database, json_wanted, opened, option, together
from sqlsvm.suggestion.parameters import OF_HISTORY, PARAMETERS, TO_COME

if TYPE_CHECKING:
    from sqlsvm.suggestion.suggest import Suggestion, Wanted


def _listed(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(each.strip() for each in value.split(",") if each.strip())


def _asked(name: str, **settings: Any) -> Callable[[Any], Any]:
    metavar, said = PARAMETERS[name]
    kind = {"metavar": metavar} if metavar else {"is_flag": True}
    listed = {"callback": _listed} if name in OF_HISTORY else {}
    return option(f"--{name.replace('_', '-')}", **{"help": said, **kind, **listed, **settings})


_HOW = "fast: what a training makes of the sub-queries, for a database that runs the text itself."
SUGGESTING = *OF_HISTORY, *TO_COME
"""What says how a query is written."""
_ways = together(*map(_asked, SUGGESTING))
history_wanted = together(_asked("table", required=True), _ways)
suggestion_wanted = together(history_wanted, _asked("label"), _asked("time"))


@cli.command(
    short_help="Write a query from what the database says of its tables.",
    epilog=examples(
        "sqlsvm suggest --dsn postgresql://localhost/shop --table orders --label late --time placed_at > features.sql",
        "sqlsvm suggest --table customers --label-next orders --within '90 days' --every '30 days' --none > churn.sql",
    ),
)
@database
@suggestion_wanted
@click.option("--sql", "how", type=click.Choice(["plain", "fast"]), default="plain", help=_HOW)
@json_wanted
def suggest(dsn: str, as_json: bool, how: str, **wanted: Any) -> None:
    """Write a query whose features are what is known of a row before its time, for you to read and edit.

    It has the row's own columns, those of the rows that its foreign keys lead to, and the history of what they refer
    to: of the other orders and of the visits of the customer of an order, before that order, how many there were, when
    the last was, its values, means and shares. Foreign keys are those that the database declares, or guesses,
    which the comments say. What is left out is in a comment, with the reason.

    With --label-next the query makes its rows too: each entity at each of several times, with what comes next as the
    label.
    """
    from sqlsvm.model.predict import input_rows
    from sqlsvm.suggestion.suggest import suggest as written

    with opened(dsn) as engine:
        found = written(engine, wanted_of(**wanted))
        query = input_rows(engine, found.query).sql(engine.dialect, pretty=True) if how == "fast" else found.query
    ask(found)
    show_either(as_json, lambda: {"query": query, "questions": found.questions}, lambda: query)


def ask(found: "Suggestion") -> None:
    for question in found.questions:
        click.echo(f"note: {question}", err=True)


def wanted_of(**options: Any) -> "Wanted":
    from sqlsvm.suggestion.suggest import Wanted
    from sqlsvm.suggestion.task import next_of

    to_come = next_of(**{name: options.pop(name) for name in TO_COME})
    return Wanted(**{name: value for name, value in options.items() if value is not None}, next=to_come)
