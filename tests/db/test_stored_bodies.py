"""Models whose stored JSON somebody has filled with SQL, in every field: nobody who predicts with them executes it.

`make attacks` tries 50,000 on each engine. $SQLSVM_BODIES is another number, $SQLSVM_FIRST the first.
"""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from itertools import islice
from random import Random
from typing import Any

import psycopg
import pytest
from sqlglot import exp

from sqlsvm.engine.base import Engine, Text
from sqlsvm.errors import SqlsvmError
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict, score_sql
from sqlsvm.model.score import stored_score
from sqlsvm.psql.install import install
from sqlsvm.reading import parsed
from sqlsvm.run.train import train
from sqlsvm.run.training import Training
from sqlsvm.store import open_store
from tests.faults.grammar import NASTY
from tests.listing import value
from tests.typed import typed

BODIES = int(os.environ.get("SQLSVM_BODIES", "250"))
FIRST = int(os.environ.get("SQLSVM_FIRST", "0"))
AT_ONCE = 50

ROWS = """
    CREATE TABLE t AS SELECT n % 2 AS y, n % 3 AS k, n % 7 AS x, n * 0.5e0 AS z, 'c' || CAST(n % 4 AS TEXT) AS c,
        n % 5 < 2 AS b FROM generate_series(1, 60) AS g(n)"""
FEATURES = json.dumps({"x": 1, "z": 2.5, "c": "c1", "b": True, "k": 1})
QUERY = "SELECT y, x, z, c, b FROM t"
KINDS: dict[str, dict[str, Any]] = {
    "maps": {"map": ("bins:x:3", "spline:z:2", "hash:c:3")},
    "steps": {"map": ("fourier:t:3",), "nulls": "drop"},
    "curve": {"probability": "isotonic", "holdout": 0.3},
    "classes": {"label": "k"},
    "groups": {"by": "k"},
}

# -- SQL that would be noticed -----------------------------------------------------------------------------------------

TRAPS = ("CREATE SCHEMA hers", "CREATE SCHEMA e", "CREATE SEQUENCE hers.sprung")
CALLS = ("hers.evil(1)", "e.e(1)", "evil(1)", "e.e($1)", "hers.evil(CAST('1' AS INTEGER))", "nextval('hers.sprung')")
WRAPPED = (
    *("{a}", "({a})", "(SELECT {a})", "0 + {a}", "-{a}", "SIN({a})", "CAST({a} AS double precision)", "$1 + {a}"),
    *(
        "0 + (SELECT {a})",
        "$1) + ({a}",
        "$1 + {a} --",
        "1e0 /* */ + {a}",
        "CASE WHEN {a} > 0 THEN 1 ELSE 0 END",
        "MD5({a})",
    ),
    *("' || {a} || '", "' || {a} --", "'' || {a} || ''", "\\' || {a} --", "E'\\'' || {a} || '", "' THEN {a} WHEN '"),
    *(
        '" || {a} || "',
        '"" || {a} || ""',
        '"."{a}',
        'x" + {a} --',
        "$${a}$$",
        "$$ || {a} || $$",
        "%s{a}",
        "%1$s || {a}",
    ),
    *(
        "1; SELECT {a}; --",
        "1 FROM (SELECT {a}) AS s",
        "$1, {a}",
        "1 UNION SELECT {a}",
        "*/ {a} /*",
        "\n{a}\n",
        "NaN') + {a} --",
    ),
    *(
        "Infinity' AS float8) + {a} --",
        "1 OPERATOR(pg_catalog.+) {a}",
        "query_to_xml('SELECT {a}', true, true, '')",
        "{{{a}}}",
    ),
)


def attack(chance: Random, depth: int = 2) -> str:
    if not depth or chance.random() < 0.4:
        return chance.choice(CALLS)
    inner = attack(chance, depth - 1)
    return chance.choice(WRAPPED).replace("{a}", inner)


def spliced(chance: Random, text: str) -> str:
    """An attack in place of a part of a text, which may be a formula."""
    if chance.random() < 0.3:
        return attack(chance)
    words = text.split(" ")
    first = chance.randrange(len(words))
    words[first : first + chance.randint(0, 2)] = [attack(chance)]
    return " ".join(words)


def anything(chance: Random, depth: int = 2) -> Any:
    """Any JSON."""
    kind = chance.randrange(8 if depth else 6)
    if kind < 3:
        return attack(chance)
    if kind < 6:
        return chance.choice((None, True, False, 0, -1, 1e308, 5e-324, 2**70, "", "NaN", "Infinity", *NASTY))
    inner = [anything(chance, depth - 1) for _ in range(chance.randint(0, 3))]
    return inner if kind == 6 else {attack(chance): each for each in inner}


# -- bodies ------------------------------------------------------------------------------------------------------------

Place = tuple[str | int, ...]
MADE_OF = frozenset(("maps", "weights", "scaling", "probability", "classes", "groups", "trained_on", "by", "intercept"))
"""What expressions are made of: half of the changes are there."""


