"""The data of a report: the model, and facts that are read from the database now."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from sqlsvm.ask.describe import Histogram, histograms
from sqlsvm.ask.evaluate import measure
from sqlsvm.ask.inspect import Inspection, inspect_model
from sqlsvm.ask.rows import on_all, on_parts, options_of
from sqlsvm.engine.base import Engine
from sqlsvm.errors import SqlsvmError
from sqlsvm.model.confusion import ByGroup, Confusion
from sqlsvm.model.evaluation import Evaluation, Residuals
from sqlsvm.model.model import Model
from sqlsvm.model.stored_query import stored_query
from sqlsvm.query.rewrites.split import holdout_of
from sqlsvm.run.opening import unmapped

PLACES, BINS = 4096, 4000  # finer than for a table: it costs no more, and the bounds in the charts are narrower

TREE, SCORES, RESIDUALS = "join tree", "scores, ROC curve and confusion matrix", "residuals"
MATRIX = "confusion matrix"
EFFECTS = "effects of columns"

Found = TypeVar("Found")
Measured = Evaluation | Residuals | Confusion  # with groups: of all of them together


@dataclass(frozen=True)
class Missing:
    """A part of the report that is missing, and why."""

    part: str
    why: str


@dataclass(frozen=True)
class Report:
    model: Model
    inspection: Inspection | None = None
    evaluation: Measured | None = None  # on the rows held out of the training; if there are none, on all rows
    seen: Measured | None = None  # on the rows of the training, if some were held out
    spread: Mapping[str, Histogram] = field(default_factory=dict)
    """Over the join, of the columns that maps of one column read."""
    missing: tuple[Missing, ...] = ()
    groups: ByGroup | None = None  # each, on the rows of `evaluation`

    def relation_of(self, feature: str) -> str:
        """The relation of a feature, or those of a sum; empty if neither the database nor the model has it."""
        if self.inspection:
            return ", ".join(f.relation for f in self.inspection.features if f.name == feature)
        return self.model.trained_on.relations.get(feature, "")


def gather(
    model: Model, database: Callable[[], AbstractContextManager[Engine]] | None, *, offload: bool | None = None
) -> Report:
    """A report with as many parts as possible: tables or the server may be gone, or no database may be given."""
    both = f"{TREE}, {_quality(model)}"
    if database is None:
        return Report(model, missing=(Missing(both, "no database was named; --dsn URL names one"),))
    try:
        with database() as engine:
            return gather_from(engine, model, offload=offload)
    except SqlsvmError as error:
        return Report(model, missing=(Missing(both, _why(error)),))


def _quality(model: Model) -> str:
    return MATRIX if model.kinds else RESIDUALS if model.of_numbers else SCORES


def gather_from(engine: Engine, model: Model, *, offload: bool | None = None) -> Report:
    missing: list[Missing] = []

    def attempt(part: str, read: Callable[[], Found]) -> Found | None:
        try:
            return read()
        except SqlsvmError as error:
            missing.append(Missing(part, _why(error)))
            return None

    inspection = attempt(TREE, lambda: inspect_model(engine, model))
    evaluation, seen, groups = attempt(_quality(model), lambda: measured(engine, model, offload)) or (None, None, None)
    mapped = model.maps and not model.family
    spread = (attempt(EFFECTS, lambda: _spread(engine, model)) if mapped else None) or {}
    return Report(model, inspection, evaluation, seen, spread, tuple(missing), groups)


def _spread(engine: Engine, model: Model) -> Mapping[str, Histogram]:
    alone = [(each, each.columns[0]) for each in model.maps if len(each.columns) == 1]
    read = [name for each, name in alone if each.kind_of(name) != "categorical"]
    return histograms(engine, unmapped(engine, stored_query(engine, model), options_of(model), read), read)


def measured(
    engine: Engine, model: Model, offload: bool | None
) -> tuple[Measured | None, Measured | None, ByGroup | None]:
    """On the rows held out or on all, on those of the training if others were held out, and each group of the first."""
    on_rows = partial(measure, model=model, buckets=PLACES, bins=BINS)
    if holdout_of(model.options):
        parts = on_parts(engine, model, on_rows, offload=offload, held_out=partial(on_rows, held_out=True))
        first, seen = parts["holdout"], parts["train"]
    else:
        first, seen = on_all(engine, model, on_rows, offload=offload), None
    return _whole(first), _whole(seen), first if isinstance(first, ByGroup) else None


def _whole(found: Measured | ByGroup | None) -> Measured | None:
    return found.whole and replace(found.whole, of=found.of) if isinstance(found, ByGroup) else found


def _why(error: SqlsvmError) -> str:
    """The error on one line."""
    said = f"{error.message} ({error.detail})" if error.detail else error.message
    return " ".join(said.split())
