"""The verb demo: makes a small shop, trains on it and reports."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sqlsvm.cli.group import cli, examples, show_answer, writing
from sqlsvm.cli.reporting import REPORT, check_place, write
from sqlsvm.cli.resuming import Keeper
from sqlsvm.cli.training import code_of, on_pass, train_and_keep
from sqlsvm.errors import SqlsvmError
from sqlsvm.terminal import printable

if TYPE_CHECKING:
    from sqlsvm.engine.base import Engine


@cli.command(
    short_help="Inspect and train on a join of 10^9 rows over a small shop.",
    epilog=examples("sqlsvm demo", "sqlsvm demo --keep shop   # tables and model stay in ./shop"),
)
@click.option("--keep", metavar="DIR", help="Keep the database in this folder; --dsn embedded:DIR reaches it later.")
@click.option(
    "--dsn",
    envvar="SQLSVM_DEMO_DSN",
    metavar="URL",
    help="Use this database, in the schema sqlsvm_demo, and keep shop and model. $SQLSVM_DSN is not used.",
)
@click.option("-o", "--output", metavar="FILE", default=REPORT, show_default=True, help="The report.")
def demo(keep: str | None, dsn: str | None, output: str) -> int:
    """Make a small shop in a temporary PostgreSQL, then inspect a join of 10^9 rows over it and train on it.

    Shows the join tree, a training inside the database and the model with its proof, and writes a report.
    """
    from sqlsvm import demo as shop
    from sqlsvm.engine import connect

    if keep and dsn:
        raise click.UsageError("--keep and --dsn exclude each other", click.get_current_context())
    url = f"embedded:{keep}" if keep else dsn or "embedded:"
    check_place(output)
    with connect(url) as engine:
        made = shop.make(engine, shop.schema_in(url))
        show_answer(shop.introduction(made))
        code = _play(engine, made.query)
        if not engine.abilities.in_process:
            _offloaded(engine, made.query)
        _report(engine, output)
    show_answer(f"\n{shop.next_steps(made, _query_file(keep, made.query))}")
    return code


def _query_file(keep: str | None, query: str) -> str:
    """The query, in a file next to a database that is kept. Users need not copy it from the screen."""
    if keep is None:
        return "shop.sql"
    file = Path(keep) / "shop.sql"
    with writing(file) as out:
        out.write(f"{query}\n")
    return str(file)


def _play(engine: "Engine", query: str) -> int:
    """Inspect the join, then train on it. The model is stored even in a temporary database, for the report."""
    from sqlsvm.ask.inspect import inspect
    from sqlsvm.demo import LABEL, MODEL
    from sqlsvm.run.training import Training
    from sqlsvm.show.inspection import draw
    from sqlsvm.store import open_store

    show_answer(draw(inspect(engine, query, label=LABEL), sys.stdout))
    show_answer("\nNow a support vector machine is trained on that join, in place:\n")
    training = Training.of(label=LABEL, nulls="mean")
    return code_of(train_and_keep(engine, Keeper(open_store(engine), engine.url), MODEL, query, training))


def _offloaded(engine: "Engine", query: str) -> None:
    """The same training on copies in this process: another way to the same optimum, with a proof of its own."""
    from sqlsvm.demo import LABEL, MODEL
    from sqlsvm.run.train import train
    from sqlsvm.run.training import Training
    from sqlsvm.show.training import draw_certificate

    show_answer(
        "\nNow the same offloaded: the columns used are copied into a DuckDB of this process, which trains on them:\n"
    )
    training = Training.of(label=LABEL, nulls="mean", offload=True)
    model = train(engine, MODEL, query, training, on_pass)
    show_answer(draw_certificate(model, "not kept", sys.stdout))


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
