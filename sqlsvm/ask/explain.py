"""What a training will do, and why: the plan, the expected sizes, the statements, and on request measured times."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from math import inf
from typing import Any, Literal, get_args

import numpy as np
from sqlglot import exp, parse_one
from sqlglot.errors import ParseError

from sqlsvm import sql
from sqlsvm.ask.inspect import edge_text, shared_terms
from sqlsvm.compile.copies import working_tables
from sqlsvm.compile.count import down_table, up_table
from sqlsvm.compile.messages import CENTRE_TABLE, Messages, returned_table, scored_table, states_table, value_table
from sqlsvm.compile.moments import (
    category_moments_name,
    counts_of,
    factors,
    looked,
    missing,
    moments_by,
    moments_name,
    multiplied,
    needed,
    partners,
    products,
    products_name,
    second_moments,
)
from sqlsvm.compile.oracle import oracle_pass
from sqlsvm.compile.prepare import codes_table, node_table
from sqlsvm.compile.resolve import category_name, counts_table, sums_name, values_name
from sqlsvm.compile.statement import Statement
from sqlsvm.compile.tally import active_table, rounding_name
from sqlsvm.engine.base import Engine, Texts
from sqlsvm.lab.ask.counting import EPSILON, row_count_program
from sqlsvm.lab.run.pseudo_oracle import of_label, sketching
from sqlsvm.model.plain import plain
from sqlsvm.options import Counting, Scale
from sqlsvm.plan.catalog import Catalog, Heaviest
from sqlsvm.plan.constraints import Given, read_beta
from sqlsvm.plan.join_tree import Edge, JoinTree, Link
from sqlsvm.plan.parameters import BUCKETS, LEVELS
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.planner import Lists, Sizes, distinct_at, distinct_keys, half_joins, node_rows, why_copied
from sqlsvm.plan.preflight import ProblemOptions, naming_features, planned
from sqlsvm.plan.scaling import scaling
from sqlsvm.query import FeatureQuery
from sqlsvm.query.facts import Facts
from sqlsvm.run.data import Data, prepared
from sqlsvm.run.derived import reading
from sqlsvm.run.making import Outlook, outlook, usual_rate
from sqlsvm.run.opening import labelled, maps_of
from sqlsvm.run.problems import Problems
from sqlsvm.run.train import of_label as as_numbers
from sqlsvm.run.training import Training, anew
from sqlsvm.run.workspace import Program, at_once, keep_all, rendered
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.solution import Record
from sqlsvm.terminal import amount, printable

RANGE = 4
"""Scores and margins that matter are within this many units, so this many times the buckets of a unit are used."""

Estimates = dict[str, float]


def estimates(plan: Plan, catalog: Catalog, buckets: int) -> Estimates:
    """Rows by table. Compressed messages are left out: their length depends more on epsilon than on the data."""
    found = dict([*_prepared(plan, catalog), *_counted(plan, catalog), *_scored(plan, catalog)])
    if plan.centre is None:
        return found
    sizes = Lists(plan.tree, catalog, RANGE * buckets if plan.method == "grid" else inf).at(plan.centre)
    if plan.method == "sketch":
        return found | {states_table(bag, 0): rows for bag, rows in sizes.states.items()}
    return found | dict(_lists(Messages(plan, ties=False), sizes))


def _prepared(plan: Plan, catalog: Catalog) -> Iterator[tuple[str, float]]:
    for d in plan.design.dictionaries:
        if not d.listed:
            yield d.table, d.top or len(d.categories)
    yield from ((each.table, catalog.rows(each.of)) for each in plan.tree.query.derived)
    for node in plan.copied:
        yield node_table(node), node_rows(plan.tree, catalog, node)
    for link in plan.links:
        for variable in link.edge.on:
            yield codes_table(variable), distinct_at(plan.tree, catalog, (variable,), link.edge.left)


def _counted(plan: Plan, catalog: Catalog) -> Iterator[tuple[str, float]]:
    """Messages of counts have one row for each key of the side that sends them."""
    tree = counts_of(plan).tree
    for node, edge in tree.down():
        if edge is not None:
            yield up_table(node), distinct_at(tree, catalog, edge.on, node)
            yield down_table(node), distinct_at(tree, catalog, edge.on, edge.other(node))


def _scored(plan: Plan, catalog: Catalog) -> Iterator[tuple[str, float]]:
    for bag in plan.bags:
        rows = node_rows(plan.tree, catalog, bag.core)
        yield from ((table(bag.number), rows) for table in (scored_table, active_table))
    for node, edge in plan.tree.folds.items():
        yield counts_table(node), distinct_at(plan.tree, catalog, edge.on, edge.other(node))


def _lists(messages: Messages, sizes: Sizes) -> Iterator[tuple[str, float]]:
    """The lists on their way to the centre, and the values that return for each of their entries."""
    lists = {bag: [states, *sizes.kept[bag]] for bag, states in sizes.states.items()}
    for bag, rows in lists.items():
        for step, entries in enumerate(rows):
            yield states_table(bag, step), entries
            yield value_table(bag, step), entries
        for met in messages.meetings(bag):
            yield returned_table(bag, met.step), rows[met.step] + lists[met.child][-1]
    yield CENTRE_TABLE, lists[messages.left][-1] + lists[messages.right][-1]


Phase = Literal["prepare", "measure", "sample", "pass"]
Part = tuple[Phase, Sequence[Statement]]

BUCKETS_A_UNIT = 16
PHASES: Mapping[str, Phase] = {"tables": "prepare", "moments": "measure", "sampling": "sample", "passes": "pass"}


@dataclass(frozen=True)
class NodeFacts:
    """A node of the join tree; `rows` are estimated where several relations are joined up front."""

    name: str
    relations: tuple[str, ...]
    rows: float
    bag: int
    copied: str | None  # why it is copied to a working table; None if it is read in place
    merged: bool
    folds_into: str | None
    placed: bool  # its scores are looked up by place in an array


@dataclass(frozen=True)
class LinkFacts:
    """A many-to-many edge, and the cost of counting if the messages meet there."""

    link: Link
    keys: float
    half_join_rows: float  # the rows that exact counting sorts
    cost: float  # the entries that counting on the grid reads
    heaviest: Heaviest | None = None  # not known of nodes of several relations, nor of a cross product


@dataclass(frozen=True)
class StatementFacts:
    phase: Phase
    name: str
    statement: Statement
    sent: Texts
    dialect: str
    marks: tuple[str, ...]  # what stands for each parameter in the texts
    estimated_rows: float | None
    rows: float | None = None
    seconds: float | None = None

    @cached_property
    def texts(self) -> tuple[str, ...]:
        return tuple(pretty(text, self.dialect) for text in self.sent)


@dataclass(frozen=True)
class Explanation:
    plan: Plan
    why: str  # why this way of counting
    buckets: int
    nodes: tuple[NodeFacts, ...]
    links: tuple[LinkFacts, ...]
    statements: tuple[StatementFacts, ...]
    loss: str
    sorted: float  # so many rows of half-joins are sorted
    preamble: Texts = ()  # what makes the statements run in another session
    first: Record | None = None  # the pass that was measured, if it is the first one of a training
    outlook: Outlook | None = None

    @cached_property
    def analyzed(self) -> bool:
        return any(s.seconds is not None for s in self.statements)

    def seconds(self, phase: Phase) -> float:
        return sum(s.seconds or 0.0 for s in self.statements if s.phase == phase)

    def as_json(self, *, with_sql: bool = False) -> dict[str, Any]:
        """The object that `explain --json` prints. Sizes that are unknown or not measured are null."""
        tree = self.plan.tree
        return {
            "counting": self.plan.method,
            "why": self.why,
            "label": self.plan.design.target.label.name,
            "loss": self.loss,
            "buckets": self.buckets if self.plan.method == "grid" else None,
            "exact_budget": self.sorted,
            "root": tree.name(tree.root),
            "bags": [[tree.name(node) for node in bag.nodes] for bag in self.plan.bags],
            "nodes": [{**vars(node), "bag": node.bag + 1, "relations": list(node.relations)} for node in self.nodes],
            "links": [self._link(facts) for facts in self.links],
            "statements": [_as_json(s, with_sql) for s in self.statements],
            "training": self.outlook and vars(self.outlook),
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
            "heaviest": facts.heaviest and {name: plain(value) for name, value in vars(facts.heaviest).items()},
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


def explain(engine: Engine, text: str, training: Training, buckets: int = BUCKETS_A_UNIT) -> Explanation:
    """Explain the plan without making a table."""
    query = labelled(engine, text, training)
    with naming_features(engine, query):
        options = as_trained(engine, query, training)
        plan, catalog = planned(Facts(engine), query, options)
    phases = parts(plan, options.scale)
    sent = _together(engine, phases) if engine.inlines else phases
    return explained(engine, plan, catalog, options, buckets, sent)


def as_trained(engine: Engine, query: FeatureQuery, training: Training) -> Training:
    """With the loss that a label which is a number gets."""
    return as_numbers(engine, query, {"": training})[0][""]


@anew
def analyze(engine: Engine, text: str, training: Training, beta: Given | None = None) -> Explanation:
    """Make the first pass of a training, or one at a beta for the columns as they are, and add the measured times.

    Near the optimum of the sample, scores differ, and about as many rows count as in later passes. At 0, where all
    scores are equal, a pass may take a fifth of the time."""
    done: list[tuple[Phase, Statement, float, float]] = []
    query = labelled(engine, text, training, maps_of(beta) or training.seed)
    with naming_features(engine, query), reading(engine, query) as (work, query):
        work.on_done = lambda *about: done.append((PHASES[work.clock.phase], *about))
        training = as_trained(work.engine, query, training)
        problem = prepared(work, query, training)
        first = _first_pass(problem, training, beta)
        ran = [(phase, [statement]) for phase, statement, _, _ in done]
        buckets = (first and first.buckets) or training.buckets or BUCKETS_A_UNIT
        found = explained(engine, problem.plan, problem.catalog, training, buckets, ran)
    measured = tuple(replace(s, rows=r, seconds=t) for s, (_, _, r, t) in zip(found.statements, done, strict=True))
    found = replace(found, statements=measured)
    return found if first is None else replace(found, first=first, outlook=_outlook(found, problem, training, first))


def _first_pass(problem: Data, training: Training, beta: Given | None) -> Record | None:
    """What the pass has proven; nothing if it is a count by sketches."""
    start = _scaled(problem, beta) if beta else None
    if problem.plan.method == "sketch":
        _count_sketched(problem, start, training.buckets or BUCKETS_A_UNIT)
        return None
    problem.work.clock.begin("solving")
    once = replace(training, max_passes=1)
    return Problems(problem).solve(once, [start])[0].history[0]


def _scaled(problem: Data, beta: Given) -> Array:
    plain = scaling(problem.plan.design, problem.moments, "none")
    return problem.scaling.to_scaled(plain.to_raw(read_beta(plain, beta)))


def _outlook(found: Explanation, problem: Data, training: Training, first: Record) -> Outlook:
    """Of a training from this pass on. The seconds of the pass are those of its statements: to count their rows took
    time as well."""
    first = replace(first, seconds=found.seconds("pass"))
    before = sum(map(found.seconds, get_args(Phase))) - first.seconds + problem.work.clock.seconds["solving"]
    return outlook(first, before, training.tol, usual_rate(training.solver, problem.scaling.dimension))


def explained(
    engine: Engine, plan: Plan, catalog: Catalog, options: ProblemOptions, buckets: int, phases: Iterable[Part]
) -> Explanation:
    return Explanation(
        plan,
        why_counted(plan, catalog, options.counting),
        buckets,
        tuple(_node(plan, catalog, node) for node in range(len(plan.tree.nodes))),
        tuple(_links(plan, catalog)),
        tuple(_statements(engine, plan, catalog, buckets, phases)),
        options.loss,
        engine.sizes.sorted,
        engine.preamble(),
    )


def why_counted(plan: Plan, catalog: Catalog, counting: Counting) -> str:
    tree = plan.tree
    if not plan.links:
        return (
            f"one bag: a row of the join is a row of {printable(tree.name(plan.bags[0].core))}, so nothing is rounded"
        )
    size = amount(min(half_joins(tree, catalog, link) for link in plan.links))
    most = amount(catalog.engine.sizes.sorted)
    if counting != "auto":
        return f"asked for; exact counting would sort about {size} rows"
    if len(plan.links) == 1 and plan.method == "exact":
        return f"two bags: one sort of their rows, about {size}, counts exactly"
    if plan.method == "exact":
        return f"the half-joins have about {size} rows to sort, within the budget of {most}"
    return f"the half-joins would have about {size} rows to sort, over the budget of {most}"


def _node(plan: Plan, catalog: Catalog, node: int) -> NodeFacts:
    tree = plan.tree
    fold: Edge | None = tree.folds.get(node)
    return NodeFacts(
        tree.name(node),
        tree.nodes[node],
        node_rows(tree, catalog, node),
        plan.bag_of(node),
        (why_copied(tree, catalog, node) or "has many keys") if node in plan.copied else None,
        node in plan.merged,
        tree.name(fold.other(node)) if fold else None,
        node in plan.placed,
    )


def _links(plan: Plan, catalog: Catalog) -> Iterator[LinkFacts]:
    tree, lists = plan.tree, Lists(plan.tree, catalog)
    for link in plan.links:
        keys, rows, cost = distinct_keys(tree, catalog, link), half_joins(tree, catalog, link), lists.at(link).cost
        yield LinkFacts(link, keys, rows, cost, _heaviest(tree, catalog, link.edge))


def _heaviest(tree: JoinTree, catalog: Catalog, edge: Edge) -> Heaviest | None:
    left, right = tree.nodes[edge.left], tree.nodes[edge.right]
    if not edge.on or len(left) + len(right) > 2:
        return None
    sizes = [len(tree.variables[v].at(left[0])) * len(tree.variables[v].at(right[0])) for v in edge.on]
    firsts = [sum(sizes[:place]) for place in range(len(sizes))]
    return catalog.heaviest(left[0], right[0], shared_terms(tree, edge), firsts)


# -- statements --------------------------------------------------------------------------------------------------------


def _statements(
    engine: Engine, plan: Plan, catalog: Catalog, buckets: int, phases: Iterable[Part]
) -> Iterator[StatementFacts]:
    expected, spoken = estimates(plan, catalog, buckets), dict(_spoken(plan))
    for phase, statements in phases:
        for statement, sent in zip(statements, _sent(engine, phase, statements), strict=True):
            name = spoken.get(statement.name, statement.name)
            marks = tuple(
                engine.text(exp.Parameter(this=sql.integer(n))) for n, _ in enumerate(statement.parameters, 1)
            )
            expects = expected.get(statement.table or "")
            yield StatementFacts(phase, name, statement, tuple(sent), engine.dialect, marks, expects)


def _together(engine: Engine, phases: Iterable[Part]) -> list[Part]:
    """Of an engine that inlines: one statement for each phase that asks something."""
    tables: list[str] = []
    found: list[Part] = []
    for phase, statements in phases:
        asked = keep_all(engine, statements, {p: exp.Placeholder(this=p) for s in statements for p in s.parameters})
        tables += [s.table for s in statements if s.table]
        if asked:
            found.append((phase, [at_once(engine, statements, asked)]))
    for table in tables:
        engine.forget(table)
    return found


def _sent(engine: Engine, phase: Phase, statements: Sequence[Statement]) -> Sequence[Texts]:
    """Of a pass it is known how often each table is read."""
    if phase == "pass":
        return Program(engine, statements).texts
    return [rendered(engine, statement) for statement in statements]


def _spoken(plan: Plan) -> Iterator[tuple[str, str]]:
    """Readable names of the answers, which the driver finds by number."""
    for node in range(len(plan.tree.nodes)):
        yield moments_name(node), f"moments of {'all' if plan.measured_at_once else plan.tree.name(node)}"
        yield sums_name(node), f"sums of {plan.tree.name(node)}"
    for bag in plan.bags:
        yield rounding_name(bag), f"rounding of {plan.tree.name(bag.core)}"
    for c in plan.design.coordinates:
        yield values_name(c), f"counts of each {c.feature}"
    for c, others in multiplied(plan.design):
        yield from ((products_name(c, plan.tree.node_of(o.relation)), f"variance of {c.feature}") for o in others)
    for d in plan.design.dictionaries:
        yield category_moments_name(d.number), f"moments of each {d.feature}"
        yield category_name(d), f"sums of each {d.feature}"


def parts(plan: Plan, scale: Scale) -> Iterator[Part]:
    """All statements: working tables and sizes of the join, which run once, and a pass, which runs many times. For the
    sizes, assume that every key that is looked up finds its row. For a sketch, show the row counting of one label."""
    measured = needed(plan, scale)
    counts, children = counts_of(plan, apart="negative" in measured), looked(plan, measured)
    known = counts.without(children)
    yield "prepare", tuple(working_tables(plan))
    sums = multiplied(plan.design) if "squares" in measured else ()
    multiplying = (s for c, others in sums for s in products(plan, c, others))
    counting = missing(known, children, moments_by(plan, known, measured))
    yield "measure", (*partners(counts, children).statements, *counting, *multiplying)
    yield "pass", _pass_program(plan)


def _pass_program(plan: Plan) -> Sequence[Statement]:
    if plan.by_moments:
        return tuple(s for asked in second_moments(factors(plan)) for s in asked.statements)
    return row_count_program(plan) if plan.method == "sketch" else tuple(oracle_pass(plan))


def _count_sketched(problem: Data, beta: Array | None, buckets: int) -> None:
    work, plan = problem.work, problem.plan
    observer, work.on_done = work.on_done, None
    levels = sketching(work, plan).for_counts(EPSILON)
    work.on_done = observer
    at = np.zeros(problem.scaling.dimension) if beta is None else beta
    given = {**of_label(problem.scaling, at, 1), BUCKETS: float(buckets), LEVELS: levels}
    with work.clock.during("passes"):
        work.run_and_drop(Program(work.engine, row_count_program(plan)), given)


def pretty(text: str, dialect: str) -> str:
    """A statement on several lines; unchanged if sqlglot cannot read it or does not reproduce it exactly."""
    try:
        read = sql.without_places(parse_one(text, read=dialect))
    except ParseError:  # of TABLESAMPLE
        return str(text)
    return read.sql(dialect=dialect, pretty=True, copy=False) if read.sql(dialect=dialect) == text else str(text)


def script(found: Explanation) -> str:
    """The statements that prepare and make a pass, as a script. The user's names in comments are printable
    and on one line, so they cannot end the comment."""
    wanted = [s for s in found.statements if s.phase in ("prepare", "pass")]
    parts = [_commented(["-- prepare: the session"], found.preamble)] if found.preamble else []
    return "\n\n".join([*parts, *(_commented(_comments(s), s.texts) for s in wanted)])


def _commented(comments: Iterable[str], texts: Sequence[str]) -> str:
    return "\n".join(chain(comments, (f"{text};" for text in texts)))


def _comments(facts: StatementFacts) -> Iterator[str]:
    yield f"-- {facts.phase}: {printable(facts.name)}"
    if facts.statement.parameters:
        given = (f"{mark} = {name}" for mark, name in zip(facts.marks, facts.statement.parameters, strict=True))
        yield f"-- {', '.join(given)}"
    if facts.rows is not None:
        yield f"-- {amount(facts.rows)} rows in {facts.seconds:.3f} s"
