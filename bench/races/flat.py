"""What one would write by hand: the same solver and the same cuts, but every pass is an aggregate over the join itself.

Numbers only, without NULLs. With the relational pass taken away and everything else left as it is, a comparison with
this shows what that pass is worth.
"""

import numpy as np
from sqlglot import exp

from bench.races.tasks import Task, parsed
from sqlsvm import sql
from sqlsvm.compile.statement import statement, theta
from sqlsvm.engine.base import Engine, Text, Values
from sqlsvm.solve.loss import Loss, named
from sqlsvm.solve.oracle import Cut, Sample
from sqlsvm.solve.rounding import EXACT
from sqlsvm.solve.rows import SampleRows

ROWS = "j"
SHARE = "share"


class FlatOracle:
    """R(beta) over the rows of a query or of a table, on features scaled to mean 0 and deviation 1."""

    exact = True
    loss: Loss = named()

    def __init__(self, engine: Engine, task: Task, source: exp.Expr | None = None) -> None:
        query = parsed(task, engine)
        self.engine = engine
        self.source = query.subquery(ROWS) if source is None else source
        self.label = task.label
        self.names = [c.name for c in engine.describe(query) if c.name != task.label]
        self._measure()
        self.filtered = self.compiled(self._filtered())
        self.cased = self.compiled(self._cased())

    def refine(self, _enough: float) -> None:
        """It counts by the loss itself."""

    def roundings(self, _beta: Values, _buckets: int) -> int:
        return 0

    @property
    def dimension(self) -> int:
        return 1 + len(self.names)

    @property
    def join_rows(self) -> float:
        return self.n

    @property
    def rows_read(self) -> float:
        return self.n

    def compiled(self, query: exp.Select) -> Text:
        """Rendered once: it runs in every pass."""
        return self.engine.text(statement("flat", query).query)

    def raw(self, beta: Values) -> Values:
        """The weights of 1 and of the columns as they are."""
        slopes = beta[1:] / self.width
        raw: Values = np.concatenate([[beta[0] - slopes @ self.centre], slopes])
        return raw

    def run(self, text: Text, beta: Values) -> Values:
        answer = self.engine.fetch(text, [self.raw(beta)])
        return np.asarray(np.nan_to_num([float(values[0]) for values in answer.values()]))

    soft = soft_is_cheap = whole = False
    bags = 1
    even = True
    rounding = EXACT

    def adds_values(self, _width: float) -> bool:
        return False

    def size(self, _beta: Values, _cut: Cut) -> tuple[float, float]:
        return 1.0, 1.0

    def pass_(self, beta: Values, _buckets: int | None = None, _width: float = 0.0) -> Cut:
        """SUM(y x) over the rows with y score < 1: the cut that sqlsvm gets from its messages."""
        active, signs, *sums = self.run(self.filtered, beta)
        slopes = (np.array(sums) - signs * self.centre) / self.width
        slope = -np.concatenate([[signs], slopes]) / self.n
        offset = active / self.n
        return Cut(slope, offset, offset + float(slope @ beta), 0.0, None)

    def sample(self, size: int, seed: int) -> Sample:
        """About `size` rows: each is kept with the same probability."""
        kept = exp.LT(this=exp.Rand(), expression=sql.parameter(SHARE))
        columns = [sql.column(n) for n in (self.label, *self.names)]
        drawn = exp.select(*columns).from_(self.source.copy()).where(kept)
        self.engine.fetch(exp.select(exp.func("setseed", sql.number(1 / (2 + seed)))))
        rows = self.engine.fetch(self.compiled(drawn), [size / self.n])
        y = np.where(rows[self.label] > 0, 1.0, -1.0)
        x = np.column_stack([rows[n].astype(float) for n in self.names])
        scaled = np.column_stack([np.ones(len(y)), (x - self.centre) / self.width])
        return Sample(SampleRows.of(scaled), y, np.ones(len(y)), np.ones(len(y)))

    def _measure(self) -> None:
        outputs = [(sql.count(), "n")]
        outputs += [(sql.total(sql.column(n)), f"s{i}") for i, n in enumerate(self.names)]
        outputs += [(sql.total(sql.product(sql.column(n), sql.column(n))), f"q{i}") for i, n in enumerate(self.names)]
        found = self.engine.fetch(sql.select(outputs, self.source.copy()))
        n, *moments = (float(values[0]) for values in found.values())
        total, squares = np.array(moments).reshape(2, -1)
        self.n, self.centre = n, total / n
        self.width = np.sqrt(squares / n - self.centre**2)

    def _rows(self) -> exp.Subquery:
        """Every column, the sign of the label, and the score."""
        zero = sql.integer(0)
        sign = sql.case(exp.GT(this=sql.column(self.label), expression=zero), sql.number(1), sql.number(-1))
        terms = [sql.product(theta(sql.integer(i)), sql.column(n)) for i, n in enumerate(self.names, 2)]
        score = sql.plus(theta(sql.integer(1)), *terms)
        outputs = exp.alias_(sign, "sign"), exp.alias_(score, "score")
        return sql.derived(exp.select("*", *outputs).from_(self.source.copy()), "r")

    def _signed(self) -> list[exp.Expression]:
        return [sql.product(sql.column("sign"), sql.column(n)) for n in self.names]

    def _filtered(self) -> exp.Select:
        """WHERE keeps the active rows, then the sums: the best that we know how to write."""
        outputs = [(sql.count(), "n"), (sql.total(sql.column("sign")), "signs")]
        outputs += [(sql.total(value), f"s{i}") for i, value in enumerate(self._signed())]
        return sql.select(outputs, self._rows()).where(_active())

    def _cased(self) -> exp.Select:
        """SUM(CASE WHEN y score < 1 THEN y x END) for every column, as the formula reads."""
        outputs = [(sql.total(sql.case(_active(), value)), f"s{i}") for i, value in enumerate(self._signed())]
        return sql.select(outputs, self._rows())


def _active() -> exp.Expression:
    margin = sql.product(sql.column("sign"), sql.column("score"))
    return exp.LT(this=margin, expression=sql.integer(1))
