"""A schema in front of pg_catalog has everything that pg_catalog has. Nothing of it is ever called, by the driver or by
the functions in psql."""

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from sqlsvm.engine.base import Engine
from sqlsvm.psql.install.found import function_templates
from sqlsvm.store.templates import template
from tests.cli.command import sqlsvm
from tests.psql import answer, psql
from tests.typed import typed

# Every function, aggregate and operator of the system, under its own name and for its own types: a statement that calls
# one of them gets an error. And operators on pairs of types for which the system has to convert one of the two.
SHADOWS = r"""
CREATE SCHEMA evil;
SET check_function_bodies = off;
DO $do$
DECLARE
    f record;
    trap CONSTANT text := 'LANGUAGE plpgsql AS $f$ BEGIN RAISE EXCEPTION ''a shadow was called: %s''; END $f$';
BEGIN
    FOR f IN
        SELECT p.oid, p.proname, p.prokind, p.proretset, pg_get_function_identity_arguments(p.oid) AS takes,
            format_type(p.prorettype, NULL) AS gives, coalesce(array_to_string(ARRAY(
                SELECT format_type(t, NULL) FROM unnest(p.proargtypes) AS a (t)), ', '), '') AS types
        FROM pg_proc AS p WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind IN ('f', 'a')
    LOOP
        BEGIN
            IF f.prokind = 'a' THEN
                EXECUTE format('CREATE FUNCTION evil.%I(%s) RETURNS text ', 'step_' || f.oid,
                               concat_ws(', ', 'text', nullif(f.types, ''))) || format(trap, f.proname);
                EXECUTE format('CREATE AGGREGATE evil.%I(%s) (SFUNC = evil.%I, STYPE = text, INITCOND = '''')',
                               f.proname, coalesce(nullif(f.types, ''), '*'), 'step_' || f.oid);
            ELSE
                EXECUTE format('CREATE FUNCTION evil.%I(%s) RETURNS %s%s ', f.proname, f.takes,
                               CASE WHEN f.proretset THEN 'SETOF ' ELSE '' END, f.gives) || format(trap, f.proname);
            END IF;
        EXCEPTION WHEN OTHERS THEN  -- of a type that only functions in C may take
        END;
    END LOOP;
    FOR f IN
        SELECT DISTINCT o.oprname, o.oprleft, o.oprright, format_type(o.oprleft, NULL) AS l,
            format_type(o.oprright, NULL) AS r, format_type(o.oprresult, NULL) AS gives
        FROM pg_operator AS o WHERE o.oprnamespace = 'pg_catalog'::regnamespace
        UNION
        SELECT o.oprname, a.t, b.t, format_type(a.t, NULL), format_type(b.t, NULL), min(format_type(o.oprresult, NULL))
        FROM pg_operator AS o,
            unnest('{int4,int8,numeric,float8,text,name}'::regtype[]::oid[]) AS a (t),
            unnest('{int4,int8,numeric,float8,text,name}'::regtype[]::oid[]) AS b (t)
        WHERE o.oprname IN ('+', '-', '*', '/', '%', '^', '<', '>', '<=', '>=', '=', '<>', '||') AND NOT EXISTS (
            SELECT FROM pg_operator AS own WHERE own.oprname = o.oprname AND own.oprleft = a.t AND own.oprright = b.t)
        GROUP BY o.oprname, a.t, b.t
    LOOP
        BEGIN
            EXECUTE format('CREATE FUNCTION evil.%I(%s) RETURNS %s ',
                           'operator_' || f.oprleft || '_' || f.oprright || f.oprname,
                           concat_ws(', ', nullif(f.l, '-'), f.r), f.gives) || format(trap, f.oprname);
            EXECUTE format('CREATE OPERATOR evil.%s (%sRIGHTARG = %s, FUNCTION = evil.%I)', f.oprname,
                           CASE WHEN f.oprleft = 0 THEN '' ELSE 'LEFTARG = ' || f.l || ', ' END, f.r,
                           'operator_' || f.oprleft || '_' || f.oprright || f.oprname);
        EXCEPTION WHEN OTHERS THEN
        END;
    END LOOP;
END
$do$;
"""
QUIET = "SET client_min_messages = warning;"
PATH = "evil, pg_catalog, public"
TABLES = """
CREATE TABLE f AS SELECT i, i % 97 AS k, i % 3 <> 0 AS y, sin(i) AS x, 'c' || i % 5 AS c, i % 11 AS m
FROM generate_series(1, 600) AS i;
CREATE TABLE d AS SELECT i AS k, cos(i) AS z, i % 11 AS m FROM generate_series(0, 96) AS i;
CREATE TABLE g AS SELECT i % 11 AS m, sin(7 * i) AS w FROM generate_series(1, 60) AS i
"""
STAR = "SELECT f.y, f.x, f.x * 2 - 1 AS t, abs(f.x) AS a, f.c, d.z FROM f JOIN d USING (k) WHERE f.x > -2"
CHAIN = "SELECT f.y, f.x, d.z, g.w FROM f JOIN d ON f.k = d.k JOIN g ON g.m = d.m WHERE f.c IN ('c0', 'c1')"


@pytest.fixture
def shadowed(postgres: Engine, postgres_dsn: str) -> str:
    """A database in which the path of every session has the shadows first."""
    for statement in TABLES.split(";"):
        typed(postgres, statement)
    with psycopg.connect(postgres_dsn, autocommit=True) as session:
        session.execute(SHADOWS.encode())
        (made,) = session.execute(
            "SELECT count(*) FROM pg_catalog.pg_proc WHERE pronamespace = 'evil'::regnamespace"
        ).fetchone() or (0,)
        assert made > 2500
    return make_conninfo(postgres_dsn, options=f"-c search_path={PATH.replace(' ', '')}")


