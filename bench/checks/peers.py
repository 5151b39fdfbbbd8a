"""Every loss and every kind of constraint next to ReHLine, scikit-learn and a cone solver, on the rows of small joins:

    python -m bench.checks.peers --joins 20

Small random joins, many of them hostile: residuals on the knots, a tube of 0, quantiles of 0.001, targets of 1e9 with
unit noise, constant targets, heaps, categories that all rows share or that each row has alone. Each is trained in
DuckDB or PostgreSQL and solved again on the rows of the join:
lower bound <= the best of the peers <= F(model) <= upper bound, F within the gap of it, and each constraint to 1e-7.
"""

import warnings
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import Any

import numpy as np
from rehline import ReHLine_solver
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC, LinearSVR
from sqlglot import parse_one

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Rows, Values
from sqlsvm.model.model import Model
from sqlsvm.run.train import train
from sqlsvm.run.training import Training
from sqlsvm.solve.constraint import Constraint
from sqlsvm.solve.loss import named
from tests.ground.convex import SIDES, optimum
from tests.ground.joins import Join
from tests.ground.problems import KINDS, problem
from tests.typed import asked

CLASSES = "hinge", "squared_hinge", "smooth_hinge", "modified_huber", "logistic"
NUMBERS = "absolute", "quantile", "epsilon_insensitive", "squared_epsilon_insensitive", "huber", "squared"
CONSTRAINTS = "l1", "nonnegative", "decreasing", "box", "fair"
TOL, CLOSE, HELD = 1e-3, 1e-6, 1e-7
COARSE = 2e-4
"""Over several bags the logistic loss is counted to less than this. Where F is small, that is much of it."""


def main() -> None:
    parser = ArgumentParser(description="Trainings next to peers on the rows of small joins.")
    parser.add_argument("--joins", type=int, default=20, help="for each loss, and for each kind of constraint")
    parser.add_argument("--first", type=int, default=0, help="the number of the first join")
    parser.add_argument("--url", action="append", help="duckdb: and embedded: if there is none")
    given = parser.parse_args()
    done, worst, best, began = Counter[str](), dict[str, float](), Counter[str](), perf_counter()
    for url in given.url or ["duckdb:", "embedded:"]:
        with connect(url) as engine:
            for number in range(given.first, given.first + given.joins):
                for name, loss, kind in cases(number):
                    case = Case.drawn(np.random.default_rng([number, len(name), ord(name[0])]), loss, kind)
                    try:
                        gap, peers = case.checked(engine)
                    except BaseException as error:
                        error.add_note(f"{url} join {number}, {name}: {case}")
                        raise
                    done[name] += 1
                    worst[name] = max(worst.get(name, 0.0), gap)
                    best.update(peers)
    for name, count in done.items():
        print(f"{name:28} {count:5} joins   F at most {worst[name]:.1e} above the best of the peers")
    for peer, count in best.items():
        print(f"{peer:28} {count:5} times within {CLOSE:g} of the best")
    print(f"{sum(done.values())} trainings, none wrong, in {perf_counter() - began:.0f} s")


def cases(number: int) -> Iterator[tuple[str, str, str]]:
    """Each loss alone, and each constraint with one of the losses."""
    every = (*CLASSES, *NUMBERS)
    yield from ((loss, loss, "none") for loss in every)
    for place, kind in enumerate(CONSTRAINTS):
        loss = every[(number + place) % len(every)]
        yield kind, loss, kind


@dataclass(frozen=True)
class Case:
    join: Join
    loss: str
    kind: str
    options: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.kind} {self.options} {self.join.query}"

    @classmethod
    def drawn(cls, rng: np.random.Generator, loss: str, kind: str) -> "Case":
        join = problem(rng, KINDS[rng.integers(len(KINDS))], fan_out=int(rng.integers(0, 3)))
        options: dict[str, Any] = {"lam": float(rng.choice([1e-1, 1e-2, 1e-3, 1e-4])), "sample": 300, "tol": TOL}
        options |= {"tube": float(rng.choice([0.0, 0.1, 1.0])), "width": float(rng.choice([0.5, 0.01]))}
        options |= {
            "quantile": float(rng.choice([0.001, 0.25, 0.5, 0.999])),
            "delta": float(rng.choice([0.1, 1.0, 10.0])),
        }
        if loss in NUMBERS:
            rows = join.rows | {"f": join.rows["f"] | {"y": target(rng, join.rows["f"])}}
            join = Join(join.script.replace("y INT", "y FLOAT8", 1), rows, join.query)
        return cls(join, loss, kind, options)

    def checked(self, engine: Engine) -> tuple[float, list[str]]:
        """How far F is above the best of the peers, as a share, and the peers that are as good as the best."""
        with self.join.created(engine):
            rows = Joined.of(asked(engine, parse_one(self.join.query, read=engine.dialect)), self.loss in NUMBERS)
            wish = Wish.of(rows, self.kind)
            training = Training.of(label="y", loss=self.loss, **(self.options | wish.options))
            model = train(engine, "m", self.join.query, training)
        return rows.check(model, training, wish)


