"""What the names of a query mean, and that nothing on the path takes the place of ours."""

from itertools import product

import pytest
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from sqlsvm.ask.inspect import inspect
from sqlsvm.engine.base import Engine, StatementError, Text
from sqlsvm.engine.pg_names import calls_in
from sqlsvm.errors import QueryError
from sqlsvm.model.predict import predict
from sqlsvm.query import FeatureQuery
from sqlsvm.query.read_query import read_query
from sqlsvm.run.train import train
from sqlsvm.run.training import Training
from tests.typed import asked, typed

MADE = """
CREATE SCHEMA air;
CREATE EXTENSION citext SCHEMA public;
CREATE EXTENSION hstore SCHEMA public;
CREATE DOMAIN public.colour AS citext;
CREATE TYPE air.mood AS ENUM ('sad', 'glad');
CREATE COLLATION air.caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE air.flights (k int, email citext, d float8, day date, feeling air.mood, y boolean);
CREATE TABLE public.flights (k int);
CREATE TABLE public.users (k int, email citext, tint colour, x float8, name text, props hstore);
CREATE FUNCTION public.half(float8) RETURNS float8 IMMUTABLE LANGUAGE sql AS 'SELECT $1 / 2';
CREATE FUNCTION public.round(float8, int) RETURNS float8 IMMUTABLE LANGUAGE sql
  AS 'SELECT pg_catalog.round($1::numeric, $2)::float8';
CREATE FUNCTION air.always(float8, int) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT true';
CREATE OPERATOR air.> (LEFTARG = float8, RIGHTARG = int, FUNCTION = air.always);
CREATE FUNCTION air.twin(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION public.twin(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 2'
"""


@pytest.fixture
def filled(postgres: Engine) -> Engine:
    for statement in MADE.split(";"):
        typed(postgres, statement)
    postgres.look_in(["air", "public"])  # type: ignore[attr-defined]
    return postgres


def texts(query: FeatureQuery) -> dict[str, str]:
    """Relations, features, filters and keys as they are sent."""
    found = {r.alias: r.source.sql("postgres") for r in query.relations}
    found |= {f.name: f.expression.sql("postgres") for f in query.features}
    filters = [c.sql("postgres") for r in query.relations for c in (*r.filters, *(r.optional or ()))]
    return found | {"where": " AND ".join(filters)}


# -- as PostgreSQL reads it --------------------------------------------------------------------------------------------

EXPRESSIONS = (
    "half(u.x)",
    "round(u.x, 1)",
    "round(u.x::numeric, 1)",
    "round(u.x)",
    "u.email = 'a'",
    "u.email IN ('a', 'B')",
    "u.email <> u.tint",
    "u.email = u.name",
    "u.email LIKE 'a%'",
    "u.email NOT ILIKE 'a%'",
    "u.email ~ 'a'",
    "replace(u.email, 'a', 'b') = 'c'",
    "replace(u.name, 'a', 'b') = 'c'",
    "lower(u.email) = 'x'",
    "u.name::citext = 'x'",
    "u.name = 'x'",
    "u.email || 'x'",
    "length(u.email) > 3",
    "u.email BETWEEN 'a' AND 'b'",
    "CASE u.email WHEN 'a' THEN 1 ELSE 0 END",
    "nullif(u.email, 'a')",
    "u.email IS DISTINCT FROM 'a'",
    "coalesce(u.email, 'none') = 'none'",
    "u.props -> 'a' = 'b'",
    "u.props ? 'a'",
    "u.props @> 'a=>1'",
    "abs(f.d) > half(3)",
    "f.d + f.k",
    "f.feeling = 'sad'",
    "f.feeling::text || 'x'",
    "'sad'::mood = f.feeling",
    "u.name COLLATE caseless = 'x'",
    "u.name COLLATE \"C\" < 'x'",
    "- f.d",
    "EXTRACT(year FROM f.day)",
    "f.k = ANY (ARRAY[1, 2])",
    "u.email = ANY (ARRAY['a', 'b'])",
    "u.email = ANY (ARRAY['a', 'b']::citext[])",
    "u.email <> ALL (ARRAY[f.email])",
    "u.email = ANY (SELECT w.email FROM users AS w)",
    "u.email IN (SELECT w.email FROM users AS w)",
    "u.email = ('a')",
    "u.email IN (('a'), 'b')",
    "u.email = ANY ('{a,b}')",
    "u.email = 'a' COLLATE \"C\"",
    "(f.k, u.email) = (1, 'a')",
    "ROW(f.k, u.email) = ROW(1, 'a')",
    "(f.k, u.email) IN ((1, 'a'), (2, 'b'))",
    "(f.k, f.email) IN (SELECT w.k, w.email FROM users AS w)",
    "u.email IN (u.name, 'a')",
    "CASE u.email WHEN u.name THEN 1 WHEN 'a' THEN 2 END",
    "u.email IN (VALUES ('a'::citext))",
    "u.email SIMILAR TO 'a%'",
    "u.email LIKE 'a!%' ESCAPE '!'",
    "strpos(u.email, 'a')",
    "trim(u.name)",
    "trim(BOTH 'x' FROM u.name)",
    "ltrim(u.name)",
    "normalize(u.name)",
)
UNCLEAR = {"u.email BETWEEN 'a' AND 'b'", "CASE u.email WHEN 'a' THEN 1 ELSE 0 END", "nullif(u.email, 'a')",
           "u.email IS DISTINCT FROM 'a'", "(f.k, u.email) = (1, 'a')", "ROW(f.k, u.email) = ROW(1, 'a')",
           "(f.k, u.email) IN ((1, 'a'), (2, 'b'))", "(f.k, f.email) IN (SELECT w.k, w.email FROM users AS w)",
           "u.email IN (u.name, 'a')", "CASE u.email WHEN u.name THEN 1 WHEN 'a' THEN 2 END",
           "u.email IN (VALUES ('a'::citext))", "u.email SIMILAR TO 'a%'", "u.email LIKE 'a!%' ESCAPE '!'",
           "strpos(u.email, 'a')"}  # fmt: skip
