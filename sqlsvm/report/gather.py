"""What a report is made of: the model, and what the database still tells about it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TypeVar

from sqlsvm.ask.evaluate import evaluate_model, evaluate_parts
from sqlsvm.ask.inspect import Inspection, inspect_model
from sqlsvm.engine.base import Engine
from sqlsvm.errors import SqlsvmError
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.model.model import Model
from sqlsvm.run.holdout import Holdout

PLACES, BINS = 4096, 4000
"""Scores are told apart more finely than for a table: a picture costs no more, and its bounds are narrower."""

TREE, SCORES = "join tree", "scores, ROC curve and confusion matrix"
BOTH = f"{TREE}, {SCORES}"

Found = TypeVar("Found")


@dataclass(frozen=True)
class Missing:
    """A part that there is nothing to draw of, and why."""

    part: str
    why: str


@dataclass(frozen=True)
class Report:
    model: Model
    inspection: Inspection | None = None
    evaluation: Evaluation | None = None
    """On rows that the training has not seen, where some were held out; else on all."""
    seen: Evaluation | None = None
    """On those that it has, where some were held out."""
    missing: tuple[Missing, ...] = ()

    def relation_of(self, feature: str) -> str:
        """Empty where neither the database nor the model tells."""
        if self.inspection:
            return next((f.relation for f in self.inspection.features if f.name == feature), "")
        return self.model.trained_on.relations.get(feature, "")


def gather(
    model: Model, database: Callable[[], AbstractContextManager[Engine]] | None, *, offload: bool = False
) -> Report:
    """All that can be had: tables may be gone since the training, the server may be down, there may be none at all."""
    if database is None:
        return Report(model, missing=(Missing(BOTH, "no database was named; with --dsn URL they are read there"),))
    try:
        with database() as engine:
            return gather_from(engine, model, offload=offload)
    except SqlsvmError as error:
        return Report(model, missing=(Missing(BOTH, _why(error)),))


def gather_from(engine: Engine, model: Model, *, offload: bool = False) -> Report:
    missing: list[Missing] = []

    def attempt(part: str, read: Callable[[], Found]) -> Found | None:
        try:
            return read()
        except SqlsvmError as error:
            missing.append(Missing(part, _why(error)))
            return None

    inspection = attempt(TREE, lambda: inspect_model(engine, model))
    evaluation, seen = attempt(SCORES, lambda: _evaluated(engine, model, offload)) or (None, None)
    return Report(model, inspection, evaluation, seen, tuple(missing))


def _evaluated(engine: Engine, model: Model, offload: bool) -> tuple[Evaluation, Evaluation | None]:
    if not Holdout.of(model.options):
        return evaluate_model(engine, model, offload=offload, buckets=PLACES, bins=BINS), None
    parts = evaluate_parts(engine, model, offload=offload, buckets=PLACES, bins=BINS)
    return parts["holdout"], parts["train"]


def _why(error: SqlsvmError) -> str:
    """In one line."""
    said = f"{error.message} ({error.detail})" if error.detail else error.message
    return " ".join(said.split())
