"""The verbs on a query: inspect, explain, count."""

import json
import sys
from collections.abc import Iterable
from typing import Any

import click
from click.core import ParameterSource

from sqlsvm.cli.group import cli, examples, show_answer
from sqlsvm.cli.options import (
    Missing,
    beta_wanted,
    database,
    declared,
    finite,
    given,
    json_wanted,
    option,
    query_wanted,
    typed,
)


@cli.command(
    short_help="Show what a query joins, and how many rows that is.",
    epilog=examples(
        "sqlsvm inspect --dsn postgresql://localhost/flights --label late --query '",
        "  SELECT f.arr_delay > 15 AS late, f.distance, p.seats",
        "  FROM flights f JOIN planes p USING (tailnum)'",
    ),
)
@database
@query_wanted
@declared("inspect")
@json_wanted
def inspect(
    dsn: str,
    query: str,
    label: str | None,
    weight: str | None,
    positive: str | None,
    categorical: Iterable[str],
    as_json: bool,
) -> None:
    """Show what a query joins, how, and how many rows that would be.

    Relations and their rows, the join tree, how many rows meet on each key, keys without a partner, NULLs, the
    features, and the balance of the label. Nothing is changed, and the join is counted, not made.
    """
    from sqlsvm.ask import inspect as inspection
    from sqlsvm.engine import connect
    from sqlsvm.show.inspection import draw

    with connect(dsn) as engine:
        found = inspection.inspect(
            engine, query, label=label, weight=weight, positive=positive, categorical=tuple(categorical)
        )
    show_answer(json.dumps(inspection.as_json(found), indent=2) if as_json else draw(found, sys.stdout))


@cli.command(
    short_help="Show how a query would be trained on, and why so.",
    epilog=examples(
        "sqlsvm explain --query features.sql --label late",
        "sqlsvm explain --query features.sql --label late --analyze",
        "sqlsvm explain --query features.sql --label late --sql > pass.sql",
    ),
)
@database
@query_wanted
@declared("explain")
@given("buckets", default=16)
@option("--sql", "as_sql", is_flag=True, help="Print the statements of a pass, in order, instead.")
@option("--analyze", is_flag=True, help="Run one pass and show the rows and seconds of each statement.")
@beta_wanted("With --analyze: the weights to pass at, as for `count`; all 0 if not given.")
@json_wanted
def explain(
    dsn: str, query: str, buckets: int, as_sql: bool, analyze: bool, beta: Any, as_json: bool, **options: Any
) -> None:
    """Show how a query would be trained on: what folds, where messages meet, how rows are counted, and why.

    Expected sizes come from the tables' own rows and keys, which are counted; nothing else is run without --analyze.
    """
    from sqlsvm.ask import explain as explaining
    from sqlsvm.engine import connect
    from sqlsvm.run.problem import ProblemOptions
    from sqlsvm.show.plan import draw_plan

    given = click.get_current_context().get_parameter_source("beta")
    if given is ParameterSource.COMMANDLINE and not analyze:  # $SQLSVM_BETA may be there for `count`
        raise click.UsageError("--beta is where --analyze passes: give both.")
    with connect(dsn) as engine:
        wanted = ProblemOptions(**options)
        if analyze:
            found = explaining.analyze(engine, query, wanted, buckets, beta)
        else:
            found = explaining.explain(engine, query, wanted, buckets)
    if as_json:
        show_answer(json.dumps(found.as_json(with_sql=as_sql), indent=2, allow_nan=False))
    else:
        show_answer(explaining.script(found) if as_sql else draw_plan(found, sys.stdout))


@cli.command(
    short_help="Count join rows below a bound, for weights of yours.",
    epilog=examples(
        "sqlsvm count --query features.sql --label late --beta beta.json",
        "sqlsvm count --query features.sql --label late --generalized --epsilon 0.5 \\",
        '  --beta \'{"intercept": 0.1, "weights": {"distance": 0.3, "carrier": {"UA": -0.2}}}\'',
    ),
)
@database
@query_wanted
@declared("count")
@beta_wanted("The weights, on the query's own columns; what is left out weighs 0.")
@option("--bound", type=float, default=1.0, show_default=True, callback=finite, help="Count margins below this.")
@given(
    "epsilon",
    help="The factor between levels of thresholds is 1 + this; also the share of a count that a sketch may miss.",
)
@given("buckets", default=64)
@option("--generalized", is_flag=True, help="Print thresholds and how many rows reach them, instead.")
@json_wanted
def count(
    dsn: str,
    query: str,
    beta: Any,
    bound: float,
    epsilon: float,
    buckets: int,
    generalized: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Count the join rows with label * (intercept + weights . features) below a bound, without making them.

    For each feature, value and label, how many such rows have it. With --generalized: for each label and level, which
    grow by the factor 1 + epsilon, the largest threshold that 1 - label * score reaches in that many rows.
    """
    from sqlsvm.ask import counting
    from sqlsvm.engine import connect
    from sqlsvm.run.problem import ProblemOptions, open_problem
    from sqlsvm.show import counts as answers

    if beta is None:
        raise Missing("--beta is missing", "--beta beta.json, or --beta '{...}'", click.get_current_context())
    if generalized and typed("bound"):
        raise click.UsageError("--bound and --generalized exclude each other", click.get_current_context())
    with connect(dsn) as engine, open_problem(engine, query, ProblemOptions(**options, scale="none")) as problem:
        weights = counting.read_beta(problem.scaling, beta)
        if generalized:
            thresholds = list(counting.generalised(problem, weights, epsilon, buckets))
        else:
            counts = list(counting.row_counts(problem, weights, bound, buckets, epsilon))
    if as_json:
        found = {"thresholds": answers.as_json(thresholds)} if generalized else {"counts": answers.as_json(counts)}
        show_answer(json.dumps(found, indent=2, allow_nan=False))
    else:
        show_answer(
            answers.draw_thresholds(thresholds, sys.stdout) if generalized else answers.draw_counts(counts, sys.stdout)
        )
