"""fourier:TABLE:D: random Fourier features of the numbers of one table. Their inner products are about those of the
kernel exp(-gamma |a - b|^2), where a and b are scaled to mean 0 and deviation 1."""

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.maps import formula
from sqlsvm.maps.asked import MEDIAN_OF, Asked
from sqlsvm.maps.mapped import Mapped


def fourier(asked: Asked) -> Mapped:
    """sqrt(2 / D) cos(w.x + b), with a normal w and a uniform b. The first step is w.x + b. The columns themselves
    stay."""
    columns, size = asked.numbers(), asked.whole(0, "D", 1, 1000)
    points, means, deviations = asked.scaled_points(columns, MEDIAN_OF)
    gamma = asked.gamma(1) or asked.median_gamma(points)
    random = np.random.RandomState(asked.seed)  # the numbers that scikit-learn's RBFSampler draws
    w = np.sqrt(2.0 * gamma) * random.normal(size=(len(columns), size)).T / deviations
    b = random.uniform(0.0, 2.0 * np.pi, size) - w @ means
    projections = tuple(formula.text_of(formula.affine(*each)) for each in zip(w.tolist(), b.tolist(), strict=True))
    height = formula.number(np.sqrt(2.0 / size))
    waves = (sql.product(height, exp.Cos(this=formula.argument(n))) for n in range(1, size + 1))
    made = {f"{columns[0].relation}_fourier{n}": formula.text_of(each) for n, each in enumerate(waves, 1)}
    named = tuple(c.name for c in columns)
    return Mapped(f"fourier:{columns[0].relation}:{size}:{gamma!r}", named, made, (projections,), replaces=False)
