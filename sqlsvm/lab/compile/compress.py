"""Lists of (key, s, c) whose cumulative counts are rounded down to levels.

c entries of a key stand at s, and the smaller s is the one that matters. With n(s) = #{<= s} of a key and F(n) the
largest level <= n, the compressed list is the one whose cumulative counts are F(n(s)): for each level that is reached,
the smallest s that reaches it, with the difference to the level before. To look up F, counts and levels are sorted
together: there may be hundreds of levels, and a range join would compare each of them with each entry.
"""

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.plan.parameters import LEVELS

LEVELS_TABLE = "sqlsvm_levels"


def levels_statement() -> Statement:
    """SELECT f FROM UNNEST($levels): the parameter as a table."""
    return statement(
        "levels", sql.select([(sql.column("f"), "f")], sql.items(sql.array(LEVELS), "l", "f")), LEVELS_TABLE
    )


def compressed(entries: exp.Select, keys: list[str]) -> exp.Select:
    """SELECT keys, s, c: a sketch of entries (keys, s, c) in which no (keys, s) occurs twice."""
    level = sql.column("level")
    before = sql.window(exp.Lag(this=level), keys, ["level"])
    c = (sql.minus(level, sql.or_zero(before)), "c")
    return sql.select([*sql.columns([*keys, "s"]), c], sql.derived(reached(entries, keys), "t"))


def reached(entries: exp.Select, keys: list[str]) -> exp.Select:
    """SELECT keys, level, MIN(s) AS s: for each level that a cumulative count is rounded down to, where it is first."""
    f, first = sql.column("f"), sql.smallest("s")
    floor = sql.window(sql.largest(f), [], ["n", "f"], running=True)
    looked_up = [*sql.columns([*keys, "s", "f"]), (floor, "level")]
    floored = sql.select(looked_up, sql.derived(_with_levels(entries, keys), "m"))
    found = sql.grouped(sql.columns([*keys, "level"]), [(first, "s")], sql.derived(floored, "n"))
    return sql.where(found, sql.is_null(f), sql.not_null(sql.column("level")))


def _with_levels(entries: exp.Select, keys: list[str]) -> exp.Query:
    """Entries with cumulative counts n, and the levels. Of equal n the level comes first: its f is not NULL."""
    n = sql.window(sql.total("c"), keys, ["s"], running=True)
    own = [*sql.columns([*keys, "s"]), (n, "n"), (sql.double(exp.null()), "f")]
    of_levels = [*((exp.null(), name) for name in (*keys, "s")), (sql.column("f"), "n"), (sql.column("f"), "f")]
    return sql.union_all(sql.select(own, sql.derived(entries, "e")), sql.select(of_levels, sql.table(LEVELS_TABLE)))
