"""What the names of a query mean in a session, written out with their schemas.

Our statements run with pg_catalog alone on the search_path: a schema that comes first could hold an operator or a
function that takes the place of ours. So the names of the user's query are looked up once, on the user's own path.
Afterwards no name in a statement depends on a path:

    SELECT f.delay FROM flights AS f WHERE f.carrier = 'UA'                          carrier is a citext
    SELECT f.delay FROM "air".flights AS f WHERE f.carrier OPERATOR("public".=) 'UA'

A function or an operator that only the system has stays as it is, and so does one that has the system's name elsewhere
but takes types that the query does not use. Where both could be meant, the types of the operands decide, by
PostgreSQL's rule: an exact match wins. Where no match is exact, the query has to say which one it means.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Called, Column, E, Q, StatementError
from sqlsvm.errors import EngineError, QueryError

PATH = "SELECT pg_catalog.current_schemas(true)"
PIN = "SET search_path = pg_catalog, pg_temp"

_RELATIONS = """\
SELECT DISTINCT ON (given.n) given.n, s.nspname
FROM unnest($1::text[]) WITH ORDINALITY AS given (name, n)
JOIN pg_catalog.pg_class AS c ON c.relname = given.name
JOIN pg_catalog.pg_namespace AS s ON s.oid = c.relnamespace
JOIN unnest($2::text[]) WITH ORDINALITY AS path (name, place)
  ON path.name = s.nspname OR path.name = 'pg_temp' AND s.oid = pg_my_temp_schema()
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p')
ORDER BY given.n, path.place"""

_TYPES = """\
SELECT DISTINCT ON (given.n) given.n, s.nspname, t.typname
FROM unnest($1::text[]) WITH ORDINALITY AS given (name, n)
JOIN pg_catalog.pg_type AS t ON t.typname = given.name
JOIN pg_catalog.pg_namespace AS s ON s.oid = t.typnamespace
JOIN unnest($2::text[]) WITH ORDINALITY AS path (name, place) ON path.name = s.nspname
WHERE to_regtype(given.name) IS NULL
ORDER BY given.n, path.place"""

_COLLATIONS = """\
SELECT DISTINCT ON (given.n) given.n, s.nspname
FROM unnest($1::text[]) WITH ORDINALITY AS given (name, n)
JOIN pg_catalog.pg_collation AS c ON c.collname = given.name
JOIN pg_catalog.pg_namespace AS s ON s.oid = c.collnamespace
JOIN unnest($2::text[]) WITH ORDINALITY AS path (name, place) ON path.name = s.nspname
ORDER BY given.n, s.nspname <> 'pg_catalog', path.place"""

# Everything on the path that has one of these names, outside the system. One whose name the system has too counts only
# if the query has a value of each of its types. A keyword such as trim is not looked up on a path, with two exceptions.
_RIVALS = """\
WITH called AS (
  SELECT 'function' AS kind, p.proname AS name, p.pronamespace AS space, ARRAY(SELECT unnest(p.proargtypes)) AS takes,
    p.prorettype AS gives
  FROM pg_catalog.pg_proc AS p WHERE p.proname = ANY ($1::text[]) AND NOT EXISTS (
    SELECT FROM pg_get_keywords() AS k
    WHERE k.word = p.proname AND k.catcode IN ('C', 'R') AND k.word NOT IN ('substring', 'overlay'))
  UNION ALL SELECT 'operator', o.oprname, o.oprnamespace, ARRAY[o.oprleft, o.oprright], o.oprresult
  FROM pg_catalog.pg_operator AS o WHERE o.oprname = ANY ($2::text[])
), rival AS (
  SELECT c.*, s.nspname AS schema, path.place, EXISTS (
    SELECT FROM called AS own
    WHERE own.kind = c.kind AND own.name = c.name AND own.space = 'pg_catalog'::regnamespace) AS known
  FROM called AS c JOIN pg_catalog.pg_namespace AS s ON s.oid = c.space
  JOIN unnest($3::text[]) WITH ORDINALITY AS path (name, place) ON path.name = s.nspname
  WHERE s.nspname <> 'pg_catalog'
), read (type) AS (
  SELECT a.atttypid FROM pg_catalog.pg_attribute AS a
  WHERE a.attrelid IN (SELECT to_regclass(name) FROM unnest($4::text[]) AS named (name)) AND NOT a.attisdropped
  UNION SELECT to_regtype(name) FROM unnest($5::text[]) AS cast_to (name)
), used (type) AS (
  SELECT type FROM read
  UNION SELECT t.typbasetype FROM read JOIN pg_catalog.pg_type AS t ON t.oid = read.type WHERE t.typtype = 'd'
  UNION SELECT gives FROM rival WHERE NOT known
  UNION SELECT t.oid FROM pg_catalog.pg_type AS t WHERE t.typnamespace = 'pg_catalog'::regnamespace
  UNION SELECT 0::oid
), reached (type) AS (
  SELECT type FROM used
  UNION SELECT gives FROM rival WHERE NOT EXISTS (SELECT unnest(takes) EXCEPT SELECT type FROM used)
)
SELECT kind, name, known, array_agg(DISTINCT schema ORDER BY schema), bool_or(EXISTS (
  SELECT FROM pg_catalog.pg_type AS t
  WHERE t.oid = ANY (takes) AND t.typnamespace <> 'pg_catalog'::regnamespace))
