"""The layers of a network that looks at images, next to those of sqlsvm.neural."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from sqlsvm.neural.layers import Back, Batch, Layer


@dataclass(frozen=True)
class Convolution(Layer):
    """Square filters, only where they fit into the image."""

    size: int
    inputs: int
    outputs: int

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return (self.inputs * self.size**2, self.outputs), (self.outputs,)

    def run(self, parameters: Sequence[Batch], x: Batch, rng: np.random.Generator | None = None) -> tuple[Batch, Back]:
        (w, b), k = parameters, self.size
        windows = sliding_window_view(x, (k, k), axis=(1, 2)).transpose(0, 1, 2, 4, 5, 3)  # k rows of k channels lie
        n, height, width = windows.shape[:3]  # in one piece each, which is quick to copy
        patches = windows.reshape(n * height * width, -1)

        def back(g: Batch) -> tuple[Batch, tuple[Batch, ...]]:
            found, flat = np.zeros_like(x), g.reshape(-1, self.outputs)
            for (i, j), part in zip(product(range(k), repeat=2), w.reshape(k * k, self.inputs, -1), strict=True):
                found[:, i : i + height, j : j + width] += (flat @ part.T).reshape(n, height, width, -1)
            return found, (patches.T @ flat, flat.sum(axis=0))

        return (patches @ w + b).reshape(n, height, width, self.outputs), back


@dataclass(frozen=True)
class MaxPool(Layer):
    """The largest of each 2 x 2 pixels."""

    def run(self, parameters: Sequence[Batch], x: Batch, rng: np.random.Generator | None = None) -> tuple[Batch, Back]:
        rows = np.maximum(x[:, ::2], x[:, 1::2])
        y = np.maximum(rows[:, :, ::2], rows[:, :, 1::2])

        def back(g: Batch) -> tuple[Batch, tuple[Batch, ...]]:
            found, left = np.zeros_like(x), np.ones(y.shape, dtype=bool)
            for i, j in product(range(2), repeat=2):
                chosen = left & (x[:, i::2, j::2] == y)
                found[:, i::2, j::2] = g * chosen
                left &= ~chosen
            return found, ()

        return y, back


@dataclass(frozen=True)
class Dropout(Layer):
    """In training, whole channels are 0 at random, and the others larger."""

    share: float

    def run(self, parameters: Sequence[Batch], x: Batch, rng: np.random.Generator | None = None) -> tuple[Batch, Back]:
        if rng is None:
            return x, lambda g: (g, ())
        shape = (len(x), *(1,) * (x.ndim - 2), x.shape[-1])
        kept = ((rng.random(shape) >= self.share) / (1.0 - self.share)).astype(x.dtype)
        return x * kept, lambda g: (g * kept, ())


@dataclass(frozen=True)
class Flatten(Layer):
    def run(self, parameters: Sequence[Batch], x: Batch, rng: np.random.Generator | None = None) -> tuple[Batch, Back]:
        return x.reshape(len(x), -1), lambda g: (g.reshape(x.shape), ())
