"""The SQL of one pass, shape by shape: sql/NAME.sql has tables and a query, sql/NAME.postgres.sql the pass over them.

Each shape is asserted by its structure, on both engines by a cut that is the naive one, and ten of them by their text.
`make golden` writes the texts anew: read the difference.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.oracle import NEAR, oracle_pass
from sqlsvm.compile.statement import Statement
from sqlsvm.engine.base import Engine, Values
from sqlsvm.run.workspace import workspace
from tests.ground import svm
from tests.ground.opened import Opened, Wish, build, opened, plan_of, ties

pytestmark = pytest.mark.each

FOLDER = Path(__file__).parents[1] / "golden" / "sql"
EXACT, GRID = Wish(), Wish(method="grid")
WIDTH = 118


@dataclass(frozen=True)
class Shape:
    """How a query is counted, and what comes of it."""

    bags: int
    statements: int
    tables: int
    wish: Wish = EXACT


SHAPES = {
    "boolean": Shape(1, 1, 0),
    "categorical": Shape(1, 3, 1),
    "chain": Shape(3, 20, 13, GRID),
    "chain_close": Shape(3, 21, 13, Wish(method="grid", close=True)),
    "chain_exact": Shape(3, 16, 13),
    "chain_shared": Shape(3, 20, 13, Wish(method="grid", shared=True)),
    "composite_key": Shape(2, 9, 7),
    "cross_product": Shape(2, 9, 7),
    "five_bags": Shape(5, 30, 23, GRID),
    "hub_on_one_key": Shape(3, 20, 13, GRID),
    "label_in_a_dimension": Shape(1, 3, 1),
    "left_join": Shape(1, 3, 1),
    "left_join_chain": Shape(1, 5, 2),
    "left_join_to_many": Shape(1, 3, 1),
    "many_to_many_below_a_fold": Shape(2, 11, 8),
    "merged_copies": Shape(2, 9, 7, Wish(merged=True)),
    "nulls_are_the_mean": Shape(1, 1, 0),
    "one_table": Shape(1, 1, 0),
    "self_join": Shape(2, 9, 7),
    "snowflake": Shape(1, 3, 1),
    "star": Shape(1, 3, 1),
    "star_at_once": Shape(1, 1, 0, Wish(at_once=True)),
    "star_by_place": Shape(1, 3, 1, Wish(placed=True)),
    "triangle": Shape(2, 9, 7),
    "true_hub": Shape(4, 28, 19, GRID),
    "two_bags": Shape(2, 9, 7),
    "view_and_subquery": Shape(1, 3, 1),
    "weights": Shape(1, 1, 0, Wish(weight="times", class_weights=(1, 3))),
}


TEXTS = (
    *("one_table", "weights", "star", "star_at_once", "categorical", "left_join", "left_join_to_many", "two_bags"),
    *("merged_copies", "chain"),
)
"""Those that are also compared as text: one for each form of a statement."""


def made(engine: Engine, name: str) -> str:
    """The query of a shape, over its tables."""
    tables, query = (FOLDER / f"{name}.sql").read_text(encoding="utf-8").split("-- query\n")
    build(engine, tables)
    return query


def test_every_shape_has_a_file() -> None:
    assert {path.stem for path in FOLDER.glob("*.sql") if not path.stem.endswith(".postgres")} == SHAPES.keys()
    assert {path.stem.removesuffix(".postgres") for path in FOLDER.glob("*.postgres.sql")} == {*TEXTS}


@pytest.mark.parametrize("name", SHAPES)
def test_text_and_structure(postgres: Engine, name: str) -> None:
    shape = SHAPES[name]
    plan = plan_of(postgres, made(postgres, name), shape.wish)
    program = tuple(oracle_pass(plan))
    if name in TEXTS:
        compare(name, "\n".join(written(s) for s in program))
    assert len(plan.bags) == shape.bags
    assert (len(program), sum(s.table is not None for s in program)) == (shape.statements, shape.tables)
    assert_structure(program, links=shape.bags - 1)


def compare(name: str, text: str) -> None:
    golden = FOLDER / f"{name}.postgres.sql"
    if os.environ.get("SQLSVM_UPDATE_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def written(statement: Statement) -> str:
    """What is sent first; that each table is analysed afterwards goes without writing."""
    parameters = f" ({', '.join(statement.parameters)})" if statement.parameters else ""
    first = sql.temporary(statement.table, statement.query) if statement.table else statement.query
    return f"-- {statement.name}{parameters}\n{folded(first.sql('postgres', pretty=True))};\n"


def folded(text: str) -> str:
    """Pretty SQL has a line for each column; here what fits on a line is on one line."""
    lines = text.split("\n")
    place = 0
    while place < len(lines):
        end = block_end(lines, place)
        joined = " ".join([lines[place], *(line.strip() for line in lines[place + 1 : end])])
        joined = joined.replace("( ", "(").replace(" )", ")")
        if len(joined) <= WIDTH:
            lines[place:end] = [joined]
        place += 1
    return "\n".join(lines)


def block_end(lines: list[str], start: int) -> int:
    """Past what is indented below a line, with the parenthesis that closes it."""
    indents = [len(line) - len(line.lstrip()) for line in lines]
    end = next((n for n in range(start + 1, len(lines)) if indents[n] <= indents[start]), len(lines))
    closed = end < len(lines) and indents[end] == indents[start] and lines[end].lstrip().startswith(")")
    return end + closed


def assert_structure(program: tuple[Statement, ...], links: int) -> None:
    """Tables are ours, made once and used; two messages are multiplied only where states meet one, which
    they do once for every link but the centre."""
    own = [s.table for s in program if s.table]
    assert len(own) == len(set(own))
    assert all(table.startswith("sqlsvm_") for table in own)
    for place, statement in enumerate(program):
        if statement.table:
            assert any(statement.table in read(s) for s in program[place + 1 :]), statement.name
    meetings = [s.name for s in program if " meets " in s.name]
    assert len(meetings) == max(0, links - 1)
    assert {s.name for s in program if multiplies_messages(s)} <= {*meetings, NEAR}


def read(statement: Statement) -> set[str]:
    return {table.name for table in statement.query.find_all(exp.Table)}


def multiplies_messages(statement: Statement) -> bool:
    return any(
        isinstance(side, exp.Column) and isinstance(other, exp.Column) and side.name == other.name == "c"
        for side, other in ((m.this, m.expression) for m in statement.query.find_all(exp.Mul))
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_rows(engine: Engine, name: str) -> None:
    """Scores are multiples of 1/4, so with four buckets the grid errs nowhere either."""
    wish = SHAPES[name].wish
    with workspace(engine) as work:
        found = opened(work, made(engine, name), wish)
        for beta in points(found.truth, tied=wish.method == "exact"):
            assert_naive(found, beta)
        if wish.method == "grid":
            assert_naive(found.again(method="exact"), next(points(found.truth, tied=True)))


def points(design: svm.Design, tied: bool) -> Iterator[Values]:
    """Two betas; with rows on the hinge itself, or, for the grid, which may count those as it likes, without."""
    rng = np.random.default_rng(0)
    drawn = (rng.integers(-3, 4, len(design.columns)) / 2 for _ in range(300))
    wanted = [beta for beta in drawn if bool(ties(design, beta)) == tied][:2]
    assert len(wanted) == 2
    return iter(wanted)


def assert_naive(found: Opened, beta: Values) -> None:
    cut, hinge = found.cut(beta, 4), found.hinge(beta)
    assert cut.error == 0
    assert cut.value_low == pytest.approx(hinge.value, rel=1e-12, abs=1e-14)
    assert cut.offset == pytest.approx(hinge.b, rel=1e-12)
    np.testing.assert_allclose(cut.slope, hinge.a, rtol=1e-12, atol=1e-14)
