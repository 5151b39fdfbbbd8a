"""What a run of the benchmarks found: plain records, as results.json keeps them."""

import json
import os
import platform
import subprocess
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bench.races.measure import Spread

REACHED = 1e-3
"""A competitor has reached the objective when its F is at most this much, relatively, above the best that is known."""

OUT_OF_TIME = "out of time"
DIRTY = "-dirty"
"""What git adds where files have changed, as those do that are written here."""

PACKAGES = ("sqlsvm", "numpy", "scikit-learn", "rehline", "sqlglot", "psycopg", "duckdb", "lightgbm")

EXACT = 1e-12
"""With this epsilon descent counts every row."""


@dataclass
class Entry:
    """One competitor in one race. `error` says why there are no seconds."""

    competitor: str
    seconds: list[float] = field(default_factory=list)
    client_bytes: float | None = None
    server_bytes: float | None = None
    objective: tuple[float, float] | None = None
    """F over the full join, from below and from above."""
    auc: float | None = None
    """Of the rows that were held out."""
    proof: dict[str, float] | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    setting: dict[str, Any] | None = None
    note: str = ""
    error: str = ""

    @property
    def spread(self) -> Spread | None:
        return Spread.of(self.seconds) if self.seconds else None

    def excess(self, best: float | None) -> float | None:
        """How far F is above the best that is known, relatively."""
        if self.objective is None or best is None:
            return None
        return sum(self.objective) / 2 / best - 1

    def reaches(self, best: float | None) -> bool | None:
        excess = self.excess(best)
        return None if excess is None else excess <= REACHED


@dataclass
class RaceResult:
    name: str
    says: str
    lam: float
    join_rows: float | None = None
    join_bytes: float | None = None
    entries: list[Entry] = field(default_factory=list)
    reference: dict[str, float] | None = None
    """What is proven of F by the run before the race."""
    series: str = ""
    x: float = 0.0
    pace: float = 0.0
    """Seconds of a fixed piece of work just before the race."""
    error: str = ""

    @property
    def best(self) -> float | None:
        """The best F that is known: of a model of the race, or of the reference."""
        found = [sum(e.objective) / 2 for e in self.entries if e.objective]
        if self.reference:
            found.append((self.reference["objective"] + self.reference["objective_upper"]) / 2)
        return min(found, default=None)

    @property
    def turns(self) -> int:
        """How often all competitors that can have run."""
        return min((len(e.seconds) for e in self.entries if not e.error), default=0)

    @property
    def complete(self) -> bool:
        """Was there time for it, and did nothing else come in between?"""
        return not self.error and OUT_OF_TIME not in [e.error for e in self.entries]

    def entry(self, competitor: str) -> Entry | None:
        return next((e for e in self.entries if e.competitor == competitor), None)


@dataclass
class Results:
    machine: dict[str, Any]
    races: list[RaceResult] = field(default_factory=list)
    looks: list[dict[str, Any]] = field(default_factory=list)
    """{race, engine, forms, statements}: one pass of a race from inside (bench/races/one_pass.py)."""
    passes: list[dict[str, Any]] = field(default_factory=list)
    """{solver, lam, tol, passes of each seed}: bench/experiments/passes.py."""
    descent: list[dict[str, Any]] = field(default_factory=list)
    """{epsilon, excess of F after each pass}: bench/experiments/descent.py."""
    minutes: float = 0.0
    remark: str = ""
    """What has been learned of this run since."""
    goes: int = 1
    """How often `--more` went on, and the first time."""

    def put(self, race: RaceResult) -> None:
        """In the place of one of its name, or as the last; but nothing is no better than something."""
        places = {(known.series, known.name): place for place, known in enumerate(self.races)}
        place = places.get((race.series, race.name), len(self.races))
        if race.entries or place == len(self.races):
            self.races[place : place + 1] = [race]

    def begun(self, series: str, name: str) -> RaceResult | None:
        """A race that all competitors that can have run at least once."""
        found = (race for race in self.races if (race.series, race.name) == (series, name))
        return next((race for race in found if race.complete and race.turns), None)

    def gave_up(self, series: str, x: float, competitor: str) -> bool:
        """Did it fail where what grows in the series was smaller?"""
        entries = [race.entry(competitor) for race in self.races if race.series == series and race.x < x]
        return any(e is not None and e.error not in ("", OUT_OF_TIME) for e in entries)

    def looked(self, race: str) -> bool:
        return race in [look["race"] for look in self.looks]

    def again(self, machine: dict[str, Any]) -> "Results":
        """To go on with. Code that has changed since would be measured under one name with what it was."""
        before, now = (str(m["revision"]).removesuffix(DIRTY) for m in (self.machine, machine))
        if before != now:
            raise SystemExit(f"the results are of revision {before}, this is {now}: start anew, without --more")
        return replace(self, machine=machine, goes=self.goes + 1)

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "Results":
        found = json.loads(path.read_text(encoding="utf-8"))
        races = [RaceResult(**{**r, "entries": [_entry(e) for e in r["entries"]]}) for r in found.pop("races")]
        return cls(races=races, **found)


def _entry(found: dict[str, Any]) -> Entry:
    objective = found.pop("objective")
    return Entry(**found, objective=None if objective is None else (objective[0], objective[1]))


def machine(postgres: str) -> dict[str, Any]:
    """Where and with what: without names of hosts or people."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "revision": _revision(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "postgres": postgres,
        "versions": {name: _version(name) for name in PACKAGES},
    }


def _revision() -> str:
    """What the run itself has written by now does not make it another."""
    written = [f":(exclude,top)bench/{name}" for name in ("RESULTS.md", "results.json", "pictures")]
    try:
        revision = _git("rev-parse", "--short", "HEAD")
        changed = _git("status", "--porcelain", "--untracked-files=no", "--", ":(top)", *written)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return revision + (DIRTY if changed else "")


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.processor())


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
