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
# that are made without a cast? The type of a bare literal is not known; it becomes whatever is needed.
_MATCHES = """\
WITH called AS (
  SELECT p.pronamespace AS space, ARRAY(SELECT unnest(p.proargtypes)) AS takes,
    p.provariadic <> 0 OR p.pronargdefaults > 0 AS more
  FROM pg_catalog.pg_proc AS p WHERE $1::text = 'function' AND p.proname = $2::text
  UNION ALL SELECT o.oprnamespace, ARRAY[o.oprleft, o.oprright], false
  FROM pg_catalog.pg_operator AS o WHERE $1::text = 'operator' AND o.oprname = $2::text)
SELECT s.nspname, m.exact AND NOT c.more, m.fits OR c.more
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

_DOTTED = re.compile(r"([^\W\d]\w*)\"?\.\"?([^\W\d]\w*)")
"""What may be a table or a function with its schema in the body of a function."""

Ask = Callable[[str, Sequence[object]], list[tuple[Any, ...]]]

_WORDS = {"LIKE": "~~", "ILIKE": "~~*", "NOT LIKE": "!~~", "NOT ILIKE": "!~~*", "IS NOT DISTINCT FROM": "=",
          "IS DISTINCT FROM": "=", "SIMILAR TO": "~"}  # fmt: skip
_SPELLED = {"in": "=", "between": ">=", "like": "~~", "ilike": "~~*", "distinct": "=", "case": "=", "nullif": "=",
            "using": "=", "natural": "="}  # fmt: skip
"""Words in which an operator is hidden."""
_MORE = (exp.NullSafeEQ, exp.NullSafeNEQ, exp.SimilarTo)
"""Binary nodes that OPERATOR(schema.=) does not replace."""


@dataclass(frozen=True)
class Call:
    """A function or an operator in a query."""

    node: exp.Expr
    kind: str
    name: str
    value: exp.Expr | None = None
    """The one that is compared, where a node compares with several."""

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
class Rivals:
    """The schemas that have a name too, apart from the system's."""

    known: bool
    """Does the system have the name too?"""
    schemas: tuple[str, ...]


