"""Scores that are looked up by place, not by a join: for keys that are whole numbers and lie close together.

PostgreSQL needs some 200 ns to join a row by a hash table, and it carries all columns along. Where the key of a
dimension is a place in an array of scores, each pass makes the array once, and a scan of the facts reads from it. This
takes less than half the time. Where a pass is one scan, the columns of the dimension are in arrays too.

The scan leaves out keys beyond the array and NULL. A hole between the keys has the score NaN, because PostgreSQL walks
an array that contains NULL from its beginning. The sum is then NaN too. Both engines say that NaN is greater than all
numbers, so rows without a partner are never active, as if they had been dropped.
"""

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.plan.plan import Places


def score_in(places: Places, scores: exp.Select, at: exp.Column) -> exp.Expression:
    """The p of the key that a row has, from a SELECT of a key and p:
    CASE WHEN key >= first AND key <= last THEN array[key - first + 1] END

    The condition is that of `within`. The WHERE clause has it too, but may be evaluated after this expression."""
    return sql.case(sql.every(within(places, at)), value_in(places, scores, "p", at))


def value_in(places: Places, rows: exp.Select, name: str, at: exp.Column) -> exp.Expression:
    """A column of the row with this key, from a SELECT of a key and columns: array[key - first + 1]"""
    place = exp.cast(sql.minus(at, places.first - 1), exp.DType.INT)
    return exp.Bracket(this=_array(places, rows, name, at.name), expressions=[place], offset=1)


def within(places: Places, at: exp.Column) -> list[exp.Expression]:
    """A row whose key is no place has no partner. An index on the key may find the others."""
    least = sql.at_least(at, places.first)
    return [least, sql.at_most(at, places.last)]


def _array(places: Places, rows: exp.Select, name: str, key: str) -> exp.Subquery:
    """(SELECT ARRAY_AGG(name ORDER BY place) FROM every place LEFT JOIN the rows)"""
    place = sql.column("place", "e")
    value = sql.coalesce(sql.column(name, "f"), sql.double(exp.Literal.string("NaN")))
    in_order = exp.ArrayAgg(this=exp.Order(this=value, expressions=[exp.Ordered(this=place, nulls_first=False)]))
    every = exp.ExplodingGenerateSeries(start=sql.integer(places.first), end=sql.integer(places.last))
    alias = exp.TableAlias(this=exp.to_identifier("e"), columns=[exp.to_identifier("place")])
    found = sql.select([(in_order, "found")], exp.Table(this=every, alias=alias))
    same = sql.equal(sql.column(key, "f"), place)
    return sql.join(found, sql.derived(rows, "f"), [same], "left").subquery(copy=False)
