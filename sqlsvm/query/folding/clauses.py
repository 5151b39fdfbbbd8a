"""GROUP BY and ORDER BY of a SELECT that groups: columns of relations, and outputs by their number or their alias."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from sqlsvm.query.known_functions import is_aggregate
from sqlsvm.query.names import Scope


def with_outputs(scope: Scope, select: exp.Select) -> Scope:
    """A name that no relation has is that of an output."""
    meant = [
        (scope.meaning(item.args["alias"]), item.this) for item in select.expressions if isinstance(item, exp.Alias)
    ]
    times = Counter(name for name, _ in meant)
    return replace(scope, named={name: value for name, value in meant if times[name] == 1})


def keys(select: exp.Select, scope: Scope) -> Iterator[exp.Expression]:
    group = select.args.get("group")
    if group and group.args.get("all"):
        plain = (item for item in select.expressions if not any(map(is_aggregate, item.walk())))
        yield from (scope.resolve(item.unalias()) for item in plain)
    for item in group.expressions if group else ():
        is_number = isinstance(item, exp.Literal) and item.is_int
        found = select.expressions[int(item.name) - 1].unalias() if is_number else item
        yield scope.resolve(found.unnest())


def ordered(select: exp.Select, scope: Scope, outputs: Sequence[str]) -> list[exp.Expression]:
    """The items of ORDER BY. A number stays, and a name alone is first that of an output."""
    order = select.args.get("order")
    return [_ordered(item, scope, outputs) for item in (order.expressions if order else ())]


def _ordered(item: exp.Expression, scope: Scope, outputs: Sequence[str]) -> exp.Expression:
    value, made = item.this, item.copy()
    if isinstance(value, exp.Literal):
        return made
    alone = isinstance(value, exp.Column) and not value.args.get("table")
    known = [n for n in outputs if alone and scope.fold(n, True) == scope.meaning(value.this)]
    made.set("this", exp.column(known[0], quoted=True) if known else scope.resolve(value))
    return made
