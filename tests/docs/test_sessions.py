"""The README as its reader types it: the SQL blocks that name a file, the console sessions, then the Python. After them
the page of the SQL functions, in the same folder.
"""

import io
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlglot import parse_one

from sqlsvm.ask.inspect import inspect
from sqlsvm.demo import LABEL, QUERY, QUERY_FILE, SCHEMA, make
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Text
from sqlsvm.show.inspection import draw
from tests import servers
from tests.docs.markdown import ROOT, Block, blocks, section
from tests.docs.sessions import Command, are, commands, played, says, typed
from tests.ground.opened import build

README = ROOT / "README.md"
FUNCTIONS = ROOT / "docs" / "sql-functions.md"
CERTIFICATE = ROOT / "docs" / "certificate.md"


@pytest.mark.parametrize(
    ("got", "wanted", "equal"),
    [
        ("pass 1  gap 0.17\npass 2  gap 0.01\ndone", "pass 1   gap 0.2\ndone\n", True),
        ("join  1.0e9 rows, 98 GB", "join 1,234 rows, 9 GB", True),
        ("a\nb\nc\nd", "a\n...\nd", True),
        ("a\nb\nc\nd", "a\n...\nc", False),
        ("converged", "not converged", False),
        ("tag  fragile  1.2", "tag  gift  1.2", False),
        ("", "...", True),
    ],
)
def test_says(got: str, wanted: str, equal: bool) -> None:
    assert says(got, wanted) is equal


def test_commands() -> None:
    block = Block("console", 0, ("$ a 'b", "c'", "printed", "$ d \\", "  e  # it's", "$ f"))
    assert list(commands(block)) == [
        Command("a 'b\nc'", ("printed",)),
        Command("d \\\n  e  # it's", ()),
        Command("f", ()),
    ]


# -- what stands there


def test_the_inspection(duckdb: Engine) -> None:
    """To the last number what the demo's shop gives."""
    make(duckdb)
    text = README.read_text(encoding="utf-8")
    every = [command for block in blocks(text, "console") for command in commands(block)]
    command = next(command for command in every if command.text.startswith("sqlsvm inspect "))
    query = dict(files(text))[command.text.split()[3]]
    assert (command.text.split()[3], query.strip()) == (QUERY_FILE, f"-- {QUERY_FILE}\n{QUERY}")
    assert are(draw(inspect(duckdb, query, label=LABEL), io.StringIO()).splitlines(), command.printed)


def test_before_and_after(duckdb: Engine) -> None:
    """The two ways to add up the visits of customers give the same sum."""
    build(duckdb, TABLES)
    told = section(CERTIFICATE.read_text(encoding="utf-8"), "How a pass counts")
    before, after = (parse_one(block.text, read="postgres") for block in blocks(told, "sql"))
    (expected,), (got,) = (next(iter(duckdb.fetch(query).values())) for query in (before, after))
    assert got == expected == 5 + 5 + 3


TABLES = """
    CREATE TABLE items AS SELECT * FROM (VALUES (1, 0.5), (1, 0.25), (2, 2.0)) AS t(customer_id, score);
    CREATE TABLE visits AS
        SELECT * FROM (VALUES (1, 0.25, 5), (1, 0.5, 3), (1, 0.75, 4), (2, 0.0, 9)) AS t(customer_id, score, minutes);
"""


def test_length() -> None:
    """A page that is read to its end: for whom it is, measures next to other tools, then a session."""
    lines = README.read_text(encoding="utf-8").splitlines()
    assert len(lines) < 200
    assert next(n for n, line in enumerate(lines) if "LightGBM |" in line) < 20
    assert lines.index("```console") < next(n for n, line in enumerate(lines) if line.startswith("gap  ")) < 70


# -- the sessions


@pytest.mark.slow
def test_readme() -> None:
    text = README.read_text(encoding="utf-8")
    with servers.reachable_folder() as folder:
        write_files(folder)
        check_session(folder, text)
        for block in blocks(text, "python"):
            run = typed(folder, [sys.executable, "-W", "error", "-c", block.text])
            assert run.returncode == 0, run.stdout
        functions = FUNCTIONS.read_text(encoding="utf-8")
        with connect(f"embedded:{folder / 'shop'}") as engine:  # as the demo makes it, with a tenth of the items
            make(engine)
            engine.execute(Text(f"DELETE FROM {SCHEMA}.items WHERE order_id % 10 > 0"))
        check_session(folder, functions, made=True)
        run_functions(folder, functions)


@pytest.mark.slow
def test_describing(tmp_path: Path) -> None:
    """With the shop of the demo in a file of DuckDB."""
    page = ROOT / "docs" / "describing.md"
    write_files(tmp_path)
    write_files(tmp_path, page)
    with connect(f"duckdb:{tmp_path / 'shop.duckdb'}") as engine:
        make(engine)
    check_session(tmp_path, page.read_text(encoding="utf-8"))


TUTORIALS = ROOT / "docs" / "tutorials"


@pytest.mark.slow
def test_tutorials(tmp_path: Path, postgres_dsn: str) -> None:
    """One after the other, in one folder. The last one names a server of its reader: here it is ours."""
    for name in ("files", "history", "postgresql"):
        page = TUTORIALS / f"{name}.md"
        write_files(tmp_path, page)
        check_session(
            tmp_path, page.read_text(encoding="utf-8").replace("postgresql://localhost/shop", shlex.quote(postgres_dsn))
        )


def write_files(folder: Path, page: Path = README) -> None:
    for file, content in files(page.read_text(encoding="utf-8")):
        (folder / file).write_text(content, encoding="utf-8")


def check_session(folder: Path, text: str, *, made: bool = False) -> None:
    """Without the demo, if its shop is there."""
    wanted = [command for block in blocks(text, "console") for command in commands(block)]
    wanted = [command for command in wanted if not (made and command.text.startswith("sqlsvm demo "))]
    assert wanted
    for command, (status, got) in zip(wanted, played(folder, wanted), strict=True):
        assert status == 0 or any(line.startswith("error:") for line in command.printed), f"{command.text}\n{got}"
        assert says(got, "\n".join(command.printed)), f"$ {command.text}\n{got}"


def run_functions(folder: Path, text: str) -> None:
    """The statements for psql."""
    statements = [found for block in blocks(text, "sql") for found in block.text.split(";\n") if found]
    assert statements
    with connect(f"embedded:{folder / 'shop'}") as engine:
        for found in statements:
            assert all(len(values) for values in engine.fetch(Text(found)).values()), found


def files(text: str) -> Iterator[tuple[str, str]]:
    """`-- shop.sql` or `# shop.py` in the first line of a block says that its reader keeps it under that name."""
    for block in blocks(text):
        if named := re.fullmatch(r"(?:--|#) (\w+\.(?:sql|py))", next(iter(block.lines), "")):
            yield named[1], block.text
