"""--map -> maps with all their constants. Each kind is a function: here, or in a file of its own if it is long."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations_with_replacement, pairwise
from math import log, sqrt, tau

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Engine
from sqlsvm.kernel.functions import Kernel
from sqlsvm.maps import formula
from sqlsvm.maps.asked import MEDIAN_OF, Array, Asked, OfJoin, numbers_of, squared_distances
from sqlsvm.maps.mapped import Mapped
from sqlsvm.maps.trees import trees
from sqlsvm.neural.kernels import Between
from sqlsvm.neural.layers import Dense
from sqlsvm.neural.network import Network, connected
from sqlsvm.neural.training import Examples, Steps, aligned
from sqlsvm.query import Feature, FeatureQuery
from sqlsvm.solve.threads import fitting_threads

KNOTS, DEGREE, OUTSIDE = 5, 3, "constant"


def spline(asked: Asked) -> Mapped:
    column, (_, arguments) = asked.number(), asked.parts
    outside = arguments[2] if len(arguments) > 2 else OUTSIDE
    if outside not in ("constant", "linear"):
        raise asked.refusal(f"outside of the knots it is constant or linear, not {outside}")
    wanted, degree = asked.whole(0, "KNOTS", 2, 1000, KNOTS), asked.whole(1, "DEGREE", 1, 5, DEGREE)
    knots = asked.quantiles(column, np.linspace(0.0, 1.0, wanted).tolist())
    formulas = b_splines(np.array(knots), degree, linear=outside == "linear")
    named = {f"{column.name}_spline{n}": formula.text_of(made) for n, made in enumerate(formulas, 1)}
    return Mapped(f"spline:{column.name}:{wanted}:{degree}:{outside}", (column.name,), named)


def b_splines(knots: Array, degree: int, *, linear: bool) -> list[exp.Expression]:
    """All but the last of them: together they are 1, and the intercept is there already."""
    t = extended(knots, degree)
    count = len(knots) + degree - 2
    return [_piecewise(_pieces(t, j, degree), knots, degree, linear=linear) for j in range(count)]


def extended(knots: Array, degree: int) -> Array:
    """With more knots at both ends, as far apart as the two at the end."""
    steps = np.arange(1, degree + 1)
    first, last = knots[1] - knots[0], knots[-1] - knots[-2]
    return np.concatenate([(knots[0] - first * steps)[::-1], knots, knots[-1] + last * steps])


def _pieces(t: Array, j: int, degree: int) -> dict[int, Array]:
    """For each interval of the knots in which the B-spline is not 0, its polynomial in the distance from the start of
    the interval, the constant first."""
    if degree == 0:
        return {j: np.ones(1)}
    found: dict[int, Array] = {}
    sides = ((j, 1.0, t[j], t[j + degree] - t[j]), (j + 1, -1.0, t[j + degree + 1], t[j + degree + 1] - t[j + 1]))
    for lower, way, origin, width in sides:
        for place, polynomial in _pieces(t, lower, degree - 1).items():
            factor = np.array([way * (t[place] - origin), way]) / width
            found[place] = found.get(place, np.zeros(degree + 1)) + np.convolve(polynomial, factor)
    return found


def _piecewise(pieces: dict[int, Array], knots: Array, degree: int, *, linear: bool) -> exp.Expression:
    """CASE WHEN x < the next knot THEN polynomial ... END. Parts that are equal become one."""
    flat = np.zeros(degree + 1)
    inner = [pieces.get(degree + place, flat) for place in range(len(knots) - 1)]
    most = 2 if linear else 1
    before, after = inner[0][:most], np.array(list(_derivatives(inner[-1], knots[-1] - knots[-2])))[:most]
    parts = [(knots[0], before), *zip(knots[:-1], inner, strict=True), (knots[-1], after)]
    written = [_polynomial(polynomial, origin) for origin, polynomial in parts]
    parted = [(end, part) for end, (part, other) in zip(knots, pairwise(written), strict=True) if part != other]
    return exp.Case(ifs=[_branch(end, part) for end, part in parted], default=written[-1])


def _branch(end: float, part: exp.Expression) -> exp.If:
    return exp.If(this=sql.less(formula.argument(1), formula.number(end)), true=part)


def _derivatives(polynomial: Array, at: float) -> Iterator[float]:
    """Each divided by its factorial."""
    made, factorial = np.polynomial.Polynomial(polynomial), 1.0
    for n in range(len(polynomial)):
        factorial *= n or 1
        yield float(made.deriv(n)(at) if n else made(at)) / factorial


def _polynomial(coefficients: Array, origin: float) -> exp.Expression:
    """c0 + u * (c1 + u * (...)) for u = x - origin."""
    (*lower, highest) = np.trim_zeros(coefficients, "b").tolist() or [0.0]
    found = formula.number(highest)
    u = sql.minus(formula.argument(1), formula.number(origin))
    for c in reversed(lower):
        found = sql.plus(formula.number(c), sql.product(u, found))
    return found


HIDDEN, OUTPUTS, HEAD = 32, 16, 8
"""The outputs of each layer. The kernel that is aligned is that of a last layer, the head, which is then left out."""
EXAMPLES, BATCH = 20_000, 64
EPOCHS, FEWEST_STEPS, MOST_STEPS = 32, 1000, 10_000  # how often an example is looked at, and the limits of the steps


def net(asked: Asked) -> Mapped:
    columns, size = asked.numbers(), asked.whole(0, "D", 1, 100, OUTPUTS)
    means, deviations = asked.spread(columns)
    found = asked.join.examples(columns, EXAMPLES)
    body = connected(len(columns), HIDDEN, size)
    network = Network((*body.layers, Dense(size, HEAD)))
    (w, b), last, _ = _learned(network, Examples((found.x - means) / deviations, found.y), asked.seed)
    return compiled(columns, means, (w / deviations[:, None], b), last)


def compiled(columns: Sequence[Feature], means: Array, first: Sequence[Array], last: Sequence[Array]) -> Mapped:
    """The columns themselves stay. The first layer reads their distances from the means."""
    (w, b), (v, c), alias = first, last, columns[0].relation
    hidden, outputs = _units(w, b, means.tolist()), _units(v, c)
    made = {f"{alias}_net{n}": text for n, text in enumerate(outputs, 1)}
    return Mapped(f"net:{alias}:{len(made)}", tuple(c.name for c in columns), made, (hidden,), replaces=False)


def _learned(network: Network, examples: Examples, seed: int) -> list[list[Array]]:
    rng, between = np.random.default_rng(seed), Between(Kernel("linear"))
    steps = Steps(min(max(FEWEST_STEPS, EPOCHS * len(examples) // BATCH), MOST_STEPS), 0.1)
    with fitting_threads(HIDDEN):
        theta = aligned(examples, network, between, steps, rng, k=min(BATCH, len(examples)))
    return [parameters for _, parameters in network.split(theta) if parameters]


def _units(w: Array, b: Array, means: Sequence[float] = ()) -> tuple[str, ...]:
    """A layer with ReLU, as a formula for each output."""
    pairs = zip(w.T.tolist(), b.tolist(), strict=True)
    sums = (formula.affine(weights, constant, means) for weights, constant in pairs)
    return tuple(formula.text_of(sql.greatest(each, formula.number(0))) for each in sums)


SMALLEST = 1e-12  # the smallest eigenvalue that is not taken as this


def nystroem(asked: Asked) -> Mapped:
    """The last step is the kernel with each landmark. Its inverse root makes the inner products of new columns those of
    the kernel, for rows near the landmarks. The columns themselves stay."""
    columns, size = asked.numbers(), asked.whole(0, "D", 1, 300)
    alias = columns[0].relation
    points, means, deviations = asked.scaled_points(columns, max(size, MEDIAN_OF))
    if len(points) < size:
        rows = f"{len(points):,} different rows"
        raise asked.refusal(f"{alias} has {rows}, and so at most as many landmarks", f"D can be {len(points):,}")
    gamma = asked.gamma(1) or asked.median_gamma(points)
    landmarks = points[:size]
    values, vectors = np.linalg.eigh(np.exp(-gamma * squared_distances(landmarks, landmarks)))
    root = (vectors / np.sqrt(np.maximum(values, SMALLEST))) @ vectors.T
    width = np.sqrt(gamma)
    steps = (*_scaled(means, width / deviations), tuple(map(_kernel, width * landmarks)))
    made = {f"{alias}_nystroem{n}": formula.text_of(formula.affine(row)) for n, row in enumerate(root.tolist(), 1)}
    named = tuple(c.name for c in columns)
    return Mapped(f"nystroem:{alias}:{size}:{gamma!r}", named, made, steps, replaces=False)


def _scaled(means: Array, scale: Array) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Two steps: a = scale (x - mean), where distances are those of the kernel; then a and |a|^2."""
    centred = enumerate(zip(means.tolist(), scale.tolist(), strict=True), 1)
    first = tuple(formula.text_of(sql.product(formula.number(by), formula.centred(n, at))) for n, (at, by) in centred)
    own = [formula.argument(n) for n in range(1, len(first) + 1)]
    square = sql.plus(*(sql.product(a, a) for a in own))
    return first, tuple(map(formula.text_of, (*own, square)))


