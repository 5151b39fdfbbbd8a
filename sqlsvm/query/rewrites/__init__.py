"""FeatureQuery -> FeatureQuery: each file is a rule that changes a query and none of its rows.

A rule that does not apply returns the query as it was. A rule that options ask for is made by a function of them, such
as `by_column("dest")`. What a rule must know of the data it asks of `Facts`.
"""

from functools import reduce

from sqlsvm.query.facts import Facts, Rule
from sqlsvm.query.ir import FeatureQuery
from sqlsvm.query.rewrites.kinds import implied_filters, kinds, plain_keys, told, whole_sums
from sqlsvm.query.rewrites.meet import meet
from sqlsvm.query.rewrites.order import bridges

RULES: tuple[Rule, ...] = (bridges, meet, whole_sums, kinds, plain_keys, implied_filters, told)
"""Those that every query meets after it is taken apart, in this order."""


def ruled(query: FeatureQuery, facts: Facts) -> FeatureQuery:
    return rewritten(query, facts, *RULES)


def rewritten(query: FeatureQuery, facts: Facts, *rules: Rule) -> FeatureQuery:
    return reduce(lambda changed, rule: rule(changed, facts), rules, query)
