"""Guards over the project itself: what the checkout may hold, who may import whom, what the wheel carries."""

import ast
import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from statistics import median
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

import sqlsvm

ROOT = Path(__file__).parents[2]

# From the bottom up: a file imports only from its own layer and from those above it in this list.
LAYERS = (
    *("words", "errors", "measures", "options", "rules", "terminal", "files", "scratch", "reading", "paper"),
    "sql",
    "times",
    "solve",
    *("kernel", "neural"),
    "engine",
    "query",
    "maps",
    "plan",
    "model",
    "compile",
    "run",
    "store",
    "ask",
    "suggestion",
    "psql",
    "show",
    "report",
    "notebook",
    "estimator",
    "learning",
    "searching",
    "mlflow",
    "demo",
    "cli",
    *("__init__", "__main__"),
)
# The files that may import the package named.
ONLY_IN = {
    "psycopg": ("engine/postgres.py", "engine/pg_connection.py"),
    "duckdb": ("engine/duckdb.py",),
    "pyspark": ("engine/spark.py", "engine/spark_session.py"),
}
# A layer that must do without the packages named: solvers see an oracle and numpy, never SQL.
WITHOUT = {layer: {"sqlglot", "psycopg", "duckdb"} for layer in ("solve", "kernel", "neural")}

# In pieces, so that this file does not match itself.
REGISTRIES = (
    *(
        "py" + r"pi\.(org|python)",
        "python" + "hosted",
        "ana" + r"conda\.(org|com)",
        "npm" + r"js\.",
        "crates" + r"\.io",
    ),
    *("proxy" + r"\.golang", "arti" + "factory", "dev" + "pi", r"index[-_]" + r"url\s*[= ]\s*\S"),
)
REGISTRY = re.compile("|".join(REGISTRIES), re.IGNORECASE)
MACHINE_PATH = re.compile(r"(?<![\w.~-])/" + r"(work|root|home|Users)/\w")
LOCK_FILE = re.compile(r"\.lockb?$|^pylock\b|[-.]lock\.|^npm-shrinkwrap")


