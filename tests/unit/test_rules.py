"""Each rule refuses what it is for and nothing else, and no pair of options makes a message that lacks a word."""

import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import sqlsvm
from sqlsvm.errors import OptionError
from sqlsvm.options import OPTIONS, Choice
from sqlsvm.rules import GIVEN, MISSING, RULES, Facts, Has, Not, Rule, Start, refuse
from sqlsvm.suggestion.parameters import PARAMETERS as SUGGESTING

KNOWN = {"label": "y", "loss": "hinge", "solver": "dane"}
OTHERS: dict[str, tuple[Any, ...]] = {
    "intercept": (False, "free"),
    "holdout": (0.2, "2024-01-01"),
    "map": (("bins:age:3",), ("net:items",)),
    "constrain": (("nonnegative",), ("fair:age:0.1",)),
}
"""Of options of which some values have rules of their own."""


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.message)
def test_a_rule_refuses_what_it_is_for(rule: Rule) -> None:
    held = KNOWN | {name: _value(name, values) for name, values in rule.when.items()}
    for name in rule.options or (None,):
        error = rule.refusal(held | ({name: object()} if name else {}))
        assert error is not None
        assert error.hint
    if rule.options:
        assert rule.refusal(held) is None


def _value(name: str, values: Any) -> Any:
    if isinstance(values, Not):
        domain = OPTIONS[name].domain if name in OPTIONS else None
        words = domain.words if isinstance(domain, Choice) else ("no such word",)
        return next(word for word in words if word in values)
    if isinstance(values, Has):
        return (f"{values.start if isinstance(values.start, str) else values.start[0]}orders",)
    if values in (GIVEN, MISSING):
        return {GIVEN: 3, MISSING: None}[values]
    return "2024-01-01" if isinstance(values, Start) else values.words[0]


def test_every_pair_of_options_passes_or_is_refused_in_words() -> None:
    given = [(name, value) for name, option in OPTIONS.items() for value in _values(name, option.domain)]
    pairs = [pair for pair in combinations(given, 2) if pair[0][0] != pair[1][0]]
    refused = [(pair, error) for pair in pairs if (error := _refusal(KNOWN | dict(pair)))]
    assert 0 < len(refused) < len(pairs)
    for pair, error in refused:
        said = f"{error} {error.hint}"
        assert any(name in said or str(value) in said for name, value in pair), pair


def _refusal(asked: Facts) -> OptionError | None:
    try:
        refuse(asked)
    except OptionError as error:
        return error
    return None


def _values(name: str, domain: Any) -> tuple[Any, ...]:
    """All words, or values that are not the default."""
    if isinstance(domain, Choice):
        return tuple(word for word in domain.words if word != OPTIONS[name].default)
    return OTHERS.get(name, (OPTIONS[name].example or "other",))


def test_a_message_names_only_options_that_there_are() -> None:
    """A marker is an option of a training, one of `suggest`, or a call."""
    known = {*OPTIONS, *SUGGESTING, "warm_start"}
    for file in Path(sqlsvm.__file__).parent.rglob("*.py"):
        if file.name != "words.py":
            found = re.findall(r"⟦(\w+)(?=[ ⟧])", file.read_text(encoding="utf-8"))
            assert {name for name in found if name not in known} == set(), file.name