FROM rival
WHERE NOT known OR NOT EXISTS (SELECT unnest(takes) EXCEPT SELECT type FROM reached)
GROUP BY kind, name, known"""

# Of all functions or operators of a name that are on the path: does it take these types exactly, or after conversions
# that are made without a cast? The type of a bare literal is not known; it becomes what is needed. Who made it, if that
# is a role that has made none of its types: a stranger, who wants to be called in place of an extension.
_MATCHES = """\
WITH called AS (
  SELECT p.pronamespace AS space, ARRAY(SELECT unnest(p.proargtypes)) AS takes,
    p.provariadic <> 0 OR p.pronargdefaults > 0 AS more, p.proowner AS owner
  FROM pg_catalog.pg_proc AS p WHERE $1::text = 'function' AND p.proname = $2::text
  UNION ALL SELECT o.oprnamespace, ARRAY[o.oprleft, o.oprright], false, o.oprowner
  FROM pg_catalog.pg_operator AS o WHERE $1::text = 'operator' AND o.oprname = $2::text)
SELECT s.nspname, m.exact AND NOT c.more, m.fits OR c.more, (
  SELECT r.rolname::text FROM pg_catalog.pg_roles AS r
  WHERE r.oid = c.owner AND NOT r.rolsuper AND r.rolname <> current_user AND NOT EXISTS (
    SELECT FROM pg_catalog.pg_type AS t WHERE t.oid = ANY (c.takes) AND t.typowner = c.owner))
FROM called AS c JOIN pg_catalog.pg_namespace AS s ON s.oid = c.space
JOIN unnest(array_append($4::text[], 'pg_catalog')) WITH ORDINALITY AS path (name, place) ON path.name = s.nspname
CROSS JOIN LATERAL (
  SELECT coalesce(bool_and(coalesce(a.type = b.type, given.type IS NULL AND b.type <> 0)), true),
    coalesce(bool_and(coalesce(a.type = b.type OR t.typtype = 'p' OR EXISTS (
      SELECT FROM pg_catalog.pg_cast AS k
      WHERE k.castsource = a.type AND k.casttarget = b.type AND k.castcontext = 'i'), given.type IS NULL)), true)
  FROM unnest($3::text[]) WITH ORDINALITY AS given (type, n)
  FULL JOIN unnest(c.takes) WITH ORDINALITY AS b (type, n) ON b.n = given.n
  LEFT JOIN pg_catalog.pg_type AS t ON t.oid = b.type
  CROSS JOIN LATERAL (SELECT CASE WHEN given.type = '' THEN 0 ELSE to_regtype(given.type)::oid END) AS a (type)
) AS m (exact, fits)
WHERE c.more OR cardinality(c.takes) = cardinality($3::text[])
ORDER BY path.place"""

# Functions that look their names up on the path of their caller.
_BODIES = """\
SELECT p.oid::regprocedure::text, p.prosrc, ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) AS given (t))
FROM unnest($1::text[], $2::text[]) AS called (schema, name)
JOIN pg_catalog.pg_namespace AS s ON s.nspname = called.schema
JOIN pg_catalog.pg_proc AS p ON p.pronamespace = s.oid AND p.proname = called.name
JOIN pg_catalog.pg_language AS l ON l.oid = p.prolang
WHERE l.lanname IN ('sql', 'plpgsql') AND p.prosqlbody IS NULL
  AND s.nspname <> 'pg_catalog'
  AND NOT EXISTS (SELECT FROM unnest(p.proconfig) AS own (setting) WHERE starts_with(own.setting, 'search_path='))
