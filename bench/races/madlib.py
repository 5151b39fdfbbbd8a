"""Apache MADlib's SVM on the join as a table of scaled features, set up so that it minimises F.

- It adds no intercept to the linear kernel, so the array of features begins with a 1.
- It minimises the sum of the hinges + lambda / 2 |w|^2 over n rows, so its lambda is 2 n lam.
- It scales nothing, has no categories and leaves out rows with a NULL. So SQL measures the join and makes a table.
- Its descent follows the order of the table, so the rows of some tables have to be shuffled first.
- It keeps settings of a model in the process of the server, so each model has a connection of its own. `connect` turns
  the compiler of PostgreSQL off, which would compile each of MADlib's statements anew.

$SQLSVM_MADLIB_DSN names a server that has it. To build it, take the branch madlib2-master of github.com/apache/madlib
and Eigen 3.2.10 as a tar file. On Debian 12 install postgresql-server-dev-15, postgresql-plpython3-15, libboost-dev,
python3-yaml, cmake, m4, flex and bison. Only seven modules are needed, which take a minute instead of an hour:

- src/config/Modules.yml: leave linalg, array_ops, svec, utilities, convex, svm and validation, in this order, each
  without `depends`.
- src/CMakeLists.txt: `MAD_CPP_SOURCES` from modules/linalg, modules/convex and modules/utilities only, no stemmer.
- src/modules/declarations.hpp: only the lines of these three. Delete methods/stemmer, methods/sketch, methods/kmeans,
  and the folders of other versions in src/ports/postgres. Empty src/ports/greenplum/CMakeLists.txt.
- CMakeLists.txt sets -O1 for C++ 11. Write `-O2 -DNDEBUG -include array` there: gcc 12 does not include <array>.

    mkdir build && cd build
    cmake .. -DCXX11=1 -DCMAKE_BUILD_TYPE=Release -DEIGEN_TAR_SOURCE=$(realpath ../eigen.tar.gz) \\
      -DPOSTGRESQL_15_PG_CONFIG=/usr/lib/postgresql/15/bin/pg_config
    cmake --build . --parallel 2
    export PGHOST=/tmp PGUSER=postgres PGDATABASE=postgres            # else madpack asks localhost
    psql -c 'CREATE EXTENSION plpython3u'
    python3 src/madpack/madpack.py -p postgres install                # as the account that owns the server
    export SQLSVM_MADLIB_DSN='host=/tmp user=postgres dbname=postgres'
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from sqlglot import exp

from bench.races.grids import Setting
from bench.races.matrix import Matrix
from bench.races.tasks import Task, parsed
from sqlsvm import sql
from sqlsvm.compile.statement import statement
from sqlsvm.engine import connect
from sqlsvm.engine.base import Column, Engine, Values

JOIN, ROWS, MODEL = "bench_join", "public.bench_madlib_rows", "public.bench_madlib"
MADE = (ROWS, MODEL, f"{MODEL}_summary")
SIGN, FEATURES, WEIGHTS = "sign", "features", "weights"


def prepare(engine: Engine, task: Task, shuffled: bool) -> Matrix:
    """The join as a table, and the matrix that it is: without the rows, but with what they are scaled by. The join is
    read twice: to measure it, and to write it."""
    query = parsed(task, engine)
    columns = {c.name: c for c in engine.describe(query)}
    label = columns.pop(task.label)
    texts = [c for c in columns.values() if c.kind == "categorical" or c.name in task.categorical]
    found = _measured(engine, query, [c for c in columns.values() if c not in texts], texts)
    places = zip(found.names, found.centre.tolist(), found.width.tolist(), strict=True)
    cells = [sql.number(1), *(_scaled(_number(columns[name]), centre, width) for name, centre, width in places)]
    for name, values in found.categories.items():
        cells += [_one(sql.equal(_text(columns[name]), exp.Literal.string(v)), 0) for v in values.tolist()]
    sign = _one(exp.GT(this=_number(label), expression=sql.integer(0)), -1)
    rows = sql.select([(sign, SIGN), (exp.Array(expressions=cells), FEATURES)], query.subquery(JOIN))
    if shuffled:
        rows = rows.order_by(exp.Rand())
    engine.execute(exp.Create(this=exp.to_table(ROWS), kind="TABLE", expression=rows))
    engine.execute(exp.Analyze(tables=[exp.to_table(ROWS)]))
    return found


@contextmanager
def clean(engine: Engine) -> Iterator[None]:
    """Nothing of an earlier run is there before, nothing of this one after."""
    _drop(engine, *MADE)
    try:
        yield
    finally:
        _drop(engine, *MADE)


def _drop(engine: Engine, *tables: str) -> None:
    for name in tables:
        engine.execute(exp.Drop(tables=[exp.to_table(name)], kind="TABLE", exists=True))


def _measured(engine: Engine, query: exp.Query, numbers: Sequence[Column], texts: Sequence[Column]) -> Matrix:
    """Mean and deviation of each number, a NULL counting as the mean, and the values of each category."""
    outputs = [(sql.count(), "n")]
    for i, cell in enumerate(map(_number, numbers)):
        outputs += [
            (exp.Avg(this=cell), f"a{i}"),
            (exp.VariancePop(this=cell), f"v{i}"),
            (exp.Count(this=cell), f"c{i}"),
        ]
    outputs += [(exp.ArrayAgg(this=exp.Distinct(expressions=[_text(c)])), f"d{i}") for i, c in enumerate(texts)]
    n, *found = (values[0] for values in engine.fetch(sql.select(outputs, query.subquery(JOIN))).values())
    mean, variance, known = np.array(found[: 3 * len(numbers)], dtype=float).reshape(-1, 3).T
    width, lists = np.sqrt(variance * known / float(n)), found[3 * len(numbers) :]
    categories = {c.name: np.array([v for v in some if v is not None]) for c, some in zip(texts, lists, strict=True)}
    names = tuple(c.name for c in numbers)
    return Matrix(None, np.broadcast_to(0.0, int(n)), names, mean, np.where(width > 0, width, 1.0), categories)


def train(url: str, rows: int, lam: float, setting: Setting) -> Values:
    """madlib.svm_classification(table, model, label, features, 'linear', '', '', params), then its coefficients."""
    known = {"lambda": 2 * rows * lam, "tolerance": 0, **setting}
    params = ", ".join(f"{name}={value}" for name, value in known.items() if name != "shuffled")
    texts = [ROWS, MODEL, SIGN, FEATURES, "linear", "", "", params]
    with connect(url) as engine:
        _drop(engine, *MADE[1:])
        engine.fetch(exp.select(exp.alias_(_madlib("svm_classification", *map(exp.Literal.string, texts)), "done")))
        found = engine.fetch(exp.select("coef").from_(MODEL))["coef"][0]
    return np.asarray(found, dtype=float)


def objective(engine: Engine, lam: float, beta: Values) -> float:
    """F over the table."""
    score = _madlib("array_dot", sql.column(FEATURES), sql.array(WEIGHTS))
    short = sql.minus(sql.number(1), sql.product(sql.column(SIGN), score))
    hinge = exp.Avg(this=sql.greatest(sql.number(0), short))
    asked = sql.select([(hinge, "hinge")], exp.to_table(ROWS))
    return float(engine.fetch(statement("hinge", asked).query, [beta])["hinge"][0]) + lam * float(beta @ beta)


def _number(column: Column) -> exp.Expression:
    cell = exp.column(column.name, quoted=True)
    return sql.double(exp.cast(cell, exp.DType.INT) if column.kind == "boolean" else cell)


def _text(column: Column) -> exp.Expression:
    return sql.text(exp.column(column.name, quoted=True))


def _scaled(cell: exp.Expression, centre: float, width: float) -> exp.Expression:
    away = exp.paren(sql.minus(cell, sql.number(centre)), copy=False)
    return sql.coalesce(exp.Div(this=away, expression=sql.number(width)), sql.number(0))


def _one(condition: exp.Expression, otherwise: int) -> exp.Expression:
    return sql.case(condition, sql.number(1), sql.number(otherwise))


def _madlib(name: str, *values: exp.Expression) -> exp.Expression:
    return exp.Dot(this=exp.to_identifier("madlib"), expression=exp.Anonymous(this=name, expressions=list(values)))
