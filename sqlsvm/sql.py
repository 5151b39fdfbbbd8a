"""The parts of SQL that all our statements are built from. They are sqlglot nodes, never strings.

Our own names are plain lower-case identifiers. The user's names come quoted inside expressions; `keep_names` quotes
those that begin like a working table.
"""

from collections.abc import Iterable, Sequence
from functools import partial, reduce
from math import isfinite, isnan, nan
from typing import TypeVar

from sqlglot import exp

WORKING = "sqlsvm_"  # the beginning of the names of working tables
IMPLIED = "sqlsvm_implied"  # marks the schema of a name where the query does not spell it out
Outputs = Iterable[tuple[exp.Expression, str]]
Named = list[tuple[exp.Expression, str]]
Operand = exp.Expression | float | str
"""Of an operator: SQL, a number of Python, or the name of a column of ours: "c", or "r.c" of the table r."""
Operator = type[exp.Add | exp.Sub | exp.Mul | exp.Div]
Comparison = type[exp.EQ | exp.NEQ | exp.LT | exp.LTE | exp.GT | exp.GTE]
E = TypeVar("E", bound=exp.Expr)


def column(name: str, table: str | None = None) -> exp.Column:
    return exp.column(name, table=table)


def named(name: str, alias: str) -> exp.Column:
    """A column of the user, by its real name."""
    return exp.column(name, table=alias, quoted=True)


def number(value: float) -> exp.Expression:
    """A double. Both engines read a bare 1.0 as an exact decimal, which is slow and has another type.

    >>> number(-2).sql("postgres")
    'CAST(-2.0 AS DOUBLE PRECISION)'
    """
    if isfinite(value):
        return double(exp.Literal.number(repr(float(value))))
    return double(exp.Literal.string("NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"))


def parameter(name: str) -> exp.Expression:
    """A number that is given when the statement runs. Its place ($1, $2) is set when the statement is complete."""
    return double(exp.Placeholder(this=name))


def array(name: str) -> exp.Expression:
    """A parameter that is an array of numbers."""
    return exp.cast(exp.Placeholder(this=name), exp.DataType.build("double[]"))


def integer(value: int) -> exp.Expression:
    return exp.Literal.number(str(value))


def operand(value: Operand) -> exp.Expression:
    """1 is an integer and 1.0 a double.

    >>> [operand(value).sql("postgres") for value in (1, "r.c")]
    ['1', 'r.c']
    """
    if isinstance(value, exp.Expression):
        return value
    if isinstance(value, str):
        table_, _, name = value.rpartition(".")
        return column(name, table_ or None)
    return number(value) if isinstance(value, float) else integer(value)


def double(expression: exp.Expression) -> exp.Expression:
    return _cast(expression, exp.DType.DOUBLE)


def text(expression: exp.Expression) -> exp.Expression:
    return _cast(expression, exp.DType.TEXT)


def _cast(expression: exp.Expression, to: exp.DType) -> exp.Expression:
    """A cast says its type itself. sqlglot notes it once more, and each copy would copy it twice."""
    made = exp.cast(expression, to)
    made._type = None
    return made


def total(value: Operand) -> exp.Expression:
    return exp.Sum(this=operand(value))


def total_where(value: Operand, condition: exp.Expression) -> exp.Expression:
    return exp.Filter(this=total(value), expression=exp.Where(this=condition))


def totals(names: Iterable[str], table: str | None = None) -> Named:
    """The sums of columns under their names."""
    return [(total(column(n, table)), n) for n in names]


def count() -> exp.Expression:
    """COUNT(*) as a double, because counts of join rows overflow BIGINT."""
    return double(exp.Count(this=exp.Star()))


def different(expression: exp.Expression) -> exp.Expression:
    """How many different values there are."""
    return exp.Count(this=exp.Distinct(expressions=[expression]))


def smallest(value: Operand) -> exp.Expression:
    return exp.Min(this=operand(value))


def largest(value: Operand) -> exp.Expression:
    return exp.Max(this=operand(value))


def ends(value: Operand) -> Named:
    """The least and the largest value of a column."""
    return [(smallest(value), "least"), (largest(value), "largest")]


