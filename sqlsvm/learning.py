"""From tables to a model in one call: a query is suggested, checked for leaks, trained on, and measured on later rows,
next to the baseline and, if it is installed, to LightGBM on the same features and the same split."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from importlib.util import find_spec
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, overload

import numpy as np
from sqlglot import exp

from sqlsvm.ask.evaluate import Measured, measure_held_out
from sqlsvm.engine.base import Engine, Values
from sqlsvm.engine.given import Database, opened
from sqlsvm.errors import DataError, OptionError
from sqlsvm.estimator import Relational, RelationalRidge, RelationalSVC, RelationalSVR, fit_told
from sqlsvm.measures import NUMBER, SEVERAL, TWO
from sqlsvm.model.confusion import Confusion
from sqlsvm.model.evaluation import Evaluation, Residuals
from sqlsvm.model.model import Model
from sqlsvm.model.predict import input_rows
from sqlsvm.model.scored import Scored, answered
from sqlsvm.notebook import cells
from sqlsvm.notebook.fitted import Certificate, values_of
from sqlsvm.notebook.frames import DataFrame, Kind, frame, kind_of
from sqlsvm.notebook.lineage import Line, at_time, lines, with_time
from sqlsvm.notebook.suggesting import SAID, asked_of
from sqlsvm.notebook.told import all_in_python, documented, in_python
from sqlsvm.options import Span
from sqlsvm.query.parse import parse
from sqlsvm.run.clock import Clock
from sqlsvm.run.data import Data
from sqlsvm.run.train import with_start
from sqlsvm.run.training import Training
from sqlsvm.suggestion.parameters import PARAMETERS
from sqlsvm.suggestion.suggest import Suggestion
from sqlsvm.terminal import amount
from sqlsvm.times import DAY

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

__all__ = ["Learned", "learn", "split"]

Time: TypeAlias = str | float | date | np.datetime64

SHARE = 0.2
SHOWN = ("auc", "accuracy", "balanced_accuracy", "macro_f1", "r2", "mean_absolute_error")
MOST = 12  # features that are shown at once


@all_in_python
@dataclass(frozen=True, eq=False, repr=False)
class Learned:
    """A model and the query that it was trained on, with what they do on later rows."""

    suggestion: Suggestion
    estimator: RelationalSVC | RelationalSVR
    evaluation: Evaluation | Residuals | Confusion  # of the estimator on later rows
    others: Mapping[str, Mapping[str, float]]  # the measures of the baseline and of LightGBM there
    seconds: Mapping[str, float]
    lines: tuple[Line, ...]
    dialect: str
    _database: Database = field(repr=False)

    @property
    def query(self) -> str:
        """To be read, edited and trained on."""
        return self.suggestion.query

    @property
    def certificate_(self) -> Certificate:
        return self.estimator.certificate_

    @property
    def start(self) -> str:
        """The time of the first of the later rows."""
        return str(self.estimator.model_.options["holdout"])

    @property
    def measures(self) -> DataFrame:
        """A frame: a row for each measure on later rows, a column for each model."""
        each = self._each()
        names = _shown(each["sqlsvm"])
        return frame({"measure": names, **{who: [own.get(n, np.nan) for n in names] for who, own in each.items()}})

    def _each(self) -> dict[str, Mapping[str, float]]:
        return {"sqlsvm": values_of(self.evaluation), **self.others}

    @overload
    def features(
        self, database: Database | None = None, at: Time | None = None, kind: Literal["pandas"] | None = None
    ) -> DataFrame: ...
    @overload
    def features(
        self, database: Database | None = None, at: Time | None = None, *, kind: Literal["polars"]
    ) -> "pl.DataFrame": ...
    @overload
    def features(
        self, database: Database | None = None, at: Time | None = None, *, kind: Literal["pyarrow"]
    ) -> "pa.Table": ...
    def features(self, database: Database | None = None, at: Time | None = None, kind: Kind | None = None) -> object:
        """The features, the label and the time of each row of the label, as a frame of pandas, polars or pyarrow.

        With `at` the features of rows from then on, which need no label yet; if the label is one to come, those of each
        entity at that time."""
        with opened(self._database if database is None else database) as engine:
            return frame(_features(engine, self.suggestion, at), kind)

    @overload
    def split(self, kind: Literal["pandas"] | None = None) -> tuple[DataFrame, DataFrame]: ...
    @overload
    def split(self, kind: Literal["polars"]) -> "tuple[pl.DataFrame, pl.DataFrame]": ...
    @overload
    def split(self, kind: Literal["pyarrow"]) -> "tuple[pa.Table, pa.Table]": ...
    def split(self, kind: Kind | None = None) -> tuple[object, object]:
        """Its features in two frames: those of the rows that it was trained on, and of those that measured it."""
        gap = self.estimator.gap if self.suggestion.is_dated else None
        rows: Any = self.features(kind=kind)
        return split(rows, self.suggestion.time, self.start, gap)

    # -- how it prints -------------------------------------------------------------------------------------------------

    def _title(self) -> str:
        model = self.estimator.model_
        features = f"{amount(len(self.lines))} feature{'s' * (len(self.lines) != 1)}"
        return f"{self.suggestion.label}: {features}, {amount(model.join_rows)} rows to learn from"

    def _table(self) -> list[tuple[str, ...]]:
        each, names = self._each(), _shown(self._each()["sqlsvm"])
        return [("", *names), *((who, *(_written(own.get(n)) for n in names)) for who, own in each.items())]

    def __str__(self) -> str:
        later = f"On rows from {self.start} on:"
        features = [(w.feature, w.table, w.window, f"{w.weight:+.3f}") for w in self._heaviest()[:MOST]]
        parts = (
            self._title(),
            f"{later}\n{cells.aligned(self._table())}",
            f"Proof: {self.certificate_}",
            cells.aligned([("feature", "of", "window", "scaled weight"), *features]),
            *([f"Questions: {' '.join(self.suggestion.questions)}"] if self.suggestion.questions else []),
        )
        return "\n\n".join(parts)

    def as_json(self) -> dict[str, Any]:
        features = [asdict(each) for each in self._heaviest()]
        return {
            "label": self.suggestion.label,
            "start": self.start,
            "measures": self._each(),
            "certificate": asdict(self.certificate_),
            "features": features,
            "seconds": self.seconds,
            "query": self.query,
            "questions": self.suggestion.questions,
        }

    def __repr__(self) -> str:
        return f"Learned({self.suggestion.label!r}, {self.estimator!r})"

    def _heaviest(self) -> list["Weighed"]:
        by_name = {line.feature: line for line in self.lines}
        found: dict[str, float] = {}
        for weight in self.estimator.model_.parts[0].weights:
            found[weight.feature] = max(found.get(weight.feature, 0.0), weight.scaled_weight, key=abs)
        known = (Weighed(**vars(by_name[name]), weight=value) for name, value in found.items() if name in by_name)
        return sorted(known, key=lambda each: -abs(each.weight))

    def _repr_html_(self) -> str:
        rows = [(w.feature, w.table, w.window, f"{w.weight:+.3f}", w.sql) for w in self._heaviest()]
        head = ("feature", "of", "window", "scaled weight", "SQL")
        questions = list(map(cells.paragraph, self.suggestion.questions))
        return cells.block(
            cells.heading(self._title()),
            cells.paragraph(f"On rows from {self.start} on, which it was not trained on:"),
            cells.table(*self._table()),
            cells.paragraph(f"Proof: {self.certificate_}"),
            cells.table(head, *rows[:MOST]),
            cells.fold(f"{len(rows) - MOST} more", cells.table(head, *rows[MOST:])) if rows[MOST:] else None,
            cells.fold("questions", questions) if questions else None,
            cells.fold("the query", cells.code(self.query)),
        )

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


@dataclass(frozen=True)
class Weighed(Line):
    weight: float  # of the scaled feature; of categories the largest


@in_python
def learn(
    database: Database,
    table: str,
    label: str | None = None,
    time: str | None = None,
    *,
    compare: bool = True,
    **options: object,
) -> Learned:
    """From tables to a model: suggest the query for a label, check that nothing in it comes from the future, train on
    the earlier rows, and measure on the latest fifth. `compare` trains LightGBM, if it is installed, on the same
    features and the same split.

    Other options are those of `suggest` and parameters of the estimators, such as l1="auto" or holdout="2026-01-01"."""
    if not isinstance(table, str):
        raise OptionError(f"the table is a name, not a {type(table).__name__}", hint='learn(database, "orders")')
    began = perf_counter()
    to_suggest = {name: options.pop(name) for name in list(options) if name in PARAMETERS}
    with opened(database) as engine:
        suggestion = asked_of(engine, table, label, time, **to_suggest)
        alone, dialect = _label_alone(engine, suggestion), engine.dialect
        estimator = _estimator(suggestion, _is_number(engine, alone), to_suggest, options)
        estimator.holdout = _start(engine, alone, suggestion, estimator.holdout)
    suggested = perf_counter()
    found = list[Measured]()

    def told(problem: Data, model: Model) -> None:
        found.append(measure_held_out(problem, model))

    fit_told(estimator, database, suggestion.query, suggestion.label, told)
    evaluation: Any = found[-1] if found else estimator.evaluate(part="holdout")
    seconds = {"suggest": suggested - began, "train": perf_counter() - suggested}
    others = {"baseline": _baseline(estimator, evaluation)}
    each = tuple(lines(parse(suggestion.query, dialect), suggestion, dialect))
    made = Learned(suggestion, estimator, evaluation, others, seconds, each, dialect, database)
    if not (compare and find_spec("lightgbm")):
        return made
    began = perf_counter()
    measured = values_of(_of_lightgbm(made, evaluation))
    return replace(made, others=others | {"LightGBM": measured}, seconds=seconds | {"LightGBM": perf_counter() - began})


def _estimator(
    suggestion: Suggestion, of_numbers: bool, to_suggest: Mapping[str, Any], options: Mapping[str, Any]
) -> RelationalSVC | RelationalSVR:
    """A label to come is known late, so rows whose label reaches into the later rows are in neither part."""
    how: dict[str, Any] = {"holdout": SHARE, "time": suggestion.time}
    if suggestion.is_dated:
        how |= {"as_of": suggestion.time, "gap": to_suggest.get("within")}
    asked = {**how, **options}
    if asked["holdout"] is None:
        raise OptionError("learn measures on later rows", hint="say which: holdout=0.2, or the time of the first")
    if not of_numbers:
        return RelationalSVC(**asked)
    return RelationalSVR(**asked) if "loss" in asked else RelationalRidge(**asked)


def _label_alone(engine: Engine, suggestion: Suggestion) -> exp.Select:
    """The label, which is of the first table of the query, and its time."""
    tree = parse(suggestion.query, engine.dialect)
    (label,) = (each for each in tree.expressions if each.alias_or_name == suggestion.label)
    alone = exp.select(label.copy()).from_(tree.args["from_"].this.copy())
    if with_ := tree.args.get("with_"):
        alone.set("with_", with_.copy())
    return with_time(alone, suggestion.time)


def _start(engine: Engine, alone: exp.Select, suggestion: Suggestion, holdout: Any) -> float | str | None:
    """From when on rows are later: found without the features, which the training would make for it."""
    training = Training.of(label=suggestion.label, time=suggestion.time, holdout=holdout)
    found: float | str | None = with_start(engine, alone.sql(engine.dialect), {"": training}, Clock())[""].holdout
    return found


def _is_number(engine: Engine, alone: exp.Select) -> bool:
    """Has the label more than two numbers?"""
    rows = input_rows(engine, alone.sql(engine.dialect))
    with engine.snapshot():
        column, *_ = engine.describe(rows)
        if column.kind != "numeric":
            return False
        different = exp.Count(this=exp.Distinct(expressions=[exp.column(column.name, "r", quoted=True)]))
        counted = exp.select(exp.alias_(different, "n")).from_(rows.subquery("r"))
        return float(engine.fetch(counted)["n"][0]) > 2


def _features(engine: Engine, suggestion: Suggestion, at: Any) -> dict[str, Values]:
    tree = with_time(parse(suggestion.query, engine.dialect), suggestion.time)
    if at is not None:
        tree = at_time(tree, suggestion, str(at))
    with engine.snapshot():
        return engine.fetch(input_rows(engine, tree.sql(engine.dialect)))


T = TypeVar("T")


@in_python
def split(rows: T, time: str, holdout: float | str = SHARE, gap: float | str | None = None) -> tuple[T, T]:
    """A frame in two: its earlier rows, and the latest ones, as `time`, `holdout` and `gap` of the estimators do it.

    `holdout` is the share of the latest rows, or the time of the first of them; `gap` leaves so much before it out."""
    table: Any = rows
    values = _times(table[time])
    known = np.sort(values[values == values])
    is_share = not isinstance(holdout, str)
    start: Any = known[int((1.0 - float(holdout)) * len(known))] if is_share else _as_time(str(holdout), values)
    before = start if gap is None else start - _span(gap, values)
    earlier, later = values < before, values >= start
    if not (earlier.any() and later.any()):
        raise DataError(
            f"no rows are {'later' if earlier.any() else 'earlier'} than {start}", hint="take another start"
        )
    return _of(table, earlier), _of(table, later)


def _as_time(start: str, values: Values) -> Any:
    return float(start) if values.dtype.kind in "iuf" else np.datetime64(start, "us")


def _span(gap: float | str, values: Values) -> Any:
    number, unit = Span.read(gap)
    if values.dtype.kind in "iuf":
        return number
    return np.timedelta64(round(number * (unit or DAY) * 1e6), "us")


def _times(column: Any) -> Values:
    found = np.asarray(column)
    return found if found.dtype.kind in "iuf" else found.astype("datetime64[us]")


def _of(rows: Any, mask: Values) -> Any:
    match kind_of(rows):
        case "pandas":
            return rows[mask]
        case "polars" | "pyarrow":
            return rows.filter(mask.tolist())
    return {name: np.asarray(values)[mask] for name, values in rows.items()}


# -- what stands beside it ---------------------------------------------------------------------------------------------


def _baseline(estimator: Relational, found: Any) -> dict[str, float]:
    """The most frequent class of the training for all rows, or the mean."""
    model = estimator.model_
    if isinstance(found, Residuals):
        return {"r2": 0.0}
    if isinstance(found, Confusion):
        return {"accuracy": float(max(found.rows) / sum(found.rows)), "balanced_accuracy": 1.0 / len(found.rows)}
    usual = found.positives if model.label_rows.get("1", 0.0) > model.label_rows.get("-1", 0.0) else found.negatives
    return {"auc": 0.5, "accuracy": usual / found.rows, "balanced_accuracy": 0.5}


def _of_lightgbm(made: Learned, found: Any) -> Any:
    """With its own defaults."""
    import lightgbm

    model, label = made.estimator.model_, made.suggestion.label
    parts = made.split("pandas")
    columns = [each.feature for each in made.lines if each.feature != made.suggestion.time]
    values = [str(each) for each in model.trained_on.label_values]
    data = [part[columns].copy() for part in parts]
    for name in columns:
        if data[0][name].dtype.kind in "OTU":
            known = data[0][name].astype("category").cat.categories
            data = [each.assign(**{name: each[name].astype("category").cat.set_categories(known)}) for each in data]
    y = [part[label].to_numpy() for part in parts]
    if not isinstance(found, Residuals):
        y = [np.array([values.index(str(each)) for each in own]) for own in y]
    kinds = {Residuals: "regression", Evaluation: "binary", Confusion: "multiclass"}
    how = {"objective": kinds[type(found)], "verbosity": -1, "seed": 0, "num_threads": 0}
    how |= {"num_class": len(values)} if isinstance(found, Confusion) else {}
    trees = lightgbm.train(how, lightgbm.Dataset(data[0], y[0].astype(float)), 100)
    scores: Any = trees.predict(data[1], raw_score=True)
    codes = {TWO: 2.0 * y[1] - 1.0, SEVERAL: y[1] + 1, NUMBER: y[1].astype(float)}[found.kind]
    return answered(found.kind, Scored(scores.T, codes, np.ones(len(codes))), names=tuple(values))


def _shown(measured: Mapping[str, float]) -> list[str]:
    return [name for name in SHOWN if name in measured]


def _written(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


documented(
    learn,
    {
        **SAID,
        "database": "What you have: see the `fit` of the estimators.",
        "compare": "Whether to train LightGBM too, if it is installed.",
        "options": "Those of `suggest`, and parameters of the estimators.",
    },
)
documented(
    split,
    {
        "rows": "A frame of pandas, polars or pyarrow, or columns by name.",
        "time": "The column that says when a row is.",
        "holdout": "The share of the latest rows, or the time of the first of them.",
        "gap": "So much before that time is in neither part.",
    },
)
