"""A pass on Spark is the pass on DuckDB, for each shape of query, for random worlds, and for whole trainings."""

import os
import re
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from sqlglot import exp, parse

from sqlsvm.ask.validation import trained
from sqlsvm.engine.base import Engine
from sqlsvm.options import DEFAULTS, Counting
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.run.data import Data
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.offload import offloaded
from sqlsvm.run.opening import labelled, open_problem
from sqlsvm.run.train import train
from sqlsvm.run.training import Training
from sqlsvm.solve.cuts import Bundle
from sqlsvm.solve.penalty import L2
from tests.db.test_golden import FOLDER, SHAPES
from tests.ground.offloaded import found
from tests.ground.reference import Reference
from tests.ground.schemas import random_world
from tests.ground.world import World
from tests.spark.conftest import Move, compiled

CLOSE = 1e-9


def tables(name: str, duckdb: Engine, move: Move) -> str:
    """The query of a shape, over its tables in both engines."""
    script, query = (FOLDER / f"{name}.sql").read_text(encoding="utf-8").split("-- query\n")
    for statement in filter(None, parse(script, read="postgres")):
        duckdb.execute(statement)
    move(*duckdb.table_names())
    return query


def assert_same(one: Data, other: Data, buckets: int | None = None) -> None:
    """Moments, cuts at two points, and what they prove."""
    for name in ("n", "n_negative"):
        assert getattr(one.moments, name) == pytest.approx(getattr(other.moments, name), rel=CLOSE)
    rng, proofs = np.random.default_rng(1), [Bundle(L2(0.01), problem.scaling.dimension) for problem in (one, other)]
    for _ in range(2):
        beta = rng.normal(size=one.scaling.dimension)
        cuts = [JoinOracle(problem).pass_(beta, buckets) for problem in (one, other)]
        np.testing.assert_allclose(cuts[0].slope, cuts[1].slope, rtol=CLOSE, atol=CLOSE)
        assert cuts[0].offset == pytest.approx(cuts[1].offset, rel=CLOSE, abs=CLOSE)
        assert cuts[0].value_low == pytest.approx(cuts[1].value_low, rel=CLOSE, abs=CLOSE)
        assert cuts[0].error == pytest.approx(cuts[1].error, rel=CLOSE, abs=CLOSE)
        for proof, cut in zip(proofs, cuts, strict=True):
            proof.add(cut)
    assert proofs[0].lower_bound() == pytest.approx(proofs[1].lower_bound(), rel=CLOSE, abs=CLOSE)


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape(spark: Engine, duckdb: Engine, move: Move, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    query, wish = tables(name, duckdb, move), SHAPES[name].wish
    counting: Counting = "grid" if wish.method == "grid" else "auto"
    options = ProblemOptions("y", weight=wish.weight, nulls="mean", counting=counting)
    sent: list[str] = []
    monkeypatch.setattr(spark, "on_statement", sent.append)
    with open_problem(spark, query, options) as one, open_problem(duckdb, query, options) as other:
        assert one.plan.method == other.plan.method
        assert_same(one, other, 4 if wish.method == "grid" else None)
    assert any("OVER" in text for text in sent) or wish.method != "grid"
    one_key = name == "cross_product"
    assert one_key or not [text for text in sent if by_one_task(text)]
    assert not [name for name in spark.table_names() if name.startswith("sqlsvm_")]


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_copied(spark: Engine, duckdb: Engine, move: Move, name: str) -> None:
    query, wish = tables(name, duckdb, move), SHAPES[name].wish
    options = ProblemOptions("y", weight=wish.weight, nulls="mean")
    with offloaded(spark, labelled(spark, query, options)) as (local, copied):
        assert found(local, copied, options).same_as(found(duckdb, labelled(duckdb, query, options), options))


def by_one_task(text: str) -> bool:
    """Does a window, or an order without a limit, go over all rows of a table? One task would do it."""
    (statement,) = parse(text, read="spark")
    assert statement
    whole = [w.find_ancestor(exp.Select) for w in statement.find_all(exp.Window) if not w.args.get("partition_by")]
    whole += [s for s in statement.find_all(exp.Select) if s.args.get("order") and not s.args.get("limit")]
    return any(not is_grouped(select) for select in whole if select)


def is_grouped(select: exp.Select) -> bool:
    """Or what it reads."""
    source = select.args["from_"].this if select.args.get("from_") else None
    grouped = select.args.get("group") or select.args.get("distinct")
    return bool(grouped) or (isinstance(source, exp.Subquery) and is_grouped(source.this))


def bare(world: World) -> World:
    """Without schemas, as the tables are views of the session."""
    return replace(world, items=tuple(replace(item, schema_typed=False) for item in world.items))


WORLDS = int(os.environ.get("SQLSVM_WORLDS", "3"))
"""More of them take a second or two each."""


@pytest.mark.parametrize("seed", range(WORLDS))
def test_random_worlds(spark: Engine, duckdb: Engine, move: Move, seed: int) -> None:
    assert_world(bare(two_classes(duckdb, 100 * seed)), spark, duckdb, move)


def two_classes(duckdb: Engine, seed: int) -> World:
    """The first world from this seed on whose join has rows of both classes."""
    worlds = (random_world(np.random.default_rng(n), evil=False, max_relations=4, max_rows=8) for n in count(seed))
    for world in worlds:
        with world.created(duckdb) as live:
            if min(Reference(duckdb, live).label_rows.values()):
                return world
    raise AssertionError


def assert_world(world: World, spark: Engine, duckdb: Engine, move: Move) -> None:
    with world.created(duckdb) as live:
        views = [item.form_name for item in live.items if item.form == "view"]
        move(*dict.fromkeys([*(table.name for table in live.tables), *views]), schema=live.schema)
        assert live.label is not None
        options = ProblemOptions(live.label.name, nulls="mean")
        texts = [live.query(engine.dialect) for engine in (spark, duckdb)]
        texts[0] = re.sub(rf"[`]?{live.schema}[`]?\.", "", texts[0], flags=re.IGNORECASE)
        try:
            with open_problem(duckdb, texts[1], options) as other, open_problem(spark, texts[0], options) as one:
                assert_same(one, other)
        except Exception as error:
            error.add_note(f"{texts[0]}\n{live!r}")
            raise


LOSSES = ("hinge", "logistic", "squared_hinge")


@pytest.mark.parametrize("loss", LOSSES)
def test_a_training_over_two_bags(spark: Engine, duckdb: Engine, move: Move, loss: str) -> None:
    query = tables("two_bags", duckdb, move)
    training = Training.of(label="y", loss=loss, lam=0.01, l1=0.001 if loss == "hinge" else 0.0)
    with compiled(spark):
        one = train(spark, "m", query, training)
    other = train(duckdb, "m", query, training)
    assert one.converged
    assert one.objective == pytest.approx(other.objective, rel=1e-3)
    assert max(one.lower_bound, other.lower_bound) <= min(one.objective_upper, other.objective_upper) * (1 + CLOSE)


@pytest.mark.parametrize(
    "options", [{"solver": "bundle"}, {"solver": "descent"}, {"counting": "sketch", "solver": "descent"}]
)
def test_solvers(spark: Engine, duckdb: Engine, move: Move, options: dict[str, str]) -> None:
    """These draw no sample, so all is the same. DuckDB and Spark add in different orders."""
    query = tables("two_bags", duckdb, move)
    given = {"scale": "maxabs" if options["solver"] == "descent" else DEFAULTS["scale"], "max_passes": 4}
    training = Training.of(label="y", lam=0.01, **given, **options)
    models = [train(engine, "m", query, training) for engine in (spark, duckdb)]
    assert models[0].objective == pytest.approx(models[1].objective, rel=1e-6)


def test_folds_and_rows_held_out(spark: Engine, duckdb: Engine, move: Move) -> None:
    """The same rows are held out: their digests have the same texts."""
    duckdb.execute(
        exp.Command(
            this="CREATE TABLE t AS SELECT i / 7 AS x, i * 1e-6 AS z, i % 3 = 0 OR i % 7 = 1 AS y, "
            "DATE '2020-01-01' + CAST(i AS INT) AS day FROM range(400) AS r(i)"
        )
    )
    move("t")
    query = "SELECT t.y, t.x, t.z, EXTRACT(DAY FROM t.day) AS d FROM t"
    for given in ({"holdout": 0.25}, {"folds": 2}):
        training = Training.of(label="y", lam=0.01, **given)
        (one,), (other,) = (trained(engine, query, {"m": training}) for engine in (spark, duckdb))
        assert one.objective == pytest.approx(other.objective, rel=2e-3)
        assert one.join_rows == other.join_rows
