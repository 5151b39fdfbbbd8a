"""World -> SQL: the query as somebody would type it, and the statements that make and drop its tables."""

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, TypeVar

from sqlglot import exp

from sqlsvm.query import Equality, Feature

if TYPE_CHECKING:
    from tests.ground.world import Item, Table, Typing, Value, World

E = TypeVar("E", bound=exp.Expression)
Visible = dict[str, list[set[str]]]
"""Folded column name -> for each column of that name which an ON or USING can see, the aliases that it belongs to."""

_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
_RESERVED = frozenset({"select", "order", "group", "user", "table", "all"})


def query(world: "World", outputs: Sequence[exp.Expr] | None = None) -> exp.Select:
    """The feature query; with `outputs`, the same FROM and WHERE under another select list."""
    select, where, visible = exp.Select(), list[exp.Expression](), Visible()
    for position, item in enumerate(world.items):
        if position:
            join, rest = _join(world, position, visible)
            select.append("joins", join)
            where += rest
        else:
            select = select.from_(_source(world, item), copy=False)
            where += item.filters
            _see(world, item, visible, ())
        where += item.late_filters
        if item.form == "cte":
            name = exp.TableAlias(this=_quoted(item.form_name))
            select = select.with_(name, as_=_form(world, item), copy=False)
    if where:
        select = select.where(*(w.copy() for w in where), copy=False)
    _type(select, world, world.typing.shout)
    listed = list[exp.Expr](_select_list(world)) if outputs is None else [o.copy() for o in outputs]
    return select.select(*listed, copy=False)


def standalone(world: "World", item: "Item") -> exp.Expression:
    """The relation as it can stand in the FROM of any other query: a CTE becomes a sub-query."""
    if item.form in ("subquery", "cte"):
        return _form(world, item).subquery(_quoted(item.alias), copy=False)
    name = item.form_name if item.form == "view" else item.table
    return _table(name, world.schema, item.alias)


def creation(world: "World") -> Iterator[exp.Expression]:
    """One statement for the schema, two a table, one a view."""
    yield exp.Create(this=exp.Table(db=_quoted(world.schema)), kind="SCHEMA")
    for table in world.tables:
        yield _create_table(table, world.schema)
        if table.rows:
            rows = [exp.Tuple(expressions=[literal(v) for v in row]) for row in table.rows]
            yield exp.Insert(this=_table(table.name, world.schema), expression=exp.Values(expressions=rows))
    for item in world.items:
        if item.form == "view":
            view = _table(item.form_name, world.schema)
            yield exp.Create(this=view, kind="VIEW", expression=_form(world, item))


def dropping(schema: str) -> exp.Expression:
    return exp.Drop(tables=[exp.Table(db=_quoted(schema))], kind="SCHEMA", exists=True, cascade=True)


def literal(value: "Value") -> exp.Expression:
    """A float goes by its text: DuckDB reads 0.1234567890123456 as a DECIMAL and rounds it on the way to DOUBLE."""
    if value is None:
        return exp.Null()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, str):
        return exp.Literal.string(value)
    if isinstance(value, float) and not (value * 4).is_integer():
        return exp.Cast(this=exp.Literal.string(repr(value)), to=exp.DataType.build("double"))
    number = exp.Literal.number(str(abs(value)))
    return exp.Neg(this=number) if value < 0 or (isinstance(value, Decimal) and value.is_signed()) else number


def _join(world: "World", position: int, visible: Visible) -> tuple[exp.Join, list[exp.Expression]]:
    """The join that adds an item, and what is left for WHERE."""
    item = world.items[position]
    join = exp.Join(this=_source(world, item))
    if item.alias in world.optional:
        return _left_join(world, item, join, visible), []
    equalities = _arriving(world, position)
    conditions = [_condition(e) for e in equalities]
    names = _shared_names(world, item, equalities, visible)
    if item.join == "comma" and _comma_is_legal(world, position):
        visible.clear()
        _see(world, item, visible, ())
        return join, conditions + list(item.filters)
    if item.join == "using" and names:
        join.set("using", [_quoted(n) for n in names])
    elif item.join == "natural" and names and _is_natural(world, item, names, visible):
        join.set("method", "NATURAL")
    else:
        return _join_on(world, item, join, equalities, visible)
    _see(world, item, visible, names)
    return join, list(item.filters)


