"""Equalities -> join variables: a value that several relations share."""

from dataclasses import dataclass
from functools import cached_property

from sqlsvm.query.ir import FeatureQuery, Term


@dataclass(frozen=True)
class Variable:
    """A value that relations share."""

    index: int
    terms: tuple[Term, ...]

    @property
    def is_found(self) -> bool:
        """Is it the number that a LEFT JOIN finds rows by?"""
        return self.terms[0].is_found

    @cached_property
    def holders(self) -> frozenset[str]:
        return frozenset(t.relation for t in self.terms)

    def at(self, alias: str) -> tuple[Term, ...]:
        """The terms of one relation for this variable. They are equal in every row (`implied_filters`)."""
        return tuple(t for t in self.terms if t.relation == alias)


def join_variables(query: FeatureQuery) -> tuple[Variable, ...]:
    """Union-find over the sides of the equalities. A LEFT JOIN is one on the number of what it finds."""
    leader: dict[Term, Term] = {}

    def find(term: Term) -> Term:
        leader.setdefault(term, term)
        while leader[term] != term:
            term = leader[term]
        return term

    for equality in (*query.equalities, *(j.found for j in query.left_joins)):
        left, right = find(equality.left), find(equality.right)
        if left != right:
            leader[right] = left
    classes: dict[Term, list[Term]] = {}
    for term in list(leader):
        classes.setdefault(find(term), []).append(term)
    return tuple(Variable(i, tuple(terms)) for i, terms in enumerate(classes.values()))


def inner_variables(query: FeatureQuery) -> list[Variable]:
    """The variables of inner joins."""
    return [v for v in join_variables(query) if not v.is_found]
