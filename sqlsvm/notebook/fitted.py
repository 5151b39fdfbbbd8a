"""What can be done with the model of an estimator: keep it, export it, report on it, draw it."""

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sqlsvm.engine.base import Engine
from sqlsvm.engine.given import Database, Query, digests, is_query, opened, query_of
from sqlsvm.errors import OptionError, SqlsvmError
from sqlsvm.measures import MEASURES, of_scores
from sqlsvm.model import predict as predicting
from sqlsvm.model.confusion import ByGroup, Confusion
from sqlsvm.model.evaluation import Evaluation, Residuals
from sqlsvm.model.model import Model
from sqlsvm.notebook import cells
from sqlsvm.notebook.frames import DataFrame, frame
from sqlsvm.notebook.told import all_in_python, in_python
from sqlsvm.options import OF_SESSION, OPTIONS
from sqlsvm.query.rewrites.split import Part
from sqlsvm.store import Store, open_store

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from onnx import ModelProto
    from sklearn.pipeline import Pipeline

    from sqlsvm.report.gather import Report

Place = Database | PathLike[str]  # where a model is kept: a file that ends in .json, or a database


class ChangedWarning(UserWarning):
    """Frames have other rows than those that a model was trained on."""


class NotFittedError(SqlsvmError, ValueError, AttributeError):
    """There is no model before `fit`."""


def _not_fitted() -> type[NotFittedError]:
    """That of scikit-learn too, where it is used."""
    theirs = sys.modules.get("sklearn.exceptions")
    return type("NotFittedError", (NotFittedError, theirs.NotFittedError), {}) if theirs else NotFittedError


@dataclass(frozen=True)
class Certificate:
    """objective <= F(model) <= objective_upper, and no weights have an F below lower_bound."""

    objective: float
    objective_upper: float
    lower_bound: float
    gap: float
    converged: bool
    passes: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"objective {self.objective:.6g}, at most {self.objective_upper:.6g}; lower bound {self.lower_bound:.6g}; "
            f"gap {self.gap:.2g}, {'converged' if self.converged else 'not converged'}"
        )


