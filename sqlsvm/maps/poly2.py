"""poly2:TABLE: squares and products of the numbers of one table."""

from itertools import combinations_with_replacement

from sqlsvm import sql
from sqlsvm.maps import formula
from sqlsvm.maps.asked import Asked
from sqlsvm.maps.mapped import Mapped

MOST = 1000


def poly2(asked: Asked) -> Mapped:
    """They are those of the distances from the means, so that x and its square do not rise together. The columns
    themselves stay."""
    columns = asked.numbers()
    if (size := len(columns) * (len(columns) + 1) // 2) > MOST:
        raise asked.refusal(f"it would make {size:,} columns, and there can be {MOST:,}", "select fewer numbers")
    means, _ = asked.spread(columns)
    centred = [formula.centred(place, mean) for place, mean in enumerate(means.tolist(), 1)]
    pairs = combinations_with_replacement(range(len(columns)), 2)
    made = {
        f"{columns[i].name}_x_{columns[j].name}": formula.text_of(sql.product(centred[i], centred[j])) for i, j in pairs
    }
    return Mapped(f"poly2:{columns[0].relation}", tuple(c.name for c in columns), made, replaces=False)
