"""The rows on which a model is measured, and its weights there."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from sqlsvm.engine.base import Engine
from sqlsvm.errors import OptionError
from sqlsvm.model.model import Model
from sqlsvm.model.stored_query import stored_query
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.plan.target import Target, classes_known, two_known
from sqlsvm.query import FeatureQuery
from sqlsvm.query.facts import Facts
from sqlsvm.query.read_query import Roles
from sqlsvm.query.rewrites.split import PARTS, HeldOut, Holdout, OfFold, Part, marked
from sqlsvm.run.data import Data, Key, prepared
from sqlsvm.run.derived import reading
from sqlsvm.run.holdout import prepared_part
from sqlsvm.run.offload import brought
from sqlsvm.run.opening import labelled
from sqlsvm.run.unchosen import anew
from sqlsvm.run.workspace import Workspace
from sqlsvm.solve.loss import custom

Found = TypeVar("Found")


@anew
def on_all(
    engine: Engine,
    model: Model,
    measured: Callable[[Data], Found],
    *,
    offload: bool | None = None,
    target: Callable[[FeatureQuery], Target | None] = lambda query: None,
) -> Found:
    """`target` says what the rows are measured against, if it is not the label as it is."""
    with _rows(engine, model, offload) as (work, query):
        wanted = target(query) or classes_of(work, query, model)
        return measured(prepared(work, query, options_of(model), wanted, origins=model.origins))


@anew
def on_parts(
    engine: Engine,
    model: Model,
    measured: Callable[[Data], Found],
    parts: Sequence[Part] = PARTS,
    *,
    offload: bool | None = None,
    held_out: Callable[[Data], Found] | None = None,
) -> dict[Part, Found]:
    """`held_out`: how the rows held out are measured, if that is another way."""
    options, holdout = options_of(model), Holdout.of(model.options)
    if holdout is None:
        raise OptionError(f"model {model.name} was trained on all rows", hint="train with --holdout 0.2, say")
    found: dict[Part, Found] = {}
    with _rows(engine, model, offload, holdout) as (work, query):
        for part in parts:
            with work.scratch():
                of_part = held_out if held_out and part == "holdout" else measured
                target = classes_of(work, query, model)
                found[part] = of_part(
                    prepared_part(work, query, options, holdout, part, target=target, origins=model.origins)
                )
    return found


def classes_of(work: Workspace, query: FeatureQuery, model: Model) -> Target | None:
    """Those of the model: the label's relation may have others, and lack some. None if it says itself what they
    are."""
    if model.kinds:
        return classes_known(work.engine, query, model.kinds)
    return None if model.of_numbers else two_known(work.engine, query, model.trained_on.label_values)


@anew
def on_fold(engine: Engine, model: Model, fold: OfFold, measured: Callable[[Data], None], offload: bool | None) -> None:
    """The rows of a fold that the training of this model has not seen."""
    options = options_of(model)
    with _rows(engine, model, offload, fold) as (work, query):
        target = classes_of(work, query, model)
        part = prepared_part(work, query, options, fold, "holdout", target=target, origins=model.origins)
        measured(replace(part, key=Key(fold=fold.number)))


@contextmanager
def _rows(
    engine: Engine, model: Model, offload: bool | None, holdout: HeldOut | None = None
) -> Iterator[tuple[Workspace, FeatureQuery]]:
    query = labelled(engine, stored_query(engine, model), options_of(model), model.maps)
    query = marked(holdout)(query, Facts(engine))
    with brought(engine, query, offload) as (here, query), reading(here, query) as (work, query):
        yield work, query


def roles_of(model: Model) -> Roles:
    """What its outputs were, for what is asked about its query."""
    asked = options_of(model)
    return {"label": asked.label, "weight": asked.weight, "categorical": asked.categorical}


def options_of(model: Model) -> ProblemOptions:
    """What its rows were made by. Class weights and scaling are matters of the training alone: the weights of a model
    are those of the query's own columns."""
    stored = model.options.get("problem", {})
    kept = {name: stored[name] for name in _KEPT if name in stored}
    return ProblemOptions(
        label=model.label,
        positive=model.positive,
        nulls=model.nulls,
        categorical=tuple(stored.get("categorical", ())),
        constrain=tuple(stored.get("constrain", ())),
        pieces=custom.given(stored.get("pieces", ())),
        scale="none",
        **kept,
    )


_KEPT = "by", "time", "weight", "counting", "intercept", "loss", "width", "tube", "quantile", "delta"
