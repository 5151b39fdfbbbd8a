"""The fixed SQL in sql_templates/."""

from pathlib import Path

from sqlglot import exp, parse

_HERE = Path(__file__).parents[1]


def folder() -> Path:
    """sql_templates/: inside the package in a wheel, next to it in a checkout."""
    packaged, sibling = _HERE / "sql_templates", _HERE.parent / "sql_templates"
    return packaged if packaged.is_dir() else sibling


def template(name: str) -> str:
    """The text of sql_templates/NAME.sql."""
    return (folder() / f"{name}.sql").read_text(encoding="utf-8")


def templates_in(name: str) -> tuple[str, ...]:
    """The templates of a sub-folder, in the order of their names.

    >>> "functions/version" in templates_in("functions")
    True
    """
    return tuple(sorted(f"{name}/{path.stem}" for path in (folder() / name).glob("*.sql")))


def statements(name: str) -> tuple[exp.Expr, ...]:
    """The statements of a template, for any engine."""
    return tuple(statement for statement in parse(template(name), read="postgres") if statement)
