"""A table with the tables that its foreign keys lead to: its lookups."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from sqlsvm import sql
from sqlsvm.engine.base import Column, Engine, ForeignKey
from sqlsvm.suggestion.schema import Made, Schema, Table

_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
_DEFAULT_SCHEMA = "main"


def text(engine: Engine, query: exp.Query) -> str:
    made = query.copy()
    _without_needless_aliases(made)
    # all words that are more than a name in this dialect, and those that DuckDB reserves, which are many
    reserved = set(Dialect.get_or_raise("duckdb").generator_class.RESERVED_KEYWORDS)
    words = Dialect.get_or_raise(engine.dialect).tokenizer_class.KEYWORDS
    keywords = reserved | {word.lower() for word in words}
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


def commented(node: exp.Expr, *comments: str) -> None:
    for comment in comments:
        node.add_comments([f" {' '.join(comment.split())} "])


def with_tables(query: exp.Select, tables: Iterable[Made]) -> exp.Select:
    for made in tables:
        query = query.with_(exp.to_identifier(made.name), as_=made.query.copy(), copy=False)
        commented(query.args["with_"].expressions[-1], made.said)
    return query


def left_out(why: Mapping[str, Iterable[str]]) -> Iterable[str]:
    yield from (f"left out, {reason}: {', '.join(columns)}" for reason, columns in why.items())


DEPTH = 2  # so many foreign keys in a row are followed
MOST = 30  # lookups of one table


@dataclass(frozen=True)
class Step:
    """One row, or none, of another table for each row."""

    source: str  # the alias of what the foreign key is in
    key: ForeignKey
    table: Table
    alias: str

    @property
    def on(self) -> list[exp.Expression]:
        pairs = zip(self.key.columns, self.key.keys, strict=True)
        return [sql.equal(sql.named(own, self.source), sql.named(of, self.alias)) for own, of in pairs]

    @property
    def said(self) -> str:
        own = ", ".join(f"{self.source}.{name}" for name in self.key.columns)
        guess = f" (no constraint says so: guessed {self.key.guess})" if self.key.guess else ""
        return f"{self.alias}: the row of {self.table.name} that {own} refers to{guess}"


@dataclass(frozen=True)
class Value:
    """A column of a joined table."""

    alias: str
    column: Column

    @property
    def expression(self) -> exp.Column:
        return sql.named(self.column.name, self.alias)

    def __str__(self) -> str:
        return f"{self.alias}.{self.column.name}"

    @classmethod
    def named(cls, alias: str, table: Table, names: Iterable[str]) -> "tuple[Value, ...]":
        """Those columns of a table that have these names."""
        return tuple(cls(alias, column) for name in names if (column := table.column(name)))


@dataclass(frozen=True)
class Joined:
    alias: str
    table: Table
    steps: tuple[Step, ...] = ()

    @property
    def values(self) -> list[Value]:
        tables = [(self.alias, self.table), *((step.alias, step.table) for step in self.steps)]
        return [Value(alias, column) for alias, table in tables for column in table.columns]

    def select(self, outputs: sql.Outputs) -> exp.Select:
        made = with_tables(sql.select(outputs, aliased(self.table.place, self.alias)), self.table.made)
        for step in self.steps:
            made = sql.join(made, aliased(step.table.place, step.alias), step.on, "left")
        return made


def joined(schema: Schema, table: Table, depth: int = DEPTH, around: str | None = None) -> Joined:
    """With each table that a foreign key leads to, or two in a row. A cycle ends there too. `around`: the alias that a
    sub-query about its rows must not hide."""
    taken = {around} if around else set[str]()
    alias = unused([word(table.name), f"earlier_{word(table.name)}"], taken)
    steps = list[Step]()
    reached = [(alias, table)]
    for _ in range(depth):
        reached, before = [], reached
        for source, each in before:
            for key in schema.refers(each):
                of, own = schema.table(key.of), re.sub(r"(_?id|_?key)$", "", key.columns[-1], flags=re.I)
                steps.append(Step(source, key, of, unused([word(of.name), word(own)], taken)))
                reached.append((steps[-1].alias, of))
    return Joined(alias, table, tuple(steps[:MOST]))


def unused(wanted: Sequence[str], taken: set[str]) -> str:
    """A name that is not taken yet, and is now."""
    numbered = (f"{wanted[-1]}_{n}" for n in range(2, len(taken) + 3))
    name = next(name for name in (*wanted, *numbered) if name and name not in taken)
    taken.add(name)
    return name


LONGEST = 50  # PostgreSQL cuts names at 63 bytes


def word(name: str) -> str:
    """A name in lower case that needs no quotes, unless it is a keyword."""
    found = re.sub(r"\W+", "_", name.lower()).strip("_") or "t"
    found = found if not found[0].isdigit() else f"t{found}"
    return found.encode()[:LONGEST].decode(errors="ignore")


def aliased(place: exp.Table, alias: str) -> exp.Table:
    made = place.copy()
    made.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    return made