def _join_on(
    world: "World", item: "Item", join: exp.Join, equalities: Sequence[Equality], visible: Visible
) -> tuple[exp.Join, list[exp.Expression]]:
    """ON with what it may see; CROSS JOIN when that is nothing. The rest is for WHERE."""
    in_reach = {alias for owners in visible.values() for owner in owners for alias in owner}
    on, where = list[exp.Expression](), list[exp.Expression]()
    for equality in equalities:
        reachable = item.join != "cross" and _other(equality, item.alias)[1] in in_reach
        (on if reachable else where).append(_condition(equality))
    (on if on and item.filters_in_on else where).extend(item.filters)
    if on:
        join.set("on", exp.and_(*(o.copy() for o in on), copy=False))
    else:
        join.set("kind", "CROSS")
    _see(world, item, visible, ())
    return join, where


def _left_join(world: "World", item: "Item", join: exp.Join, visible: Visible) -> exp.Join:
    """Filters belong into ON here: WHERE would see the NULLs of a missing match."""
    equalities = next(j.equalities for j in world.left_joins if j.relation == item.alias)
    names = () if item.filters else _shared_names(world, item, equalities, visible)
    join.set("side", "LEFT")
    if item.join == "using" and names:
        join.set("using", [_quoted(n) for n in names])
    elif item.join == "natural" and names and _is_natural(world, item, names, visible):
        join.set("method", "NATURAL")
    else:
        names = ()
        conditions = [_condition(e) for e in equalities] + [f.copy() for f in item.filters]
        join.set("on", exp.and_(*conditions, copy=False))
    _see(world, item, visible, names)
    return join


def _arriving(world: "World", position: int) -> list[Equality]:
    """The equalities whose second relation is this one."""
    seen = {i.alias for i in world.items[: position + 1]}
    alias = world.items[position].alias
    return [e for e in world.equalities if {e.left.relation, e.right.relation} <= seen and _touches(e, alias)]


def _touches(equality: Equality, alias: str) -> bool:
    return alias in (equality.left.relation, equality.right.relation)


def _other(equality: Equality, alias: str) -> tuple[exp.Expression, str, exp.Expression]:
    """(this relation's expression, the other relation, its expression)"""
    mine, other = equality.left, equality.right
    if mine.relation != alias:
        mine, other = other, mine
    return mine.expression, other.relation, other.expression


def _condition(equality: Equality) -> exp.Expression:
    return exp.EQ(this=equality.left.expression.copy(), expression=equality.right.expression.copy())


def _shared_names(world: "World", item: "Item", equalities: Iterable[Equality], visible: Visible) -> tuple[str, ...]:
    """The column names that say all of `equalities` in USING, or nothing where USING cannot."""
    names: dict[str, None] = {}
    for equality in equalities:
        mine, other, theirs = _other(equality, item.alias)
        if not (isinstance(mine, exp.Column) and isinstance(theirs, exp.Column) and mine.name == theirs.name):
            return ()
        owners = visible.get(mine.name.casefold(), [])
        if len(owners) != 1 or other not in owners[0]:
            return ()
        names[mine.name] = None
    return tuple(names)


def _is_natural(world: "World", item: "Item", names: Sequence[str], visible: Visible) -> bool:
    common = {c.name.casefold() for c in world.table_of[item.alias].columns} & visible.keys()
    return common == {n.casefold() for n in names}


