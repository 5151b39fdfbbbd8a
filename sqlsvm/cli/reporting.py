"""The verb report: a model as a page."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqlsvm.cli.group import answering, cli, examples, show_answer, writing
from sqlsvm.cli.options import declared, opened
from sqlsvm.cli.scoring import rows_database
from sqlsvm.cli.stored import Which, file_wanted, rebind_wanted, which
from sqlsvm.errors import OptionError, masked, nearest
from sqlsvm.files import is_stdout, is_stream
from sqlsvm.terminal import printable

if TYPE_CHECKING:
    from sqlsvm.engine.base import Engine
    from sqlsvm.model.model import Model
    from sqlsvm.report import Report

REPORT = "report.html"


@cli.command(
    short_help="Write a model and its proof as a page of HTML.",
    epilog=examples(
        "sqlsvm report late_flights -o late.html",
        "sqlsvm report --model-file late.json --dsn postgresql://localhost/flights",
        "sqlsvm report late_flights --png pictures/ --png slides/roc.png",
    ),
)
@which(rows_database, file_wanted, rebind_wanted)
@declared("report")
@click.option("-o", "--output", metavar="FILE", default=REPORT, show_default=True, help="The page; - is stdout.")
@click.option(
    "--png",
    "pictures",
    metavar="DIR|FILE",
    multiple=True,
    help="Also write charts as PNG: all into a folder, or one by its name, as in roc.png; repeatable.",
)
def report(wanted: Which, offload: bool | None, output: str, pictures: tuple[str, ...]) -> None:
    """Write one page of HTML about a model: what is proven, each pass, the join tree, the weights, the scores.

    The page needs no network and no script. The join tree and the scores come from the database as it is now. If the
    database cannot be read, the page says so and shows what is stored with the model. MODEL may be left out if there is
    only one.
    """
    from sqlsvm.report import gather, gather_from

    charts = list(_wanted(pictures))
    check_place(output)
    if wanted.model_file:
        model = wanted.model().linear()
        found = gather(model, _database(wanted.dsn, model), offload=offload)
    else:
        with wanted.model_and_rows() as (model, engine):
            found = gather_from(engine, model.linear(), offload=offload)
    write(found, output)
    _draw(found, charts)


def write(found: "Report", output: str) -> None:
    """Writes the page, and on stderr which parts are missing."""
    from sqlsvm.report import html

    for missing in found.missing:
        click.echo(f"note: the report has no {missing.part}: {printable(missing.why)}", err=True)
    write_html(html, found, output, "report")


def write_html(html: Callable[[Any, datetime], str], found: Any, output: str, what: str = "page") -> None:
    page = masked(html(found, datetime.now()))
    if is_stdout(output):
        with answering():
            print(page, end="", flush=True)
        return
    with writing(output) as out:
        out.write(page)
    show_answer(f"the {what} is in {printable(output)}")


def check_place(output: str) -> None:
    """Before the work begins. A file that is not a report is not overwritten. A pipe or a device is not read."""
    from sqlsvm.report import GENERATOR

    path = Path(output)
    if is_stdout(output) or is_stream(path) or not path.exists():
        return
    try:
        ours = GENERATOR in path.read_bytes()[:1000].decode(errors="replace")
    except OSError as error:
        raise OptionError(f"cannot write {output}", detail=str(error)) from error
    if not ours:
        raise OptionError(f"{output} exists already and is not a report", hint="choose another name: -o other.html")


def _database(dsn: str | None, model: "Model") -> "Callable[[], AbstractContextManager[Engine]] | None":
    @contextmanager
    def confined() -> Iterator["Engine"]:
        with opened(str(dsn)) as engine:
            engine.in_zone(model.trained_on.zone)
            engine.confine([model.query])
            yield engine

    return confined if dsn else None


# -- pictures ----------------------------------------------------------------------------------------------------------


def _wanted(pictures: Iterable[str]) -> Iterator[tuple[str, Path, bool]]:
    """Each chart with its file, and whether it was named: a folder gets those that there are."""
    from sqlsvm.report import png
    from sqlsvm.report.plots import PLOTS

    for given in pictures:
        png.check()
        path = Path(given)
        if path.suffix.lower() != ".png":
            yield from ((name, path / f"{name}.png", False) for name in PLOTS)
        elif path.stem in PLOTS:
            yield path.stem, path, True
        else:
            hint = nearest(path.stem, PLOTS) or f"the charts are {', '.join(f'{name}.png' for name in PLOTS)}"
            raise OptionError(f"there is no chart {path.stem}", hint=hint)


def _draw(found: "Report", wanted: Iterable[tuple[str, Path, bool]]) -> None:
    from sqlsvm.report import png
    from sqlsvm.report.plots import charts

    drawn = charts(found)
    for name, path, named in wanted:
        if name not in drawn:
            if named:
                click.echo(f"note: there is nothing to draw in {printable(str(path))}", err=True)
            continue
        with writing(path, make_folder=True) as out:
            png.draw(drawn[name], out.buffer)
        show_answer(f"{drawn[name].title} is in {printable(str(path))}")
