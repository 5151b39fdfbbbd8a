"""The ground that all other tests stand on: random worlds are legal, varied, say what they mean, and obey."""

from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, find, given, settings
from sqlglot import exp, parse_one

from sqlsvm.engine.base import Engine, StatementError, Text, Values
from tests.ground import surface, svm
from tests.ground.build import Options
from tests.ground.data import MAX_JOIN_ROWS
from tests.ground.reference import Reference, equality_classes, naive
from tests.ground.schemas import Wishes, World, random_world, worlds
from tests.ground.world import Item
from tests.twin import Twin
from tests.typed import asked, run


def seeded(seeds: range, **wishes: object) -> Iterator[World]:
    for seed in seeds:
        yield random_world(np.random.default_rng(seed), **wishes)  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_query_as_typed_runs_and_returns_the_outputs(shared_engine: Engine) -> None:
    """On either engine every other one."""
    for world in seeded(range(shared_engine.dialect == "duckdb", 60, 2)):
        with world.created(shared_engine) as live:
            query = parse_one(live.query(shared_engine.dialect), dialect=shared_engine.dialect)
            fetched = asked(shared_engine, query)
            reference = Reference(shared_engine, live)
            folded = [shared_engine.fold(o.name, True) for o in live.outputs]
            assert [shared_engine.fold(n, True) for n in fetched] == folded, live
            assert all(len(v) == reference.join_rows for v in fetched.values()), live
            assert reference.join_rows <= MAX_JOIN_ROWS


@pytest.mark.slow
def test_the_query_as_typed_means_what_the_model_says(shared_engine: Engine) -> None:
    """USING, NATURAL, commas, CTEs and conditions wherever they stand, against a cross join with all of it in WHERE. On
    either engine every other one."""
    seeds = range(60 + (shared_engine.dialect == "duckdb"), 760, 2)
    for world in filter(is_tricky, seeded(seeds, max_relations=5)):
        with world.created(shared_engine) as live:
            with naive(shared_engine):
                plain = shared_engine.fetch(plain_query(live))
            expected = Counter(zip(*(ids(v) for v in plain.values()), strict=True))
            typed = Reference(shared_engine, live).materialise().row_ids
            assert Counter(zip(*(ids(v) for v in typed.values()), strict=True)) == expected, live


def is_tricky(world: World) -> bool:
    """Names merged more than once, or next to a filter that must not move."""
    merged = sum(bool(j.args.get("using") or j.method) for j in joins(world))
    return merged > 1 or any(world.item(a).filters and world.item(a).join != "on" for a in world.optional)


def ids(values: Values) -> list[int]:
    return [int(v) for v in np.nan_to_num(values.astype(float), nan=-1)]


def plain_query(world: World) -> exp.Select:
    inner = [i for i in world.items if i.alias not in world.optional]
    outer = [i for i in world.items if i.alias in world.optional]
    listed = [exp.alias_(world.row_id(i.alias), f"r{n}") for n, i in enumerate(world.items)]
    query = exp.select(*listed).from_(world.source(inner[0].alias))
    for item in inner[1:]:
        query = query.join(world.source(item.alias), join_type="cross")
    for item in outer:
        join = next(j for j in world.left_joins if j.relation == item.alias)
        on = [exp.EQ(this=e.left.expression, expression=e.right.expression) for e in join.equalities]
        query = query.join(world.source(item.alias), on=exp.and_(*on, *item.filters), join_type="left")
    equal = [exp.EQ(this=e.left.expression, expression=e.right.expression) for e in world.equalities]
    filters = [f for i in inner for f in i.filters] + [f for i in outer for f in i.late_filters]
    return query.where(*equal, *filters)


@pytest.mark.slow
def test_both_engines_hold_the_same_world(shared_postgres: Engine, shared_duckdb: Engine) -> None:
    for world in seeded(range(140, 170)):
        with world.created(shared_postgres) as one, world.created(shared_duckdb) as other:
            left, right = Reference(shared_postgres, one), Reference(shared_duckdb, other)
            aliases = [i.alias for i in world.items]
            assert [left.rows(a) for a in aliases] == [right.rows(a) for a in aliases]
            assert [left.survivors(a) for a in aliases] == [right.survivors(a) for a in aliases]
            assert left.edges() == right.edges(), world
            for name, values in left.joined.features.items():
                assert same(values, right.joined.features[name]), (name, world)


def same(left: Values, right: Values) -> bool:
    return bool(np.all((left == right) | ((left != left) & (right != right))))


