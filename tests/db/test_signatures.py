"""A trainer stores text that others execute. Each row has the name of its writer, and runs for those who trust it."""

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
import pytest

from sqlsvm.ask.inspect import inspect_model
from sqlsvm.engine import connect
from sqlsvm.engine.base import Programmable, Text
from sqlsvm.errors import EngineError
from sqlsvm.model.predict import predict, query_rows
from sqlsvm.psql.install import install, upgrade
from sqlsvm.psql.stored_program import save_program, stored_program
from sqlsvm.report import gather_from
from sqlsvm.run.train import train
from sqlsvm.run.training import Training
from sqlsvm.store import open_store
from sqlsvm.store.templates import template
from tests.cli.command import sqlsvm
from tests.evaluating import evaluate_model
from tests.ground.models import model
from tests.ground.roles import logins, run
from tests.listing import value
from tests.psql import answer, complaint, psql
from tests.typed import typed

MALLORY, TRAINER, READER = (f"{kind} {os.getpid()}" for kind in ("mallory", "trainer", "reader"))
WHO = f'"{MALLORY}"'
DATA = """
    CREATE TABLE public.t AS SELECT n % 2 AS y, n % 7 AS x FROM generate_series(1, 40) AS n;
    GRANT SELECT ON public.t TO PUBLIC"""
# The check for volatile functions cannot see what an immutable one calls.
EVIL = f"""
    CREATE FUNCTION hers.v() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
        IF current_setting('is_superuser') = 'on' THEN ALTER ROLE {WHO} SUPERUSER; END IF; END $$;
    CREATE FUNCTION hers.evil(x integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
        PERFORM hers.v(); RETURN x; END $$"""
QUERY = "SELECT y, hers.evil(x) AS x FROM t"
HARMLESS = "SELECT y, x FROM t"
TRAINING = Training("y", lam=0.1)
RUNS = (
    "train('late'{})",
    "evaluate('late', '{{}}'{})",
    "objective('late', '{{}}'{})",
    "row_count('late', '{{}}'{})",
    "generalized_row_count('late', '{{}}'{})",
    "pseudo_gradient('late', '{{}}'{})",
)

_IS_SUPERUSER = Text("SELECT rolsuper AS v FROM pg_catalog.pg_roles WHERE rolname = $1")
_TRUSTS = Text("SELECT sqlsvm._trusts($1::name, $2::text) AS v")


@dataclass(frozen=True)
class Place:
    engine: Programmable
    dsn: str
    mallory: str
    trainer: str
    reader: str

    def is_taken(self) -> bool:
        """Has somebody with more rights run what mallory wrote?"""
        return bool(self.engine.fetch(_IS_SUPERUSER, [MALLORY])["v"][0])


@pytest.fixture
def place(postgres: Programmable, postgres_dsn: str) -> Iterator[Place]:
    """Installed by a superuser, with two trainers, of whom one is evil, and a reader."""
    with logins(postgres, postgres_dsn, MALLORY, TRAINER, READER) as roles:
        postgres.run_script(f"{DATA}; CREATE SCHEMA hers AUTHORIZATION {WHO}; GRANT USAGE ON SCHEMA hers TO PUBLIC")
        install(postgres, readers=[READER], trainers=[MALLORY, TRAINER])
        run(roles[0], EVIL)
        yield Place(postgres, postgres_dsn, *roles)


def compile_as(dsn: str, query: str) -> None:
    with connect(dsn) as engine:
        save_program(engine, "late", stored_program(engine, query, TRAINING))


def train_as(dsn: str, query: str) -> None:
    with connect(dsn) as engine:
        open_store(engine).save(train(engine, "late", query, TRAINING))


# -- no role writes under another name ---------------------------------------------------------------------------------

