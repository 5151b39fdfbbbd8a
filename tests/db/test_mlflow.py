"""Models in MLflow, with its skinny package and a store of files."""

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sqlsvm import RelationalSVC, RelationalSVR
from tests.db.test_given import QUERY, TABLES
from tests.db.test_notebook import joined

if not os.environ.get("CI") and find_spec("mlflow") is None:
    pytest.skip("MLflow is not installed: pip install '.[mlflow]'", allow_module_level=True)

import mlflow

from sqlsvm.mlflow import load_model, log_model, save_model

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow warns of itself


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("MLFLOW_DISABLE_TELEMETRY", "MLFLOW_ALLOW_FILE_STORE"):
        monkeypatch.setenv(name, "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    yield
    mlflow.set_tracking_uri("")


@pytest.fixture(scope="module")
def svc() -> RelationalSVC:
    return RelationalSVC(1e-2, loss="hinge", sample=200, folds=3, probability="sigmoid").fit(TABLES, QUERY, "late")


def test_a_run_has_the_certificate_and_pyfunc_its_scores(svc: RelationalSVC) -> None:
    info = log_model(svc)
    assert mlflow.active_run() is None
    (run,) = mlflow.search_runs(output_format="list")
    assert (run.data.params["lam"], run.data.params["loss"]) == ("0.01", "hinge")
    assert not {"tube", "gamma", "verbose", "no_temp", "by"} & run.data.params.keys()
    assert run.data.metrics["gap"] == svc.gap_
    assert run.data.metrics["lower_bound"] == svc.lower_bound_
    assert run.data.metrics["validation_accuracy"] == svc.model_.validation["accuracy"].mean
    frame = joined()
    found = mlflow.pyfunc.load_model(info.model_uri).predict(frame[["age", "kind", "days"]])
    assert (found["prediction"] == svc.predict(frame)).all()
    assert (found["score"] == svc.decision_function(frame)).all()
    assert (found["probability"] == svc.predict_proba(frame)[:, 1]).all()
    again = load_model(info.model_uri)
    assert np.all(again.coef_ == svc.coef_)
    assert again.get_params() == svc.get_params() | {"intercept": True, "nulls": "mean"}


def test_a_run_of_the_caller_goes_on(svc: RelationalSVC) -> None:
    with mlflow.start_run() as run:
        log_model(svc, "late", registered_model_name="late")
        active = mlflow.active_run()
        assert active
        assert active.info.run_id == run.info.run_id
    assert np.all(load_model("models:/late/1").coef_ == svc.coef_)


def test_the_signature_names_the_columns_and_their_types(svc: RelationalSVC, tmp_path: Path) -> None:
    save_model(svc, tmp_path / "late")
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "late"))
    kinds = {column.name: column.type.name for column in loaded.metadata.get_input_schema().inputs}
    assert kinds == {"days": "double", "age": "double", "kind": "string"}
    kinds = {column.name: column.type.name for column in loaded.metadata.get_output_schema().inputs}
    assert kinds == {"prediction": "boolean", "score": "double", "probability": "double"}
    with pytest.raises(mlflow.MlflowException, match="missing inputs"):
        loaded.predict(joined()[["days", "kind"]])


def test_dates_and_classes(tmp_path: Path) -> None:
    """A date in a frame, and a probability for each class."""
    rows = pd.DataFrame({"day": pd.date_range("2026-01-01", periods=90), "ok": [n % 2 == 0 for n in range(90)]})
    rows["kind"] = [f"k{n % 3}" for n in range(90)]
    how: dict[str, Any] = {"sample": 90, "folds": 3, "probability": "sigmoid"}
    svc = RelationalSVC(**how).fit({"t": rows}, "SELECT kind, day, ok FROM t", "kind")
    save_model(svc, tmp_path / "kind")
    found = mlflow.pyfunc.load_model(str(tmp_path / "kind")).predict(rows)
    assert list(found.columns) == ["prediction", *(f"probability_{kind}" for kind in ("k0", "k1", "k2"))]
    assert (found["prediction"] == svc.predict(rows)).all()
    assert list(found.loc[0, "probability_k0":]) == list(svc.predict_proba(rows)[0])


def test_a_number_is_a_double(tmp_path: Path) -> None:
    query = QUERY.replace("o.late, o.days", "o.days")
    svr = RelationalSVR(1e-2, sample=200).fit(TABLES, query, "days")
    save_model(svr, tmp_path / "days")
    found = mlflow.pyfunc.load_model(str(tmp_path / "days")).predict(joined())
    assert (found["prediction"] == svr.predict(joined())).all()
    assert (found["score"] == found["prediction"]).all()


def test_the_frame_that_it_was_trained_on_and_what_was_chosen(tmp_path: Path) -> None:
    """Whole numbers, and floats of half the size; a model that was loaded has no rows for an example."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"whole": rng.integers(0, 9, 300), "half": rng.normal(size=300).astype("float32")})
    rows["ok"] = rows["whole"] + rows["half"] + rng.normal(size=300) > 4
    svc = RelationalSVC(sample=300, verbose=False).fit({"t": rows}, "SELECT ok, whole, half FROM t", "ok")
    info = log_model(svc)
    run = mlflow.get_run(info.run_id)
    chosen = svc.model_.chosen
    assert chosen
    assert (run.data.params["lam"], run.data.params["loss"]) == (str(chosen.strength), chosen.loss)
    assert run.data.metrics["chosen_by_auc"] == chosen.best.mean
    assert "None" not in run.data.params.values()
    loaded = mlflow.pyfunc.load_model(info.model_uri)
    assert {each.name: str(each.type) for each in loaded.metadata.get_input_schema().inputs} == {
        "whole": "DataType.long",
        "half": "DataType.double",
    }
    assert len(loaded.input_example) == 5
    save_model(load_model(info.model_uri), tmp_path / "again")
    for model in (loaded, mlflow.pyfunc.load_model(str(tmp_path / "again"))):
        assert (model.predict(rows)["prediction"] == svc.predict(rows)).all()
