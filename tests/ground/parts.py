"""A world cut down to some of its relations, and what is true of such a part."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from sqlsvm.engine.base import Engine
from sqlsvm.query import Equality, LeftJoin, Term
from tests.ground.reference import Side, equality_classes
from tests.ground.world import Item, World
from tests.typed import asked


def part(world: World, aliases: Collection[str]) -> World:
    """These relations alone, joined on all that the whole query makes equal among them."""
    classes = [[t for t in c if t.relation in aliases] for c in equality_classes(world.equalities)]
    return replace(
        world,
        items=tuple(_consistent(i, classes) for i in world.items if i.alias in aliases),
        equalities=tuple(e for c in classes for e in _connecting(c)),
        left_joins=tuple(k for j in world.left_joins if j.relation in aliases for k in _within(world, j, aliases)),
    )


def reparented(world: World, relation: str, parent: str) -> World:
    """The same query with a LEFT JOIN hung on another relation that has the same keys."""
    joins = [_on(world, j, parent) if j.relation == relation else j for j in world.left_joins]
    return replace(world, left_joins=tuple(joins))


def rows(engine: Engine, world: World, aliases: Sequence[str], whole: Collection[str]) -> list[tuple[object, ...]]:
    """The row ids of `aliases` in each row of the join of `whole`."""
    ids = [exp.alias_(world.row_id(a), f"r{n}") for n, a in enumerate(aliases)]
    return list(zip(*(c.tolist() for c in asked(engine, part(world, whole).select(ids)).values()), strict=True))


def keys(engine: Engine, world: World, whole: Collection[str], terms: Sequence[exp.Expr]) -> list[tuple[object, ...]]:
    """What these expressions are in each row of the join of `whole`."""
    listed = [exp.alias_(t.copy(), f"c{n}") for n, t in enumerate(terms)]
    return list(zip(*(c.tolist() for c in asked(engine, part(world, whole).select(listed)).values()), strict=True))


def side(mine: Sequence[tuple[object, ...]], theirs: Iterable[tuple[object, ...]]) -> Side:
    full = [k for k in mine if all(p is not None and p == p for p in k)]
    partners = set(theirs)
    most = max(Counter(full).values(), default=0)
    return Side(len(mine), len(mine) - len(full), sum(k not in partners for k in full), most)


def is_acyclic(world: World) -> bool:
    """GYO: drop what only one relation holds and relations that lie within another, until nothing moves."""
    variables: list[set[str]] = [{t.relation for t in c} for c in equality_classes(world.equalities)]
    variables += [{j.parent, j.relation} for j in world.left_joins]
    edges = [{n for n, holders in enumerate(variables) if i.alias in holders} for i in world.items]
    return reduce_ears(edges)


def reduce_ears(edges: Sequence[Collection[int]]) -> bool:
    left = [set(e) for e in edges]
    while True:
        held = Counter(v for e in left for v in e)
        trimmed = [{v for v in e if held[v] > 1} for e in left]
        kept = [e for n, e in enumerate(trimmed) if not any(e < o or (e == o and m < n) for m, o in enumerate(trimmed))]
        if kept == left:
            return len(kept) <= 1
        left = kept


def _consistent(item: Item, classes: Iterable[Sequence[Term]]) -> Item:
    """A row in which two spellings of one value differ meets nothing in the whole query, so nothing here either."""
    own = ([t.expression for t in c if t.relation == item.alias] for c in classes)
    agree = [exp.EQ(this=c[0].copy(), expression=t.copy()) for c in own for t in c[1:]]
    return replace(item, join="on", filters=(*item.filters, *agree))


def _connecting(terms: Sequence[Term]) -> Iterator[Equality]:
    """One term of every relation, each equal to the first."""
    firsts = list({t.relation: t for t in reversed(terms)}.values())
    return (Equality(firsts[0], t) for t in firsts[1:])


def _within(world: World, join: LeftJoin, aliases: Collection[str]) -> Iterator[LeftJoin]:
    """The LEFT JOIN hung on one of these relations; without any, its relation is one like others."""
    if join.parent in aliases:
        yield join
    elif parent := next((a for a in aliases if all(_equal_terms(world, join, a))), None):
        yield _on(world, join, parent)


def _on(world: World, join: LeftJoin, parent: str) -> LeftJoin:
    if parent == join.parent:
        return join
    pairs = zip(_equal_terms(world, join, parent), join.equalities, strict=True)
    return LeftJoin(parent, join.relation, tuple(Equality(terms[0], e.right) for terms, e in pairs))


def _equal_terms(world: World, join: LeftJoin, alias: str) -> list[list[Term]]:
    """For each left term of the LEFT JOIN, the terms of `alias` that equal it in every row."""
    classes = equality_classes(world.equalities)
    return [[t for c in classes if e.left in c for t in c if t.relation == alias] for e in join.equalities]
