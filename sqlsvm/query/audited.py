"""Columns that are compared with the scores of a model, and are no features: they join the SELECT list for a while."""

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from sqlsvm.errors import QueryError
from sqlsvm.query.facts import Facts
from sqlsvm.query.ir import Feature, FeatureQuery, Fold
from sqlsvm.query.named import meant
from sqlsvm.query.parse import parse

_NAME = "sqlsvm_audited_{}"
HINT = "name an output of the query, or write an expression over one relation, such as p.age or p.gender = 'F'"


def with_audited(select: exp.Select, texts: Sequence[str], dialect: str, fold: Fold) -> exp.Select:
    """The query with one more output for each text: a copy of the output of that name, or an expression."""
    if not texts:
        return select
    outputs = {item.alias_or_name: item.unalias() for item in select.expressions}
    items = [outputs.get(meant(text, outputs, fold) or "") or _expression(text, dialect) for text in texts]
    named = (exp.alias_(item.copy(), _NAME.format(i), quoted=True) for i, item in enumerate(items))
    return select.select(*named)


def _expression(text: str, dialect: str) -> exp.Expression:
    """It is read as a part of a query, so it meets the same checks."""
    try:
        found = parse(f"SELECT {text} FROM x", dialect)
    except QueryError as error:
        raise QueryError(f"{text} cannot be audited: {error.message}", detail=error.detail, hint=HINT) from error
    parts = {name for name, value in found.args.items() if value}
    if len(found.expressions) != 1 or not parts <= {"expressions", "from", "from_", "kind"}:
        raise QueryError(f"{text} cannot be audited: it is not one expression", hint=HINT)
    item: exp.Expression = found.expressions[0].unalias()
    return item


def apart(outputs: tuple[Feature, ...], texts: Sequence[str]) -> tuple[tuple[Feature, ...], tuple[Feature, ...]]:
    """The outputs that the query itself has, and the audited ones, called what the user calls them."""
    names = {_NAME.format(i): text for i, text in enumerate(texts)}
    own = tuple(f for f in outputs if f.name not in names)
    audited = [f for f in outputs if f.name in names]
    for f in audited:
        if f.own is not None:
            raise QueryError(f"{names[f.name]} cannot be audited: it uses several relations", hint=HINT)
    return own, tuple(replace(f, name=names[f.name]) for f in audited)


OUTPUT = "fair:{}"


def widened(query: FeatureQuery, facts: Facts) -> FeatureQuery:
    """The audited columns are the last numbers among the features: their covariances with the others are measured."""
    named = tuple(replace(f, name=OUTPUT.format(f.name)) for f in query.audited)
    return replace(query, features=(*query.features, *named), audited=())