@cache
def project_files() -> tuple[Path, ...]:
    """What is in git or would be with the next `git add`."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return tuple(path for name in listed.split("\0") if name and (path := ROOT / name).is_file())


def matches(pattern: re.Pattern[str], text: str) -> list[str]:
    return [f"{n}: {line.strip()}" for n, line in enumerate(text.splitlines(), 1) if pattern.search(line)]


@pytest.mark.parametrize("pattern", [REGISTRY, MACHINE_PATH], ids=["registry address", "machine path"])
def test_no_file_names(pattern: re.Pattern[str]) -> None:
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in project_files()}
    found = {str(path.relative_to(ROOT)): lines for path, text in texts.items() if (lines := matches(pattern, text))}
    assert found == {}


def test_no_lock_file() -> None:
    assert [path.name for path in project_files() if LOCK_FILE.search(path.name)] == []


@pytest.mark.parametrize(
    ("pattern", "hit", "miss"),
    [
        (REGISTRY, "https://" + "pypi" + ".org/simple", "a wheel from PyPI. And so on"),
        (REGISTRY, "--index" + "-url https://example.org", "an index; url"),
        (MACHINE_PATH, "cd /" + "home/me", "https://example.org/home/me and ./work/x"),
        (MACHINE_PATH, "'/" + "work/main'", "--work-schema /tmp/x"),
        (LOCK_FILE, "uv" + ".lock", "test_lock_order.py"),
        (LOCK_FILE, "package-lock" + ".json", "block.py"),
    ],
)
def test_guard_patterns(pattern: re.Pattern[str], hit: str, miss: str) -> None:
    assert pattern.search(hit)
    assert not pattern.search(miss)


def imported(source: str, file: PurePosixPath) -> Iterator[str]:
    """Dotted names that a file of the package imports, wherever in it; `from x import y` gives x.y."""
    package = ("sqlsvm", *file.parent.parts)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = [*above, *([node.module] if node.module else [])]
            yield from (".".join([*module, alias.name]) for alias in node.names)


def layer_of(file: PurePosixPath) -> str:
    return layer_in(file.with_suffix("").parts)


def layer_in(names: Sequence[str]) -> str:
    """The folder or the file. Each folder of lab/ belongs to the layer of its name."""
    return names[1] if names[:1] == ("lab",) and names[1:] else names[0] if names else ""


def offences(source: str, file: PurePosixPath) -> list[str]:
    """What a file of the package imports against the rules above."""
    layer = layer_of(file)
    reachable = LAYERS[: LAYERS.index(layer) + 1]
    found = []
    for name in imported(source, file):
        top, _, rest = name.partition(".")
        if top == "sqlsvm" and layer_in(tuple(rest.split("."))) not in reachable:
            found.append(f"{layer} stands below, or does not know, {name}")
        elif str(file) not in ONLY_IN.get(top, (str(file),)):
            found.append(f"only {' and '.join(ONLY_IN[top])} import {top}")
        elif top in WITHOUT.get(layer, set()):
            found.append(f"{layer} does without {top}")
    return found


PACKAGE = ROOT / "sqlsvm"
MODULES = sorted(PurePosixPath(path.relative_to(PACKAGE).as_posix()) for path in PACKAGE.rglob("*.py"))


def source(file: PurePosixPath) -> str:
    return (PACKAGE / file).read_text(encoding="utf-8")


@cache
def nodes() -> dict[PurePosixPath, list[ast.AST]]:
    return {file: list(ast.walk(ast.parse(source(file)))) for file in MODULES}


def test_layers() -> None:
    assert [file for file in MODULES if layer_of(file) not in LAYERS] == [], "give them their place in LAYERS"
    assert {str(file): found for file in MODULES if (found := offences(source(file), file))} == {}


def module(file: PurePosixPath) -> str:
    return ".".join(("sqlsvm", *file.with_suffix("").parts)).removesuffix(".__init__")


def circle(graph: Mapping[str, set[str]]) -> tuple[str, ...]:
    """Files of which each imports another one of these; none if there is no circle."""
    left = dict(graph)
    while done := [name for name, needs in left.items() if not needs & left.keys()]:
        for name in done:
            del left[name]
    while done := [name for name in left if not any(name in needs for needs in left.values())]:
        for name in done:
            del left[name]
    return tuple(sorted(left))


def test_no_circles() -> None:
    """Also where an import is only for types, or late."""
    names = {file: {*imported(source(file), file)} for file in MODULES}
    modules = {module(file) for file in MODULES if file.name != "__init__.py"}

    def needed(name: str) -> str:
        return name if name in modules else name.rpartition(".")[0]

    graph = {module(file): {needed(name) for name in found} - {module(file)} for file, found in names.items()}
    assert circle(graph) == ()


@pytest.mark.parametrize(
    ("graph", "found"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set[str]()}, ()),
        ({"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set[str]()}, ("b", "c")),
    ],
)
def test_circle(graph: dict[str, set[str]], found: tuple[str, ...]) -> None:
    assert circle(graph) == found


def test_no_module_hides_a_function() -> None:
    """Once a module is imported, it stands in the package under its name, instead of the function."""
    package = ROOT / "sqlsvm"
    modules = {path.stem for path in package.glob("*.py")} | {
        path.parent.name for path in package.glob("*/__init__.py")
    }
    assert modules & set(sqlsvm.__all__) == set()


def test_what_is_special_about_an_engine_is_said_in_engine() -> None:
    special = r"sqlstate|dialect [!=]= [\"']|sqlsvm\.engine\.(postgres|duckdb|embedded)\b"
    assert [file for file in MODULES if file.parts[0] != "engine" and re.search(special, source(file))] == []


@pytest.mark.parametrize(
    ("file", "line", "allowed"),
    [
        ("plan/plan.py", "from sqlsvm.query import FeatureQuery", True),
        ("plan/plan.py", "from sqlsvm import query", True),
        ("plan/plan.py", "from sqlsvm.compile.scores import scores", False),
        ("plan/plan.py", "def late():\n    import sqlsvm.cli", False),
        ("plan/plan.py", "from sqlsvm import RelationalSVC", False),
        ("plan/plan.py", "from ..run import train", False),
        ("compile/exact.py", "from .scores import scores", True),
        ("compile/exact.py", "from ..engine.base import Engine", True),
        ("compile/exact.py", "from ..run.workspace import Workspace", False),
        ("engine/embedded.py", "from sqlsvm.engine import postgres", True),
        ("engine/embedded.py", "import psycopg.rows", False),
        ("engine/pg_catalog.py", "from psycopg import pq", False),
        ("engine/postgres.py", "from psycopg import sql", True),
        ("engine/duckdb.py", "import duckdb", True),
        ("estimator.py", "import duckdb", False),
        ("solve/dane.py", "import numpy as np", True),
        ("solve/dane.py", "from sqlglot import exp", False),
        ("lab/solve/descent.py", "from sqlsvm.solve.log import Log", True),
        ("lab/solve/descent.py", "from sqlsvm.lab.compile.sketch import counted", False),
        ("solve/dane.py", "from sqlsvm.lab.run.machine import learned", False),
    ],
)
def test_offences(file: str, line: str, allowed: bool) -> None:
    assert (offences(line, PurePosixPath(file)) == []) is allowed


# Where these words are names. What a loss, a sign or lambda means is said there and nowhere else.
ROOMS = {
    "write_text": ("engine/supervisor.py",),  # elsewhere `replacing` writes files
    "hinge": ("options.py", "solve/loss/"),
    "sign": ("plan/target.py", "compile/"),
    "lam": (
        *("options.py", "words.py", "estimator.py", "solve/penalty.py", "solve/elastic.py", "lab/solve/descent.py"),
        *("run/training.py", "run/modelling.py", "psql/install/check.py"),
        *("model/model.py", "store/base.py", "show/models.py", "report/page.py"),
    ),
}


def names_in(file: PurePosixPath) -> set[str]:
    """In lower case: what the code of a file calls something, and texts that are one word."""
    fields = (getattr(node, field, None) for node in nodes()[file] for field in ("id", "attr", "arg", "name", "value"))
    return {name.lower() for name in fields if isinstance(name, str)}


def test_a_word_stays_in_its_rooms() -> None:
    names = {file: names_in(file) for file in MODULES}
    for word, rooms in ROOMS.items():
        found = {str(file) for file in MODULES if word in names[file]}
        assert {name for name in found if not name.startswith(rooms)} == set(), word
        assert {room for room in rooms if not any(name.startswith(room) for name in found)} == set(), word


def test_functions_are_short() -> None:
    """The body counts, without the signature: a command has a parameter for each of its options."""
    functions = [node for file in MODULES for node in nodes()[file] if isinstance(node, ast.FunctionDef)]
    lengths = {node.name: (node.end_lineno or 0) - node.body[0].lineno + 1 for node in functions}
    assert {name: lines for name, lines in lengths.items() if lines > 50} == {}
    assert median((node.end_lineno or 0) - node.lineno + 1 for node in functions) < 8


def test_constraints_pin_every_dependency() -> None:
    """`make constraints` writes the pins; this notices a dependency that was added or moved without it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    pins = [Requirement(line) for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()]
    wanted = [need for texts in lists for need in map(Requirement, texts) if need.name != project["name"]]
    assert [str(need) for need in wanted if not any(meets(pin, need) for pin in pins)] == []
    assert [str(pin) for pin in pins if pin.url or not str(pin.specifier).startswith("==")] == []


