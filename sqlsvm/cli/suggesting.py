"""The verbs that write a query: suggest, of what the database says of its tables, and learn."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from sqlsvm.cli import training
from sqlsvm.cli.group import cli, examples, show_either
from sqlsvm.cli.options import (
    Refused,
    database,
    declared,
    json_wanted,
    models_database,
    opened,
    option,
    place,
    together,
    typed,
)
from sqlsvm.cli.training import code_of, name_wanted
from sqlsvm.errors import redacted
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
SUGGESTING = *OF_HISTORY, *TO_COME  # what says how a query is written
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


@cli.command(
    short_help="From tables to a model that is measured on later rows.",
    epilog=examples(
        "sqlsvm learn --dsn postgresql://localhost/shop --table orders --label late --time placed_at --name late",
        "sqlsvm learn --table customers --label-next orders --within '90 days' --every '30 days' --none --name churn",
        "sqlsvm learn --table orders --label late --time placed_at --l1 auto --name late",
    ),
)
@models_database
@history_wanted
@declared("train")
@name_wanted
@option("--model-file", metavar="FILE", help="Keep the model in this JSON file, not in the database.")
@click.option("--compare/--no-compare", default=True, help="Train LightGBM on the same features, if it is installed.")
@json_wanted
def learn(dsn: str, table: str, name: str, model_file: str | None, compare: bool, as_json: bool, **options: Any) -> int:
    """Write the query for a label as sqlsvm suggest does, check that nothing in it comes from the future, train on the
    earlier rows, and measure the model on the latest fifth, next to the usual class or the mean.

    The answer names each feature with its table and its span. The query is kept with the model: sqlsvm show --sql
    prints it, to be edited and trained on with sqlsvm train. Options that are not named have the values that such a
    query needs: --as-of and --time its time, --holdout 0.2.
    """
    from sqlsvm.engine import lasting
    from sqlsvm.learning import learn

    context = click.get_current_context()
    asked = {each: value for each, value in options.items() if each in SUGGESTING and value is not None}
    given = {each: value for each, value in options.items() if each not in SUGGESTING and typed(each)}
    roles = {each: given.pop(each, None) for each in ("label", "time")}
    if varied := training.option_of({each: value for each, value in options.items() if each not in SUGGESTING}):
        raise Refused(f"learn trains one model, and {varied.flag} has several values", "give one", context)
    found = learn(dsn, table, **roles, compare=compare, verbose=False, **place(), **asked, **given)
    ask(found.suggestion)
    if model_file or lasting(dsn):
        found.estimator.save(model_file or dsn, name)
    else:
        said = f"note: the model will not be kept: {redacted(dsn)} does not last; --model-file keeps one"
        click.echo(said, err=True)
    show_either(as_json, found.as_json, lambda: str(found))
    return code_of(found.estimator.model_)
