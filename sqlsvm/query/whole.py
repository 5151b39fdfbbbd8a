"""A query that cannot be taken apart -> SELECT * FROM the whole of it, which the database makes once.

SELECT u.churned, COUNT(*) FROM users u JOIN visits v USING (id) GROUP BY u.id, u.churned
SELECT * FROM (SELECT u.churned, COUNT(*) FROM ... GROUP BY ...) AS "result"("churned", "count(*)")
"""

from collections.abc import Callable, Iterable

from sqlglot import exp

from sqlsvm.engine.languages import LANGUAGES
from sqlsvm.errors import FormError
from sqlsvm.query.guards import as_typed, varying
from sqlsvm.query.ir import MADE, FeatureQuery, Once
from sqlsvm.query.names import distinct

RESULT = "result"
RESULT_ROWS = "rows of the query"
"""So a note calls them."""


def whole(query: exp.Query, because: FormError, dialect: str) -> exp.Select:
    once = Once(because.message, because.hint, varying(query, dialect))
    made = exp.Subquery(
        this=query, alias=exp.TableAlias(this=exp.to_identifier(RESULT), columns=_names(query, dialect))
    )
    made.meta[MADE] = once
    return exp.select("*").from_(made, copy=False)


def check_steady(query: FeatureQuery) -> None:
    """Where a part is not made once, it is read several times."""
    for relation in query.relations:
        if relation.once and relation.once.varying:
            raise relation.once.varying


def _names(query: exp.Query, dialect: str) -> list[exp.Identifier]:
    """Those that the outputs of a query have that is taken apart; none if a star has them."""
    found = [_name(item, dialect) for item in query.selects]
    names = [name for name in found if name is not None]
    return named(distinct([name.name for name in names], _same(dialect))) if len(names) == len(found) else []


def named(names: Iterable[str]) -> list[exp.Identifier]:
    return [exp.to_identifier(name, quoted=True) for name in names]


def _same(dialect: str) -> Callable[[str], str]:
    return str if LANGUAGES[dialect].lowers else str.lower


def _name(item: exp.Expr, dialect: str) -> exp.Identifier | None:
    """The alias; else the name of the column, also inside a cast; else the expression as SQL."""
    if item.is_star or isinstance(item, exp.Columns):
        return None
    if isinstance(item, exp.Alias | exp.Aliases):
        alias = item.args.get("alias")
        return _meant(alias, dialect) if isinstance(alias, exp.Identifier) else None
    inner = item
    while isinstance(inner, exp.Cast | exp.Paren):
        inner = inner.this
    if isinstance(inner, exp.Column) and isinstance(inner.this, exp.Identifier):
        return _meant(inner.this, dialect)
    return exp.to_identifier(as_typed(item, dialect), quoted=True)


def _meant(name: exp.Identifier, dialect: str) -> exp.Identifier:
    """Quoted: a name after AS may be a word that is reserved elsewhere."""
    lowers = LANGUAGES[dialect].lowers and not name.args.get("quoted")
    spelled = "".join(c.lower() if lowers and c.isascii() else c for c in name.name)
    return exp.to_identifier(spelled, quoted=True)
