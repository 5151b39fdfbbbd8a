"""RelationalSVC, RelationalSVR and others have the interface of scikit-learn, which need not be installed."""

import logging
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass, field, fields
from datetime import date, timedelta
from functools import partial
from inspect import Parameter, Signature, cleandoc
from os import PathLike
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, overload

import numpy as np

from sqlsvm.ask.describe import Description, describe
from sqlsvm.ask.evaluate import measure, measure_held_out
from sqlsvm.ask.leaks import check_leaks
from sqlsvm.ask.rows import on_all, on_parts, roles_of
from sqlsvm.ask.validation import OnUnseen, trained
from sqlsvm.engine.base import Engine, Values
from sqlsvm.engine.given import Backed, Database, Query, digests, is_query, opens_anew, query_of, with_label
from sqlsvm.errors import DataError, EngineError, OptionError, nearest
from sqlsvm.measures import MEASURES
from sqlsvm.model import predict as predicting
from sqlsvm.model.confusion import ByGroup, Confusion
from sqlsvm.model.evaluation import Evaluation, Residuals
from sqlsvm.model.memory import Column, Frame, Input, chances, scores
from sqlsvm.model.model import Model
from sqlsvm.model.probability import OWN_PROBABILITY, of_classes
from sqlsvm.model.score import PREDICTION, PROBABILITY, SCORE
from sqlsvm.model.stored_query import stored_query
from sqlsvm.model.weights import Weight
from sqlsvm.notebook.fitted import Fitted, Place, stored
from sqlsvm.notebook.frames import DataFrame, columns_of, kind_of, like
from sqlsvm.notebook.frames import frame as frame_of
from sqlsvm.notebook.progress import Verbose, watched
from sqlsvm.notebook.rows import Rows, checked_rows, given_rows, is_column
from sqlsvm.notebook.told import all_in_python, described, in_python
from sqlsvm.options import (
    MACHINES,
    NUMBER_LOSSES,
    OF_SESSION,
    OPTIONS,
    REHLINE,
    CacheKind,
    CacheShare,
    ClassWeights,
    Counting,
    Intercept,
    KernelName,
    LossName,
    Nulls,
    ProbabilityMethod,
    Scale,
    Solver,
)
from sqlsvm.query.rewrites.split import PARTS, Part
from sqlsvm.rules import named
from sqlsvm.run.clock import whole
from sqlsvm.run.components import Components, K, components
from sqlsvm.run.resume import Continuation, Saved, outlasting
from sqlsvm.run.training import Training
from sqlsvm.solve.loss.custom import given

if TYPE_CHECKING:
    from sklearn.utils import Tags


steps = logging.getLogger(__name__)


class ParameterError(OptionError, ValueError):
    """A parameter is unknown, or its value is."""


class UnknownParameter(ParameterError, TypeError):
    """There is no parameter of this name."""


def meant(name: str, known: Iterable[str]) -> str:
    """The objective here is the mean of the losses, and lam times the square of the scaled weights."""
    strengths = {
        "C": "for a C over n rows, lam = 1 / (2 * C * n): C=1 and 10,000 rows are lam=5e-5",
        "alpha": "for the alpha of SGDClassifier lam = alpha / 2; for that of Ridge over n rows lam = alpha / (2 * n)",
        "l1_ratio": "of ElasticNet: l1 = alpha * l1_ratio, and lam = alpha * (1 - l1_ratio) / 2",
        "max_iter": "max_passes is the most passes over the tables",
        "random_state": "seed is the seed",
    }
    return strengths.get(name) or nearest(name, known) or f"there are {', '.join(known)}"


class ConvergenceWarning(UserWarning):
    """The passes ran out before the gap was proven."""


