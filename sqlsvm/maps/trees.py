"""trees:NUMBER:LEAVES, boosted trees that grow on a sample of the join (He et al. 2014). Each has columns of one bag,
whose rows meet one row of each of its tables: trees of the label's bag come first, and those of each other one begin at
their scores. A column is a tree; where passes are dear, it is the sum of some trees that follow each other."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from itertools import count

import numpy as np
from sqlglot import exp

from sqlsvm import sql, words
from sqlsvm.engine.base import Values
from sqlsvm.maps import formula
from sqlsvm.maps.asked import Array, Asked
from sqlsvm.maps.boosting import Boosting, Split, Tree
from sqlsvm.maps.mapped import TREES, Code, Mapped
from sqlsvm.terminal import NOTE

steps = logging.getLogger(__name__)

NUMBER, LEAVES = 100, 8
COLUMNS = 10  # that the trees of a bag make, if not all rows of the join are read here: a pass adds up each of them
ROWS = 30_000  # to grow on
FREQUENT = 20  # a category in fewer rows is like a missing one


def trees(asked: Asked) -> Iterator[Mapped]:
    number, leaves = asked.whole(0, "NUMBER", 1, 1000, NUMBER), asked.whole(1, "LEAVES", 2, 64, LEAVES)
    usable = [f for f in asked.query.features if f.name not in asked.query.sums]
    found = asked.join.labelled([f for f in usable if f.spelling == "exact"], ROWS)
    grows = found.grows
    if not grows.any():
        said = words.said(f"⟦map {asked.map}⟧")
        steps.log(NOTE, "note: %s: %s has one value, so no rows are before others", said, asked.query.time)
        return
    codes = {
        name: _codes(values[grows], found.y[grows]) for name, values in found.columns.items() if found.is_category(name)
    }
    names, x = list(found.columns), np.column_stack([_numbers(*each, codes) for each in found.columns.items()])
    boosting, place = Boosting(x, found.y, grows, signed=found.signed), count(1)
    for bag in found.bags:
        own = [names.index(name) for name in bag]
        grown = boosting.grow(own, number, leaves)
        used = sorted({column for tree in grown for column in _columns(tree)})
        if not grown:
            continue
        arguments = {column: n for n, column in enumerate(used, 1)}
        size = 1 if found.whole else -(-number // COLUMNS)
        parts = (grown[start : start + size] for start in range(0, len(grown), size))
        made = {f"trees{next(place)}": _formula(part, arguments) for part in parts}
        read = tuple(names[column] for column in used)
        yield Mapped(
            f"{TREES}{number}:{leaves}",
            read,
            made,
            (tuple(f"${n}" for n in arguments.values()),),  # so that each is computed once for a row
            replaces=False,
            booleans=tuple(name for name in read if found.kinds[name] == "boolean"),
            codes={name: codes[name] for name in read if name in codes},
            before=found.before,
        )
    if next(place) == 1:
        steps.log(
            NOTE,
            "note: %s: no tree that grows on %s rows is of use on others",
            words.said(f"⟦map {asked.map}⟧"),
            f"{grows.sum():,}",
        )


def _codes(values: Values, y: Array) -> tuple[Code, ...]:
    """A category as a number: the mean label of its rows, less that of all, and closer to 0 where rows are few."""
    known, own = dict[object, list[int]](), y[:, y.var(axis=0).argmax()]
    for row, value in enumerate(values.tolist()):
        if value is not None:
            known.setdefault(value, []).append(row)
    means = {
        v: float((own[rows] - own.mean()).sum() / (len(rows) + FREQUENT))
        for v, rows in known.items()
        if len(rows) >= FREQUENT
    }
    return tuple((value, float(f"{mean:.4g}")) for value, mean in sorted(means.items(), key=lambda each: each[1]))


def _numbers(name: str, values: Values, codes: Mapping[str, tuple[Code, ...]]) -> Array:
    if name not in codes:
        return np.asarray(values, dtype=float)
    known = dict(codes[name])
    return np.array([known.get(value, 0.0) for value in values.tolist()])


def _columns(tree: Tree) -> Iterator[int]:
    if isinstance(tree, Split):
        yield tree.column
        for half in (tree.left, tree.right):
            yield from _columns(half)


def _formula(trees: Sequence[Tree], arguments: Mapping[int, int]) -> str:
    return formula.text_of(sql.plus(*(_case(tree, arguments) for tree in trees)))


def _case(tree: Tree, arguments: Mapping[int, int]) -> exp.Expression:
    """What is not true of a missing number is that it is smaller, or that it is not."""
    if not isinstance(tree, Split):
        return formula.number(tree)
    x, end = formula.argument(arguments[tree.column]), formula.number(tree.below)
    left, right = (_case(half, arguments) for half in (tree.left, tree.right))
    test, yes, no = (sql.at_least(x, end), right, left) if tree.missing_left else (sql.less(x, end), left, right)
    return exp.Case(ifs=[exp.If(this=test, true=yes)], default=no)  # no copy of what is below
