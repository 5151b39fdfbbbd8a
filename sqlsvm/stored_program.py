"""A program for PostgreSQL: every statement of training, counting and evaluating one query, to be stored and run there.

The driver decides in Python what the data decides; here that has to happen when the program runs, which may be months
after it was compiled. So a stored program differs from what the driver sends in three ways, and in nothing else:

- Its relations are read under names of its own, `sqlsvm_r0`, ...: copies or views of the user's relations, made at the
  start of a run, so that all of its statements see the same data.
- Its parameters are numbered by their place in `PARAMETERS`, because PL/pgSQL hands over always the same list.
- What was found in the data while compiling, such as unique keys, comes along as checks that a run makes first.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlglot import exp, parse_one

from sqlsvm import sql
from sqlsvm.catalog import Catalog, check_left_joins, rows_of
from sqlsvm.compile import evaluate as evaluation
from sqlsvm.compile.copies import working_tables
from sqlsvm.compile.moments import moments, needed
from sqlsvm.compile.oracle import oracle_pass, reach
from sqlsvm.compile.prepare import key
from sqlsvm.compile.row_count import row_count, thresholds
from sqlsvm.compile.sample import drawn_nodes, points, sample
from sqlsvm.compile.scores import source
from sqlsvm.compile.sketch import sizes
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.compile.tally import rounding
from sqlsvm.design import Scale, design, drop_nulls
from sqlsvm.engine.base import Engine, StatementError, Text
from sqlsvm.errors import DataError, EngineError, OptionError
from sqlsvm.join_tree import join_tree
from sqlsvm.label import label_sign
from sqlsvm.model import plain
from sqlsvm.plan import Plan
from sqlsvm.planner import choose
from sqlsvm.predict import read_label_values
from sqlsvm.problem import labelled
from sqlsvm.pseudo import far_sums
from sqlsvm.query import Feature, FeatureQuery
from sqlsvm.store.base import check_name
from sqlsvm.train import Training, package_version

PARAMETERS = (
    *("theta", "bound", "buckets", "label", "levels", "slack", "shift", "lowest", "width", "points"),
    *("weight_negative", "weight_positive", "density"),
)
"""The fields of the type sqlsvm._given, in their order."""

SOURCES = "sources"

LabelValues = tuple[Any, Any]
"""The label's own values for -1 and +1."""

Parts = Mapping[str, tuple[Statement, ...]]


@dataclass(frozen=True)
class StoredProgram:
    """What the tables `programs` and `statements` hold of one name."""

    query: str
    label: str
    description: Mapping[str, Any]
    options: Mapping[str, Any]
    parts: Parts


def stored_program(engine: Engine, text: str, training: Training) -> StoredProgram:
    """Reads names, types, keys and sizes, and no more of the data than `explain` does."""
    asked = training.problem
    if training.solver == "descent" or asked.counting == "sketch":
        raise OptionError(
            "a stored program trains by cuts: by dane or bundle, counting exactly or on a grid",
            hint="--solver dane; sqlsvm.pseudo_gradient has the step of descent",
        )
    query = labelled(engine, text, asked)
    sign = label_sign(engine, query, asked.positive)
    values = read_label_values(engine, query, sign)
    _check_classes(query, values)
    query = drop_nulls(query) if asked.nulls == "drop" else query
    catalog = Catalog(engine, query)
    check_left_joins(catalog)
    made = design(catalog, sign, intercept=asked.intercept, any_nulls=asked.nulls == "mean")
    made = replace(made, class_parameters=asked.class_weight != "none")
    plan = over_own_relations(choose(join_tree(query, catalog), made, catalog, asked.counting))
    return StoredProgram(
        text,
        plan.design.label.name,
        {**_description(plan), "label_values": plain(values), "version": engine.version},
        plain(asdict(training)),
        {name: tuple(map(numbered, part)) for name, part in _parts(plan, query, values, asked.scale).items()},
    )


def _check_classes(query: FeatureQuery, values: LabelValues) -> None:
    if None in values:
        assert query.label is not None
        raise DataError(
            f"the label {query.label.name} has one class only", hint="compile when both of its values are in the data"
        )