def places(body: Any, at: Place = ()) -> Iterator[Place]:
    """Of every field and every element. Long lists are alike: the first ones will do."""
    inner = body.items() if isinstance(body, dict) else enumerate(body[:2]) if isinstance(body, list) else ()
    for step, each in inner:
        yield (*at, step)
        yield from places(each, (*at, step))


def changed(chance: Random, body: dict[str, Any], at: Place) -> None:
    """Another value at this place, or another name for it."""
    *steps, last = at
    inner: Any = body
    for step in steps:
        inner = inner[step]
    old = inner[last]
    if isinstance(inner, dict) and chance.random() < 0.25:
        inner[spliced(chance, str(last))] = inner.pop(last)
    elif isinstance(old, str) and chance.random() < 0.7:
        inner[last] = spliced(chance, old)
    elif isinstance(old, int | float) and chance.random() < 0.5:
        inner[last] = chance.choice((f"{old} + {attack(chance)}", f"{old}' || {attack(chance)} || '", attack(chance)))
    else:
        inner[last] = anything(chance)


def names(body: Any) -> Iterator[Any]:
    """Of features and categories, which stand at several places."""
    for at in places({key: body[key] for key in ("weights", "maps", "classes", "groups")}):
        if at[-1] in ("feature", "category", "value") or "columns" in at[:-1] or "formulas" in at[:-1]:
            inner = body
            for step in at:
                inner = inner[step]
            yield at[-1] if "formulas" in at else inner


def renamed(body: Any, old: str, new: str) -> Any:
    """The same name at all places, so that the body fits together."""
    if isinstance(body, dict):
        return {new if step == old else step: renamed(each, old, new) for step, each in body.items()}
    if isinstance(body, list):
        return [renamed(each, old, new) for each in body]
    return new if body == old else body


