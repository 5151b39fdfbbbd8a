"""The verbs on a query: inspect, describe, components, explain, count."""

import sys
from typing import Any

import click

from sqlsvm.cli.group import cli, examples, show_either
from sqlsvm.cli.options import (
    Refused,
    beta_wanted,
    database,
    declared,
    finite,
    given,
    json_wanted,
    models_database,
    opened,
    option,
    query_wanted,
    refuse_typed,
    typed,
    weights_of,
)
from sqlsvm.cli.reporting import check_place, write_html
from sqlsvm.cli.training import training_of
from sqlsvm.options import OPTIONS


@cli.command(
    short_help="Show what a query joins, and how many rows that is.",
    epilog=examples(
        "sqlsvm inspect --dsn postgresql://localhost/flights --label late --query '",
        "  SELECT f.arr_delay > 15 AS late, f.distance, p.seats",
        "  FROM flights f JOIN planes p USING (tailnum)'",
        "sqlsvm inspect --query features.sql --heavy 20",
    ),
)
@database
@query_wanted
@declared("inspect")
@option(
    "--heavy",
    type=click.IntRange(0),
    metavar="NUMBER",
    default=0,
    help="For each many-to-many edge, list so many keys that make the most rows of the join.",
)
@click.option("--approximate", is_flag=True, help="Find these keys by a sketch of the database (DuckDB, Spark).")
@json_wanted
def inspect(
    dsn: str, query: str, heavy: int, approximate: bool, as_of: str | None, as_json: bool, **options: Any
) -> None:
    """Show what a query joins, how, and how many rows the join has.

    Prints tables and their rows, the join tree, how many rows match on each key, keys without a match, NULLs, the
    features, and the balance of the label. Nothing is changed. The join is counted, not computed.
    """
    from sqlsvm.ask import inspect as inspection
    from sqlsvm.ask import leaks
    from sqlsvm.show.inspection import draw

    if approximate and not heavy:
        raise click.UsageError("--approximate needs --heavy", click.get_current_context())
    if as_of and not options["label"]:
        raise click.UsageError("--as-of needs --label", click.get_current_context())
    with opened(dsn) as engine:
        found = inspection.inspect(engine, query, heavy=heavy, approximate=approximate, **options)
        future = leaks.leaks(engine, query, as_of, options["label"]) if as_of else None
    drawn = "".join(f"\n{line}" for line in leaks.said(future)) if future else ""
    more = {"as_of": future.as_json()} if future else {}
    show_either(as_json, lambda: {**inspection.as_json(found), **more}, lambda: draw(found, sys.stdout) + drawn)


@cli.command(
    short_help="Show what is in the columns of a join.",
    epilog=examples(
        "sqlsvm describe --query features.sql --label late",
        "sqlsvm describe --query features.sql --label late --html columns.html",
    ),
)
@database
@query_wanted
@declared("describe")
@option("--values", type=click.IntRange(1), default=5, show_default=True, help="Name so many categories of a column.")
@click.option("--html", "page", metavar="FILE", help="Write a page with histograms and correlations; - is stdout.")
@json_wanted
def describe(dsn: str, query: str, values: int, page: str | None, as_json: bool, **options: Any) -> None:
    """Show what is in the columns of the join, without computing it.

    Prints NULLs, mean, deviation, least and largest value and quantiles of each number, the most frequent categories,
    and how each column goes with the label: the correlation of a number, the correlation ratio of categories. All are
    exact. A row of weight w counts as w rows. --json adds histograms and the correlations of all numbers.
    """
    from sqlsvm.ask import describe as describing
    from sqlsvm.show.description import draw

    if page is not None:
        check_place(page)
    with opened(dsn) as engine:
        found = describing.describe(engine, query, values=values, **options)
    if page is not None:
        from sqlsvm.report.description import html

        write_html(html, found, page, "description")
        return
    show_either(as_json, lambda: describing.as_json(found), lambda: draw(found, sys.stdout))


@cli.command(
    short_help="Show the principal components of the numbers of a join.",
    epilog=examples(
        "sqlsvm components --query features.sql --label late",
        "sqlsvm components --query features.sql --k 3 --scale none --json",
    ),
)
@database
@query_wanted
@declared("components")
@option("--k", type=click.IntRange(1), default=5, show_default=True, help="How many components.")
@click.option("--html", "page", metavar="FILE", help="Write a page with the scree plot and all loadings; - is stdout.")
@json_wanted
def components(dsn: str, query: str, k: int, page: str | None, as_json: bool, **options: Any) -> None:
    """Show the principal components of the features that are numbers, without computing the join.

    They come from the exact covariance over the join. Prints the variance of each component, its share of all variance,
    and its loadings: how much of each scaled feature it takes. The label is no feature.
    """
    from sqlsvm.run import components as finding
    from sqlsvm.show.description import draw_components

    if page is not None:
        check_place(page)
    with opened(dsn) as engine:
        found = finding.components(engine, query, k=k, **options)
    if page is not None:
        from sqlsvm.report.description import components_html

        write_html(components_html, found, page)
        return
    show_either(as_json, lambda: finding.as_json(found), lambda: draw_components(found, sys.stdout))