@pytest.mark.slow
def test_edge_facts_against_sql(shared_engine: Engine) -> None:
    checked = 0
    for world in seeded(range(180, 210), min_relations=2, max_relations=4):
        with world.created(shared_engine) as live:
            reference = Reference(shared_engine, live)
            if any(len(set(c)) < len(c) for c in classes(world)):
                continue
            for pair, (left, right) in reference.edges().items():
                found = shared_engine.fetch(edge_query(reference, *pair))
                facts = [left.rows, left.null_keys, left.dangling, left.multiplicity, right.multiplicity]
                assert [int(v[0]) for v in found.values()] == facts, live
                checked += 1
    assert checked > 30


def edge_query(reference: Reference, left: str, right: str) -> exp.Select:
    """The facts about an edge, by GROUP BY and NOT EXISTS over the two filtered relations l and r."""
    terms = reference.shared_terms(left, right)
    keys = [f"k{n}" for n in range(len(terms))]
    full = exp.and_(*(exp.column(k).is_(exp.null()).not_() for k in keys))
    equal = exp.and_(*(exp.column(k, "l").eq(exp.column(k, "r")) for k in keys))
    partner = exp.Exists(this=exp.select("1").from_("r").where(equal))
    facts = [
        rows("l"),
        rows("l").where(exp.not_(full)),
        rows("l").where(full, exp.not_(partner)),
        most(rows("l").where(full).group_by(*keys)),
        most(rows("r").where(full).group_by(*keys)),
    ]
    query = exp.select(*(exp.alias_(f.subquery(), f"f{n}") for n, f in enumerate(facts)))
    for name, alias, side in (("l", left, 0), ("r", right, 1)):
        listed = [exp.alias_(pair[side].copy(), key) for key, pair in zip(keys, terms, strict=True)]
        body = exp.select(*listed).from_(reference.world.source(alias))
        query = query.with_(name, as_=body.where(*reference.world.item(alias).filters))
    return query


def rows(table: str) -> exp.Select:
    return exp.select(exp.alias_(exp.Count(this=exp.Star()), "n")).from_(table)


def most(counts: exp.Select) -> exp.Select:
    return exp.select(exp.func("coalesce", exp.func("max", exp.column("n")), exp.Literal.number(0))).from_(
        counts.subquery("counts")
    )


@settings(database=None, suppress_health_check=list(HealthCheck))
@given(world=worlds())
def test_hypothesis_draws_the_same_kind_of_world(shared_duckdb: Engine, world: World) -> None:
    with world.created(shared_duckdb) as live:
        reference = Reference(shared_duckdb, live)
        assert reference.label_rows[-1] + reference.label_rows[1] == reference.join_rows <= MAX_JOIN_ROWS
        assert set(live.table_of) == set(reference.joined.row_ids)


@pytest.mark.slow
def test_a_failure_shrinks_to_little() -> None:
    quick = settings(max_examples=50, database=None, derandomize=True)
    small = find(worlds(max_relations=4, max_rows=5), lambda w: len(w.items) > 1 and bool(w.equalities), settings=quick)
    assert len(small.items) == 2
    assert sum(len(t.rows) for t in small.tables) <= 5
    assert all(i.form == "table" and not i.filters for i in small.items)


# How often the interesting happens


@pytest.fixture(scope="session")
def population() -> list[World]:
    return list(seeded(range(1000, 1300)))


def joins(world: World) -> list[exp.Join]:
    return list(surface.query(world).args.get("joins") or ())


def some(test: Callable[[Item], object]) -> Callable[[World], bool]:
    return lambda world: any(test(i) for i in world.items)


def some_join(test: Callable[[exp.Join], object]) -> Callable[[World], bool]:
    return lambda world: any(test(j) for j in joins(world))


def classes(world: World) -> list[list[str]]:
    return [[t.relation for t in c] for c in equality_classes(world.equalities)]


def key_terms(world: World) -> Iterator[exp.Expression]:
    return (side.expression for e in world.equalities for side in (e.left, e.right))


def parents(world: World) -> Counter[frozenset[str]]:
    return Counter(frozenset((e.left.relation, e.right.relation)) for e in world.equalities)


def cells(world: World) -> Iterator[object]:
    return (cell for t in world.tables for row in t.rows for cell in row)


def types(world: World) -> set[str]:
    return {c.type for t in world.tables for c in t.columns}


def is_connected(world: World) -> bool:
    edges = [{e.left.relation, e.right.relation} for e in world.equalities]
    edges += [{j.parent, j.relation} for j in world.left_joins]
    reached = {world.items[0].alias}
    for _ in world.items:
        reached |= {a for e in edges if e & reached for a in e}
    return len(reached) == len(world.items)