def bodies(originals: list[dict[str, Any]], versions: int) -> Iterator[tuple[int, str]]:
    """Numbered, so that a failure can be tried again. Every place has its turn. Each is for a version from 1."""
    every = [[(n, at) for at in places(each)] for n, each in enumerate(originals)]
    fields = [found for each in every for found in each]
    named = [sorted({name for name in names(each) if isinstance(name, str)}) for each in originals]
    rich = [(n, at) for n, at in fields for _ in range(10 if "formulas" in at or "steps" in at else at[0] in MADE_OF)]
    for number in range(FIRST, FIRST + BODIES):
        chance = Random(number)
        among = rich if number % 2 else fields
        n, at = among[number // 4 % len(among)]
        body = deepcopy(originals[n])
        if number % 4 < 2:
            changed(chance, body, at)
        while chance.random() < 0.3 or body == originals[n]:
            with suppress(KeyError, IndexError, TypeError):
                if chance.random() < 0.7:
                    body = renamed(body, chance.choice(named[n]), attack(chance))
                else:
                    changed(chance, body, chance.choice(every[n])[1])
        if body.get("version") == 1:
            body["version"] = (number - FIRST) % versions + 1
        yield number, json.dumps(body)


def score_of(chance: Random, body: str, texts: list[dict[str, Any]]) -> str:
    """What psql runs: that of the body, if it is a model, or a good one with SQL in it."""
    if chance.random() < 0.5:
        with suppress(SqlsvmError):
            return stored_score(Model.from_json(parsed(body, "stored"))) or ""
    found = deepcopy(chance.choice(texts))
    if found["cases"] and chance.random() < 0.3:
        inner, at = chance.choice(
            [(found, "cases"), *((e, p) for each in found["cases"] for e in (each, *each) for p in range(2))]
        )
        inner[at] = anything(chance)
    else:
        each = found[chance.choice([kind for kind in found if kind != "cases"])]
        place = chance.randrange(len(each))
        each[place] = spliced(chance, each[place])
    return json.dumps(found).replace("\\u0000", "")  # which no jsonb can have


def batched(found: Iterator[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    while batch := list(islice(found, AT_ONCE)):
        yield batch


def trained(engine: Engine, copies: int = 1) -> list[dict[str, Any]]:
    """One of each kind, without what is only shown. The first is stored, in some copies."""
    typed(engine, ROWS)
    found: list[dict[str, Any]] = []
    for name, more in KINDS.items():
        options: dict[str, Any] = {"label": "y", "lam": 0.1, "tol": 0.1, "max_passes": 3, **more}
        query = QUERY if "label" not in more and "by" not in more else QUERY.replace("SELECT y", "SELECT y, k")
        model = train(engine, name, query, Training.of(**options))
        if not found:
            for _ in range(copies):
                open_store(engine).save(replace(model, name="stored"))
        short = {"history": [], "notes": [], "phases": {}, "version": 1}
        found.append(json.loads(json.dumps({**model.as_json(), **short})))
    return found


# -- the tests ---------------------------------------------------------------------------------------------------------

_SPRUNG = Text("SELECT CAST(nextval('hers.sprung') AS INTEGER) AS v")


class Traps:
    """Counts calls. They are noticed also if their statement fails, and who looks springs it once."""

    def __init__(self, engine: Engine, *functions: str) -> None:
        self.engine, self.seen = engine, 0
        for statement in (*TRAPS, *functions):
            engine.execute(Text(statement))

    def sprung(self) -> int:
        found = int(self.engine.fetch(_SPRUNG, [])["v"][0])
        calls, self.seen = found - self.seen - 1, found
        return calls


STORE = """
UPDATE sqlsvm.versions AS v SET body = new.body, score = new.score
FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS new (body, score, n) WHERE v.version = new.n"""
ASK = """
DO $do$
DECLARE
    calls CONSTANT text[] := ARRAY['predict', 'decision_function', 'predict_proba', 'class_probabilities'];
    made text;
    answered integer := 0;
BEGIN
    FOR n IN 1 .. {count} LOOP
        BEGIN
            EXECUTE format('SELECT FROM sqlsvm.%s(%L, %L, %s)', calls[1 + n % 4], 'stored', '{features}', n);
            answered := answered + 1;
        EXCEPTION WHEN OTHERS THEN NULL;
        END;
        BEGIN
            PERFORM FROM sqlsvm.weights('stored', n);
            made := sqlsvm.score_sql('stored', n);
            EXECUTE format('SELECT %s FROM t', made);
            answered := answered + 1;
        EXCEPTION WHEN OTHERS THEN NULL;
        END;
    END LOOP;
    PERFORM set_config('of.answered', answered::text, false);
END
$do$"""


@pytest.mark.slow
def test_psql_executes_nothing_of_a_stored_body(postgres: Engine, postgres_dsn: str) -> None:
    install(postgres)
    evil = "CREATE FUNCTION {}(x {}) RETURNS {} IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN {} RETURN 1; END $$"
    body = "PERFORM nextval('hers.sprung');"
    names, types = ("hers.evil", "e.e", "public.evil"), ("integer", "float8", "text")
    traps = Traps(postgres, *(evil.format(name, type, type, body) for name in names for type in types))
    for call in CALLS:
        with suppress(SqlsvmError):
            typed(postgres, f"SELECT 1 / (CAST({call.replace('$1', '1')} AS INTEGER) * 0)")
        assert traps.sprung() == 1, call
    originals, answered = trained(postgres, AT_ONCE), 0
    texts = [json.loads(stored_score(Model.from_json(each)) or "") for each in originals]
    with psycopg.connect(postgres_dsn, autocommit=True) as session:
        for batch in batched(bodies(originals, AT_ONCE)):
            scores = [score_of(Random(number), body, texts) for number, body in batch]
            scores = [score.replace("\\u0000", "") for score in scores]  # no text in PostgreSQL has it: it is refused
            session.execute(STORE, [[body for _, body in batch], scores])
            session.execute(ASK.replace("{count}", str(len(batch))).replace("{features}", FEATURES).encode())
            answered += int(session.execute("SELECT current_setting('of.answered')").fetchall()[0][0])
            assert traps.sprung() == 0, [number for number, _ in batch]
    assert answered > BODIES / 12


def one_row(model: Model) -> exp.Select:
    """With all columns that the model reads."""
    values = {"categorical": exp.Literal.string("c1"), "boolean": exp.true(), "numeric": exp.Literal.number(1)}
    return exp.select(*(exp.alias_(values[term.kind].copy(), term.feature, quoted=True) for term in model.inputs))


def use(engine: Engine, model: Model, *, as_text: bool) -> None:
    rows, probability = one_row(model).sql(engine.dialect), model.probability is not None
    if as_text:
        made = score_sql(model, engine.dialect, probability=probability)
        typed(engine, f"SELECT {made} FROM ({rows}) AS s")
    else:
        engine.fetch(predict(engine, model, rows, probability=probability))


@pytest.mark.slow
def test_python_executes_nothing_of_a_stored_body(engine: Engine) -> None:
    evil = "CREATE MACRO {}(x) AS nextval('hers.sprung')"
    if engine.dialect == "postgres":
        body = "SELECT nextval('hers.sprung')::float8"
        evil = f"CREATE FUNCTION {{}}(float8) RETURNS float8 IMMUTABLE LANGUAGE sql AS $${body}$$"
    traps = Traps(engine, *(evil.format(name) for name in ("hers.evil", "e.e", "evil")))
    for call in CALLS:
        assert value(engine, f"SELECT {call.replace('$1', '1')} AS v")
        assert traps.sprung() == 1, call
    originals, answered, store = trained(engine), 0, open_store(engine)
    for batch in batched(bodies(originals, 1)):
        typed(engine, "UPDATE sqlsvm.versions SET body = $1", [batch[0][1]])
        for place, (number, body) in enumerate(batch):
            with suppress(SqlsvmError):
                # what the store does after a SELECT
                found = Model.from_json(parsed(body, "stored")) if place else store.load("stored")
                use(engine, found, as_text=number % 3 > 0)
                answered += 1
        assert traps.sprung() == 0, [number for number, _ in batch]
    assert answered > BODIES / 4
