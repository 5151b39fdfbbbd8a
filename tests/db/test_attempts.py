"""What a hostile reader of the code tries: casts, domains, operators, overloads, policies, partitions and settings."""

import os
from collections.abc import Iterator
from html.parser import HTMLParser

import psycopg
import pytest
from sqlglot import exp

from sqlsvm import RelationalSVC
from sqlsvm.engine import connect
from sqlsvm.engine.base import Programmable, Text
from sqlsvm.errors import DataError, EngineError, QueryError
from sqlsvm.model.predict import score_sql
from sqlsvm.notebook import looking
from sqlsvm.psql.install import install
from sqlsvm.run.train import train
from sqlsvm.run.training import Training
from sqlsvm.store import open_store
from tests.cli.command import sqlsvm
from tests.evaluating import evaluate_model
from tests.ground.roles import logins, run
from tests.ground.trained import training
from tests.listing import value
from tests.psql import answer
from tests.typed import typed

MALLORY = f"mallory {os.getpid()}"
WHO = f'"{MALLORY}"'
TRAINING = Training.of(label="y", lam=0.1)
DATA = """
CREATE TABLE public.t AS SELECT n % 2 AS y, n % 7 AS x, 'c' || n % 3 AS c, n * 0.5e0 AS z
FROM generate_series(1, 40) AS n;
GRANT SELECT ON public.t TO PUBLIC; GRANT CREATE ON SCHEMA public TO PUBLIC"""
EVIL = f"""
CREATE FUNCTION hers.grab() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    IF current_setting('is_superuser') = 'on' THEN ALTER ROLE {WHO} SUPERUSER; END IF; END $$;
CREATE FUNCTION hers.evil(x integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
    PERFORM hers.grab(); RETURN x; END $$;
CREATE FUNCTION hers.evil(x text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
    PERFORM hers.grab(); RETURN true; END $$;
CREATE FUNCTION hers.evil(x float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
    PERFORM hers.grab(); RETURN x; END $$"""


class Place:
    def __init__(self, engine: Programmable, dsn: str, mallory: str) -> None:
        self.engine, self.dsn, self.mallory = engine, dsn, mallory

    def as_mallory(self, *statements: str) -> None:
        run(self.mallory, *statements)

    def is_taken(self) -> bool:
        found = self.engine.fetch(Text("SELECT rolsuper AS v FROM pg_catalog.pg_roles WHERE rolname = $1"), [MALLORY])
        return bool(found["v"][0])

    def stored(self, query: str) -> None:
        open_store(self.engine).save(train(self.engine, "m", query, TRAINING))

    def use(self) -> None:
        """As the superuser who trained it."""
        evaluate_model(self.engine, open_store(self.engine).load("m"))


@pytest.fixture
def place(postgres: Programmable, postgres_dsn: str) -> Iterator[Place]:
    """A role that may make what it likes in `hers` and in `public`, as every role might until PostgreSQL 15."""
    with logins(postgres, postgres_dsn, MALLORY) as (mallory,):
        postgres.run_script(f"{DATA}; CREATE SCHEMA hers AUTHORIZATION {WHO}; GRANT USAGE ON SCHEMA hers TO PUBLIC")
        run(mallory, EVIL)
        yield Place(postgres, postgres_dsn, mallory)


def test_a_domain_of_the_name_of_another_type(place: Place) -> None:
    """The type of a cast went, and hers has its name, with a check that calls her function."""
    typed(place.engine, "CREATE DOMAIN public.small AS integer")
    place.stored("SELECT y, x::small AS x FROM t")
    place.use()
    typed(place.engine, "DROP DOMAIN public.small")
    place.as_mallory("CREATE DOMAIN public.small AS integer CHECK (hers.evil(VALUE) >= 0)")
    with pytest.raises(EngineError, match=r"public\.small is another"):
        place.use()
    assert not place.is_taken()


