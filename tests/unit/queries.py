"""A small catalog, and what a query over it comes to, in lines that can be read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqlsvm.engine.base import Column, Kind
from sqlsvm.query import Equality, Feature, FeatureQuery, Term, feature_query, parse, sources
from sqlsvm.query.computed import computed
from sqlsvm.query.facts import Facts
from sqlsvm.query.ir import Parsed
from sqlsvm.query.parse import with_audited
from sqlsvm.query.rewrites.meet import meet

TABLES = {
    "flights": "year month origin dest tailnum carrier time_hour distance arr_delay",
    "planes": "tailnum year seats engines",
    "weather": "origin time_hour temp",
    "airports": "faa lat lon",
    "Mixed": "Key key VALUE",
}


@dataclass(frozen=True)
class Case:
    """One entry of a table in a text file: `# dialect: name`, the query, and what is expected of it, indented."""

    dialect: str
    name: str
    text: str
    expected: list[str]

    def __str__(self) -> str:
        return f"{self.dialect}: {self.name or self.text}"


def cases(file: str) -> list[Case]:
    found = []
    for entry in (Path(__file__).parent / file).read_text(encoding="utf-8").strip().split("\n\n"):
        head, *body = entry.split("\n")
        dialect, _, name = head.removeprefix("# ").partition(": ")
        text = "\n".join(line for line in body if not line.startswith("    "))
        found.append(Case(dialect, name, text, [line[4:] for line in body if line.startswith("    ")]))
    return found


def columns(*names: str, kind: Kind = "numeric") -> tuple[Column, ...]:
    return tuple(Column(name, "integer", kind) for name in names)


def fold_postgres(name: str, quoted: bool) -> str:
    folded = name if quoted else name.lower()
    return folded.encode()[:63].decode(errors="ignore")


def fold_duckdb(name: str, quoted: bool) -> str:
    return name.lower()


FOLDS = {"postgres": fold_postgres, "duckdb": fold_duckdb, "spark": fold_duckdb}


class NoKeys(Facts):
    """Without a database no key is known to be unique."""

    def __init__(self) -> None: ...

    def is_key(self, query: FeatureQuery, alias: str, terms: tuple[Term, ...]) -> bool:
        return False


def read(text: str, dialect: str = "postgres", **roles: Any) -> FeatureQuery:
    """The query taken apart, without expressions over several relations."""
    return meet(taken_apart(text, dialect, **roles), NoKeys())


def taken_apart(
    text: str,
    dialect: str = "postgres",
    *,
    label: str | None = None,
    weight: str | None = None,
    categorical: Sequence[str] = (),
    audited: Sequence[str] = (),
    tables: Mapping[str, Sequence[str]] | None = None,
) -> Parsed:
    """The query taken apart over TABLES and `tables`; anything else has the columns a, b and k."""
    fold = FOLDS[dialect]
    known = {name: names.split() for name, names in TABLES.items()} | dict(tables or {})
    select = with_audited(parse(text, dialect), audited, dialect, fold)
    select = computed(select, dialect, fold, lambda query: None)
    items = sources(select, fold)
    described = {s.alias: columns(*known.get(s.path[-1] if s.path else s.alias, ["a", "b", "k"])) for s in items}
    roles = {"label": label, "weight": weight, "categorical": categorical, "audited": audited}
    return feature_query(text, select, items, described, fold, dialect=dialect, **roles)  # type: ignore[arg-type]


def lines(query: FeatureQuery) -> list[str]:
    """Relations with their filters, equalities, LEFT JOINs, outputs. Double quotes are left out."""

    def sql(*nodes: exp.Expression) -> str:
        return " AND ".join(node.sql(dialect=query.dialect) for node in nodes)

    def equal(equality: Equality) -> str:
        return f"{sql(equality.left.expression)} = {sql(equality.right.expression)}"

    def output(role: str, f: Feature) -> str:
        forced = " (categorical)" if f.kind == "categorical" else ""
        return f"{role} {f.name} of {f.relation}: {sql(f.expression)}{forced}"

    found = []
    for r in query.relations:
        on = f" ON {sql(*r.optional)}" if r.optional else ""
        where = f" WHERE {sql(*r.filters)}" if r.filters else ""
        found.append(f"from {sql(r.source)}{on}{where}")
    found += [f"join {equal(e)}" for e in query.equalities]
    found += [f"left {j.parent} -> {j.relation} ON {' AND '.join(map(equal, j.equalities))}" for j in query.left_joins]
    found += [output("feature", f) for f in query.features]
    found += [output(role, f) for role, f in (("label", query.label), ("weight", query.weight)) if f]
    return [line.replace('"', "") for line in found]
