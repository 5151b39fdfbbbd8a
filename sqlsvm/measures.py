"""What says how good a model is. Each measure is declared once: the labels that it is for, whether less is better, and
where it decides. What is measured is an answer of `model/`: a measure is one of its values, by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

Label = Literal["two classes", "several classes", "a number"]
TWO: Label = "two classes"
SEVERAL: Label = "several classes"
NUMBER: Label = "a number"


class Answer(Protocol):
    """How good scores are for labels of one kind: its values, or `measures` of several classes."""

    kind: ClassVar[Label]


@dataclass(frozen=True)
class Measure:
    name: str
    of: tuple[Label, ...]
    shown: bool = False  # is it one of the few that folds and several models are told by?
    decides: bool = False  # may --select and --measure take it? It is shown then
    smaller: bool = False  # is less better?
    needs: Literal["loss", "probabilities"] | None = None
    """What scores and labels alone do not say: the loss of the training, or the probabilities of its model."""
    said: str = ""  # in a table, where the name is too short for one
    among_several: str = ""  # its name among the values of several classes, where that is another

    @property
    def is_shown(self) -> bool:
        return self.shown or self.decides

    @property
    def words(self) -> str:
        return self.said or self.name.replace("_", " ")

    @property
    def title(self) -> str:
        """At the head of a chart."""
        return "AUC" if self.name == "auc" else self.words.capitalize()

    def value(self, found: Any) -> float | None:
        """In an answer, without the bounds that it has for some."""
        if found.kind == SEVERAL:
            return float(found.measures[self.among_several or self.name])
        value: float | None = getattr(getattr(found, self.name), "value", getattr(found, self.name))
        return value


_CLASSES = TWO, SEVERAL
MEASURES: Mapping[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("loss", (TWO, SEVERAL, NUMBER), decides=True, smaller=True, needs="loss"),
        Measure("accuracy", _CLASSES, decides=True),
        Measure("precision", (TWO,)),
        Measure("recall", (TWO,)),
        Measure("f1", _CLASSES, decides=True, among_several="macro_f1"),
        Measure("balanced_accuracy", _CLASSES, decides=True),
        Measure("auc", (TWO,), decides=True),
        Measure("brier", (TWO,), smaller=True, needs="probabilities"),
        Measure("log_loss", (TWO,), smaller=True, needs="probabilities"),
        Measure("mae", (NUMBER,), decides=True, smaller=True, said="mean absolute error"),
        Measure("rmse", (NUMBER,), decides=True, smaller=True, said="root mean square error"),
        Measure("r2", (NUMBER,), said="R^2"),
        Measure("pinball", (NUMBER,), smaller=True),
        Measure("coverage", (NUMBER,), shown=True),
    )
}
USUAL: Mapping[Label, str] = {TWO: "auc", SEVERAL: "accuracy", NUMBER: "loss"}  # what decides if nothing is asked for
DECIDING = tuple(name for name, measure in MEASURES.items() if measure.decides)


def deciding(label: Label) -> tuple[str, ...]:
    """Those that may decide for such a label."""
    return tuple(name for name in DECIDING if label in MEASURES[name].of)


def values_of(found: Answer) -> dict[str, float]:
    """Those that are shown, but the loss; 0 where there is none, as without rows of a class."""
    return dict.fromkeys((n for n in of_scores(found.kind) if MEASURES[n].is_shown), 0.0) | known_of(found)


def known_of(found: Answer) -> dict[str, float]:
    """The same without those that there are not."""
    each = {name: MEASURES[name].value(found) for name in of_scores(found.kind) if MEASURES[name].is_shown}
    return {name: value for name, value in each.items() if value is not None}


def of_scores(label: Label, *, probabilities: bool = False) -> tuple[str, ...]:
    """Those that scores say of such labels, or the probabilities made of them too."""
    known = (None, "probabilities") if probabilities else (None,)
    return tuple(name for name, measure in MEASURES.items() if label in measure.of and measure.needs in known)
