"""Keys, NULLs and functions as the databases see them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import psycopg
import pytest
from sqlglot import exp, parse

from sqlsvm.ask.explain import explain
from sqlsvm.ask.inspect import Inspection, as_json, inspect
from sqlsvm.engine.base import Engine, StatementError, Text
from sqlsvm.engine.duckdb import READING
from sqlsvm.engine.rates import SPREAD
from sqlsvm.errors import DataError, QueryError
from sqlsvm.plan.catalog import Catalog
from sqlsvm.plan.join_tree import join_tree
from sqlsvm.plan.preflight import ProblemOptions, naming_features
from sqlsvm.query import Term
from sqlsvm.query.facts import Facts, key_facts
from sqlsvm.query.read_query import read_query
from sqlsvm.run.opening import open_problem
from sqlsvm.run.train import train
from tests.ground.trained import training
from tests.typed import asked, meant, run, typed

pytestmark = pytest.mark.each

# -- uniqueness that is declared, and so not counted -------------------------------------------------------------------


def is_declared(engine: Engine, statements: list[str], table: str = "d", *columns: str) -> bool:
    """Whether the catalog believes that a key is unique without looking at the rows."""
    catalog = Catalog(Facts(engine), read_query(engine, f"SELECT * FROM {table} AS d"))
    terms = tuple(Term("d", exp.column(c, table="d", quoted=True)) for c in columns or ["k"])
    statements.clear()
    unique = catalog.unique("d", terms)
    looked = any("AS k0" in s for s in statements)
    assert unique
    return not looked


@pytest.mark.parametrize(
    ("script", "declared"),
    [
        ("CREATE TABLE d (k INT PRIMARY KEY, x INT)", True),
        ("CREATE TABLE d (k INT UNIQUE, x INT)", True),
        ("CREATE TABLE d (k INT, x INT)", False),
        ("CREATE TABLE d (k INT, x INT, UNIQUE (k, x))", False),
    ],
)
def test_constraints(engine: Engine, statements: list[str], script: str, declared: bool) -> None:
    run(engine, script)
    assert is_declared(engine, statements) is declared


@pytest.mark.parametrize(("relations", "declared"), [(3, False), (4, True)])
def test_few_small_keys_are_grouped_before_constraints_are_listed(
    postgres: Engine, statements: list[str], relations: int, declared: bool
) -> None:
    run(postgres, "CREATE TABLE d (k INT PRIMARY KEY, x INT); INSERT INTO d VALUES (1, 2), (2, 2)")
    others = "".join(f" JOIN d AS d{n} ON d{n}.k = d.k" for n in range(1, relations))
    catalog = Catalog(Facts(postgres), read_query(postgres, f"SELECT d.x FROM d{others}"))
    catalog.rows("d")
    statements.clear()
    assert catalog.unique("d", (Term("d", exp.column("k", table="d", quoted=True)),))
    assert any("pg_index" in s for s in statements) is declared
    assert any("AS k0" in s for s in statements) is not declared


@pytest.mark.parametrize("known", [False, True], ids=["the first rows", "all rows"])
def test_keys_are_looked_at_together_where_statements_take_long(
    engine: Engine, statements: list[str], monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    run(engine, "CREATE TABLE f AS SELECT g % 7 AS k, g AS m, g / 3 AS x FROM GENERATE_SERIES(1, 6000) AS r(g)")
    run(engine, "CREATE TABLE d AS SELECT g AS k, g % 2 AS x FROM GENERATE_SERIES(0, 9) AS r(g)")
    run(engine, "CREATE TABLE e AS SELECT g AS m, g AS x FROM GENERATE_SERIES(1, 6000) AS r(g)")
    query = read_query(engine, "SELECT f.x, d.x AS u, e.x AS v FROM f JOIN d ON d.k = f.k JOIN e ON e.m = f.m")
    asked = {
        alias: Term(alias[0], exp.column(alias[1], table=alias[0], quoted=True)) for alias in ("fk", "fm", "dk", "em")
    }
    found = list[dict[str, bool]]()
    for slow in (False, True):
        monkeypatch.setattr(engine, "rates", SPREAD if slow else type(engine).rates)
        catalog = Catalog(Facts(engine), query)
        if known:
            catalog.nulls_in_join(query.features)
        statements.clear()
        found.append({name: catalog.unique(name[0], (term,)) for name, term in asked.items()})
    assert found == [{"fk": False, "fm": True, "dk": True, "em": True}] * 2
    assert len([s for s in statements if ("GROUP BY" in s and "LIMIT" in s) or known]) <= 2


@pytest.mark.parametrize("rows", ["(1), (2)", "(1), (1)"])
def test_a_key_is_looked_at_once(engine: Engine, statements: list[str], rows: str) -> None:
    """The join tree asks for the same key in every tree that it compares."""
    run(engine, f"CREATE TABLE d (k INT); INSERT INTO d VALUES {rows}")
    query = read_query(
        engine, "SELECT a.k FROM d AS a JOIN d AS b USING (k) JOIN d AS c USING (k) JOIN d AS e USING (k)"
    )
    statements.clear()
    join_tree(query, Catalog(Facts(engine), query))
    looks = [s for s in statements if "AS k0" in s]
    assert len(looks) == len(set(looks)) >= 4


def test_a_part_of_the_key_is_enough(engine: Engine, statements: list[str]) -> None:
    run(engine, "CREATE TABLE d (k INT UNIQUE, x INT)")
    assert is_declared(engine, statements, "d", "k", "x")


@pytest.mark.parametrize(
    ("script", "declared"),
    [
        pytest.param("CREATE TABLE d (k INT); CREATE UNIQUE INDEX i ON d (k)", True, id="index"),
        pytest.param("CREATE TABLE d (k INT); CREATE UNIQUE INDEX i ON d (k) WHERE k > 0", False, id="partial"),
        pytest.param("CREATE TABLE d (k INT); CREATE UNIQUE INDEX i ON d ((k + 1))", False, id="expression"),
        pytest.param("CREATE TABLE d (k INT); CREATE INDEX i ON d (k)", False, id="not unique"),
        pytest.param("CREATE TABLE d (k INT, x INT); CREATE UNIQUE INDEX i ON d (k) INCLUDE (x)", True, id="include"),
        pytest.param("CREATE TABLE d (x INT, k INT); CREATE UNIQUE INDEX i ON d (x) INCLUDE (k)", False, id="included"),
        pytest.param("CREATE TABLE d (k INT UNIQUE DEFERRABLE INITIALLY DEFERRED)", False, id="deferrable"),
        pytest.param("CREATE TABLE d (k INT PRIMARY KEY); CREATE TABLE e (x INT) INHERITS (d)", False, id="parent"),
        pytest.param("CREATE TABLE e (k INT PRIMARY KEY); CREATE VIEW d AS SELECT * FROM e", False, id="view"),
        pytest.param(
            "CREATE TABLE e (k INT); CREATE MATERIALIZED VIEW d AS SELECT * FROM e; CREATE UNIQUE INDEX i ON d (k)",
            True,
            id="materialised",
        ),
        pytest.param(
            "CREATE TABLE d (k INT PRIMARY KEY) PARTITION BY LIST (k); CREATE TABLE e PARTITION OF d FOR VALUES IN (1)",
            True,
            id="partitioned",
        ),
        pytest.param('CREATE TABLE d (k TEXT COLLATE "C" PRIMARY KEY)', True, id="collation of the column"),
        pytest.param(
            'CREATE TABLE d (k TEXT); CREATE UNIQUE INDEX i ON d (k COLLATE "C")', False, id="another collation"
        ),
        pytest.param(
            "CREATE TABLE d (k TEXT); CREATE UNIQUE INDEX i ON d (k text_pattern_ops)", False, id="other operators"
        ),
        pytest.param("CREATE TABLE d (k VARCHAR(3) PRIMARY KEY)", True, id="operators of a type that it is like"),
        pytest.param("CREATE EXTENSION citext; CREATE TABLE d (k CITEXT PRIMARY KEY)", True, id="citext"),
        pytest.param(
            "CREATE EXTENSION citext; CREATE TABLE d (k CITEXT); CREATE UNIQUE INDEX i ON d (k text_ops)",
            False,
            id="citext as text",
        ),
        pytest.param(
            "CREATE EXTENSION citext; CREATE DOMAIN name AS citext; CREATE TABLE d (k public.name);"
            "CREATE UNIQUE INDEX i ON d (k text_ops)",
            False,
            id="domain of citext as text",
        ),
        pytest.param("CREATE TYPE mood AS ENUM ('sad'); CREATE TABLE d (k mood PRIMARY KEY)", True, id="enum"),
    ],
)
def test_indexes(postgres: Engine, postgres_dsn: str, statements: list[str], script: str, declared: bool) -> None:
    if "citext" in script:
        typed(postgres, "CREATE EXTENSION citext")
        script = script.removeprefix("CREATE EXTENSION citext; ")
    with psycopg.connect(postgres_dsn, autocommit=True) as owner:
        owner.execute(script.encode())
    assert is_declared(postgres, statements) is declared


def test_an_index_that_failed_halfway_declares_nothing(
    postgres: Engine, postgres_dsn: str, statements: list[str]
) -> None:
    with psycopg.connect(postgres_dsn, autocommit=True) as owner:
        owner.execute("CREATE TABLE d (k INT); INSERT INTO d VALUES (1), (1)")
        with pytest.raises(psycopg.errors.UniqueViolation):
            owner.execute("CREATE UNIQUE INDEX CONCURRENTLY i ON d (k)")
        owner.execute("DELETE FROM d WHERE ctid = '(0,1)'")
    assert not is_declared(postgres, statements)


def test_the_children_of_an_inheritance_parent_are_counted(postgres: Engine) -> None:
    """The parent's primary key holds for each table alone."""
    run(postgres, "CREATE TABLE d (k INT PRIMARY KEY); CREATE TABLE f (k INT); INSERT INTO f VALUES (1)")
    run(postgres, "CREATE TABLE e (CONSTRAINT p PRIMARY KEY (k)) INHERITS (d); INSERT INTO d VALUES (1)")
    run(postgres, "INSERT INTO e VALUES (1)")
    found = inspect(postgres, "SELECT f.k FROM f JOIN d USING (k)")
    assert (found.join_rows, found.edges[0].max_right, found.tree.edges[0].unique_right) == (2, 2, False)
    alone = inspect(postgres, "SELECT f.k FROM f JOIN ONLY d USING (k)")
    assert (alone.join_rows, alone.edges[0].max_right) == (1, 1)


