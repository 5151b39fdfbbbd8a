"""Cross-validation: what the trainings without each fold do on that fold, the probabilities of the scores there, and
the choice among models. Where a map has learned from labels, each fold is held out of a training of its own.
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from sqlsvm.ask.confusion import classed, confusion
from sqlsvm.ask.evaluate import evaluate, in_each, residuals_of
from sqlsvm.ask.intervals import mean_loss, with_intervals, with_intervals_of_numbers
from sqlsvm.ask.rows import on_parts, options_of, part_for
from sqlsvm.ask.scored import FINE, Measures, of_each, of_plan, of_rows
from sqlsvm.compile.clusters import apart
from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError, OptionError
from sqlsvm.measures import MEASURES, NUMBER, SEVERAL, TWO, Label, known_of, values_of
from sqlsvm.model.evaluation import Evaluation, Residuals
from sqlsvm.model.model import Model, OfGroup, Validated
from sqlsvm.model.scored import Answer, Scored, answered, fit, losses, together
from sqlsvm.model.scored import with_intervals as of_scored
from sqlsvm.model.several import Curved, grouped, less, start_of, theta_of, with_curves
from sqlsvm.options import NUMBER_LOSSES, ProbabilityMethod
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.query import FeatureQuery
from sqlsvm.query.facts import Facts
from sqlsvm.query.rewrites.split import OfFold, holdout_of
from sqlsvm.run.data import Data, Key, against_others
from sqlsvm.run.folding import Missed
from sqlsvm.run.making import NOTHING
from sqlsvm.run.notes import listed, unmeasured
from sqlsvm.run.opening import labelled
from sqlsvm.run.problems import OnFold, Weighed
from sqlsvm.run.resume import Continuation
from sqlsvm.run.train import NOTHING_ELSE, train_each
from sqlsvm.run.training import Training
from sqlsvm.run.workspace import Workspace
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.loss import Loss
from sqlsvm.solve.solution import OnPass
from sqlsvm.terminal import NOTE


def fold_by_fold(
    engine: Engine, text: str, trainings: Mapping[str, Training], models: Mapping[str, Model], measure: OnFold
) -> dict[str, Model]:
    """The same trainings, of which these models are, without each fold."""
    training, began = next(iter(trainings.values())), perf_counter()
    query = labelled(engine, text, replace(training, map=()))
    rounds = training.parts.split(query, Facts(engine)).rounds
    said = "note: each fold learns maps of its own and shares no pass: %s folds take about as long as %s trainings"
    steps.log(NOTE, said, len(rounds), len(rounds))
    missed, seen = Missed(len(rounds), Counter[str](), list[DataError]()), Counter[object]()
    for fold in range(len(rounds)):
        without = {name: replace(_again(each, models[name]), fold=fold) for name, each in trainings.items()}
        try:
            found = train_each(engine, text, without)
            missed.unproven.update(model.name for model in found if not model.converged)
            seen.update(_measured(engine, found, without, OfFold(training.parts, fold), measure, training.offload))
        except DataError as error:
            missed.errors.append(error)
    told, measured = missed.told(models), len(rounds) - len(missed.errors)
    for name, model in told.items():
        if lost := [of.value for of in model.groups if seen[of.value] < measured]:
            told[name] = replace(model, notes=(*model.notes, unmeasured(model.by, lost)))
    first = told[next(iter(trainings))]
    told[first.name] = replace(first, phases={**first.phases, "folds": perf_counter() - began})
    return told


def _again(training: Training, model: Model) -> Training:
    """With what was chosen. Each group chooses anew: its choice is part of what is measured."""
    return replace(training.like(model) if model.groups else training.as_chosen(model), unchosen="")


def _measured(
    engine: Engine,
    found: list[Model],
    trainings: Mapping[str, Training],
    fold: OfFold,
    measure: OnFold,
    offload: bool | None,
) -> list[object]:
    """Of these models: they have the same maps. The groups that have all classes are measured, and are the answer."""

    def weights(problem: Data, found: Sequence[Model]) -> None:
        each = ((model, [start_of(problem.plan, part) for part in model.parts]) for model in found)
        own = {model.name: trainings[model.name].with_loss(model.loss) for model in found}
        measure(problem, {m.name: Weighed(thetas, own[m.name], m.threshold) for m, thetas in each})

    def measured(problem: Data) -> list[object]:
        problem = replace(problem, key=Key(fold=fold.number))
        if not found[0].groups:
            weights(problem, found)
            return []
        return [group.value for group, _ in in_each(problem, found, weights, apart=True, check=True)]

    return on_parts(engine, found[0], measured, ["holdout"], offload=offload, holdout=fold)["holdout"]


MOST_BAGS = 2  # with more, what a row adds to a measure takes minutes to count


def best(measures: Sequence[Measures], by: str) -> int:
    """The place of the best one; of the first, if several are."""
    if by not in measures[0]:
        hint = f"take {', '.join(measures[0])}"
        raise OptionError(f"there is no {by} of a label with more than two classes", hint=hint)
    values = [found[by] for found in measures]
    return values.index((min if MEASURES[by].smaller else max)(values))


def simplest(found: Sequence[Mapping[str, Validated]], by: str, strengths: Sequence[float]) -> int:
    """The place of the model with the strongest penalty among those that are at most one standard error worse than the
    best."""
    top = found[best([means(each) for each in found], by)][by]
    near = [n for n, each in enumerate(found) if abs(each[by].mean - top.mean) <= (top.standard_error or 0.0)]
    return max(near, key=lambda n: strengths[n])


def means(found: Mapping[str, Validated]) -> Measures:
    return {name: measure.mean for name, measure in found.items()}


def with_errors(
    problem: Data, thetas: Sequence[Array], options: ProblemOptions, threshold: float = 0.0, *, wanted: bool = True
) -> tuple[Measures, Measures]:
    """What raw weights reach, without class weights; of several classes the mean loss over all of them, which knows no
    threshold. And the standard errors of those for which rows of the label's relation are known to be clusters. Those
    of rows in memory are, unless the label's relation is in a cycle."""
    loss, is_number, plan = options.named_loss, options.loss in NUMBER_LOSSES, problem.plan
    wanted = len(thetas) == 1 and (wanted and len(plan.bags) <= MOST_BAGS if problem.raw is None else bool(apart(plan)))
    found: Answer
    if problem.raw is None and (len(thetas) > 1 or is_number):
        each = zip(against_others(problem), thetas, strict=False)  # rows may have a class that no theta is for
        cost = float(np.mean([mean_loss(own, theta, options) for own, theta in each]))
        found = residuals_of(problem, thetas[0], options.quantile) if is_number else confusion(classed(problem, thetas))
        if isinstance(found, Residuals) and wanted:
            found = with_intervals_of_numbers(found, problem, thetas[0], options, cost)
        return {"loss": cost} | values_of(found), errors_of(found)
    decided = [less(theta, plan, threshold) for theta in thetas]
    scored = _scored(problem, decided, exactly=wanted)
    costs = losses(replace(scored, scores=scored.scores + threshold), loss)
    kind: Label = SEVERAL if len(thetas) > 1 else NUMBER if is_number else TWO
    found = answered(kind, scored, names=tuple(range(len(thetas))), quantile=options.quantile)
    if wanted and problem.raw is not None:
        found = of_scored(found, scored, loss)
    elif wanted and isinstance(found, Evaluation):
        found = with_intervals(found, scored, problem, decided[0], options)
    return {"loss": scored.mean(costs)} | values_of(found), errors_of(found)


