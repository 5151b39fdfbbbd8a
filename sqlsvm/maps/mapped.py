"""A map with all its constants: what it adds to a query, and what a stored model keeps of it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Annotated, Literal, NamedTuple

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Column
from sqlsvm.errors import QueryError
from sqlsvm.maps import formula
from sqlsvm.maps.formula import Values
from sqlsvm.query.facts import Facts, Rule
from sqlsvm.query.ir import Computed, Feature, FeatureQuery
from sqlsvm.query.names import relations_in
from sqlsvm.query.rewrites.meet import Asked, brought, met
from sqlsvm.reading import Misread

KNOWN = "known:"  # of a map that tells whether its column is NULL
TREES = "trees:"
"""Of a map whose formulas read NULLs themselves: a comparison with NULL is not true, in SQL and of a nan."""

Formula = Annotated[str, formula.read]
Code = tuple[object, float]  # a category, and the number that stands for it


class Made(NamedTuple):
    """What a map adds to a relation: values, and the computed columns that they need, with their descriptions."""

    values: Sequence[exp.Expression]
    layers: tuple[Mapping[str, Computed], ...] = ()
    columns: tuple[Column, ...] = ()


@dataclass(frozen=True)
class Mapped:
    """New columns of one relation, or of several that meet in one row. The formulas read `columns` as $1, $2, ... With
    `steps` the first step does, each later step reads what the step before it has computed, and the formulas read the
    last step. A new column is NULL where one of `columns` is, but for `otherwise`."""

    map: str  # as --map has it, with the defaults written out
    columns: tuple[str, ...]  # outputs of the query
    formulas: Mapping[str, Formula]  # by the name of the new column
    steps: tuple[tuple[Formula, ...], ...] = ()
    kind: Literal["numeric", "categorical"] = "numeric"  # of `columns`
    replaces: bool = True  # are `columns` no features of their own any more?
    note: str = ""  # what its user should know
    booleans: tuple[str, ...] = ()  # those of `columns` that are true or false: to the formulas 1 and 0
    codes: Mapping[str, tuple[Code, ...]] = field(default_factory=dict)
    """Those of `columns` that have categories: to the formulas these numbers, and 0 for all others and for NULL."""
    before: float | None = None  # with --time: trees know no label of this time or of a later one

    @property
    def takes_nulls(self) -> bool:
        """Are the new columns never NULL?"""
        return self.map.startswith(TREES)

    @property
    def otherwise(self) -> float | None:
        """What the new columns are where one of `columns` is NULL; None if they are NULL there."""
        return 0.0 if self.map.startswith(KNOWN) else None

    def kind_of(self, name: str) -> Literal["numeric", "boolean", "categorical"]:
        """Of one of `columns`."""
        return "boolean" if name in self.booleans else "categorical" if name in self.codes else self.kind

    def operand(self, name: str, value: exp.Expression) -> exp.Expression:
        """A value of one of `columns` as the formulas read it."""
        if self.kind_of(name) == "boolean":
            return sql.by_truth(value, sql.number(1), sql.number(0))
        if name in self.codes:
            pairs = ((exp.convert(category), formula.number(code)) for category, code in self.codes[name])
            return sql.match(value.copy(), pairs, formula.number(0))
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
        if not self.takes_nulls:
            layers[0][known.name] = Computed(present, frozenset())
        for place, step in enumerate((*self.steps, tuple(self.formulas.values()))):
            read, operands = names, [sql.named(name, alias) for name in names]
            names = [f"{prefix}_{place}_{n}" for n in range(len(step))]
            layers.append({name: _computed(text, operands, read) for name, text in zip(names, step, strict=True)})
        more = [Column(name, "double precision", "numeric") for name in names]
        if not self.takes_nulls:
            layers[-1] = {
                name: Computed(sql.case(known.copy(), c.value), c.reads | {known.name}, known.name)
                for name, c in layers[-1].items()
            }
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


Maps = Annotated[tuple[Mapped, ...], _fitting]  # as they are stored


def known(facts: Facts, query: FeatureQuery, taken: Collection[str]) -> Iterator[Mapped]:
    """For each number that can be NULL. `taken`: names of other maps."""
    names = {f.name for f in query.outputs} | set(taken)
    for f in query.features:
        if f.kind == "categorical" or f.name in query.sums:
            continue
        if facts.may_be_null(query.relation(f.relation), f.expression):
            yield indicator(f.name, names, is_boolean=f.kind == "boolean")


def indicator(name: str, taken: Collection[str], *, is_boolean: bool) -> Mapped:
    """A column that is 1 where this one is not NULL, and else 0."""
    names = (f"{name}_known{n if n > 1 else ''}" for n in count(1))
    own = next(n for n in names if n not in taken)
    return Mapped(f"{KNOWN}{name}", (name,), {own: "1.0e0"}, replaces=False, booleans=(name,) if is_boolean else ())


def readable(columns: Collection[str]) -> Rule:
    """Sums that maps read are computed where their relations meet."""

    def rule(query: FeatureQuery, facts: Facts) -> FeatureQuery:
        return met(query, facts, {name: _many(name) for name in columns if name in query.sums})

    return rule


def _many(name: str) -> QueryError:
    hint = "give each relation an output column of its own, and a map"
    return QueryError(f"no map of {name}: it adds up columns of several relations", hint=hint)


def mapped(maps: Sequence["Mapped"]) -> Rule:
    def rule(query: FeatureQuery, facts: Facts) -> FeatureQuery:
        _check_names(query, maps)
        replaced = {name for each in maps if each.replaces for name in each.columns}
        kept, made = [f for f in query.features if f.name not in replaced], list[Feature]()
        query, found = brought(query, facts, [_asked(query, each) for each in maps])
        for number, (each, (alias, columns)) in enumerate(zip(maps, found, strict=True)):
            new, relation = each.computed(columns, alias, f"sqlsvm_map{number}"), query.relation(alias)
            computed, known = (*relation.computed, *new.layers), (*relation.columns, *new.columns)
            query = query.with_relation(replace(relation, computed=computed, columns=known))
            made += (Feature(name, alias, v, "numeric") for name, v in zip(each.formulas, new.values, strict=True))
        return replace(query, features=(*kept, *made), maps=tuple(maps)) if maps else query

    return rule


def _asked(query: FeatureQuery, each: "Mapped") -> Asked:
    by_name = {f.name: f for f in query.features}
    columns = [by_name[name] for name in each.columns]
    values = [c.typed if c.name in query.sums else c.expression for c in columns]
    used = list(dict.fromkeys(alias for value in values for alias in relations_in(value)))
    refusal = QueryError(
        f"⟦map {each.map}⟧ needs {', '.join(used[:-1])} and {used[-1]} in one row",
        hint="select only numbers of tables that foreign keys connect; or write each component as a sum, with the "
        "loadings that ⟦components()⟧ prints: 0.7 * a.x + 0.7 * b.y AS first",
    )
    return Asked(values, refusal)


def _check_names(query: FeatureQuery, maps: Sequence["Mapped"]) -> None:
    seen = {f.name for f in query.outputs}
    for each in maps:
        for name in each.formulas:
            if name in seen:
                said = f"two columns are called {name}: one is of ⟦map {each.map}⟧"
                raise QueryError(said, hint="rename the column of the query with AS, or leave out one of the maps")
            seen.add(name)
