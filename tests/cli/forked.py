"""Commands that do not wait for imports: each is forked from one process that has made them, and run no command.

That is most of a second of each command.
"""

import atexit
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import Any

_PRELOADED = (
    *(
        "click",
        "duckdb",
        "numpy",
        "numpy.ma",
        "numpy.random",
        "psycopg",
        "rich.console",
        "rich.table",
        "rich.tree",
        "sqlglot",
    ),
    *("sqlglot.dialects.duckdb", "sqlglot.dialects.postgres", "threadpoolctl"),
    *("rich._emoji_codes", "sqlsvm.cli", "sqlsvm.engine.duckdb", "sqlsvm.engine.postgres", "sqlsvm.run.train"),
    *("sqlsvm.ask.describe", "sqlsvm.ask.evaluate", "sqlsvm.ask.validation", "sqlsvm.report.page", "sqlsvm.store"),
    *("sqlsvm.show.evaluation", "sqlsvm.show.inspection", "sqlsvm.show.training"),
)
_MOST = 1 << 20
_alone = Lock()


def run(arguments: Sequence[str], stdin: str, env: Mapping[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """`python -m sqlsvm ARGUMENTS`, as subprocess.run would have it."""
    with _alone, tempfile.TemporaryFile() as typed, ThreadPoolExecutor() as pool:
        typed.write(stdin.encode())
        typed.seek(0)
        (out, its_out), (err, its_err) = os.pipe(), os.pipe()
        order = json.dumps({"arguments": arguments, "env": dict(env), "cwd": str(cwd)}).encode()
        socket.send_fds(_server(), [order], [typed.fileno(), its_out, its_err])
        os.close(its_out)
        os.close(its_err)
        said = [pool.submit(_text, stream) for stream in (out, err)]
        code = int(_server().recv(_MOST))
        return subprocess.CompletedProcess(list(arguments), code, *(one.result() for one in said))


def _text(stream: int) -> str:
    with open(stream, encoding="utf-8") as file:
        return file.read()


@cache
def _server() -> socket.socket:
    """It ends when this end of the socket is closed, which is when we end."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    # One thread: a process that has more may not fork.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error", __file__, str(its.fileno())]
    process = subprocess.Popen(command, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL, env=environment)
    its.close()
    process.returncode = 0  # it is not waited for
    atexit.register(ours.close)
    return ours


def _serve(parent: socket.socket) -> None:
    """Returns in the children only."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the tests, and they end us
    for name in _PRELOADED:
        __import__(name)
    sys.modules["sqlsvm.cli.progress"].__dict__["PATIENCE"] = 600.0  # a step is slow where the machine is busy
    while True:
        order, streams, _, _ = socket.recv_fds(parent, _MOST, 3)
        if not order:
            parent.close()
            sys.exit()
        child = os.fork()
        if not child:
            parent.close()
            return _become(json.loads(order), streams)
        for stream in streams:
            os.close(stream)
        parent.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


def _become(order: dict[str, Any], streams: Sequence[int]) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for place, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        os.dup2(streams[place], place)
        os.close(streams[place])
        setattr(sys, name, os.fdopen(place, mode, closefd=False))
    os.environ.clear()
    os.environ.update(order["env"])
    os.chdir(order["cwd"])
    sys.argv = ["sqlsvm", *order["arguments"]]
    sys.modules["sqlsvm.cli.progress"].__dict__.update(STARTED=perf_counter(), FIRST=0.0)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
    runpy.run_module("sqlsvm", run_name="__main__", alter_sys=True)
