"""Every pair of options that the rules accept, in few trainings: each has as many pairs at once as go together."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

from sqlsvm.ask.validation import trained
from sqlsvm.engine.base import Engine
from sqlsvm.errors import OptionError
from sqlsvm.model.model import Model
from sqlsvm.options import NUMBER_LOSSES
from sqlsvm.rules import refuse
from sqlsvm.run.training import Training
from tests.ground.trained import training

Asked = Mapping[str, Any]

QUERY = "SELECT t.y, t.n, t.k, t.x, t.z, t.city, t.g, t.w, t.at, c.age, c.kind FROM t JOIN c ON c.id = t.c"
LABELS = "y", "n", "k"
"""Two classes, a number, three classes."""
MAKE = """CREATE TABLE c (id BIGINT PRIMARY KEY, age FLOAT8, kind VARCHAR(9));
    CREATE TABLE t (id BIGINT PRIMARY KEY, c BIGINT, y BOOLEAN, n FLOAT8, k VARCHAR(9), x FLOAT8, z FLOAT8,
        city VARCHAR(9), g BIGINT, w FLOAT8, at DATE)"""
FILL = """INSERT INTO c SELECT i, 20 + i * 7 % 31, CASE i % 3 WHEN 0 THEN 'a' WHEN 1 THEN 'b' ELSE 'd' END
        FROM generate_series(0, 24) AS s (i);
    INSERT INTO t SELECT i, i * 7 % 25, x + sin(3 * i) > 0, 3 * x + sin(5 * i),
            CASE WHEN x + sin(7 * i) > 0.7 THEN 'much' WHEN x < -0.3 THEN 'none' ELSE 'some' END, x, cos(11 * i),
            CASE i % 4 WHEN 0 THEN 'Bern' WHEN 1 THEN 'Rome' WHEN 2 THEN 'Oslo' ELSE 'Graz' END,
            i % 2, 1 + i % 3, DATE '2024-01-01' + CAST(i AS INT)
        FROM (SELECT i, sin(i) AS x FROM generate_series(1, 200) AS s (i)) AS r"""

SCALES = 1e-6, 1.0, 1e6
SCALE = "UPDATE t SET x = x * {scale}, z = z * {scale}, n = n * {scale}; UPDATE c SET age = age * {scale}"

NUMBER = {"label": "n"}
TOLD: tuple[Asked, ...] = (
    {"label": "k"},
    {"weight": "w"},
    {"positive": "false"},
    {"categorical": ("age",)},
    {"top": ("city:2",)},
    *({"map": (each,)} for each in ("spline:x:3", "poly2:t", "pca:2", "net:t:2")),
    *({"nulls": each} for each in ("mean", "drop")),
    *({"scale": each} for each in ("maxabs", "none")),
    *({"intercept": each} for each in (False, "free")),
    *({"class_weight": each} for each in ("balanced", (1.0, 2.0))),
    *({"loss": each} for each in ("squared_hinge", "modified_huber", "logistic", "auto")),
    {"loss": "smooth_hinge", "width": 0.2},
    {"loss": "custom_margin", "pieces": ((-1.0, 1.0), (1.0, -1.0, 0.0))},
    *(NUMBER | {"loss": each} for each in ("squared", "absolute")),
    NUMBER | {"loss": "quantile", "quantile": 0.8},
    NUMBER | {"loss": "huber", "delta": 0.5},
    NUMBER | {"loss": "epsilon_insensitive", "tube": 0.2},
    *({"counting": each} for each in ("exact", "grid", "sketch")),
    *({"lam": each} for each in (1e-2, "auto")),
    *({"l1": each} for each in (1e-2, "auto")),
    {"measure": "accuracy", "lam": "auto"},
    NUMBER | {"loss": "squared", "measure": "mae", "lam": "auto"},
    *({"constrain": (each,)} for each in ("nonnegative", "increasing:x", "fair:age:0.1")),
    {"tol": 1e-2},
    *({"solver": each} for each in ("bundle", "descent", "kernel")),
    {"solver": "pegasos", "sample": 100},
    {"solver": "kernel", "kernel": "poly", "gamma": 0.1},
    {"max_passes": 2},
    {"sample": 100},
    {"holdout": 0.2},
    {"folds": 2},
    {"by": "g"},
    {"folds": 2, "split_by": "c"},
    {"folds": 2, "time": "at"},
    {"holdout": 0.2, "time": "at", "gap": "5 days"},
    *({"folds": 2, "probability": each} for each in ("sigmoid", "isotonic")),
    {"seed": 3},
    {"in_memory": 0},
    {"buckets": 16},
)

LATER: tuple[tuple[Asked, str], ...] = (
    ({"label": "k", "positive": "false"}, "the label k has more than two values"),
    ({"label": "k", "class_weight": (1.0, 2.0)}, "is for two classes, and this label has more"),
    *((NUMBER | {"loss": each, "positive": "false"}, "positive makes two classes") for each in NUMBER_LOSSES[1:2]),
    ({"solver": "descent", "scale": "none"}, "descent needs features in"),
    ({"map": ("pca:2",), "constrain": ("increasing:x",)}, "the model has no weight for x"),
    ({"map": ("spline:x:3",), "constrain": ("increasing:x",)}, "the model has no weight for x"),
)
"""What the rules accept, and is refused when the label or the columns are known, and the words."""


def combined(told: Iterable[Asked], **known: Any) -> dict[str, Any] | None:
    """Together, if they do not contradict each other and the rules accept them, with what else is known."""
    found: dict[str, Any] = {}
    for each in told:
        if any(found.get(name, value) != value for name, value in each.items()):
            return None
        found |= each
    found = {"label": "y", **found}
    if (found["label"] == "n") is not (found.get("loss") in NUMBER_LOSSES) or _is_later(found):
        return None
    if "program" in known and found["label"] == "k":  # a stored program trains two classes
        return None
    try:
        facts = training(**found).options | {"classes": 3 if found["label"] == "k" else 0} | known
        refuse(facts)
        refuse(facts, "label known")
    except OptionError:
        return None
    return found


def _is_later(asked: Asked) -> bool:
    is_number = asked["label"] == "n" and "positive" in asked
    return is_number or any(found.items() <= asked.items() for found, _ in LATER)


def asked_of(engine: Engine, asked: Asked) -> Model:
    """The model that a user gets."""
    (model,) = trained(engine, query_of(asked), {"m": short(asked)})
    return model


def short(asked: Asked) -> Training:
    """Few passes say whether it trains."""
    return training(**{"max_passes": 5, **asked})


def query_of(asked: Asked) -> str:
    """With the one label."""
    return QUERY.replace(", ".join(f"t.{label}" for label in LABELS), f"t.{asked['label']}")


def covering(told: tuple[Asked, ...] = TOLD, **known: Any) -> Iterator[list[Asked]]:
    """Sets of options that the rules accept, so that each pair which they accept is in one. Each set begins with the
    pair whose options have the most pairs left, and grows by the option that adds the most."""
    places = range(len(told))
    accepted = {p for p in combinations(places, 2) if combined([told[n] for n in p], **known) is not None}
    left = set(accepted)
    while left:
        open_pairs = Counter(n for pair in left for n in pair)
        chosen = list(max(left, key=lambda pair: (sum(open_pairs[n] for n in pair), pair)))
        others = [n for n in places if n not in chosen]
        while others := [n for n in others if _with(n, chosen) <= accepted and _with(n, chosen) & left]:
            best = max(others, key=lambda n: (len(_with(n, chosen) & left), open_pairs[n], -n))
            others.remove(best)
            if combined([told[n] for n in (*chosen, best)], **known) is not None:
                chosen.append(best)
        left -= {(min(pair), max(pair)) for pair in combinations(chosen, 2)}
        yield [told[n] for n in chosen]


def _with(n: int, others: Iterable[int]) -> set[tuple[int, int]]:
    return {(min(n, m), max(n, m)) for m in others}
