"""Expressions over several relations that meet in one row: o.day - c.birthday is over the orders, if each order has one
customer at most. The columns of the others travel to that row along unique keys, in a sub-query:

    FROM (SELECT o.*, c.birthday AS met0 FROM orders AS o LEFT JOIN customers AS c ON o.customer = c.id) AS o

So the rest of sqlsvm sees an expression over one relation. The relations stay in the query, and their join leaves out
the rows without a partner.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Column, Engine
from sqlsvm.errors import OptionError, QueryError
from sqlsvm.query.facts import Facts, Rule
from sqlsvm.query.ir import (
    Brought,
    Computed,
    Feature,
    FeatureQuery,
    Fold,
    Key,
    Pairs,
    Parsed,
    Relation,
    Term,
    Unmet,
    inner_variables,
    reached,
    way_to,
)
from sqlsvm.query.names import meant, relations_in
from sqlsvm.query.sources import from_items

MET = f"{sql.WORKING}met"
Names = Mapping[exp.Column, str]
Met = tuple[str, list[exp.Expression]]  # a relation, and expressions over it


class Asked(NamedTuple):
    """Expressions that must be over one relation, and the error if there is none."""

    expressions: Sequence[exp.Expression]
    refusal: QueryError


class Step(NamedTuple):
    """From a row of `start` to at most one of `relation`."""

    start: str
    relation: str
    pairs: Pairs

    @property
    def key(self) -> tuple[Term, ...]:
        return tuple(theirs for _, theirs in self.pairs)


def meet(query: FeatureQuery, facts: Facts) -> FeatureQuery:
    """Conditions and outputs over several relations, except sums: these need no row in which their relations meet."""
    if not isinstance(query, Parsed):
        return query
    asked = [Asked([each.expression], each.refusal) for each in query.spanning]
    made, found = brought(query.complete, facts, asked)
    for alias, conditions in found:
        made = made.where(alias, *conditions)
    return met(made, facts, {f.name: f.refusal for f in query.outputs if isinstance(f, Unmet)})


def meets(query: FeatureQuery, facts: Facts, aliases: Iterable[str]) -> bool:
    """Has a row of some relation one row of each of these?"""
    meeting, used = _Meeting(query, facts), list(aliases)
    return any(meeting.path(r.alias, used) is not None for r in query.relations)


def finds(query: FeatureQuery, facts: Facts, start: str, other: str) -> bool:
    """Has each row of a relation at most one of the other?"""
    return _Meeting(query, facts).path(start, [other]) is not None


def at_label(query: FeatureQuery, facts: Facts, name: str) -> FeatureQuery:
    """The query in which the label's relation has an output, or a column, of another relation that has this name: where
    a join makes it equal to a column of its own, or its rows find it by unique keys. Else the query as it is."""
    alias, fold = query.label_relation, facts.engine.fold
    label = query.relation(alias)
    if not (found := _elsewhere(query, name, fold)):
        return query
    own, value, feature = found
    for v in inner_variables(query):
        if alias in v.holders and any(t.expression == value for t in v.terms) and feature:
            moved = replace(feature, relation=alias, expression=v.at(alias)[0].expression.copy(), own=None)
            return replace(query, features=tuple(moved if f == feature else f for f in query.features))
    meeting = _Meeting(query, facts)
    steps = None if meant(name, (c.name for c in label.columns), fold) else meeting.path(alias, [*relations_in(value)])
    if steps is None:
        return query
    query, names = meeting.joined(query, alias, steps, dict.fromkeys(value.find_all(exp.Column)))
    label, value = query.relation(alias), _over(alias, value, names)
    reads = frozenset(c.name for c in value.find_all(exp.Column))
    (column,) = facts.columns(label, [value])
    changed = replace(label, columns=(*label.columns, replace(column, name=own)))
    return query.with_relation(replace(changed, computed=(*label.computed, {own: Computed(value, reads)})))


def _elsewhere(query: FeatureQuery, name: str, fold: Fold) -> tuple[str, exp.Expression, Feature | None] | None:
    """What has this name outside of the label's relation: its own name, its value, and the output, if it is one."""
    alias = query.label_relation
    if own := meant(name, (f.name for f in query.features), fold):
        found = [f for f in query.features if f.name == own]
        return None if len(found) > 1 or found[0].relation == alias else (own, found[0].typed, found[0])
    if meant(name, (c.name for c in query.relation(alias).columns), fold):
        return None
    for relation in query.relations:
        if own := meant(name, (c.name for c in relation.columns), fold):
            return own, sql.named(own, relation.alias), None
    return None


def met(query: FeatureQuery, facts: Facts, refusals: Mapping[str, QueryError]) -> FeatureQuery:
    """The query where the outputs of these names are over one relation each."""
    if not refusals:
        return query
    first = {name: next(f for f in query.outputs if f.name == name) for name in refusals}
    asked = [Asked([f.typed], refusals[name]) for name, f in first.items()]
    query, found = brought(query, facts, asked)
    whole = {
        f: Feature(f.name, alias, expression, f.kind, f.spelling, own=f.typed, exact=f.exact, top=f.top, rare=f.rare)
        for f, (alias, (expression,)) in zip(first.values(), found, strict=True)
    }

    def one(features: Iterable[Feature]) -> tuple[Feature, ...]:
        """The first term becomes the whole, and the others go."""
        return tuple(whole.get(f, f) for f in features if f in whole or f.name not in refusals)

    label, weight = (f and whole.get(f, f) for f in (query.label, query.weight))
    return replace(query, features=one(query.features), label=label, weight=weight, audited=one(query.audited))