def meets(pin: Requirement, need: Requirement) -> bool:
    version = str(pin.specifier).removeprefix("==")
    return pin.name == need.name and need.specifier.contains(version, prereleases=True)


def test_wheel_carries_the_sql(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size < 1_000_000
    assert {"sqlsvm/errors.py", "sqlsvm/report/report.css", "sqlsvm/py.typed"} <= set(ZipFile(wheel).namelist())
    ZipFile(wheel).extractall(tmp_path)
    told = (
        "import json; from sqlsvm.store import templates; print(json.dumps([templates.__file__, templates._texts()]))"
    )
    said = subprocess.run([sys.executable, "-c", told], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    file, texts = json.loads(said)
    assert Path(file).is_relative_to(tmp_path)
    templates = ROOT / "sql_templates"
    files = {path.relative_to(templates).with_suffix("").as_posix(): path for path in templates.rglob("*.sql")}
    assert texts == {name: path.read_text(encoding="utf-8") for name, path in files.items()}


@pytest.mark.slow
def test_the_source_distribution_makes_the_same_wheel(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--directory", str(tmp_path), "--target"]
    subprocess.run([*build, "sdist"], cwd=ROOT, check=True, capture_output=True)
    (source,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(source) as packed:
        packed.extractall(tmp_path, filter="data")
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    carried_folders = {path.name for path in folder.iterdir()}
    assert {"tests", "bench", "examples"} <= carried_folders
    assert not carried_folders & {"build", ".venv"}
    carried = []
    for place in (ROOT, folder):
        subprocess.run([*build, "wheel"], cwd=place, check=True, capture_output=True)
        (wheel,) = tmp_path.glob("*.whl")
        carried.append(
            {item.filename: item.CRC for item in ZipFile(wheel).infolist() if "dist-info" not in item.filename}
        )
    assert carried[0] == carried[1]


def test_the_page_of_the_package_has_no_relative_link(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "metadata"]
    address = {"SQLSVM_REPOSITORY": "https://host.example/owner/sqlsvm/"}
    said = subprocess.run(command, cwd=ROOT, env=os.environ | address, check=True, capture_output=True, text=True)
    metadata = json.loads(said.stdout)
    links = re.findall(r"\]\(([^)]*)\)", metadata["readme"]["text"])
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    assert "https://host.example/owner/sqlsvm/raw/main/docs/figures/report.png" in links
    assert metadata["urls"]["Source"] == "https://host.example/owner/sqlsvm"
    paths = (link.partition("/main/")[2].partition("#")[0] for link in links if "/main/" in link)
    assert [path for path in paths if not (ROOT / path).exists()] == []


ALSO_NAMED = {"balanced_accuracy", "modified_huber"}
"""Names that stand for nothing else: each file of the product that has one of them is in the table."""


def test_what_a_contributor_changes_has_the_name_to_search_for() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("## Add one thing")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (a [^|]*) \| (.*) \| `([^`|]*)` \|$", table, re.MULTILINE)
    assert len(rows) == 6
    for what, files, name in rows:
        paths = set(re.findall(r"`((?:sqlsvm|sql_templates|tests|docs)/[^`]*)`", files))
        assert [path for path in paths if name.replace("-", "_") not in read(ROOT / path)] == [], what
        if name in ALSO_NAMED:
            every = [*(ROOT / "sqlsvm").rglob("*.py"), *(ROOT / "sql_templates").rglob("*.sql")]
            found = {path.relative_to(ROOT).as_posix() for path in every if name in read(path)}
            assert found == {path for path in paths if not path.startswith("tests")}, what


def read(path: Path) -> str:
    """Its text, and its name."""
    return f"{path.name} {path.read_text(encoding='utf-8')}".replace("-", "_")


def test_the_citation_has_the_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"\nversion: {project['version']}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