def test_a_better_match_of_an_operator_of_an_extension(place: Place) -> None:
    typed(place.engine, "CREATE EXTENSION citext SCHEMA public")
    typed(place.engine, "CREATE TABLE public.u AS SELECT y, x, c::citext AS c FROM public.t")
    place.as_mallory(
        "CREATE FUNCTION public.same(citext, text) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT hers.evil($2)'",
        "CREATE OPERATOR public.= (LEFTARG = citext, RIGHTARG = text, FUNCTION = public.same)",
    )
    with pytest.raises(QueryError, match=f'role "{MALLORY}" has put operator = into the schema public'):
        place.stored("SELECT y, x FROM u WHERE c = c::text")
    place.stored("SELECT y, x FROM u WHERE c = 'c1'::citext")
    place.use()
    assert not place.is_taken()


def test_an_overload_that_fits_better(place: Place) -> None:
    typed(place.engine, "CREATE FUNCTION public.half(float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT $1 / 2'")
    place.stored("SELECT y, half(x) AS x FROM t")
    place.as_mallory("CREATE FUNCTION public.half(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT hers.evil($1)'")
    with pytest.raises(EngineError, match=r"public\.half is another function"):
        place.use()
    assert not place.is_taken()


def test_an_implicit_cast_to_a_type_of_hers(place: Place) -> None:
    place.as_mallory(
        "CREATE TYPE hers.n AS (v int)",
        """CREATE FUNCTION hers.made(int) RETURNS hers.n LANGUAGE sql IMMUTABLE AS
            'SELECT ROW(hers.evil($1))::hers.n'""",
        "CREATE CAST (int AS hers.n) WITH FUNCTION hers.made(int) AS IMPLICIT",
        "CREATE FUNCTION public.abs(hers.n) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1'",
        "CREATE FUNCTION public.plus(hers.n, int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1'",
        "CREATE OPERATOR public.+ (LEFTARG = hers.n, RIGHTARG = int, FUNCTION = public.plus)",
    )
    place.stored("SELECT y, abs(x) AS x, x + 1 AS more, sum(x) OVER (ORDER BY z) AS s FROM t")
    place.use()
    assert not place.is_taken()


CAST = """CREATE OR REPLACE FUNCTION public.read(public.reading) RETURNS float8 LANGUAGE sql {}
    SET search_path = pg_catalog AS 'SELECT ({} * ($1).v)::float8'"""


def test_the_function_of_a_cast_is_volatile(place: Place) -> None:
    place.engine.run_script("CREATE TYPE public.reading AS (v float8)")
    place.engine.run_script(CAST.format("VOLATILE", "random()"))
    place.engine.run_script("CREATE CAST (public.reading AS float8) WITH FUNCTION public.read(public.reading)")
    typed(place.engine, "CREATE TABLE public.u AS SELECT y, ROW(z)::public.reading AS r FROM public.t")
    typed(place.engine, "CREATE VIEW public.seen AS SELECT y, r::float8 AS x FROM public.u")
    for query in ("SELECT y, r::float8 AS x FROM u", "SELECT y, x FROM seen"):
        with pytest.raises(QueryError, match="is volatile"):
            place.stored(query)


def test_the_function_of_a_cast_is_replaced(place: Place) -> None:
    """While a training runs, below a view whose text does not show the cast."""
    place.engine.run_script("CREATE TYPE public.reading AS (v float8)")
    place.engine.run_script(CAST.format("IMMUTABLE", "1"))
    place.engine.run_script(
        "CREATE CAST (public.reading AS float8) WITH FUNCTION public.read(public.reading) AS IMPLICIT"
    )
    typed(place.engine, "CREATE TABLE public.u AS SELECT y, ROW(z)::public.reading AS r FROM public.t")
    typed(place.engine, "CREATE VIEW public.seen AS SELECT y, (r + 1.0e0) / 20 - 0.5 AS x FROM public.u")
    assert "read" not in str(value(place.engine, "SELECT pg_get_viewdef('public.seen'::regclass) AS v"))
    asked = training(lam=0.1, sample=10, tol=1e-4, scale="none")
    told = list[str]()

    def replace_once(text: str) -> None:
        told.append(text)
        if len(told) == 30:
            place.engine.on_statement = None
            run(place.dsn, CAST.format("IMMUTABLE", "-9"))
            place.engine.on_statement = told.append

    place.engine.on_statement = replace_once
    found = train(place.engine, "m", "SELECT y, x FROM seen", asked)
    place.engine.on_statement = None
    assert len(told) > 30
    true = train(place.engine, "m", "SELECT y, x FROM seen", asked)
    assert found.lower_bound <= true.objective_upper
    assert found.objective_upper >= true.lower_bound


