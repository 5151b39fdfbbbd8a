"""What a LEFT JOIN numbers, so that it is an inner join on these numbers (`LeftJoin.numbers`)."""

from dataclasses import replace

from sqlglot import exp

from sqlsvm.query.facts import Facts, Terms
from sqlsvm.query.ir import FeatureQuery, LeftJoin, LookedFor, Relation


def numbers(query: FeatureQuery, facts: Facts, *, lasting: bool = False) -> FeatureQuery:
    """Call it inside the snapshot. `lasting`: also for rows of the parent that come later."""
    for join in query.left_joins:
        relation = query.relation(join.relation)
        found = facts.of(relation.partners).key(join.key)
        if found.largest <= 1:
            query = _with(query, replace(join, numbers="rows"))
            if not relation.filters:
                facts.of(relation).counted = found.rows + 1.0
        elif not lasting and _are_told_apart(facts, query.relation(join.parent), join):
            looked = LookedFor(query.relation(join.parent), join.equalities)
            query = _with(query, replace(join, numbers="parents")).with_relation(replace(relation, looked_for=looked))
    return query


def _are_told_apart(facts: Facts, parent: Relation, join: LeftJoin) -> bool:
    """Does each row of the parent look for another key? One may look for NULL."""
    terms: Terms = tuple(e.left for e in join.equalities)
    plain = all(isinstance(term.expression, exp.Column) for term in join.key)  # it is NULL if nothing is found
    return plain and facts.of(parent).is_unique(terms) and facts.of(parent).key(terms).nulls <= 1


def _with(query: FeatureQuery, changed: LeftJoin) -> FeatureQuery:
    joins = (changed if join.relation == changed.relation else join for join in query.left_joins)
    return replace(query, left_joins=tuple(joins))
