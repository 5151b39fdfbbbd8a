"""Neural support vector machines: gradients next to finite differences, and the four algorithms as they are written."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.experiments.images import Convolution, Dropout, Flatten, MaxPool
from sqlsvm.engine.base import Values
from sqlsvm.kernel.functions import Kernel
from sqlsvm.neural.kernels import Between
from sqlsvm.neural.layers import Dense, Layer, Normalise, Relu
from sqlsvm.neural.network import Network, connected
from sqlsvm.neural.training import (
    Descent,
    Examples,
    Steps,
    aligned,
    alignment,
    batch_gradient,
    batched,
    fitted,
    projected,
    stored,
)

KERNELS = [Kernel("rbf", 0.7), Kernel("linear"), Kernel("poly", 0.3), Kernel("sigmoid", 0.4)]


def slope(f: Callable[[Values], float], x: Values, h: float = 1e-6) -> Values:
    """By central differences."""
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        ahead, behind = x.copy(), x.copy()
        ahead[place] += h
        behind[place] -= h
        found[place] = (f(ahead) - f(behind)) / (2 * h)
    return found


LAYERS: list[tuple[Layer, tuple[int, ...]]] = [
    (Dense(3, 4), (5, 3)),
    (Relu(), (5, 3)),
    (Convolution(3, 2, 4), (2, 6, 6, 2)),
    (MaxPool(), (2, 4, 6, 3)),
    (Dropout(0.5), (4, 4, 4, 6)),
    (Dropout(0.5), (4, 6)),
    (Flatten(), (2, 3, 3, 2)),
    (Normalise(), (4, 3)),
    (Normalise(2.0, least=1e3), (4, 3)),
]


@pytest.mark.parametrize(("layer", "shape"), LAYERS, ids=str)
def test_the_gradient_of_a_layer(layer: Layer, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    parameters, x = [rng.normal(size=s) for s in layer.shapes], rng.normal(size=shape)
    y, back = layer.run(parameters, x, np.random.default_rng(1))
    pulled = rng.normal(size=y.shape)

    def value(parameters: list[Values], x: Values) -> float:
        return float((layer.run(parameters, x, np.random.default_rng(1))[0] * pulled).sum())

    in_x, in_parameters = back(pulled)
    np.testing.assert_allclose(in_x, slope(lambda x: value(parameters, x), x), atol=1e-7)
    for n, found in enumerate(in_parameters):
        others = list(parameters)

        def with_(p: Values, n: int = n, others: list[Values] = others) -> float:
            return value([*others[:n], p, *others[n + 1 :]], x)

        np.testing.assert_allclose(found, slope(with_, parameters[n]), atol=1e-7)


def small_network() -> Network:
    return connected(3, 5, 4, last=(Normalise(),))


def image_network() -> Network:
    layers = Convolution(3, 1, 2), MaxPool(), Relu(), Convolution(2, 2, 3), Dropout(0.3), MaxPool(), Relu(), Flatten()
    return Network((*layers, Dense(3, 4)))


@pytest.mark.thin(3)
@pytest.mark.parametrize(("network", "shape"), [(small_network(), (6, 3)), (image_network(), (6, 8, 8, 1))])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_gradients_in_theta(network: Network, shape: tuple[int, ...], kernel: Kernel) -> None:
    """Of the objectives of all four algorithms, through the network and the kernel."""
    rng, between = np.random.default_rng(0), Between(kernel)
    theta, x = network.begin(rng) + 0.1, rng.normal(size=shape)
    y, alpha = np.array([1.0, -1, 1, 1, -1, -1]), np.array([0.0, 1, 2, 1, 0, 3])
    fixed = rng.normal(size=(5, 4)) + 0.5

    def outputs(theta: Values) -> tuple[Values, Any]:
        return network.traced(theta, x, np.random.default_rng(1))

    shares = np.array([[0.5, -1.0, 0.3, 0.2, -0.4]]).repeat(6, axis=0)
    z, pull = outputs(theta)
    of_fixed = pull(between.pulled(z, fixed, shares))
    wanted = slope(lambda t: float((between.of(outputs(t)[0], fixed) * shares).sum()), theta)
    np.testing.assert_allclose(of_fixed, wanted, atol=1e-6)
    both = pull(between.pulled_both(z, np.outer(alpha * y, y)))
    wanted = slope(lambda t: float((between.of(outputs(t)[0], outputs(t)[0]) * np.outer(alpha * y, y)).sum()), theta)
    np.testing.assert_allclose(both, wanted, atol=2e-5 + 1e-8 * np.abs(wanted).max())
    of_batch = pull(between.pulled_both(z, batch_gradient(between.of(z, z), y, alpha, 0.7)[1]))
    wanted = slope(lambda t: batch_gradient(between.of(outputs(t)[0], outputs(t)[0]), y, alpha, 0.7)[0], theta)
    np.testing.assert_allclose(of_batch, wanted, atol=1e-6)


@given(st.integers(0, 10**6), st.integers(2, 8))
def test_the_alignment_is_a_cosine(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    kernel, target = rng.normal(size=(k, k)), rng.normal(size=(k, k))
    found, gradient = alignment(kernel, target)
    assert -1.0 <= found <= 1.0
    np.testing.assert_allclose(gradient, slope(lambda g: alignment(g, target)[0], kernel), atol=1e-7)
    assert alignment(target * 3.0, target)[0] == pytest.approx(1.0)
    assert alignment(kernel, 0.0 * target)[0] == 0.0
    assert not alignment(kernel, 0.0 * target)[1].any()


def test_momentum_and_decay() -> None:
    descent = Descent(Steps(10, 0.1, momentum=0.5, decay=0.2, longest=1e9, fades=False), np.array([1.0, -2.0]))
    descent.step(1, np.array([1.0, 1.0]))
    np.testing.assert_allclose(descent.theta, [1 - 0.1 * 1.2, -2 - 0.1 * 0.6])
    first = descent.theta
    descent.step(2, np.array([0.0, 0.0]))
    np.testing.assert_allclose(descent.theta, first + 0.5 * np.array([-0.12, -0.06]) - 0.1 * 0.2 * first)
    stays = Descent(Steps(10, 0.1, moving=0.5), np.ones(2))
    stays.step(4, np.ones(2))
    moved = stays.theta
    stays.step(5, np.ones(2))
    assert (moved < 1.0).all()
    assert stays.theta is moved
    cut = Descent(Steps(10, 0.1, momentum=0.0, decay=0.0, longest=0.5, fades=False), np.zeros(2))
    cut.step(1, np.array([3.0, 4.0]))
    np.testing.assert_allclose(cut.theta, [-0.1 * 0.3, -0.1 * 0.4])


# -- the algorithms ----------------------------------------------------------------------------------------------------


def rings(seed: int, rows: int = 60) -> Examples:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(rows) % 2, 1.0, -1.0)
    return Examples(rng.normal(size=(rows, 3)) * np.where(y > 0, 2.0, 0.7)[:, None], y)


@given(st.integers(0, 10**6), st.sampled_from(KERNELS[:3]), st.floats(0.01, 1.0))
def test_the_identity_of_section_4_1_2(seed: int, kernel: Kernel, strength: float) -> None:
    """A step takes 1 / (strength t) times the gradient from f, which is strength f, less y Phi(F(x)) if the example is
    within its margin. With the features Phi written out: after t steps f is sum alpha y Phi(z) / (strength t)."""
    rng, steps = np.random.default_rng(seed), 25
    z, y = rng.normal(size=(steps, 3)), rng.choice([-1.0, 1.0], steps)
    k = kernel.of(kernel.sums(z, z))
    values, vectors = np.linalg.eigh(k)
    phi = vectors * np.sqrt(np.maximum(values, 0.0))  # phi phi' = K
    f, alpha = np.zeros(steps), np.zeros(steps)
    for t in range(1, steps + 1):
        score = 0.0 if t == 1 else float((alpha * y) @ k[t - 1]) / (strength * (t - 1))
        assert float(f @ phi[t - 1]) == pytest.approx(score, rel=1e-6, abs=1e-6 * (1.0 + 1.0 / strength))
        alpha[t - 1] = y[t - 1] * score < 1.0
        gradient = strength * f - alpha[t - 1] * y[t - 1] * phi[t - 1]
        f = f - gradient / (strength * t)
    np.testing.assert_allclose(f, (alpha * y) @ phi / (strength * steps), atol=1e-8 / strength)


@pytest.mark.parametrize("moving", [1.0, 0.5])
def test_algorithm_1_as_it_is_written(moving: float) -> None:
    """With the loop of the paper: outputs are kept as they were made."""
    d, f, between, strength = rings(0), small_network(), Between(Kernel("rbf")), 0.02
    steps = Steps(60, 0.05, moving=moving)
    found = stored(d, f, between, strength, steps, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    descent = Descent(steps, f.begin(rng))
    kept: list[tuple[float, Values]] = []
    for t, i in enumerate(rng.integers(60, size=60), 1):
        z, pull = f.traced(descent.theta, d.x[i : i + 1])
        g = sum(y * between.of(z, zs)[0, 0] for y, zs in kept) / (strength * max(t - 1, 1))
        if d.y[i] * g < 1.0:
            if kept:
                pulled = [y * between.pulled(z, zs, np.array([[-d.y[i] / (strength * (t - 1))]])) for y, zs in kept]
                descent.step(t, pull(np.sum(pulled, axis=0)))
            kept.append((d.y[i], z))
    np.testing.assert_allclose(found.theta, descent.theta, atol=1e-12)
    np.testing.assert_allclose(found.z, np.concatenate([z for _, z in kept]), atol=1e-12)
    np.testing.assert_allclose(found.coefficients, np.array([y for y, _ in kept]) / (strength * 60))


def test_algorithm_2_as_it_is_written() -> None:
    d, f, between, strength = rings(1), small_network(), Between(Kernel("rbf")), 0.02
    steps = Steps(60, 0.05)
    found = projected(d, f, between, strength, steps, np.random.default_rng(6))
    rng = np.random.default_rng(6)
    descent, alpha = Descent(steps, f.begin(rng)), np.zeros(60)
    alpha[rng.integers(60)] = 1.0
    for t in range(2, 61):
        i = int(rng.integers(60))

        def objective(theta: Values, i: int = i, t: int = t) -> float:
            z = f(theta, d.x)
            return float(-d.y[i] / (strength * (t - 1)) * (alpha * d.y) @ between.of(z, z)[:, i])

        if objective(descent.theta) > -1.0:
            gradient = slope(objective, descent.theta)
            alpha[i] += 1.0
            descent.step(t, gradient)
    np.testing.assert_allclose(found.theta, descent.theta, atol=1e-4)
    (places,) = np.nonzero(alpha)
    np.testing.assert_allclose(found.coefficients, (alpha * d.y)[places] / (strength * 60))
    np.testing.assert_allclose(found.z, f(found.theta, d.x[places]))


@pytest.mark.parametrize("moving", [1.0, 0.5])
def test_algorithm_3_as_it_is_written(moving: float) -> None:
    d, f, between, strength, k = rings(2), small_network(), Between(Kernel("rbf")), 0.02, 5
    steps = Steps(40, 0.05, moving=moving)
    found = batched(d, f, between, strength, steps, np.random.default_rng(7), k=k, mu=0.5)
    rng = np.random.default_rng(7)
    descent, alpha = Descent(steps, f.begin(rng)), np.zeros(60)
    alpha[d.drawn(rng, k)] = 1 / k
    for t in range(2, 41):
        a = d.drawn(rng, k)
        z = f(descent.theta, d.x)
        scores = between.of(z, z)[a] @ (alpha * d.y) / (strength * (t - 1))
        alpha[a] += np.where(d.y[a] * scores < 1.0, 1 / k, 0.0)

        def objective(theta: Values, a: Any = a) -> float:
            z = f(theta, d.x[a])
            kernel, y, own = between.of(z, z), d.y[a], alpha[a]
            norm = np.sqrt((kernel**2).sum())
            weights = np.outer(own, own)
            first = (weights * np.outer(y, y) * kernel).sum() / (np.sqrt((weights**2).sum()) * norm) if own.any() else 0
            return float(0.5 * first - (np.outer(y, y) * kernel).sum() / (k * norm))

        descent.step(t, slope(objective, descent.theta))
    np.testing.assert_allclose(found.theta, descent.theta, atol=1e-4)
    np.testing.assert_allclose(found.coefficients, (alpha * d.y)[alpha > 0] / (strength * 40))


def test_algorithm_4_aligns_and_then_fits() -> None:
    d, f, between = rings(3), connected(3, 16, 8), Between(Kernel("rbf"))

    def of_all(theta: Values) -> float:
        z = f(theta, d.x)
        return alignment(between.of(z, z), np.outer(d.y, d.y))[0]

    theta = aligned(d, f, between, Steps(300, 0.05), np.random.default_rng(8))
    assert of_all(theta) > of_all(f.begin(np.random.default_rng(8))) + 0.15
    found = fitted(d, f, theta, between, 0.01, 2000, np.random.default_rng(9))
    assert ((found.scores(d.x) >= 0.0) == (d.y > 0)).mean() > 0.85
    assert (found.theta == theta).all()
