"""A reference for trainings that shares no code with sqlsvm: the rows of a join by comparing all keys, scaled columns,
losses and F by the sentences of docs/certificate.md, with numpy alone. A model is only read."""

from collections.abc import Mapping
from typing import Any

import numpy as np

Values = np.ndarray[Any, Any]
Rows = dict[str, Values]

NEAR = 1e-6
"""The width of a feature is measured in doubles. Where rows are 10^4 widths from 0, its rounding moves scores; farther,
it is known less well, by the square."""


def joined(tables: Mapping[str, Rows], query: str) -> Rows:
    """The rows of SELECT a.x, NULLIF(a.y, 0) AS y FROM a JOIN b ON b.k = a.k, where a text has no other form."""
    outputs, text = query.removeprefix("SELECT ").split(" FROM ")
    first, *joins = text.split(" JOIN ")
    places = {first: np.arange(len(next(iter(tables[first].values()))))}

    def column(name: str) -> Values:
        relation, _, own = name.partition(".")
        return tables[relation][own][places[relation]]

    for each in joins:
        alias, _, left, _, right = each.split(" ")
        places[alias] = np.arange(len(next(iter(tables[alias].values()))))
        mine, others = (left, right) if left.startswith(f"{alias}.") else (right, left)
        found, own = np.nonzero(column(others)[:, None] == column(mine)[None, :])
        places = {name: at[own if name == alias else found] for name, at in places.items()}
    rows: Rows = {}
    for output in outputs.replace("NULLIF(f.x1, -1e-3) AS x1", "f.x1?").split(", "):
        name, may_miss = output.removesuffix("?"), output.endswith("?")
        values = column(name)
        rows[name.partition(".")[2]] = np.where(values == -1e-3, np.nan, values) if may_miss else values
    return rows


def numbers(values: Values) -> Values:
    return np.array([np.nan if e is None else e for e in values.tolist()], dtype=float)


def psi(loss: str, z: Values) -> Values:
    match loss:
        case "hinge":
            return np.maximum(z, 0.0)
        case "squared_hinge":
            return np.maximum(z, 0.0) ** 2
        case "smooth_hinge":
            return np.where(z > 0.5, z, np.where(z < -0.5, 0.0, (z + 0.5) ** 2 / 2.0))
        case "logistic":
            return np.logaddexp(0.0, z)
        case "absolute":
            return np.abs(z)
        case "squared":
            return z * z / 2.0
        case "huber":
            return np.where(np.abs(z) <= 1.0, z * z / 2.0, np.abs(z) - 0.5)
        case "quantile":
            return np.maximum(0.5 * z, -0.5 * z)
    raise ValueError(loss)


def in_unit(
    loss: str, lam: float, l1: float, t: Values, w: Values, delta: float, known: float | None = None
) -> tuple[float, float]:
    """lambda and l1 for the label t as it is, if they are for t in its deviations: there F is as much smaller as a loss
    of that degree. Beyond delta the loss of Huber is straight. The deviation of one far from 0 is not known. Where the
    label is not measured from its mean, doubles know it so far, and F has the one that the model says."""
    share = w / w.sum()
    width = float(np.sqrt(share @ (t - share @ t) ** 2))
    if width <= 1e-6 * np.sqrt(share @ (t * t)):
        return lam, l1
    lost = 1e-15 * float(share @ (t * t)) / width**2
    width = known if known and abs(known - width) <= max(NEAR, lost) * width else width
    straight = loss in ("absolute", "epsilon_insensitive", "quantile")
    unit = width if straight else width * min(width, delta) if loss == "huber" else width**2
    return lam * unit / width**2, l1 * unit / width


def penalised(
    options: Mapping[str, Any], model: Any, sign: Values, share: Values, *, number: bool
) -> tuple[float, float]:
    """lambda and l1 as they are in F."""
    lam, l1 = model.lam, options.get("l1", 0.0)
    if number and options["scale"] == "standard":
        return in_unit(options["loss"], lam, l1, sign - model.label_centre, share, 1.0, model.label_width)
    return lam, l1


def shares(options: Mapping[str, Any], rows: Rows, sign: Values) -> tuple[Rows, Values, Values]:
    """The rows that train, with their shares and signs."""
    names = [n for n in rows if n not in ("y", "w", "g")]
    share = rows["w"].astype(np.longdouble) if options.get("weight") else np.ones(len(sign), dtype=np.longdouble)
    if options["nulls"] == "drop":
        kept = np.ones(len(sign), dtype=bool)
        for n in names:
            kept &= np.array([v is not None and v == v for v in rows[n].tolist()], dtype=bool)
        rows, sign, share = {n: v[kept] for n, v in rows.items()}, sign[kept], share[kept]
    weights = options.get("class_weight")
    if weights == "balanced":
        each = [share[sign == s].sum() for s in (-1.0, 1.0)]
        own = [sum(each) / n if n else 0.0 for n in each]
        share = share * np.where(sign > 0, own[1], own[0])
    elif weights:
        share = share * np.where(sign > 0, weights[1], weights[0])
    return rows, share / share.sum(), sign


def design(
    options: Mapping[str, Any], model: Any, rows: Rows, sign: Values
) -> tuple[Values, Values, Values, Values, int | None]:
    """The scaled columns, the weights of the model for them, the shares of the rows, and the place of the constant."""
    rows, share, sign = shares(options, rows, sign)
    columns, beta = [], []
    constant = None if options["intercept"] is False else 0
    if constant is not None:
        columns.append(np.ones(len(sign)))
        beta.append(model.scaled_intercept)
    for w in model.weights:
        values = rows[w.feature]
        if w.category is not None:
            columns.append(np.array([float(v == w.category) for v in values.tolist()]))
            beta.append(w.scaled_weight)
            continue
        v = numbers(values).astype(np.longdouble)
        known = ~np.isnan(v)
        here = share[known].sum()
        mean = (share[known] @ v[known]) / here if here else 0.0
        v = np.where(known, v, mean)
        centred, meets = v - share @ v, share > 0
        width = np.longdouble(1.0)
        if options["scale"] == "standard":
            found = np.sqrt(share @ centred**2)
            width = found if found > 1e-12 * np.abs(v[meets]).max(initial=0.0) else width
        if options["scale"] == "maxabs":
            width = np.abs(v[meets]).max(initial=0.0) or width
        own = w.scaled_weight / w.weight if w.weight and w.scaled_weight else width
        lost = 1e-15 * float(share @ (v * v) / width**2)
        width = np.longdouble(own) if abs(own - width) <= max(NEAR, lost) * width else width
        centring = options["scale"] == "standard" and constant is not None
        columns.append(((centred if centring else v) / width).astype(float))
        beta.append(w.scaled_weight)
    return np.column_stack(columns), np.array(beta), share.astype(float), sign, constant
