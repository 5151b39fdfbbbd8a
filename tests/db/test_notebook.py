"""What a notebook does with a model: keeps it, exports it, draws it, prints it. One training serves most tests."""

import builtins
import inspect
import logging
import pickle
import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from traceback import walk_tb
from typing import Any, Literal

import joblib
import matplotlib
import numpy as np
import pandas as pd
import psycopg
import pytest
from sklearn.base import clone

import sqlsvm
from sqlsvm import NotFittedError, RelationalRidge, RelationalSVC
from sqlsvm.errors import OptionError, QueryError
from sqlsvm.estimator import ESTIMATORS, Relational, reads
from sqlsvm.model.confusion import ByGroup
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.notebook.progress import on_screen
from sqlsvm.solve.solution import Record
from sqlsvm.terminal import READING
from tests.db.test_given import QUERY, TABLES
from tests.ground.browser import Browser, browser

matplotlib.use("agg")


KINDS = dict(TABLES) | {
    "orders": dict(TABLES["orders"]) | {"kind": np.array([f"k{n % 3}" for n in range(300)], dtype=object)}
}
"""With three kinds of orders."""


@pytest.fixture(scope="module")
def svc() -> RelationalSVC:
    how: dict[str, Any] = {"class_weight": (1.0, 2.0), "probability": "sigmoid", "holdout": 0.2}
    return RelationalSVC(1e-2, loss="hinge", sample=200, **how).fit(TABLES, QUERY, "late")


def joined() -> pd.DataFrame:
    tables = {name: pd.DataFrame(columns) for name, columns in TABLES.items()}
    return tables["orders"].merge(tables["customers"], left_on="customer", right_on="id")


# -- keeping and exporting ---------------------------------------------------------------------------------------------


def same(one: Relational, other: Relational) -> bool:
    """What nobody has named is that of the training in a model that was kept."""
    params = (
        {"intercept": True, "nulls": "mean"} | {k: v for k, v in each.get_params().items() if v is not None}
        for each in (one, other)
    )
    return bool(np.all(one.coef_ == other.coef_)) and next(params) == next(params)


def test_a_file_and_a_database_keep_it(svc: RelationalSVC, tmp_path: Path) -> None:
    file, database = tmp_path / "late.json", f"duckdb:{tmp_path / 'models.duckdb'}"
    assert [svc.save(file), svc.save(str(file)), svc.save(database, "late"), svc.save(database, "late")] == [1, 2, 1, 2]
    for place in (file, str(file), database):
        found = sqlsvm.load(place)
        assert same(found, svc)
        assert found.model_.version == 2
    assert sqlsvm.load(database, "late", 1).model_.version == 1
    svc.save(database, "later")
    with pytest.raises(OptionError, match=r"which model\?\nHINT: there are late, later"):
        sqlsvm.load(database)
    with pytest.raises(OptionError, match="no model is stored here"):
        sqlsvm.load("duckdb:")
    with pytest.raises(NotFittedError):
        RelationalSVC(1e-4).save(file)


def test_an_open_transaction_keeps_it(svc: RelationalSVC, postgres_dsn: str) -> None:
    """It is a part of the caller's transaction."""
    with psycopg.connect(postgres_dsn) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute("SELECT 1")
        asked = "SELECT name, setting FROM pg_settings WHERE name NOT LIKE 'plpgsql%' ORDER BY 1"
        before = connection.execute(asked).fetchall()
        assert svc.save(connection, "late") == 1
        assert connection.execute(asked).fetchall() == before
        assert same(sqlsvm.load(connection), svc)
        connection.rollback()
        with pytest.raises(OptionError, match="no model is stored here"):
            sqlsvm.load(connection)


def test_a_regressor_comes_back_as_one(tmp_path: Path) -> None:
    query = QUERY.replace("o.late, o.days", "o.days")
    ridge = RelationalRidge(1e-2, sample=200, top={"kind": 1}).fit(TABLES, query, "days")
    ridge.save(tmp_path / "days.json")
    found = sqlsvm.load(tmp_path / "days.json")
    assert isinstance(found, sqlsvm.RelationalSVR)
    assert (found.loss, found.top) == ("squared", ("kind:1",))
    assert np.all(found.coef_ == ridge.coef_)
    frame = joined()
    expected = 1 - np.mean((frame["days"] - ridge.predict(frame)) ** 2) / np.var(frame["days"])
    assert ridge.score() == pytest.approx(expected)
    assert ridge.score(frame, frame["days"]) == pytest.approx(expected)