def target(rng: np.random.Generator, table: Rows) -> Values:
    n = len(table["y"])
    signal = sum(
        (
            v.astype(float) / (np.abs(v.astype(float)).max() or 1.0)
            for k, v in table.items()
            if k not in "ky" and v.dtype.kind != "O"
        ),
        0.0,
    )
    match rng.integers(5):
        case 0:
            return np.full(n, 3.0)
        case 1:
            return np.asarray(1e9 + signal + rng.normal(size=n))
        case 2:
            return np.round(signal + rng.integers(-2, 3, n))  # residuals on the knots
        case 3:
            return np.where(rng.random(n) < 0.9, 1.0, signal + rng.normal(size=n))  # a heap
    return np.asarray(signal + rng.standard_t(2, n))


@dataclass(frozen=True)
class Joined:
    """The rows of the join on scaled features, with a constant first. A category is a column of 0 and 1, unscaled."""

    y: Values
    x: Values
    names: tuple[tuple[str, object], ...]
    """The feature and, if it has categories, which of them."""
    raw: Values
    centre: Values
    width: Values
    of_numbers: bool

    @classmethod
    def of(cls, found: Rows, of_numbers: bool) -> "Joined":
        y = found.pop("y").astype(float)
        texts = {name for name, values in found.items() if values.dtype.kind == "O"}
        columns = {(name, None): values.astype(float) for name, values in found.items() if name not in texts}
        columns |= {(name, value): found[name] == value for name in texts for value in sorted(set(found[name]))}
        raw, names = np.column_stack([values.astype(float) for values in columns.values()]), tuple(columns)
        is_number = np.array([name not in texts for name, _ in names])
        centre, width = np.where(is_number, raw.mean(axis=0), 0.0), np.where(is_number, raw.std(axis=0), 1.0)
        width[width <= 1e-12 * np.abs(raw).max(axis=0)] = 1.0
        x = np.column_stack([np.ones(len(y)), (raw - centre) / width])
        return cls(y, x, names, raw, centre, width, of_numbers)

    def check(self, model: Model, training: Training, wish: "Wish") -> tuple[float, list[str]]:
        psi, n = named(training.loss, **self._option(training)), len(self.y)
        signs = np.ones(n) if self.of_numbers else self.y
        origins = self.y - model.label_centre if self.of_numbers else np.full(n, psi.origin or 0.0)

        def value(beta: Values) -> float:
            size = float(np.abs(beta[1:]).sum())
            loss = float(psi.value(origins - signs * (self.x @ beta)).mean())
            return loss + training.lam * float(beta @ beta) + training.l1 * size

        known = {(w.feature, w.category): w.scaled_weight for w in model.weights}
        own = np.array([model.scaled_intercept or 0.0, *(known[name] for name in self.names)])
        found, values = value(own), dict[str, float]()
        for name, peer in (("cone", self._cone), ("ReHLine", self._rehline), ("scikit-learn", self._sklearn)):
            beta = peer(training, wish, signs, origins)
            if beta is not None and (wish.rows @ beta + wish.shifts).min(initial=0.0) >= -HELD:
                values[name] = value(wish.constraint.repaired(beta))
        best = min(values.values(), default=inf)
        close = CLOSE * (abs(found) + 1e-12 * float(np.abs(origins).mean()))
        assert best < inf, "no peer has found an optimum"
        assert model.objective - close <= found <= model.objective_upper + close, (model.objective, found)
        assert model.lower_bound <= best + close, (model.lower_bound, best)
        coarse = training.loss == "logistic" and model.bags > 1
        assert model.converged or (coarse and model.objective_upper - model.lower_bound <= COARSE), model.gap
        if not model.converged:
            assert found <= best + COARSE
        elif model.gap <= TOL:
            assert found <= best / (1.0 - TOL) + close, (found, best)
        else:
            assert model.objective == 0.0, "0 but for rounding, of which no share can be proven"
        held = wish.rows @ own + wish.shifts
        assert held.min(initial=0.0) >= -HELD * max(1.0, np.abs(self.width).max()), held
        peers = [name for name, reached in values.items() if reached <= best + close]
        return (max(0.0, found / best - 1.0) if best > 1e-9 else 0.0), peers

    def _option(self, training: Training) -> dict[str, Any]:
        return {name: getattr(training, name) for name in ("width", "tube", "quantile", "delta")}

    def _parameter(self, training: Training) -> float:
        """That of the loss."""
        names = {"smooth_hinge": "width", "huber": "delta", "quantile": "quantile"}
        name = names.get(training.loss, "tube")
        return float(getattr(training, name))

    def _cone(self, training: Training, wish: "Wish", signs: Values, origins: Values) -> Values | None:
        shares, option = np.full(len(self.y), 1.0 / len(self.y)), self._parameter(training)
        loss, own = training.loss, wish.constraint
        return optimum(
            self.x,
            signs,
            origins,
            shares,
            loss,
            training.lam,
            l1=training.l1,
            constant=0,
            constraint=own,
            option=option,
        )

    def _rehline(self, training: Training, wish: "Wish", signs: Values, origins: Values) -> Values | None:
        """ReLU(u x.beta + v) and ReHU, over 2 lambda, as its penalty is half the square. It has neither l1 nor exp."""
        if training.l1 or training.loss not in SIDES:
            return None
        share = 1.0 / (2.0 * training.lam * len(self.y))
        u, v, tau, s, t = ([] for _ in range(5))  # type: ignore[var-annotated]
        for way, tube, slope, bend, beyond in SIDES[training.loss](self._parameter(training)):
            z, at = -way * signs, way * origins - tube
            if bend:
                root = np.sqrt(bend * share)
                s, t = [*s, root * z], [*t, root * at]
                tau.append(np.full(len(z), inf if beyond is None else beyond * share / root))
            else:
                u, v = [*u, slope * share * z], [*v, slope * share * at]
        empty = np.empty((0, 0))
        arrays = (np.array(each) if each else empty for each in (u, v, tau, s, t))
        given = dict(zip(("U", "V", "Tau", "S", "T"), arrays, strict=True))
        if len(wish.rows):
            given |= {"A": wish.rows, "b": wish.shifts}
        found = ReHLine_solver(self.x, **given, max_iter=200_000, tol=1e-10, verbose=0)
        return np.asarray(found.beta)

    def _sklearn(self, training: Training, wish: "Wish", signs: Values, origins: Values) -> Values | None:
        """Its penalty is half the square, and the constant is a column. It has no constraints, and its other losses do
        not go with this penalty."""
        share = 1.0 / (2.0 * training.lam * len(self.y))
        given = {"C": share, "fit_intercept": False, "tol": 1e-10, "max_iter": 200_000, "random_state": 0}
        loss, tube = training.loss, training.tube
        if training.l1 or len(wish.rows):
            return None
        if loss == "absolute":
            fitted = LinearSVR(epsilon=0.0, dual=True, **given)
        elif loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
            fitted = LinearSVR(epsilon=tube, loss=loss, dual=True, **given)
        elif loss in ("hinge", "squared_hinge"):
            fitted = LinearSVC(loss=loss, dual=True, **given)
        elif loss == "logistic":
            fitted = LogisticRegression(
                C=share, fit_intercept=False, tol=1e-12, solver="newton-cholesky", max_iter=1000
            )
        elif loss == "squared":
            fitted = Ridge(alpha=1.0 / share, fit_intercept=False, solver="cholesky")
        else:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted.fit(self.x, origins if self.of_numbers else signs)
        return np.asarray(fitted.coef_, dtype=float).ravel()


