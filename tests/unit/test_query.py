"""Every supported form of a feature query, and what it comes to."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from sqlglot import exp

from sqlsvm.engine.base import Column, Kind
from sqlsvm.errors import QueryError
from sqlsvm.query import Relation, feature_query, parse, sources
from sqlsvm.query.facts import probe
from sqlsvm.query.parse import sent
from sqlsvm.query.rewrites.kinds import kinds
from tests.unit.queries import Case, NoKeys, cases, columns, fold_duckdb, fold_postgres, lines, read

SUPPORTED = cases("query_supported.txt")


@pytest.mark.parametrize("case", SUPPORTED, ids=str)
def test_supported(case: Case) -> None:
    assert lines(read(case.text, case.dialect)) == case.expected


def test_the_query_of_the_design() -> None:
    query = read(
        """SELECT f.arr_delay > 15 AS late, f.distance, f.carrier, p.seats, 2013 - p.year AS age, w.temp
        FROM flights f
        JOIN planes  p USING (tailnum)
        JOIN weather w ON w.origin = f.origin AND w.time_hour = f.time_hour
        WHERE f.arr_delay IS NOT NULL""",
        label="late",
    )
    assert lines(query) == [
        "from flights AS f WHERE f.arr_delay IS NOT NULL",
        "from planes AS p",
        "from weather AS w",
        "join f.tailnum = p.tailnum",
        "join w.origin = f.origin",
        "join w.time_hour = f.time_hour",
        "feature distance of f: f.distance",
        "feature carrier of f: f.carrier",
        "feature seats of p: p.seats",
        "feature age of p: 2013 - p.year",
        "feature temp of w: w.temp",
        "label late of f: f.arr_delay > 15",
    ]


def test_using_merges_columns_under_a_star() -> None:
    query = read("SELECT * FROM t JOIN u USING (k, b)", tables={"t": ["a", "b", "k"], "u": ["k", "b", "c"]})
    assert [(f.name, f.relation) for f in query.features] == [("b", "t"), ("k", "t"), ("a", "t"), ("c", "u")]


def test_a_sub_query_may_do_what_it_likes() -> None:
    inner = (
        "SELECT DISTINCT tailnum AS k, count(*) AS n FROM flights GROUP BY 1 HAVING sum(month) > 1 ORDER BY 2 LIMIT 9"
    )
    query = read(f"SELECT s.n FROM planes p JOIN ({inner}) AS s ON s.k = p.tailnum", tables={"s": ["k", "n"]})
    assert query.relation("s").source.sql("postgres") == (
        "(SELECT DISTINCT tailnum AS k, COUNT(*) AS n FROM flights GROUP BY 1 HAVING SUM(month) > 1 ORDER BY 2 LIMIT 9)"
        ' AS "s"'
    )


def test_column_aliases_stay() -> None:
    query = read("SELECT x FROM weather AS w (x, y)", tables={"weather": ["x", "y"]})
    assert query.relation("w").source.sql("postgres") == 'weather AS "w"(x, y)'


def test_roles() -> None:
    text = 'SELECT distance, month, "year" AS "Year", dest FROM flights'
    query = read(text, label="MONTH", weight="Year", categorical=["dest"])
    assert lines(query)[1:] == [
        "feature distance of flights: flights.distance",
        "feature dest of flights: flights.dest (categorical)",
        "label month of flights: flights.month",
        "weight Year of flights: flights.year",
    ]
    assert query.text == text


def test_a_label_without_a_name_is_called_by_its_expression() -> None:
    query = read("SELECT month, arr_delay>15 FROM flights", label="arr_delay > 15")
    assert query.label is not None
    assert query.label.name == "arr_delay > 15"


EVIL = ['a"b', "semi;colon", "Ünïcode", "SELECT", "$1", "%s", "--", "/*", "it's", " ", "e" * 63, "back\\slash", "x.y"]


@pytest.mark.parametrize("name", EVIL)
def test_evil_names(name: str) -> None:
    quoted = exp.to_identifier(name, quoted=True).sql("postgres")
    text = f"SELECT {quoted}.{quoted}, {quoted}.a AS other FROM s.{quoted} JOIN u ON u.{quoted} = {quoted}.a"
    query = read(text, tables={name: [name, "a"], "u": [name]})
    assert query.relations[0].alias == name
    assert query.relations[0].source.sql("postgres") == f"s.{quoted} AS {quoted}"
    assert query.features[0].name == name
    assert query.features[0].expression.sql("postgres") == f"{quoted}.{quoted}"
    assert query.equalities[0].left.expression.sql("postgres") == f'"u".{quoted}'


def test_long_names_are_cut_as_postgresql_cuts_them() -> None:
    long = "x" * 70
    query = read(f'SELECT {long} AS "{long}" FROM {long} JOIN t AS {long[:62]} ON TRUE', tables={"x" * 63: ["x" * 63]})
    assert [r.alias for r in query.relations] == ["x" * 63, "x" * 62]
    assert query.features[0].name == "x" * 63


def test_sources() -> None:
    select = parse('WITH c AS (SELECT 1) SELECT 1 FROM Air."Flights" F, c, (SELECT 2) s', "postgres")
    found = sources(select, fold_postgres)
    assert [(s.alias, s.path) for s in found] == [("f", ("air", "Flights")), ("c", ("c",)), ("s", ())]
    assert [s.probe.sql("postgres") for s in found] == [
        'SELECT * FROM Air."Flights" AS "f"',
        'SELECT * FROM (WITH c AS (SELECT 1) SELECT * FROM c) AS "c"',
        'SELECT * FROM (SELECT 2) AS "s"',
    ]


def test_functions() -> None:
    text = "SELECT my.F(x), upper(a::varchar(3)), (SELECT g(1)) FROM (SELECT h(1), 'i(1)' FROM t WHERE a IN (1)) s"
    found = set(sent(f"SELECT a FROM ({text}) AS t", "postgres").functions(fold_postgres))
    assert {("my", "f"), ("", "upper"), ("", "g"), ("", "h")} <= found
    assert not {"i", "a", "t", "from", "in"} & {name for _, name in found}


@pytest.mark.parametrize("dialect", ["postgres", "duckdb"])
def test_a_plain_join_calls_nothing(dialect: str) -> None:
    """So the catalog is not asked for functions, which in DuckDB takes longer than most queries."""
    text = "SELECT a FROM t JOIN u USING (k) JOIN v ON (v.j = u.j) AND (v.l = u.l OR (v.l IN (1, 2))) WHERE (a > (1))"
    assert sent(text, dialect).functions(fold_postgres) == ()


class Typed(NoKeys):
    """It says of each output the type in TYPES of the column that it is made of."""

    def columns(self, relation: Relation, values: Sequence[exp.Expression]) -> tuple[Column, ...]:
        return tuple(Column(f"c{n}", *TYPES[next(e.find_all(exp.Column)).name]) for n, e in enumerate(values))


TYPES: dict[str, tuple[str, Kind]] = {
    "month": ("integer", "numeric"),
    "dest": ("text", "categorical"),
    "year": ("boolean", "boolean"),
    "seats": ("smallint", "numeric"),
    "temp": ("time with time zone", "other"),
    "lat": ("jsonb", "other"),
    "lon": ("integer[]", "other"),
    "faa": ("point", "other"),
    "engines": ("STRUCT(made DATE, ends DOUBLE[])", "other"),
}


def test_probes() -> None:
    query = read('SELECT month + 1, seats, dest AS "D" FROM flights f, planes, weather', label="seats")
    own = {a: [f.expression for f in query.outputs if f.relation == a] for a in ("f", "planes")}
    assert {alias: probe(query.relation(alias), e).sql("postgres") for alias, e in own.items()} == {
        "f": 'SELECT "f"."month" + 1 AS "c0", "f"."dest" AS "c1" FROM flights AS "f"',
        "planes": 'SELECT "planes"."seats" AS "c0" FROM planes AS "planes"',
    }


def test_kinds() -> None:
    query = read(
        "SELECT seats, f.year, month, month AS m, dest FROM flights f, planes", label="year", categorical=["m"]
    )
    kinded = kinds(query, Typed())
    assert [(f.name, f.kind) for f in kinded.features] == [
        ("seats", "numeric"),
        ("month", "numeric"),
        ("m", "categorical"),
        ("dest", "categorical"),
    ]
    assert kinded.label is not None
    assert kinded.label.kind == "boolean"
    assert kinded == replace(query, features=kinded.features, label=kinded.label)


@pytest.mark.parametrize(
    ("text", "role", "message", "hint"),
    [
        (
            "temp FROM weather",
            {},
            "feature temp is of type time with time zone",
            "turn it into a number: EXTRACT(EPOCH FROM ...)",
        ),
        (
            "temp FROM weather",
            {"label": "temp"},
            "label temp is of type time with time zone",
            "turn it into a number: EXTRACT(EPOCH FROM ...)",
        ),
        (
            "lat FROM airports",
            {"categorical": ["lat"]},
            "feature lat is of type jsonb",
            "take a field out of it and cast it: CAST(x ->> 'field' AS double precision)",
        ),
        (
            "lon FROM airports",
            {},
            "feature lon is of type integer[]",
            "take its elements out one by one: x[1] AS x1, x[2] AS x2",
        ),
        (
            "engines FROM weather",
            {},
            "feature engines is of type STRUCT(made DATE, ends DOUBLE[])",
            "take its fields out one by one: (x).city AS city",
        ),
        ("faa FROM airports", {}, "feature faa is of type point", "cast it to a number, a boolean or text"),
        ("dest FROM flights", {"weight": "dest"}, "weight dest is of type text", "a weight is a number"),
    ],
)
def test_refused_kinds(text: str, role: dict[str, str], message: str, hint: str) -> None:
    query = read(f"SELECT 1 + seats AS one, {text}, planes", **role)
    with pytest.raises(QueryError) as refused:
        kinds(query, Typed())
    assert (refused.value.message, refused.value.hint) == (message, hint)


def test_reading_leaves_the_tree_alone() -> None:
    text = "WITH c AS (SELECT 1 AS a) SELECT c.A, f.month FROM c JOIN flights f USING (a) WHERE a > 1"
    select = parse(text, "duckdb")
    before = select.sql("duckdb")
    described = {"c": columns("a"), "f": columns("a", "month")}
    items = sources(select, fold_duckdb)
    first = feature_query(text, select, items, described, fold_duckdb, dialect="duckdb")
    assert feature_query(text, select, items, described, fold_duckdb, dialect="duckdb") == first
    assert select.sql("duckdb") == before


@pytest.mark.parametrize(
    "star", ["* EXCEPT (tailnum, year)", "p.* EXCEPT (tailnum, year)", "p.* EXCLUDE (TAILNUM, year)"]
)
def test_a_star_without_some_columns_in_another_dialect(star: str) -> None:
    """Spark, as BigQuery, calls it EXCEPT."""
    assert [f.name for f in read(f"SELECT {star} FROM planes p", "spark").features] == ["seats", "engines"]
