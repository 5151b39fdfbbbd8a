"""Equalities -> join variables: one value that several relations share, and what that implies for a single relation."""

from dataclasses import dataclass, replace
from functools import cached_property

from sqlsvm import sql
from sqlsvm.query.ir import FeatureQuery, LeftJoin, Relation, Term


@dataclass(frozen=True)
class Variable:
    """A value that relations share. `match` marks the made-up one that ties a LEFT JOINed relation to its parent."""

    index: int
    terms: tuple[Term, ...]
    match: LeftJoin | None = None

    @cached_property
    def holders(self) -> frozenset[str]:
        return frozenset(t.relation for t in self.terms)

    def at(self, alias: str) -> tuple[Term, ...]:
        """The terms by which one relation spells this variable: they agree in every row (`with_implied_filters`)."""
        return tuple(t for t in self.terms if t.relation == alias)


def join_variables(query: FeatureQuery) -> tuple[Variable, ...]:
    """Union-find over the sides of the inner equalities; a LEFT JOIN adds a variable of its own, because its equality
    does not hold for the rows without a match."""
    leader: dict[Term, Term] = {}

    def find(term: Term) -> Term:
        leader.setdefault(term, term)
        while leader[term] != term:
            term = leader[term]
        return term

    for equality in query.equalities:
        left, right = find(equality.left), find(equality.right)
        if left != right:
            leader[right] = left
    classes: dict[Term, list[Term]] = {}
    for term in list(leader):
        classes.setdefault(find(term), []).append(term)
    inner = [Variable(i, tuple(terms)) for i, terms in enumerate(classes.values())]
    ends = [(j.equalities[0].left, j.equalities[0].right) for j in query.left_joins]
    matches = [Variable(len(inner) + i, ends[i], j) for i, j in enumerate(query.left_joins)]
    return (*inner, *matches)


def with_implied_filters(query: FeatureQuery) -> FeatureQuery:
    """A row in which two spellings of one variable differ (a.x = b.k AND a.y = b.k, but x <> y) can meet nothing: the
    query implies the filter x = y. For the optional side of a LEFT JOIN it holds where WHERE holds, after the join."""
    variables = [v for v in join_variables(query) if v.match is None]

    def strengthened(relation: Relation) -> Relation:
        spelled = [v.at(relation.alias) for v in variables if relation.alias in v.holders]
        agree = tuple(
            sql.equal(first.expression.copy(), other.expression.copy())
            for first, *others in spelled
            for other in others
        )
        if query.is_optional(relation.alias):
            return replace(relation, late_filters=(*relation.late_filters, *agree))
        return replace(relation, filters=(*relation.filters, *agree))

    return replace(query, relations=tuple(strengthened(r) for r in query.relations))
