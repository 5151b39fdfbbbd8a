"""Check an installation: train a problem with a known optimum, predict, and roll everything back.

Three in four join rows have y = x, and z and the intercept have no influence. So with b the weight of x,

    F(b) = 3/4 (1 - b) + 1/4 (1 + b) + lambda b^2 = 1 - b/2 + lambda b^2    for -1 <= b <= 1,

whose minimum for lambda = 1/2 is F(1/2) = 7/8.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt

from sqlglot import exp, parse_one

from sqlsvm.engine.base import Engine, Programmable
from sqlsvm.engine.pg_catalog import OLDEST
from sqlsvm.errors import SqlsvmError
from sqlsvm.psql.install.found import FUNCTIONS, Found, function_names, look, names, on_postgres, own_version, row
from sqlsvm.psql.install.put import install
from sqlsvm.psql.stored_program import save_program, stored_program
from sqlsvm.run.training import Training
from sqlsvm.store.database import SCHEMA
from sqlsvm.store.owners import remedy
from sqlsvm.store.templates import template

OPTIMUM, WEIGHT, LAMBDA, TOL = 7 / 8, 1 / 2, 1 / 2, 1e-3

_NAME = "sqlsvm check"
_QUERY = "SELECT l.y, l.x, r.z FROM left_of_sqlsvm_check AS l JOIN right_of_sqlsvm_check AS r USING (k)"
_TRAINING = Training("y", scale="none", lam=LAMBDA)

_TRAIN = "SELECT * FROM sqlsvm.TRAIN($1, tol => $2)"
_WEIGHT = "SELECT weight FROM sqlsvm.WEIGHTS($1) WHERE feature = 'x'"
_COUNTS = """\
SELECT COUNT(*) AS n,
  COUNT(CASE WHEN sqlsvm.DECISION_FUNCTION($1, TO_JSONB(q)) = q.score THEN 1 END) AS alike,
  COUNT(CASE WHEN sqlsvm.PREDICT($1, TO_JSONB(q)) = CAST(q.x AS TEXT) THEN 1 END) AS predicted
FROM q"""


@dataclass(frozen=True)
class Finding:
    what: str
    found: str
    good: bool


def check(engine: Engine) -> tuple[Finding, ...]:
    """The findings, in order. After a failure the rest may be missing."""
    postgres = on_postgres(engine)
    strangers = postgres.strangers(SCHEMA)
    if strangers:
        return tuple(Finding("owners", f"{found.said}: {remedy(found)}", False) for found in strangers)
    before = look(postgres)
    found = [*_in_place(postgres, before)]
    if all(f.good for f in found):
        with postgres.rehearsal():
            found += _trial(postgres, before)
        found.append(_nothing_left(postgres, before))
    return tuple(found)


def _in_place(postgres: Programmable, before: Found) -> Iterator[Finding]:
    yield Finding("server", f"{postgres.version}; {OLDEST} or newer is needed", before.server >= OLDEST)
    if before.version is None:
        yield Finding("functions", "not installed here; installed for this check only", True)
        return
    missing = sorted(set(function_names()) - set(names(postgres, FUNCTIONS)))
    if before.version != own_version():
        yield Finding("functions", f"of sqlsvm {before.version}; sqlsvm upgrade brings {own_version()}", False)
    elif missing:
        yield Finding("functions", f"missing: {', '.join(missing)}; sqlsvm install puts them back", False)
    else:
        yield Finding("functions", f"all {len(function_names())} of sqlsvm {own_version()}", True)


def _trial(postgres: Programmable, before: Found) -> Iterator[Finding]:
    """Stop at the first error, because the later steps depend on it."""
    step = "install"
    try:
        if before.version is None:
            install(postgres)
        step = "compile"
        postgres.run_script(template("check"))
        save_program(postgres, _NAME, stored_program(postgres, _QUERY, _TRAINING))
        step = "train"
        yield from _trained(postgres)
        step = "predict"
        yield from _predicted(postgres)
        step = "drop"
        dropped = row(postgres, "SELECT sqlsvm.DROP_MODEL($1) AS versions", _NAME)["versions"]
        yield Finding("drop_model", "forgets the model", dropped is not None)
    except SqlsvmError as error:
        yield Finding(step, str(error), False)


def _trained(postgres: Programmable) -> Iterator[Finding]:
    said = row(postgres, _TRAIN, _NAME, TOL)
    low, high, gap = (float(str(said[k])) for k in ("lower_bound", "objective_upper", "gap"))
    yield Finding("train", f"a gap of {gap:.2g}; {TOL} was asked for", bool(said["converged"]))
    yield Finding("certificate", f"{low:.6f} <= {OPTIMUM} <= {high:.6f}", low <= OPTIMUM <= high)
    weight = float(str(row(postgres, _WEIGHT, _NAME)["weight"]))
    # F(b) is at least lambda |b - b*|^2 above its minimum.
    yield Finding("weight", f"{weight:.4f}; the optimum is {WEIGHT}", abs(weight - WEIGHT) <= sqrt(gap * high / LAMBDA))


def _predicted(postgres: Programmable) -> Iterator[Finding]:
    """Compare the functions, row by row, with the expression in one scan."""
    expression = parse_one(str(row(postgres, "SELECT sqlsvm.SCORE_SQL($1) AS score", _NAME)["score"]), read="postgres")
    rows = exp.select("x", "z", exp.alias_(expression, "score")).from_(_select(_QUERY).subquery("r"))
    found = postgres.fetch(_select(_COUNTS).with_("q", as_=rows), [_NAME])
    n, alike, predicted = (int(values[0]) for values in found.values())
    yield Finding("score_sql", f"the same score as decision_function in {alike} of {n} rows", alike == n)
    yield Finding("predict", f"the likelier label in {predicted} of {n} rows", predicted == n)


def _nothing_left(postgres: Programmable, before: Found) -> Finding:
    programs = names(postgres, "SELECT name FROM sqlsvm.programs WHERE name = $1", _NAME) if before.version else []
    clean = look(postgres) == before and not programs
    return Finding("left behind", "nothing" if clean else "objects of the check", clean)


def _select(text: str) -> exp.Select:
    found = parse_one(text, read="postgres")
    assert isinstance(found, exp.Select)
    return found