FORMS = (
    "SELECT {e} AS e FROM flights AS f CROSS JOIN users AS u",
    "SELECT s.e FROM (SELECT {e} AS e FROM flights AS f JOIN users AS u USING (k)) AS s",
    "WITH users AS (SELECT * FROM users) SELECT count({e}) AS e FROM users AS u CROSS JOIN flights AS f "
    "GROUP BY u.name HAVING count({e}) > 1",
)


SPELT_OUT = {
    "u.email IN ('a', 'B')": "(u.email = 'a' OR u.email = 'B')",
    "u.email IN (('a'), 'b')": "(u.email = 'a' OR u.email = 'b')",
}
"""What a reading of the text itself would say in another way."""
READING = Text("SELECT pg_get_viewdef('pg_temp.v'::regclass) AS v")


def a_view(text: str) -> str:
    return f"CREATE TEMPORARY VIEW v AS {text}"


@pytest.mark.thin(10)
@pytest.mark.parametrize("form", range(len(FORMS)))
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_bound_query_means_what_was_typed(filled: Engine, expression: str, form: int) -> None:
    query = parse_one(FORMS[form].format(e=expression), read="postgres")
    assert isinstance(query, exp.Query)
    if expression in UNCLEAR:
        with pytest.raises(QueryError, match="could be that of the schema public or pg_catalog") as raised:
            filled.bound(query)
        assert raised.value.hint
        return
    bound = filled.bound(query)
    typed(filled, a_view(FORMS[form].format(e=SPELT_OUT.get(expression, expression))))
    as_typed = filled.fetch(READING)["v"][0]
    filled.execute(Text("DROP VIEW pg_temp.v"))
    filled.execute(Text(a_view(bound.sql("postgres"))))
    assert filled.fetch(READING)["v"][0] == as_typed


WITHIN = (
    "SELECT u.k FROM users AS u WHERE EXISTS (SELECT FROM flights AS f WHERE f.email = u.email AND f.k > u.k)",
    "SELECT (SELECT max(w.x) FROM users AS w WHERE w.email = f.email AND w.k = k + f.k) AS e FROM flights AS f",
    "SELECT l.x FROM flights AS f JOIN LATERAL (SELECT x FROM users AS u WHERE u.email = f.email) AS l ON f.k > x",
    "SELECT k FROM users WHERE EXISTS (SELECT FROM flights AS f CROSS JOIN LATERAL (SELECT WHERE f.email = name) AS l)",
    "SELECT lag(email) OVER w = email AS e FROM users WINDOW w AS (ORDER BY k)",
    "SELECT k AS e, max(email) AS m FROM users GROUP BY 1 HAVING max(email) = 'a' AND max(k) + k > 3",
    "SELECT e, count(*) AS n FROM (SELECT props -> 'a' AS e FROM users) AS s GROUP BY e HAVING count(*) > 1",
)  # fmt: skip


@pytest.mark.parametrize("text", WITHIN)
def test_operands_in_a_sub_query_that_uses_what_is_around_it(filled: Engine, text: str) -> None:
    query = parse_one(text, read="postgres")
    assert isinstance(query, exp.Query)
    bound = filled.bound(query)
    typed(filled, a_view(text))
    as_typed = filled.fetch(READING)["v"][0]
    filled.execute(Text("DROP VIEW pg_temp.v"))
    filled.execute(Text(a_view(bound.sql("postgres"))))
    assert filled.fetch(READING)["v"][0] == as_typed


