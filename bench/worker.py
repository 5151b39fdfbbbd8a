"""One job in a process of its own, so that its memory is its own: JSON comes in on stdin, JSON goes out on stdout."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench import tasks
from sqlsvm.model import plain


def work(job: dict[str, Any]) -> dict[str, Any]:
    task = tasks.task(job.pop("family"), **job.pop("sizes"))
    if job["role"] == "judge":
        from bench.judge import judge

        return {"intervals": judge(task, job["url"], job["models"], job["cells"])}
    from bench.competitors import COMPETITORS, Order

    del job["role"]
    outcome = COMPETITORS[job.pop("competitor")].run(Order(task, **job))
    return {"outcome": asdict(outcome), "seconds": outcome.seconds}


def peak_memory() -> float | None:
    """Bytes. The kernel's own high-water mark of this process; getrusage would give that of the parent if larger."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next(1024.0 * float(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def main() -> None:
    answer = work(json.load(sys.stdin))
    print(json.dumps(plain({**answer, "client_bytes": peak_memory()})))


if __name__ == "__main__":
    main()
