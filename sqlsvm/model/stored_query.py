"""The query of a model, which is executed as the model has it."""

from shlex import quote

from sqlsvm.engine.base import Engine
from sqlsvm.errors import EngineError
from sqlsvm.model.model import Model
from sqlsvm.query.read_query import respelt


def stored_query(engine: Engine, model: Model) -> str:
    """In the dialect of the engine. The role that stored a model in this database decides what its query does with
    the rights of this session, so the session must trust that role."""
    if model.owner != "" and not engine.trusts(model.owner):
        raise _refusal(model)
    return respelt(engine, model.query, model.dialect)


def _refusal(model: Model) -> EngineError:
    version = f'version {model.version} of the model "{model.name}"'
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
