"""Take FROM and WHERE apart: which conjunct filters one relation, which joins two, which belongs to a LEFT JOIN."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.languages import LANGUAGES
from sqlsvm.errors import FormError, QueryError
from sqlsvm.query.guards import Fragment
from sqlsvm.query.ir import Equality, LeftJoin, Spanning, Term, reached
from sqlsvm.query.names import Scope, Visible, relations_in
from sqlsvm.query.sources import Source

T = TypeVar("T")
Once = dict[T, None]  # values in order, each once
_EQUALITIES = "join on equalities whose sides each use one relation: a.k = b.k"


@dataclass
class Joins:
    """The filters and equalities of FROM and WHERE, collected conjunct by conjunct."""

    scope: Scope
    filters: dict[str, list[exp.Expression]] = field(default_factory=lambda: defaultdict(list))
    on: dict[str, list[exp.Expression]] = field(default_factory=lambda: defaultdict(list))
    """Conditions of LEFT JOINs over the optional relation alone."""
    equalities: Once[Equality] = field(default_factory=dict)
    spanning: list[Spanning] = field(default_factory=list)
    optional: dict[str, Once[Equality]] = field(default_factory=dict)
    """The LEFT JOINed relations, each with the equalities of its ON. Right terms are over the relation itself."""

    def condition(self, conjunct: exp.Expr, scope: Scope) -> None:
        """A conjunct of WHERE, or of ON of an inner join: it must hold for every row of the join."""
        resolved = scope.resolve(conjunct)
        used = relations_in(resolved)
        if len(used) > 1:
            self._join_or_filter(resolved, conjunct, scope)
        elif not _is_true(resolved):
            alias = used[0] if used else self.scope.sources[0].alias
            self.filters[alias].append(resolved)

    def _join_or_filter(self, resolved: exp.Expression, conjunct: exp.Expr, scope: Scope) -> None:
        try:
            self.equalities.setdefault(_equality(resolved, conjunct, scope))
        except QueryError as refusal:
            self.spanning.append(Spanning(resolved, refusal))

    def left_condition(self, conjunct: exp.Expr, scope: Scope, alias: str) -> None:
        """A conjunct of ON of LEFT JOIN `alias`: it decides which rows match, and drops no row."""
        resolved = scope.resolve(conjunct)
        used = relations_in(resolved)
        if len(used) == 1 and used != [alias]:
            said = f"{Fragment(conjunct, scope.dialect)} in LEFT JOIN {alias} does not use {alias}"
            raise FormError(said, hint="move it to WHERE to drop the other rows")
        if len(used) > 1:
            self.optional[alias].setdefault(_oriented(_equality(resolved, conjunct, scope), conjunct, scope, alias))
        elif not _is_true(resolved):
            self.on[alias].append(resolved)

    def merge(self, left: Visible, right: Visible) -> None:
        """One column of USING or NATURAL."""
        equality = Equality(Term(left.alias, left.reference), Term(right.alias, right.reference))
        self.optional.get(right.alias, self.equalities).setdefault(equality)


def joins_of(select: exp.Select, sources: tuple[Source, ...], empty: Scope) -> Joins:
    """Read FROM from left to right, then WHERE. A comma begins a new group, and ON sees only its own group."""
    scopes = [empty.of(source) for source in sources]
    joins = Joins(scopes[0])
    done: list[Scope] = []
    group = scopes[0]
    for join, scope in zip(select.args.get("joins") or [], scopes[1:], strict=True):
        if not any(join.args.get(key) for key in ("method", "side", "kind", "on", "using")):  # a comma
            done.append(group)
            group = scope
        else:
            group = _join(joins, join, group, scope)
    for earlier in reversed(done):
        group = earlier.with_(group)
    joins.scope = group
    if select.args.get("where"):
        for conjunct in conjuncts(select.args["where"].this, group.dialect):
            joins.condition(conjunct, group)
    return joins


def _join(joins: Joins, join: exp.Join, left: Scope, right: Scope) -> Scope:
    alias = right.sources[0].alias
    is_left = join.args.get("side") == "LEFT"
    if is_left:
        joins.optional[alias] = {}
    merged = _merged(join, left, right)
    for mine, other in merged.values():
        joins.merge(mine, other)
    both = left.with_(right, merged)
    for conjunct in conjuncts(join.args.get("on"), left.dialect):
        if is_left:
            joins.left_condition(conjunct, both, alias)
        else:
            joins.condition(conjunct, both)
    if is_left and not joins.optional[alias]:
        said = f"LEFT JOIN {alias} has no equality with an earlier relation: {Fragment(join, left.dialect)}"
        raise FormError(said, hint=f"add one: ON a.k = {alias}.k")
    return both


def _merged(join: exp.Join, left: Scope, right: Scope) -> dict[str, tuple[Visible, Visible]]:
    """The columns that USING lists, or that NATURAL finds on both sides, by name."""
    if str(join.args.get("method")).upper() == "NATURAL":
        others = right.shown.by_name
        shared = dict.fromkeys(v.column.name for v in left.visible if v.name in others)
        names = [exp.to_identifier(name, quoted=True) for name in shared]
    else:
        names = [n.this if isinstance(n, exp.Column) else n for n in join.args.get("using") or []]
    return {left.meaning(name): (_merging(name, left), _merging(name, right)) for name in names}


def _merging(name: exp.Expr, side: Scope) -> Visible:
    """The column of one side. USING cannot tell several columns of the same name apart."""
    owners = [v.alias for v in side.shown.by_name.get(side.meaning(name), ())]
    if len(owners) > 1:
        said = f"USING or NATURAL cannot tell {name.name} of {' and '.join(owners)} apart"
        raise QueryError(said, hint=f"use ON: {owners[0]}.{name.name} = ...")
    return side.find(exp.Column(this=name.copy()))


def conjuncts(condition: exp.Expr | None, dialect: str) -> Iterator[exp.Expr]:
    """The parts of an AND, also inside parentheses, and of `(a, b) = (c, d)` where that is `a = c AND b = d`."""
    pending = [condition] if condition is not None else []
    while pending:
        node = pending.pop().unnest()
        if isinstance(node, exp.And):
            pending += [node.expression, node.this]
        elif isinstance(node, exp.EQ) and LANGUAGES[dialect].splits_rows and (pairs := _row_pairs(node)):
            yield from pairs
        else:
            yield node


def _row_pairs(equality: exp.Expr) -> list[exp.Expr]:
    left, right = _row(equality.this), _row(equality.expression)
    if not left or len(left) != len(right):
        return []
    return [sql.equal(a.copy(), b.copy()) for a, b in zip(left, right, strict=True)]


def _row(node: exp.Expr) -> list[exp.Expr]:
    """The items of `(a, b)` or `ROW(a, b)`; none for anything else."""
    is_row = isinstance(node, exp.Tuple) or (isinstance(node, exp.Anonymous) and node.name.upper() == "ROW")
    return list(node.expressions) if is_row else []


def _is_true(resolved: exp.Expr) -> bool:
    """Whether this is TRUE or like 1 = 1."""
    if isinstance(resolved, exp.EQ) and isinstance(resolved.this, exp.Literal):
        return bool(resolved.this == resolved.expression)
    return isinstance(resolved, exp.Boolean) and bool(resolved.this)


def _equality(resolved: exp.Expr, shown: exp.Expr, scope: Scope) -> Equality:
    text = Fragment(shown, scope.dialect)
    if isinstance(resolved, exp.NullSafeEQ):
        said = f"a join that matches NULL with NULL: {text}"
        raise FormError(said, hint="use =, or COALESCE both sides to a value that no key has")
    if not isinstance(resolved, exp.EQ) and not is_own_equality(resolved):
        raise FormError(f"not an equality between two relations: {text}", hint=_EQUALITIES)
    if pairs := _row_pairs(shown):
        each = " AND ".join(pair.sql(scope.dialect) for pair in pairs)
        raise FormError(f"a join on structs, which matches NULL with NULL: {text}", hint=f"write {each}")
    left, right = _bare(resolved.this), _bare(resolved.expression)
    owners = relations_in(left), relations_in(right)
    if any(len(owner) != 1 for owner in owners):
        raise FormError(f"a side of the equality does not use exactly one relation: {text}", hint=_EQUALITIES)
    return Equality(Term(owners[0][0], left), Term(owners[1][0], right))


def is_own_equality(node: exp.Expr) -> bool:
    """Is it a = b with an operator that another schema than the system's has?"""
    return isinstance(node, exp.Operator) and str(node.args["operator"]).endswith(".=")


