"""`--map`: new columns in place of those that they are computed from."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from sqlsvm.errors import QueryError
from sqlsvm.query.facts import Facts, Rule
from sqlsvm.query.ir import Feature, FeatureQuery, Map
from sqlsvm.query.names import relations_in
from sqlsvm.query.rewrites.meet import Asked, brought, met


def readable(columns: Collection[str]) -> Rule:
    """Sums that maps read are computed where their relations meet."""

    def rule(query: FeatureQuery, facts: Facts) -> FeatureQuery:
        return met(query, facts, {name: _many(name) for name in columns if name in query.sums})

    return rule


def _many(name: str) -> QueryError:
    hint = "give each relation an output column of its own, and a map"
    return QueryError(f"no map of {name}: it adds up columns of several relations", hint=hint)


def mapped(maps: Sequence[Map]) -> Rule:
    def rule(query: FeatureQuery, facts: Facts) -> FeatureQuery:
        _check_names(query, maps)
        replaced = {name for each in maps if each.replaces for name in each.columns}
        kept, made = [f for f in query.features if f.name not in replaced], list[Feature]()
        query, found = brought(query, facts, [_asked(query, each) for each in maps])
        for number, (each, (alias, columns)) in enumerate(zip(maps, found, strict=True)):
            new, relation = each.computed(columns, alias, f"sqlsvm_map{number}"), query.relation(alias)
            computed, known = (*relation.computed, *new.layers), (*relation.columns, *new.columns)
            query = query.with_relation(replace(relation, computed=computed, columns=known))
            made += (Feature(name, alias, v, "numeric") for name, v in zip(each.formulas, new.values, strict=True))
        return replace(query, features=(*kept, *made), maps=tuple(maps)) if maps else query

    return rule


def _asked(query: FeatureQuery, each: Map) -> Asked:
    """What the map reads, over one relation."""
    by_name = {f.name: f for f in query.features}
    columns = [by_name[name] for name in each.columns]
    values = [c.typed if c.name in query.sums else c.expression for c in columns]
    used = list(dict.fromkeys(alias for value in values for alias in relations_in(value)))
    refusal = QueryError(
        f"--map {each.map} needs {', '.join(used[:-1])} and {used[-1]} in one row",
        hint="select only numbers of tables that foreign keys connect; or write each component as a sum, with the "
        "loadings that sqlsvm components prints: 0.7 * a.x + 0.7 * b.y AS first",
    )
    return Asked(values, refusal)


def _check_names(query: FeatureQuery, maps: Sequence[Map]) -> None:
    seen = {f.name for f in query.outputs}
    for each in maps:
        for name in each.formulas:
            if name in seen:
                raise QueryError(
                    f"two columns are called {name}: one is of --map {each.map}",
                    hint="rename the column of the query with AS, or leave out one of the maps",
                )
            seen.add(name)
