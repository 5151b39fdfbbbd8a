"""Parts of a query that no join tree has are made once: where, how many rows, and what is never made."""

import pytest

from sqlsvm.ask.validation import trained
from sqlsvm.engine.base import Engine
from sqlsvm.errors import QueryError
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.psql.stored_program import stored_program
from sqlsvm.query.forms import RESULT
from sqlsvm.query.read_query import read_query
from sqlsvm.run.opening import open_problem
from tests.db.test_no_temp import bare
from tests.ground.sql_program import compiled
from tests.ground.sql_program import trained as trained_by_psql
from tests.ground.trained import training
from tests.sized import sized
from tests.typed import run, typed

pytestmark = pytest.mark.twin

GROUPED = "SELECT y, c, COUNT(*) AS n, AVG(x) AS m FROM f GROUP BY y, c"
LIMITED = "SELECT y, x FROM f LIMIT 20"


def made(engine: Engine, table: str = "f") -> None:
    columns = "g % 3 = 0 AS y, g % 20 AS c, (g * 37) % 101 AS x"
    run(engine, f"CREATE TABLE {table} AS SELECT {columns} FROM GENERATE_SERIES(1, 300) AS r(g)")


def test_too_many_rows(engine: Engine) -> None:
    made(engine)
    engine.place(make_at_most=39)
    with pytest.raises(QueryError, match=r"more than 39 rows, .* have to be made: GROUP BY") as refused:
        trained(engine, GROUPED, {"m": training()})
    assert "make_at_most" in (refused.value.hint or "")
    engine.place(make_at_most=40)
    (model,) = trained(engine, GROUPED, {"m": training()})
    assert model.notes[0] == "the database made 40 rows of the query for the training: GROUP BY y, c groups rows"
    assert not [name for name in engine.table_names() if "sqlsvm" in name]


@pytest.mark.parametrize("offload", [False, True])
def test_without_working_tables(postgres: Engine, offload: bool) -> None:
    """The query is a sub-query of each statement, so it must return the same rows each time."""
    made(postgres)
    (model,) = trained(postgres, GROUPED, {"m": training()})
    with bare(postgres):
        (other,) = trained(postgres, GROUPED, {"m": training(offload=offload)})
        with pytest.raises(QueryError, match="LIMIT 20 without ORDER BY may keep other rows"):
            trained(postgres, LIMITED, {"m": training(offload=offload)})
        with pytest.raises(QueryError, match="may have another place each time they are read"):
            trained(postgres, "SELECT y, ROW_NUMBER() OVER () AS x FROM f", {"m": training(offload=offload)})
        text = "SELECT y, STRING_AGG(CAST(x AS TEXT), ',') AS x FROM f GROUP BY y"
        with pytest.raises(QueryError, match=r"string_agg\(.*\) may have another value each time it is read"):
            trained(postgres, text, {"m": training(offload=offload)})
    assert other.objective == pytest.approx(model.objective, rel=1e-9)
    assert other.notes[0] == model.notes[0]


def test_psql(installed: Engine, installed_dsn: str) -> None:
    made(installed, "derived")
    text = GROUPED.replace(" f ", " derived ")
    compiled(installed, "grouped", text, training())
    model, (driven,) = trained_by_psql(installed, installed_dsn, "grouped"), trained(installed, text, {"m": training()})
    assert model.objective == pytest.approx(driven.objective, rel=1e-3)
    with pytest.raises(QueryError, match="LIMIT 20 without ORDER BY may keep other rows"):
        stored_program(installed, LIMITED.replace(" f ", " derived "), training())


