"""LATERAL and ASOF joins -> joins on equal keys, with rows that one pass over a line finds.

    orders o JOIN LATERAL (SELECT v.x FROM visits v WHERE v.c = o.c AND v.day < o.day ORDER BY v.day DESC LIMIT 1) l
    orders o JOIN (first rows) AS l ON l.k0 = o.c AND l.e0 = o.day

query/firsts.py finds these rows. Without LIMIT, LATERAL is a join with the conditions inside; without GROUP BY, its
aggregates are values of the other relation.
"""

from collections.abc import Iterator, Sequence
from typing import cast

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.query.asked import Asker, Describe, Names, Question, asker_of
from sqlsvm.query.firsts import bare, can_order, first_of, first_rows, shown
from sqlsvm.query.forms import IN_FROM, check_form, outer_expressions
from sqlsvm.query.guards import Fragment, varying
from sqlsvm.query.ir import MADE, VALUE, Fold, Once
from sqlsvm.query.known_functions import is_aggregate
from sqlsvm.query.line import HIGH
from sqlsvm.query.sources import ORIGINAL, from_items, source_of

_CLAUSES = {"expressions", "from_", "joins", "where", "order", "limit"}


def plain(query: exp.Query) -> exp.Query:
    """A copy in which these joins are plain ones, to see whether anything else is not."""
    if not isinstance(query, exp.Select) or not query.args.get("from_") or not _joins(query):
        return query
    found = query.copy()
    for join in _joins(found):
        join.set("method", None)
        if isinstance(join.this, exp.Lateral):
            alias = join.this.args["alias"]
            join.set("this", exp.Subquery(this=exp.select("1").from_("t"), alias=alias.copy()))
    return found


def _joins(select: exp.Select) -> list[exp.Join]:
    return [join for join in select.args.get("joins") or [] if _is_asof(join) or _is_lateral(join)]


def _is_asof(join: exp.Join) -> bool:
    return str(join.args.get("method")).upper() == "ASOF" and bool(join.args.get("on"))


def _is_lateral(join: exp.Join) -> bool:
    item = join.this
    is_query = isinstance(item, exp.Lateral) and isinstance(item.this, exp.Subquery) and bool(item.args.get("alias"))
    return is_query and isinstance(item.this.this, exp.Select) and not join.args.get("using")


def matched(select: exp.Select, dialect: str, fold: Fold, describe: Describe) -> exp.Select:
    """A FormError if one of these joins is about several relations, or has another form."""
    if not _joins(select):
        return select
    made = select.copy()
    for join in _joins(made):
        earlier = from_items(made)[: 1 + made.args["joins"].index(join)]
        askers = (asker_of(item, made, dialect, fold, describe) for item in earlier)
        if not any(_replaced(join, _Match(made, asker, join)) for asker in askers if asker):
            check_form(select, dialect)
    return made


def _replaced(join: exp.Join, match: "_Match") -> bool:
    asked = match.asked
    if any(value and clause not in _CLAUSES for clause, value in asked.args.items()):
        return False
    if any(is_aggregate(node) for item in asked.selects for node in item.walk()):
        return match.substituted()
    item = match.nearest() if _is_asof(join) else match.first() if asked.args.get("limit") else match.all()
    if item is None or not match.is_valid(item):
        return False
    original = join.this.copy()
    if _is_asof(join) or asked.args.get("limit"):
        item.meta[MADE] = Once(f"{match.shown} finds one row", IN_FROM, varying(original, match.asker.dialect))
    if _is_asof(join):
        item.meta[ORIGINAL] = original
    on = join.args.get("on") if isinstance(original, exp.Lateral) else None
    join.set("on", sql.every([*match.on, *([on] if on else [])]))
    join.set("this", item)
    for word in ("method", "kind"):
        join.set(word, None)
    return True