def _bare(side: exp.Expression) -> exp.Expression:
    """`(a.k)` becomes a.k, so that equal terms compare as equal. Other parentheses stay: they may be needed."""
    inner = side.unnest()
    return inner if isinstance(inner, exp.Column) else side


def _oriented(equality: Equality, shown: exp.Expr, scope: Scope, alias: str) -> Equality:
    """The equality with the term of the optional relation on the right."""
    if equality.right.relation == alias:
        return equality
    if equality.left.relation == alias:
        return Equality(equality.right, equality.left)
    said = f"{Fragment(shown, scope.dialect)} in LEFT JOIN {alias} does not use {alias}"
    raise FormError(said, hint="move it to WHERE, or to the ON of the JOIN before")


def left_joins(joins: Joins) -> tuple[LeftJoin, ...]:
    found = (_left_join(joins, alias, own) for alias, own in joins.optional.items())
    return tuple(replace(join, place=place) for place, join in enumerate(found))


def _left_join(joins: Joins, alias: str, own: Iterable[Equality]) -> LeftJoin:
    """The LEFT JOIN with all left terms over one relation, its parent, which must come before it in FROM.

    In `a JOIN b ON a.k = b.k LEFT JOIN c ON c.x = a.x AND c.k = b.k` the parent of c is a: c.k = b.k can be read as
    c.k = a.k, because a.k = b.k in every row of the inner join.
    """
    earlier = [source.alias for source in joins.scope.sources]
    earlier = earlier[: earlier.index(alias)]
    choices = [_equal_terms(equality.left, joins.equalities, earlier) for equality in own]
    written = [equality.left.relation for equality in own]
    for parent in dict.fromkeys([*written, *earlier]):
        if all(parent in terms for terms in choices):
            pairs = zip(choices, own, strict=True)
            return LeftJoin(parent, alias, tuple(Equality(terms[parent], equality.right) for terms, equality in pairs))
    hint = f"join {' and '.join(dict.fromkeys(written))} in a sub-query in FROM, and LEFT JOIN {alias} to that"
    raise FormError(f"LEFT JOIN {alias} takes its keys from {' and '.join(dict.fromkeys(written))}", hint=hint)


def _equal_terms(start: Term, equalities: Iterable[Equality], allowed: list[str]) -> dict[str, Term]:
    """For each allowed relation a term that is equal to `start`. For the relation of `start` this is `start` itself."""
    sides = [pair for e in equalities for pair in ((e.left, e.right), (e.right, e.left)) if pair[1].relation in allowed]
    found: dict[str, Term] = {}
    for term in reached(start, lambda term: (other for one, other in sides if one == term)):
        found.setdefault(term.relation, term)
    return found