SHARES: dict[str, tuple[float, Callable[[World], object]]] = {
    "left join": (0.15, lambda w: w.left_joins),
    "cyclic": (0.05, lambda w: w.cyclic),
    "cross product": (0.02, lambda w: not is_connected(w)),
    "self-join": (0.05, lambda w: len(w.tables) < len(w.items)),
    "composite key": (0.05, lambda w: any(n > 1 for n in parents(w).values())),
    "transitive equalities": (0.1, lambda w: any(len(set(c)) > 2 for c in classes(w))),
    "equal columns in one relation": (0.03, lambda w: any(len(set(c)) < len(c) for c in classes(w))),
    "expression key": (0.1, lambda w: any(not isinstance(t, exp.Column) for t in key_terms(w))),
    "on": (0.2, some_join(lambda j: j.args.get("on"))),
    "using": (0.05, some_join(lambda j: j.args.get("using"))),
    "natural": (0.01, some_join(lambda j: j.method == "NATURAL")),
    "cross join": (0.05, some_join(lambda j: j.kind == "CROSS")),
    "comma": (0.05, some_join(lambda j: not any(j.args.get(a) for a in ("on", "using", "kind", "side", "method")))),
    "view": (0.05, some(lambda i: i.form == "view")),
    "sub-query": (0.05, some(lambda i: i.form == "subquery")),
    "CTE": (0.05, some(lambda i: i.form == "cte")),
    "star": (0.02, some(lambda i: i.star)),
    "search path": (0.2, some(lambda i: not i.schema_typed)),
    "filter": (0.2, some(lambda i: i.filters)),
    "late filter": (0.01, some(lambda i: i.late_filters)),
    "NULL": (0.4, lambda w: None in cells(w)),
    "empty table": (0.01, lambda w: any(not t.rows for t in w.tables)),
    "declared unique": (0.1, lambda w: any(t.unique for t in w.tables)),
    "evil name": (0.15, lambda w: any(not c.name.isalnum() and "_" not in c.name for t in w.tables for c in t.columns)),
    "63 bytes": (0.01, lambda w: any(len(c.name) == 63 for t in w.tables for c in t.columns)),
    "text key": (0.1, lambda w: any(c.type == "text" and c.name[0] == "k" for t in w.tables for c in t.columns)),
    "decimal": (0.1, lambda w: "decimal(10, 2)" in types(w)),
    "expression feature": (0.2, lambda w: any(not isinstance(f.expression, exp.Column) for f in w.features)),
    "categorical": (0.3, lambda w: any(f.kind == "categorical" for f in w.features)),
    "boolean label": (0.2, lambda w: w.label and w.label.kind == "boolean"),
    "number label": (0.2, lambda w: w.label and w.label.kind == "numeric"),
    "six relations": (0.05, lambda w: len(w.items) == 6),
    "featureless relation": (0.2, lambda w: {f.relation for f in w.features} < {i.alias for i in w.items}),
}


@pytest.mark.parametrize("case", SHARES)
def test_it_happens_often_enough(population: list[World], case: str) -> None:
    least, happens = SHARES[case]
    assert np.mean([bool(happens(w)) for w in population]) >= least


@pytest.mark.slow
def test_joins_are_worth_looking_at(shared_duckdb: Engine, population: list[World]) -> None:
    seen: Counter[str] = Counter()
    for world in population[:80]:
        with world.created(shared_duckdb) as live:
            reference = Reference(shared_duckdb, live)
            seen["rows"] += reference.join_rows > 0
            seen["both labels"] += min(reference.label_rows.values()) > 0
            seen["many to many"] += has_many_to_many(reference)
            sides = [side for edge in reference.edges().values() for side in edge]
            seen["dangling"] += any(s.dangling for s in sides)
            seen["null key"] += any(s.null_keys for s in sides)
    least = {"rows": 0.6, "both labels": 0.4, "many to many": 0.2, "dangling": 0.3, "null key": 0.1}
    assert all(seen[case] / 80 >= share for case, share in least.items()), seen


def has_many_to_many(reference: Reference) -> bool:
    return any(min(left.multiplicity, right.multiplicity) > 1 for left, right in reference.edges().values())


# Options are obeyed

OBEYED: list[tuple[Wishes, Callable[[World], object]]] = [
    ({"acyclic": True}, lambda w: not w.cyclic),
    ({"acyclic": False}, lambda w: w.cyclic and len(w.items) >= 3),
    ({"min_relations": 2, "max_relations": 3}, lambda w: 2 <= len(w.items) <= 3),
    ({"features": False}, lambda w: not w.features and w.label),
    ({"label": False}, lambda w: w.features and not w.label),
    ({"left_joins": False}, lambda w: not w.left_joins),
    ({"nulls": False}, lambda w: None not in cells(w)),
    ({"evil": False}, lambda w: all(n.isascii() and n.isidentifier() for n in names(w))),
    ({"max_rows": 3}, lambda w: all(len(t.rows) <= 3 for t in w.tables)),
    ({"continuous": True}, lambda w: "decimal(10, 2)" not in types(w) and is_continuous(w)),
]


