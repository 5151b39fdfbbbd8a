"""The query of a model, which is executed as the model has it."""

from collections.abc import Sequence
from dataclasses import replace
from shlex import quote

from sqlsvm.engine.base import Bound, Engine, Meaning
from sqlsvm.errors import EngineError
from sqlsvm.model.model import Model
from sqlsvm.query.read_query import meanings, respelt, taken_apart

REBIND = "let the role that stored it look up its names again: --rebind"


def stored_query(engine: Engine, model: Model) -> str:
    """In the dialect of the engine. The role that stored a model in this database decides what its query does with
    the rights of this session, so the session must trust that role."""
    if model.owner != "" and not engine.trusts(model.owner):
        raise _refusal(model)
    engine.in_zone(model.trained_on.zone)
    text, then = respelt(engine, model.query, model.dialect), model.trained_on.names
    if model.dialect != engine.dialect or (then is None and model.owner == ""):
        return text
    now = meanings(engine, text)
    if now is None:
        return text
    if then is None:
        raise EngineError(
            f"nobody has looked up the names in the query of {_version(model)}",
            detail="An older sqlsvm has stored it. On your path a name may mean the table of another role.",
            hint=f"read the query, sqlsvm show prints it, and {REBIND}",
        )
    _check_same(model, then, now)
    return Bound(text)


def rebound(engine: Engine, model: Model) -> Model:
    """The same, with the names of its query as typed looked up again, on the path of this session."""
    query = taken_apart(engine, respelt(engine, model.typed, model.dialect)).text
    known = replace(model.trained_on, typed=model.typed, names=meanings(engine, query))
    return replace(model, query=str(query), dialect=engine.dialect, trained_on=known)


def _check_same(model: Model, then: Sequence[Meaning], now: Sequence[Meaning]) -> None:
    """In another database the names are all that is known."""
    known, found = ({each.key: each for each in names} for names in (then, now))
    if any(each.kind == "database" and found.get(each.key) != each for each in then) or not then:
        return
    for key in sorted(known.keys() | found.keys()):
        before, after = known.get(key), found.get(key)
        if (before.oids if before else "") != (after.oids if after else ""):
            if not after or not after.oids:
                hint = f"if it has another name or schema now, {REBIND}"
                raise EngineError(f"cannot read {key[1]}.{key[2]}: there is no such {key[0]} any more", hint=hint)
            raise EngineError(
                f"{key[1]}.{key[2]} is another {key[0]} than {_version(model)} was trained on",
                detail=f"It was {before.said if before else 'nothing'}, and is {after.said}.",
                hint=f"if that is right, {REBIND}",
            )


def _version(model: Model) -> str:
    return f'version {model.version} of the model "{model.name}"'


def _refusal(model: Model) -> EngineError:
    version = _version(model)
    if model.owner is None:
        return EngineError(
            f"it is not known who stored {version}",
            detail="Its query would run with your rights.",
            hint="train it again, or read it with sqlsvm show and, if you stored it, sign it: "
            "UPDATE sqlsvm.versions SET owner = DEFAULT WHERE name = '...'",
        )
    return EngineError(
        f'role "{model.owner}" has stored {version}, and you do not trust that role',
        detail=f"Its query would run with your rights; --trust-owner {quote(model.owner)} allows that.",
        hint="read the query first: sqlsvm show prints it",
    )
