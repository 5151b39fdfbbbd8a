"""How a message names an option: `⟦folds 5⟧` is `--folds 5` on the command line and `folds=5` in Python;
`⟦describe()⟧` is `sqlsvm describe` and `describe()`. A message has the words of its front end when it is made."""

import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Words = Callable[[str, str, str], str]  # of a name, () after it, and its value

SPELLED = {"lam": "lambda", "warm_start": "from"}  # where the command line and psql have another name
_NAMED = re.compile(r"⟦(\w+)(\(\))?(?: ([^⟧]+))?⟧")
_PLAIN = re.compile(r"True|False|[-+]?[\d.]+(e[-+]?\d+)?|[A-Z_]+")  # no quotes: COLUMN is for the reader to fill in


def flag(name: str) -> str:
    return f"--{SPELLED.get(name, name).replace('_', '-')}"


def typed(name: str, call: str, value: str) -> str:
    """
    >>> with speaking(typed):
    ...     said("add ⟦lam auto⟧, or leave out ⟦no_temp⟧"), said("⟦offload False⟧ forbids it: ⟦describe()⟧")
    ('add --lambda auto, or leave out --no-temp', '--no-offload forbids it: sqlsvm describe')
    """
    if call:
        return f"sqlsvm {name} {value}".rstrip()
    if value == "False":
        return f"--no-{flag(name)[2:]}"
    return flag(name) if value in ("", "True") else f"{flag(name)} {shlex.quote(value)}"


def called(name: str, call: str, value: str) -> str:
    """
    >>> said("add ⟦lam 0.1⟧ and ⟦time COLUMN⟧, use ⟦loss squared⟧ or ⟦no_temp True⟧, or leave out ⟦by⟧")
    "add lam=0.1 and time=COLUMN, use loss='squared' or no_temp=True, or leave out by"
    """
    if call:
        return f"{name}()"
    given = value if _PLAIN.fullmatch(value) else repr(value)
    return f"{name}={given}" if value else name


_words: Words = called


@contextmanager
def speaking(words: Words) -> Iterator[None]:
    """The command line says so; all else is Python."""
    global _words
    before, _words = _words, words
    try:
        yield
    finally:
        _words = before


def said(text: str, words: Words | None = None) -> str:
    return _NAMED.sub(lambda found: (words or _words)(*found.groups("")), text)