@pytest.mark.parametrize(
    ("planted", "typed_as"),
    [
        ("trim(text)", "trim(u.name)"),
        ("trim(text)", "btrim(u.name)"),
        ("trim(citext)", "trim(u.email)"),
        ("btrim(citext)", "trim(u.email)"),
        ("hex(int)", "to_hex(u.k)"),
        ("grouping(int)", "grouping(u.k)"),
        ("normalize(citext)", "normalize(u.email)"),
        ("treat(citext)", "trim(u.email)"),
        ("substring(citext, int)", "substring(u.email FROM 2)"),
        ("overlay(citext, citext, int)", "overlay(u.email PLACING 'x' FROM 2)"),
        ("position(citext, citext)", "position('x' IN u.email)"),
        ("length(citext)", "char_length(u.email)"),
        ("power(citext, int)", "pow(u.email, 2)"),
        ("coalesce(citext, citext)", "coalesce(u.email, u.email)"),
        ("var_samp(citext)", "variance(u.x)"),
    ],
)
def test_a_function_that_was_not_typed_is_not_called(filled: Engine, planted: str, typed_as: str) -> None:
    """Some words are grammar and no names, and some functions are sent under another name."""
    name, _, takes = planted.partition("(")
    typed(filled, f'CREATE FUNCTION air."{name}"({takes} RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT 1 $$')
    query = parse_one(f"SELECT {typed_as} AS e FROM users AS u GROUP BY u.k", read="postgres")
    assert isinstance(query, exp.Query)
    try:
        sent = filled.bound(query).sql("postgres")
    except QueryError:
        return
    assert '"air"' not in sent


_SYSTEM = Text("SELECT DISTINCT proname AS f FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace")
_KEYWORDS = Text("SELECT word AS f FROM pg_get_keywords() WHERE catcode IN ('C', 'R')")


def test_a_function_of_the_system_is_looked_up_under_a_name_of_the_system(postgres: Engine) -> None:
    """Otherwise any user could make a function of the other name."""
    functions = {str(name) for name in postgres.fetch(_SYSTEM)["f"] if str(name).islower()}
    words = set(postgres.fetch(_KEYWORDS)["f"])
    for name, takes in product(sorted(functions), ("a", "a, b", "'x', b", "a, b, c")):
        try:
            query = parse_one(f"SELECT {name}({takes})", read="postgres")
        except SqlglotError:
            continue
        assert isinstance(query, exp.Query)
        found = {call.name for call in calls_in(query) if call.kind == "function"}
        assert found <= functions | words, name


# -- as the compiler uses it -------------------------------------------------------------------------------------------


def test_what_a_query_becomes(filled: Engine) -> None:
    text = """
        SELECT f.y, half(f.d) AS h, round(x, 2) AS r, u.tint FROM flights f JOIN users u ON f.email = u.email
        WHERE f.email <> 'A' AND u.email IN ('a', 'B') AND d > f.k"""
    found = texts(read_query(filled, text, label="y"))
    assert found["f"] == '"air".flights AS "f"'
    assert found["u"] == '"public".users AS "u"'
    assert found["h"] == '"public".half("f"."d")'
    assert found["r"] == '"public".ROUND("u"."x", 2)'
    assert found["tint"] == 'LOWER(CAST("u"."tint" AS TEXT) COLLATE "default")'
    either = '"u"."email" OPERATOR("public".=) \'a\' OR "u"."email" OPERATOR("public".=) \'B\''
    assert found["where"] == f'"f"."email" OPERATOR("public".<>) \'A\' AND "f"."d" > "f"."k" AND {either}'


@pytest.mark.parametrize("join", ["ON f.email = u.email", "USING (email)", "ON u.email = f.email AND f.k = u.k"])
def test_keys_that_ignore_case(filled: Engine, join: str) -> None:
    typed(filled, "INSERT INTO flights VALUES (1, 'A', 1, NULL, NULL, true), (2, 'b', 2, NULL, NULL, false)")
    typed(filled, "INSERT INTO users VALUES (1, 'a', 'Red', 3), (1, 'A', 'red', 4), (2, 'B', 'x', 5), (3, 'c', 'x', 6)")
    text = f"SELECT f.y, f.d, u.tint, u.x FROM flights f JOIN users u {join}"
    rows = asked(filled, f"SELECT COUNT(*) AS n FROM ({text}) AS q")["n"][0]
    assert rows == 3
    found = inspect(filled, text, label="y")
    assert found.join_rows == rows


