"""What a caller in Python meets: a traceback that ends at the line of the caller, and docstrings with parameters."""

import os
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, cleandoc, signature
from textwrap import fill
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

from sqlsvm.errors import SqlsvmError
from sqlsvm.options import OPTIONS
from sqlsvm.words import called, said

P = ParamSpec("P")
R = TypeVar("R")


def in_python(function: Callable[P, R]) -> Callable[P, R]:
    """What a caller calls: the traceback of an error ends at the line of the caller, unless $SQLSVM_DEBUG is set."""

    @wraps(function)
    def at_its_line(*given: P.args, **named: P.kwargs) -> R:
        __tracebackhide__ = True
        try:
            return function(*given, **named)
        except SqlsvmError as error:
            if os.environ.get("SQLSVM_DEBUG"):
                raise
            raised = error
        if raised.__cause__:
            raised.__cause__.with_traceback(None)
        raise raised.with_traceback(None)

    return at_its_line


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
    text = said(others.get(name) or (option.help if option else ""), called).replace("; repeatable", "")
    must = f" : {option.must.removeprefix('must be ')}" if option and name not in others else ""
    has = "" if default is Parameter.empty else f", default {default!r}"
    return f"{name}{must}{has}\n{fill(text, 96, initial_indent=INDENT, subsequent_indent=INDENT)}"


INDENT = 4 * " "
