"""One job in a process of its own, so that its memory is its own: JSON comes in on stdin, JSON goes out on stdout."""

import gc
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sqlglot import exp

from bench.races import tasks
from sqlsvm.engine import connect
from sqlsvm.model.plain import plain

Job = dict[str, Any]


def size(job: Job) -> Job:
    from bench.races.export import join_size
    from sqlsvm.run.opening import open_problem

    task = _task(job)
    with connect(job["url"]) as engine:
        with open_problem(engine, task.text, task.options) as problem:
            rows, design = problem.moments.n, problem.plan.design
        missing = any(c.role == "missing" for c in design.coordinates)
        bytes_ = join_size(engine, task, rows)
        own = engine.fetch(engine.bound(exp.select(exp.alias_(exp.Count(this=exp.Star()), "n")).from_(task.of)))
    numbers_only = not (design.dictionaries or missing)
    return {"join_rows": rows, "join_bytes": bytes_, "numbers_only": numbers_only, "own_rows": float(own["n"][0])}


def compete(job: Job) -> Job:
    from bench.races.competitors import COMPETITORS, Order

    competitor = COMPETITORS[job.pop("competitor")]
    competitor.read_libraries()
    order = Order(_task(job), **job)
    gc.freeze()  # else the one who imports most pays for a collection of its modules
    outcome = competitor.run(order)
    gc.unfreeze()  # so that nothing seems to be left at the end
    return {"outcome": asdict(outcome), "seconds": outcome.seconds}


def judge(job: Job) -> Job:
    from bench.races.judge import judge

    return {"intervals": judge(_task(job), **job)}


def unseen(job: Job) -> Job:
    from bench.races.judge import unseen

    return {"aucs": unseen(_task(job), **job)}


def look(job: Job) -> Job:
    from bench.races.one_pass import look

    with connect(job["url"]) as engine:
        return look(engine, _task(job), job["runs"], job["model"])


def passes(job: Job) -> Job:
    from bench.experiments.passes import table

    return {"passes": table(job["rows"])}


def descent(_job: Job) -> Job:
    from bench.experiments.descent import curves

    return {"descent": curves()}


ROLES = {role.__name__: role for role in (size, compete, judge, unseen, look, passes, descent)}


def _task(job: Job) -> tasks.Task:
    return tasks.task(job.pop("family"), **job.pop("sizes"))


def peak_memory() -> float | None:
    """Bytes. The kernel's own high-water mark of this process; getrusage would give that of the parent if larger."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next(1024.0 * float(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def main() -> None:
    job = json.load(sys.stdin)
    answer = ROLES[job.pop("role")](job)
    print(json.dumps(plain({**answer, "client_bytes": peak_memory()})))


if __name__ == "__main__":
    main()
