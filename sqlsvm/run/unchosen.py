"""A choice that was not asked for ends no training: if it fails, the default is taken, and a note says why.

The training begins again, in a new snapshot: after an error a transaction of PostgreSQL takes no more statements.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import ParamSpec, TypeVar

from sqlsvm.errors import ConnectionLost, MovedError
from sqlsvm.options import DEFAULTS, LAMBDA
from sqlsvm.run.training import Training
from sqlsvm.terminal import NOTE

P = ParamSpec("P")
T = TypeVar("T")
Trainings = Mapping[str, Training]

steps = logging.getLogger(__name__)

MOST = 10


class NotChosenError(Exception):
    """The choice failed, for the reason that is its cause."""


@contextmanager
def choice_of(trainings: Trainings, *failures: type[Exception]) -> Iterator[None]:
    """An error of these kinds, where all that is chosen is chosen by default."""
    each = trainings.values()
    by_default = any(t.reads_parts for t in each) and all(set(t.chooses) <= set(t.unnamed) for t in each)
    try:
        yield
    except (ConnectionLost, MovedError):
        raise
    except failures as error:
        if not by_default:
            raise
        raise NotChosenError from error


def anew(work: Callable[P, T]) -> Callable[P, T]:
    """The work, again if what it reads has moved. A partition may be attached every hour, and every minute."""

    @wraps(work)
    def again(*given: P.args, **named: P.kwargs) -> T:
        for _ in range(MOST):
            try:
                return work(*given, **named)
            except MovedError as error:
                steps.log(NOTE, "note: beginning again: %s", error.message)
        return work(*given, **named)

    return again


def with_choice(trainings: Trainings, work: Callable[[Trainings], T]) -> T:
    """The work, or that with defaults."""
    try:
        return anew(work)(trainings)
    except NotChosenError as error:
        cause = error.__cause__
        some = any(each.chooses for each in trainings.values())
        lost = f"lambda is {DEFAULTS[LAMBDA]:g}, its default: choosing it" if some else "no class has a probability: it"
        steps.log(NOTE, "note: %s failed: %s", lost, _said(cause))
        steps.debug("the choice failed", exc_info=cause)
    return anew(work)({name: replace(each, chooses=(), curves=False) for name, each in trainings.items()})


def _said(cause: BaseException | None) -> str:
    return getattr(cause, "message", None) or f"{type(cause).__name__}: {cause}"
