"""Several models of one training, as a table and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any, TextIO

from sqlsvm.model.model import Model
from sqlsvm.options import Option
from sqlsvm.paper import on_paper, table
from sqlsvm.terminal import printable

if TYPE_CHECKING:
    from sqlsvm.ask.scored import Measures


@dataclass(frozen=True)
class Trained:
    value: float  # of the option that varies; nan where each group has its own
    model: Model
    holdout: "Measures | None"  # on the rows held out
    above_next: float | None  # the share of the rows where the score is above that of the model for the next quantile
    selected: bool
    kept: bool = True  # is it one of the models that are stored?


def as_json_list(found: Sequence[Trained]) -> list[dict[str, Any]]:
    return [
        {**t.model.as_json(), "holdout": t.holdout, "above_next": t.above_next, "selected": t.selected} for t in found
    ]


def draw_several(
    found: Sequence[Trained], option: Option, by: str | None, simplest: bool, place: str, stream: TextIO
) -> str:
    """`by`: the measure by which one of them was selected; `simplest`: within one standard error."""
    held, crossed = found[0].holdout or {}, any(t.above_next is not None for t in found)
    titles = [name.replace("_", " ") for name in held]
    numbers = (option.said, "objective", "lower bound", "gap", "passes", "weights", *titles)
    rows = []
    for t in found:
        model = t.model
        row = [_value(t), f"{model.objective:.6g}", f"{model.lower_bound:.6g}", f"{model.gap:.2g}"]
        row += [str(model.passes), str(model.used), *(f"{value:.6g}" for value in (t.holdout or {}).values())]
        row += [("" if t.above_next is None else f"{100.0 * t.above_next:.4g} %")] if crossed else []
        rows.append([*row, "" if by and not t.selected else t.model.name])
    drawn = table((*numbers, *(["above the next"] if crossed else [])), rows, words=0, more=("",))
    return on_paper(stream, drawn, "", *_said(found, option, by, simplest, place))


def _value(t: Trained) -> str:
    return f"by {printable(t.model.by or '')}" if isnan(t.value) else f"{t.value:g}"


def _said(found: Sequence[Trained], option: Option, by: str | None, simplest: bool, place: str) -> Iterator[str]:
    each = [t.model for t in found if not isnan(t.value)]
    passes, seconds = sum(model.passes for model in each), sum(model.total_seconds or 0.0 for model in each)
    yield f"{len(each)} models in {passes} passes, {seconds:.2f} s in all"
    folds = [measure.folds for measure in found[0].model.validation.values()]
    if folds and len(folds[0]) != 1:
        yield f"the measures are the means {f'of {len(folds[0])} folds' if folds[0] else 'of the folds of all groups'}"
    elif found[0].holdout:
        yield "the measures are of the rows held out"
    if any(t.above_next is not None for t in found):
        yield "above the next: the share of all rows whose score is above that for the next quantile"
    for t in found:
        if t.selected:
            which = "the largest that is at most one standard error worse than the best" if simplest else "the best"
            own = f"each {_value(t)[3:]} has the {option.said} that" if isnan(t.value) else f"{option.said} {t.value:g}"
            yield f"{own} is {which} by {(by or '').replace('_', ' ')}: {printable(t.model.name)}, {place}"
    if not by:
        yield f"the models are {place}"
