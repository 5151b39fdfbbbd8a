"""A relation -> SELECT over the rows that it brings to the join."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.query.ir import Equality, FeatureQuery, LookedFor, Parsed, Relation

Outputs = Sequence[tuple[exp.Expression, str]]

LOOKING = f"{sql.WORKING}looking"


def rows_of(query: FeatureQuery, alias: str, outputs: Outputs) -> exp.Query:
    """SELECT outputs over the rows that a relation of the query brings to the join."""
    return brought(query.relation(alias), outputs)


def brought(relation: Relation, outputs: Outputs) -> exp.Query:
    """The optional side of a LEFT JOIN brings one row more, all NULL, for those that find nothing. With it, the LEFT
    JOIN is an inner join, and conditions of WHERE apply to this row too."""
    if relation.looked_for:
        return _looked_for(relation, relation.looked_for, outputs)
    own = relation.rows(outputs)
    if relation.optional is None:
        return own
    missing = row_of_nulls(relation, outputs).select(*(exp.alias_(e, name) for e, name in outputs))
    return exp.union(own, missing.where(*(f.copy() for f in relation.filters)), distinct=False)


def _looked_for(relation: Relation, looked: LookedFor, outputs: Outputs) -> exp.Select:
    """FROM the rows that look LEFT JOIN those that they may find"""
    keys = [(e.left.expression.copy(), f"m{i}") for i, e in enumerate(looked.equalities)]
    pairs = ((e.right.expression.copy(), f"m{i}") for i, e in enumerate(looked.equalities))
    on = [sql.equal(value, sql.column(name, LOOKING)) for value, name in pairs]
    rows = sql.select([], sql.derived(brought(looked.parent, keys), LOOKING))
    rows = sql.join(rows, relation.serving(value for value, _ in outputs), [*on, *copies(relation.at_first)], "left")
    return sql.where(sql.also(rows, list(outputs)), *copies(relation.filters))


def copies(conditions: Iterable[exp.Expression]) -> list[exp.Expression]:
    return [condition.copy() for condition in conditions]


def met_rows_of(
    query: FeatureQuery, alias: str, through: Collection[str], outputs: Outputs, most: int | None = None
) -> exp.Query:
    """The same without rows with a key that has no row in these relations: no row of the join has them. `most`: only
    that many rows of each neighbour are looked at."""
    return _met(query, alias, set(through) - {alias}, outputs, most)


def _met(query: FeatureQuery, alias: str, unseen: set[str], outputs: Outputs, most: int | None = None) -> exp.Query:
    """key IN (SELECT key FROM relation), and so on from there; each relation once. A LEFT JOIN keeps rows that find
    nothing, and the row of NULLs has no key."""
    inner = [pair for e in query.equalities for pair in ((e.left, e.right), (e.right, e.left))]
    outer = [(e.right, e.left) for j in query.left_joins for e in j.equalities]
    conditions: list[exp.Expression] = []
    for own, other in [*inner, *outer]:
        if own.relation == alias and other.relation in unseen:
            unseen.remove(other.relation)
            through = _first_rows(query, other.relation, most) if most else query
            keys = _met(through, other.relation, unseen, [(other.expression.copy(), "k")])
            conditions.append(sql.among(own.expression.copy(), keys.limit(most) if most else keys))
    return brought(query.relation(alias).where_at_first(conditions), outputs)


def _first_rows(query: FeatureQuery, alias: str, most: int) -> FeatureQuery:
    """The same over so many rows of a relation that meet its conditions. Those that they meet are then looked up from
    these few, where the limit alone would have all of them hashed."""
    relation = query.relation(alias)
    if relation.computed:
        return query
    conditions = (f.copy() for f in relation.at_first)
    rows = exp.select(sql.everything(alias)).from_(relation.source.copy()).where(*conditions).limit(most)
    return query.with_relation(relation.over(sql.aliased(rows, alias)))


def row_of_nulls(relation: Relation, outputs: Outputs) -> exp.Select:
    """FROM one row in which every column of the relation is NULL, with what these outputs read of it. What is looked up
    is looked up for this row too."""
    one, values = sql.derived(sql.select([(sql.integer(1), "one")]), "sqlsvm_one"), [value for value, _ in outputs]
    found = sql.join(sql.select([], one), replace(relation, lookups=()).serving(values), [exp.false()], "left")
    if not relation.lookups:
        return found
    found = found.select(sql.everything(relation.alias), copy=False)
    names = {column.name for value in values for column in value.find_all(exp.Column)}
    return exp.Select().from_(relation.looking_up(sql.aliased(found, relation.alias), names), copy=False)


def typed_outputs(query: FeatureQuery) -> Outputs:
    """The outputs as the text has them: a sum once."""
    return [(value.copy(), name) for name, value in {f.name: f.typed for f in query.outputs}.items()]


def render(query: FeatureQuery, outputs: Outputs | None = None) -> exp.Select:
    """SELECT outputs FROM the join. The database gives it the rows that a training on the query is about; with keys of
    a type that ignores case, once the rule `plain_keys` has made them texts."""
    outputs = typed_outputs(query) if outputs is None else outputs
    late = [each.expression for each in query.spanning] if isinstance(query, Parsed) else []
    read = [value for value, _ in outputs] + late + [term.expression for term in query.terms]
    pending, seen = list(query.equalities), set[str]()

    def item(relation: Relation) -> exp.Expr:
        return relation.serving(c for value in read for c in value.find_all(exp.Column) if c.table == relation.alias)

    first, *others = query.relations
    found, seen, where = sql.select(outputs, item(first)), {first.alias}, [*first.filters]
    for relation in others:
        seen.add(relation.alias)
        where += relation.filters
        if (join := query.left_join(relation.alias)) and join in query.left_joins:
            on, kind = [*map(_equal, join.equalities), *relation.at_first], "left"
        else:
            ready = [e for e in pending if seen >= {e.left.relation, e.right.relation}]
            pending = [e for e in pending if e not in ready]
            on, kind = [_equal(e) for e in ready], ""
        found = sql.join(found, item(relation), [condition.copy() for condition in on], kind)
    for output in found.selects:  # two of them may be x and "X"
        if output.alias != output.alias.lower():
            output.args["alias"].set("quoted", True)
    return sql.where(found, *(condition.copy() for condition in (*where, *map(_equal, pending), *late)))


def _equal(equality: Equality) -> exp.Expression:
    return sql.equal(equality.left.expression.copy(), equality.right.expression.copy())