FORGED = (
    "UPDATE sqlsvm.{table} SET owner = '{other}'",
    "UPDATE sqlsvm.{table} SET {text} WHERE owner = '{other}'",
    "UPDATE sqlsvm.{table} SET owner = NULL",
    "INSERT INTO sqlsvm.{table} ({columns}, owner) SELECT {columns}, '{other}' FROM planted",
    "INSERT INTO sqlsvm.{table} ({columns}, owner) SELECT {columns}, NULL FROM planted",
    "INSERT INTO sqlsvm.{table} ({columns}) SELECT {columns} FROM planted ON CONFLICT ({key}) DO UPDATE SET {text}",
    'SET ROLE "{other}"',
    "SET session_replication_role = replica",
    "ALTER TABLE sqlsvm.{table} DROP CONSTRAINT {table}_signed",
    "ALTER TABLE sqlsvm.{table} ALTER COLUMN owner SET DEFAULT '{other}'",
    "CREATE TRIGGER t BEFORE INSERT ON sqlsvm.{table} EXECUTE FUNCTION suppress_redundant_updates_trigger()",
)
TABLES = {
    "versions": ("body = '{}'", "name, version"),
    "iterations": ("lower_bound = 0.9", "name, version, pass"),
    "states": ("body = '{}'", "name"),
    "programs": ("query = 'SELECT 1'", "name"),
    "statements": ("text = 'SELECT 1'", "program, part, place"),
}


def train_a_little(dsn: str, *more: str) -> subprocess.CompletedProcess[str]:
    """Two passes of a training that has not finished are kept."""
    given = ("--query", HARMLESS, "--label", "y", "--name", "begun", "--lambda", "1e-4", "--in-memory", 0)
    return sqlsvm("train", "--dsn", dsn, *given, "--tol", 0, "--max-passes", 2, *more)


def copy_in(session: psycopg.Connection, table: str, columns: str, rows: str) -> None:
    """By COPY, which takes all columns that can be written."""
    with session.cursor().copy(f"COPY ({rows}) TO STDOUT".encode()) as out:
        copied = b"".join(bytes(row) for row in out)
    with session.cursor().copy(f"COPY sqlsvm.{table} ({columns}) FROM STDIN".encode()) as into:
        into.write(copied)


def test_nobody_writes_under_another_name(place: Place) -> None:
    compile_as(place.trainer, HARMLESS)
    train_as(place.trainer, HARMLESS)
    assert train_a_little(place.trainer).returncode == 3
    with psycopg.connect(place.mallory, autocommit=True) as session:
        for table, (text, key) in TABLES.items():
            before = session.execute(f"SELECT * FROM sqlsvm.{table} ORDER BY {key}".encode()).fetchall()
            found = session.execute(f"SELECT * FROM sqlsvm.{table} LIMIT 0".encode()).description or ()
            columns = ", ".join(c.name for c in found if c.name not in ("owner", "expressions"))
            session.execute(f"CREATE TEMPORARY TABLE planted AS SELECT * FROM sqlsvm.{table}".encode())
            for other in (TRAINER, "postgres", READER):
                for forged in FORGED:
                    statement = forged.format(table=table, other=other, text=text, key=key, columns=columns)
                    if "WHERE owner" in statement and other != TRAINER:
                        continue  # there is no such row
                    with pytest.raises((psycopg.errors.CheckViolation, psycopg.errors.InsufficientPrivilege)):
                        session.execute(statement.encode())
                with pytest.raises(psycopg.errors.CheckViolation):
                    copy_in(session, table, f"{columns}, owner", f"SELECT {columns}, '{other}' FROM planted")
            session.execute("DROP TABLE planted")
            assert session.execute(f"SELECT * FROM sqlsvm.{table} ORDER BY {key}".encode()).fetchall() == before


def test_nobody_signs_while_a_superuser_works_on_a_table(place: Place) -> None:
    """The functions of an index or a materialized view then run as their owner, in the session of a superuser."""
    run(
        place.mallory,
        """CREATE FUNCTION hers.sign() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO sqlsvm.models VALUES ('it ran', 1) ON CONFLICT DO NOTHING;
            INSERT INTO sqlsvm.programs VALUES ('forged', now(), 'q', 'y', '{}', '{}', NULL, 'postgres');
            EXCEPTION WHEN check_violation THEN
            INSERT INTO sqlsvm.models VALUES ('it was refused', 1) ON CONFLICT DO NOTHING; END $$""",
        """CREATE FUNCTION hers.signing(x int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN
            PERFORM hers.sign(); RETURN x; END $$""",
        "CREATE TABLE hers.t AS SELECT 1 AS x",
        "CREATE INDEX i ON hers.t (hers.signing(x))",
        "CREATE MATERIALIZED VIEW hers.v AS SELECT hers.signing(x) FROM hers.t",
    )
    for statement in ("ANALYZE hers.t", "REINDEX TABLE hers.t", "REFRESH MATERIALIZED VIEW hers.v"):
        place.engine.execute(Text("DELETE FROM sqlsvm.models"))
        place.engine.execute(Text(statement))
        assert value(place.engine, "SELECT name AS v FROM sqlsvm.models") == "it was refused"
        assert value(place.engine, "SELECT count(*) AS n FROM sqlsvm.programs") == 0


