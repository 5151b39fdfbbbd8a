"""What an option names: an output of the query, or else a column of the relation that has the label."""

from sqlsvm import sql
from sqlsvm.engine.base import Column
from sqlsvm.errors import QueryError, nearest
from sqlsvm.query.ir import Feature, FeatureQuery, Fold
from sqlsvm.query.names import meant


def role_of(query: FeatureQuery, name: str, fold: Fold) -> tuple[str, Feature] | None:
    """If it is the label or the weight."""
    roles = ((role, other) for role, other in (("label", query.label), ("weight", query.weight)) if other)
    return next(((role, other) for role, other in roles if meant(name, [other.name], fold)), None)


def output_named(query: FeatureQuery, alias: str, flag: str, name: str, fold: Fold) -> Feature | None:
    """A feature over this relation; an error if it is over others."""
    own = meant(name, [f.name for f in query.features], fold)
    found = [f for f in query.features if f.name == own]
    if found and {f.relation for f in found} != {alias}:
        raise _elsewhere(alias, flag, name)
    return found[0] if found else None


def column_named(query: FeatureQuery, alias: str, flag: str, name: str, fold: Fold) -> Column:
    columns = {c.name: c for c in query.relation(alias).columns if not c.name.startswith(sql.WORKING)}
    if own := meant(name, columns, fold):
        return columns[own]
    if meant(name, (c.name for r in query.relations for c in r.columns), fold):
        raise _elsewhere(alias, flag, name)
    raise QueryError(f"{flag}: {alias}, which has the label, has no column {name}", hint=nearest(name, columns))


def _elsewhere(alias: str, flag: str, name: str) -> QueryError:
    return QueryError(
        f"{flag}: {name} is not a column of {alias}, which has the label",
        hint=f"take it into that relation: FROM (SELECT a.*, b.{name} FROM ... JOIN ...) AS {alias}",
    )
