"""The forms of a query that can be taken apart: a plain join of tables and sub-queries. Of any other form the database
makes the rows once (query/forms.py); a FormError says why, and its hint what can be written instead.

A query that cannot be taken apart -> SELECT * FROM the whole of it, which the database makes once.

SELECT u.churned, COUNT(*) FROM users u JOIN visits v USING (id) GROUP BY u.id, u.churned
SELECT * FROM (SELECT u.churned, COUNT(*) FROM ... GROUP BY ...) AS "result"("churned", "count(*)")
"""

from collections.abc import Iterable, Iterator

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.languages import LANGUAGES
from sqlsvm.errors import FormError
from sqlsvm.query.guards import Fragment, as_typed, is_aggregate, is_set_returning, varying
from sqlsvm.query.ir import MADE, FeatureQuery, Once
from sqlsvm.query.names import distinct
from sqlsvm.query.sources import from_items

ONE_SELECT = "give one SELECT ... FROM ... that returns the features and the label"
IN_FROM = "put it into FROM: SELECT ... FROM (SELECT ...) AS s JOIN ..."

FIRST = "(SELECT v.x FROM v WHERE v.k = t.k ORDER BY v.day DESC LIMIT 1) AS x"  # the first row in an order, as a value
_GROUP = "group one relation in FROM: (SELECT k, sum(v) AS v ... GROUP BY k) AS s"
_CLAUSES = {
    "distinct": ("removes rows", "apply it to one relation in FROM: (SELECT DISTINCT ...) AS s"),
    "group": ("groups rows", _GROUP),
    "having": ("leaves out groups", _GROUP),
    "limit": ("keeps some of the rows", "limit one relation in FROM: (SELECT ... ORDER BY k LIMIT 9) AS s"),
    "offset": ("keeps some of the rows", "put it into FROM: (SELECT ... ORDER BY k OFFSET 9) AS s"),
    "qualify": ("needs all rows", IN_FROM),
    "windows": ("needs all rows", IN_FROM),
}
_PLAIN_CLAUSES = {"expressions", "from_", "joins", "where", "with_", "order"}  # the rows of a join are a set
_JOINS = {
    "RIGHT": "write it as a LEFT JOIN from the other side; or as JOIN",
    "FULL": "use JOIN, or LEFT JOIN",
    "SEMI": "join a sub-query of the distinct keys: JOIN (SELECT DISTINCT k FROM ...) AS s USING (k)",
    "ANTI": "LEFT JOIN a sub-query of the distinct keys and keep the misses: WHERE s.k IS NULL",
    "ASOF": f"write each column as a sub-query: {FIRST}",
    "POSITIONAL": "number the rows in sub-queries in FROM, then join on that number",
}
_JOIN_WORDS = {"", "INNER", "CROSS", "OUTER", "LEFT", "NATURAL"}

_FILE_READERS = {"read_csv", "read_csv_auto", "read_parquet", "parquet_scan", "read_json", "read_json_auto"}


def check_form(query: exp.Query, dialect: str) -> exp.Select:
    """The query, if it is a plain join; a FormError for the first part that is none."""
    if isinstance(query, exp.SetOperation):
        word = type(query).__name__.upper() + ("" if query.args.get("distinct") else " ALL")
        hint = f"put it into FROM: SELECT ... FROM (SELECT ... {word} SELECT ...) AS u"
        raise FormError(f"{word} combines SELECTs", hint=hint)
    if not isinstance(query, exp.Select):
        raise FormError(f"not a plain SELECT: {Fragment(query, dialect)}", hint=ONE_SELECT)
    _plain_clauses(query, dialect)
    for item in from_items(query):
        _plain_item(item, dialect)
    for join in query.args.get("joins") or []:
        _plain_join(join, dialect)
    for root in outer_expressions(query):
        _plain_expression(root, dialect)
    return query


def _plain_clauses(select: exp.Select, dialect: str) -> None:
    for clause, value in select.args.items():
        if value and clause not in _PLAIN_CLAUSES:
            is_node = isinstance(value, exp.Expr)
            shown = str(Fragment(value, dialect)).strip() if is_node else clause.upper().removesuffix("S")
            fact, hint = _CLAUSES.get(clause, ("is no part of a plain join", None))
            raise FormError(f"{shown} {fact}", hint=hint)
    if not select.args.get("from_"):
        raise FormError("the query has no FROM", hint="name the tables: SELECT ... FROM t JOIN u USING (k)")


def _plain_item(item: exp.Expression, dialect: str) -> None:
    """An item of FROM must be a table, a file reader of DuckDB, or a sub-query with a name."""
    shown = Fragment(item, dialect)
    if isinstance(item, exp.Subquery) and isinstance(item.this, exp.Query) and not isinstance(item.this, exp.Subquery):
        if not item.args.get("alias"):
            raise FormError(f"a sub-query in FROM has no name: {shown}", hint="give it one: (SELECT ...) AS s")
        extra = {"this", "alias"}
    elif isinstance(item, exp.Table) and _is_readable(item.this):
        extra = {"this", "db", "catalog", "alias", "only"}
    else:
        raise FormError(f"not a table or sub-query: {shown}", hint=_item_hint(item))
    if item.args.get("joins"):
        raise FormError(f"joins are nested: {shown}", hint="write one JOIN ... ON ... after the other")
    if any(value for key, value in item.args.items() if key not in extra):
        hint = "do that inside a sub-query: (SELECT ...) AS s"
        raise FormError(f"not a plain table or sub-query: {shown}", hint=hint)