def test_names_in_mixed_case(engine: Engine, statements: list[str]) -> None:
    run(engine, 'CREATE SCHEMA "My S"; CREATE TABLE "My S"."My T" ("My K" INT PRIMARY KEY)')
    assert is_declared(engine, statements, '"My S"."My T"', "My K")


@pytest.mark.parametrize(("alias", "unique"), [("d", True), ("d(code, id)", False), ("d(id)", True)])
def test_a_column_under_the_name_of_another(engine: Engine, alias: str, unique: bool) -> None:
    """What the database has declared of `id` holds for the real column only."""
    run(engine, "CREATE TABLE d (id INT PRIMARY KEY, code INT); INSERT INTO d VALUES (1, 5), (2, 5)")
    catalog = Catalog(Facts(engine), read_query(engine, f"SELECT * FROM d AS {alias}"))
    assert catalog.unique("d", (Term("d", exp.column("id", table="d", quoted=True)),)) is unique


@pytest.mark.parametrize("key", ["g", "NULLIF(g, 7)", "CASE WHEN g > 100000 THEN 1 ELSE g END", "'k' || g", "g / 4.0"])
def test_the_facts_of_a_key_of_many_rows(engine: Engine, key: str) -> None:
    """They are the same, whether its values are counted or its groups."""
    run(engine, f"CREATE TABLE d AS SELECT {key} AS k FROM GENERATE_SERIES(1, 100001) AS r(g)")
    catalog = Catalog(Facts(engine), read_query(engine, "SELECT * FROM d"))
    terms = (Term("d", exp.column("k", table="d", quoted=True)),)
    catalog.rows("d")
    unique, found = catalog.unique("d", terms), catalog.of("d").key(terms)
    assert found == key_facts(engine, catalog.of("d").own_rows(terms), 1)
    assert unique is (found.largest == 1)


