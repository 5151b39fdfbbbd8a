"""`sqlsvm describe`: what is in the columns of a join that is not made."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np

from sqlsvm.compile import columns as compiled
from sqlsvm.compile.columns import Category, Columns, columns_of
from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError
from sqlsvm.model.plain import plain
from sqlsvm.plan.design import as_categories
from sqlsvm.plan.target import Binary, Classes, Target, if_classes, named, numeric
from sqlsvm.query import Feature, FeatureQuery
from sqlsvm.query.read_query import Roles, read_query
from sqlsvm.run.columns import CONSTANT, LABEL, JoinFacts, Joint, members_of, read_facts, read_joint, tree_of
from sqlsvm.run.derived import reading
from sqlsvm.run.offload import brought
from sqlsvm.run.training import anew
from sqlsvm.run.workspace import Workspace
from sqlsvm.solve.arrays import Array

steps = logging.getLogger(__name__)

TOP = 5  # categories that are named


@dataclass(frozen=True)
class Histogram:
    edges: tuple[float, ...]
    rows: tuple[float, ...]


@dataclass(frozen=True)
class CategoryFacts:
    value: object
    rows: float
    share: float  # of all rows of the join
    label_mean: float | None  # of the rows where the label is known; of two classes, the share of the positive one


@dataclass(frozen=True)
class ColumnFacts:
    name: str
    relations: tuple[str, ...]
    kind: str
    nulls: float | None  # this and what follows is None where it is not known
    odd: float | None = None  # rows with NaN, infinity, or a number beyond 1e100. The measures leave them out.
    mean: float | None = None
    deviation: float | None = None
    least: float | None = None
    largest: float | None = None
    correlation: float | None = None  # with the label; of categories the correlation ratio, which has no sign
    quantiles: Mapping[float, float] = field(default_factory=dict)
    histogram: Histogram | None = None
    distinct: float | None = None
    categories: tuple[CategoryFacts, ...] = ()


@dataclass(frozen=True)
class Description:
    rows: float
    weighted: bool
    label: str | None
    compared: str | None  # the label if columns are compared with it: not if it has more than two classes
    classes: bool  # has the label two classes? Then its number is 1 in the positive one and 0 in the other
    features: tuple[ColumnFacts, ...]  # the label is the last one
    numbers: tuple[str, ...]
    correlations: Array  # of these columns with each other; nan where there is none


@anew
def describe(
    engine: Engine,
    text: str,
    *,
    positive: str | None = None,
    values: int = TOP,
    offload: bool | None = None,
    **roles: Unpack[Roles],
) -> Description:
    """From one snapshot of the tables. A row of weight w counts as w rows."""
    query = read_query(engine, text, **roles)
    with brought(engine, query, offload) as (here, query), reading(here, query) as (work, query):
        steps.info("looking at rows and keys of the tables")
        columns, target = _columns(work, query, positive)
        steps.info("reading the columns of the join")
        facts = read_facts(work, columns)
        members = members_of(columns)
        found = tuple(_Reader(work, columns, target, facts, members, values).read(query))
        steps.info("reading the products of the columns")
        joint = read_joint(work, columns, facts, tuple(members.values()))
    return _description(query, target, facts.rows, found, tuple(members), joint)


@anew
def histograms(engine: Engine, query: FeatureQuery, names: Sequence[str]) -> dict[str, Histogram]:
    """Those of the numbers that are no sums, over the join."""
    wanted = tuple(f for f in query.features if f.name in names and f.name not in query.sums)
    if not wanted:
        return {}
    query = replace(query, features=wanted, label=None, audited=())
    with reading(engine, query) as (work, query):
        columns, _ = _columns(work, query, None)
        facts = read_facts(work, columns)
        places = {c.name: i for i, c in enumerate(columns.numbers) if facts.numbers[i].known > 0.0}
        varied = {name: i for name, i in places.items() if facts.numbers[i].least != facts.numbers[i].largest}
        return {name: _histogram(work, columns, facts, i) for name, i in varied.items()}


def _columns(work: Workspace, query: FeatureQuery, positive: str | None) -> tuple[Columns, Target | None]:
    target = _target(work.engine, query, positive) if query.label else None
    return columns_of(tree_of(work, query), _described(query), target), target


def _target(engine: Engine, query: FeatureQuery, positive: str | None) -> Target | None:
    """A number that names no two classes is one, however few values it has. Other labels of several classes are no
    number at all."""
    label = named(query.label)
    try:
        found = if_classes(engine, query, positive)
    except DataError:
        if label.kind != "numeric" or positive is not None:
            raise
        found = None
    if isinstance(found, Classes) and label.kind != "numeric":
        return None
    return found if isinstance(found, Binary) else numeric(engine, query, label)


def _described(query: FeatureQuery) -> tuple[Feature, ...]:
    return (*query.features, *([query.label] if query.label else []))


def _histogram(work: Workspace, columns: Columns, facts: JoinFacts, i: int) -> Histogram:
    f = facts.numbers[i]
    width = (f.largest - f.least) / compiled.BINS or 1.0
    rows = work.ask(compiled.histogram(columns, columns.numbers[i], f.least, width))
    edges = f.least + width * np.arange(compiled.BINS + 1)
    return Histogram(tuple(edges.tolist()), tuple(rows.tolist()))


# -- one column --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Reader:
    work: Workspace
    columns: Columns
    target: Target | None
    facts: JoinFacts
    members: Mapping[str, tuple[int, ...]]
    top: int

    def read(self, query: FeatureQuery) -> Iterator[ColumnFacts]:
        by_name = {c.name: c for c in self.columns.categories}
        for name, kind, relations in _listed(query):
            if name in by_name:
                yield self._category(by_name[name], relations)
            else:
                yield self._number(name, kind, relations)

    def _number(self, name: str, kind: str, relations: tuple[str, ...]) -> ColumnFacts:
        own = [self.facts.numbers[i] for i in self.members[name]]
        if len(own) > 1:
            whole = self.facts.rows > 0.0 and all(f.known == self.facts.rows for f in own)
            mean = sum(f.mean for f in own) if whole else None
            return ColumnFacts(name, relations, kind, 0.0 if whole else None, 0.0 if whole else None, mean)
        (f,) = own
        odd = max(self.facts.rows - f.known - f.nulls, 0.0)
        if not f.known > 0.0:
            return ColumnFacts(name, relations, kind, f.nulls, odd)
        i = self.members[name][0]
        found = compiled.quantiles(self.columns, self.columns.numbers[i], f.known)
        values = None if kind == "boolean" else self.work.ask(found)
        bars = _histogram(self.work, self.columns, self.facts, i)
        return ColumnFacts(
            name, relations, kind, f.nulls, odd, f.mean, None, f.least, f.largest, None, values or {}, bars
        )

    def _category(self, c: Category, relations: tuple[str, ...]) -> ColumnFacts:
        size, listed = compiled.categories(self.columns, c, self.top)
        counts, values = self.work.ask(size), self.work.ask(listed)
        rows = values[compiled.TOTAL].astype(float).tolist()
        means = self._label_means(values) or [None] * len(rows)
        named = zip(as_categories(values["v"]), rows, means, strict=True)
        found = tuple(CategoryFacts(v, n, n / self.facts.rows, mean) for v, n, mean in named)
        return ColumnFacts(
            c.name,
            relations,
            "categorical",
            counts["nulls"],
            correlation=self._ratio(counts),
            distinct=counts["distinct"],
            categories=found,
        )

    def _label_means(self, values: Mapping[str, Any]) -> list[float | None]:
        if self.target is None:
            return []
        pairs = zip(values[compiled.CODED].tolist(), values[compiled.LABELLED].tolist(), strict=True)
        return [float(total) / float(n) + self.target.centre if n else None for total, n in pairs]

    def _ratio(self, counts: Mapping[str, float]) -> float | None:
        """The deviation of the means of the label in each category, as a share of the deviation of the label."""
        if self.target is None or not (n := counts[compiled.LABELLED]):
            return None
        total, squares, between = (counts[name] / n for name in (compiled.CODED, compiled.SQUARED, compiled.BETWEEN))
        variance = squares - total**2
        if variance <= CONSTANT * squares:
            return None
        return float(np.sqrt(min(max((between - total**2) / variance, 0.0), 1.0)))


def _listed(query: FeatureQuery) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Name, kind and relations of each column, in order."""
    relations: dict[str, tuple[str, ...]] = {}
    for f in _described(query):
        relations[f.name] = (*relations.get(f.name, ()), f.relation)
    kinds = {f.name: f.kind for f in _described(query)}
    yield from ((name, kinds[name], own) for name, own in relations.items())


