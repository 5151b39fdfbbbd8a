"""Lists of (key, s, c) in which every cumulative count is rounded down to a level.

c entries of a key stand at s, and the smaller s is the one that matters. With n(s) = #{<= s} of a key and F(n) the
largest level <= n, the compressed list is the one whose cumulative counts are F(n(s)): for each level that is reached,
the smallest s that reaches it, with the difference to the level before. F is looked up by sorting counts and levels
together, for there may be hundreds of levels, and a range join would compare each of them with each entry.
"""

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.plan.parameters import LEVELS

LEVELS_TABLE = "sqlsvm_levels"


def levels_statement() -> Statement:
    """SELECT f FROM UNNEST($levels): the parameter as a table."""
    items = exp.Unnest(expressions=[sql.array(LEVELS)], alias=exp.TableAlias(this="l", columns=["f"]))
    return statement("levels", sql.select([(sql.column("f"), "f")], items), LEVELS_TABLE)


def compressed(entries: exp.Select, keys: list[str]) -> exp.Select:
    """SELECT keys, s, c: a sketch of entries (keys, s, c) in which no (keys, s) occurs twice."""
    level = sql.column("level")
    before = sql.window(exp.Lag(this=level), keys, ["level"])
    c = exp.Sub(this=level.copy(), expression=sql.or_zero(before))
    columns = [(sql.column(n), n) for n in (*keys, "s")]
    return sql.select([*columns, (c, "c")], sql.derived(reached(entries, keys), "t"))


def reached(entries: exp.Select, keys: list[str]) -> exp.Select:
    """SELECT keys, level, MIN(s) AS s: for each level that a cumulative count is rounded down to, where it is first."""
    f, level = sql.column("f"), sql.column("level")
    floor = sql.window(sql.largest(f), [], ["n", "f"], running=True)
    looked_up = [*((sql.column(n), n) for n in (*keys, "s", "f")), (floor, "level")]
    floored = sql.derived(sql.select(looked_up, sql.derived(_with_levels(entries, keys), "m")), "n")
    groups = [*(sql.column(k) for k in keys), level]
    first = sql.select([*((g, g.name) for g in groups), (exp.Min(this=sql.column("s")), "s")], floored)
    found = first.where(sql.is_null(f), sql.not_null(level))
    return sql.group(found, [g.copy() for g in groups])


def _with_levels(entries: exp.Select, keys: list[str]) -> exp.Query:
    """Entries with cumulative counts n, and the levels. Of equal n the level comes first: its f is not NULL."""
    n = sql.window(sql.total(sql.column("c")), keys, ["s"], running=True)
    columns = [(sql.column(name), name) for name in (*keys, "s")]
    counts = sql.select([*columns, (n, "n"), (sql.double(exp.null()), "f")], sql.derived(entries, "e"))
    nothing = [(exp.null(), name) for name in (*keys, "s")]
    of_levels = sql.select([*nothing, (sql.column("f"), "n"), (sql.column("f"), "f")], exp.to_table(LEVELS_TABLE))
    return exp.union(counts, of_levels, distinct=False)
