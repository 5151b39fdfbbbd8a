"""The calls in a query or in the body of a function, read from the text that PostgreSQL gets: functions and operators,
with their operands. Nothing here asks the database; pg_names.py does."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.errors import QueryError

HIDDEN = {"LIKE": "~~", "ILIKE": "~~*", "NOT LIKE": "!~~", "NOT ILIKE": "!~~*", "SIMILAR TO": "~", "BETWEEN": ">= <=",
          "IN": "=", "IS DISTINCT FROM": "=", "IS NOT DISTINCT FROM": "=", "CASE": "=", "NULLIF": "=", "USING": "=",
          "NATURAL": "="}  # fmt: skip
"""Words that stand for operators."""

_MORE = (exp.NullSafeEQ, exp.NullSafeNEQ, exp.SimilarTo)  # binary nodes that OPERATOR(schema.=) does not replace


@dataclass(frozen=True)
class Call:
    """A function or an operator in a query."""

    node: exp.Expr
    kind: str
    name: str
    value: exp.Expr | None = None  # the one that is compared, where a node compares with several

    @property
    def operands(self) -> tuple[exp.Expr, ...]:
        """The arguments in their order."""
        node = self.node
        if self.value is not None:
            return (self.value if isinstance(node, exp.Join) else node.this, self.value)
        if isinstance(node, exp.Between):
            return (node.this, node.args["low" if self.name == ">=" else "high"])
        first = () if isinstance(node, exp.Anonymous) else (node.this, node.args.get("expression"))
        others = (part for name, part in node.args.items() if name not in ("this", "expression", "expressions"))
        return tuple(part for part in (*first, *node.expressions, *others) if isinstance(part, exp.Expr))

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, self.name

    @property
    def each(self) -> list["Call"]:
        """One call for each value that is compared; literals of one kind have one type."""
        node, values = self.node, []
        if isinstance(node, exp.In) and node.args.get("query"):
            values = [exp.Any(this=node.args["query"])]
        elif isinstance(node, exp.In):
            values = node.expressions
        elif isinstance(node, exp.Case):
            values = [branch.this for branch in node.args["ifs"]]
        kinds = {(v.is_string if isinstance(v, exp.Literal) else v): v for v in values}
        return [replace(self, value=v) for v in kinds.values()] or [self]


@dataclass(frozen=True)
class Body:
    """The text of a function: what it may call and read. Too much is found rather than too little."""

    text: str

    @property
    def functions(self) -> list[str]:
        """Those without a schema."""
        return sorted({name.lower() for name in re.findall(r"(?<![.\w])(\w+)\s*\(", self.text)})

    @property
    def operators(self) -> list[str]:
        symbols = set(re.findall(r"[-+*/<>=~!@#%^&|`?]+", self.text))
        words = set(re.findall(r"\w+", self.text.upper()))
        hidden = (HIDDEN[phrase].split() for phrase in HIDDEN if words.issuperset(phrase.split()))
        return sorted(symbols.union(*hidden))

    @property
    def dotted(self) -> list[tuple[str, str]]:
        """Schema and name of what may be a table or a function."""
        return re.findall(r"([^\W\d]\w*)\"?\.\"?([^\W\d]\w*)", self.text)


def probing(call: Call, operands: Sequence[exp.Expr]) -> exp.Select:
    """SELECT the operands where the call stands, with the relations and the CTEs that can be seen there."""
    probe = exp.select(*(exp.alias_(o.copy(), f"o{i}") for i, o in enumerate(operands)))
    ctes: list[exp.Expr] = []
    path: list[exp.Expr] = [call.node]
    stands = False
    while around := path[-1].parent:
        if isinstance(around, exp.Select) and not stands:
            probe, stands = _reading(probe, around, around.args.get("joins") or []), True
            _group(probe, operands)
        elif isinstance(around, exp.Select) and path[-1].arg_key not in ("from_", "with_"):
            probe = _within(probe, around, _before(around, path))
        with_ = around.args.get("with_")
        ctes = [*(with_.expressions if with_ else ()), *ctes]
        path.append(around)
    if ctes:
        probe.set("with_", exp.With(expressions=[c.copy() for c in ctes], recursive=True))
    return probe


def _reading(probe: exp.Select, around: exp.Select, joins: Sequence[exp.Expr]) -> exp.Select:
    """From what a query reads, whatever joins its rows."""
    for part in ("from_", "windows"):
        value = around.args.get(part)
        probe.set(part, [v.copy() for v in value] if isinstance(value, list) else value and value.copy())
    probe.set("joins", [join.copy() for join in joins])
    for join in probe.args["joins"]:
        if join.args.get("on"):
            join.set("on", exp.true())
    return probe


def _group(probe: exp.Select, operands: Sequence[exp.Expr]) -> None:
    """By what stands outside of the aggregates, for the types only. GROUP BY itself may have numbers of outputs."""
    alone = [o.copy() for o in operands]
    if any(_over_rows(a) for o in alone for a in o.find_all(exp.AggFunc)):
        found = [c for o in alone for c in o.find_all(exp.Column) if not c.find_ancestor(exp.AggFunc, exp.Query)]
        probe.set("group", exp.Group(expressions=[c.copy() for c in found]) if found else None)


def _over_rows(aggregate: exp.Expr) -> bool:
    """Or is it over a window?"""
    while isinstance(aggregate.parent, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        aggregate = aggregate.parent
    return not isinstance(aggregate.parent, exp.Window)


def _before(around: exp.Select, path: Sequence[exp.Expr]) -> list[exp.Expr]:
    """The joins whose columns a sub-query can use. An item of FROM can use those of the items before it."""
    joins: list[exp.Expr] = around.args.get("joins") or []
    part = path[-1]
    if part.arg_key != "joins":
        return joins
    return joins[: (part.index or 0) + all(node is not part.this for node in path)]


def _within(probe: exp.Select, around: exp.Select, joins: Sequence[exp.Expr]) -> exp.Select:
    """SELECT probe.* FROM what the outer query reads, LATERAL (probe)"""
    if not around.args.get("from_"):
        return probe
    name = exp.to_identifier("probe", quoted=True)
    inner = exp.Lateral(this=exp.Subquery(this=probe), alias=exp.TableAlias(this=name))
    outer = exp.Select(expressions=[exp.Column(this=exp.Star(), table=name.copy())])
    return _reading(outer, around, [*joins, exp.Join(this=inner, kind="CROSS")])


def calls_in(query: exp.Query) -> Iterator[Call]:
    """All calls that do not name a schema; those inside others first, and those of what others read."""
    for node in _inside_first(query):
        if isinstance(node.parent, exp.Dot) or (isinstance(node.parent, exp.Table) and node.parent.db):
            continue
        if isinstance(node, exp.Operator | exp.Connector | exp.Dot | exp.Collate | exp.Escape | exp.Slice):
            continue
        for kind, name in _names(node):
            yield Call(node, kind, name)


def _inside_first(query: exp.Query) -> list[exp.Expr]:
    """All nodes: those in more SELECTs first."""
    nodes, depth = list(query.walk(bfs=False)), dict[int, int]()
    for node in nodes:
        depth[id(node)] = depth.get(id(node.parent), 0) + isinstance(node, exp.Select)
    nodes.reverse()
    return sorted(nodes, key=lambda node: depth[id(node)], reverse=True)


def _names(node: exp.Expr) -> Iterator[tuple[str, str]]:
    if isinstance(node, exp.In | exp.Nullif) or (isinstance(node, exp.Case) and node.this):
        yield "operator", "="
    elif isinstance(node, exp.Between):
        yield from (("operator", symbol) for symbol in HIDDEN["BETWEEN"].split())
    elif isinstance(node, exp.Neg):
        yield "operator", "-"
    elif isinstance(node, exp.Anonymous):
        yield "function", node.name.lower()
    elif isinstance(node, exp.StrPosition | exp.Hex):  # to_hex is sent as HEX, which the system does not have
        yield "function", "strpos" if isinstance(node, exp.StrPosition) else "to_hex"
    elif isinstance(node, exp.Trim):
        yield "function", {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(node.text("position"), "btrim")
    elif isinstance(node, exp.Binary | exp.Func) and not isinstance(node, exp.Cast | exp.Case):
        yield from _as_rendered(node)


def _as_rendered(node: exp.Expr) -> Iterator[tuple[str, str]]:
    """What the text has that is sent: the symbol between two operands, or the name before a parenthesis."""
    shape = node.copy()
    if isinstance(node, exp.Binary):
        shape.set("this", exp.column("a"))
        shape.set("expression", exp.column("b"))
    text = rendered(shape)
    if between := re.fullmatch(r"(?:NOT )?a (.+) b", text):
        yield "operator", HIDDEN.get(between[1], between[1])
    elif called := re.match(r"(\w+)\(", text):
        yield "function", called[1].lower()


def qualify(call: Call, schema: str) -> None:
    node = call.node
    if call.kind == "function" and not _is_spelt(node):
        raise unclear(call, [schema, "pg_catalog"])
    if call.kind == "function":
        dot = exp.Dot(this=quoted(schema))
        node.replace(dot)
        dot.set("expression", node)
    elif isinstance(node, exp.In) and (query := node.args.get("query")):
        node.replace(_operator(schema, "=", node.this, exp.Any(this=query)))
    elif isinstance(node, exp.In) and node.expressions:
        one_of = [_operator(schema, "=", node.this.copy(), e.copy()) for e in node.expressions]
        node.replace(exp.paren(exp.or_(*one_of, copy=False), copy=False))
    elif isinstance(node, exp.Binary) and not isinstance(node, _MORE) and not isinstance(node.parent, exp.Escape):
        node.replace(_operator(schema, call.name, node.this, node.expression))
    else:
        raise unclear(call, [schema, "pg_catalog"])


def _is_spelt(node: exp.Expr) -> bool:
    """Does the text that is sent have the function that was typed? char_length, to_hex and btrim become length, HEX and
    TRIM, and a function of the system must not become that of another user."""
    if isinstance(node, exp.Anonymous):
        return True
    if not isinstance(node, exp.Func) or isinstance(node, exp.StrPosition | exp.Substring | exp.Overlay | exp.Trim):
        return False
    return [name for _, name in _names(node)] == [name.lower() for name in node.sql_names()]


def _operator(schema: str, name: str, left: exp.Expr, right: exp.Expr) -> exp.Operator:
    symbol = f"{rendered(quoted(schema))}.{name}"
    sides = (exp.paren(s, copy=False) if isinstance(s, exp.Binary | exp.Not) else s for s in (left, right))
    return exp.Operator(this=next(sides), operator=symbol, expression=next(sides))


def unclear(call: Call, schemas: Iterable[str], detail: str | None = None) -> QueryError:
    """Views were taken apart when they were made, so a view makes it clear."""
    schemas = list(dict.fromkeys(schemas))
    forms = [f"{s}.{call.name}" if call.kind == "function" else f"OPERATOR({s}.{call.name})" for s in schemas]
    return QueryError(
        f"{call.kind} {call.name} could be that of the schema {' or '.join(schemas)}: {rendered(call.node)[:60]}",
        detail=detail,
        hint=f"write {' or '.join(forms)}; or make a view of this part of the query and read that",
    )


def planted(call: Call, schema: str, role: str) -> QueryError:
    return QueryError(
        f'role "{role}" has put {call.kind} {call.name} into the schema {schema}, for types of others',
        detail=f"It would run with your rights: {rendered(call.node)[:60]}",
        hint=f"cast both sides to a type of the system; a superuser can drop it, or revoke CREATE on {schema}",
    )


def is_cte(table: exp.Table, meaning: Callable[[exp.Expr], str]) -> bool:
    """Does a table's name mean a CTE? A CTE sees those before it, and itself only if they are recursive."""
    name, node = meaning(table.this), table.parent
    inside: exp.Expr | None = None
    while node is not None:
        if isinstance(node, exp.CTE):
            inside = node
        with_: exp.With | None = None if isinstance(node, exp.With) else node.args.get("with_")
        for cte in with_.expressions if with_ else ():
            if cte is inside and not (with_ and with_.args.get("recursive")):
                break
            if meaning(cte.args["alias"].this) == name:
                return True
        node = node.parent
    return False


