"""The label of a query as a sign: which of its two values is the positive class."""

import shlex
from collections.abc import Sequence

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.catalog import rows_of
from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError, OptionError, nearest
from sqlsvm.query import Feature, FeatureQuery


def label_sign(engine: Engine, query: FeatureQuery, positive: str | None = None) -> exp.Expression:
    """The label as +1, -1 or NULL, after a look at its values."""
    label = query.label
    if label is None:
        raise OptionError("no label was named", hint="say which output is the label: --label COLUMN")
    if label.kind == "boolean" and positive is None:  # no look at the data would say more
        return _sign_of_truth(label)
    values = _label_values(engine, query, label)
    if not values:  # no row is left to have a label; who needs one will miss the rows
        return exp.cast(exp.null(), exp.DType.INT)
    if positive is not None:
        return _sign(label, _chosen(label, values, positive))
    if label.kind == "numeric" and (
        {float(v) for v in values} <= {-1.0, 1.0} or {float(v) for v in values} <= {0.0, 1.0}
    ):
        return _sign(label, "1")
    shown = " and ".join(f"'{v}'" for v in values)
    raise DataError(
        f"the label {label.name} has the value{'s' if len(values) > 1 else ''} {shown}",
        hint=f"say which one is the positive class: --positive {shlex.quote(values[0])}",
    )


def _label_values(engine: Engine, query: FeatureQuery, label: Feature) -> list[str]:
    """The distinct values as text; more than two are refused. They are told apart as the engine does: 1 is 1.00."""
    optional = label.relation in {j.relation for j in query.left_joins}
    rows = rows_of(query.relation(label.relation), [(label.expression.copy(), "v")], optional=optional)
    seen = exp.select("v").distinct().from_(sql.derived(rows, "r")).where(sql.not_null(sql.column("v"))).limit(5)
    values = sorted(engine.fetch(sql.select([(sql.text(sql.column("v")), "v")], sql.derived(seen, "s")))["v"])
    if len(values) > 2:
        raise DataError(
            f"the label {label.name} has more than two values",
            detail=f"among them {', '.join(values[:4])}",
            hint=f"make two classes of them in the query: {label.name} = '{values[0]}' AS {label.name}_is_one",
        )
    return values


def _chosen(label: Feature, values: Sequence[str], positive: str) -> str:
    """The value that --positive names, as the database spells it: 1 for 1.00, true for TRUE."""
    for value in values:
        if value == positive or (label.kind == "numeric" and _same_number(value, positive)):
            return value
        if label.kind == "boolean" and value.lower() == positive.lower():
            return value
    raise OptionError(
        f"the label {label.name} never has the value '{positive}'",
        detail=f"its values are {', '.join(repr(v) for v in values)}",
        hint=nearest(positive, values),
    )


def _same_number(value: str, positive: str) -> bool:
    try:
        return float(value) == float(positive)
    except ValueError:
        return False


def _sign_of_truth(label: Feature) -> exp.Expression:
    """CASE WHEN label THEN 1 WHEN NOT label THEN -1 END."""
    own = label.expression
    return sql.case(own.copy(), sql.integer(1), sql.case(exp.not_(own.copy()), exp.Neg(this=sql.integer(1))))


def _sign(label: Feature, positive: str) -> exp.Expression:
    """CASE WHEN label = positive THEN 1 WHEN label IS NOT NULL THEN -1 END."""
    value = exp.Literal.number(positive) if label.kind == "numeric" else exp.Literal.string(positive)
    own = label.expression
    other = sql.case(sql.not_null(own.copy()), exp.Neg(this=sql.integer(1)))
    return sql.case(sql.equal(own.copy(), value), sql.integer(1), other)
