"""The README's table of options agrees with `sqlsvm train`. Its rows and what they say are its own.

`SQLSVM_UPDATE_GOLDEN=1 pytest tests/docs/test_options_table.py` writes its first two columns anew.
"""

import os
import re

import click

from sqlsvm.cli import cli
from tests.docs.markdown import ROOT

README = ROOT / "README.md"
ROW = re.compile(r"^\| (`--.*?`) \| (.*?) ?\| (.*) \|$", re.MULTILINE)
FLAG = re.compile(r"--[a-z0-9-]+")
OPTIONS = {parameter.opts[0]: parameter for parameter in cli.commands["train"].params}
OF_THE_VERB = {"--dsn", "--query", "--label", "--name", "--model-file", "--json", "--lambda", "--tol", "--trust-owner"}
"""What the README says elsewhere."""


def row(found: re.Match[str]) -> str:
    """As the command line has it."""
    options = [OPTIONS[flag] for flag in FLAG.findall(found[1])]
    defaults = "; ".join(filter(None, map(default, options)))
    return f"| {', '.join(map(spelled, options))} | {defaults}{' ' * bool(defaults)}| {found[3]} |"


def spelled(option: click.Parameter) -> str:
    assert isinstance(option, click.Option)
    values = "" if option.is_flag else f" {option.make_metavar(click.Context(cli)).strip('[]')}"
    return f"`{option.opts[0]}{values}`".replace("|", "\\|")


def default(option: click.Parameter) -> str:
    assert isinstance(option, click.Option)
    if isinstance(option.show_default, str):
        return option.show_default
    return str(option.default) if option.show_default else ""


def test_the_table_of_the_readme() -> None:
    text = README.read_text(encoding="utf-8")
    wanted = ROW.sub(row, text)
    if os.environ.get("SQLSVM_UPDATE_GOLDEN"):
        README.write_text(wanted, encoding="utf-8")
    assert text == wanted
    named = {flag for found in ROW.finditer(text) for flag in FLAG.findall(found[1])}
    assert named | OF_THE_VERB == OPTIONS.keys()
