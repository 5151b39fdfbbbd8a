"""Folds, bags, links, and the order in which messages travel, on trees drawn by hand."""

from dataclasses import replace

import pytest

from sqlsvm.plan.design import Coordinate, Design
from sqlsvm.plan.join_tree import Edge, JoinTree, Link
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.target import Binary
from sqlsvm.query import Feature, FeatureQuery, Relation
from sqlsvm.sql import column, number


def tree(*edges: str, root: int = 0) -> JoinTree:
    """`0-1` is many to many, `0>1` a foreign key of 0 to 1, `0<>1` unique at both ends."""
    made = []
    for place, edge in enumerate(edges):
        left, right = (int(n) for n in edge.replace("<", "-").replace(">", "-").replace("--", "-").split("-"))
        made.append(Edge(left, right, (place,), "<" in edge, ">" in edge))
    relations = tuple(Relation(f"r{n}", f"r{n}", column("r"), ()) for n in range(len(edges) + 1))
    query = FeatureQuery("", "postgres", relations, (), (), (), None)
    return JoinTree(query, (), tuple((r.alias,) for r in relations), tuple(made), root, True)


def planned(made: JoinTree, centre: int | None = None, label: str = "r0", features: str = "") -> Plan:
    """A plan with a feature in each relation of `features`."""
    coordinates = tuple(
        Coordinate(i, f"r{n}", f"x{n}", "value", column("x", f"r{n}")) for i, n in enumerate(features.split())
    )
    design = Design(Binary(Feature("y", label, column("y"), "numeric"), number(1)), None, coordinates, ())
    return Plan(made, design, "exact") if centre is None else Plan(made, design, "grid", made.links[centre])


def bags(made: JoinTree) -> list[tuple[int, ...]]:
    return list(made.bags)


def test_what_the_label_points_to() -> None:
    """With all behind it by keys, without many-to-many behind a key and without a relation that points to the label."""
    found = planned(tree("0>1", "1>2", "0>3", "3-4", "0-5", "6>0")).foreign
    assert list(found) == [1]
    assert list(planned(tree("0>1", "1>2", "0<3"), label="r1").foreign) == [2]


# -- bags and links --------------------------------------------------------------------------------------------------


def test_a_star_of_foreign_keys_is_one_bag_without_links() -> None:
    star = tree("0>1", "0>2", "0>3")
    assert bags(star) == [(0, 1, 2, 3)]
    assert star.links == ()


def test_the_core_comes_first() -> None:
    """What folds may have the smaller number."""
    assert bags(tree("0<1", "1-2")) == [(1, 0), (2,)]


def test_a_side_has_all_bags_in_a_row() -> None:
    made = tree("0-1", "1-2", "2-3", "3-4")
    ends = {tuple(sorted(link.bags)): link for link in made.links}
    assert made.side(ends[0, 1], 1) == (1, 2, 3, 4)
    assert made.side(ends[2, 3], 2) == (0, 1, 2)


def test_links_tie_bags_and_not_nodes() -> None:
    """0 -> 1 and 3 -> 2 fold; the many-to-many edge is between the two that folded."""
    made = tree("0>1", "1-2", "2<3")
    assert bags(made) == [(0, 1), (3, 2)]
    (link,) = made.links
    assert link.bags == (0, 1)
    assert (link.edge.left, link.edge.right) == (1, 2)


def test_other_end_of_a_link() -> None:
    first, second = tree("0-1", "1-2").links
    assert (first.other(0), first.other(1)) == (1, 0)
    assert (second.other(1), second.other(2)) == (2, 1)


@pytest.mark.parametrize("root", range(4))
def test_the_bags_do_not_depend_on_the_root_where_keys_are_unique_one_way(root: int) -> None:
    made = tree("0>1", "1-2", "2<3", root=root)
    assert {frozenset(b) for b in bags(made)} == {frozenset({0, 1}), frozenset({2, 3})}


