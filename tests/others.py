"""`python -m tests.others RUNS FIRST [DSN]`: what the optimizer of sqlglot makes of random queries, run on the engine.
docs/internals.md has what was found."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
from sqlglot import exp, parse_one
from sqlglot.optimizer.normalize import normalize
from sqlglot.optimizer.pushdown_predicates import pushdown_predicates
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.optimizer.unnest_subqueries import unnest_subqueries
from sqlglot.schema import MappingSchema

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.errors import EngineError
from tests.ground import selects
from tests.ground.rewriting import drawn, rows_of, text_of
from tests.typed import asked, typed

RULES: dict[str, Callable[[exp.Expr], exp.Expr]] = {
    "qualify": lambda tree: tree,
    "normalize": normalize,
    "pushdown_predicates": pushdown_predicates,
    "unnest_subqueries": unnest_subqueries,
}


SUB_QUERIES = (
    "SELECT a.k, a.x, (SELECT {} FROM b WHERE b.k = a.k{}) AS v FROM a",
    "SELECT a.k, a.x FROM a WHERE {} EXISTS (SELECT 1 FROM b WHERE b.k = a.k{})",
    "SELECT a.k, a.x FROM a WHERE a.x {} IN (SELECT b.y FROM b WHERE b.k = a.k{})",
    "SELECT a.k, a.x FROM a WHERE a.x {} IN (SELECT b.y FROM b WHERE TRUE{})",
    "SELECT a.k, a.x FROM a WHERE a.x < (SELECT {} FROM b WHERE b.k = a.k{})",
)


def check(engine: Engine, seed: int) -> list[str]:
    """What has become of the rows under each of its rules."""
    with drawn(seed).created(engine) as live:
        return list(_tried(engine, text_of(live, seed, engine.dialect)))


def check_sub_queries(engine: Engine, seed: int) -> list[str]:
    rng, found = np.random.default_rng(seed), list[str]()
    for name, columns in (("a", "k, x"), ("b", "k, y")):
        cells = ([str(v) if v < 4 else "NULL" for v in rng.integers(0, 5, 2)] for _ in range(6))
        rows = ", ".join(f"(CAST({k} AS INT), CAST({v} AS INT))" for k, v in cells)
        typed(engine, f"CREATE TABLE {name} AS SELECT * FROM (VALUES {rows}) AS t({columns})")
    for text in SUB_QUERIES:
        kinds = ("COUNT(*)", "SUM(b.y)", "COUNT(b.y)", "MAX(b.y) + 1") if "SELECT {}" in text else ("", "NOT")
        filled = text.format(str(rng.choice(kinds)), str(rng.choice(["", " AND b.y > 1", " AND b.y < a.x"])))
        found += _tried(engine, filled)
    for name in "ab":
        typed(engine, f"DROP TABLE {name}")
    return [f"sub-queries, {said}" for said in found]


def check_scopes(engine: Engine, seed: int) -> list[str]:
    """A query inside another one is valid alone iff its scope says that it reads no column from outside."""
    with selects.tables(engine, np.random.default_rng(seed)):
        tree = parse_one(selects.drawn(seed, engine.dialect), read=engine.dialect)
        made = {cte.alias for cte in tree.find_all(exp.CTE)}
        found = [s for s in traverse_scope(tree) if isinstance(s.expression, exp.Query) and not s.is_root]
        alone = [s for s in found if made.isdisjoint(t.name for t in s.expression.find_all(exp.Table))]
        return [f"scope: {_says(engine, scope)}" for scope in alone]


def _says(engine: Engine, scope: Scope) -> str:
    assert isinstance(scope.expression, exp.Query)
    try:
        engine.describe(engine.bound(scope.expression.copy()))
    except EngineError:
        return "right" if scope.external_columns else "A COLUMN FROM OUTSIDE IS MISSED"
    return "AN OUTER COLUMN THAT IS NONE" if scope.external_columns else "right"


def _tried(engine: Engine, text: str) -> Iterator[str]:
    try:
        wanted, tree = rows_of(asked(engine, text)), parse_one(text, read=engine.dialect)
    except EngineError:
        return
    home = str(asked(engine, "SELECT current_schema() AS home")["home"][0])
    try:
        schema = _schema(engine, tree, home)
        tree = qualify(tree, dialect=engine.dialect, db=home, schema=schema, validate_qualify_columns=False)
    except Exception as error:
        yield f"qualify: {type(error).__name__}"
        return
    for name, rule in RULES.items():
        try:
            made = rule(tree.copy())
            yield f"{name}: {'unchanged' if name != 'qualify' and made == tree else _same(engine, made, wanted)}"
        except Exception as error:
            yield f"{name}: {type(error).__name__}"


def _same(engine: Engine, tree: exp.Expr, wanted: object) -> str:
    try:
        return "same" if rows_of(asked(engine, tree.sql(engine.dialect))) == wanted else "OTHER ROWS"
    except EngineError:
        return "refused by the engine"


def _schema(engine: Engine, tree: exp.Expr, home: str) -> MappingSchema:
    schema, made = MappingSchema(dialect=engine.dialect), {cte.alias for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        if table.name not in made:
            bare = exp.Table(this=table.this.copy(), db=table.args.get("db"))
            columns = engine.describe(engine.bound(exp.select("*").from_(bare)))
            bare.set("db", table.args.get("db") or exp.to_identifier(home, quoted=True))
            schema.add_table(
                bare, {exp.to_identifier(c.name, quoted=True).sql(): c.type for c in columns}, engine.dialect
            )
    return schema


def main(runs: int, first: int, dsn: str = "duckdb:") -> None:
    with connect(dsn) as engine:
        seeds = range(first, first + runs)
        checks = (check, check_sub_queries, check_scopes)
        counts = Counter(said for seed in seeds for each in checks for said in each(engine, seed))
    for said, number in sorted(counts.items()):
        print(f"{number:6}  {said}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
