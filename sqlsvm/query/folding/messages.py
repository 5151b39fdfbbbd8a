"""Blocks -> one SELECT that groups each table before it is joined to the next one.

SELECT u.id, COUNT(*), SUM(p.score) FROM users u JOIN posts p ON p.owner = u.id JOIN badges b ON b.user_id = u.id
GROUP BY u.id

SELECT g0, SUM(n) AS a0, SUM(s) AS a1 FROM (SELECT u.id AS g0, m0.a0 * m1.a0 AS n, m0.a1 * m1.a0 AS s
  FROM users u JOIN (SELECT owner AS k0, COUNT(*) AS a0, SUM(score) AS a1 FROM posts GROUP BY owner) AS m0 ...
  JOIN (SELECT user_id AS k0, COUNT(*) AS a0 FROM badges GROUP BY user_id) AS m1 ...) GROUP BY g0

The join inside a GROUP BY -> a tree of blocks. What is grouped or added up uses the rows of one block.

Most blocks are one relation. Relations whose columns meet in one expression, or that are joined in a cycle, are joined
in one block, and so is a relation of a LEFT JOIN that others than its parent are joined to.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.query.folding.values import Carried, Total, owner, summed
from sqlsvm.query.ir import Equality, FeatureQuery, Parsed, Term, reached, way_to
from sqlsvm.query.names import relations_in
from sqlsvm.query.rows import render, row_of_nulls

Block = frozenset[str]
Unique = Callable[[str, tuple[Term, ...]], bool]  # does each value of these terms occur once in a relation?


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

    def finds(block: Block) -> Iterator[Block]:
        for other in found.neighbours(block):
            if all(known(alias, tuple(e.right for e in found.between(block, other))) for alias in other):
                yield other

    return not any(len(reached(root, finds)) == len(found.blocks) for root in found.blocks)


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
    before = reached(start, found.neighbours)
    return way_to(end, before) if end in before else []


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


Named = list[tuple[exp.Expression, str]]
Keys = tuple[exp.Expression, ...]  # what is grouped by


@dataclass(frozen=True)
class Message:
    """What a block sends to the one above, or to the groups."""

    blocks: Blocks
    block: Block
    above: Block | None
    keys: Keys  # those of the query
    carried: tuple[Carried, ...]  # those of the query, as far as they are about the relations from here on
    more: tuple[Block, ...] = ()  # the roots of other trees

    @cached_property
    def children(self) -> list["Message"]:
        below = [b for b in self.blocks.neighbours(self.block) if b != self.above]
        return [made for b in (*below, *self.more) if not (made := self._child(b)).is_idle]

    def _child(self, block: Block) -> "Message":
        relations = self.blocks.subtree(block, self.block)
        own = dict.fromkeys(within for c in self.carried if (within := c.within(relations)))
        keys = tuple(key for key in self.keys if owner(key) in relations)
        return Message(self.blocks, block, self.block, keys, tuple(own))

    @property
    def is_optional(self) -> bool:
        return self.blocks.optional(self.block)

    @property
    def is_idle(self) -> bool:
        """A row that is kept without a partner, and nothing asked of it."""
        return self.is_optional and not self.keys and not self.carried

    @cached_property
    def pairs(self) -> list[Equality]:
        """By which the block above finds it."""
        return self.blocks.between(self.above, self.block) if self.above else []

    def name(self, carried: Carried) -> str:
        return f"a{self.carried.index(carried)}"

    @property
    def grouped(self) -> list[str]:
        return [*(f"k{n}" for n in range(len(self.pairs))), *(f"g{n}" for n in range(len(self.keys)))]

    # -- SQL -----------------------------------------------------------------------------------------------------------

    def select(self) -> exp.Select:
        """One row for each of the groups. Without any, the database still returns one, also for no rows."""
        values = [(c, sql.column(self.name(c))) for c in self.carried]
        each = [summed(c, value) if isinstance(c, Total) else c.function(this=value) for c, value in values]
        sums = [*zip(each, map(self.name, self.carried), strict=True)]
        found = sql.grouped(sql.columns(self.grouped), sums, sql.derived(self._rows(), "r"))
        if self.above and not self.grouped:
            found = found.having(sql.more(exp.Count(this=exp.Star()), 0))
        return found if found.selects else sql.also(found, _one())

    def _rows(self) -> exp.Select:
        """The rows of the block, each with what it has of those below."""
        below = [_Below(child, n) for n, child in enumerate(self.children)]
        own = _Own(self, below)
        found = sql.select([], sql.derived(render(_part(self.blocks.query, self.block), own.read), "x"))
        for each in below:
            found = each.joined_to(found, own)
        return sql.also(found, own.outputs)

    def nulls(self) -> exp.Select:
        """One row: what is carried of a row that finds nothing."""
        (alias,) = self.block
        below = [_Below(child, n, is_sure=True) for n, child in enumerate(self.children)]
        own = _Own(self, below)
        relation = self.blocks.query.relation(alias)
        nothing = row_of_nulls(relation, own.read).select(*(exp.alias_(e, name) for e, name in own.read))
        found = sql.select([], sql.derived(nothing, "x"))
        for each in below:
            found = sql.join(found, sql.derived(each.message.nulls(), each.alias), [])
        return sql.also(found, own.outputs[len(self.pairs) :])


def _one() -> Named:
    """Where no column is read: SELECT needs one."""
    return [(sql.integer(1), "one")]


def _part(query: Parsed, block: Block) -> Parsed:
    """The join inside a block. An optional relation alone has the rows that may be found."""
    own = tuple(r for r in query.relations if r.alias in block)
    return replace(
        query,
        relations=own if len(own) > 1 else tuple(r.partners for r in own),
        equalities=tuple(e for e in query.equalities if {e.left.relation, e.right.relation} <= block),
        left_joins=tuple(j for j in query.left_joins if {j.relation, j.parent} <= block),
        spanning=tuple(s for s in query.spanning if block.issuperset(relations_in(s.expression))),
    )


@dataclass(frozen=True)
class _Below:
    """A message, as the block above reads it."""

    message: Message
    number: int
    is_sure: bool = False  # does each row find one?

    @property
    def alias(self) -> str:
        return f"m{self.number}"

    @property
    def _nothing(self) -> str:
        return f"z{self.number}"

    def value(self, name: str) -> exp.Expression:
        found = sql.column(name, self.alias)
        if self.is_sure or not self.message.is_optional:
            return found
        return sql.case(sql.is_null(sql.column("k0", self.alias)), sql.column(name, self._nothing), found)

    def joined_to(self, found: exp.Select, own: "_Own") -> exp.Select:
        if not self.message.pairs:
            return sql.join(found, sql.derived(self.message.select(), self.alias), [])
        on = [
            sql.equal(sql.column(own.name(e.left.expression), "x"), sql.column(f"k{n}", self.alias))
            for n, e in enumerate(self.message.pairs)
        ]
        is_optional = self.message.is_optional
        found = sql.join(found, sql.derived(self.message.select(), self.alias), on, "left" if is_optional else "")
        return sql.join(found, sql.derived(self.message.nulls(), self._nothing), []) if is_optional else found


class _Own:
    """The rows of a block: what is read of them, and what they send."""

    def __init__(self, message: Message, below: Sequence[_Below]) -> None:
        self.message, self.below = message, below
        self._read: dict[exp.Expression, str] = {}
        for child in below:
            for e in child.message.pairs:
                self.name(e.left.expression)
        self.outputs = [*self._keys(), *((self._carried(c), message.name(c)) for c in message.carried)] or _one()

    @property
    def read(self) -> Named:
        return [(value, name) for value, name in self._read.items()] or _one()

    def name(self, value: exp.Expression) -> str:
        return self._read.setdefault(value, f"x{len(self._read)}")

    def _value(self, value: exp.Expression) -> exp.Expression:
        return sql.column(self.name(value), "x")

    def _keys(self) -> Iterable[tuple[exp.Expression, str]]:
        yield from ((self._value(e.right.expression), f"k{n}") for n, e in enumerate(self.message.pairs))
        for n, key in enumerate(self.message.keys):
            below = [b for b in self.below if key in b.message.keys]
            yield (below[0].value(f"g{below[0].message.keys.index(key)}") if below else self._value(key)), f"g{n}"

    def _carried(self, carried: Carried) -> exp.Expression:
        if isinstance(carried, Total):
            return self._total(carried)
        child = next((b for b in self.below if carried in b.message.carried), None)
        return child.value(child.message.name(carried)) if child else self._value(carried.value)

    def _total(self, total: Total) -> exp.Expression:
        """The factors of this block, and the sums of those below."""
        own = [self._value(f.value) for f in total.product if f.relation in self.message.block]
        own += [f.value for f in total.product if not f.relation and not self.message.above]
        for b in self.below:
            relations = self.message.blocks.subtree(b.message.block, self.message.block)
            own.append(b.value(b.message.name(total.within(relations))))
        return sql.product(*own) if own else sql.integer(1)