@all_in_python
@dataclass(eq=False, repr=False)
class Relational(Fitted):
    """What the estimators share."""

    of_numbers: ClassVar[bool]  # is the label a number?
    lam: float | Literal["auto"] | None = None
    _: KW_ONLY
    l1: float | Literal["auto"] = 0.0
    measure: str | None = None
    constrain: str | Sequence[str] = ()
    tol: float = 1e-3
    solver: Solver = "dane"
    counting: Counting = "auto"
    epsilon: float = 0.1
    max_passes: int = 100
    scale: Scale = "standard"
    intercept: Intercept | None = None
    class_weight: ClassWeights | None = "none"
    loss: LossName | Literal["auto"] | None = None
    width: float = 0.5
    tube: float = 0.1
    quantile: float = 0.5
    delta: float = 1.0
    pieces: Sequence[Sequence[float | None]] | str = ()
    nulls: Nulls | None = None
    positive: str | float | None = None
    categorical: str | Sequence[str] = ()
    top: str | Sequence[str] | Mapping[str, int] = ()
    rare: int = 0
    map: str | Sequence[str] = ()
    by: str | None = None
    weight: str | None = None
    sample: int | Literal["auto"] = "auto"
    in_memory: int | Literal["auto"] = "auto"
    holdout: float | str | None = None
    folds: int | None = None
    split_by: str | None = None
    time: str | None = None
    gap: float | str | None = None
    as_of: str | None = None
    probability: ProbabilityMethod | None = None
    seed: int = 0
    kernel: KernelName | None = None
    gamma: float | Literal["auto"] = "auto"
    cache: CacheKind = "two-level"
    cache_mb: float = 200.0
    cache_share: CacheShare = "lru"
    offload: bool | Literal["auto"] = "auto"
    work_schema: str | None = None
    no_temp: bool = False
    work_folder: str | None = None
    make_at_most: int = 50_000_000
    warm_start: bool = False
    verbose: Verbose = "auto"

    coef_: Values = field(init=False)
    groups_: Values = field(init=False)
    dual_coef_: Values = field(init=False)
    intercept_: Values = field(init=False)
    feature_names_in_: Values = field(init=False)
    n_features_in_: int = field(init=False)  # of a training on rows in memory
    n_iter_: int = field(init=False)
    objective_: float = field(init=False)
    objective_upper_: float = field(init=False)
    lower_bound_: float = field(init=False)
    gap_: float = field(init=False)
    history_: tuple[Mapping[str, Any], ...] = field(init=False)
    model_: Model = field(init=False)

    def __new__(cls, *given: Any, **named: Any) -> Self:
        """An unknown parameter is answered with the one that is meant."""
        for name in named:
            if name not in cls._defaults():
                raise UnknownParameter(f"{cls.__name__} has no parameter {name}", hint=meant(name, cls._defaults()))
        return super().__new__(cls)

    @property
    def _finds_probability(self) -> bool:
        return False

    # -- parameters ----------------------------------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **params: object) -> Self:
        """Set all of them or, if one is unknown, none."""
        for name in params:
            if name not in self._defaults():
                raise UnknownParameter(
                    f"{type(self).__name__} has no parameter {name}", hint=meant(name, self._defaults())
                )
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """Only the parameters that differ from their defaults."""
        given = [f"{n}={v!r}" for n, v in self.get_params().items() if repr(v) != repr(self._defaults()[n])]
        return f"{type(self).__name__}({', '.join(given)})"

    def __getstate__(self) -> dict[str, Any]:
        """A pickle holds neither a session nor a URL, which may have a password."""
        return {name: value for name, value in vars(self).items() if name != "_database"}

    def __sklearn_tags__(self) -> "Tags":
        """Asked for by scikit-learn alone."""
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type="regressor" if self.of_numbers else "classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=None if self.of_numbers else ClassifierTags(multi_class=True),
            regressor_tags=RegressorTags() if self.of_numbers else None,
            input_tags=InputTags(string=True, dict=True, allow_nan=self.nulls != "error"),
        )

    # -- training ------------------------------------------------------------------------------------------------------

    def fit(self, database: Database | Input, query: Query | Column | None = None, label: str | None = None) -> Self:
        """Train on the rows of a query, inside the database; or on a frame or an array and a column: fit(X, y). With
        `warm_start` the training goes on from the one before: from its passes, if it was interrupted or did not
        converge, and else from its weights.

        Parameters
        ----------
        database : what you have
            A URL, such as duckdb:shop.duckdb; a connection of DuckDB or psycopg, which stays open; an engine, a
            connection or a URL of SQLAlchemy; a table or an expression of ibis; a session of Spark; or frames by name:
            {"orders": orders, "customers": customers}.
        query : SQL
            One row for each training example. It is read, and not run. That of an expression of ibis is its own.
        label : the name of a column
            The output of the query to predict. All others are features.
        """
        if label is None and query is None and (is_column(database) or kind_of(database)):
            name = type(self).__name__
            raise ParameterError(f"{name} requires y to be passed, but the target y is None", hint="fit(X, y)")
        if label is None and is_column(query):
            return self._fit_rows(given_rows(self, database, query, self.of_numbers))
        given: Any = database
        text, label = with_label(given, query, label)
        label = self._label(label)
        (model,) = self._trained(given, text, {label: self._training(label)})
        self._fit(given, model)
        return self

    def _fit_rows(self, rows: Rows) -> Self:
        """The later one of two classes is positive, as in scikit-learn."""
        positive = self.positive
        try:
            self.positive = rows.positive if positive is None else positive
            self.fit(rows.frames, rows.query, rows.label)
        finally:
            self.positive = positive
        self.n_features_in_ = rows.columns
        return self

    def fit_path(
        self, database: Database, query: Query | None = None, label: str | None = None, **values: Sequence[float]
    ) -> list[Self]:
        """A fitted copy for each value of lam, l1 or quantile: fit_path(database, query, label, lam=[1e-1, 1e-2]). It
        is one training, which shares the sample and, apart from quantiles, the passes."""
        each = [dict([pair]) for pair in _each(values)]
        return self.fit_each(database, query, label, each)

    def fit_each(
        self, database: Database, query: Query | None, label: str | None, values: Sequence[Mapping[str, Any]]
    ) -> list[Self]:
        """A fitted copy for each of these values of lam, l1 or quantile, in one training."""
        query, label = with_label(database, query, label)
        label = self._label(label)
        copies = [type(self)(**(self.get_params() | dict(given))) for given in values]
        names = ("_".join([label, *(f"{value:.12g}" for value in given.values())]) for given in values)
        named = dict(zip(names, copies, strict=True))
        trainings = {name: copy._training(label, several=len(copies) > 1) for name, copy in named.items()}
        for copy, model in zip(copies, self._trained(database, query, trainings), strict=True):
            copy._fit(database, model)
        return copies

    def _label(self, label: str | None) -> str:
        if label is None:
            raise ParameterError("which column of the query is the label?", hint="fit(database, query, label)")
        return label

    def _trained(
        self,
        database: Database,
        query: Query | None,
        trainings: Mapping[str, Training],
        on_unseen: OnUnseen | None = None,
    ) -> list[Model]:
        """If something ends it, its passes are kept for another `fit` with `warm_start`."""
        before: Saved | None = getattr(self, "_passes", None) if self.warm_start else None
        start = getattr(self, "model_", None) if self.warm_start and not before else None
        began = perf_counter()
        one_loss = len({training.named_loss for training in trainings.values()}) == 1
        known = dict.fromkeys(trainings, Continuation(before)) if one_loss else {}
        try:
            with ExitStack() as connections, watched(self.verbose, self.tol) as told:
                engine = connections.enter_context(self._opened(database))
                opens = (lambda: self._opened(database)) if opens_anew(database) else None
                text, alone = query_of(database, query), len(trainings) == 1
                check_leaks(engine, text, next(iter(trainings.values())))

                def train(on: Engine) -> list[Model]:
                    found = trained(on, text, trainings, lambda name: told(name, alone), known, start, told=on_unseen)
                    return whole(found, began)

                _, models = outlasting(engine, opens, known, connections, train, steps.info)
        except (KeyboardInterrupt, EngineError):
            self._passes = next((each.last or each.before for each in known.values()), before)
            raise
        self._passes = next((each.last for each in known.values() if each.unfinished), None)
        return models

    def _fit(self, database: Database, model: Model) -> None:
        self._database, self._digests = database, digests(database)
        self._take(model)
        if not model.converged:
            warnings.warn(
                f"the gap is {model.gap:.2g} after {model.passes} passes, not {self.tol:g}: raise max_passes, or tol",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _training(self, label: str, *, several: bool = False) -> Training:
        params = {name: value for name, value in self.get_params().items() if name in OPTIONS}
        found = {name: _as_option(name, value) for name, value in params.items()}
        for name, value in found.items():
            if not OPTIONS[name].allows(value):
                raise ParameterError(f"{name} {OPTIONS[name].must}, not {getattr(self, name)!r}")
        if (found["loss"] in NUMBER_LOSSES) != self.of_numbers:
            hint = f"use Relational{'SVC' if self.of_numbers else 'SVR'}"
            raise ParameterError(f"the loss {self.loss} is not for {type(self).__name__}", hint=hint)
        for name in OF_SESSION:
            del found[name]
        found["classes"] = not self.of_numbers
        found["curves"] = self._finds_probability
        more = {"several": "a parameter" if several else None, "warm_start": self.warm_start}
        return Training.of(label=label, **named(found, **more))

    def _take(self, model: Model) -> None:
        self.model_ = model
        if model.support:
            self.dual_coef_ = np.array([model.support.coefficients])
        elif model.groups:
            self.groups_ = np.array([of.value for of in model.groups], dtype=object)
        else:
            self.coef_ = np.array([part.weights.values for part in model.parts])
        self.intercept_ = np.array([leaf.constant for _, leaf in model.leaves])
        names = [term.feature for term in model.inputs] if model.groups else [_name(w) for w in model.parts[0].weights]
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_iter_ = model.passes
        for name in ("objective", "objective_upper", "lower_bound", "gap", "history"):
            setattr(self, f"{name}_", getattr(model, name))

    # -- use -----------------------------------------------------------------------------------------------------------

    def set_output(self, *, transform: Literal["default", "pandas", "polars", "pyarrow"] | None = None) -> Self:
        """What predictions and scores of rows in memory are: arrays by default, else series and frames."""
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}  # `clone` of scikit-learn keeps it by this name
        return self

    def _output(self, X: Input, values: Values, name: str, columns: Iterable[object] = ()) -> Values:
        """An array by its type, as in scikit-learn, also where set_output asks for frames."""
        kind = getattr(self, "_sklearn_output_config", {}).get("transform", "default")
        found: Values = like(X, values, name, columns, None if kind == "default" else kind)
        return found

    def decision_function(self, X: Input) -> Values:
        """intercept + the sum of weight * column; nan for a row with a NULL, if no mean was trained for it. With more
        than two classes, one column for each of classes_."""
        return self._output(X, self._scores(X), SCORE, getattr(self, "classes_", ()))

    def _scores(self, X: Input) -> Values:
        return self._of_each(scores, X)

    def _of_each(self, of: Callable[[Model, Frame], Values], X: Input) -> Values:
        """With more than two classes, a column for each."""
        model = self._fitted()
        rows = columns_of(checked_rows(self, X) if hasattr(self, "n_features_in_") else X)
        return np.column_stack([of(part, rows) for part in model.against_others]) if model.kinds else of(model, rows)

    @overload
    def predict(self, X: Backed) -> DataFrame: ...
    @overload
    def predict(self, X: Input) -> Values: ...
    @overload
    def predict(self, X: Database, query: Query) -> DataFrame: ...
    def predict(self, X: Input | Database, query: Query | None = None) -> "Values | DataFrame":
        """predict(frame): the prediction for each row in memory: the label's own value, or the score if the label is a
        number. A row with a NULL is refused, if no mean was trained for it; of a number it is nan.

        predict(database, query), or predict(expression) of ibis: the rows in the database, as a frame with the columns
        score and prediction, and the probability if the model has one. Frames by name give their own kind."""
        given: Any = X
        if query is None and not is_query(given):
            return self._output(given, self._predicted(given), PREDICTION)
        model, text = self._fitted(), query_of(given, query)
        with self._opened(given) as engine, engine.snapshot():
            found = engine.fetch(predicting.predict(engine, model, text, probability=model.likely))
        return frame_of(found, next(map(kind_of, X.values()), None) if isinstance(X, Mapping) else None)

    def _predicted(self, X: Input) -> Values:
        return self._scores(X)

    def describe(self, database: Database | None = None, query: Query | None = None) -> Description:
        """What is in the columns of its query, or of another, over the join: as `sqlsvm describe` says it."""
        with self._looking(database, query) as (engine, model, offload):
            text = stored_query(engine, model)
            return describe(engine, text, positive=model.positive, offload=offload, **roles_of(model))

    def components(self, k: int = K, database: Database | None = None, query: Query | None = None) -> Components:
        """The first principal components of the numbers of its query, or of another, scaled as it scales them."""
        with self._looking(database, query) as (engine, model, offload):
            how: dict[str, Any] = {"nulls": model.nulls, "scale": self.scale, "offload": offload}
            return components(engine, stored_query(engine, model), k=k, **how, **roles_of(model))

    def _quality(self, database: Database | None, query: Query | None, part: Part | None) -> Any:
        if part not in (None, *PARTS):
            raise ParameterError(f"part is {part!r}", hint=f"it can be {', '.join(PARTS)}")
        with self._looking(database, query) as (engine, model, offload):
            measured = partial(measure_held_out if part == "holdout" else measure, model=model)
            if part is None:
                return on_all(engine, model, measured, offload=offload)
            return on_parts(engine, model, measured, [part], offload=offload)[part]

    def _value(self, name: str, database: Database | None, query: Any) -> float:
        """Of a measure, over all groups if there are some; nan where there is none."""
        found = self._quality(database, query, None)
        whole = found.whole if isinstance(found, ByGroup) else found
        value = MEASURES[name].value(whole) if whole else None
        return np.nan if value is None else value

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        return {f.name: f.default for f in fields(cls) if f.init}


