"""What a training found that its user may not expect: features that are constant, a model that predicts one class."""

from collections.abc import Iterator, Sequence
from math import isnan

import numpy as np
from sqlglot import exp

from sqlsvm.plan.scaling import means
from sqlsvm.query import FeatureQuery
from sqlsvm.query.facts import Facts
from sqlsvm.query.forms import RESULT, RESULT_ROWS
from sqlsvm.query.guards import PLACED, Fragment, as_typed
from sqlsvm.query.names import names_something
from sqlsvm.query.parse import parse
from sqlsvm.run.data import Data
from sqlsvm.run.in_memory import Drawn
from sqlsvm.run.rounding import rounding
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.loss import PERCEPTRON
from sqlsvm.solve.penalty import Penalty
from sqlsvm.solve.solution import Solution
from sqlsvm.terminal import row_count, share
from sqlsvm.times import DATES

UNLIKELY = 0.9  # with less than this share of what a model must cost that predicts one class only, nothing is counted
DOUBLES = "is what the rounding of sums of doubles may do: more passes prove no more"
PREDICTS, UNMEASURED = "the model predicts", "could not be measured"
DEFAULT, BY_CHANCE = ("has its default", "have their defaults"), "the choice may be by chance"
NAMED = 5  # as many groups or features are named
ROUNDED = 1e-9  # counts of rows with weights are equal up to this share


def listed(values: Sequence[object]) -> str:
    """The first ones, and how many there are more."""
    more = f" and {len(values) - NAMED:,} more" if len(values) > NAMED else ""
    return f"{', '.join(map(str, values[:NAMED]))}{more}"


def unmeasured(by: str | None, groups: Sequence[object]) -> str:
    return f"not all folds of {by} {listed(groups)} {UNMEASURED}: use fewer folds"


def at_random(query: FeatureQuery, facts: Facts) -> str | None:
    """What a random split puts on both sides: rows of one entity, and earlier and later ones. None if it does no
    harm."""
    relation = query.relation(query.label_relation)
    if relation.once:
        return None
    dates = [c.name for c in relation.columns if c.kind in DATES]
    entity, date = _entity(query, facts), dates[0] if len(dates) == 1 else None
    both = [f"rows with equal {entity} (⟦split_by {entity}⟧)"] if entity else []
    both += [f"earlier and later rows (⟦time {date}⟧)"] if date else []
    return f"the split is random: {' and '.join(both)} are on both sides" if both else None


def _entity(query: FeatureQuery, facts: Facts) -> str | None:
    """Of the columns by which the label's relation is joined and whose values repeat, that with the most values."""
    alias, found = query.label_relation, dict[str, float]()
    for term in {term for term in query.terms if term.relation == alias and isinstance(term.expression, exp.Column)}:
        key = facts.of(query.relation(alias)).of_first((term,))
        if key.distinct < key.rows - key.nulls:
            found[term.expression.name] = key.distinct
    return max(sorted(found), key=lambda name: found[name], default=None)


def constants(problem: Data, beta: Array) -> Iterator[str]:
    """With `none` no feature is measured, and nothing is said. Many are in one note."""
    moments, value = problem.moments, means(problem.scaling.design, problem.moments)
    found = dict[str, float]()
    for e in problem.scaling.numbers:
        terms = problem.scaling.design.numbers.get(e.feature, ())
        if terms and all(0.0 in (moments.squares[c.index], moments.largest[c.index]) for c in terms):
            found[e.feature] = 0.0 if abs(beta[e.place]) <= ROUNDED else float(beta[e.place])
    if len(found) > NAMED and not any(found.values()):
        said = f"{len(found)} features have one value in all rows of the join, so they say nothing"
        yield f"{said}: {listed(list(found))}"
        return
    for name, weight in found.items():
        yield f"feature {name} is {value[name]:g} in every row of the join: its scaled weight is {weight:g}"


def nulls(problem: Data) -> Iterator[str]:
    """Rows that have no label, and numbers in whose place the mean stands."""
    query, design, moments = problem.query, problem.plan.design, problem.moments
    if query.label and query.unlabelled:
        number = "some rows" if isnan(query.unlabelled) else row_count(query.unlabelled)
        alias = query.label.relation
        of = "the query" if alias == RESULT else query.relation(alias).table or alias
        yield f"{query.label.name} is NULL in {number} of {of}: these are left out"
    missing = {c.feature: moments.total[c.index] for c in design.coordinates if c.role == "missing"}
    some = sorted(((n, name) for name, n in missing.items() if n > 0.0), reverse=True)
    if some:
        said = (" is NULL", " of the rows"), *[("", "")] * len(some)
        each = [f"{name}{a} in {share(n, moments.n)}{b}" for (n, name), (a, b) in zip(some, said, strict=False)]
        yield f"{listed(each)}: the mean stands there, and ⟦nulls⟧ has other ways"


def ids(problem: Data) -> Iterator[str]:
    """Columns whose numbers have no order that a weight could use. Nothing is read for it."""
    keys = _keys(problem)
    for f in problem.query.features:
        column = f.typed
        if f.kind != "numeric" or not isinstance(column, exp.Column):
            continue
        if names_something(f.name) or names_something(column.name):
            yield f"{f.name} is a number that names something: leave it out, or ⟦categorical {f.name}⟧"
        elif column in keys:
            yield f"{f.name} is a number and a key: if it names something, leave it out, or ⟦categorical {f.name}⟧"


NOW = exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentTime, exp.CurrentDatetime, exp.Localtime, exp.Localtimestamp
NOW_NAMES = "now", "today", "clock_timestamp", "transaction_timestamp", "statement_timestamp", "get_current_timestamp"


