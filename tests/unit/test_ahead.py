"""What is found out while the database opens."""

import sys

import pytest

from sqlsvm.query.parse import _parsed, parse
from sqlsvm.run.ahead import look_ahead
from sqlsvm.solve.threads import blas
from tests.waiting import eventually

QUERY = "SELECT y, x FROM t WHERE x > 417"


def test_it_is_there_when_it_is_asked_for() -> None:
    _parsed.cache_clear()
    blas.cache_clear()
    look_ahead("duckdb:", QUERY)
    assert eventually(lambda: (_parsed.cache_info().currsize, blas.cache_info().currsize) == (1, 1))
    found, again = parse(QUERY, "duckdb"), parse(QUERY, "duckdb")
    assert _parsed.cache_info().hits == 2
    assert found == again
    found.set("where", None)
    assert found != again == parse(QUERY, "duckdb")


def test_modules_are_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "fileinput", raising=False)
    look_ahead("duckdb:", QUERY, "no_such_module", "fileinput")
    assert eventually(lambda: "fileinput" in sys.modules)


def test_an_error_is_said_later(capfd: pytest.CaptureFixture[str]) -> None:
    """By the training: here what follows is done, and nothing is written."""
    blas.cache_clear()
    look_ahead("duckdb:", "SELECT FROM WHERE")
    assert eventually(lambda: blas.cache_info().currsize == 1)
    assert capfd.readouterr() == ("", "")