def _parts(
    plan: Plan, query: FeatureQuery, label_values: LabelValues, scale: Scale
) -> dict[str, tuple[Statement, ...]]:
    """By the names under which the functions of sql_templates/ ask for them."""
    sketched = replace(plan, method="sketch") if plan.method == "grid" and plan.centre else plan
    grid = replace(plan, method="grid")
    parts: dict[str, Iterable[Statement]] = {
        SOURCES: sources(query),
        "prepare": working_tables(plan),
        "checks": checks(plan, label_values),
        "moments": moments(plan, needed(plan, scale)),
        "relations": row_counts(plan),
        "pass": oracle_pass(plan),
        "sample": sample(plan),
        "row count": row_count(plan),
        "thresholds": thresholds(plan),
        "sizes": sizes(sketched),
        "far sums": far_sums(sketched),
        "list": [evaluation.list_of_rows(plan)] if plan.centre is None else evaluation.towards_centre(plan),
        "above": (evaluation.above(),),
        "area": (evaluation.area(),),
    }
    if plan.centre is not None:
        parts["pairs"] = (evaluation.pairs(plan),)
        parts["list of pairs"] = (evaluation.list_of_pairs(plan),)
        parts["above at centre"] = (evaluation.above_at_centre(plan),)
        parts["spans"] = (evaluation.span(grid, bag) for bag in plan.bags)
        parts["grid list"] = (*evaluation.towards_centre(grid), evaluation.list_of_pairs(grid))
        parts["roundings"] = (rounding(bag) for bag in plan.bags)
    return {name: tuple(part) for name, part in parts.items()}


# -- relations ---------------------------------------------------------------------------------------------------------


def own_relation(number: int) -> str:
    return f"sqlsvm_r{number}"


def over_own_relations(plan: Plan) -> Plan:
    """The same plan over relations of these names; how many rows they have was asked of the real ones."""
    query = plan.tree.query
    renamed = tuple(replace(r, source=_renamed(i, r.alias)) for i, r in enumerate(query.relations))
    return replace(plan, tree=replace(plan.tree, query=replace(query, relations=renamed)))


def _renamed(number: int, alias: str) -> exp.Expression:
    found = exp.to_table(own_relation(number))
    found.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    return found


def sources(query: FeatureQuery) -> Iterator[Statement]:
    """SELECT the columns that are used FROM each of the user's relations."""
    for number, relation in enumerate(query.relations):
        used = sorted({c.name for c in _columns(query) if c.table == relation.alias})
        outputs: list[exp.Expr] = [exp.column(name, table=relation.alias, quoted=True) for name in used]
        outputs = outputs or [exp.alias_(sql.integer(1), "one")]
        yield Statement(relation.alias, exp.select(*outputs).from_(relation.source.copy()), own_relation(number))


def row_counts(plan: Plan) -> Iterator[Statement]:
    """SELECT how many rows each relation brings to the join."""
    query = plan.tree.query
    optional = {j.relation for j in query.left_joins}
    for r in query.relations:
        rows = rows_of(r, [(sql.integer(1), "one")], optional=r.alias in optional)
        yield statement(r.alias, sql.select([(sql.count(), "n")], sql.derived(rows, "r")))


def _columns(query: FeatureQuery) -> Iterator[exp.Column]:
    outputs = [f for f in (*query.features, query.label, query.weight) if f is not None]
    equalities = (*query.equalities, *(e for j in query.left_joins for e in j.equalities))
    expressions = [f.expression for f in outputs]
    expressions += [term.expression for e in equalities for term in (e.left, e.right)]
    expressions += [f for r in query.relations for f in (*r.filters, *r.late_filters)]
    for expression in expressions:
        yield from expression.find_all(exp.Column)


# -- parameters --------------------------------------------------------------------------------------------------------


