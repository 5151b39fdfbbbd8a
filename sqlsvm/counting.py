"""The paper's two counting queries for a given beta: `sqlsvm count`, and the building blocks of its descent."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sqlsvm.compile.compress import LEVELS
from sqlsvm.compile.resolve import COUNT, category_name, values_name
from sqlsvm.compile.row_count import THRESHOLDS, row_count, thresholds
from sqlsvm.compile.tally import BOUND, BUCKETS, LABEL
from sqlsvm.design import Design
from sqlsvm.engine.base import Rows, Values
from sqlsvm.errors import OptionError, nearest
from sqlsvm.levels import levels
from sqlsvm.oracle import JoinOracle

LABELS = (-1, 1)


@dataclass(frozen=True)
class Count:
    """How many join rows of a label have this value and label * score < bound."""

    feature: str
    value: object
    label: int
    count: float


@dataclass(frozen=True)
class Threshold:
    """The largest h such that at least `count` join rows of a label have 1 - label * score >= h."""

    label: int
    k: int
    count: float
    threshold: float


def read_beta(design: Design, given: Mapping[str, Any]) -> Values:
    """{"intercept": 0.1, "weights": {"distance": 0.3, "carrier": {"UA": -0.2}}} -> a vector over the design's features:
    what it leaves out weighs 0."""
    kept = [c for c in design.coordinates if c.role != "missing"]
    beta = np.zeros(len(kept) + sum(len(d.categories) for d in design.dictionaries))
    weights = dict(given.get("weights", {}))
    for place, c in enumerate(kept):
        beta[place] = _number(
            c.feature or "intercept", given.get("intercept", 0.0) if not c.feature else weights.pop(c.feature, 0.0)
        )
    place = len(kept)
    for d in design.dictionaries:
        chosen = weights.pop(d.feature, {})
        if not isinstance(chosen, Mapping):
            raise OptionError(
                f"the weight of the categorical feature {d.feature} is one number",
                hint=f'write {{"{d.feature}": {{"VALUE": 0.1}}}}',
            )
        for n, category in enumerate(d.categories):
            beta[place + n] = _number(d.feature, chosen.get(str(category), 0.0))
        place += len(d.categories)
    for name in weights:
        known = [*(c.feature for c in kept), *(d.feature for d in design.dictionaries)]
        raise OptionError(f"beta has a weight for {name}, which is not a feature", hint=nearest(name, known))
    return beta


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise OptionError(f"the weight of {name} is not a number: {value!r}")
    return float(value)


def row_counts(oracle: JoinOracle, beta: Values, bound: float = 1.0, buckets: int = 64) -> Iterator[Count]:
    """The paper's Row Counting for every feature, value and label."""
    program = tuple(row_count(oracle.plan))
    for label in LABELS:
        with oracle.work.scratch():
            answers = oracle.work.run(program, _parameters(oracle, beta, label, bound, buckets))
        yield from _counts(oracle.plan.design, answers, label)


def _counts(design: Design, answers: Mapping[str, Rows], label: int) -> Iterator[Count]:
    for c in design.coordinates:
        if c.role == "value":
            rows = answers[values_name(c)]
            for value, count in zip(rows["value"].astype(float), rows[COUNT], strict=True):
                if count > 0:
                    yield Count(c.feature, None if value != value else float(value), label, float(count))
    for d in design.dictionaries:
        rows = answers[category_name(d)]
        for n, count in zip(rows["n"].astype(float), rows[COUNT], strict=True):
            if count > 0:
                yield Count(d.feature, None if n != n else d.categories[int(n) - 1], label, float(count))


def generalised(oracle: JoinOracle, beta: Values, epsilon: float, buckets: int = 64) -> Iterator[Threshold]:
    """The paper's Generalised Row Counting: thresholds at the levels f_k, which grow by 1 + epsilon."""
    program = tuple(thresholds(oracle.plan))
    work, moments = oracle.work, oracle.moments
    for label in LABELS:
        rows = moments.n_negative if label < 0 else moments.n - moments.n_negative
        parameters = {**_parameters(oracle, beta, label, 1.0, buckets), LEVELS: levels(epsilon, rows)}
        with work.scratch():
            answers = work.run(program, parameters)[THRESHOLDS]
        for k, (f, h) in enumerate(zip(answers["f"].astype(float), answers["threshold"].astype(float), strict=True)):
            yield Threshold(label, k, float(f), float(h))


def _parameters(oracle: JoinOracle, beta: Values, label: int, bound: float, buckets: int) -> dict[str, object]:
    theta = oracle.scaling.to_raw(label * np.asarray(beta, dtype=float))
    return {"theta": theta, LABEL: float(label), BOUND: float(bound), BUCKETS: float(buckets)}
