"""The errors that sqlsvm raises. A message states the fact, `detail` adds to it, `hint` says what to type next."""

from collections.abc import Iterable
from difflib import get_close_matches


class SqlsvmError(Exception):
    """The base of all errors that sqlsvm raises. The CLI prints them without a traceback and exits with 1."""

    def __init__(self, message: str, *, detail: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.hint = hint

    def __str__(self) -> str:
        more = (("DETAIL", self.detail), ("HINT", self.hint))
        return "\n".join([self.message, *(f"{name}: {text}" for name, text in more if text)])


class QueryError(SqlsvmError):
    """The feature query cannot be trained on."""


class DataError(SqlsvmError):
    """The rows that the query reads cannot be trained on."""


class OptionError(SqlsvmError):
    """An option is unknown, out of range, or contradicts another."""


class EngineError(SqlsvmError):
    """The database refused a statement, or the connection was lost."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """A hint with the known name that is most similar, or None.

    >>> nearest("carier", ["carrier", "distance"])
    'did you mean carrier?'
    """
    by_fold = {k.casefold(): k for k in known}
    close = get_close_matches(name.casefold(), by_fold, n=1, cutoff=0.6)
    return f"did you mean {by_fold[close[0]]}?" if close else None
