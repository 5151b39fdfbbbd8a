"""hash:COLUMN:K: each category as K numbers +-1 / sqrt(K), which its MD5 decides (Johnson and Lindenstrauss)."""

from math import log, sqrt

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.maps import formula
from sqlsvm.maps.asked import Asked
from sqlsvm.maps.mapped import Mapped

DIGITS = 32
"""Hexadecimal digits of an MD5. Each decides one sign."""
HALF = ord("8")
"""From this digit on, also for letters, the sign is positive."""
DOUBT = 0.01


def hashed(asked: Asked) -> Mapped:
    column, size = asked.category(), asked.whole(0, "K", 1, 1000)
    made = {f"{column.name}_hash{n + 1}": formula.text_of(_coordinate(n, size, asked.seed)) for n in range(size)}
    found = asked.different(column)
    note = f"hash:{column.name}:{size} makes {size} numbers of {found:,} categories: {bound(found, size)}"
    return Mapped(f"hash:{column.name}:{size}", (column.name,), made, kind="categorical", note=note)


def bound(categories: int, size: int) -> str:
    """Hoeffding's inequality for the mean of `size` signs, over all pairs."""
    pairs = max(1, categories * (categories - 1) // 2)
    most = sqrt(2.0 * log(2.0 * pairs / DOUBT) / size)
    said = "the inner product of any two, which would be 0, is at most"
    if most >= 1.0:
        return f"too few to keep all of them apart: a K of {int(8.0 * log(2.0 * pairs / DOUBT)) + 1:,} would"
    return f"{said} {most:.2g} with a probability of {1.0 - DOUBT:.0%}"


def _coordinate(n: int, size: int, seed: int) -> exp.Expression:
    salt = sql.integer(seed * 1000 + n // DIGITS)
    digest = exp.MD5(this=exp.Concat(expressions=[salt, formula.argument(1)], safe=True, coalesce=True))
    digit = exp.Substring(this=digest, start=sql.integer(n % DIGITS + 1), length=sql.integer(1))
    is_high = sql.at_least(exp.Ascii(this=digit), HALF)
    return sql.case(is_high, formula.number(1.0 / sqrt(size)), formula.number(-1.0 / sqrt(size)))
