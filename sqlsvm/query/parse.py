"""Text -> one SELECT, or a QueryError that names the place."""

import re
from collections.abc import Sequence
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from sqlsvm import sql
from sqlsvm.engine.languages import LANGUAGES
from sqlsvm.errors import FormError, QueryError
from sqlsvm.query.forms import ONE_SELECT, check_form, whole
from sqlsvm.query.guards import Fragment, Sent, check_reads
from sqlsvm.query.ir import Fold
from sqlsvm.query.names import meant
from sqlsvm.query.outputs import AUDITED, HINT, check_features
from sqlsvm.query.sources import from_items

MOST_TABLES = 2_000  # so many have been planned for (bench/experiments/many.py)
_OTHERS = 100  # columns that may be label, weight, or what scores are compared with. How many are is not known yet.
_FILE = re.compile(r"([^/\\.]+)(\.[^/\\]*)?\.(csv|tsv|parquet|json|jsonl|ndjson)(\.(gz|zst))?$", re.IGNORECASE)
_SIGNED = re.compile(r"\d[eE]\d+[-+]")  # sqlglot reads 1e3+2 as one number
_CALLED = "start"  # sqlglot notes the place of a function in its `meta`, but not the place of an operator
_OPERATORS = (exp.Binary, exp.Predicate, exp.Not)


def statements(text: str, dialect: str) -> list[exp.Expr | None]:
    """The statements of a text, as trees that mean the same to the database."""
    return LANGUAGES[dialect].parse(list(sqlglot.Dialect.get_or_raise(dialect).tokenize(text)), text)


def parse(text: str, dialect: str, because: FormError | None = None) -> exp.Select:
    """The one SELECT in `text`, without comments, after all checks that need no database. If it is no plain join, or
    could not be taken apart `because` of something, it is SELECT * FROM the whole query. A text is often parsed again
    at once."""
    query, _, refusal = _parsed(text, dialect)
    if refusal := because or refusal:
        return whole(query.copy(), refusal, dialect)
    assert isinstance(query, exp.Select)
    return query.copy()


def sent(text: str, dialect: str) -> Sent:
    """What is sent of a text if it is parsed and no more."""
    return _parsed(text, dialect)[1]


@lru_cache(maxsize=4)
def _parsed(text: str, dialect: str) -> tuple[exp.Query, Sent, FormError | None]:
    """With the error that says why it is no plain join."""
    tokens = _statement(_tokens(text, dialect))
    try:
        query = _query(_tree(tokens, text, dialect), dialect)
        if (size := 1 + len(query.args.get("joins") or [])) > MOST_TABLES:
            said = f"the query reads {size:,} tables, and at most {MOST_TABLES:,} are planned for"
            raise QueryError(said, hint="join some of them in a table or a view of your own")
        check_features(len(query.selects) - _OTHERS)
        for node in query.walk():
            node.pop_comments()
        _keep_calls(query, dialect)
        written = Sent.of(sql.without_places(query), dialect)
        _faithful(tokens, written.tokens)
        check_reads(query, written.tokens, dialect)
        refusal = _refusal(turned(query), dialect)
        if LANGUAGES[dialect].names_files and isinstance(query, exp.Select) and query.args.get("from_"):
            _name_files(query)
        for collate in list(query.find_all(exp.Collate)):
            # sqlglot reads the s.c of COLLATE s.c, and the NOCASE.NOACCENT of DuckDB, as columns. They are not.
            if isinstance(collate.expression, exp.Column):
                collate.set("expression", exp.Dot.build([part.copy() for part in collate.expression.parts]))
        sql.keep_names(query)
    except RecursionError:
        raise QueryError("the query is nested too deeply", hint="write it flatter, or as a view") from None
    return query, written, refusal


def _refusal(query: exp.Query, dialect: str) -> FormError | None:
    try:
        check_form(query, dialect)
    except FormError as error:
        return error
    return None


def _tokens(text: str, dialect: str) -> list[Token]:
    try:
        return list(sqlglot.Dialect.get_or_raise(dialect).tokenize(text))
    except TokenError as error:
        raise QueryError(
            "the query cannot be read: a quote or a comment is not closed", hint="look for the missing ' or \" or */"
        ) from error


def _statement(tokens: list[Token]) -> list[Token]:
    """The tokens of the only statement. Only semicolons may follow it."""
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens = tokens[:-1]
    if not tokens:
        raise QueryError("the query is empty", hint=ONE_SELECT)
    if any(token.token_type is TokenType.SEMICOLON for token in tokens):
        raise QueryError("the query has more than one statement", hint=ONE_SELECT)
    head = tokens[0].text.upper()
    if head not in ("SELECT", "WITH", "FROM", "TABLE", "VALUES", "("):
        hint = f"write SELECT * FROM ({head} ...)" if head in ("PIVOT", "UNPIVOT") else ONE_SELECT
        raise QueryError(f"a query cannot begin with {tokens[0].text}", hint=hint)
    return tokens


def _tree(tokens: list[Token], text: str, dialect: str) -> exp.Expr:
    try:
        (tree,) = LANGUAGES[dialect].parse(tokens, text)
    except ParseError as error:
        raise _syntax_error(error, text) from error
    if tree is None:
        raise QueryError("the query is empty", hint=ONE_SELECT)
    return tree


