"""The phases of a training: what is done, and how its seconds are shared out."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from sqlsvm.model.model import Model

Phase = Literal[
    "reading",  # the query and the catalog
    "copying",  # with --offload
    "tables",
    "moments",
    "sampling",
    "choosing",  # lambda, l1 and the loss, where they are auto
    "solving",  # the sample, up to the first pass
    "passes",
    "between_passes",
    "folds",  # all of it
    "groups",  # all of them
    "digests",  # of the rows, for --resume
    "finishing",
]

SAID: Mapping[Phase, str] = {
    "tables": "preparing the tables",
    "moments": "counting the join and the moments of its features",
    "between_passes": "choosing where to make the next pass",
    "digests": "taking a digest of the rows",
    "finishing": "finishing the model",
}
"""What is shown of a phase. The others say it themselves, with names and numbers."""

steps = logging.getLogger(__name__)


def whole(models: "Sequence[Model]", began: float) -> "list[Model]":
    """The phases of all models add up to the seconds since then: what is in none was before or after the training."""
    first, *others = models
    rest = perf_counter() - began - sum(model.total_seconds or 0.0 for model in models)
    return [replace(first, phases={**first.phases, "other": rest} if first.phases else {}), *others]


class Clock:
    """One phase at a time is going on, so the phases add up to the whole."""

    def __init__(self, phase: Phase = "reading") -> None:
        self.phase, self._since = phase, perf_counter()
        self._ended: dict[str, float] = {}

    @property
    def seconds(self) -> dict[str, float]:
        """Of each phase so far."""
        return self._ended | {self.phase: self._ended.get(self.phase, 0.0) + perf_counter() - self._since}

    def lap(self) -> dict[str, float]:
        """The seconds since the lap before, which then count no more."""
        found, self._ended, self._since = self.seconds, {}, perf_counter()
        return found

    def begin(self, phase: Phase) -> Phase:
        """The phase that it ends."""
        self._ended, before = self.seconds, self.phase
        self.phase, self._since = phase, perf_counter()
        if phase in SAID:
            steps.info(SAID[phase])
        return before

    @contextmanager
    def during(self, phase: Phase) -> Iterator[None]:
        """The phase before goes on afterwards."""
        before = self.begin(phase)
        yield
        self.begin(before)