def least(*of: Operand) -> exp.Expression:
    """Without the NULLs. The other kind, which is NULL if one of them is, repeats each of them in DuckDB."""
    first, *others = map(operand, of)
    return exp.Least(this=first, expressions=others, ignore_nulls=True)


def greatest(*of: Operand) -> exp.Expression:
    first, *others = map(operand, of)
    return exp.Greatest(this=first, expressions=others, ignore_nulls=True)


def or_zero(expression: exp.Expression) -> exp.Expression:
    return coalesce(expression, 0.0)


def sum_or_zero(value: Operand) -> exp.Expression:
    """SUM; 0 if there are no rows."""
    return or_zero(total(value))


def window(
    value: exp.Expression,
    by: Sequence[str] = (),
    order: Sequence[str] = (),
    *,
    running: bool = False,
    descending: bool = False,
) -> exp.Window:
    """value OVER (PARTITION BY by ORDER BY order). NULLs come last, or first if descending. A running window goes from
    the first row to the current one."""
    down = descending or None  # False would write ASC
    places = [exp.Ordered(this=column(n), desc=down, nulls_first=descending) for n in order]
    rows = {"kind": "ROWS", "start": "UNBOUNDED", "start_side": "PRECEDING", "end": "CURRENT ROW", "end_side": None}
    made = exp.Window(
        this=value,
        partition_by=[column(n) for n in by] or None,
        order=exp.Order(expressions=places) if places else None,
        spec=exp.WindowSpec(**rows) if running else None,
    )
    return _meant(made, BACKWARDS) if running and descending else made


def row_number(*order: str) -> exp.Window:
    return window(exp.RowNumber(), (), order)


def dense_rank(values: Iterable[exp.Expression]) -> exp.Window:
    """A number for each row, from 1: the same for rows in which these are equal."""
    places = [exp.Ordered(this=value, nulls_first=False) for value in values]
    return exp.Window(this=exp.DenseRank(), order=exp.Order(expressions=places))


def coalesce(value: Operand, otherwise: Operand) -> exp.Expression:
    return exp.Coalesce(this=operand(value), expressions=[operand(otherwise)])


def case(condition: exp.Expression, then: Operand, otherwise: Operand | None = None) -> exp.Case:
    made = exp.If(this=condition, true=operand(then))
    return exp.Case(ifs=[made], default=None if otherwise is None else operand(otherwise))


def match(
    value: exp.Expression, pairs: Iterable[tuple[exp.Expr | Operand, Operand]], otherwise: Operand | None = None
) -> exp.Case:
    """CASE value WHEN a THEN b WHEN c THEN d ELSE otherwise END"""
    ifs = [exp.If(this=_side(when), true=operand(then)) for when, then in pairs]
    return exp.Case(this=value, ifs=ifs, default=None if otherwise is None else operand(otherwise))


def by_truth(truth: exp.Expression, yes: Operand, no: Operand) -> exp.Case:
    """CASE WHEN truth THEN yes WHEN NOT truth THEN no END: NULL where the truth is NULL."""
    return case(truth.copy(), yes).when(exp.not_(truth.copy()), operand(no), copy=False)


def is_null(expression: exp.Expression) -> exp.Expression:
    inside = expression.copy()
    return exp.Is(this=inside if isinstance(inside, exp.Column) else exp.paren(inside), expression=exp.null())


def not_null(expression: exp.Expression) -> exp.Expression:
    return exp.Not(this=is_null(expression))


# -- operators: they take numbers of Python, and set parentheses -------------------------------------------------------


def product(*factors: Operand) -> exp.Expression:
    """a * b * ...; 1 for none.

    >>> a, b = column("a"), column("b")
    >>> product(minus(1, a), minus(a, plus(a, b))).sql("postgres")
    '(1 - a) * (a - (a + b))'
    """
    return _chain(exp.Mul, factors) or number(1)


def plus(*terms: Operand) -> exp.Expression:
    """a + b + ...; 0 for none."""
    return _chain(exp.Add, terms) or number(0)


def minus(left: Operand, right: Operand) -> exp.Expression:
    return _joined(exp.Sub, operand(left), right)


