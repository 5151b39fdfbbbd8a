"""The verb learn: from tables to a model that is measured on later rows."""

from typing import Any

import click

from sqlsvm.cli import several
from sqlsvm.cli.group import cli, examples, show_either
from sqlsvm.cli.options import Refused, declared, json_wanted, models_database, option, place, typed
from sqlsvm.cli.suggesting import SUGGESTING, ask, history_wanted
from sqlsvm.cli.training import code_of, name_wanted
from sqlsvm.errors import redacted


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
    from sqlsvm.notebook.told import as_typed

    context = click.get_current_context()
    asked = {each: value for each, value in options.items() if each in SUGGESTING and value is not None}
    given = {each: value for each, value in options.items() if each not in SUGGESTING and typed(each)}
    roles = {each: given.pop(each, None) for each in ("label", "time")}
    if varied := several.varied({each: value for each, value in options.items() if each not in SUGGESTING}):
        raise Refused(f"learn trains one model, and {varied.flag} has several values", "give one", context)
    with as_typed():
        found = learn(dsn, table, **roles, compare=compare, verbose=False, **place(), **asked, **given)
        ask(found.suggestion)
        if model_file or lasting(dsn):
            found.estimator.save(model_file or dsn, name)
    if not (model_file or lasting(dsn)):
        said = f"note: the model will not be kept: {redacted(dsn)} does not last; --model-file keeps one"
        click.echo(said, err=True)
    show_either(as_json, found.as_json, lambda: str(found))
    return code_of(found.estimator.model_)