def brought(query: FeatureQuery, facts: Facts, asked: Sequence[Asked]) -> tuple[FeatureQuery, list[Met]]:
    """The query in which these are over one relation each. All columns that travel to a relation do so in one
    sub-query, also where others have travelled before."""
    meeting = _Meeting(query, facts)
    places = [meeting.place(*each) for each in asked]
    names: dict[str, Names] = {}
    for alias in dict.fromkeys(alias for alias, _ in places):
        own = [(path, each.expressions) for (of, path), each in zip(places, asked, strict=True) if of == alias]
        steps = {step.relation: step for path, _ in own for step in path}
        columns = dict.fromkeys(c for _, values in own for e in values for c in e.find_all(exp.Column))
        names[alias] = {}
        if foreign := [c for c in columns if c.table != alias]:
            query, names[alias] = meeting.joined(query, alias, steps.values(), foreign)
    each = zip(places, asked, strict=True)
    return query, [(alias, [_over(alias, e, names[alias]) for e in values]) for (alias, _), (values, _) in each]


@dataclass(frozen=True)
class _Meeting:
    query: FeatureQuery
    facts: Facts

    def place(self, expressions: Sequence[exp.Expression], refusal: QueryError) -> tuple[str, list[Step]]:
        """A relation whose rows each have one row of every other used relation, and the steps to these."""
        used = list(dict.fromkeys(alias for e in expressions for alias in relations_in(e)))
        for alias in (*used, *(r.alias for r in self.query.relations if r.alias not in used)):
            if (path := self.path(alias, used)) is not None:
                return alias, path
        raise type(refusal)(
            refusal.message,
            detail=f"a row of {used[0]} can match several rows of {' and '.join(used[1:])}, and the reverse, "
            "so the expression has no single value",
            hint=refusal.hint,
        )

    def path(self, start: str, wanted: Sequence[str]) -> list[Step] | None:
        """The steps to all wanted relations, and to no others; None if there are none."""
        steps: dict[str, Step] = {}

        def beyond(alias: str) -> Iterator[str]:
            for step in self._steps(alias) if not {start, *steps} >= set(wanted) else ():
                if step.relation not in (start, *steps) and self.facts.is_key(self.query, step.relation, step.key):
                    steps[step.relation] = step
                    yield step.relation

        before = reached(start, beyond)
        if not before.keys() >= set(wanted):
            return None
        needed = dict.fromkeys(other for alias in wanted for other in way_to(alias, before)[-2::-1])
        return [steps[alias] for alias in needed]

    def _steps(self, alias: str) -> Iterator[Step]:
        found: dict[str, list[tuple[Term, Term]]] = {}
        for variable in inner_variables(self.query):
            for other in sorted(variable.holders - {alias}) if alias in variable.holders else ():
                found.setdefault(other, []).append((variable.at(alias)[0], variable.at(other)[0]))
        for join in self.query.left_joins:
            if join.parent == alias:
                found.setdefault(join.relation, []).extend((e.left, e.right) for e in join.equalities)
        return (Step(alias, other, tuple(pairs)) for other, pairs in found.items())

    def joined(
        self, query: FeatureQuery, alias: str, steps: Iterable[Step], columns: Iterable[exp.Column]
    ) -> tuple[FeatureQuery, Names]:
        """The query in which a relation has these columns of others too, under these names. A relation that has some
        already gets the others in the same sub-query."""
        relation = query.relation(alias)
        old = relation.brought or Brought(relation.source, {}, {})
        path = {**old.path, **{step.relation: step.pairs for step in steps}}
        new = {c: f"{MET}{n}" for n, c in enumerate((c for c in columns if c not in old.names), len(old.names))}
        names = {**old.names, **new}
        rows = exp.select(sql.everything(alias), *(exp.alias_(c.copy(), n, quoted=True) for c, n in names.items()))
        rows = rows.from_(old.source.copy())
        for other, pairs in path.items():
            equal = [sql.equal(mine.expression.copy(), theirs.expression.copy()) for mine, theirs in pairs]
            rows = sql.join(rows, _rows(self.query.relation(other)), equal, "left")
        keys = (Key(self.query.relation(step.relation).partners, step.key) for step in steps)
        query = replace(query, relied=(*query.relied, *(key for key in keys if key not in query.relied)))
        found = ((self.query.relation(c.table).column(c), name) for c, name in new.items())
        more = (replace(column, name=name) for column, name in found if column)
        changed = replace(relation, source=sql.aliased(rows, alias), columns=(*relation.columns, *more))
        return query.with_relation(replace(changed, brought=Brought(old.source, path, names))), names


def _over(alias: str, expression: exp.Expression, names: Names) -> exp.Expression:
    """With the columns that were brought."""
    return expression.transform(
        lambda node: sql.named(names[node], alias) if isinstance(node, exp.Column) and node in names else node
    )


def _rows(relation: Relation) -> exp.Expression:
    """The rows that can be a partner. Conditions of WHERE on a LEFT JOINed relation are applied after the join."""
    if not relation.at_first:
        return relation.source.copy()
    rows = exp.select(sql.everything(relation.alias)).from_(relation.source.copy())
    return sql.aliased(rows.where(*(f.copy() for f in relation.at_first)), relation.alias)


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
