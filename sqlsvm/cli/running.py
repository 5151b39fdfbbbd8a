"""One command line -> its exit code, and errors on stderr."""

import atexit
import gc
import os
import signal
import sys
from contextlib import suppress
from io import TextIOWrapper
from threading import active_count
from types import FrameType
from typing import NoReturn

import click
from click.exceptions import NoSuchCommand

from sqlsvm.cli.group import cli
from sqlsvm.cli.progress import watching
from sqlsvm.errors import OptionError, SqlsvmError, hide_typed, is_out_of_memory, nearest
from sqlsvm.terminal import in_colour, printable
from sqlsvm.words import speaking, typed

INTERRUPTED = 130

_MEMORY_HINT = "a smaller --sample, or PostgreSQL without --offload, needs less of it; `ulimit -v` shows a limit"


class Ended(KeyboardInterrupt):
    """SIGTERM or SIGHUP. As with Ctrl-C, the statement is cancelled and the snapshot is rolled back."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = 128 + number


def main() -> None:
    _leave(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """One command line -> its exit code. An error is a message on stderr, never a traceback."""
    _prepare()
    hide_typed([*arguments, *(value for name, value in os.environ.items() if name.startswith("SQLSVM_"))])
    try:
        # Without standalone_mode click hands over exit codes, and raises instead of printing and exiting.
        with watching(), speaking(typed):
            code = cli.main(arguments or ["--help"], prog_name="sqlsvm", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        _complain(_usage(error))
        return error.exit_code
    except click.Abort as error:
        return _interrupted(error.__cause__)
    except SqlsvmError as error:
        _complain(error)
        return 1
    except Exception as error:
        if os.environ.get("SQLSVM_DEBUG"):
            raise
        if is_out_of_memory(error):
            _complain(SqlsvmError("this process gets no more memory", hint=_MEMORY_HINT))
            return 1
        problem = f"{type(error).__name__}: {error}"
        _complain(SqlsvmError(problem, hint="SQLSVM_DEBUG=1 shows where; please report it"), "internal error:")
        return 1


def _leave(code: int) -> NoReturn:
    """All is closed, and what was registered for the end is done. Python would then take apart each module that was
    imported, for 80 ms. It still does so where it has to wait for a thread, or to say that the output has gone."""
    if active_count() == 1:
        with suppress(OSError, ValueError):
            atexit._run_exitfuncs()
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
            os._exit(code)
    sys.exit(code)


def _prepare() -> None:
    """Names may have characters that the terminal cannot encode. SIGTERM and SIGHUP end the command as Ctrl-C does. A
    collection of garbage looks at all modules, which takes 10 ms: a small training needs none."""
    gc.set_threshold(200_000)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, _end)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    raise Ended(number)


def _interrupted(cause: BaseException | None) -> int:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)  # all is cleaned up: a second signal may end the process
    click.echo("interrupted", err=True)
    return cause.exit_code if isinstance(cause, Ended) else INTERRUPTED


def _usage(error: click.ClickException) -> SqlsvmError:
    """The error of click in our form."""
    if isinstance(error, click.MissingParameter):
        return _missing(error)
    context = error.ctx if isinstance(error, click.UsageError) else None
    help = f"{context.command_path if context else 'sqlsvm'} --help"
    hint = getattr(error, "hint", None) or (_meant(error, context) if context else None) or help
    guessed = isinstance(error, click.NoSuchOption | NoSuchCommand)  # click would put its guesses into the message
    return OptionError(error.message if guessed else error.format_message(), hint=hint)


def _missing(error: click.MissingParameter) -> SqlsvmError:
    option, context = error.param, error.ctx
    assert option
    assert context
    one_of = f"one of {', '.join(option.type.choices)}; " if isinstance(option.type, click.Choice) else ""
    return OptionError(f"{option.opts[0]} is missing", hint=f"{one_of}{context.command_path} --help")


def _meant(error: click.ClickException, context: click.Context) -> str | None:
    """What was probably meant: a verb, an option, or one of the values of an option."""
    if isinstance(error, click.NoSuchOption):
        known = {name for option in context.command.params for name in option.opts}
        if error.option_name == "--query" and "--input" in known:
            return "the model has its query; --input names other rows"
        return nearest(error.option_name, known)
    if isinstance(error, click.BadParameter) and error.param and isinstance(error.param.type, click.Choice):
        return nearest(error.message.split("'")[1], error.param.type.choices)
    if isinstance(error, NoSuchCommand):
        return nearest(error.command_name, cli.commands)
    return None


def _complain(error: SqlsvmError, kind: str = "error:") -> None:
    text = "\n".join(printable(line) for line in str(error).expandtabs().splitlines())
    red = in_colour(sys.stderr)
    click.echo(f"{click.style(kind, fg='red', bold=True)} {text}", err=True, color=red)
