"""`sqlsvm VERB ...`. Heavy imports stand inside the verbs, so that --help and a typing mistake are answered at once."""

from sqlsvm.cli import compiling, installed, scoring, stored, training, verbs
from sqlsvm.cli.group import cli
from sqlsvm.cli.running import main, run

__all__ = ["cli", "compiling", "installed", "main", "run", "scoring", "stored", "training", "verbs"]
