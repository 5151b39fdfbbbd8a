"""The size of the join and the moments of its features, read from the database."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import floor

import numpy as np

from sqlsvm import sql
from sqlsvm.compile.count import down_table
from sqlsvm.compile.moments import (
    EVERY,
    OF_CODES,
    RANGE,
    Factored,
    category_moments_name,
    counts_of,
    looked,
    missing,
    moments_by,
    moments_name,
    multiplied,
    own_ends,
    partners,
    products,
    second_moments,
)
from sqlsvm.compile.statement import Asked, Statement, in_row
from sqlsvm.engine.base import Rows
from sqlsvm.errors import DataError
from sqlsvm.plan.design import OTHER, Coordinate, as_categories
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.scaling import LabelMoments, Moments, cancelling, flat
from sqlsvm.plan.target import CODE
from sqlsvm.run.workspace import Answers, Workspace
from sqlsvm.solve.arrays import Array


def read_moments(work: Workspace, plan: Plan, measured: frozenset[str] = EVERY) -> Moments:
    """N, N- and the moments of every coordinate; nan for what was not measured. A number has no class to measure."""
    return moments_of(plan, asked_moments(work, plan, measured), measured)


def asked_moments(work: Workspace, plan: Plan, measured: frozenset[str] = EVERY) -> Answers:
    """The answers of the database; those of each part, if the plan keeps parts apart."""
    with work.scratch():
        return work.run(_known_moments(work, plan, measured), plan.design.target.parameters)


def moments_of(plan: Plan, answers: Answers, measured: frozenset[str] = EVERY) -> Moments:
    """From the answers, with all parts added up."""
    measured = measured if plan.design.target.signed else measured - {"negative"}
    design, size = plan.design, plan.design.size
    found = {name: np.full(size, 0.0 if name in measured else np.nan) for name in EVERY}
    _put(found, plan, answers, design.coordinates, measured)
    for d in design.dictionaries:
        here = slice(d.offset, d.offset + len(d.categories))
        rows = answers.get(category_moments_name(d.number))
        if rows is None:
            for values in found.values():
                values[here] = np.nan
            continue
        places = rows["n"].astype(int) - 1
        for name in measured - {"largest"}:
            np.add.at(found[name], places, rows["negative" if name == "negative" else "total"].astype(float))
        if "largest" in measured:
            found["largest"][places] = 1.0
    root = {name: float(values.astype(float).sum()) for name, values in answers[moments_name(plan.label_node)].items()}
    signed = design.target.signed
    n, n_unlabelled = root["n"], root["n_unlabelled"]
    n_negative = root["n_negative"] if signed else 0.0
    label = None if signed else LabelMoments(root["label"], root["label_squares"])
    total, squares, largest, negative = (found[m] for m in ("total", "squares", "largest", "negative"))
    of_codes = _of_codes(plan, answers[OF_CODES]) if design.target.classes else ()
    return Moments(n, n_negative, n_unlabelled, total, squares, largest, negative, label, of_codes=of_codes)


def _columns(plan: Plan, answers: Answers) -> dict[str, Array]:
    """Of the moments of all nodes."""
    each = (answers.get(moments_name(node), {}) for node in range(len(plan.tree.nodes)))
    return {name: values.astype(float) for rows in each for name, values in rows.items()}


def _of_codes(plan: Plan, rows: Rows) -> tuple[float, ...]:
    """A class may have no row in the join."""
    codes, n = rows[CODE].astype(float), rows["n"].astype(float)
    return tuple(float(n[codes == code].sum()) for code in range(1, plan.design.target.classes + 1))


def read_top(work: Workspace, plan: Plan) -> dict[int, tuple[object, ...]]:
    """The categories of the dictionaries that keep only the most frequent values, by number."""
    found = {}
    for d in plan.design.dictionaries:
        if d.limited:
            v, rows = sql.column("v"), sql.table(d.table)
            named = sql.select([(v, "v")], rows).where(sql.not_null(v)).order_by(sql.column("n"))
            others = sql.select([(sql.count(), "n")], rows.copy()).where(sql.is_null(v))
            categories = as_categories(work.engine.fetch(named)["v"])
            found[d.number] = (*categories, OTHER) if work.engine.fetch(others)["n"][0] else categories
            if found[d.number] == (OTHER,):
                said = f"each category of {d.feature} is in fewer than {d.rare} rows of the join"
                raise DataError(said, hint="leave it out of the query, or give a smaller ⟦rare⟧")
    return found


SAME = 1e-13  # a smaller relative difference between two numbers comes from rounding


def with_constants(work: Workspace, plan: Plan, found: Moments) -> Moments:
    """Moments in which a constant has no variance. A feature whose mean is much larger than its deviation is refused:
    its sums have lost the digits in which rows differ, and prove nothing."""
    far = flat(plan.design, found)
    return without_flat(plan, found, read_ends(work, plan, far)) if far else found


def _of_these(plan: Plan, coordinates: Collection[Coordinate]) -> Plan:
    """Without the others: nothing is sent to where none of these is."""
    return replace(plan, design=replace(plan.design, coordinates=tuple(coordinates), dictionaries=()))


def read_again(work: Workspace, plan: Plan, before: Plan, found: Moments, measured: frozenset[str]) -> Moments:
    """The moments of a plan with other origins: those of the coordinates that moved, and of the label, are others."""
    moved = [c for c, old in zip(plan.design.coordinates, before.design.coordinates, strict=True) if c != old]
    root, these = moments_name(plan.label_node), _of_these(plan, moved)
    is_asked = plan.measured_at_once or found.label is not None or these.coordinates(plan.label_node)
    with work.scratch():
        known = _known_moments(work, these, measured)
        wanted = known if is_asked else (s for s in known if s.name != root)
        answers = work.run(wanted, plan.design.target.parameters)
    total, squares, largest, negative = (
        each.copy() for each in (found.total, found.squares, found.largest, found.total_negative)
    )
    into = {"total": total, "squares": squares, "largest": largest, "negative": negative}
    _put(into, plan, answers, moved, measured if plan.design.target.signed else measured - {"negative"})
    sums = (float(answers[root][name].astype(float).sum()) for name in ("label", "label_squares"))
    label = LabelMoments(*sums) if found.label else None
    return replace(found, total=total, squares=squares, largest=largest, total_negative=negative, label=label)


def _put(
    into: Mapping[str, Array], plan: Plan, answers: Answers, coordinates: Iterable[Coordinate], measured: frozenset[str]
) -> None:
    """The moments of coordinates, with all parts added up."""
    columns = _columns(plan, answers)
    for c in coordinates:
        for name in measured:
            values = columns[f"{name}{c.index}"]
            into[name][c.index] = values.max(initial=0.0) if name == "largest" else values.sum()


Ends = Callable[[Coordinate], tuple[float, float]]  # the least and the largest value of a coordinate


def read_ends(work: Workspace, plan: Plan, of: Collection[Coordinate], others: Collection[Coordinate] = ()) -> Ends:
    """Those of some coordinates in the join. Those of others in their relations, which costs one scan of them: they may
    have more rows. Zeros aside: a number that is missing is 0."""
    columns = dict[str, Array]()
    if of:
        columns |= _columns(plan, asked_moments(work, _of_these(plan, of), RANGE))
    if others:
        columns |= _columns(plan, work.run(own_ends(_of_these(plan, others)), plan.design.target.parameters))

    def ends(c: Coordinate) -> tuple[float, float]:  # a part of the rows may have none
        return float(np.fmin.reduce(columns[f"least{c.index}"])), float(np.fmax.reduce(columns[f"most{c.index}"]))

    return ends


def is_constant(least: float, most: float) -> bool:
    return most - least <= SAME * max(abs(least), abs(most))


def without_flat(plan: Plan, found: Moments, ends: Callable[[Coordinate], tuple[float, float]]) -> Moments:
    """The same, from the least and the largest value of a coordinate."""
    squares = found.squares.copy()
    for c in flat(plan.design, found):
        least, most = ends(c)
        if not is_constant(least, most):
            raise _too_far_from_zero(plan, c, least, most)
        squares[c.index] = 0.0
    return replace(found, squares=squares)


def with_products(work: Workspace, plan: Plan, found: Moments) -> Moments:
    """Moments with the products of the terms of sums, if squares were measured: for the variance of a sum. One that
    varies much less than its terms is refused: the sums have lost the digits of what is left of it."""
    made: dict[tuple[int, int], float] = {}
    for c, others in multiplied(plan.design):
        if not np.isnan(found.squares[c.index]):
            made |= _products(work, plan, c, others)
    return checked_products(plan, replace(found, products=made))


def checked_products(plan: Plan, found: Moments) -> Moments:
    for name in cancelling(plan.design, found) if found.products else ():
        raise DataError(
            f"feature {name} hardly varies in the join, compared with its terms",
            detail="sums of such terms lose the digits in which their sum differs",
            hint="leave it out if it is constant; else subtract a constant from each term, so that it is near 0",
        )
    return found


def _products(work: Workspace, plan: Plan, c: Coordinate, others: Sequence[Coordinate]) -> dict[tuple[int, int], float]:
    found = work.ask(Asked(products(plan, c, others), in_row))
    return {(c.index, o.index): found[o.column] for o in others}


def _too_far_from_zero(plan: Plan, c: Coordinate, least: float, most: float) -> DataError:
    query = plan.tree.query
    found = next(f for f in query.features if (f.name, f.relation) == (c.feature, c.relation))
    own = found.expression.sql(query.dialect)
    is_term = c.feature in query.sums
    what = f"the term {own} of {c.feature}" if is_term else f"feature {c.feature}"
    return DataError(
        f"{what} is between {least:.15g} and {most:.15g}: its mean is much larger than its deviation",
        detail="sums of such numbers lose the digits in which they differ",
        hint=f"subtract a constant in the query: {own} - {floor(least)}{'' if is_term else f' AS {c.feature}'}",
    )


def _known_moments(work: Workspace, plan: Plan, measured: frozenset[str]) -> Iterator[Statement]:
    """The moments, after a query that finds the keys that always have a partner. Its tables are used again, unless
    they hold too little."""
    counts, children = counts_of(plan, apart="negative" in measured), looked(plan, measured)
    known = counts.without(work.ask(partners(counts, children), plan.design.target.parameters))
    made = set(map(down_table, children))
    for s in missing(known, children, moments_by(plan, known, measured)):
        if s.table in made:
            work.drop([s.table])
        yield s


def read_products(work: Workspace, factored: Factored) -> Array:
    """The sums over the join of all products of two factors, at their places; 0 for those that are not made."""
    found = np.zeros((factored.size, factored.size))
    for asked in second_moments(factored):
        for (f, o), total in work.ask(asked).items():
            found[f, o] = found[o, f] = total
    return found