@pytest.mark.parametrize("root", range(3))
def test_an_edge_that_is_unique_both_ways_folds_once(root: int) -> None:
    assert len(bags(tree("0<>1", "1<>2", root=root))) == 1


def test_there_is_one_link_less_than_bags() -> None:
    made = tree("0-1", "1>2", "2-3", "3-4", "1-5", "5>6")
    assert len(made.links) == len(made.bags) - 1


# -- what a plan says of its bags ------------------------------------------------------------------------------------


def test_folded_is_direct() -> None:
    plan = planned(tree("0>1", "1>2", "0>3"))
    assert [child for child, _ in plan.folded(0)] == [1, 3]
    assert [child for child, _ in plan.folded(1)] == [2]
    assert not list(plan.folded(2))


def test_the_bag_of_a_node() -> None:
    plan = planned(tree("0>1", "1-2", "2<3"))
    assert [plan.bag_of(n) for n in range(4)] == [0, 0, 1, 1]


def test_a_bag_is_scored_if_anything_in_it_has_a_feature() -> None:
    plan = planned(tree("0>1", "0-2", "2-3", "3>4"), features="1 4")
    assert [plan.scored(bag) for bag in plan.bags] == [True, False, True]


def test_a_merged_node_has_weights() -> None:
    plan = planned(tree("0-1"), 0)
    merged = Plan(plan.tree, plan.design, "grid", plan.centre, frozenset({0, 1}), frozenset({1}))
    assert [merged.weighted(n) for n in range(2)] == [False, True]
    assert not plan.weighted(0)


def test_weights_are_where_the_weight_and_the_label_are() -> None:
    plan = planned(tree("0-1", "1-2"), 0, label="r1")
    by_row = replace(plan.design, weight=Feature("w", "r2", column("w"), "numeric"))
    by_class = replace(plan.design, target=replace(plan.design.target, class_weights=(1.0, 2.0)))
    for design, expected in ((by_row, [False, False, True]), (by_class, [False, True, False])):
        weighed = Plan(plan.tree, design, "grid", plan.centre)
        assert [weighed.weighted(n) for n in range(3)] == expected


# -- towards the centre ----------------------------------------------------------------------------------------------


def upwards(plan: Plan, bag: int, centre: Link) -> list[tuple[int, tuple[int, int]]]:
    return [(b, link.bags) for b, link in plan.upwards(bag, centre)]


def test_messages_travel_towards_the_centre_leaves_first() -> None:
    plan = planned(tree("0-1", "1-2", "2-3", "3-4"), 2)
    assert plan.centre
    assert plan.centre.bags == (2, 3)
    assert upwards(plan, 2, plan.centre) == [(0, (0, 1)), (1, (1, 2)), (2, (2, 3))]
    assert upwards(plan, 3, plan.centre) == [(4, (3, 4)), (3, (2, 3))]


def test_a_hub_meets_its_messages_in_the_order_of_the_links() -> None:
    plan = planned(tree("0-1", "0-2", "0-3"), 2)
    assert plan.centre
    assert [link.bags for link in plan.children(0, plan.centre)] == [(0, 1), (0, 2)]
    assert upwards(plan, 0, plan.centre) == [(1, (0, 1)), (2, (0, 2)), (0, (0, 3))]
    assert upwards(plan, 3, plan.centre) == [(3, (0, 3))]


@pytest.mark.parametrize("centre", range(5))
def test_every_bag_sends_once_and_over_its_own_link(centre: int) -> None:
    plan = planned(tree("0-1", "1-2", "1-3", "3-4", "3-5"), centre)
    assert plan.centre
    order = [pair for bag in plan.centre.bags for pair in plan.upwards(bag, plan.centre)]
    assert sorted(bag for bag, _ in order) == list(range(6))
    for place, (bag, link) in enumerate(order):
        assert bag in link.bags
        for child in plan.children(bag, link):
            assert child.other(bag) in [b for b, _ in order[:place]]
