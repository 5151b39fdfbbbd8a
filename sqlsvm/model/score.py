"""A model as one plain SQL expression, and a query with score and prediction as two more columns.

        CAST(0.5e0 AS DOUBLE PRECISION) + CAST(-0.25e0 AS DOUBLE PRECISION) * CAST("distance" AS DOUBLE PRECISION)
            + CASE "carrier" WHEN 'UA' THEN CAST(0.1e0 AS DOUBLE PRECISION) ELSE CAST(0e0 AS DOUBLE PRECISION) END

A value that training has not seen has weight 0, or that of all others if there is one. A NULL in a number is replaced
by the stored mean, and a NULL in a category has weight 0. If rows with a NULL were left out of the training, the score
is NULL.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Kind
from sqlsvm.kernel.functions import DEGREE, Kernel
from sqlsvm.maps import formula
from sqlsvm.maps.mapped import Mapped
from sqlsvm.model.literals import exact, literal
from sqlsvm.model.model import Model, Term, checked_term, code_of
from sqlsvm.model.probability import STEEPEST, Probability
from sqlsvm.model.support import Support, SupportTable
from sqlsvm.plan.design import as_number
from sqlsvm.query import Feature, FeatureQuery

Inputs = Callable[[str], exp.Expression]  # the value of a feature in the row to score
SMALLEST = -700.0  # PostgreSQL refuses exp of numbers that are much smaller


def expansion(support: Support, inputs: Inputs) -> exp.Expression:
    function = support.function
    sums = [_sum(n, table, function, inputs) for n, table in enumerate(support.tables)]
    weighed = sql.product(_name("c"), _kernel(function, sums))
    found = sql.derived(_vectors(support), "sqlsvm_v")
    return exp.select(exp.alias_(sql.total(weighed), "sqlsvm_score")).from_(found, copy=False).subquery(copy=False)


def _vectors(support: Support) -> exp.Select:
    """SELECT coefficient, the columns of each table FROM support vectors JOIN the different rows of each table"""
    places = [(f"p{n}", _wholes(table.rows)) for n, table in enumerate(support.tables)]
    vectors = sql.derived(_columns([("c", _numbers(support.coefficients)), *places]), "sqlsvm_p")
    cells = [_cells(n, table) for n, table in enumerate(support.tables)]
    outputs = [_name("c"), *(_name(name) for columns in cells for name, _ in columns)]
    found = sql.select(sql.columns(outputs), vectors)
    for n, (table, columns) in enumerate(zip(support.tables, cells, strict=True)):
        rows = _columns([(f"n{n}", _wholes(range(len(table.numbers)))), *columns])
        met = sql.equal(_name(f"n{n}"), _name(f"p{n}"))
        found = sql.join(found, sql.derived(rows, f"sqlsvm_t{n}"), [met])
    return found


def _cells(n: int, table: SupportTable) -> list[tuple[str, exp.Expression]]:
    numbers = [(f"x{n}_{i}", _numbers([row[i] for row in table.numbers])) for i in range(len(table.numeric))]
    codes = [(f"k{n}_{i}", _wholes([row[i] for row in table.codes])) for i in range(len(table.categorical))]
    return numbers + codes


def _sum(n: int, table: SupportTable, kernel: Kernel, inputs: Inputs) -> exp.Expression:
    """The inner product or the squared distance over the columns of a table."""
    terms = [_of_number(inputs(name), f"x{n}_{i}", kernel.by_distance) for i, name in enumerate(table.numeric)]
    terms += [_of_category(inputs(name), f"k{n}_{i}", kernel.by_distance) for i, name in enumerate(table.categorical)]
    return sql.plus(*terms)


def _of_number(value: exp.Expression, name: str, by_distance: bool) -> exp.Expression:
    if not by_distance:
        return sql.product(value, _name(name))
    difference = sql.minus(_name(name), value)
    return sql.product(difference, difference)


def _of_category(value: exp.Expression, name: str, by_distance: bool) -> exp.Expression:
    """A category is a column that is 1: the same gives 1, and two others are 2 apart. 0 is no category."""
    own, value = sql.column(_name(name)), exp.paren(value)
    same, none = sql.equal(own, value), sql.equal(sql.product(own, value), 0.0)
    if by_distance:
        return sql.case(same, 0.0, sql.case(none, 1.0, 2.0))
    return sql.case(sql.every([same, sql.positive(own)]), 1.0, 0.0)


def _kernel(kernel: Kernel, sums: Sequence[exp.Expression]) -> exp.Expression:
    if kernel.name == "additive":
        return sql.plus(*(_falling(kernel.gamma, s) for s in sums))
    s = sql.plus(*sums)
    if kernel.name == "linear":
        return s
    if kernel.name == "rbf":
        return _falling(kernel.gamma, s)
    scaled = sql.product(exact(kernel.gamma), s)
    if kernel.name == "sigmoid":
        return exp.Tanh(this=scaled)
    return sql.product(*(sql.plus(scaled, exact(1.0)) for _ in range(DEGREE)))


def _falling(gamma: float, s: exp.Expression) -> exp.Expression:
    """exp(-gamma s). Where s is NULL the score is NULL by its other terms."""
    return exp.Exp(this=sql.greatest(exact(SMALLEST), sql.product(exact(-gamma), s)))


# -- columns of numbers ------------------------------------------------------------------------------------------------


def _name(name: str) -> str:
    return f"sqlsvm_{name}"


def _columns(named: Sequence[tuple[str, exp.Expression]]) -> exp.Select:
    return sql.select([(values, _name(name)) for name, values in named])


def _numbers(values: Sequence[float]) -> exp.Expression:
    return _unnested(map(repr, map(float, values)), "double[]")


def _wholes(values: Sequence[int]) -> exp.Expression:
    return _unnested(map(str, values), "int[]")


def _unnested(texts: "map[str]", type: str) -> exp.Expression:
    parts = exp.StringToArray(this=exp.Literal.string(",".join(texts)), expression=exp.Literal.string(","))
    return exp.Explode(this=exp.cast(parts, exp.DataType.build(type)))


SCORE, PREDICTION, PROBABILITY = "score", "prediction", "probability"


class Named(NamedTuple):
    """What the columns of a prediction are called."""

    score: str = SCORE
    prediction: str = PREDICTION
    probability: str = PROBABILITY

    def of_class(self, value: object) -> str:
        return f"{self.probability}_{value}"


USUAL = Named()
HIDDEN = "sqlsvm_s"  # with a number, the score of a class
CHANCE, TOTAL = "sqlsvm_p", "sqlsvm_total"  # with a number, the probability of a class against all others; their sum


@dataclass(frozen=True)
class Operand:
    """The values of a feature in the rows to score, and their kind there."""

    value: exp.Expression
    kind: Kind
    cases: "Cases | None" = None  # where categories go with their weights, in place of the expression


Cases = list[list[tuple[object, float]]]
Operands = Callable[[Term], Operand]


def predictions(
    rows: exp.Query,
    score: exp.Expression,
    labels: tuple[object, ...],
    type: str | None = None,
    curve: "Curve | None" = None,
    named: Named = USUAL,
) -> exp.Select:
    """SELECT r.*, score, prediction, probability FROM (rows) AS r; the expression sees the columns of r. `type` is that
    of predictions, if it is not that of the values."""
    scored, s = sql.fenced(_with_more(rows, [(score, named.score)], "r")), exp.column(named.score, table="s")
    found = prediction(s, labels)
    more: sql.Named = [(exp.cast(found, type) if type else found, named.prediction)]
    return _with_more(scored, [*more, *([(curve(s), named.probability)] if curve else [])], "s")


def numbers(rows: exp.Query, score: exp.Expression, named: Named = USUAL) -> exp.Select:
    """SELECT r.*, score, the same as prediction FROM (rows) AS r: where the label is a number."""
    scored = _with_more(rows, [(score, named.score)], "r")
    return _with_more(scored, [(exp.column(named.score, table="s"), named.prediction)], "s")


def prediction(score: exp.Expression, labels: tuple[object, ...]) -> exp.Expression:
    """The label's own value, from (negative, positive): negative for a score of 0, NULL for NULL or NaN. On both
    engines NaN is greater than all numbers."""
    negative, positive = (literal(value) for value in labels)
    return sql.case(sql.at_most(score, 0), negative).when(sql.is_number(score), positive, copy=False)


def predictions_of_classes(
    rows: exp.Query,
    names: Sequence[str],
    scores: Sequence[exp.Expression],
    values: Sequence[object],
    curves: Sequence["Curve"] = (),
    named: Named = USUAL,
) -> exp.Select:
    """SELECT the columns of these names, the largest score, the class that has it, the probability of each class FROM
    (rows) AS r."""
    scored = sql.fenced(_with_more(rows, [(e, f"{HIDDEN}{k}") for k, e in enumerate(scores, 1)], "r"))
    each: list[exp.Expression] = [exp.column(f"{HIDDEN}{k}", table="s") for k in range(1, len(scores) + 1)]
    kept = [exp.column(name, table="s", quoted=True) for name in names]
    best = sql.greatest(*each)
    found = exp.select(*kept, exp.alias_(best, named.score), exp.alias_(best_class(each, values), named.prediction))
    if not curves:
        return found.from_(sql.derived(scored, "s"), copy=False)
    found = sql.also(found, [(curve(s), own) for own, curve, s in zip(_chances(curves), curves, each, strict=True)])
    own, known = sql.fenced(found.from_(sql.derived(scored, "s"), copy=False)), [*names, named.score, named.prediction]
    outputs: list[exp.Expr] = [exp.column(name, table="t", quoted=True) for name in known]
    made = zip(normalised(curves, "t"), values, strict=True)
    outputs += [exp.alias_(p, named.of_class(value), quoted=True) for p, value in made]
    return exp.select(*outputs).from_(sql.derived(_with_total(own, curves), "t"), copy=False)


def probabilities_of_classes(scores: Sequence[exp.Expression], curves: Sequence["Curve"]) -> exp.Expression:
    """All of them as one array. It has the expression of each score once."""
    named = [exp.alias_(score, f"{HIDDEN}{k}") for k, score in enumerate(scores, 1)]
    each = [exp.column(f"{HIDDEN}{k}", table="s") for k in range(1, len(scores) + 1)]
    own: sql.Named = [(p(s), name) for p, s, name in zip(curves, each, _chances(curves), strict=True)]
    rows = _with_total(sql.fenced(sql.select(own, sql.derived(sql.fenced(exp.select(*named)), "s"))), curves)
    found = exp.select(exp.Array(expressions=normalised(curves, "t"))).from_(sql.derived(rows, "t"), copy=False)
    return found.subquery(copy=False)


def _with_total(rows: exp.Query, curves: Sequence["Curve"]) -> exp.Select:
    total = sql.plus(*(exp.column(name, table="q") for name in _chances(curves)))
    return sql.fenced(_with_more(rows, [(total, TOTAL)], "q"))


def normalised(curves: Sequence["Curve"], rows: str) -> list[exp.Expression]:
    """CASE total WHEN 0 THEN 1 / K ELSE own / total END for each class; NULL for NULL."""
    total = exp.column(TOTAL, table=rows)
    shares = (sql.ratio(exp.column(name, table=rows), total) for name in _chances(curves))
    return [sql.case(sql.equal(total, 0.0), exact(1.0 / len(curves)), share) for share in shares]


def _chances(curves: Sequence["Curve"]) -> list[str]:
    """The columns with the probability of each class against all others."""
    return [f"{CHANCE}{k}" for k in range(1, len(curves) + 1)]


def class_of(scores: Sequence[exp.Expression], values: Sequence[object]) -> exp.Expression:
    """The class as one expression. It has that of each score once."""
    named = [exp.alias_(score, f"{HIDDEN}{k}") for k, score in enumerate(scores, 1)]
    each: list[exp.Expression] = [exp.column(f"{HIDDEN}{k}", table="s") for k in range(1, len(scores) + 1)]
    rows = sql.derived(sql.fenced(exp.select(*named)), "s")
    found = exp.select(best_class(each, values)).from_(rows, copy=False)
    return found.subquery(copy=False)


def best_class(scores: Sequence[exp.Expression], values: Sequence[object]) -> exp.Expression:
    """The value of the largest score, of equal ones the first; NULL for NULL or NaN."""
    best = sql.greatest(*scores)
    return sql.case(sql.is_number(best), sql.match(best, zip(scores, map(literal, values), strict=True)))


def _with_more(rows: exp.Query, outputs: sql.Outputs, alias: str) -> exp.Select:
    everything = exp.Column(this=exp.Star(), table=exp.to_identifier(alias))
    found = exp.select(everything, *(exp.alias_(e, name) for e, name in outputs))
    return found.from_(sql.derived(rows, alias), copy=False)


# -- the probability ---------------------------------------------------------------------------------------------------


def chance_of(curve: "Curve", score: exp.Expression) -> exp.Expression:
    """As one expression. It has that of the score once."""
    rows = sql.derived(sql.fenced(exp.select(exp.alias_(score, HIDDEN))), "s")
    return exp.select(curve(exp.column(HIDDEN, table="s"))).from_(rows, copy=False).subquery(copy=False)


Curve = Callable[[exp.Expression], exp.Expression]  # the probability of the positive class, at a score that is a column


def curve_of(model: Model, operands: Operands) -> Curve:
    """That of a model or, by the operands, of the group of the row; NULL for a group that has none."""

    def curve(s: exp.Expression) -> exp.Expression:
        if model.groups:
            return _by_group(model, operands, lambda part: curve_of(part, operands)(s))
        return chance(model.probability, s) if model.probability else exp.Null()

    return curve


def chance(probability: Probability, s: exp.Expression) -> exp.Expression:
    """Of the positive class, at a score that is a column; NULL for NULL or NaN."""
    found = _sigmoid(probability, s) if probability.method == "sigmoid" else _curve(probability, s)
    return sql.case(sql.is_number(s), found)


def _sigmoid(p: Probability, s: exp.Expression) -> exp.Expression:
    at = sql.plus(sql.product(exact(p.slope), s), exact(p.offset))
    within = sql.least(sql.greatest(at, exact(-STEEPEST)), exact(STEEPEST))
    return sql.ratio(exact(1.0), sql.plus(exact(1.0), exp.Exp(this=within)))


def _curve(p: Probability, s: exp.Expression) -> exp.Expression:
    """CASE by halves, so that a long curve is not slow."""

    def between(first: int, last: int) -> exp.Expression:
        if last - first == 1:
            x, y = p.scores[first], p.shares[first]
            slope = (p.shares[last] - y) / (p.scores[last] - x)
            return sql.plus(exact(y), sql.product(exact(slope), sql.minus(s, exact(x)))) if slope else exact(y)
        middle = (first + last) // 2
        return sql.case(sql.at_most(s, exact(p.scores[middle])), between(first, middle), between(middle, last))

    if len(p.scores) == 1:
        return exact(p.shares[0])
    found = sql.case(sql.at_most(s, exact(p.scores[0])), exact(p.shares[0]), between(0, len(p.scores) - 1))
    return found.when(sql.at_least(s, exact(p.scores[-1])), exact(p.shares[-1]), copy=False)


# -- the score ---------------------------------------------------------------------------------------------------------


def score(model: Model, operands: Operands) -> exp.Expression:
    """intercept + the sum of weight * value, and for a kernel machine that over its support vectors; of a model with
    groups that of the group of the row, and NULL for a row of no group. The operands are those of the inputs of the
    model."""
    if model.groups:
        return _by_group(model, operands, lambda part: score(part, operands))
    found = {term.feature: operands(term) for term in model.inputs}
    first, last = model.added
    total = exact(first)
    terms = {term.feature: term for term in model.terms}
    parts = [_term(term, found[name], model.nulls) for name, term in terms.items() if name not in model.mapped]
    parts += (part for each in model.maps for part in _map_terms(model, each, terms, found))
    for part in (*parts, *([exact(last)] if last else [])):
        total = exp.Add(this=total, expression=part)
    if model.support:
        return exp.Add(this=total, expression=expansion(model.support, _inputs(model, operands)))
    return total


def _by_group(model: Model, operands: Operands, of: Callable[[Model], exp.Expression]) -> exp.Expression:
    """CASE column WHEN value THEN that of the group ... END"""
    value, names = _compared(model.chooser, operands(model.chooser))
    return sql.match(value, ((literal(name), of(part)) for name, part in zip(names, model.parts, strict=True)))


STEPS = "sqlsvm_steps"  # no relation of the user may have this name: the first step reads columns of hers


def _map_terms(
    model: Model, each: Mapped, terms: Mapping[str, Term], found: Mapping[str, Operand]
) -> Iterator[exp.Expression]:
    """If the map has steps, (SELECT sum FROM (SELECT steps)): then each step is computed once for a row."""
    rows, values = mapped_values(each, [found[name] for name in each.columns])
    made = (_term(terms[name], value, model.nulls) for name, value in values.items())
    if rows is None:
        yield from made
    else:
        yield sql.select([(sql.plus(*made), SCORE)], rows).subquery(copy=False)


def mapped_values(each: Mapped, columns: Sequence[Operand]) -> tuple[exp.Subquery | None, dict[str, Operand]]:
    """What a map makes, by feature, and the rows that these values read if the map has steps."""
    present = sql.every(sql.not_null(column.value) for column in columns)
    read, is_number = zip(each.columns, columns, strict=True), each.kind == "numeric"
    operands = [
        _category_weight(code_of(each, name), c, "")
        if name in each.codes
        else (as_number(c.value, c.kind) if is_number else sql.text(c.value.copy()))
        for name, c in read
    ]
    rows, operands = each.stepped(operands, STEPS)
    made = {name: formula.applied(text, operands) for name, text in each.formulas.items()}
    if not each.takes_nulls:
        made = {name: sql.case(present.copy(), value) for name, value in made.items()}
    values = {name: Operand(value, "numeric") for name, value in made.items()}
    return sql.derived(rows, STEPS) if rows else None, values


def _inputs(model: Model, operands: Operands) -> Inputs:
    """The numbers as scaled for the training, and the places of categories."""
    terms = {term.feature: term for term in model.terms}

    def value(feature: str) -> exp.Expression:
        term = checked_term(terms, feature)
        if term.number is None:
            return _category_weight(term.coded, operands(term), model.nulls)
        own = as_number(operands(term).value, operands(term).kind)
        own = own if term.number.missing is None else sql.coalesce(own, exact(term.number.missing))
        scale = model.scaling[feature]
        return sql.ratio(sql.minus(own, exact(scale.centre)), exact(scale.width))

    return value


def _term(term: Term, operand: Operand, nulls: str) -> exp.Expression:
    number = term.number
    if number is None:
        return _category_weight(term, operand, nulls)
    value = as_number(operand.value, operand.kind)
    if number.missing is not None:
        value = sql.coalesce(value, exact(number.missing))
    if term.origin:
        value = exp.paren(sql.minus(value, exact(term.origin)))
    return sql.product(exact(number.weight), value)


def _category_weight(term: Term, operand: Operand, nulls: str) -> exp.Expression:
    """CASE value WHEN category THEN weight ... ELSE 0 END, or ELSE the weight of all others; a NULL is none of them."""
    value, categories = _compared(term, operand)
    pairs = [(c, w.weight) for c, w in zip(categories, term.categories, strict=True)]
    branches: Iterable[tuple[exp.Expr, sql.Operand]] = ((literal(c), exact(w)) for c, w in pairs)
    if operand.cases is not None and pairs:
        operand.cases.append(pairs)
        branches = [(exp.var("CASES"), sql.integer(len(operand.cases)))]
    found = sql.match(value, branches, exact(term.others or 0.0))
    if nulls == "drop":
        return sql.case(sql.not_null(operand.value), found)
    return found if term.others is None else sql.case(sql.not_null(operand.value), found, exact(0.0))


def _compared(term: Term, operand: Operand) -> tuple[exp.Expression, list[object]]:
    """A value of a feature, and the categories to compare it with."""
    value, categories = _comparable(operand, term.weights[0].category), [w.category for w in term.categories]
    if term.spelling != "caseless":
        return value, categories
    return exp.Lower(this=sql.text(value)), [str(category).lower() for category in categories]


def _comparable(operand: Operand, category: object) -> exp.Expression:
    """The value in a type that compares with the categories. The cast refuses a text that is no number or boolean."""
    own = operand.value.copy()
    if isinstance(category, bool):
        return own if operand.kind == "boolean" else exp.cast(own, exp.DType.BOOLEAN)
    if isinstance(category, int | float):
        return own if operand.kind == "numeric" else sql.double(own)
    return own if operand.kind == "categorical" else sql.text(own)


DIALECT = "postgres"


def stored_score(model: Model) -> str | None:
    """The score, or that of each class, and the probabilities at them, as JSON; None for a kernel machine."""
    if model.support:
        return None
    parts, cases = model.against_others or (model,), Cases()

    def operand(term: Term) -> Operand:
        return Operand(_column(term.feature), term.kind, cases)

    made: dict[str, Any] = {"scores": [score(part, operand).sql(DIALECT) for part in parts]}
    if model.likely:
        curves = (curve_of(part, operand)(_column(f"{HIDDEN}{n}")) for n, part in enumerate(parts, 1))
        made["chances"] = [curve.sql(DIALECT) for curve in curves]
    made["cases"] = [[(_as_json(category), weight) for category, weight in each] for each in cases]
    return json.dumps(made, ensure_ascii=False, allow_nan=False)


def stored_values(query: FeatureQuery) -> dict[str, Any]:
    """What a program multiplies by weights: the value of each feature, and of a map its place and its steps."""
    made = {name for each in query.maps for name in each.formulas}
    own = (f for f in query.features if f.name not in made)
    found: dict[str, Any] = {f.name: {"value": _value(f, query).sql(DIALECT)} for f in own}
    for place, each in enumerate(query.maps, 1):
        rows, values = mapped_values(each, [_read(query, each, name) for name in each.columns])
        steps = {"steps": f"FROM {rows.sql(DIALECT)}"} if rows else {}
        found |= {
            name: {"value": as_number(v.value, v.kind).sql(DIALECT), "map": place, **steps}
            for name, v in values.items()
        }
    return found


def _column(name: str) -> exp.Column:
    return exp.column(name, quoted=True)


def _as_json(category: object) -> object:
    is_number = isinstance(category, int) or (isinstance(category, float) and isfinite(category))
    return category if is_number else str(category)


def _value(feature: Feature, query: FeatureQuery) -> exp.Expression:
    own, kind = _column(feature.name), query.times.get(feature.name, feature.kind)
    if kind != "categorical":
        return as_number(own, kind)
    return exp.Lower(this=exp.cast(own, exp.DType.TEXT)) if feature.spelling == "caseless" else own


def _read(query: FeatureQuery, each: Mapped, name: str) -> Operand:
    return Operand(_column(name), query.times.get(name, each.kind_of(name)))