def errors_of(found: Answer) -> Measures:
    return {name: each.standard_error for name, each in found.intervals.items()}


def _scored(problem: Data, thetas: Sequence[Array], *, exactly: bool) -> Scored:
    """On the grid a measure is off by far less than what a sample of rows tells. Over several bags the list of exact
    scores is too long for most joins."""
    plan = problem.plan
    if problem.raw is not None:
        return of_rows(plan.design, problem.raw, thetas)
    plan = plan if exactly or not plan.links else replace(plan, method="grid")
    return of_plan(problem.work, plan, thetas[0], FINE)


steps = logging.getLogger(__name__)


def fitted(problem: Data, model: Model, method: ProbabilityMethod) -> Model:
    """With its probability, on the rows held out. With folds, the scores there give it."""
    steps.info("fitting the probabilities")
    return (_of_groups if model.groups else _of_all)(problem, model, method)


def _of_all(problem: Data, model: Model, method: ProbabilityMethod) -> Model:
    """The rows held out have all classes, or they could not be prepared."""
    each = of_each(problem, _thetas(problem, model))
    return with_curves(model, [fit(method, scored) for scored in each])


def _of_groups(problem: Data, model: Model, method: ProbabilityMethod) -> Model:
    """Each group has a curve of its own, if its rows have all classes."""

    def scored(problem: Data, parts: Sequence[Model]) -> list[Scored]:
        return of_each(problem, _thetas(problem, parts[0]))

    found = {group.value: own for group, own in in_each(problem, [model], scored)}
    fitted = [_with_curves(of, method, found.get(of.value, ())) for of in model.groups]
    lacking = [before.value for before, of in zip(model.groups, fitted, strict=True) if of is before]
    said = f"there is no probability for {model.by} {listed(lacking)}: a class has no rows that are held out"
    return replace(model, groups=tuple(fitted), notes=(*model.notes, *([said] if lacking else [])))