def test_what_a_trainer_writes_has_its_name(place: Place) -> None:
    compile_as(place.trainer, HARMLESS)
    train_as(place.trainer, HARMLESS)
    answer(place.trainer, "SET client_min_messages = warning; SELECT version FROM sqlsvm.train('late');")
    train_a_little(place.trainer)
    for table in TABLES:
        owners = f"SELECT DISTINCT owner AS o FROM sqlsvm.{table}"
        assert value(place.engine, owners) == TRAINER
    compile_as(place.mallory, HARMLESS)
    assert value(place.engine, "SELECT DISTINCT owner AS o FROM sqlsvm.programs") == MALLORY
    assert value(place.engine, "SELECT DISTINCT owner AS o FROM sqlsvm.statements") == MALLORY


# -- what a certificate rests on ---------------------------------------------------------------------------------------


def test_no_certificate_rests_on_passes_of_somebody_else(place: Place) -> None:
    """A lower bound that mallory makes up would be signed by the trainer."""
    assert train_a_little(place.trainer).returncode == 3
    run(
        place.mallory,
        r"""UPDATE sqlsvm.states SET owner = DEFAULT, body = pg_catalog.regexp_replace(
            body, '"lower_bound": [0-9.e-]+', '"lower_bound": 0.4999', 'g')""",
    )
    for dsn in (place.trainer, place.dsn):
        refused = train_a_little(dsn, "--resume")
        assert refused.returncode == 1
        assert refused.stderr.startswith(
            f'error: role "{MALLORY}" has left the passes of "begun", and you do not trust'
        )
        assert "leave out --resume to train anew" in refused.stderr
    assert train_a_little(place.trainer).returncode == 3  # anew, over the row of mallory, which is then the trainer's
    assert train_a_little(place.trainer, "--resume").returncode == 3


def test_passes_of_somebody_else_are_not_shown(place: Place) -> None:
    train_as(place.trainer, HARMLESS)
    info = "SELECT pass FROM sqlsvm.training_info('late')"
    before = answer(place.reader, info)
    assert before
    run(
        place.mallory,
        "INSERT INTO sqlsvm.iterations SELECT name, version, 99, 1, 1, 1, 0, NULL, 1 FROM sqlsvm.versions",
    )
    assert answer(place.reader, info) == before


# -- what runs, and for whom -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("run_it", RUNS)
def test_a_program_of_somebody_else_runs_for_nobody(place: Place, run_it: str) -> None:
    compile_as(place.mallory, QUERY)
    call = f"SET client_min_messages = warning; SELECT count(*) > 0 FROM sqlsvm.{run_it};"
    for dsn in (place.dsn, place.trainer):
        said = complaint(dsn, call.format(""))
        assert said["SQLSTATE"] == "SV007"
        assert said["MESSAGE"].startswith(f'role "{MALLORY}" has stored what the program "late" runs')
        assert f"add trust => '{MALLORY}'" in said["HINT"]
    assert not place.is_taken()
    assert answer(place.mallory, call.format("")) == ["t"]
    assert answer(place.trainer, call.format(f", trust => '{MALLORY}'")) == ["t"]
    assert answer(place.dsn, "SELECT count(*) > 9 FROM sqlsvm.explain('late');") == ["t"]
    answer(place.dsn, call.format(f", trust => '{MALLORY}'"))
    assert place.is_taken()  # the attack is a real one