@all_in_python
@dataclass(eq=False, repr=False)
class RelationalSVC(Relational):
    """A linear SVM over the rows of a query. The options and their defaults are those of `sqlsvm train`.

    `top` can also be {"city": 50}, and `class_weight` the pair (W-, W+). `model_.validation` has what `folds` measured,
    `evaluate(part="holdout")` measures the rows held out, and `predict_proba` is for a model with `probability`.

    After `fit`:
        dual_coef_          of a kernel machine, which has no coef_: the coefficient of each support vector
        coef_               one weight for each of feature_names_in_, on the columns as they are; its shape is (1, n),
                            or (K, n) if the label has K classes, more than two
        intercept_          its shape is (1,) or (K,)
        feature_names_in_   the name of a number, or name=category; name=(other) where all others share a weight
        classes_            the label's own values, the negative one first; of more than two, in their order
        n_iter_             passes made
        objective_, objective_upper_, lower_bound_, gap_
                            the certificate: objective_ <= F(model) <= objective_upper_ and lower_bound_ <= min F;
                            of more than two classes the means, and the largest gap: model_.classes has those of each
        history_            the certificate after every pass
        model_              all of it, also the seconds of each phase

    With `by` there are no coef_, and groups_ are the values of that column that have a model: model_.groups has the
    weights and the certificate of each. Rows must have the column. `predict` gives None for a row of no group.
    """

    of_numbers = False

    classes_: Values = field(init=False)

    def _take(self, model: Model) -> None:
        super()._take(model)
        self.classes_ = np.array(model.trained_on.label_values)

    def _predicted(self, X: Input) -> Values:
        """The positive value where the score is above 0; of more classes, that with the largest score."""
        found = self._scores(X)
        place = found.argmax(axis=1) if found.ndim == 2 else (found > 0).astype(int)
        predicted, lost = self.classes_[place], np.isnan(found if found.ndim == 1 else found.sum(axis=1))
        if self._fitted().groups:
            return np.asarray(np.where(lost, None, predicted.astype(object)))
        if lost.any():
            hint = "train with nulls='mean'"
            raise DataError(f"{lost.sum():,} rows have no score: a feature is missing in them", hint=hint)
        return np.asarray(predicted)

    def score(self, X: Database | Input | None = None, y: Query | Column | None = None) -> float:
        """The accuracy: score(frame, labels) of rows in memory, score(database, query) of the rows of a query, and
        score() of those that its own query has now. If these are of frames that changed after the training, a warning
        says so."""
        rows: Any = X
        if is_column(y):
            return float(np.mean(self._predicted(rows) == np.asarray(y)))
        return self._value("accuracy", rows, y)

    def predict_proba(self, X: Input) -> Values:
        """For each row the probability of each of classes_. The logistic loss of two classes has one of its own, if
        lam is given. Otherwise a sigmoid is fitted to scores of rows that were not seen: those of `holdout` or `folds`
        with `probability`, else the rows of the sample, each scored by weights that four fifths of the others give. A
        kernel machine has none. nan for a row with a NULL, if no mean was trained for it. More than two classes are
        each fitted against all others, and their probabilities divided by the sum."""
        model = self._fitted()
        if self._has_own_probability:
            found = OWN_PROBABILITY(self._scores(X))
        else:
            model.must_be_likely()
            found = self._of_each(chances, X)
        return self._output(X, of_classes(found), PROBABILITY, self.classes_)

    @property
    def _has_own_probability(self) -> bool:
        model = self._fitted()
        return model.loss == "logistic" and not model.likely and not model.groups

    @property
    def _finds_probability(self) -> bool:
        """Whether a fit fits one to rows of its sample that parts of it have not seen."""
        return self.probability is None and self.solver not in MACHINES and not self.kernel

    def __getattribute__(self, name: str) -> Any:
        """What scikit-learn asks for is not there where there is no probability: then it takes the scores."""
        if name == "predict_proba":
            model = vars(self).get("model_")
            before = self.probability is not None or self._finds_probability
            if not (model.likely or self._has_own_probability if model else before):
                hint = "a kernel machine has scores, and else probability='sigmoid', holdout=0.2 fits one to more rows"
                raise AttributeError(f"{type(self).__name__} has no probability: {hint}")
        return super().__getattribute__(name)

    def evaluate(
        self, database: Database | None = None, query: Query | None = None, part: Part | None = None
    ) -> Evaluation | Confusion | ByGroup:
        """How good the model is on the rows of its query, or of another with the same outputs: on all of them, or on
        one part if `holdout` has split them. With more than two classes, the matrix of classes and predictions. With
        `by`, in each group, and in all of them together. On the rows held out, there are `intervals`."""
        found: Evaluation | Confusion | ByGroup = self._quality(database, query, part)
        return found


