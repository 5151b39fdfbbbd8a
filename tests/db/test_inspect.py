"""`inspect` against the naive join: random schemas by the hundred, and joins far too large to make."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from sqlglot import parse_one

from sqlsvm.ask.inspect import Inspection, as_json, edge_left_join, inspect
from sqlsvm.engine.base import Engine
from sqlsvm.plan.catalog import EdgeFacts
from sqlsvm.plan.join_tree import Edge, JoinTree
from tests.ground import parts
from tests.ground.reference import Reference, Side
from tests.ground.schemas import World, random_world, worlds
from tests.ground.world import noted
from tests.typed import meant, typed

SEEDS = 500
BLOCK = 50


@pytest.mark.slow
@pytest.mark.thin(20)
@pytest.mark.parametrize("start", range(0, SEEDS, BLOCK))
def test_random_schemas(shared_engine: Engine, start: int) -> None:
    """On either engine every other one."""
    for seed in range(start + (shared_engine.dialect == "duckdb"), start + BLOCK, 2):
        with noted(f"seed {seed}"):
            check(shared_engine, seeded(seed))


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(world=worlds(max_relations=4, max_rows=6))
def test_schemas_that_shrink(shared_engine: Engine, world: World) -> None:
    check(shared_engine, world)


def seeded(seed: int) -> World:
    """Few large ones: they cost in proportion to their relations."""
    return random_world(np.random.default_rng(seed), max_relations=(3, 3, 3, 4, 3, 3, 3, 4, 3, 6)[seed // 2 % 10])


def check(engine: Engine, world: World) -> None:
    with world.created(engine) as live:
        found = inspect(engine, live.query(engine.dialect), label=live.label.name if live.label else None)
        truth = Truth(engine, live, found)
        truth.check_sizes()
        truth.check_edges()
        truth.check_bags()


class Truth:
    """One world's Inspection, compared with its Reference."""

    def __init__(self, engine: Engine, world: World, found: Inspection) -> None:
        self.engine, self.world, self.found, self.tree = engine, world, found, found.tree
        self.reference = Reference(engine, world)
        self.written = {engine.fold(i.alias, True): i.alias for i in world.items}

    def node(self, number: int) -> list[str]:
        """The relations of a node, as the world calls them."""
        return [self.written[a] for a in self.tree.nodes[number]]

    def check_sizes(self) -> None:
        assert self.found.join_rows == self.reference.join_rows
        for r in self.found.relations:
            alias = self.written[r.alias]
            assert (r.rows, r.rows_surviving) == (self.reference.rows(alias), self.reference.survivors(alias)), alias
        if self.found.label:
            label = self.found.label
            assert {-1: label.negative, 1: label.positive} == self.reference.label_rows
            assert label.nulls == 0

    def check_edges(self) -> None:
        for edge, facts in zip(self.tree.edges, self.found.edges, strict=True):
            assert measured(facts) == self.edge(edge), edge
            left_join = edge_left_join(self.tree, edge)
            if left_join:
                assert edge.unique_at(self.tree.node_of(left_join.relation)) or not left_join.finds_one
            else:
                assert (edge.unique_left, edge.unique_right) == (facts.max_left <= 1, facts.max_right <= 1)
            assert edge.kind == ("foreign-key" if edge.unique_left or edge.unique_right else "many-to-many")

    def edge(self, edge: Edge) -> tuple[float, ...]:
        left_join = edge_left_join(self.tree, edge)
        if left_join:
            parent, relation = self.written[left_join.parent], self.written[left_join.relation]
            sides = Reference(self.engine, parts.reparented(self.world, relation, parent)).edge(parent, relation)
            assert sides
            return flat(*(sides if left_join.parent in self.tree.nodes[edge.left] else sides[::-1]))
        if not edge.on:
            counts = [len(parts.rows(self.engine, self.world, n, n)) for n in map(self.node, (edge.left, edge.right))]
            return (*counts, counts[0] * (not counts[1]), counts[1] * (not counts[0]), 0)
        ours, theirs = self.node(edge.left), self.node(edge.right)
        if len(ours) == len(theirs) == 1:
            sides = self.reference.edge(ours[0], theirs[0])
            assert sides
            return flat(*sides)
        return flat(*self.block_sides(ours, theirs))

    def block_sides(self, ours: Sequence[str], theirs: Sequence[str]) -> tuple[Side, Side]:
        """Nodes of several relations: their rows are those of their own join."""
        mine, other = [], []
        for terms in self.reference.classes:
            first, second = ([t.expression for t in terms if t.relation in n] for n in (ours, theirs))
            if first and second:
                mine.append(first[0])
                other.append(second[0])
        left, right = (parts.keys(self.engine, self.world, n, t) for n, t in ((ours, mine), (theirs, other)))
        return parts.side(left, right), parts.side(right, left)

    def check_bags(self) -> None:
        """A row of the core is in the join of its bag once, or not at all; and fewer bags there cannot be."""
        tree = self.tree
        assert tree.acyclic == parts.is_acyclic(self.world)
        assert sorted(n for bag in tree.bags for n in bag) == list(range(len(tree.nodes)))
        assert len(tree.bags) == fewest_bags(tree)
        for core, *others in tree.bags:
            if others:
                whole = [a for n in (core, *others) for a in self.node(n)]
                cores = parts.rows(self.engine, self.world, self.node(core), whole)
                assert len(set(cores)) == len(cores)


