"""A report as one HTML page that needs no other file: no script, no network, no fonts."""

import json
import logging
from collections.abc import Iterator, Mapping
from datetime import datetime
from math import isfinite
from typing import Any

from sqlsvm.measures import MEASURES
from sqlsvm.model.confusion import Confusion
from sqlsvm.model.evaluation import Bounded, Residuals
from sqlsvm.model.model import Model, OfClass, OfGroup
from sqlsvm.model.plain import plain
from sqlsvm.options import OPTIONS
from sqlsvm.report.effects import effects_section, weights_of_each, weights_section
from sqlsvm.report.gather import Measured, Report
from sqlsvm.report.parts import Element, document, el, opening, percent, section, table
from sqlsvm.report.plots import charts, choice_section
from sqlsvm.report.scores import MOST, most_of, scores_section
from sqlsvm.report.svg import draw
from sqlsvm.report.tree import join_section
from sqlsvm.run.notes import listed
from sqlsvm.show.models import history
from sqlsvm.show.training import objective
from sqlsvm.terminal import amount, memory, row_count, weight

steps = logging.getLogger(__name__)


def html(report: Report, made: datetime) -> str:
    steps.info("drawing the report")
    model = report.model
    drawn = {name: draw(chart) for name, chart in charts(report).items()}
    parts = (
        _opening(report),
        choice_section(report, drawn),
        _proof(model, drawn),
        join_section(report),
        effects_section(report),
        weights_of_each(report) if model.family else weights_section(report),
        scores_section(report, drawn),
    )
    return document(f"{model.name}: a linear model and its certificate", made, parts, _making(model), _absent(report))


def _opening(report: Report) -> Element:
    model = report.model
    version = f", version {model.version}" if model.version else ""
    return opening(f"{_kind(model)}{version}", model.name, _claim(model), _figures(report))


def _kind(model: Model) -> str:
    kind = "Linear model of a number" if model.of_numbers else "Linear support vector machine"
    kind += f" of {len(model.kinds)} classes" if model.kinds else ""
    return f"{kind} for each of {len(model.groups)} groups" if model.groups else kind


def _claim(model: Model) -> list[object]:
    which = "a join that the database made" if model.is_made else "a join that was never made"
    which = "a small join, which was read once" if model.in_memory else which
    over = f"over all {row_count(model.join_rows, model.weighted)} of {which}"
    if not (isfinite(model.lower_bound) and isfinite(model.gap)):
        unknown = f" It was measured {over}. How much better another model can be is not proven."
        return [el("strong", f"This linear model reaches {objective(model)}."), unknown]
    what = "No other weights of these columns" if model.maps else "No linear model"
    best = f"{what} can do better than {model.lower_bound:.6g}; this one reaches {objective(model)}."
    claim = [el("strong", best), f" It is within {percent(model.gap)} of the best there is, proven {over}."]
    if not model.converged:
        claim += [el("strong", " Not converged:"), " the training stopped before it reached the gap asked for."]
    return claim


def _figures(report: Report) -> Iterator[tuple[str, str]]:
    """Rows that the training has not seen come first."""
    model = report.model
    measured = dict(_measured(report.evaluation))
    if report.seen:
        yield from ((f"{name}, held out", value) for name, value in measured.items())
    else:
        yield from _unseen(model)
    features = len(model.terms)
    if model.weighted:
        yield "total weight of the rows", weight(model.join_rows)
    else:
        yield "rows of the join", amount(model.join_rows)
        yield "as one table", f"about {memory(8 * (features + 1) * model.join_rows)}"
    yield "passes", f"{model.passes} in {model.seconds:.1f} s"
    yield "gap", percent(model.gap)
    if not report.seen:
        yield from ((f"{name}, rows trained on", value) for name, value in measured.items())


def _unseen(model: Model) -> Iterator[tuple[str, str]]:
    """What the folds measured, or the parts that lambda was chosen by."""
    known = {name: found.mean for name, found in model.validation.items() if name != "loss"}
    if not known and model.chosen:
        known = {model.chosen.measure: model.chosen.best.mean}
    yield from ((f"{MEASURES[name].title}, rows not seen", f"{value:.3f}") for name, value in known.items())