class Names:
    """The names of one session's user."""

    def __init__(
        self,
        ask: Ask,
        describe: Callable[[exp.Query], tuple[Column, ...]],
        fold: Callable[[str, bool], str],
        path: Sequence[str],
    ) -> None:
        self._ask, self._describe, self._fold = ask, describe, fold
        self.path = ["pg_temp", *(name for name in path if not name.startswith("pg_temp"))]

    def bound(self, query: Q) -> Q:
        """The query with the schemas that its names have by the path of the user."""
        query = query.copy()
        self._tables(query)
        self._types(query)
        self._collations(query)
        calls = list(_calls(query))
        rivals = self._rivals(query, calls)
        for join in query.find_all(exp.Join):
            if join.parent is not query and (found := rivals.get(("operator", "="))):
                self._check_keys(query, join, found)
        for call in calls:
            if (found := rivals.get(call.key)) and not found.known:
                _qualify(call, self._only(call, found))
        for call in calls:
            if (found := rivals.get(call.key)) and found.known and (schema := self._meant(query, call, found)):
                _qualify(call, schema)
        return query

    def placed(self, made: E) -> E:
        """Tables that are made, in the first schema of the path unless they name another."""
        made = made.copy()
        schemas = [name for name in self.path if name not in ("pg_temp", "pg_catalog")]
        for table in (t for t in made.find_all(exp.Table) if not t.db):
            if not schemas:
                raise EngineError("no schema has been selected to create in", hint="write schema.name")
            _in_schema(table, schemas[0])
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
            more = [pair for _, body, _ in new for pair in _DOTTED.findall(body)]
        return tuple(function for function, unpinned in found.items() if unpinned)

    def _has_rivals(self, body: str, takes: Sequence[str]) -> bool:
        symbols = set(re.findall(r"[-+*/<>=~!@#%^&|`?]+", body))
        symbols |= {symbol for word, symbol in _SPELLED.items() if re.search(rf"\b{word}\b", body, re.IGNORECASE)}
        names = {name.lower() for name in re.findall(r"(?<![.\w])(\w+)\s*\(", body)}
        tables = [f"{schema}.{name}" for schema, name in _DOTTED.findall(body)]
        types = [type.removesuffix("[]") for type in takes]
        rivals = self._ask(_RIVALS, [sorted(names), sorted(symbols), self.path, tables, types])
        return any(known and new_type for _, _, known, _, new_type in rivals)

    # -- what can be looked up by its name alone -------------------------------------------------------------------

    def _tables(self, query: exp.Query) -> None:
        tables = [t for t in query.find_all(exp.Table) if isinstance(t.this, exp.Identifier) and not t.db]
        bare = [t for t in tables if not _is_cte(t, self._meaning)]
        for n, schema in self._ask(_RELATIONS, [[self._meaning(t.this) for t in bare], self.path]):
            _in_schema(bare[n - 1], schema)

    def _types(self, query: exp.Query) -> None:
        casts = [c for c in query.find_all(exp.Cast, exp.TryCast) if isinstance(c.args.get("to"), exp.DataType)]
        types = [t for c in casts for t in c.args["to"].find_all(exp.DataType) if not t.expressions]
        spelt = [_plain_type(t) for t in types]
        for n, schema, name in self._ask(_TYPES, [spelt, self.path]) if spelt else ():
            kind = exp.Dot(this=_quoted(schema), expression=_quoted(name))
            types[n - 1].replace(exp.DataType(this=exp.DType.USERDEFINED, kind=kind))

    def _collations(self, query: exp.Query) -> None:
        bare = [c for c in query.find_all(exp.Collate) if isinstance(c.expression, exp.Identifier | exp.Var)]
        names = [c.expression.name for c in bare]
        for n, schema in self._ask(_COLLATIONS, [names, self.path]) if names else ():
            bare[n - 1].set("expression", exp.Dot(this=_quoted(schema), expression=_quoted(names[n - 1])))

    def _meaning(self, name: exp.Expr) -> str:
        return self._fold(name.name, bool(name.args.get("quoted")))

    # -- what depends on the types of its operands -----------------------------------------------------------------

    def _rivals(self, query: exp.Query, calls: Sequence[Call]) -> dict[tuple[str, str], Rivals]:
        names = {kind: sorted({c.name for c in calls if c.kind == kind}) for kind in ("function", "operator")}
        if any(join.args.get("using") or join.method == "NATURAL" for join in query.find_all(exp.Join)):
            names["operator"].append("=")
        tables = [_bare(t) for t in query.find_all(exp.Table) if t.db]
        types = [_text(t) for t in query.find_all(exp.DataType)]
        found = self._ask(_RIVALS, [names["function"], names["operator"], self.path, tables, types])
        return {(kind, name): Rivals(known, tuple(schemas)) for kind, name, known, schemas, _ in found}

    def _check_keys(self, query: exp.Query, join: exp.Join, rivals: Rivals) -> None:
        """USING and NATURAL look for their = on the path. The compiler compares those of the outer query itself."""
        keys = [exp.column(name.copy()) for name in join.args.get("using") or []]
        is_clear = not any(self._meant(query, Call(join, "operator", "=", k), rivals) for k in keys)
        if join.method == "NATURAL" or not is_clear:
            raise QueryError(
                f"keys are compared with an = that is not PostgreSQL's own: {_text(join).strip()[:60]}",
                hint="write the condition: JOIN ... ON a.k = b.k",
            )

    def _only(self, call: Call, rivals: Rivals) -> str:
        if len(rivals.schemas) > 1:
            raise _unclear(call, rivals.schemas)
        return rivals.schemas[0]

    def _meant(self, query: exp.Query, call: Call, rivals: Rivals) -> str | None:
        """The schema of a name that the system has too; None if the system's is meant."""
        found = {self._fitting(query, one, rivals) for one in call.each}
        if len(found) > 1:
            raise _unclear(call, [*rivals.schemas, "pg_catalog"])
        return found.pop()

    def _fitting(self, query: exp.Query, call: Call, rivals: Rivals) -> str | None:
        """What takes the system's types alone is the system's own where that has one: a better match elsewhere is a
        trap or an accident. Rows are compared column by column, each with an operator of its own."""
        schemas = [*rivals.schemas, "pg_catalog"]
        if any(_is_row(operand) for operand in call.operands):
            raise _unclear(call, schemas)
        types = self._operand_types(query, call, schemas)
        matches = self._ask(_MATCHES, [call.kind, call.name, types, list(rivals.schemas)])
        plain = all("." not in type for type in types if type)
        if any(exact or (fits and plain) for schema, exact, fits in matches if schema == "pg_catalog"):
            return None
        own: set[str] = {schema for schema, exact, _ in matches if exact}
        if len(own) == 1:
            return own.pop()
        if any(fits for schema, _, fits in matches if schema != "pg_catalog"):
            raise _unclear(call, schemas)
        return None

    def _operand_types(self, query: exp.Query, call: Call, schemas: Sequence[str]) -> list[str | None]:
        """The type of each operand; None for a literal without a type, and empty where there is no operand."""
        known = [_each(o) or o for o in call.operands if not _is_untyped(o)]
        try:
            found = iter(self._describe(_probe(call, known)) if known else ())
        except StatementError as error:
            raise _unclear(call, schemas, error.message) from error
        types = [None if _is_untyped(o) else next(found).type for o in call.operands]
        sides = zip(types, call.operands, strict=True)
        types = [type.removesuffix("[]") if type and _each(o) else type for type, o in sides]
        return ["", *types] if call.kind == "operator" and len(types) == 1 else types


