"""Random queries, whose rows no rule of query/rewrites may change: `python -m tests.queries` runs many, and counts.

What the typed text returns = what the rendered query returns, before the rules and after each; and the join has as many
rows of both classes, and sums of its numbers, as the training measures.
"""

from collections import Counter
from itertools import combinations

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError, FormError, OptionError, QueryError
from sqlsvm.maps.mapped import mapped
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.query import Feature, FeatureQuery
from sqlsvm.query.facts import Facts
from sqlsvm.query.read_query import read_query, taken_apart
from sqlsvm.query.rewrites import RULES
from sqlsvm.query.rewrites.kinds import without_nulls
from sqlsvm.query.rewrites.split import PARTS, Holdout, by_column, grouped, marked, part_of
from sqlsvm.query.rows import Outputs, render, typed_outputs
from sqlsvm.run.opening import open_problem
from tests.ground.forms import nested
from tests.ground.schemas import Wishes, random_world
from tests.ground.world import World
from tests.typed import asked

Rows = Counter[tuple[str, ...]]


def drawn(seed: int) -> World:
    """With cycles, stars, sub-queries, CTEs, views, LEFT JOINs and filters."""
    wishes: Wishes = {"max_rows": 14, "left_joins": seed % 2 == 0, "nulls": seed % 3 > 0, "min_relations": 2}
    wishes |= {"many_to_many": None if seed % 5 else False, "acyclic": None, "to_many": seed % 4 == 0}
    return random_world(np.random.default_rng(seed), **wishes)


def text_of(live: World, seed: int, dialect: str) -> str:
    """The query of a world, with outputs and a condition over several relations."""
    rng = np.random.default_rng(seed)
    outputs = [exp.alias_(f.expression.copy(), f.name, quoted=True) for f in live.outputs]
    more, conditions = [], []
    for n, (a, b) in enumerate(combinations(_numbers(live.features), 2)):
        both, above = (
            _over(int(rng.integers(4 if seed % 2 else 2)), a, b),
            exp.GT(this=a.copy(), expression=sql.minus(b, sql.number(3))),
        )
        more += [exp.alias_(both, f"both{n}", quoted=True)] if rng.random() < 0.5 else []
        conditions += [above] if seed % 2 and rng.random() < 0.2 else []
    select = live.select([*outputs, *more[:4]]).where(*conditions[:1])
    return nested(live, select, np.random.default_rng([seed, 1]), _numbers(live.features)).sql(dialect)


def _numbers(features: tuple[Feature, ...]) -> list[exp.Expression]:
    return [sql.double(e) for e in {f.relation: f.expression.copy() for f in features if f.kind == "numeric"}.values()]


def _over(way: int, a: exp.Expression, b: exp.Expression) -> exp.Expression:
    a, b = a.copy(), b.copy()
    if way == 0:
        return exp.Add(this=a, expression=sql.product(sql.number(2), b))
    if way == 1:
        return exp.Sub(this=a, expression=b)
    return exp.Mul(this=a, expression=b) if way == 2 else sql.coalesce(a, b)


def check(engine: Engine, seed: int) -> str:
    """What has become of a query."""
    with drawn(seed).created(engine) as live:
        text = text_of(live, seed, engine.dialect)
        label = live.label.name if live.label else None
        try:
            query, facts = taken_apart(engine, text, label=label), Facts(engine)
        except QueryError:
            return "refused"
        names = [name for _, name in typed_outputs(query)]
        wanted = _rows(asked(engine, text), names)
        assert _rendered(engine, query) == wanted, "taken apart"
        for rule in RULES:
            try:
                query = rule(query, facts)
            except FormError:
                assert _rendered(engine, read_query(engine, text, label=label)) == wanted, "the whole is made"
                return _check_counts(engine, text, label) if label else "checked, without a label"
            except QueryError:
                return "refused by a rule"
            assert _rendered(engine, query) == wanted, rule.__name__
        if label is None:
            return "checked, without a label"
        _check_options(engine, query, facts, wanted)
        return _check_counts(engine, text, label)


def _check_options(engine: Engine, query: FeatureQuery, facts: Facts, wanted: Rows) -> None:
    """The rules that options ask for."""
    assert query.label
    whole = Counter({row: n for row, n in wanted.items() if "None" not in row})
    assert _rendered(engine, without_nulls(query, facts)) == whole, "nulls"
    held = marked(Holdout(0.4))(query, facts)
    parts = (_rendered(engine, part_of(part)(held, facts)) for part in PARTS)
    assert sum(parts, Rows()) == wanted, "parts"
    assert mapped(())(query, facts) == query
    sums = query.sums
    for name in [f.name for f in query.features if f.relation == query.label.relation and f.name not in sums][:1]:
        by = grouped(by_column(name)(query, facts), facts)
        outputs = {n: e for e, n in typed_outputs(by)}
        same = [(outputs[n], n) for _, n in typed_outputs(query)]
        assert _rendered(engine, by, same) == wanted, "by"


def _check_counts(engine: Engine, text: str, label: str) -> str:
    """N, the rows of each class and the sums of each number, as the training counts them."""
    try:
        with open_problem(engine, text, ProblemOptions(label, nulls="drop", scale="none")) as problem:
            found, query = problem.moments, problem.catalog.query
            numbers = [c for c in problem.plan.design.coordinates if c.role != "intercept"]
            assert query.label
            values = [(c.value, c.column) for c in numbers]
            outputs, inner = ([(y, "y"), *values] for y in (query.label.typed, query.label.value))
            assert _rendered(engine, query, outputs) == _rendered(engine, problem.plan.tree.query, inner), "inner"
            sums = [(sql.count(), "n"), *((sql.total(sql.column(c.column)), c.column) for c in numbers)]
            rows = engine.fetch(sql.grouped(sql.columns(["y"]), sums, sql.derived(render(query, outputs), "r")))
    except DataError as error:
        if "has no rows" in error.message or "one class only" in error.message:
            return _check_classes(engine, text, label)
        return "checked, no training"
    except (OptionError, QueryError):
        return "checked, no training"
    assert sorted(rows["n"].tolist()) == sorted((found.n_negative, found.n - found.n_negative)), "counts"
    for c in numbers:
        np.testing.assert_allclose(rows[c.column].sum(), found.total[c.index], rtol=1e-9, atol=1e-9, err_msg=c.feature)
    return "checked"


def _check_classes(engine: Engine, text: str, label: str) -> str:
    left = without_nulls(read_query(engine, text, label=label), Facts(engine))
    assert left.label
    assert len(_rendered(engine, left, [(left.label.typed.copy(), "y")])) < 2, "classes"
    return "checked, one class or no rows"


def _rendered(engine: Engine, query: FeatureQuery, outputs: Outputs | None = None) -> Rows:
    return rows_of(engine.fetch(render(query, outputs)))


def rows_of(found: dict[str, np.ndarray]) -> Rows:
    return _rows(found, list(found))


def _rows(found: dict[str, np.ndarray] | object, names: list[str]) -> Rows:
    columns = [found[name].tolist() for name in names]  # type: ignore[index]
    return Counter(zip(*(map(_text, column) for column in columns), strict=True))


def _text(value: object) -> str:
    """NULL is nan among numbers. Doubles are equal up to the last digits: groups add them up in another order."""
    if value is None or value != value:
        return "None"
    return f"{round(float(value), 7) + 0.0:.9g}" if isinstance(value, int | float) else str(value)
