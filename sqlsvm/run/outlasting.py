"""A training goes on from its passes so far if its server was restarted meanwhile."""

from collections.abc import Callable, Iterator, MutableMapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from time import monotonic, sleep
from typing import TypeVar

from sqlsvm.engine.base import Engine, Text
from sqlsvm.errors import ConnectionLost, EngineError
from sqlsvm.run.resume import Continuation

T = TypeVar("T")

AGE = "SELECT EXTRACT(EPOCH FROM CLOCK_TIMESTAMP() - PG_POSTMASTER_START_TIME()) AS age"
BACK = 30.0
"""Seconds in which a server that was restarted may come back."""

Opens = Callable[[], AbstractContextManager[Engine]]
Says = Callable[[str], None]


def outlasting(
    engine: Engine,
    opens: Opens | None,
    continuations: MutableMapping[str, Continuation],
    connections: ExitStack,
    work: Callable[[Engine], T],
    say: Says,
) -> tuple[Engine, T]:
    """The work, and the engine on which it ended. `opens` makes another connection; None: there can be none."""
    while True:
        began = monotonic()
        try:
            return engine, work(engine)
        except ConnectionLost as lost:
            if opens is None:
                raise
            engine = connections.enter_context(_restarted(opens, began, lost, say))
            anew = {each: Continuation(each.last or each.before, say) for each in continuations.values()}
            continuations.update({name: anew[each] for name, each in continuations.items()})  # some share one


@contextmanager
def _restarted(opens: Opens, began: float, lost: ConnectionLost, say: Says) -> Iterator[Engine]:
    """A connection to the server that was restarted since then. Else the session was ended on purpose, or by a timeout
    of the server, and the error holds."""
    end, said = monotonic() + BACK, False
    with ExitStack() as connection:
        while True:
            try:
                engine = connection.enter_context(opens())
                age = engine.fetch(Text(AGE))["age"][0]
                break
            except EngineError:
                if monotonic() > end:
                    raise lost from None
                if not said:
                    say(f"{lost.message}; waiting up to {BACK:.0f} s for the server")
                said = True
                sleep(0.2)
        if float(age) > monotonic() - began:
            raise lost
        say("the server was restarted; the training goes on from its passes so far")
        yield engine
