"""One job in a process of its own, so that its memory is its own: JSON comes in on stdin, JSON goes out on stdout."""

import json
import sys
from dataclasses import asdict
from typing import Any

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
    return {"join_rows": rows, "join_bytes": bytes_, "numbers_only": not (design.dictionaries or missing)}


def compete(job: Job) -> Job:
    from bench.races.competitors import COMPETITORS, Order

    run = COMPETITORS[job.pop("competitor")].run
    assert run is not None
    return {"outcome": asdict(run(Order(_task(job), **job)))}


def judge(job: Job) -> Job:
    from bench.races.judge import judge

    return judge(_task(job), **job)


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


ROLES = {role.__name__: role for role in (size, compete, judge, look, passes, descent)}


def _task(job: Job) -> tasks.Task:
    return tasks.task(job.pop("family"), **job.pop("sizes"))


def main() -> None:
    job = json.load(sys.stdin)
    answer = ROLES[job.pop("role")](job)
    print(json.dumps(plain(answer)))


if __name__ == "__main__":
    main()
