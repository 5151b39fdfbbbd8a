"""A model for each of many groups, next to a training of each and to an export that LIBLINEAR takes apart:
python -m bench.races.groups --url duckdb:FILE [--groups N] [--facts N]

Facts point to a dimension; each group has weights of its own. The command runs in a process of its own, as a user would
run it. A training of each group, with WHERE, is timed for some of them."""

import argparse
import subprocess
import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from sqlglot import exp, parse_one

from bench.races.tasks import load
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.model.model import Model
from sqlsvm.run.train import train
from sqlsvm.run.training import Training
from sqlsvm.store import open_store

KEYS, SOME, LAM = 5000, 20, 1e-3
QUERY = "SELECT f.y, f.x0, f.x1, d.z0, d.z1, d.kind FROM f JOIN d ON d.k = f.k"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--url", required=True)
    options.add_argument("--groups", type=int, default=1000)
    options.add_argument("--facts", type=int, default=1000)
    asked = options.parse_args()
    with connect(asked.url) as engine:
        make(engine, asked.groups, asked.facts)
    command = commanded(asked.url)
    with connect(asked.url) as engine:
        began = perf_counter()
        for g in range(SOME):
            assert train(engine, "m", f"{QUERY} WHERE f.g = {g}", Training.of(label="y", lam=LAM)).converged
        each = (perf_counter() - began) / SOME
        model = open_store(engine).load("by_g")
        print(f"{engine.version}: {asked.groups:,} groups of {asked.facts:,} facts, largest gap {model.gap:.2g}")
        print(f"sqlsvm train --by, from command to prompt: {command:.1f} s")
        print(f"a training of each group: {each * asked.groups:.0f} s, from {SOME} of them")
        seconds, above = peer(engine, model)
        print(f"export and LIBLINEAR for each group: {seconds:.1f} s, F on average {above:.2%} above that of sqlsvm")


def commanded(url: str) -> float:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "query.sql"
        file.write_text(QUERY)
        command = [sys.executable, "-m", "sqlsvm", "train", "--dsn", url, "--query", str(file), "--label", "y"]
        began = perf_counter()
        subprocess.run([*command, "--by", "g", "--lambda", str(LAM), "--name", "by_g"], check=True, capture_output=True)
        return perf_counter() - began


def peer(engine: Engine, model: Model) -> tuple[float, float]:
    """The seconds, and how much larger F is on average."""
    began = perf_counter()
    select = parse_one(f"{QUERY.replace('SELECT', 'SELECT f.g,')} ORDER BY f.g", read=engine.dialect)
    assert isinstance(select, exp.Select)
    rows = engine.fetch(engine.bound(select))
    kinds = np.unique(rows["kind"].astype(str))
    numbers = np.column_stack([rows[name].astype(float) for name in ("x0", "x1", "z0", "z1")])
    ones = (rows["kind"].astype(str)[:, None] == kinds).astype(float)
    y, groups, ratios = np.where(rows["y"].astype(bool), 1.0, -1.0), rows["g"].astype(int), []
    for of in model.groups:
        value = int(str(of.value))
        here = slice(*np.searchsorted(groups, [value, value + 1]))
        part = numbers[here]
        x = np.hstack([(part - part.mean(axis=0)) / part.std(axis=0), ones[here]])
        svc = LinearSVC(loss="hinge", C=1.0 / (2.0 * LAM * len(x)), max_iter=20_000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            svc.fit(x, y[here])
        beta, bias = svc.coef_[0], float(svc.intercept_[0])
        loss = float(np.maximum(0.0, 1.0 - y[here] * (x @ beta + bias)).mean())
        ratios.append((loss + LAM * float(beta @ beta + bias**2)) / of.objective - 1.0)
    return perf_counter() - began, float(np.mean(ratios))


def make(engine: Engine, groups: int, facts: int) -> None:
    rng = np.random.default_rng(0)
    rows = groups * facts
    g, k = rng.permutation(np.repeat(np.arange(groups), facts)), rng.integers(0, KEYS, rows)
    x, z, kind = rng.normal(size=(rows, 2)), rng.normal(size=(KEYS, 2)), rng.integers(0, 6, KEYS)
    weights, effect = rng.normal(size=(groups, 4)), rng.normal(size=(groups, 6))
    score = (np.hstack([x, z[k]]) * weights[g]).sum(axis=1) + effect[g, kind[k]] + 1.5 * rng.normal(size=rows)
    named = np.array([f"kind {n}" for n in kind], dtype=object)
    tables = {
        "f": {"g": g, "k": k, "y": (score > 0).astype(int), "x0": x[:, 0], "x1": x[:, 1]},
        "d": {"k": np.arange(KEYS), "z0": z[:, 0], "z1": z[:, 1], "kind": named},
    }
    load(engine, tables)


if __name__ == "__main__":
    main()
