"""The same objects as an extension of PostgreSQL: a control file and one script, made from the templates."""

from pathlib import Path

from sqlsvm.errors import SqlsvmError
from sqlsvm.files import replacing
from sqlsvm.psql.install.found import FORMS, TABLES, function_templates, own_version
from sqlsvm.store.templates import template

# PostgreSQL makes the schema itself. The script needs no rights beyond those of the role that runs it.
_CONTROL = """\
comment = 'linear support vector machines over joins that are never built'
default_version = '{version}'
schema = sqlsvm
relocatable = false
superuser = false
trusted = true
"""


def write(folder: Path) -> tuple[Path, Path]:
    """Write sqlsvm.control and sqlsvm--VERSION.sql to an existing folder."""
    version = own_version()
    control, script = folder / "sqlsvm.control", folder / f"sqlsvm--{version}.sql"
    try:
        for path, text in ((script, extension_script()), (control, _CONTROL.format(version=version))):
            with replacing(path) as out:
                out.write(text)
    except OSError as error:
        raise SqlsvmError(
            f"cannot write the extension to {folder}",
            detail=str(error),
            hint="name an existing folder that you may write to",
        ) from error
    return control, script


def extension_script() -> str:
    """Everything that `sqlsvm install` runs, in the same order, except CREATE SCHEMA."""
    names = (
        "extension_begin",
        *TABLES,
        "references",
        *FORMS.values(),
        "owners",
        "starts",
        "types",
        *function_templates(),
        "extension_end",
    )
    return "\n".join(template(name) for name in names)
