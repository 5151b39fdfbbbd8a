"""Sizes from which on another way pays, changed for a test."""

from dataclasses import replace
from typing import Any

import pytest

from sqlsvm.engine.base import Engine


def sized(patch: pytest.MonkeyPatch, **changes: Any) -> None:
    patch.setattr(Engine, "sizes", replace(Engine.sizes, **changes))
