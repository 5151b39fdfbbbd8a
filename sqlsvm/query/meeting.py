"""Expressions over several relations that meet in one row: o.day - c.birthday is over the orders, if each order has one
customer at most. The columns of the others travel to that row along unique keys, in a sub-query:

    FROM (SELECT o.*, c.birthday AS met0 FROM orders AS o LEFT JOIN customers AS c ON o.customer = c.id) AS o

So the rest of sqlsvm sees an expression over one relation. The relations stay in the query, and their join leaves out
the rows without a partner.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Column
from sqlsvm.errors import DataError, QueryError
from sqlsvm.query.facts import Facts
from sqlsvm.query.ir import Feature, FeatureQuery, Key, Relation, Term
from sqlsvm.query.names import relations_in
from sqlsvm.query.variables import inner_variables

Pairs = tuple[tuple[Term, Term], ...]

MET = f"{sql.WORKING}met"
_NONE: Mapping[str, QueryError] = {}


@dataclass(frozen=True)
class Step:
    """From a row of `start` to at most one of `relation`."""

    start: str
    relation: str
    pairs: Pairs

    @property
    def key(self) -> tuple[Term, ...]:
        return tuple(theirs for _, theirs in self.pairs)


def met(query: FeatureQuery, facts: Facts, sums: Mapping[str, QueryError] = _NONE) -> FeatureQuery:
    """The query without expressions over several relations, except sums. These stay, if they are not among `sums`:
    a sum needs no row in which its relations meet. Each of `sums` has the error if there is no such row."""
    for spanning in query.spanning:
        query, (condition,), alias = _Meeting(query, facts).of([spanning.expression], spanning.refusal)
        query = replace(query, spanning=query.spanning[1:]).where(alias, condition)
    for name in dict.fromkeys(f.name for f in query.outputs if not f.relation or f.name in sums):
        query = _met_output(query, facts, name, sums.get(name))
    return query


def _met_output(query: FeatureQuery, facts: Facts, name: str, refusal: QueryError | None) -> FeatureQuery:
    first = next(f for f in query.outputs if f.name == name)
    refusal = refusal or first.refusal
    assert refusal is not None
    query, (expression,), alias = _Meeting(query, facts).of([first.typed], refusal)
    whole = replace(first, relation=alias, expression=expression, own=first.typed, refusal=None)

    def one(features: Sequence[Feature]) -> Iterator[Feature]:
        """The first term becomes the whole, and the others go."""
        for f in features:
            if f == first:
                yield whole
            elif f.name != name:
                yield f

    label, weight = (whole if f == first else f for f in (query.label, query.weight))
    audited = tuple(whole if f == first else f for f in query.audited)
    return replace(query, features=tuple(one(query.features)), label=label, weight=weight, audited=audited)


def brought_together(
    query: FeatureQuery, facts: Facts, expressions: Sequence[exp.Expression], refusal: QueryError
) -> tuple[FeatureQuery, list[exp.Expression], str]:
    """The query in which the expressions are over one relation, and the name of that relation."""
    return _Meeting(query, facts).of(expressions, refusal)


@dataclass(frozen=True)
class _Meeting:
    query: FeatureQuery
    facts: Facts

    def of(
        self, expressions: Sequence[exp.Expression], refusal: QueryError
    ) -> tuple[FeatureQuery, list[exp.Expression], str]:
        used = list(dict.fromkeys(alias for e in expressions for alias in relations_in(e)))
        for alias in (*used, *(r.alias for r in self.query.relations if r.alias not in used)):
            if (path := self._path(alias, used)) is not None:
                return self._brought(alias, path, expressions)
        raise QueryError(
            refusal.message,
            detail=f"{' and '.join(used)} meet many-to-many: none of their rows has one row of the others",
            hint=refusal.hint,
        )

    def _path(self, start: str, wanted: Sequence[str]) -> list[Step] | None:
        """The steps to all wanted relations, and to no others; None if there are none."""
        reached, steps, done = {start}, dict[str, Step](), False
        while not done and not reached.issuperset(wanted):
            done = True
            for step in [s for alias in reached for s in self._steps(alias) if s.relation not in reached]:
                if step.relation not in reached and self._is_unique(step):
                    reached.add(step.relation)
                    steps[step.relation] = step
                    done = False
        if not reached.issuperset(wanted):
            return None
        needed: dict[str, Step] = {}
        for alias in wanted:
            way: list[Step] = []
            while alias != start:
                way.append(steps[alias])
                alias = steps[alias].start
            needed |= {step.relation: step for step in reversed(way)}
        return list(needed.values())

    def _is_unique(self, step: Step) -> bool:
        return self.facts.is_key(self.query, step.relation, step.key)

    def _steps(self, alias: str) -> Iterator[Step]:
        found: dict[str, list[tuple[Term, Term]]] = {}
        for variable in inner_variables(self.query):
            for other in sorted(variable.holders - {alias}) if alias in variable.holders else ():
                found.setdefault(other, []).append((variable.at(alias)[0], variable.at(other)[0]))
        for join in self.query.left_joins:
            if join.parent == alias:
                found.setdefault(join.relation, []).extend((e.left, e.right) for e in join.equalities)
        return (Step(alias, other, tuple(pairs)) for other, pairs in found.items())

    def _brought(
        self, alias: str, path: Sequence[Step], expressions: Sequence[exp.Expression]
    ) -> tuple[FeatureQuery, list[exp.Expression], str]:
        relation = self.query.relation(alias)
        foreign = dict.fromkeys(c for e in expressions for c in e.find_all(exp.Column) if c.table != alias)
        first = sum(c.name.startswith(MET) for c in relation.columns)
        names = {column: f"{MET}{n}" for n, column in enumerate(foreign, first)}
        more = tuple(replace(self._column(c), name=name) for c, name in names.items())
        rows = exp.select(sql.everything(alias), *(exp.alias_(c.copy(), n, quoted=True) for c, n in names.items()))
        rows = rows.from_(relation.source.copy())
        for step in path:
            equal = [sql.equal(mine.expression.copy(), theirs.expression.copy()) for mine, theirs in step.pairs]
            rows = sql.join(rows, _rows(self.query.relation(step.relation)), equal, "left")
        changed = replace(relation, source=sql.aliased(rows, alias), columns=(*relation.columns, *more))
        keys = (Key(replace(self.query.relation(step.relation), late_filters=()), step.key) for step in path)
        query = replace(
            self.query,
            relations=tuple(changed if r.alias == alias else r for r in self.query.relations),
            relied=(*self.query.relied, *(key for key in keys if key not in self.query.relied)),
        )
        return query, [_over(alias, e, names) for e in expressions], alias

    def _column(self, column: exp.Column) -> Column:
        return next(c for c in self.query.relation(column.table).columns if c.name == column.name)


def _over(alias: str, expression: exp.Expression, names: Mapping[exp.Column, str]) -> exp.Expression:
    """With the columns that were brought."""
    return expression.transform(
        lambda node: sql.named(names[node], alias) if isinstance(node, exp.Column) and node in names else node
    )


def _rows(relation: Relation) -> exp.Expression:
    """The rows that can be a partner. Conditions of WHERE on a LEFT JOINed relation are applied after the join."""
    if not relation.filters:
        return relation.source.copy()
    rows = exp.select(sql.everything(relation.alias)).from_(relation.source.copy())
    return sql.aliased(rows.where(*(f.copy() for f in relation.filters)), relation.alias)


# -- keys --------------------------------------------------------------------------------------------------------------


def check_relied(facts: Facts, query: FeatureQuery) -> None:
    """Inside the snapshot: the keys that the reading relied on must be unique in these rows too."""
    for key in query.relied:
        if not facts.of(key.relation).is_unique(key.terms):
            terms = ", ".join(t.expression.sql(query.dialect) for t in key.terms)
            raise DataError(
                f"the key {terms} is no longer unique: rows of {key.relation.alias} changed while the query was read",
                detail="an output or a condition over several relations relies on this key",
                hint="run the command again",
            )
