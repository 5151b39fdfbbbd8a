"""`sqlsvm VERB ...`. Heavy imports stand inside the verbs, so that --help and a typing mistake are answered at once."""

from sqlsvm.cli import demo, installed, reporting, scoring, stored, suggesting, training, verbs
from sqlsvm.cli.group import cli
from sqlsvm.cli.running import main, run

__all__ = [
    "cli",
    "demo",
    "installed",
    "main",
    "reporting",
    "run",
    "scoring",
    "stored",
    "suggesting",
    "training",
    "verbs",
]
