"""GROUP BY over a join -> the same groups without the join (fold.py).

values.py: an expression over several relations is a sum of products. aggregates.py: what an aggregate needs.
blocks.py: the join is a tree. carried.py, messages.py: each table is grouped before it meets the next one.
"""

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Engine
from sqlsvm.query.guards import groups_rows
from sqlsvm.query.ir import MADE
from sqlsvm.query.sources import from_items


def folded(tree: exp.Select, engine: Engine) -> exp.Select:
    """The same tree, with a SELECT that groups tables in place of each that groups a join. Where a whole join is made,
    with the number of its rows."""
    made = any(sql.noted(item, MADE) for item in from_items(tree))
    if not made and not any(map(groups_rows, tree.find_all(exp.Select))):
        return tree
    from sqlsvm.query.folding.fold import all_folded  # most queries group nothing

    return all_folded(tree, engine)
