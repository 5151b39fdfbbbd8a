"""What one sees while a training runs, on stderr: stdout holds the answer alone."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from sqlsvm.offload import OnCopy
    from sqlsvm.solve.solution import OnPass, Record


@contextmanager
def progress(offload: bool = False) -> Iterator[tuple["OnPass", "OnCopy"]]:
    """A line for each pass, and for copying while it lasts; on a terminal also what is going on between the lines."""
    from sqlsvm.draw_training import copy_line, pass_line

    if not sys.stderr.isatty():
        yield (
            lambda record: click.echo(pass_line(record), err=True),
            lambda rows, seconds: click.echo(copy_line(rows, seconds), err=True),
        )
        return
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    with console.status("copying the columns used" if offload else "preparing the tables, sampling the join") as status:

        def show(record: "Record") -> None:
            console.print(pass_line(record), soft_wrap=True)
            status.update(f"pass {record.pass_ + 1}")

        yield show, lambda rows, seconds: console.print(copy_line(rows, seconds), soft_wrap=True)