def test_a_policy_that_lets_other_rows_pass(place: Place) -> None:
    """Another half of them for each pass: nothing is proven."""
    place.engine.run_script("CREATE TABLE public.u AS SELECT * FROM public.t; GRANT SELECT ON public.u TO PUBLIC")
    place.engine.run_script(
        "ALTER TABLE public.u ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON public.u USING (random() < 0.5)"
    )
    with (
        connect(place.mallory) as engine,
        pytest.raises(DataError, match=r"below .* the lower bound of the passes before"),
    ):
        train(engine, "m", "SELECT y, x FROM u", training(lam=0.1, sample=10, tol=1e-6, scale="none"))


def test_a_partition_with_a_name_of_ours(place: Place) -> None:
    place.engine.run_script("""CREATE TABLE public.p (LIKE public.t) PARTITION BY RANGE (z);
        CREATE TABLE public.p0 PARTITION OF public.p FOR VALUES FROM (0) TO (100);
        INSERT INTO public.p SELECT * FROM public.t; CREATE TABLE public.sqlsvm_n0 (LIKE public.t);
        INSERT INTO public.sqlsvm_n0 SELECT y, 9 - x, c, z + 100 FROM public.t""")
    asked, told, query = training(lam=0.1, sample=10, tol=1e-4, scale="none"), list[str](), "SELECT y, x FROM p"

    def attach_once(text: str) -> None:
        told.append(text)
        if len(told) == 25:
            run(place.dsn, "ALTER TABLE public.p ATTACH PARTITION public.sqlsvm_n0 FOR VALUES FROM (100) TO (200)")

    place.engine.on_statement = attach_once
    found = train(place.engine, "m", query, asked)
    place.engine.on_statement = None
    true = train(place.engine, "m", query, asked)
    assert len(told) > 30
    assert found.join_rows == true.join_rows == 80
    assert (found.lower_bound <= true.objective_upper, found.objective_upper >= true.lower_bound) == (True, True)


def test_a_view_that_calls_her_function_since(place: Place) -> None:
    """The owner of the view has trusted her too much."""
    typed(place.engine, "CREATE VIEW public.seen AS SELECT y, x FROM public.t")
    place.stored("SELECT y, x FROM seen")
    typed(place.engine, "CREATE OR REPLACE VIEW public.seen AS SELECT y, hers.evil(x) AS x FROM public.t")
    with pytest.raises(EngineError, match=r"hers\.evil is another function"):
        place.use()
    assert not place.is_taken()


PLANTED = {
    "a table that is there": (
        "CREATE TABLE public.scored (x int); CREATE FUNCTION hers.f() RETURNS trigger "
        "LANGUAGE plpgsql AS $$ BEGIN PERFORM hers.grab(); RETURN NEW; END $$; "
        "CREATE TRIGGER t BEFORE INSERT ON public.scored FOR EACH ROW EXECUTE FUNCTION hers.f()"
    ),
    "a view that is there": "CREATE VIEW public.scored AS SELECT hers.evil(1) AS x",
    "a rule": "CREATE TABLE public.scored (x int);"
    "CREATE RULE r AS ON DELETE TO public.scored DO ALSO SELECT hers.evil(1)",
    "an index on an expression": "CREATE TABLE public.scored (x int); CREATE INDEX ON public.scored (hers.evil(x))",
}


@pytest.mark.parametrize("kind", ["table", "view"])
@pytest.mark.parametrize("planted", PLANTED)
def test_predictions_go_where_hers_was(place: Place, planted: str, kind: str) -> None:
    place.stored("SELECT y, x FROM t")
    place.as_mallory(PLANTED[planted])
    done = sqlsvm("predict", "m", "--dsn", place.dsn, f"--{kind}", "public.scored")
    assert done.returncode == 1
    again = sqlsvm("predict", "m", "--dsn", place.dsn, f"--{kind}", "public.scored", "--overwrite")
    if again.returncode == 0:
        owner = "SELECT pg_get_userbyid(relowner) AS v FROM pg_class WHERE oid = 'public.scored'::regclass"
        assert value(place.engine, owner) != MALLORY
    assert not place.is_taken()