@pytest.mark.parametrize("change", ["UPDATE", "INSERT"])
def test_one_statement_of_somebody_else_is_enough_to_refuse(place: Place, change: str) -> None:
    """In a program of the superuser; the row then has the name of the role that changed it."""
    compile_as(place.dsn, HARMLESS)
    text = "'SELECT hers.evil(1) AS n'"
    changes = {
        "UPDATE": f"UPDATE sqlsvm.statements SET text = {text}, owner = DEFAULT WHERE part = 'checks' AND place = 0",
        "INSERT": f"INSERT INTO sqlsvm.statements VALUES ('late', 'checks', 99, 'null', NULL, {text})",
    }
    run(place.mallory, changes[change])
    said = complaint(place.dsn, "SELECT * FROM sqlsvm.evaluate('late', '{}');")
    assert (said["SQLSTATE"], MALLORY in said["MESSAGE"]) == ("SV007", True)
    assert not place.is_taken()


FORM_2 = """
    ALTER TABLE sqlsvm.statements RENAME COLUMN text TO texts;
    ALTER TABLE sqlsvm.statements ALTER COLUMN texts TYPE text[] USING ARRAY[texts, 'SELECT hers.v()'];
    DELETE FROM sqlsvm.schema_version WHERE version > 2;
    ALTER TABLE sqlsvm.versions DROP COLUMN score CASCADE;
    CREATE OR REPLACE FUNCTION sqlsvm.version() RETURNS text LANGUAGE sql AS $$ SELECT '0.0.9' $$"""


def test_what_a_reader_did_not_see_does_not_run(place: Place) -> None:
    """In form 2 a step had a second text, which `explain` did not print."""
    compile_as(place.mallory, HARMLESS)
    place.engine.run_script(FORM_2)
    upgrade(place.engine)
    call = f"SET client_min_messages = warning; SELECT converged FROM sqlsvm.train('late', trust => '{MALLORY}');"
    assert answer(place.dsn, call) == ["t"]
    assert not place.is_taken()
    place.engine.run_script("UPDATE sqlsvm.programs SET description = description #- '{trained_on,names}'")  # as it was
    assert complaint(place.dsn, call)["MESSAGE"] == 'the program "late" was compiled by an older sqlsvm'


@pytest.mark.parametrize("gone", ["part = 'checks' AND name ~ '^types'", "part = 'checks'", "part <> 'checks'"])
def test_nobody_takes_statements_out_of_a_program(place: Place, gone: str) -> None:
    """Without the check of its label, the program would count a third class as the second."""
    compile_as(place.dsn, HARMLESS)
    run(place.mallory, f"DELETE FROM sqlsvm.statements WHERE {gone}")
    typed(place.engine, "UPDATE public.t SET y = 2 WHERE x = 3")
    for dsn in (place.dsn, place.trainer):
        said = complaint(dsn, "SELECT * FROM sqlsvm.train('late');")
        assert (said["SQLSTATE"], said["MESSAGE"]) == ("SV002", 'statements of the program "late" are missing')
        assert said["HINT"].startswith("Compile it again: sqlsvm compile --name 'late'")


def test_a_reader_runs_what_it_trusts(place: Place) -> None:
    """A program of a superuser at once, one of a trainer by name, and never by a setting or as its member."""
    call = "SELECT count(*) FROM sqlsvm.evaluate('late', '{}'"
    compile_as(place.dsn, HARMLESS)
    assert answer(place.reader, f"{call});") == ["10"]
    compile_as(place.trainer, HARMLESS)
    for trying in ("", f"SET sqlsvm.trust = '{TRAINER}'; SET sqlsvm.trusted = '{TRAINER}';"):
        assert complaint(place.reader, f"{trying} {call});")["SQLSTATE"] == "SV007"
    assert complaint(place.reader, f"{call}, trust => '{MALLORY}');")["SQLSTATE"] == "SV007"
    assert answer(place.reader, f"{call}, trust => '{TRAINER}');") == ["10"]
    typed(place.engine, f'GRANT "{TRAINER}" TO "{READER}"')
    assert complaint(place.reader, f"{call});")["SQLSTATE"] == "SV007"


def test_the_query_of_a_model_runs_for_those_who_trust_its_owner(place: Place) -> None:
    train_as(place.mallory, QUERY)
    stored = open_store(place.engine).load("late")
    assert stored.owner == MALLORY
    for use in (evaluate_model, inspect_model, query_rows, predict):
        with pytest.raises(EngineError, match=f'role "{MALLORY}" has stored version 1') as e:
            use(place.engine, stored)
        assert f"--trust-owner '{MALLORY}'" in str(e.value)
    report = gather_from(place.engine, stored)
    assert (report.inspection, report.evaluation) == (None, None)
    assert all(f"--trust-owner '{MALLORY}'" in missing.why for missing in report.missing)
    assert not place.is_taken()
    place.engine.trusted = frozenset([MALLORY])
    evaluate_model(place.engine, stored)
    assert place.is_taken()  # the attack is a real one


