"""Reads JSON that may be cut off, edited, or written by another version of sqlsvm.

`parsed` turns a text into an object. `made` turns the object into a dataclass: the annotation of a field says what it
may hold, so a new field is one line there. An error names the place, for example
`model.json: weights[3].weight: expected a finite number, found "NaN"`.

    float       a finite number          Annotated[T, domain]    a T that is in the domain
    Bound       or an infinite one       Annotated[T, function]  what the function makes of a T; it may raise Misread
    object      a value of a database    Any                     any JSON

A class with READ_AS, a type, makes itself of what is read as that, by its method `read`.
"""

import json
import types
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from math import isfinite, prod
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from sqlsvm.errors import OptionError, nearest

T = TypeVar("T")

Bound = Annotated[float, "may be infinite or NaN"]  # one of INFINITE, too
EDITED = "is this a model of sqlsvm? If it was edited, restore it, or train the model again"
ANEW = "leave out --resume to train anew"
NEWER = "upgrade sqlsvm"

INFINITE = ("Infinity", "-Infinity", "NaN")  # the numbers that JSON does not have, as the texts that stand for them
_DEEPEST = 50
_LARGEST = 2**63


class Misread(Exception):
    """A value is not what the type of its field says."""

    def __init__(self, fact: str, path: str = "", hint: str | None = None) -> None:
        super().__init__(fact)
        self.fact, self.path, self.hint = fact, path, hint

    def at(self, step: str | int) -> "Misread":
        """The same, in a field or an element of a value."""
        found = f"[{step}]" if isinstance(step, int) or not step.isidentifier() else f".{step}"
        return Misread(self.fact, found + self.path, self.hint)

    def error(self, where: str, hint: str) -> OptionError:
        place = self.path.removeprefix(".")
        return OptionError(": ".join(filter(None, (where, place, self.fact))), hint=self.hint or hint)


def unexpected(wanted: object, found: object) -> Misread:
    return Misread(f"expected {wanted}, found {_shown(found)}")


def _shown(found: object) -> str:
    if isinstance(found, dict | list):
        return "an object" if isinstance(found, dict) else f"a list of {len(found)}"
    if isinstance(found, float) and abs(found) == float("inf"):
        return "a number that is too large"
    text = json.dumps(found) if not isinstance(found, int) or abs(found) < _LARGEST else "a number that is too large"
    return text if len(text) <= 60 else f"{text[:57]}..."


# -- text -> object ----------------------------------------------------------------------------------------------------


def parsed(text: str, where: str, hint: str = EDITED) -> dict[str, Any]:
    """Python's json accepts NaN as a number; `made` refuses it where it stands."""
    try:
        found = json.loads(text, object_pairs_hook=_distinct)
        return found if isinstance(found, dict) else _refuse(unexpected("an object", found))
    except Misread as wrong:
        raise wrong.error(where, hint) from None
    except json.JSONDecodeError as error:
        place = f"at line {error.lineno}, column {error.colno}"
        raise OptionError(f"{where}: not JSON: {error.msg} {place}", hint=hint) from error
    except ValueError as error:
        raise OptionError(f"{where}: not JSON: a number has too many digits", hint=hint) from error
    except RecursionError as error:
        raise OptionError(f"{where}: lists and objects are nested too deeply", hint=hint) from error


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for name, number in Counter(name for name, _ in pairs).items() if number > 1)
        raise Misread(f"the field {json.dumps(twice)} is there twice in one object")
    return found


def _refuse(wrong: Misread) -> Any:
    raise wrong


def form_of(found: Mapping[str, Any], where: str, newest: int) -> int:
    """The number of the form in which an object was written, 1 if it has none. An error if that is newer."""
    form = found.get("format", 1)
    if type(form) is not int or form < 1:
        raise unexpected("a whole number of at least 1", form).at("format").error(where, EDITED)
    if form > newest:
        fact = f"made by a newer sqlsvm (format {form}; this one reads up to {newest})"
        raise OptionError(f"{where}: {fact}", hint=NEWER)
    return form


# -- object -> dataclass -----------------------------------------------------------------------------------------------


def made(kind: Callable[..., T], found: object, where: str, hint: str = EDITED) -> T:
    try:
        result: T = reader(kind).read(found)
        return result
    except Misread as wrong:
        raise wrong.error(where, hint) from None