def is_continuous(world: World) -> bool:
    values = [
        c for t in world.tables for row in t.rows for n, c in zip(t.columns, row, strict=True) if n.name[0] == "x"
    ]
    return all(not v.is_integer() for v in values if isinstance(v, float))


def names(world: World) -> Iterator[str]:
    yield from (i.alias for i in world.items)
    yield from (o.name for o in world.outputs)
    yield from (n for t in world.tables for n in (t.name, *(c.name for c in t.columns)))


@pytest.mark.parametrize(("wishes", "obeyed"), OBEYED, ids=lambda v: "-".join(v) if isinstance(v, dict) else "")
def test_options_are_obeyed(wishes: Wishes, obeyed: Callable[[World], object]) -> None:
    assert Wishes.__annotations__.keys() == Options.__dataclass_fields__.keys()
    for world in seeded(range(40), **wishes):
        assert obeyed(world), world


@pytest.mark.parametrize("wanted", [True, False])
def test_many_to_many_is_obeyed(shared_duckdb: Engine, wanted: bool) -> None:
    for world in seeded(range(30), many_to_many=wanted):
        with world.created(shared_duckdb) as live:
            assert has_many_to_many(Reference(shared_duckdb, live)) == wanted, live


# The SVM's truths


def test_a_cut_supports_the_hinge_from_below(shared_duckdb: Engine) -> None:
    rng = np.random.default_rng(7)
    for world in seeded(range(20), evil=False):
        with world.created(shared_duckdb) as live:
            joined = Reference(shared_duckdb, live).joined
        if not joined.rows:
            continue
        design = svm.design_matrix(joined, nulls="mean", scale="standard")
        beta, other = rng.normal(size=(2, len(design.columns)))
        here, there = svm.hinge(design, beta), svm.hinge(design, other)
        assert np.isclose(here.b + here.a @ beta, here.value)
        assert here.b + here.a @ other <= there.value + 1e-9
        counts = svm.row_counts(joined, design, beta)
        below = int(np.sum(design.y * (design.x @ beta) < 1))
        assert sum(counts.values()) == below * len(joined.features)


def test_nulls_are_refused_filled_or_dropped(shared_duckdb: Engine) -> None:
    met = 0
    for world in seeded(range(25)):
        with world.created(shared_duckdb) as live:
            joined = Reference(shared_duckdb, live).joined
        missing = np.zeros(joined.rows, dtype=bool)
        for values in joined.features.values():
            missing |= np.array([v is None or v != v for v in values.tolist()], dtype=bool)
        if missing.any():
            met += 1
            with pytest.raises(ValueError, match="NULL"):
                svm.design_matrix(joined)
            assert len(svm.design_matrix(joined, nulls="drop").y) == int(np.sum(~missing))
            assert np.isfinite(svm.design_matrix(joined, nulls="mean").x).all()
    assert met > 2


# Both engines at once


def test_an_answer_that_differs_names_its_statement(twin: Twin) -> None:
    run(twin, "CREATE TABLE t (k INT, x FLOAT8); INSERT INTO t VALUES (1, 0.1), (2, 0.2), (2, 0.3)")
    sums = "SELECT k, SUM(x) AS s FROM t GROUP BY k"
    assert sorted(asked(twin, parse_one(sums))["s"]) == pytest.approx([0.1, 0.5])
    for planted, said in {
        "UPDATE t SET x = x + 1e-6 WHERE k = 1": r"\(1.0, 0.1\) and \(1.0, 0.100001\)\n.*\nPostgreSQL: SELECT k, SUM",
        "INSERT INTO t VALUES (3, NULL)": "2 rows and 3 rows",
        "ALTER TABLE t RENAME COLUMN x TO y": "column",
    }.items():
        twin.other.execute(Text(planted))
        with pytest.raises((AssertionError, StatementError), match=said):
            asked(twin, parse_one(sums))


def test_a_statement_that_one_engine_refuses(twin: Twin) -> None:
    run(twin, "CREATE TABLE t (k INT)")
    twin.other.execute(Text("CREATE TABLE only_there (k INT)"))
    with pytest.raises(AssertionError, match="only DuckDB refuses SELECT k FROM only_there"):
        asked(twin, parse_one("SELECT k FROM only_there"))
    with pytest.raises(StatementError):
        asked(twin, parse_one("SELECT k FROM nowhere"))