def _probe(call: Call, operands: Sequence[exp.Expr]) -> exp.Select:
    """SELECT the operands where the call stands, with the CTEs that can be seen there."""
    around = call.node.find_ancestor(exp.Select)
    probe = exp.select(*(exp.alias_(o.copy(), f"o{i}") for i, o in enumerate(operands)))
    if around is None:
        return probe
    parts = ["from_", "joins"] + ["group"] * any(o.find(exp.AggFunc) for o in operands)
    for part in parts:
        value = around.args.get(part)
        probe.set(part, [v.copy() for v in value] if isinstance(value, list) else value and value.copy())
    for join in probe.args.get("joins") or []:
        if join.args.get("on"):
            join.set("on", exp.true())
    ctes: list[exp.Expr] = []
    node: exp.Expr | None = around
    while node is not None:
        with_ = node.args.get("with_")
        ctes = [*(with_.expressions if with_ else ()), *ctes]
        node = node.parent
    if ctes:
        probe.set("with_", exp.With(expressions=[c.copy() for c in ctes], recursive=True))
    return probe


def _calls(query: exp.Query) -> Iterator[Call]:
    """All calls that do not name a schema, those inside others first."""
    for node in reversed(list(query.walk(bfs=False))):
        if isinstance(node.parent, exp.Dot) or (isinstance(node.parent, exp.Table) and node.parent.db):
            continue
        if isinstance(node, exp.Operator | exp.Connector | exp.Dot | exp.Collate | exp.Escape | exp.Slice):
            continue
        for kind, name in _names(node):
            yield Call(node, kind, name)


def _names(node: exp.Expr) -> Iterator[tuple[str, str]]:
    if isinstance(node, exp.In | exp.Nullif) or (isinstance(node, exp.Case) and node.this):
        yield "operator", "="
    elif isinstance(node, exp.Between):
        yield from (("operator", ">="), ("operator", "<="))
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
    text = _text(shape)
    if between := re.fullmatch(r"(?:NOT )?a (.+) b", text):
        yield "operator", _WORDS.get(between[1], between[1])
    elif called := re.match(r"(\w+)\(", text):
        yield "function", called[1].lower()


def _qualify(call: Call, schema: str) -> None:
    node = call.node
    if call.kind == "function" and not _is_spelt(node):
        raise _unclear(call, [schema, "pg_catalog"])
    if call.kind == "function":
        dot = exp.Dot(this=_quoted(schema))
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
        raise _unclear(call, [schema, "pg_catalog"])


def _is_spelt(node: exp.Expr) -> bool:
    """Does the text that is sent have the function that was typed? char_length, to_hex and btrim become length, HEX and
    TRIM, and a function of the system must not become that of somebody else."""
    if isinstance(node, exp.Anonymous):
        return True
    if not isinstance(node, exp.Func) or isinstance(node, exp.StrPosition | exp.Substring | exp.Overlay | exp.Trim):
        return False
    return [name for _, name in _names(node)] == [name.lower() for name in node.sql_names()]


def _operator(schema: str, name: str, left: exp.Expr, right: exp.Expr) -> exp.Operator:
    symbol = f"{_text(_quoted(schema))}.{name}"
    sides = (exp.paren(s, copy=False) if isinstance(s, exp.Binary | exp.Not) else s for s in (left, right))
    return exp.Operator(this=next(sides), operator=symbol, expression=next(sides))


def _unclear(call: Call, schemas: Iterable[str], detail: str | None = None) -> QueryError:
    """Views were taken apart when they were made, so a view makes it clear."""
    schemas = list(dict.fromkeys(schemas))
    forms = [f"{s}.{call.name}" if call.kind == "function" else f"OPERATOR({s}.{call.name})" for s in schemas]
    return QueryError(
        f"{call.kind} {call.name} could be that of the schema {' or '.join(schemas)}: {_text(call.node)[:60]}",
        detail=detail,
        hint=f"write {' or '.join(forms)}; or make a view of this part of the query and read that",
    )


def _is_cte(table: exp.Table, meaning: Callable[[exp.Expr], str]) -> bool:
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


def _in_schema(table: exp.Table, schema: str) -> exp.Table:
    name = _quoted(schema)
    name.meta[sql.IMPLIED] = True
    table.set("db", name)
    return table


def _bare(table: exp.Table) -> str:
    return _text(exp.Table(**{part: table.args[part].copy() for part in ("this", "db") if table.args.get(part)}))


def _plain_type(type: exp.DataType) -> str:
    kind = type.args.get("kind")
    return kind.name if isinstance(kind, exp.Identifier) else _text(type).lower()


def _is_row(operand: exp.Expr) -> bool:
    inside = operand.unnest()
    is_call = isinstance(inside, exp.Anonymous) and inside.name.lower() == "row"
    return is_call or isinstance(inside, exp.Tuple | exp.Values)


def _each(operand: exp.Expr) -> exp.Expr | None:
    """The array of ANY or ALL, of which each value is compared."""
    if isinstance(operand, exp.Any | exp.All):
        return operand.this if isinstance(operand.this, exp.Expr) else None
    is_call = isinstance(operand, exp.Anonymous) and operand.name.lower() in ("any", "all", "some")
    return operand.expressions[0] if is_call else None


def _is_untyped(operand: exp.Expr) -> bool:
    operand = _each(operand) or operand
    while isinstance(operand, exp.Paren | exp.Collate):
        operand = operand.this
    return isinstance(operand, exp.Null) or (isinstance(operand, exp.Literal) and operand.is_string)


def _quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def _text(node: exp.Expr) -> str:
    return node.sql(dialect="postgres")