@all_in_python
class Fitted:
    model_: Model
    offload: bool | Literal["auto"]
    evaluate: Callable[..., Any]

    def _fitted(self) -> Model:
        if not hasattr(self, "model_"):
            raise _not_fitted()(f"this {type(self).__name__} is not fitted yet", hint="fit(database, query, label)")
        return self.model_

    @contextmanager
    def _opened(self, database: Database) -> Iterator[Engine]:
        with opened(database) as engine:
            engine.place(**{name: getattr(self, name) for name in OF_SESSION})
            yield engine

    @contextmanager
    def _looking(self, database: Database | None, query: Query | None) -> Iterator[tuple[Engine, Model, bool | None]]:
        """The database, the model, perhaps with another query, and whether its rows are copied."""
        model, where = self._fitted(), database if database is not None else getattr(self, "_database", None)
        if database is None and (others := changed(where, getattr(self, "_digests", {}))):
            said = f"{', '.join(others)} changed after the training: the rows are those that are there now"
            warnings.warn(said, ChangedWarning, stacklevel=6)
        if where is None:
            raise OptionError("this model came without its database", hint="name it: a URL or an engine")
        if query is not None or (database is not None and is_query(database)):
            query = query_of(where, query)
        from sqlsvm.ask.rows import of_query

        with self._opened(where) as engine:
            model = model if query is None else of_query(engine, model, query)
            own = None if self.offload == "auto" else self.offload
            yield engine, model, None if engine.abilities.in_process else own

    # -- what is known of it -------------------------------------------------------------------------------------------

    @property
    def certificate_(self) -> Certificate:
        """What is proven of the model."""
        model = self._fitted()
        return Certificate(**{name: getattr(model, name) for name in Certificate.__dataclass_fields__})

    @property
    def weights_(self) -> DataFrame:
        """The weights as a frame, the most influential first: feature, category, weight, and the weight of the feature
        as it was scaled for the training. With several classes or groups, a column says whose they are."""
        model = self._fitted().linear()
        rows = [
            (*values, w.feature, w.category, w.weight, w.scaled_weight)
            for values, part in model.leaves
            for w in part.weights.heaviest()
        ]
        names = [*model.levels("class"), "feature", "category", "weight", "scaled_weight"]
        return frame(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))

    def measures(
        self, database: Database | None = None, query: Query | None = None, part: Part | None = None
    ) -> DataFrame:
        """What `evaluate` finds, as a frame: a row for each measure, with the interval of 95 % of rows held out. A
        model with groups has a row for each of them."""
        found = self.evaluate(database, query, part)
        return frame(_of_groups(found) if isinstance(found, ByGroup) else _of_measures(found))

    @property
    def validation_(self) -> DataFrame:
        """What the folds have measured as a frame: a row for each measure, with the mean, its error and each fold."""
        found = self._fitted().validation
        if not found:
            raise OptionError("this model was not measured in folds", hint="train with folds=5")
        folds = max(len(each.folds) for each in found.values())
        columns = {"measure": list(found), "mean": [each.mean for each in found.values()]}
        columns["standard_error"] = [each.standard_error for each in found.values()]
        columns |= {f"fold_{n + 1}": [each.folds[n] for each in found.values()] for n in range(folds)}
        return frame(columns)

    def __str__(self) -> str:
        return f"{self!r}\n\n{cells.text(self.model_)}" if hasattr(self, "model_") else repr(self)

    def _repr_html_(self) -> str:
        return cells.preformatted(str(self))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """In the terminal of IPython."""
        printer.text(str(self))

    # -- keeping it ----------------------------------------------------------------------------------------------------

    def save(self, place: Place, name: str | None = None) -> int:
        """Keep the model in a file, save("late.json"), or as a new version in a database, save("postgresql://...",
        "late"). `name` is by default that of the label. Returns the number of the version."""
        model = self._fitted()
        with _store(place) as store:
            return store.save(replace(model, name=name or model.name))

    def report(self, path: str | PathLike[str], database: Database | None = None, *, overwrite: bool = False) -> Path:
        """Write the proof, the join tree, the weights and the scores as one page of HTML."""
        from sqlsvm.files import replacing
        from sqlsvm.report import html

        page = Path(path).expanduser()
        if page.exists() and not overwrite:
            raise OptionError(f"{page} exists already", hint="overwrite=True replaces it")
        text = html(self._gathered(database), datetime.now())
        try:
            with replacing(page) as out:
                out.write(text)
        except OSError as error:
            raise OptionError(f"cannot write {page}", detail=str(error)) from error
        return page

    def _gathered(self, database: Database | None = None) -> "Report":
        from sqlsvm.report import gather_from

        with self._looking(database, None) as (engine, model, offload):
            return gather_from(engine, model.linear(), offload=offload)

    def _evaluated(self, database: Database | None) -> "Report":
        """Without what the charts of an evaluation do not need."""
        from sqlsvm.report.gather import Report, measured

        with self._looking(database, None) as (engine, model, offload):
            evaluation, seen, _ = measured(engine, model.ungrouped_only("a chart draws one").linear(), offload)
            return Report(model, evaluation=evaluation, seen=seen)

    # -- exports -------------------------------------------------------------------------------------------------------

    def score_sql(
        self, dialect: str | None = None, of: predicting.Of = "features", *, probability: bool = False
    ) -> str:
        """The score, or the probability of the positive class, as one SQL expression, for use anywhere."""
        return predicting.score_sql(self._fitted(), dialect, of, probability=probability)

    def to_sklearn(self) -> "Pipeline":
        """A pipeline of scikit-learn for data frames with the columns of the features. Its scores are the same."""
        from sqlsvm.model.to_sklearn import pipeline

        return pipeline(self._fitted())

    def to_onnx(self) -> "ModelProto":
        """A graph of ONNX, with an input for each feature; onnx.save(svc.to_onnx(), "late.onnx") writes it."""
        from sqlsvm.model.to_onnx import graph

        found: ModelProto = graph(self._fitted())
        return found

    # -- charts, on axes of matplotlib ---------------------------------------------------------------------------------

    def plot_gap(self, axes: "Axes | None" = None) -> "Axes":
        """The gap after each pass."""
        return self._plotted("gap", axes)

    def plot_convergence(self, axes: "Axes | None" = None) -> "Axes":
        """The objective and its lower bound after each pass."""
        return self._plotted("convergence", axes)

    def plot_reliability(self, axes: "Axes | None" = None, database: Database | None = None) -> "Axes":
        """The probabilities, and how often rows with such a probability are positive."""
        return self._plotted("reliability", axes, lambda: self._evaluated(database))

    def plot_roc(self, axes: "Axes | None" = None, database: Database | None = None) -> "Axes":
        """The ROC curve on the rows held out, or on all."""
        return self._plotted("roc", axes, lambda: self._evaluated(database))

    def plot_weights(self, top: int = 20, axes: "Axes | None" = None) -> "Axes":
        """The weights with the most influence, for the features as they were scaled. With groups or several classes,
        each is named with those that it is of."""
        from sqlsvm.report.png import bars

        leaves = self._fitted().linear().leaves
        each = [(values, w) for values, leaf in leaves for w in leaf.weights.heaviest(top)]
        heaviest = sorted(each, key=lambda one: -abs(one[1].scaled_weight))[:top]
        names = (w.feature if w.category is None else f"{w.feature} = {w.category}" for _, w in heaviest)
        of = (": ".join([*map(str, values), name]) for name, (values, _) in zip(names, heaviest, strict=True))
        named = {name: w.scaled_weight for name, (_, w) in zip(of, heaviest, strict=True)}
        return bars(named, "weight of the scaled feature", axes)

    def plot_effects(self, database: Database | None = None) -> "list[Axes]":
        """What each column that a map reads adds to the score, a chart each."""
        from sqlsvm.report.effects import effect_charts
        from sqlsvm.report.png import plot

        self._fitted().ungrouped_only("a chart draws one")
        drawn = [plot(chart) for chart in effect_charts(self._gathered(database))]
        if not drawn:
            raise OptionError("no map of this model reads one number", hint="train with map=['spline:COLUMN']")
        return drawn

    def _plotted(self, name: str, axes: "Axes | None", report: "Callable[[], Report] | None" = None) -> "Axes":
        from sqlsvm.report.gather import Report
        from sqlsvm.report.plots import PLOTS
        from sqlsvm.report.png import plot

        chart = PLOTS[name](report() if report else Report(self._fitted()))
        if chart is None:
            raise OptionError(f"this model has no {name} to draw", hint=_LACKS.get(name))
        return plot(chart, axes)


