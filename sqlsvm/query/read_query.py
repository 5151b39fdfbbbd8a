"""Text -> FeatureQuery, with names and types from the database."""

from collections.abc import Iterator, Sequence

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Called, Column, Engine, StatementError
from sqlsvm.errors import QueryError, nearest
from sqlsvm.query import (
    Feature,
    FeatureQuery,
    Source,
    check_sum,
    check_view,
    described,
    feature_query,
    functions,
    functions_in,
    parse,
    sources,
    sum_probes,
    with_kinds,
    with_plain_keys,
)
from sqlsvm.query.audited import with_audited
from sqlsvm.query.facts import Facts
from sqlsvm.query.kinds import remedy
from sqlsvm.query.meeting import met
from sqlsvm.query.variables import with_implied_filters

READABLE = "is the name right? FROM takes tables and views, and in DuckDB also files of the current folder: 'x.csv'"


def read_query(
    engine: Engine,
    text: str,
    *,
    label: str | None = None,
    weight: str | None = None,
    categorical: Sequence[str] = (),
    top: Sequence[str] = (),
    audited: Sequence[str] = (),
) -> FeatureQuery:
    """The text taken apart. Do not call this in a transaction: an unknown name would abort it, and then the database
    could not be asked for similar names."""
    tree = with_audited(parse(text, engine.dialect), audited, engine.dialect, engine.fold)
    tree = engine.bound(tree)
    _check_functions(engine, functions(tree, engine.dialect, engine.fold))
    columns = {s.alias: _describe(engine, s) for s in sources(tree, engine.fold)}
    views = engine.view_texts([t for t in tree.find_all(exp.Table) if isinstance(t.this, exp.Identifier)])
    for view in views:
        check_view(view, engine.dialect)
    called = [f for view in views for f in functions_in(view, engine.dialect, engine.fold)]
    _check_functions(engine, called, "a view that the query reads calls it")
    query = feature_query(
        text,
        tree,
        columns,
        engine.fold,
        dialect=engine.dialect,
        label=label,
        weight=weight,
        categorical=categorical,
        top=top,
        audited=audited,
    )
    facts = Facts(engine)
    query = met(query, facts)
    query = met(query, facts, dict(_no_sums(engine, query)))
    query = with_kinds(query, described(query, engine.describe))
    return with_implied_filters(with_plain_keys(query, engine.describe))


def _no_sums(engine: Engine, query: FeatureQuery) -> Iterator[tuple[str, QueryError]]:
    """Sums that are not equal to the sum of their terms as doubles, each with the error for that."""
    for feature, probe in sum_probes(query):
        try:
            for term in query.sums[feature.name]:
                _check_term(engine, query, term)
            check_sum(feature, engine.describe(probe), engine.abilities.single, engine.dialect)
        except QueryError as error:
            yield feature.name, error


def _check_term(engine: Engine, query: FeatureQuery, term: Feature) -> None:
    rows = sql.select([(term.expression.copy(), "t")], query.relation(term.relation).source.copy())
    try:
        (column,) = engine.describe(rows)
    except StatementError as error:  # a date can be subtracted, but has no minus of its own
        raise QueryError(
            f"the terms of {term.name} over {term.relation} are no numbers: {error.message}",
            hint="turn each term into a number: EXTRACT(EPOCH FROM ...)",
        ) from error
    if column.kind != "numeric":
        said = f"the term of {term.name} over {term.relation} is of type {column.type}"
        raise QueryError(said, hint=remedy(column, engine.dialect))


def _check_functions(engine: Engine, called: Sequence[Called], detail: str | None = None) -> None:
    """Every call must give the same value, in any session."""
    if not called:
        return
    for name in engine.unpinned_functions(called):
        raise QueryError(
            f"the search_path of its caller decides what function {name} means",
            detail=detail,
            hint=f"give it a path of its own: ALTER FUNCTION {name} SET search_path = pg_catalog, ...",
        )
    for name in engine.volatile_functions(called):
        raise QueryError(
            f"function {name} is volatile: it may write, or return another value at each call",
            detail=detail,
            hint=engine.remedy(name),
        )


def respelt(engine: Engine, text: str, dialect: str) -> str:
    """The query in this engine's dialect."""
    return text if dialect == engine.dialect else parse(text, dialect).sql(dialect=engine.dialect)


def _meant(path: Sequence[str], known: Sequence[str]) -> str | None:
    """A hint that names the table of that name in another schema, else the table with the nearest name."""
    elsewhere = [name for name in known if name.casefold().endswith(f".{path[-1].casefold()}")]
    if elsewhere:
        return f"did you mean {elsewhere[0]}?"
    if not known and path[-1].isidentifier():  # not a file
        return "there are no tables in this database; is it the right one?"
    return nearest(".".join(path), known)


def _describe(engine: Engine, source: Source) -> tuple[Column, ...]:
    try:
        return engine.describe(source.probe)
    except StatementError as error:
        name = ".".join(source.path) or f"sub-query {source.alias}"
        is_typo = bool(source.path) and error.kind == "no such name"
        hint = _meant(source.path, engine.table_names()) if is_typo else None
        raise QueryError(
            f"cannot read {name}: {error.message}", detail=error.detail, hint=hint or error.hint or READABLE
        ) from error