def test_scores_and_exports_agree(svc: RelationalSVC, tmp_path: Path) -> None:
    frame = joined()
    right = svc.predict(frame) == frame["late"]
    assert svc.score() == svc.score(frame, frame["late"]) == pytest.approx(right.mean())
    assert svc.score(TABLES, f"{QUERY} WHERE o.days > 0") == pytest.approx(right[frame["days"] > 0].mean())
    scores = svc.decision_function(frame)
    assert np.all(svc.to_sklearn().predict(frame) == svc.predict(frame))
    np.testing.assert_allclose(svc.to_sklearn().decision_function(frame), scores, rtol=1e-12)
    assert {each.name for each in svc.to_onnx().graph.input} == {"days", "kind", "age"}
    for again in (pickle.loads(pickle.dumps(svc)), joblib.load(joblib.dump(svc, tmp_path / "late.joblib")[0])):
        assert np.all(again.decision_function(frame) == scores)


def test_frames_give_arrays_unless_frames_are_asked_for(svc: RelationalSVC) -> None:
    """As in scikit-learn. Then they are of the kind that is asked for, with the index of pandas."""
    pa, pl, nw = (pytest.importorskip(name) for name in ("pyarrow", "polars", "narwhals"))
    rows = joined()[["days", "kind", "age"]][::2]
    scores, predicted = svc.decision_function(rows.to_dict("list")), svc.predict(rows)
    table = pa.table(rows.reset_index(drop=True))
    frame = pl.from_arrow(table)
    given = (rows, table, frame, frame.lazy(), nw.from_native(frame), nw.from_native(frame.lazy()), table.to_reader())
    for each in given[:-1]:
        assert (svc.decision_function(each) == scores).all()
        assert (svc.predict_proba(each)[:, 1] > 0.5).sum() > 0
    assert (svc.predict(given[-1]) == predicted).all(), "it can be read once, and is"
    own = clone(svc).set_output(transform="pandas")
    own._take(svc.model_)
    asked = clone(own)
    assert not hasattr(asked, "model_")
    chances = own.predict_proba(rows)
    assert (own.predict(rows).name, list(chances.columns)) == ("prediction", [False, True])
    assert own.predict(rows).index.equals(rows.index)
    assert chances.index.equals(rows.index)
    own.set_output(transform="polars")
    assert own.predict(rows).to_list() == predicted.tolist()
    assert own.predict_proba(rows)["True"].to_list() == chances[True].tolist()


def test_rows_in_a_database_are_predicted_there(svc: RelationalSVC) -> None:
    frames = {name: pd.DataFrame(columns) for name, columns in TABLES.items()}
    found = svc.predict(frames, f"{QUERY} WHERE o.days > 0")
    assert list(found.columns) == ["late", "days", "kind", "age", "score", "prediction", "probability"]
    np.testing.assert_allclose(found["score"], svc.decision_function(found), rtol=1e-12)
    assert (found["prediction"] == svc.predict(found)).all()
    assert isinstance(svc.predict({n: dict(c) for n, c in TABLES.items()}, QUERY), pd.DataFrame)


@pytest.mark.slow
def test_a_report(svc: RelationalSVC, tmp_path: Path) -> None:
    page = svc.report(tmp_path / "late.html")
    assert "ROC curve" in page.read_text()
    with pytest.raises(OptionError, match=r"exists already\nHINT: overwrite=True"):
        svc.report(page)
    assert svc.report(page, overwrite=True) == page


# -- what is printed and drawn -----------------------------------------------------------------------------------------


