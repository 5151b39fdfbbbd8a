"""What a program needs to constrain scores by other columns: their covariances, as run/auditing.py finds them."""

from dataclasses import dataclass
from typing import Any

from sqlsvm import sql
from sqlsvm.compile.copies import working_tables
from sqlsvm.compile.moments import category_products_name, covariances, moments, moments_name, products_name
from sqlsvm.compile.statement import Statement
from sqlsvm.plan.design import Coordinate
from sqlsvm.plan.parameters import SHIFT
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.preflight import ProblemOptions, lasting
from sqlsvm.plan.target import Target
from sqlsvm.psql.stored_program.relations import own_relations, planned_over
from sqlsvm.query import FeatureQuery
from sqlsvm.query.facts import Facts
from sqlsvm.query.rewrites.audit import widened
from sqlsvm.run.auditing import audited_columns, own_coordinates


@dataclass(frozen=True)
class Audits:
    """A query, and the plan of the widened one."""

    query: FeatureQuery
    plan: Plan

    @property
    def parts(self) -> dict[str, tuple[Statement, ...]]:
        return {
            "audit tables": tuple(working_tables(self.plan)),
            "audit moments": tuple(moments(self.plan, frozenset({"total"}))),
            **{_part(c): tuple(covariances(self.plan, c, sql.parameter(SHIFT))) for c in self._columns.values()},
        }

    def facts(self) -> dict[str, Any]:
        """`places` are those of the query's own coordinates. Categories come after all coordinates, so their places are
        `fewer` there."""
        design, tree = self.plan.design, self.plan.tree
        own = own_coordinates(self.query, design)
        sums = [(c, place) for place, c in enumerate(own, 1) if c.role != "intercept"]
        return {
            "sizes": moments_name(self.plan.label_node),
            "fewer": len(design.coordinates) - len(own),
            "columns": [
                {
                    "column": name,
                    "part": _part(c),
                    "moments": moments_name(tree.node_of(c.relation)),
                    "total": f"total{c.index}",
                    "answers": [
                        {"name": products_name(c, tree.node_of(o.relation)), "column": o.column, "place": place}
                        for o, place in sums
                    ],
                    "categories": [category_products_name(c, d) for d in design.dictionaries],
                }
                for name, c in self._columns.items()
            ],
        }

    @property
    def _columns(self) -> dict[str, Coordinate]:
        return audited_columns(self.query, self.plan.design)


def audits(facts: Facts, query: FeatureQuery, options: ProblemOptions, target: Target) -> Audits | None:
    """The classes weigh the same there."""
    if not query.audited:
        return None
    plan, catalog = lasting(facts, widened(query, facts), options, target)
    return Audits(query, planned_over(plan, own_relations(catalog.query)))


def _part(c: Coordinate) -> str:
    return f"covariances {c.index}"
