"""A query and the options of its training -> a stored program."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlsvm import sql
from sqlsvm.compile import evaluate as evaluation
from sqlsvm.compile.copies import working_tables
from sqlsvm.compile.lines import RESTS
from sqlsvm.compile.moments import CATEGORIES, RANGE, moments, multiplied, needed, products, products_name
from sqlsvm.compile.oracle import NEAR, counting, is_even, reach, roundings, totals_name
from sqlsvm.compile.statement import Statement
from sqlsvm.compile.tally import MIDDLE, rounding
from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError
from sqlsvm.lab.compile.sketch import row_count, sizes, thresholds
from sqlsvm.lab.run.pseudo_oracle import far_sums
from sqlsvm.model.plain import plain
from sqlsvm.model.score import stored_values
from sqlsvm.options import Scale
from sqlsvm.plan.constraints import limits
from sqlsvm.plan.design import Coordinate, Design
from sqlsvm.plan.parameters import THETA
from sqlsvm.plan.plan import Plan, Terms, met, terms
from sqlsvm.plan.preflight import lasting, naming_features, rounded_keys
from sqlsvm.plan.target import Binary, Numeric, centred_at, is_single, read_label_values
from sqlsvm.psql.stored_program.checks import LabelValues, checks, types
from sqlsvm.psql.stored_program.passes import facts_of_loss, passes
from sqlsvm.psql.stored_program.relations import largest_groups, numbered, own_relations, planned_over, sources
from sqlsvm.psql.stored_program.start import Start, start
from sqlsvm.query import FeatureQuery
from sqlsvm.query.facts import Facts
from sqlsvm.query.forms import check_steady
from sqlsvm.query.read_query import named
from sqlsvm.rules import refuse
from sqlsvm.run.modelling import facts
from sqlsvm.run.opening import labelled
from sqlsvm.run.train import settled_on
from sqlsvm.run.training import Training

NAMES, SOURCES = "names", "sources"

Parts = Mapping[str, tuple[Statement, ...]]


@dataclass(frozen=True)
class StoredProgram:
    """The rows of the tables `programs` and `statements` for one name."""

    query: str
    label: str
    description: Mapping[str, Any]
    options: Mapping[str, Any]
    start: Mapping[str, Any]
    parts: Parts


def stored_program(engine: Engine, text: str, training: Training) -> StoredProgram:
    """Compile a program. This reads names, types, keys and sizes, like `explain`, and a sample of the join. In a heap
    it also makes passes."""
    refuse(training.options | {"program": True})
    training = settled_on(engine, text, training)
    query = labelled(engine, text, training, training.seed)
    check_steady(query)
    if query.labelled_only and query.label:
        query = query.where(query.label.relation, sql.not_null(query.label.expression.copy()))
    target = training.target(engine, query)
    target.must_be_one("a stored program trains two", "train with sqlsvm train: sqlsvm.predict knows its model")
    values = read_label_values(engine, query, target, shortest=engine.abilities.shortest)
    if isinstance(target, Binary):
        _check_classes(target.label.name, values)
    known = Facts(engine)
    with naming_features(engine, query):
        if isinstance(target, Binary):
            target = replace(target, class_parameters=training.class_weight != "none")
        plan, catalog = lasting(known, query, training, target)
    begun = start(engine, text, training, query.maps)
    plan = replace(plan, loss=begun.loss, design=_measured_from(plan.design, begun))
    single = engine.abilities.single if is_single(engine, query, target.label) else None
    query = catalog.query
    own = own_relations(query)
    plan = planned_over(plan, own)
    checked = checks(plan, own, rounded_keys(catalog), types(engine, query), values, single)
    parts = _parts(plan, query, checked, training.scale, begun.width, training.intercept == "free")
    parts |= _watched(engine, query.text)
    return StoredProgram(
        query.text,
        plan.design.target.label.name,
        {
            **_description(plan, begun),
            "limits": list(limits(training.constrain, (f.name for f in query.features), engine.fold)),
            "trained_on": facts(engine, query, text, values).as_json(),
            "values": stored_values(query),
            "version": engine.version,
            "settings": {**engine.settings, "TimeZone": engine.zone},
            **({"maps": plain(query.maps)} if query.maps else {}),
            **({"cut": {"at": training.cut, "spread": training.spread}} if training.cut is not None else {}),
        },
        plain(training.kept),
        begun.stored,
        {name: tuple(map(numbered, part)) for name, part in parts.items()},
    )


def _watched(engine: Engine, text: str) -> dict[str, tuple[Statement, ...]]:
    """What the names of the query stand for, and whether what they stand for is still the same."""
    tables, called = named(engine, text)
    asked = engine.naming(tables, called)
    assert asked
    locked, defined, moved = engine.watching(called)
    still = Statement("locked", locked), Statement("defined", defined)
    return {
        NAMES: (Statement(NAMES, asked),),
        "still": still,
        "moved": (Statement("moved", moved, parameters=(THETA,)),),
    }


def _measured_from(design: Design, begun: Start) -> Design:
    places = {c.index: (c.relation, c.feature) for c in design.coordinates if c.role == "value"}
    design = design.with_origins({at: begun.origins[c] for at, c in places.items() if c in begun.origins})
    target = design.target
    return replace(design, target=centred_at(target.label, begun.centre)) if isinstance(target, Numeric) else design


def _check_classes(label: str, values: LabelValues) -> None:
    if None in values:
        hint = "compile when both of its values are in the data"
        raise DataError(f"the label {label} has one class only", hint=hint)


def _parts(
    plan: Plan, query: FeatureQuery, assumed: Iterable[Statement], scale: Scale, width: float, by_class: bool
) -> dict[str, tuple[Statement, ...]]:
    """The statements by the names that the functions of sql_templates/ use."""
    parts: dict[str, Iterable[Statement]] = {
        SOURCES: sources(query),
        "prepare": working_tables(plan),
        "checks": assumed,
        "moments": moments(plan, needed(plan, scale, by_class=by_class) | CATEGORIES),
        **({products_part(c): products(plan, c, others) for c, others in multiplied(plan.design)}),
        "range": moments(plan, RANGE) if scale == "standard" else (),
        "groups": largest_groups(plan),
        **{one.part: one.statements(plan) for one in passes(plan, width)},
        **(_at_centre(plan) if plan.centre else {"list": (evaluation.list_of_rows(plan),)}),
        **(_of_classes(plan) if plan.design.target.signed else _of_numbers()),
    }
    return {name: tuple(part) for name, part in parts.items()}


def _of_classes(plan: Plan) -> dict[str, Iterable[Statement]]:
    """The counts of the paper, and measures."""
    sketched = replace(plan, method="sketch") if plan.method == "grid" else plan
    found: dict[str, Iterable[Statement]] = {
        "row count": row_count(plan),
        "thresholds": thresholds(plan),
        "sizes": sizes(sketched),
        "far sums": far_sums(sketched),
        "above": evaluation.above().statements,
        "area": evaluation.area().statements,
        "moved area": evaluation.moved_area().statements,
    }
    return found | ({"above at centre": evaluation.above_at_centre(plan).statements} if plan.centre else {})


def _of_numbers() -> dict[str, Iterable[Statement]]:
    return {"residuals": evaluation.sums_of_residuals().statements, "covered": (evaluation.covered(),)}


def _at_centre(plan: Plan) -> dict[str, Iterable[Statement]]:
    grid = replace(plan, method="grid")
    return {
        "list": evaluation.towards_centre(plan),
        "pairs": evaluation.pairs(plan).statements,
        "list of pairs": (evaluation.list_of_pairs(plan),),
        "spans": (s for bag in plan.bags for s in evaluation.span(grid, bag).statements),
        "grid list": (*evaluation.towards_centre(grid), evaluation.list_of_pairs(grid)),
        "roundings": (rounding(plan, bag) for bag in plan.bags),
    }


def _description(plan: Plan, begun: Start) -> dict[str, Any]:
    """The facts about the design and the plan that the functions need."""
    made, tree = plan.design, plan.tree
    caseless = {f.name for f in tree.query.features if f.spelling == "caseless"}
    later, even = {c for terms in made.numbers.values() for c in terms[1:]}, is_even(plan, counting(plan, plan.loss))
    return {
        "relations": [r.alias for r in tree.query.relations],
        "coordinates": [
            {"place": c.index + 1, "feature": c.feature, "role": "term" if c in later else c.role}
            for c in made.coordinates
        ],
        "features": features(made),
        **({"products": list(_products(plan))} if later else {}),
        "dictionaries": [
            {"number": d.number, "feature": d.feature, "node": tree.node_of(d.relation), "table": d.table}
            | ({"caseless": True} if d.feature in caseless else {})
            for d in made.dictionaries
        ],
        "bags": len(plan.bags),
        "links": [list(link.bags) for link in plan.links],
        "method": plan.method,
        "one_bag": plan.centre is None,
        "numeric": not made.target.signed,
        "label_centre": made.target.centre,
        "loss": facts_of_loss(plan.loss, begun.slopes),
        "passes": [one.facts(plan) for one in passes(plan, begun.width)],
        "reach": reach(plan, even=even),
        "middle": MIDDLE if even else 0,
        "roundings": roundings(plan, even=even),
        "near": NEAR,
        "rests": RESTS,
        "sums": list(map(_of_sum, terms(plan))),
        "met": list(map(_of_sum, met(plan))) if plan.centre else [],
        "scored_bags": [bag.number for bag in plan.bags if plan.scored(bag)],
        "label_node": plan.label_node,
        "totals": totals_name(plan),
        "weight": made.weight.name if made.weight else None,
        "weighted": made.weighted,
    }


def _of_sum(of: Terms) -> dict[str, Any]:
    return {"relations": [rows.name for rows in of.factors], "most": of.most, "weighted": of.weighted}


def features(design: Design) -> list[dict[str, Any]]:
    """The intercept, without a name, and the numbers. In a sum no mean replaces a term that is NULL."""
    constant, known = [(c,) for c in design.coordinates if c.role == "intercept"], design.indicators
    return [
        {
            "feature": terms[0].feature,
            "terms": [c.index + 1 for c in terms],
            "origin": sum(c.origin for c in terms),
            "far": sum(abs(c.origin) for c in terms) if len(terms) > 1 else 0.0,
            "missing": known[terms[0].index] + 1 if len(terms) == 1 and terms[0].index in known else None,
        }
        for terms in (*constant, *design.numbers.values())
    ]


def _products(plan: Plan) -> Iterator[dict[str, Any]]:
    """Where the products of the terms of sums are answered."""
    for c, others in multiplied(plan.design):
        answers = [
            {"name": products_name(c, plan.tree.node_of(o.relation)), "column": o.column, "with": o.index + 1}
            for o in others
        ]
        yield {"part": products_part(c), "of": c.index + 1, "answers": answers}


def products_part(c: Coordinate) -> str:
    return f"products {c.index}"
