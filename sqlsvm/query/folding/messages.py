"""Blocks -> one SELECT that groups each table before it is joined to the next one.

SELECT u.id, COUNT(*), SUM(p.score) FROM users u JOIN posts p ON p.owner = u.id JOIN badges b ON b.user_id = u.id
GROUP BY u.id

SELECT g0, SUM(n) AS a0, SUM(s) AS a1 FROM (SELECT u.id AS g0, m0.a0 * m1.a0 AS n, m0.a1 * m1.a0 AS s
  FROM users u JOIN (SELECT owner AS k0, COUNT(*) AS a0, SUM(score) AS a1 FROM posts GROUP BY owner) AS m0 ...
  JOIN (SELECT user_id AS k0, COUNT(*) AS a0 FROM badges GROUP BY user_id) AS m1 ...) GROUP BY g0
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.query.folding.blocks import Block, Blocks
from sqlsvm.query.folding.values import Carried, Total, owner, summed
from sqlsvm.query.ir import Parsed
from sqlsvm.query.names import relations_in
from sqlsvm.query.render import render
from sqlsvm.query.rows import row_of_nulls

Named = list[tuple[exp.Expression, str]]
Keys = tuple[exp.Expression, ...]
"""What is grouped by."""


@dataclass(frozen=True)
class Message:
    """What a block sends to the one above, or to the groups."""

    blocks: Blocks
    block: Block
    above: Block | None
    keys: Keys
    """Those of the query."""
    carried: tuple[Carried, ...]
    """Those of the query, as far as they are about the relations from here on."""
    more: tuple[Block, ...] = ()
    """The roots of other trees."""

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
    def joined(self) -> list[exp.Expression]:
        """The terms that the block above finds it by."""
        pairs = self.blocks.between(self.above, self.block) if self.above else ()
        return [e.right.expression for e in pairs]

    @cached_property
    def found_by(self) -> list[exp.Expression]:
        """The terms of the block above."""
        pairs = self.blocks.between(self.above, self.block) if self.above else ()
        return [e.left.expression for e in pairs]

    def name(self, carried: Carried) -> str:
        return f"a{self.carried.index(carried)}"

    @property
    def grouped(self) -> list[str]:
        return [*(f"k{n}" for n in range(len(self.joined))), *(f"g{n}" for n in range(len(self.keys)))]

    # -- SQL -----------------------------------------------------------------------------------------------------------

    def select(self) -> exp.Select:
        """One row for each of the groups. Without any, the database still returns one, also for no rows."""
        sums = [(self._aggregated(c), self.name(c)) for c in self.carried]
        found = sql.grouped(sql.columns(self.grouped), sums, sql.derived(self._rows(), "r"))
        if self.above and not self.grouped:
            found = found.having(sql.more(exp.Count(this=exp.Star()), 0))
        return found if found.selects else sql.also(found, _one())

    def _aggregated(self, carried: Carried) -> exp.Expression:
        value = sql.column(self.name(carried))
        return summed(carried, value) if isinstance(carried, Total) else carried.function(this=value)

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
        return sql.also(found, own.outputs[len(self.joined) :])


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
    is_sure: bool = False
    """Does each row find one?"""

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
        if not self.message.found_by:
            return sql.join(found, sql.derived(self.message.select(), self.alias), [])
        on = [
            sql.equal(sql.column(own.name(term), "x"), sql.column(f"k{n}", self.alias))
            for n, term in enumerate(self.message.found_by)
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
            for term in child.message.found_by:
                self.name(term)
        self.outputs = [*self._keys(), *((self._carried(c), message.name(c)) for c in message.carried)] or _one()

    @property
    def read(self) -> Named:
        return [(value, name) for value, name in self._read.items()] or _one()

    def name(self, value: exp.Expression) -> str:
        return self._read.setdefault(value, f"x{len(self._read)}")

    def _value(self, value: exp.Expression) -> exp.Expression:
        return sql.column(self.name(value), "x")

    def _keys(self) -> Iterable[tuple[exp.Expression, str]]:
        for n, term in enumerate(self.message.joined):
            yield self._value(term), f"k{n}"
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
        below = [b.value(b.message.name(total.within(self._relations(b)))) for b in self.below]
        return sql.product(*own, *below) if own or below else sql.integer(1)

    def _relations(self, below: _Below) -> Block:
        return self.message.blocks.subtree(below.message.block, self.message.block)
