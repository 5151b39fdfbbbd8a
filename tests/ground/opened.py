"""A problem, its oracle, and the naive truth: the user's own query run, every row of it in numpy.

A row of weight k is k rows, so the truth of a weighted query is that of its rows repeated: weights here are whole.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Unpack

import numpy as np
from sqlglot import parse, parse_one

from sqlsvm.compile.copies import working_tables
from sqlsvm.engine.base import Engine, Rows, Values
from sqlsvm.plan.catalog import Catalog
from sqlsvm.plan.design import design
from sqlsvm.plan.join_tree import Link, join_tree
from sqlsvm.plan.plan import Method, Places, Plan
from sqlsvm.plan.scaling import check_values, scaling
from sqlsvm.plan.target import target_of
from sqlsvm.query.facts import Facts
from sqlsvm.query.read_query import read_query
from sqlsvm.query.rewrites.kinds import without_nulls
from sqlsvm.query.rewrites.left_joins import numbers
from sqlsvm.run.data import Data
from sqlsvm.run.join_oracle import JoinOracle, shareable
from sqlsvm.run.measuring import read_moments
from sqlsvm.run.workspace import Workspace, workspace
from sqlsvm.solve.oracle import Cut
from tests.ground import svm
from tests.ground.reference import Joined, naive
from tests.ground.schemas import Wishes, random_world
from tests.typed import asked, look_in, typed

MOST_PLACES = 10_000


@dataclass(frozen=True)
class Wish:
    """How a query is to be trained on, and how its join is to be counted."""

    label: str = "y"
    method: Method = "exact"
    scale: svm.Scale = "none"
    nulls: svm.Nulls = "mean"
    intercept: bool = True
    class_weights: tuple[int, int] = (1, 1)
    weight: str | None = None
    categorical: tuple[str, ...] = ()
    positive: str | None = None
    centre: int | None = None
    """The number of the link where the messages meet; the middle one if None."""
    root: int | None = None
    copied: bool = False
    merged: bool = False
    tables: bool = False
    """Categories stand in tables, few as they are."""
    at_once: bool = False
    """All columns are met and added up in one scan, wherever that is possible."""
    placed: bool = False
    """Scores are looked up by place wherever that is possible, on any engine and however few the rows are."""
    shared: bool = False
    """Buckets share the rows of all bags that may be shared."""
    close: bool = False
    """On the grid, places lie as close together as they can."""
    looked: bool = True
    """A query looks for keys without a partner. If not, a copy of the label's rows leaves out those without one."""


@dataclass(frozen=True)
class Opened:
    """The oracle, addressed by the columns of the truth."""

    problem: Data
    truth: svm.Design

    @cached_property
    def oracle(self) -> JoinOracle:
        return JoinOracle(self.problem)

    @property
    def plan(self) -> Plan:
        return self.problem.plan

    @cached_property
    def places(self) -> Values:
        """Where each coordinate of the oracle is in the truth; -1 for a category that no row of the join has."""
        fold = self.problem.work.engine.fold
        known = {(fold(f, True), c): place for place, (f, c) in enumerate(self.truth.columns)}
        found = [
            (fold(e.feature, True) if e.feature else "", None if e.category is None else spelled(e.category))
            for e in self.problem.scaling.elements()
        ]
        assert known.keys() <= set(found)
        return np.array([known.get(column, -1) for column in found], dtype=int)

    def again(self, **changes: Any) -> "Opened":
        """The same rows and moments under another plan."""
        return replace(self, problem=replace(self.problem, plan=replace(self.plan, **changes)))

    def rooted(self, root: int, centre: int | None = None) -> "Opened":
        tree = self.plan.tree.rerooted(root)
        return self.again(tree=tree, centre=centre_of(tree.links, centre))

    def on_oracle(self, beta: Values) -> Values:
        """A beta of the truth's columns, on the oracle's."""
        here = self.places >= 0
        asked = np.zeros(self.oracle.dimension)
        asked[here] = beta[self.places[here]]
        return asked

    def cut(self, beta: Values, buckets: int | None = None, width: float = 0.0) -> Cut:
        """A pass at beta, with the slope on the truth's columns."""
        here = self.places >= 0
        cut = self.oracle.pass_(self.on_oracle(beta), buckets, width)
        assert not cut.slope[~here].any()
        slope = np.zeros(len(beta))
        slope[self.places[here]] = cut.slope[here]
        return replace(cut, slope=slope)

    def hinge(self, beta: Values) -> svm.Hinge:
        return svm.hinge(self.truth, beta)

    def dyadic(self, rng: np.random.Generator) -> Values:
        """Weights in halves: on features from a small grid, scores are exact and rows lie on the hinge itself."""
        return rng.integers(-2, 3, len(self.truth.columns)) / 2.0

    def normal(self, rng: np.random.Generator) -> Values:
        return rng.normal(size=len(self.truth.columns))