def in_schema(table: exp.Table, schema: str) -> exp.Table:
    name = quoted(schema)
    name.meta[sql.IMPLIED] = True
    table.set("db", name)
    return table


def table_text(table: exp.Table) -> str:
    return rendered(exp.Table(**{part: table.args[part].copy() for part in ("this", "db") if table.args.get(part)}))


def plain_type(type: exp.DataType) -> str:
    kind = type.args.get("kind")
    return kind.name if isinstance(kind, exp.Identifier) else rendered(type).lower()


def is_row(operand: exp.Expr) -> bool:
    inside = operand.unnest()
    is_call = isinstance(inside, exp.Anonymous) and inside.name.lower() == "row"
    return is_call or isinstance(inside, exp.Tuple | exp.Values)


def array_of(operand: exp.Expr) -> exp.Expr | None:
    """The array of ANY or ALL: each of its values is compared."""
    if isinstance(operand, exp.Any | exp.All):
        return operand.this if isinstance(operand.this, exp.Expr) else None
    is_call = isinstance(operand, exp.Anonymous) and operand.name.lower() in ("any", "all", "some")
    return operand.expressions[0] if is_call else None


def is_untyped(operand: exp.Expr) -> bool:
    operand = array_of(operand) or operand
    while isinstance(operand, exp.Paren | exp.Collate):
        operand = operand.this
    return isinstance(operand, exp.Null) or (isinstance(operand, exp.Literal) and operand.is_string)


def quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def rendered(node: exp.Expr) -> str:
    return node.sql(dialect="postgres")
