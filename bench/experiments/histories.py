"""Suggested queries next to queries that a person wrote: two invented databases with time, measured on later rows.

    python -m bench.experiments.histories

A forum: will a post be answered? Users have a standing that drifts, and shows in the votes for their earlier posts, in
badges and in how they write. A shop: will a customer buy nothing in the next 60 days? Customers buy and visit at rates
that drift, and leave. The rows of the shop are those of --label-next. Both queries of a task are trained alike, with
lambda chosen forward in time, on the rows before a time, and measured on the rows from it on. The error is that of the
difference, of users or customers that are drawn again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import duckdb
import numpy as np
from sqlglot import exp, parse_one

from bench.experiments.f1 import auc
from sqlsvm import RelationalSVC, suggest

DAYS, USERS, CUSTOMERS = 1000, 300, 300
LATER, DRAWS = 0.75, 200


@dataclass(frozen=True)
class Task:
    name: str
    query: str
    by_hand: str
    label: str
    entity: str
    time: str


def put(con: duckdb.DuckDBPyConnection, tables: Mapping[str, Mapping[str, Any]]) -> None:
    """Numbers of days become times."""
    import pandas as pd

    for name, columns in tables.items():
        con.register("made", pd.DataFrame(dict(columns)))
        dated = ", ".join(
            f"TIMESTAMP '2022-01-01' + TO_SECONDS(CAST({c} * 86400 AS BIGINT)) AS {c}"
            for c in columns
            if c.endswith("_at")
        )
        con.execute(
            f"CREATE TABLE {name} AS SELECT * REPLACE ({dated}) FROM made"
            if dated
            else f"CREATE TABLE {name} AS FROM made"
        )
        con.unregister("made")


def drifting(rng: np.random.Generator, rows: int, steps: int, part: float) -> Any:
    """A deviation of 1, of which a part is new in each step."""
    found = [rng.normal(size=rows)]
    for _ in range(steps):
        found.append(np.sqrt(1 - part) * found[-1] + np.sqrt(part) * rng.normal(size=rows))
    return np.array(found)


def forum(con: duckdb.DuckDBPyConnection) -> Task:
    rng = np.random.default_rng(1)
    standing = drifting(rng, USERS, DAYS // 50, 0.15)
    posts = 8000
    user, day = rng.choice(USERS, posts, p=rng.dirichlet(np.ones(USERS))), np.sort(rng.random(posts) * DAYS)
    topic = rng.integers(0, 5, posts)
    now = standing[(day / 50).astype(int), user]
    length = np.round(np.exp(5 + 0.5 * rng.normal(size=posts) - 0.2 * now))
    score = (
        1.2 * now + np.array([0.8, 0.3, 0, -0.4, -0.7])[topic] - 0.3 * (np.log(length) - 5) + rng.logistic(size=posts)
    )
    votes = np.repeat(np.arange(posts), rng.poisson(3, posts))
    up = now[votes] + rng.logistic(size=len(votes)) > 0
    badges = 3000
    of, given = rng.integers(0, USERS, badges), rng.random(badges) * DAYS
    high = standing[(given / 50).astype(int), of]
    names = np.array(["help", "maths", "news", "jobs", "play"])
    put(
        con,
        {
            "users": {"id": np.arange(USERS), "age": rng.integers(16, 80, USERS)},
            "posts": {
                "id": np.arange(posts),
                "user_id": user,
                "written_at": day,
                "topic": names[topic],
                "length": length,
                "answered": score > 0,
            },
            "votes": {"post_id": votes, "cast_at": day[votes] + rng.exponential(2, len(votes)), "up": up},
            "badges": {"user_id": of, "given_at": given, "class": 1 + (high + rng.normal(size=badges) > 0)},
        },
    )
    return Task(
        "forum",
        suggest(con, "posts", "answered", "written_at").query,
        FORUM_BY_HAND,
        "answered",
        "posts.user_id",
        "posts.written_at",
    )


FORUM_BY_HAND = """
WITH tallied AS (
    SELECT p.user_id, v.cast_at, CAST(v.up AS INT) AS up FROM votes AS v JOIN posts AS p ON p.id = v.post_id),