def test_what_is_known_of_it(svc: RelationalSVC) -> None:
    weights = svc.weights_
    assert list(weights.columns) == ["feature", "category", "weight", "scaled_weight"]
    assert sorted(weights["weight"]) == sorted(svc.coef_[0])
    assert (svc.certificate_.gap, svc.certificate_.objective) == (svc.gap_, svc.objective_)
    assert "gap           " in str(svc)
    assert str(RelationalSVC(1e-4)) == "RelationalSVC(lam=0.0001)"


@pytest.mark.slow
def test_measures_are_a_frame(svc: RelationalSVC) -> None:
    found = svc.measures(part="holdout").set_index("measure")
    measured = svc.evaluate(part="holdout")
    assert isinstance(measured, Evaluation)
    assert found.loc["accuracy", "value"] == measured.accuracy.value
    assert found.loc["accuracy", "lower"] == measured.intervals["accuracy"].lower < found.loc["accuracy", "value"]
    assert np.isnan(found.loc["recall", "upper"])
    ridge = RelationalRidge(1e-2, sample=200).fit(TABLES, QUERY.replace("o.late, o.days", "o.days"), "days")
    assert ridge.measures().set_index("measure").loc["r2", "value"] == ridge.score()
    classes = RelationalSVC(1e-2, sample=200).fit(KINDS, QUERY.replace("o.late, ", ""), "kind")
    assert dict(classes.measures()[["measure", "value"]].to_numpy())["accuracy"] == classes.score()
    by = RelationalSVC(1e-2, sample=200, by="kind").fit(TABLES, QUERY, "late")
    assert by.measures()[["kind", "rows"]].to_numpy().tolist() == [
        [kind, (TABLES["orders"]["kind"] == kind).sum()] for kind in ("book", "gift")
    ]
    found = by.evaluate()
    assert isinstance(found, ByGroup)
    assert [one.value for one in found.groups] == ["book", "gift"]
    assert isinstance(found.whole, Evaluation)
    assert by.score() == found.whole.accuracy.value
    each = RelationalRidge(1e-2, sample=200, by="kind").fit(TABLES, QUERY.replace("o.late, o.days", "o.days"), "days")
    assert -1.0 <= each.score() <= 1.0
    assert {name.get_text().split(":")[0] for name in by.plot_weights().get_yticklabels()} == {"book", "gift"}


def test_folds_are_a_frame() -> None:
    svc = RelationalSVC(1e-2, sample=200, folds=3).fit(TABLES, QUERY, "late")
    found = svc.validation_.set_index("measure")
    assert found.loc["accuracy", "mean"] == pytest.approx(found.loc["accuracy", ["fold_1", "fold_2", "fold_3"]].mean())
    with pytest.raises(OptionError, match="not measured in folds"):
        RelationalSVC(1e-4, sample=200).fit(TABLES, QUERY, "late").validation_  # noqa: B018