def opened(work: Workspace, text: str, wish: Wish) -> Opened:
    return Opened(opened_problem(work, text, wish), truth(work.engine, text, wish))


def opened_problem(work: Workspace, text: str, wish: Wish) -> Data:
    plan, catalog = planned(work.engine, text, wish)
    work.run(working_tables(plan))
    moments = read_moments(work, plan)
    check_values(plan.design, moments, wish.nulls)
    return Data(work, catalog.query, catalog, plan, moments, scaling(plan.design, moments, wish.scale))


def open_oracle(work: Workspace, text: str, wish: Wish) -> JoinOracle:
    return JoinOracle(opened_problem(work, text, wish))


def plan_of(engine: Engine, text: str, wish: Wish) -> Plan:
    return planned(engine, text, wish)[0]


def planned(engine: Engine, text: str, wish: Wish) -> tuple[Plan, Catalog]:
    query = read_query(engine, text, label=wish.label, weight=wish.weight, categorical=wish.categorical)
    weights = float(wish.class_weights[0]), float(wish.class_weights[1])
    target = replace(target_of(engine, query, "hinge", positive=wish.positive, centred=False), class_weights=weights)
    if wish.nulls == "drop":
        query = without_nulls(query, Facts(engine))
    facts = Facts(engine)
    catalog = Catalog(facts, numbers(query, facts))
    tree = join_tree(catalog.query, catalog, to_count=True)
    if wish.root is not None:
        tree = tree.rerooted(wish.root)
    made = design(catalog, target, intercept=wish.intercept)
    if wish.tables:
        made = replace(made, dictionaries=tuple(replace(d, listed=False) for d in made.dictionaries))
    links = tree.links
    every = frozenset(range(len(tree.nodes)))
    copied = every if wish.copied or wish.merged else frozenset(n for n in every if len(tree.nodes[n]) > 1)
    method = wish.method if links else "exact"
    plan = Plan(tree, made, method, centre_of(links, wish.centre), copied, every if wish.merged else frozenset())
    at_once = wish.at_once and plan.centre is None and not made.dictionaries
    placed = dict(_placed(plan, catalog)) if wish.placed else {}
    looked, shared = frozenset(plan.foreign if wish.looked else ()), shareable(plan) if wish.shared else frozenset()
    return replace(plan, at_once=at_once, looked=looked, placed=placed, shared=shared, close=wish.close), catalog


def _placed(plan: Plan, catalog: Catalog) -> Iterator[tuple[int, Places]]:
    for child, edge in plan.placeable.items():
        variable = plan.tree.variables[edge.on[0]]
        alias = plan.tree.holder(variable, child)
        ends = catalog.of(alias).ends(variable.at(alias)[0]) if catalog.whole(variable) else None
        if ends and Places(*ends).size <= MOST_PLACES:
            yield child, Places(*ends)


