"""How long one pass takes, beside the flat-join aggregate that computes the same gradient where that can be run at all.

python -m bench.compiler [URL] [star] [chain] [hub]
Figures are medians; a ratio compares two figures of the same run on the same machine, alternating.
"""

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.catalog import Catalog
from sqlsvm.compile.copies import working_tables
from sqlsvm.design import design, scaling
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Values
from sqlsvm.join_tree import join_tree
from sqlsvm.label import label_sign
from sqlsvm.oracle import JoinOracle, read_moments
from sqlsvm.planner import choose
from sqlsvm.program import Workspace, workspace
from sqlsvm.read_query import read_query

RUNS = 5


def table(engine: Engine, name: str, columns: dict[str, Values]) -> None:
    """A table of numbers: floats as doubles, the rest as integers."""
    kinds = {n: exp.DType.DOUBLE if v.dtype.kind == "f" else exp.DType.INT for n, v in columns.items()}
    made = [exp.ColumnDef(this=exp.to_identifier(n), kind=exp.DataType(this=kind)) for n, kind in kinds.items()]
    engine.execute(exp.Create(this=exp.Schema(this=exp.to_table(name), expressions=made), kind="TABLE"))
    engine.copy_in(exp.to_table(name), columns)
    engine.execute(sql.analyse(name))


def numbers(rng: np.random.Generator, prefix: str, rows: int, width: int) -> dict[str, Values]:
    return {f"{prefix}{i}": rng.normal(size=rows) for i in range(width)}


def star(engine: Engine, facts: int = 1_000_000, rows: int = 10_000) -> str:
    """Facts with two dimensions, 7 features each: the foreign-key star that most people have."""
    rng = np.random.default_rng(1)
    keys = {f"k{d}": rng.integers(0, rows, facts) for d in (1, 2)}
    own = numbers(rng, "f", facts, 7)
    dims = {d: numbers(rng, f"d{d}_", rows, 7) for d in (1, 2)}
    score = sum(own.values()) + sum(sum(dims[d].values())[keys[f"k{d}"]] for d in (1, 2))
    y = (score + rng.normal(size=facts) > 0).astype(np.int64)  # learnable: about one row in eight is active in the end
    table(engine, "fact", {**keys, "y": y, **own})
    for d in (1, 2):
        table(engine, f"dim{d}", {"id": np.arange(rows), **dims[d]})
    names = [f"f{i}" for i in range(7)] + [f"d{d}_{i}" for d in (1, 2) for i in range(7)]
    return f"SELECT y, {', '.join(names)} FROM fact JOIN dim1 ON k1 = dim1.id JOIN dim2 ON k2 = dim2.id"


def chain(engine: Engine, rows: int = 100_000, keys: int = 1000) -> str:
    """a - b - c, every key on rows / keys rows of each table: with the defaults 10^9 join rows."""
    rng = np.random.default_rng(2)
    draw = lambda: rng.integers(0, keys, rows)  # noqa: E731
    y = (rng.random(rows) < 0.5).astype(np.int64)
    table(engine, "ta", {"k1": draw(), **numbers(rng, "a", rows, 7)})
    table(engine, "tb", {"k1": draw(), "k2": draw(), "y": y, **numbers(rng, "b", rows, 7)})
    table(engine, "tc", {"k2": draw(), **numbers(rng, "c", rows, 6)})
    names = [f"a{i}" for i in range(7)] + [f"b{i}" for i in range(7)] + [f"c{i}" for i in range(6)]
    return f"SELECT y, {', '.join(names)} FROM ta JOIN tb ON ta.k1 = tb.k1 JOIN tc ON tb.k2 = tc.k2"


def hub(engine: Engine, rows: int = 10_000, keys: int = 200) -> str:
    """Five tables on one shared key."""
    rng = np.random.default_rng(3)
    y = (rng.random(rows) < 0.5).astype(np.int64)
    for t in range(5):
        own = {"y": y} if t == 0 else {}
        table(engine, f"h{t}", {"k": rng.integers(0, keys, rows), **own, **numbers(rng, f"x{t}_", rows, 4)})
    joins = " ".join(f"JOIN h{t} ON h{t}.k = h0.k" for t in range(1, 5))
    return f"SELECT y, {', '.join(f'x{t}_{i}' for t in range(5) for i in range(4))} FROM h0 {joins}"


def opened(work: Workspace, text: str) -> JoinOracle:
    query = read_query(work.engine, text, label="y")
    catalog = Catalog(work.engine, query)
    sign = label_sign(work.engine, query)
    plan = choose(join_tree(query, catalog), design(catalog, sign), catalog)
    work.run(working_tables(plan))
    found = read_moments(work, plan)
    return JoinOracle(work, plan, found, scaling(plan.design, found, "standard"))