def ratio(left: Operand, right: Operand) -> exp.Expression:
    """left / right. sqlglot writes a cast into the left side, which may be a part of other expressions too."""
    return _joined(exp.Div, operand(left).copy(), right)


def negated(value: Operand) -> exp.Expression:
    made = operand(value)
    is_bare = isinstance(made, _TIGHT) or not isinstance(made, _OPERATIONS)
    return exp.Neg(this=made if is_bare else exp.paren(made, copy=False))


DEEPEST = 500  # operands in a row: DuckDB reads expressions of a depth of 1,000
_TIGHT = (exp.Mul, exp.Div, exp.IntDiv, exp.Mod)
_FIRST = (*_TIGHT, exp.Add, exp.Sub)  # what needs no parentheses on the left of + or -
_LOOSE = (exp.Connector, exp.Predicate, exp.Not, exp.Escape)  # nodes that bind no tighter than a comparison
_OPERATIONS = (exp.Binary, *_LOOSE)


def _chain(operator: Operator, operands: Sequence[Operand]) -> exp.Expression | None:
    if len(operands) > DEEPEST:
        batches = (operands[at : at + DEEPEST] for at in range(0, len(operands), DEEPEST))
        return _chain(operator, [exp.paren(found, copy=False) for each in batches if (found := _chain(operator, each))])
    return reduce(partial(_joined, operator), operands[1:], operand(operands[0])) if operands else None


def _joined(operator: Operator, left: exp.Expression, right: Operand) -> exp.Expression:
    """An operation on the right keeps its parentheses, because results of doubles depend on the order. Only a product
    that is taken away needs none."""
    right = right if isinstance(right, exp.Expression) else operand(right)
    if isinstance(left, _OPERATIONS) and not isinstance(left, _TIGHT if issubclass(operator, _TIGHT) else _FIRST):
        left = exp.paren(left, copy=False)
    if isinstance(right, _OPERATIONS) and not (operator is exp.Sub and isinstance(right, _TIGHT)):
        right = exp.paren(right, copy=False)
    return operator(this=left, expression=right)


def equal(left: exp.Expr | Operand, right: exp.Expr | Operand) -> exp.Expression:
    """left = right, with parentheses where a side binds no tighter than the comparison.

    >>> equal(exp.condition("a OR b"), exp.false()).sql("postgres")
    '(a OR b) = FALSE'
    """
    return _compared(exp.EQ, left, right)


def _compared(kind: Comparison, left: exp.Expr | Operand, right: exp.Expr | Operand) -> exp.Expression:
    first = left if isinstance(left, exp.Column) else _side(left)
    return kind(this=first, expression=right if isinstance(right, exp.Column) else _side(right))


unequal, less, at_most = partial(_compared, exp.NEQ), partial(_compared, exp.LT), partial(_compared, exp.LTE)
more, at_least = partial(_compared, exp.GT), partial(_compared, exp.GTE)


def positive(value: Operand) -> exp.Expression:
    return more(value, 0)


def is_number(value: Operand) -> exp.Expression:
    """PostgreSQL and DuckDB have NaN above all numbers."""
    return less(value, nan)


def _side(value: exp.Expr | Operand) -> exp.Expr:
    made = value if isinstance(value, exp.Expr) else operand(value)
    return exp.paren(made, copy=False) if isinstance(made, _LOOSE) else made


def every(conditions: Iterable[exp.Expression]) -> exp.Expression:
    """a AND b AND ...; TRUE for none."""
    wrapped = [exp.paren(c, copy=False) if isinstance(c, exp.Or | exp.And) else c for c in conditions]
    return reduce(lambda made, c: exp.And(this=made, expression=c), wrapped) if wrapped else exp.true()


def either(conditions: Iterable[exp.Expression]) -> exp.Expression:
    """a OR b OR ...; FALSE for none."""
    wrapped = [exp.paren(c, copy=False) if isinstance(c, exp.And) else c for c in conditions]
    return reduce(lambda made, c: exp.Or(this=made, expression=c), wrapped) if wrapped else exp.false()