# -- all columns -------------------------------------------------------------------------------------------------------


def _description(
    query: FeatureQuery,
    target: Target | None,
    rows: float,
    found: tuple[ColumnFacts, ...],
    names: tuple[str, ...],
    joint: Joint,
) -> Description:
    places = {name: place for place, name in enumerate(names)}
    deviations, correlations = joint.deviations, joint.correlations

    def known(values: Array, *at: int) -> float | None:
        value = float(values[at])
        return None if np.isnan(value) else value

    def joined(f: ColumnFacts) -> ColumnFacts:
        if f.name not in places:
            return f
        here, label = places[f.name], places.get(LABEL)
        is_label = query.label is not None and f.name == query.label.name
        r = None if label is None or is_label else known(correlations, here, label)
        return replace(f, deviation=known(deviations, here), correlation=r)

    shown = [place for name, place in places.items() if name != LABEL]
    return Description(
        rows=rows,
        weighted=query.weight is not None,
        label=query.label.name if query.label else None,
        compared=target.label.name if target else None,
        classes=target is not None and target.signed,
        features=tuple(map(joined, found)),
        numbers=tuple(names[place] for place in shown),
        correlations=correlations[np.ix_(shown, shown)],
    )


def as_json(found: Description) -> dict[str, Any]:
    """The object that `describe --json` prints. What is not known is null."""
    matrix = [[None if np.isnan(r) else r for r in row] for row in found.correlations.tolist()]
    return {
        "rows": found.rows,
        "weighted": found.weighted,
        "label": found.label,
        "features": [_feature_json(f) for f in found.features],
        "correlations": {"features": list(found.numbers), "matrix": matrix},
    }


def _feature_json(f: ColumnFacts) -> dict[str, Any]:
    values = {**vars(f), "relations": list(f.relations)}
    values["quantiles"] = {f"{q:g}": value for q, value in f.quantiles.items()}
    values["histogram"] = vars(f.histogram) if f.histogram else None
    values["categories"] = [vars(c) for c in f.categories]
    return {name: plain(value) for name, value in values.items()}