def _with_curves(of: OfGroup, method: ProbabilityMethod, each: Sequence[Scored]) -> OfGroup:
    if not each or not all(own.counts.any() for scored in each for own in scored.own):
        return of
    return with_curves(of, [fit(method, scored) for scored in each])


def _thetas(problem: Data, model: Model) -> list[Array]:
    return [theta_of(problem.plan, part) for part in model.parts]


OnUnseen = Callable[[Data, Model], None]


def trained(
    engine: Engine,
    text: str,
    trainings: Mapping[str, Training],
    on_passes: Callable[[str], OnPass | None] = lambda name: None,
    continuations: Mapping[str, Continuation] = NOTHING,
    start: Model | None = None,
    asked: Mapping[str, Any] = NOTHING_ELSE,
    told: OnUnseen | None = None,
) -> list[Model]:
    """A model for each training, as `train_each` makes it, with what rows say that it has not seen: its measures, and
    its probability if that was asked for. `told` gets the rows held out with each model, for more to measure."""
    validation = Validation(trainings)
    training = next(iter(trainings.values()))
    measure, forget = validation.measure, validation.forget
    unseen = partial(on_unseen, training=training, told=told) if training.holdout else None
    models = train_each(engine, text, trainings, on_passes, continuations, start, measure, asked, forget, unseen)
    if training.learns_in_folds and not validation.began:  # trees may have been left out
        found = {model.name: model for model in models}
        models = [*fold_by_fold(engine, text, trainings, found, measure).values()]
    return models if unseen else [validation.of(model) for model in models]


def on_unseen(
    work: Workspace, query: FeatureQuery, models: list[Model], training: Training, told: OnUnseen | None = None
) -> list[Model]:
    """With what the rows held out say: the measures, and the probability if that was asked for. One model is kept,
    whatever happens to its measures."""
    method, alone = training.probability, len(models) == 1
    holdout = holdout_of(models[0].options)
    assert holdout
    try:
        with work.scratch():
            problem = part_for(work, query, models[0], holdout, "holdout")
            found = (
                _unseen_by_group(problem, models)
                if models[0].groups
                else [replace(model, validation=_unseen(problem, model, wanted=alone)) for model in models]
            )
            found = [fitted(problem, model, method) for model in found] if method else found
            if told:
                for model in found:
                    told(problem, model)
            return found
    except (DataError, OptionError) as error:
        if method or not alone:
            raise
        said = f"the rows held out could not be measured: {error.message}"
        return [replace(model, notes=(*model.notes, said)) for model in models]