@all_in_python
@dataclass(eq=False, repr=False)
class RelationalSVR(Relational):
    """A linear model of a label that is a number. The options are those of `sqlsvm train`; `loss` says what is
    minimised, and `tube`, `quantile` or `delta` belong to it. The attributes are those of RelationalSVC, but there are
    no classes."""

    loss: LossName = "epsilon_insensitive"

    of_numbers = True

    def score(self, X: Database | Input | None = None, y: Query | Column | None = None) -> float:
        """R^2: score(frame, labels) of rows in memory, score(database, query) of the rows of a query, and score() of
        those that its own query has now. nan if the label is the same in all rows."""
        rows: Any = X
        if is_column(y):
            labels = np.asarray(y, dtype=float)
            spread = float(np.sum((labels - labels.mean()) ** 2))
            return 1.0 - float(np.sum((labels - self._scores(rows)) ** 2)) / spread if spread else np.nan
        return self._value("r2", rows, y)

    def evaluate(
        self, database: Database | None = None, query: Query | None = None, part: Part | None = None
    ) -> Residuals | ByGroup:
        """How far its scores are off, on the rows of its query, of another, or of one part. With `by`, in each group,
        and in all of them together."""
        found: Residuals | ByGroup = self._quality(database, query, part)
        return found


# -- the losses that have estimators of their own in scikit-learn ------------------------------------------------------