def _kernel(landmark: Array) -> str:
    """EXP of -|a - b|^2 = 2 a.b - |b|^2 - |a|^2. What is scaled is small, so the difference keeps its digits."""
    nearness = formula.affine((2.0 * landmark).tolist(), -float(landmark @ landmark))
    return formula.text_of(formula.exponential(sql.minus(nearness, formula.argument(len(landmark) + 1))))


def bins(asked: Asked) -> Mapped:
    """bins:COLUMN:K, a column in K steps of about as many rows each: a column of 0 and 1 for each step but the last.
    Together they are 1, and the intercept is there already."""
    column, wanted = asked.number(), asked.whole(0, "K", 2, 1000)
    edges = asked.quantiles(column, np.linspace(0.0, 1.0, wanted + 1).tolist())
    ends = [-np.inf, *edges[1:-1], np.inf]
    if len(ends) < 3:
        raise asked.refusal(f"most rows have the same {column.name}, so there is one step", "give a larger K")
    made = {f"{column.name}_bin{n}": _step(*pair) for n, pair in enumerate(pairwise(ends[:-1]), 1)}
    return Mapped(f"bins:{column.name}:{wanted}", (column.name,), made)


def _step(low: float, high: float) -> str:
    """CASE WHEN low <= x AND x < high THEN 1 ELSE 0 END"""
    x, ends = formula.argument(1), list[exp.Expression]()
    if np.isfinite(low):
        ends.append(sql.at_least(x, formula.number(low)))
    ends.append(sql.less(x, formula.number(high)))
    return formula.text_of(sql.case(sql.every(ends), formula.number(1), formula.number(0)))


