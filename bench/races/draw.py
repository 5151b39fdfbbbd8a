"""results.json as pictures: python -m bench.races.draw [results.json] [folder]

Each line is told by its name at its end and by its dashes and marks, so that nothing is lost without colour.
"""

import sys
from collections.abc import Sequence
from math import log10
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")
from matplotlib import pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from bench.races.measure import Spread
from bench.races.results import EXACT, RaceResult, Results

HERE = Path(__file__).parents[1]
DPI = 110
OURS = "#0b5394"
OURS_DRAWN = {"sqlsvm": ("-", "o"), "sqlsvm, DuckDB": ("--", "h"), "sqlsvm, offloaded": ("-.", "*")}
OTHERS = ("#444444", "#9c5700", "#38761d", "#783f80", "#a61c00", "#666666", "#1c4587", "#7f6000")
DASHES = ("--", ":", "-.", (0, (5, 1)), (0, (1, 1)), (0, (3, 1, 1, 1)), "--", ":")
MARKS = ("s", "^", "D", "v", "P", "X", "<", ">")

Line = tuple[str, list[float], list[Spread]]
"""A name, and where it goes: through the medians."""

PICTURES = ("join_rows", "growth", "convergence", "passes", "descent", "statements")
LEAST_BARS = 4
"""So many have room in any panel: a single one is no thicker than others."""