def test_the_command_line(place: Place) -> None:
    """What lists and shows, and what scores rows that the user names, executes nothing that is stored."""
    train_as(place.mallory, QUERY)
    for verb in (
        ["models"],
        ["show", "late"],
        ["weights", "late"],
        ["predict", "late", "--sql"],
        ["predict", "late", "--input", "SELECT 1 AS x"],
    ):
        done = sqlsvm(*verb, "--dsn", place.dsn)
        assert (done.returncode, done.stderr) == (0, ""), verb
    assert re.search(f"stored by +{MALLORY}\n", sqlsvm("show", "late", "--dsn", place.dsn).stdout)
    for verb in (["evaluate", "late"], ["predict", "late"]):
        done = sqlsvm(*verb, "--dsn", place.dsn, env={"SQLSVM_TRUST_OWNER": MALLORY})
        assert done.returncode == 1
        assert f"--trust-owner '{MALLORY}'" in done.stderr
    assert not place.is_taken()
    trusting = ("--trust-owner", MALLORY)
    assert sqlsvm("evaluate", "late", "--dsn", place.trainer, *trusting).returncode == 0
    assert sqlsvm("evaluate", "late", "--dsn", place.trainer, "--trust-owner", "x").returncode == 1


@pytest.mark.parametrize("key", ["intercept", "weight", "missing", "feature", "category"])
def test_weights_are_never_code(place: Place, key: str) -> None:
    """predict, decision_function and score_sql need no trust: they only read numbers and names."""
    evil = "(SELECT hers.evil(1))"
    with connect(place.mallory) as engine:
        open_store(engine).save(model())
    for said in (evil, f"0' || {evil} || '", f'x" || {evil} || "', f"CAST('0' AS double precision) + {evil}"):
        path = "{intercept}" if key == "intercept" else f"{{weights,0,{key}}}"
        body = f"jsonb_set(body::jsonb, '{path}', to_jsonb(:'said'::text))::text"
        change = f"UPDATE sqlsvm.versions SET body = {body}, owner = DEFAULT;"
        answer(place.mallory, change, {"said": said})
        for call in ("predict('late', '{}')", "decision_function('late', '{\"distance\": 1}')", "score_sql('late')"):
            done = psql(place.dsn, f"SELECT sqlsvm.{call} IS NULL;")
            assert (done.code, "ERROR" in done.err) in ((0, False), (3, True))
        assert not place.is_taken()


FORMULAS = (
    "hers.evil($1)",
    "e.evil($1)",
    "$1 FROM $1",
    "$1($1)",
    "SIN($1))",
    "($1",
    "$1, $1",
    "$1 / * $1 * /",
    "$9",
    "",
)


def test_formulas_are_never_code(place: Place) -> None:
    """Arithmetic has no names; `e` is a part of numbers, and a schema of that name is anybody's."""
    run(place.mallory, "ALTER FUNCTION hers.evil(integer) RENAME TO e")
    place.engine.run_script(f"CREATE SCHEMA e AUTHORIZATION {WHO}; GRANT USAGE ON SCHEMA e TO PUBLIC")
    run(place.mallory, "ALTER FUNCTION hers.e(integer) SET SCHEMA e")
    run(place.mallory, "CREATE FUNCTION e.e(x float8) RETURNS float8 IMMUTABLE LANGUAGE sql AS 'SELECT e.e(1)::float8'")
    with connect(place.mallory) as engine:
        open_store(engine).save(train(engine, "late", HARMLESS, Training.of(label="y", map=("bins:x:3",), lam=0.1)))
    calls = ("predict('late', '{\"x\": 1}')", "decision_function('late', '{\"x\": 1}')", "score_sql('late')")
    assert answer(place.dsn, f"SELECT sqlsvm.{calls[0]} IS NULL;") == ["f"]
    change = """
        UPDATE sqlsvm.versions
        SET owner = DEFAULT, score = jsonb_build_object('scores', jsonb_build_array(:'said'))::text;"""
    for said in ("e.e($1)", *FORMULAS):
        answer(place.mallory, change, {"said": "1.0e0 * " + said.replace("$1", '"x"')})
        for call in calls:
            done = psql(place.dsn, f"SELECT sqlsvm.{call} IS NULL;")
            assert not place.is_taken(), said
            assert "SV008: " in done.err, said
            assert "there is no score in SQL" in done.err, said
    write = "UPDATE sqlsvm.versions SET expressions = '{}';"
    assert "428C9" in psql(place.mallory, write).err


