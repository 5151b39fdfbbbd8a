"""The findings of a check as a table."""

from collections.abc import Sequence
from typing import TextIO

from rich.text import Text

from sqlsvm.paper import on_paper, table
from sqlsvm.psql.install.check import Finding
from sqlsvm.terminal import printable


def draw_findings(findings: Sequence[Finding], stream: TextIO) -> str:
    verdicts = Text("FAILED", "bold red"), Text("ok", "green")
    lines = [Text("\n".join(map(printable, finding.found.splitlines()))) for finding in findings]
    rows = [(verdicts[found.good], found.what, said) for found, said in zip(findings, lines, strict=True)]
    return on_paper(stream, table(("", "check", "found"), rows, words=3))
