"""Refuse queries that cannot be trained on, from the syntax alone.

The whole query must only read, and read the same rows every time: nothing in it may write, lock, sample or call a
volatile function. The outer SELECT must also be a plain join. A sub-query or CTE in FROM may use all of SQL, as long as
it returns the same rows each time it is read.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp, parse_one
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from sqlsvm.engine.base import Called
from sqlsvm.errors import QueryError
from sqlsvm.query.ir import Fold
from sqlsvm.query.known_functions import is_aggregate, is_set_returning, is_volatile
from sqlsvm.query.sources import from_items

_IN_FROM = "put it into FROM: SELECT ... FROM (SELECT ...) AS s JOIN ..."

_CLAUSES = {
    "distinct": ("removes rows of the join", "apply it to one relation in FROM: (SELECT DISTINCT ...) AS s"),
    "group": ("is not allowed", "aggregate one relation in FROM: (SELECT k, sum(v) AS v ... GROUP BY k) AS s"),
    "having": ("is not allowed", "aggregate one relation in FROM: (SELECT ... GROUP BY k HAVING ...) AS s"),
    "limit": (
        "would train on a part of the join",
        "remove it, or limit one relation in FROM: (SELECT ... ORDER BY k LIMIT 9) AS s",
    ),
    "offset": (
        "would train on a part of the join",
        "remove it, or put it into FROM: (SELECT ... ORDER BY k OFFSET 9) AS s",
    ),
    "qualify": ("is not allowed", _IN_FROM),
    "windows": ("is not allowed", _IN_FROM),
    "into": ("writes a table", "remove it: the query must only read"),
}
_PLAIN_CLAUSES = {"expressions", "from_", "joins", "where", "with_", "order"}
"""ORDER BY is allowed and ignored, because the rows of a join are a set."""

_WRITES = (exp.DML, exp.DDL, exp.Merge, exp.Command, exp.Drop, exp.Copy, exp.TruncateTable, exp.Alter)
_PARAMETERS = (exp.Placeholder, exp.Parameter, exp.SessionParameter)

_JOINS = {
    "RIGHT": "write it as a LEFT JOIN from the other side, if its key is unique; or as JOIN",
    "FULL": "use JOIN, or LEFT JOIN to a relation that is unique on the key",
    "SEMI": "join a sub-query of the distinct keys: JOIN (SELECT DISTINCT k FROM ...) AS s USING (k)",
    "ANTI": "LEFT JOIN a sub-query of the distinct keys and keep the misses: WHERE s.k IS NULL",
    "ASOF": "find the match in a sub-query in FROM, then join on equalities",
    "POSITIONAL": "number the rows in sub-queries in FROM, then join on that number",
}
_JOIN_WORDS = {"", "INNER", "CROSS", "OUTER", "LEFT", "NATURAL"}

_FILE_READERS = {"read_csv", "read_csv_auto", "read_parquet", "parquet_scan", "read_json", "read_json_auto"}


def as_typed(node: exp.Expr, dialect: str) -> str:
    """The part of the query as it was typed, except for spaces, quotes of aliases and the case of functions."""
    return node.sql(dialect=dialect, comments=False, normalize_functions="lower")


@dataclass(frozen=True)
class Fragment:
    """The part of the query to show in a message. Few are shown: the text is made when one is."""

    node: exp.Expr
    dialect: str

    def __str__(self) -> str:
        text = as_typed(self.node, self.dialect)
        return text if len(text) <= 100 else f"{text[:97]}..."


def check(select: exp.Select, dialect: str) -> None:
    """Raise QueryError for the first problem."""
    _only_reads(select, dialect)
    _plain_clauses(select, dialect)
    for item in from_items(select):
        _plain_item(item, dialect)
    for join in select.args.get("joins") or []:
        _plain_join(join, dialect)
    for root in _outer_expressions(select):
        _plain_expression(root, dialect)
    _same_rows(select, dialect)


def functions(select: exp.Select, dialect: str, fold: Fold) -> tuple[Called, ...]:
    """All functions that the query calls: all names before a parenthesis in the text that is sent. Some of them may be
    types or keywords; none is missing."""
    return functions_in(select.sql(dialect=dialect), dialect, fold)


def functions_in(text: str, dialect: str, fold: Fold) -> tuple[Called, ...]:
    return tuple(sorted({(fold(*schema), fold(*name)) for schema, name in _called(text, dialect)}))


_RESERVED = {
    TokenType.USING,
    TokenType.ON,
    TokenType.AND,
    TokenType.OR,
    TokenType.NOT,
    TokenType.IN,
    TokenType.ALIAS,
    TokenType.FROM,
    TokenType.WHERE,
}
"""Words that often stand before a parenthesis and name no function. To ask for functions takes longer than most queries
of a catalog."""

Word = tuple[str, bool]
"""A name, and whether it is quoted."""


def _called(text: str, dialect: str) -> Iterator[tuple[Word, Word]]:
    """Schema and name; an empty schema if none is written."""
    tokens = [None, None, *Dialect.get_or_raise(dialect).tokenize(text)]
    for owner, dot, token, following in zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False):
        assert token
        assert following
        quoted = token.token_type is TokenType.IDENTIFIER
        is_word = quoted or (token.token_type not in _RESERVED and token.text.replace("_", "a").isalnum())
        if following.token_type is TokenType.L_PAREN and is_word and token.token_type is not TokenType.STRING:
            is_dotted = owner is not None and dot is not None and dot.token_type is TokenType.DOT
            schema = (owner.text, owner.token_type is TokenType.IDENTIFIER) if owner and is_dotted else ("", False)
            yield schema, (token.text, quoted)


def _only_reads(select: exp.Select, dialect: str) -> None:
    for node in select.walk():
        if isinstance(node, _WRITES):
            raise QueryError(f"the query must only read: {Fragment(node, dialect)}", hint="put a SELECT in its place")
        if isinstance(node, exp.Lock):
            raise QueryError("FOR UPDATE and FOR SHARE lock rows", hint="remove it: the query must only read")
        if isinstance(node, _PARAMETERS):
            hint = "write abs(...) for @" if isinstance(node.this, exp.Paren) else "write the value itself"
            raise QueryError(f"{Fragment(node, dialect)} is a parameter without a value", hint=hint)
    _reads_the_same(select, select.sql(dialect=dialect), dialect)


def _reads_the_same(query: exp.Query, text: str, dialect: str) -> None:
    if query.find(exp.TableSample):
        raise QueryError("TABLESAMPLE and USING SAMPLE read other rows every time", hint="remove it")
    for _, (name, _) in _called(text, dialect):
        if is_volatile(name):
            raise QueryError(
                f"{name.lower()}() is volatile: it changes something, or differs from call to call",
                hint="store what it returns in a column, and select the column",
            )


def check_view(text: str, dialect: str) -> None:
    """Check a view like a sub-query in FROM. A text that sqlglot cannot read is accepted."""
    try:
        tree = parse_one(text, read=dialect)
    except SqlglotError:
        return
    query = tree.expression if isinstance(tree, exp.Create) else tree
    if not isinstance(query, exp.Query):
        return
    try:
        _reads_the_same(query, text, dialect)
        _same_rows(exp.select("*").from_(query.subquery("v")), dialect)
    except QueryError as error:
        raise QueryError(f"in a view that the query reads: {error.message}", hint=error.hint) from error


def _plain_clauses(select: exp.Select, dialect: str) -> None:
    for clause, value in select.args.items():
        if value and clause not in _PLAIN_CLAUSES:
            is_node = isinstance(value, exp.Expr)
            shown = str(Fragment(value, dialect)).strip() if is_node else clause.upper().removesuffix("S")
            fact, hint = _CLAUSES.get(clause, ("is not allowed", None))
            raise QueryError(f"{shown} {fact}", hint=hint)
    if not select.args.get("from_"):
        raise QueryError("the query has no FROM", hint="name the tables: SELECT ... FROM t JOIN u USING (k)")


def _plain_item(item: exp.Expression, dialect: str) -> None:
    """An item of FROM must be a table, a file reader of DuckDB, or a sub-query with a name."""
    shown = Fragment(item, dialect)
    if isinstance(item, exp.Subquery) and isinstance(item.this, exp.Query) and not isinstance(item.this, exp.Subquery):
        if not item.args.get("alias"):
            raise QueryError(f"a sub-query in FROM has no name: {shown}", hint="give it one: (SELECT ...) AS s")
        extra = {"this", "alias"}
    elif isinstance(item, exp.Table) and _is_readable(item.this):
        extra = {"this", "db", "catalog", "alias", "only"}
    else:
        raise QueryError(f"not a table or sub-query: {shown}", hint=_item_hint(item))
    if item.args.get("joins"):
        raise QueryError(f"joins are nested: {shown}", hint="write one JOIN ... ON ... after the other")
    if any(value for key, value in item.args.items() if key not in extra):
        raise QueryError(
            f"not a plain table or sub-query: {shown}", hint="do that inside a sub-query: (SELECT ...) AS s"
        )


def _is_readable(name: object) -> bool:
    if isinstance(name, exp.Identifier):
        return True
    reads = name.name if isinstance(name, exp.Anonymous) else ""
    return isinstance(name, exp.ReadCSV | exp.ReadParquet) or reads.lower() in _FILE_READERS


def _item_hint(item: exp.Expression) -> str:
    if isinstance(item, exp.Lateral):
        return "join on equalities instead of LATERAL"
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
            raise QueryError(f"{word} JOIN is not supported: {shown}", hint=_JOINS.get(word))
    is_left, is_natural = words[1] == "LEFT", words[0] == "NATURAL"
    if is_left and not (is_natural or join.args.get("using") or join.args.get("on")):
        raise QueryError(f"LEFT JOIN without a condition: {shown}", hint="say on which keys: ON a.k = b.k")


def _outer_expressions(select: exp.Select) -> Iterator[exp.Expression]:
    yield from select.expressions
    if select.args.get("where"):
        yield select.args["where"].this
    yield from (join.args["on"] for join in select.args.get("joins") or [] if join.args.get("on"))


def _plain_expression(root: exp.Expression, dialect: str) -> None:
    shown = Fragment(root, dialect)
    for node in root.walk():
        if isinstance(node, exp.Query | exp.Exists):
            raise QueryError(f"a sub-query is not allowed here: {shown}", hint=_IN_FROM)
        if isinstance(node, exp.Window):
            raise QueryError(f"a window function is not allowed: {shown}", hint=_IN_FROM)
        if is_aggregate(node):
            raise QueryError(
                f"an aggregate is not allowed: {shown}",
                hint="aggregate in FROM: (SELECT k, sum(v) AS v ... GROUP BY k) AS s",
            )
        if is_set_returning(node):
            raise QueryError(f"a function that returns several rows is not allowed: {shown}", hint=_IN_FROM)
        if isinstance(node, exp.Columns | exp.PositionalColumn):
            raise QueryError(f"columns must be named: {shown}", hint="write the names of the columns")


def _same_rows(select: exp.Select, dialect: str) -> None:
    """A sub-query in FROM is read several times (for its categories, its NULLs, its copy), so it must return the same
    rows each time. For EXISTS it does not matter which rows are found."""
    for query in select.find_all(exp.Query):
        clause = _picks(query)
        if clause and query is not select and not query.args.get("order") and not isinstance(query.parent, exp.Exists):
            shown = str(Fragment(clause, dialect)).strip()
            raise QueryError(
                f"{shown} without ORDER BY may keep other rows each time it is read: {Fragment(query, dialect)}",
                hint="add ORDER BY with a unique column at its end, or keep the rows in a table first: "
                "CREATE TABLE few AS SELECT ...",
            )


def _picks(query: exp.Query) -> exp.Expr | None:
    """The clause by which a query keeps only some rows: LIMIT, FETCH, OFFSET or DISTINCT ON. OFFSET 0 is not one:
    people write it so that a planner does not inline the sub-query."""
    for name in ("limit", "offset", "distinct"):
        clause = query.args.get(name)
        if isinstance(clause, exp.Distinct) and clause.args.get("on"):
            return clause
        if isinstance(clause, exp.Limit | exp.Offset | exp.Fetch):
            number = clause.args.get("expression") or clause.args.get("count")
            if number is None or number.name.upper() not in ("0", "ALL"):
                return clause
    return None
