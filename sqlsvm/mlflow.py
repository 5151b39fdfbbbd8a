"""Models in MLflow (the extra `mlflow`), also for tools that know only its pyfunc flavour.

What is kept is the JSON of the model, so nothing is run when it is loaded. The certificate is kept as metrics."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from sqlsvm.engine.base import Column
from sqlsvm.errors import OptionError, SqlsvmError
from sqlsvm.estimator import Relational, RelationalSVC, RelationalSVR, load
from sqlsvm.model.model import Model, Term
from sqlsvm.model.predict import query_rows
from sqlsvm.model.score import PREDICTION, PROBABILITY, SCORE, Named
from sqlsvm.notebook.frames import frame
from sqlsvm.options import CHOSEN, OF_SESSION, OPTIONS
from sqlsvm.times import TIMES

if TYPE_CHECKING:
    from mlflow.models import ModelSignature
    from mlflow.models.model import ModelInfo

__all__ = ["load_model", "log_model", "save_model"]

FILE = "model.json"
EXAMPLES = 5
ANY = "any"  # an integer may be a double elsewhere, and MLflow takes neither for the other
NOTHING: Mapping[str, str] = {}


def log_model(estimator: Relational, name: str = "model", **more: Any) -> "ModelInfo":
    """Keep a fitted estimator in the active run, or in a new one: its parameters as those of the run, its certificate
    and what the folds have measured as metrics. `more` goes to mlflow.pyfunc.log_model, such as
    registered_model_name="late"."""
    mlflow = _mlflow()
    with _prepared(estimator) as how, _in_a_run():
        mlflow.log_params(_parameters(estimator))
        found: ModelInfo = mlflow.pyfunc.log_model(name=name, **how | more)
        mlflow.log_metrics(_metrics(estimator), model_id=found.model_id)
    return found


def save_model(estimator: Relational, path: str | PathLike[str], **more: Any) -> None:
    """Write a fitted estimator to a folder, as log_model keeps it."""
    with _prepared(estimator) as how:
        _mlflow().pyfunc.save_model(path=str(path), **how | more)


def load_model(uri: str) -> RelationalSVC | RelationalSVR:
    """The estimator again: load_model("models:/late/1"), or the folder of save_model. mlflow.pyfunc.load_model gives
    what scores frames."""
    folder = Path(_mlflow().artifacts.download_artifacts(uri))
    return load(next(folder.rglob(FILE)))


class Scorer:
    """What pyfunc loads. It scores a frame by the columns that its signature names."""

    def __init__(self, estimator: RelationalSVC | RelationalSVR) -> None:
        self.estimator = estimator

    def predict(self, frame: Any, params: Any = None) -> Any:
        """prediction, score and, if the model has one, the probability of the positive class, or that of each class."""
        import pandas as pd

        model = self.estimator.model_
        found = {PREDICTION: self.estimator.predict(frame)}
        if not model.kinds:
            found[SCORE] = self.estimator.decision_function(frame)
        if isinstance(self.estimator, RelationalSVC) and model.likely:
            chances = np.asarray(self.estimator.predict_proba(frame)).T
            own = chances if model.kinds else chances[1:]
            found |= dict(zip(_named_probabilities(model), own, strict=True))
        return pd.DataFrame(found)


def _load_pyfunc(path: str) -> Scorer:
    """MLflow calls it by this name."""
    return Scorer(load(Path(path)))


def _mlflow() -> Any:
    try:
        import mlflow
        import mlflow.pyfunc
    except ImportError as error:
        raise OptionError("MLflow is not installed", hint="pip install 'sqlsvm[mlflow]'") from error
    return mlflow


@contextmanager
def _prepared(estimator: Relational) -> Iterator[dict[str, Any]]:
    """What MLflow copies, and how it is loaded."""
    types, example = _rows(estimator)
    with TemporaryDirectory() as folder:
        estimator.save(Path(folder) / FILE)
        yield {
            "loader_module": __name__,
            "data_path": str(Path(folder) / FILE),
            "signature": signature(estimator.model_, types),
            **({} if example is None else {"input_example": example}),
            "pip_requirements": [f"sqlsvm=={version('sqlsvm')}", "pandas"],
        }


@contextmanager
def _in_a_run() -> Iterator[None]:
    """A run of the caller goes on."""
    mlflow = _mlflow()
    if mlflow.active_run():
        yield
        return
    with mlflow.start_run():
        yield


def _rows(estimator: Relational) -> tuple[Mapping[str, str], Any]:
    """The types of the columns where the model was trained, and some rows; nothing where these cannot be read."""
    try:
        with estimator._looking(None, None) as (engine, model, _), engine.snapshot():
            names = [term.feature for term in model.inputs]
            rows = query_rows(engine, model).limit(EXAMPLES)
            types = {column.name: _type(column, engine.dialect) for column in engine.describe(rows)}
            found = engine.fetch(rows)
            return types, frame({name: found[name] for name in names}, "pandas")
    except (SqlsvmError, KeyError):
        return {}, None


def _type(column: Column, dialect: str) -> str:
    found = exp.DataType.build(column.type, dialect=dialect, udt=True)
    if found.is_type(*exp.DataType.SIGNED_INTEGER_TYPES):
        return "long"
    return "double" if found.is_type(exp.DType.FLOAT, exp.DType.DOUBLE) else ANY


def _parameters(estimator: Relational) -> dict[str, str]:
    """Those that apply and have a value; of what was chosen, the one that was."""
    model, given = estimator.model_, estimator.get_params()
    given |= {name: getattr(model, name) for name in CHOSEN}
    left = ("warm_start", "verbose", *OF_SESSION)
    return {
        name: str(value)
        for name, value in given.items()
        if name not in left and value not in (None, ()) and _applies(name, given)
    }


def _applies(name: str, given: Mapping[str, Any]) -> bool:
    if not (read_by := OPTIONS[name].read_by):
        return True
    other, values = read_by
    return given[other] in values


def _metrics(estimator: Relational) -> dict[str, float]:
    proven = {name: float(value) for name, value in vars(estimator.certificate_).items()}
    found = proven | {f"validation_{name}": each.mean for name, each in estimator.model_.validation.items()}
    chosen = estimator.model_.chosen
    return found | {f"chosen_by_{chosen.measure}": chosen.best.mean} if chosen else found


def signature(model: Model, types: Mapping[str, str] = NOTHING) -> "ModelSignature":
    """The columns that a frame must have, and those that the prediction has."""
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, Schema

    outputs = [ColSpec(_output_type(model), PREDICTION)]
    outputs += [] if model.kinds else [ColSpec("double", SCORE)]
    outputs += [ColSpec("double", name) for name in _named_probabilities(model)] if model.likely else []
    inputs = [ColSpec(_input_type(term, types), term.feature) for term in model.inputs]
    return ModelSignature(Schema(inputs), Schema(outputs))


def _input_type(term: Term, types: Mapping[str, str]) -> Any:
    from mlflow.types.schema import AnyType

    if term.kind in TIMES:
        return "datetime" if TIMES[term.kind].unit == "day" else "string"
    by_kind = {"categorical": "string", "boolean": "boolean"}
    found = by_kind.get(term.kind) or types.get(term.feature, ANY)
    return AnyType() if found == ANY else found


def _output_type(model: Model) -> str:
    if model.of_numbers:
        return "double"
    return {bool: "boolean", int: "long", float: "double"}.get(type(model.trained_on.label_values[0]), "string")


def _named_probabilities(model: Model) -> list[str]:
    return list(map(Named().of_class, model.kinds)) or [PROBABILITY]
