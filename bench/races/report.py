"""results.json as a page: bench/RESULTS.md."""

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from bench.races.competitors import TOL
from bench.races.grids import said
from bench.races.lines import SAMPLED, lines, worst
from bench.races.measure import Spread
from bench.races.results import REACHED, Entry, RaceResult, Results
from sqlsvm.terminal import amount

OURS = "sqlsvm"


def report(found: Results) -> str:
    races = (_races(found.races), _series(found.races))
    parts = (_head(found), _lines(found), *races, _looks(found), _passes(found))
    return "\n".join(line for part in (*parts, _pictures(found), _how()) for line in part) + "\n"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A markdown table."""
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def _head(found: Results) -> Iterator[str]:
    m = found.machine
    versions = ", ".join(f"{name} {number}" for name, number in m["versions"].items() if number)
    yield "# Results"
    yield ""
    yield (
        f"`make bench` took {found.minutes:.0f} minutes{'' if found.goes == 1 else f' in {found.goes} runs'}, "
        f"on {m['date']}: {m['cores']} cores "
        f"({m['processor']}), {m['memory_bytes'] / 2**30:.0f} GiB, {m['system']}, Python {m['python']}, "
        f"{m['postgres']}, {versions}; revision {m['revision']}."
    )
    yield "Compare times only within a table. The end of this page says how we measured."
    if slowest := worst(found):
        yield ""
        yield (
            f"**{slowest.ratio:.2f}** is the worst ratio of our time to that of the best peer that reaches the "
            f"objective: {slowest.ours} next to {slowest.peer} ({slowest.race}). Peers that draw their rows with our "
            "sampler stand apart, and are not meant here."
        )
        yield ""
    if found.remark:
        yield found.remark
    if paces := [race.pace for race in found.races if race.pace]:
        yield (
            "To check that the speed of the machine is stable, it sorted two million numbers before each race: "
            f"this took {_ms(min(paces))} to {_ms(max(paces))} ms, median {_ms(median(paces))}."
        )


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.0f}"


def _lines(found: Results) -> Iterator[str]:
    """What must hold; only a full run says anything about it."""
    asked = lines(found)
    if all(line.found is None for line in asked):
        return
    yield from ("", "## Targets", "")
    rows = [[li.asked, f"{li.limit:g}", "" if li.found is None else f"{li.found:.2f}", li.verdict] for li in asked]
    yield from table(["target", "at most", "measured", ""], rows)


# -- races -------------------------------------------------------------------------------------------------------------

HEADER = (
    "",
    "seconds",
    "runs",
    "x sqlsvm",
    "AUC, unseen",
    "F above best",
    "proven gap",
    "passes",
    "client MB",
    "server MB",
    "setting",
)


def _races(races: Sequence[RaceResult]) -> Iterator[str]:
    for race in races:
        if not race.series:
            yield ""
            yield f"## {race.name}"
            yield ""
            yield f"{race.says}; lambda {race.lam:g}{_join(race)}."
            yield ""
            if race.error:
                yield f"{race.error}"
                yield ""
            fair = [entry for entry in race.entries if not entry.competitor.startswith(SAMPLED)]
            yield from table(HEADER, [_row(race, entry) for entry in fair])
            if apart := [entry for entry in race.entries if entry not in fair]:
                yield from ("", "With our sampler, and without a proof:", "")
                yield from table(HEADER, [_row(race, entry) for entry in apart])


def _join(race: RaceResult) -> str:
    if race.join_rows is None or race.join_bytes is None:
        return ""
    best = f"; best F {race.best:.6f}" if race.best else ""
    return f"; the join has {amount(race.join_rows)} rows, {race.join_bytes / 1e9:,.3g} GB{best}"


def _row(race: RaceResult, entry: Entry) -> list[str]:
    spread = entry.spread
    if spread is None:
        return [entry.competitor, entry.error, *[""] * (len(HEADER) - 2)]
    return [
        entry.competitor,
        f"**{spread.median:.2f}** ({spread.least:.2f}-{spread.most:.2f})",
        str(spread.runs) + (f"; then {entry.error}" if entry.error else ""),
        _ratio(race, entry),
        "" if entry.auc is None else f"{entry.auc:.4f}",
        excess(entry, race.best),
        "none" if entry.proof is None else f"{entry.proof['gap']:.1e}",
        str(len(entry.history)) if entry.history else "",
        _megabytes(entry.client_bytes),
        _megabytes(entry.server_bytes),
        entry.note or (said(entry.setting) if entry.setting else ""),
    ]


def _ratio(race: RaceResult, entry: Entry) -> str:
    ours = race.entry(OURS)
    if ours is None or ours.spread is None or entry.spread is None:
        return ""
    return f"{entry.spread.median / ours.spread.median:.2f}"


def excess(entry: Entry, best: float | None) -> str:
    above = entry.excess(best)
    if above is None:
        return "another objective"
    return f"{above:.1e}" + ("" if entry.reaches(best) else " **not reached**")


def _megabytes(size: float | None) -> str:
    return "" if size is None else f"{size / 1e6:,.0f}"


# -- series ------------------------------------------------------------------------------------------------------------


def _series(races: Sequence[RaceResult]) -> Iterator[str]:
    for series in dict.fromkeys(race.series for race in races if race.series):
        members = [race for race in races if race.series == series]
        if not any(race.entries for race in members):
            yield f"\nNot measured, because the time of this run was over: growth in {series}."
            continue
        names = list(dict.fromkeys(e.competitor for race in members for e in race.entries))
        rows = [[name, *(_cell(race, name) for race in members)] for name in names]
        yield ""
        yield f"## Growth: {series}"
        yield ""
        yield _turns([race.turns for race in members if race.entries])
        yield ""
        sizes = [(race.join_rows or race.x) if _is_join(series) else race.x for race in members]
        yield from table(["seconds", *map(amount, sizes)], rows)
        for race in members:
            if race.error:
                yield f"\n{race.name}: {race.error}"


def _turns(turns: Sequence[int]) -> str:
    least, most = min(turns), max(turns)
    if most <= 1:
        return "One turn."
    return f"Medians of {most if least == most else f'{least} to {most}'} turns (least-most)."


def _is_join(series: str) -> bool:
    return series.startswith("join rows")


def _cell(race: RaceResult, name: str) -> str:
    entry = race.entry(name)
    if entry is None or entry.spread is None:
        return "" if entry is None else entry.error.partition(":")[0]
    missed = " (not reached)" if entry.reaches(race.best) is False else ""
    return f"{_seconds(entry.spread)}{missed}"


def _seconds(spread: Spread) -> str:
    return f"{spread.median:.2f}" + (f" ({spread.least:.2f}-{spread.most:.2f})" if spread.runs > 1 else "")


# -- the rest ----------------------------------------------------------------------------------------------------------


def _looks(found: Results) -> Iterator[str]:
    """One pass compared with the flat aggregates."""
    if not found.looks:
        return
    yield from ("", "## One pass", "")
    yield (
        "Seconds of one pass, and of two queries over the join that compute the same sums. `filtered` selects the "
        "active rows in WHERE; it is the fastest query that we can write by hand. `cased` computes "
        "SUM(CASE WHEN y score < 1 THEN y x END) for every column."
    )
    yield ""
    forms = ("pass", "filtered", "cased")
    rows = []
    for look in found.looks:
        spreads = {form: Spread.of(seconds) for form, seconds in look["forms"].items()}
        cells = [_form(spreads.get(form), spreads["pass"]) for form in forms]
        most = max(look["statements"], key=lambda s: s["seconds"])
        rows.append([look["race"], look["engine"], *cells, str(len(look["statements"])), most["statement"]])
    yield from table(["", "engine", *forms, "statements", "longest statement"], rows)


def _form(spread: Spread | None, own: Spread) -> str:
    if spread is None:
        return ""
    ratio = "" if spread is own else f"; the pass is {own.median / spread.median:.2f} x"
    return f"{spread.median:.3f} ({spread.least:.3f}-{spread.most:.3f}){ratio}"


def _passes(found: Results) -> Iterator[str]:
    if not found.passes:
        return
    yield from ("", "## Passes to a certified gap", "")
    yield "Chains of three tables in numpy, with 20 continuous features, counted on the grid. One number for each seed."
    yield ""
    tolerances = sorted({p["tol"] for p in found.passes}, reverse=True)
    cells = {(p["solver"], p["lam"], p["tol"]): " ".join(map(str, p["passes"])) for p in found.passes}
    rows = [
        [solver, f"{lam:g}", *(cells.get((solver, lam, tol), "") for tol in tolerances)]
        for solver, lam in dict.fromkeys((p["solver"], p["lam"]) for p in found.passes)
    ]
    yield from table(["solver", "lambda", *(f"{tol:g}" for tol in tolerances)], rows)


def _pictures(found: Results) -> Iterator[str]:
    """Those that draw.py makes of these results."""
    series = Counter(race.series for race in found.races if race.series and race.entries)
    drawn = {
        "join_rows": ("Time against join rows", any(_is_join(s) for s in series)),
        "growth": ("Time against rows, features, relations", any(not _is_join(s) and n > 1 for s, n in series.items())),
        "convergence": ("Objective and lower bound, pass by pass",
                        any(e.history for race in found.races if not race.series for e in race.entries)),
        "passes": ("Passes to a certified gap, by solver and lambda", bool(found.passes)),
        "statements": ("Where the time of a pass goes", bool(found.looks)),
        "descent": ("The descent of the paper and exact subgradient descent", bool(found.descent)),
    }  # fmt: skip
    for name, (caption, is_drawn) in drawn.items():
        if is_drawn:
            yield from ("", f"![{caption}](pictures/{name}.png)")


def _how() -> Iterator[str]:
    yield ""
    yield "## How"
    yield ""
    yield (
        "- A time is that of a new process, from the command to the prompt: with the start of Python, the import of "
        "libraries, and all from the database to the finished model. sqlsvm is the command `sqlsvm train`. An export "
        "is a program that imports nothing of sqlsvm. The tables show the median (least-most). The competitors take "
        "turns: A B A B. A race has as many turns as the time allows, and a series has one; `make bench MORE=1` adds "
        f"turns, up to five. sqlsvm must prove a gap of {TOL:g}."
    )
    yield (
        "- AUC: of rows that nobody has trained on, a tenth as many as those of the label's table: the last in time "
        "(flights, history), the last tickets (sales), else the last that were drawn. All join rows of such a row are "
        "held out. It is of all these join rows, or of the same uniform sample of 100,000 for all. LightGBM has "
        "another objective, and its settings as they come: it is a peer of time and AUC."
    )
    yield (
        "- F is the mean hinge over the join + lambda |beta|^2. Features are scaled to mean 0 and deviation 1, and the "
        "intercept is penalised. F is the same for all competitors. After the race, F of each model is computed on the "
        "full join: from its rows if they fit in memory, otherwise by one relational pass with a certified error. The "
        "best F is the smallest one of all models and of a run of sqlsvm before the race to a proven gap of 1e-4 (1e-2 "
        f"if that takes too long). A model more than {REACHED:g} above the best is marked as not reached."
    )
    yield (
        "- The other tools are tuned. A first run, which is not timed, tries the settings of bench/races/grids.py from "
        "fast to slow and takes the first one that reaches the objective. `flat passes` is the solver of sqlsvm with "
        "hand-written aggregates over the join. MADlib gets the join as a table of scaled features, made on the clock. "
        "Samples are those of sqlsvm, uniform over the join: these peers stand apart. The parts of sqlsvm that they "
        "and `flat passes` import are in their times."
    )
    yield (
        "- Client memory is the peak resident set of the process, with its libraries. Server memory is the peak of all "
        "backends and parallel workers together, minus what they used before, without shared memory (RssAnon, read "
        "every 20 ms)."
    )
    yield (
        "- The databases are the embedded PostgreSQL (work_mem 64 MB, 2 workers for a query, no fsync) and a DuckDB "
        "file with default settings. All data are in the cache of the system. No table has an index."
    )