@dataclass(eq=False, repr=False)
class RelationalLogisticRegression(RelationalSVC):
    """RelationalSVC with the logistic loss."""

    loss: LossName = "logistic"


@dataclass(eq=False, repr=False)
class RelationalQuantileRegressor(RelationalSVR):
    """RelationalSVR for a quantile of the label: `quantile` says which, by default the median."""

    loss: LossName = "quantile"


@dataclass(eq=False, repr=False)
class RelationalHuberRegressor(RelationalSVR):
    """RelationalSVR with the Huber loss: squared up to a residual of `delta`, linear beyond."""

    loss: LossName = "huber"


@dataclass(eq=False, repr=False)
class RelationalRidge(RelationalSVR):
    """RelationalSVR with the squared loss. With `l1` above 0 it is an elastic net."""

    loss: LossName = "squared"


ESTIMATORS: tuple[type[Relational], ...] = (
    *(RelationalSVC, RelationalSVR, RelationalLogisticRegression),
    *(RelationalQuantileRegressor, RelationalHuberRegressor, RelationalRidge),
)
_OTHERS = {
    "warm_start": "Whether `fit` goes on from the one before.",
    "verbose": "Whether to show the passes. auto: in a notebook and on a terminal.",
}
GROUPS = {
    "What is learned": "lam l1 loss width tube quantile delta pieces intercept scale constrain class_weight "
    "positive by weight",
    "Features": "nulls categorical top rare map as_of",
    "Measures on unseen rows": "measure holdout folds split_by time gap probability",
    "Solver and proof": "tol solver counting epsilon max_passes sample in_memory seed warm_start kernel gamma cache "
    "cache_mb cache_share",
    "Where it runs": "offload work_schema no_temp work_folder make_at_most verbose",
}
"""The parameters. Those of the last two are in no signature, for few need them."""
OFTEN = 3
_OF_KERNELS = {"kernel", "gamma", "cache", "cache_mb", "cache_share"}
_OF_CLASSES, _OF_NUMBERS = {"class_weight", "positive", "probability", "width"}, {"tube", "quantile", "delta"}
_OF_LOSSES = {"huber": {"delta"}, "quantile": {"quantile"}}