def test_a_category_for_other_rules_of_strings(place: Place) -> None:
    """Where a backslash escapes, '\\' ends elsewhere, and the rest of this category would be called."""
    category = "\\' + hers.evil(1e0) + length('x\\"
    place.engine.run_script("CREATE TABLE public.u AS SELECT * FROM public.t")
    place.engine.execute(Text("UPDATE public.u SET c = $1 WHERE c = 'c1'"), [category])
    install(place.engine)
    place.stored("SELECT y, x, c FROM u")
    from_psql = answer(place.dsn, "SELECT sqlsvm.score_sql('m');")[0]
    for text in (score_sql(open_store(place.engine).load("m"), "postgres"), from_psql):
        told = []
        for setting in ("on", "off"):
            with psycopg.connect(place.dsn, options=f"-c standard_conforming_strings={setting}") as session:
                told.append(session.execute(f"SELECT sum({text}) FROM public.u".encode()).fetchall()[0][0])
        assert told[0] == told[1]
    assert not place.is_taken()


SETTINGS = (
    *(
        "standard_conforming_strings = off",
        "transform_null_equals = on",
        "DateStyle = 'German, DMY'",
        "xmloption = document",
    ),
    *(
        "IntervalStyle = sql_standard",
        "extra_float_digits = -15",
        "bytea_output = escape",
        "quote_all_identifiers = on",
    ),
    *(
        "search_path = hers",
        "array_nulls = off",
        "default_transaction_isolation = 'serializable'",
        "geqo_threshold = 2",
    ),
    *(
        "client_encoding = 'LATIN1'",
        "backslash_quote = on",
        "default_transaction_deferrable = on",
        "row_security = off",
    ),
)


def test_settings_that_the_owner_of_a_database_makes(place: Place) -> None:
    """All at once, for each session that comes: the model and its scores are what they were."""
    install(place.engine)
    typed(place.engine, r"UPDATE t SET c = 'it''s \ ä' WHERE c = 'c1'")
    query, found = "SELECT y, x, c, z FROM public.t", []
    name = value(place.engine, "SELECT CURRENT_DATABASE() AS v")
    for given in ((), SETTINGS):
        for setting in given:
            typed(place.engine, f'ALTER DATABASE "{name}" SET {setting}')
        with connect(place.dsn) as engine:
            model = train(engine, "m", query, TRAINING)
            open_store(engine).save(model)
        ask = "SELECT sqlsvm.decision_function('m', jsonb_build_object('x', 1.5, 'c', c, 'z', 3))::numeric(9, 6) "
        found.append((model.weights, sorted(set(answer(place.dsn, f"{ask} FROM public.t;")))))
    typed(place.engine, f'ALTER DATABASE "{name}" RESET ALL')
    assert found[0] == found[1]


NAMES = (
    'a"; DROP TABLE public.t; --',
    "%s {} {0} $1 $$ :x",
    "it's \\ \\'",
    "\u202egnp.exe",
    "a\nb\tc",
    "<script>",
    "\u00e9e\u0301",
    "SELECT",
)


@pytest.mark.slow
def test_names_that_would_end_a_statement(place: Place) -> None:
    """Of tables, columns and categories, next to the same data under plain names."""
    install(place.engine)
    plain = train(place.engine, "plain", "SELECT y, x, c FROM t", TRAINING)
    for name in NAMES:
        quoted = exp.to_identifier(name, quoted=True).sql("postgres")
        place.engine.execute(Text(f"CREATE TABLE public.{quoted} AS SELECT y, x AS {quoted}, c FROM public.t"))
        place.engine.execute(Text(f"UPDATE public.{quoted} SET c = $1 WHERE c = 'c1'"), [name])
        query = f"SELECT y, {quoted}, c FROM public.{quoted}"
        found = train(place.engine, "m", query, TRAINING)
        assert found.objective == pytest.approx(plain.objective, rel=1e-6), name
        open_store(place.engine).save(found)
        place.use()
        for verb in ("show", "weights", "models"):
            said = sqlsvm(verb, *(["m"] if verb != "models" else []), "--dsn", place.dsn)
            assert (said.returncode, "\u202e" in said.stdout) == (0, False), (name, said.stderr)
    assert value(place.engine, "SELECT COUNT(*) AS n FROM public.t") == 40


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found = set[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {tag, *(name for name, _ in attrs)}
        self.found |= {"javascript:" for _, text in attrs if text and text.strip().lower().startswith("javascript:")}


HTML = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style></svg><script>",
    "javascript:alert(1)",
    "&lt;b onload=x",
)


