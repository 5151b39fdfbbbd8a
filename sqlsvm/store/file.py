"""One JSON file, one model: the one that was saved last."""

import json
import os
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any

from sqlsvm.errors import OptionError, SqlsvmError
from sqlsvm.files import is_stream, replacing, text_left_in
from sqlsvm.model.model import Model
from sqlsvm.model.plain import BETWEEN, joined, plain
from sqlsvm.model.weights import Weights
from sqlsvm.reading import ANEW, EDITED, made, parsed
from sqlsvm.store.base import LISTED, Kept, Store, Stored, check_name, unknown, without_weights


@dataclass(frozen=True)
class _StateFile:
    model: str
    state: Mapping[str, Any]


class FileStore(Store):
    """A model file. Saving a model again replaces it with the next version. A different model is never replaced."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = Path(path).expanduser()

    def check(self, name: str) -> None:
        self._before(name)
        folder = self._path.resolve().parent
        if not os.access(folder, os.W_OK | os.X_OK):
            why = "the folder may not be written to" if folder.is_dir() else "there is no such folder"
            raise SqlsvmError(f"cannot write the model file {self._path}", detail=f"{folder}: {why}")

    def save(self, model: Model) -> int:
        before = self._before(model.name)
        version = before.version + 1 if before else 1
        known = model.trained_on
        if known.names:  # they are numbers of one database
            model = replace(model, trained_on=replace(known, names=()))
        _write(self._path, laid_out(replace(model, version=version).facts))
        return version

    def load(self, name: str, version: int | None = None) -> Model:
        model = self._model(Model.from_json)
        if model is None or model.name != name or version not in (None, model.version):
            raise unknown(name, version, self.models())
        return model

    def models(self) -> tuple[Stored, ...]:
        model = self._model(without_weights)
        if model is None:
            return ()
        created = datetime.fromtimestamp(self._path.stat().st_mtime, UTC)
        same = {name: getattr(model, name) for name in LISTED}
        return (Stored(**same, created_at=created),)

    def kept(self, name: str, version: int | None = None) -> Kept:
        listing = self.models()
        versions = tuple(s.version for s in listing if s.name == name and version in (None, s.version))
        found = Kept(versions, state=version is None and self.load_state(name) is not None)
        if found == Kept():
            raise unknown(name, version, listing)
        return found

    def drop(self, name: str, version: int | None = None) -> Kept:
        found = self.kept(name, version)
        if found.state:
            _remove(self._state_path)
        if found.versions:
            _remove(self._path)
        return found

    # -- the state of a training is in a file in the same folder -------------------------------------------------------

    @property
    def _state_path(self) -> Path:
        return self._path.with_name(f"{self._path.name}.state")

    def save_state(self, name: str, state: Mapping[str, Any]) -> None:
        self._before(name)
        _write(self._state_path, json.dumps({"model": name, "state": state}))

    def load_state(self, name: str) -> Mapping[str, Any] | None:
        text = _read(self._state_path, "training state", text_left_in)
        if text is None:
            return None
        where = str(self._state_path)
        found = made(_StateFile, parsed(text, where, ANEW), where, ANEW)
        return found.state if found.model == name else None

    def drop_state(self, name: str) -> None:
        """One that cannot be read is left as it is: it may not be ours."""
        with suppress(OptionError):
            if self.load_state(name) is not None:
                _remove(self._state_path)

    # ------------------------------------------------------------------------------------------------------------------

    def _before(self, name: str) -> Model | None:
        """The model in the file, which a model of that name would replace."""
        check_name(name)
        if is_stream(self._path):
            raise OptionError(
                f"cannot keep a model in {self._path}, which is a device or a pipe",
                hint="name a file, because the model must be read again; sqlsvm train --json prints one",
            )
        before = self._model(without_weights)
        if before is not None and before.name != name:
            raise OptionError(
                f'{self._path} holds the model "{before.name}", not "{name}"',
                hint="a file holds one model: name another file, or remove this one",
            )
        return before

    def _model(self, understood: Callable[[Mapping[str, Any], str], Model]) -> Model | None:
        """The content of the file; None if there is no file."""
        text, where = _read(self._path, "model"), str(self._path)
        return None if text is None else understood(parsed(text, where), where)


def laid_out(found: Mapping[str, Any]) -> str:
    """JSON with one line for each member, and for each object of a list (weights, passes). With `indent` the
    json module takes seconds for 100,000 weights.

    >>> print(laid_out({"model": "churn", "weights": [{"feature": "age"}, {"feature": "city"}], "history": []}))
    {
     "model": "churn",
     "weights": [
      {"feature": "age"},
      {"feature": "city"}
     ],
     "history": []
    }
    """
    return "{\n " + ",\n ".join(f"{_text(name)}: {_member(value)}" for name, value in found.items()) + "\n}"


def _member(value: object) -> str:
    if isinstance(value, Weights) and len(value):
        each = ",\n  ".join(value.lines())
    elif (found := plain(value)) and isinstance(found, list):
        each = joined(found)[1:-1].replace(f"}}{BETWEEN}{{", "},\n  {").replace(BETWEEN, ", ")
    else:
        return _text(found)
    return f"[\n  {each}\n ]"


_text = json.JSONEncoder(ensure_ascii=False).encode


def _text_of(path: Path) -> str:
    """A device like /dev/zero has no end; a pipe has one."""
    with path.open(encoding="utf-8") as file:
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise OSError(f"{path} is a device")
        return file.read()


def _read(path: Path, what: str, text: Callable[[Path], str] = _text_of) -> str | None:
    """None if there is no file."""
    try:
        return text(path)
    except UnicodeDecodeError as error:
        raise OptionError(f"{path}: not UTF-8: byte {error.start + 1}", hint=EDITED) from error
    except FileNotFoundError:
        return None
    except OSError as error:
        raise OptionError(f"cannot read the {what} file {path}", detail=str(error)) from error


def _write(path: Path, text: str) -> None:
    try:
        with replacing(path) as out:
            out.write(text + "\n")
    except OSError as error:
        raise SqlsvmError(f"cannot write the model file {path}", detail=str(error)) from error


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError as error:
        raise SqlsvmError(f"cannot remove {path}", detail=str(error)) from error
