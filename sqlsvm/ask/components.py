"""`sqlsvm components`: the principal components of the numbers of a join."""

from typing import Any, Unpack

from sqlsvm.engine.base import Engine
from sqlsvm.options import DEFAULTS, Nulls, Scale
from sqlsvm.query.read_query import Roles, read_query
from sqlsvm.run.components import Components, components_of

K = 5


def components(
    engine: Engine,
    text: str,
    *,
    k: int = K,
    nulls: Nulls = DEFAULTS["nulls"],
    scale: Scale = DEFAULTS["scale"],
    offload: bool | None = None,
    **roles: Unpack[Roles],
) -> Components:
    query = read_query(engine, text, **roles)
    return components_of(engine, query, k, nulls=nulls, scale=scale, offload=offload)


def as_json(found: Components) -> dict[str, Any]:
    """The object that `components --json` prints."""
    return {**vars(found), "components": [vars(c) for c in found.components]}
