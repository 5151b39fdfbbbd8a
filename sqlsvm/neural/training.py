"""Four ways to train a network together with a support vector machine on its outputs (Simon and Radons 2023).

The letters are theirs: F is the network, theta its parameters, K the kernel, alpha how often an example was within its
margin, t the step. `strength` is their lambda. The score is (1 / (strength T)) sum alpha y K(z, F(x)).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqlsvm.kernel.pegasos import after, kernelised
from sqlsvm.neural.kernels import Between
from sqlsvm.neural.layers import Batch
from sqlsvm.neural.network import Network

Integers = NDArray[np.int64]

AHEAD = 64  # at most so many examples are looked at together


@dataclass(frozen=True)
class Steps:
    """Gradient descent in theta: with momentum, with `decay` times theta added to the gradient, and with gradients that
    are no longer than `longest`. theta is `moving` in this share of the steps, and then stays as it is. Meanwhile the
    rate falls to 0 along a half cosine if it `fades`."""

    number: int
    rate: float
    momentum: float = 0.9
    decay: float = 1e-4
    longest: float = 1.0
    fades: bool = True
    moving: float = 1.0

    def rate_at(self, t: int) -> float:
        part = t / (self.moving * self.number)
        if part >= 1.0:
            return 0.0
        return self.rate * (0.5 + 0.5 * float(np.cos(np.pi * part)) if self.fades else 1.0)


@dataclass
class Descent:
    """theta on its way."""

    steps: Steps
    theta: Batch
    velocity: Batch = field(init=False)

    def __post_init__(self) -> None:
        self.velocity = np.zeros_like(self.theta)

    def stays(self, t: int) -> bool:
        return self.steps.rate_at(t) == 0.0

    def step(self, t: int, gradient: Batch) -> None:
        if self.stays(t):
            return
        length = float(np.sqrt((gradient * gradient).sum()))
        gradient = gradient * min(1.0, self.steps.longest / max(length, 1e-300)) + self.steps.decay * self.theta
        self.velocity = self.steps.momentum * self.velocity - self.steps.rate_at(t) * gradient
        self.theta = self.theta + self.velocity.astype(self.theta.dtype)


@dataclass(frozen=True)
class Neural:
    """A trained one."""

    network: Network
    theta: Batch
    between: Between
    z: Batch  # outputs of the support vectors
    coefficients: Batch  # alpha y / (strength T) of each

    def scores(self, x: Batch, at_once: int = 256) -> Batch:
        z = self.network.in_parts(self.theta, x)
        parts = (z[first : first + at_once] for first in range(0, len(x), at_once))
        return np.concatenate([self.between.of(part, self.z) @ self.coefficients for part in parts])


@dataclass(frozen=True)
class Examples:
    x: Batch
    y: Batch
    """-1 and 1. To `aligned` it may be any numbers, or rows of them whose inner products say how alike two are."""

    def __len__(self) -> int:
        return len(self.y)

    def drawn(self, rng: np.random.Generator, k: int) -> Integers:
        return rng.choice(len(self), k, replace=False)


OnStep = Callable[[int, Callable[[], Neural]], Any]  # it is told the step, and can ask for the model so far


def _quiet(t: int, model: Callable[[], Neural]) -> None:
    pass


def stored(
    d: Examples,
    f: Network,
    between: Between,
    strength: float,
    steps: Steps,
    rng: np.random.Generator,
    on_step: OnStep = _quiet,
) -> Neural:
    """Algorithm 1: outputs stay as they were when they were made, also when theta moves on. Until an example is within
    its margin nothing changes, so some are looked at together. Those behind that one are looked at again."""
    descent = Descent(steps, f.begin(rng).astype(d.x.dtype))
    z: Batch = np.zeros((0, 0), dtype=d.x.dtype)
    y: Batch = np.zeros(steps.number, dtype=d.x.dtype)
    order = rng.integers(len(d), size=steps.number)
    kept, t, ahead = 0, 0, 1

    def model() -> Neural:
        return Neural(f, descent.theta, between, z[:kept], y[:kept] / (strength * max(t, 1)))

    while t < steps.number:
        chosen = order[t : t + ahead]
        new, pull = f.traced(descent.theta, d.x[chosen], rng)
        z = z if len(z) else np.zeros((steps.number, new.shape[1]), dtype=new.dtype)
        sums = d.y[chosen] * (between.of(new, z[:kept]) @ y[:kept])
        for place, i in enumerate(chosen):
            t += 1
            within = kept == 0 or sums[place] < strength * (t - 1)
            if within:
                if kept and not descent.stays(t):
                    g = np.zeros((len(new), kept), dtype=new.dtype)
                    g[place] = -d.y[i] * y[:kept] / (strength * (t - 1))
                    descent.step(t, pull(between.pulled(new, z[:kept], g)))
                z[kept], y[kept] = new[place], d.y[i]
                kept += 1
            on_step(t, model)
            if within:
                break
        ahead = min(2 * (place + 1), AHEAD)
    return model()


@dataclass
class _Active:
    """The examples with an alpha above 0, and their outputs at the present theta."""

    d: Examples
    f: Network
    alpha: Batch = field(init=False)
    places: Integers = field(init=False)
    _z: dict[int, Batch] = field(default_factory=dict)
    _theta: Batch | None = None

    def __post_init__(self) -> None:
        self.alpha = np.zeros(len(self.d), dtype=self.d.x.dtype)

    def outputs(self, theta: Batch) -> Batch:
        """Without dropout. While theta stays, only those of new examples are made."""
        if theta is not self._theta:
            self._z, self._theta = {}, theta
        new = [i for i in self.places.tolist() if i not in self._z]
        if new:
            self._z.update(zip(new, self.f.in_parts(theta, self.d.x[new]), strict=True))
        return np.array([self._z[i] for i in self.places.tolist()])

    def add(self, chosen: Integers, share: float) -> None:
        self.alpha[chosen] += share
        self.places = np.flatnonzero(self.alpha)

    @property
    def signed(self) -> Batch:
        return np.asarray(self.alpha[self.places] * self.d.y[self.places])

    def model(self, between: Between, theta: Batch, size: float) -> Neural:
        return Neural(self.f, theta, between, self.outputs(theta), self.signed / size)


def projected(
    d: Examples,
    f: Network,
    between: Between,
    strength: float,
    steps: Steps,
    rng: np.random.Generator,
    on_step: OnStep = _quiet,
) -> Neural:
    """Algorithm 2: the outputs of support vectors move with theta, and gradients go through them."""
    descent, active = Descent(steps, f.begin(rng).astype(d.x.dtype)), _Active(d, f)
    active.add(np.array([rng.integers(len(d))]), 1.0)
    z, pull_z = f.traced(descent.theta, d.x[active.places], rng)
    for t in range(2, steps.number + 1):
        i = int(rng.integers(len(d)))
        new, pull = f.traced(descent.theta, d.x[i : i + 1], rng)
        shares = active.signed[None, :] / (strength * (t - 1))
        if d.y[i] * float((between.of(new, z) * shares).sum()) < 1.0:
            g = -d.y[i] * shares
            descent.step(t, pull(between.pulled(new, z, g)) + pull_z(between.pulled(z, new, g.T)))
            active.add(np.array([i]), 1.0)
            z, pull_z = f.traced(descent.theta, d.x[active.places], rng)
        on_step(t, lambda t=t: active.model(between, descent.theta, strength * t))  # type: ignore[misc]
    return active.model(between, descent.theta, strength * steps.number)


def batched(
    d: Examples,
    f: Network,
    between: Between,
    strength: float,
    steps: Steps,
    rng: np.random.Generator,
    on_step: OnStep = _quiet,
    k: int = 16,
    mu: float = 1.0,
) -> Neural:
    """Algorithm 3: batches of k, and theta follows the alignment of their kernel with the labels and away from that
    with the support vectors."""
    descent, active = Descent(steps, f.begin(rng).astype(d.x.dtype)), _Active(d, f)
    active.add(d.drawn(rng, k), 1.0 / k)
    for t in range(2, steps.number + 1):
        a = d.drawn(rng, k)
        z, pull = f.traced(descent.theta, d.x[a], rng)
        scores = between.of(z, active.outputs(descent.theta)) @ active.signed / (strength * (t - 1))
        active.add(a[d.y[a] * scores < 1.0], 1.0 / k)
        if not descent.stays(t):
            g = batch_gradient(between.of(z, z), d.y[a], active.alpha[a], mu)[1]
            descent.step(t, pull(between.pulled_both(z, g)))
        on_step(t, lambda t=t: active.model(between, descent.theta, strength * t))  # type: ignore[misc]
    return active.model(between, descent.theta, strength * steps.number)


def batch_gradient(kernel: Batch, y: Batch, alpha: Batch, mu: float) -> tuple[float, Batch]:
    """The objective of Algorithm 3 for theta, and its gradient in the kernel of the batch."""
    away, to = alignment(kernel, np.outer(alpha * y, alpha * y)), alignment(kernel, np.outer(y, y))
    return mu * away[0] - to[0], mu * away[1] - to[1]


def aligned(d: Examples, f: Network, between: Between, steps: Steps, rng: np.random.Generator, k: int = 16) -> Batch:
    """Part 1 of Algorithm 4: theta such that the kernel is aligned with the labels. The loss is (1 - alignment)^2."""
    descent = Descent(steps, f.begin(rng).astype(d.x.dtype))
    for t in range(1, steps.number + 1):
        a = d.drawn(rng, k)
        z, pull = f.traced(descent.theta, d.x[a], rng)
        found, gradient = alignment(between.of(z, z), alike(d.y[a]))
        descent.step(t, pull(between.pulled_both(z, -2.0 * (1.0 - found) * gradient)))
    return descent.theta


def alignment(k: Batch, target: Batch) -> tuple[float, Batch]:
    """How well the kernel of a batch goes with a target: <target, K> / (|target| |K|), and its gradient in K. It is 0
    where the target is 0."""
    size, wanted = float(np.sqrt((k * k).sum())), float(np.sqrt((target * target).sum()))
    if not size * wanted > 0.0:
        return 0.0, np.zeros_like(k)
    found = float((target * k).sum()) / (size * wanted)
    return found, target / (size * wanted) - found * k / size**2


def alike(y: Batch) -> Batch:
    rows = y.reshape(len(y), -1)
    return rows @ rows.T


def fitted(
    d: Examples, f: Network, theta: Batch, between: Between, strength: float, number: int, rng: np.random.Generator
) -> Neural:
    """Part 2 of Algorithm 4, by kernelised Pegasos."""
    active = _Active(d, f)
    z = f.in_parts(theta, d.x)
    walk = kernelised(lambda i: between.of(z[i : i + 1], z)[0], d.y, np.ones(len(d)), strength, rng)
    active.alpha = after(number, walk).astype(d.x.dtype)
    active.places = np.flatnonzero(active.alpha)
    return active.model(between, theta, strength * number)
