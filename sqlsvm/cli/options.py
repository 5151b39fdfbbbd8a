"""Options that several verbs have."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from sqlsvm import words
from sqlsvm.errors import OptionError
from sqlsvm.options import (
    AUTO,
    OPTIONS,
    Choice,
    ClassWeight,
    Name,
    Number,
    Option,
    Pieces,
    Share,
    Span,
    Strength,
    Texts,
    Truth,
)

if TYPE_CHECKING:
    from sqlsvm.engine.base import Engine

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def option(name: str, *argument: str, **settings: Any) -> Callable[[Decorated], Decorated]:
    """An option that can also be given as $SQLSVM_<NAME>. `argument` is its name in the code, if that is another."""
    variable = name.partition("/")[0].removeprefix("--").replace("-", "_").upper()
    settings["help"] = words.said(settings["help"], words.typed)
    return click.option(name, *argument, envvar=f"SQLSVM_{variable}", **settings)


def together(*options: Callable[[Any], Any]) -> Callable[[Decorated], Decorated]:
    def decorate(command: Decorated) -> Decorated:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def typed(name: str) -> bool:
    """Is the option on the command line? A variable may be meant for other verbs."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def refuse_typed(options: dict[str, Any], **more: Any) -> None:
    """Refuse what does not go together, as an error of the command line. What a variable says that the other options
    leave unread may be meant for other verbs, and counts as not given."""
    from sqlsvm.rules import refuse

    for known in OPTIONS.values():
        if known.read_by and known.name in options and not typed(known.name):
            other, values = known.read_by
            if options.get(other, OPTIONS[other].default) not in values:
                options[known.name] = known.default
    try:
        refuse(options | more)
    except OptionError as error:
        raise Refused(error.message, error.hint or "", click.get_current_context()) from error


class Refused(click.UsageError):
    """An option is missing, or does not go with another. The hint says how to go on."""

    def __init__(self, message: str, hint: str, context: click.Context) -> None:
        super().__init__(message, context)
        self.hint = hint


