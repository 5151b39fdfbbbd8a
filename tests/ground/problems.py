"""Small problems of the kinds that certificates are afraid of: a label's table f, and often a table g to meet in a
many-to-many join."""

from collections.abc import Callable

import numpy as np

from sqlsvm.engine.base import Rows, Values
from tests.ground.joins import Join, words

Table = Callable[[np.random.Generator], tuple[Values, Rows]]
"""The label, as -1 and 1, and the features of f."""


def noise(rng: np.random.Generator) -> tuple[Values, Rows]:
    """Nothing to learn, on features of very different sizes."""
    y = signs(rng, 24)
    return y, {"a": 1e-6 * rng.normal(size=24), "b": rng.normal(size=24), "c": 1e6 * rng.normal(size=24)}


def separable(rng: np.random.Generator) -> tuple[Values, Rows]:
    y = signs(rng, 20)
    return y, {"a": y * rng.uniform(1, 2, 20), "b": rng.normal(size=20)}


def one_category(rng: np.random.Generator) -> tuple[Values, Rows]:
    """That all rows share."""
    return signs(rng, 16), {"a": rng.normal(size=16), "c": words(np.zeros(16, dtype=int))}


def rare_categories(rng: np.random.Generator) -> tuple[Values, Rows]:
    """As many as there are rows."""
    return signs(rng, 16), {"a": rng.integers(-1, 2, 16), "c": words(np.arange(16))}


def constant_features(rng: np.random.Generator) -> tuple[Values, Rows]:
    return signs(rng, 16), {"a": np.full(16, 3.0), "b": np.zeros(16), "c": np.full(16, 0.1)}


def duplicated_features(rng: np.random.Generator) -> tuple[Values, Rows]:
    y, x = signs(rng, 24), rng.normal(size=24)
    return y, {"a": x, "b": x, "c": -2 * x}


def a_row_for_each_class(rng: np.random.Generator) -> tuple[Values, Rows]:
    return np.array([1, -1]), {"a": rng.normal(size=2), "b": rng.integers(0, 2, 2)}


def heap(rng: np.random.Generator) -> tuple[Values, Rows]:
    """Few positives, and hardly a sign of them: the best margins of the others lie in a heap on the hinge."""
    y = np.where(np.arange(60) < 6, 1, -1)
    return y, {"a": rng.normal(size=60), "b": rng.integers(0, 2, 60), "c": words(rng.integers(0, 4, 60))}


def on_the_hinge(rng: np.random.Generator) -> tuple[Values, Rows]:
    """A grid of few values, where many rows tie."""
    return signs(rng, 40), {"a": rng.integers(-1, 2, 40), "b": rng.integers(-1, 2, 40) / 2, "c": rng.random(40) < 0.5}


KINDS: tuple[Table, ...] = (
    noise,
    separable,
    one_category,
    rare_categories,
    constant_features,
    duplicated_features,
    a_row_for_each_class,
    heap,
    on_the_hinge,
)


def problem(rng: np.random.Generator, kind: Table, fan_out: int) -> Join:
    """f alone, or every row of f with about `fan_out` rows of g."""
    y, features = kind(rng)
    key = rng.integers(0, 3, len(y))
    columns = ", ".join(f"{name} {type_of(values)}" for name, values in features.items())
    script, rows = f"CREATE TABLE f (k INT, y INT, {columns})", {"f": {"k": key, "y": y, **features}}
    named = ", ".join(f"f.{name}" for name in features)
    if not fan_out:
        return Join(script, rows, f"SELECT f.y, {named} FROM f")
    g = {"k": np.arange(3 * fan_out) % 3, "u": rng.normal(size=3 * fan_out), "v": rng.integers(0, 2, 3 * fan_out)}
    script += "; CREATE TABLE g (k INT, u FLOAT8, v INT)"
    return Join(script, {**rows, "g": g}, f"SELECT f.y, {named}, g.u, g.v FROM f JOIN g ON g.k = f.k")


def wide(rng: np.random.Generator, dimension: int = 200, rows: int = 200) -> Join:
    """Two bags that share the features between them."""
    half = dimension // 2
    x, z = rng.normal(size=(rows, half)), rng.choice([-1.0, 0.0, 1.0], (rows // 2, half))
    names = [f"x{i}" for i in range(half)], [f"z{i}" for i in range(half)]
    key, other = rng.integers(0, 40, rows), np.arange(rows // 2) % 40
    y = np.where(x[:, 0] + x[:, 1] + rng.normal(size=rows) > 0, 1, -1)
    columns = [", ".join(f"{name} FLOAT8" for name in side) for side in names]
    return Join(
        f"CREATE TABLE f (k INT, y INT, {columns[0]}); CREATE TABLE g (k INT, {columns[1]})",
        {
            "f": {"k": key, "y": y, **dict(zip(names[0], x.T, strict=True))},
            "g": {"k": other, **dict(zip(names[1], z.T, strict=True))},
        },
        f"SELECT f.y, {', '.join([f'f.{n}' for n in names[0]] + [f'g.{n}' for n in names[1]])} "
        "FROM f JOIN g ON g.k = f.k",
    )


def signs(rng: np.random.Generator, rows: int) -> Values:
    """Both, in any order."""
    return np.asarray(rng.permutation(np.where(np.arange(rows) < rng.integers(1, rows), 1, -1)))


def type_of(values: Values) -> str:
    return {"O": "TEXT", "b": "BOOLEAN", "i": "INT", "f": "FLOAT8"}[values.dtype.kind]