voted AS (
    SELECT posts.id, COUNT(*) AS n, AVG(t.up) AS share,
        AVG(t.up) FILTER (t.cast_at > posts.written_at - INTERVAL 90 DAY) AS lately
    FROM posts JOIN tallied AS t ON t.user_id = posts.user_id AND t.cast_at < posts.written_at GROUP BY posts.id),
decorated AS (
    SELECT posts.id, COUNT(*) AS n, AVG(b.class) AS class
    FROM posts JOIN badges AS b ON b.user_id = posts.user_id AND b.given_at < posts.written_at GROUP BY posts.id)
SELECT posts.answered, posts.topic, LN(posts.length) AS length, u.age,
    v.n AS votes, v.share, v.lately, d.n AS badges, d.class,
    COUNT(*) OVER earlier AS posts_before,
    DATE_DIFF('day', MAX(posts.written_at) OVER earlier, posts.written_at) AS since
FROM posts JOIN users AS u ON u.id = posts.user_id
LEFT JOIN voted AS v ON v.id = posts.id LEFT JOIN decorated AS d ON d.id = posts.id
WINDOW earlier AS (
    PARTITION BY posts.user_id ORDER BY posts.written_at ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"""


def shop(con: duckdb.DuckDBPyConnection) -> Task:
    rng = np.random.default_rng(2)
    rate = np.exp(drifting(rng, CUSTOMERS, DAYS // 30, 0.1) - 4.3)
    joined, gone = rng.random(CUSTOMERS) * DAYS * 0.6, rng.exponential(900, CUSTOMERS)

    def events(times: float) -> tuple[Any, Any]:
        many = rng.poisson(rate * 30 * times)
        month, who = np.nonzero(many)
        who, month = np.repeat(who, many[month, who]), np.repeat(month, many[month, who])
        at = (month + rng.random(len(month))) * 30
        kept = (at > joined[who]) & (at < joined[who] + gone[who]) & (at < DAYS)
        return who[kept], at[kept]

    (buyer, bought), (visitor, visited) = events(1.0), events(3.0)
    put(
        con,
        {
            "customers": {"id": np.arange(CUSTOMERS), "age": rng.integers(18, 90, CUSTOMERS), "joined_at": joined},
            "orders": {"customer_id": buyer, "placed_at": bought, "amount": np.round(rng.gamma(2, 20, len(buyer)), 2)},
            "visits": {"customer_id": visitor, "come_at": visited, "pages": 1 + rng.poisson(4, len(visitor))},
        },
    )
    query = suggest(
        con, "customers", label_next="orders", within="60 days", every="30 days", none=True, active="1 year"
    ).query
    parts = parse_one(query, read="duckdb", into=exp.Select).ctes
    rows = exp.select("*").from_("task")
    for part in parts[: 1 + [part.alias for part in parts].index("task")]:
        rows = rows.with_(part.alias, as_=part.this)
    con.execute(f"CREATE TABLE asked AS {rows.sql('duckdb')}")
    return Task("shop", query, SHOP_BY_HAND, "label", "task.customer_id", "task.at_time")


SHOP_BY_HAND = """
WITH bought AS (
    SELECT task.customer_id, task.at_time, COUNT(*) AS n, AVG(o.amount) AS amount, SUM(o.amount) AS spent,
        COUNT(*) FILTER (o.placed_at >= task.at_time - INTERVAL 30 DAY) AS n30,
        COUNT(*) FILTER (o.placed_at >= task.at_time - INTERVAL 90 DAY) AS n90,
        DATE_DIFF('day', MAX(o.placed_at), task.at_time) AS since
    FROM asked AS task JOIN orders AS o ON o.customer_id = task.customer_id AND o.placed_at < task.at_time
    GROUP BY task.customer_id, task.at_time),
came AS (
    SELECT task.customer_id, task.at_time, COUNT(*) AS n, AVG(v.pages) AS pages,
        COUNT(*) FILTER (v.come_at >= task.at_time - INTERVAL 30 DAY) AS n30,
        DATE_DIFF('day', MAX(v.come_at), task.at_time) AS since
    FROM asked AS task JOIN visits AS v ON v.customer_id = task.customer_id AND v.come_at < task.at_time
    GROUP BY task.customer_id, task.at_time)
SELECT task.label, c.age, DATE_DIFF('day', c.joined_at, task.at_time) AS days,
    COALESCE(b.n, 0) AS orders, COALESCE(b.n30, 0) AS orders30, COALESCE(b.n90, 0) AS orders90, b.amount, b.spent,
    b.since AS since_order, COALESCE(v.n, 0) AS visits, COALESCE(v.n30, 0) AS visits30, v.pages, v.since AS since_visit
FROM asked AS task JOIN customers AS c ON c.id = task.customer_id
LEFT JOIN bought AS b ON b.customer_id = task.customer_id AND b.at_time = task.at_time
LEFT JOIN came AS v ON v.customer_id = task.customer_id AND v.at_time = task.at_time"""


def scored(con: duckdb.DuckDBPyConnection, task: Task, query: str, end: Any) -> tuple[Any, ...]:
    """Scores, labels and entities of the later rows, and what was trained; in one order for both queries."""
    more = parse_one(query, read="duckdb").select(f"{task.time} AS row_time", f"{task.entity} AS row_of", copy=False)  # type: ignore[attr-defined]
    con.execute(f"CREATE OR REPLACE TABLE made AS {more.sql('duckdb')}")
    model = RelationalSVC("auto", loss="logistic", time="row_time", nulls="mean", verbose=False)
    began = perf_counter()
    model.fit(con, f"SELECT * EXCLUDE (row_of) FROM made WHERE row_time < TIMESTAMP '{end}'", task.label)
    seconds = perf_counter() - began
    rows = con.execute(f"FROM made WHERE row_time >= TIMESTAMP '{end}' ORDER BY row_time, row_of").df()
    scores = np.asarray(model.decision_function(rows), dtype=float)
    print(f"  {len(rows.columns) - 3} features, lambda {model.model_.lam:g}, gap {model.gap_:.1g}, {seconds:.1f} s")
    return scores, rows[task.label].to_numpy().astype(float), rows["row_of"].to_numpy()


def compared(con: duckdb.DuckDBPyConnection, task: Task) -> None:
    of, when = (part.partition(".")[2] for part in (task.entity, task.time))
    rows = "asked" if task.name == "shop" else "posts"
    end = con.execute(f"SELECT QUANTILE_DISC({when}, {LATER}) FROM {rows}").fetchall()[0][0]
    print(f"{task.name}: {con.execute(f'SELECT COUNT(*) FROM {rows}').fetchall()[0][0]:,} rows, measured from {end} on")
    (suggested, label, who), (by_hand, same, _) = (scored(con, task, q, end) for q in (task.query, task.by_hand))
    assert np.array_equal(label, same), of
    found, wanted = auc(suggested, label), auc(by_hand, label)
    error = error_of_difference(suggested, by_hand, label, who)
    met = "met" if found >= wanted - error else "MISSED"
    print(f"  AUC {found:.3f} suggested, {wanted:.3f} by hand, error of the difference {error:.3f}: {met}")


def error_of_difference(one: Any, other: Any, label: Any, who: Any) -> float:
    """The deviation of the difference, of entities that are drawn again with all their rows."""
    rng, of = np.random.default_rng(0), {w: np.flatnonzero(who == w) for w in np.unique(who)}
    found = []
    for _ in range(DRAWS):
        rows = np.concatenate([of[w] for w in rng.choice(np.unique(who), len(of))])
        found.append(auc(one[rows], label[rows]) - auc(other[rows], label[rows]))
    return float(np.std(found))


def main() -> None:
    for made in (shop, forum):
        con = duckdb.connect()
        compared(con, made(con))


if __name__ == "__main__":
    main()