def fit_told(estimator: Relational, database: Database, query: Query, label: str, told: OnUnseen) -> None:
    """Train as `fit` does. `told` gets the rows held out with the model, for more to measure."""
    (model,) = estimator._trained(database, query, {label: estimator._training(label)}, told)
    estimator._fit(database, model)


def reads(estimator: type[Relational], name: str) -> bool:
    """Does a parameter mean anything to it?"""
    left = _OF_CLASSES | _OF_KERNELS if estimator.of_numbers else _OF_NUMBERS
    if estimator not in (RelationalSVC, RelationalSVR):  # its loss is given
        own = _OF_LOSSES.get(str(estimator._defaults()["loss"]), set())
        left = (left | {"loss", "pieces", "width"} | _OF_KERNELS | _OF_NUMBERS) - own
    return name not in left


def _show(estimator: type[Relational]) -> None:
    """What Shift-Tab and help() show of it: the parameters that it reads."""
    defaults = {name: value for name, value in estimator._defaults().items() if reads(estimator, name)}
    groups = {title: {n: defaults[n] for n in names.split() if n in defaults} for title, names in GROUPS.items()}
    doc = f"{cleandoc(estimator.__doc__ or '')}\n\nThe signature has the parameters that many need; all are here."
    estimator.__doc__ = described(doc, groups, _OTHERS)
    often = {name: default for group in [*groups.values()][:OFTEN] for name, default in group.items()}
    kinds = dict.fromkeys(often, Parameter.KEYWORD_ONLY) | {"lam": Parameter.POSITIONAL_OR_KEYWORD}
    each = [Parameter(name, kinds[name], default=default) for name, default in often.items()]
    setattr(estimator, "__signature__", Signature(each))  # noqa: B010 - a class has none until now