def _measured(found: Measured | None) -> Iterator[tuple[str, str]]:
    if isinstance(found, Residuals):
        yield "mean absolute error", f"{found.mae:.4g}"
        if found.r2 is not None:
            yield "R\u00b2", f"{found.r2:.3f}"
    elif isinstance(found, Confusion):
        yield "accuracy", f"{found.measures['accuracy']:.3f}"
        yield "macro F1", f"{found.measures['macro_f1']:.3f}"
    elif found:
        yield "accuracy", _rate(found.accuracy)
        if found.auc:
            yield "area under ROC", _rate(found.auc)


def _rate(found: Bounded) -> str:
    return f"{found.value:.3f}"


def _proof(model: Model, drawn: Mapping[str, Element]) -> Element:
    said = (
        f"The objective is the mean {_loss(model)} loss over the rows of the join plus lambda times the squared length "
        f"of the weights (lambda = {model.lam:g}){_sizes(model)}, on the features as scaled for training. Each pass "
        "gives a plane that lies below it everywhere; the lowest point of all these planes together is the lower bound."
    )
    if model.family:
        return _proofs(model, said)
    held = [(c.row, f"{c.slack:.6g}") for c in model.constraints]
    constraints = table(("constraint", "slack"), held, words=1, caption="What the weights satisfy") if held else None
    pictures = [drawn[name] for name in ("convergence", "gap") if name in drawn]
    every = table(*history(model)) if model.history else None
    numbers = every and el("details", el("summary", "The numbers of every pass"), every)
    drawings = el("div", pictures, class_="figures-row")
    return section("proof", "The certificate", el("p", said), drawings, constraints, numbers)


def _proofs(model: Model, said: str) -> Element:
    """`said` explains the objective."""
    titles = (model.by or "class", "rows", "objective", "at most", "lower bound", "gap", "passes", "seconds")
    how = "Each group is trained on its own rows" if model.groups else "Each class is trained against all others"
    about = f"{how}. The model has the means, and the largest gap. {said}"
    number = weight if model.weighted else amount
    rows: list[tuple[float, OfClass | OfGroup]] = [(of.rows, of) for of in model.classes]
    rows += sorted(((of.join_rows, of) for of in model.groups), key=lambda one: -one[0])[:MOST]
    drawn = table(titles, [_proof_of(of, number(n)) for n, of in rows], caption=most_of("Each", model.groups))
    open_ = [str(of.value) for of in model.family if not of.converged]
    late = el("p", f"Not converged: {listed(open_)}.", class_="aside") if open_ else None
    return section("proof", "The certificates", el("p", about), drawn, late)


def _proof_of(of: OfClass | OfGroup, rows: str) -> tuple[str, ...]:
    values = (f"{value:.6g}" for value in (of.objective, of.objective_upper, of.lower_bound))
    return str(of.value), rows, *values, percent(of.gap), str(of.passes), f"{of.seconds:.1f}"


def _loss(model: Model) -> str:
    """With the parameter that belongs to it."""
    given, loss = model.options.get("problem", {}), model.loss.replace("_", " ")
    for name in ("width", "tube", "quantile", "delta"):
        if name in given and model.loss in (OPTIONS[name].read_by or ("", ()))[1]:
            return f"{loss} ({name} {given[name]:g})"
    return loss


def _sizes(model: Model) -> str:
    l1 = model.options.get("l1", 0.0)
    return f" and l1 times the sum of their sizes (l1 = {l1:g})" if l1 else ""


def _making(model: Model) -> Element:
    bags = "1 bag" if model.bags == 1 else f"{model.bags} bags"
    facts = [("engine", model.engine), ("counting", f"{model.counting}, in {bags}"), *_flat(model.options)]
    about = model.trained_on.as_json().items()  # relations of features are in the table of the weights
    facts += [
        (f"trained on: {name.replace('_', ' ')}", _value(v))
        for name, v in about
        if name not in ("relations", "digests")
    ]
    return section(
        "making",
        "How it was made",
        el("p", "The model was trained on the rows of this query:"),
        el("pre", el("code", model.query.strip())),
        table(("option or fact", "value"), facts, words=2),
    )


def _flat(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Options by name, without the groups that they are stored in."""
    for name, value in found.items():
        if isinstance(value, Mapping):
            yield from _flat(value)
        elif value is not None:
            yield name, _value(value)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_value(part)}" for name, part in value.items())
    if isinstance(value, float):
        return f"{value:,.10g}"
    return value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False)


def _absent(report: Report) -> Element | None:
    if not report.missing:
        return None
    lines = [el("li", el("strong", f"No {m.part}: "), m.why) for m in report.missing]
    return section("missing", "What is missing", el("ul", lines, class_="notes"))