_LACKS = {"reliability": "train with probability='sigmoid', and holdout=0.2 or folds=5"}


@in_python
def plot_path(path: "Sequence[Fitted]", axes: "Axes | None" = None) -> "Axes":
    """What the folds of a `fit_path` have measured, by the measure that decides; without folds the objectives, with
    their lower bounds."""
    from sqlsvm.report.plots import path_charts
    from sqlsvm.report.png import plot
    from sqlsvm.show.several import Trained

    for name, option in OPTIONS.items():
        values = [getattr(each, name) for each in path] if option.several else []
        if len(set(values)) > 1:
            models = [each._fitted() for each in path]
            means = [{name: each.mean for name, each in model.validation.items()} for model in models]
            trained = zip(values, models, means, strict=True)
            drawn = path_charts([Trained(v, model, own, None, False) for v, model, own in trained], option)
            if drawn:
                own = (getattr(path[0], "measure", None), "auc", "accuracy", "r2")
                return plot(next((drawn[f"path_{n}"] for n in own if f"path_{n}" in drawn), drawn["path"]), axes)
    raise OptionError("there is no path to draw", hint="give what fit_path(..., lam=[1e-1, 1e-2]) returns")


def changed(frames: object, before: Mapping[str, str]) -> list[str]:
    """The frames with other rows than before."""
    now = digests(frames) if before else {}
    return [name for name, digest in before.items() if now.get(name) != digest]


@contextmanager
def _store(place: Place) -> Iterator[Store]:
    if isinstance(place, PathLike) or (isinstance(place, str) and place.endswith(".json")):
        yield open_store(place)
        return
    with opened(place) as engine:
        yield open_store(engine)


def stored(place: Place, name: str | None = None, version: int | None = None) -> Model:
    """A model that was kept. If there is only one, its name may be left out."""
    with _store(place) as store:
        if name is None:
            names = sorted({each.name for each in store.models()})
            if len(names) != 1:
                hint = f"there are {', '.join(names)}" if names else "save() keeps one; is the place right?"
                raise OptionError("which model?" if names else "no model is stored here", hint=hint)
            (name,) = names
        return store.load(name, version)


# -- measures as columns of a frame ------------------------------------------------------------------------------------


def _of_measures(found: Evaluation | Residuals | Confusion) -> dict[str, list[Any]]:
    """The ends of an interval are nan where there is none."""
    values = values_of(found) | {name: each.value for name, each in found.intervals.items()}
    ends = [(found.intervals[n].lower, found.intervals[n].upper) if n in found.intervals else NONE for n in values]
    lower, upper = zip(*ends, strict=True)
    return {"measure": [*values], "value": [*values.values()], "lower": [*lower], "upper": [*upper]}


NONE = (float("nan"), float("nan"))


def _of_groups(found: ByGroup) -> dict[str, list[Any]]:
    each = [values_of(one.found) for one in found.groups]
    names = dict.fromkeys(name for values in each for name in values)
    rows = {name: [values.get(name, NONE[0]) for values in each] for name in names}
    return {found.by: [one.value for one in found.groups], "rows": [one.rows for one in found.groups], **rows}


def values_of(found: Evaluation | Residuals | Confusion) -> dict[str, float]:
    if isinstance(found, Confusion):
        return found.measures
    names = of_scores(found.kind, probabilities=True)
    known = {name: MEASURES[name].value(found) for name in names}
    return {name: value for name, value in known.items() if value is not None}