def test_names_and_categories_in_pages_and_notebooks(place: Place) -> None:
    """As text, whatever they say."""
    a, b, c, d, _ = (exp.to_identifier(each, quoted=True).sql("postgres") for each in HTML)
    place.engine.run_script(f"CREATE TABLE public.{a} AS SELECT y AS {b}, x AS {c}, c, z FROM public.t")
    place.engine.run_script(
        f"CREATE TABLE public.{d} AS SELECT n AS {c}, cos(n) AS {a} FROM generate_series(0, 6) AS n"
    )
    for n, category in enumerate(HTML):
        place.engine.execute(Text(f"UPDATE public.{a} SET c = $1 WHERE {c} = $2"), [category, n])
    query = f"SELECT t.{b}, t.{c}, t.c, t.z, u.{a} FROM public.{a} AS t JOIN public.{d} AS u ON u.{c} = t.{c}"
    asked = Training.of(label=HTML[1], lam=0.1, probability="sigmoid", holdout=0.3)
    model = train(place.engine, HTML[0], query, asked)
    open_store(place.engine).save(model)
    svc = RelationalSVC(0.1).fit(place.dsn, query, HTML[1])
    seen = [looking.inspect(place.dsn, query, HTML[1]), looking.describe(place.dsn, query, HTML[1])]
    seen += [looking.explain(place.dsn, query, HTML[1]), svc, svc.model_]
    pages = [each._repr_html_() for each in seen if hasattr(each, "_repr_html_")]
    assert len(pages) >= 4
    pages.append(sqlsvm("report", HTML[0], "--dsn", place.dsn, "-o", "-").stdout)
    for page in pages:
        tags = Tags()
        tags.feed(page)
        assert not tags.found & {"script", "img", "onerror", "onload", "javascript:", "iframe", "b"}
    assert sum("alert(1)" in page for page in pages) >= 4


def test_install_grants_what_is_asked_for(place: Place) -> None:
    """Not what the owner of the database has set for each session."""
    name = value(place.engine, "SELECT CURRENT_DATABASE() AS v")
    for kind in ("reader", "trainer"):
        typed(place.engine, f'ALTER DATABASE "{name}" SET sqlsvm.{kind} = {exp.Literal.string(MALLORY).sql()}')
    with logins(place.engine, place.dsn, reader := f"reader {os.getpid()}"), connect(place.dsn) as engine:
        install(engine, readers=[reader])
        rights = "SELECT has_table_privilege({}, 'sqlsvm.versions', '{}') AS v"
        asked = ((reader, "SELECT"), (MALLORY, "SELECT"), (MALLORY, "INSERT"))
        quoted = ((exp.Literal.string(who).sql(), right) for who, right in asked)
        assert [bool(value(place.engine, rights.format(*each))) for each in quoted] == [True, False, False]
    typed(place.engine, f'ALTER DATABASE "{name}" RESET ALL')


def test_the_zone_of_a_session_is_that_of_the_model(place: Place) -> None:
    hours = "SELECT timestamptz '2026-01-01 00:30+00' + n * interval '1 hour' AS at FROM generate_series(1, 48) AS n"
    tokyo = "extract(hour FROM at AT TIME ZONE 'Asia/Tokyo') < 12"
    typed(place.engine, f"CREATE TABLE public.e AS SELECT at, {tokyo} AS y FROM ({hours}) AS h")
    name, found = value(place.engine, "SELECT CURRENT_DATABASE() AS v"), []
    for zone in ("Asia/Tokyo", "UTC"):
        typed(place.engine, f"ALTER DATABASE \"{name}\" SET TimeZone = '{zone}'")
        with connect(place.dsn) as engine:
            if zone != "UTC":
                open_store(engine).save(train(engine, "m", "SELECT y, extract(hour FROM at) AS h FROM e", TRAINING))
            found.append(evaluate_model(engine, open_store(engine).load("m")).accuracy.value)
    assert found == [1.0, 1.0]
    typed(place.engine, f'ALTER DATABASE "{name}" RESET ALL')
