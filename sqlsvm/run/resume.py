"""The state of a training that did not finish, and how another one goes on from it.

Cuts bound the objective only for the rows on which they were counted. So a state holds the query, the options that
define the objective, and a digest of every relation, taken inside the snapshot. If all of these are the same, its cuts
are used again, and the run goes on as if it had not stopped. If not, its best weights are still a good start.

The digest costs a scan of every relation. It is taken once: for a small join after the first pass that is not the last,
else when the solver has run for some seconds, or when the run gives up. So a run that ends later, even by a lost
connection, has a digest; one that ends sooner is soon repeated.

Each class of a label has a log of its own, and so has each group of --by. One state holds all of them.

A state is sealed with a digest of itself as well. This shows a change by accident or by hand. The digest has no key, so
a role that may write the state can also seal a change: after a resumed run, the proof rests on those who may write it.
"""

import json
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, fields
from hashlib import sha256
from time import monotonic, perf_counter, sleep
from typing import Annotated, Any, ClassVar, TypeVar

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Engine, Text
from sqlsvm.errors import ConnectionLost, EngineError, OptionError
from sqlsvm.maps.mapped import Mapped, Maps
from sqlsvm.model.plain import plain
from sqlsvm.options import OPTIONS, Number
from sqlsvm.plan.constraints import audited
from sqlsvm.plan.design import Design, without_other
from sqlsvm.query import FeatureQuery
from sqlsvm.reading import ANEW, Misread, Packed, form_of, made
from sqlsvm.run.data import Data
from sqlsvm.run.training import Training
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.penalty import Penalty
from sqlsvm.solve.solution import Solution, State
from sqlsvm.times import TIMES

Column = tuple[str, str, object]  # the feature, role and category of a raw coordinate
FORMAT = 4
"""The number of the form of `Saved.as_json`. Form 1 had no digest, form 2 one log, form 3 neither groups nor maps."""

SMALL = 100_000  # up to this many join rows, a scan of the tables costs almost nothing
PATIENCE = 5.0  # after this many seconds a digest is worth its cost
LARGEST_STATE = 4_000_000  # numbers, for all classes and groups. Of what is beyond, only the best weights are kept.
TOO_LARGE = "their cuts were too large to keep"

_ARRAYS = tuple(field.name for field in fields(State) if field.name != "start")


@dataclass(frozen=True)
class Past:
    """The passes of one vector of weights: the only one, or that of a class."""

    theta: Array  # the best weights, on raw coordinates
    passes: Annotated[int, Number(1, whole=True)]
    state: State | None  # None if all states were too large to keep

    def as_json(self) -> dict[str, Any]:
        arrays = self.state and {name: Packed.of(getattr(self.state, name)) for name in _ARRAYS}
        return {"theta": Packed.of(self.theta), "passes": self.passes, "state": arrays}

    def check(self, columns: int, place: str) -> None:
        """theta has a number for each column, and each array of the state a row for each pass."""
        _check_array(self.theta, (columns,), f"{place}.theta")
        if self.state is None:
            return
        dimension = self.state.points.shape[-1] if self.state.points.ndim else 0
        for name in _ARRAYS:
            shape = (self.passes, dimension) if name in ("points", "slopes") else (self.passes,)
            _check_array(getattr(self.state, name), shape, f"{place}.state.{name}")


@dataclass(frozen=True)
class Part:
    """The passes of one problem: of all rows, or of a group."""

    columns: tuple[Column, ...]
    pasts: tuple[Past, ...]
    group: object = None  # its value
    loss: str = ""  # of a group that chose one: cuts are of one loss

    @property
    def passes(self) -> int:
        return sum(past.passes for past in self.pasts)

    @property
    def states(self) -> list[State] | None:
        found = [past.state for past in self.pasts if past.state is not None]
        return found if len(found) == len(self.pasts) else None

    def as_json(self) -> dict[str, Any]:
        found = {"columns": plain(self.columns), "pasts": [past.as_json() for past in self.pasts]}
        own = {"group": plain(self.group), "loss": self.loss}
        return found | {name: value for name, value in own.items() if value not in (None, "")}