def _unseen(problem: Data, model: Model, *, wanted: bool) -> dict[str, Validated]:
    """The measures whose errors are known, or all if none is."""
    values: Measures
    errors: Measures = {}
    if model.support:
        values = known_of(evaluate(problem, model))
    else:
        thetas = [theta_of(problem.plan, part, decided=False) for part in model.parts]
        values, errors = with_errors(problem, thetas, options_of(model), model.threshold, wanted=wanted)
    if not values.get("auc"):  # one class has none
        values = {name: value for name, value in values.items() if name != "auc"}
    names = [name for name in values if name in errors or not errors]
    return {name: Validated(values[name], errors.get(name), (values[name],)) for name in names}


def _unseen_by_group(problem: Data, models: Sequence[Model]) -> list[Model]:
    def measured(problem: Data, parts: Sequence[Model]) -> list[dict[str, Validated]]:
        return [_unseen(problem, part, wanted=True) for part in parts]

    found = {group.value: (group.rows, each) for group, each in in_each(problem, models, measured, apart=True)}
    rows = {value: rows for value, (rows, _) in found.items()}

    def with_measures(model: Model, place: int) -> Model:
        each = ((of, found.get(of.value)) for of in model.groups)
        groups = (replace(of, validation=known[1][place]) if known else of for of, known in each)
        return over_groups(replace(model, groups=tuple(groups)), rows)

    return [with_measures(model, place) for place, model in enumerate(models)]


Of = tuple[str, object]  # the name of a training, and the group; None for all rows


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

    @property
    def began(self) -> bool:
        return bool(self._measures)

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


EACH: Mapping[object, float] = {}  # the rows of each group, where they are not those of the training


def over_groups(model: Model, rows: Mapping[object, float] = EACH) -> Model:
    """With the means over the rows of all groups that were measured. Scores of different groups are not compared, so
    there is no AUC; nor are losses that are not one."""
    known = [of for of in model.groups if of.validation]
    apart = {"auc"} if len(model.choices("loss")) == 1 else {"auc", "loss"}
    every = [dict.fromkeys(of.validation) for of in known]
    names = [name for name in (every or [{}])[0] if name not in apart and all(name in own for own in every)]
    shares = np.array([rows.get(of.value, of.join_rows) for of in known])
    return replace(
        model,
        validation={
            name: _mean([of.validation[name] for of in known], shares, 1.0 + (name == "rmse")) for name in names
        },
    )


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


def _mean(found: Sequence[Validated], rows: Array, power: float) -> Validated:
    """Of powers, as of squares. The rows of groups are others, so their errors are independent."""
    shares, errors = rows / rows.sum(), [each.standard_error for each in found]
    means = np.array([each.mean for each in found])
    mean = float(shares @ means**power) ** (1.0 / power)
    pulls = shares * (means / mean if mean else 1.0) ** (power - 1.0)
    return Validated(mean, None if None in errors else float(np.sqrt(np.square(pulls * errors).sum())), ())


def _validated(folds: Sequence[tuple[Measures, Measures]], name: str) -> Validated:
    """The folds share no row of the label's relation, so their errors are independent. Where these are not known, the
    error is how much the folds differ."""
    values = tuple(measures[name] for measures, _ in folds)
    if all(name in errors for _, errors in folds):
        error = float(np.sqrt(sum(errors[name] ** 2 for _, errors in folds))) / len(values)
    else:
        error = float(np.std(values, ddof=1) / np.sqrt(len(values)))
    return Validated(float(np.mean(values)), error, values)
