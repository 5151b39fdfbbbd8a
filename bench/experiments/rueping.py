"""The experiment of Rüping (2002), section 4: how long training takes with little memory for the kernel.

    python -m bench.experiments.rueping

It writes rueping.json, and rueping5.png and rueping6.png into bench/pictures.

1,000 examples from the product of two tables of 100 rows and 1,000 columns, 1 % noise, the linear kernel, and 0.5 to
8 MB. "global" is the usual SVM: rows of the kernel over all 2,000 columns. "local" caches rows of the two tables, and
"two-level" caches both. Each time is the lesser of two turns, which go through all settings in order.
"""

import json
from pathlib import Path
from time import perf_counter

import numpy as np

from sqlsvm.kernel.decomposition import Task, decomposed
from sqlsvm.kernel.functions import Kernel
from sqlsvm.kernel.gram import Cache
from sqlsvm.kernel.rows import Block, Joined
from sqlsvm.options import CacheKind
from sqlsvm.solve.threads import fitting_threads

HERE = Path(__file__).parents[1]
KILOBYTES = (512, 1024, 2048, 3072, 4096, 5120, 6144, 7168, 8192)
KINDS: tuple[CacheKind, ...] = "global", "local", "two-level"
C = 2e-3
"""About 380 support vectors, as in the paper."""
TURNS = 2


def problem() -> tuple[dict[CacheKind, Joined], np.ndarray[tuple[int], np.dtype[np.float64]]]:
    rng = np.random.default_rng(0)
    tables, drawn = rng.normal(size=(2, 100, 1000)), rng.integers(0, 100, (2, 1000))
    sides = [table[rows] for table, rows in zip(tables, drawn, strict=True)]
    score = sum(side @ rng.normal(size=1000) for side in sides)
    y = np.where(score > 0.0, 1.0, -1.0)
    y = np.where(rng.random(1000) < 0.01, -y, y)
    none = np.zeros((1000, 0), dtype=np.int64)
    joined = Joined.of([Block(side, none) for side in sides])
    whole = Joined((Block(np.hstack(sides), none),), np.arange(1000)[None, :])
    return {"global": whole, "local": joined, "two-level": joined}, y


def seconds(rows: Joined, y: np.ndarray[tuple[int], np.dtype[np.float64]], kind: CacheKind, limit: int) -> float:
    task = Task(rows, y, np.ones(len(y)), 1.0 / (C * len(y)), free=True)
    gram = task.gram(Kernel("linear"), Cache(kind, limit))
    began = perf_counter()
    decomposed(task, gram, 1e-3, 1000, lambda dual: None)
    return perf_counter() - began


def measured() -> dict[str, list[float]]:
    rows, y = problem()
    found = {kind: [float("inf")] * len(KILOBYTES) for kind in KINDS}
    with fitting_threads(1):
        for _ in range(TURNS):
            for place, kilobytes in enumerate(KILOBYTES):
                for kind in KINDS:
                    taken = seconds(rows[kind], y, kind, kilobytes << 10)
                    found[kind][place] = round(min(found[kind][place], taken), 4)
                    print(kilobytes, kind, taken, flush=True)
    return {str(kind): times for kind, times in found.items()}


def draw(found: dict[str, list[float]]) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    for number, kinds in ((5, ("global", "local")), (6, ("local", "two-level"))):
        figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
        for kind, mark in zip(kinds, ("o-", "s--"), strict=True):
            axes.plot([k / 1024 for k in KILOBYTES], found[kind], mark, label=f"{kind} cache")
        axes.set(xlabel="cache, MB", ylabel="training, s", ylim=(0, None), title=f"Figure {number} of Rüping (2002)")
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(HERE / "pictures" / f"rueping{number}.png", dpi=110)
        plt.close(figure)


def main() -> None:
    found = measured()
    text = json.dumps({"kilobytes": KILOBYTES, "seconds": found}, indent=1)
    Path(__file__).with_suffix(".json").write_text(text + "\n", encoding="utf-8")
    draw(found)


if __name__ == "__main__":
    main()
