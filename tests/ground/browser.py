"""A headless Chromium that a page is shown to, driven over a pipe by the DevTools protocol."""

import fcntl
import json
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def chromium() -> str:
    found = os.environ.get("SQLSVM_TEST_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        pytest.skip("no Chromium is installed (Debian: apt-get install chromium)")
    return found


class Browser:
    """One tab. `events` keeps what the browser told between the answers."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back, self._buffer, self._id, self._tab = to, back, b"", 0, ""
        self.events: list[dict[str, Any]] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._tab = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._id += 1
        said = {"id": self._id, "method": method, "params": parameters}
        os.write(self._to, json.dumps(said | ({"sessionId": self._tab} if self._tab else {})).encode() + b"\0")
        while (message := self._next()).get("id") != self._id:
            self.events.append(message)
        assert "error" not in message, message
        found: dict[str, Any] = message["result"]
        return found

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            read = os.read(self._back, 1 << 16)
            assert read, "Chromium is gone"
            self._buffer += read
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def show(self, page: Path, width: int, scheme: str) -> None:
        """Load the page on a screen of that width, in the light or the dark form."""
        self.events.clear()
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.send("Page.navigate", url=page.as_uri())
        while not self.heard("Page.loadEventFired"):
            self.events.append(self._next())

    def heard(self, method: str) -> list[dict[str, Any]]:
        return [event["params"] for event in self.events if event.get("method") == method]

    def ask(self, expression: str) -> Any:
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Commands go in by its file 3 and answers come out by its file 4."""
    their_in, our_out = map(_high, os.pipe())
    our_in, their_out = map(_high, os.pipe())
    command = [
        chromium(),
        "--headless=new",
        "--hide-scrollbars",
        "--remote-debugging-pipe",
        "--disable-gpu",
        f"--user-data-dir={folder}",
    ]
    command += ["--no-first-run", "--disable-background-networking", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    files: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
        (os.POSIX_SPAWN_DUP2, their_in, 3),
        (os.POSIX_SPAWN_DUP2, their_out, 4),
    ]
    files += [(os.POSIX_SPAWN_OPEN, n, os.devnull, os.O_RDWR, 0) for n in (1, 2)]
    process = os.posix_spawn(command[0], command, os.environ, file_actions=files)
    os.close(their_in)
    os.close(their_out)
    try:
        yield Browser(our_out, our_in)
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(our_out)
        os.close(our_in)


def _high(file: int) -> int:
    """The same file under a number that is neither 3 nor 4."""
    copy = fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(file)
    return copy
