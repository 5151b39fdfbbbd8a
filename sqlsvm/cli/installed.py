"""The verbs on the SQL functions in PostgreSQL: install, upgrade, uninstall, check, extension, compile."""

import sys
from pathlib import Path
from typing import Any

import click

from sqlsvm.cli.group import cli, examples, show_answer
from sqlsvm.cli.options import declared, models_database, opened, query_wanted, refuse_typed
from sqlsvm.cli.training import name_wanted, training_of
from sqlsvm.rules import named
from sqlsvm.terminal import printable

_NOT_FOR_PSQL = (
    "this server runs only while sqlsvm does; to use the functions in psql, install them in a server of yours"
)


@cli.command(
    short_help="Install the SQL functions in PostgreSQL.",
    epilog=examples(
        "sqlsvm install --dsn postgresql://localhost/flights",
        "sqlsvm install --dsn postgresql://localhost/flights --reader analyst --trainer etl",
    ),
)
@models_database
@click.option(
    "--reader", "readers", metavar="ROLE", multiple=True, help="Let this role predict and list models; repeatable."
)
@click.option(
    "--trainer", "trainers", metavar="ROLE", multiple=True, help="Let this role also train and drop models; repeatable."
)
def install(dsn: str, readers: tuple[str, ...], trainers: tuple[str, ...]) -> None:
    """Install the SQL functions in PostgreSQL, in the schema sqlsvm, so that psql can train and predict.

    Either everything is installed or nothing; a second run changes nothing. The owner of the database can do it, no
    superuser is needed. Models that are already stored there stay and can be used at once.
    """
    from sqlsvm.psql import install as installing

    with opened(dsn) as engine:
        before = installing.install(engine, readers, trainers)
        version, where = installing.own_version(), engine.url
    done = "is in place already" if before.version else "is installed"
    lines = [f"sqlsvm {version} {done} in the schema sqlsvm of {printable(where)}"]
    lines += [f"role {printable(role)} may predict and list" for role in readers]
    lines += [f"role {printable(role)} may train, predict and drop" for role in trainers]
    embedded = where.startswith("embedded:")
    show_answer("\n".join([*lines, _NOT_FOR_PSQL if embedded else "try it in psql: SELECT * FROM sqlsvm.models();"]))


@cli.command(
    short_help="Upgrade the SQL functions to this version.",
    epilog=examples("sqlsvm upgrade --dsn postgresql://localhost/flights"),
)
@models_database
def upgrade(dsn: str) -> None:
    """Upgrade the functions and tables in PostgreSQL to the version of this sqlsvm. Models stay, and stay usable.

    Either everything is upgraded or nothing. New functions need grants: sqlsvm install --reader ROLE --trainer ROLE.
    """
    from sqlsvm.psql import install as installing

    with opened(dsn) as engine:
        before = installing.upgrade(engine)
    version = installing.own_version()
    if before.version == version:
        show_answer(f"sqlsvm {version} is up to date")
    else:
        show_answer(f"sqlsvm {before.version} is now {version}")


@cli.command(
    short_help="Remove the SQL functions from PostgreSQL.",
    epilog=examples(
        "sqlsvm uninstall --dsn postgresql://localhost/flights",
        "sqlsvm uninstall --dsn postgresql://localhost/flights --force   # the models too",
    ),
)
@models_database
@click.option("--force", is_flag=True, help="Remove stored models too.")
def uninstall(dsn: str, force: bool) -> None:
    """Remove the SQL functions and the tables of the models from PostgreSQL.

    If there are models, nothing is removed without --force. Objects that depend on the functions, such as a view, are
    never removed: drop them first.
    """
    from sqlsvm.psql import install as installing

    with opened(dsn) as engine:
        gone = installing.uninstall(engine, force=force)
    schema = "and the schema sqlsvm" if gone.schema else "but not the schema sqlsvm, which another role owns"
    show_answer(f"removed {gone.functions} functions, {gone.tables} tables, {schema}")
    if gone.models:
        show_answer(f"with the models {', '.join(printable(name) for name in gone.models)}")


@cli.command(
    short_help="Check that the SQL functions work in PostgreSQL.",
    epilog=examples("sqlsvm check --dsn postgresql://localhost/flights"),
)
@models_database
def check(dsn: str) -> int:
    """Train and predict on a problem with a known optimum, and print what was found. Nothing is left in the database.

    Run it before `sqlsvm install` to see whether that would work, or after it. The exit code is 1 if any check fails.
    """
    from sqlsvm.psql.install.check import check as findings_of
    from sqlsvm.show.check import draw_findings

    with opened(dsn) as engine:
        findings = findings_of(engine)
    show_answer(draw_findings(findings, sys.stdout))
    return 0 if all(finding.good for finding in findings) else 1


@cli.command(
    short_help="Write the SQL functions as an extension of PostgreSQL.",
    epilog=examples(
        'sqlsvm extension --dir "$(pg_config --sharedir)/extension"',
        "psql flights -c 'CREATE EXTENSION sqlsvm'",
        "sqlsvm extension --dir . --format pg_tle",
    ),
)
@click.option(
    "--dir", "folder", metavar="DIR", required=True, type=click.Path(path_type=Path), help="The folder for the files."
)
@click.option(
    "--format",
    type=click.Choice(("server", "pgxn", "pg_tle")),
    default="server",
    show_default=True,
    help="server: for its extension folder. pgxn: also META.json and a Makefile. pg_tle: one script for trusted "
    "language extensions, where you cannot write to the server's folders.",
)
def extension(folder: Path, format: str) -> None:
    """Write the SQL functions as an extension: CREATE EXTENSION sqlsvm then does what `sqlsvm install` does.

    You need write access to the server's extension folder once, and no superuser afterwards. pg_dump keeps the models.
    """
    from sqlsvm.psql.install.extension import write

    for path in write(folder, format):
        show_answer(f"wrote {printable(str(path))}")
    show_answer("its first lines say what to type" if format == "pg_tle" else "in psql: CREATE EXTENSION sqlsvm;")


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
