"""`python -m tests.mutants NUMBER SEED FOLDER [MODULE ...]`: random one-line faults, one at a time in a copy of the
tree, each against the tests of its module in PROOF, or else the unit tests that name it. Each is printed with the test
that finds it. The word proof in place of modules is those of PROOF. tests/mutants.txt has those of a run, and what
each changes."""

import ast
import os
import random
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb  # imported once: each fault has a process that is forked from this one
import numpy as np
import pytest
import sqlglot

ROOT = Path(__file__).parents[1]
FOLDERS = "compile", "plan", "solve", "run"
COPIED = "sqlsvm", "tests", "sql_templates", "pyproject.toml", "README.md"
MOST = 240
"""Seconds of the tests of one fault."""
LOADED = duckdb, np, sqlglot

_UNIT = [
    f"tests/unit/test_{name}.py" for name in ("rounding", "penalty", "elastic", "bundle", "certificate", "cuts", "dane")
]
_SQL = [f"tests/db/test_{name}.py" for name in ("golden", "moments", "weighting", "lines", "oracle")]
_SQL += ["-k", "not postgres"]
_NUMBERS = [
    "tests/unit/test_rounding.py",
    "tests/unit/test_design.py",
    "tests/db/test_centring.py",
    "-k",
    "not postgres",
]
PROOF = {
    **{
        f"sqlsvm/solve/{name}.py": _UNIT
        for name in ("cuts", "rounding", "elastic", "penalty", "interior", "run", "dane")
    },
    **{f"sqlsvm/compile/{name}.py": _SQL for name in ("tally", "messages", "weighting", "moments")},
    **{f"sqlsvm/{name}.py": _NUMBERS for name in ("plan/scaling", "run/centring", "run/rounding")},
}

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}  # fmt: skip


def changed(node: ast.AST) -> ast.AST | None:
    """Another node in its place, or None."""
    match node:
        case ast.Compare(left, [op], others) if type(op) in COMPARED:
            return ast.Compare(left, [COMPARED[type(op)]()], others)
        case ast.BinOp(left, op, right) if type(op) in COMPUTED and not _is_text(left) and not _is_text(right):
            return ast.BinOp(left, COMPUTED[type(op)](), right)
        case ast.BoolOp(op, values):
            return ast.BoolOp(ast.And() if isinstance(op, ast.Or) else ast.Or(), values)
        case ast.UnaryOp(ast.Not(), operand):
            return operand
        case ast.UnaryOp(ast.USub(), operand):
            return operand
        case ast.Constant(bool() as value):
            return ast.Constant(not value)
        case ast.Constant(int() | float() as value):
            return ast.Constant(value + 1)
        case ast.Call(ast.Name("max"), arguments, named):
            return ast.Call(ast.Name("min"), arguments, named)
        case ast.Call(ast.Name("min"), arguments, named):
            return ast.Call(ast.Name("max"), arguments, named)
    return None


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def faults(text: str) -> Iterator[tuple[int, str, str]]:
    """Each is a line, the text before and the text after. Annotations are no code that runs."""
    tree = ast.parse(text)
    typed = [getattr(node, name, None) for node in ast.walk(tree) for name in ("annotation", "returns")]
    notes = {id(node) for each in typed if each is not None for node in ast.walk(each)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.expr) or id(node) in notes or node.lineno != node.end_lineno:
            continue
        before = ast.get_source_segment(text, node)
        if before and (new := changed(node)):
            yield node.lineno, before, f"({ast.unparse(ast.fix_missing_locations(new))})"


def tests_of(module: Path, copy: Path) -> list[str]:
    if known := PROOF.get(str(module)):
        return known
    name = ".".join(module.with_suffix("").parts)
    found = [path for path in sorted((copy / "tests/unit").rglob("test_*.py")) if name in path.read_text()]
    return [str(path.relative_to(copy)) for path in found]


class First:
    """The first test that fails goes into this file."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.file.exists():
            self.file.write_text(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.file.exists():
            self.file.write_text(f"the import of {report.nodeid}")


def found_by(copy: Path, tests: Sequence[str]) -> str:
    """The test that finds it; none if it is not found."""
    first = copy / "found"
    first.unlink(missing_ok=True)
    child = os.fork()
    if not child:
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        os.chdir(copy)
        sys.dont_write_bytecode = True
        os.environ["PYTHONPATH"] = sys.path[0] = str(copy)
        for name in [name for name in sys.modules if name.partition(".")[0] in ("tests", "sqlsvm")]:
            del sys.modules[name]
        asked = ["-q", "-x", "-p", "no:cacheprovider", "-m", "not slow", *tests]
        os._exit(pytest.main(asked, [First(first)]) != pytest.ExitCode.OK)
    for _ in range(10 * MOST):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return "" if status == 0 else first.read_text() if first.exists() else "an error"
        time.sleep(0.1)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return "no end"


def main(number: int, seed: int, copy: Path, named: Sequence[str] = ()) -> None:
    rng, left = random.Random(seed), 0
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name)
        else:
            shutil.copy(ROOT / name, copy / name)
    every = [path for folder in FOLDERS for path in sorted((ROOT / "sqlsvm" / folder).rglob("*.py"))]
    chosen = [*PROOF] if [*named] == ["proof"] else named
    modules = [path for path in (each.relative_to(ROOT) for each in every) if tests_of(path, copy)]
    for _ in range(number):
        module = Path(rng.choice(chosen)) if chosen else rng.choice(modules)
        text = (copy / module).read_text()
        line, before, after = rng.choice([*faults(text)] or [(0, "", "")])
        if not line:
            continue
        lines = text.splitlines(keepends=True)
        lines[line - 1] = lines[line - 1].replace(before, after, 1)
        (copy / module).write_text("".join(lines))
        found = found_by(copy, tests_of(module, copy))
        left += not found
        print(f"{module}:{line}: {before}  ->  {after}: {found or 'NOT FOUND'}", flush=True)
        (copy / module).write_text(text)
    print(f"{left} of {number} faults were not found (seed {seed})")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]).resolve(), sys.argv[4:])
