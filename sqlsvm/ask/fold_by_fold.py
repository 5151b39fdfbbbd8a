"""Folds that share nothing, because a map has learned from labels: each fold is held out of a training of its own, with
a network of its own."""

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter

from sqlsvm.ask.rows import on_fold
from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError
from sqlsvm.model.model import Model
from sqlsvm.model.raw import start_of
from sqlsvm.query.facts import Facts
from sqlsvm.query.rewrites.split import OfFold
from sqlsvm.run.data import Data
from sqlsvm.run.folding import Missed
from sqlsvm.run.opening import labelled
from sqlsvm.run.problems import OnFold, Weighed
from sqlsvm.run.train import train_each
from sqlsvm.run.training import Training
from sqlsvm.terminal import NOTE

steps = logging.getLogger(__name__)


def fold_by_fold(
    engine: Engine, text: str, trainings: Mapping[str, Training], models: Mapping[str, Model], measure: OnFold
) -> dict[str, Model]:
    """The same trainings, of which these models are, without each fold."""
    training, began = next(iter(trainings.values())), perf_counter()
    query = labelled(engine, text, replace(training, map=()))
    rounds = training.parts.split(query, Facts(engine)).rounds
    said = "note: each fold learns a network of its own and shares no pass: %s folds take about as long as %s trainings"
    steps.log(NOTE, said, len(rounds), len(rounds))
    missed = Missed(len(rounds), Counter[str](), list[DataError]())
    for fold in range(len(rounds)):
        each = ((name, training.as_chosen(models[name])) for name, training in trainings.items())
        without = {name: replace(training, fold=fold, unchosen="") for name, training in each}
        try:
            found = train_each(engine, text, without)
            missed.unproven.update(model.name for model in found if not model.converged)
            _measured(engine, found, without, OfFold(training.parts, fold), measure, training.offload)
        except DataError as error:
            missed.errors.append(error)
    told = missed.told(models)
    first = told[next(iter(trainings))]
    told[first.name] = replace(first, phases={**first.phases, "folds": perf_counter() - began})
    return told


def _measured(
    engine: Engine,
    found: list[Model],
    trainings: Mapping[str, Training],
    fold: OfFold,
    measure: OnFold,
    offload: bool | None,
) -> None:
    """Of these models: they have the same maps."""

    def weights(problem: Data) -> None:
        each = ((model, [start_of(problem.plan, part) for part in model.parts]) for model in found)
        measure(problem, {m.name: Weighed(thetas, trainings[m.name], m.threshold) for m, thetas in each})

    on_fold(engine, found[0], fold, weights, offload)
