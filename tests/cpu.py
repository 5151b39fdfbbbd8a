"""`pytest -p tests.cpu`: the CPU of each test, of its servers and other processes too, as lines of build/cpu.PID. What
a wall clock says depends on who else is there. `sort -n build/cpu.*` has the dearest last."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest

TICKS = os.sysconf("SC_CLK_TCK")
OUT = Path("build") / f"cpu.{os.getpid()}"


def now() -> float:
    """This process, what it has waited for, and what descends from it, with what that has waited for."""
    parents, used = dict[str, str](), dict[str, int]()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        parents[stat.parent.name], used[stat.parent.name] = words[1], sum(map(int, words[11:15]))
    return sum(used[pid] for pid in used if _descends(pid, parents)) / TICKS


def _descends(pid: str, parents: dict[str, str]) -> bool:
    while pid in parents and pid != str(os.getpid()):
        pid = parents[pid]
    return pid in parents


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    before = now()
    try:
        return (yield)
    finally:
        OUT.parent.mkdir(exist_ok=True)
        with OUT.open("a") as file:
            print(f"{now() - before:.2f} {item.nodeid}", file=file)
