"""The errors that sqlsvm raises. A message states the fact, `detail` adds to it, `hint` says what to type next."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from traceback import StackSummary, walk_tb
from types import FrameType
from urllib.parse import quote, quote_plus, unquote

from sqlsvm.words import said

_A_PORT = r"(?:sc|spark)://[\w.-]+:\d{1,5}(?=$|[\s,:)])(?!.*@)"
_NAME = r"[\w.%-]*"
_SECRET = rf"{_NAME}(?:passw|pwd|token|secret){_NAME}|(?:(?<=[?&;])|spark\.){_NAME}key{_NAME}"
_BEFORE_A_PASSWORD = (
    rf"(?!{_A_PORT})[a-z][\w+.-]*:/+[^:/@\n]*?(?::|%3A)",  # postgresql://user:
    r"[a-z][\w+.-]*:/+[^:@\n]*:(?=.*@)",  # also postgresql://us/er:...@host
    r"postgres(?:ql)?:[^:/@\s]*:",
    r"\w*(?:passw\w*|pwd)\s*=",
    rf"(?:{_SECRET})=",  # duckdb:?motherduck_token=
    r"(?<![?&])(?:host|hostaddr|port|user|dbname)=",  # libpq's form, in which a part of a password may be anywhere
)
_PASSWORD = re.compile(rf"\b({'|'.join(_BEFORE_A_PASSWORD)}).*", re.DOTALL | re.IGNORECASE)
_SETTING = re.compile(rf"\b(?:{_SECRET})=([^&;\s]*)", re.IGNORECASE)
_SECRET_NAME = re.compile("key|token|secret|passw|pwd|credential", re.IGNORECASE)
_SHORTEST = 6
_SECRETS = set[str]()


class SqlsvmError(Exception):
    """The base of all errors that sqlsvm raises. The CLI prints them without a traceback and exits with 1. Message and
    detail may repeat what was typed, so everything that may be a password is cut off."""

    def __init__(self, message: str, *, detail: str | None = None, hint: str | None = None) -> None:
        self.message = redacted(said(message))
        self.detail = redacted(said(detail)) if detail else None
        self.hint = masked(said(hint)) if hint else None
        super().__init__(self.message)

    def __str__(self) -> str:
        more = (("DETAIL", self.detail), ("HINT", self.hint))
        return "\n".join([self.message, *(f"{name}: {text}" for name, text in more if text)])

    def _render_traceback_(self) -> list[str]:
        """In IPython, which asks for it by this name: down to the line of the caller."""
        theirs = (each for each in walk_tb(self.__traceback__) if not _is_inside(each[0]))
        lines = f"{type(self).__name__}: {self}".splitlines()
        return [*(line.rstrip() for line in StackSummary.extract(theirs).format()), *lines]


def _is_inside(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__", "").partition(".")[0] in ("sqlsvm", "IPython")


class QueryError(SqlsvmError):
    """The feature query cannot be trained on."""


class FormError(QueryError):
    """The feature query is no plain join, for the reason in the message: the database has to make rows of it."""


class DataError(SqlsvmError, ValueError):
    """The rows that the query reads cannot be trained on."""


class OptionError(SqlsvmError):
    """An option is unknown, out of range, or contradicts another."""


class EngineError(SqlsvmError):
    """The database refused a statement, or the connection was lost."""


class ConnectionLost(EngineError):
    """The session is gone, and all that it has not committed."""


class MovedError(EngineError):
    """A transaction reads other tables than when it began. Another one may begin again."""


_NO_MEMORY = ("can't start new thread", "failed to map segment", "Cannot allocate memory")


def is_out_of_memory(error: BaseException) -> bool:
    """Has the system refused memory? It says so in several ways: also a thread and a library need some."""
    if isinstance(error, SystemError):  # of a library in C that did not say why it failed
        return _is_refused(1 << 26)
    return isinstance(error, MemoryError) or any(text in str(error) for text in _NO_MEMORY)


def _is_refused(size: int) -> bool:
    try:
        bytearray(size)
    except MemoryError:
        return True
    return False


def nearest(name: str, known: Iterable[str]) -> str | None:
    """A hint with the known name that is most similar, or None.

    >>> nearest("carier", ["carrier", "distance"])
    'did you mean carrier?'
    """
    by_fold = {k.casefold(): k for k in known}
    close = get_close_matches(name.casefold(), by_fold, n=1, cutoff=0.6)
    return f"did you mean {by_fold[close[0]]}?" if close else None


def is_secret(name: str) -> bool:
    """Is the value of a setting of that name secret?"""
    return bool(_SECRET_NAME.search(name))


def hide(settings: Iterable[tuple[str, str]]) -> None:
    """From now on nothing that sqlsvm says has the values of those of these settings that are secret by their names."""
    found = (value for name, value in settings if is_secret(name) and len(value) >= _SHORTEST)
    _SECRETS.update(spelled for value in found for spelled in (value, quote(value), quote_plus(value)))


def hide_typed(texts: Iterable[str]) -> None:
    """The same for what looks like such settings in what a user has typed."""
    for text in texts:
        hide(("secret", unquote(value)) for value in _SETTING.findall(text))


def masked(text: str) -> str:
    """The text without the values that are known to be secret."""
    for secret in sorted(_SECRETS, key=len, reverse=True):
        text = text.replace(secret, "...")
    return text


def redacted(text: str) -> str:
    """The text up to where a password may begin. Where it ends cannot be known: it may hold any character.

    >>> redacted("there is no file postgresql://me:se cret@host/db"), redacted("host=db password=secret dbname=x")
    ('there is no file postgresql://me:...', 'host=...')
    >>> redacted("there is no database in duckdb:shop?threads=2&motherduck_token=abc")
    'there is no database in duckdb:shop?threads=2&motherduck_token=...'
    """
    return _PASSWORD.sub(r"\1...", masked(text))


def only_finite(name: str) -> str:
    """The hint about NaN and infinity. Both databases have NaN above all numbers."""
    null = f"CASE WHEN {name} BETWEEN -1e100 AND 1e100 THEN {name} END AS {name}"
    return f"leave those rows out in WHERE, or make them NULL: {null}"