def _needed(hint: str) -> Callable[[click.Context, click.Parameter, str | None], str | None]:
    """A check that an option is given. click's own message does not say how."""

    def check(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
        if not value and not context.resilient_parsing:
            raise Refused(f"{parameter.opts[0]} is missing", hint, context)
        return value

    return check


_QUERY_HINT = "--query features.sql, or --query 'SELECT ... FROM ...', or --query - for stdin"
_query_needed = _needed(_QUERY_HINT)


def _query_text(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """`-` is standard input, the name of a file means its text, anything else is SQL."""
    if not _query_needed(context, parameter, value) or value is None:
        return value
    if value == "-" or os.path.exists(value):
        return _read(value, "the query")
    if not any(c.isspace() for c in value.strip()):
        raise OptionError(f"there is no file {value}", hint="--query takes the name of a file, or the SQL itself")
    return value


def other_query(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """The text of a query that need not be given."""
    return _query_text(context, parameter, value) if value else None


def rows_text(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    """`-` and a file of SQL, as for --query; other files are data, which the engine reads."""
    if value and (value == "-" or (value.endswith(".sql") and os.path.exists(value))):
        return _read(value, "the input")
    return value


def _read(name: str, what: str) -> str:
    try:
        with click.open_file(name, encoding="utf-8-sig") as file:
            return str(file.read())
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"cannot read {what} from {name}", detail=str(error)) from error


def _beta(context: click.Context, _parameter: click.Parameter, value: str | None) -> Any:
    """The weights, from a file or from the argument itself; else the name of a model, which `weights_of` looks up."""
    if value is None or context.resilient_parsing:
        return None
    if not (os.path.exists(value) or value.lstrip().startswith("{") or value.endswith(".json")):
        return value
    text = value if value.lstrip().startswith("{") else _read(value, "beta")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        hint = 'write {"intercept": 0.1, "weights": {"distance": 0.3, "carrier": {"UA": -0.2}}}'
        raise OptionError("beta is not JSON", detail=str(error), hint=hint) from error


def finite(_context: click.Context, parameter: click.Parameter, value: float) -> float:
    if not isfinite(value):
        raise click.BadParameter(f"{value} is not a finite number.", param=parameter)
    return value


def _checked(
    declared: Option, read: Callable[[str], Any], _context: click.Context, parameter: click.Parameter, value: Any
) -> Any:
    """What a text says, if the option allows it."""
    found = value
    if isinstance(value, str):
        with suppress(ValueError):
            found = read(value)
    if not declared.allows(found):
        raise click.BadParameter(f"it {declared.must}, not {value!r}.", param=parameter)
    return found


def _share(value: str) -> float | str:
    return float(value) if 0.0 < float(value) < 1.0 else value


def _class_weight(value: str) -> str | tuple[float, ...]:
    return tuple(map(float, value.split(":"))) if ":" in value else value


def _each(
    domain: Texts, _context: click.Context, parameter: click.Parameter, value: tuple[str, ...]
) -> tuple[str, ...]:
    for text in value:
        if (text,) not in domain:
            raise click.BadParameter(f"{text!r} is not {domain.each}.", param=parameter)
    return value


def _pieces(context: click.Context, _parameter: click.Parameter, value: str) -> Any:
    from sqlsvm.solve.loss.custom import given

    return given(value) if value and not context.resilient_parsing else ()


class _Word(click.Choice[str]):
    """One of some words. Some of them have other names."""

    def __init__(self, words: tuple[str, ...], also: Mapping[str, str]) -> None:
        super().__init__(words)
        self.also = also

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return super().convert(self.also.get(value, value), param, ctx)


def _yes(_context: click.Context, _parameter: click.Parameter, value: str) -> bool | str:
    return {"yes": True, "no": False}.get(value, value)


def given(name: str, **settings: Any) -> Callable[[Decorated], Decorated]:
    """An option of the table; `settings` say what is different for a verb."""
    declared = OPTIONS[name]
    kept = {"expose_value": False, "callback": partial(_of_session, name)} if declared.of_session else {}
    found = {"help": declared.help, "default": declared.default, **_kind(declared), **kept, **settings}
    shown: bool | str = found["default"] not in (None, (), "") and not found.get("is_flag")
    if declared.descent is not None and "default" not in settings:
        found["default"], shown = None, f"{declared.default}, {declared.descent} for descent"
    return option(declared.flags, declared.name, **{"show_default": shown, **found})


SEVERAL = {
    "list": "A list such as 0.05,0.5,0.95 trains a model for each value.",
    "list or range": "A list such as 0.1,0.01 or a range such as 1e-1:1e-5:13 trains a model for each value.",
}


class Several(click.ParamType[Any]):
    """A number, or several: a tuple. A range is its ends and how many numbers; each is the same multiple of the one
    before."""

    name = "number"

    def __init__(self, declared: Option) -> None:
        self.declared = declared

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, float | tuple) or (value == AUTO and self.declared.allows(value)):
            return value
        found = self._range(value) if ":" in value else self._numbers(value.split(","))
        for number in found:
            alone = len(found) == 1 and isfinite(number)  # it is checked with all other options
            if not (alone or self.declared.allows(number)):
                self.fail(f"{value!r}: it {self.declared.must}.", param, ctx)
        if not found:
            forms = "a number, a list as 0.1,0.5" + ", or a range as 1e-1:1e-5:13" * (self.declared.several != "list")
            self.fail(f"{value!r} is not {forms}.", param, ctx)
        return found if len(found) > 1 else found[0]

    def _numbers(self, texts: list[str]) -> tuple[float, ...]:
        try:
            return tuple(dict.fromkeys(map(float, texts)))
        except ValueError:
            return ()

    def _range(self, text: str) -> tuple[float, ...]:
        *ends, count = text.split(":")
        found = self._numbers(ends)
        if self.declared.several == "list" or len(found) != 2 or not (count.isdigit() and 2 <= int(count) <= MOST):
            return ()
        if not all(end > 0.0 and isfinite(end) for end in found):
            return ()
        (first, last), steps = found, int(count) - 1
        inner = [float(f"{first * (last / first) ** (step / steps):.6g}") for step in range(1, steps)]
        return tuple(dict.fromkeys((first, *inner, last)))


MOST = 1000  # numbers in a range


def _kind(declared: Option) -> dict[str, Any]:
    match declared.domain:
        case Number() as n if declared.auto:
            number = int if n.whole else float
            read = partial(_checked, declared, lambda value: None if value == AUTO else number(value))
            return {"metavar": "auto|NUMBER", "default": "auto", "callback": read}
        case Share():
            return {"metavar": "FRACTION|DATE", "callback": partial(_checked, declared, _share)}
        case Span():
            return {"metavar": "SPAN", "callback": partial(_checked, declared, str)}
        case Number(low, high, whole=True):
            return {"metavar": "NUMBER", "type": click.IntRange(int(low), None if high == inf else int(high))}
        case Number(high=1) as n:
            return {"metavar": "FRACTION", "type": click.FloatRange(n.low, n.high, n.above, n.below)}
        case Strength():
            return {"metavar": "auto|NUMBER", "callback": partial(_checked, declared, float)}
        case Number():
            return {"metavar": "NUMBER", "type": float, "callback": finite}
        case Choice(words, also):
            return {"type": _Word(words, also)}
        case ClassWeight(words):
            return {"metavar": "|".join([*words, "W-:W+"]), "callback": partial(_checked, declared, _class_weight)}
        case Truth(words) if declared.default:
            return {"type": click.Choice(["yes", "no", *words]), "default": "yes", "callback": _yes}
        case Truth():
            return {"is_flag": True}
        case Texts() as each:
            return {"metavar": each.metavar, "multiple": True, "callback": partial(_each, each)}
        case Pieces():
            return {"metavar": "FILE|JSON", "default": "", "callback": _pieces}
        case Name(of, repeated):
            return {"metavar": of.upper(), "multiple": repeated}
    raise AssertionError(declared)


def declared(verb: str) -> Callable[[Decorated], Decorated]:
    """Every option that the table gives to a verb."""
    return together(*(given(name, **_of_verb(found, verb)) for name, found in OPTIONS.items() if verb in found.verbs))


def _of_verb(found: Option, verb: str) -> dict[str, Any]:
    if found.descent is not None and verb not in OPTIONS["solver"].verbs:
        return {"default": found.default}
    unnamed = {"default": None, "show_default": found.unnamed} if found.unnamed and verb in ("train", "compile") else {}
    if verb != "train" or not found.several:
        return unnamed
    return {"type": Several(found), "callback": None, "help": f"{found.help} {SEVERAL[found.several]}", **unnamed}


database = option(
    "--dsn",
    metavar="URL",
    callback=_needed(
        "--dsn postgresql://user@host/database, or set SQLSVM_DSN; "
        "`embedded:` starts a PostgreSQL of its own, `duckdb:` reads files"
    ),
    help="The database: postgresql://..., embedded:[PATH], duckdb:[PATH] or spark:[MASTER].",
)


def _trust(context: click.Context, _parameter: click.Parameter, roles: tuple[str, ...]) -> None:
    context.meta[_TRUSTED] = frozenset(roles)


_TRUSTED = "sqlsvm.trusted"


def _of_session(name: str, context: click.Context, _parameter: click.Parameter, value: Any) -> None:
    context.meta.setdefault(_PLACE, {})[name] = value


_PLACE = "sqlsvm.place"


def place() -> Mapping[str, Any]:
    """What the command line says of the session's working tables."""
    found: Mapping[str, Any] = click.get_current_context().meta.get(_PLACE, {})
    return found


# No environment variable: to trust a role, the user types its name.
trust_wanted = click.option(
    "--trust-owner",
    metavar="ROLE",
    multiple=True,
    expose_value=False,
    callback=_trust,
    help="Let what this role has stored run with your rights; repeatable.",
)


@contextmanager
def opened(dsn: str) -> Iterator["Engine"]:
    """The database of a verb, with the roles that the command line trusts."""
    from sqlsvm.engine import connect

    with connect(dsn) as engine:
        chosen = click.get_current_context().meta
        engine.trusted = chosen.get(_TRUSTED, frozenset())
        engine.place(**place())
        yield engine


models_database = together(database, trust_wanted)  # the database, for a verb that uses what is stored there
_QUERY_HELP = "A query whose columns are the features and the label; - reads it from stdin."
query_wanted = option("--query", metavar="FILE|SQL", callback=_query_text, help=_QUERY_HELP)


def beta_wanted(help: str) -> Callable[[Decorated], Decorated]:
    return option("--beta", metavar="FILE|JSON|MODEL", callback=_beta, help=help)


def weights_of(engine: "Engine", beta: Any) -> Any:
    """The weights of a stored model, if --beta is its name."""
    from sqlsvm.store import open_store

    if not isinstance(beta, str):
        return beta
    model = open_store(engine).load(beta).linear()
    model.must_be_one("rows are counted for one vector of weights")
    return model.as_json()


json_wanted = option("--json", "as_json", is_flag=True, help="Print one JSON object.")
