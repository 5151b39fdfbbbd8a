"""F_theta: a network as a function of its parameters and of a batch."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from sqlsvm.neural.layers import Batch, Dense, Layer, Relu

Pull = Callable[[Batch], Batch]  # the gradient in the outputs -> that in theta


@dataclass(frozen=True)
class Network:
    layers: tuple[Layer, ...]

    def begin(self, rng: np.random.Generator) -> Batch:
        return np.concatenate([part.ravel() for layer in self.layers for part in layer.begin(rng)])

    def __call__(self, theta: Batch, x: Batch) -> Batch:
        for layer, parameters in self.split(theta):
            x, _ = layer.run(parameters, x)
        return x

    def in_parts(self, theta: Batch, x: Batch, at_once: int = 32) -> Batch:
        """The outputs of many rows. What lies between the layers stays in the cache of the processor."""
        return np.concatenate([self(theta, x[first : first + at_once]) for first in range(0, len(x), at_once)])

    def traced(self, theta: Batch, x: Batch, rng: np.random.Generator | None = None) -> tuple[Batch, Pull]:
        """The outputs, and the way back to theta. With a generator, layers drop out."""
        backs = []
        for layer, parameters in self.split(theta):
            x, back = layer.run(parameters, x, rng)
            backs.append(back)

        def pull(g: Batch) -> Batch:
            found: list[Batch] = []
            for back in reversed(backs):
                g, parts = back(g)
                found += [part.ravel() for part in reversed(parts)]
            return np.concatenate(found[::-1])

        return x, pull

    def split(self, theta: Batch) -> Iterator[tuple[Layer, list[Batch]]]:
        first = 0
        for layer in self.layers:
            parts = []
            for shape in layer.shapes:
                last = first + prod(shape)
                parts.append(theta[first:last].reshape(shape))
                first = last
            yield layer, parts


def connected(inputs: int, *outputs: int, last: tuple[Layer, ...] = ()) -> Network:
    """Fully connected layers, each with ReLU."""
    sizes = zip((inputs, *outputs), outputs, strict=False)
    return Network((*(layer for size in sizes for layer in (Dense(*size), Relu())), *last))