def test_nulls_do_not_make_a_key_repeat(engine: Engine) -> None:
    run(engine, "CREATE TABLE d (k INT, x INT); INSERT INTO d VALUES (1, 1), (NULL, 2), (NULL, 3)")
    catalog = Catalog(Facts(engine), read_query(engine, "SELECT * FROM d"))
    facts = catalog.of("d").key((Term("d", exp.column("k", table="d", quoted=True)),))
    assert (facts.rows, facts.nulls, facts.distinct, facts.largest) == (3, 2, 1, 1)


# -- functions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("volatility", ["IMMUTABLE", "STABLE", "VOLATILE"])
@pytest.mark.parametrize("place", ["SELECT twice(x) AS z FROM t", "SELECT x FROM t WHERE twice(x) > 0"])
def test_functions_of_the_user(postgres: Engine, postgres_dsn: str, volatility: str, place: str) -> None:
    with psycopg.connect(postgres_dsn, autocommit=True) as owner:
        owner.execute(f"CREATE FUNCTION twice(int) RETURNS int {volatility} LANGUAGE sql AS 'SELECT 2 * $1'".encode())
        owner.execute("CREATE TABLE t (x INT); INSERT INTO t VALUES (1), (-1)")
    if volatility == "VOLATILE":
        with pytest.raises(QueryError) as caught:
            inspect(postgres, place)
        assert str(caught.value) == (
            "function twice is volatile: it may write, or return another value at each call\n"
            "HINT: if it only reads, declare that: ALTER FUNCTION twice ... STABLE"
        )
    else:
        assert inspect(postgres, place).join_rows == (1 if "WHERE" in place else 2)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("SELECT x, random() AS r FROM t", "random() is volatile"),
        ("SELECT x, 1 AS r FROM t LIMIT 1", "LIMIT 1 without ORDER BY may keep other rows"),
        ("SELECT x, row_number() OVER () AS r FROM t", "rows may have another place each time they are read"),
        ("SELECT x, row_number() OVER (ORDER BY x) AS r FROM t", None),
        ("SELECT x, 1 AS r FROM t TABLESAMPLE BERNOULLI (50)", "TABLESAMPLE and USING SAMPLE read other rows"),
        ("SELECT x, 1 AS r FROM (SELECT x FROM t ORDER BY x LIMIT 1) AS s", None),
        ("SELECT x, count(*) OVER (ORDER BY x) AS r FROM t", None),
    ],
)
@pytest.mark.parametrize("deep", [False, True])
def test_views_are_read_like_sub_queries(engine: Engine, body: str, message: str | None, deep: bool) -> None:
    run(engine, "CREATE TABLE t (x INT); INSERT INTO t VALUES (1), (-1)")
    typed(
        engine, Text(f"CREATE VIEW v AS {body if engine.dialect == 'postgres' else body.replace('50', '50 PERCENT')}")
    )
    if deep:
        run(engine, "CREATE VIEW w AS SELECT x, r FROM v UNION ALL SELECT x, r FROM v WHERE x > 9")
    text = f"SELECT a.x, a.r FROM {'w' if deep else 'v'} AS a"
    if message is None:
        assert inspect(engine, text).join_rows > 0
    else:
        with pytest.raises(QueryError) as caught:
            inspect(engine, text)
        assert caught.value.message.startswith("in a view that the query reads: ")
        assert message in caught.value.message