def _is_readable(name: object) -> bool:
    if isinstance(name, exp.Identifier):
        return True
    reads = name.name if isinstance(name, exp.Anonymous) else ""
    return isinstance(name, exp.ReadCSV | exp.ReadParquet) or reads.lower() in _FILE_READERS


def _item_hint(item: exp.Expression) -> str:
    if isinstance(item, exp.Lateral):
        return f"join on equalities instead; or write each column as a sub-query: {FIRST}"
    if isinstance(item, exp.Subquery | exp.Paren):
        return "write one JOIN ... ON ... after the other, without parentheses"
    if isinstance(item, exp.Values):
        return "put the rows into a table"
    return "put what it returns into a table or a sub-query: (SELECT * FROM ...) AS s"


def _plain_join(join: exp.Join, dialect: str) -> None:
    words = [str(join.args.get(key) or "").upper() for key in ("method", "side", "kind")]
    shown = Fragment(join, dialect)
    for word in sorted(words, key=lambda w: w == "LEFT"):
        if word not in _JOIN_WORDS:
            raise FormError(f"{word} JOIN is no plain join: {shown}", hint=_JOINS.get(word))
    is_left, is_natural = words[1] == "LEFT", words[0] == "NATURAL"
    if is_left and not (is_natural or join.args.get("using") or join.args.get("on")):
        raise FormError(f"LEFT JOIN without a condition: {shown}", hint="say on which keys: ON a.k = b.k")


def outer_expressions(select: exp.Select) -> Iterator[exp.Expression]:
    """Where a sub-query, an aggregate or a window may be."""
    yield from (item for item in select.expressions if not isinstance(item, exp.Column))
    if select.args.get("where"):
        yield select.args["where"].this
    yield from (join.args["on"] for join in select.args.get("joins") or [] if join.args.get("on"))


def _plain_expression(root: exp.Expression, dialect: str) -> None:
    """What a sub-query in it has is of no interest."""
    shown = Fragment(root, dialect)
    for node in root.walk(prune=lambda n: isinstance(n, exp.Query)):
        if isinstance(node, exp.Window):
            raise FormError(f"a window function needs all rows: {shown}", hint=IN_FROM)
        if is_aggregate(node):
            raise FormError(f"an aggregate is over several rows: {shown}", hint=_GROUP)
        if is_set_returning(node):
            raise FormError(f"a function returns several rows: {shown}", hint=IN_FROM)
        if isinstance(node, exp.Columns | exp.PositionalColumn):
            raise FormError(f"columns must be named: {shown}", hint="write the names of the columns")


def part(item: exp.Expression, dialect: str) -> Once | None:
    """Why the rows of an item of FROM are made once; None if it is a table, or a plain sub-query."""
    if isinstance(known := sql.noted(item, MADE), Once):
        return known
    for query in item.find_all(exp.Select, exp.SetOperation):
        try:
            for root in outer_expressions(check_form(query, dialect)):
                if root.find(exp.Query, exp.Exists):
                    raise FormError(f"a sub-query computes a value: {Fragment(root, dialect)}")
        except FormError as error:
            return Once(error.message, error.hint, varying(item, dialect))
    return None


RESULT = "result"
RESULT_ROWS = "rows of the query"  # so a note calls them


def whole(query: exp.Query, because: FormError, dialect: str) -> exp.Select:
    once = Once(because.message, because.hint, varying(query, dialect))
    alias = exp.TableAlias(this=exp.to_identifier(RESULT), columns=_names(query, dialect))
    made = exp.Subquery(this=query, alias=alias)
    made.meta[MADE] = once
    return exp.select("*").from_(made, copy=False)


def check_steady(query: FeatureQuery) -> None:
    """Where a part is not made once, it is read several times."""
    for relation in query.relations:
        if relation.once and relation.once.varying:
            raise relation.once.varying


def _names(query: exp.Query, dialect: str) -> list[exp.Identifier]:
    """Those that the outputs of a query have that is taken apart; none if a star has them."""
    found = [_name(item, dialect) for item in query.selects]
    names = [name.name for name in found if name is not None]
    same = str if LANGUAGES[dialect].lowers else str.lower
    return named(distinct(names, same)) if len(names) == len(found) else []


def named(names: Iterable[str]) -> list[exp.Identifier]:
    return [exp.to_identifier(name, quoted=True) for name in names]


def _name(item: exp.Expr, dialect: str) -> exp.Identifier | None:
    """The alias; else the name of the column, also inside a cast; else the expression as SQL."""
    if item.is_star or isinstance(item, exp.Columns):
        return None
    if isinstance(item, exp.Alias | exp.Aliases):
        alias = item.args.get("alias")
        return _meant(alias, dialect) if isinstance(alias, exp.Identifier) else None
    inner = item
    while isinstance(inner, exp.Cast | exp.Paren):
        inner = inner.this
    if isinstance(inner, exp.Column) and isinstance(inner.this, exp.Identifier):
        return _meant(inner.this, dialect)
    return exp.to_identifier(as_typed(item, dialect), quoted=True)


def _meant(name: exp.Identifier, dialect: str) -> exp.Identifier:
    """Quoted: a name after AS may be a word that is reserved elsewhere."""
    lowers = LANGUAGES[dialect].lowers and not name.args.get("quoted")
    spelled = "".join(c.lower() if lowers and c.isascii() else c for c in name.name)
    return exp.to_identifier(spelled, quoted=True)