def numbered(given: Statement) -> Statement:
    """$1, $2, ... by the place of their names in PARAMETERS; the sample's points are made as they are needed."""
    query = given.query.copy()
    for placeholder in list(query.find_all(exp.Placeholder, exp.Parameter)):
        own = isinstance(placeholder, exp.Placeholder)
        name = placeholder.name if own else given.parameters[int(placeholder.name) - 1]
        wanted = "points" if name.startswith(points(0)[:-1]) else name
        placeholder.replace(exp.Parameter(this=sql.integer(PARAMETERS.index(wanted) + 1)))
    return replace(given, query=query)


# -- checks ------------------------------------------------------------------------------------------------------------


def checks(plan: Plan, label_values: LabelValues) -> Iterator[Statement]:
    """What the plan takes for granted. Each is named by what is wrong where it answers with more than 0."""
    yield from (_repeated(plan, node) for node in _unique_nodes(plan))
    query = plan.tree.query
    for left_join in query.left_joins:
        yield _ambiguous(query, left_join.relation, [e.right.expression for e in left_join.equalities])
    yield _other_labels(plan, label_values)
    missing = {c.feature for c in plan.design.coordinates if c.role == "missing"}
    for c in plan.design.coordinates:
        if c.role == "value" and c.feature not in missing:
            yield _nulls(plan, c.feature)


def _unique_nodes(plan: Plan) -> list[tuple[int, tuple[int, ...]]]:
    edges = [(n, e.on) for e in plan.tree.edges for n in (e.left, e.right) if e.unique_at(n)]
    return sorted(set(edges))


def _repeated(plan: Plan, unique: tuple[int, tuple[int, ...]]) -> Statement:
    node, on = unique
    keys = [sql.column(key(v), "r") for v in on]
    return _excess(f"unique {plan.tree.name(node)}", source(plan, node), keys)


def _ambiguous(query: FeatureQuery, alias: str, terms: list[exp.Expression]) -> Statement:
    relation = query.relation(alias)
    rows = sql.select([(t.copy(), f"k{i}") for i, t in enumerate(terms)], relation.source.copy())
    rows = rows.where(*(f.copy() for f in relation.filters))
    return _excess(f"unique {alias}", sql.derived(rows, "r"), [sql.column(f"k{i}", "r") for i in range(len(terms))])


def _excess(name: str, rows: exp.Expr, keys: list[exp.Column]) -> Statement:
    """SELECT how many rows there are beyond one for each key."""
    counted = sql.select([(sql.count(), "c")], rows).where(*(sql.not_null(k) for k in keys))
    grouped = sql.group(counted, [k.copy() for k in keys])
    beyond = exp.Sub(this=sql.column("c"), expression=sql.number(1))
    return statement(
        name, sql.select([(sql.coalesce(sql.total(beyond), sql.number(0)), "n")], sql.derived(grouped, "g"))
    )


def _other_labels(plan: Plan, label_values: LabelValues) -> Statement:
    """A third value would silently count as the negative class."""
    label, v = plan.design.label, sql.column("v", "r")
    known = [sql.equal(v.copy(), _literal(value)) for value in label_values]
    is_known = exp.Or(this=known[0], expression=known[1])
    other = sql.case(is_known, sql.number(0), sql.case(sql.not_null(v), sql.number(1)))
    return _counted(plan, f"label {label.name}", label, other)


def _nulls(plan: Plan, feature: str) -> Statement:
    found = next(f for f in plan.tree.query.features if f.name == feature)
    return _counted(plan, f"null {feature}", found, sql.case(sql.is_null(sql.column("v", "r")), sql.number(1)))


def _counted(plan: Plan, name: str, feature: Feature, condition: exp.Expression) -> Statement:
    query = plan.tree.query
    optional = feature.relation in {j.relation for j in query.left_joins}
    rows = rows_of(query.relation(feature.relation), [(feature.expression.copy(), "v")], optional=optional)
    total = sql.coalesce(sql.total(condition), sql.number(0))
    return statement(name, sql.select([(total, "n")], sql.derived(rows, "r")))


def _literal(value: object) -> exp.Expression:
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    return exp.Literal.number(repr(value)) if isinstance(value, int | float) else exp.Literal.string(str(value))


