"""The findings of a check as a table."""

from collections.abc import Sequence
from typing import TextIO

from rich.text import Text

from sqlsvm.paper import columns, on_paper
from sqlsvm.psql.install.check import Finding
from sqlsvm.terminal import printable


def draw_findings(findings: Sequence[Finding], stream: TextIO) -> str:
    table = columns("", "check", "found")
    for finding in findings:
        verdict = Text("ok", "green") if finding.good else Text("FAILED", "bold red")
        table.add_row(verdict, finding.what, Text("\n".join(printable(line) for line in finding.found.splitlines())))
    return on_paper(stream, table)
