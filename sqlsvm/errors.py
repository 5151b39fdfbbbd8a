"""One root, few leaves. A message states the fact; `detail` says more; `hint` says what to type next."""

from collections.abc import Iterable
from difflib import get_close_matches


class SqlsvmError(Exception):
    """Everything that sqlsvm raises on purpose. The CLI prints it without a traceback and exits with 1."""

    def __init__(self, message: str, *, detail: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.hint = hint

    def __str__(self) -> str:
        parts = [self.message]
        if self.detail:
            parts.append(f"DETAIL: {self.detail}")
        if self.hint:
            parts.append(f"HINT: {self.hint}")
        return "\n".join(parts)


class QueryError(SqlsvmError):
    """The feature query says something that cannot be trained on."""


class DataError(SqlsvmError):
    """The query is fine; the rows that it reads are not."""


class OptionError(SqlsvmError):
    """An option is unknown, out of range, or contradicts another."""


class EngineError(SqlsvmError):
    """The database refused or went away."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """A hint that names what was probably meant, or None.

    >>> nearest("carier", ["carrier", "distance"])
    'did you mean carrier?'
    """
    by_fold = {k.casefold(): k for k in known}
    close = get_close_matches(name.casefold(), by_fold, n=1, cutoff=0.6)
    return f"did you mean {by_fold[close[0]]}?" if close else None