# -- description -------------------------------------------------------------------------------------------------------


def _description(plan: Plan) -> dict[str, Any]:
    """What the functions have to know of the design and the plan."""
    made, tree = plan.design, plan.tree
    node_of = {alias: n for n, block in enumerate(tree.nodes) for alias in block}
    kinds = {f.name: f.kind for f in tree.query.features}
    return {
        "relations": [r.alias for r in tree.query.relations],
        "coordinates": [
            {"place": c.index + 1, "feature": c.feature, "role": c.role, "node": node_of[c.relation]}
            for c in made.coordinates
        ],
        "dictionaries": [
            {"number": d.number, "feature": d.feature, "node": node_of[d.relation], "table": d.table}
            for d in made.dictionaries
        ],
        "booleans": [name for name, kind in kinds.items() if kind == "boolean"],
        "bags": len(plan.bags),
        "links": [list(link.bags) for link in plan.links],
        "method": plan.method,
        "one_bag": plan.centre is None,
        "reach": reach(plan),
        "scored_bags": [bag.number for bag in plan.bags if plan.scored(bag)],
        "label_node": plan.label_node,
        "drawn_nodes": [node for node, _ in drawn_nodes(plan)],
        "weight": made.weight.name if made.weight else None,
        "versions": {package: package_version(package) for package in ("sqlsvm", "sqlglot")},
        "weighted": made.weight is not None or made.class_weighted,
    }


# -- storing -----------------------------------------------------------------------------------------------------------

_SAVE = """\
INSERT INTO sqlsvm.programs (name, query, label, search_path, description, options)
VALUES ($1, $2, $3, ARRAY_TO_STRING(ARRAY(SELECT QUOTE_IDENT(s) FROM UNNEST(CURRENT_SCHEMAS(FALSE)) AS s), ', '),
        CAST($4 AS JSONB), CAST($5 AS JSONB))"""

_INSTALLED = "SELECT COUNT(*) AS n FROM pg_catalog.pg_tables WHERE schemaname = 'sqlsvm' AND tablename = 'programs'"

_DENIED = "42501"

_FORGET = "DELETE FROM sqlsvm.programs WHERE name = $1"

_SAVE_STATEMENT = """\
INSERT INTO sqlsvm.statements (program, part, place, name, working_table, texts)
VALUES ($1, $2, $3, $4, $5, $6)"""


def check_place(engine: Engine, name: str) -> None:
    """Complain before any work if a program of that name could not be saved."""
    check_name(name)
    if engine.dialect != "postgres":
        raise OptionError(f"{engine.version} cannot run a stored program", hint="--dsn postgresql://user@host/database")
    if not engine.fetch(parse_one(_INSTALLED, read="postgres"))["n"][0]:
        raise EngineError(f"the SQL functions are not in {engine.url}", hint=f"sqlsvm install --dsn {engine.url}")


def save_program(engine: Engine, name: str, program: StoredProgram) -> None:
    """In place of what was stored under the name; a model of that name and its versions stay."""
    check_place(engine, name)
    try:
        with engine.snapshot():
            _save(engine, name, program)
    except StatementError as error:
        if error.sqlstate != _DENIED:
            raise
        hint = "who owns the schema sqlsvm can allow it: sqlsvm install --trainer ROLE"
        raise EngineError(f"this role may not store programs: {error.message}", hint=hint) from error


def _save(engine: Engine, name: str, program: StoredProgram) -> None:
    engine.execute(Text(_FORGET), [name])
    given = [plain(program.description), plain(program.options)]
    texts = [json.dumps(value, ensure_ascii=False, allow_nan=False) for value in given]
    engine.execute(Text(_SAVE), [name, program.query, program.label, *texts])
    for part, made in program.parts.items():
        for place, one in enumerate(made):
            asts = (one.query,) if part == SOURCES else one.asts  # a source is made in one of two ways
            sent = [str(engine.text(ast)) for ast in asts]
            engine.execute(Text(_SAVE_STATEMENT), [name, part, place, one.name, one.table, sent])
