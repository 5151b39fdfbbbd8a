"""Fixed SQL out of sql_templates/."""

from pathlib import Path

from sqlglot import exp, parse

_HERE = Path(__file__).parents[1]


def template(name: str) -> str:
    """The text of sql_templates/NAME.sql: inside the package in a wheel, beside it in a checkout."""
    packaged, sibling = _HERE / "sql_templates", _HERE.parent / "sql_templates"
    return ((packaged if packaged.is_dir() else sibling) / f"{name}.sql").read_text(encoding="utf-8")


def statements(name: str) -> tuple[exp.Expr, ...]:
    """The statements of a template, for any engine."""
    return tuple(statement for statement in parse(template(name), read="postgres") if statement)
