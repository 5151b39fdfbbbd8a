"""The fixed SQL in sql_templates/."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from sqlglot import exp, parse

_HERE = Path(__file__).parents[1]

_OBJECT = re.compile(r" *CREATE (?:OR REPLACE )?(TABLE|TYPE|FUNCTION) (sqlsvm\.\w+)")
_COLUMN = re.compile(r" +(\w+) .*  -- (.*)$")


def folder() -> Path:
    """sql_templates/ of a checkout."""
    return _HERE.parent / "sql_templates"


@cache
def _texts() -> dict[str, str]:
    """The texts by name: a wheel has all of them in one file, as docs/wheel.py makes it."""
    if (packed := _HERE / "sql_templates.sql.bz2").is_file():
        import bz2

        text = bz2.decompress(packed.read_bytes()).decode()
        names_and_texts = re.split(r"^-- sql_templates/(.*)\.sql\n", text, flags=re.M)[1:]
        return dict(zip(names_and_texts[::2], names_and_texts[1::2], strict=True))
    files = sorted(folder().rglob("*.sql"))
    return {file.relative_to(folder()).with_suffix("").as_posix(): file.read_text(encoding="utf-8") for file in files}


def template(name: str) -> str:
    """The text of sql_templates/NAME.sql. The database keeps what is said there of each object: the first line of the
    comment before it, and the text behind a column."""
    text = _texts()[name]
    return "\n".join([text, *(f"{comment.sql('postgres')};\n" for comment in _comments(text))])


def _comments(text: str) -> Iterator[exp.Comment]:
    said = kind = made = ""
    for line in text.splitlines():
        if found := _OBJECT.match(line):
            kind, made = found.groups()
            yield _comment(kind, exp.to_table(made), said)
        elif kind == "TABLE" and (column := _COLUMN.match(line)):
            yield _comment("COLUMN", exp.to_column(f"{made}.{column[1]}"), column[2])
        said = (said or line.strip()[3:]) if line.strip().startswith("-- ") else ""
        kind = "" if line == ");" else kind


def _comment(kind: str, this: exp.Expression, said: str) -> exp.Comment:
    return exp.Comment(this=this, kind=kind, expression=exp.Literal.string(said))


def templates_in(name: str) -> tuple[str, ...]:
    """The templates of a sub-folder, in the order of their names.

    >>> "functions/version" in templates_in("functions")
    True
    """
    return tuple(sorted(found for found in _texts() if found.startswith(f"{name}/")))


def statements(name: str, *, comments: bool = True) -> tuple[exp.Expr, ...]:
    """The statements of a template, for any engine."""
    text = template(name) if comments else _texts()[name]
    return tuple(statement for statement in parse(text, read="postgres") if statement)
