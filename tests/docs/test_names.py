"""What the documents name is there: links, commands and their options, files, names of the code, SQL functions."""

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

import sqlsvm
from sqlsvm.cli import cli
from tests.docs.markdown import ROOT, anchors, blocks, documents, links, spans

DOCUMENTS = documents()
DOCS = [path for path in DOCUMENTS if path.is_relative_to(ROOT / "docs")]
FOR_USERS = (
    *(
        "certificate",
        "command-line",
        "databases",
        "describing",
        "managed-clouds",
        "nonlinear",
        "on-a-cluster",
        "options",
        "papers",
        "python",
    ),
    *("queries", "questions", "reliability", "sql-functions", "suggest"),
)
DEVELOPERS = [path for path in DOCS if path.parent.name == "docs" and path.stem not in FOR_USERS]
"""Documents that speak about the code; the others name files of their readers too."""

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
FILE = re.compile(r"[\w.]+(/[\w.-]+)*(\.(py|md|sql|yml|toml|txt)|/)")
CALL = re.compile(r"([A-Za-z_]\w*)\(\)")
CLASS = re.compile(r"[A-Z][a-z]\w+(\.\w+)?")
COMMAND = r"""(?:uv run )?sqlsvm ((?:[^\n'"]|"[^"]*"|'[^']*')*)"""
SQL_FUNCTION = re.compile(r"\bsqlsvm\.(\w+)\(")


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


every_document = pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
every_page_about_sqlsvm = pytest.mark.parametrize("path", [ROOT / "README.md", *DOCS], ids=lambda path: path.name)
every_page_about_code = pytest.mark.parametrize("path", DEVELOPERS, ids=lambda path: path.name)


@every_document
def test_links_lead_somewhere(path: Path) -> None:
    for link in links(read(path)):
        if re.match(r"https?://", link):
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        assert target.exists(), link
        assert not anchor or anchor in anchors(read(target)), link


# -- commands


def commands(text: str) -> Iterator[list[str]]:
    """The words of every `sqlsvm ...`, in blocks and in prose."""
    for block in blocks(text):
        if block.language in ("console", "sh"):
            joined = re.sub(r"\s#.*", "", block.text.replace("\\\n", " "))
            prompt = r"^\$ " if block.language == "console" else "^"
            yield from (found.split() for found in re.findall(prompt + COMMAND, joined, re.MULTILINE))
    yield from (found.split() for span in spans(text) if (found := span.removeprefix("sqlsvm ")) != span)


def options_of(verb: click.Command) -> set[str]:
    return {name for parameter in verb.params for name in (*parameter.opts, *parameter.secondary_opts)} | {"--help"}


def unknown(words: list[str]) -> str | None:
    """What a command line names that the command line does not have."""
    verb = next((word for word in words if not word.startswith("-")), None)
    known = options_of(cli)
    if verb is not None and verb.isupper():  # VERB
        return None
    if verb is not None:
        if verb not in cli.commands:
            return verb
        known = options_of(cli.commands[verb])
    return next((found for found in OPTION.findall(" ".join(words)) if found not in known), None)


@every_document
def test_commands_are_there(path: Path) -> None:
    wrong = {" ".join(words): wrong for words in commands(read(path)) if (wrong := unknown(words))}
    assert wrong == {}


def test_every_verb_has_a_row() -> None:
    rows = re.findall(r"^\| `([a-z]+)` \|", read(ROOT / "docs" / "command-line.md"), re.MULTILINE)
    assert sorted(rows) == sorted(cli.commands)


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("train --query q.sql --label late", None),
        ("trian --query q.sql", "trian"),
        ("inspect --query q.sql --lambda 1", "--lambda"),
        ("--version", None),
    ],
)
def test_unknown(line: str, wrong: str | None) -> None:
    assert unknown(line.split()) == wrong


@every_page_about_sqlsvm
def test_options_are_there(path: Path) -> None:
    known = options_of(cli).union(*(options_of(verb) for verb in cli.commands.values()))
    named = {found for span in spans(read(path)) if span.startswith("--") for found in OPTION.findall(span)}
    assert named - known == set()


@every_document
def test_targets_of_make_are_there(path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", read(ROOT / "Makefile"), re.MULTILINE))
    lines = [*spans(read(path)), *(line for block in blocks(read(path), "sh") for line in block.lines)]
    named = {found for line in lines for found in re.findall(r"^make ([a-z-]+)", line)}
    assert named - targets == set()


@every_document
def test_sql_functions_are_there(path: Path) -> None:
    found = " ".join(read(file) for file in (ROOT / "sql_templates").rglob("*.sql"))
    made = set(re.findall(r"FUNCTION\s+sqlsvm\.(\w+)", found, re.IGNORECASE))
    assert set(SQL_FUNCTION.findall(read(path))) - made - set(sqlsvm.__all__) == set()


# -- the code


@cache
def names() -> set[str]:
    """All that the package and its tests define: modules, classes, functions, fields; A.b for what is in A."""
    found = set()
    for file in [*(ROOT / "sqlsvm").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        found.add(file.stem)
        body = ast.parse(read(file)).body
        found |= {name for node in body for name in defined(node)}
        for node in body:
            if isinstance(node, ast.ClassDef):
                inner = {name for part in node.body for name in defined(part)}
                found |= inner | {f"{node.name}.{name}" for name in inner}
    return found


def defined(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        yield node.name
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    yield from (target.id for target in targets if isinstance(target, ast.Name))


@every_page_about_code
def test_files_are_there(path: Path) -> None:
    places = (ROOT, ROOT / "sqlsvm", ROOT / "tests", path.parent)
    named = {span.split()[0] for span in spans(read(path)) if FILE.fullmatch(span.split()[0])}
    assert named
    assert {name for name in named if not any((place / name).exists() for place in places)} == set()


@every_page_about_code
def test_names_are_there(path: Path) -> None:
    named = {span for span in spans(read(path)) if CLASS.fullmatch(span)}
    named |= {found[1] for span in spans(read(path)) if (found := CALL.fullmatch(span))}
    assert named
    assert named - names() == set()


def test_sessions_can_be_read() -> None:
    """Every quoted command line is one that a shell would take."""
    for path in DOCUMENTS:
        for block in blocks(read(path), "sh"):
            shlex.split(block.text, comments=True)
