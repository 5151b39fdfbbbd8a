"""Stored models as text. The user's names may contain any character and are printed through `printable`."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import inf, isinf
from typing import Any, TextIO

from rich.text import Text
from sqlglot import exp

from sqlsvm import words
from sqlsvm.maps import formula
from sqlsvm.maps.boosting import EVERY
from sqlsvm.maps.mapped import Mapped
from sqlsvm.model.model import ByLabel, Model, OfClass, OfGroup
from sqlsvm.model.plain import plain
from sqlsvm.options import CHOSEN, OPTIONS, STRENGTHS
from sqlsvm.paper import facts, on_paper, table
from sqlsvm.show.evaluation import number_of
from sqlsvm.store.base import Stored
from sqlsvm.terminal import Listed, amount, printable, row_count, share, weight
from sqlsvm.times import DATES, TIMES, TimeKind

AT_ONCE = 1.0  # a training of fewer seconds is over at once
TIGHT = 1e-9
LEAST_SHARE = 0.05  # phases with a smaller share of the time are not shown


def draw_models(listing: Sequence[Stored], stream: TextIO) -> str:
    if not listing:
        return "no model is stored here"
    numbers = "version", "lambda", "join rows", "objective", "gap"
    titles = ("model", "stored", "label", "rows not seen", "converged", *numbers)
    rows, last = [], None
    for stored in listing:
        name = stored.name if stored.name != last else ""
        when, converged = f"{stored.created_at.astimezone():%Y-%m-%d %H:%M}", "yes" if stored.converged else "no"
        size = f"total weight {weight(stored.join_rows)}" if stored.weighted else amount(stored.join_rows)
        found = [name, when, stored.label, _unseen(stored.unseen), converged, str(stored.version), f"{stored.lam:g}"]
        rows.append([*found, size, f"{stored.objective:.6g}", f"{stored.gap:.2g}", stored.error or ""])
        last = stored.name
    unread = ("cannot be read",) if any(stored.error for stored in listing) else ()
    return on_paper(stream, table(titles, [row[: len(titles) + len(unread)] for row in rows], 5, unread))


def _unseen(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return ""
    error = found["standard_error"]
    said = found["measure"].replace("_", " ")
    return f"{said} {_rounded(found['mean'], 3)}{'' if error is None else f' +- {_rounded(error, 1)}'}"


def _rounded(value: float, digits: int) -> str:
    """
    >>> _rounded(1389.3, 3), _rounded(43.1, 1), _rounded(0.0524, 1)
    ('1390', '40', '0.05')
    """
    return f"{float(f'{value:.{digits}g}'):g}"


def draw_model(model: Model, stream: TextIO) -> str:
    found = facts(_facts(model))
    if model.family:
        return on_paper(stream, found, "", Text(draw_several(model, stream)))
    return on_paper(stream, found, "", table(*history(model))) if model.history else on_paper(stream, found)


def draw_several(model: Model, stream: TextIO, most: int | None = None) -> str:
    """A line for each class against all others, or for each group: at most so many, those with the most rows."""
    unit, number = number_of(model.weighted)
    own = [name for name in CHOSEN if len(model.choices(name)) > 1]
    losses, own = [name for name in own if name not in STRENGTHS], [name for name in own if name in STRENGTHS]
    numbers = unit, *(OPTIONS[name].said for name in own), "objective", "lower bound", "gap", "passes", "weights"
    rows = []
    each: list[tuple[float, OfClass | OfGroup]] = [(of.rows, of) for of in model.classes]
    each += [(of.join_rows, of) for of in model.groups]
    shown = sorted(each, key=lambda one: -one[0])[:most] if most and len(each) > most else each
    for n, of in shown:
        has = model.chosen_by(of) if isinstance(of, OfGroup) else {}
        said = str(of.value), "yes" if of.converged else "no", *(has[name].replace("_", " ") for name in losses)
        found = [f"{has[name]:g}" for name in own]
        found += [f"{of.objective:.6g}", f"{of.lower_bound:.6g}", f"{of.gap:.2g}"]
        rows.append((*said, number(n), *found, str(of.passes), str(of.used)))
    drawn = table((model.by or model.label, "converged", *losses, *numbers), rows, words=2 + len(losses))
    more = f"and {amount(len(each) - len(shown))} more with fewer rows: sqlsvm show {printable(model.name)} lists all"
    return on_paper(stream, drawn, *([more] if len(shown) < len(each) else []))


def draw_weights(model: Model, top: int | None, stream: TextIO) -> str:
    """If the model has several classes or groups: those of each, one table after the other."""
    levels, drawn = list(map(printable, model.levels(model.label))), []
    for values, leaf in model.leaves:
        whose = ", ".join(f"{name} = {printable(str(value))}" for name, value in zip(levels, values, strict=True))
        drawn.append(f"{whose}\n\n{_weights(leaf, top, stream)}" if whose else _weights(leaf, top, stream))
    return "\n\n".join(drawn)


def _weights(model: Model, top: int | None, stream: TextIO) -> str:
    rows = [("(intercept)", "", f"{model.intercept:.6g}", "")]
    if model.threshold:
        rows.append(("(threshold)", "", f"{-model.threshold:.6g}", ""))
    shown = model.weights.heaviest(top)
    for w in shown:
        time = model.trained_on.times.get(w.feature)
        category = f"per {TIMES[time].unit}" if time else "" if w.category is None else str(w.category)
        numbers = (f"{w.weight:.6g}", f"{w.scaled_weight:.6g}") if w.weight else ("left out", "")
        rows.append((w.feature, category, *numbers))
    left = len(model.weights) - len(shown)
    zeros = len(model.weights) - model.used - sum(not w.weight for w in shown)
    rest = f"and {amount(left)} more, with smaller weights{f'; {amount(zeros)} of them are left out' if zeros else ''}"
    titles = ("feature", "category", "weight", "scaled weight")
    return on_paper(stream, table(titles, rows, words=2), *([rest] if left else []))


def weights_as_json(model: Model, top: int | None) -> dict[str, Any]:
    return {"model": model.name, "version": model.version, "label": model.label} | _weights_as_json(model, top)


def _weights_as_json(model: Model, top: int | None) -> dict[str, Any]:
    if not model.family:
        weights = [plain(vars(w)) for w in model.weights.heaviest(top)]
        cut = {"threshold": plain(model.threshold)} if model.threshold else {}
        return {"intercept": plain(model.intercept), **cut, "weights": weights}
    each = zip(model.family, model.parts, strict=True)
    found = [{"value": plain(of.value), **_weights_as_json(part, top)} for of, part in each]
    return {"by": model.by, "groups": found} if model.groups else {"classes": found}


def _facts(model: Model) -> Iterator[tuple[str, str]]:
    yield "model", f"{printable(model.name)}, version {model.version}"
    yield "query", "\n".join(printable(line) for line in model.query.expandtabs().splitlines())
    yield "label", printable(model.label + (f" = {model.positive}" if model.positive is not None else ""))
    yield from (("unseen", line) for line in validated(model))
    yield from (("chosen", line) for line in chosen(model))
    yield "join", _rows(model.label_rows, model.weighted) or row_count(model.join_rows, model.weighted)
    if line := held_out(model):
        yield "held out", line
    yield "trained", trained(model)
    yield from (("time", line) for line in times(model))
    yield "in", printable(model.engine)
    if model.owner:
        yield "stored by", printable(model.owner)
    yield "loss", " or ".join(model.choices("loss"))
    each = [*model.choices("lam")]
    yield "lambda", f"{each[0]:g}" if len(each) == 1 else f"{each[0]:g} to {each[-1]:g}, each group has its own"
    yield "NULLs", model.nulls
    yield "objective", f"{model.objective:.6g} to {model.objective_upper:.6g}"
    yield "lower bound", f"{model.lower_bound:.6g}"
    if model.classes:
        yield "classes", f"{len(model.classes)}, each against all others; these are the means, and the largest gap"
    yield from (("groups", line) for line in groups(model))
    yield "gap", gap(model)
    weights = sum(len(part.weights) for _, part in model.leaves)
    yield "features", f"{len(model.features)}{'' if model.support else f', with {weights} weights'}"
    yield from vectors(model)
    yield from (("map", printable(f"{each.map} of {', '.join(each.columns)}")) for each in model.maps)
    yield from (("leaf", line) for line in leaves(model))
    yield from (("constraint", line) for line in constraints(model))
    yield from (("note", printable(note)) for note in model.notes)
    yield from (("options", line) for line in _pairs(model.options))
    yield from (("trained on", line) for line in _pairs(_about(model)))


def _about(model: Model) -> dict[str, object]:
    return {name: value for name, value in model.trained_on.as_json().items() if name != "digests"}


def vectors(model: Model) -> Iterator[tuple[str, str]]:
    """Of a kernel machine: what it was trained on, and of what it is made."""
    if found := model.support:
        sample = "all rows of the join" if found.whole else f"a sample of {amount(found.sample)} join rows"
        gamma = "" if found.kernel == "linear" else f", gamma {found.gamma:.6g}"
        yield "sample", f"{sample}: objective and lower bound are for {'them' if found.whole else 'it'}"
        yield "kernel", f"{found.kernel}{gamma}; {amount(len(found.coefficients))} support vectors"
        rows = (f"{amount(len(table.numbers))} of {printable(table.relation)}" for table in found.tables)
        yield "vectors of", f"different rows: {', '.join(rows)}"


FEW = 5


def groups(model: Model) -> Iterator[str]:
    """How many there are, and which were skipped."""
    if model.groups:
        of = f"{amount(len(model.groups))} of {printable(model.by or '')}"
        each = f", each with {len(model.kinds)} classes, each of these against all others" if model.kinds else ""
        yield f"{of}{each}; the objective and its bounds are means over all rows, the gap is the largest"


def constraints(model: Model) -> Iterator[str]:
    """The rows that hold as equations; of the others their number."""
    tight = [row for row in model.constraints if row.slack <= TIGHT * max(1.0, max(r.slack for r in model.constraints))]
    yield from (f"{printable(row.row)}: holds as an equation" for row in tight[:FEW])
    if more := len(tight) - FEW if len(tight) > FEW else 0:
        yield f"{amount(more)} more hold as equations"
    if loose := len(model.constraints) - len(tight):
        yield f"{amount(loose)} {'others hold' if tight else 'hold'} with room to spare"


def trained(model: Model) -> str:
    said = f"{passes(model)} in {model.seconds:.2f} s{'' if model.support else f', counting {model.counting}'}"
    return said if model.total_seconds is None else f"{said}; {model.total_seconds:.2f} s in all"


def times(model: Model) -> Iterator[str]:
    """One line with the longest phases of a training, if passes are not most of it."""
    total = model.total_seconds or 0.0
    longest = sorted(model.phases.items(), key=lambda phase: -phase[1])
    if total >= max(AT_ONCE, 2 * model.phases.get("passes", 0.0)):
        yield ", ".join(f"{n.replace('_', ' ')} {s:.1f} s" for n, s in longest if s >= LEAST_SHARE * total)


def passes(model: Model) -> str:
    return f"{model.passes} pass{'es' * (model.passes != 1)} of {model.solver}"


def gap(model: Model) -> str:
    return f"{model.gap:.2g}, {'converged' if model.converged else 'not converged'}"


def chosen(model: Model) -> Iterator[str]:
    """What auto has chosen."""
    if found := model.chosen:
        values = {"lam": f"lambda {model.lam:g}", "l1": f"l1 {found.strength:g}", "loss": model.loss.replace("_", " ")}
        yield f"{' and '.join(values[name] for name in found.options)}, of {len(found.tried)} candidates"


def cross_validated(model: Model) -> Iterator[str]:
    """How good the chosen one is on rows that its trainings had not seen."""
    if found := model.chosen:
        best, measure = found.best, printable(found.measure.replace("_", " "))
        rows = f"{printable(found.split)}, {amount(found.rows)} rows of {found.of}"
        yield f"{measure} {best.mean:.6g}, standard error {best.error_of_mean:.2g}, cross-validated in {rows}"


def validated(model: Model) -> Iterator[str]:
    """Each measure on rows that the training has not seen: its mean over the folds, or that of the rows held out."""
    yield from cross_validated(model)
    for name, found in model.validation.items():
        error = "" if found.standard_error is None else f", standard error {found.standard_error:.2g}"
        folds = model.options.get("folds") if model.groups else len(found.folds)
        where = f"in {folds} folds" if folds and folds > 1 else "on the rows held out"
        yield f"{name.replace('_', ' ')} {found.mean:.6g}{error}, {where}"


def held_out(model: Model) -> str | None:
    """The rows that the training did not see."""
    rows = model.trained_on.held_out
    return (
        words.said(f"{_rows(rows, model.weighted)}; ⟦evaluate() {printable(model.name)}⟧ measures both")
        if rows
        else None
    )


def _rows(labels: ByLabel, weighted: bool) -> str:
    """The number of join rows, and the number in each class; empty if there are none."""
    known, number = sum(labels.values()), weight if weighted else amount
    classes = ", ".join(f"{number(n)} {int(label):+d} ({share(n, known)})" for label, n in labels.items() if known)
    return f"{row_count(known, weighted)}: {classes}" if classes else ""


def _pairs(found: Mapping[str, Any]) -> Iterator[str]:
    """One line, or none if nothing was found."""
    said = (f"{name}: {v if isinstance(v, str) else json.dumps(plain(v))}" for name, v in found.items())
    if line := "; ".join(said):
        yield printable(line)


def history(model: Model) -> Listed:
    """Of each pass."""
    names = ("objective", "objective_upper", "lower_bound", "gap", "buckets", "seconds")
    titles = ("pass", "objective", "upper", "lower bound", "gap", "buckets", "seconds")
    each = ((record.get(name) for name in names) for record in model.history)
    rows = [[str(n), *("" if v is None else f"{v:.6g}" for v in values)] for n, values in enumerate(each, 1)]
    return Listed(titles, rows, words=0)


# -- the leaves of boosted trees as conditions that can be read

MOST, NAMED = 5, 4  # leaves, and categories of a condition
Ends = Mapping[str, tuple[float, float]]


def leaves(model: Model) -> Iterator[str]:
    """Those that move the score most. Leaves of several trees with the same conditions are one."""
    if model.family or model.support:
        return
    weights = {w.feature: w.weight for w in model.weights if w.category is None}
    found: dict[str, float] = defaultdict(float)
    for each in model.maps:
        for name, text in each.formulas.items() if each.takes_nulls else ():
            for tree in formula.addends(formula.tree(text)):
                for ends, value in _ends_of(tree, each, {}):
                    said = " and ".join(_said(each, *own, model.trained_on.times) for own in ends.items())
                    found[said] += weights[name] * value
    for said, value in sorted(found.items(), key=lambda leaf: -abs(leaf[1]))[:MOST]:
        yield f"{value:+.3g} if {printable(said)}"


def _ends_of(node: Any, each: Mapped, known: Ends) -> Iterator[tuple[Ends, float]]:
    """For each leaf from where to where its columns go, and its value."""
    if not isinstance(node, exp.Case):
        yield known, float(formula.values(node.sql(formula.DIALECT), ()))
        return
    (branch,) = node.args["ifs"]
    name, end = each.columns[int(branch.this.this.this.name) - 1], float(branch.this.expression.sql().strip("()"))
    low, high = known.get(name, (-inf, inf))
    halves = (branch.args["true"], node.args["default"])
    below, above = halves if isinstance(branch.this, exp.LT) else reversed(halves)
    yield from _ends_of(below, each, {**known, name: (low, min(high, end))})
    yield from _ends_of(above, each, {**known, name: (max(low, end), high)})


def _said(each: Mapped, name: str, ends: tuple[float, float], times: Mapping[str, TimeKind]) -> str:
    low, high = ends
    if low == EVERY or (low == -inf and high == EVERY):
        return f"{name} is {'NULL' if low == EVERY else 'known'}"
    if name in each.booleans:
        return name if low > -inf else f"not {name}"
    if name in each.codes:
        own = [str(category) for category, code in each.codes[name] if low <= code < high]
        others = ["another"] if low <= 0.0 < high else []
        more = [f"{len(own) - NAMED} more"] if len(own) > NAMED else []
        return f"{name} is {' or '.join([*own[:NAMED], *more, *others])}"
    kind = times.get(name)
    above, below = (f"{x:g}" if kind not in DATES or isinf(x) else TIMES[kind].written(x) for x in ends)
    if low == -inf or high == inf:
        return f"{name} < {below}" if low == -inf else f"{name} >= {above}"
    return f"{above} <= {name} < {below}"
