"""The weights of a model, on the user's own columns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Annotated, Any, ClassVar, overload

import numpy as np

from sqlsvm.model.plain import OTHER_IN_JSON, plain, texts
from sqlsvm.plan.design import OTHER, without_other
from sqlsvm.reading import INFINITE, Misread, reader, unexpected
from sqlsvm.solve.arrays import Array


def _category(found: object) -> object:
    return OTHER if found == OTHER_IN_JSON else reader(object).read(found)


@dataclass(frozen=True)
class Weight:
    """score = intercept + sum of weight * column. `scaled_weight` is on the features as scaled for training.

    A category is a column that is 1 where the feature has that value. OTHER is 1 where it has a value that none of its
    categories is; in JSON it is {"other": true}, because any text may be a category. `missing` replaces a NULL; it is
    None if NULLs are refused or their rows dropped."""

    feature: str
    category: Annotated[Any, _category]
    weight: float
    scaled_weight: float
    missing: float | None = None


@dataclass(frozen=True, eq=False)
class Weights(Sequence[Weight]):
    """They are kept in columns, and each is made when it is read: a feature may have 100,000 categories. All weights of
    a feature stand together. It is one number, or has categories of one kind, each once."""

    features: Sequence[str]
    categories: Sequence[Any]
    values: Array
    scaled: Array
    missing: Sequence[float | None]

    READ_AS: ClassVar = tuple[Weight, ...]

    @classmethod
    def of(cls, weights: Sequence[Weight] = ()) -> "Weights":
        rows = [(w.feature, w.category, w.weight, w.scaled_weight, w.missing) for w in weights]
        features, categories, values, scaled, missing = zip(*rows, strict=True) if rows else ((),) * 5
        return cls(features, categories, np.array(values, dtype=float), np.array(scaled, dtype=float), missing)

    @classmethod
    def read(cls, weights: tuple[Weight, ...]) -> "Weights":
        found = cls.of(weights)
        found._check()
        return found

    def as_json(self) -> list[dict[str, Any]]:
        """A list of the fields of each."""
        columns = map(plain, (self.features, self.categories, self.values, self.scaled, self.missing))
        return [
            {"feature": feature, "category": category, "weight": weight, "scaled_weight": scaled, "missing": missing}
            for feature, category, weight, scaled, missing in zip(*columns, strict=True)
        ]

    def lines(self) -> Iterator[str]:
        """The same as texts. They are made a column at a time, which takes half of the time; and most of that is for
        numbers, which are mostly the same before and after scaling."""
        features, categories, values, missing = map(texts, (self.features, self.categories, self.values, self.missing))
        scaled, other = values.copy(), np.flatnonzero(self.scaled != self.values)
        for place, text in zip(other.tolist(), texts(self.scaled[other]), strict=True):
            scaled[place] = text
        form = '{"feature": %s, "category": %s, "weight": %s, "scaled_weight": %s, "missing": %s}'
        return map(form.__mod__, zip(features, categories, values, scaled, missing, strict=True))

    @property
    def columns(self) -> Iterator[tuple[str, Any]]:
        """What each is for: a feature, and a category of it or None."""
        return zip(self.features, self.categories, strict=True)

    def heaviest(self, top: int | None = None) -> tuple[Weight, ...]:
        """Those with the largest scaled weights first: scaled features have the same size, so they are comparable."""
        below, places = -np.abs(self.scaled), np.arange(len(self))
        if top and top < len(self):  # to sort them all would take ten times as long
            places = np.flatnonzero(below <= np.partition(below, top)[top])
        order = places[np.argsort(below[places], kind="stable")][:top]
        return tuple(self[place] for place in order.tolist())

    def __len__(self) -> int:
        return len(self.features)

    @overload
    def __getitem__(self, at: int) -> Weight: ...
    @overload
    def __getitem__(self, at: slice) -> "Weights": ...
    def __getitem__(self, at: int | slice) -> "Weight | Weights":
        if not isinstance(at, slice):
            numbers = float(self.values[at]), float(self.scaled[at])
            return Weight(self.features[at], self.categories[at], *numbers, self.missing[at])
        arrays = self.values[at], self.scaled[at]
        return Weights(self.features[at], self.categories[at], *arrays, self.missing[at])

    def __iter__(self) -> Iterator[Weight]:
        values, scaled = self.values.tolist(), self.scaled.tolist()
        return map(Weight, self.features, self.categories, values, scaled, self.missing)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def _check(self) -> None:
        place, seen = 0, set()
        for feature, group in groupby(self.columns, key=itemgetter(0)):
            categories = [category for _, category in group]
            if categories == [OTHER]:
                raise Misread("is for all others, and there is no category").at("category").at(place)
            if feature in seen:
                raise Misread(f"the weights of {feature} must stand together").at("feature").at(place)
            if len(categories) > 1:
                _check_categories(categories, place)
            place += len(categories)
            seen.add(feature)


def _check_categories(categories: list[object], first: int) -> None:
    if OTHER in categories[:-1]:
        raise Misread("the weight of all others must be the last").at("category").at(first + categories.index(OTHER))
    categories = list(without_other(tuple(categories)))
    if categories[0] is not None and len(set(map(type, categories))) == 1 and len(set(categories)) == len(categories):
        return  # first, for speed
    kind, seen = _kind(categories[0]), set()
    for place, category in enumerate(categories, first):
        if category is None or (_kind(category) is not kind and category not in INFINITE):
            wanted = "a category" if category is None else f"{_SAID[kind]} as in weights[{first}]"
            raise unexpected(wanted, category).at("category").at(place)
        if category in seen:
            raise Misread("the category is there twice").at("category").at(place)
        seen.add(category)


_SAID = {str: "text", bool: "true or false", float: "a number"}


def _kind(category: object) -> type:
    return type(category) if isinstance(category, str | bool) else float
