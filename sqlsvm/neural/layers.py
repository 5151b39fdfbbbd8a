"""The layers of a network, each with its backpropagation.

A layer turns a batch into another one, and says how a gradient comes back through it. The parameters of all layers are
parts of one vector theta.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod, sqrt

import numpy as np

from sqlsvm.solve.arrays import Array

Batch = Array  # a row for each example; of an image: height, width, channel. The numbers may be in single precision.
Back = Callable[[Batch], tuple[Batch, tuple[Batch, ...]]]
"""The gradient in the outputs -> those in the inputs and in the parameters."""


class Layer(ABC):
    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Of its parameters."""
        return ()

    def begin(self, rng: np.random.Generator) -> tuple[Batch, ...]:
        """Parameters to begin with: He's, which keep the size of values through ReLU."""
        return tuple(rng.normal(size=s) * sqrt(2.0 / prod(s[:-1])) if len(s) > 1 else np.zeros(s) for s in self.shapes)

    @abstractmethod
    def run(
        self, parameters: Sequence[Batch], x: Batch, rng: np.random.Generator | None = None
    ) -> tuple[Batch, Back]: ...


@dataclass(frozen=True)
class Dense(Layer):
    inputs: int
    outputs: int

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return (self.inputs, self.outputs), (self.outputs,)

    def run(self, parameters: Sequence[Batch], x: Batch, rng: np.random.Generator | None = None) -> tuple[Batch, Back]:
        w, b = parameters
        return x @ w + b, lambda g: (g @ w.T, (x.T @ g, g.sum(axis=0)))


@dataclass(frozen=True)
class Relu(Layer):
    def run(self, parameters: Sequence[Batch], x: Batch, rng: np.random.Generator | None = None) -> tuple[Batch, Back]:
        return np.maximum(x, 0.0), lambda g: (g * (x > 0), ())


@dataclass(frozen=True)
class Normalise(Layer):
    """Every output has this length, unless it is nearly 0."""

    length: float = 1.0
    least: float = 1e-8

    def run(self, parameters: Sequence[Batch], x: Batch, rng: np.random.Generator | None = None) -> tuple[Batch, Back]:
        norm = np.sqrt((x * x).sum(axis=1, keepdims=True))
        size = np.maximum(norm, self.least)
        y = x / size

        def back(g: Batch) -> tuple[Batch, tuple[Batch, ...]]:
            along = np.where(norm > self.least, (g * y).sum(axis=1, keepdims=True), 0.0)
            return (g - along * y) * (self.length / size), ()

        return y * self.length, back
