"""The parameters of compiled statements, by name.

The driver sends them by these names. A stored program has them in a fixed order.
"""

THETA = "theta"  # an array: the weight of each coordinate
BOUND = "bound"  # the residual of a row is z = bound - sign * score
WIDTH = "width"  # A residual that is closer to 0 than this is counted in part; for a histogram, the width of a bin
LABEL = "label"  # the code of the rows to count, where one class is counted at a time
CLASS = "class"  # the code of the class that is +1, where a label has several: each is trained against all others

WEIGHT_NEGATIVE, WEIGHT_POSITIVE = "weight_negative", "weight_positive"  # how much a row of each class counts

MEMBERS, WIDTHS = "members", "widths"  # arrays: the codes of classes that make a pass together, and the width of each

SLOPES = "slopes"  # an array: by how much each measure rises with the rows of a class that are predicted as each class
BUCKETS = "buckets"  # the places of the grid in one unit of the score
SPAN = "span"
"""On the grid an even number of buckets: less than half of them are on each side of 0. Where it is a parameter, an
answer gives it to the statements after it."""

LEVELS = "levels"  # an array: a sketch rounds counts down to these
SLACK = "slack"  # how far a sketched pass moves each row, as a share of the sizes of its terms
SHIFT = "shift"  # how far scores are moved before they are compared
LOWEST = "lowest"  # where a histogram begins
DENSITY = "density"  # the points of a sample in one unit of the interval from which they are drawn
TURN = "turn"  # A number in [0, 1) that turns the points of a sample, each within its part of that interval
SEED = "seed"  # the seed for the thinning of a table by the database
POINTS = "points"  # an array for each node: numbers in [0, 1), or in [0, N) where the join's rows are those of the node


IN_ORDER = (*(THETA, BOUND, BUCKETS, LABEL, LEVELS, SLACK, SHIFT, LOWEST, WIDTH), *(WEIGHT_NEGATIVE, WEIGHT_POSITIVE))
"""The fields of the type sqlsvm._given. A stored program numbers its parameters so."""


def points(node: int) -> str:
    return f"{POINTS}{node}"


def family(name: str) -> str:
    """The name without the number of a node.

    >>> family(points(12)), family(BOUND)
    ('points', 'bound')
    """
    return name.rstrip("0123456789")