@dataclass(frozen=True)
class Reader:
    """`said` follows "expected" in a message."""

    said: str
    read: Callable[[Any], Any]


@cache
def reader(wanted: Any) -> Reader:
    """Of a type."""
    if wanted in _SIMPLE:
        return _SIMPLE[wanted]
    if read_as := getattr(wanted, "READ_AS", None):
        return _narrowed((read_as, wanted.read))
    if is_dataclass(wanted):
        return _record(wanted)
    return _COMPOSED[get_origin(wanted)](get_args(wanted))


def _record(kind: Any) -> Reader:
    """UNREAD, if a class has it, names keys that are for other readers, or were written once. A null stands for the
    default. A field that is not in JSON keeps its default."""
    hints = get_type_hints(kind, include_extras=True)
    unread: frozenset[str] = getattr(kind, "UNREAD", frozenset())
    members = [(f.name, key(f), reader(hints[f.name]), has_default(f)) for f in in_json(kind)]
    known = unread.union(key(f) for f in in_json(kind))

    def read(found: Any) -> Any:
        if not isinstance(found, dict):
            raise unexpected("an object", found)
        if not known.issuperset(found):
            raise _unknown(next(name for name in found if name not in known), known)
        values = {}
        for name, said, part, has_default in members:
            value = found.get(said, MISSING)
            if has_default and (value is MISSING or value is None):
                continue
            if value is MISSING:
                raise Misread("is missing").at(said)
            try:
                values[name] = part.read(value)
            except Misread as wrong:
                raise wrong.at(said) from None
        return kind(**values)

    return Reader("an object", read)


def _unknown(name: str, known: Iterable[str]) -> Misread:
    hint = f"{nearest(name, known) or 'remove it.'} If a newer sqlsvm wrote it, upgrade this one"
    return Misread("unknown field", hint=hint).at(_quoted(name))


def in_json(kind: Any) -> list["Field[Any]"]:
    """The fields of a dataclass that its JSON has; metadata {"key": None} leaves one out."""
    return [field for field in fields(kind) if field.metadata.get("key", field.name) is not None]


def key(field: "Field[Any]") -> str:
    """The name of a field in JSON."""
    return str(field.metadata.get("key", field.name))