def _comma_is_legal(world: "World", position: int) -> bool:
    """A comma hides what stands before it from every later ON; a LEFT JOIN has nowhere else to put its condition."""
    before = {i.alias for i in world.items[:position]}
    after = {i.alias for i in world.items[position:]}
    return not any(j.parent in before and j.relation in after for j in world.left_joins)


def _see(world: "World", item: "Item", visible: Visible, merged: Sequence[str]) -> None:
    """Add the item's columns; those of USING merge. The optional side never owns the merged column: it may be NULL."""
    for column in world.table_of[item.alias].columns:
        owners = visible.setdefault(column.name.casefold(), [])
        if column.name not in merged:
            owners.append({item.alias})
        elif item.alias not in world.optional:
            owners[0].add(item.alias)


def _select_list(world: "World") -> Iterator[exp.Expression]:
    starred: set[str] = set()
    for output in world.outputs:
        if output is not world.label and world.item(output.relation).star:
            if output.relation not in starred:
                yield _type(exp.Column(this=exp.Star(), table=_quoted(output.relation)), world, False)
            starred.add(output.relation)
        else:
            yield _type(_output(output, world.typing), world, False)


def _output(output: Feature, typing: "Typing") -> exp.Expression:
    expression = output.expression.copy()
    if typing.terse and isinstance(expression, exp.Column) and expression.name == output.name:
        return expression
    return exp.Alias(this=expression, alias=_quoted(output.name))


def _type(tree: E, world: "World", shout: bool) -> E:
    """Fingers at work: drop needless aliases and quotes, in place."""
    if world.typing.bare:
        counts = _name_counts(world)
        for column in tree.find_all(exp.Column):
            if counts.get(column.name.casefold()) == 1 and not isinstance(column.this, exp.Star):
                column.set("table", None)
    for identifier in tree.find_all(exp.Identifier):
        name = identifier.this
        if _PLAIN.fullmatch(name) and name not in _RESERVED:
            identifier.set("quoted", False)
            identifier.set("this", name.upper() if shout else name)
    return tree


def _name_counts(world: "World") -> dict[str, int]:
    counts: dict[str, int] = {}
    for item in world.items:
        for column in world.table_of[item.alias].columns:
            counts[column.name.casefold()] = counts.get(column.name.casefold(), 0) + 1
    return counts


def _source(world: "World", item: "Item") -> exp.Expression:
    """The item as typed in this query's FROM."""
    if item.form == "subquery":
        return standalone(world, item)
    name = {"cte": item.form_name, "view": item.form_name}.get(item.form, item.table)
    schema = world.schema if item.schema_typed and item.form != "cte" else None
    alias = None if world.typing.terse and name == item.alias else item.alias
    return _table(name, schema, alias)


def _form(world: "World", item: "Item") -> exp.Select:
    """SELECT * FROM the item's table, with the form's own WHERE."""
    body = exp.Select(expressions=[exp.Star()]).from_(_table(item.table, world.schema), copy=False)
    return body.where(item.form_filter.copy(), copy=False) if item.form_filter else body


def _create_table(table: "Table", schema: str) -> exp.Expression:
    parts: list[exp.Expression] = [
        exp.ColumnDef(this=_quoted(c.name), kind=exp.DataType.build(c.type)) for c in table.columns
    ]
    for columns in table.unique:
        parts.append(exp.UniqueColumnConstraint(this=exp.Schema(expressions=[_quoted(c) for c in columns])))
    return exp.Create(this=exp.Schema(this=_table(table.name, schema), expressions=parts), kind="TABLE")


def _table(name: str, schema: str | None, alias: str | None = None) -> exp.Table:
    table = exp.Table(this=_quoted(name), db=_quoted(schema) if schema else None)
    if alias:
        table.set("alias", exp.TableAlias(this=_quoted(alias)))
    return table


def _quoted(name: str) -> exp.Identifier:
    return exp.Identifier(this=name, quoted=True)
