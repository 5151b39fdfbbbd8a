"""Join trees of random hypergraphs, with made-up facts."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from sqlglot import exp

from sqlsvm.plan.join_tree import Facts, JoinTree, decompose, estimated_rows, is_acyclic, join_tree
from sqlsvm.query import Equality, FeatureQuery, LeftJoin, Relation, Term
from sqlsvm.query.ir import join_variables
from tests.ground.parts import reduce_ears


@dataclass
class Made(Facts):
    """Facts by hand: `keys` are the sets of columns that are unique, by alias."""

    keys: dict[str, list[set[str]]] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)
    looked: list[str] = field(default_factory=list)
    """The relations of which keys were looked at."""

    def rows(self, alias: str) -> float:
        return self.sizes.get(alias, 100.0)

    def distinct(self, alias: str, terms: tuple[Term, ...]) -> float:
        return self.values.get(terms[0].expression.name, 10.0)

    def unique(self, alias: str, terms: tuple[Term, ...]) -> bool:
        self.looked.append(alias)
        return any(key <= {t.expression.name for t in terms} for key in self.keys.get(alias, []))


def term(alias: str, column: str) -> Term:
    return Term(alias, exp.column(column, table=alias))


def joined(relations: dict[str, str], left: Sequence[tuple[str, str, str]] = ()) -> FeatureQuery:
    """Relations by alias with the variables that they hold; `left` are (parent, relation, column)."""
    holders: dict[str, list[str]] = {}
    for alias, columns in relations.items():
        for column in columns:
            holders.setdefault(column, []).append(alias)
    equal = [Equality(term(a, c), term(b, c)) for c, held in holders.items() for a, b in pairwise(held)]
    optional = [LeftJoin(p, r, (Equality(term(p, c), term(r, c)),)) for p, r, c in left]
    sources = tuple(Relation(a, a, exp.to_table(a), ()) for a in relations)
    return FeatureQuery("", "postgres", sources, tuple(equal), tuple(optional), (), None)


def tree_of(relations: dict[str, str], **keys: str) -> JoinTree:
    return join_tree(joined(relations), Made({a: [set(k)] for a, k in keys.items()}))


def edges(tree: JoinTree) -> set[str]:
    return {"-".join(sorted((tree.name(e.left), tree.name(e.right)))) for e in tree.edges}


def test_one_relation_is_a_tree() -> None:
    tree = tree_of({"a": ""})
    assert (tree.nodes, tree.edges, tree.root, tree.acyclic, tree.bags) == ((("a",),), (), 0, True, ((0,),))


def test_a_star_of_foreign_keys_is_one_bag() -> None:
    tree = tree_of({"f": "xyz", "a": "x", "b": "y", "c": "z"}, a="x", b="y", c="z")
    assert edges(tree) == {"a-f", "b-f", "c-f"}
    assert tree.bags == ((0, 1, 2, 3),)
    assert {e.kind for e in tree.edges} == {"foreign-key"}


def test_a_snowflake_folds_through() -> None:
    tree = tree_of({"f": "x", "a": "xy", "b": "yz", "c": "z"}, a="x", b="y", c="z")
    assert len(tree.bags) == 1
    assert tree.core(3) == 0


def test_a_hub_becomes_a_path() -> None:
    """Relations that all share one variable may be connected in any way; a path needs no products."""
    tree = tree_of(dict.fromkeys("abcdef", "k"))
    assert max(len(tree.edges_of(n)) for n in range(6)) == 2
    assert len(tree.bags) == 6


def test_a_cross_product_has_an_edge_without_variables() -> None:
    tree = tree_of({"a": "", "b": ""})
    assert [(e.on, e.kind) for e in tree.edges] == [((), "many-to-many")]
    assert tree.acyclic


def test_the_root_is_where_the_first_relation_is() -> None:
    assert next(n for n, _ in tree_of({"a": "x", "b": "xy", "c": "y"}).down()) == 0


def test_a_left_join_folds_into_its_parent() -> None:
    tree = join_tree(joined({"a": "", "b": ""}, left=[("a", "b", "k")]), Made({"b": [{"sqlsvm_found0"}]}))
    (edge,) = tree.edges
    assert edge.unique_at(tree.node_of("b"))
    assert not edge.unique_at(tree.node_of("a"))
    assert tree.bags == ((0, 1),)


def test_both_ways_unique_folds_once() -> None:
    tree = tree_of({"a": "k", "b": "k"}, a="k", b="k")
    assert len(tree.bags) == 1
    assert len(tree.folds) == 1


def test_a_node_leaves_its_parent_s_edge_to_the_parent() -> None:
    """The middle one could fold either way; only away from the root lets the root fold too."""
    tree = join_tree(joined({"a": "x", "b": "xy", "c": "y"}), Made({"a": [{"x"}], "b": [{"x"}, {"y"}]}))
    assert len(tree.bags) == 1
    assert tree.core(0) == tree.node_of("c")


def test_of_one_bag_only_keys_away_from_the_label_are_looked_at() -> None:
    """Those of `f` are unique here too, but there are no fewer bags than one."""
    facts, query = Made({"f": [{"x"}], "a": [{"x"}], "b": [{"y"}]}), joined({"f": "x", "a": "xy", "b": "y"})
    tree = join_tree(query, facts, to_count=True)
    assert set(facts.looked) == {"a", "b"}
    assert (len(tree.bags), tree.core(2)) == (1, 0)
    assert len(join_tree(query, facts).bags) == 1
    assert set(facts.looked) == {"a", "b", "f"}


def test_the_label_s_key_may_be_the_only_unique_one() -> None:
    facts = Made({"f": [{"x"}]})
    assert len(join_tree(joined({"f": "x", "a": "x"}), facts, to_count=True).bags) == 1
    assert set(facts.looked) == {"a", "f"}


# -- many relations ----------------------------------------------------------------------------------------------------


def calls(done: Callable[[], object]) -> int:
    """How many functions are called: the work, without a clock."""
    found = 0

    def count(*_: object) -> None:
        nonlocal found
        found += 1

    sys.setprofile(count)
    try:
        done()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize(
    "parent", [lambda i: i - 1, lambda i: 0, lambda i: (i - 1) // 8], ids=("chain", "star", "tree")
)
def test_the_work_grows_as_the_relations_do(parent: Callable[[int], int]) -> None:
    def work(size: int) -> int:
        pairs = [(i, parent(i)) for i in range(1, size)]
        sources = tuple(Relation(f"t{i}", f"t{i}", exp.to_table(f"t{i}"), ()) for i in range(size))
        equal = tuple(Equality(term(f"t{i}", "k"), term(f"t{p}", f"k{i}")) for i, p in pairs)
        query = FeatureQuery("", "postgres", sources, equal, (), (), None)
        facts = Made({f"t{i}": [{"k"}] for i in range(1, size)})
        return calls(lambda: join_tree(query, facts, to_count=True).bags)

    assert work(40) < 2.2 * work(20)


def test_of_many_relations_on_one_key_some_tree_is_taken() -> None:
    tree = tree_of(dict.fromkeys([f"t{i}" for i in range(60)], "k"))
    assert is_join_tree([(e.left, e.right) for e in tree.edges], holders_of(tree))


# -- against brute force -----------------------------------------------------------------------------------------------


def random_relations(rng: np.random.Generator) -> dict[str, str]:
    size = int(rng.integers(2, 6))
    variables = "uvwxyz"[: int(rng.integers(1, 6))]
    return {a: "".join(v for v in variables if rng.random() < 0.45) for a in "abcdef"[:size]}


def random_facts(rng: np.random.Generator, relations: dict[str, str]) -> Made:
    """Up to two keys a relation, of one column or two."""

    def key(columns: str) -> set[str]:
        return set(rng.choice(list(columns), size=min(len(columns), int(rng.integers(1, 3))), replace=False))

    return Made({a: [key(vs) for _ in range(rng.integers(0, 3))] for a, vs in relations.items() if vs})


def spanning_trees(nodes: int) -> Iterator[tuple[tuple[int, int], ...]]:
    for chosen in combinations(list(combinations(range(nodes), 2)), nodes - 1):
        if len(reached(0, chosen)) == nodes:
            yield chosen


def reached(start: int, pairs: Sequence[tuple[int, int]], within: frozenset[int] | None = None) -> set[int]:
    found, before = {start}, set[int]()
    while found != before:
        before = set(found)
        found |= {n for p in pairs if found & set(p) for n in p if within is None or (n in within and set(p) <= within)}
    return found


def is_join_tree(pairs: Sequence[tuple[int, int]], holders: Sequence[frozenset[int]]) -> bool:
    return all(reached(min(h), pairs, h) == set(h) for h in holders)


def holders_of(tree: JoinTree) -> list[frozenset[int]]:
    return [frozenset(tree.node_of(a) for a in v.holders) for v in tree.variables]


def bags(pairs: Sequence[tuple[int, int]], tree: JoinTree, facts: Made) -> int:
    """The fewest bags of any folding of these edges over single relations."""
    choices: list[list[int | None]] = []
    for pair in pairs:
        on = [v for v in tree.variables if all(v.holders & set(tree.nodes[n]) for n in pair)]
        unique = [n for n in pair if facts.unique(tree.nodes[n][0], tuple(v.at(tree.nodes[n][0])[0] for v in on))]
        choices.append([None, *unique])
    folded = ([n for n in choice if n is not None] for choice in product(*choices))
    return len(tree.nodes) - max(len(f) for f in folded if len(f) == len(set(f)))


@pytest.mark.parametrize("start", range(0, 200, 100))
def test_trees_of_random_queries(start: int) -> None:
    for seed in range(start, start + 100):
        rng = np.random.default_rng(seed)
        relations = random_relations(rng)
        facts = random_facts(rng, relations)
        tree = join_tree(joined(relations), facts)
        shape = [(e.left, e.right) for e in tree.edges]
        shared = {v for v in "uvwxyz" if sum(v in vs for vs in relations.values()) > 1}
        assert tree.acyclic == reduce_ears([{ord(v) for v in vs if v in shared} for vs in relations.values()]), seed
        assert len(shape) == len(tree.nodes) - 1
        assert is_join_tree(shape, holders_of(tree)), seed
        if tree.acyclic:
            trees = [t for t in spanning_trees(len(tree.nodes)) if is_join_tree(t, holders_of(tree))]
            assert len(tree.bags) == min(bags(t, tree, facts) for t in trees), seed


# -- cycles ------------------------------------------------------------------------------------------------------------

TRIANGLE = {"a": "xy", "b": "yz", "c": "zx"}


def blocks_of(relations: dict[str, str], facts: Made | None = None) -> tuple[tuple[str, ...], ...]:
    variables = join_variables(joined(relations))
    return decompose(tuple((a,) for a in relations), variables, facts or Made())


def test_a_triangle_joins_its_cheapest_pair() -> None:
    facts = Made(sizes={"a": 1000, "b": 10, "c": 20})
    assert set(blocks_of(TRIANGLE, facts)) == {("a",), ("b", "c")}


def test_what_hangs_off_a_cycle_stays_in_place() -> None:
    """A foreign key would be joined at no cost in rows, but to no use either."""
    relations = {**TRIANGLE, "d": "x"}
    assert ("d",) in blocks_of(relations, Made(sizes={"d": 10}))


def test_what_makes_the_join_up_front_smaller_is_in_it() -> None:
    relations = {**TRIANGLE, "d": "x"}
    assert ("d",) not in blocks_of(relations, Made(sizes={"d": 1}))


def test_a_square_needs_one_pair_less_than_it_seems() -> None:
    blocks = blocks_of({"a": "wx", "b": "xy", "c": "yz", "d": "zw"})
    assert sorted(map(len, blocks)) in ([2, 2], [1, 3], [1, 1, 2])
    assert is_acyclic(blocks, join_variables(joined({"a": "wx", "b": "xy", "c": "yz", "d": "zw"})))


@pytest.mark.parametrize("size", [5, 8, 9, 12])
def test_a_long_cycle_is_cut(size: int) -> None:
    names = [f"r{n}" for n in range(size)]
    relations = {a: chr(97 + n) + chr(97 + (n + 1) % size) for n, a in enumerate(names)}
    tree = join_tree(joined(relations), Made())
    assert not tree.acyclic
    assert sorted(a for block in tree.nodes for a in block) == sorted(names)
    assert is_acyclic(tree.nodes, tree.variables)


def test_blocks_of_random_cycles() -> None:
    seen = 0
    for seed in range(300):
        relations = random_relations(np.random.default_rng(seed))
        variables = join_variables(joined(relations))
        if is_acyclic(tuple((a,) for a in relations), variables):
            continue
        seen += 1
        blocks = blocks_of(relations)
        assert is_acyclic(blocks, variables), seed
        assert sorted(a for block in blocks for a in block) == sorted(relations)
        for block in blocks:
            pairs = [
                (i, j)
                for (i, p), (j, q) in combinations(enumerate(block), 2)
                if any({p, q} <= v.holders for v in variables)
            ]
            assert len(reached(0, pairs)) == len(block), seed
    assert seen >= 10


def test_a_block_is_unique_by_closure() -> None:
    """Within b+c: b's key gives its row, its row gives z, and z is the key of c."""
    tree = join_tree(joined(TRIANGLE), Made({"b": [{"y"}], "c": [{"z"}]}, sizes={"a": 1e6}))
    (edge,) = tree.edges
    assert tree.name(edge.left if tree.name(edge.right) == "a" else edge.right) == "b+c"
    assert edge.unique_at(tree.node_of("b"))
    assert not edge.unique_at(tree.node_of("a"))


def test_estimated_rows() -> None:
    variables = join_variables(joined({"a": "x", "b": "x", "c": "x"}))
    facts = Made(sizes={"a": 100, "b": 50, "c": 0}, values={"x": 10})
    assert estimated_rows(("a", "b"), variables, facts) == 100 * 50 / 10
    assert estimated_rows(("a", "b", "c"), variables, facts) == 100 * 50 / 10 / 10
