"""All that is read and checked before the first working table is made, in the order in which it must be."""

import logging
from dataclasses import replace
from typing import Protocol

from sqlsvm.engine.base import Engine
from sqlsvm.options import Counting, Nulls
from sqlsvm.plan.catalog import Catalog, check_left_joins
from sqlsvm.plan.design import Design, design, drop_nulls
from sqlsvm.plan.join_tree import join_tree
from sqlsvm.plan.keys import check_keys
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.planner import choose, fitted
from sqlsvm.plan.target import Binary, binary
from sqlsvm.query import FeatureQuery

steps = logging.getLogger(__name__)


class PlanOptions(Protocol):
    """The options that a plan depends on."""

    @property
    def positive(self) -> str | None: ...
    @property
    def nulls(self) -> Nulls: ...
    @property
    def intercept(self) -> bool: ...
    @property
    def counting(self) -> Counting: ...


def checked(engine: Engine, query: FeatureQuery) -> Catalog:
    """The facts of a query, if its joins and keys can be counted."""
    catalog = Catalog(engine, query)
    check_left_joins(catalog)
    check_keys(catalog)
    return catalog


def planned(
    engine: Engine, query: FeatureQuery, options: PlanOptions, target: Binary | None = None
) -> tuple[Plan, Catalog]:
    """The plan for the rows as they are. The target is read off the query's own rows, unless more is known of it than
    these say."""
    steps.info("looking at rows and keys of the tables")
    target = target or binary(engine, query, options.positive)
    catalog = _catalog(engine, query, options)
    plan = _chosen(catalog, design(catalog, target, intercept=options.intercept), options)
    return fitted(plan, catalog), catalog


def lasting(engine: Engine, query: FeatureQuery, options: PlanOptions, target: Binary) -> tuple[Plan, Catalog]:
    """The plan for rows that may change: it is ready for NULLs and categories that are not there yet, and uses nothing
    that pays only for the rows as they are."""
    catalog = _catalog(engine, query, options)
    made = design(catalog, target, intercept=options.intercept, any_nulls=options.nulls == "mean")
    tables = tuple(replace(d, listed=False) for d in made.dictionaries)
    return _chosen(catalog, replace(made, dictionaries=tables), options), catalog


def _catalog(engine: Engine, query: FeatureQuery, options: PlanOptions) -> Catalog:
    return checked(engine, drop_nulls(query) if options.nulls == "drop" else query)


def _chosen(catalog: Catalog, made: Design, options: PlanOptions) -> Plan:
    return choose(join_tree(catalog.query, catalog), made, catalog, options.counting)
