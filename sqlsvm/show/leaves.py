"""The leaves of boosted trees as conditions that can be read."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from math import inf, isinf
from typing import Any

from sqlglot import exp

from sqlsvm.maps import formula
from sqlsvm.maps.boosting import EVERY
from sqlsvm.maps.mapped import Mapped
from sqlsvm.model.model import Model
from sqlsvm.terminal import printable
from sqlsvm.times import DATES, TIMES, TimeKind

MOST, NAMED = 5, 4  # leaves, and categories of a condition
Ends = Mapping[str, tuple[float, float]]


def leaves(model: Model) -> Iterator[str]:
    """Those that move the score most. Leaves of several trees with the same conditions are one."""
    if model.family or model.support:
        return
    weights = {w.feature: w.weight for w in model.weights if w.category is None}
    found: dict[str, float] = defaultdict(float)
    for each in model.maps:
        for name, text in each.formulas.items() if each.takes_nulls else ():
            for tree in formula.addends(formula.tree(text)):
                for ends, value in _ends_of(tree, each, {}):
                    said = " and ".join(_said(each, *own, model.trained_on.times) for own in ends.items())
                    found[said] += weights[name] * value
    for said, value in sorted(found.items(), key=lambda leaf: -abs(leaf[1]))[:MOST]:
        yield f"{value:+.3g} if {printable(said)}"


def _ends_of(node: Any, each: Mapped, known: Ends) -> Iterator[tuple[Ends, float]]:
    """For each leaf from where to where its columns go, and its value."""
    if not isinstance(node, exp.Case):
        yield known, float(formula.values(node.sql(formula.DIALECT), ()))
        return
    (branch,) = node.args["ifs"]
    name, end = each.columns[int(branch.this.this.this.name) - 1], float(branch.this.expression.sql().strip("()"))
    low, high = known.get(name, (-inf, inf))
    halves = (branch.args["true"], node.args["default"])
    below, above = halves if isinstance(branch.this, exp.LT) else reversed(halves)
    yield from _ends_of(below, each, {**known, name: (low, min(high, end))})
    yield from _ends_of(above, each, {**known, name: (max(low, end), high)})


def _said(each: Mapped, name: str, ends: tuple[float, float], times: Mapping[str, TimeKind]) -> str:
    low, high = ends
    if low == EVERY or (low == -inf and high == EVERY):
        return f"{name} is {'NULL' if low == EVERY else 'known'}"
    if name in each.booleans:
        return name if low > -inf else f"not {name}"
    if name in each.codes:
        own = [str(category) for category, code in each.codes[name] if low <= code < high]
        others = ["another"] if low <= 0.0 < high else []
        more = [f"{len(own) - NAMED} more"] if len(own) > NAMED else []
        return f"{name} is {' or '.join([*own[:NAMED], *more, *others])}"
    kind = times.get(name)
    above, below = (f"{x:g}" if kind not in DATES or isinf(x) else TIMES[kind].written(x) for x in ends)
    if low == -inf or high == inf:
        return f"{name} < {below}" if low == -inf else f"{name} >= {above}"
    return f"{above} <= {name} < {below}"
