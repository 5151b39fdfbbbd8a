"""The size of the join and the moments of its features, read from the database."""

from collections.abc import Iterator
from dataclasses import replace
from math import floor

import numpy as np

from sqlsvm.compile.count import down_table
from sqlsvm.compile.moments import EVERY, RANGE, category_moments_name, counts_of, moments, moments_by, moments_name
from sqlsvm.compile.partners import PARTNERS, looked, lost, missing, partners
from sqlsvm.compile.statement import Statement
from sqlsvm.errors import DataError
from sqlsvm.plan.design import Coordinate
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.scaling import Moments, flat
from sqlsvm.run.workspace import Workspace


def read_moments(work: Workspace, plan: Plan, measured: frozenset[str] = EVERY) -> Moments:
    """N, N- and the moments of every coordinate; nan for what was not measured."""
    with work.scratch():
        answers = work.run(_known_moments(work, plan, measured))
    design, size = plan.design, plan.design.size
    found = {name: np.full(size, 0.0 if name in measured else np.nan) for name in EVERY}
    for node in range(len(plan.tree.nodes)):
        for c in plan.coordinates(node):
            for name in measured:
                found[name][c.index] = answers[moments_name(node)][f"{name}{c.index}"][0]
    for d in design.dictionaries:
        here = slice(d.offset, d.offset + len(d.categories))
        rows = answers.get(category_moments_name(d.number))
        if rows is None:
            for values in found.values():
                values[here] = np.nan
            continue
        places = rows["n"].astype(int) - 1
        of_one = {"total": rows["total"], "squares": rows["total"], "largest": 1.0, "negative": rows["negative"]}
        for name in measured:
            found[name][places] = of_one[name]
    root = answers[moments_name(plan.label_node)]
    n, n_negative, n_unlabelled = (float(root[name][0]) for name in ("n", "n_negative", "n_unlabelled"))
    return Moments(n, n_negative, n_unlabelled, *(found[m] for m in ("total", "squares", "largest", "negative")))


SAME = 1e-13
"""A smaller relative difference between two numbers comes from rounding."""


def with_constants(work: Workspace, plan: Plan, found: Moments) -> Moments:
    """Moments in which a constant has no variance. A feature whose mean is much larger than its deviation is refused:
    its sums have lost the digits in which rows differ, and prove nothing."""
    suspects = flat(plan.design, found)
    if not suspects:
        return found
    with work.scratch():
        answers = work.run(moments(plan, RANGE))
    squares = found.squares.copy()
    for c in suspects:
        rows = answers[moments_name(plan.tree.node_of(c.relation))]
        least, most = (float(rows[f"{end}{c.index}"].astype(float)[0]) for end in ("least", "most"))
        if most - least > SAME * max(abs(least), abs(most)):
            raise _too_far_from_zero(plan, c, least, most)
        squares[c.index] = 0.0
    return replace(found, squares=squares)


def _too_far_from_zero(plan: Plan, c: Coordinate, least: float, most: float) -> DataError:
    query = plan.tree.query
    own = next(f.expression for f in query.features if f.name == c.feature).sql(query.dialect)
    return DataError(
        f"feature {c.feature} is between {least:.15g} and {most:.15g}: its mean is much larger than its deviation",
        detail="sums of such numbers lose the digits in which they differ",
        hint=f"subtract a constant in the query: {own} - {floor(least)} AS {c.feature}",
    )


def _known_moments(work: Workspace, plan: Plan, measured: frozenset[str]) -> Iterator[Statement]:
    """The moments, after a query that finds the keys that always have a partner. Its tables are used again, unless
    they hold too little."""
    counts, children = counts_of(plan, apart="negative" in measured), looked(plan, measured)
    answers = work.run(partners(counts, children))
    known = counts.without(child for child in children if not answers[PARTNERS][lost(child)][0])
    made = set(map(down_table, children))
    for s in missing(known, children, moments_by(plan, known, measured)):
        if s.table in made:
            work.drop([s.table])
        yield s
