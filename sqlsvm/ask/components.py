"""`sqlsvm components`: the principal components of the numbers of a join."""

from collections.abc import Sequence
from typing import Any

from sqlsvm.engine.base import Engine
from sqlsvm.options import DEFAULTS, Nulls, Scale
from sqlsvm.query.read_query import read_query
from sqlsvm.run.components import Components, components_of

K = 5


def components(
    engine: Engine,
    text: str,
    *,
    k: int = K,
    label: str | None = None,
    weight: str | None = None,
    categorical: Sequence[str] = (),
    nulls: Nulls = DEFAULTS["nulls"],
    scale: Scale = DEFAULTS["scale"],
    offload: bool | None = None,
) -> Components:
    query = read_query(engine, text, label=label, weight=weight, categorical=categorical)
    return components_of(engine, query, k, nulls=nulls, scale=scale, offload=offload)


def as_json(found: Components) -> dict[str, Any]:
    """The object that `components --json` prints."""
    return {**vars(found), "components": [vars(c) for c in found.components]}