def draw(found: Results, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in PICTURES:
        (folder / f"{name}.png").unlink(missing_ok=True)  # of another run
    raced = [race for race in found.races if race.series and race.entries]
    series = {s: [race for race in raced if race.series == s] for s in dict.fromkeys(race.series for race in raced)}
    for name, members in series.items():
        if name.startswith("join rows"):
            join_rows(name, members, folder / "join_rows.png")
    others = {name: members for name, members in series.items() if not name.startswith("join rows") and members[1:]}
    if others:
        growth(others, folder / "growth.png")
    trained = [r for r in found.races if not r.series and any(e.history for e in r.entries)]
    if trained:
        convergence(trained, folder / "convergence.png")
    if found.passes:
        passes(found.passes, folder / "passes.png")
    if found.descent:
        descent(found.descent, folder / "descent.png")
    if found.looks:
        statements(found.looks, folder / "statements.png")


def join_rows(name: str, members: Sequence[RaceResult], path: Path) -> None:
    figure, axes = plt.subplots(figsize=(9, 5.2))
    _log_log(axes, lines_of(members, [race.join_rows or race.x for race in members]))
    axes.set_xlabel(name)
    axes.set_ylabel("seconds, whole task")
    axes.set_title("A line ends where the join can no longer be gone through", loc="left", fontsize=10)
    _save(figure, path)


def growth(series: dict[str, list[RaceResult]], path: Path) -> None:
    figure, every = plt.subplots(1, len(series), figsize=(6.2 * len(series), 4.6), squeeze=False)
    for axes, (name, members) in zip(every[0], series.items(), strict=True):
        _log_log(axes, lines_of(members, [race.x for race in members]))
        axes.set_xlabel(name)
        axes.set_ylabel("seconds, whole task")
    _save(figure, path)


def lines_of(members: Sequence[RaceResult], places: Sequence[float]) -> list[Line]:
    """A line for each competitor, through the sizes at which it reached the objective."""
    names = dict.fromkeys(e.competitor for race in members for e in race.entries)
    found = []
    for name in names:
        points = [
            (x, entry.spread)
            for race, x in zip(members, places, strict=True)
            if (entry := race.entry(name)) and entry.spread and entry.reaches(race.best) is not False
        ]
        if points:
            found.append((name, [x for x, _ in points], [y for _, y in points]))
    return found


def _log_log(axes: Any, lines: Sequence[Line]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    ends = []
    for number, (name, xs, spreads) in enumerate(lines):
        style = _style(name, number)
        ys = [spread.median for spread in spreads]
        axes.plot(xs, ys, markersize=5, **style)
        for x, spread in zip(xs, spreads, strict=True):
            axes.plot([x, x], [spread.least, spread.most], color=style["color"], linewidth=0.8)
        ends.append((name, xs[-1], ys[-1], style["color"]))
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda seconds, _: f"{seconds:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    _name_ends(axes, ends)
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6)


def _style(name: str, number: int) -> dict[str, Any]:
    if name.startswith("sqlsvm"):
        dashes, mark = OURS_DRAWN.get(name, ("-", "o"))
        return {"color": OURS, "linestyle": dashes, "linewidth": 2.2, "marker": mark}
    place = number % len(OTHERS)
    return {"color": OTHERS[place], "linestyle": DASHES[place], "linewidth": 1.3, "marker": MARKS[place]}


def _name_ends(axes: Any, ends: Sequence[tuple[str, float, float, str]]) -> None:
    """The names to the right of the axes, in the order of the ends, moved apart where they would overlap."""
    low, high = (log10(y) for y in axes.get_ylim())
    heights = spaced([(log10(y) - low) / (high - low) for _, _, y, _ in ends], 0.055)
    for (name, x, y, colour), height in zip(ends, heights, strict=True):
        axes.annotate(
            name,
            xy=(x, y),
            xytext=(1.03, height),
            textcoords="axes fraction",
            color=colour,
            fontsize=8.5,
            va="center",
            arrowprops={"arrowstyle": "-", "color": "#bbbbbb", "linewidth": 0.6},
        )


def spaced(heights: Sequence[float], gap: float) -> list[float]:
    """Each at least `gap` above the one below it, none moved down.

    >>> spaced([0.5, 0.1, 0.52], 0.1)
    [0.5, 0.1, 0.6]
    """
    placed = list(heights)
    below = -gap
    for place in sorted(range(len(placed)), key=lambda i: heights[i]):
        placed[place] = below = max(placed[place], below + gap)
    return placed


def convergence(races: Sequence[RaceResult], path: Path) -> None:
    """The objective of the best iterate between its proven bounds, pass by pass."""
    columns = min(4, len(races))
    rows = -(-len(races) // columns)
    figure, every = plt.subplots(rows, columns, figsize=(3.6 * columns, 3.1 * rows), squeeze=False)
    for axes in every.flat[len(races) :]:
        axes.set_axis_off()
    for axes, race in zip(every.flat, races, strict=False):
        entry = next(e for e in race.entries if e.history)
        records = entry.history
        at = [r["pass"] for r in records]
        upper, lower = ([float(r[key]) for r in records] for key in ("objective_upper", "lower_bound"))
        axes.plot(at, upper, "o-", color=OURS, markersize=4)
        axes.plot(at, lower, "s--", color="#444444", markersize=4)
        said = {"textcoords": "offset points", "fontsize": 8}
        axes.annotate("F, upper", (at[-1], upper[-1]), xytext=(0, 7), ha="right", **said)
        axes.annotate("F*, lower", (at[0], lower[0]), xytext=(7, -9), ha="left", **said)
        axes.set_title(f"{race.name}: gap {float(records[-1]['gap']):.0e}", fontsize=9, loc="left")
        axes.set_xticks(at if len(at) <= 8 else at[:: len(at) // 6])
        axes.margins(y=0.18)
        axes.set_xlabel("pass", fontsize=8)
        axes.tick_params(labelsize=8)
    _save(figure, path)


def passes(found: Sequence[dict[str, Any]], path: Path) -> None:
    """Means over the seeds; a panel for each lambda."""
    lams = sorted({p["lam"] for p in found}, reverse=True)
    figure, every = plt.subplots(1, len(lams), figsize=(3.6 * len(lams), 3.4), sharey=True, squeeze=False)
    for axes, lam in zip(every[0], lams, strict=True):
        for number, solver in enumerate(dict.fromkeys(p["solver"] for p in found)):
            mine = sorted((p for p in found if p["lam"] == lam and p["solver"] == solver), key=lambda p: -p["tol"])
            means = [sum(p["passes"]) / len(p["passes"]) for p in mine]
            places = range(len(mine))
            axes.plot(places, means, marker="os"[number % 2], linestyle=("-", "--")[number % 2],
                      color=(OURS, "#444444")[number % 2])  # fmt: skip
            axes.annotate(solver, (places[-1], means[-1]), xytext=(0, 7), textcoords="offset points",
                          fontsize=9, ha="right")  # fmt: skip
            axes.set_xticks(list(places), [f"{p['tol']:g}" for p in mine])
        axes.set_title(f"lambda {lam:g}", fontsize=9, loc="left")
        axes.set_xlabel("certified gap")
    every[0][0].set_ylabel("passes")
    every[0][0].set_ylim(0, 1.12 * max(sum(p["passes"]) / len(p["passes"]) for p in found))
    _save(figure, path)


def descent(found: Sequence[dict[str, Any]], path: Path) -> None:
    """The paper's descent compared with exact subgradient descent."""
    figure, axes = plt.subplots(figsize=(8, 4.6))
    axes.set_xscale("log")
    axes.set_yscale("log")
    ends = []
    for number, curve in enumerate(found):
        exact = curve["epsilon"] == EXACT
        colour = OURS if exact else OTHERS[number % len(OTHERS)]
        places = range(1, len(curve["excess"]) + 1)
        axes.plot(places, curve["excess"], color=colour, linestyle="-" if exact else DASHES[number % len(DASHES)])
        name = "exact subgradients" if exact else f"counts within 1 + {curve['epsilon']:g}"
        ends.append((name, places[-1], curve["excess"][-1], colour))
    _name_ends(axes, ends)
    axes.set_xlabel("pass")
    axes.set_ylabel("(F of the best iterate - F*) / F*")
    _save(figure, path)


def statements(looks: Sequence[dict[str, Any]], path: Path, most: int = 8) -> None:
    """The longest statements of a pass, and what the others take together."""
    columns = min(2, len(looks))
    rows = -(-len(looks) // columns)
    figure, every = plt.subplots(rows, columns, figsize=(6.4 * columns, 2.9 * rows), squeeze=False)
    for axes in every.flat[len(looks) :]:
        axes.set_axis_off()
    for axes, look in zip(every.flat, looks, strict=False):
        ordered = sorted(look["statements"], key=lambda s: -s["seconds"])
        bars = [(s["statement"], s["seconds"]) for s in ordered[:most]]
        if rest := ordered[most:]:
            bars.append((f"{len(rest)} others", sum(s["seconds"] for s in rest)))
        whole = sum(seconds for _, seconds in bars)
        axes.barh([name for name, _ in bars][::-1], [seconds for _, seconds in bars][::-1], color=OURS, height=0.65)
        for place, (_, seconds) in enumerate(bars[::-1]):
            axes.annotate(f" {seconds / whole:.0%}", (seconds, place), va="center", fontsize=8)
        axes.set_ylim(len(bars) - 0.5 - max(len(bars), LEAST_BARS), len(bars) - 0.5)
        axes.set_title(f"{look['race']}, {look['engine']}: {whole:.2f} s", fontsize=9, loc="left")
        axes.tick_params(labelsize=8)
        axes.margins(x=0.12)
        axes.set_xlabel("seconds", fontsize=8)
    _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=DPI, bbox_inches="tight", metadata={"Software": None})
    plt.close(figure)


def main() -> None:
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "results.json"
    draw(Results.load(source), Path(sys.argv[2]) if len(sys.argv) > 2 else source.parent / "pictures")


if __name__ == "__main__":
    main()
