"""The lines that the design draws: how fast training has to be next to its peers, on a quiet machine with 2 cores."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from bench.races.results import RaceResult, Results

OURS = {"sqlsvm": "", "sqlsvm, offloaded": "", "sqlsvm, DuckDB": ", DuckDB"}
"""And how the names of competitors end that have the data in the same place."""

SAMPLED = "sample + "
"""How the names of those begin that draw their rows with our sampler: they stand apart, and no ratio is to them."""


@dataclass(frozen=True)
class Line:
    """What was asked, and what was found; None where the run does not say."""

    asked: str
    limit: float
    found: float | None

    @property
    def verdict(self) -> str:
        if self.found is None:
            return "not measured"
        return "holds" if self.found <= self.limit else "**missed**"


def lines(found: Results) -> list[Line]:
    return [*_star(found), *_chain(found), *_flights(found), *_sales(found), *_passes(found)]


def _star(found: Results) -> Iterator[Line]:
    race = _race(found, "star")
    export = "export + LIBLINEAR"
    yield Line("star, sqlsvm / (export + LIBLINEAR)", 0.2, _ratio(race, "sqlsvm", export))
    yield Line("star, sqlsvm, offloaded / (export + LIBLINEAR)", 0.4, _ratio(race, "sqlsvm, offloaded", export))
    yield Line("star, sqlsvm / MADlib", 0.3, _ratio(race, "sqlsvm", "MADlib"))


def _chain(found: Results) -> Iterator[Line]:
    race = _race(found, "chain of 10^9 rows")
    yield Line("chain of 10^9 rows, sqlsvm, seconds", 25.0, _seconds(race, "sqlsvm"))
    yield Line("chain of 10^9 rows, sqlsvm, offloaded, seconds", 5.0, _seconds(race, "sqlsvm, offloaded"))
    for name in ("sqlsvm", "sqlsvm, offloaded"):
        entry = race.entry(name) if race else None
        size = entry.client_bytes / 1e6 if entry and entry.client_bytes else None
        yield Line(f"chain of 10^9 rows, {name}, client MB", 300.0, size)


def _flights(found: Results) -> Iterator[Line]:
    yield Line("flights, sqlsvm, seconds", 3.0, _seconds(_race(found, "flights"), "sqlsvm"))


def _sales(found: Results) -> Iterator[Line]:
    ratio = _ratio(_race(found, "sales"), "sqlsvm", "export + LIBLINEAR")
    yield Line("sales, sqlsvm / (export + LIBLINEAR)", 0.6, ratio)


def _passes(found: Results) -> Iterator[Line]:
    passes = {(look["race"], look["engine"]): _medians(look["forms"]) for look in found.looks}
    star = {engine: passes.get(("star", engine), {}) for engine in ("postgres", "duckdb")}
    for engine, limit in (("postgres", 0.15), ("duckdb", 0.5)):
        own, cased = star[engine].get("pass"), star[engine].get("cased")
        yield Line(f"star, one pass / flat aggregate, {engine}", limit, own / cased if own and cased else None)
    for name, engine, limit in (
        ("chain of 10^9 rows", "postgres", 4.0),
        ("chain of 10^9 rows", "duckdb", 0.5),
        ("hub of five", "postgres", 10.0),
    ):
        yield Line(f"{name}, one pass at H = 32, {engine}, seconds", limit, passes.get((name, engine), {}).get("pass"))


def _medians(forms: Mapping[str, list[float]]) -> dict[str, float]:
    return {form: median(seconds) for form, seconds in forms.items()}


@dataclass(frozen=True)
class Worst:
    """Where we are slowest, next to the fastest peer that reaches the objective."""

    ratio: float
    race: str
    ours: str
    peer: str


def worst(found: Results) -> Worst | None:
    """Of all races and growth series. Data in PostgreSQL are trained on in one of two ways: the faster one counts."""
    each = [w for race in found.races for end in sorted(set(OURS.values())) if (w := _next_to_the_best(race, end))]
    return max(each, key=lambda w: w.ratio, default=None)


def _next_to_the_best(race: RaceResult, end: str) -> Worst | None:
    timed = {e.competitor: e.spread.median for e in race.entries if e.spread and e.reaches(race.best)}
    timed = {n: t for n, t in timed.items() if not n.startswith(SAMPLED)}
    ours = {name: timed[name] for name, place in OURS.items() if place == end and name in timed}
    peers = {n: t for n, t in timed.items() if n not in OURS and n.endswith(", DuckDB") == bool(end)}
    if not ours or not peers:
        return None
    own, peer = (min(times, key=lambda n: times[n]) for times in (ours, peers))
    name = f"{race.series}, {race.name}" if race.series else race.name
    return Worst(ours[own] / peers[peer], name, own, peer)


def _race(found: Results, name: str) -> RaceResult | None:
    return next((r for r in found.races if r.name == name and not r.series), None)


def _seconds(race: RaceResult | None, competitor: str) -> float | None:
    entry = race.entry(competitor) if race else None
    return entry.spread.median if entry and entry.spread else None


def _ratio(race: RaceResult | None, one: str, other: str) -> float | None:
    ours, theirs = _seconds(race, one), _seconds(race, other)
    return ours / theirs if ours is not None and theirs else None