def test_numbers_that_are_too_large(duckdb: Engine) -> None:
    """In PostgreSQL it is the server that says so."""
    run(duckdb, "CREATE TABLE t (y INT, x DOUBLE); INSERT INTO t VALUES (0, 1e200), (1, 2), (1, 3)")
    with (
        pytest.raises(DataError, match="feature x has numbers whose squares"),
        open_problem(duckdb, "SELECT y, x FROM t", ProblemOptions("y")),
    ):
        pass


@pytest.mark.parametrize(("stored", "view"), [("t", "t"), ("o.t", "p.t"), ('O."T"', 'P."T"')])
def test_views_are_listed_only_if_one_may_be_read(
    duckdb: Engine, statements: list[str], stored: str, view: str
) -> None:
    """A view of the session may hide a table, and have its name."""
    for made in ("SCHEMA o", "SCHEMA p", "TABLE t (x INT)", "TABLE o.t (x INT)"):
        duckdb.execute(Text(f"CREATE {made}"))
    statements.clear()
    read_query(duckdb, f"SELECT x FROM {stored} AS a")
    assert not [s for s in statements if "duckdb_views" in s]
    for made in ("TEMPORARY VIEW t", "VIEW p.t"):
        duckdb.execute(Text(f"CREATE {made} AS SELECT x, random() AS r FROM o.t"))
    with pytest.raises(QueryError, match="is volatile"):
        read_query(duckdb, f"SELECT x FROM {view} AS a")


def test_views_of_one_name(duckdb: Engine) -> None:
    """Nothing tells which of them a query reads."""
    run(duckdb, "CREATE TABLE t (x INT); CREATE SCHEMA s1; CREATE SCHEMA s2")
    for schema, value in (("s1", "random()"), ("main", "1.0"), ("s2", "2.0")):
        duckdb.execute(Text(f"CREATE VIEW {schema}.v AS SELECT x, {value} AS r FROM t"))
    with pytest.raises(QueryError, match="random"):
        inspect(duckdb, "SELECT x, r FROM s1.v")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT rr(x) AS z FROM t",
        "SELECT outer_one(x) AS z FROM t",
        "SELECT x FROM (SELECT x FROM t WHERE RR(x) > 0) AS s",
        "SELECT x, r FROM (SELECT x, r FROM t, tm()) AS s",
        "SELECT z AS x FROM w",
    ],
)
def test_macros_are_looked_into(duckdb: Engine, text: str) -> None:
    for made in (
        *("TABLE t (x INT)", "MACRO rr(a) AS a + random()", "MACRO outer_one(a) AS 2 * rr(a)"),
        *("MACRO tm() AS TABLE SELECT random() AS r", "VIEW w AS SELECT rr(x) AS z FROM t"),
    ):
        duckdb.execute(Text(f"CREATE {made}"))
    with pytest.raises(QueryError, match="is volatile"):
        inspect(duckdb, text)


def test_a_macro_that_says_the_same_each_time(duckdb: Engine) -> None:
    run(duckdb, "CREATE TABLE t (x INT); INSERT INTO t VALUES (1), (2)")
    duckdb.execute(Text("CREATE MACRO double_it(a) AS 2 * abs(a)"))
    assert inspect(duckdb, "SELECT double_it(x) AS z FROM t").join_rows == 2


TABLE_FUNCTIONS = """SELECT DISTINCT lower(function_name) FROM duckdb_functions()
WHERE function_type IN ('table', 'table_macro', 'pragma')"""


