"""Chart -> SVG. Colours, dashes and fillings are in report.css, so they follow the page: light, dark or printed."""

from collections.abc import Callable, Iterator

from sqlsvm.report.chart import Area, Chart, Dot, Line, Mark, Points, Rule
from sqlsvm.report.parts import Element, el

WIDTH, HEIGHT = 420.0, 250.0
RIGHT, TOP, BOTTOM = 20.0, 12.0, 40.0

Place = Callable[[float, float], tuple[float, float]]


def picture(name: str, width: float, height: float, title: str, said: str, *children: object) -> Element:
    """An image with a title and a description."""
    named = el("title", title, id=f"{name}-title"), el("desc", said, id=f"{name}-desc")
    return el(
        "svg",
        *named,
        *children,
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
    )


def draw(chart: Chart) -> Element:
    """The chart with its title, its key and its description."""
    left = max(62.0, 24.0 + 7.0 * max(len(name) for _, name in chart.y.ticks))  # room for numbers and label
    height = WIDTH - left - RIGHT + TOP + BOTTOM if chart.square else HEIGHT

    def place(x: float, y: float) -> tuple[float, float]:
        across, up = chart.x.place(x), chart.y.place(y)
        return left + across * (WIDTH - left - RIGHT), height - BOTTOM - up * (height - TOP - BOTTOM)

    drawn = [shape for mark in chart.marks for shape in _mark(chart, mark, place)]
    image = picture(chart.name, WIDTH, height, chart.title, chart.said, _axes(chart, place), drawn)
    return el("figure", el("figcaption", el("h3", chart.title), _key(chart), el("p", chart.said)), image)


def _key(chart: Chart) -> Element | None:
    items = [el("li", _swatch(mark), mark.name) for mark in chart.key]
    return el("ul", items, class_="key") if items else None


def _swatch(mark: Line | Area) -> Element:
    if isinstance(mark, Area):
        shape: list[Element] = [el("rect", x=0.5, y=1.5, width=25, height=11, class_=f"area {mark.style}")]
    else:
        shape = [el("path", d="M0 7H26", class_=f"line {mark.style}")]
        shape += [_marker(13.0, 7.0, mark.style)] if mark.marked else []
    return el("svg", shape, viewBox="0 0 26 14", width=26, height=14, aria_hidden="true")


def _axes(chart: Chart, place: Place) -> Iterator[Element]:
    left, bottom = place(chart.x.low, chart.y.low)
    right, top = place(chart.x.high, chart.y.high)
    for value, name in chart.y.ticks:
        _, y = place(chart.x.low, value)
        yield el("path", d=path(((left, y), (right, y))), class_="grid")
        yield el("text", name, x=left - 6, y=y + 3.5, class_="end")
    for value, name in chart.x.ticks:
        x, _ = place(value, chart.y.low)
        yield el("path", d=path(((x, bottom), (x, bottom + 4))), class_="tick")
        yield el("text", name, x=x, y=bottom + 16, class_="middle")
    yield el("path", d=path(((left, bottom), (right, bottom))), class_="tick")
    yield el("text", chart.x.label, x=(left + right) / 2, y=bottom + 34, class_="middle label")
    middle = (top + bottom) / 2
    yield el("text", chart.y.label, x=10, y=middle, class_="middle label", transform=f"rotate(-90 10 {middle:g})")


def _mark(chart: Chart, mark: Mark, place: Place) -> Iterator[Element]:
    if isinstance(mark, Area):
        yield el("path", d=path(_placed(mark.outline, place)) + "Z", class_=f"area {mark.style}")
    elif isinstance(mark, Line):
        yield el("path", d=path(_placed(mark.points, place)), class_=f"line {mark.style}")
        if mark.marked:
            yield from (_marker(*place(x, y), mark.style) for x, y in mark.points)
    elif isinstance(mark, Dot):
        x, y = place(mark.x, mark.y)
        yield el("circle", cx=x, cy=y, r=4, class_="dot")
        yield el("text", mark.name, x=x + (8 if mark.right else -8), y=y + 13, class_="" if mark.right else "end")
    else:
        yield from _rule(chart, mark, place)


def _rule(chart: Chart, rule: Rule, place: Place) -> Iterator[Element]:
    x, y = chart.x, chart.y
    if rule.upright:
        ends = place(rule.at, y.low), place(rule.at, y.high)
        name = el("text", rule.name, x=ends[1][0] + 5, y=ends[1][1] + 9)
    else:
        ends = place(x.low, rule.at), place(x.high, rule.at)
        name = el("text", rule.name, x=ends[0][0] + 5, y=ends[0][1] + (13 if chart.is_high(rule) else -5))
    yield el("path", d=path(ends), class_="rule")
    yield name


def _marker(x: float, y: float, style: str) -> Element:
    """A disc, an open triangle, or a small disc."""
    if style != "second":
        return el("circle", cx=x, cy=y, r=3.2 if style == "first" else 2, class_=f"marker {style}")
    return el("path", d=f"{path(((x - 4, y + 3), (x, y - 4), (x + 4, y + 3)))}Z", class_=f"marker {style}")


def _placed(points: Points, place: Place) -> Points:
    return tuple(place(x, y) for x, y in points)


def path(points: Points) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
