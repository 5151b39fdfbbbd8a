"""The table of options, and that all files that spell an option agree with it."""

import re
from pathlib import Path
from typing import Any

import pytest

from sqlsvm import RelationalSVC
from sqlsvm.cli import cli
from sqlsvm.errors import OptionError
from sqlsvm.options import OF_SESSION, OPTIONS, ClassWeight, Name, Number
from sqlsvm.run.resume import objective
from sqlsvm.run.training import Training
from sqlsvm.solve.solution import Effort

SQL = Path(__file__).parents[2] / "sql_templates"
ELSEWHERE = {"label", *OF_SESSION}
"""What a training is of, and where it works: no parameter of the estimator, no field of a training."""


@pytest.mark.parametrize(
    ("domain", "allowed", "refused", "said"),
    [
        (Number(0), [0, 0.5, 1e9], [-1e-9, float("nan"), float("inf"), True, "1", None], "a number of at least 0"),
        (Number(0, above=True), [1e-9], [0, 0.0], "a number above 0"),
        (Number(0, 1, above=True), [1], [0, 1.01], "a number above 0 and at most 1"),
        (Number(0, 1, above=True, below=True), [0.5], [0, 1], "a number between 0 and 1"),
        (Number(1, whole=True), [1, 10**30], [0, 1.5, 2.0, True], "a whole number of at least 1"),
        (ClassWeight(("none",)), ["none", (1, 2.5)], ["x", (1,), (1, 0), (1, "2")], "none or two numbers above 0"),
        (Name("column", repeated=True), [(), ("a",)], ["a", None], "a list of column names"),
    ],
    ids=str,
)
def test_domains(domain: Any, allowed: list[Any], refused: list[Any], said: str) -> None:
    assert [value for value in allowed if value not in domain] == []
    assert [value for value in refused if value in domain] == []
    assert str(domain) == said


def test_every_default_is_allowed() -> None:
    assert [option.name for option in OPTIONS.values() if not option.allows(option.default)] == []


def test_a_training_holds_every_option_of_train() -> None:
    held = Training.of(label="y").options
    of_train = {name for name, option in OPTIONS.items() if "train" in option.verbs}
    assert of_train - held.keys() == ELSEWHERE - {"label"}
    assert {name: value for name, value in held.items() if value != OPTIONS[name].default} == {"label": "y"}
    with pytest.raises(
        OptionError, match=r"max_passes must be a whole number of at least 1, not 0\nHINT: try max_passes=100"
    ):
        Effort(max_passes=0)


def test_the_estimator_has_the_options_of_train() -> None:
    apart = "label", "classes"  # `fit` takes it; the class of the estimator says it
    wanted = {name: option for name, option in OPTIONS.items() if "train" in option.verbs and name not in apart}
    given = {n: None if o.unnamed else "auto" if o.auto else o.default for n, o in wanted.items()}
    parameters = RelationalSVC().get_params()  # help() and Shift-Tab show those that many need
    own = {"warm_start": False, "verbose": "auto"}  # --from, which takes a name; how a training is shown
    assert parameters == given | own


@pytest.mark.parametrize(
    "verb", ["train", "compile", "inspect", "describe", "components", "explain", "count", "evaluate", "report"]
)
def test_a_verb_has_its_options(verb: str) -> None:
    """And a name in the environment that follows from the flag."""
    named = {parameter.name: (parameter.opts, parameter.envvar) for parameter in cli.commands[verb].params}
    for name, option in OPTIONS.items():
        if verb in option.verbs:
            assert named[name] == ([option.flag], f"SQLSVM_{option.said.upper()}")


def test_psql_checks_what_it_takes() -> None:
    taken = re.findall(r"(\w+) \w+ DEFAULT NULL", (SQL / "functions/train.sql").read_text())
    text = (SQL / "internal/_wanted.sql").read_text()
    checks = re.findall(r"_check_option\('(\w+)', \(\w+ ->> '(\w+)'\)::float8, (\d+), (true|false),", text)
    words = re.findall(r"wanted ->> '(\w+)' NOT IN \('(\w+)', '(\w+)'\)", text)
    checked = {said: (name, int(low), inclusive == "false") for said, name, low, inclusive in checks}
    assert {*taken} - {"trust"} == {*checked} | {name for name, *_ in words}
    for option in OPTIONS.values():
        if option.said in checked:
            assert isinstance(option.domain, Number)
            assert checked[option.said] == (option.name, option.domain.low, option.domain.above)
    assert all(OPTIONS[name].allows(word) for name, *found in words for word in found)


def test_the_objective_of_a_training() -> None:
    """Cuts survive another lambda, and the steps of descent do not."""
    shared = objective("db", "SELECT", Training.of(label="y"))
    assert objective("db", "SELECT", Training.of(label="y", lam=0.5, solver="bundle", seed=7)) == shared
    assert objective("db", "SELECT", Training.of(label="y", holdout=0.5)) != shared
    steps = {"scale": "maxabs", "solver": "descent"}
    descending = objective("db", "SELECT", Training.of(label="y", **steps))
    assert descending.keys() - shared.keys() == {"lambda", "epsilon", "step", "counting"}
    assert objective("db", "SELECT", Training.of(label="y", lam=0.5, **steps)) != descending
