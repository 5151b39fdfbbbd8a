"""`a RIGHT JOIN b` is `b LEFT JOIN a`."""

from sqlglot import exp


def turned(query: exp.Query) -> exp.Query:
    """With a LEFT JOIN in place of a RIGHT JOIN of the first two items of FROM. * would list them in another order."""
    joins = query.args.get("joins") or []
    first, source = next(iter(joins), None), query.args.get("from_")
    if first is None or source is None or str(first.args.get("side")).upper() != "RIGHT" or _lists_all(query):
        return query
    left, right = source.this, first.this
    source.set("this", right)
    first.set("this", left)
    first.set("side", "LEFT")
    return query


def _lists_all(query: exp.Query) -> bool:
    return any(isinstance(item, exp.Star) for item in query.selects)
