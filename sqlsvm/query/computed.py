"""Sub-queries in outputs and conditions -> columns and conditions of the relation that they are about.

    SELECT o.late, (SELECT AVG(v.minutes) FROM visits v WHERE v.id = o.id AND v.day < o.day) AS mean FROM orders o ...
    SELECT o.late, o.sqlsvm_value0 AS mean FROM (SELECT o.*, (SELECT ...) AS sqlsvm_value0 FROM orders o) AS o ...

The database says whether a sub-query is valid over one relation alone. Then it means there what it means in the query,
where a name that two relations have would be an error.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.errors import FormError
from sqlsvm.query.answers import answered
from sqlsvm.query.asked import Describe, asker_of
from sqlsvm.query.forms import IN_FROM, outer_expressions
from sqlsvm.query.guards import Fragment, as_typed, varying
from sqlsvm.query.ir import MADE, VALUE, Fold, Once
from sqlsvm.query.joins import conjuncts
from sqlsvm.query.sources import ORIGINAL, from_items, probe_of

_AROUND = exp.Subquery, exp.Exists, exp.In, exp.Any, exp.All  # what makes a value of a query


@dataclass
class _Item:
    """An item of FROM, with what is computed for its rows."""

    node: exp.Expression
    name: exp.Identifier
    values: dict[exp.Expr, str] = field(default_factory=dict)
    conditions: list[exp.Expr] = field(default_factory=list)

    def wrapped(self, values: dict[exp.Expr, str], conditions: list[exp.Expr]) -> exp.Subquery:
        every = exp.Column(this=exp.Star(), table=self.name.copy())
        named = (exp.alias_(value.copy(), name, quoted=True) for value, name in values.items())
        rows = exp.select(every, *named).from_(self.node.copy()).where(*(c.copy() for c in conditions))
        return exp.Subquery(this=rows, alias=exp.TableAlias(this=self.name.copy()))


def computed(select: exp.Select, dialect: str, fold: Fold, describe: Describe, *, answer: bool = True) -> exp.Select:
    """The SELECT itself changes. A FormError if a sub-query is about several relations. Without `answer` sub-queries
    stay as they are typed."""
    if not any(map(_values, outer_expressions(select))):
        return select
    made = _Computing(select, dialect, fold, describe)
    made.outputs()
    made.conditions()
    return made.found(answer)


class _Computing:
    def __init__(self, select: exp.Select, dialect: str, fold: Fold, describe: Describe) -> None:
        self.select, self.dialect, self.fold, self.describe = select, dialect, fold, describe
        self.joins: list[exp.Join] = select.args.get("joins") or []
        self.items = list(self._items())
        self.shown: dict[str, str] = {}
        self.of_all: _Item | None = None
        """What all sub-queries of outputs are about. So the database is asked once, and not about each."""

    def _items(self) -> Iterator[_Item]:
        """Those whose rows are all computed: none that a LEFT JOIN looks for. With USING and NATURAL a name may be
        that of several relations, and is that of the first."""
        merges = any(join.args.get("using") or join.args.get("method") for join in self.joins)
        for node, join in zip(from_items(self.select), [None, *self.joins], strict=True):
            alias = node.args.get("alias")
            name = alias.this if alias else node.this
            if isinstance(name, exp.Identifier) and not (join and (merges or join.args.get("side"))):
                yield _Item(node, name)

    def outputs(self) -> None:
        every = [value for output in self.select.expressions for value in _values(output)]
        named = {value: f"{VALUE}{n}" for n, value in enumerate(every)}
        items = self.items if every else []
        self.of_all = next((item for item in items if self._is_valid(item.wrapped(named, []))), None)
        self.select.set("expressions", [self._output(item) for item in self.select.expressions])
        self.of_all = None

    def _output(self, item: exp.Expr) -> exp.Expr:
        if not _values(item):
            return item
        shown = Fragment(item.copy(), self.dialect)
        named = item if isinstance(item, exp.Alias) else exp.alias_(item, as_typed(item, self.dialect), quoted=True)
        self._replace(named, shown)
        return named

    def conditions(self) -> None:
        """An ON of a LEFT JOIN drops no row, so it is no condition of its relation."""
        if where := self.select.args.get("where"):
            self.select.set("where", self._rest(where.this, exp.Where))
        for join in self.joins:
            if not join.args.get("side") and join.args.get("on"):
                rest = self._rest(join.args["on"], exp.Paren)
                join.set("on", rest.this if rest else exp.true())

    def _rest(self, condition: exp.Expr, around: type[exp.Where | exp.Paren]) -> exp.Where | exp.Paren | None:
        """What is left of it as a condition of the join."""
        if not _values(condition):
            return around(this=condition)
        left = [kept for c in conjuncts(condition.copy(), self.dialect) if (kept := self._condition(c)) is not None]
        return around(this=sql.every(left)) if left else None  # type: ignore[arg-type]

    def _condition(self, conjunct: exp.Expr) -> exp.Expr | None:
        if not _values(conjunct):
            return conjunct
        shown = Fragment(conjunct.copy(), self.dialect)
        for item in self.items:
            if self._is_valid(item.wrapped({}, [conjunct])):
                item.conditions.append(conjunct)
                self.shown.setdefault(item.name.name, str(shown))
                return None
        around = exp.Paren(this=conjunct)
        self._replace(around, shown)
        inside: exp.Expr = around.this
        return inside

    def _replace(self, root: exp.Expr, shown: Fragment) -> None:
        for value in _values(root):
            value.replace(self._column(value, shown))

    def _column(self, value: exp.Expr, shown: Fragment) -> exp.Column:
        for item in self.items:
            is_about = item is self.of_all if self.of_all else self._is_valid(item.wrapped({value: VALUE}, []))
            if value not in item.values and is_about:
                item.values[value.copy()] = f"{VALUE}{sum(len(i.values) for i in self.items)}"
                self.shown.setdefault(item.name.name, str(shown))
            if value in item.values:
                return exp.column(item.values[value], table=item.name.copy(), quoted=True)
        raise FormError(f"a sub-query computes a value of several relations: {shown}", hint=IN_FROM)

    def _is_valid(self, item: exp.Subquery) -> bool:
        return self.describe(probe_of(item, self.select, self.fold)) is not None

    def found(self, answer: bool) -> exp.Select:
        for item in self.items:
            if item.values or item.conditions:
                made = item.wrapped(item.values, item.conditions)
                asker = asker_of(item.node, self.select, self.dialect, self.fold, self.describe) if answer else None
                if asker:
                    made.set("this", answered(made.this, asker))
                reason = f"a sub-query computes a value: {self.shown[item.name.name]}"
                made.meta[MADE] = Once(reason, IN_FROM, varying(made, self.dialect))
                made.meta[ORIGINAL] = item.node.copy()
                item.node.replace(made)
        if any(map(_values, outer_expressions(self.select))):
            raise FormError("a sub-query is in ON of a LEFT JOIN", hint=IN_FROM)
        return self.select


def _values(root: exp.Expr) -> list[exp.Expr]:
    """The outermost values that are computed from a query: (SELECT ...), EXISTS (...), x IN (...), x > ALL (...)."""
    found: dict[int, exp.Expr] = {}
    for node in root.walk(prune=lambda n: isinstance(n, exp.Query)):
        if isinstance(node, exp.Query):
            while isinstance(node.parent, _AROUND) and node is not root:
                node = node.parent
            if not isinstance(node, exp.Subquery | exp.Exists | exp.In) and node is not root and node.parent:
                node = node.parent  # x > ALL (...), ARRAY(SELECT ...)
            found[id(node)] = node
    return list(found.values())
