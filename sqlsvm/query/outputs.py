"""The SELECT list: each column is a feature over one relation, or a sum of terms that are."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Column
from sqlsvm.engine.languages import LANGUAGES
from sqlsvm.errors import FormError, QueryError
from sqlsvm.query.forms import part
from sqlsvm.query.guards import Fragment, as_typed
from sqlsvm.query.ir import VALUE, Feature, Fold, Parsed, Relation, Unmet
from sqlsvm.query.joins import Joins, joins_of, left_joins
from sqlsvm.query.names import Scope, Shown, Visible, distinct, named, relations_in
from sqlsvm.query.sources import Source

AUDITED = "sqlsvm_audited_{}"
HINT = "name an output of the query, or write an expression over one relation, such as p.age or p.gender = 'F'"
MOST_FEATURES = 20_000  # with more, statements are longer than databases read in good time (bench/experiments/many.py)


def check_features(size: int) -> None:
    if size > MOST_FEATURES:
        said = f"the query returns {size:,} features, and at most {MOST_FEATURES:,} are planned for"
        raise QueryError(said, hint="select fewer, or add some of them up")


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
        # as typed where the engine ignores case, else what it means
        name, meaning = item.args["alias"].name, scope.meaning(item.args["alias"])
        ignores_case = scope.fold(name, True) == scope.fold(name, False)
        return name if ignores_case and len(name) == len(meaning) else meaning
    inner = resolved
    while isinstance(inner, exp.Cast | exp.Paren):
        inner = inner.this
    return inner.name if isinstance(inner, exp.Column) else as_typed(item, scope.dialect)


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
    feature = named(f"⟦{role}⟧", name, {f.name: f for f in features}, scope.fold)
    if twin := next((f for f in features if f.twin == feature.name), None):
        owners = [f.relation for f in (feature, twin)]
        said = f"two output columns are called {feature.name}: ⟦{role}⟧ is one of {' or '.join(owners)}"
        raise QueryError(said, hint=f"leave one of them out, or give it another name with AS: AS {twin.name}")
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


def apart(outputs: tuple[Feature, ...], texts: Sequence[str]) -> tuple[tuple[Feature, ...], tuple[Feature, ...]]:
    """The outputs that the query itself has, and the audited ones, called what the user calls them."""
    names = {AUDITED.format(i): text for i, text in enumerate(texts)}
    own = tuple(f for f in outputs if f.name not in names)
    audited = [f for f in outputs if f.name in names]
    for f in audited:
        if f.own is not None:
            raise QueryError(f"{names[f.name]} cannot be audited: it uses several relations", hint=HINT)
    return own, tuple(replace(f, name=names[f.name]) for f in audited)


def feature_query(
    text: str,
    select: exp.Select,
    items: tuple[Source, ...],
    columns: Mapping[str, tuple[Column, ...]],
    fold: Fold,
    *,
    dialect: str,
    label: str | None = None,
    weight: str | None = None,
    categorical: Sequence[str] = (),
    top: Sequence[str] = (),
    audited: Sequence[str] = (),
) -> Parsed:
    """The query taken apart. `items` are its `sources`, and `columns` has those of each by its alias. The kind of each
    feature is "other", or "categorical" where that is forced, until `kinds` sets it. `audited`: the last outputs."""
    joins = joins_of(select, items, Scope(dialect, fold, columns, named=_meanings(select, dialect, fold)))
    found, compared = apart(outputs(select, joins.scope), audited)
    forced = [find(name, "categorical", found, joins.scope) for name in categorical]
    found = _limited(tuple(replace(f, kind="categorical") if f in forced else f for f in found), top, joins.scope)
    features, target, mass = _roles(found, joins.scope, label, weight)
    query = joined(text, items, joins)
    return replace(query, features=features, label=target, weight=mass, audited=compared)


def _meanings(select: exp.Select, dialect: str, fold: Fold) -> dict[str, exp.Expr]:
    """What the names of outputs mean, where other outputs and conditions may use them."""
    named = [item for item in select.expressions if isinstance(item, exp.Alias)] if LANGUAGES[dialect].reuses else []
    return {fold(item.alias, bool(item.args["alias"].args.get("quoted"))): item.this for item in named}


def _roles(
    found: tuple[Feature, ...], scope: Scope, label: str | None, weight: str | None
) -> tuple[tuple[Feature, ...], Feature | None, Feature | None]:
    """The features, the label and the weight. Label and weight are not features."""
    target = find(label, "label", found, scope) if label is not None else None
    mass = find(weight, "weight", found, scope) if weight is not None else None
    if target and mass and target.name == mass.name:
        raise QueryError(f"{target.name} is both label and weight", hint="name two columns")
    features = tuple(f for f in found if f.name not in [role.name for role in (target, mass) if role])
    check_features(len(features))
    if not features:
        raise QueryError("the query returns no feature", hint="select at least one column besides label and weight")
    return features, target, mass


def _limited(features: tuple[Feature, ...], limits: Sequence[str], scope: Scope) -> tuple[Feature, ...]:
    """With the numbers of `--top`, each written as city:50."""
    for name, _, number in (limit.rpartition(":") for limit in limits):
        limited = find(name, "top", features, scope)
        if limited.top:
            raise QueryError(f"{limited.name} has two limits", hint=f"keep one: ⟦top {limited.name}:{number}⟧")
        features = tuple(replace(f, top=int(number)) if f is limited else f for f in features)
    return features


def joined(text: str, items: Sequence[Source], joins: Joins) -> Parsed:
    """The join, without outputs."""
    dialect, relations = joins.scope.dialect, list[Relation]()
    for item in items:
        filters, on = (tuple(found[item.alias]) for found in (joins.filters, joins.on))
        optional, columns = on if item.alias in joins.optional else None, joins.scope.columns[item.alias]
        relation = Relation(item.alias, ".".join(item.path), item.expression, columns, filters, optional)
        relations.append(replace(relation, once=part(item.expression, dialect)))
    inner, outer, spanning = tuple(joins.equalities), left_joins(joins), tuple(joins.spanning)
    return Parsed(text, dialect, tuple(relations), inner, outer, (), None, spanning=spanning)


# -- sums: p.x - 2 * a.x + 1 is p.x + 1 and -(2 * a.x). The terms share one weight: w (s + t) = w s + w t --------------


Terms = dict[str, exp.Expression]  # by relation, in the order of the text
_CONSTANT = ""


def terms_of(resolved: exp.Expression) -> Terms | None:
    """The terms of a sum whose factors are constants; None for any other expression."""
    found = _split(resolved)
    if found and (constant := found.pop(_CONSTANT, None)):
        first = next(iter(found))
        found[first] = sql.plus(_inner(found[first]), _inner(constant))
    return found


def _split(node: exp.Expression) -> Terms | None:
    used = relations_in(node)
    if len(used) < 2:
        return {used[0] if used else _CONSTANT: node.copy()}
    if isinstance(node, exp.Add | exp.Sub):
        return _both(type(node), _split(node.this), _split(node.expression))
    if (make := _linear(node)) is None:
        return None
    inner = _split(node.expression if _is_factor(node) else node.this)
    return None if inner is None else {alias: make(_inner(term)) for alias, term in inner.items()}


def _linear(node: exp.Expression) -> Callable[[exp.Expression], exp.Expression] | None:
    """What an operation makes of each term of a sum, if that adds up to what it makes of the sum."""
    if isinstance(node, exp.Paren):
        return lambda term: term
    if isinstance(node, exp.Neg):
        return _negated
    if isinstance(node, exp.Cast) and type(node) is exp.Cast and node.to.this is exp.DType.DOUBLE:
        return sql.double
    if _is_factor(node):
        return lambda term: _with(node, expression=term)
    if isinstance(node, exp.Mul) and not relations_in(node.expression):
        return lambda term: _with(node, this=term)
    if isinstance(node, exp.Div) and not relations_in(node.expression):
        return lambda term: _with(node, this=term, expression=sql.double(node.expression.copy()))
    return None


def _with(node: exp.Expression, **operands: exp.Expression) -> exp.Expression:
    made = node.copy()
    for name, operand in operands.items():
        made.set(name, operand)
    return made


def _is_factor(node: exp.Expr) -> bool:
    """2 * (...)"""
    return isinstance(node, exp.Mul) and not relations_in(node.this)


def _both(operator: type[exp.Add | exp.Sub], left: Terms | None, right: Terms | None) -> Terms | None:
    if left is None or right is None:
        return None
    found = dict(left)
    for alias, term in right.items():
        if alias in found:
            found[alias] = operator(this=_inner(found[alias]), expression=_inner(term))
        else:
            found[alias] = term if operator is exp.Add else _negated(term)
    return found


def _negated(term: exp.Expression) -> exp.Expression:
    """As a double: the type of the term may have no negative numbers, and that of the sum has."""
    return sql.negated(sql.double(term))


def _inner(term: exp.Expression) -> exp.Expression:
    return term if isinstance(term, exp.Column | exp.Literal | exp.Paren | exp.Cast) else exp.paren(term, copy=False)
