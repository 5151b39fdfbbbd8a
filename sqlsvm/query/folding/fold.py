"""SELECT ... GROUP BY over a join -> SELECT over groups that are made without it.

The result has the same rows, names and types. Whole numbers and decimals are added up exactly; sums of doubles may
differ in the last digits, because they are added up in another order.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Column, Engine, StatementError
from sqlsvm.errors import QueryError
from sqlsvm.query.facts import Facts
from sqlsvm.query.faults import Stays, stays
from sqlsvm.query.folding.messages import Blocks, Message, blocks_of, multiplies
from sqlsvm.query.folding.values import Aggregate, Carried, Made, Size, aggregate_of, made
from sqlsvm.query.forms import RESULT, check_form, outer_expressions, part
from sqlsvm.query.guards import groups_rows, is_aggregate, is_set_returning, varying
from sqlsvm.query.ir import ANSWER, MADE, Once, Parsed, Term
from sqlsvm.query.joins import joins_of
from sqlsvm.query.names import Scope, relations_in
from sqlsvm.query.outputs import joined
from sqlsvm.query.sources import from_items, source_of, sources, without

CTEs = tuple[exp.CTE, ...]

GROUPS = "groups"
MOST_RELATIONS = 40  # with more, to find the blocks takes long
_JOINED = f"{sql.WORKING}joined"  # notes which join a SELECT of groups stands for
_FEWER = "distinct", "limit", "offset", "qualify", "having"
_CLAUSES = {"expressions", "from_", "joins", "where", "group", "having", "with_", "order"}


def all_folded(tree: exp.Select, engine: Engine) -> exp.Select:
    """The tree itself changes. Why a part is made is said as it was, and what is not made."""
    for item in from_items(tree):
        once = sql.noted(item, MADE) or part(source_of(item, tree, engine.fold).expression, engine.dialect)
        if isinstance(once, Once):
            item.meta[MADE] = once._replace(size=_size_of(item, tree, engine))
    for select, outside in list(_alone(tree, ())):
        if groups_rows(select) and (found := groups_of(select, outside, engine)):
            select.replace(found)
    for item in from_items(tree):
        if isinstance(once := sql.noted(item, MADE), Once):
            source = source_of(item, tree, engine.fold).expression
            joins = [sql.noted(select, _JOINED) for select in source.find_all(exp.Select)]
            spared = "; ".join(dict.fromkeys(str(joined) for joined in joins if joined)) or None
            item.meta[MADE] = once._replace(spared=spared, varying=varying(source, engine.dialect))
    return tree


def _size_of(item: exp.Expression, tree: exp.Select, engine: Engine) -> exp.Select | None:
    """The number of rows of a sub-query, if that is the number of rows of its join, and this has many."""
    select, outside = item.this, tree.args.get("with_")
    if not isinstance(item, exp.Subquery) or not isinstance(select, exp.Select) or groups_rows(select):
        return None
    more = any(node.find(exp.Explode) or any(map(is_set_returning, node.walk())) for node in select.expressions)
    if more or any(select.args.get(clause) for clause in _FEWER):
        return None
    count = without(select, "order", "windows", outputs=[exp.alias_(exp.Count(this=exp.Star()), "n")])
    where = count.args.get("where")
    if not (where and any(column.table.startswith(ANSWER) for column in where.find_all(exp.Column))):
        joins = count.args.get("joins") or []
        count.set("joins", [join for join in joins if not join.alias_or_name.startswith(ANSWER)])
    source = count.args.get("from_")
    if not source or (not count.args.get("joins") and isinstance(source.this, exp.Table)):
        return None
    ctes = tuple(outside.expressions) if outside else ()
    found = groups_of(count, ctes, engine)
    return with_ctes(found, ctes) if found else None


def _alone(query: exp.Expr, ctes: CTEs) -> Iterator[tuple[exp.Select, CTEs]]:
    """The SELECTs that mean the same by themselves with these CTEs, inner ones first."""
    if isinstance(query, exp.Subquery) and not query.alias.startswith(ANSWER):
        yield from _alone(query.this, ctes)
    if not isinstance(query, exp.Select | exp.SetOperation):
        return
    with_, seen = query.args.get("with_"), ctes
    if with_ and with_.args.get("recursive"):
        return
    for cte in with_.expressions if with_ else ():
        yield from _alone(cte.this, seen)
        seen = (*seen, cte)
    if isinstance(query, exp.SetOperation):
        yield from (found for side in (query.left, query.right) for found in _alone(side, seen))
    elif query.args.get("from_"):
        yield from (found for item in from_items(query) for found in _alone(item, seen))
        yield query, ctes


def groups_of(select: exp.Select, outside: CTEs, engine: Engine, *, always: bool = False) -> exp.Select | None:
    """None if nothing is gained: an aggregate needs all rows, all relations are one block, or the join has no more rows
    than the largest of them. `always`: also then."""
    try:
        return _Grouping(select, outside, engine, always).found()
    except QueryError as reason:
        stays(reason)
        return None


def with_ctes(select: exp.Select, ctes: CTEs) -> exp.Select:
    made = select.copy()
    own = made.args.get("with_")
    if every := [*(cte.copy() for cte in ctes), *(own.expressions if own else [])]:
        made.set("with_", exp.With(expressions=every))
    return made


@dataclass
class _Grouping:
    select: exp.Select
    outside: CTEs  # the CTEs that it can see
    engine: Engine
    always: bool
    keys: dict[exp.Expression, None] = field(default_factory=dict)
    aggregates: dict[exp.Expr, Aggregate] = field(default_factory=dict)

    def found(self) -> exp.Select:
        self._check()
        self.query, self.scope = self._taken_apart()
        if not self.always and not multiplies(self.query, self._is_unique):
            raise Stays("has no more rows than one of its relations")
        self.keys = dict.fromkeys(_keys(self.select, self.scope))
        outputs = [self._collected(self.scope.resolve(item.unalias())) for item in self.select.expressions]
        having = self.select.args.get("having")
        left = self._collected(self.scope.resolve(having.this)) if having else None
        named = [column.name for column in self._typed(with_ctes(self.select, self.outside))]
        self._complete([*outputs, *([left] if left else [])])
        blocks = self._blocks()
        makes = self._made()
        carried = tuple(dict.fromkeys(c for each in makes.values() for c in each[0]))
        first, *others = blocks.roots(alias for key in self.keys for alias in relations_in(key))
        message = Message(blocks, first, None, tuple(self.keys), carried, tuple(others))
        return self._over(message, makes, outputs, named, left)

    # -- what it has ---------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        select, group = self.select, self.select.args.get("group")
        if any(value and clause not in _CLAUSES for clause, value in select.args.items()):
            raise Stays("has another clause")
        if not select.args.get("from_") or not 1 < len(from_items(select)) <= MOST_RELATIONS:
            raise Stays("is no join")
        if select.args.get("order") and getattr(select.parent, "alias", RESULT) != RESULT:
            raise Stays("is ordered")
        own = [e for e in (*select.expressions, group, select.args.get("having")) if e]
        if any(e.find(exp.Query) for e in outer_expressions(select)):
            raise Stays("has a sub-query, in which names may mean something else")
        stars = (star for e in own for star in e.find_all(exp.Star))
        if any(e.find(exp.Query, exp.Window) for e in own) or any(not isinstance(s.parent, exp.Count) for s in stars):
            raise Stays("has a sub-query or a window")  # COUNT(*) is the only star
        plain = {"expressions", "all"} >= {clause for clause, value in group.args.items() if value} if group else True
        if not plain or (group and group.find(exp.GroupingSets, exp.Rollup, exp.Cube)):
            raise Stays("has several groupings")

    def _typed(self, query: exp.Select) -> tuple[Column, ...]:
        """The columns of what the user wrote."""
        try:
            return self.engine.describe(query)
        except StatementError as error:
            raise Stays(error.message) from error

    def _taken_apart(self) -> tuple[Parsed, Scope]:
        inside = self._inside([exp.alias_(sql.integer(1), "one")])
        check_form(inside, self.engine.dialect)
        full = with_ctes(inside, self.outside)
        items = sources(full, self.engine.fold)
        columns = {source.alias: self._typed(source.probe) for source in items}
        joins = joins_of(inside, items, Scope(self.engine.dialect, self.engine.fold, columns))
        written = (source_of(item.copy(), exp.Select(), self.engine.fold).expression for item in from_items(inside))
        query = joined("", items, joins)
        relations = (replace(r, source=source) for r, source in zip(query.relations, written, strict=True))
        query = replace(query, relations=tuple(relations))
        self.sources = {item.alias: item.expression for item in items}
        return query, _with_outputs(joins.scope, self.select)

    def _is_unique(self, alias: str, terms: tuple[Term, ...]) -> bool:
        if alias.startswith(ANSWER):
            return True
        relation = replace(self.query.relation(alias).partners, source=self.sources[alias])
        return Facts(self.engine).of(relation).is_unique(terms)

    def _inside(self, outputs: Iterable[exp.Expr]) -> exp.Select:
        return without(self.select, "group", "having", "order", outputs=[*outputs])

    def _collected(self, value: exp.Expression) -> exp.Expression:
        """Keys and aggregates are noted, and become columns of the groups when these are known."""
        for node in value.walk(prune=self._is_part):
            if node in self.keys:
                continue
            if found := self._aggregate(node):
                self.aggregates[node.copy()] = found
            elif is_aggregate(node):
                raise Stays("has an aggregate that needs all rows")
        return value

    def _is_part(self, node: exp.Expr) -> bool:
        return node in self.keys or self._aggregate(node) is not None

    def _aggregate(self, node: exp.Expr) -> Aggregate | None:
        if not isinstance(node, exp.Filter | exp.IgnoreNulls) and not is_aggregate(node):
            return None
        return aggregate_of(node, self.engine.dialect)

    def _complete(self, values: list[exp.Expression]) -> None:
        """A column that is neither is one that the keys determine. As a key it changes no group."""
        for value in values:
            for node in value.walk(prune=self._is_part):
                if isinstance(node, exp.Column) and node.args.get("table") and node not in self.keys:
                    self.keys[node.copy()] = None
        if any(not relations_in(key) for key in self.keys):
            raise Stays("groups by a constant")

    # -- the groups ----------------------------------------------------------------------------------------------------

    def _blocks(self) -> Blocks:
        parts = [*self.keys, *(part for each in self.aggregates.values() for part in each.parts)]
        parts += [condition.expression for condition in self.query.spanning]
        together = [used for part in parts if len(used := relations_in(part)) > 1]
        found = blocks_of(self.query, together)
        if len(found.blocks) == 1:
            raise Stays("is one block")
        return found

    def _made(self) -> Mapping[exp.Expr, Made]:
        values = dict.fromkeys(part for each in self.aggregates.values() for part in each.parts)
        sizes = dict(zip(values, self._types(values), strict=True))
        types = self._types(self.aggregates)
        found = {}
        for (node, each), type_ in zip(self.aggregates.items(), types, strict=True):
            needs = made(each, lambda value: _size(sizes.get(value)), type_)
            if needs is None:
                raise Stays("adds up what is no number")
            found[node] = needs
        return found

    def _types(self, values: Iterable[exp.Expr]) -> list[exp.DataType]:
        outputs = [exp.alias_(value.copy(), f"v{n}") for n, value in enumerate(values)]
        described = self.engine.describe(with_ctes(self._inside(outputs), self.outside)) if outputs else ()
        return [exp.DataType.build(column.type, dialect=self.engine.dialect, udt=True) for column in described]

    def _over(
        self,
        message: Message,
        makes: Mapping[exp.Expr, Made],
        outputs: list[exp.Expression],
        named: list[str],
        having: exp.Expression | None,
    ) -> exp.Select:
        def read(carried: Carried) -> exp.Expression:
            return sql.column(message.name(carried), GROUPS)

        def over(node: exp.Expr) -> exp.Expr:
            if node in self.keys:
                return sql.column(f"g{[*self.keys].index(node)}", GROUPS)  # type: ignore[arg-type]
            return exp.paren(makes[node][1](read), copy=False) if node in makes else node

        values = [value.copy().transform(over) for value in outputs]
        shown = [exp.alias_(v, n, quoted=True) for v, n in zip(values, named, strict=True)]
        found = without(self.select, "joins", "where", "group", "having", "order", outputs=shown)
        found.set("from_", exp.From(this=sql.derived(message.select(), GROUPS)))
        if having is not None:
            found.set("where", exp.Where(this=having.copy().transform(over)))
        self.engine.describe(with_ctes(found, self.outside))
        *some, last = (item.alias_or_name for item in from_items(self.select))
        found.meta[_JOINED] = f"the join of {', '.join(some)} and {last} is not made"
        return found


def _size(type_: exp.DataType | None) -> Size | None:
    if type_ is None:
        return None
    if type_.this in exp.DataType.INTEGER_TYPES:
        return "whole"
    if type_.this in (exp.DType.DECIMAL, exp.DType.BIGDECIMAL):
        return "decimal"
    return "double" if type_.this in exp.DataType.FLOAT_TYPES else None


# -- GROUP BY: columns of relations, and outputs by their number or their alias ----------------------------------------


def _with_outputs(scope: Scope, select: exp.Select) -> Scope:
    """A name that no relation has is that of an output."""
    named = [item for item in select.expressions if isinstance(item, exp.Alias)]
    meant = [(scope.meaning(item.args["alias"]), item.this) for item in named]
    times = Counter(name for name, _ in meant)
    return replace(scope, named={name: value for name, value in meant if times[name] == 1})


def _keys(select: exp.Select, scope: Scope) -> Iterator[exp.Expression]:
    group = select.args.get("group")
    if group and group.args.get("all"):
        plain = (item for item in select.expressions if not any(map(is_aggregate, item.walk())))
        yield from (scope.resolve(item.unalias()) for item in plain)
    for item in group.expressions if group else ():
        is_number = isinstance(item, exp.Literal) and item.is_int
        found = select.expressions[int(item.name) - 1].unalias() if is_number else item
        yield scope.resolve(found.unnest())
