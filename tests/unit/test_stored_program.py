"""What the compiler and the fixed SQL have to agree on."""

import re
from typing import get_args

import pytest

from sqlsvm.measures import MEASURES, NUMBER, TWO, Label
from sqlsvm.plan.parameters import IN_ORDER
from sqlsvm.psql.stored_program.checks import Kind
from sqlsvm.store.templates import template, templates_in


def test_parameters_are_the_fields_of_their_type() -> None:
    """$1 is the first field, and so on, wherever statements are executed."""
    found = re.search(r"CREATE TYPE sqlsvm\._given AS \((.*?)\);", template("types"), re.DOTALL)
    assert found
    assert tuple(field.split()[0] for field in found[1].split(",")) == IN_ORDER
    handed = [
        tuple(re.findall(r"given\.(\w+)", using))
        for name in templates_in("internal")
        for using in re.findall(r"USING (given\.theta.*?);", template(name), re.DOTALL)
    ]
    assert handed == [IN_ORDER] * len(handed)
    assert handed


def test_every_kind_of_check_has_its_message() -> None:
    answered = re.findall(r"^ +\('(\w+)', '", template("internal/_check_plan"), re.MULTILINE)
    assert sorted(answered) == sorted(["types", "unique", "rounded", *get_args(Kind)])


@pytest.mark.parametrize(("label", "function"), [(TWO, "_measures"), (NUMBER, "_residuals")])
def test_psql_knows_every_measure_of_scores_and_labels(label: Label, function: str) -> None:
    """It has no loss and no probabilities of rows."""
    told = set(re.findall(r"'([a-z][a-z0-9_]+)'", template(f"internal/{function}").split("RETURN QUERY")[-1]))
    counts = {f"{right}_{sign}" for right in ("true", "false") for sign in ("negative", "positive")}
    wanted = {name for name, measure in MEASURES.items() if label in measure.of and not measure.needs}
    assert told - counts == wanted