ORDER BY 1"""

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


Ask = Callable[[str, Sequence[object]], list[tuple[Any, ...]]]


@dataclass(frozen=True)
class Rivals:
    """The schemas that have a name too, apart from the system's."""

    known: bool  # does the system have the name too?
    schemas: tuple[str, ...]


class Names:
    """The names of one session's user."""

    def __init__(
        self,
        ask: Ask,
        describe: Callable[[exp.Query], tuple[Column, ...]],
        fold: Callable[[str, bool], str],
        path: Sequence[str],
        *,
        temporary: bool = True,
    ) -> None:
        self._ask, self._describe, self._fold = ask, describe, fold
        self.path = [*["pg_temp"] * temporary, *(name for name in path if not name.startswith("pg_temp"))]

    @property
    def schemas(self) -> list[str]:
        """The schemas that the user has put on the path."""
        return [name for name in self.path if name not in ("pg_temp", "pg_catalog")]

    def bound(self, query: Q) -> Q:
        """The query with the schemas that its names have by the path of the user."""
        query = query.copy()
        self._tables(query)
        self._types(query)
        self._collations(query)
        calls = list(calls_in(query))
        rivals = self._rivals(query, calls)
        for join in query.find_all(exp.Join):
            if join.parent is not query and (found := rivals.get(("operator", "="))):
                self._check_keys(query, join, found)
        for call in calls:
            if (found := rivals.get(call.key)) and not found.known:
                qualify(call, self._only(call, found))
        for call in calls:
            if (found := rivals.get(call.key)) and found.known and (schema := self._meant(query, call, found)):
                qualify(call, schema)
        return query

    def placed(self, made: E) -> E:
        """Tables that are made, in the first schema of the path unless they name another."""
        made = made.copy()
        for table in (t for t in made.find_all(exp.Table) if not t.db):
            if not self.schemas:
                raise EngineError("no schema has been selected to create in", hint="write schema.name")
            in_schema(table, self.schemas[0])
        return made

    def unpinned(self, called: Sequence[Called]) -> tuple[str, ...]:
        """Those of these functions, and of those that they call, that could mean something else when we call them:
        nothing else than the caller's path says which = or round their bodies mean."""
        found: dict[str, bool] = {}
        more = list(called)
        while more:
            bodies = self._ask(_BODIES, [*map(list, zip(*more, strict=True))])
            new = [row for row in bodies if row[0] not in found]
            found |= {function: self._has_rivals(body, takes) for function, body, takes in new}
            more = [pair for _, body, _ in new for pair in Body(body).dotted]
        return tuple(function for function, unpinned in found.items() if unpinned)

    def _has_rivals(self, text: str, takes: Sequence[str]) -> bool:
        body = Body(text)
        tables = [f"{schema}.{name}" for schema, name in body.dotted]
        types = [type.removesuffix("[]") for type in takes]
        rivals = self._ask(_RIVALS, [body.functions, body.operators, self.path, tables, types])
        return any(known and new_type for _, _, known, _, new_type in rivals)

    # -- what can be looked up by its name alone -------------------------------------------------------------------

    def _tables(self, query: exp.Query) -> None:
        tables = [t for t in query.find_all(exp.Table) if isinstance(t.this, exp.Identifier) and not t.db]
        bare = [t for t in tables if not is_cte(t, self._meaning)]
        for n, schema in self._ask(_RELATIONS, [[self._meaning(t.this) for t in bare], self.path]):
            in_schema(bare[n - 1], schema)

    def _types(self, query: exp.Query) -> None:
        casts = [c for c in query.find_all(exp.Cast, exp.TryCast) if isinstance(c.args.get("to"), exp.DataType)]
        types = [t for c in casts for t in c.args["to"].find_all(exp.DataType) if not t.expressions]
        spelt = [plain_type(t) for t in types]
        for n, schema, name in self._ask(_TYPES, [spelt, self.path]) if spelt else ():
            kind = exp.Dot(this=quoted(schema), expression=quoted(name))
            types[n - 1].replace(exp.DataType(this=exp.DType.USERDEFINED, kind=kind))

    def _collations(self, query: exp.Query) -> None:
        bare = [c for c in query.find_all(exp.Collate) if isinstance(c.expression, exp.Identifier | exp.Var)]
        names = [c.expression.name for c in bare]
        for n, schema in self._ask(_COLLATIONS, [names, self.path]) if names else ():
            bare[n - 1].set("expression", exp.Dot(this=quoted(schema), expression=quoted(names[n - 1])))

    def _meaning(self, name: exp.Expr) -> str:
        return self._fold(name.name, bool(name.args.get("quoted")))

    # -- what depends on the types of its operands -----------------------------------------------------------------

    def _rivals(self, query: exp.Query, calls: Sequence[Call]) -> dict[tuple[str, str], Rivals]:
        names = {kind: sorted({c.name for c in calls if c.kind == kind}) for kind in ("function", "operator")}
        if any(join.args.get("using") or join.method == "NATURAL" for join in query.find_all(exp.Join)):
            names["operator"].append("=")
        tables = [table_text(t) for t in query.find_all(exp.Table) if t.db]
        types = [rendered(t) for t in query.find_all(exp.DataType)]
        found = self._ask(_RIVALS, [names["function"], names["operator"], self.path, tables, types])
        return {(kind, name): Rivals(known, tuple(schemas)) for kind, name, known, schemas, _ in found}

    def _check_keys(self, query: exp.Query, join: exp.Join, rivals: Rivals) -> None:
        """USING and NATURAL look for their = on the path. The compiler compares those of the outer query itself."""
        keys = [exp.column(name.copy()) for name in join.args.get("using") or []]
        is_clear = not any(self._meant(query, Call(join, "operator", "=", k), rivals) for k in keys)
        if join.method == "NATURAL" or not is_clear:
            raise QueryError(
                f"keys are compared with an = that is not PostgreSQL's own: {rendered(join).strip()[:60]}",
                hint="write the condition: JOIN ... ON a.k = b.k",
            )

    def _only(self, call: Call, rivals: Rivals) -> str:
        if len(rivals.schemas) > 1:
            raise unclear(call, rivals.schemas)
        return rivals.schemas[0]

    def _meant(self, query: exp.Query, call: Call, rivals: Rivals) -> str | None:
        """The schema of a name that the system has too; None if the system's is meant."""
        found = {self._fitting(query, one, rivals) for one in call.each}
        if len(found) > 1:
            raise unclear(call, [*rivals.schemas, "pg_catalog"])
        return found.pop()

    def _fitting(self, query: exp.Query, call: Call, rivals: Rivals) -> str | None:
        """What takes the system's types alone is the system's own where that has one: a better match elsewhere is a
        trap or an accident. Rows are compared column by column, each with an operator of its own."""
        schemas = [*rivals.schemas, "pg_catalog"]
        if any(is_row(operand) for operand in call.operands):
            raise unclear(call, schemas)
        types = self._operand_types(query, call, schemas)
        matches = self._ask(_MATCHES, [call.kind, call.name, types, list(rivals.schemas)])
        plain = all("." not in type for type in types if type)
        if any(exact or (fits and plain) for schema, exact, fits, _ in matches if schema == "pg_catalog"):
            return None
        own: set[str] = {schema for schema, exact, *_ in matches if exact}
        for schema, exact, fits, role in matches:
            if role and (exact if own else fits):
                raise planted(call, schema, role)
        if len(own) == 1:
            return own.pop()
        if any(fits for schema, _, fits, _ in matches if schema != "pg_catalog"):
            raise unclear(call, schemas)
        return None

    def _operand_types(self, query: exp.Query, call: Call, schemas: Sequence[str]) -> list[str | None]:
        """The type of each operand; None for a literal without a type, and empty where there is no operand."""
        known = [array_of(o) or o for o in call.operands if not is_untyped(o)]
        try:
            found = iter(self._describe(probing(call, known)) if known else ())
        except StatementError as error:
            raise unclear(call, schemas, error.message) from error
        types = [None if is_untyped(o) else next(found).type for o in call.operands]
        sides = zip(types, call.operands, strict=True)
        types = [type.removesuffix("[]") if type and array_of(o) else type for type, o in sides]
        return ["", *types] if call.kind == "operator" and len(types) == 1 else types


# -- the calls in a query or in the body of a function, read from the text that PostgreSQL gets, with their operands


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