def centre_of(links: Sequence[Link], number: int | None = None) -> Link | None:
    """The link of that number, else the middle one."""
    return links[len(links) // 2 if number is None else number] if links else None


@contextmanager
def opened_world(engine: Engine, seed: int, wish: Wish, **wishes: Unpack[Wishes]) -> Iterator[Opened | None]:
    """A random world with a label; None where its join is empty, which is refused before anybody counts. In every
    other world categories stand in tables; in every other pair of worlds scores are looked up by place, and in the
    others columns are added up at once. In every third, copies leave out what has no partner."""
    tables, placed = seed % 2 == 1, wish.placed or seed % 4 >= 2
    at_once = wish.at_once or not placed or seed % 8 >= 6
    wish = replace(wish, tables=wish.tables or tables, placed=placed, at_once=at_once, looked=seed % 3 > 0)
    wanted: Wishes = {"max_relations": 4}
    wanted.update(wishes)
    world = random_world(np.random.default_rng(seed), **wanted)
    assert world.label
    with world.created(engine) as live, workspace(engine) as work:
        text, wish = live.query(engine.dialect), replace(wish, label=world.label.name)
        yield opened(work, text, wish) if len(truth(engine, text, wish).y) else None


def build(engine: Engine, script: str) -> None:
    """Runs statements of PostgreSQL, in the engine's dialect and its first schema."""
    look_in(engine, "main" if engine.dialect == "duckdb" else "public")
    for statement in parse(script, read="postgres"):
        if statement:
            typed(engine, statement)


def truth(engine: Engine, text: str, wish: Wish) -> svm.Design:
    """The rows that are trained on. Centring needs a constant: without an intercept a zero stays a zero."""
    found = svm.design_matrix(joined(engine, text, wish), wish.nulls, wish.scale, wish.intercept)
    if wish.intercept:
        return found
    return replace(found, x=found.x + found.centre / found.width, centre=np.zeros_like(found.centre))


def joined(engine: Engine, text: str, wish: Wish) -> Joined:
    """The rows of the query as it stands, each as often as it weighs."""
    with naive(engine):
        rows = asked(engine, parse_one(text, read=engine.dialect))
    label = _taken(engine, rows, wish.label)
    signs = np.array([_sign(v, wish.positive) for v in label.tolist()])
    times = np.array([wish.class_weights[int(s > 0)] for s in signs.tolist()], dtype=int)
    if wish.weight:
        times = times * _taken(engine, rows, wish.weight).astype(int)
    kept = np.repeat(np.arange(len(signs)), times)
    forced = {engine.fold(name, True) for name in wish.categorical}
    features = {name: _tidy(values, engine.fold(name, True) in forced)[kept] for name, values in rows.items()}
    return Joined({"": kept}, features, signs[kept])


def spelled(value: object) -> str:
    """A category as text: 1 and 1.0 are one."""
    return str(float(value)) if isinstance(value, int | float) else str(value)


def _taken(engine: Engine, rows: Rows, name: str) -> Values:
    """Removes a column that is no feature."""
    return rows.pop(next(n for n in rows if engine.fold(n, True) == engine.fold(name, True)))


def _tidy(values: Values, categorical: bool) -> Values:
    if values.dtype != object and not categorical:
        return values.astype(float)
    return np.array([None if v is None or v != v else spelled(v) for v in values.tolist()], dtype=object)


def _sign(value: object, positive: str | None) -> float:
    if positive is not None:
        return 1.0 if str(value) == positive else -1.0
    assert isinstance(value, int | float)
    return 1.0 if value > 0 else -1.0


def ties(design: svm.Design, beta: Values) -> int:
    """How many rows lie on the hinge itself."""
    return int(np.sum(design.y * (design.x @ beta) == 1.0))


def is_clear(design: svm.Design, beta: Values) -> bool:
    """Is it certain which rows are active? Where scores are rounded, a row near the hinge may be on either side."""
    return bool(np.all(np.abs(1.0 - design.y * (design.x @ beta)) > 1e-9))
