"""The SELECT list: each column is a feature over one relation, or a sum of terms that are."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from sqlsvm.errors import FormError, QueryError
from sqlsvm.query.guards import Fragment, as_typed
from sqlsvm.query.ir import VALUE, Feature, Unmet
from sqlsvm.query.named import named
from sqlsvm.query.names import Scope, Shown, Visible, distinct, relations_in
from sqlsvm.query.sums import terms_of

MOST_FEATURES = 20_000
"""With more, statements are longer than databases read in good time (bench/many.py)."""


def check_features(size: int) -> None:
    if size > MOST_FEATURES:
        raise QueryError(
            f"the query returns {size:,} features, and at most {MOST_FEATURES:,} are planned for",
            hint="select fewer, or add some of them up",
        )


def outputs(select: exp.Select, scope: Scope) -> tuple[Feature, ...]:
    """Every output column as a feature. Its kind is "other" until `with_kinds` sets it."""
    found = [terms for item in select.expressions for terms in _features(item, scope)]
    if not found:
        raise QueryError("the query returns no column", hint="select the features and the label")
    names = distinct([terms[0].name for terms in found], lambda name: scope.fold(name, True))
    return tuple(
        term if name == term.name else replace(term, name=name, twin=term.name)
        for name, terms in zip(names, found, strict=True)
        for term in terms
    )


def _features(item: exp.Expression, scope: Scope) -> Iterator[list[Feature]]:
    """The terms of each output; a column of `*` with its own name."""
    star = item.this if isinstance(item, exp.Column) else item
    if isinstance(star, exp.Star):
        shown = Shown(tuple(_expanded(item, star, scope)))
        instead = {v: e for e in star.args.get("replace") or [] for v in _named(e.args["alias"], shown, scope)}
        for visible in shown.columns:
            name = visible.column.name
            if other := instead.get(visible):
                yield _terms(other, scope)
            else:
                yield [Feature(name, visible.alias, visible.reference, "other")]
    else:
        yield _terms(item, scope)


def _terms(item: exp.Expression, scope: Scope) -> list[Feature]:
    shown = Fragment(item, scope.dialect)
    resolved = scope.resolve(item.unalias())
    used = relations_in(resolved) or [scope.sources[0].alias]
    name = _name(item, resolved, scope)
    if len(used) == 1:
        return [Feature(name, used[0], resolved, "other")]
    terms = terms_of(resolved)
    if terms is None:
        refusal = FormError(
            f"the output {shown} uses {' and '.join(used)}",
            hint="add up terms that use one relation each, such as a.x - 2 * b.y; or give each its own output column",
        )
        return [Unmet(name, "", resolved, "other", refusal=refusal)]
    return [Feature(name, alias, term, "other", own=resolved) for alias, term in terms.items()]


def _name(item: exp.Expression, resolved: exp.Expression, scope: Scope) -> str:
    """The alias; else the name of the column, also inside a cast, as in PostgreSQL; else the expression as SQL."""
    if isinstance(item, exp.Alias):
        return _spelling(item.args["alias"], scope)
    inner = resolved
    while isinstance(inner, exp.Cast | exp.Paren):
        inner = inner.this
    return inner.name if isinstance(inner, exp.Column) else as_typed(item, scope.dialect)


def _spelling(identifier: exp.Expression, scope: Scope) -> str:
    """The name as typed where the engine ignores case, else its meaning."""
    name, meaning = identifier.name, scope.meaning(identifier)
    ignores_case = scope.fold(name, True) == scope.fold(name, False)
    return name if ignores_case and len(name) == len(meaning) else meaning


def _expanded(item: exp.Expression, star: exp.Star, scope: Scope) -> Iterator[Visible]:
    if star.args.get("rename"):
        raise FormError(f"a star that renames: {Fragment(item, scope.dialect)}", hint="name the columns one by one")
    shown = scope.own(scope.relation(item)) if isinstance(item, exp.Column) else scope.shown
    without = [v for e in star.args.get("except_") or [] for v in _named(e, shown, scope)]
    own = (visible for visible in shown.columns if not visible.name.startswith(VALUE))
    return (visible for visible in own if visible not in without)


def _named(node: exp.Expression, shown: Shown, scope: Scope) -> list[Visible]:
    """The columns of a star that a name means: all of this name."""
    if isinstance(node, exp.Column) and node.args.get("table"):
        return [scope.find(node)]
    name = node.this if isinstance(node, exp.Column) else node
    found = shown.by_name.get(scope.meaning(name))
    return found or [replace(scope, shown=shown).find(exp.Column(this=name.copy()))]  # which says that there is none


def find(name: str, role: str, features: Sequence[Feature], scope: Scope) -> Feature:
    """The feature that an option names."""
    feature = named(f"--{role}", name, {f.name: f for f in features}, scope.fold)
    if twin := next((f for f in features if f.twin == feature.name), None):
        owners = [f.relation for f in (feature, twin)]
        raise QueryError(
            f"two output columns are called {feature.name}: --{role} is one of {' or '.join(owners)}",
            hint=f"leave one of them out, or give it another name with AS: AS {twin.name}",
        )
    used = [f.relation for f in features if f.name == feature.name]
    if len(used) == 1:
        return feature
    refusal = FormError(
        f"the {role} {feature.name} uses {' and '.join(used)}",
        hint="only a feature adds up columns of several relations",
    )
    if role not in ("label", "weight"):
        raise refusal
    return Unmet(feature.name, "", feature.typed, "other", refusal=refusal)  # its relations may meet in a row