def moving(query: FeatureQuery) -> Iterator[str]:
    """What is another value the next time, though no table has changed."""
    tree = parse(query.text, query.dialect)
    said = {as_typed(e, query.dialect) for e in tree.find_all(*NOW, exp.Anonymous) if _is_now(e) and _in_output(e)}
    yield from (f"{each} is another time when the model predicts: take a time from the tables" for each in sorted(said))
    for window in tree.find_all(exp.Window):
        order = window.args.get("order")
        if order and window.find(*PLACED) and not any(names_something(c.name) for c in order.find_all(exp.Column)):
            shown = Fragment(window, query.dialect)
            yield f"{shown} may change from run to run where its ORDER BY has ties: put a unique column at its end"


def _is_now(node: exp.Expr) -> bool:
    return not isinstance(node, exp.Anonymous) or node.name.lower() in NOW_NAMES


def _in_output(node: exp.Expr) -> bool:
    while node.parent and not isinstance(node.parent, exp.Select):
        node = node.parent
    return node.arg_key == "expressions"


def _keys(problem: Data) -> set[exp.Expression]:
    """What is known to be unique in its relation, and what refers to it."""
    tree, of = problem.plan.tree, problem.catalog.of
    of_one = {e.on[0] for e in tree.edges if len(e.on) == 1 and e.kind == "foreign-key"}
    found = {term.expression for n in of_one for term in tree.variables[n].terms}
    unique = (terms for r in problem.query.relations for terms, is_key in of(r.alias).unique.items() if is_key)
    return found | {terms[0].expression for terms in unique if len(terms) == 1}


def made_once(query: FeatureQuery, why: str = " for the training") -> Iterator[str]:
    """What the database made, or makes if the rows are not known yet, and why."""
    made, makes = dict[str, list[str]](), dict[str, list[str]]()
    for relation in query.relations:
        if once := relation.once:
            name = RESULT_ROWS if relation.alias == RESULT else f"rows of {relation.alias}"
            name = f"entries of {once.nodes_of}" if once.nodes_of else name
            reason = "; ".join(filter(None, (once.reason, once.spared)))
            some = makes if once.rows is None else made
            some.setdefault(reason, []).append(f"{'the' if once.rows is None else f'{once.rows:,.0f}'} {name}")
    for does, of in (("made", made), ("makes", makes)):
        yield from (f"the database {does} {', '.join(rows)}{why}: {reason}" for reason, rows in of.items())


def only_class(problem: Data, solution: Solution, penalty: Penalty, some: Drawn | None = None) -> int | None:
    """The class that the model predicts for every row of the join, if there is one. If that is likely, but does not
    follow from the weights, and these rows do not have both classes, a pass counts the rows whose score has the wrong
    sign."""
    if problem.drawn and problem.plan.design.target.signed:
        return one_class(problem.drawn, solution.beta)
    moments = problem.moments
    place = next((e.place for e in problem.scaling.numbers if not e.feature), None)
    if place is None or not problem.plan.design.target.signed:
        return None
    shares = {-1: 1 - moments.n_negative / moments.n, 1: moments.n_negative / moments.n}  # of the other class
    if problem.plan.method == "sketch" or _unlikely(problem, solution, penalty, min(shares.values())):
        return None
    if found := by_weights(problem, solution.beta, place):
        return found
    if some and one_class(some, solution.beta) is None:
        return None
    from sqlsvm.run.join_oracle import JoinOracle

    cut = JoinOracle(problem, PERCEPTRON, "finishing").pass_(solution.beta, solution.history[-1].buckets)
    if cut.error:
        return None
    return next((y for y, wrong in shares.items() if abs(cut.slope[place] - y * wrong) <= ROUNDED), None)


def by_weights(problem: Data, beta: Array, place: int) -> int | None:
    """The class, if the intercept outweighs all other terms of a score. Without weights, the square of a feature in a
    row is at most the sum of its squares: that is N where a deviation is 1, and what was rounded in centring it."""
    design, moments, rounded = problem.plan.design, problem.moments, rounding(problem)
    if design.weighted:
        return None
    of_squares = np.sqrt(moments.n * (1.0 + 4.0 * rounded.share * rounded.sizes**2))
    farthest = rounded.sizes if np.isnan(moments.squares).all() else of_squares
    others = [n.place for n in problem.scaling.numbers if n.place != place]
    spread = float(farthest[others] @ np.abs(beta[others]))
    least, most = beta[place] - spread, beta[place] + spread
    for d in design.dictionaries:
        own = beta[d.offset - problem.scaling.unkept :][: len(d.categories)]
        least, most = least + own.min(initial=0.0), most + own.max(initial=0.0)
    return 1 if least > 0.0 else -1 if most < 0.0 else None


def _unlikely(problem: Data, solution: Solution, penalty: Penalty, wrong: float) -> bool:
    """Each row of the other class costs at least what a score of 0 does. With a step they are all active, and about as
    many rows of this class, because the slope along the intercept is 0; at the optimum, active rows are known."""
    loss, found = problem.plan.loss, solution.certificate.objective
    if loss.is_step:
        return found + penalty.value(solution.beta) < UNLIKELY * 2 * wrong
    return found < UNLIKELY * wrong * float(loss.value(np.array([loss.origin or 0.0]))[0])


def predicts_one(value: object) -> str:
    return f"{PREDICTS} {value} for every row of the join"


def one_class(drawn: Drawn, beta: Array) -> int | None:
    """That of all these rows."""
    positive = drawn.rows.scores(beta) > 0.0
    return None if positive.any() and not positive.all() else 1 if positive.any() else -1