@dataclass(frozen=True)
class Wish:
    """What is asked of the weights, and the same as rows over the scaled ones."""

    options: dict[str, Any]
    rows: Values
    shifts: Values

    @property
    def constraint(self) -> Constraint:
        return Constraint(tuple(map(str, range(len(self.shifts)))), self.rows, self.shifts)

    @classmethod
    def of(cls, rows: Joined, kind: str) -> "Wish":
        unit, d = np.eye(1 + len(rows.names))[1:] / rows.width[:, None], 1 + len(rows.names)
        numbers = [place for place, (_, category) in enumerate(rows.names) if category is None]
        (first, _), (last, _), end = rows.names[numbers[0]], rows.names[numbers[-1]], numbers[-1]
        match kind:
            case "nonnegative":
                return cls({"constrain": ("nonnegative",)}, unit, np.zeros(d - 1))
            case "decreasing":
                return cls({"constrain": (f"decreasing:{first}",)}, -unit[:1], np.zeros(1))
            case "box":
                sides = np.vstack([unit[0], -unit[0], -unit[end]])
                return cls(
                    {"constrain": (f"box:{first}:-1:0.125", f"box:{last}::0.5")}, sides, np.array([1.0, 0.125, 0.5])
                )
            case "fair":
                s = rows.raw[:, 0]
                row = (s - s.mean()) @ rows.x / len(s)
                return cls({"constrain": (f"fair:{first}:0.01",)}, np.vstack([-row, row]), np.full(2, 0.01))
        return cls({"l1": 1e-2 if kind == "l1" else 0.0}, np.zeros((0, d)), np.zeros(0))


if __name__ == "__main__":
    main()
