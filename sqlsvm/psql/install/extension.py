"""The same objects as an extension of PostgreSQL: a control file, and one script made of the templates."""

from pathlib import Path

from sqlsvm.errors import SqlsvmError
from sqlsvm.psql.install.found import FORMS, TABLES, function_templates, own_version
from sqlsvm.store.templates import template

# PostgreSQL makes the schema itself. Nothing in the script asks for more than what the role has that runs it.
_CONTROL = """\
comment = 'linear support vector machines over joins that are never built'
default_version = '{version}'
schema = sqlsvm
relocatable = false
superuser = false
trusted = true
"""


def write(folder: Path) -> tuple[Path, Path]:
    """sqlsvm.control and sqlsvm--VERSION.sql, in a folder that is there."""
    version = own_version()
    control, script = folder / "sqlsvm.control", folder / f"sqlsvm--{version}.sql"
    try:
        control.write_text(_CONTROL.format(version=version), encoding="utf-8")
        script.write_text(extension_script(), encoding="utf-8")
    except OSError as error:
        raise SqlsvmError(
            f"cannot write the extension to {folder}",
            detail=str(error),
            hint="name a folder that is there and that you may write to",
        ) from error
    return control, script


def extension_script() -> str:
    """All that `sqlsvm install` runs but the making of the schema, in the same order."""
    names = ("extension_begin", *TABLES, "references", *FORMS.values(), *function_templates(), "extension_end")
    return "\n".join(template(name) for name in names)
