"""Do `explain --analyze` and the first pass tell what a training takes?

python -m bench.checks.foretold [star] [chain] ... [--url duckdb:]
For each task: the pass that explain measures and the slowest and fastest pass of a training; the seconds that explain
expects of a training and what it took; what was expected after the first pass and what the rest took.
"""

from argparse import ArgumentParser

from bench.races.tasks import Task, load, task, unload
from sqlsvm.ask.explain import analyze
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.run.making import passes_left, usual_rate
from sqlsvm.run.train import train
from sqlsvm.run.training import Training
from sqlsvm.solve.solution import Effort, Record

TASKS = ("star", "snowflake", "chain", "hub", "flights", "categories", "posts")


def line(engine: Engine, name: str, made: Task) -> str:
    training = Training(**vars(made.options), lam=made.lam)
    found = analyze(engine, made.text, training)
    assert found.outlook is not None
    records: list[Record] = []
    model = train(engine, name, made.text, training, records.append)
    seconds = [record.seconds for record in records]
    total, first = model.total_seconds or 0.0, records[0]
    left = passes_left(first, Effort().tol, usual_rate("dane", len(model.weights))).total if seconds[1:] else 0.0
    rest = sum(seconds[1:]) + model.phases.get("between_passes", 0.0)
    return (
        f"{name}: a pass {found.seconds('pass'):.2f} s, in the training {min(seconds):.2f} to {max(seconds):.2f} s; "
        f"all {found.outlook.seconds:.1f} s, and it took {total:.1f} s; "
        f"after the first pass {left:.1f} s, and it took {rest:.1f} s"
    )


def main() -> None:
    parser = ArgumentParser(description="What is said of the time of a training, and what it takes.")
    parser.add_argument("tasks", nargs="*", default=TASKS, metavar="TASK")
    parser.add_argument("--url", default="duckdb:")
    arguments = parser.parse_args()
    with connect(arguments.url) as engine:
        print(engine.version)
        for name in arguments.tasks:
            made = task(name)
            tables = made.tables()
            load(engine, tables)
            print(line(engine, name, made), flush=True)
            unload(engine, tables)


if __name__ == "__main__":
    main()
