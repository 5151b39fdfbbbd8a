"""Cross-validation: what the trainings without each fold do on that fold, and the probabilities of the scores there."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sqlsvm.ask.evaluate import evaluate
from sqlsvm.ask.fitting import fitted
from sqlsvm.ask.fold_by_fold import fold_by_fold
from sqlsvm.ask.groups import by_group
from sqlsvm.ask.rows import on_parts, options_of
from sqlsvm.ask.scored import Measures, of_each
from sqlsvm.ask.selecting import best, means, simplest, with_errors
from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError, OptionError
from sqlsvm.measures import known_of
from sqlsvm.model.model import Model, Validated
from sqlsvm.model.raw import less, theta_of
from sqlsvm.model.scored import Scored, fit, together
from sqlsvm.model.several import Curved, grouped, with_curves
from sqlsvm.rules import Facts
from sqlsvm.run.data import Data
from sqlsvm.run.making import NOTHING
from sqlsvm.run.problems import Weighed
from sqlsvm.run.resume import Continuation
from sqlsvm.run.train import NOTHING_ELSE, train_each
from sqlsvm.run.training import Training
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.loss import Loss
from sqlsvm.solve.solution import OnPass


def trained(
    engine: Engine,
    text: str,
    trainings: Mapping[str, Training],
    on_passes: Callable[[str], OnPass | None] = lambda name: None,
    continuations: Mapping[str, Continuation] = NOTHING,
    start: Model | None = None,
    asked: Facts = NOTHING_ELSE,
) -> list[Model]:
    """A model for each training, as `train_each` makes it, with what rows say that it has not seen: its measures, and
    its probability if that was asked for."""
    validation = Validation(trainings)
    training = next(iter(trainings.values()))
    measure, forget = validation.measure, validation.forget
    models = train_each(engine, text, trainings, on_passes, continuations, start, measure, asked, forget)
    if training.learns_in_folds:
        found = {model.name: model for model in models}
        models = [*fold_by_fold(engine, text, trainings, found, measure).values()]
    models = [validation.of(model) for model in models]
    return on_unseen(engine, models, training) if training.holdout else models


def on_unseen(engine: Engine, models: Sequence[Model], training: Training) -> list[Model]:
    """With what the rows held out say, which are read once: the measures, and the probability if that was asked for.
    One model is kept, whatever happens to its measures."""
    method, alone = training.probability, len(models) == 1

    def each(problem: Data) -> list[Model]:
        found = [replace(model, validation=_unseen(problem, model, wanted=alone)) for model in models]
        return [fitted(problem, model, method) for model in found] if method else found

    try:
        return on_parts(engine, models[0], each, ["holdout"], offload=training.offload)["holdout"]
    except (DataError, OptionError) as error:
        if method or not alone:
            raise
        said = f"the rows held out could not be measured: {error.message}"
        return [replace(model, notes=(*model.notes, said)) for model in models]


def _unseen(problem: Data, model: Model, *, wanted: bool) -> dict[str, Validated]:
    """The measures whose errors are known, or all if none is."""
    values: Measures
    errors: Measures = {}
    if model.groups or model.support:
        whole = by_group(problem, model).whole if model.groups else evaluate(problem, model)
        values = known_of(whole) if whole else {}
    else:
        thetas = [theta_of(problem.plan, part, decided=False) for part in model.parts]
        values, errors = with_errors(problem, thetas, options_of(model), model.threshold, wanted=wanted)
    if not values.get("auc"):  # one class has none
        values = {name: value for name, value in values.items() if name != "auc"}
    names = [name for name in values if name in errors or not errors]
    return {name: Validated(values[name], errors.get(name), (values[name],)) for name in names}


Of = tuple[str, object]
"""The name of a training, and the group; None for all rows."""


class Validation:
    """Measures one fold after the other."""

    def __init__(self, trainings: Mapping[str, Training]) -> None:
        self._trainings = trainings
        self.forget()

    def forget(self) -> None:
        """What was measured is of another snapshot."""
        self._measures = defaultdict[Of, dict[int | None, tuple[Measures, Measures]]](dict)
        """Those of each fold, with the standard errors that are known."""
        self._scored = defaultdict[Of, dict[int | None, list[Scored]]](dict)
        """Those of each fold, for each vector of weights."""

    def measure(self, problem: Data, weights: Mapping[str, Weighed]) -> None:
        """Trainings with equal weights and thresholds are measured once."""
        known: dict[tuple[Loss, float, bytes], tuple[Measures, Measures]] = {}
        for name, (thetas, training, threshold) in weights.items():
            of, key = (name, problem.key.group), (training.named_loss, threshold, np.array(thetas).tobytes())
            if key not in known:
                known[key] = with_errors(problem, thetas, training, threshold)
            self._measures[of][problem.key.fold] = known[key]
            if training.probability:
                decided = [less(theta, problem.plan, threshold) for theta in thetas]
                self._scored[of][problem.key.fold] = of_each(problem, decided)

    def of(self, model: Model) -> Model:
        """The model with what was found."""
        if model.groups:
            each = (self._told((model.name, of.value), of) for of in model.groups)
            return over_groups(replace(model, groups=tuple(each)))
        return self._told((model.name, None), model)

    def _told(self, of: Of, model: Curved) -> Curved:
        found, method = self._found(of), self._trainings[of[0]].probability
        model = replace(model, validation=found)
        if not (found and method):
            return model
        each = zip(*self._scored[of].values(), strict=True)
        return with_curves(model, [fit(method, together(scored)) for scored in each])

    def _found(self, of: Of) -> dict[str, Validated]:
        """Nothing if fewer than two folds could be measured."""
        folds = list(self._measures[of].values())
        return {name: _validated(folds, name) for name in folds[0][0]} if len(folds) > 1 else {}


def over_groups(model: Model) -> Model:
    """With the means over the rows of all groups that were measured. Scores of different groups are not compared, so
    there is no AUC."""
    known = [of for of in model.groups if of.validation]
    names = [name for name in known[0].validation if name != "auc"] if known else []
    shares = np.array([of.join_rows for of in known])
    return replace(model, validation={name: _mean([of.validation[name] for of in known], shares) for name in names})


def best_of_groups(models: Sequence[Model], by: str, strengths: Sequence[float] | None) -> Model:
    """With the model of each group that is the best by its folds or, by the strengths of their penalties, the simplest
    of those that are about as good. A group without measures has what most groups have."""
    places = [
        _best_of([of.validation for of in each], by, strengths)
        for each in zip(*(m.groups for m in models), strict=True)
    ]
    (usual, _), *_ = Counter(n for n in places if n is not None).most_common(1) or [(0, 0)]
    kept = [usual if n is None else n for n in places]
    parts = {of.value: models[n].part(place) for place, (of, n) in enumerate(zip(models[0].groups, kept, strict=True))}
    best = grouped(models[0].by or "", parts, models[0].skipped, models[0].ungrouped)
    notes = dict.fromkeys(note for n in sorted({*kept}) for note in models[n].notes)
    return over_groups(replace(best, notes=tuple(notes)))


def _best_of(found: Sequence[Mapping[str, Validated]], by: str, strengths: Sequence[float] | None) -> int | None:
    if not all(by in each for each in found):
        return None
    return simplest(found, by, strengths) if strengths else best([means(each) for each in found], by)


def _mean(found: Sequence[Validated], rows: Array) -> Validated:
    """The rows of groups are others, so their errors are independent."""
    shares = rows / rows.sum()
    error = float(np.sqrt(np.square(shares * [each.standard_error for each in found]).sum()))
    return Validated(float(shares @ [each.mean for each in found]), error, ())


def _validated(folds: Sequence[tuple[Measures, Measures]], name: str) -> Validated:
    """The folds share no row of the label's relation, so their errors are independent. Where these are not known, the
    error is how much the folds differ."""
    values = tuple(measures[name] for measures, _ in folds)
    if all(name in errors for _, errors in folds):
        error = float(np.sqrt(sum(errors[name] ** 2 for _, errors in folds))) / len(values)
    else:
        error = float(np.std(values, ddof=1) / np.sqrt(len(values)))
    return Validated(float(np.mean(values)), error, values)
