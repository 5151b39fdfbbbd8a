"""A model as a graph of ONNX, for runtimes without Python or SQL.

Each feature is an input of one column: numbers, booleans as 0 or 1, and categories that are numbers are doubles, and
texts are strings. NaN stands for a NULL. The outputs are the score, the label and the probability, if there is one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Values
from sqlsvm.errors import OptionError
from sqlsvm.maps import formula
from sqlsvm.maps.mapped import Mapped
from sqlsvm.model.model import AS_GROUPS, Model, Term, code_of
from sqlsvm.model.probability import Probability
from sqlsvm.model.to_sklearn import check_texts

OPSET, ML_OPSET = 17, 4


def graph(model: Model) -> Any:
    """A ModelProto."""
    try:
        from onnx import TensorProto, checker, helper
    except ImportError as error:
        raise OptionError("onnx is not installed", hint="pip install 'sqlsvm[export]'") from error
    check_texts(model.ungrouped_only("a graph has one", AS_GROUPS).linear())
    made = _Graph(frozenset(term.feature for term in model.inputs))
    columns = {name: column for each in model.maps for name, column in _mapped(made, each).items()}
    each = [_score(made, part, columns) for part in model.parts]
    score = made.node("Concat", *each, axis=1) if model.classes else each[0]
    outputs: list[tuple[str, int]] = [(made.node("Identity", score, name="score"), TensorProto.DOUBLE)]
    if not model.of_numbers:
        label = _best if model.classes else _label
        outputs.append((label(made, score, model), _type(np.array(model.trained_on.label_values))))
    if model.curves:
        outputs.append((_probabilities(made, each, model), TensorProto.DOUBLE))
    inputs: list[tuple[str, int]] = [
        (term.feature, TensorProto.STRING if _is_text(term) else TensorProto.DOUBLE) for term in model.inputs
    ]
    given = [helper.make_tensor_value_info(name, type, [None, 1]) for name, type in inputs]
    found = [helper.make_tensor_value_info(n, t, [None, 1 if n.endswith("label") else len(each)]) for n, t in outputs]
    body = helper.make_graph(made.nodes, "sqlsvm", given, found, initializer=made.constants)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    result = helper.make_model(body, producer_name="sqlsvm", opset_imports=opsets, ir_version=9)
    checker.check_model(result)
    return result


@dataclass
class _Graph:
    taken: frozenset[str]  # names of inputs, which no output has
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def constant(self, values: Values) -> str:
        from onnx import numpy_helper

        name = f"constant {len(self.constants)}"
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def node(self, kind: str, *inputs: str, name: str = "", **more: Any) -> str:
        """The name of its output."""
        from onnx import helper

        name = f"{sql.WORKING}{name}" if name in self.taken else name
        output = name or f"value {len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [output], **more))
        return output


def _score(made: _Graph, model: Model, columns: Mapping[str, str]) -> str:
    """`columns` are those that maps make."""
    before, after = model.added
    score = made.constant(np.array([[before]]))
    for term in model.terms:
        value = columns.get(term.feature, term.feature)
        score = made.node("Add", score, _category(made, term) if term.number is None else _number(made, term, value))
    return made.node("Add", score, made.constant(np.array([[after]]))) if after else score


def _best(made: _Graph, scores: str, model: Model) -> str:
    """The class with the largest score."""
    place = made.node("ArgMax", scores, axis=1, keepdims=1)
    values = np.array(model.trained_on.label_values)
    values = values.astype(object) if values.dtype.kind == "U" else values
    return made.node("Gather", made.constant(values), place, name="label")


def _is_text(term: Term) -> bool:
    return bool(term.weights) and term.number is None and isinstance(term.categories[0].category, str)


def _mapped(made: _Graph, each: Mapped) -> dict[str, str]:
    """The new columns of a map; NaN where a column that it reads is."""
    if each.kind != "numeric":
        raise OptionError(f"ONNX has no MD5, which ⟦map {each.map}⟧ computes", hint="export it as sql, json or sklearn")
    operands = [_category(made, code_of(each, name)) if name in each.codes else name for name in each.columns]
    missing = made.node("IsNaN", made.node("Sum", *operands))
    for step in each.steps:
        operands = [_formula(made, formula.tree(text), operands) for text in step]
    nan = made.constant(np.array([[np.nan]]))
    values = {name: _formula(made, formula.tree(text), operands) for name, text in each.formulas.items()}
    return values if each.takes_nulls else {n: made.node("Where", missing, nan, v) for n, v in values.items()}


_OPERATORS = {
    exp.Sub: "Sub",
    exp.Mul: "Mul",
    exp.Div: "Div",
    exp.Neg: "Neg",
    exp.Greatest: "Max",
    exp.Least: "Min",
    exp.Sin: "Sin",
    exp.Cos: "Cos",
    exp.Exp: "Exp",
    exp.Abs: "Abs",
    exp.Sqrt: "Sqrt",
    exp.Floor: "Floor",
    exp.LT: "Less",
    exp.LTE: "LessOrEqual",
    exp.GT: "Greater",
    exp.GTE: "GreaterOrEqual",
    exp.And: "And",
}


def _formula(made: _Graph, node: Any, operands: list[str]) -> str:
    if isinstance(node, exp.Parameter):
        return operands[int(node.this.name) - 1]
    if isinstance(node, exp.Literal):
        return made.constant(np.array([[float(node.name)]]))
    if isinstance(node, exp.Paren):
        return _formula(made, node.this, operands)
    if isinstance(node, exp.Add):
        return made.node("Sum", *(_formula(made, part, operands) for part in formula.addends(node)))
    if isinstance(node, exp.Case):
        found = _formula(made, node.args["default"], operands)
        for branch in reversed(node.args["ifs"]):
            then = _formula(made, branch.args["true"], operands)
            found = made.node("Where", _formula(made, branch.this, operands), then, found)
        return found
    parts = [_formula(made, part, operands) for part in node.iter_expressions()]
    return made.node(_OPERATORS[type(node)], *parts)


def _number(made: _Graph, term: Term, value: str) -> str:
    weight = term.number
    assert weight is not None
    if weight.missing is not None:
        is_missing = made.node("IsNaN", value)
        value = made.node("Where", is_missing, made.constant(np.array([[weight.missing]])), value)
    if term.origin:
        value = made.node("Sub", value, made.constant(np.array([[term.origin]])))
    return made.node("Mul", value, made.constant(np.array([[weight.weight]])))


def _category(made: _Graph, term: Term) -> str:
    """A value that is not known has the weight of all others, or 0."""
    from onnx import helper

    keys: Any = [w.category for w in term.categories]
    weights = [w.weight for w in term.categories]
    if not _is_text(term) and term.others is not None:  # a NULL is none of the others
        keys, weights = [*map(float, keys), float("nan")], [*weights, 0.0]
    dtype = helper.np_dtype_to_tensor_dtype(np.dtype(float))
    of = {
        "keys_tensor": _strings(keys) if _is_text(term) else helper.make_tensor("keys", dtype, [len(keys)], keys),
        "values_tensor": helper.make_tensor("values", dtype, [len(weights)], weights),
        "default_tensor": helper.make_tensor("default", dtype, [1], [term.others or 0.0]),
    }
    return made.node("LabelEncoder", term.feature, domain="ai.onnx.ml", **of)


def _strings(keys: list[str]) -> Any:
    from onnx import TensorProto, helper

    texts: Any = [key.encode() for key in keys]
    return helper.make_tensor("keys", TensorProto.STRING, [len(keys)], texts)


def _type(values: Values) -> int:
    from onnx import TensorProto, helper

    return TensorProto.STRING if values.dtype.kind in "UO" else helper.np_dtype_to_tensor_dtype(values.dtype)


def _label(made: _Graph, score: str, model: Model) -> str:
    """The positive value where the score is above 0."""
    values = np.array(model.trained_on.label_values)
    if values.dtype == bool:  # a runtime need not choose between them
        return made.node("Identity" if values[1] else "Not", _above(made, score), name="label")
    values = values.astype(object) if values.dtype.kind == "U" else values
    negative, positive = (made.constant(np.array([[value]], dtype=values.dtype)) for value in values)
    return made.node("Where", _above(made, score), positive, negative, name="label")


def _above(made: _Graph, score: str) -> str:
    return made.node("Greater", score, made.constant(np.zeros((1, 1))))


def _probabilities(made: _Graph, scores: list[str], model: Model) -> str:
    """That of the positive class; those of all classes, divided by their sum, or equal ones if that is 0."""
    each = [_probability(made, score, p) for score, p in zip(scores, model.curves, strict=True)]
    if not model.classes:
        return made.node("Identity", *each, name="probability")
    own = made.node("Concat", *each, axis=1)
    total = made.node("ReduceSum", own, made.constant(np.array([1])), keepdims=1)
    is_none = made.node("Equal", total, made.constant(np.zeros((1, 1))))
    alike = made.constant(np.full((1, len(each)), 1.0 / len(each)))
    return made.node("Where", is_none, alike, made.node("Div", own, total), name="probability")


def _probability(made: _Graph, score: str, p: Probability) -> str:
    if p.method == "sigmoid":
        slope, offset = (made.constant(np.array([[value]])) for value in (-p.slope, -p.offset))
        return made.node("Sigmoid", made.node("Add", made.node("Mul", score, slope), offset))
    scores, shares = np.array(p.scores), np.array(p.shares)
    widths = np.diff(scores)
    part = made.node("Sub", score, made.constant(scores[None, :-1]))
    part = made.node("Min", made.node("Max", part, made.constant(np.zeros((1, 1)))), made.constant(widths[None, :]))
    rises = made.node("Mul", part, made.constant((np.diff(shares) / widths)[None, :]))
    axis = made.constant(np.array([1]))
    risen = made.node("ReduceSum", rises, axis, keepdims=1)
    return made.node("Add", risen, made.constant(np.array([[shares[0]]])))
