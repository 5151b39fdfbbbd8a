"""What is raced, and by whom. The full plan is to end within 35 minutes on 2 cores, the quick one within 3."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

PLACES = ("sqlsvm", "sqlsvm, offloaded", "sqlsvm, DuckDB")
DUCKDB = ("sqlsvm, DuckDB", "flat passes, DuckDB", "export + LIBLINEAR, DuckDB")
FLAT = ("flat passes", "flat passes, DuckDB")
EXPORTS = (
    "export + LIBLINEAR",
    "export + SGD",
    "export + LightGBM",
    "export + LIBLINEAR, DuckDB",
    "export + LightGBM, DuckDB",
)
SAMPLES = ("sample + LIBLINEAR", "sample + LIBLINEAR, DuckDB")


@dataclass(frozen=True)
class Race:
    """One task and those who train on it. In a series, `x` is what grows."""

    name: str
    family: str
    competitors: Sequence[str]
    sizes: Mapping[str, int] = field(default_factory=dict)
    runs: int = 5
    seconds: float = 60.0
    """In the first go no second turn is begun that would not end within these; `--more` goes on."""
    timeout: float = 90.0
    series: str = ""
    x: float = 0.0
    look: int = 0
    """After the race, so many runs of one pass and of the flat aggregates."""


LONG = {"orders": 500_000, "visits": 2_000_000, "customers": 1000}
"""5 * 10^8 pairs."""

FULL = (
    Race("star", "star", (*PLACES, *EXPORTS, "export + ReHLine", *SAMPLES, *FLAT, "MADlib"), seconds=90, look=5),
    Race("chain of 10^9 rows", "chain", (*PLACES, *EXPORTS, *SAMPLES, *FLAT), seconds=55, look=3),
    Race("strong chain", "chain", (*PLACES, *SAMPLES), {"signal": 1}, seconds=60, look=3),
    Race("flights", "flights", (*PLACES, *EXPORTS, *SAMPLES, "MADlib"), seconds=45),
    Race("sales", "sales", (*PLACES, *EXPORTS, *SAMPLES, *FLAT), seconds=120, timeout=180),
    Race("snowflake", "snowflake", (*PLACES, *EXPORTS, *SAMPLES, "MADlib"), seconds=40),
    Race("hub of five", "hub", (*PLACES, *EXPORTS, *SAMPLES, *FLAT), seconds=40, look=3),
    Race("strong hub", "hub", (*PLACES, *SAMPLES), {"signal": 1}, seconds=40),
    Race("wide", "wide", (*PLACES, "export + LIBLINEAR", "export + SGD", "export + LightGBM"), seconds=40),
    Race("categories", "categories", (*PLACES, *EXPORTS), seconds=40),
    Race("texts", "texts", (*PLACES, *EXPORTS), seconds=20),
    Race("posts", "posts", (*PLACES, *EXPORTS), seconds=60),
    Race(
        "history", "history", ("sqlsvm, DuckDB", "export + LIBLINEAR, DuckDB", "export + LightGBM, DuckDB"), seconds=60
    ),
    Race("long history", "history", ("sqlsvm, DuckDB",), LONG, seconds=60),
)

ROWS = "fact rows of a star of 21 features"
FAN_OUT = "join rows of four tables of 20,000 rows in a chain"
FEATURES = "features of a star of 100,000 facts"
RELATIONS = "dimensions of a star of 100,000 facts, 3 features each"


def growth() -> tuple[Race, ...]:
    """The series, a turn each in the first go."""
    peers = (*PLACES, "export + LIBLINEAR", *FLAT)
    small = {"facts": 100_000, "rows": 1000}
    fan_out = [
        _member(FAN_OUT, 20_000.0**4 / keys**3, f"{keys} keys", "chain", (*peers, "sample + LIBLINEAR"),
                {"rows": 20_000, "keys": keys, "tables": 4})
        for keys in (5429, 1170, 252, 54, 5)
    ]  # fmt: skip
    rows = [
        _member(ROWS, n, f"{n:,} facts", "star", (*peers, DUCKDB[-1]) if n <= 1_000_000 else DUCKDB, {"facts": n}, 120)
        for n in (10_000, 100_000, 1_000_000, 10_000_000)
    ]
    features = [
        _member(FEATURES, 3 * w, f"{3 * w} features", "star", peers, {**small, "width": w}) for w in (3, 10, 30, 100)
    ]
    relations = [
        _member(RELATIONS, d, f"{d} dimensions", "star", peers, {**small, "width": 3, "dims": d})
        for d in (1, 2, 4, 8, 16)
    ]
    return (*fan_out, *rows, *features, *relations)


def _member(series: str, x: float, name: str, family: str, competitors: Sequence[str], sizes: Mapping[str, int],
            timeout: float = 60.0) -> Race:  # fmt: skip
    return Race(name, family, competitors, sizes, seconds=0.0, timeout=timeout, series=series, x=x)


SMALL_FAN_OUT = FAN_OUT.replace("20,000", "2,000")

QUICK = (
    Race("small star", "star", (*PLACES, *EXPORTS, "export + ReHLine", *SAMPLES, *FLAT, "MADlib"),
         {"facts": 50_000, "rows": 1000}, 2, 25, 30, look=2),
    Race("chain of 10^6 rows", "chain", (*PLACES, *EXPORTS, *SAMPLES, *FLAT), {"rows": 1500, "keys": 60}, 2, 25, 30),
    *(
        Race(f"{keys} keys", "chain", ("sqlsvm, DuckDB", "export + LIBLINEAR", "sample + LIBLINEAR"),
             {"rows": 2000, "keys": keys, "tables": 4}, 1, 10, 20, SMALL_FAN_OUT, 2000.0**4 / keys**3)
        for keys in (430, 43)
    ),
)  # fmt: skip