def has_default(field: "Field[Any]") -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def _quoted(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else _shown(name)


def _tuple(parts: tuple[Any, ...]) -> Reader:
    return _list(reader(parts[0])) if parts[-1] is ... else _row(tuple(map(reader, parts)))


def _list(each: Reader) -> Reader:
    def read(found: Any) -> tuple[Any, ...]:
        if not isinstance(found, list):
            raise unexpected("a list", found)
        done: list[Any] = []
        try:
            for value in found:
                done.append(each.read(value))
        except Misread as wrong:
            raise wrong.at(len(done)) from None
        return tuple(done)

    return Reader("a list", read)


def _row(each: tuple[Reader, ...]) -> Reader:
    said = f"a list of {len(each)}"

    def read(found: Any) -> tuple[Any, ...]:
        if not isinstance(found, list) or len(found) != len(each):
            raise unexpected(said, found)
        return tuple(_at(place, part, value) for place, (part, value) in enumerate(zip(each, found, strict=True)))

    return Reader(said, read)


def _mapping(parts: tuple[Any, ...]) -> Reader:
    names, values = map(reader, parts)

    def read(found: Any) -> dict[Any, Any]:
        if not isinstance(found, dict):
            raise unexpected("an object", found)
        return {_at(_quoted(k), names, k): _at(_quoted(k), values, v) for k, v in found.items()}

    return Reader("an object", read)


def _at(step: str | int, part: Reader, value: Any) -> Any:
    try:
        return part.read(value)
    except Misread as wrong:
        raise wrong.at(step) from None


def _choice(parts: tuple[Any, ...]) -> Reader:
    said = f"one of {', '.join(map(str, parts))}"
    return Reader(said, lambda v: v if isinstance(v, str) and v in parts else _refuse(unexpected(said, v)))


def _either(parts: tuple[Any, ...]) -> Reader:
    """With null, or of simple types."""
    others = [reader(part) for part in parts if part is not types.NoneType]
    may_be_null = len(others) < len(parts)
    said = " or ".join([*(other.said for other in others), *["null"] * may_be_null])

    def read(found: Any) -> Any:
        if found is None and may_be_null:
            return None
        for other in others:
            try:
                return other.read(found)
            except Misread as wrong:
                if wrong.path:
                    raise
        raise unexpected(said, found)

    return Reader(said, read)


def _narrowed(parts: tuple[Any, ...]) -> Reader:
    base, extra = reader(parts[0]), parts[1]
    if callable(extra):
        return Reader(base.said, lambda found: extra(base.read(found)))

    def read(found: Any) -> Any:
        value = base.read(found)
        return value if value in extra else _refuse(unexpected(extra, found))

    return Reader(str(extra), read)


# -- values ------------------------------------------------------------------------------------------------------------


def _text(found: Any) -> str:
    if not isinstance(found, str) or not (found.isascii() or _is_whole_text(found)):
        raise unexpected("text", found)
    return found


def _is_whole_text(text: str) -> bool:
    """JSON can spell half a character, which no other place can hold."""
    return not any("\ud800" <= c <= "\udfff" for c in text)


def _truth(found: Any) -> bool:
    return found if isinstance(found, bool) else _refuse(unexpected("true or false", found))


def _whole(found: Any) -> int:
    if type(found) is not int or abs(found) >= _LARGEST:
        raise unexpected("a whole number", found)
    return found


def _number(found: Any) -> float:
    if type(found) is float and isfinite(found):
        return found
    if type(found) is int and _fits(found):
        return float(found)
    raise unexpected("a finite number", found)


def _fits(whole: int) -> bool:
    """In a double."""
    return whole.bit_length() <= 1023


def _bound(found: Any) -> float:
    if isinstance(found, str):
        return float(found) if found in INFINITE else _refuse(unexpected(f"a number or {INFINITE[0]}", found))
    return _number(found)


def _scalar(found: Any) -> Any:
    if isinstance(found, str):
        return _text(found)
    if found is None or isinstance(found, bool) or (type(found) is int and _fits(found)):
        return found
    if isinstance(found, float) and isfinite(found):
        return found
    raise unexpected("text, a number, true, false or null", found)


def _any(found: Any, depth: int = 0) -> Any:
    if depth > _DEEPEST:
        raise Misread("lists and objects are nested too deeply")
    deeper = Reader("", lambda value: _any(value, depth + 1))
    if isinstance(found, dict):
        return {_at(_quoted(k), _SIMPLE[str], k): _at(_quoted(k), deeper, v) for k, v in found.items()}
    if isinstance(found, list):
        return [_at(place, deeper, value) for place, value in enumerate(found)]
    return _scalar(found)


_SIMPLE: Mapping[Any, Reader] = {
    str: Reader("text", _text),
    bool: Reader("true or false", _truth),
    int: Reader("a whole number", _whole),
    float: Reader("a finite number", _number),
    Bound: Reader("a number", _bound),
    object: Reader("a value", _scalar),
    Any: Reader("JSON", _any),
}


# -- arrays ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Packed:
    """An array of doubles: exact, and shorter than decimal digits."""

    shape: tuple[int, ...]
    float64: str

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> dict[str, Any]:
        return {"shape": list(values.shape), "float64": b64encode(values.astype("<f8").tobytes()).decode()}

    def unpacked(self) -> NDArray[np.float64]:
        try:
            content = b64decode(self.float64, validate=True)
        except ValueError:
            raise Misread("expected base64").at("float64") from None
        if min(self.shape, default=0) < 0 or len(content) != 8 * prod(self.shape):
            raise Misread(f"the shape {list(self.shape)} does not fit {len(content)} bytes")
        return np.frombuffer(content, dtype="<f8").astype(float).reshape(self.shape)


def _array(_parts: tuple[Any, ...]) -> Reader:
    packed = reader(Packed)
    return Reader("an array", lambda found: packed.read(found).unpacked())


_COMPOSED: Mapping[Any, Callable[[tuple[Any, ...]], Reader]] = {
    tuple: _tuple,
    Mapping: _mapping,
    Literal: _choice,
    Union: _either,
    types.UnionType: _either,
    Annotated: _narrowed,
    np.ndarray: _array,
}