def test_a_query_calls_no_table_function_that_is_not_listed(duckdb: Engine) -> None:
    """All that the installed DuckDB has, so that a new one is refused until somebody has read what it does."""
    run(duckdb, "CREATE TABLE t (x INT); INSERT INTO t VALUES (1), (2)")
    has = duckdb.fetch(Text(TABLE_FUNCTIONS))
    (names,) = has.values()
    called = [("", str(name)) for name in names]
    assert set(duckdb.volatile_functions(called)) == {name for _, name in called} - READING


@pytest.mark.parametrize(
    "call",
    [
        "enable_logging(storage := 'file', storage_config := {{'path': '{folder}'}})",
        "EnAbLe_LoGgInG (storage := 'file', storage_config := {{'path': '{folder}'}})",
        "\"enable_logging\"(storage := 'file', storage_config := {{'path': '{folder}'}})",
        "/* a */ enable_logging /* b */ (storage := 'file', storage_config := {{'path': '{folder}'}})",
        "query('SELECT 1 AS x')",
        "query_table('t')",
        "json_execute_serialized_sql(json_serialize_sql('SELECT 1 AS x'))",
        "read_text('/etc/hostname')",
        "read_blob('/etc/hostname')",
        "glob('/etc/*')",
        "duckdb_secrets()",
        "indirect('t')",
    ],
)
@pytest.mark.parametrize(
    "place", ["SELECT x FROM t, (SELECT * FROM {}) AS s", "WITH s AS (FROM {}) SELECT t.x FROM t, s"]
)
def test_what_a_query_must_not_call(duckdb: Engine, tmp_path: Path, call: str, place: str) -> None:
    run(duckdb, "CREATE TABLE t (x INT); INSERT INTO t VALUES (1), (2)")
    duckdb.execute(Text("CREATE MACRO indirect(name) AS TABLE SELECT * FROM query_table(name)"))
    with pytest.raises(QueryError):
        read_query(duckdb, place.format(call.format(folder=tmp_path / "log")))
    assert list(tmp_path.iterdir()) == []


def test_a_name_is_no_variable_of_python(duckdb: Engine) -> None:
    secret = {"x": np.arange(3)}
    with pytest.raises(QueryError, match="cannot read secret"):
        inspect(duckdb, "SELECT x FROM secret")
    assert len(secret) == 1


def test_functions_that_a_view_calls(postgres: Engine, postgres_dsn: str) -> None:
    with psycopg.connect(postgres_dsn, autocommit=True) as owner:
        owner.execute("CREATE FUNCTION twice(int) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 2 * $1'")
        owner.execute("CREATE TABLE t (x INT); CREATE VIEW v AS SELECT twice(x) AS x FROM t")
    with pytest.raises(QueryError, match="function twice is volatile") as caught:
        inspect(postgres, "SELECT x FROM v")
    assert caught.value.detail == "a view that the query reads calls it"
    with psycopg.connect(postgres_dsn, autocommit=True) as owner:
        owner.execute("ALTER FUNCTION twice(int) STABLE; INSERT INTO t VALUES (1)")
    assert inspect(postgres, "SELECT x FROM v").join_rows == 1


# -- LEFT JOIN ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def tables(engine: Engine) -> Engine:
    run(
        engine,
        """CREATE TABLE a (k INT, j INT, x INT);
        CREATE TABLE b (k INT, j INT, y INT);
        CREATE TABLE c (j INT, z INT);
        INSERT INTO a VALUES (1, 1, 10), (1, 2, 20), (2, 1, 30), (3, 3, 40), (NULL, 1, 50);
        INSERT INTO b VALUES (1, 1, 100), (2, 2, NULL), (NULL, 3, 300);
        INSERT INTO c VALUES (1, 7), (2, 8), (2, 9)""",
    )
    return engine


def agrees(engine: Engine, text: str, label: str | None = None) -> Inspection:
    """Inspect, and compare the size with that of the join itself."""
    found = inspect(engine, text, label=label)
    (query,) = parse(f"SELECT COUNT(*) AS n FROM ({text}) AS q", read=engine.dialect)
    assert isinstance(query, exp.Query)
    assert found.join_rows == asked(engine, query)["n"][0]
    return found


def test_a_left_join_may_find_several_rows(tables: Engine) -> None:
    found = agrees(tables, "SELECT a.x, c.z FROM a LEFT JOIN c ON c.j = a.j")
    assert [edge.kind for edge in found.tree.edges] == ["many-to-many"]


def test_a_filter_makes_it_find_one_row_at_most(tables: Engine) -> None:
    """In ON it says which rows are found, and in WHERE which of these are left."""
    for clause in ("AND", "WHERE"):
        found = agrees(tables, f"SELECT a.x, c.z FROM a LEFT JOIN c ON c.j = a.j {clause} c.z <> 9")
        assert [edge.kind for edge in found.tree.edges] == ["foreign-key"]


