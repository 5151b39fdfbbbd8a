"""The join inside a GROUP BY -> a tree of blocks. What is grouped or added up uses the rows of one block.

Most blocks are one relation. Relations whose columns meet in one expression, or that are joined in a cycle, are joined
in one block, and so is a relation of a LEFT JOIN that others than its parent are joined to.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from sqlsvm.query.ir import Equality, FeatureQuery, Parsed, Term

Block = frozenset[str]
Unique = Callable[[str, tuple[Term, ...]], bool]
"""Does each value of these terms occur once in a relation?"""


@dataclass(frozen=True)
class Blocks:
    """A tree, or several: then the smaller ones multiply the rows of the first."""

    query: Parsed
    blocks: tuple[Block, ...]

    def of(self, alias: str) -> Block:
        return next(block for block in self.blocks if alias in block)

    def between(self, one: Block, other: Block) -> list[Equality]:
        """With the terms of the first one on the left."""
        return list(_between(self.query, one, other))

    def neighbours(self, block: Block) -> list[Block]:
        return [other for other in self.blocks if other != block and self.between(block, other)]

    def optional(self, block: Block) -> bool:
        """Is it the optional side of a LEFT JOIN to another block?"""
        joins = [self.query.left_join(alias) for alias in block]
        return any(join and join.parent not in block for join in joins)

    def subtree(self, block: Block, above: Block | None) -> Block:
        """All relations from here on, seen from above."""
        others = (self.subtree(other, block) for other in self.neighbours(block) if other != above)
        return block.union(*others)

    def roots(self, wanted: Iterable[str]) -> list[Block]:
        """One of each tree: that with most of these relations, and none that is optional."""
        wanted, found, pending = list(wanted), list[Block](), list(self.blocks)
        while pending:
            tree = self.subtree(pending[0], None)
            own = [b for b in pending if b <= tree and not self.optional(b)]
            found.append(max(own, key=lambda b: sum(alias in b for alias in wanted)))
            pending = [b for b in pending if not b <= tree]
        return sorted(found, key=lambda b: -sum(alias in self.subtree(b, None) for alias in wanted))


def _between(query: FeatureQuery, one: Block, other: Block) -> Iterator[Equality]:
    outer = (e for join in query.left_joins for e in join.equalities)
    for e in (*query.equalities, *outer):
        if e.left.relation in one and e.right.relation in other:
            yield e
        elif e.right.relation in one and e.left.relation in other:
            yield Equality(e.right, e.left)


def blocks_of(query: Parsed, together: Iterable[Collection[str]]) -> Blocks:
    """`together`: sets of relations that must be in one block."""
    found = Blocks(query, tuple(frozenset((r.alias,)) for r in query.relations))
    for aliases in (*together, *_of_left_joins(query)):
        found = _merged(found, aliases)
    while cycle := _cycle(found):
        found = _merged(found, cycle)
    while alias := next(_half(found), None):
        found = _merged(found, (alias, query.parents[alias]))
    return found


def multiplies(query: Parsed, unique: Unique) -> bool:
    """Can the join have more rows than its largest relation? Not if all others are found from that one along keys."""
    found = blocks_of(query, ())
    if any(len(block) > 1 for block in found.blocks):
        return True
    known = cache(unique)
    return not any(_finds_all(found, root, known) for root in found.blocks)


def _finds_all(found: Blocks, root: Block, unique: Unique) -> bool:
    seen, pending = {root}, [root]
    while pending:
        block = pending.pop()
        for other in found.neighbours(block):
            if other not in seen:
                (alias,) = other
                if not unique(alias, tuple(e.right for e in found.between(block, other))):
                    return False
                seen.add(other)
                pending.append(other)
    return len(seen) == len(found.blocks)


def _of_left_joins(query: FeatureQuery) -> Iterator[Collection[str]]:
    """A condition of WHERE is about the rows after the LEFT JOIN."""
    inner = {t.relation for e in query.equalities for t in (e.left, e.right)}
    for join in query.left_joins:
        if join.relation in inner or query.relation(join.relation).filters:
            yield join.relation, join.parent


def _half(found: Blocks) -> Iterator[str]:
    """The optional relations that are not alone in their block, and whose parent is in another one."""
    for alias, parent in found.query.parents.items():
        if len(block := found.of(alias)) > 1 and parent not in block:
            yield alias


def _merged(found: Blocks, aliases: Collection[str]) -> Blocks:
    """With all blocks on the paths between these relations as one."""
    first, *others = [found.of(alias) for alias in aliases]
    joined = {first}.union(*(_path(found, first, other) or [other] for other in others))
    return Blocks(found.query, (*(b for b in found.blocks if b not in joined), frozenset().union(*joined)))


def _path(found: Blocks, start: Block, end: Block) -> list[Block]:
    """The blocks on one of the shortest paths; none if they are not connected."""
    before: dict[Block, Block | None] = {start: None}
    pending = [start]
    while pending:
        block = pending.pop(0)
        for other in found.neighbours(block):
            if other not in before:
                before[other] = block
                pending.append(other)
    path, at = list[Block](), end if end in before else None
    while at is not None:
        path.append(at)
        at = before[at]
    return path


def _cycle(found: Blocks) -> Block:
    """The relations of two blocks that are joined in two ways; empty if there are none."""
    for one in found.blocks:
        for other in found.neighbours(one):
            rest = Blocks(found.query, tuple(b for b in found.blocks if b not in (one, other)))
            reached = [n for n in rest.blocks if other in found.neighbours(n)]
            starts = [n for n in rest.blocks if one in found.neighbours(n)]
            for start in starts:
                for end in reached:
                    if path := _path(rest, start, end):
                        return one.union(other, *path)
    return frozenset()
