"""The scores of all join rows as one short list, and everything that evaluation needs from it.

The list has (s, negative, positive): how many join rows of each label score s. One bag groups its rows. With more, the
messages travel to the centre and meet there, as for a pass, but nothing travels back. The label rides along as a column
of the states on its own side: one run for both labels then makes the messages of the other side once, and the list of
the label's side is no longer than those of two runs together.

Scores may be known only within delta. Shifted by a parameter, a statement gives both bounds:
        above(t)        per label the rows with s > t:          at t = delta, 0, -delta
        moved_area(t)   #{pos > neg + t} + 1/2 #{equal}:        at t = 2 delta, -2 delta
"""

from collections.abc import Callable, Iterator, Mapping

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.messages import TIE, Messages, tie_of
from sqlsvm.compile.resolve import COUNT
from sqlsvm.compile.scores import scored, weight_of
from sqlsvm.compile.statement import Asked, Statement, asked, binned, in_row, one_number, statement
from sqlsvm.compile.tally import Tally, counted_score
from sqlsvm.engine.base import Rows
from sqlsvm.plan.parameters import LOWEST, SHIFT, WIDTH
from sqlsvm.plan.plan import Bag, Plan
from sqlsvm.plan.target import CODE
from sqlsvm.solve.arrays import Array
from sqlsvm.sql import Named

LIST = "sqlsvm_list"
CLASSES = "negative", "positive"  # columns with the rows of each label


# -- the list ----------------------------------------------------------------------------------------------------------


def list_of_rows(plan: Plan) -> Statement:
    """One bag: SELECT p AS s, SUM(w) of each label FROM scored rows GROUP BY s. Where the label is a number, s is the
    residual label - p, and there is one count."""
    found = _scored_rows(plan)
    return _listed(found) if plan.design.target.signed else statement("residuals of the join", found, LIST)


def rows_of_list(plan: Plan) -> Statement:
    """One bag: the same rows, neither grouped nor kept."""
    return statement("scores of the join", _scored_rows(plan))


def _scored_rows(plan: Plan) -> exp.Select:
    rows, y, p = scored(plan, plan.bags[0].core), sql.column(CODE), sql.column("p")
    entry: Named = [(p, "s"), (tie_of(plan, y), TIE)] if plan.design.target.signed else [(sql.minus(y, p), "s")]
    return sql.select([*entry, (weight_of(rows), COUNT)], sql.derived(rows, "r")).where(sql.not_null(y))


def towards_centre(plan: Plan) -> Iterator[Statement]:
    yield from Tally(plan, signed=True, labelled=True).scores()
    yield from _messages(plan).forward()


def list_of_pairs(plan: Plan) -> Statement:
    """Every entry of the one side with every entry of the other that has its key."""
    s = sql.double(sql.plus("l.s", "r.s"))
    c = sql.product("l.c", "r.c")
    if not plan.design.target.signed:  # scores are less the label already
        entries = sql.derived(_messages(plan).across([(sql.negated(s), "s"), (c, COUNT)]), "e")
        sums: Named = sql.totals([COUNT])
        return statement("residuals of the join", sql.grouped(sql.columns(["s"]), sums, entries), LIST)
    return _listed(_messages(plan).across([(s, "s"), (sql.column(TIE, "l"), TIE), (c, COUNT)]))


def _listed(entries: exp.Select) -> Statement:
    c = sql.column(COUNT)
    found = sql.grouped(sql.columns(["s"]), _by_class(c, sql.total), sql.derived(entries, "e"))
    return statement("scores of the join", found.having(sql.positive(sql.total(c))), LIST)


def _by_class(count: exp.Expression, added: Callable[[exp.Expression], exp.Expression]) -> Named:
    """The counts of the entries of each label, added up."""
    is_negative, zero = sql.equal(TIE, 1), sql.number(0)
    sizes = sql.case(is_negative, count, zero), sql.case(is_negative, zero, count)
    return [(added(size), name) for size, name in zip(sizes, CLASSES, strict=True)]


def _messages(plan: Plan) -> Messages:
    return Messages(plan, ties=plan.design.target.signed)


def sums_of_residuals() -> Asked[dict[str, float]]:
    """SELECT the rows, and the sums that residuals are measured with."""
    s, c = sql.column("s"), sql.column(COUNT)
    over, under = (sql.product(c, sql.greatest(of, 0.0)) for of in (s, sql.negated(s)))
    within = sql.case(sql.at_most(s, 0.0), c, 0.0)
    sizes = {"n": c, "over": over, "under": under, "squares": sql.product(c, s, s), "covered": within}
    made: Named = [(sql.sum_or_zero(of), name) for name, of in sizes.items()]
    return asked("residuals", sql.select([*made, *sql.ends(s)], sql.table(LIST)), in_row)


def covered() -> Statement:
    """SELECT the rows with a residual of at most the shift."""
    within = sql.at_most("s", sql.parameter(SHIFT))
    rows = sql.sum_or_zero(sql.case(within, COUNT, 0.0))
    return statement("covered", sql.select([(rows, "n")], sql.table(LIST)))


# -- how long it would be, and how coarse it is ------------------------------------------------------------------------


def pairs(plan: Plan) -> Asked[float]:
    """How many pairs of entries meet at the centre."""
    messages = _messages(plan)
    keys = messages.centre_keys()

    def side(bag: int, alias: str) -> exp.Expr:
        entries = sql.table(messages.last(bag))
        return sql.derived(sql.grouped(sql.columns(keys), [(sql.count(), "n")], entries), alias)

    met = sql.sum_or_zero(sql.product("l.n", "r.n"))
    made = sql.select([(met, "n")], side(messages.left, "l"))
    return asked("pairs", sql.join(made, side(messages.right, "r"), sql.same(keys, "l", "r")), one_number)


