"""How the SQL of each engine is parsed. This needs no driver: a query can be read before its database is open. The
dialects of other engines are not imported, which would take 10 ms."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest
from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

if TYPE_CHECKING:
    from sqlglot.dialects.dialect import Dialect

Trees = list[exp.Expr | None]


@dataclass(frozen=True)
class Language:
    """How engines differ in reading a query."""

    parser: Callable[[list[Token], str], Trees]
    names_files: bool  # is 'data/flights.csv' in FROM a relation called flights?
    splits_rows: bool
    """Is (a, b) = (c, d) the same as a = c AND b = d? Else it compares two structs, in which NULL equals NULL."""
    reuses: bool = False  # may an expression use the names of other outputs?
    lowers: bool = False  # does Late mean late, and "Late" another name? Else names are the same in any case
    pulls_up: bool = False  # does a fence need OFFSET 0?
    escapes: bool = False  # is it a setting whether a backslash escapes in a plain string?
    remedies: Mapping[str, str] = field(default_factory=dict)
    """What to do with a column that is no feature, by a pattern of its type."""

    def parse(self, tokens: list[Token], text: str) -> Trees:
        try:
            return self.parser(tokens, text)
        except TypeError as error:  # what the compiled build of sqlglot raises where an operand is missing
            raise ParseError("an operand is missing") from error


# -- PostgreSQL --------------------------------------------------------------------------------------------------------

_ALONE = ("DATE_PART", "LOG10", "TO_HEX", "TO_CHAR", "TO_DATE", "TO_TIMESTAMP")
"""Functions of PostgreSQL that are sent as they are. sqlglot would replace some by functions of another type or that do
not exist, and would change the case of formats of time."""
_MARK = "\0"  # it does not occur in queries


def _postgres(tokens: list[Token], text: str) -> Trees:
    from sqlglot.parsers.postgres import PostgresParser

    trees = PostgresParser(dialect="postgres").parse(_marked(tokens), text)
    for node in (node for tree in trees if tree for node in tree.walk()):
        if isinstance(node.this, str) and node.this.endswith(_MARK):
            node.set("this", node.this.removesuffix(_MARK))
    return trees


def _marked(tokens: list[Token]) -> list[Token]:
    """The functions of _ALONE get names that sqlglot does not know. A subclass of the parser is not possible: the
    compiled build of sqlglot does not allow it."""
    return [
        Token(t.token_type, t.text + _MARK, t.line, t.col, t.start, t.end, t.comments)
        if t.text.upper() in _ALONE and after and after.token_type is TokenType.L_PAREN
        else t
        for t, after in zip_longest(tokens, tokens[1:])
    ]


# -- DuckDB ------------------------------------------------------------------------------------------------------------


@cache
def _dialect_of_duckdb() -> "Dialect":
    from sqlglot.dialects.duckdb import DuckDB

    class _DuckDB(DuckDB):
        """In j ->> 'a.b' the key is a.b. sqlglot would make it the path $.a.b: the key b inside a."""

        def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
            return super().to_json_path(path) if path and path.name.startswith("$") else path

    return _DuckDB()


def _duckdb(tokens: list[Token], text: str) -> Trees:
    from sqlglot.parsers.duckdb import DuckDBParser

    return DuckDBParser(dialect=_dialect_of_duckdb()).parse(tokens, text)


# -- Spark -------------------------------------------------------------------------------------------------------------


def _spark(tokens: list[Token], text: str) -> Trees:
    from sqlglot.dialects.spark import Spark

    return Spark().parser().parse(tokens, text)


_REMEDIES_OF_SPARK = {
    "^map": "take its values out one by one: x['key'] AS key",
    "^struct": "take its fields out one by one: x.city AS city",
    "^array": "take its elements out one by one: x[0] AS x0, x[1] AS x1",
    "^variant": "take a field out of it: variant_get(x, '$.field', 'double') AS field",
    "^date": "turn it into a number: unix_date(...), or into parts: month(...)",
    "^timestamp": "turn it into a number: unix_micros(...), or into parts: hour(...)",
}

LANGUAGES: Mapping[str, Language] = {
    "postgres": Language(_postgres, names_files=False, splits_rows=True, lowers=True, pulls_up=True, escapes=True),
    "duckdb": Language(_duckdb, names_files=True, splits_rows=False, reuses=True),
    "spark": Language(_spark, names_files=True, splits_rows=False, reuses=True, remedies=_REMEDIES_OF_SPARK),
}
"""By `Engine.dialect`."""
