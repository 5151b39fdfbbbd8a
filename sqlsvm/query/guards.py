"""Refuse queries that cannot be trained on, from the syntax alone.

The whole query must only read, and read the same rows every time: nothing in it may write, lock, sample or call a
volatile function. What it may look like otherwise is said in query/forms.py.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from sqlglot import exp, parse_one
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from sqlsvm.engine.base import Called
from sqlsvm.errors import QueryError
from sqlsvm.query.ir import Fold

_VOLATILE = (
    # another value at every call
    "rand*", "setseed", "uuid", "uuidv*", "uuid_generate_*", "gen_random_*", "clock_timestamp", "timeofday",
    "nextval", "currval", "lastval", "statement_timestamp", "txid_*", "pg_current_*", "pg_stat_*", "get_current_time*",
    # a change in the database, or of the session
    "setval", "set_config", "lo_*", "lowrite", "loread", "pg_notify", "pg_advisory_*", "pg_try_advisory_*",
    "pg_cancel_*", "pg_terminate_*", "pg_reload_*", "pg_rotate_*", "pg_logical_*", "pg_replication_*",
    "pg_create_*", "pg_drop_*", "pg_switch_*", "pg_import_*", "pg_export_*", "pg_prewarm", "pg_backup_*",
    "pg_promote", "pg_wal_*", "query_to_xml*", "cursor_to_xml*", "table_to_xml*", "schema_to_xml*", "database_to_xml*",
    # the world outside
    "pg_sleep*", "pg_read_*", "pg_ls_*", "pg_stat_file", "pg_file_*", "dblink*", "getenv", "getvariable", "http_*",
    "query", "query_table", "write_log",
)  # fmt: skip

_SET_RETURNING = {
    "regexp_matches", "regexp_split_to_table", "string_to_table", "generate_subscripts", "json_array_elements",
    "json_array_elements_text", "json_each", "json_each_text", "json_object_keys", "jsonb_array_elements",
    "jsonb_array_elements_text", "jsonb_each", "jsonb_each_text", "jsonb_object_keys", "jsonb_path_query",
    "json_populate_recordset", "jsonb_populate_recordset", "unnest", "generate_series", "aclexplode",
}  # fmt: skip

_AGGREGATES = {
    "every", "json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg", "json_agg_strict", "jsonb_agg_strict",
    "json_arrayagg", "xmlagg", "range_agg", "range_intersect_agg", "histogram", "histogram_exact", "entropy", "fsum",
    "kahan_sum", "sumkahan", "favg", "mad", "sem", "product", "geomean", "geometric_mean", "reservoir_quantile",
    "arbitrary", "json_group_array", "json_group_object", "json_group_structure", "bitstring_agg", "map_agg",
}  # fmt: skip


def is_volatile(name: str) -> bool:
    return any(fnmatchcase(name.lower(), pattern) for pattern in _VOLATILE)


def is_aggregate(node: exp.Expr) -> bool:
    return isinstance(node, exp.AggFunc) or (isinstance(node, exp.Anonymous) and node.name.lower() in _AGGREGATES)


def is_set_returning(node: exp.Expr) -> bool:
    if isinstance(node, exp.UDTF | exp.Explode | exp.ExplodingGenerateSeries):
        return True
    return isinstance(node, exp.Anonymous) and node.name.lower() in _SET_RETURNING


def groups_rows(select: exp.Select) -> bool:
    return bool(select.args.get("group")) or any(node.find(exp.AggFunc) for node in select.expressions)


_WRITES = (exp.DML, exp.DDL, exp.Merge, exp.Command, exp.Drop, exp.Copy, exp.TruncateTable, exp.Alter)
_OPERATORS = re.compile(r'OPERATOR\((?:"([^"]+)"|(\w+))\.([-+*/<>=~!@#%^&|`?]+)\)')
_PARAMETERS = (exp.Placeholder, exp.Parameter, exp.SessionParameter)


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


@dataclass(frozen=True)
class Sent:
    """The text of a query as it is sent, and its tokens."""

    text: str
    tokens: Sequence[Token]

    @classmethod
    def of(cls, query: exp.Query | str, dialect: str) -> "Sent":
        text = query if isinstance(query, str) else query.sql(dialect=dialect)
        return cls(text, Dialect.get_or_raise(dialect).tokenize(text))

    def functions(self, fold: Fold) -> tuple[Called, ...]:
        """All names before a parenthesis. Some of them may be types or keywords; none that is called is missing. With
        the operators and types of a schema, which stand for functions: OPERATOR("public".=), ::public.mood"""
        operators = {(quoted or fold(plain, False), symbol) for quoted, plain, symbol in _OPERATORS.findall(self.text)}
        called = (*_called(self.tokens), *_cast_to(self.tokens))
        return tuple(sorted({(fold(*schema), fold(*name)) for schema, name in called} | operators))


_RESERVED = {TokenType[name] for name in ("USING", "ON", "AND", "OR", "NOT", "IN", "ALIAS", "FROM", "WHERE")}
"""Words that often stand before a parenthesis and name no function. To ask for functions takes longer than most queries
of a catalog."""

Word = tuple[str, bool]  # A name, and whether it is quoted


def _called(tokens: Sequence[Token]) -> Iterator[tuple[Word, Word]]:
    """Schema and name; an empty schema if none is written."""
    for owner, dot, token, following in zip([None, None, *tokens], [None, *tokens], tokens, tokens[1:], strict=False):
        quoted = token.token_type is TokenType.IDENTIFIER
        is_word = quoted or (token.token_type not in _RESERVED and token.text.replace("_", "a").isalnum())
        if following.token_type is TokenType.L_PAREN and is_word and token.token_type is not TokenType.STRING:
            is_dotted = owner is not None and dot is not None and dot.token_type is TokenType.DOT
            yield _word(owner) if owner and is_dotted else ("", False), (token.text, quoted)


def _cast_to(tokens: Sequence[Token]) -> Iterator[tuple[Word, Word]]:
    """The types of a schema: no name that is given with AS has a dot."""
    for to, schema, dot, name in zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False):
        if to.token_type in (TokenType.ALIAS, TokenType.DCOLON) and dot.token_type is TokenType.DOT:
            yield _word(schema), _word(name)


def _word(token: Token) -> Word:
    return token.text, token.token_type is TokenType.IDENTIFIER


def check_reads(query: exp.Query, sent: Sequence[Token], dialect: str) -> None:
    """Raise QueryError for the first part that does more than read, or may read other rows the next time. `sent`: the
    tokens of the query."""
    for node in query.walk():
        if isinstance(node, _WRITES):
            raise QueryError(f"the query must only read: {Fragment(node, dialect)}", hint="put a SELECT in its place")
        if isinstance(node, exp.Into):
            said = f"{Fragment(node, dialect)} writes a table".strip()
            raise QueryError(said, hint="remove it: the query must only read")
        if isinstance(node, exp.Lock):
            raise QueryError("FOR UPDATE and FOR SHARE lock rows", hint="remove it: the query must only read")
        if isinstance(node, _PARAMETERS):
            hint = "write abs(...) for @" if isinstance(node.this, exp.Paren) else "write the value itself"
            raise QueryError(f"{Fragment(node, dialect)} is a parameter without a value", hint=hint)
    _reads_the_same(query, sent)


def _reads_the_same(query: exp.Query, sent: Sequence[Token]) -> None:
    if query.find(exp.TableSample):
        raise QueryError("TABLESAMPLE and USING SAMPLE read other rows every time", hint="remove it")
    for _, (name, _) in _called(sent):
        if is_volatile(name):
            said = f"{name.lower()}() is volatile: it changes something, or differs from call to call"
            raise QueryError(said, hint="store what it returns in a column, and select the column")


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
        _reads_the_same(query, Sent.of(text, dialect).tokens)
        if refusal := _other_rows(query, dialect):
            raise refusal
    except QueryError as error:
        raise QueryError(f"in a view that the query reads: {error.message}", hint=error.hint) from error


PLACED = (exp.RowNumber, exp.Ntile, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue)
"""Window functions whose value depends on the place of a row."""


_FIRST_SEEN = (exp.AnyValue, exp.First, exp.Last, exp.ArrayAgg, exp.GroupConcat, exp.ArgMax, exp.ArgMin)
"""Aggregates whose value depends on the order of the rows, or on which of them is seen first."""
_FIRST_SEEN_NAMES = {
    "arbitrary", "json_agg", "jsonb_agg", "json_object_agg", "xmlagg", "json_group_array", "json_group_object",
}  # fmt: skip


def _by_order(tree: exp.Expr) -> exp.Expr | None:
    """The first aggregate that depends on an order that it does not say."""
    for node in tree.find_all(*_FIRST_SEEN, exp.Anonymous):
        is_known = not isinstance(node, exp.Anonymous) or node.name.lower() in _FIRST_SEEN_NAMES
        over = node.parent if not isinstance(node.parent, exp.IgnoreNulls) else node.parent.parent
        if is_known and not isinstance(over, exp.Window | exp.WithinGroup) and not node.find(exp.Order):
            return node
    return None


def varying(tree: exp.Expr, dialect: str) -> QueryError | None:
    """The error about a query in this tree that may return other rows each time it is read."""
    if node := _by_order(tree):
        said = f"{Fragment(node, dialect)} may have another value each time it is read"
        return QueryError(said, hint="give it ORDER BY with a unique column at its end, or take MIN or MAX")
    return _other_rows(tree, dialect)


def _other_rows(tree: exp.Expr, dialect: str) -> QueryError | None:
    """For EXISTS it does not matter which rows are found."""
    for window in tree.find_all(exp.Window):
        if window.find(*PLACED) and not (window.args.get("order") or window.args.get("alias")):
            said = f"rows may have another place each time they are read: {Fragment(window, dialect)}"
            return QueryError(said, hint="add ORDER BY with a unique column at its end: OVER (ORDER BY k)")
    for query in tree.find_all(exp.Query):
        clause = _picks(query)
        if clause and not query.args.get("order") and not isinstance(query.parent, exp.Exists):
            shown = str(Fragment(clause, dialect)).strip()
            return QueryError(
                f"{shown} without ORDER BY may keep other rows each time it is read: {Fragment(query, dialect)}",
                hint="add ORDER BY with a unique column at its end, or keep the rows in a table first: "
                "CREATE TABLE few AS SELECT ...",
            )
    return None


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