@cli.command(
    short_help="Show how a query would be trained on, and why.",
    epilog=examples(
        "sqlsvm explain --query features.sql --label late",
        "sqlsvm explain --query features.sql --label late --analyze",
        "sqlsvm explain --query features.sql --label late --sql > pass.sql",
    ),
)
@models_database
@query_wanted
@declared("explain")
@given("buckets")
@option("--sql", "as_sql", is_flag=True, help="Print only the statements of a pass, in order.")
@option(
    "--analyze", is_flag=True, help="Make the first pass of a training and show the rows and seconds of each statement."
)
@beta_wanted("With --analyze: the weights to use in the pass, as for `count`; by default the optimum of a sample.")
@json_wanted
def explain(
    dsn: str, query: str, buckets: int | None, as_sql: bool, analyze: bool, beta: Any, as_json: bool, **options: Any
) -> None:
    """Show how sqlsvm would train on a query: what is joined up front, how the rest is counted, and why.

    Expected sizes come from the numbers of rows and keys in the tables, which are counted. Nothing else runs without
    --analyze.
    """
    from sqlsvm.ask import explain as explaining
    from sqlsvm.show.plan import draw_plan

    if typed("beta") and not analyze:  # $SQLSVM_BETA may be there for `count`
        raise click.UsageError("--beta needs --analyze", click.get_current_context())
    solver = "descent" if options["counting"] == "sketch" else OPTIONS["solver"].default
    refuse_typed(options, solver=solver)
    unnamed = () if typed("loss") else ("loss",)
    training = training_of(solver=solver, scale=None, buckets=buckets, unnamed=unnamed, **options)
    with opened(dsn) as engine:
        if analyze:
            found = explaining.analyze(engine, query, training, weights_of(engine, beta))
        else:
            found = explaining.explain(engine, query, training, buckets or explaining.BUCKETS_A_UNIT)

    def drawn() -> str:
        return explaining.script(found) if as_sql else draw_plan(found, sys.stdout)

    show_either(as_json, lambda: found.as_json(with_sql=as_sql), drawn)


@cli.command(
    short_help="Count join rows below a bound, for given weights.",
    epilog=examples(
        "sqlsvm count --query features.sql --label late --beta beta.json",
        "sqlsvm count --query features.sql --label late --beta late_flights",
        "sqlsvm count --query features.sql --label late --generalized --epsilon 0.5 \\",
        '  --beta \'{"intercept": 0.1, "weights": {"distance": 0.3, "carrier": {"UA": -0.2}}}\'',
    ),
)
@models_database
@query_wanted
@declared("count")
@beta_wanted(
    "The weights, on the columns of the query; a column that is left out has weight 0; as `weights --json` prints them."
)
@option("--bound", type=float, default=1.0, show_default=True, callback=finite, help="Count margins below this.")
@given(
    "epsilon",
    help="The factor between levels of thresholds is 1 + this; also the share of a count that a sketch may miss.",
)
@given("buckets", default=64)
@option("--generalized", is_flag=True, help="Print thresholds instead, and how many rows reach each.")
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
    """Count the join rows with label * (intercept + weights . features) below a bound, without computing the join.

    Prints how many such rows there are for each feature, value and label. With --generalized, prints thresholds
    instead: for each label and each level, the largest threshold that 1 - label * score reaches in that many rows. Each
    level is 1 + epsilon times the one before.
    """
    from sqlsvm.lab.ask import counting
    from sqlsvm.plan.constraints import read_beta
    from sqlsvm.plan.preflight import ProblemOptions
    from sqlsvm.run.opening import maps_of, open_problem
    from sqlsvm.run.training import anew
    from sqlsvm.show import plan as answers

    if beta is None:
        raise Refused(
            "--beta is missing", "--beta beta.json, or --beta '{...}', or --beta MODEL", click.get_current_context()
        )
    if generalized and typed("bound"):
        raise click.UsageError("--bound and --generalized exclude each other", click.get_current_context())
    with opened(dsn) as engine:
        asked = weights_of(engine, beta)

        @anew
        def counted() -> tuple[Any, str]:
            with open_problem(engine, query, ProblemOptions(**options, scale="none"), maps_of(asked)) as problem:
                hint = "make two of them in the query: label = 'x' AS label_is_x"
                problem.plan.design.target.must_be_one("rows are counted for two", hint)
                weights = read_beta(problem.scaling, asked)
                if generalized:
                    thresholds = list(counting.generalised(problem, weights, epsilon, buckets))
                    return answers.as_json(thresholds), answers.draw_thresholds(thresholds, sys.stdout)
                counts = list(counting.row_counts(problem, weights, bound, buckets, epsilon))
                return answers.as_json(counts), answers.draw_counts(counts, sys.stdout)

        found, drawn = counted()
    show_either(as_json, lambda: {"thresholds" if generalized else "counts": found}, lambda: drawn)
