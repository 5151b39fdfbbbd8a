"""Equalities -> join variables: a value that several relations share."""

from dataclasses import dataclass
from functools import cached_property

from sqlsvm.query.ir import FeatureQuery, LeftJoin, Term


@dataclass(frozen=True)
class Variable:
    """A value that relations share. A variable with a `match` is made up: it joins a LEFT JOINed relation to its
    parent."""

    index: int
    terms: tuple[Term, ...]
    match: LeftJoin | None = None

    @cached_property
    def holders(self) -> frozenset[str]:
        return frozenset(t.relation for t in self.terms)

    def at(self, alias: str) -> tuple[Term, ...]:
        """The terms of one relation for this variable. They are equal in every row (`implied_filters`)."""
        return tuple(t for t in self.terms if t.relation == alias)


def join_variables(query: FeatureQuery) -> tuple[Variable, ...]:
    """Union-find over the sides of the inner equalities. A LEFT JOIN gets its own variable, because its equality does
    not hold for rows without a match."""
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


def inner_variables(query: FeatureQuery) -> list[Variable]:
    """The variables of inner joins."""
    return [v for v in join_variables(query) if v.match is None]
