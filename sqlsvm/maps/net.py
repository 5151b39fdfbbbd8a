"""net:TABLE:D: a network over the numbers of one table, whose D outputs are columns. It is learned on a sample of the
join, so that rows with like labels have like outputs (Simon and Radons 2023, algorithm 4, part 1). Their part 2 is the
training itself, on all rows."""

from collections.abc import Sequence

import numpy as np

from sqlsvm import sql
from sqlsvm.kernel.functions import Kernel
from sqlsvm.maps import formula
from sqlsvm.maps.asked import Array, Asked
from sqlsvm.maps.mapped import Mapped
from sqlsvm.neural.kernels import Between
from sqlsvm.neural.layers import Dense
from sqlsvm.neural.network import Network, connected
from sqlsvm.neural.training import Examples, Steps, aligned
from sqlsvm.query import Feature
from sqlsvm.solve.threads import fitting_threads

HIDDEN, OUTPUTS, HEAD = 32, 16, 8
"""The outputs of each layer. The kernel that is aligned is that of a last layer, the head, which is then left out."""
EXAMPLES, BATCH = 20_000, 64
EPOCHS, FEWEST, MOST = 32, 1000, 10_000
"""How often an example is looked at, and the limits of the steps."""


def net(asked: Asked) -> Mapped:
    columns, size = asked.numbers(), asked.whole(0, "D", 1, 100, OUTPUTS)
    means, deviations = asked.spread(columns)
    found = asked.join.examples(columns, EXAMPLES)
    body = connected(len(columns), HIDDEN, size)
    network = Network((*body.layers, Dense(size, HEAD)))
    (w, b), last, _ = _learned(network, Examples((found.x - means) / deviations, found.y), asked.seed)
    return compiled(columns, means, (w / deviations[:, None], b), last)


def compiled(columns: Sequence[Feature], means: Array, first: Sequence[Array], last: Sequence[Array]) -> Mapped:
    """The columns themselves stay. The first layer reads their distances from the means."""
    (w, b), (v, c), alias = first, last, columns[0].relation
    hidden, outputs = _units(w, b, means.tolist()), _units(v, c)
    made = {f"{alias}_net{n}": text for n, text in enumerate(outputs, 1)}
    return Mapped(f"net:{alias}:{len(made)}", tuple(c.name for c in columns), made, (hidden,), replaces=False)


def _learned(network: Network, examples: Examples, seed: int) -> list[list[Array]]:
    """The parameters of each layer."""
    rng, between = np.random.default_rng(seed), Between(Kernel("linear"))
    steps = Steps(min(max(FEWEST, EPOCHS * len(examples) // BATCH), MOST), 0.1)
    with fitting_threads(HIDDEN):
        theta = aligned(examples, network, between, steps, rng, k=min(BATCH, len(examples)))
    return [parameters for _, parameters in network.split(theta) if parameters]


def _units(w: Array, b: Array, means: Sequence[float] = ()) -> tuple[str, ...]:
    """A layer with ReLU, as a formula for each output."""
    pairs = zip(w.T.tolist(), b.tolist(), strict=True)
    sums = (formula.affine(weights, constant, means) for weights, constant in pairs)
    return tuple(formula.text_of(sql.greatest(each, formula.number(0))) for each in sums)