def test_rows_to_predict_are_those_of_the_training(filled: Engine) -> None:
    typed(filled, "INSERT INTO flights SELECT n, 'A' || n % 3, n, NULL, NULL, n > 9 FROM generate_series(1, 20) AS n")
    typed(filled, "INSERT INTO users SELECT n, 'a' || n, 'x', n FROM generate_series(0, 2) AS n")
    text = "SELECT f.y, f.d, u.x FROM flights f JOIN users u"
    for join in ("ON f.email = u.email", "USING (email)"):
        model = train(filled, "late", f"{text} {join}", Training("y", lam=0.1))
        rows = exp.select(exp.alias_(exp.Count(this=exp.Star()), "n")).from_(predict(filled, model).subquery("p"))
        assert filled.fetch(rows)["n"][0] == model.join_rows == 20


@pytest.mark.parametrize("join", ["JOIN users AS u USING (email)", "NATURAL JOIN users"])
def test_keys_of_a_sub_query(filled: Engine, join: str) -> None:
    """The view of such a join does not say which = it uses."""
    text = f"SELECT s.d, f.y FROM flights f JOIN (SELECT k, d FROM flights {join}) AS s USING (k)"
    with pytest.raises(QueryError, match="keys are compared with an = that is not PostgreSQL's own") as raised:
        read_query(filled, text)
    assert raised.value.hint == "write the condition: JOIN ... ON a.k = b.k"
    inner = "SELECT f.d, f.k FROM flights AS f JOIN users AS u USING (k)"
    assert texts(read_query(filled, f"SELECT s.d, f.y FROM flights f JOIN ({inner}) AS s USING (k)"))


def test_two_schemas_have_the_name(filled: Engine) -> None:
    with pytest.raises(QueryError, match="function twin could be that of the schema air or public") as raised:
        read_query(filled, "SELECT twin(k) AS b, d FROM flights")
    assert raised.value.hint == "write air.twin or public.twin; or make a view of this part of the query and read that"
    assert texts(read_query(filled, "SELECT public.twin(k) AS b, d FROM flights"))["b"] == 'public.twin("flights"."k")'


def test_a_key_of_a_type_with_an_equality_of_its_own(filled: Engine) -> None:
    typed(filled, "CREATE TABLE public.books (props hstore, z int, y boolean)")
    with pytest.raises(QueryError, match=r'"props" is of the type public.hstore, which has an = of its own') as raised:
        inspect(filled, "SELECT b.y, b.z, u.x FROM books b JOIN users u ON b.props = u.props", label="y")
    assert raised.value.hint
    assert 'CAST("b"."props" AS TEXT)' in raised.value.hint


# -- functions of the user ---------------------------------------------------------------------------------------------


def test_a_function_whose_operators_depend_on_the_path(filled: Engine) -> None:
    """With pg_catalog alone on the path its = would be that of texts, without an error."""
    made = "CREATE FUNCTION is_a(citext) RETURNS boolean IMMUTABLE LANGUAGE sql"
    typed(filled, f"{made} AS $$ SELECT $1 = 'a' $$")
    text = "SELECT is_a(email) AS a, d FROM flights"
    with pytest.raises(QueryError, match=r"the search_path of its caller decides what function air.is_a\(") as raised:
        read_query(filled, text)
    assert raised.value.hint
    typed(filled, raised.value.hint.partition(": ")[2].replace("...", "public"))
    assert texts(read_query(filled, text))["a"] == '"air".is_a("flights"."email")'


@pytest.mark.parametrize(
    "body",
    [
        "SELECT air.is_a($1)",
        'SELECT "air"."is_a"($1)',
        "SELECT $1 IN (SELECT email FROM public.users)",
        "SELECT EXISTS (SELECT FROM air.flights JOIN public.users USING (email))",
        "SELECT $1 SIMILAR TO 'a%'",
    ],
)
def test_what_a_function_calls_and_reads(filled: Engine, body: str) -> None:
    typed(filled, "CREATE FUNCTION is_a(citext) RETURNS boolean IMMUTABLE LANGUAGE sql AS $$ SELECT $1 = 'a' $$")
    typed(filled, f"CREATE FUNCTION deep(citext) RETURNS boolean IMMUTABLE LANGUAGE sql AS $$ {body} $$")
    with pytest.raises(QueryError, match="the search_path of its caller decides what function"):
        read_query(filled, "SELECT deep(email) AS a, d FROM flights")


def test_a_function_that_does_not_find_its_own(filled: Engine) -> None:
    typed(filled, "CREATE FUNCTION quarter(float8) RETURNS float8 IMMUTABLE LANGUAGE sql AS 'SELECT half(half($1))'")
    with pytest.raises(StatementError, match=r"function half.* does not exist") as raised:
        read_query(filled, "SELECT quarter(d) AS q, k FROM flights")
    assert raised.value.hint == (
        "sqlsvm looks names up in pg_catalog alone: ALTER FUNCTION quarter SET search_path = pg_catalog, ..."
    )
