"""The rows of a bag with their scores: p = theta . x over the core and everything that folds into it."""

from collections.abc import Callable, Mapping

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.places import score_in, within
from sqlsvm.compile.prepare import Output, key, node_rows, node_table
from sqlsvm.compile.statement import theta
from sqlsvm.plan.plan import Places, Plan
from sqlsvm.plan.target import CODE
from sqlsvm.sql import Named

NOWHERE: Mapping[int, Places] = {}
Bend = Callable[[exp.Expression], exp.Expression]
"""What becomes of each term theta_j x_j of a score."""


def outputs(plan: Plan, node: int) -> list[Output]:
    """What a node gives besides its keys: coordinates, categories, the label's code and a weight."""
    design, target, relations = plan.design, plan.design.target, plan.tree.nodes[node]
    made = [Output(c.relation, c.value, c.column) for c in plan.coordinates(node) if c.role != "intercept"]
    made += [Output(d.relation, d.value, d.column) for d in plan.dictionaries(node)]
    if target.label.relation in relations:
        made.append(Output(target.label.relation, target.code, CODE))
    factors: dict[str, list[exp.Expression]] = {}
    if design.weight is not None and design.weight.relation in relations:
        factors.setdefault(design.weight.relation, []).append(sql.double(design.weight.expression.copy()))
    if target.weighted and target.label.relation in relations:
        factors.setdefault(target.label.relation, []).append(target.factor())
    return made + [Output(r, sql.product(*f), f"w{i}") for i, (r, f) in enumerate(factors.items())]


def rows(plan: Plan, node: int) -> exp.Select:
    """SELECT k.., x.., v.., y, w over a node, wherever it is read from."""
    return _weighed(node_rows(plan.tree, node, outputs(plan, node)))


def _weighed(found: exp.Query) -> exp.Select:
    """The weights of several relations of one node are one weight w."""
    names = found.named_selects
    factors = [n for n in names if n[0] == "w"]
    if not factors and isinstance(found, exp.Select):
        return found
    plain: Named = [(sql.column(n), n) for n in names if n not in factors]
    weight: Named = [(sql.product(*(sql.column(n) for n in factors)), "w")] if factors else []
    return sql.select([*plain, *weight], sql.derived(found, "q"))


def source(plan: Plan, node: int, alias: str = "r") -> exp.Expr:
    """A node as an item of FROM."""
    if node in plan.copied:
        return sql.table(node_table(node), alias)
    return sql.derived(rows(plan, node), alias)


def inherited(plan: Plan, node: int, name: str) -> bool:
    """Does a node, or what folds into it, have the code of the label, or w?"""
    own = node == plan.label_node if name == CODE else plan.weighted(node)
    return own or any(inherited(plan, child, name) for child, _ in plan.folded(node))


def straight(term: exp.Expression) -> exp.Expression:
    return term


def scored(
    plan: Plan,
    node: int,
    keys: list[int],
    extra: Named | None = None,
    bend: Bend = straight,
    placed: Mapping[int, Places] = NOWHERE,
    whole: bool = False,
) -> exp.Select:
    """SELECT keys, extra, the score as p, and y and w where there are any: one row for each row of the node.

    What folds into it is joined on its unique key, so no row is ever repeated; rows without a partner drop out. What is
    placed is looked up instead: there, rows without a partner may stay, and their p is NaN. A whole row has the
    coordinates of what folds in as well.
    """
    r = "r"
    coordinates = plan.coordinates(node)
    terms = [bend(sql.product(theta(sql.integer(c.index + 1)), c.of(r))) for c in coordinates]
    homes = dict.fromkeys(plan.tree.variables_of(node), r)
    weights = [sql.column("w", r)] if plan.weighted(node) else []
    sign = sql.column(CODE, r) if node == plan.label_node else None
    joins: list[tuple[exp.Expr, list[exp.Expression], str]] = []
    folded: Named = []
    inside: list[exp.Expression] = []
    for child, edge in plan.folded(node):
        if places := placed.get(child):
            (variable,) = edge.on
            at = sql.column(key(variable), r)
            terms.append(score_in(places, scored(plan, child, [variable], bend=bend), at))
            inside += within(places, at)
            continue
        f = f"f{child}"
        below = reachable(plan, child)
        wanted = sorted({*edge.on, *(v for v in keys if v not in homes and v in below)})
        homes |= {v: f for v in wanted if v not in homes}
        meet = [sql.equal(sql.column(key(v), r), sql.column(key(v), f)) for v in edge.on]
        found = scored(plan, child, wanted, carried(plan, child) if whole else None, bend, whole=whole)
        joins.append((sql.derived(sql.fenced(found), f), meet, ""))
        folded += [(sql.column(x, f), x) for x in found.named_selects if whole and x.startswith("x")]
        terms.append(sql.column("p", f))
        weights += [sql.column("w", f)] if inherited(plan, child, "w") else []
        sign = sql.column(CODE, f) if inherited(plan, child, CODE) else sign
    for d in plan.dictionaries(node):
        if d.listed:
            terms.append(d.listing(lambda n: bend(theta(sql.integer(n))), r, sql.number(0)))
            continue
        meet = [sql.equal(sql.column("v", d.table), sql.column(d.column, r))]
        joins.append((exp.to_table(d.table), meet, "left"))
        terms.append(sql.or_zero(bend(theta(sql.column("n", d.table)))))
    made: Named = [(sql.column(key(v), homes[v]), key(v)) for v in keys]
    made += [*(extra or []), *folded, (sql.plus(*terms), "p")]
    made += [(sign, CODE)] if sign is not None else []
    made += [(sql.product(*weights), "w")] if weights else []
    found = sql.where(sql.select(made, _filtered_first(plan, node, r)), *inside)
    for item, on, kind in joins:
        found = sql.join(found, item, on, kind)
    return found


def _filtered_first(plan: Plan, node: int, alias: str) -> exp.Expr:
    """A node as an item of FROM, after its own filters. PostgreSQL begins with the cheapest condition, and that on the
    score may fail on what those of the query would have kept away."""
    relations = (plan.tree.query.relation(r) for r in plan.tree.nodes[node])
    if node in plan.copied or not any(r.filters or r.late_filters for r in relations):
        return source(plan, node, alias)
    return sql.derived(sql.fenced(rows(plan, node)), alias)


def reachable(plan: Plan, node: int) -> set[int]:
    """The variables of a node and of what folds into it."""
    found = set(plan.tree.variables_of(node))
    for child, _ in plan.folded(node):
        found |= reachable(plan, child)
    return found


def carried(plan: Plan, node: int) -> Named:
    """What the rows of a core keep so that their counts can be resolved: coordinates, categories."""
    made: Named = [(c.of("r"), c.column) for c in plan.coordinates(node) if c.role != "intercept"]
    return made + [(sql.column(d.column, "r"), d.column) for d in plan.dictionaries(node)]


def fold_keys(plan: Plan, node: int) -> list[int]:
    """The keys by which a core's counts are grouped back to what folds into it."""
    return sorted({v for _, edge in plan.folded(node) for v in edge.on})
