"""Which LEFT JOINs find one row at most: then what they find is numbered row by row, else key by key."""

from dataclasses import replace

from sqlsvm.query.facts import Facts
from sqlsvm.query.ir import FeatureQuery, LeftJoin


def finds_one(query: FeatureQuery, facts: Facts) -> FeatureQuery:
    """Call it inside the snapshot."""

    def known(join: LeftJoin) -> LeftJoin:
        relation = query.relation(join.relation)
        found = facts.of(relation.partners).key(join.key)
        if not relation.filters:
            facts.of(relation).counted = found.rows + 1.0
        return replace(join, finds_one=found.largest <= 1)

    return replace(query, left_joins=tuple(map(known, query.left_joins))) if query.left_joins else query
