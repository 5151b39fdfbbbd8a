"""The size of the join and the moments of its features, read from the database."""

from collections.abc import Iterator

import numpy as np

from sqlsvm.compile.count import down_table
from sqlsvm.compile.moments import EVERY, category_moments_name, counts_of, moments_by, moments_name
from sqlsvm.compile.partners import PARTNERS, looked, lost, missing, partners
from sqlsvm.compile.statement import Statement
from sqlsvm.design import Moments
from sqlsvm.plan import Plan
from sqlsvm.program import Workspace


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
        if (rows := answers.get(category_moments_name(d.number))) is None:
            for name in EVERY:
                found[name][here] = np.nan
            continue
        places = rows["n"].astype(int) - 1
        of_one = {"total": rows["total"], "squares": rows["total"], "largest": 1.0, "negative": rows["negative"]}
        for name in measured:
            found[name][places] = of_one[name]
    root = answers[moments_name(plan.label_node)]
    n, n_negative, n_unlabelled = (float(root[name][0]) for name in ("n", "n_negative", "n_unlabelled"))
    return Moments(n, n_negative, n_unlabelled, *(found[m] for m in ("total", "squares", "largest", "negative")))


def _known_moments(work: Workspace, plan: Plan, measured: frozenset[str]) -> Iterator[Statement]:
    """The moments, after a look at which keys always find a partner. What that look has made already is not made again,
    unless more is known now than the messages then were to say."""
    counts, children = counts_of(plan, signed="negative" in measured), looked(plan, measured)
    answers = work.run(partners(counts, children))
    known = counts.without(child for child in children if not answers[PARTNERS][lost(child)][0])
    made = set(map(down_table, children))
    for s in missing(known, children, moments_by(plan, known, measured)):
        if s.table in made:
            work.drop([s.table])
        yield s
