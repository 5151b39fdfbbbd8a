"""The query of a model without the features that have no weight, and without what only they read.

A column of WITH, or of a sub-query of FROM, is left out where it was read before and is not any more. So a column that
no output reads, such as a date by which rows of the future are found, stays. Joins stay: without one there may be other
rows.
"""

from collections.abc import Iterable, Mapping

import numpy as np
from sqlglot import exp, parse_one
from sqlglot.optimizer.scope import Scope, traverse_scope

from sqlsvm import sql
from sqlsvm.errors import OptionError
from sqlsvm.model.model import Model
from sqlsvm.query.guards import as_typed, is_set_returning

Reads = Mapping[int, set[str] | None]  # the outputs of each SELECT, by its id, that are read; None is all


def shorter_query(model: Model) -> str:
    """As SQL, in the dialect of its query."""
    query = parse_one(model.query, read=model.dialect)
    assert isinstance(query, exp.Query)
    needed, idle = _features(model.linear())
    if not needed:
        raise OptionError(f"every weight of model {model.name} is 0", hint="train it with a smaller ⟦l1⟧")
    items = {item: _name(item, model.dialect) for item in query.selects}
    gone = [item for item, name in items.items() if name in idle]
    may_go = isinstance(query, exp.Select) and all(_may_go(query, item) for item in gone)
    if may_go and not any(item.is_star for item in items):
        before = _reads(query)
        _leave_out(query, gone)
        _leave_out_unread(query, before)
    else:
        known = [name for name in items.values() if name not in idle and name != "*"]
        names = known if len(known) == len(items) else [*_roles(model), *needed]
        query = exp.select(*(sql.named(name, "q") for name in names)).from_(sql.derived(query, "q"))
    return str(query.sql(model.dialect, pretty=True, max_text_width=100))


def _features(model: Model) -> tuple[list[str], set[str]]:
    """The outputs that features with a weight are made of, and those of the others."""
    used = {w for _, part in model.leaves for w in np.asarray(part.weights.features)[part.weights.values != 0].tolist()}
    read = {name for name in used if name not in model.mapped}
    read |= {name for each in model.maps if used & each.formulas.keys() for name in each.columns}
    inputs = [term.feature for term in model.inputs if term.feature != model.by]
    return [name for name in inputs if name in read], set(inputs) - read


def _roles(model: Model) -> list[str]:
    """What a training needs that is no feature."""
    weight = model.options.get("problem", {}).get("weight")
    return [name for name in (model.label, model.by, weight) if name]


def _name(item: exp.Expr, dialect: str) -> str:
    if isinstance(item, exp.Alias):
        return str(item.alias)
    inner = item
    while isinstance(inner, exp.Cast | exp.Paren):
        inner = inner.this
    return str(inner.name) if isinstance(inner, exp.Column) else as_typed(item, dialect)


def _may_go(select: exp.Select, item: exp.Expr) -> bool:
    """Are the rows the same without this output, and the other outputs too?"""
    if select.args.get("distinct") or any(is_set_returning(node) for node in item.walk()):
        return False
    group = select.args.get("group")
    clauses = [clause for clause in (group, select.args.get("order")) if clause]
    keys = [key.this if isinstance(key, exp.Ordered) else key for clause in clauses for key in clause.expressions]
    if any(isinstance(key, exp.Literal) for key in keys) or (group and group.args.get("all")):
        return False
    if not group and any(not isinstance(node.parent, exp.Window) for node in item.find_all(exp.AggFunc)):
        return False
    inside = {id(node) for node in item.walk()}
    named = isinstance(item, exp.Alias) and not (isinstance(item.this, exp.Column) and item.this.name == item.alias)
    return not named or all(
        column.table or column.name.lower() != item.alias.lower() or id(column) in inside
        for column in select.find_all(exp.Column)
        if column.parent_select is select
    )


def _leave_out(query: exp.Query, items: Iterable[exp.Expr]) -> None:
    gone = {id(item) for item in items}
    kept = [item for item in query.selects if id(item) not in gone]
    query.set("expressions", kept)


def _leave_out_unread(query: exp.Query, before: Reads) -> None:
    """Again and again, from the outside to the inside: `before` is what was read."""
    changed = True
    while changed:
        changed, now = False, _reads(query)
        for scope in traverse_scope(query):
            select, was, still = scope.expression, before.get(id(scope.expression)), now.get(id(scope.expression))
            if was is None or still is None or not isinstance(select, exp.Select):
                continue
            unread = [item for item in select.selects if item.alias_or_name.lower() in was - still]
            gone = [item for item in unread if _may_go(select, item)]
            if gone and len(gone) < len(select.selects):
                _leave_out(select, gone)
                changed = True


def _reads(query: exp.Query) -> Reads:
    found: dict[int, set[str] | None] = {}
    for scope in traverse_scope(query):
        inner = {alias: source.expression for alias, source in scope.sources.items() if isinstance(source, Scope)}
        for select in inner.values():
            found.setdefault(id(select), set())
        for alias, name in _read_by(scope):
            for source in [inner[alias]] if alias in inner else [] if alias else inner.values():
                names = found[id(source)]
                if name is None or names is None or not isinstance(source, exp.Select):
                    found[id(source)] = None
                else:
                    names.add(name)
    return found


def _read_by(scope: Scope) -> Iterable[tuple[str, str | None]]:
    """The columns that a SELECT reads, each with its alias, if it has one; None is all of them."""
    for column in scope.columns:
        is_row = not column.table and column.name in scope.sources
        yield (column.name, None) if is_row else (column.table, column.name.lower())
    for star in scope.find_all(exp.Star):
        if not isinstance(star.parent, exp.Count):
            yield (star.parent.table if isinstance(star.parent, exp.Column) else ""), None
    for join in scope.find_all(exp.Join):
        for name in join.args.get("using") or []:
            yield "", name.name.lower()
        if join.args.get("method") == "NATURAL":
            yield "", None