# -- older installations -----------------------------------------------------------------------------------------------


def older(engine: Programmable) -> None:
    """The tables as they were before rows had an owner."""
    for table in TABLES:
        typed(engine, f"ALTER TABLE sqlsvm.{table} DROP COLUMN owner CASCADE")


_OF_ALL = "sqlsvm.versions, sqlsvm.programs, sqlsvm.statements"
SHARED = (
    f"GRANT INSERT ON {_OF_ALL} TO {WHO}",
    f"GRANT UPDATE ON {_OF_ALL} TO {WHO}; REVOKE UPDATE ON {_OF_ALL} FROM {WHO}",
    "; ".join(f"GRANT UPDATE ({column}) ON sqlsvm.{table} TO {WHO}"
              for table, column in (("versions", "body"), ("programs", "query"), ("statements", "text"))),
    f"GRANT pg_write_all_data TO {WHO}",
)  # fmt: skip


@pytest.mark.parametrize("shared", [None, *SHARED], ids=["nobody", "insert", "revoked", "columns", "all data"])
def test_rows_of_an_older_sqlsvm(postgres: Programmable, postgres_dsn: str, shared: str | None) -> None:
    """They are the owner's if no other role could write them. Otherwise the writer is not known: they do not run."""
    install(postgres)
    postgres.run_script(DATA)
    compile_as(postgres_dsn, HARMLESS)
    train_as(postgres_dsn, HARMLESS)
    me = value(postgres, "SELECT session_user AS v")
    with logins(postgres, postgres_dsn, MALLORY):
        older(postgres)
        assert open_store(postgres).load("late").owner is None
        if shared:
            postgres.run_script(shared)
        upgrade(postgres)
        stored = open_store(postgres).load("late")
        call = "SELECT count(*) FROM sqlsvm.evaluate('late', '{}');"
        if not shared:
            assert stored.owner == me
            evaluate_model(postgres, stored)
            assert answer(postgres_dsn, call) == ["10"]
            return
        assert stored.owner is None
        with pytest.raises(EngineError, match="it is not known who stored version 1") as e:
            evaluate_model(postgres, stored)
        said = complaint(postgres_dsn, call)
        assert (said["SQLSTATE"], said["MESSAGE"]) == ("SV007", 'it is not known who stored the program "late"')
        assert e.value.hint
        typed(postgres, e.value.hint.partition("sign it: ")[2].replace("'...'", "'late'"))
        evaluate_model(postgres, open_store(postgres).load("late"))


def test_the_owners_are_made_once(postgres: Programmable) -> None:
    install(postgres)
    typed(postgres, "INSERT INTO sqlsvm.models VALUES ('late', 0)")
    postgres.run_script(template("owners"))
    # NOT VALID: pg_dump restores the rows first, so that the owner of a database can restore those of others
    checks = "SELECT COUNT(*) AS n FROM pg_catalog.pg_constraint WHERE conname LIKE '%_signed' AND NOT convalidated"
    assert value(postgres, checks) == len(TABLES)


# -- what the names of a query mean ------------------------------------------------------------------------------------


def on_the_path_of(dsn: str) -> str:
    """Where the names of that role are looked up first."""
    with psycopg.connect(dsn) as session:
        return f'"{session.info.user}"'


