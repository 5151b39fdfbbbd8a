"""A column that an option names, and that the label's relation has not: one of another relation that its rows find, or
one that a query which is made as a whole does not return."""

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Column, Engine
from sqlsvm.errors import OptionError
from sqlsvm.query.facts import Facts, Rule
from sqlsvm.query.ir import FeatureQuery, Relation
from sqlsvm.query.named import meant
from sqlsvm.query.rewrites.meet import at_label
from sqlsvm.query.sources import from_items


def showing(option: str, name: str | None) -> Rule:
    return lambda query, facts: shown(facts, query, option, name) if name else query


def shown(facts: Facts, query: FeatureQuery, option: str, name: str) -> FeatureQuery:
    """The query with this column of the table that has the label, or of the only one that has such a column."""
    engine, query = facts.engine, at_label(query, facts, name)
    relation = query.relation(query.label_relation)
    source: exp.Expr = relation.source.copy()
    inner = source.this if relation.once and isinstance(source, exp.Subquery) else None
    known = meant(name, (c.name for c in relation.columns), engine.fold)
    if known or not isinstance(source, exp.Subquery) or not isinstance(inner, exp.Select):
        return query
    if inner.args.get("group") or inner.args.get("distinct"):
        raise OptionError(f"{option}: the query has no output {name}", hint="select it too, and group by it")
    found = _named(engine, inner, name)
    found = {alias: found[alias] for alias in _asked(inner, query) if alias in found} or found
    if len(found) != 1:
        raise OptionError(f"{option}: the query has no output {name}", hint="select it too, under this name")
    ((alias, column),) = found.items()
    inner.select(sql.named(column.name, alias), copy=False)
    return query.with_relation(with_outputs(relation, source, [column]))


def _named(engine: Engine, select: exp.Select, name: str) -> dict[str, Column]:
    """The tables of FROM that have a column of that name."""
    found, ctes = dict[str, Column](), select.args.get("with_")
    for item in (item for item in from_items(select) if isinstance(item, exp.Table)):
        rows = exp.select("*").from_(item.copy())
        rows.set("with_", ctes and ctes.copy())
        for column in engine.describe(rows):
            if meant(name, [column.name], engine.fold):
                found[item.alias_or_name] = column
    return found


def _asked(select: exp.Select, query: FeatureQuery) -> list[str]:
    """The tables that the label reads."""
    label = query.label.name if query.label else None
    return [c.table for item in select.selects if item.alias_or_name == label for c in item.find_all(exp.Column)]


def with_outputs(relation: Relation, source: exp.Subquery, more: Sequence[Column]) -> Relation:
    """With more outputs of a sub-query, which it has already."""
    if columns := source.args["alias"].args.get("columns"):
        source.args["alias"].set("columns", [*columns, *(exp.to_identifier(c.name, quoted=True) for c in more)])
    return replace(relation, source=source, columns=(*relation.columns, *more))