Pass = Callable[[Values], object]


def flat_passes(engine: Engine, oracle: JoinOracle, text: str) -> dict[str, Pass]:
    """The same gradient by one aggregate over the join that the query makes, written in two ways.

    filtered: WHERE keeps the active rows, then the sums; the best that we know how to write by hand.
    cased:    SUM(CASE WHEN y * score < 1 THEN y * x END) for every column, as the formula reads.
    """
    inner = exp.maybe_parse(text, dialect=engine.dialect).subquery("j")
    names = [c.feature for c in oracle.plan.design.coordinates if c.feature]
    one = sql.integer(1)
    y = sql.case(exp.GT(this=sql.column("y"), expression=sql.integer(0)), sql.number(1), sql.number(-1))

    def rows(beta: Values) -> exp.Subquery:
        theta = oracle.scaling.to_raw(beta)
        products = [sql.product(sql.number(t), sql.column(n)) for t, n in zip(theta[1:], names, strict=True)]
        score = sql.plus(sql.number(theta[0]), *products)
        return sql.derived(exp.select("*", exp.alias_(y, "sign"), exp.alias_(score, "p")).from_(inner.copy()), "r")

    def active() -> exp.Expression:
        return exp.LT(this=sql.product(sql.column("sign"), sql.column("p")), expression=one.copy())

    def signed(name: str) -> exp.Expression:
        return sql.product(sql.column("sign"), sql.column(name))

    def filtered(beta: Values) -> object:
        sums = [(sql.total(signed(n)), n) for n in names]
        return engine.fetch(sql.select([*sums, (sql.count(), "n")], rows(beta)).where(active()))

    def cased(beta: Values) -> object:
        return engine.fetch(sql.select([(sql.total(sql.case(active(), signed(n))), n) for n in names], rows(beta)))

    return {"filtered": filtered, "cased": cased}


def timed(what: Callable[[], object]) -> float:
    start = time.perf_counter()
    what()
    return time.perf_counter() - start


def measure(engine: Engine, name: str, text: str, buckets: int | None, beta: Callable[[int], Values]) -> float:
    """Prints a line: the pass, and beside it the flat aggregates where the join is small enough to be made."""
    with workspace(engine) as work:
        oracle = opened(work, text)
        at = beta(oracle.dimension)
        runs: dict[str, Callable[[], object]] = {"pass": lambda: oracle.pass_(at, buckets)}
        if buckets is None:
            flat = flat_passes(engine, oracle, text)
            runs |= {form: partial(run, at) for form, run in flat.items()}
        seconds: dict[str, list[float]] = {form: [] for form in runs}
        for _ in range(RUNS):
            for form, run in runs.items():
                seconds[form].append(timed(run))
        medians = {form: statistics.median(found) for form, found in seconds.items()}
        shown = [f"{form} {medians[form]:.3f} s ({min(found):.3f}-{max(found):.3f})" for form, found in seconds.items()]
        ratios = [f"{medians['pass'] / m:.2f} x {form}" for form, m in medians.items() if form != "pass"]
        print(f"{name:14} N = {oracle.moments.n:.2g}  " + "  ".join([*shown, *ratios]), flush=True)
        return medians["pass"]


def near_the_optimum(dimension: int) -> Values:
    """Of the star: about one row in six is active."""
    return np.concatenate([[0.0], np.full(dimension - 1, 1.15)])


def of_order_one(dimension: int) -> Values:
    """Scores whose deviation is about 1, as margins are at an optimum."""
    return np.concatenate([[0.0], np.random.default_rng(0).normal(size=dimension - 1) / np.sqrt(dimension - 1)])


def main() -> None:
    url, *tasks = sys.argv[1:] or ["duckdb:"]
    with connect(url) as engine:
        print(engine.version)
        if not tasks or "star" in tasks:
            measure(engine, "star", star(engine), None, near_the_optimum)
        if not tasks or "chain" in tasks:
            once = measure(engine, "chain, H = 32", chain(engine), 32, of_order_one)
            for name in ("ta", "tb", "tc"):
                engine.execute(sql.drop(name))
            # twice the rows at the same fan-out: twice the keys
            twice = measure(engine, "  twice as long", chain(engine, 200_000, 2000), 32, of_order_one)
            print(f"{'':14} twice the rows take {twice / once:.2f} x the time")
        if not tasks or "hub" in tasks:
            measure(engine, "hub, H = 16", hub(engine), 16, of_order_one)


if __name__ == "__main__":
    main()