@pytest.mark.parametrize("in_a_notebook", [False, True])
def test_results_print_as_the_command_line_shows_them(
    svc: RelationalSVC, in_a_notebook: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a notebook rich displays what it is to write, if it is not told to write it."""
    if in_a_notebook:
        shell = type("ZMQInteractiveShell", (), {})()
        monkeypatch.setattr(builtins, "get_ipython", lambda: shell, raising=False)
    found: dict[str, object] = {
        "no weights have a lower objective": svc.model_,
        "predicted True": svc.evaluate(),
        "foreign key on o.customer = c.id": sqlsvm.inspect(TABLES, QUERY, "late"),
        "with label": sqlsvm.describe(TABLES, QUERY, "late"),
        "variance": sqlsvm.components(TABLES, QUERY, label="late"),
        "folds c into o": sqlsvm.explain(TABLES, QUERY, "late"),
        "model         late": svc,
    }
    for said, result in found.items():
        assert said in str(result)
        page = result._repr_html_()  # type: ignore[attr-defined]
        assert said in page
        assert "sqlsvm evaluate" not in page
    drawn = sqlsvm.inspect(TABLES, QUERY, "late")._repr_html_()  # type: ignore[attr-defined]
    assert (drawn.count("<svg"), drawn.count('class="box"')) == (1, 2)
    assert "&lt;b&gt;" in sqlsvm.inspect({"t": {"<b>": [1.0, 2.0]}}, 'SELECT t."<b>" FROM t')._repr_html_()  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("chromium")) as found:
        yield found


AS_SHOWN = """[...document.querySelectorAll('pre')].map(pre => {
    const style = getComputedStyle(pre), range = document.createRange(), text = pre.firstChild;
    const width = n => {
        range.setStart(text, n);
        range.setEnd(text, n + 1);
        return range.getBoundingClientRect().width;
    };
    const widths = [...text.data.slice(0, 200)].flatMap((c, n) => c == '\\n' ? [] : [width(n)]);
    return [style.color, style.backgroundColor, Math.max(...widths) - Math.min(...widths) < 0.1];
})"""


@pytest.mark.slow
@pytest.mark.parametrize(("paper", "ink"), [("white", "rgb(17, 17, 17)"), ("black", "rgb(221, 221, 221)")])
def test_cells_in_a_browser(svc: RelationalSVC, chromium: Browser, paper: str, ink: str, tmp_path: Path) -> None:
    """In the colours of a light and of a dark notebook; as wide as the screen, with columns below each other."""
    found: list[Any] = [svc, svc.evaluate(), sqlsvm.inspect(TABLES, QUERY), sqlsvm.describe(TABLES, QUERY, "late")]
    cells = "".join(each._repr_html_() for each in found)
    page = tmp_path / "page.html"
    theirs = "<style>pre { color: red; background: yellow; font-family: sans-serif }</style>"
    page.write_text(f"<meta charset=utf-8>{theirs}<body style='background: {paper}; color: {ink}'>{cells}")
    chromium.show(page, 375, "light")
    assert chromium.ask("document.documentElement.scrollWidth") == 375
    assert chromium.ask(AS_SHOWN) == [[ink, "rgba(0, 0, 0, 0)", True]] * 4


def test_counts_are_a_frame() -> None:
    found = sqlsvm.count(TABLES, QUERY, "late", {"intercept": 0.5, "weights": {"days": 1.0}})
    frame = joined()
    below = np.where(frame["late"], 1, -1) * (0.5 + frame["days"]) < 1.0
    kinds = found[found["feature"] == "kind"].groupby("value")["count"].sum()
    assert kinds.to_dict() == frame["kind"][below].value_counts().to_dict()


@pytest.mark.slow
def test_charts(svc: RelationalSVC) -> None:
    """On axes of their own, or on those of the caller."""
    from matplotlib import pyplot

    own = pyplot.subplots()[1]
    assert svc.plot_gap(own) is own
    assert svc.plot_convergence().get_title(loc="left") == "Objective between its bounds"
    assert svc.plot_roc().get_title(loc="left") == "ROC curve"
    assert svc.plot_reliability().get_title(loc="left") == "Reliability"
    assert svc.plot_weights(2).get_yticklabels()[0].get_text() == svc.weights_["feature"][0]
    path = RelationalSVC(1e-4, sample=200).fit_path(TABLES, QUERY, "late", lam=[1e-1, 1e-2])
    assert sqlsvm.plot_path(path).get_xscale() == "log"
    for undrawn in (lambda: svc.plot_effects(), lambda: sqlsvm.plot_path([svc])):
        with pytest.raises(OptionError, match="HINT: "):
            undrawn()
    pyplot.close("all")


def test_a_step_and_a_pass_are_lines_where_there_is_no_screen(capsys: pytest.CaptureFixture[str]) -> None:
    how: dict[bool | Literal["auto"], bool] = {True: True, False: False, "auto": False}
    for verbose, wanted in how.items():
        svc = RelationalSVC(1e-2, sample=200, in_memory=0, verbose=verbose).fit(TABLES, QUERY, "late")
        shown = capsys.readouterr().err.splitlines()
        passes = [line for line in shown if line.startswith("pass ") and "   gap " in line]
        assert len(passes) == wanted * svc.n_iter_
        assert shown[:1] == [f"{READING} ..."] * wanted
        assert all(line in passes or line.endswith(" ...") for line in shown)


def test_a_screen_shows_the_steps_and_the_gap() -> None:
    """The same line again and again; at the end it is gone, and the logger is as it was."""
    shown: list[str] = []

    class Screen:
        def show(self, line: str) -> None:
            shown.append(line)

    with on_screen(Screen(), 1e-3) as told:
        logging.getLogger("sqlsvm.run.train").info("reading")
        passed = told("late", True)
        for number, gap in enumerate((0.1, 0.01, 0.0005), 1):
            passed(Record(number, 0.5, 0.5, 0.5 - gap, gap, None, 0.01))
        logging.getLogger("sqlsvm.run.train").info("finishing")
    logging.getLogger("sqlsvm.run.train").info("not shown")
    assert shown[0] == "reading ..."
    assert [line[:24].count("█") for line in shown[1:4]] == [0, 12, 24]
    assert shown[4:] == [f"{shown[3]}finishing ...", ""]


def test_a_traceback_ends_at_the_line_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    def mistyped() -> QueryError:
        with pytest.raises(QueryError, match=r"unknown column o\.dys") as found:
            RelationalSVC(1e-2).fit(TABLES, QUERY.replace("o.days", "o.dys"), "late")
        return found.value

    error = mistyped()
    said = error._render_traceback_()
    assert "in mistyped\n    RelationalSVC(1e-2).fit(" in said[0]
    assert said[-2:] == ["QueryError: unknown column o.dys", "HINT: did you mean days?"]
    assert len(list(walk_tb(error.__traceback__))) == 2, "the line of the caller, and one of ours"
    monkeypatch.setenv("SQLSVM_DEBUG", "1")
    assert len(list(walk_tb(mistyped().__traceback__))) > 4


# -- names -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"tube": 3.0}, "tube is for loss='epsilon_insensitive' .*\nHINT: add loss='epsilon_insensitive', or leave"),
        ({"probability": "sigmoid"}, "probability needs rows .*\nHINT: add folds=5, or holdout=0.2"),
        ({"solver": "descent"}, "descent needs features in .*\nHINT: use scale='maxabs'"),
        (
            {"by": "kind", "constrain": ("fair:a:0.1",)},
            "by takes no fair: constraint, .*\nHINT: train one group alone, with WHERE",
        ),
        ({"work_schema": "x"}, "leave work_schema out"),
    ],
)
def test_hints_name_parameters(parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        RelationalSVC(**parameters).fit(TABLES, QUERY, "late")


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_help_has_every_parameter(kind: type[Relational]) -> None:
    said = kind.__doc__ or ""
    shown = {name for name in kind().get_params() if re.search(rf"^{name}( :|,)", said, re.MULTILINE)}
    assert shown == {name for name in kind().get_params() if reads(kind, name)}
    assert len(inspect.signature(kind).parameters) < 32
    assert not re.search("--[a-z]", said)


@pytest.mark.parametrize("name", ["inspect", "describe", "components", "explain", "count"])
def test_help_of_what_is_asked(name: str) -> None:
    said = inspect.getdoc(getattr(sqlsvm, name)) or ""
    for parameter in inspect.signature(getattr(sqlsvm, name)).parameters:
        assert re.search(rf"^{parameter}\b.*\n +\w", said, re.MULTILINE), parameter
    assert "--" not in said.replace("----------", "")
    assert "<class" not in said
    assert "repeatable" not in said


def test_components_refuses_a_scale_that_there_is_not() -> None:
    with pytest.raises(OptionError, match="scale must be"):
        sqlsvm.components({"t": {"x": [1.0, 2.0]}}, "SELECT x FROM t", scale="nne")  # type: ignore[arg-type]


def test_no_rule_names_a_flag_in_python() -> None:
    """Apart from those that only the command line has."""
    from sqlsvm.rules import RULES
    from sqlsvm.words import said

    left = {word for rule in RULES for word in said(f"{rule.message}; {rule.hint}").split() if "--" in word}
    assert {word.strip("-:,.;") for word in left} <= {"select", "png", "model-file", "resume", "one-standard-error"}


def test_all_public_names_are_there() -> None:
    assert [name for name in sqlsvm.__all__ if not hasattr(sqlsvm, name) or name not in dir(sqlsvm)] == []
    assert (Path(sqlsvm.__file__).parent / "py.typed").exists()
    assert sqlsvm.__version__ == version("sqlsvm")
