"""The feature query taken apart: small frozen values that every later step reads."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlsvm.engine.base import Column, Kind, Spelling

Fold = Callable[[str, bool], str]
"""`Engine.fold`: the name that an identifier (its text, whether it is quoted) means."""


@dataclass(frozen=True)
class Relation:
    """One item of FROM. `source` is the aliased table or sub-query as it can stand in a FROM clause: an exp.Table
    only where the query names a table, a view or a file, an exp.Subquery for a sub-query or a CTE."""

    alias: str
    table: str
    """Its name with what was written before it, `air.flights`; empty for a sub-query."""
    source: exp.Expression
    columns: tuple[Column, ...]
    filters: tuple[exp.Expression, ...] = ()
    """Conjuncts over this relation alone that hold before it is joined (its WHERE; its ON where it is LEFT JOINed)."""
    late_filters: tuple[exp.Expression, ...] = ()
    """For the optional side of a LEFT JOIN: conjuncts of WHERE, which see the NULLs of a missing match."""


@dataclass(frozen=True)
class Term:
    """One side of a join equality: an expression over one relation."""

    relation: str
    expression: exp.Expression


@dataclass(frozen=True)
class Equality:
    left: Term
    right: Term


@dataclass(frozen=True)
class LeftJoin:
    """`LEFT JOIN relation ON equalities`: every left term of `equalities` is over `parent`, every right one over
    `relation`, which must turn out to be unique on them."""

    parent: str
    relation: str
    equalities: tuple[Equality, ...]


@dataclass(frozen=True)
class Feature:
    name: str
    relation: str
    expression: exp.Expression
    kind: Kind
    spelling: Spelling = "exact"


@dataclass(frozen=True)
class FeatureQuery:
    """The query taken apart. Every column in every expression is qualified by a relation's alias and quoted."""

    text: str
    dialect: str
    relations: tuple[Relation, ...]
    equalities: tuple[Equality, ...]
    left_joins: tuple[LeftJoin, ...]
    features: tuple[Feature, ...]
    label: Feature | None
    weight: Feature | None = None
    held_out: exp.Expression | None = None
    """Over the label's relation: is a row kept from the training? Said where what decides stays behind."""

    @property
    def outputs(self) -> tuple[Feature, ...]:
        """Features, label and weight."""
        return tuple(f for f in (*self.features, self.label, self.weight) if f)

    @property
    def terms(self) -> tuple[Term, ...]:
        """Both sides of every equality, those of LEFT JOINs too."""
        equalities = (*self.equalities, *(e for j in self.left_joins for e in j.equalities))
        return tuple(t for e in equalities for t in (e.left, e.right))

    @property
    def valued(self) -> tuple[Feature | Term, ...]:
        """Whatever has a value in each row of its relation."""
        return (*self.terms, *self.outputs)

    def relation(self, alias: str) -> Relation:
        return next(r for r in self.relations if r.alias == alias)

    def is_optional(self, alias: str) -> bool:
        return any(j.relation == alias for j in self.left_joins)

    def where(self, alias: str, *conjuncts: exp.Expression) -> "FeatureQuery":
        """With more of WHERE over one relation; over the optional side of a LEFT JOIN it holds after the join."""

        def narrowed(relation: Relation) -> Relation:
            if self.is_optional(alias):
                return replace(relation, late_filters=(*relation.late_filters, *conjuncts))
            return replace(relation, filters=(*relation.filters, *conjuncts))

        return replace(self, relations=tuple(narrowed(r) if r.alias == alias else r for r in self.relations))

    def used_columns(self, alias: str) -> tuple[Column, ...]:
        """The columns of a relation that the query mentions anywhere, in the order of the relation."""
        relation = self.relation(alias)
        own = [o.expression for o in self.valued]
        mentioned = [*own, *relation.filters, *relation.late_filters]
        names = {c.name for e in mentioned for c in e.find_all(exp.Column) if c.table == alias}
        return tuple(column for column in relation.columns if column.name in names)
