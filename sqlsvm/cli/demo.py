"""The verb demo: makes a small shop, trains on it and reports."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sqlsvm.cli.group import cli, examples, show_answer, writing
from sqlsvm.cli.reporting import REPORT, check_place, write
from sqlsvm.cli.resuming import Keeper
from sqlsvm.cli.training import Wanted, code_of, train_and_keep
from sqlsvm.errors import SqlsvmError
from sqlsvm.terminal import printable

if TYPE_CHECKING:
    from sqlsvm.demo import Shop
    from sqlsvm.engine.base import Engine


@cli.command(
    short_help="Inspect and train on a join of 10^9 rows over a small shop.",
    epilog=examples(
        "sqlsvm demo",
        "sqlsvm demo --dsn duckdb:shop.duckdb   # tables and model stay in this file",
        "sqlsvm demo --dsn embedded:shop        # in PostgreSQL",
    ),
)
@click.option(
    "--dsn",
    envvar="SQLSVM_DEMO_DSN",
    metavar="URL",
    default="duckdb:",
    show_default=True,
    help="Use this database, in the schema sqlsvm_demo, and keep shop and model. $SQLSVM_DSN is not used.",
)
@click.option("-o", "--output", metavar="FILE", default=REPORT, show_default=True, help="The report.")
def demo(dsn: str, output: str) -> int:
    """Make a small shop in a DuckDB in memory, then inspect a join of 10^9 rows over it and train on it.

    Shows the join tree, a training inside the database and the model with its proof, and writes a report.
    """
    from sqlsvm import demo as shop
    from sqlsvm.engine import connect

    check_place(output)
    with connect(dsn) as engine:
        made = shop.make(engine)
        show_answer(shop.introduction(made))
        code = _play(engine, made.query)
        _report(engine, output)
    show_answer(f"\n{shop.next_steps(made, written=_query_written(made))}")
    return code


def _query_written(made: "Shop") -> bool:
    """Write the query of a shop that is kept, so that users need not copy it from the screen. Their own file stays."""
    from sqlsvm.demo import QUERY_FILE

    file = Path(QUERY_FILE)
    if not made.kept or file.exists():
        return False
    with writing(file) as out:
        out.write(f"{made.query}\n")
    return True


def _play(engine: "Engine", query: str) -> int:
    """Inspect the join, then train on it. The model is stored even in a temporary database, for the report."""
    from sqlsvm.ask.inspect import inspect
    from sqlsvm.demo import LABEL, MODEL
    from sqlsvm.options import UNNAMED
    from sqlsvm.rules import named
    from sqlsvm.run.training import Training
    from sqlsvm.show.inspection import draw
    from sqlsvm.store import open_store

    show_answer(draw(inspect(engine, query, label=LABEL), sys.stdout))
    show_answer("\nNow sqlsvm trains a linear model on that join, inside the database:\n")
    training = Training.of(**named({"label": LABEL, **dict.fromkeys(UNNAMED)}))
    wanted = Wanted(query, {MODEL: training})
    return code_of(*train_and_keep(engine, Keeper(open_store(engine), engine.url), wanted))


def _report(engine: "Engine", output: str) -> None:
    """If the report cannot be written, the demo still succeeds."""
    from sqlsvm.demo import MODEL
    from sqlsvm.report import gather_from
    from sqlsvm.store import open_store

    show_answer("")
    try:
        write(gather_from(engine, open_store(engine).load(MODEL)), str(Path(output).resolve()))
    except SqlsvmError as error:
        click.echo(f"note: {printable(str(error))}", err=True)
