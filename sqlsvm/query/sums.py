"""An output over several relations -> a term for each: p.x - 2 * a.x + 1 is p.x + 1 and -(2 * a.x).

The terms are features of one name. They share one weight, because a score is linear: w (s + t) = w s + w t.
"""

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Column
from sqlsvm.errors import FormError
from sqlsvm.query.guards import Fragment
from sqlsvm.query.ir import Feature, FeatureQuery
from sqlsvm.query.names import relations_in

Terms = dict[str, exp.Expression]
"""By relation, in the order of the text."""

_CONSTANT = ""
_WHOLE = frozenset(("smallint", "integer", "bigint"))
"""The types of PostgreSQL for which / drops the remainder."""


def terms_of(resolved: exp.Expression) -> Terms | None:
    """The terms of a sum whose factors are constants; None for any other expression."""
    found = _split(resolved)
    if found and (constant := found.pop(_CONSTANT, None)):
        first = next(iter(found))
        found[first] = sql.plus(_inner(found[first]), _inner(constant))
    return found


def _split(node: exp.Expression) -> Terms | None:
    used = relations_in(node)
    if len(used) < 2:
        return {used[0] if used else _CONSTANT: node.copy()}
    if isinstance(node, exp.Add | exp.Sub):
        return _both(type(node), _split(node.this), _split(node.expression))
    if (make := _linear(node)) is None:
        return None
    inner = _split(node.expression if _is_factor(node) else node.this)
    return None if inner is None else {alias: make(_inner(term)) for alias, term in inner.items()}


def _linear(node: exp.Expression) -> Callable[[exp.Expression], exp.Expression] | None:
    """What an operation makes of each term of a sum, if that adds up to what it makes of the sum."""
    if isinstance(node, exp.Paren):
        return lambda term: term
    if isinstance(node, exp.Neg):
        return _negated
    if isinstance(node, exp.Cast) and type(node) is exp.Cast and node.to.this is exp.DType.DOUBLE:
        return sql.double
    if _is_factor(node):
        return lambda term: _with(node, expression=term)
    if isinstance(node, exp.Mul) and not relations_in(node.expression):
        return lambda term: _with(node, this=term)
    if isinstance(node, exp.Div) and not relations_in(node.expression):
        return lambda term: _with(node, this=term, expression=sql.double(node.expression.copy()))
    return None


def _with(node: exp.Expression, **operands: exp.Expression) -> exp.Expression:
    made = node.copy()
    for name, operand in operands.items():
        made.set(name, operand)
    return made


def _is_factor(node: exp.Expr) -> bool:
    """2 * (...)"""
    return isinstance(node, exp.Mul) and not relations_in(node.this)


def _both(operator: type[exp.Add | exp.Sub], left: Terms | None, right: Terms | None) -> Terms | None:
    if left is None or right is None:
        return None
    found = dict(left)
    for alias, term in right.items():
        if alias in found:
            found[alias] = operator(this=_inner(found[alias]), expression=_inner(term))
        else:
            found[alias] = term if operator is exp.Add else _negated(term)
    return found


def _negated(term: exp.Expression) -> exp.Expression:
    """As a double: the type of the term may have no negative numbers, and that of the sum has."""
    return sql.negated(sql.double(term))


def _inner(term: exp.Expression) -> exp.Expression:
    """As an operand."""
    return term if isinstance(term, exp.Column | exp.Literal | exp.Paren | exp.Cast) else exp.paren(term, copy=False)


# -- types -------------------------------------------------------------------------------------------------------------


def sum_probes(query: FeatureQuery) -> Iterator[tuple[Feature, exp.Select]]:
    """For each sum a SELECT of it, and of the divisions in it that use several relations."""
    for terms in query.sums.values():
        whole = terms[0].typed
        asked = [whole, *_divisions(whole)]
        first, *others = (query.relation(term.relation).source.copy() for term in terms)
        probe = sql.select([(node.copy(), f"c{n}") for n, node in enumerate(asked)], first)
        for other in others:
            probe = sql.join(probe, other, [])
        yield terms[0], probe


def _divisions(whole: exp.Expression) -> list[exp.Div]:
    return [node for node in whole.find_all(exp.Div) if len(relations_in(node)) > 1]


def check_sum(feature: Feature, described: Sequence[Column], single: str, dialect: str) -> None:
    """Terms are added up as doubles. Refuse a sum that the database rounds in another way."""
    whole, *quotients = described
    for node, quotient in zip(_divisions(feature.typed), quotients, strict=True):
        if quotient.type in _WHOLE:
            raise FormError(
                f"the division {Fragment(node, dialect)} of feature {feature.name} drops the remainder",
                hint=f"divide by {sql.double(node.expression.copy()).sql(dialect)}",
            )
    if whole.type == single:
        exact = " and ".join(sql.double(column).sql(dialect) for column in feature.typed.find_all(exp.Column))
        raise FormError(f"the sum {feature.name} is rounded to the type {single}", hint=f"write {exact}")
