"""The text of a suggestion: one line a feature, quotes where they are needed, comments, and a schema wherever the path
could matter."""

import re
from collections.abc import Iterable, Mapping

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from sqlsvm.engine.base import Engine
from sqlsvm.suggestion.table import Made

_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
_DEFAULT_SCHEMA = "main"


def text(engine: Engine, query: exp.Query) -> str:
    made = query.copy()
    _without_needless_aliases(made)
    keywords = _keywords(engine.dialect)
    for name in made.find_all(exp.Identifier):
        name.set("quoted", not _PLAIN.fullmatch(name.name) or name.name in keywords)
    for table in made.find_all(exp.Table):
        if table.db == _DEFAULT_SCHEMA:
            table.set("db", None)
    lines = [output.sql(engine.dialect) for output in made.selects]
    made.set("expressions", [exp.var(",\n".join(lines))])
    return str(made.sql(engine.dialect, pretty=True, max_text_width=100))


def _without_needless_aliases(query: exp.Query) -> None:
    for output in list(query.find_all(exp.Alias)):
        if isinstance(output.this, exp.Column) and output.this.name == output.alias:
            output.this.comments = output.comments
            output.replace(output.this)
    for table in query.find_all(exp.Table):
        if table.alias == table.name and table.db:
            table.set("alias", None)


def _keywords(dialect: str) -> set[str]:
    """All words that are more than a name in this dialect, and those that DuckDB reserves, which are many."""
    reserved = set(Dialect.get_or_raise("duckdb").generator_class.RESERVED_KEYWORDS)
    words = Dialect.get_or_raise(dialect).tokenizer_class.KEYWORDS
    return reserved | {word.lower() for word in words}


def commented(node: exp.Expr, *comments: str) -> None:
    for comment in comments:
        node.add_comments([f" {' '.join(comment.split())} "])


def with_tables(query: exp.Select, tables: Iterable[Made]) -> exp.Select:
    for made in tables:
        query = query.with_(exp.to_identifier(made.name), as_=made.query.copy(), copy=False)
        commented(query.args["with_"].expressions[-1], made.said)
    return query


def left_out(why: Mapping[str, Iterable[str]]) -> Iterable[str]:
    for reason, columns in why.items():
        yield f"left out, {reason}: {', '.join(columns)}"
