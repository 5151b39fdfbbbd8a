"""Heavy keys: those that make most rows of the join, for each many-to-many edge."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.count import total_table
from sqlsvm.compile.prepare import key, node_rows
from sqlsvm.compile.statement import asked
from sqlsvm.model.plain import plain
from sqlsvm.plan.design import as_categories
from sqlsvm.plan.join_tree import Edge, JoinTree
from sqlsvm.run.workspace import Workspace


@dataclass(frozen=True)
class HeavyKey:
    key: tuple[object, ...]
    """A value for each column of the edge."""
    rows: float
    """Of the join."""
    share: float


@dataclass(frozen=True)
class HeavyKeys:
    keys: tuple[HeavyKey, ...]
    """The heaviest first."""
    others: float
    """The rows of the join without these keys."""
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
