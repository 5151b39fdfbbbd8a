"""max  offsets.alpha - alpha' gram alpha / (2 curvature)  over the simplex, by an active set.

There is one unknown per cut, at most some hundreds. The bound is computed again from alpha, so an answer of any
accuracy is safe.
"""

import numpy as np

from sqlsvm.solve.arrays import Array, Mask

FLAT = 1e-13  # a curvature below this share of the largest counts as 0: cuts repeat or depend on each other


def solve_simplex_qp(gram: Array, offsets: Array, curvature: float, start: Array) -> Array:
    """The maximiser, warm-started at a feasible `start`.

    Each turn adds the steepest index to the support and walks to the best point of the face that the support spans. An
    index whose weight reaches 0 on the way leaves the support. It ends when the value does not rise any more.
    """
    hessian = gram / curvature
    noise = 1e-13 * float(np.abs(offsets).max()) + 1e-15 * float(hessian.diagonal().max())
    alpha, value = start, -np.inf
    support = start > 0.0
    for _ in range(10 * len(offsets) + 50):
        trial, support = _walk_to_face_optimum(hessian, offsets, alpha, support, noise)
        gradient = offsets - hessian @ trial
        risen = 0.5 * float(trial @ (offsets + gradient))
        if not risen > value:
            break
        alpha, value = trial, risen
        entering = int(np.argmax(np.where(support, -np.inf, gradient)))
        if support.all() or gradient[entering] - alpha @ gradient <= noise:
            break
        support[entering] = True
    return alpha


def _walk_to_face_optimum(
    hessian: Array, offsets: Array, alpha: Array, support: Mask, noise: float
) -> tuple[Array, Mask]:
    alpha, support = alpha.copy(), support.copy()
    while support.sum() > 1:
        free = np.flatnonzero(support)
        step, ray = _face_step(hessian[np.ix_(free, free)], (offsets - hessian @ alpha)[free], noise)
        falling = step < 0.0
        reach = np.where(falling, alpha[free], np.inf) / np.where(falling, -step, 1.0)
        blocking = int(np.argmin(reach))
        length = float(reach[blocking]) if ray else min(1.0, float(reach[blocking]))
        alpha[free] = np.maximum(alpha[free] + length * step, 0.0)
        if length < reach[blocking] or not falling.any():
            break
        support[free[blocking]] = False
        alpha[~support] = 0.0
    alpha[support] /= alpha[support].sum() or 1.0
    if not alpha.any():
        alpha[support] = 1.0 / support.sum()
    return alpha, support


def _face_step(hessian: Array, gradient: Array, noise: float) -> tuple[Array, bool]:
    """The step to the stationary point of the face, or a ray where the face is flat and still rises.

    A step keeps the sum of alpha, so both are first projected on sum = 0.
    """
    centred = hessian - hessian.mean(axis=0)
    centred = centred - centred.mean(axis=1)[:, None]
    bends, directions = np.linalg.eigh(0.5 * (centred + centred.T))
    slopes = directions.T @ (gradient - gradient.mean())
    flat = bends <= FLAT * max(float(bends[-1]), 0.0)
    ray: Array = directions[:, flat] @ slopes[flat]
    if float(np.abs(ray).max(initial=0.0)) > noise:
        return ray - ray.mean(), True
    step: Array = directions[:, ~flat] @ (slopes[~flat] / bends[~flat])
    return step, False