def measured(facts: EdgeFacts) -> tuple[float, ...]:
    return facts.max_left, facts.max_right, facts.dangling_left, facts.dangling_right, facts.null_keys


def flat(left: Side, right: Side) -> tuple[float, ...]:
    keys = left.null_keys + right.null_keys
    return left.multiplicity, right.multiplicity, left.dangling, right.dangling, keys


def fewest_bags(tree: JoinTree) -> int:
    """Over all ways to let edges fold: nowhere, their left node or their right one, no node twice."""
    choices = [[None, *(n for n in (e.left, e.right) if e.unique_at(n))] for e in tree.edges]
    folded = ([n for n in choice if n is not None] for choice in product(*choices))
    return len(tree.nodes) - max(len(f) for f in folded if len(f) == len(set(f)))


# -- sizes beyond reach ------------------------------------------------------------------------------------------------


def chain(engine: Engine, tables: int, rows: int, keys: int) -> str:
    """A query that joins a chain of tables, each with `rows` rows over all pairs of `keys` keys to the left and right.
    The join has rows ** tables / keys ** (tables - 1) rows."""
    number = np.arange(rows)
    for t in range(tables):
        typed(engine, parse_one(f"CREATE TABLE t{t} (l INT, r INT, x INT)", read=engine.dialect))
        columns = {"l": number % keys, "r": number // keys % keys, "x": number % 2}
        engine.copy_in(meant(engine, f"t{t}"), columns)
    joins = " ".join(f"JOIN t{t} ON t{t}.l = t{t - 1}.r" for t in range(1, tables))
    return f"SELECT t0.x AS y, t{tables - 1}.x FROM t0 {joins}"


def test_a_join_of_3e15_rows_is_not_made(engine: Engine) -> None:
    text = chain(engine, tables=6, rows=10_000, keys=50)
    found = inspect(engine, text, label="y")
    assert found.join_rows == pytest.approx(10_000**6 / 50**5, rel=1e-9)
    assert found.label
    assert found.label.positive == pytest.approx(found.join_rows / 2, rel=1e-9)
    assert [r.rows_surviving for r in found.relations] == [10_000] * 6
    assert {(e.max_left, e.max_right) for e in found.edges} == {(200, 200)}


def test_a_join_of_1e30_rows(engine: Engine) -> None:
    found = inspect(engine, chain(engine, tables=10, rows=1000, keys=1))
    assert found.join_rows == pytest.approx(1e30, rel=1e-9)
    assert as_json(found)["join_rows"] == found.join_rows