MOST_PRODUCTS = 1000


def poly2(asked: Asked) -> Mapped:
    """poly2:TABLE, squares and products of the numbers of one table: of their distances from the means, so that x and
    its square do not rise together. The columns themselves stay."""
    columns = asked.numbers()
    if (size := len(columns) * (len(columns) + 1) // 2) > MOST_PRODUCTS:
        why = f"it would make {size:,} columns, and there can be {MOST_PRODUCTS:,}"
        raise asked.refusal(why, "select fewer numbers")
    means, _ = asked.spread(columns)
    centred = [formula.centred(place, mean) for place, mean in enumerate(means.tolist(), 1)]
    pairs = combinations_with_replacement(range(len(columns)), 2)
    products = ((f"{columns[i].name}_x_{columns[j].name}", sql.product(centred[i], centred[j])) for i, j in pairs)
    made = {name: formula.text_of(product) for name, product in products}
    return Mapped(f"poly2:{columns[0].relation}", tuple(c.name for c in columns), made, replaces=False)


def fourier(asked: Asked) -> Mapped:
    """fourier:TABLE:D, random Fourier features of the numbers of one table: sqrt(2 / D) cos(w.x + b), with a normal w
    and a uniform b. Their inner products are about those of the kernel exp(-gamma |a - b|^2), where a and b are scaled
    to mean 0 and deviation 1. The first step is w.x + b. The columns themselves stay."""
    columns, size = asked.numbers(), asked.whole(0, "D", 1, 1000)
    points, means, deviations = asked.scaled_points(columns, MEDIAN_OF)
    gamma = asked.gamma(1) or asked.median_gamma(points)
    random = np.random.RandomState(asked.seed)  # the numbers that scikit-learn's RBFSampler draws
    w = np.sqrt(2.0 * gamma) * random.normal(size=(len(columns), size)).T / deviations
    b = random.uniform(0.0, 2.0 * np.pi, size) - w @ means
    projections = tuple(formula.text_of(formula.affine(*each)) for each in zip(w.tolist(), b.tolist(), strict=True))
    height = formula.number(np.sqrt(2.0 / size))
    waves = (sql.product(height, exp.Cos(this=formula.argument(n))) for n in range(1, size + 1))
    made = {f"{columns[0].relation}_fourier{n}": formula.text_of(each) for n, each in enumerate(waves, 1)}
    named = tuple(c.name for c in columns)
    return Mapped(f"fourier:{columns[0].relation}:{size}:{gamma!r}", named, made, (projections,), replaces=False)


def pca(asked: Asked) -> Mapped:
    """pca:K, principal components of the numbers and booleans of a query, from their covariance over its join."""
    inputs = {f.name: f.kind for f in asked.query.features if f.kind != "categorical"}
    if not inputs:
        hint = "select a number; a text that is one can be cast: CAST(x AS double precision) AS x"
        raise asked.refusal("the query has no feature that is a number", hint)
    wanted = asked.whole(0, "K", 1, 1000)
    axes = asked.join.axes(wanted)
    if (most := len(axes.loadings)) < wanted:
        numbers = "1 number, which has" if len(inputs) == 1 else f"{len(inputs)} numbers, which have"
        hint = f"K can be {most}" if most else "leave out the map, and numbers that are constant"
        raise asked.refusal(f"the query has {numbers} {most} components", hint)
    booleans = tuple(name for name in axes.columns if inputs[name] == "boolean")
    made = {f"pca{n}": _component(row, axes.means) for n, row in enumerate(axes.loadings, 1)}
    return Mapped(f"pca:{wanted}", axes.columns, made, booleans=booleans)


def _component(loadings: Sequence[float], means: Sequence[float]) -> str:
    terms = enumerate(zip(loadings, means, strict=True), 1)
    made = (sql.product(formula.number(w), formula.centred(place, mean)) for place, (w, mean) in terms if w)
    return formula.text_of(sql.plus(*made))


DIGITS = 32  # hexadecimal digits of an MD5. Each decides one sign.
HALF = ord("8")  # from this digit on, also for letters, the sign is positive
DOUBT = 0.01


def hashed(asked: Asked) -> Mapped:
    """hash:COLUMN:K, each category as K numbers +-1 / sqrt(K), which its MD5 decides (Johnson and Lindenstrauss)."""
    column, size = asked.category(), asked.whole(0, "K", 1, 1000)
    made = {f"{column.name}_hash{n + 1}": formula.text_of(_coordinate(n, size, asked.seed)) for n in range(size)}
    found = asked.different(column)
    note = f"hash:{column.name}:{size} makes {size} numbers of {found:,} categories: {bound(found, size)}"
    return Mapped(f"hash:{column.name}:{size}", (column.name,), made, kind="categorical", note=note)


def bound(categories: int, size: int) -> str:
    """Hoeffding's inequality for the mean of `size` signs, over all pairs."""
    pairs = max(1, categories * (categories - 1) // 2)
    most = sqrt(2.0 * log(2.0 * pairs / DOUBT) / size)
    said = "the inner product of any two, which would be 0, is at most"
    if most >= 1.0:
        return f"too few to keep all of them apart: a K of {int(8.0 * log(2.0 * pairs / DOUBT)) + 1:,} would"
    return f"{said} {most:.2g} with a probability of {1.0 - DOUBT:.0%}"


def _coordinate(n: int, size: int, seed: int) -> exp.Expression:
    salt = sql.integer(seed * 1000 + n // DIGITS)
    digest = exp.MD5(this=exp.Concat(expressions=[salt, formula.argument(1)], safe=True, coalesce=True))
    digit = exp.Substring(this=digest, start=sql.integer(n % DIGITS + 1), length=sql.integer(1))
    is_high = sql.at_least(exp.Ascii(this=digit), HALF)
    return sql.case(is_high, formula.number(1.0 / sqrt(size)), formula.number(-1.0 / sqrt(size)))


_STEPS = (
    ("$1 - FLOOR($1)", "FLOOR($1) + 4.0e0 - 7.0e0 * FLOOR((FLOOR($1) + 4.0e0) / 7.0e0)", "FLOOR($1) + 719468.0e0"),
    ("$1", "$2", "$3 - 146097.0e0 * FLOOR($3 / 146097.0e0)"),  # of 400 years
    ("$1", "$2", "$3", "FLOOR(($3 - FLOOR($3 / 1460.0e0) + FLOOR($3 / 36524.0e0) - FLOOR($3 / 146096.0e0)) / 365.0e0)"),
    ("$1", "$2", "$3 - (365.0e0 * $4 + FLOOR($4 / 4.0e0) - FLOOR($4 / 100.0e0))"),
    ("$1", "$2", "$3", "FLOOR((5.0e0 * $3 + 2.0e0) / 153.0e0)"),
)
"""The part of the day, the weekday from Sunday, the day of the year, and the month, the last two from March."""
_HOUR = {"hour": ("$1", 1.0)}
_DAY = {"weekday": ("$2", 7.0), "month": ("$4", 12.0), "day": ("$3", 365.25)}
_WEEKEND = "CASE WHEN 0.5e0 < $2 AND $2 < 5.5e0 THEN 0.0e0 ELSE 1.0e0 END"


def dates(asked: Asked) -> Mapped:
    """date:COLUMN, what returns in a date: the hour, the weekday, the month, the day of the year, the weekend. All is
    computed from the days since 1970, so it is the same on every engine. A cycle is a sine and a cosine: the last hour
    of a day is close to the first. A year begins on the 1st of March here, so that a leap day is its last. The column
    itself stays."""
    column = asked.number()
    kind = asked.query.times.get(column.name)
    if kind not in ("date", "timestamp", "timestamptz"):
        raise asked.refusal(f"{column.name} is no date and no timestamp", "cast it in the query: CAST(... AS date)")
    cycles = _DAY if kind == "date" else _HOUR | _DAY
    made = {
        f"{column.name}_{name}_{wave.lower()}": f"{wave}({tau / period!r}e0 * {value})"
        for name, (value, period) in cycles.items()
        for wave in ("SIN", "COS")
    }
    made[f"{column.name}_weekend"] = _WEEKEND
    return Mapped(f"date:{column.name}", (column.name,), made, _STEPS, replaces=False)


MAPS: Mapping[str, Callable[[Asked], Mapped]] = {
    "spline": spline,
    "bins": bins,
    "poly2": poly2,
    "fourier": fourier,
    "nystroem": nystroem,
    "hash": hashed,
    "date": dates,
    "pca": pca,
    "net": net,
}
FEWEST = 3  # A number with fewer values has no curve


def resolved(engine: Engine, query: FeatureQuery, maps: Sequence[str], seed: int, join: OfJoin) -> tuple[Mapped, ...]:
    """The facts that they need are read from the tables."""
    asked = [Asked(engine, query, seed, map, join) for map in maps if map != "auto"]
    found = [MAPS[each.kind](each) for each in asked if each.kind != "trees"]
    found += (made for each in asked if each.kind == "trees" for made in trees(each))
    if "auto" in maps:
        taken = {name for each in found if each.replaces for name in each.columns}
        found += (spline(each) for each in _auto(engine, query, seed, join) if each.parts[0] not in taken)
    return tuple(found)


def _auto(engine: Engine, query: FeatureQuery, seed: int, join: OfJoin) -> Iterator[Asked]:
    """A spline of each number that has three values or more. Trees that it offers are named (Training.offering)."""
    for column in (column for r in query.relations for column in numbers_of(query, r.alias)):
        asked = Asked(engine, query, seed, f"spline:{column.name}:{KNOTS}", join)
        if asked.different(column, FEWEST) == FEWEST:
            yield asked
