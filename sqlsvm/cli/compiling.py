"""The verb compile: a query in, a program for PostgreSQL out, which trains from psql."""

from typing import Any

import click

from sqlsvm.cli.group import cli, examples, show_answer
from sqlsvm.cli.options import declared, models_database, opened, query_wanted, refuse_typed
from sqlsvm.cli.training import name_wanted, training_of
from sqlsvm.rules import named


@cli.command(
    name="compile",
    short_help="Store a program in PostgreSQL that trains without Python.",
    epilog=examples("sqlsvm compile --query features.sql --label late --name late_flights"),
)
@models_database
@query_wanted
@declared("compile")
@name_wanted
@click.option("--by", hidden=True, help="Of train alone.")
def compile_(dsn: str, query: str, name: str, by: str | None, **options: Any) -> None:
    """Compile a query into a program that is stored in PostgreSQL.

    After that, SELECT * FROM sqlsvm.train('NAME') trains on the current data, from psql or any other client. The
    options are those of train; lambda, tol, max_passes and solver can also be given to sqlsvm.train. A sample of the
    join is solved now: the first training starts there, and each later one from the weights of the one before. Where
    very many rows lie on the hinge, this also makes the passes of a training. The database needs the SQL functions:
    run sqlsvm install first.
    """
    from sqlsvm.psql.stored_program import check_place, save_program, stored_program

    options = named(options)
    refuse_typed(options, by=by, program=True)
    training = training_of(**options)
    with opened(dsn) as engine:
        check_place(engine, name)
        program = stored_program(engine, query, training)
        save_program(engine, name, program)
        statements = sum(map(len, program.parts.values()))
        quoted = name.replace("'", "''")
        show_answer(
            f"program       {name}, {statements} statements, kept in {engine.url}\n"
            f"train         SELECT * FROM sqlsvm.train('{quoted}');"
        )
