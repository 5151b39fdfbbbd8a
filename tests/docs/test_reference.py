"""docs/reference.md, made of docstrings and of the table of options: `make golden` writes it."""

import inspect
import os
import re
from collections.abc import Iterator

import sqlsvm
from sqlsvm.cli import cli
from sqlsvm.estimator import GROUPS, Relational, reads
from sqlsvm.options import OPTIONS
from sqlsvm.words import flag
from tests.docs.markdown import ROOT

PAGE = ROOT / "docs" / "reference.md"
ESTIMATORS = (
    *(sqlsvm.RelationalSVC, sqlsvm.RelationalLogisticRegression, sqlsvm.RelationalSVR, sqlsvm.RelationalRidge),
    *(sqlsvm.RelationalHuberRegressor, sqlsvm.RelationalQuantileRegressor),
)
OWN = {
    "warm_start": "Go on from the training before: from its passes, or from its weights.",
    "verbose": "Show steps and passes. auto: in a notebook and on a terminal.",
}
"""Parameters that are no options of a command."""
VERBS = (
    ("learn", "learn()", ""),
    ("suggest", "suggest()", ""),
    ("inspect", "inspect()", ""),
    ("describe", "describe()", ""),
    ("components", "components()", ""),
    ("explain", "explain()", "explain"),
    ("train", "fit()", "train"),
    ("evaluate", "evaluate()", "evaluate"),
    ("predict", "predict()", "predict"),
    ("predict --sql", "score_sql()", "score_sql"),
    ("predict --probability", "predict_proba()", "predict_proba"),
    ("weights", "weights_", "weights"),
    ("show", "certificate_", "training_info"),
    ("count", "count()", "row_count"),
    ("report", "report()", ""),
    ("export", "to_sklearn(), to_onnx()", ""),
)
HEAD = """# Python reference

This page is for people who look up a class, a method or a parameter. [python.md](python.md) shows how they work
together, and [options.md](options.md) has each parameter with its values. `help()` shows whole docstrings.
`tests/docs/test_reference.py` makes this page.

## One thing, three names

| `sqlsvm` on the command line | Python | SQL function in psql |
|---|---|---|
"""


def first(of: object) -> str:
    """The first paragraph of a docstring, as a cell of a table."""
    return " ".join((inspect.getdoc(of) or "").split("\n\n")[0].split()).replace("|", "\\|")


def page() -> str:
    return HEAD + "\n".join([*names(), *estimators(), *parameters(), *methods(), *functions()]) + "\n"


def names() -> Iterator[str]:
    for verb, python, psql in VERBS:
        yield f"| `{verb}` | `{python}` | {f'`sqlsvm.{psql}`' if psql else ''} |"


def estimators() -> Iterator[str]:
    yield from ("", "## Estimators", "", "| class | |", "|---|---|")
    for each in ESTIMATORS:
        yield f"| `{each.__name__}` | {first(each)} |"


def parameters() -> Iterator[str]:
    shown = [each.__name__.removeprefix("Relational") for each in ESTIMATORS]
    yield from (
        "",
        "## Parameters",
        "",
        "All are given by name, but `lam` may come first. A dot says that a class reads it.",
    )
    for group, listed in GROUPS.items():
        yield from (
            "",
            f"### {group}",
            "",
            f"| parameter | {' | '.join(shown)} | option |",
            f"|---|{'---|' * len(shown)}---|",
        )
        for name in listed.split():
            said = f"`{flag(name)}`" if name in OPTIONS else OWN[name]
            yield f"| `{name}` | {' | '.join('•' if reads(each, name) else '' for each in ESTIMATORS)} | {said} |"


def methods() -> Iterator[str]:
    yield from ("", "## Methods and attributes", "", "| | |", "|---|---|")
    for name, found in inspect.getmembers(sqlsvm.RelationalSVC):
        if not name.startswith("_") and (callable(found) or isinstance(found, property)) and first(found):
            yield f"| `{name}{'()' if callable(found) else ''}` | {first(found)} |"


def functions() -> Iterator[str]:
    yield from ("", "## Functions and other classes", "", "| | |", "|---|---|")
    for name in sqlsvm.__all__:
        found = getattr(sqlsvm, name)
        if found not in ESTIMATORS:
            yield f"| `{name}{'()' if inspect.isfunction(found) else ''}` | {first(found)} |"


def test_the_page() -> None:
    if os.environ.get("SQLSVM_UPDATE_GOLDEN"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page()


def test_each_parameter_is_in_one_group() -> None:
    listed = [name for group in GROUPS.values() for name in group.split()]
    assert sorted(listed) == sorted(Relational._defaults())


def test_the_names_are_there() -> None:
    templates = {path.stem for path in (ROOT / "sql_templates" / "functions").glob("*.sql")}
    for verb, python, psql in VERBS:
        assert verb.split()[0] in cli.commands
        for name in re.findall(r"\w+", python):
            assert hasattr(sqlsvm, name) or hasattr(sqlsvm.RelationalSVC, name)
        assert not psql or psql in templates
