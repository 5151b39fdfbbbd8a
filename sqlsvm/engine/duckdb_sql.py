"""Our statements as the threads of DuckDB like them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from sqlsvm import sql

Spelling = Callable[[exp.Expr], exp.Expr]

ROW = "rowid"  # the number of a row in its table, unless a column has this name
PARTS, BLOCK = 8, 2048
"""A planner takes a part for a fifth of the table. So it takes eight parts for more than the table, and makes the hash
table of a join from the other side."""


def spelled(statement: exp.Expr) -> exp.Expr:
    if not _marked(statement):
        return statement
    made = statement.copy()
    for node, spell in _marked(made):
        node.replace(spell(node))
    return made


def twice_hashed(values: Sequence[exp.Expr]) -> exp.Expression:
    """The hash of several values is a product of one, XOR the next."""
    return exp.Anonymous(this="hash", expressions=[exp.Anonymous(this="hash", expressions=list(values))])


def _marked(statement: exp.Expr) -> list[tuple[exp.Expr, Spelling]]:
    """The nodes that are spelled in another way, and how."""
    nodes = statement.find_all(exp.Table, exp.Window)
    spellings = ((n, _thinned if n.args.get("sample") else _BY_MEANING.get(sql.meaning(n))) for n in nodes)
    return [(node, spell) for node, spell in spellings if spell]


def _thinned(table: exp.Expr) -> exp.Expr:
    """Where a hash of the row's number and the seed is less than its share of 2^64. TABLESAMPLE takes no parameter, and
    with several threads its seeds do not repeat themselves."""
    sample = table.args["sample"]
    hashed = twice_hashed([exp.column(ROW), exp.cast(sample.args["seed"].copy(), exp.DType.BIGINT)])
    least = sql.product(sample.args["percent"].copy(), sql.number(2.0**64 / 100.0))
    return sql.thinned(table, sql.less(hashed, least))


def _in_parts(table: exp.Expr) -> exp.Expr:
    """A thread reads 122,880 rows of a table or all, but each part of a union has a thread of its own."""
    number = exp.IntDiv(this=exp.column(ROW), expression=sql.integer(BLOCK))
    part = exp.Mod(this=exp.paren(number), expression=sql.integer(PARTS))
    rows = exp.select("*").from_(exp.to_table(table.name))
    parts: Iterator[exp.Query] = (sql.where(rows.copy(), sql.equal(part.copy(), i)) for i in range(PARTS))
    return sql.derived(reduce(sql.union_all, parts), table.alias_or_name)


def _forwards(window: exp.Expr) -> exp.Expr:
    """From the current row to the last one of the opposite order. Another window may have that order too: then the rows
    are sorted once."""
    made = window.copy()
    for place in made.args["order"].expressions:
        place.set("desc", None)
        place.set("nulls_first", False)
    made.set("spec", exp.WindowSpec(kind="ROWS", start="CURRENT ROW", end="UNBOUNDED", end_side="FOLLOWING"))
    return made


_BY_MEANING: Mapping[object, Spelling] = {sql.SLOWLY_READ: _in_parts, sql.BACKWARDS: _forwards}


def tables_in(text: str) -> list[exp.Table]:
    """The items of all FROM clauses in a query."""
    try:
        return list(parse_one(text, read="duckdb").find_all(exp.Table))
    except SqlglotError:
        return []


def files_named(tables: Iterable[exp.Table]) -> Iterator[str]:
    """Names in FROM, which may all be files, and the texts that a function in FROM is called with. A name that the
    query computes, as in read_csv('a' || 'b'), is none of them: who reads the query must see what it opens."""
    for item in (table.this for table in tables):
        if isinstance(item, exp.Identifier):
            yield item.name
        elif isinstance(item, exp.Func):
            for given in (item.this, *item.expressions):
                values = given.expressions if isinstance(given, exp.Array) else [given]
                yield from (value.name for value in values if isinstance(value, exp.Literal) and value.is_string)