@dataclass(frozen=True)
class Saved:
    """The passes of a training that did not finish."""

    objective: Mapping[str, Any]  # the query and every option that the cuts depend on, by name
    digests: Mapping[str, str] | None  # of the rows of each relation; None if the run ended before they were taken
    parts: tuple[Part, ...]
    maps: Maps = ()

    UNREAD: ClassVar = frozenset({"format", "digest"})

    @property
    def passes(self) -> int:
        return sum(part.passes for part in self.parts)

    def as_json(self) -> dict[str, Any]:
        parts = [part.as_json() for part in self.parts]
        return sealed({**vars(self), "parts": parts, "maps": plain(self.maps), "format": FORMAT})

    @classmethod
    def from_json(cls, found: Mapping[str, Any], where: str = "the state") -> "Saved":
        if form_of(found, where, FORMAT) < FORMAT:
            raise OptionError(f"{where}: kept by an older sqlsvm", hint=ANEW)
        saved = made(cls, found, where, ANEW)
        if sealed(found) != found:
            raise OptionError(f"{where}: digest: the state was changed after it was kept", hint=ANEW)
        try:
            for number, part in enumerate(saved.parts):
                for place, past in enumerate(part.pasts):
                    past.check(len(part.columns), f"parts[{number}].pasts[{place}]")
        except Misread as wrong:
            raise wrong.error(where, ANEW) from None
        return saved