def among(value: exp.Expression, query: exp.Query) -> exp.Expression:
    """value IN (query)"""
    return exp.In(this=_side(value), query=exp.Subquery(this=query))


def one_of(value: exp.Expression, these: Iterable[int]) -> exp.Expression:
    """value IN (1, 2)"""
    return exp.In(this=_side(value), expressions=[integer(each) for each in these])


def same(names: Iterable[str], left: str, right: str) -> list[exp.Expression]:
    """The conditions left.name = right.name."""
    return [equal(column(n, left), column(n, right)) for n in names]


def columns(names: Iterable[str], table: str | None = None) -> Named:
    """Columns under their own names, as outputs."""
    return [(column(n, table), n) for n in names]


def select(outputs: Outputs, source: exp.Expr | None = None) -> exp.Select:
    """SELECT expression AS name, ... FROM source.

    This and the next functions do not copy their parts: nested sub-queries are deep trees, and a complete statement is
    copied once before it is sent."""
    made = also(exp.Select(), outputs)
    return made if source is None else made.from_(source, copy=False)


def also(query: exp.Select, outputs: Outputs) -> exp.Select:
    """The SELECT with more outputs."""
    return _again(query).select(*(exp.alias_(e, name, copy=False) for e, name in outputs), copy=False)


def where(query: exp.Select, *conditions: exp.Expression) -> exp.Select:
    """The SELECT with more conditions."""
    return _again(query).where(*conditions, copy=False) if conditions else query


def table(name: str, alias: str | None = None) -> exp.Table:
    """One of our tables. exp.to_table would parse the name."""
    own = exp.TableAlias(this=exp.to_identifier(alias)) if alias else None
    return exp.Table(this=exp.to_identifier(name), alias=own)


def in_schema(schema: str, name: str) -> exp.Table:
    """A table of the user, by its real names."""
    return exp.Table(this=exp.to_identifier(name, quoted=True), db=exp.to_identifier(schema, quoted=True))


def users_table(name: str, alias: str) -> exp.Expression:
    """A table that stands for a relation of the user, under the relation's alias."""
    found = table(name)
    found.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    return found


def derived(query: exp.Query, alias: str) -> exp.Subquery:
    return query.subquery(alias, copy=False)


def everything(alias: str) -> exp.Column:
    """alias.*, of a relation of the user."""
    return exp.Column(this=exp.Star(), table=exp.to_identifier(alias, quoted=True))


def aliased(query: exp.Query, alias: str) -> exp.Subquery:
    """A sub-query that stands for a relation of the user, under the relation's alias."""
    found = query.subquery(copy=False)
    found.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    return found


def distinct(source: exp.Expr, name: str = "v") -> exp.Select:
    """SELECT DISTINCT name FROM source, without NULL. What a sub-query computes is computed first: it may fail on rows
    that the sub-query leaves out, and a database may look for NULL before it leaves them out."""
    made = [e for e in source.this.selects if e.alias_or_name == name] if isinstance(source, exp.Subquery) else []
    if any(not isinstance(e.unalias(), exp.Column) for e in made):
        source = derived(fenced(source.this), source.alias)
    found = exp.select(name).distinct(copy=False).from_(source, copy=False)
    return found.where(not_null(column(name)), copy=False)


def numbered(values: exp.Query) -> exp.Select:
    """SELECT v, n from a SELECT of v: n numbers the distinct values that are not NULL, in order, from 1. Within one
    snapshot a value always gets the same number."""
    return select([(column("v"), "v"), (row_number("v"), "n")], derived(distinct(derived(values, "r")), "d"))


MEANING = "sqlsvm_meaning"
"""Marks nodes of ours by what they are for. Engines spell these differently, and a query of the user may have the same
nodes, which mean there what they mean in its own language."""


def meaning(node: exp.Expr) -> object:
    return noted(node, MEANING)


def noted(node: exp.Expr, name: str) -> object:
    """What a node's meta has under a name. `node.meta` would give each node a dictionary, which each copy copies."""
    return node._meta.get(name) if node._meta else None


def _meant(node: E, as_: str) -> E:
    node.meta[MEANING] = as_
    return node


