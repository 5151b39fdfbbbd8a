"""date:COLUMN: what returns in a date: the hour, the weekday, the month, the day of the year, and the weekend.

All is computed from the days since 1970, so it is the same on every engine. A cycle is a sine and a cosine: the last
hour of a day is close to the first. A year begins on the 1st of March here, so that a leap day is its last.
"""

from math import tau

from sqlsvm.maps.asked import Asked
from sqlsvm.maps.mapped import Mapped

_STEPS = (
    ("$1 - FLOOR($1)", "FLOOR($1) + 4.0e0 - 7.0e0 * FLOOR((FLOOR($1) + 4.0e0) / 7.0e0)", "FLOOR($1) + 719468.0e0"),
    ("$1", "$2", "$3 - 146097.0e0 * FLOOR($3 / 146097.0e0)"),  # of 400 years
    (
        "$1",
        "$2",
        "$3",
        "FLOOR(($3 - FLOOR($3 / 1460.0e0) + FLOOR($3 / 36524.0e0) - FLOOR($3 / 146096.0e0)) / 365.0e0)",
    ),
    ("$1", "$2", "$3 - (365.0e0 * $4 + FLOOR($4 / 4.0e0) - FLOOR($4 / 100.0e0))"),
    ("$1", "$2", "$3", "FLOOR((5.0e0 * $3 + 2.0e0) / 153.0e0)"),
)
"""The part of the day, the weekday from Sunday, the day of the year, and the month, the last two from March."""
_HOUR = {"hour": ("$1", 1.0)}
_DAY = {"weekday": ("$2", 7.0), "month": ("$4", 12.0), "day": ("$3", 365.25)}
_WEEKEND = "CASE WHEN 0.5e0 < $2 AND $2 < 5.5e0 THEN 0.0e0 ELSE 1.0e0 END"


def dates(asked: Asked) -> Mapped:
    """The column itself stays."""
    column = asked.number()
    kind = asked.query.times.get(column.name)
    if kind not in ("date", "timestamp", "timestamptz"):
        raise asked.refusal(f"{column.name} is no date and no timestamp", "cast it in the query: CAST(... AS date)")
    cycles = _DAY if kind == "date" else _HOUR | _DAY
    made = {
        f"{column.name}_{name}_{wave.lower()}": f"{wave}({tau / period!r}e0 * {value})"
        for name, (value, period) in cycles.items()
        for wave in ("SIN", "COS")
    }
    made[f"{column.name}_weekend"] = _WEEKEND
    return Mapped(f"date:{column.name}", (column.name,), made, _STEPS, replaces=False)
