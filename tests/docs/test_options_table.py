"""docs/options.md is made from the command line and the rules.

`SQLSVM_UPDATE_GOLDEN=1 pytest tests/docs/test_options_table.py` writes it anew.
"""

import os
from collections.abc import Iterator

import click

from sqlsvm.cli import cli
from sqlsvm.options import NUMBER_LOSSES
from sqlsvm.rules import RULES, Rule
from sqlsvm.words import flag, typed
from sqlsvm.words import said as worded
from tests.docs.markdown import ROOT

PAGE = ROOT / "docs" / "options.md"
PARAMETERS = {parameter.opts[0]: parameter for parameter in cli.commands["train"].params}
MORE = {
    "--map": "nonlinear.md",
    "--solver": "nonlinear.md#kernel-machines",
    "--loss": "how-it-works.md#other-losses",
    "--pieces": "how-it-works.md#your-own-loss",
    "--constrain": "how-it-works.md#penalties-and-constraints",
    "--folds": "how-it-works.md#folds",
    "--probability": "how-it-works.md#probabilities",
    "--by": "how-it-works.md#groups",
    "--offload": "on-a-cluster.md#small-tables",
    "--no-temp": "reliability.md#on-a-standby",
    "--work-folder": "on-a-cluster.md",
    "--make-at-most": "queries.md#the-whole-is-made",
    "--trust-owner": "security.md#whom-you-trust",
}
HEAD = """# Options of a training

This page is for those who look up an option, or wonder why sqlsvm refuses two of them together. `sqlsvm train --help`
prints it too. In Python the options are parameters: `--max-passes` is `max_passes`, and `--lambda` is `lam`. An
environment variable can give each: `$SQLSVM_TOL`.

| option | default | meaning |
|---|---|---|
"""
LOSSES = """
## Losses

W is `--width`, T is `--tube`, q is `--quantile`, and delta is `--delta`. For a class, y is +1 or -1.

| loss | of a row | with |
|---|---|---|
| `hinge` | max(0, z) | z = 1 - y score |
| `squared_hinge` | max(0, z)^2 | z = 1 - y score |
| `smooth_hinge` | (z + W)^2 / (4 W) from z = -W to W; max(0, z) elsewhere | z = 1 - y score |
| `modified_huber` | max(0, z)^2 up to z = 2; 4 z - 4 beyond | z = 1 - y score |
| `logistic` | log(1 + exp(-z)) | z = y score |
| `custom_margin` | the sum of `--pieces` | z = y score |
| `squared` | z^2 / 2 | z = label - score |
| `absolute` | \\|z\\| | z = label - score |
| `huber` | z^2 / 2 up to \\|z\\| = delta; delta \\|z\\| - delta^2 / 2 beyond | z = label - score |
| `quantile` | q z above 0; (q - 1) z below | z = label - score |
| `epsilon_insensitive` | max(0, \\|z\\| - T) | z = label - score |
| `squared_epsilon_insensitive` | max(0, \\|z\\| - T)^2 | z = label - score |
| `custom` | the sum of `--pieces` | z = label - score |
"""
RULES_HEAD = """
## What does not go together

The command line, Python and `sqlsvm compile` check these rules, each as early as possible. "Several values" is a
list in `--lambda`, `--l1` or `--quantile`. A word in capitals stands for your value.

| with | refused | because | instead |
|---|---|---|---|
"""
FACTS = {
    "several": "several values",
    "program": "a program stored in PostgreSQL",
    "classes": "a label with more than two classes",
    "sums": "a feature that adds up several relations",
    "optional": "a label behind a LEFT JOIN",
}


def spelled(option: click.Parameter) -> str:
    assert isinstance(option, click.Option)
    values = "" if option.is_flag else f" {option.make_metavar(click.Context(cli)).strip('[]')}"
    return cell(f"`{option.opts[0]}{values}`")


def default(option: click.Parameter) -> str:
    assert isinstance(option, click.Option)
    if isinstance(option.show_default, str):
        return option.show_default
    return str(option.default) if option.show_default else ""


def said(text: str) -> str:
    return f"{text} " if text else ""


def cell(text: str) -> str:
    return text.replace("|", "\\|")


# -- the page ----------------------------------------------------------------------------------------------------------


class Shown(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return name.upper()


def page() -> str:
    rules = "".join(f"{line}\n" for line in dict.fromkeys(map(ruled, RULES)))
    return HEAD + "".join(f"{line}\n" for line in listed()) + LOSSES + RULES_HEAD + rules


def listed() -> Iterator[str]:
    for name, option in PARAMETERS.items():
        assert isinstance(option, click.Option)
        more = f" [More]({MORE[name]})." if name in MORE else ""
        yield f"| {spelled(option)} | {said(cell(default(option)))}| {cell(option.help or '')}{more} |"


def ruled(rule: Rule) -> str:
    where = "; ".join(condition(name, str(values)) for name, values in rule.when.items())
    refused = [flag(name) for name in rule.options]
    shown = Shown(flag=" or ".join(refused), several="an option that has several")
    texts = (where, ", ".join(refused) or "this", rule.message.format_map(shown), rule.hint.format_map(shown))
    return f"| {' | '.join(cell(worded(text, typed)) for text in texts)} |"


def condition(name: str, values: str) -> str:
    if name in FACTS:
        return {"given": FACTS[name], "not given": "one value of each option"}.get(values, f"{FACTS[name]} of {values}")
    if name == "loss":
        values = values.replace(", ".join(NUMBER_LOSSES[:-1]) + " or " + NUMBER_LOSSES[-1], "of numbers")
    return f"{flag(name)} {values.replace('not None, ', 'not ')}"


def test_the_page_of_options() -> None:
    if os.environ.get("SQLSVM_UPDATE_GOLDEN"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page()
    assert MORE.keys() <= PARAMETERS.keys()