for _each_estimator in ESTIMATORS:
    _show(_each_estimator)


@in_python
def load(place: Place, name: str | None = None, version: int | None = None) -> RelationalSVC | RelationalSVR:
    """A fitted estimator from a model that was kept: load("late.json"), or load("postgresql://...", "late") for its
    newest version. The parameters are those of the training."""
    model = stored(place, name, version)
    kinds = RelationalSVR if model.of_numbers else RelationalSVC
    options = {**model.options, **model.options.get("problem", {}), **model.options.get("effort", {})}
    options |= {**model.options.get("machine", {}), "lam": model.lam}
    known = {name: value for name, value in options.items() if name in kinds._defaults()}
    made = kinds().set_params(**{name: _as_parameter(name, value) for name, value in known.items()})
    made._take(model)
    if not (isinstance(place, PathLike) or str(place).endswith(".json")):
        made._database = place
    return made


def _each(values: Mapping[str, Sequence[float]]) -> list[tuple[str, float]]:
    """The values of the one option that has several."""
    allowed = [name for name, option in OPTIONS.items() if option.several]
    if len(values) != 1 or not set(values) <= set(allowed):
        raise ParameterError("fit_path takes several values of one parameter", hint=f"it can be {', '.join(allowed)}")
    ((name, found),) = values.items()
    listed = [float(value) for value in found]
    if not listed or len(set(listed)) < len(listed):
        raise ParameterError(f"{name} has {'no values' if not listed else 'a value twice'}")
    return [(name, value) for value in listed]


