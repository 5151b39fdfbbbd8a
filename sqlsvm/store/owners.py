"""The other roles that can run code through the schema of the models.

The functions and tables of this schema run with the rights of the role that uses them. So before sqlsvm calls or writes
anything there, it asks who owns what, and refuses what a role left there that this session does not trust.
"""

from shlex import quote

from sqlsvm.engine.base import Engine, Stranger
from sqlsvm.errors import EngineError


def check_owners(engine: Engine, schema: str) -> None:
    """Refuse a schema through which a role that this session does not trust could run code. A schema that does not
    exist is accepted: so look whether it does, then call this, then use it."""
    strangers = engine.strangers(schema)
    if strangers:
        first, *more = strangers
        others = f", and there are {len(more)} more such findings" if more else ""
        raise EngineError(
            f"the schema {schema} is not safe to use: {first.said}{others}",
            detail="What it holds would run with your rights, and you do not trust that role.",
            hint=f"sqlsvm check names all of them; {remedy(first)}",
        )


def remedy(stranger: Stranger) -> str:
    if stranger.remedy:
        return f"the owner can take that right back: {stranger.remedy}"
    return f"if you trust it, add --trust-owner {quote(stranger.role)}; if not, a superuser can drop what it made"
