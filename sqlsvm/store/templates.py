"""The fixed SQL in sql_templates/."""

import re
from collections.abc import Iterator
from pathlib import Path

from sqlglot import exp, parse

_HERE = Path(__file__).parents[1]

_OBJECT = re.compile(r" *CREATE (?:OR REPLACE )?(TABLE|TYPE|FUNCTION) (sqlsvm\.\w+)")
_COLUMN = re.compile(r" +(\w+) .*  -- (.*)$")


def folder() -> Path:
    """sql_templates/: inside the package in a wheel, next to it in a checkout."""
    packaged, sibling = _HERE / "sql_templates", _HERE.parent / "sql_templates"
    return packaged if packaged.is_dir() else sibling


def template(name: str) -> str:
    """The text of sql_templates/NAME.sql. The database keeps what is said there of each object: the first line of the
    comment before it, and the text behind a column."""
    text = (folder() / f"{name}.sql").read_text(encoding="utf-8")
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
    return tuple(sorted(f"{name}/{path.stem}" for path in (folder() / name).glob("*.sql")))


def statements(name: str) -> tuple[exp.Expr, ...]:
    """The statements of a template, for any engine."""
    return tuple(statement for statement in parse(template(name), read="postgres") if statement)