def span(plan: Plan, bag: Bag) -> Asked[dict[str, float]]:
    """SELECT the least and the largest score of a bag."""
    p = counted_score(plan, bag)
    outputs: Named = [(sql.or_zero(sql.smallest(p)), "least"), (sql.or_zero(sql.largest(p)), "largest")]
    return asked(f"span {bag.number}", sql.select(outputs, sql.derived(scored(plan, bag.core), "s")), in_row)


# -- without the list --------------------------------------------------------------------------------------------------


ByLabel = tuple[float, float]  # A size for each label, first that of the negatives


def by_label(sizes: Mapping[str, float]) -> ByLabel:
    return sizes[CLASSES[0]], sizes[CLASSES[1]]


def above_at_centre(plan: Plan) -> Asked[ByLabel]:
    """SELECT the rows of each label with a score above 0, by one sort per key: a left entry at s has above it the right
    entries at -s that stand before it."""
    messages = _messages(plan)
    keys = messages.centre_keys()
    s, c, zero = sql.column("s"), sql.column("c"), sql.number(0)

    def side(bag: int, o: exp.Expression, at: exp.Expression, rank: int, sizes: Named) -> exp.Select:
        place: Named = [(o, TIE), (at, "at"), (sql.integer(rank), "rank")]
        return sql.select([*sql.columns(keys), *place, *sizes], sql.table(messages.last(bag)))

    left = side(messages.left, sql.column(TIE), s, 0, [(c, "c"), (zero, "partners")])
    right = side(messages.right, sql.integer(0), sql.negated(s), 1, [(zero, "c"), (c, "partners")])
    partners = sql.window(sql.total("partners"), keys, ["at", "rank"], running=True)
    counted = sql.select([*sql.columns([TIE]), (sql.product(c, partners), "above")], _both(left, right))
    found = _by_class(sql.column("above"), sql.sum_or_zero)
    return asked("rows above", sql.select(found, sql.derived(counted, "t")), lambda rows: by_label(in_row(rows)))


def _both(left: exp.Select, right: exp.Select) -> exp.Expr:
    return sql.derived(sql.union_all(left, right), "e")


# -- what leaves the database ------------------------------------------------------------------------------------------


def above() -> Asked[dict[str, float]]:
    """SELECT the rows of each label with s > shift, all of them, and the range of s."""
    is_above = sql.more("s", sql.parameter(SHIFT))
    more: Named = [(sql.sum_or_zero(sql.case(is_above, n, 0.0)), n) for n in CLASSES]
    every: Named = [(sql.sum_or_zero(n), f"all_{n}") for n in CLASSES]
    return asked("rows above", sql.select([*more, *every, *sql.ends("s")], sql.table(LIST)), in_row)


def area() -> Asked[float]:
    """SELECT SUM(positive * (negatives below + equal ones / 2))."""
    return _area(sql.table(LIST), "s")


def moved_area() -> Asked[float]:
    """The same with the negatives moved up by the shift."""
    zero = sql.number(0)
    moved: Named = [(sql.plus("s", sql.parameter(SHIFT)), "at"), (sql.column("negative"), "negative")]
    stays: Named = [(sql.column("s"), "at"), (zero, "negative"), (sql.column("positive"), "positive")]
    apart = [sql.select(columns, sql.table(LIST)) for columns in ([*moved, (zero, "positive")], stays)]
    return _area(sql.derived(sql.grouped(sql.columns(["at"]), sql.totals(CLASSES), _both(*apart)), "p"), "at")


def _area(places: exp.Expr, at: str) -> Asked[float]:
    # negatives below a place; those at the place count half
    below = sql.minus(sql.window(sql.total("negative"), [], [at], running=True), sql.product(0.5, "negative"))
    ranked = sql.select([(sql.product("positive", below), "area")], places)
    return asked("area", sql.select([(sql.sum_or_zero("area"), "area")], sql.derived(ranked, "r")), one_number)


def histogram(bins: int) -> Asked[Array]:
    """SELECT bin, how many residuals: the bins have equal widths and begin at the lowest."""
    found = sql.grouped(sql.columns(["bin"]), sql.totals([COUNT]), _in_bins(sql.columns([COUNT])))
    return asked("bins", found, lambda rows: binned(rows, COUNT, bins))


def size_of_list() -> Asked[dict[str, float]]:
    """SELECT how many scores differ, and their range."""
    return asked("size", sql.select([(sql.count(), "n"), *sql.ends("s")], sql.table(LIST)), in_row)


def scores_in_bins() -> Asked[Rows]:
    """SELECT for each bin, and each side of 0, the rows of each label, the sums of their scores, and the least and the
    largest score."""
    s = sql.column("s")
    sizes: Named = [*sql.columns(CLASSES), *((sql.product(n, s), f"{n}_scores") for n in CLASSES)]
    sums = [*sql.totals(n for _, n in sizes), *sql.ends(s)]
    rows = _in_bins([(sql.more("s", 0), "above"), *sizes, (s, "s")])
    return asked("bins", sql.grouped(sql.columns(["bin", "above"]), sums, rows), dict)


def _in_bins(outputs: Named) -> exp.Expr:
    number = exp.Floor(this=sql.ratio(sql.minus("s", sql.parameter(LOWEST)), sql.parameter(WIDTH)))
    in_bin = (exp.cast(number, exp.DType.BIGINT), "bin")
    return sql.derived(sql.select([in_bin, *outputs], sql.table(LIST)), "e")