def _as_option(name: str, value: Any) -> Any:
    """The value as the options have it: numpy and scikit-learn write some in another form."""
    match value:
        case np.timedelta64():
            value = value.astype("timedelta64[us]").tolist()
        case np.datetime64() | PathLike() | date():
            value = str(value)
        case np.generic() | np.ndarray():
            value = value.tolist()
    if OPTIONS[name].auto:
        return None if isinstance(value, str) and value == "auto" else value
    match name:
        case "positive":
            return None if value is None else str(value)
        case "gap" if isinstance(value, timedelta):
            return f"{value.total_seconds():.15g} seconds"
        case "class_weight":
            return "none" if value is None else tuple(value) if isinstance(value, list) else value
        case "loss":
            return REHLINE.get(value, value) if isinstance(value, str) else value
        case "pieces":
            return given(() if value is None else value)
        case "categorical" | "constrain" | "map":
            return (value,) if isinstance(value, str) else tuple(value or ())
        case "top":
            listed = (f"{column}:{number}" for column, number in value.items()) if isinstance(value, Mapping) else value
            return (value,) if isinstance(value, str) else tuple(listed or ())
    return value


def _as_parameter(name: str, value: Any) -> Any:
    """The value that JSON has for an option."""
    return "auto" if value is None and OPTIONS[name].auto else tuple(value) if isinstance(value, list) else value


def _name(weight: Weight) -> str:
    return weight.feature if weight.category is None else f"{weight.feature}={weight.category}"
