"""What connect() makes of a URL, as far as no server is needed for it."""

from pathlib import Path

import pytest
from sqlglot import exp

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.engine.duckdb import DuckDB
from sqlsvm.errors import EngineError, OptionError


@pytest.mark.parametrize("url", ["", "flights", "mysql://host/db", "sqlite:x.db", "Duckdb:", "C:\\data", "://x"])
def test_an_unknown_form_is_refused_with_the_forms_that_are_known(url: str) -> None:
    with pytest.raises(OptionError) as caught:
        connect(url)
    for form in ("postgresql://", "embedded:", "embedded:PATH", "duckdb:", "duckdb:PATH"):
        assert form in str(caught.value.hint)


def test_the_complaint_about_an_unknown_form_does_not_repeat_the_password() -> None:
    with pytest.raises(OptionError) as caught:
        connect("mysql://me:secret@host/db")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["postgresql://me:secret@127.0.0.1:1/db", "postgres://me:secret@127.0.0.1:1/db", "host=127.0.0.1 port=1"]
)
def test_a_server_that_does_not_answer_is_named_and_a_way_out_given(url: str) -> None:
    with pytest.raises(EngineError) as caught:
        connect(url)
    assert "127.0.0.1" in caught.value.message
    assert "embedded:" in str(caught.value.hint)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is not None


def test_a_postgresql_url_that_cannot_be_read_is_explained() -> None:
    with pytest.raises(EngineError, match="cannot be read") as caught:
        connect("postgresql://me@host:5432/db?no_such_option=1")
    assert "%40" in str(caught.value.hint)


def test_settings_of_duckdb_follow_its_path(tmp_path: Path) -> None:
    for path in ("", str(tmp_path / "shop.duckdb")):
        with connect(f"duckdb:{path}?memory_limit=1GiB&threads=1") as engine:
            assert engine.url == f"duckdb:{path}"
            names = "memory_limit", "threads"
            asked = exp.select(*(exp.alias_(exp.func("current_setting", exp.Literal.string(n)), n) for n in names))
            assert {name: values.tolist() for name, values in engine.fetch(asked).items()} == {
                "memory_limit": ["1.0 GiB"],
                "threads": [1],
            }


@pytest.mark.parametrize("asked", ["", "?disabled_optimizers=top_n"])
def test_a_step_of_the_planner_is_off_that_takes_minutes_for_many_columns(asked: str) -> None:
    off = exp.select(exp.alias_(exp.func("current_setting", exp.Literal.string("disabled_optimizers")), "off"))
    with connect(f"duckdb:{asked}") as engine:
        (found,) = engine.fetch(off)["off"].tolist()
    assert set(found.split(",")) == {"projection_placement", *(["top_n"] if asked else [])}


@pytest.mark.parametrize(("query", "hint"), [("", "memory_limit=4GB"), ("x", "NAME"), ("x=1", "duckdb_settings")])
def test_a_setting_that_duckdb_does_not_have_is_refused(query: str, hint: str) -> None:
    with pytest.raises((OptionError, EngineError)) as caught:
        connect(f"duckdb:?{query}")
    assert hint in f"{caught.value.message} {caught.value.hint}"


def test_duckdb_in_memory() -> None:
    with connect("duckdb:") as engine:
        assert engine.url == "duckdb:"
        assert engine.version.startswith("DuckDB ")


def test_duckdb_in_a_file(tmp_path: Path) -> None:
    with connect(f"duckdb:{tmp_path / 'x.duckdb'}") as engine:
        assert engine.url == f"duckdb:{tmp_path / 'x.duckdb'}"
    assert (tmp_path / "x.duckdb").exists()


def test_duckdb_does_not_open_what_is_not_a_duckdb_file(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("notes" * 1000)
    with pytest.raises(EngineError, match="cannot open"):
        connect(f"duckdb:{file}")


def test_closing_twice_is_fine() -> None:
    engine: Engine = connect("duckdb:")
    engine.close()
    engine.close()


def test_an_engine_that_lacks_a_method_is_refused() -> None:
    class Half(DuckDB):
        fetch = Engine.fetch

    with pytest.raises(TypeError, match="abstract method"):
        Half()
