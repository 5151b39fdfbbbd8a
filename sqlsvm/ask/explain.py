"""What a training will do, and why: the plan, the expected sizes, the statements, and on request measured times."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, Literal

from sqlglot import parse_one

from sqlsvm.ask.counting import EPSILON, Given, read_beta, row_count_program
from sqlsvm.ask.estimates import estimates
from sqlsvm.ask.inspect import edge_text
from sqlsvm.compile.copies import working_tables
from sqlsvm.compile.moments import category_moments_name, counts_of, moments_by, moments_name, needed
from sqlsvm.compile.oracle import oracle_pass
from sqlsvm.compile.partners import looked, missing, partners
from sqlsvm.compile.resolve import category_name, sums_name, values_name
from sqlsvm.compile.statement import Statement
from sqlsvm.compile.tally import rounding_name
from sqlsvm.engine.base import Engine
from sqlsvm.options import Counting, Scale
from sqlsvm.plan.at_fault import naming_features
from sqlsvm.plan.catalog import Catalog
from sqlsvm.plan.join_tree import Edge
from sqlsvm.plan.parameters import BUCKETS, LEVELS
from sqlsvm.plan.plan import Link, Plan
from sqlsvm.plan.planner import EXACT_BUDGET, distinct_keys, half_joins, list_sizes, node_rows, why_copied
from sqlsvm.plan.preflight import ProblemOptions, planned
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.problem import Problem, labelled, prepared
from sqlsvm.run.pseudo_oracle import of_label, sketching
from sqlsvm.run.workspace import Program, Workspace, rendered, workspace
from sqlsvm.terminal import amount, printable

Phase = Literal["prepare", "measure", "pass"]
Part = tuple[Phase, Sequence[Statement]]

BUCKETS_A_UNIT = 16


@dataclass(frozen=True)
class NodeFacts:
    """A node of the join tree; `rows` are estimated where several relations are joined up front."""

    name: str
    relations: tuple[str, ...]
    rows: float
    bag: int
    copied: str | None
    """Why it is copied to a working table; None if it is read in place."""
    merged: bool
    folds_into: str | None
    placed: bool
    """Its scores are looked up by place in an array."""


@dataclass(frozen=True)
class LinkFacts:
    """A many-to-many edge, and the cost of counting if the messages meet there."""

    link: Link
    keys: float
    half_join_rows: float
    """The rows that exact counting sorts."""
    cost: float
    """The entries that counting on the grid reads."""


@dataclass(frozen=True)
class StatementFacts:
    phase: Phase
    name: str
    statement: Statement
    texts: tuple[str, ...]
    estimated_rows: float | None
    rows: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Explanation:
    plan: Plan
    why: str
    """Why this way of counting."""
    buckets: int
    nodes: tuple[NodeFacts, ...]
    links: tuple[LinkFacts, ...]
    statements: tuple[StatementFacts, ...]

    @cached_property
    def analyzed(self) -> bool:
        return any(s.seconds is not None for s in self.statements)

    def as_json(self, *, with_sql: bool = False) -> dict[str, Any]:
        """The object that `explain --json` prints. Sizes that are unknown or not measured are null."""
        tree = self.plan.tree
        return {
            "counting": self.plan.method,
            "why": self.why,
            "buckets": self.buckets if self.plan.method == "grid" else None,
            "exact_budget": EXACT_BUDGET,
            "root": tree.name(tree.root),
            "bags": [[tree.name(node) for node in bag.nodes] for bag in self.plan.bags],
            "nodes": [{**vars(node), "bag": node.bag + 1, "relations": list(node.relations)} for node in self.nodes],
            "links": [self._link(facts) for facts in self.links],
            "statements": [_as_json(s, with_sql) for s in self.statements],
        }

    def _link(self, facts: LinkFacts) -> dict[str, Any]:
        tree, edge = self.plan.tree, facts.link.edge
        return {
            "left": tree.name(edge.left),
            "right": tree.name(edge.right),
            "on": edge_text(tree, edge),
            "centre": facts.link == self.plan.centre,
            "keys": facts.keys,
            "half_join_rows": facts.half_join_rows,
            "cost": facts.cost,
        }


def _as_json(facts: StatementFacts, with_sql: bool) -> dict[str, Any]:
    found = {
        "phase": facts.phase,
        "name": facts.name,
        "table": facts.statement.table,
        "parameters": list(facts.statement.parameters),
        "estimated_rows": facts.estimated_rows,
        "rows": facts.rows,
        "seconds": facts.seconds,
    }
    return found | ({"sql": list(facts.texts)} if with_sql else {})


# -- explaining --------------------------------------------------------------------------------------------------------


def explain(engine: Engine, text: str, options: ProblemOptions, buckets: int = BUCKETS_A_UNIT) -> Explanation:
    """Explain the plan without making a table."""
    query = labelled(engine, text, options)
    with naming_features(engine, query):
        plan, catalog = planned(engine, query, options)
    return explained(engine, plan, catalog, options.counting, buckets, parts(plan, options.scale))


def analyze(
    engine: Engine, text: str, options: ProblemOptions, buckets: int = BUCKETS_A_UNIT, beta: Given | None = None
) -> Explanation:
    """Run one pass at beta, by default at 0, and add the measured times. Beta is for the columns without scaling."""
    done: list[tuple[Statement, float, float]] = []
    raw = replace(options, scale="none", class_weight="none")
    query = labelled(engine, text, raw)
    with naming_features(engine, query), workspace(engine) as work:
        work.on_done = lambda statement, rows, seconds: done.append((statement, rows, seconds))
        problem = prepared(work, query, raw)
        _pass(work, problem, beta or {}, buckets)
    ran = _ran(problem.plan, [statement for statement, _, _ in done])
    found = explained(engine, problem.plan, problem.catalog, options.counting, buckets, ran)
    measured = (
        replace(s, rows=rows, seconds=seconds) for s, (_, rows, seconds) in zip(found.statements, done, strict=True)
    )
    return replace(found, statements=tuple(measured))


def explained(
    engine: Engine, plan: Plan, catalog: Catalog, counting: Counting, buckets: int, phases: Iterable[Part]
) -> Explanation:
    return Explanation(
        plan,
        why_counted(plan, catalog, counting),
        buckets,
        tuple(_node(plan, catalog, node) for node in range(len(plan.tree.nodes))),
        tuple(_link(plan, catalog, link) for link in plan.links),
        tuple(_statements(engine, plan, catalog, buckets, phases)),
    )


def why_counted(plan: Plan, catalog: Catalog, counting: Counting) -> str:
    tree = plan.tree
    if not plan.links:
        return (
            f"one bag: a row of the join is a row of {printable(tree.name(plan.bags[0].core))}, so nothing is rounded"
        )
    size = amount(min(half_joins(tree, catalog, link) for link in plan.links))
    if counting != "auto":
        return f"asked for; exact counting would sort about {size} rows"
    if len(plan.links) == 1:
        return f"two bags: one sort of their rows, about {size}, counts exactly"
    if plan.method == "exact":
        return f"the half-joins have about {size} rows to sort, within the budget of {amount(EXACT_BUDGET)}"
    return f"the half-joins would have about {size} rows to sort, over the budget of {amount(EXACT_BUDGET)}"


def _node(plan: Plan, catalog: Catalog, node: int) -> NodeFacts:
    tree = plan.tree
    fold: Edge | None = tree.folds.get(node)
    return NodeFacts(
        tree.name(node),
        tree.nodes[node],
        node_rows(tree, catalog, node),
        plan.bag_of(node),
        why_copied(tree, catalog, node) if node in plan.copied else None,
        node in plan.merged,
        tree.name(fold.other(node)) if fold else None,
        node in plan.placed,
    )


def _link(plan: Plan, catalog: Catalog, link: Link) -> LinkFacts:
    tree = plan.tree
    keys, cost = distinct_keys(tree, catalog, link), list_sizes(tree, catalog, link).cost
    return LinkFacts(link, keys, half_joins(tree, catalog, link), cost)


# -- statements --------------------------------------------------------------------------------------------------------


def _statements(
    engine: Engine, plan: Plan, catalog: Catalog, buckets: int, phases: Iterable[Part]
) -> Iterator[StatementFacts]:
    expected, spoken = estimates(plan, catalog, buckets), dict(_spoken(plan))
    for phase, statements in phases:
        for statement in statements:
            texts = tuple(pretty(text, engine.dialect) for text in rendered(engine, statement))
            name = spoken.get(statement.name, statement.name)
            yield StatementFacts(phase, name, statement, texts, expected.get(statement.table or ""))


def _spoken(plan: Plan) -> Iterator[tuple[str, str]]:
    """Readable names of the answers, which the driver finds by number."""
    for node in range(len(plan.tree.nodes)):
        yield moments_name(node), f"moments of {plan.tree.name(node)}"
        yield sums_name(node), f"sums of {plan.tree.name(node)}"
    for bag in plan.bags:
        yield rounding_name(bag), f"rounding of {plan.tree.name(bag.core)}"
    for c in plan.design.coordinates:
        yield values_name(c), f"counts of each {c.feature}"
    for d in plan.design.dictionaries:
        yield category_moments_name(d.number), f"moments of each {d.feature}"
        yield category_name(d), f"sums of each {d.feature}"


def parts(plan: Plan, scale: Scale) -> Iterator[Part]:
    """All statements: working tables and sizes of the join, which run once, and a pass, which runs many times. For the
    sizes, assume that every key that is looked up finds its row. Of a sketch, show the row counting of one label."""
    measured = needed(plan, scale)
    counts, children = counts_of(plan, apart="negative" in measured), looked(plan, measured)
    known = counts.without(children)
    yield "prepare", tuple(working_tables(plan))
    yield "measure", (*partners(counts, children), *missing(known, children, moments_by(plan, known, measured)))
    yield "pass", _pass_program(plan)


def _pass_program(plan: Plan) -> Sequence[Statement]:
    return row_count_program(plan) if plan.method == "sketch" else tuple(oracle_pass(plan))


def _ran(plan: Plan, statements: Sequence[Statement]) -> Iterator[Part]:
    """The statements that ran, by phase. Only the number of those that measure depends on the data."""
    start, end = len(tuple(working_tables(plan))), len(statements) - len(_pass_program(plan))
    yield "prepare", statements[:start]
    yield "measure", statements[start:end]
    yield "pass", statements[end:]


def _pass(work: Workspace, problem: Problem, beta: Given, buckets: int) -> None:
    asked = read_beta(problem.scaling, beta)
    if problem.plan.method != "sketch":
        JoinOracle(problem).pass_(asked, buckets)
        return
    observer, work.on_done = work.on_done, None
    levels = sketching(work, problem.plan).for_counts(EPSILON)
    work.on_done = observer
    given = {**of_label(problem.scaling, asked, 1), BUCKETS: float(buckets), LEVELS: levels}
    work.run_and_drop(Program(work.engine, row_count_program(problem.plan)), given)


def pretty(text: str, dialect: str) -> str:
    """A statement on several lines; unchanged if sqlglot does not reproduce it exactly."""
    read = parse_one(text, read=dialect)
    return read.sql(dialect=dialect, pretty=True) if read.sql(dialect=dialect) == text else str(text)


def script(found: Explanation) -> str:
    """The statements that prepare and make a pass, as a script. The user's names in comments are printable
    and on one line, so they cannot end the comment."""
    wanted = [s for s in found.statements if s.phase != "measure"]
    return "\n\n".join("\n".join(chain(_comments(s), (f"{text};" for text in s.texts))) for s in wanted)


def _comments(facts: StatementFacts) -> Iterator[str]:
    yield f"-- {facts.phase}: {printable(facts.name)}"
    if facts.statement.parameters:
        given = (f"${place} = {name}" for place, name in enumerate(facts.statement.parameters, 1))
        yield f"-- {', '.join(given)}"
    if facts.rows is not None:
        yield f"-- {amount(facts.rows)} rows in {facts.seconds:.3f} s"
