"""LEFT JOINs that find several rows, against the rows of the query itself."""

import numpy as np
import pytest

from sqlsvm import sql
from sqlsvm.engine.base import Engine
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.model.predict import predict
from sqlsvm.options import Counting
from sqlsvm.run.train import train
from sqlsvm.run.workspace import workspace
from tests.db.test_inspect import check as check_inspection
from tests.db.test_moments import check as check_moments
from tests.db.test_no_temp import bare
from tests.db.test_oracle import assert_exact
from tests.evaluating import evaluate_model
from tests.ground.joins import Join, left_join_to_many
from tests.ground.opened import Wish, build, is_clear, joined, opened, opened_world, truth
from tests.ground.schemas import Wishes, random_world
from tests.ground.sql_program import compiled, trained
from tests.ground.trained import assert_beside_liblinear, assert_proven, measured_both_ways, training, wish_of
from tests.ground.world import noted
from tests.typed import typed

MANY: Wishes = {"to_many": True, "many_to_many": True, "max_relations": 4}
JOIN = left_join_to_many(np.random.default_rng(5))
FOLDED = left_join_to_many(np.random.default_rng(6), unknown=0)
"""No two rows look for the same key."""


@pytest.mark.slow
def test_random_worlds(shared_engine: Engine) -> None:
    """Sizes, moments and a pass."""
    several = 0
    for seed in range(40, 50):
        with noted(f"seed {seed}"), opened_world(shared_engine, seed, Wish(), **MANY) as found:
            if found is None:
                continue
            beta = found.normal(np.random.default_rng(seed))
            assert_exact(found, beta, clear=is_clear(found.truth, beta))
            query, work = found.plan.tree.query, found.problem.work
            assert query.label
            wish = Wish(label=query.label.name)
            check_moments(found.problem, joined(work.engine, query.text, wish), wish)
            several += any(not join.finds_one for join in query.numbered)
    assert several >= 3


HISTORIES = (
    "FROM c LEFT JOIN v ON v.k = c.k",
    "FROM c LEFT JOIN v ON v.k = c.k AND v.z > 0 WHERE v.z IS NULL OR v.z < 3",
    "FROM c LEFT JOIN v ON v.k = c.k LEFT JOIN o ON o.j = v.j",
    "FROM c LEFT JOIN v ON v.k = c.k LEFT JOIN o ON o.j = c.j",
    "FROM c LEFT JOIN v ON v.k = c.k AND v.j = c.j LEFT JOIN o ON o.j = v.j AND o.p > 0",
    "FROM o JOIN c ON c.j = o.j LEFT JOIN v ON v.k = c.k",
)
OUTPUTS = "SELECT c.y, c.x, v.z, COALESCE(v.z, 2) AS known, {o}"


def number(rng: np.random.Generator, most: int) -> str:
    return str(rng.integers(0, most)) if rng.random() < 0.85 else "NULL"


def history(rng: np.random.Generator, nulls: int) -> str:
    """Keys of c occur once, but for NULL."""
    keys = [*map(str, rng.permutation(12)[:7]), *["NULL"] * nulls]
    c = ", ".join(f"({k}, {number(rng, 4)}, {rng.integers(0, 2)}, {rng.integers(-3, 4) / 2})" for k in keys)
    v = ", ".join(f"({number(rng, 9)}, {number(rng, 4)}, {rng.integers(-3, 5) / 2})" for _ in range(14))
    o = ", ".join(f"({number(rng, 5)}, {rng.integers(-3, 4) / 2})" for _ in range(5))
    return f"""CREATE TABLE c (k INT, j INT, y INT, x FLOAT8); CREATE TABLE v (k INT, j INT, z FLOAT8);
        CREATE TABLE o (j INT, p FLOAT8);
        INSERT INTO c VALUES {c}; INSERT INTO v VALUES {v}; INSERT INTO o VALUES {o}"""


@pytest.mark.parametrize("nulls", [0, 1, 2])
def test_histories(shared_engine: Engine, nulls: int) -> None:
    """Each row of c looks for another key, unless two look for NULL. Then c folds, and many-to-many joins are none."""
    rng, numbered = np.random.default_rng(nulls), []
    for joins in HISTORIES:
        text = OUTPUTS.format(o="o.p" if " o " in joins else "v.j") + " " + joins
        try:
            build(shared_engine, history(rng, nulls))
            with noted(text), workspace(shared_engine) as work:
                found, wish = opened(work, text, Wish(label="y")), Wish(label="y")
                beta = found.dyadic(rng)
                assert_exact(found, beta, clear=is_clear(found.truth, beta))
                check_moments(found.problem, joined(shared_engine, text, wish), wish)
                numbered.append(found.plan.tree.query.numbered[0].numbers)
        finally:
            for table in "cvo":
                typed(shared_engine, sql.drop(table))
    assert numbered.count("parents" if nulls < 2 else "keys") >= 4