def run(dsn: str, *arguments: str, code: int = 0) -> str:
    done = sqlsvm(*arguments, "--dsn", dsn)
    assert done.returncode == code, done.stderr
    return done.stdout


def test_the_shadows_work(shadowed: str) -> None:
    """What a user types is theirs: this is what the sessions of sqlsvm must not see."""
    for query in ("1.5::float8 > 1", "sum(x) FROM f", "quote_ident('x')", "1 + 1", "array_fill(1, '{2}')"):
        assert "a shadow was called" in psql(shadowed, f"SELECT {query};").err


def test_a_training_calls_no_shadow(shadowed: str) -> None:
    run(shadowed, "train", "--query", CHAIN, "--label", "y", "--name", "t")
    run(shadowed, "drop", "t", "--yes")


@pytest.mark.slow
@pytest.mark.parametrize("query", [pytest.param(STAR, id="star"), pytest.param(CHAIN, id="chain")])
def test_the_driver_calls_no_shadow(shadowed: str, query: str) -> None:
    asked = ("--query", query, "--label", "y")
    run(shadowed, "inspect", *asked)
    run(shadowed, "explain", *asked, "--analyze")
    run(shadowed, "count", *asked, "--beta", '{"weights": {"x": 1}}')
    run(shadowed, "train", *asked, "--name", "m", "--holdout", "0.3", "--class-weight", "balanced")
    for verb in ("show", "weights", "evaluate"):
        run(shadowed, verb, "m")
    run(shadowed, "models")
    run(shadowed, "predict", "m", "--table", "scored")
    run(shadowed, "predict", "m", "--input", "SELECT f.*, x AS t, x AS a, x AS z, x AS w FROM f", "--view", "viewed")
    run(shadowed, "drop", "m", "--yes")
    run(shadowed, "train", *asked, "--name", "n", "--solver", "descent", "--max-passes", "3", code=3)


def test_an_exported_expression_is_looked_up_on_the_path_of_its_reader(shadowed: str) -> None:
    """docs/security.md says so: it is text for a statement of the reader. On the path of the system it is the score."""
    run(shadowed, "install")
    run(shadowed, "train", "--query", STAR, "--label", "y", "--name", "m")
    (from_psql,) = answer(shadowed, "SELECT sqlsvm.score_sql('m');")
    rows = "FROM (SELECT 1::float8 AS x, 1::float8 AS t, 1::float8 AS a, 'c1' AS c, 0::float8 AS z) AS r;"
    score = """SELECT sqlsvm.decision_function('m', '{"x": 1, "t": 1, "a": 1, "c": "c1", "z": 0}');"""
    for text in (from_psql, run(shadowed, "predict", "m", "--sql").strip().rstrip(";")):
        assert "a shadow was called" in psql(shadowed, f"SELECT {text} {rows}").err
        (found,) = answer(shadowed, f"SET search_path = pg_catalog; SELECT {text} {rows}")
        assert float(found) == pytest.approx(float(answer(shadowed, score)[0]), rel=1e-12)


def test_no_file_that_is_run_by_hand_calls_a_shadow(shadowed: str) -> None:
    """All of sql_templates that installs, upgrades, gives rights and removes, on the path of the session."""
    made = ("schema", "tables", "references", "programs", "owners", "types")
    again = ("upgrade", "owners", "types", *function_templates(), "grants", "uninstall")
    for name in (*made, *function_templates(), *again):
        said = psql(shadowed, f"{QUIET} SET check_function_bodies = off; BEGIN; {template(name)}; COMMIT;")
        assert (said.code, said.err) == (0, ""), (name, said.err)


@pytest.mark.slow
def test_psql_calls_no_shadow(shadowed: str) -> None:
    run(shadowed, "install")
    run(shadowed, "check")
    run(shadowed, "upgrade")
    rows = {"star": '{"x": 1, "t": 1, "a": 1, "c": "c1", "z": 0}', "chain": '{"x": 1, "z": 0, "w": 0}'}
    for name, query in (("star", STAR), ("chain", CHAIN)):
        run(shadowed, "compile", "--query", query, "--label", "y", "--name", name)
        calls = [
            f"SELECT passes IS NULL FROM sqlsvm.train('{name}')",
            f"SELECT measure IS NULL FROM sqlsvm.evaluate('{name}') LIMIT 1",
            f"SELECT objective IS NULL FROM sqlsvm.objective('{name}')",
            f"SELECT feature IS NOT NULL FROM sqlsvm.row_count('{name}') LIMIT 1",
            f"SELECT k IS NULL FROM sqlsvm.generalized_row_count('{name}') LIMIT 1",
            f"SELECT hinge IS NULL FROM sqlsvm.pseudo_gradient('{name}') LIMIT 1",
            f"SELECT weight IS NULL FROM sqlsvm.weights('{name}') LIMIT 1",
            f"SELECT seconds IS NULL FROM sqlsvm.training_info('{name}') LIMIT 1",
            f"SELECT sqlsvm.score_sql('{name}') IS NULL",
            f"SELECT sqlsvm.predict('{name}', '{rows[name]}') IS NULL",
            f"SELECT sqlsvm.decision_function('{name}', '{rows[name]}') IS NULL",
            f"SELECT statement IS NULL FROM sqlsvm.explain('{name}') LIMIT 1",
            "SELECT model IS NULL FROM sqlsvm.models() LIMIT 1",
        ]
        for call in calls:
            assert answer(shadowed, f"{QUIET} {call};") in (["f"], ["t"])
    assert answer(shadowed, f"{QUIET} SELECT sqlsvm.drop_model('star') IS NULL;") == ["f"]
    run(shadowed, "uninstall", "--force")
