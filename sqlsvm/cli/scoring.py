"""The verbs that use a stored model: evaluate and predict."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import category

import click

from sqlsvm.cli.group import answering, cli, examples, show_answer, show_either, writing
from sqlsvm.cli.options import (
    declared,
    json_wanted,
    models_database,
    option,
    other_query,
    rows_text,
    together,
    trust_wanted,
)
from sqlsvm.cli.stored import Which, file_wanted, rebind_wanted, which
from sqlsvm.errors import OptionError
from sqlsvm.files import is_stdout, is_stream
from sqlsvm.terminal import printable, row_count

if TYPE_CHECKING:
    from sqlglot import exp

    from sqlsvm.engine.base import Engine
    from sqlsvm.model.model import Model
    from sqlsvm.model.predict import Kind

rows_database = together(
    option(
        "--dsn", metavar="URL", help="The database with the rows; also with the model, unless --model-file is given."
    ),
    trust_wanted,
)


other_rows = together(
    option("--query", "query", metavar="FILE|SQL", callback=other_query, help="Measure on the rows of this query."),
    option("--where", "condition", metavar="CONDITION", help="Measure on the rows of its query that meet this."),
    option(
        "--input",
        "rows",
        metavar="TABLE|SELECT|FILE",
        callback=rows_text,
        help="Measure on rows with columns named as they are there.",
    ),
)


@cli.command(
    short_help="Measure a model on the rows of its query.",
    epilog=examples(
        "sqlsvm evaluate late_flights",
        "sqlsvm evaluate late_flights --where \"f.day >= '2024-01-01'\"",
        "sqlsvm evaluate late_flights --input todays_flights",
        "sqlsvm evaluate --model-file late.json --json",
    ),
)
@which(models_database, file_wanted, rebind_wanted)
@declared("evaluate")
@other_rows
@json_wanted
def evaluate(
    wanted: Which, offload: bool | None, query: str | None, condition: str | None, rows: str | None, as_json: bool
) -> None:
    """Measure a model on the rows that its query has now, without computing the join; or on others, which say more
    about rows that are to come.

    Prints the confusion matrix, accuracy, precision, recall, F1, balanced accuracy and ROC AUC: exact, or with bounds.
    --json adds the histogram of the scores of each class. MODEL may be left out if there is only one. If the label is a
    number, prints how far scores are off: mean absolute and root mean square error, R^2, pinball loss, coverage.

    With more than two classes, prints how many rows of each class are predicted as each class, accuracy, and the means
    of F1. A model with probabilities also has its log loss and Brier score.

    A model trained with --holdout is measured twice: on the rows held out, and on those it was trained on. On the rows
    held out, and on those of --query, --where and --input, the accuracy, the AUC and the loss of a label of two classes
    have intervals of 95 %: how far they would be off on other rows of the label's table. So have the errors, R^2 and
    the loss of a label that is a number, and the accuracies and the means of F1 of a label with more than two classes.
    """
    from functools import partial

    from sqlsvm.ask.evaluate import measure, measure_held_out
    from sqlsvm.ask.rows import on_all, on_parts
    from sqlsvm.query.rewrites.split import holdout_of
    from sqlsvm.show.evaluation import IN_SAMPLE, draw_evaluation, draw_parts

    if len(given := [text for text in (query, condition, rows) if text]) > 1:
        raise click.UsageError("--query, --where and --input exclude each other", click.get_current_context())
    with wanted.model_and_rows(given, given) as (model, engine):
        if others := _others(engine, model, query, condition, rows):
            model = others
        measured, held_out = partial(measure, model=model), partial(measure_held_out, model=model)
        if holdout_of(model.options) and not others:
            parts = on_parts(engine, model, measured, offload=offload, held_out=held_out)
            said: dict[str, Any] = {part: found.as_json() for part, found in parts.items()}
            drawn = draw_parts(parts, sys.stdout)
        else:
            found = on_all(engine, model, held_out if others else measured, offload=offload)
            said = {**found.as_json(), "trained_on": not others}
            drawn = draw_evaluation(found, sys.stdout)
            drawn = drawn if others else f"{IN_SAMPLE}\n\n{drawn}"
    show_either(as_json, lambda: {"model": model.name, "version": model.version, **said}, lambda: drawn)


def _others(
    engine: "Engine", model: "Model", query: str | None, condition: str | None, rows: str | None
) -> "Model | None":
    """The model over other rows, if the command line names any."""
    from sqlsvm.ask.rows import of_input, of_query, where

    ways = (of_query, query), (where, condition), (of_input, rows)
    return next((of(engine, model, text) for of, text in ways if text), None)


targets = together(
    click.option("--table", metavar="TABLE", help="Write the predictions to a new table of this name."),
    click.option("--view", metavar="VIEW", help="Make a view of this name that computes them."),
    click.option(
        "--security-invoker", is_flag=True, help="Let the view read with the rights of its reader (PostgreSQL 15)."
    ),
    click.option("--csv", "csv_file", metavar="FILE", help="Write them to this file; - is stdout, the default."),
    click.option(
        "--keep-formulas",
        is_flag=True,
        help="Write CSV cells such as =1+1 without a ', which keeps a spreadsheet from running them.",
    ),
    click.option("--parquet", metavar="FILE", help="Write them to this Parquet file (DuckDB) or folder (Spark)."),
    click.option("--overwrite", is_flag=True, help="Replace a table, view or file that exists."),
)


@cli.command(
    short_help="Predict with a model, for its rows or others.",
    epilog=examples(
        "sqlsvm predict late_flights --input todays_flights --table todays_delays",
        "sqlsvm predict late_flights --input \"SELECT * FROM flights WHERE day = 'today'\" > delays.csv",
        "sqlsvm predict late_flights --sql",
    ),
)
@which(rows_database, file_wanted, rebind_wanted)
@click.option(
    "--input", "rows", metavar="TABLE|SELECT|FILE", callback=rows_text, help="Rows with columns named as the features."
)
@targets
@click.option(
    "--probability",
    is_flag=True,
    help="Add the probability of the positive class, or of each of several; with --sql, print it.",
)
@click.option(
    "--sql",
    "as_sql",
    is_flag=True,
    help="Print only the score as an SQL expression; of more than two classes, the class.",
)
def predict(
    wanted: Which,
    rows: str | None,
    table: str | None,
    view: str | None,
    security_invoker: bool,
    csv_file: str | None,
    keep_formulas: bool,
    parquet: str | None,
    overwrite: bool,
    probability: bool,
    as_sql: bool,
) -> None:
    """Add score and prediction to rows: to those of the model's query, or to those of --input.

    --input is a table, a SELECT or, in DuckDB and Spark, a CSV or Parquet file. A category that the training has not
    seen has weight 0. Without --input the query of the model is run, if its join is not too large.

    A view reads its tables with the rights of its owner, also past row-level security, unless it is made with
    --security-invoker.
    """
    if security_invoker and view is None:
        raise click.UsageError("--security-invoker needs --view", click.get_current_context())
    _check_targets({"table": table, "view": view, "csv": csv_file, "parquet": parquet}, overwrite, as_sql, rows)
    if keep_formulas and (as_sql or table or view or parquet):
        raise click.UsageError("--keep-formulas is for CSV", click.get_current_context())
    kind: Kind = "view" if table is None else "table"
    made = view if table is None else table
    if wanted.dsn and made is not None:
        _check_lasting(wanted.dsn, kind)
    if as_sql:
        _print_sql(wanted, probability)
        return
    from sqlsvm.model.predict import predict, save, write_csv, write_parquet

    typed = [] if rows is None else [rows]
    written = [] if parquet is None else [parquet, str(Path(parquet).resolve().with_name(".sqlsvm-*"))]
    with wanted.model_and_rows(typed, typed + written) as (model, engine):
        if rows is None and view is None and (parquet is None or model.bags > 1):
            _check_size(engine, model)
        found = predict(engine, model, rows, probability=probability)
        if made is not None:
            save(engine, found, made, kind, overwrite=overwrite, security_invoker=security_invoker)
            show_answer(f"the predictions are in the {kind} {printable(made)}")
        elif parquet is not None:
            write_parquet(engine, found, parquet, overwrite=overwrite)
            show_answer(f"the predictions are in {printable(parquet)}")
        elif csv_file is None or is_stdout(csv_file):
            with answering():
                write_csv(engine, found, sys.stdout, keep_formulas=keep_formulas)
                sys.stdout.flush()
        else:
            count = _write_file(engine, found, Path(csv_file), overwrite, keep_formulas)
            show_answer(f"{count:,} predictions are in {printable(csv_file)}")


def _check_targets(targets: dict[str, str | None], overwrite: bool, as_sql: bool, rows: str | None) -> None:
    given = [f"--{name}" for name, target in targets.items() if target is not None]
    if as_sql:
        given += ["--sql"] + (["--input"] if rows is not None else [])
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} exclude each other", click.get_current_context())
    if overwrite and given in ([], ["--sql"]):
        raise click.UsageError("--overwrite needs --table, --view, --csv or --parquet", click.get_current_context())


def _check_lasting(dsn: str, kind: "Kind") -> None:
    """A table in a database that does not last would be gone after the command."""
    from sqlsvm.engine import lasting

    scheme = dsn.partition(":")[0]
    lasts = "Spark with a catalog that lasts" if scheme == "spark" else f"{scheme}:PATH"
    if not lasting(dsn):
        raise OptionError(
            f"a {kind} in {dsn} would be gone after this command",
            hint=f"--csv FILE writes the predictions to a file; {lasts} keeps what is made in it",
        )


MOST_ROWS_UNASKED = 10_000_000


def _check_size(engine: "Engine", model: "Model") -> None:
    """The whole join is rarely wanted, and may not fit on the disk. A join of one bag has no more rows than a table,
    and as Parquet they fit where the table does."""
    rows = _counted(engine, model) if model.weighted else model.join_rows
    if rows > MOST_ROWS_UNASKED:
        raise OptionError(
            f"the query of {model.name} has {row_count(rows)}, and predict would write all of them",
            hint='choose some: --input "SELECT ... LIMIT 100", or --input TABLE; --view stores no rows',
        )


def _counted(engine: "Engine", model: "Model") -> float:
    """A model with weights stores the total weight of its rows, not their number."""
    from sqlsvm.ask.inspect import inspect_model

    return inspect_model(engine, model).join_rows


def _print_sql(wanted: Which, probability: bool) -> None:
    from sqlsvm.engine import dialect_of
    from sqlsvm.model.predict import score_sql

    dialect = dialect_of(wanted.dsn) if wanted.dsn else None
    text = score_sql(wanted.model(), dialect, probability=probability)
    if sys.stdout.isatty() and any(category(c) == "Cc" and c not in "\n\t" for c in text):
        hint = "write it to a file: sqlsvm predict ... --sql > score.sql"
        raise OptionError("the expression has characters that a terminal would act on", hint=hint)
    show_answer(text)


def _write_file(engine: "Engine", found: "exp.Select", path: Path, overwrite: bool, keep_formulas: bool) -> int:
    """Writes all rows or nothing, except to a pipe or a device. Returns the number of rows."""
    from sqlsvm.model.predict import write_csv

    if path.exists() and not is_stream(path) and not overwrite:
        raise OptionError(f"{path} exists already", hint="choose another name, or add --overwrite")
    with writing(path) as out:
        return write_csv(engine, found, out, keep_formulas=keep_formulas)