@pytest.mark.parametrize("owner", ["dsn", "trainer"])
@pytest.mark.parametrize("verb", [("evaluate",), ("evaluate", "--where", "x > 1"), ("predict",), ("report",)])
def test_a_name_means_what_it_meant(place: Place, tmp_path: Path, owner: str, verb: tuple[str, ...]) -> None:
    """Every role that may make a schema can put one on the path of another: that of its name."""
    train_as(getattr(place, owner), HARMLESS)
    theirs = on_the_path_of(place.dsn)
    typed(place.engine, f"CREATE SCHEMA {theirs} AUTHORIZATION {WHO}")
    evil = f"CREATE VIEW {theirs}.t AS SELECT y, hers.evil(x) AS x FROM public.t"
    run(place.mallory, evil, f"GRANT SELECT ON {theirs}.t TO PUBLIC")
    more = {"predict": ("--csv", tmp_path / "out.csv"), "report": ("-o", tmp_path / "out.html")}.get(verb[0], ())
    trust = ("--trust-owner", TRAINER) if owner == "trainer" else ()
    done = sqlsvm(*verb, "late", "--dsn", place.dsn, *trust, *more)
    assert (done.returncode, place.is_taken()) == (0, False), done.stderr
    with connect(place.dsn) as engine:  # the attack is a real one: typed anew, the name is hers
        open_store(engine).save(train(engine, "late", HARMLESS, TRAINING))
    assert place.is_taken()


ANOTHER = "ALTER TABLE public.t RENAME TO was; CREATE TABLE public.t AS SELECT y, x + 1 AS x FROM public.was"


def test_a_name_that_means_something_else(place: Place) -> None:
    """It is refused, until its owner looks it up again. Nobody else does."""
    compile_as(place.trainer, HARMLESS)
    train_as(place.trainer, HARMLESS)
    place.engine.run_script(f"{ANOTHER}; GRANT SELECT ON public.t TO PUBLIC")
    of, mine, yours = ("evaluate", "late", "--dsn"), place.trainer, (place.dsn, "--trust-owner", TRAINER)
    for refused in (sqlsvm(*of, mine), sqlsvm(*of, *yours)):
        assert refused.returncode == 1
        said = r'error: public\.t is another relation than version 1 of the model "late" was trained on\n'
        who = r'relation \d+ of the role "\w+"'
        assert re.match(f"{said}DETAIL: It was {who}, and is {who}", refused.stderr), refused.stderr
    assert f'only role "{TRAINER}"' in sqlsvm(*of, *yours, "--rebind").stderr
    assert sqlsvm(*of, mine, "--rebind").returncode == 0
    assert sqlsvm(*of, mine).returncode == 0
    told = complaint(mine, "SELECT sqlsvm.evaluate('late', '{}');")
    assert (told["SQLSTATE"], told["MESSAGE"][:28]) == ("SV004", "public.t is another relation")


def test_names_that_nobody_has_looked_up(place: Place) -> None:
    """As an older sqlsvm has stored them: as they were typed."""
    with connect(place.trainer) as engine:
        made = train(engine, "late", HARMLESS, TRAINING)
        known = replace(made.trained_on, names=None, typed=None)
        open_store(engine).save(replace(made, query=HARMLESS, trained_on=known))
    refused = sqlsvm("evaluate", "late", "--dsn", place.trainer)
    assert refused.returncode == 1
    assert "nobody has looked up the names in the query of version 1" in refused.stderr
    assert sqlsvm("evaluate", "late", "--dsn", place.trainer, "--rebind").returncode == 0
    assert sqlsvm("evaluate", "late", "--dsn", place.trainer).returncode == 0


# -- one rule, in Python and in SQL ------------------------------------------------------------------------------------


def test_both_trust_the_same_roles(place: Place) -> None:
    """The function also trusts the owner of the schema, whom its caller has trusted already."""
    typed(place.engine, f'GRANT "{TRAINER}" TO "{READER}"')
    roles = [MALLORY, TRAINER, READER, "postgres", "pg_monitor", "pg_database_owner", "no such role", None]
    for owner in (str(value(place.engine, "SELECT session_user AS v")), TRAINER):
        typed(place.engine, f'ALTER SCHEMA sqlsvm OWNER TO "{owner}"')
        for dsn in (place.dsn, place.mallory, place.trainer, place.reader):
            with connect(dsn) as engine:
                for named in (None, MALLORY):
                    engine.trusted = frozenset([named] if named else [])
                    for role in roles:
                        found = bool(engine.fetch(_TRUSTS, [role, named])["v"][0])
                        assert found == (engine.trusts(role) or role == owner), (owner, dsn, named, role)
