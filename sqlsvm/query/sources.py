"""SELECT -> the items of its FROM, each complete in itself, so that the database can describe its columns."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.errors import QueryError
from sqlsvm.query.ir import Fold

ORIGINAL = f"{sql.WORKING}original"  # marks a sub-query that stands for an item of FROM


@dataclass(frozen=True)
class Source:
    """One item of FROM under its alias. `path` is its table name, folded: ("flights",), ("air", "flights"),
    or () for a sub-query."""

    alias: str
    path: tuple[str, ...]
    expression: exp.Expression
    """The item for a FROM clause: `flights AS "f"`; for a CTE `(WITH c AS (...) SELECT * FROM c) AS "c"`."""

    @property
    def probe(self) -> exp.Select:
        """SELECT * FROM this source. Its description gives the columns."""
        return exp.select("*").from_(self.expression.copy())


def sources(select: exp.Select, fold: Fold) -> tuple[Source, ...]:
    """The items of FROM in the order in which they are written."""
    found = tuple(source_of(item, select, fold) for item in from_items(select))
    aliases = [source.alias for source in found]
    for alias in aliases:
        if aliases.count(alias) > 1:
            hint = f"give one of them another name: AS {alias}_2"
            raise QueryError(f"two relations in FROM are called {alias}", hint=hint)
    return found


def from_items(select: exp.Select) -> list[exp.Expression]:
    first = select.args.get("from_")
    return [item.this for item in [*([first] if first else []), *(select.args.get("joins") or [])]]


def without(query: exp.Select, *clauses: str, outputs: Sequence[exp.Expr] = ()) -> exp.Select:
    """The query without some clauses, and with other outputs, if there are any."""
    made = query.copy()
    for clause in clauses:
        made.set(clause, None)
    if outputs:
        made.set("expressions", list(outputs))
    return made


def probe_of(item: exp.Subquery, select: exp.Select, fold: Fold) -> exp.Select:
    """SELECT * FROM an item that is for nothing else."""
    return exp.select("*").from_(source_of(item, select, fold, copy=False).expression, copy=False)


def source_of(item: exp.Expression, select: exp.Select, fold: Fold, *, copy: bool = True) -> Source:
    """The item with a quoted alias and the CTEs that it needs."""
    original = sql.noted(item, ORIGINAL)
    written = original if isinstance(original, exp.Expr) else item
    named = written.args["alias"].this if written.args.get("alias") else None
    parts = [written.args[key] for key in ("catalog", "db", "this") if written.args.get(key)]
    parts = [part for part in parts if not sql.noted(part, sql.IMPLIED)]
    path = () if named and isinstance(written, exp.Subquery) else tuple(_folded(part, fold) for part in parts)
    alias = _folded(named, fold) if named else path[-1]
    needed = _needed_ctes(item, select, fold)
    item = item.copy() if copy else item
    if needed is None:
        return Source(alias, path, _aliased(item, alias))
    inner = exp.select("*").from_(item, copy=False)
    inner.set("with_", needed)
    made = exp.Subquery(this=inner)
    if item._meta:
        made.meta.update(item._meta)
    return Source(alias, path, _aliased(made, alias))


def _folded(part: exp.Expr, fold: Fold) -> str:
    """The name of an identifier, or the name of a table function."""
    if isinstance(part, exp.Identifier):
        return fold(part.name, bool(part.args.get("quoted")))
    if isinstance(part, exp.Func) and not isinstance(part, exp.Anonymous):
        return fold(part.sql_name(), False)
    return fold(part.name, False)


def _aliased(item: exp.Expression, alias: str) -> exp.Expression:
    """The item with this alias. The column names of `t AS f(a, b)` stay."""
    old = item.args.get("alias")
    columns = old.args.get("columns") if old else None
    item.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True), columns=columns))
    return item


def _needed_ctes(item: exp.Expression, select: exp.Select, fold: Fold) -> exp.With | None:
    """The WITH clause with only the CTEs that `item` reads, directly or through others; None if it reads none. Scopes
    are ignored, so a CTE that a sub-query shadows may be kept although nothing reads it."""
    with_ = select.args.get("with_")
    if with_ is None:
        return None
    bodies = {_folded(cte.args["alias"].this, fold): cte for cte in with_.expressions}
    needed: set[str] = set()
    pending = _tables_read(item, fold)
    while pending := (pending & bodies.keys()) - needed:
        needed |= pending
        pending = set().union(*(_tables_read(bodies[name], fold) for name in pending))
    if not needed:
        return None
    kept = [cte.copy() for name, cte in bodies.items() if name in needed]
    return exp.With(expressions=kept, recursive=with_.args.get("recursive"))


def _tables_read(node: exp.Expression, fold: Fold) -> set[str]:
    """Names that can be CTEs: those without a schema."""
    tables = node.find_all(exp.Table)
    return {_folded(t.this, fold) for t in tables if isinstance(t.this, exp.Identifier) and not t.args.get("db")}
