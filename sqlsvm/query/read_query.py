"""Text -> FeatureQuery, with names and types from the database."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TypedDict, Unpack

from sqlglot import exp
from sqlglot.errors import SqlglotError

from sqlsvm.engine.base import Bound, Called, Column, Engine, Meaning, StatementError
from sqlsvm.errors import FormError, QueryError, SqlsvmError, nearest
from sqlsvm.query import FeatureQuery, Source, check_view, feature_query, parse, sources
from sqlsvm.query.answers import answered
from sqlsvm.query.asked import asker_of, sub_queries
from sqlsvm.query.computed import computed
from sqlsvm.query.facts import Facts
from sqlsvm.query.faults import Fault, fault, stays
from sqlsvm.query.folding import folded
from sqlsvm.query.forms import RESULT, check_form
from sqlsvm.query.forms import named as names_of
from sqlsvm.query.guards import Sent
from sqlsvm.query.ir import MADE, Once
from sqlsvm.query.names import distinct
from sqlsvm.query.parse import sent, with_audited
from sqlsvm.query.rewrites import ruled
from sqlsvm.query.sources import source_of

READABLE = "is the name right? FROM takes tables and views, and in DuckDB also files of the current folder: 'x.csv'"


Read = Callable[[FormError | None, bool], FeatureQuery]
"""Reads a query, or its rows because of something, with or without what rules write in place of its text."""


class Roles(TypedDict, total=False):
    """What options say of outputs, by their names."""

    label: str | None
    weight: str | None
    categorical: Sequence[str]
    top: Sequence[str]
    audited: Sequence[str]


def read_query(engine: Engine, text: str, because: FormError | None = None, **roles: Unpack[Roles]) -> FeatureQuery:
    """The query as a plain join; else, or `because` of something, over its rows, which the database makes once."""

    def read(why: FormError | None, answer: bool) -> FeatureQuery:
        return ruled(_taken_apart(engine, text, why, answer=answer, **roles), Facts(engine))

    return _or_made(read, because)


def taken_apart(
    engine: Engine, text: str, because: FormError | None = None, *, answer: bool = True, **roles: Unpack[Roles]
) -> FeatureQuery:
    """The same before any rule. Do not call it in a transaction: an unknown name would abort it, and then the database
    could not be asked for similar names. Without `answer` sub-queries stay as they are typed."""

    def read(why: FormError | None, written: bool) -> FeatureQuery:
        return _taken_apart(engine, text, why, answer=answer and written, **roles)

    return _or_made(read, because)


def fast(engine: Engine, query: exp.Query) -> exp.Query:
    """A query that returns the same rows sooner: with answers in place of its sub-queries, where there are any."""
    try:
        tree = check_form(query.copy(), engine.dialect)
        if any(output.is_star for output in tree.expressions):  # it would show what is made for the answers
            return query
        return computed(tree, engine.dialect, engine.fold, partial(_valid, engine))
    except (QueryError, Fault) as reason:
        stays(reason)
        return query


def fast_inside(engine: Engine, item: exp.Subquery) -> exp.Subquery:
    """The same for what is computed for the rows of an item of FROM."""
    item = item.copy()
    for select in list(item.find_all(exp.Select)):
        source = select.args.get("from_")
        if source and not select.args.get("joins") and any(sub_queries(output) for output in select.expressions):
            of, around = source.this, item.this if select.find_ancestor(exp.Select) else select
            if asker := asker_of(of, around, engine.dialect, engine.fold, partial(_valid, engine)):
                select.replace(answered(select, asker))
    return item


def _or_made(read: Read, because: FormError | None) -> FeatureQuery:
    """`read(None)` takes the query apart, and `read(why)` makes the rows of all of it. What neither can is refused as
    the first says."""
    try:
        return read(because, True)
    except QueryError as refusal:
        if because:
            raise
        if isinstance(refusal, FormError):
            return _or_made(read, refusal)
        with suppress(SqlsvmError):
            return _or_made(read, FormError(f"it cannot be taken apart: {refusal.message}", hint=refusal.hint))
        raise
    except (Fault, StatementError, SqlglotError) as error:
        return _as_typed(read, because, error)


def _as_typed(read: Read, because: FormError | None, error: Exception) -> FeatureQuery:
    """Without what rules would write in place of its text. Spark does not read all of that."""
    for why in (because, FormError(f"the database does not read what would be written: {error}")):
        with suppress(SqlsvmError):
            found = read(why, False)
            fault(error)
            return found
    raise error


def _taken_apart(
    engine: Engine, text: str, because: FormError | None, *, answer: bool = True, **roles: Unpack[Roles]
) -> FeatureQuery:
    plain = parse(text, engine.dialect, because)
    typed = with_audited(plain, roles.get("audited", ()), engine.dialect, engine.fold)
    tree = engine.bound(typed, again=isinstance(text, Bound))
    written = sent(text, engine.dialect) if tree is plain else Sent.of(tree, engine.dialect)
    _check_functions(engine, written.functions(engine.fold))
    if tree is not typed and not isinstance(text, Bound):
        text = _written(tree, len(roles.get("audited", ())), engine.dialect)
    valid = partial(_valid, engine)
    tree = computed(tree, engine.dialect, engine.fold, valid, answer=answer)
    tree = folded(tree, engine) if answer else tree
    _name_twins(engine, tree)
    items = sources(tree, engine.fold)
    columns = {item.alias: _describe(engine, item) for item in items}
    _note_far(engine, items)
    views = engine.view_texts([t for t in tree.find_all(exp.Table) if isinstance(t.this, exp.Identifier)])
    for view in views:
        check_view(view, engine.dialect)
    called = [f for view in views for f in Sent.of(view, engine.dialect).functions(engine.fold)]
    _check_functions(engine, called, "a view that the query reads calls it")
    return feature_query(text, tree, items, columns, engine.fold, dialect=engine.dialect, **roles)


def _note_far(engine: Engine, items: Sequence[Source]) -> None:
    """Rows of another server are made once. A session that makes no tables would read others each time."""
    named = [(each.expression, t) for each in items for t in each.expression.find_all(exp.Table)]
    named = [(item, table) for item, table in named if isinstance(table.this, exp.Identifier)]
    for place in engine.far([table for _, table in named]):
        item, table = named[place]
        once = Once(f"{table.name} has rows of another server", "keep them in a table here")
        error = QueryError(f"{once.reason}, which may be others each time", hint=once.hint) if engine.inlines else None
        item.meta[MADE] = item.meta.get(MADE, once)._replace(varying=error)


def _written(tree: exp.Select, audited: int, dialect: str) -> Bound:
    """The query that means the same on any path, without what is made around it."""
    source = tree.args["from_"].this if tree.args.get("from_") else None
    written: exp.Expr = tree.copy()
    if isinstance(source, exp.Subquery) and MADE in source.meta and source.alias == RESULT:
        written = source.this
    elif audited:
        written.set("expressions", written.expressions[:-audited])
    return Bound(written.sql(dialect=dialect, pretty=True))


def named(engine: Engine, text: str) -> tuple[list[exp.Table], list[Called]]:
    """The tables that a bound query names, and the functions, also those of views."""
    tree = parse(text, engine.dialect)
    tables = [table for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
    every = (sent(text, engine.dialect), *(Sent.of(view, engine.dialect) for view in engine.view_texts(tables)))
    return tables, sorted({f for each in every for f in each.functions(engine.fold)})


def naming(engine: Engine, text: str) -> exp.Query | None:
    """What asks for the `meanings`."""
    return engine.naming(*named(engine, text))


def meanings(engine: Engine, text: str) -> tuple[Meaning, ...] | None:
    """What the names of a bound query stand for now; None if they are no matter of the engine."""
    if (asked := naming(engine, text)) is None:
        return None
    rows = (values.tolist() for values in engine.fetch(asked).values())
    return tuple(Meaning(*row) for row in zip(*rows, strict=True))


def _name_twins(engine: Engine, tree: exp.Select) -> None:
    """Where the whole is made and a star lists its columns, two of them may have one name."""
    item = tree.args["from_"].this
    if item.alias != RESULT or MADE not in item.meta or item.args["alias"].args.get("columns"):
        return
    names = [column.name for column in _describe(engine, source_of(item, tree, engine.fold))]
    if (found := distinct(names, lambda name: engine.fold(name, True))) != names:
        item.args["alias"].set("columns", names_of(found))


def _valid(engine: Engine, query: exp.Select) -> tuple[Column, ...] | None:
    try:
        return engine.describe(query)
    except StatementError:
        return None


def _check_functions(engine: Engine, called: Sequence[Called], detail: str | None = None) -> None:
    """Every call must give the same value, in any session."""
    if not called:
        return
    for name in engine.unpinned_functions(called):
        hint = f"give it a path of its own: ALTER FUNCTION {name} SET search_path = pg_catalog, ..."
        raise QueryError(f"the search_path of its caller decides what function {name} means", detail=detail, hint=hint)
    for name in engine.volatile_functions(called):
        said = f"function {name} is volatile: it may write, or return another value at each call"
        raise QueryError(said, detail=detail, hint=engine.remedy(name))


def respelt(engine: Engine, text: str, dialect: str) -> str:
    """The query in this engine's dialect."""
    return text if dialect == engine.dialect else parse(text, dialect).sql(dialect=engine.dialect)


def _meant(path: Sequence[str], known: Sequence[str]) -> str | None:
    """A hint that names the table of that name in another schema, else the table with the nearest name."""
    elsewhere = [name for name in known if name.casefold().endswith(f".{path[-1].casefold()}")]
    if elsewhere:
        return f"did you mean {elsewhere[0]}?"
    if not known and path[-1].isidentifier():  # not a file
        return (
            'there are no tables in this database; is it the right one? Python takes frames by name: {"orders": orders}'
        )
    return nearest(".".join(path), known)


def _describe(engine: Engine, source: Source) -> tuple[Column, ...]:
    try:
        return engine.describe(source.probe)
    except StatementError as error:
        name = ".".join(source.path) or ("the query" if source.alias == RESULT else f"sub-query {source.alias}")
        is_typo = bool(source.path) and error.kind == "no such name"
        hint = _meant(source.path, engine.table_names()) if is_typo else None
        remedy = hint or error.hint or (READABLE if source.path else None)
        raise QueryError(f"cannot read {name}: {error.message}", detail=error.detail, hint=remedy) from error
