"""The columns of a query over its join, as numbers: see `compile/columns.py`."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sqlsvm.compile import columns as compiled
from sqlsvm.compile.columns import Columns, NumberFacts
from sqlsvm.plan.join_tree import JoinTree, join_tree
from sqlsvm.plan.preflight import checked
from sqlsvm.query import Feature, FeatureQuery
from sqlsvm.run.checks import check_weight_of
from sqlsvm.run.measuring import read_products
from sqlsvm.run.workspace import Workspace
from sqlsvm.solve.arrays import Array

CONSTANT = 1e-12  # a variance that is a smaller share of the mean square comes from rounding


@dataclass(frozen=True)
class JoinFacts:
    rows: float
    numbers: tuple[NumberFacts, ...]


def read_facts(work: Workspace, columns: Columns) -> JoinFacts:
    """This makes the tables of totals and leaves them."""
    counts = compiled.counts_of(columns)
    messages = list(counts.messages())
    work.run((*compiled.prepared(columns), *messages, *compiled.totals(columns, counts)))
    work.drop([s.table for s in messages if s.table])
    rows, found = work.ask(compiled.rows_of_join(columns)), dict[int, NumberFacts]()
    for node in filter(columns.numbers_of, range(len(columns.tree.nodes))):
        found |= work.ask(compiled.measures(columns, node))
    return JoinFacts(rows, tuple(found[c.place] for c in columns.numbers))


def tree_of(work: Workspace, query: FeatureQuery) -> JoinTree:
    """The tree of a query whose weights are no less than 0 in the join."""
    catalog = checked(work.facts, query)
    tree = join_tree(catalog.query, catalog)

    def weighing(mark: Feature) -> float:
        """The rows of the join if the rows of a relation weigh this."""
        with work.scratch():
            return read_facts(work, Columns(tree, (), (), None, mark)).rows

    if query.weight:
        check_weight_of(work, query, query.weight, weighing)
    return tree


LABEL = ""  # the name of the label as a number, among the members: no column has it


def members_of(columns: Columns) -> dict[str, tuple[int, ...]]:
    """The places of the numbers that add up to each column, by its name."""
    found: dict[str, tuple[int, ...]] = {}
    for i, c in enumerate(columns.numbers):
        name = LABEL if c is columns.target else c.name
        found[name] = (*found.get(name, ()), i)
    return found


@dataclass(frozen=True)
class Joint:
    """The means of products of columns, each less its mean, over the join. A column is a number, or the sum of some."""

    sums: Array  # of all products of two factors, at their places
    members: tuple[tuple[int, ...], ...]  # the numbers that add up to each column
    partial: frozenset[int]  # the numbers that are not known in all rows
    constant: frozenset[int]  # those that have one value

    @cached_property
    def covariance(self) -> Array:
        """Over all rows; a number that is not known is its mean."""
        at = [compiled.CONSTANT, *self._values]
        sums = self.sums[np.ix_(at, at)]
        n = sums[0, 0]
        found = self._added @ (sums[1:, 1:] / n - np.outer(sums[0, 1:], sums[0, 1:]) / n**2) @ self._added.T
        return np.asarray((found + found.T) / 2.0)

    @cached_property
    def deviations(self) -> Array:
        """Over the rows where a column is known; nan for one that is in no row."""
        found: Array = np.sqrt(np.diag(self._variances))
        return found

    @cached_property
    def correlations(self) -> Array:
        """Each over the rows where both columns are known; nan where one has a single value in them, or where a sum
        has a NULL term, or is next to a column that has NULLs."""
        rows, sums = self._rows, self._sums
        with np.errstate(invalid="ignore", divide="ignore"):
            covariance = self._products / rows - sums * sums.T / rows**2
            size = np.sqrt(self._variances * self._variances.T)
            found: Array = np.where(size > 0.0, np.clip(covariance / size, -1.0, 1.0), np.nan)
        return found

    @cached_property
    def _variances(self) -> Array:
        """Of the column of a row of the matrix, over the rows where that of the column of the matrix is known too."""
        rows = self._rows
        with np.errstate(invalid="ignore", divide="ignore"):
            squares = self._squares / rows
            found: Array = squares - (self._sums / rows) ** 2
            found[found <= CONSTANT * squares] = 0.0
        single = np.array([self.constant.issuperset(own) for own in self.members], dtype=bool)
        found[single & np.isfinite(np.diag(found)), :] = 0.0
        return found

    @cached_property
    def _values(self) -> list[int]:
        numbers = sorted({i for own in self.members for i in own})
        return [compiled.place(i, compiled.VALUE) for i in numbers]

    @cached_property
    def _added(self) -> Array:
        """A row for each column, with 1 for the numbers that it adds up."""
        found = np.zeros((len(self.members), len(self._values)))
        for row, own in zip(found, self.members, strict=True):
            row[[self._values.index(compiled.place(i, compiled.VALUE)) for i in own]] = 1.0
        return found

    @cached_property
    def _known(self) -> list[int]:
        """For each column the place of the factor that says where it is known."""
        single = ((own[0], len(own) == 1 and own[0] in self.partial) for own in self.members)
        return [compiled.place(i, compiled.KNOWN) if is_partial else compiled.CONSTANT for i, is_partial in single]

    @cached_property
    def _unknown(self) -> Array:
        """Sums that are not known, because one of the terms is not."""
        return np.array([len(own) > 1 and not self.partial.isdisjoint(own) for own in self.members], dtype=bool)

    @cached_property
    def _rows(self) -> Array:
        found: Array = self.sums[np.ix_(self._known, self._known)].copy()
        found[self._unknown, :] = found[:, self._unknown] = np.nan
        return found

    @cached_property
    def _sums(self) -> Array:
        """Of a column over the rows where another is known."""
        return np.asarray(self._added @ self.sums[np.ix_(self._values, self._known)])

    @cached_property
    def _products(self) -> Array:
        return np.asarray(self._added @ self.sums[np.ix_(self._values, self._values)] @ self._added.T)

    @cached_property
    def _squares(self) -> Array:
        """Of a column over the rows where another is known: where that is everywhere, the product with itself."""
        found = np.repeat(np.diag(self._products)[:, None], len(self.members), axis=1)
        for column, place in enumerate(self._known):
            if place != compiled.CONSTANT:
                alone = [compiled.place(own[0], compiled.SQUARE) for own in self.members]
                several = np.array([len(own) > 1 for own in self.members])
                found[:, column] = np.where(several, np.nan, self.sums[alone, place])
        return found


def read_joint(
    work: Workspace, columns: Columns, facts: JoinFacts, members: tuple[tuple[int, ...], ...], *, pairwise: bool = True
) -> Joint:
    """`pairwise`: each pair over the rows where both are known. Without, only the covariance is known."""
    every = range(len(columns.numbers))
    means = {i: 0.0 if np.isnan(m := facts.numbers[i].mean) else m for i in every}
    partial = frozenset(i for i in every if facts.numbers[i].known < facts.rows) if pairwise else frozenset()
    constant = frozenset(i for i in every if facts.numbers[i].least == facts.numbers[i].largest)
    return Joint(read_products(work, compiled.factors(columns, means, partial)), members, partial, constant)
