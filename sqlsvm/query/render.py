"""FeatureQuery -> SELECT: the inverse of taking a query apart."""

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.query.ir import Equality, FeatureQuery, Parsed, Relation
from sqlsvm.query.rows import Outputs


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
    _keep_case(found)
    return sql.where(found, *(condition.copy() for condition in (*where, *map(_equal, pending), *late)))


def _keep_case(found: exp.Select) -> None:
    """Two outputs may be x and "X"."""
    for item in found.selects:
        if item.alias != item.alias.lower():
            item.args["alias"].set("quoted", True)


def _equal(equality: Equality) -> exp.Expression:
    return sql.equal(equality.left.expression.copy(), equality.right.expression.copy())
