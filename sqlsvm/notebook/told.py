"""Messages name options as the command line does. In Python they name parameters: `add --folds 5` is `add folds=5`."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from inspect import Parameter, cleandoc, signature
from textwrap import fill
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

from sqlsvm.errors import SqlsvmError
from sqlsvm.options import OPTIONS, Choice, Truth

P = ParamSpec("P")
R = TypeVar("R")

_NAMES = {option.said.replace("_", "-"): name for name, option in OPTIONS.items()} | {"from": "warm_start"}
_FLAG = re.compile(r"(?:sqlsvm train )?--(no-)?([a-z][a-z0-9-]*[a-z0-9])(?: ([\w.:+-]*\w))?")
_VERB = re.compile(r"\bsqlsvm (evaluate|describe|components|report)(?: [\w-]+)?\b")
_NO_TABLES = "is it the right one?"
_SET = re.compile(r"\b(use|add|with|need|needs) $")


_AS_TYPED = ContextVar("_AS_TYPED", default=False)


@contextmanager
def as_typed() -> Iterator[None]:
    """For the command line: errors name its options."""
    before = _AS_TYPED.set(True)
    try:
        yield
    finally:
        _AS_TYPED.reset(before)


def in_python(function: Callable[P, R]) -> Callable[P, R]:
    """What a caller calls: errors name parameters, and their traceback ends at the line of the caller, unless
    $SQLSVM_DEBUG is set."""

    @wraps(function)
    def called(*given: P.args, **named: P.kwargs) -> R:
        __tracebackhide__ = True
        try:
            return function(*given, **named)
        except SqlsvmError as error:
            if _AS_TYPED.get():
                raise
            error.message, error.args = (said := reworded(error.message)), (said,)
            error.hint = reworded(error.hint) if error.hint else None
            if os.environ.get("SQLSVM_DEBUG"):
                raise
            raised = error
        if raised.__cause__:
            raised.__cause__.with_traceback(None)
        raise raised.with_traceback(None)

    return called


Class = TypeVar("Class", bound=type)


def all_in_python(kind: Class) -> Class:
    """The same for all that a class offers."""
    for name, held in list(vars(kind).items()):
        if name.startswith("_"):
            continue
        if isinstance(held, FunctionType):
            setattr(kind, name, in_python(held))
        elif isinstance(held, property) and held.fget:
            setattr(kind, name, property(in_python(held.fget), doc=held.__doc__))
    return kind


def reworded(text: str) -> str:
    """
    >>> reworded("--by takes no --folds"), reworded("add --lambda 0.1, or leave out --no-temp")
    ('by takes no folds', 'add lam=0.1, or leave out no_temp')
    >>> reworded("use --solver dane, or train one"), reworded("use --no-temp"), reworded("--no-offload forbids it")
    ("use solver='dane', or train one", 'use no_temp=True', 'offload=False forbids it')
    """
    said = _VERB.sub(r"\1()", _FLAG.sub(_parameter, text))
    return f'{said} Frames are given by name: {{"orders": orders}}' if said.endswith(_NO_TABLES) else said


def _parameter(found: re.Match[str]) -> str:
    no, flag, value = found.groups()
    after = f" {value}" if value else ""
    if no and f"no-{flag}" in _NAMES:
        no, flag = None, f"no-{flag}"
    name = _NAMES.get(flag)
    if name is None:
        return found[0]
    if no:
        return f"{name}=False{after}"
    if value and (given := _given(name, value)):
        return f"{name}={given}"
    is_truth = name in OPTIONS and isinstance(OPTIONS[name].domain, Truth)
    return f"{name}{'=True' if is_truth and _SET.search(found.string[: found.start()]) else ''}{after}"


def _given(name: str, word: str) -> str | None:
    """The word after a flag as a value, if it is one."""
    try:
        float(word)
    except ValueError:
        domain = OPTIONS[name].domain if name in OPTIONS else None
        known = (*domain.words, *domain.also) if isinstance(domain, Choice) else getattr(domain, "words", ())
        return repr(word) if word in known or ":" in word or word == "auto" else word if word.isupper() else None
    return word


def documented(function: Callable[..., Any], others: Mapping[str, str]) -> None:
    """Lists its parameters in its docstring."""
    defaults = {name: p.default for name, p in signature(function).parameters.items()}
    function.__doc__ = described(function.__doc__, {"Parameters": defaults}, others)


def described(doc: str | None, groups: Mapping[str, Mapping[str, Any]], others: Mapping[str, str]) -> str:
    """The docstring, with the parameters of each group and their defaults. `others` has those that are no options.

    Without indentation: Python 3.13 removes that of a docstring when it compiles, and earlier versions do not.
    """
    found = cleandoc(doc or "")
    for title, defaults in groups.items():
        listed = "\n\n".join(_one(name, default, others) for name, default in defaults.items())
        found += f"\n\n{title}\n{'-' * len(title)}\n{listed}\n"
    return found


def _one(name: str, default: Any, others: Mapping[str, str]) -> str:
    option = OPTIONS.get(name)
    said = others.get(name) or reworded(option.help if option else "").replace("; repeatable", "")
    must = f" : {option.must.removeprefix('must be ')}" if option and name not in others else ""
    has = "" if default is Parameter.empty else f", default {default!r}"
    return f"{name}{must}{has}\n{fill(said, 96, initial_indent=INDENT, subsequent_indent=INDENT)}"


INDENT = 4 * " "