@pytest.mark.parametrize(
    ("rest", "rows"),
    [
        ("LEFT JOIN b ON b.k = a.k", 5),
        ("LEFT JOIN b ON b.k = a.k AND b.j = a.j", 5),
        ("LEFT JOIN b ON b.k = a.k WHERE b.k IS NULL", 2),
        ("LEFT JOIN b ON b.k = a.k WHERE b.y IS NULL", 3),
        ("LEFT JOIN b ON b.k = a.k WHERE b.y IS NOT NULL", 2),
        ("LEFT JOIN b ON b.k = a.k AND b.y IS NOT NULL", 5),
        ("LEFT JOIN b ON b.k = COALESCE(a.k, 1)", 5),
        ("LEFT JOIN b ON COALESCE(b.k, 3) = a.k", 5),
        ("LEFT JOIN b ON COALESCE(b.k, 3) = a.k WHERE COALESCE(b.y, 0) = 0", 2),
        ("LEFT JOIN b ON b.k = a.k JOIN c ON COALESCE(b.j, 2) = c.j", 8),
        ("LEFT JOIN b ON b.k = a.k LEFT JOIN c ON c.j = b.j AND c.z < 9", 5),
        ("LEFT JOIN b ON b.k = a.k LEFT JOIN c ON c.j = COALESCE(b.j, 1) AND c.z < 9 WHERE c.z IS NOT NULL", 5),
        ("JOIN c ON c.j = a.j LEFT JOIN b ON b.k = a.k", 5),
        ("LEFT JOIN b ON b.k = a.k AND FALSE", 5),
        ("LEFT JOIN b ON b.k = a.k WHERE a.x > 100", 0),
    ],
)
def test_left_joins(tables: Engine, rest: str, rows: int) -> None:
    outputs = ["a.x"] + [f"{t}.{c}" for t, c in (("b", "y"), ("c", "z")) if f"JOIN {t} " in rest]
    assert agrees(tables, f"SELECT {', '.join(outputs)} FROM a {rest}").join_rows == rows


def test_a_chain_of_left_joins_under_where(tables: Engine) -> None:
    """The edge b-c is that of the LEFT JOIN, which sees b before WHERE."""
    text = "SELECT a.x, b.y, c.z FROM a LEFT JOIN b ON b.k = a.k LEFT JOIN c ON c.j = b.j AND c.z < 9 WHERE b.y IS NULL"
    found = agrees(tables, text)
    (edge,) = [
        f for e, f in zip(found.tree.edges, found.edges, strict=True) if found.tree.node_of("c") in (e.left, e.right)
    ]
    assert (edge.max_left, edge.max_right, edge.dangling_left, edge.dangling_right) == (1, 1, 1, 0)


def test_survivors_leave_out_the_row_of_no_match(tables: Engine) -> None:
    found = agrees(tables, "SELECT a.x, b.y FROM a LEFT JOIN b ON b.k = a.k")
    assert [(r.rows, r.rows_surviving) for r in found.relations] == [(5, 5), (3, 2)]


# -- NULL, NaN, infinity -----------------------------------------------------------------------------------------------


def oddities(engine: Engine, text: str) -> dict[str, tuple[int, int, int]]:
    return {f["name"]: (f["nulls"], f["nans"], f["infinite"]) for f in as_json(inspect(engine, text))["features"]}


def test_odd_numbers_are_counted(engine: Engine) -> None:
    run(engine, "CREATE TABLE t (k INT, x DOUBLE PRECISION, r REAL, n DECIMAL(5, 2), b BOOLEAN, s TEXT)")
    values = {
        "k": np.array([1, 1, 2, 2, 3]),
        "x": np.array([np.nan, np.inf, -np.inf, 1e308, 0.0]),
        "r": np.array([np.nan, np.nan, np.inf, 1.0, -1.0]),
        "n": np.array([1.0, 2.0, 3.0, 4.0, 5.0]),
        "b": np.array([True, False, True, True, False]),
        "s": np.array(["NaN", "a", "Infinity", "", "b"], dtype=object),
    }
    engine.copy_in(meant(engine, "t"), values)
    run(engine, "INSERT INTO t (k) VALUES (4)")
    expected = {"x": (1, 1, 2), "r": (1, 2, 1), "n": (1, 0, 0), "b": (1, 0, 0), "s": (1, 0, 0), "k": (0, 0, 0)}
    assert oddities(engine, "SELECT x, r, n, b, s, k FROM t") == expected
    assert oddities(engine, "SELECT x FROM t WHERE k > 1") == {"x": (1, 0, 1)}


