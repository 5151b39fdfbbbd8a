"""A peer alone, as a user would write it: the whole join out of the database, then a library, and nothing of sqlsvm.

JSON comes in on stdin, JSON goes out on stdout. The export is the fastest that we know. All but LightGBM minimise F:
LIBLINEAR and ReHLine get C = 1 / (2 lam N), and SGD alpha = 2 lam. LightGBM has its settings as they come, and gets the
columns as they are.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.races.matrix import Matrix, coded, matrix, texts

if TYPE_CHECKING:
    from bench.races.grids import Setting
    from sqlsvm.engine.base import Values

HEADER = 19  # bytes before the first row of a binary COPY, where there are no extensions
WIDEST = 24  # characters of a category


def main() -> None:
    job = json.load(sys.stdin)
    columns = copied(job["url"], job["text"], job["columns"])
    print(json.dumps(trained(job["fit"], columns, job["label"], job["categorical"], job["lam"], job["setting"] or {})))


def trained(
    fit: str, columns: Mapping[str, Values], label: str, categorical: Sequence[str], lam: float, setting: Setting
) -> dict[str, Any]:
    if fit == "lightgbm":
        return lightgbm(columns, label, categorical, setting)
    found = matrix(label, categorical, columns)
    return found.given(FITS[fit](found, lam, setting))


# -- the export --------------------------------------------------------------------------------------------------------


def copied(url: str, text: str, columns: Sequence[tuple[str, str]]) -> dict[str, Values]:
    """Every row of the query, column by column: numbers with nan for NULL, text as text."""
    if url.startswith("duckdb:"):
        import duckdb

        with duckdb.connect(url.partition(":")[2]) as database:
            database.execute("SET enable_progress_bar = false")
            return {name: _filled(values) for name, values in database.execute(text).fetchnumpy().items()}
    import psycopg

    layout: list[tuple[str, str]] = [("fields", ">i2")]
    for place, (_, kind) in enumerate(columns):
        layout += [(f"width{place}", ">i4"), (f"v{place}", f"S{WIDEST}" if kind == "categorical" else ">f8")]
    received, command = bytearray(), f"COPY ({text}) TO STDOUT (FORMAT binary)"
    with psycopg.connect(url) as connection, connection.cursor().copy(command.encode()) as copy:
        for block in copy:
            received += block
    dtype = np.dtype(layout)
    rows = np.frombuffer(received, dtype=dtype, offset=HEADER, count=(len(received) - HEADER - 2) // dtype.itemsize)
    return {name: _native(rows[f"v{place}"]) for place, (name, _) in enumerate(columns)}


def _filled(values: Any) -> Values:
    if not np.ma.getmaskarray(values).any():
        return np.asarray(values)
    found: Values = values.filled(None) if values.dtype.kind == "O" else values.astype(float).filled(np.nan)
    return found


def _native(cells: Values) -> Values:
    if cells.dtype.kind == "f":
        return cells.astype(float)
    return np.char.rstrip(cells.astype(str))


# -- the libraries -----------------------------------------------------------------------------------------------------


def liblinear(data: Matrix, lam: float, setting: Setting) -> Values:
    from sklearn.svm import LinearSVC

    model = LinearSVC(
        loss="hinge", C=1.0 / (2.0 * lam * data.rows), fit_intercept=False, max_iter=2000, random_state=0, **setting
    )
    return _fitted(model, data)


def sgd(data: Matrix, lam: float, setting: Setting) -> Values:
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(loss="hinge", alpha=2.0 * lam, fit_intercept=False, tol=None, random_state=0, **setting)
    return _fitted(model, data)


def rehline(data: Matrix, lam: float, setting: Setting) -> Values:
    from rehline import plqERM_Ridge

    if not isinstance(data.x, np.ndarray):
        raise MemoryError("ReHLine needs a dense matrix")
    model = plqERM_Ridge(loss={"name": "svm"}, C=1.0 / (2.0 * lam * data.rows), **setting)
    return _fitted(model, data)


def _fitted(model: Any, data: Matrix) -> Values:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what did not converge is seen by its objective
        model.fit(data.x, data.y)
    return np.asarray(model.coef_, dtype=float).ravel()


FITS: dict[str, Callable[[Matrix, float, Setting], Values]] = {"liblinear": liblinear, "sgd": sgd, "rehline": rehline}


def lightgbm(columns: Mapping[str, Values], label: str, categorical: Sequence[str], setting: Setting) -> dict[str, Any]:
    """Its trees as text, and the values of each category in the order of their codes."""
    from lightgbm import Dataset, train

    features = {name: values for name, values in columns.items() if name != label}
    known = {name: values.tolist() for name, values, _ in coded(texts(features, categorical))}
    data = Dataset(
        numbered(features, known),
        np.asarray(columns[label]) > 0,
        categorical_feature=[*map(list(features).index, known)],
    )
    parameters = {"objective": "binary", "verbosity": -1, "seed": 0, **setting}
    return {"trees": train(parameters, data).model_to_string(), "names": list(features), "known": known}


def numbered(columns: Mapping[str, Values], known: Mapping[str, Sequence[Any]]) -> Values:
    """The columns as numbers: a category by its place among those that are known, nan for another."""
    made = np.empty((len(next(iter(columns.values()))), len(columns)))
    for place, (name, cells) in enumerate(columns.items()):
        if name in known:
            codes = {str(value): code for code, value in enumerate(known[name])}
            ((_, values, found),) = coded({name: cells})
            made[:, place] = np.array([codes.get(str(v), np.nan) for v in values.tolist()], dtype=float)[found]
        else:
            made[:, place] = cells
    return made


if __name__ == "__main__":
    main()
