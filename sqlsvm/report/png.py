"""Chart -> PNG, for slides and documents, with matplotlib (the extra `plots`)."""

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from sqlsvm.errors import OptionError
from sqlsvm.report.chart import Area, Chart, Dot, Line, Mark, Rule

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {"first": "#9a3b1e", "second": "#1f5a80", "aside": "#63625c"}
LINES: dict[str, dict[str, Any]] = {
    "first": {"linestyle": "-", "marker": "o", "markersize": 5},
    "second": {"linestyle": "--", "marker": "^", "markersize": 6, "markerfacecolor": "white"},
    "aside": {"linestyle": ":", "linewidth": 1, "marker": "s", "markersize": 3},
}
AREAS: dict[str, dict[str, Any]] = {
    "first": {"facecolor": COLOURS["first"], "alpha": 0.45, "edgecolor": COLOURS["first"]},
    "second": {"facecolor": "none", "hatch": "////", "edgecolor": COLOURS["second"]},
    "aside": {"facecolor": COLOURS["aside"], "alpha": 0.16, "edgecolor": "none"},
}


steps = logging.getLogger(__name__)


def draw(chart: Chart, out: BinaryIO, dots_per_inch: int = 200) -> None:
    steps.info("drawing the chart: %s", chart.title)
    figure = _matplotlib()(figsize=_size(chart.square), layout="constrained", dpi=dots_per_inch)
    plot(chart, figure.subplots())
    figure.savefig(out, format="png", metadata={"Software": "sqlsvm", "Title": chart.title})


def plot(chart: Chart, axes: "Axes | None" = None) -> "Axes":
    """The chart on these axes, or on those of a new figure that a notebook shows."""
    axes = axes or new_axes(chart.square)
    for mark in chart.marks:
        _mark(axes, chart, mark)
    _axes(axes, chart)
    return axes


def bars(values: Mapping[str, float], said: str, axes: "Axes | None" = None) -> "Axes":
    """A bar for each name, the first at the top. The colour repeats the sign."""
    axes = axes or new_axes()
    colours = [COLOURS["first" if value > 0 else "second"] for value in values.values()]
    axes.barh(list(map(_plain, values)), list(values.values()), color=colours)
    axes.invert_yaxis()
    axes.axvline(0, color=COLOURS["aside"], linewidth=1)
    axes.set_xlabel(_plain(said))
    axes.spines[["top", "right", "left"]].set_visible(False)
    return axes


def new_axes(square: bool = False) -> "Axes":
    check()
    from matplotlib import pyplot

    axes: Axes = pyplot.subplots(figsize=_size(square), layout="constrained")[1]
    return axes


def _size(square: bool) -> tuple[float, float]:
    return 5.2, 5.2 if square else 3.4


def check() -> None:
    """Raise an error if the extra is missing, before anything is computed."""
    _matplotlib()


def _matplotlib() -> Callable[..., Any]:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise OptionError("a chart needs matplotlib", hint="pip install 'sqlsvm[plots]'") from error
    return Figure


def _axes(axes: "Axes", chart: Chart) -> None:
    axes.set_title(chart.title, loc="left", fontsize=11)
    axes.set_xscale("log" if chart.x.log else "linear")
    axes.set_yscale("log" if chart.y.log else "linear")
    for axis, ours in ((axes.xaxis, chart.x), (axes.yaxis, chart.y)):
        axis.set_label_text(_plain(ours.label))
        axis.set_ticks([value for value, _ in ours.ticks], [name for _, name in ours.ticks], minor=False)
    axes.set_xlim(chart.x.low, chart.x.high)
    axes.set_ylim(chart.y.low, chart.y.high)
    axes.grid(axis="y", linewidth=0.5, alpha=0.5)
    axes.spines[["top", "right", "left"]].set_visible(False)
    if chart.key:
        axes.legend(fontsize=8, frameon=False)


def _mark(axes: "Axes", chart: Chart, mark: Mark) -> None:
    if isinstance(mark, Line):
        style = LINES[mark.style] if mark.marked else {"linestyle": LINES[mark.style]["linestyle"]}
        axes.plot(*zip(*mark.points, strict=True), color=COLOURS[mark.style], label=_name(mark.name), **style)
    elif isinstance(mark, Area):
        axes.fill(*zip(*mark.outline, strict=True), label=_name(mark.name), **AREAS[mark.style])
    elif isinstance(mark, Dot):
        axes.plot([mark.x], [mark.y], "o", color=COLOURS["first"])
        axes.annotate(_plain(mark.name), (mark.x, mark.y), (7, -9), textcoords="offset points", fontsize=8)
    else:
        _rule(axes, chart, mark)


def _rule(axes: "Axes", chart: Chart, rule: Rule) -> None:
    line = axes.axvline if rule.upright else axes.axhline
    line(rule.at, color=COLOURS["aside"], linestyle=":", linewidth=1)
    place, offset = ((rule.at, 1), (4, -8)) if rule.upright else ((0, rule.at), (4, -11 if chart.is_high(rule) else 4))
    units = ("data", "axes fraction") if rule.upright else ("axes fraction", "data")
    axes.annotate(_plain(rule.name), place, offset, xycoords=units, textcoords="offset points", fontsize=8)


def _name(name: str) -> str:
    """A legend leaves out names that begin with _."""
    return _plain(name) or "_"


def _plain(text: str) -> str:
    """A dollar sign in a user's name must not begin a formula."""
    return text.replace("$", r"\$")