ELEMENT, ROUNDED, ITEMS, DIGITS = "element", "rounded", "items", "digits"
ANY_ORDER, FREQUENT, BACKWARDS, SLOWLY_READ = "any order", "frequent", "backwards", "slowly read"


def element(values: exp.Expression, place: exp.Expression) -> exp.Expression:
    """The element of an array at a place, counted from 1; NULL beyond its end."""
    return _meant(exp.Bracket(this=exp.paren(values, copy=False), expressions=[place], offset=1), ELEMENT)


def rounded(value: exp.Expression) -> exp.Expression:
    """The nearest whole number, as a double. Of two that are as near, it may be either."""
    return _meant(exp.Round(this=value), ROUNDED)


def items(values: exp.Expression, alias: str, name: str, place: str | None = None) -> exp.Expression:
    """The elements of an array as an item of FROM, and their places, counted from 1."""
    names = [exp.to_identifier(n) for n in (name, place) if n]
    alias_ = exp.TableAlias(this=exp.to_identifier(alias), columns=names)
    return _meant(exp.Unnest(expressions=[values], alias=alias_, offset=bool(place) or None), ITEMS)


def series(first: exp.Expression, last: exp.Expression) -> exp.Expression:
    """Whole numbers: each makes a row in the answer."""
    return exp.ExplodingGenerateSeries(start=first, end=last)


def digits(value: exp.Expression) -> exp.Expression:
    """The shortest text of a double that is no whole number: the same in every engine."""
    return _meant(text(value), DIGITS)


def any_number() -> exp.Expression:
    """ROW_NUMBER() OVER (): a number for each row, from 1, in any order."""
    return _meant(window(exp.RowNumber()), ANY_ORDER)


def frequent(value: exp.Expression, most: int) -> exp.Expression:
    """An array of the values that are in most rows, by a sketch, where the engine has one."""
    return _meant(exp.Anonymous(this="APPROX_TOP_K", expressions=[value, integer(most)]), FREQUENT)


def slowly_read(name: str, alias: str) -> exp.Expr:
    """One of our tables as an item of FROM, where each row takes long: it pays if several threads read few rows."""
    return _meant(table(name, alias), SLOWLY_READ)


def thinned(table: exp.Expr, kept: exp.Expression) -> exp.Expr:
    """(SELECT * FROM t WHERE kept) AS t, for a table with TABLESAMPLE."""
    rows, alias = table.copy(), table.args.get("alias")
    rows.set("sample", None)
    rows.set("alias", None)
    made = exp.select("*").from_(rows).where(kept)
    return exp.Subquery(this=made, alias=alias.copy() if alias else exp.TableAlias(this=table.this.copy()))


FENCE = "sqlsvm_fence"


def fenced(query: exp.Query) -> exp.Select:
    """A query whose outputs must be computed once for each of its own rows, not again for each joined row. A union
    becomes part of one that may be marked so."""
    if not isinstance(query, exp.Select):
        query = select(columns(query.named_selects), derived(query, "u"))
    query.meta[FENCE] = True
    return query


def with_offsets(statement: exp.Expr) -> exp.Expr:
    """For PostgreSQL, which would pull a fenced sub-query up and compute its expressions for each row that it is joined
    to, and in place of each of their names. OFFSET 0 prevents that. Unlike a materialised CTE it allows parallel
    plans."""
    if not any(noted(node, FENCE) for node in statement.find_all(exp.Select)):
        return statement
    found = statement.copy()
    for query in found.find_all(exp.Select):
        if noted(query, FENCE):
            query.set("offset", exp.Offset(expression=exp.Literal.string("0")))
    return found


def unfenced(query: exp.Select) -> exp.Select:
    """For a view: a condition on its rows must reach the tables."""
    for each in query.find_all(exp.Select):
        if noted(each, FENCE):
            del each.meta[FENCE]
    return query


def join(query: exp.Select, source: exp.Expr, on: Iterable[exp.Expression], kind: str = "") -> exp.Select:
    """`[kind] JOIN source ON ...`; without a condition, a cross join."""
    conditions, made = list(on), _again(query)
    inside = {"on": every(conditions), "side": kind.upper() or None} if conditions or kind else {"kind": "CROSS"}
    made.append("joins", exp.Join(this=source, **inside))
    return made