def sealed(found: Mapping[str, Any]) -> dict[str, Any]:
    """With the digest of everything else."""
    rest = {name: value for name, value in found.items() if name != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return rest | {"digest": sha256(text.encode()).hexdigest()}


def _check_array(found: Array, shape: tuple[int, ...], place: str) -> None:
    if found.shape != shape:
        raise Misread(f"expected the shape {list(shape)}, found {list(found.shape)}", place)
    if place.endswith(("theta", "points", "slopes")) and not np.isfinite(found).all():
        raise Misread("expected finite numbers", place)


class Continuation:
    """Starts a training from the state of the one before it, if there is one, and keeps the state for the next one.
    Trainings that share their passes share it."""

    def __init__(self, before: Saved | None = None, say: Callable[[str], None] = lambda text: None) -> None:
        self.before = before
        self._say = say
        self.forget()

    def forget(self) -> None:
        """What was passed over is of another snapshot."""
        self._objective: Mapping[str, Any] | None = None
        self._parts: dict[object, Part] = {}
        self._asked: dict[object, tuple[Data, Sequence[Penalty], str]] = {}
        self._sizes: dict[object, int] = {}
        self._digests: Mapping[str, str] | None = None
        self._began = perf_counter()
        self.unfinished = False
        """Did a training not converge?"""

    @property
    def last(self) -> Saved | None:
        """All passes so far."""
        if self._objective is None or not self._parts:
            return None
        return Saved(self._objective, self._digests, tuple(self._parts.values()), self._problem.query.maps)

    def maps(self, objective: Mapping[str, Any]) -> tuple[Mapped, ...]:
        """Those of the training before, if it asked for the same. Read again they may be others: threads may draw
        another sample for the same seed, so a network learns something else."""
        if not self.before or any(self.before.objective.get(k) != v for k, v in plain(objective).items()):
            return ()
        return self.before.maps

    def begin(
        self, problems: Sequence[Data], objective: Mapping[str, Any], penalties: Sequence[Penalty]
    ) -> list[State] | None:
        """The state from which the solver goes on, for each class. Called inside the snapshot, like the other
        methods."""
        self._open(problems[0], objective)
        states, change = self._state_of(None, problems, penalties)
        if self.before is None:
            return None
        if change and objective["solver"] == "descent":
            self._say(f"starting anew, for descent begins at 0, and its steps do not fit here: {change}")
            return None
        if states is None:
            self._say(f"starting anew at 0: {change}")
            return None
        self._say_how(self.before, change)
        return states

    def begin_groups(self, problem: Data, objective: Mapping[str, Any]) -> None:
        """What is left of the training before is kept until its group makes a pass."""
        self._open(problem, objective)
        if self.before is not None:
            self._say_how(self.before, self._changed)
            if self._changed is None:
                self._parts = {part.group: part for part in self.before.parts}

    def group(
        self, value: object, problems: Sequence[Data], penalties: Sequence[Penalty], loss: str
    ) -> list[State] | None:
        """The same for a group, with the loss if it chose one."""
        return self._state_of(plain(value), problems, penalties, loss)[0]

    def ended(self, solutions: Sequence[Solution], *, more: bool, group: object = None) -> None:
        """A training of these passes has ended. They are kept if it did not converge, or if `more` is to come."""
        self.unfinished |= not all(solution.converged for solution in solutions)
        if self.unfinished or more:
            self.remember([solution.state for solution in solutions], last=self.unfinished, group=plain(group))

    def remember(self, states: Sequence[State], *, last: bool = False, group: object = None) -> None:
        """Keep the states, first without digests: if these are interrupted, the weights are not lost."""
        problem, penalties, loss = self._asked[group]
        self._sizes[group] = sum(state.points.size + state.slopes.size for state in states)
        whole = sum(self._sizes.values()) <= LARGEST_STATE
        each = zip(states, penalties, strict=True)
        to_raw, shifted = problem.scaling.to_raw, problem.plan.design.moved
        pasts = (Past(shifted(to_raw(_best(s, penalty))), len(s), s if whole else None) for s, penalty in each)
        self._parts[group] = Part(tuple(_columns(problem.plan.design)), tuple(pasts), group, loss)
        if whole and (last or self._problem.moments.n <= SMALL or self._is_late):
            self._take(self._problem)

    def identified(self, problem: Data) -> Mapping[str, str]:
        """Digests of the rows, unless to train again would take as little."""
        return self._take(problem) if problem.moments.n <= SMALL or self._is_late else {}

    @property
    def _is_late(self) -> bool:
        return perf_counter() - self._began >= PATIENCE

    def _open(self, problem: Data, objective: Mapping[str, Any]) -> None:
        self._problem, self._objective, self._began = problem, plain(objective), perf_counter()
        self._changed = None if self.before is None else self._change(self.before, self._objective)

    def _state_of(
        self, group: object, problems: Sequence[Data], penalties: Sequence[Penalty], loss: str = ""
    ) -> tuple[list[State] | None, str | None]:
        """From where to go on, and why that proves nothing; None if it still does."""
        self._asked[group] = problems[0], penalties, loss
        parts = {part.group: part for part in self.before.parts} if self.before else {}
        found = parts.get(group) or parts.get(None)  # a group may begin at weights of all rows
        if found is None or len(found.pasts) != len(problems):
            return None, self._changed or "the features have changed"
        if (change := self._changed or _unlike(found, problems[0], loss)) is None:
            self._parts[group] = found
            return found.states, None
        return [State.at(_start(found, past, problems[0])) for past in found.pasts], change

    def _say_how(self, before: Saved, change: str | None) -> None:
        after = "1 pass" if before.passes == 1 else f"{before.passes} passes"
        if change is None:
            self._say(f"resuming after {after}: the rows and the options are the same, so what was proven still is")
        else:
            self._say(f"starting anew from the best weights of {after}, which no longer prove anything: {change}")

    def _take(self, problem: Data) -> Mapping[str, str]:
        if self._digests is None:
            with problem.work.clock.during("digests"):
                self._digests = dict(digests(problem.work.engine, problem.query))
            problem.work.engine.check_read()
        return self._digests

    def _change(self, before: Saved, objective: Mapping[str, Any]) -> str | None:
        """Why no cuts can be used."""
        if others := [name for name, value in objective.items() if before.objective.get(name) != value]:
            return f"another {', '.join(others).replace('_', ' ')}"
        if not any(part.states for part in before.parts):
            return TOO_LARGE
        if before.digests is None:
            return "the run ended before its rows were identified"
        return moved(before.digests, self._take(self._problem))


def objective(database: str, text: str, training: Training) -> dict[str, Any]:
    """All but the rows that the cuts of a training depend on."""
    return {"database": database, **asked_for(text, training)}


def asked_for(text: str, training: Training) -> dict[str, Any]:
    """Dane and bundle share their cuts, for any penalty. Descent has steps of its own. Rows in which an audited column
    is NULL may be left out. Maps may depend on the seed."""
    descends = training.solver == "descent"
    shared = {"objective", "steps"} if descends else {"objective"}
    found = {OPTIONS[name].said: value for name, value in training.options.items() if OPTIONS[name].changes in shared}
    seed = training.seed if training.holdout or training.map else None
    solver = "descent" if descends else "dane or bundle"
    columns = audited(training.constrain)
    found |= {"fair to": columns} if columns else {}
    return {"query": text, **found, "seed": seed, "solver": solver}


def _unlike(part: Part, problem: Data, loss: str) -> str | None:
    """Why its cuts cannot be used; None if they can."""
    if part.states is None:
        return TOO_LARGE
    if part.loss != loss:
        return "another loss"
    same = part.columns == tuple(_columns(problem.plan.design))
    fits = all(state.points.shape[1] == problem.scaling.dimension for state in part.states)
    return None if same and fits else "the features have changed"


def moved(before: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    """Which relations have other rows."""
    if others := [alias for alias, digest in now.items() if before.get(alias) != digest]:
        return f"the rows of {', '.join(others)} have changed"
    return None


def digests(engine: Engine, query: FeatureQuery) -> Iterator[tuple[str, str]]:
    """Of the values that the query computes in each relation. The same columns may give another label tomorrow, by
    CURRENT_DATE, or in another time zone."""
    for relation in query.relations:
        found = {e.sql(query.dialect): e for e in _made(query, relation.alias)}
        values = [(e, f"c{place}") for place, e in enumerate(found.values())] or [(sql.integer(1), "one")]
        yield relation.alias, engine.digest(relation.partners.rows(values))


def _made(query: FeatureQuery, alias: str) -> Iterator[exp.Expression]:
    """Features, label, weight, keys, and conditions after a LEFT JOIN: a row that fails them is in no row of the join,
    and yet it is found. Values that are neither numbers nor categories are cast to text, because not every type has a
    hash."""
    yield from (f.expression.copy() for f in query.outputs if f.relation == alias)
    relation = query.relation(alias)
    plain = {c.name for c in relation.columns if c.kind != "other" and c.kind not in TIMES}
    for term in (t for t in query.terms if t.relation == alias):
        own = term.expression.copy()
        yield own if isinstance(own, exp.Column) and own.name in plain else sql.text(own)
    yield from (sql.text(f.copy()) for f in relation.filters if relation.optional is not None)


def _best(state: State, penalty: Penalty) -> Array:
    """The point with the least upper bound on the objective; for descent, which has no bounds, the least value."""
    bounds = state.lows + np.nan_to_num(state.errors) + np.array([penalty.value(point) for point in state.points])
    best: Array = state.points[int(np.argmin(bounds))]
    return best


def _columns(design: Design) -> Iterator[Column]:
    yield from ((c.feature, c.role, None) for c in design.coordinates)
    for d in design.dictionaries:
        named = without_other(d.categories)
        yield from ((d.feature, "category", plain(value)) for value in named)
        if len(named) < len(d.categories):
            yield d.feature, "others", None


def _start(before: Part, past: Past, problem: Data) -> Array:
    """The old weights by name; new features have weight 0."""
    known = dict(zip(before.columns, past.theta.tolist(), strict=True))
    theta = np.array([known.get(column, 0.0) for column in _columns(problem.plan.design)])
    return problem.scaling.to_scaled(problem.plan.design.moved(theta, -1.0))


T = TypeVar("T")

AGE = "SELECT EXTRACT(EPOCH FROM CLOCK_TIMESTAMP() - PG_POSTMASTER_START_TIME()) AS age"
BACK = 30.0  # seconds in which a server that was restarted may come back
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
