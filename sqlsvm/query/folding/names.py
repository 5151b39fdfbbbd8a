"""What names mean in a SELECT that groups: columns of its relations, and outputs by their number or their alias."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlsvm.errors import QueryError
from sqlsvm.query.known_functions import is_aggregate
from sqlsvm.query.names import Scope


@dataclass(frozen=True)
class Names:
    select: exp.Select
    scope: Scope

    def resolve(self, expression: exp.Expr) -> exp.Expression:
        """A copy in which every column is that of a relation. A name that no relation has is that of an output."""
        found = expression.transform(lambda node: self._meant(node) if isinstance(node, exp.Column) else node)
        assert isinstance(found, exp.Expression)
        return found

    def _meant(self, column: exp.Column) -> exp.Expr:
        try:
            return self.scope.find(column).reference
        except QueryError:
            output = self._output(column)
            if output is None:
                raise
            return exp.paren(self.scope.resolve(output.unalias()), copy=False)

    def _output(self, column: exp.Column) -> exp.Expr | None:
        wanted = self.scope.meaning(column.this)
        named = [item for item in self.select.expressions if isinstance(item, exp.Alias)]
        found = [item for item in named if self.scope.meaning(item.args["alias"]) == wanted]
        return found[0] if len(found) == 1 and not column.args.get("table") else None

    def keys(self) -> Iterator[exp.Expression]:
        group = self.select.args.get("group")
        if group and group.args.get("all"):
            plain = (item for item in self.select.expressions if not any(map(is_aggregate, item.walk())))
            yield from (self.resolve(item.unalias()) for item in plain)
        for item in group.expressions if group else ():
            is_number = isinstance(item, exp.Literal) and item.is_int
            found = self.select.expressions[int(item.name) - 1].unalias() if is_number else item
            yield self.resolve(found.unnest())

    def ordered(self, outputs: Sequence[str]) -> list[exp.Expression]:
        """The items of ORDER BY. A number stays, and a name alone is first that of an output."""
        return [self._ordered(item, outputs) for item in self._order()]

    def _order(self) -> list[exp.Expression]:
        order = self.select.args.get("order")
        return order.expressions if order else []

    def _ordered(self, item: exp.Expression, outputs: Sequence[str]) -> exp.Expression:
        value, made = item.this, item.copy()
        if isinstance(value, exp.Literal):
            return made
        alone = isinstance(value, exp.Column) and not value.args.get("table")
        known = [n for n in outputs if alone and self.scope.fold(n, True) == self.scope.meaning(value.this)]
        made.set("this", exp.column(known[0], quoted=True) if known else self.resolve(value))
        return made
