"""A report as text: what it says, that it needs no other file, and that no name of a user becomes markup."""

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from html.parser import HTMLParser
from importlib.resources import files
from math import inf

import pytest

from sqlsvm.model.evaluation import Bounded, Evaluation, Histogram, Named, Probabilities
from sqlsvm.model.model import TrainedOn
from sqlsvm.model.weights import Weight
from sqlsvm.report import Report, html
from sqlsvm.report.chart import Area, Line, linear, logarithmic, round_step
from sqlsvm.report.gather import Missing
from sqlsvm.report.parts import el
from sqlsvm.report.plots import charts, fewer_bars
from sqlsvm.show.evaluation import draw_evaluation
from tests.ground.models import HOSTILE, model, record

NOW = datetime(2026, 1, 2, 3, 4)
VOID = {"meta", "br", "img", "link"}
MARKUP = (
    "<script>alert(1)</script>",
    '" onload="x',
    "</style><b>",
    "</title>",
    "&lt;",
    "]]>",
    "<!--",
    "'\"><svg/onload=x>",
)


class Page(HTMLParser):
    """Every element with its attributes, every text, and whether all that was opened was closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def evaluation(blur: float = 0.0) -> Evaluation:
    edges = tuple(i / 10 - 0.5 for i in range(11))
    negative, positive = (8.0, 6, 4, 3, 2, 1, 1, 0, 0, 0), (0.0, 0, 1, 1, 2, 3, 4, 5, 3, 1)
    off = 1.0 if blur else 0.0
    return Evaluation(
        negatives=25.0,
        positives=20.0,
        true_positive=Bounded(16.0, 16.0 - off, 16.0 + off),
        false_positive=Bounded(2.0, 2.0 - off, 2.0 + off),
        auc=Bounded(0.9, 0.9 - off / 10, 0.9 + off / 10),
        histogram=Histogram(edges, negative, positive),
        blur=blur,
        of=Named("late", ("no", "yes")),
    )


def full(**more: object) -> Report:
    return Report(model(**more), evaluation=evaluation())  # type: ignore[arg-type]


def page(report: Report) -> Page:
    return Page(html(report, NOW))


# -- what it says ------------------------------------------------------------------------------------------------------


def test_the_claim_and_its_numbers() -> None:
    said = page(full()).text
    assert "No linear model can do better than 0.409; this one reaches 0.4 to 0.41." in said
    assert "within 0.24 % of the best there is, proven over all 1.5e12 rows of a join that was never made" in said
    assert "Not converged" not in said
    for fact in ("The area under the curve is 0.9000", "carrier = UA", "SELECT f.late, f.distance", "PostgreSQL 15.18"):
        assert fact in said, fact


def test_what_is_not_proven_is_not_claimed() -> None:
    said = page(full(converged=False, gap=0.2)).text
    assert "Not converged:" in said
    said = page(full(converged=False, gap=inf, lower_bound=-inf)).text
    assert "No linear model can do better" not in said
    assert "How much better another model can be is not proven" in said


def test_sections_have_names_and_pictures_have_descriptions() -> None:
    found = page(full())
    ids = [attrs["id"] for _, attrs in found.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    named = [attrs["aria-labelledby"] for _, attrs in found.elements if "aria-labelledby" in attrs]
    assert {part for names in named for part in (names or "").split()} <= set(ids)
    pictures = [attrs for tag, attrs in found.elements if tag == "svg" and "aria-hidden" not in attrs]
    assert [a["role"] for a in pictures] == ["img"] * 4
    assert all(a["aria-labelledby"] == f"{name}-title {name}-desc" for a, name in zip(pictures, charts(full())))  # noqa: B905
    assert [attrs.get("lang") for tag, attrs in found.elements if tag == "html"] == ["en"]
    headings = [attrs.get("scope") for tag, attrs in found.elements if tag == "th"]
    assert headings
    assert set(headings) == {"col"}


def test_what_is_missing_is_said() -> None:
    found = page(Report(model(), missing=(Missing("join tree", "the table flights is gone"),)))
    assert "No join tree: the table flights is gone" in found.text
    assert "ROC" not in found.text
    assert "1,000" in found.text, "rows of the training are in the model"


def test_a_model_with_nothing_to_draw() -> None:
    bare = model(history=(), weights=(), options={}, trained_on=TrainedOn(), label_rows={}, intercept=0.0)
    assert page(Report(bare)).text
    assert charts(Report(bare)) == {}


def test_a_bound_that_begins_at_infinity_is_drawn_where_it_is_finite() -> None:
    drawn = charts(full())
    lines = {mark.name: mark for mark in drawn["convergence"].marks if isinstance(mark, Line)}
    assert [x for x, _ in lines["lower bound: no linear model is below"].points] == [2.0]
    assert [x for x, _ in lines["objective of the best model so far"].points] == [1.0, 2.0]


def test_a_closed_gap_has_no_place_on_a_log_scale() -> None:
    assert "gap" not in charts(full(history=(record(1, 0.0),)))


# -- it is safe, and alone ---------------------------------------------------------------------------------------------


def hostile(text: str) -> Report:
    weights = (Weight(text, None, 1.0, 1.0), Weight("carrier", text, -1.0, -1.0))
    trained_on = TrainedOn(rows={text: 3}, label_values=(text, f"{text}!"), relations={text: text}, database=text)
    made = model(
        text, query=text, label=text, engine=text, weights=weights, options={text: text}, trained_on=trained_on
    )
    return Report(made, evaluation=evaluation(), missing=(Missing(text, text),))


@pytest.mark.parametrize("text", [*HOSTILE, *MARKUP], ids=range(len(HOSTILE) + len(MARKUP)))
def test_a_name_is_never_markup(text: str) -> None:
    usual, found = page(hostile("x")), page(hostile(text))
    assert [tag for tag, _ in found.elements] == [tag for tag, _ in usual.elements]
    assert [set(attrs) for _, attrs in found.elements] == [set(attrs) for _, attrs in usual.elements]
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", "".join(found.texts)), "control characters do not reach the page"


def addresses(found: Page) -> Iterator[str]:
    for tag, attrs in found.elements:
        yield from (f"{tag} {name}" for name in attrs if name in ("src", "href", "srcset", "action", "data"))
        yield from (f"{tag} {name}" for name in attrs if name.startswith("on"))


def test_it_needs_nothing_but_itself() -> None:
    text = html(full(), NOW)
    found = Page(text)
    assert list(addresses(found)) == []
    assert {tag for tag, _ in found.elements}.isdisjoint({"script", "link", "iframe", "img", "object", "base"})
    assert re.findall(r"https?:|//\w|@import|url\((?!#)", text) == []


def test_text_becomes_text() -> None:
    assert str(el("a", "<b>", el("i", None, ["&", 1.5, 2]), title='"x" <y>', class_="c", hidden=None)) == (
        '<a title="&quot;x&quot; &lt;y&gt;" class="c">&lt;b&gt;<i>&amp;1.52</i></a>'
    )


# -- colours -----------------------------------------------------------------------------------------------------------


def palettes() -> list[dict[str, str]]:
    css = files("sqlsvm.report").joinpath("report.css").read_text(encoding="utf-8")
    blocks = re.findall(r":root \{([^}]*)\}", css)
    return [dict(re.findall(r"--(\w+): (#[0-9a-f]+)", block)) for block in blocks]


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_everything_stands_out_from_its_ground() -> None:
    """WCAG: 4.5 for text; light, dark and paper."""
    assert len(palettes()) == 3
    for palette in palettes():
        for ground in ("paper", "wash"):
            for colour in ("ink", "soft", "first", "second"):
                light, dark = sorted((luminance(palette[ground]), luminance(palette[colour])), reverse=True)
                assert (light + 0.05) / (dark + 0.05) >= 4.5, (palette, colour, ground)


# -- numbers behind the charts -----------------------------------------------------------------------------------------


def test_the_roc_curve_is_the_cumulated_histogram() -> None:
    points = evaluation().roc
    rates = [(p.false_positive_rate.value, p.true_positive_rate.value) for p in points]
    assert (rates[0], rates[-1]) == ((0.0, 0.0), (1.0, 1.0))
    assert rates == sorted(rates)
    assert all(p.false_positive_rate.exact and p.true_positive_rate.exact for p in points)
    at_zero = next(p for p in points if p.threshold == 0.0)
    assert (at_zero.false_positive_rate.value, at_zero.true_positive_rate.value) == (2 / 25, 16 / 20)


def test_the_roc_curve_of_rounded_scores_has_bounds() -> None:
    sharp, blurred = evaluation().roc, evaluation(blur=0.15).roc
    for i, point in enumerate(blurred):
        for name in ("false_positive_rate", "true_positive_rate"):
            rate = getattr(point, name)
            assert rate.lower <= rate.value <= rate.upper
            # A row may have moved over two edges at most: and all that the wider bins hold is possible.
            assert rate.lower == getattr(sharp[max(i - 2, 0)], name).value
            assert rate.upper == getattr(sharp[min(i + 2, len(sharp) - 1)], name).value


def test_one_class_has_no_roc_curve() -> None:
    assert replace(evaluation(), positives=0.0).roc == ()


@pytest.mark.parametrize("most", [1, 3, 4, 10, 60])
def test_fewer_bars_hold_the_same_rows(most: int) -> None:
    found = evaluation().histogram
    fewer, outside = fewer_bars(found, most)
    assert len(fewer.negative) == len(fewer.positive) == len(fewer.edges) - 1 <= most
    assert (sum(fewer.negative), sum(fewer.positive), outside) == (sum(found.negative), sum(found.positive), 0.0)
    widths = {round(b - a, 9) for a, b in zip(fewer.edges, fewer.edges[1:], strict=False)}
    assert len(widths) == 1


def test_far_ends_are_left_out_and_counted() -> None:
    rows = (1.0, *[0.0] * 50, *[1000.0] * 40, *[0.0] * 50, 1.0)
    found = Histogram(tuple(float(i) for i in range(len(rows) + 1)), rows, rows)
    fewer, outside = fewer_bars(found, 40)
    assert (fewer.edges[0], fewer.edges[-1], len(fewer.negative)) == (51.0, 91.0, 40)
    assert outside == pytest.approx(2 / 40_002)


def test_scores_fill_their_class() -> None:
    areas = [mark for mark in charts(full())["scores"].marks if isinstance(mark, Area)]
    for area in areas:
        assert sum(y for _, y in area.upper[::2]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([0.556, 0.668], ["0.54", "0.56", "0.58", "0.60", "0.62", "0.64", "0.66", "0.68"]),
        ([3.0, 3.0], ["2.5", "3.0", "3.5"]),
        ([-1.0, 1.0], ["\u22121.0", "\u22120.5", "0.0", "0.5", "1.0"]),
    ],
)
def test_ticks(values: list[float], names: list[str]) -> None:
    axis = linear("", values)
    assert [name for _, name in axis.ticks] == names
    assert axis.low <= min(values)
    assert axis.high >= max(values)


def test_axes_of_any_numbers() -> None:
    for values in ([], [0.0], [1e-300], [1e300, -1e300], [5.0, 5.0], [inf, 1.0], [0.1 + i * 1e-9 for i in range(3)]):
        for axis in (linear("", values), logarithmic("", [abs(v) for v in values])):
            assert axis.low < axis.high
            assert 2 <= len(axis.ticks) <= 12
            assert all(0 <= axis.place(v) <= 1 + 1e-9 for v, _ in axis.ticks)


def test_steps_are_round() -> None:
    for span in (0.011, 0.3, 1.0, 2.2, 7.0, 99.0, 1e6):
        assert f"{round_step(span):e}"[0] in "125"
        assert 3 <= span / round_step(span) <= 8


# -- the same on a terminal


def test_bounds_are_shown_where_there_are_some() -> None:
    """A probability is read from bins, so its measures have bounds where counts have none."""
    probabilities = Probabilities(Bounded(0.1, 0.09, 0.11), Bounded(0.3, 0.29, 0.31), ())
    text = draw_evaluation(replace(evaluation(), probabilities=probabilities), io.StringIO())
    rates = {line.split("  ")[0]: line.split()[-3:] for line in text.splitlines() if "  0." in line}
    assert rates["brier"] == ["0.1000", "0.0900", "0.1100"]
    assert rates["auc"][-1] == "0.9000"
    assert rates["auc"][0] == "auc"
    assert "at least" not in draw_evaluation(evaluation(), io.StringIO())
    assert "at least" in draw_evaluation(evaluation(blur=0.1), io.StringIO())