def test_those_of_an_optional_relation_are_its_own(engine: Engine) -> None:
    """Not those that a missing match adds: they depend on the join, and are not of this table."""
    run(engine, "CREATE TABLE a (k INT); INSERT INTO a VALUES (1), (2), (3)")
    run(engine, "CREATE TABLE b (k INT, x INT); INSERT INTO b VALUES (1, NULL), (2, 5)")
    assert oddities(engine, "SELECT b.x FROM a LEFT JOIN b USING (k)") == {"x": (1, 0, 0)}


def test_nan_is_a_key_like_any_other(engine: Engine) -> None:
    """So the engines have it: NaN = NaN. NULL meets nothing."""
    for name in ("a", "b"):
        run(engine, f"CREATE TABLE {name} (k DOUBLE PRECISION, x INT)")
        engine.copy_in(meant(engine, name), {"k": np.array([np.nan, np.nan, 1.0]), "x": np.arange(3)})
        run(engine, f"INSERT INTO {name} VALUES (NULL, 9)")
    found = agrees(engine, "SELECT a.x, b.x AS z FROM a JOIN b USING (k)")
    assert found.join_rows == 5
    (facts,) = found.edges
    assert (facts.max_left, facts.dangling_left, facts.null_keys) == (2, 0, 2)


# -- features that fail in some rows -----------------------------------------------------------------------------------


@pytest.fixture
def orders(engine: Engine) -> Engine:
    """What was not shipped has no number of items."""
    run(
        engine,
        """CREATE TABLE orders (k INT, total INT, items TEXT, late BOOLEAN);
        CREATE TABLE shipped (k INT, days INT);
        INSERT INTO orders VALUES (1, 10, '5', TRUE), (2, 20, '4', FALSE), (3, 30, 'none', FALSE);
        INSERT INTO shipped VALUES (1, 7), (2, 9)""",
    )
    return engine


RATIO = "SELECT o.late, o.total, o.total / CAST(o.items AS INT) AS each, s.days FROM orders o JOIN shipped s USING (k)"


@pytest.mark.parametrize("verb", ["train", "explain", "inspect"])
def test_a_feature_that_fails_outside_the_join(orders: Engine, verb: str) -> None:
    verbs: dict[str, Callable[[], object]] = {
        "train": lambda: train(orders, "m", RATIO, training("late")),
        "explain": lambda: explain(orders, RATIO, training(label="late")),
        "inspect": lambda: inspect(orders, RATIO, label="late"),
    }
    with pytest.raises(DataError) as refused:
        verbs[verb]()
    assert refused.value.message.startswith("feature each cannot be computed in every row of o: ")
    assert "none" in refused.value.message
    assert refused.value.detail == "it is computed before the join, also in rows that the join leaves out"
    assert refused.value.hint == (
        "leave such rows out in a sub-query: FROM (SELECT * FROM ... WHERE ...) AS o; "
        "or write NULLIF(..., 0), or CASE WHEN ... END"
    )


def test_left_out_in_a_sub_query_it_does_not_fail(orders: Engine) -> None:
    rest = RATIO.replace("orders o", "(SELECT * FROM orders WHERE items <> 'none') AS o")
    assert agrees(orders, rest, "late").join_rows == 2


def test_a_division_by_zero_outside_the_join(postgres: Engine) -> None:
    run(postgres, "CREATE TABLE t (k INT, x INT); INSERT INTO t VALUES (1, 2), (2, 0)")
    run(postgres, "CREATE TABLE u (k INT, y BOOLEAN); INSERT INTO u VALUES (1, TRUE)")
    query = "SELECT u.y, 6 / t.x AS a, t.x + 1 AS b, t.k FROM u JOIN t USING (k)"
    with pytest.raises(DataError) as refused:
        inspect(postgres, query, label="y")
    assert refused.value.message == "feature a cannot be computed in every row of t: division by zero"


@pytest.mark.parametrize("join", ["f WHERE okay(f.x)", "g LEFT JOIN f ON f.k = g.k AND okay(f.x)"])
def test_categories_are_computed_after_the_conditions_of_the_query(postgres: Engine, join: str) -> None:
    """PostgreSQL looks for NULL first if a condition calls a function that costs more."""
    run(
        postgres,
        """CREATE TABLE f AS SELECT g AS k, g % 5 AS x, g % 2 = 0 AS y FROM GENERATE_SERIES(1, 100) AS r(g);
        CREATE TABLE g AS SELECT k, y FROM f;
        CREATE FUNCTION okay(x INT) RETURNS BOOLEAN LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN x <> 0; END'""",
    )
    text = f"SELECT {join[0]}.y, 12 / f.x AS c FROM {join}"
    model = train(postgres, "m", text, training(categorical=("c",), nulls="mean"))
    assert {w.category for w in model.weights if w.category} == {3, 4, 6, 12}


