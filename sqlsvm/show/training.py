"""A training as text: a line for each pass, and the result."""

from collections.abc import Iterator
from typing import TextIO

from sqlsvm.model.model import Model
from sqlsvm.paper import facts, on_paper
from sqlsvm.show.models import (
    chosen,
    constraints,
    draw_several,
    draw_weights,
    gap,
    groups,
    held_out,
    times,
    trained,
    validated,
    vectors,
)
from sqlsvm.solve.solution import Record
from sqlsvm.terminal import amount, memory, printable, row_count

TOP = 10  # how many weights are shown by default
MOST_GROUPS = 100


def pass_line(record: Record) -> str:
    """
    >>> pass_line(Record(2, 0.667371, 0.667371, 0.656613, 0.01612, 16, 0.8157))
    'pass 2   objective 0.667371   lower bound 0.656613   gap 0.016   16 buckets   0.82 s'
    """
    parts = [
        f"pass {record.pass_}",
        f"objective {record.objective:.6f}",
        f"lower bound {record.lower_bound:.6f}",
        f"gap {record.gap:.2g}",
        *([] if record.buckets is None else [f"{record.buckets} buckets"]),
        f"{record.seconds:.2f} s",
    ]
    return "   ".join(parts)


def draw_training(model: Model, place: str, stream: TextIO) -> str:
    """`place` says where the model is stored."""
    proof = draw_certificate(model, place, stream)
    if model.support:
        return proof
    drawn = draw_several(model, stream, MOST_GROUPS) if model.family else draw_weights(model, TOP, stream)
    return f"{proof}\n\n{drawn}"


def draw_result(model: Model, stream: TextIO) -> str:
    """Wherever it is kept."""
    return draw_training(model, f"trained in {model.engine}", stream)


def draw_certificate(model: Model, place: str, stream: TextIO) -> str:
    return on_paper(stream, facts(_said(model, place)))


def _said(model: Model, place: str) -> Iterator[tuple[str, str]]:
    version = f", version {model.version}" if model.version else ""
    yield "model", f"{printable(model.name)}{version}, {place}"
    yield from (("unseen", line) for line in validated(model))
    yield from (("chosen", line) for line in chosen(model))
    mean = f", the mean of {len(model.classes)} classes" if model.classes else ""
    worse = "function of this kernel has a lower objective on the sample" if model.support else ""
    worse = worse or "weights have a lower objective"
    yield "objective", f"{objective(model)}{mean}"
    yield "lower bound", f"{model.lower_bound:.6g}{mean}: no {worse}"
    yield "gap", gap(model)
    yield "trained", trained(model)
    yield from (("time", line) for line in times(model))
    yield "join", _whether_made(model)
    yield from vectors(model)
    yield from (("groups", line) for line in groups(model))
    if line := held_out(model):
        yield "held out", line
    yield from (("constraint", line) for line in constraints(model))


def _whether_made(model: Model) -> str:
    if model.in_memory:
        return f"{_join(model)}; small, so it was read once"
    if model.is_made:
        return f"{_join(model)}; the database made it"
    return f"would have been {_join(model)}; it was never made"


def _join(model: Model) -> str:
    """Of rows with weights only the total weight is known, not the number."""
    features = f"{amount(n := len(model.features))} feature{'s' * (n != 1)}"
    rows = row_count(model.join_rows, model.weighted)
    if model.weighted:
        return f"{rows}, with {features}"
    return f"{rows} of {features}, about {memory(8 * (n + 1) * model.join_rows)}"


def objective(model: Model) -> str:
    least, most = f"{model.objective:.6g}", f"{model.objective_upper:.6g}"
    return least if least == most else f"{least} to {most}"
