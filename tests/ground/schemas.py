"""Random worlds: `worlds(...)` for hypothesis, which shrinks, and `random_world(rng, ...)` for many cheap seeds."""

from typing import Any, TypedDict, Unpack

import numpy as np
from hypothesis import strategies as st

from tests.ground.build import Options, build_world
from tests.ground.choose import Drawn, Seeded
from tests.ground.world import Item, Table, TableColumn, World

__all__ = ["Item", "Options", "Table", "TableColumn", "Wishes", "World", "random_world", "worlds"]


class Wishes(TypedDict, total=False):
    """The keywords of `worlds` and `random_world`; `Options` says what they mean and what is the default."""

    acyclic: bool | None
    min_relations: int
    max_relations: int
    features: bool
    label: bool
    many_to_many: bool | None
    left_joins: bool
    to_many: bool
    nulls: bool
    evil: bool
    max_rows: int
    continuous: bool


def worlds(**wishes: Unpack[Wishes]) -> st.SearchStrategy[World]:
    """A strategy. What it draws prints as a script of SQL."""
    options = Options(**wishes)

    @st.composite
    def world(draw: Any) -> World:
        return build_world(Drawn(draw), options)

    return world()


def random_world(rng: np.random.Generator, **wishes: Unpack[Wishes]) -> World:
    """One world from a seeded generator, a few times faster than hypothesis."""
    return build_world(Seeded(rng), Options(**wishes))