def test_what_fails_for_another_reason_is_not_the_features_fault(postgres: Engine, plain_role: str) -> None:
    run(postgres, "CREATE TABLE t (y BOOLEAN, x INT); INSERT INTO t VALUES (TRUE, 2)")
    query = read_query(postgres, "SELECT t.y, t.x + 1 AS z FROM t")
    postgres.execute(Text(f"SET ROLE {plain_role}"))
    with pytest.raises(StatementError, match="permission denied"), naming_features(postgres, query):
        Catalog(Facts(postgres), query).nulls_in_join(query.features)


NUMBERS = """
    CREATE TABLE f AS SELECT g % 5 AS k, g AS count, g % 3 = 0 AS y, g % 7 AS small FROM GENERATE_SERIES(1, 60) AS r(g);
    CREATE TABLE d AS SELECT g % 5 AS k, CAST(20.0 * g AS DOUBLE PRECISION) AS x
        FROM GENERATE_SERIES(1, 40) AS r(g)"""
OUT_OF_RANGE = {
    "f.count * 1e200": "feature odd has numbers whose squares are too large for a double",
    "d.x * CAST(1e160 AS DOUBLE PRECISION)": "feature odd has numbers whose squares are too large for a double",
    "f.count * CAST(1e-200 AS DOUBLE PRECISION)": "feature odd has numbers whose squares are too small for a double",
    "EXP(d.x)": "feature odd cannot be computed in every row of d: value out of range: overflow",
    "10.0 / (f.count - 7)": "feature odd cannot be computed in every row of f: division by zero",
    "f.count * CAST(1e308 AS DOUBLE PRECISION)":
        "feature odd cannot be computed in every row of f: value out of range: overflow",
}  # fmt: skip


@pytest.mark.parametrize(
    ("odd", "offload"),
    [(odd, offload) for odd in OUT_OF_RANGE for offload in (False, True) if not (offload and "e-200" in odd)],
)
def test_a_number_that_is_out_of_range(postgres: Engine, odd: str, offload: bool) -> None:
    """PostgreSQL has an error where DuckDB has infinity or 0."""
    run(postgres, NUMBERS)
    query = f"SELECT f.y, f.small + 1 AS one_more, {odd} AS odd, d.x + 1 AS two FROM f JOIN d USING (k)"
    with pytest.raises(DataError) as refused:
        train(postgres, "m", query, training(offload=offload))
    assert refused.value.message == OUT_OF_RANGE[odd]
    assert refused.value.hint


def test_a_condition_that_fails_is_no_feature(postgres: Engine) -> None:
    run(postgres, NUMBERS)
    with pytest.raises(StatementError, match="division by zero"):
        train(postgres, "m", "SELECT y, small + 1 AS one_more FROM f WHERE 10 / (count - 7) > 0", training())


# -- structures --------------------------------------------------------------------------------------------------------


def test_a_field_of_a_structure(duckdb: Engine) -> None:
    run(duckdb, "CREATE TABLE t (x INT, addr STRUCT(city VARCHAR, since DATE))")
    run(duckdb, "INSERT INTO t VALUES (1, {'city': 'Ulm', 'since': DATE '2020-01-02'})")
    with pytest.raises(QueryError) as refused:
        inspect(duckdb, "SELECT x, addr FROM t")
    assert refused.value.hint == "take its fields out one by one: (x).city AS city"
    assert [f.kind for f in inspect(duckdb, "SELECT x, addr.city FROM t").features] == ["numeric", "categorical"]
    found = inspect(duckdb, "SELECT x, (addr).city AS city, (t.addr).city AS town, addr['city'] AS place FROM t")
    assert [f.kind for f in found.features] == ["numeric", "categorical", "categorical", "categorical"]


def test_a_relation_is_looked_at_once_for_all_queries_on_a_snapshot(engine: Engine, statements: list[str]) -> None:
    """The part to train on, the part that is held out, and the audited columns have all relations but one in common."""
    run(engine, "CREATE TABLE f AS SELECT g % 9 AS k, g % 2 = 0 AS y, g AS x FROM GENERATE_SERIES(1, 6000) AS r(g)")
    run(engine, "CREATE TABLE d AS SELECT g AS k, g % 4 AS a, g AS u FROM GENERATE_SERIES(0, 8) AS r(g)")
    run(engine, "CREATE TABLE e AS SELECT g AS a, g * g AS v FROM GENERATE_SERIES(0, 3) AS r(g)")
    text = "SELECT f.y, f.x, d.u, f.x * d.u AS z, e.v FROM f JOIN d ON d.k = f.k LEFT JOIN e ON e.a = d.a"
    train(engine, "m", text, training("y", holdout=0.3, constrain=("fair:d.u:0.1",), max_passes=1))
    begun = next(place for place, s in enumerate(statements) if s.startswith("BEGIN"))
    looks = [s for s in statements[begun:] if ("AS k0" in s or "AS v0" in s) and "sqlsvm_" not in s]
    assert looks
    assert [s for s in looks if looks.count(s) > 1] == []