def group(query: exp.Select, keys: Sequence[exp.Expression]) -> exp.Select:
    return _again(query).group_by(*(k.copy() for k in keys), copy=False) if keys else query


def grouped(keys: Sequence[tuple[exp.Expression, str]], sums: Outputs, source: exp.Expr) -> exp.Select:
    """SELECT keys, sums FROM source GROUP BY keys"""
    return group(select([*keys, *sums], source), [key for key, _ in keys])


def at_ranks(values: exp.Query, ranks: Sequence[float]) -> exp.Select:
    """SELECT q0, q1, ...: each the least x that is not below so many rows. Each x of the values stands for c rows."""
    x, running = column("x"), window(total("c"), (), ("x",), running=True)
    ordered = derived(select([(x, "x"), (running, "up_to")], derived(values, "v")), "o")
    enough = (at_least("up_to", float(rank)) for rank in ranks)
    return select([(smallest(case(e, x)), f"q{i}") for i, e in enumerate(enough)], ordered)


WIDEST = 1600  # the largest number of columns that PostgreSQL allows in a row


def narrow(query: exp.Query) -> list[exp.Query]:
    """Sums in parts, if a row cannot hold them all. Each part has the keys that they are grouped by, in order."""
    if not isinstance(query, exp.Select) or len(query.selects) <= WIDEST:
        return [query]
    by = query.args.get("group")
    grouped_by = by.expressions if by else []
    keys = [output for output in query.selects if output.unalias() in grouped_by]
    rest = [output for output in query.selects if output not in keys]
    parts: list[exp.Query] = []
    size = WIDEST - len(keys)
    for at in range(0, len(rest), size):
        part = _again(query)
        part.set("expressions", [output.copy() for output in (*keys, *rest[at : at + size])])
        parts.append(part.order_by(*(key.unalias().copy() for key in keys), copy=False) if keys else part)
    return parts


def union_all(first: exp.Query, second: exp.Query) -> exp.Union:
    return exp.union(first, second, distinct=False, copy=False)


def _again(query: exp.Select) -> exp.Select:
    """A shallow copy of the SELECT, so that the original does not change."""
    made = exp.Select(**{name: list(part) if isinstance(part, list) else part for name, part in query.args.items()})
    made._meta = dict(query._meta) if query._meta else None
    return made


def grouping_sets(query: exp.Select, *sets: Sequence[exp.Expression]) -> exp.Select:
    """GROUP BY GROUPING SETS ((a, b), (c, d))"""
    tuples = [exp.Tuple(expressions=[e.copy() for e in one]) for one in sets]
    query.set("group", exp.Group(expressions=[exp.GroupingSets(expressions=tuples)]))
    return query


def temporary(name: str, query: exp.Query) -> exp.Create:
    """CREATE TEMPORARY TABLE name AS query."""
    temporary_ = exp.Properties(expressions=[exp.TemporaryProperty()])
    return exp.Create(this=table(name), kind="TABLE", expression=query, properties=temporary_)


def analyse(name: str) -> exp.Analyze:
    return exp.Analyze(tables=[table(name)])


def drop(name: str) -> exp.Drop:
    return exp.Drop(tables=[table(name)], kind="TABLE", exists=True)


def suffixed(node: exp.Expr, suffix: str) -> exp.Expr:
    """Append the suffix to the name of a working table; return any other node as it is. The user's names are quoted."""
    is_ours = isinstance(node, exp.Identifier) and not node.quoted and node.name.startswith(WORKING)
    return exp.to_identifier(f"{node.name}{suffix}") if is_ours else node


def without_places(tree: E) -> E:
    """The same tree, whose nodes no longer know where they were in a text. Copies would take twice as long."""
    for node in tree.walk():
        node._meta = None
    return tree


def keep_names(query: exp.Expr) -> None:
    """Quote the user's names that begin like a working table. Both engines would read them in lower case anyway."""
    for name in query.find_all(exp.Identifier):
        if not name.quoted and name.name.lower().startswith(WORKING):
            name.replace(exp.to_identifier(name.name.lower(), quoted=True))