def _syntax_error(error: ParseError, text: str) -> QueryError:
    """sqlglot's own message contains terminal escapes, and its column is the end of the word."""
    if not error.errors:
        return QueryError("syntax error", detail=str(error))
    place = error.errors[0]
    near = f"{place['highlight'] or ''}{place['end_context'] or ''}".strip()[:40] or "the end"
    column = place["col"] - len(place["highlight"] or " ") + 1
    hint = "put blanks around + and - after a number like 1e3" if _SIGNED.search(text) else None
    return QueryError(f"syntax error at line {place['line']}, column {column}, near {near}", hint=hint)


def _faithful(tokens: Sequence[Token], sent: Sequence[Token]) -> None:
    """We send the tree, not the text. Refuse two things that are known to differ: a quoted function name loses its
    quotes, and a JOIN without a condition becomes a comma."""
    for lost in _called_quoted(tokens) - _called_quoted(sent):
        hint = f'write it without quotes, or with its schema: s."{lost}"(...)'
        raise QueryError(f'the function "{lost}" is quoted', hint=hint)
    if _count(tokens, TokenType.JOIN) > _count(sent, TokenType.JOIN):
        raise QueryError("a JOIN has no condition", hint="add ON or USING; a cross product is written CROSS JOIN")


def _keep_calls(select: exp.Query, dialect: str) -> None:
    """sqlglot writes some functions as operators: regexp_like(a, b || c) as a ~ b || c, which means (a ~ b) || c. Put
    parentheses around such calls and their arguments. For % sqlglot does so itself."""
    for node in list(select.find_all(exp.Binary)):
        if _CALLED not in node.meta:
            continue
        if isinstance(node, exp.Like | exp.Escape):  # sqlglot would swap the two arguments
            raise QueryError("like(...) is called as a function", hint="write it between the two: name LIKE 'a%'")
        if not isinstance(node, exp.Mod) and _is_infix(node, dialect):
            for side in (node.this, node.expression):
                if isinstance(side, _OPERATORS):
                    _parenthesise(side)
            if isinstance(node.parent, exp.Binary | exp.Neg) and not isinstance(node.parent, exp.Connector):
                _parenthesise(node)


def _parenthesise(node: exp.Expr) -> None:
    around = exp.Paren()
    node.replace(around)
    around.set("this", node)


def _is_infix(node: exp.Binary, dialect: str) -> bool:
    probe = node.copy()
    probe.set("this", exp.column("a"))
    return probe.sql(dialect=dialect).startswith("a ")


def _called_quoted(tokens: Sequence[Token]) -> set[str]:
    """Quoted names before a parenthesis and not after a dot."""
    triples = zip([None, *tokens], tokens, tokens[1:], strict=False)
    return {
        name.text
        for before, name, after in triples
        if name.token_type is TokenType.IDENTIFIER
        and after.token_type is TokenType.L_PAREN
        and not (before and before.token_type is TokenType.DOT)
    }


def _count(tokens: Sequence[Token], kind: TokenType) -> int:
    return sum(token.token_type is kind for token in tokens)


def _name_files(select: exp.Select) -> None:
    """The relation of the file 'data/flights.csv.gz' is called flights, as in DuckDB."""
    for item in from_items(select):
        if isinstance(item, exp.Table) and not item.args.get("alias") and (match := _FILE.search(item.name)):
            item.set("alias", exp.TableAlias(this=exp.to_identifier(match[1], quoted=True)))


def _query(tree: exp.Expr, dialect: str) -> exp.Query:
    while isinstance(tree, exp.Subquery) and not any(value for key, value in tree.args.items() if key != "this"):
        tree = tree.this
    if isinstance(tree, exp.Values):
        tree = exp.select("*").from_(exp.alias_(tree, "values", table=True, quoted=True))
    if not isinstance(tree, exp.Query):
        raise QueryError(f"not a plain SELECT: {Fragment(tree, dialect)}", hint=ONE_SELECT)
    return tree


def turned(query: exp.Query) -> exp.Query:
    """`a RIGHT JOIN b` is `b LEFT JOIN a`, where these are the first two items of FROM, and no * would list them in
    another order."""
    joins = query.args.get("joins") or []
    first, source = next(iter(joins), None), query.args.get("from_")
    if any(isinstance(item, exp.Star) for item in query.selects):
        return query
    if first is None or source is None or str(first.args.get("side")).upper() != "RIGHT":
        return query
    left, right = source.this, first.this
    source.set("this", right)
    first.set("this", left)
    first.set("side", "LEFT")
    return query


def with_audited(select: exp.Select, texts: Sequence[str], dialect: str, fold: Fold) -> exp.Select:
    """The query with one more output for each text: a copy of the output of that name, or an expression."""
    if not texts:
        return select
    outputs = {item.alias_or_name: item.unalias() for item in select.expressions}
    items = [outputs.get(meant(text, outputs, fold) or "") or _expression(text, dialect) for text in texts]
    named = (exp.alias_(item.copy(), AUDITED.format(i), quoted=True) for i, item in enumerate(items))
    return select.select(*named)


def _expression(text: str, dialect: str) -> exp.Expression:
    """It is read as a part of a query, so it meets the same checks."""
    try:
        found = parse(f"SELECT {text} FROM x", dialect)
    except QueryError as error:
        raise QueryError(f"{text} cannot be audited: {error.message}", detail=error.detail, hint=HINT) from error
    parts = {name for name, value in found.args.items() if value}
    if len(found.expressions) != 1 or not parts <= {"expressions", "from", "from_", "kind"}:
        raise QueryError(f"{text} cannot be audited: it is not one expression", hint=HINT)
    item: exp.Expression = found.expressions[0].unalias()
    return item
