"""`sqlsvm inspect`: what a feature query joins, how, and how many rows the join has, before any training."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Unpack

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.ask.alike import Alike, alike_in_join
from sqlsvm.ask.rows import roles_of
from sqlsvm.compile.count import count_pass, total_table
from sqlsvm.compile.prepare import Output, key, node_rows, node_table, prepare_merged, relation_keys, relation_rows
from sqlsvm.compile.statement import asked
from sqlsvm.engine.base import Engine
from sqlsvm.errors import OptionError
from sqlsvm.model.model import Model
from sqlsvm.model.plain import plain
from sqlsvm.model.stored_query import stored_query
from sqlsvm.plan.catalog import Catalog, EdgeFacts, Oddities, edge_facts
from sqlsvm.plan.design import as_categories
from sqlsvm.plan.join_tree import Edge, JoinTree, join_tree
from sqlsvm.plan.preflight import checked, naming_features
from sqlsvm.plan.target import CODE, Classes, Target, if_classes
from sqlsvm.query import Feature, FeatureQuery, LeftJoin, Term
from sqlsvm.query.read_query import Roles, read_query
from sqlsvm.query.rewrites.left_joins import KEY
from sqlsvm.run.derived import reading
from sqlsvm.run.training import anew
from sqlsvm.run.workspace import Workspace


@dataclass(frozen=True)
class HeavyKey:
    key: tuple[object, ...]  # a value for each column of the edge
    rows: float  # of the join
    share: float


@dataclass(frozen=True)
class HeavyKeys:
    keys: tuple[HeavyKey, ...]  # the heaviest first
    others: float  # the rows of the join without these keys
    approximate: bool = False
    """Were the keys found by a sketch? Then another one may be heavier than these, with at most all `others`."""

    def as_json(self) -> dict[str, Any]:
        found = [{**vars(k), "key": plain(k.key[0] if len(k.key) == 1 else k.key)} for k in self.keys]
        return {"heavy": found, "rows_without_heavy": self.others, "heavy_approximate": self.approximate}


def heavy_keys(
    work: Workspace, tree: JoinTree, join_rows: float, most: int, *, approximate: bool
) -> dict[int, HeavyKeys]:
    """By the place of the edge, with exact rows. The totals of all nodes must be there (`count_pass`)."""
    places = [place for place, edge in enumerate(tree.edges) if edge.on and edge.kind == "many-to-many"]
    return {place: _of_edge(work, tree, tree.edges[place], join_rows, most, approximate) for place in places}


def _of_edge(work: Workspace, tree: JoinTree, edge: Edge, join_rows: float, most: int, approximate: bool) -> HeavyKeys:
    by_sketch = approximate and len(edge.on) == 1
    rows = sql.table(total_table(edge.left))
    names = [key(v) for v in edge.on]
    found = sql.grouped(sql.columns(names), [(sql.total("total"), "rows")], rows)
    if by_sketch:
        sides = (_frequent(tree, node, names[0], most) for node in (edge.left, edge.right))
        found = sql.where(found, sql.among(sql.column(names[0]), reduce(sql.union_all, sides)))
    heaviest = exp.Ordered(this=sql.column("rows"), desc=True, nulls_first=False)
    order = [heaviest, *(exp.Ordered(this=sql.column(name), nulls_first=False) for name in names)]
    answer = work.ask(asked("heavy keys", found.order_by(*order).limit(most), dict))
    keys = tuple(_heavy(answer, names, join_rows))
    return HeavyKeys(keys, max(join_rows - sum(k.rows for k in keys), 0.0), by_sketch)


def _frequent(tree: JoinTree, node: int, name: str, most: int) -> exp.Query:
    """SELECT the values that are in most rows of a node, by a sketch."""
    rows = sql.select([(sql.frequent(sql.column(name), most), "v")], sql.derived(node_rows(tree, node, ()), "r"))
    return sql.select([(exp.Explode(this=sql.column("v")), "v")], sql.derived(rows, "f"))


def _heavy(answer: Mapping[str, Any], names: list[str], join_rows: float) -> Iterator[HeavyKey]:
    values = [as_categories(answer[name]) for name in names]
    for place, rows in enumerate(answer["rows"].astype(float).tolist()):
        yield HeavyKey(tuple(own[place] for own in values), rows, rows / join_rows)


REAL = "real"

steps = logging.getLogger(__name__)


@dataclass(frozen=True)
class RelationFacts:
    alias: str
    table: str
    rows: float
    rows_surviving: float


@dataclass(frozen=True)
class LabelFacts:
    column: str
    relation: str
    negative: float
    positive: float
    nulls: float
    classes: Mapping[str, float] = field(default_factory=dict)  # the rows of each, if there are more than two


@dataclass(frozen=True)
class FeatureFacts:
    name: str
    relation: str
    kind: str
    nulls: float
    nans: float
    infinite: float


@dataclass(frozen=True)
class Inspection:
    """The facts. The edges of `tree` have the measured uniqueness."""

    tree: JoinTree
    relations: tuple[RelationFacts, ...]
    edges: tuple[EdgeFacts, ...]
    join_rows: float
    features: tuple[FeatureFacts, ...]
    label: LabelFacts | None
    alike: tuple[Alike, ...] = ()  # features that are nearly the same in the join
    heavy: Mapping[int, HeavyKeys] = field(default_factory=dict)
    """Of many-to-many edges, by their place, if they were asked for."""


@anew
def inspect(
    engine: Engine,
    text: str,
    *,
    positive: str | None = None,
    heavy: int = 0,
    approximate: bool = False,
    classes: bool = False,
    **roles: Unpack[Roles],
) -> Inspection:
    """Read the facts of a feature query from one snapshot. The join is counted, not built. `heavy`: how many keys of
    each many-to-many edge to list; `approximate`: find them by a sketch of the engine."""
    if approximate and not engine.abilities.frequent:
        raise OptionError("this database has no sketch of frequent values", hint="leave --approximate out")
    query = read_query(engine, text, **roles)
    with naming_features(engine, query), reading(engine, query) as (work, query):
        steps.info("looking at rows and keys of the tables")
        target = if_classes(engine, query, positive, classes=classes) if query.label else None
        catalog = checked(work.facts, query)
        query = catalog.query
        tree = join_tree(query, catalog)
        steps.info("comparing the features")
        pairs = alike_in_join(work, tree)
        steps.info("counting the join")
        outputs = [Output(target.label.relation, target.code, CODE)] if target else []
        work.run(prepare_merged(tree, [*outputs, *_real(tree.query)]))
        work.run(count_pass(tree))
        facts = tuple(_edge_facts(catalog, tree, edge) for edge in tree.edges)
        marked = tuple(_marked(tree, edge, found) for edge, found in zip(tree.edges, facts, strict=True))
        rows, label_facts = _join_rows(work, tree, target)
        measured = replace(tree, edges=marked)
        return Inspection(
            tree=measured,
            relations=tuple(_relation_facts(work, catalog, tree, r.alias) for r in query.relations),
            edges=facts,
            join_rows=rows,
            features=_feature_facts(catalog),
            label=label_facts,
            alike=pairs,
            heavy=heavy_keys(work, measured, rows, heavy, approximate=approximate) if heavy and rows else {},
        )


def inspect_model(engine: Engine, model: Model) -> Inspection:
    """The same for the query of a model, on the data as it is now."""
    return inspect(
        engine, stored_query(engine, model), positive=model.positive, classes=bool(model.kinds), **roles_of(model)
    )


# -- relations ---------------------------------------------------------------------------------------------------------


def _relation_facts(work: Workspace, catalog: Catalog, tree: JoinTree, alias: str) -> RelationFacts:
    survivors = work.engine.fetch(_survivors(tree, alias))["n"][0]
    table = catalog.query.relation(alias).table or "(sub-query)"
    return RelationFacts(alias, table, catalog.of(alias).table_rows, float(survivors))


def _real(query: FeatureQuery) -> Iterator[Output]:
    """Whether a row is one that a LEFT JOIN has found."""
    for join in query.numbered:
        yield Output(join.relation, sql.not_null(sql.named(f"{KEY}0", join.relation)), f"{REAL}{join.place}")


def _survivors(tree: JoinTree, alias: str) -> exp.Select:
    """How many rows of a relation are part of a join row, without the made-up row of a LEFT JOIN."""
    node, join = tree.node_of(alias), tree.query.left_join(alias)
    whole = sql.table(total_table(node), "t")
    size: exp.Expression = sql.column("w", "t")
    real = [sql.column(f"{REAL}{join.place}", "t")] if join else []
    if len(tree.nodes[node]) == 1:
        return sql.select([(sql.sum_or_zero(size), "n")], whole).where(*real)
    keys = relation_keys(tree, alias)
    distinct = exp.select(*(sql.column(k, "t") for k in keys)).distinct().from_(whole).where(*real)
    rows = sql.select([(sql.count(), "n")], sql.derived(relation_rows(tree, alias, ()), "r"))
    on = [sql.equal(sql.column(k, "r"), sql.column(k, "s")) for k in keys]
    return sql.join(rows, sql.derived(distinct, "s"), on)


def _feature_facts(catalog: Catalog) -> tuple[FeatureFacts, ...]:
    query = catalog.query
    odd: dict[Feature, Oddities] = {}
    for relation in query.relations:
        if own := [f for f in query.features if f.relation == relation.alias]:
            found = catalog.oddities(relation.alias, own)
            odd |= {f: found[f.name] for f in own}
    counts = ((f, odd[f]) for f in query.features)
    return tuple(FeatureFacts(f.name, f.relation, f.kind, o.nulls, o.nans, o.infinite) for f, o in counts)


# -- edges -------------------------------------------------------------------------------------------------------------


def _edge_facts(catalog: Catalog, tree: JoinTree, edge: Edge) -> EdgeFacts:
    left, right = tree.nodes[edge.left], tree.nodes[edge.right]
    if left_join := edge_left_join(tree, edge):
        pairs = [(e.left, e.right) if e.left.relation in left else (e.right, e.left) for e in left_join.equalities]
        return catalog.edge(pairs[0][0].relation, pairs[0][1].relation, pairs, looked=True)
    if len(left) == len(right) == 1:
        return catalog.edge(left[0], right[0], shared_terms(tree, edge))
    ours, theirs = (_node_keys(node, edge) for node in (edge.left, edge.right))
    places = [(i, i) for i in range(len(edge.on))]
    return edge_facts(catalog.engine, ours, theirs, places, size=sql.sum_or_zero("w"))


def shared_terms(tree: JoinTree, edge: Edge) -> list[tuple[Term, Term]]:
    """Of an edge between two relations, with the equalities that are implied."""
    (left,), (right,) = tree.nodes[edge.left], tree.nodes[edge.right]
    shared, spelt = [tree.variables[v] for v in edge.on], tree.query.spelt
    return [p for v in shared for a in v.at(left) for b in v.at(right) for p in zip(spelt(a), spelt(b), strict=True)]


def edge_left_join(tree: JoinTree, edge: Edge) -> LeftJoin | None:
    terms = {term for v in edge.on for term in tree.variables[v].terms}
    return next((j for j in tree.query.numbered if j.found.right in terms), None)


def _node_keys(node: int, edge: Edge) -> exp.Select:
    keys = [(sql.column(key(v)), f"k{i}") for i, v in enumerate(edge.on)]
    return sql.select([*keys, (sql.column("w"), "w")], sql.table(node_table(node)))


def _marked(tree: JoinTree, edge: Edge, facts: EdgeFacts) -> Edge:
    """Set the measured uniqueness at nodes of several relations. The tree could only infer it."""
    if len(tree.nodes[edge.left]) == len(tree.nodes[edge.right]) == 1 or edge_left_join(tree, edge):
        return edge
    return replace(edge, unique_left=facts.max_left <= 1, unique_right=facts.max_right <= 1)


# -- the join ----------------------------------------------------------------------------------------------------------


def _join_rows(work: Workspace, tree: JoinTree, target: Target | None) -> tuple[float, LabelFacts | None]:
    root = sql.table(total_table(tree.root))
    total = sql.column("total")
    if target is None:
        return float(work.engine.fetch(sql.select([(sql.sum_or_zero(total), "n")], root))["n"][0]), None
    y = sql.column(CODE)
    counted = sql.select([(sql.double(y), CODE), (sql.sum_or_zero(total), "n")], root)
    found = work.engine.fetch(sql.group(counted, [y.copy()]))
    rows = {float(value): float(n) for value, n in zip(found[CODE], found["n"], strict=True)}
    nulls = sum(n for value, n in rows.items() if value != value)
    label, names = target.label, target.names if isinstance(target, Classes) else ()
    classes = {name: rows.get(float(code), 0.0) for code, name in enumerate(names, 1)}
    of_two = (0.0, 0.0) if classes else (rows.get(-1.0, 0.0), rows.get(1.0, 0.0))
    facts = LabelFacts(label.name, label.relation, *of_two, nulls, classes)
    return sum(rows.values(), 0.0), facts


def _spelled(query: FeatureQuery, left: Term, right: Term) -> str:
    return " = ".join(t.expression.sql(dialect=query.dialect) for t in (left, right))


# -- as JSON -----------------------------------------------------------------------------------------------------------


_EDGE = ("max_left", "max_right", "dangling_left", "dangling_right", "null_keys")


def _whole(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Counts as integers."""
    return {name: int(value) if isinstance(value, float) else value for name, value in facts.items()}