@pytest.mark.parametrize(
    "text",
    [
        "SELECT y, COUNT(*) AS n FROM f WHERE RANDOM() < 0.5 GROUP BY y",
        "SELECT y, (SELECT SETSEED(0.5)) AS x FROM f",
        "SELECT y, x FROM f UNION ALL SELECT y, RANDOM() FROM f",
        "SELECT y, x FROM f ORDER BY RANDOM() LIMIT 9",
        "SELECT y, x FROM f WHERE EXISTS (SELECT NEXTVAL('s'))",
        "SELECT y, SUM(x) OVER (ORDER BY RANDOM()) AS x FROM f",
        "WITH RECURSIVE t(n) AS (SELECT RANDOM() UNION ALL SELECT n + 1 FROM t WHERE n < 9) SELECT n, n AS m FROM t",
    ],
)
def test_volatile_functions(engine: Engine, text: str) -> None:
    made(engine)
    with pytest.raises(QueryError, match="volatile"):
        read_query(engine, text)


def test_names_mean_what_they_mean_to_the_user(postgres: Engine) -> None:
    """Also in sub-queries, and in what the whole of a query joins."""
    made(postgres)
    run(postgres, "CREATE SCHEMA own")
    run(postgres, "CREATE FUNCTION own.half(INT) RETURNS INT LANGUAGE SQL IMMUTABLE AS 'SELECT $1 / 2'")
    postgres.look_in(["own", "public"])  # type: ignore[attr-defined]
    text = "SELECT y, c, SUM(half(x)) AS n FROM f WHERE x > (SELECT AVG(half(x)) FROM f) GROUP BY y, c"
    with open_problem(postgres, text, ProblemOptions("y")) as problem:
        assert problem.moments.n > 0


WRITES = "RETURNS INT VOLATILE LANGUAGE SQL AS 'SELECT 1'"
HIDDEN = (
    f"CREATE FUNCTION own.step(INT, INT) {WRITES}",
    "CREATE AGGREGATE own.all_of(INT) (SFUNC = own.step, STYPE = INT)",
    "CREATE OPERATOR own.~~> (LEFTARG = INT, RIGHTARG = INT, FUNCTION = own.step)",
    "CREATE VIEW own.v AS SELECT x, c OPERATOR(own.~~>) 1 AS z FROM f",
)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT y, own.all_of(x) AS n FROM f GROUP BY y, c",
        "SELECT y, all_of(x) AS n FROM f GROUP BY y, c",
        "SELECT y, x, (SELECT MAX(z) FROM own.v) AS z FROM f",
        "SELECT y, x, (SELECT MAX(c OPERATOR(own.~~>) 1) FROM f) AS z FROM f",
    ],
)
def test_volatile_functions_of_aggregates_and_operators(postgres: Engine, text: str) -> None:
    made(postgres)
    for statement in ("CREATE SCHEMA own", *HIDDEN):
        typed(postgres, statement)
    postgres.look_in(["public", "own"])  # type: ignore[attr-defined]
    with pytest.raises(QueryError, match="function step is volatile"):
        read_query(postgres, text)


def test_rows_without_a_table(engine: Engine) -> None:
    columns = ("column1", "column2") if engine.dialect == "postgres" else ("col0", "col1")
    query = read_query(engine, "VALUES (TRUE, 1.5), (FALSE, 2.5)", label=columns[0])
    assert [feature.name for feature in query.features] == [columns[1]]


@pytest.mark.parametrize("condition", ["g.x < f.x", "g.x BETWEEN f.x - 9 AND f.x", "g.x <= f.x AND g.x > f.x - 9"])
def test_a_condition_of_order(engine: Engine, condition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same optimum whether the pairs are made or not. Few pairs are."""
    made(engine)
    run(
        engine,
        "CREATE TABLE g AS SELECT n % 20 AS c, (n * 53) % 97 AS x, n % 7 AS z FROM GENERATE_SERIES(1, 400) AS r(n)",
    )
    text = f"SELECT f.y, f.x, g.z FROM f JOIN g ON g.c = f.c AND {condition}"
    (folded,) = trained(engine, text, {"m": training(tol=1e-6)})
    sized(monkeypatch, few_pairs=100)
    (whole,) = trained(engine, text, {"m": training(tol=1e-6)})
    assert [len(model.trained_on.rows) for model in (folded, whole)] == [4, 1]
    assert list(whole.trained_on.rows) == [RESULT]
    assert folded.join_rows == whole.join_rows
    assert folded.objective == pytest.approx(whole.objective, rel=1e-5)