class _Match:
    """One of these joins, and a relation that may be the one that it looks for matches of."""

    def __init__(self, select: exp.Select, asker: Asker, join: exp.Join) -> None:
        self.select, self.asker, self.join = select, asker, join
        self.shown = str(Fragment(join, asker.dialect))
        self.asked = _asked(join)
        alias = join.this.args.get("alias")
        self.alias: exp.Identifier = alias.this if alias else join.this.this
        self.names = [self._spelled(name) for name in alias.args.get("columns") or []] if alias else []
        self.on: list[exp.Expression] = []

    def _read(self) -> tuple[Question, Names] | None:
        return self.asker.question(bare(self.asked))

    def _outputs(self, names: Names) -> sql.Named | None:
        """None if one has no name, or is about the other relation."""
        found = [(value.copy(), name) for name, value in self._values()]
        is_plain = all(name and not e.is_star and names.are_of(e, inner=True) for e, name in found)
        return found if is_plain and not any(e.find(exp.Query, exp.Window) for e, _ in found) else None

    # -- rows ----------------------------------------------------------------------------------------------------------

    def nearest(self) -> exp.Subquery | None:
        """ASOF: the row nearest to the one end."""
        read = self._read()
        if not read or len(read[0].ends) != 1 or read[0].rows.args.get("where") or self.names:
            return None
        question, _ = read
        source = source_of(self.join.this, self.select, self.asker.fold)
        if not isinstance(source.expression, exp.Table):  # it would be made again for each such join
            return None
        columns = self.asker.describe(source.probe) or ()
        outputs: sql.Named = [(sql.named(column.name, source.alias), column.name) for column in columns]
        is_high = question.ends[0].kind == HIGH
        order = [exp.Ordered(this=question.point, desc=is_high, nulls_first=False)]
        return self._item(question, first_rows(question, self.asker, outputs, order), question.asking)

    def first(self) -> exp.Subquery | None:
        """The first row in an order."""
        read, order = self._read(), first_of(self.asked)
        outputs = self._outputs(read[1]) if read else None
        if not read or not order or not outputs or not can_order(*read, order):
            return None
        question, _ = read
        return self._item(question, first_rows(question, self.asker, outputs, order), question.asking)

    def all(self) -> exp.Subquery | None:
        """All rows, with the conditions outside."""
        read = self._read()
        outputs = self._outputs(read[1]) if read else None
        if not read or not outputs or self.asked.args.get("order"):
            return None
        question, _ = read
        more = [(question.point.copy(), "e")] if question.point else []
        rows = question.points([*more, *((e, f"y{i}") for i, (e, _) in enumerate(outputs))])
        names = [*question.key_names, *(name for _, name in more)]
        found = shown(
            sql.columns(names), [(sql.column(f"y{i}"), n) for i, (_, n) in enumerate(outputs)], sql.derived(rows, "r")
        )
        item = self._item(question, found, [outer for _, outer in question.keys])
        self.on += [end.met_by(self._own(f"{VALUE}_e")) for end in question.ends]
        return item

    def _item(self, question: Question, found: exp.Select, asking: Sequence[exp.Expression]) -> exp.Subquery:
        names = [*question.key_names, *question.end_names]
        pairs = zip(names, asking, strict=False)
        self.on = [sql.equal(self._own(f"{VALUE}_{name}"), value.copy()) for name, value in pairs]
        return exp.Subquery(this=found, alias=exp.TableAlias(this=self.alias.copy()))

    def is_valid(self, item: exp.Subquery) -> bool:
        """Spark, for one, makes no CTE once."""
        return self.asker.describe(source_of(item, self.select, self.asker.fold).probe) is not None

    def _own(self, name: str) -> exp.Column:
        return exp.Column(this=exp.to_identifier(name, quoted=True), table=self.alias.copy())

    # -- aggregates ----------------------------------------------------------------------------------------------------

    def substituted(self) -> bool:
        """A sub-query in place of each column."""
        on = self.join.args.get("on")
        names = {self.asker.fold(name, True): item for name, item in self._values()}
        has_star = any(item.is_star for item in self.select.selects)
        if has_star or "" in names or self.asked.args.get("limit") or (on and on != exp.true()):
            return False
        for column in [c for root in outer_expressions(self.select) for c in root.find_all(exp.Column)]:
            table, name = (self.asker.meaning(column.args.get(part)) for part in ("table", "this"))
            if name in names and table in ("", self.asker.meaning(self.alias)):
                value = exp.Subquery(this=_only(self.asked, names[name]))
                is_output = column.parent is self.select
                column.replace(exp.alias_(exp.Paren(this=value), column.name, quoted=True) if is_output else value)
        self.select.args["joins"].remove(self.join)
        return True

    def _values(self) -> Iterator[tuple[str, exp.Expression]]:
        for i, item in enumerate(self.asked.selects):
            named = item.args.get("alias") if isinstance(item, exp.Alias) else item.this
            own = self._spelled(named) if isinstance(named, exp.Identifier) else ""
            yield self.names[i] if i < len(self.names) else own, cast(exp.Expression, item.unalias())

    def _spelled(self, name: exp.Identifier) -> str:
        """As typed where the engine ignores case."""
        ignores = self.asker.fold(name.name, True) == self.asker.fold(name.name, False)
        return name.name if ignores else self.asker.meaning(name)


def _only(asked: exp.Select, value: exp.Expr) -> exp.Select:
    found = asked.copy()
    found.set("expressions", [value.copy()])
    return found


def _asked(join: exp.Join) -> exp.Select:
    if isinstance(join.this, exp.Lateral):
        found: exp.Select = join.this.this.this
        return found
    return exp.select("1").from_(join.this.copy()).where(join.args["on"].copy())
