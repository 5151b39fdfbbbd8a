"""The same objects as an extension of PostgreSQL, made from the templates: for the folder of a server, for PGXN, or for
pg_tle, which takes the script as a text, for servers whose folders cannot be written to."""

import json
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path

from sqlsvm.engine.pg_catalog import OLDEST
from sqlsvm.errors import SqlsvmError
from sqlsvm.files import replacing
from sqlsvm.psql.install.found import FORMS, function_templates, own_version
from sqlsvm.store.templates import template

_ABOUT = "linear support vector machines over joins that are never built"

# PostgreSQL makes the schema itself. The script needs no rights beyond those of the role that runs it.
_CONTROL = """\
comment = '{about}'
default_version = '{version}'
schema = sqlsvm
relocatable = false
superuser = false
trusted = true
"""

_MAKEFILE = """\
EXTENSION = sqlsvm
DATA = sqlsvm--{version}.sql
PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)
"""

# pg_tle takes no schema before its version 1.5, so the role that creates the extension makes it.
_TLE = """\
-- Run this with psql, as a role that has pgtle_admin. Then, as the role that is to own the functions:
--   CREATE SCHEMA sqlsvm;
--   CREATE EXTENSION sqlsvm SCHEMA sqlsvm;
SELECT pgtle.install_extension('sqlsvm', '{version}', '{about}', {script});
"""


def server_files() -> dict[str, str]:
    """What CREATE EXTENSION reads in the extension folder of a server."""
    version = own_version()
    control = _CONTROL.format(about=_ABOUT, version=version)
    return {f"sqlsvm--{version}.sql": extension_script(), "sqlsvm.control": control}


def pgxn_files() -> dict[str, str]:
    """A distribution for PGXN: the files of the server, what they are, and how make installs them."""
    makefile = _MAKEFILE.format(version=own_version())
    return {**server_files(), "META.json": json.dumps(_meta(), indent=2) + "\n", "Makefile": makefile}


def _meta() -> dict[str, object]:
    version = own_version()
    script = {"file": f"sqlsvm--{version}.sql", "version": version, "abstract": _ABOUT}
    return {
        "name": "sqlsvm",
        "version": version,
        "abstract": _ABOUT,
        "maintainer": "The sqlsvm authors",
        "license": "apache_2_0",
        "provides": {"sqlsvm": script},
        "prereqs": {"runtime": {"requires": {"PostgreSQL": f"{OLDEST}.0.0", "plpgsql": 0}}},
        "tags": ["support vector machine", "machine learning", "linear models"],
        "meta-spec": {"version": "1.0.0", "url": "https://pgxn.org/meta/spec.txt"},
    }


def tle_files() -> dict[str, str]:
    """One script that hands the extension to pg_tle. The first line of the extension is for psql alone."""
    _, _, script = extension_script().partition("\n")
    text = _TLE.format(version=own_version(), about=_ABOUT, script=dollar_quoted(script))
    return {f"sqlsvm-pg_tle--{own_version()}.sql": text}


def dollar_quoted(text: str) -> str:
    """The text between dollar quotes that do not occur in it.

    >>> dollar_quoted("SELECT $sqlsvm$ $ $sqlsvm$"), dollar_quoted("x$sqlsvm")
    ('$sqlsvm1$SELECT $sqlsvm$ $ $sqlsvm$$sqlsvm1$', '$sqlsvm1$x$sqlsvm$sqlsvm1$')
    """
    tags = (f"$sqlsvm{n or ''}" for n in count())
    tag = next(tag for tag in tags if tag not in text)
    return f"{tag}${text}{tag}$"


FORMATS: Mapping[str, Callable[[], dict[str, str]]] = {"server": server_files, "pgxn": pgxn_files, "pg_tle": tle_files}


def write(folder: Path, format: str = "server") -> tuple[Path, ...]:
    """Write the files of a format to an existing folder."""
    files = FORMATS[format]()
    try:
        for name, text in files.items():
            with replacing(folder / name) as out:
                out.write(text)
    except OSError as error:
        raise SqlsvmError(
            f"cannot write the extension to {folder}",
            detail=str(error),
            hint="name an existing folder that you may write to",
        ) from error
    return tuple(folder / name for name in files)


def extension_script() -> str:
    """Everything that `sqlsvm install` runs, in the same order, except CREATE SCHEMA."""
    names = ("extension_begin", "tables", "references", "owners", *FORMS.values(), "owners", "types")
    return "\n".join(map(template, (*names, *function_templates(), "sealed", "extension_end")))
