"""The parameters of compiled statements, by name.

The driver sends them by these names. A stored program has them in a fixed order, that of the type sqlsvm._given.
"""

THETA = "theta"
"""An array: what each coordinate weighs."""

BOUND = "bound"
"""The residual of a row is z = bound - sign * score."""

WIDTH = "width"
"""How far from 0 a residual is still counted in part; of a histogram, how wide a bin is."""

LABEL = "label"
"""The code of the rows that are counted, where it is one class at a time."""

WEIGHT_NEGATIVE, WEIGHT_POSITIVE = "weight_negative", "weight_positive"
"""What a row of each class counts."""

BUCKETS = "buckets"
"""Places of the grid in one unit of the score."""

LEVELS = "levels"
"""An array: the counts to which a sketch rounds down."""

SLACK = "slack"
"""How far a sketched pass moves each row, as a share of the sizes of its terms."""

SHIFT = "shift"
"""How far scores are moved before they are compared."""

LOWEST = "lowest"
"""Where a histogram begins."""

DENSITY = "density"
"""Points of a sample in one unit of the interval that they are drawn from."""

SEED = "seed"
"""By which a database thins a table."""

POINTS = "points"
"""An array for each node, of places in [0, N) for the label's node and of numbers in [0, 1) for any other."""


def points(node: int) -> str:
    return f"{POINTS}{node}"


def family(name: str) -> str:
    """The name without the number of a node.

    >>> family(points(12)), family(BOUND)
    ('points', 'bound')
    """
    return name.rstrip("0123456789")
