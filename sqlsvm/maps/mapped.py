"""A map with all its constants: what it adds to a query, and what a stored model keeps of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Column
from sqlsvm.maps import formula
from sqlsvm.maps.formula import Values
from sqlsvm.query.ir import Computed, Made
from sqlsvm.reading import Misread

KNOWN = "known:"
"""Of a map that tells whether its column is NULL."""

Formula = Annotated[str, formula.read]


@dataclass(frozen=True)
class Mapped:
    """New columns of one relation, or of several that meet in one row. The formulas read `columns` as $1, $2, ... With
    `steps` the first step does, each later step reads what the step before it has computed, and the formulas read the
    last step. A new column is NULL where one of `columns` is, but for `otherwise`."""

    map: str
    """As --map has it, with the defaults written out."""
    columns: tuple[str, ...]
    """Outputs of the query."""
    formulas: Mapping[str, Formula]
    """By the name of the new column."""
    steps: tuple[tuple[Formula, ...], ...] = ()
    kind: Literal["numeric", "categorical"] = "numeric"
    """Of `columns`."""
    replaces: bool = True
    """Are `columns` no features of their own any more?"""
    note: str = ""
    """What its user should know."""
    booleans: tuple[str, ...] = ()
    """Those of `columns` that are true or false: to the formulas 1 and 0."""

    @property
    def otherwise(self) -> float | None:
        """What the new columns are where one of `columns` is NULL; None if they are NULL there."""
        return 0.0 if self.map.startswith(KNOWN) else None

    def kind_of(self, name: str) -> Literal["numeric", "boolean", "categorical"]:
        """Of one of `columns`."""
        return "boolean" if name in self.booleans else self.kind

    def operand(self, name: str, value: exp.Expression) -> exp.Expression:
        """A value of one of `columns` as the formulas read it."""
        if self.kind_of(name) == "boolean":
            return sql.by_truth(value, sql.number(1), sql.number(0))
        return sql.double(value.copy()) if self.kind == "numeric" else sql.text(value.copy())

    def values(self, operands: Sequence[Values]) -> dict[str, Values]:
        """The new columns of rows in memory; nan where one of the numbers is. Texts are not missing."""
        for step in self.steps:
            operands = [formula.values(text, operands) for text in step]
        return {name: np.asarray(formula.values(text, operands), float) for name, text in self.formulas.items()}

    def stepped(self, operands: Sequence[exp.Expression], alias: str) -> tuple[exp.Select | None, list[exp.Expression]]:
        """The steps as a SELECT of one row, and what the formulas then read of it; None if there are no steps."""
        rows: exp.Select | None = None
        for step in self.steps:
            named = [(formula.applied(text, operands), f"s{place}") for place, text in enumerate(step)]
            rows = sql.select(named, rows and sql.derived(rows, alias)).offset(0)
            operands = [sql.column(name, alias) for _, name in named]
        return rows, list(operands)

    def computed(self, columns: Sequence[exp.Expression], alias: str, prefix: str) -> Made:
        """The new columns. With steps they are computed columns of their relation, and so is all that they need."""
        operands = [self.operand(name, value) for name, value in zip(self.columns, columns, strict=True)]
        present = sql.every(map(sql.not_null, columns))
        if not self.steps:
            other = None if self.otherwise is None else formula.number(self.otherwise)
            values = [sql.case(present.copy(), formula.applied(f, operands), other) for f in self.formulas.values()]
            return Made(values)
        known, names = sql.named(f"{prefix}_known", alias), [f"{prefix}_{n}" for n in range(len(operands))]
        layers = [{name: Computed(value, frozenset()) for name, value in zip(names, operands, strict=True)}]
        layers[0][known.name] = Computed(present, frozenset())
        for place, step in enumerate((*self.steps, tuple(self.formulas.values()))):
            read, operands = names, [sql.named(name, alias) for name in names]
            names = [f"{prefix}_{place}_{n}" for n in range(len(step))]
            layers.append({name: _computed(text, operands, read) for name, text in zip(names, step, strict=True)})
        layers[-1] = {
            name: Computed(sql.case(known.copy(), c.value), c.reads | {known.name}, known.name)
            for name, c in layers[-1].items()
        }
        more = [Column(name, "double precision", "numeric") for name in names]
        more.append(Column(known.name, "boolean", "boolean"))
        return Made([sql.named(name, alias) for name in names], tuple(layers), tuple(more))


def _computed(text: str, operands: Sequence[exp.Expression], names: Sequence[str]) -> Computed:
    reads = frozenset(names[place - 1] for place in formula.arguments(text))
    return Computed(formula.applied(text, operands), reads)


def _fitting(found: tuple[Mapped, ...]) -> tuple[Mapped, ...]:
    """Each formula reads arguments that there are."""
    for place, each in enumerate(found):
        width = len(each.columns)
        for step in (*each.steps, tuple(each.formulas.values())):
            for n in frozenset[int]().union(*map(formula.arguments, step)):
                if not 0 < n <= width:
                    raise Misread(f"a formula reads ${n}, and the last argument is ${width}").at(place)
            width = len(step)
    return found


Maps = Annotated[tuple[Mapped, ...], _fitting]
"""As they are stored."""
