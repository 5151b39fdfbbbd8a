"""Our statements in the words of Spark SQL."""

from collections.abc import Callable, Mapping

from sqlglot import exp

from sqlsvm import sql

_POSITIONAL = (1e-4, 1e15)  # numbers of this size are written without an exponent
_SCIENTIFIC = (("[.]0E", "E"), ("E-([0-9])$", "e-0$1"), ("E-", "e-"), ("E", "e+"))
"""What Java writes, and what PostgreSQL and DuckDB write."""


def spelled(statement: exp.Expr) -> exp.Expr:
    """The same statement, from its leaves upwards: what a node is replaced by has the replaced parts in it."""
    made = statement.copy()
    for node in reversed(list(made.walk())):  # breadth first: reversed, each node comes after what is below it
        found = _spelled(node)
        if found is not node:
            made = found if node is made else made
            node.replace(found)
    return made


def _spelled(node: exp.Expr) -> exp.Expr:
    by_meaning = _BY_MEANING.get(str(sql.meaning(node)))
    if by_meaning:
        return by_meaning(node)
    by_kind = _BY_KIND.get(type(node))
    return by_kind(node) if by_kind else node


def call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=list(arguments))


# -- nodes that say what they mean -------------------------------------------------------------------------------------


def _element(node: exp.Expr) -> exp.Expr:
    """GET(values, place - 1). The [] of Spark counts from 0, and refuses a place beyond the end."""
    (place,) = node.expressions
    if isinstance(place, exp.Literal):
        return call("GET", node.this.unnest().copy(), sql.integer(int(place.name) - 1))
    before = sql.minus(place.copy(), 1)
    return call("GET", node.this.unnest().copy(), exp.cast(exp.paren(before), exp.DType.INT))


def _rounded(node: exp.Expr) -> exp.Expr:
    """ROUND of a double takes as long as all else in a scan."""
    return call("RINT", node.this.copy())


def _items(node: exp.Expr) -> exp.Expr:
    """(SELECT col AS name, pos + 1 AS place FROM POSEXPLODE(values)) AS alias"""
    (values,), alias = node.expressions, node.args["alias"]
    outputs = [sql.column("col"), sql.plus("pos", 1)]
    named = [(output, name.name) for output, name in zip(outputs, alias.columns, strict=False)]
    rows = exp.Table(this=call("POSEXPLODE", values.copy()))
    return sql.derived(sql.select(named, rows), alias.name)


def _digits(node: exp.Expr) -> exp.Expr:
    """Java writes 1.5E-5 and 1.23456785E7, where others write 1.5e-05 and 12345678.5."""
    value, text = node.this, sql.text(node.this.copy())
    long = sql.text(exp.cast(text.copy(), exp.DataType.build("decimal(38, 21)")))
    least, most = (exp.cast(exp.Literal.string(repr(end)), exp.DType.DOUBLE) for end in _POSITIONAL)
    size = exp.Abs(this=value.copy())
    plain = sql.every([sql.at_least(size, least), sql.less(size.copy(), most)])
    scientific: exp.Expression = text
    for found, instead in _SCIENTIFIC:
        scientific = _replaced(scientific, found, instead)
    return sql.case(plain, _replaced(long, "0+$", ""), scientific)


def _replaced(text: exp.Expr, found: str, instead: str) -> exp.Expression:
    return call("REGEXP_REPLACE", text, exp.Literal.string(found), exp.Literal.string(instead))


def _any_number(_: exp.Expr) -> exp.Expr:
    """Each task numbers its own rows. The table is stored at once: another reading may number them otherwise."""
    return exp.paren(sql.plus(call("MONOTONICALLY_INCREASING_ID"), 1))


TRACKED, MOST_TRACKED = 10_000, 1_000_000
"""How many values a sketch keeps: as it is, and at most. With ten times as many as are listed, hardly any is missed."""


def _frequent(node: exp.Expr) -> exp.Expr:
    """The sketch lists a struct for each value, with its count."""
    value, most = node.expressions
    tracked = min(max(10 * int(most.name), TRACKED), MOST_TRACKED)
    listed = call("APPROX_TOP_K", value.copy(), most.copy(), sql.integer(tracked))
    return exp.Dot(this=listed, expression=exp.to_identifier("item"))


_BY_MEANING: Mapping[str, Callable[[exp.Expr], exp.Expr]] = {
    sql.ELEMENT: _element,
    sql.ROUNDED: _rounded,
    sql.ITEMS: _items,
    sql.DIGITS: _digits,
    sql.ANY_ORDER: _any_number,
    sql.FREQUENT: _frequent,
}

# -- nodes that are enough by themselves -------------------------------------------------------------------------------


def _parameter(node: exp.Expr) -> exp.Expr:
    """:p1 for $1"""
    return exp.Placeholder(this=f"p{node.name}")


def _cast(node: exp.Expr) -> exp.Expr:
    """A parameter that is an array of numbers comes as one text, with commas: thousands of numbers as parameters of
    their own would take seconds."""
    to = node.args["to"]
    if not isinstance(node.this, exp.Placeholder) or to.this is not exp.DType.ARRAY:
        return node
    return exp.cast(call("SPLIT", node.this.copy(), exp.Literal.string(",")), to.copy())


def _extract(node: exp.Expr) -> exp.Expr:
    """Spark has no EPOCH."""
    if node.name.upper() != "EPOCH":
        return node
    return exp.cast(exp.cast(node.expression.copy(), exp.DType.TIMESTAMPLTZ), exp.DType.DOUBLE)


def _collate(node: exp.Expr) -> exp.Expr:
    """Texts without a collation compare by their bytes, as under the "C" of PostgreSQL. COLLATE(t, 'name') is a call,
    which sqlglot writes as an operator."""
    name = node.expression
    if isinstance(name, exp.Identifier) and name.name == "C":
        return exp.paren(node.this, copy=True)
    if not (isinstance(name, exp.Literal) and name.is_string):
        return node
    return exp.Collate(this=node.this.copy(), expression=exp.var(name.name))


def _window(node: exp.Expr) -> exp.Expr:
    """ROW_NUMBER needs an order."""
    if isinstance(node.this, exp.RowNumber) and not node.args.get("order"):
        node.set("order", exp.Order(expressions=[exp.Ordered(this=call("MONOTONICALLY_INCREASING_ID"))]))
    return node


def _sampled(node: exp.Expr) -> exp.Expr:
    """Where RAND(seed) < percent / 100: TABLESAMPLE takes no parameter."""
    sample = node.args.get("sample")
    if sample is None:
        return node
    random = call("RAND", exp.cast(sample.args["seed"].copy(), exp.DType.BIGINT))
    share = sql.ratio(sample.args["percent"].copy(), 100.0)
    return sql.thinned(node, sql.less(random, share))


_BY_KIND: Mapping[type[exp.Expr], Callable[[exp.Expr], exp.Expr]] = {
    exp.Parameter: _parameter,
    exp.Cast: _cast,
    exp.Extract: _extract,
    exp.Collate: _collate,
    exp.Window: _window,
    exp.Table: _sampled,
}