def as_json(found: Inspection) -> dict[str, Any]:
    """The object that `inspect --json` prints."""
    tree = found.tree
    return {
        "relations": [_whole(vars(r)) for r in found.relations],
        "edges": [
            {
                "left": tree.name(edge.left),
                "right": tree.name(edge.right),
                "on": edge_text(tree, edge),
                "kind": edge.kind,
                "join": "left" if edge_left_join(tree, edge) else "inner" if edge.on else "cross",
                **_whole({name: getattr(facts, name) for name in _EDGE}),
                **(found.heavy[place].as_json() if place in found.heavy else {}),
            }
            for place, (edge, facts) in enumerate(zip(tree.edges, found.edges, strict=True))
        ],
        "bags": [[alias for node in bag for alias in tree.nodes[node]] for bag in tree.bags],
        "root": tree.name(tree.root),
        "acyclic": tree.acyclic,
        "join_rows": found.join_rows,
        "features": [_whole(vars(f)) for f in found.features],
        "label": None
        if found.label is None
        else {
            "column": found.label.column,
            "relation": found.label.relation,
            "rows": found.label.classes or {"-1": found.label.negative, "1": found.label.positive},
            "nulls": found.label.nulls,
        },
        "alike": [vars(pair) for pair in found.alike],
    }


def edge_text(tree: JoinTree, edge: Edge) -> str:
    """The equalities of an edge as in the query; TRUE for a cross product."""
    left_join = edge_left_join(tree, edge)
    if left_join:
        return " AND ".join(_spelled(tree.query, e.left, e.right) for e in left_join.equalities)
    ours, theirs = tree.nodes[edge.left], tree.nodes[edge.right]
    shared = [tree.variables[v] for v in edge.on]
    firsts = [tuple(next(t for t in v.terms if t.relation in side) for side in (ours, theirs)) for v in shared]
    return " AND ".join(_spelled(tree.query, a, b) for a, b in firsts) or "TRUE"