def test_a_right_join(shared_engine: Engine) -> None:
    text = "SELECT c.y, c.x, v.z, o.p FROM v RIGHT JOIN c ON v.k = c.k AND v.z > 0 JOIN o USING (j) WHERE o.p < 1"
    try:
        build(
            shared_engine,
            history(np.random.default_rng(4), 1).replace("TABLE v (k INT, j INT", "TABLE v (k INT, i INT"),
        )
        with workspace(shared_engine) as work:
            found, wish = opened(work, text, Wish(label="y")), Wish(label="y")
            assert len(found.plan.tree.query.relations) == 3
            check_moments(found.problem, joined(shared_engine, text, wish), wish)
    finally:
        for table in "cvo":
            typed(shared_engine, sql.drop(table))


@pytest.mark.slow
def test_what_inspect_says(shared_engine: Engine) -> None:
    for seed in range(60, 66):
        with noted(f"seed {seed}"):
            check_inspection(shared_engine, random_world(np.random.default_rng(seed), **MANY))


@pytest.mark.parametrize(
    ("join", "counting", "nulls"), [(JOIN, "exact", "mean"), (JOIN, "grid", "drop"), (FOLDED, "exact", "mean")]
)
def test_training(shared_engine: Engine, join: Join, counting: Counting, nulls: str) -> None:
    """In passes, and all at once in memory."""
    with join.created(shared_engine):
        for rows in (0, None):
            asked = training(lam=1e-2, nulls=nulls, counting=counting, in_memory=rows)
            model = train(shared_engine, "m", join.query, asked)
            real = truth(shared_engine, join.query, wish_of(asked))
            assert model.converged
            assert_proven(shared_engine, model, real)
            assert_beside_liblinear(model, real)


def test_what_a_model_is_asked(shared_engine: Engine) -> None:
    """Its scores are those of the rows of the query, and a part of its rows can be held out."""
    with JOIN.created(shared_engine):
        asked = training(lam=1e-2, nulls="mean", holdout=0.3)
        model = train(shared_engine, "m", JOIN.query, asked)
        rows = sql.select([(sql.count(), "n")], sql.derived(predict(shared_engine, model), "p"))
        assert shared_engine.fetch(rows)["n"][0] == len(truth(shared_engine, JOIN.query, wish_of(asked)).y)
        found = evaluate_model(shared_engine, model)
        assert isinstance(found, Evaluation)
        assert found.negatives + found.positives == shared_engine.fetch(rows)["n"][0]


@pytest.mark.parametrize("join", [JOIN, FOLDED])
def test_folds(shared_engine: Engine, join: Join) -> None:
    for (in_memory, _), (counted, _) in measured_both_ways(shared_engine, join, lam=1e-2, nulls="mean"):
        assert counted == pytest.approx(in_memory, rel=1e-9)


FOUND = "COALESCE(v.minutes > 0.7, FALSE) AS y, c.age, v.v IS NULL AS absent, c.y AS z {} WHERE TRUE"
SAYS = "v.minutes > 0.7 AS y, c.age, c.y AS z {} WHERE v.minutes IS NOT NULL"


@pytest.mark.parametrize("join", [JOIN, FOLDED])
@pytest.mark.parametrize("outputs", [FOUND, SAYS])
def test_a_label_of_what_is_found(shared_engine: Engine, join: Join, outputs: str) -> None:
    text = f"SELECT {outputs.format('FROM clients c LEFT JOIN visits v ON v.k = c.k')}"
    with join.created(shared_engine):
        asked = training(lam=1e-2, nulls="mean", in_memory=0)
        model = train(shared_engine, "m", text, asked)
        assert_proven(shared_engine, model, truth(shared_engine, text, wish_of(asked)))
        train(shared_engine, "m", text, training(lam=1e-2, nulls="mean", holdout=0.3))


def test_elsewhere(installed: Engine, installed_dsn: str) -> None:
    """Offloaded, without tables, and in psql: the same proof."""
    with FOLDED.created(installed):
        asked = training(lam=1e-2, nulls="mean")
        real = truth(installed, FOLDED.query, wish_of(asked))
        models = [train(installed, "m", FOLDED.query, training(lam=1e-2, nulls="mean", offload=True))]
        compiled(installed, "m", FOLDED.query, asked)
        models.append(trained(installed, installed_dsn, "m"))
        with bare(installed):
            models.append(train(installed, "m", FOLDED.query, training(lam=1e-2, nulls="mean", in_memory=0)))
        for model in models:
            assert_proven(installed, model, real)
