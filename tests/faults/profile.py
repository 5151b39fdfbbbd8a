"""How much is tried. `make test` tries a little of it, `make faults` all: there $SQLSVM_FAULTS is the number of moments
at which each fault happens. What happened is a line in build/faults.jsonl."""

import json
import os
from pathlib import Path

import pytest

MOMENTS = int(os.environ.get("SQLSVM_FAULTS", "0"))
LONG = MOMENTS > 0
only_long = pytest.mark.skipif(not LONG, reason="a part of `make faults`")
RECORD = Path(__file__).parents[2] / "build" / "faults.jsonl"


def number(long: int, short: int) -> int:
    return long if LONG else short


def record(**happened: object) -> None:
    if LONG:
        RECORD.parent.mkdir(exist_ok=True)
        with RECORD.open("a", encoding="utf-8") as file:
            file.write(json.dumps(happened) + "\n")
