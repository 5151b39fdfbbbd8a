"""What a row of a sample tells of its row of the label's relation: which one it is, its entity, and its time.

They are numbers, and the join repeats them as it repeats the label. So parts of a sample can be made of whole rows of
the label's relation: those of one entity together, or one time after the other.
"""

from dataclasses import replace

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.query.facts import Facts, Rule
from sqlsvm.query.ir import ENTITY, ROW, TIME, FeatureQuery
from sqlsvm.query.rewrites.split import deciding, row_hash

DIFFERENT = 2**31 - 1
"""So many numbers there are: of the rows of a sample hardly two get the same."""


def telling(by: str | None) -> Rule:
    """With the marks of each row. `by`: the column whose values are the entities."""

    def rule(query: FeatureQuery, facts: Facts) -> FeatureQuery:
        def number(by: str | None) -> exp.Expression:
            return sql.double(row_hash(query, facts, deciding(query, by, facts), 0, DIFFERENT))

        entity = {} if by is None else {ENTITY: number(by)}
        time = {TIME: query.time.value} if query.time else {}
        return replace(query, marks={ROW: number(None), **entity, **time})

    return rule
