"""Choices -> World. Structure first, data last: in that order a failure shrinks best."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from sqlglot import exp

from sqlsvm.engine.base import Kind
from sqlsvm.query import Equality, Feature, LeftJoin, Term
from tests.ground import columns
from tests.ground.choose import Chooser, chance, pick, weighted
from tests.ground.columns import Domain
from tests.ground.data import Row, draw_rows, trim
from tests.ground.names import Namer
from tests.ground.shapes import Limits, Node, Shape, draw_shape
from tests.ground.world import Form, Item, JoinStyle, Table, TableColumn, Typing, World


@dataclass(frozen=True)
class Options:
    acyclic: bool | None = None
    """None allows both; a cross product counts as acyclic."""
    min_relations: int = 1
    max_relations: int = 6
    features: bool = True
    label: bool = True
    many_to_many: bool | None = None
    """True demands such an edge, False forbids it."""
    left_joins: bool = True
    to_many: bool = False
    """LEFT JOINs may find several rows."""
    nulls: bool = True
    evil: bool = True
    """Names and texts with quotes, capitals, placeholders, comments and the like."""
    max_rows: int = 12
    """Per table; fewer where the join could exceed MAX_JOIN_ROWS."""
    continuous: bool = False
    """Real-valued features instead of a small grid, where scores tie and margins hit the hinge."""

    @property
    def limits(self) -> Limits:
        least = max(self.min_relations, 2 if self.many_to_many else 1)
        return Limits(
            self.acyclic, (least, max(least, self.max_relations)), self.many_to_many, self.left_joins, self.to_many
        )


@dataclass
class Draft:
    """A table in the making."""

    name: str
    columns: dict[str, Domain] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)
    unique: list[tuple[str, ...]] = field(default_factory=list)
    declared: list[tuple[str, ...]] = field(default_factory=list)
    label: str | None = None
    twins: bool = False
    """The first two rows have the simplest key, the same in every such table: many meet many."""

    @property
    def features(self) -> list[str]:
        return [c for c in self.columns if c not in self.keys and c != self.label]


@dataclass
class Member:
    """A relation in the making: its node of the shape, its table, and its expressions for each variable."""

    node: Node
    alias: str
    table: Draft
    key: dict[int, str] = field(default_factory=dict)
    terms: dict[int, list[exp.Expression]] = field(default_factory=dict)

    def column(self, name: str) -> exp.Column:
        return exp.column(name, table=self.alias, quoted=True)


def build_world(chooser: Chooser, options: Options) -> World:
    return _Builder(chooser, options, draw_shape(chooser, options.limits)).world()


KEY_QUIRKS = {"": 42, "own name": 24, "nullable": 12, "bigint": 6, "expression": 10, "twice": 6}
"""At most one for each key of a relation. Twice: two columns that the query makes equal."""
FORMS: dict[Form, int] = {"table": 6, "subquery": 1, "cte": 1, "view": 1}
FEATURE_WAYS = {"plain": 11, "renamed": 2, "derived": 5, "left out": 3}


class _Builder:
    def __init__(self, chooser: Chooser, options: Options, shape: Shape) -> None:
        self.chooser = chooser
        self.options = options
        self.shape = shape
        self.evil = options.evil and chance(chooser, 40)
        self.namer = Namer(chooser, self.evil)
        self.drafts: list[Draft] = []
        self.members: list[Member] = []
        self.output_names: set[str] = set()

    def world(self) -> World:
        self._draw_variables()
        for node in self.shape.nodes:
            self.members.append(self._member(node))
        label, not_null = self._label()
        items = {m.alias: self._item(m, label, not_null) for m in self.members}
        features = tuple(self._features(items))
        rows = {d.name: draw_rows(self.chooser, d, self.options.max_rows) for d in self.drafts}
        self._leave_out(label, features)
        trim(self.members, rows)
        return World(
            tables=tuple(self._table(d, rows[d.name]) for d in self.drafts if any(m.table is d for m in self.members)),
            items=tuple(items[m.alias] for m in self._in_from_order()),
            equalities=tuple(self._equalities()),
            left_joins=tuple(self._left_joins()),
            features=tuple(f for f in features if f.relation in {m.alias for m in self.members}),
            label=label,
            cyclic=self.shape.cyclic,
            label_first=not self._chance(30),
            typing=Typing(self._chance(15), self._chance(30), self._chance(50)),
            schema=self.namer.fresh("ground"),
        )

    def _leave_out(self, label: Feature | None, features: tuple[Feature, ...]) -> None:
        """Drop a few relations again. For hypothesis: a choice made this late shrinks without upsetting any other."""
        for member in self.members[:0:-1]:
            rest = [m for m in self.members if m is not member]
            needed = member.node.parent is None or any(m.node.parent is member.node for m in rest)
            needed |= label is not None and label.relation == member.alias
            needed |= self.options.features and not any(f.relation in {m.alias for m in rest} for f in features)
            needed |= member.table.twins or len(rest) < self.options.limits.relations[0]
            if not self._chance(92) and not needed:
                self.members = rest

    def _chance(self, percent: int) -> bool:
        return chance(self.chooser, percent)

    # Variables, tables and relations

    def _draw_variables(self) -> None:
        unique = {v for n in self.shape.nodes if n.unique for v in n.shared}
        self.domains = [columns.key_domain(self.chooser, self.evil, v in unique) for v in range(self.shape.variables)]
        self.variable_names = [self.namer.fresh("k") for _ in self.domains]
        self.habit = pick(self.chooser, ("on", "using", "using", "comma", "mixed"))

    def _member(self, node: Node) -> Member:
        table = self._draft(node)
        used = any(m.alias == table.name for m in self.members)
        member = Member(node, table.name if not used and self._chance(20) else self.namer.fresh("r"), table)
        for variable in node.variables:
            self._meet(member, variable)
        if node.unique and node.shared:
            self._make_unique(table, tuple(member.key[v] for v in node.shared))
        return member

    def _meet(self, member: Member, variable: int) -> None:
        """Give the relation its term for a join variable, perhaps two."""
        quirk = weighted(self.chooser, KEY_QUIRKS)
        member.key[variable] = self._key_column(member, variable, quirk)
        term: exp.Expression = member.column(member.key[variable])
        if quirk == "expression":
            term = columns.key_expression(
                self.chooser, member.column(member.key[variable]), self.domains[variable].type
            )
        member.terms[variable] = [term]
        if quirk == "twice" and not member.node.left:
            member.terms[variable].append(member.column(self._key_column(member, variable, "own name")))

    def _draft(self, node: Node) -> Draft:
        """A new table, or for a self-join one that is there already."""
        twins = bool(self.options.many_to_many) and len(self.members) < 2
        if self.drafts and not (self.options.many_to_many and node.unique) and self._chance(12):
            draft = pick(self.chooser, self.drafts)
            if not twins or not draft.unique:
                draft.twins |= twins
                return draft
        draft = Draft(self.namer.fresh("t"), twins=twins)
        self.drafts.append(draft)
        for _ in range(self.chooser.integer(0, 3) if self.options.features else 0):
            self._feature_column(draft)
        return draft

    def _feature_column(self, draft: Draft) -> str:
        domain = columns.feature_domain(self.chooser, self.evil, self.options.continuous)
        return self._add(draft, self.namer.fresh("x"), domain)

    def _key_column(self, member: Member, variable: int, quirk: str) -> str:
        """A fresh column, by the variable's own name if that is free; in a self-join perhaps an existing one."""
        domain, taken = self.domains[variable], {*member.key.values()}
        table = member.table
        for name in table.keys:
            if name not in taken and table.columns[name].type == domain.type and self._chance(60):
                return name
        name = self.variable_names[variable]
        if name in table.columns or quirk == "own name":
            name = self.namer.fresh("k")
        if domain.type == "int" and quirk == "bigint":
            domain = Domain("bigint", domain.values)
        table.keys.append(name)
        table.columns[name] = domain.with_null() if quirk == "nullable" and self.options.nulls else domain
        return name

    def _add(self, draft: Draft, name: str, domain: Domain) -> str:
        nullable = self.options.nulls and not draft.twins and self._chance(20)
        draft.columns[name] = domain.with_null() if nullable else domain
        return name

    def _make_unique(self, draft: Draft, names: tuple[str, ...]) -> None:
        draft.unique.append(names)
        if names not in draft.declared and self._chance(50):
            draft.declared.append(names)

    # Joins

    def _equalities(self) -> Iterator[Equality]:
        """For each variable a random spanning tree over its terms, now and then with an edge too many."""
        for variable in range(self.shape.variables):
            terms = self._inner_terms(variable)
            for index in range(1, len(terms)):
                yield self._equality(terms[index], terms[:index])
            if len(terms) > 2 and self._chance(10):
                yield self._equality(terms[-1], terms[:-1])

    def _inner_terms(self, variable: int) -> list[Term]:
        """First terms first: they are of different relations, so every later one finds a partner."""
        members = [m for m in self.members if variable in m.terms and not m.node.left]
        first = [Term(m.alias, m.terms[variable][0]) for m in members]
        more = [Term(m.alias, t) for m in members for t in m.terms[variable][1:]]
        return first + more if len(first) > 1 else []

    def _equality(self, term: Term, earlier: list[Term]) -> Equality:
        other = pick(self.chooser, [t for t in earlier if t.relation != term.relation])
        return Equality(other, term)

    def _left_joins(self) -> Iterator[LeftJoin]:
        for member in self.members:
            if member.node.left and member.node.parent is not None:
                parent = next(m for m in self.members if m.node is member.node.parent)
                pairs = tuple(
                    Equality(Term(parent.alias, parent.terms[v][0]), Term(member.alias, member.terms[v][0]))
                    for v in member.node.shared
                )
                yield LeftJoin(parent.alias, member.alias, pairs)

    def _in_from_order(self) -> list[Member]:
        """An optional relation comes after its parent."""
        inner = [m for m in self.members if not m.node.left]
        optional = [m for m in self.members if m.node.left]
        return inner[::-1] + optional if self._chance(15) else list(self.members)

    # Items of FROM

    def _item(self, member: Member, label: Feature | None, not_null: tuple[exp.Expression, ...]) -> Item:
        """Half of the items are nothing special, so that there is less to draw and to shrink."""
        needed = not_null if label is not None and label.relation == member.alias else ()
        item = Item(member.alias, member.table.name, join=self._join_style(), filters=needed)
        return self._special(member, item, label) if self._chance(50) else item

    def _special(self, member: Member, item: Item, label: Feature | None) -> Item:
        table, left = member.table, member.node.left
        form = weighted(self.chooser, FORMS)
        quiet = table.twins or not table.columns
        may_star = self.options.features and not left and not (label and label.relation == member.alias)
        return replace(
            item,
            form=form,
            form_name=self.namer.fresh("v") if form in ("view", "cte") else "",
            form_filter=self._form_filter(table) if form != "table" and not quiet and self._chance(40) else None,
            schema_typed=not self._chance(70),
            filters=item.filters if quiet or not self._chance(36) else (*item.filters, self._filter(member)),
            filters_in_on=self._chance(40),
            late_filters=(self._late_filter(member),) if left and self._chance(25) else (),
            star=may_star and self._chance(8) and self._reserve(table),
        )

    def _reserve(self, table: Draft) -> bool:
        """A star takes all the names at once, or it is not possible."""
        names = {n.casefold() for n in (self._row_id(table), *table.columns)}
        free = not names & self.output_names
        if free:
            self.output_names |= names
        return free

    def _join_style(self) -> JoinStyle:
        styles: tuple[JoinStyle, ...] = ("on", "using", "natural", "cross", "comma")
        wanted = {"on": styles[:1], "using": styles[1:3], "comma": styles[4:]}
        return pick(self.chooser, wanted.get(self.habit, styles))

    def _form_filter(self, table: Draft) -> exp.Expression:
        name = pick(self.chooser, list(table.columns))
        return columns.condition_on(self.chooser, exp.column(name, quoted=True), table.columns[name])

    def _filter(self, member: Member) -> exp.Expression:
        name = pick(self.chooser, list(member.table.columns))
        return columns.condition_on(self.chooser, member.column(name), member.table.columns[name])

    def _late_filter(self, member: Member) -> exp.Expression:
        name = pick(self.chooser, list(member.table.columns))
        return columns.late_condition_on(self.chooser, member.column(name), member.table.columns[name])

    # Outputs

    def _label(self) -> tuple[Feature | None, tuple[exp.Expression, ...]]:
        """The label, and the filters without which it could be NULL."""
        if not self.options.label:
            return None, ()
        member = pick(self.chooser, [m for m in self.members if not m.node.left])
        draft = member.table
        domain = columns.label_domain(self.chooser)
        draft.label = draft.label or self._add(draft, self.namer.fresh("y"), domain)
        column, stored = member.column(draft.label), draft.columns[draft.label]
        not_null = exp.Not(this=exp.Is(this=column.copy(), expression=exp.Null()))
        needed = (not_null,) if None in stored.values else ()
        if stored.type != "boolean" and self._chance(25):
            positive = exp.GT(this=column, expression=exp.Literal.number(0))
            return Feature(self._output_name(None, "late"), member.alias, positive, "boolean"), needed
        kind: Kind = "boolean" if stored.type == "boolean" else "numeric"
        return Feature(self._output_name(draft.label, "late"), member.alias, column, kind), needed

    def _features(self, items: dict[str, Item]) -> Iterator[Feature]:
        if not self.options.features:
            return
        count = 0
        for member in self.members:
            chosen = self._starred(member) if items[member.alias].star else self._chosen(member)
            for feature in chosen:
                count += 1
                yield feature
        if not count:
            member = self.members[0]
            yield self._feature(member, self._feature_column(member.table), "plain")

    def _chosen(self, member: Member) -> Iterator[Feature]:
        for name in member.table.features:
            way = weighted(self.chooser, FEATURE_WAYS)
            if way != "left out":
                yield self._feature(member, name, way)
        if member.table.keys and self._chance(12):
            yield self._feature(member, pick(self.chooser, member.table.keys), "plain")

    def _feature(self, member: Member, name: str, way: str) -> Feature:
        column, kind = member.column(name), member.table.columns[name].type
        derived = way == "derived"
        expression, says = (
            columns.derived_feature(self.chooser, column, kind) if derived else columns.plain_feature(column, kind)
        )
        wanted = name if way == "plain" else None
        return Feature(self._output_name(wanted, "f"), member.alias, expression, says)

    def _output_name(self, wanted: str | None, base: str) -> str:
        free = wanted is not None and wanted.casefold() not in self.output_names
        name = wanted if wanted is not None and free else self.namer.fresh(base)
        self.output_names.add(name.casefold())
        return name

    def _starred(self, member: Member) -> Iterator[Feature]:
        """What `alias.*` gives: every column, the row's identity too."""
        types = {self._row_id(member.table): "int"} | {n: d.type for n, d in member.table.columns.items()}
        for name, type in types.items():
            expression, kind = columns.plain_feature(member.column(name), type)
            yield Feature(name, member.alias, expression, kind)

    # Data

    def _table(self, draft: Draft, rows: list[Row]) -> Table:
        names = (self._row_id(draft), *draft.columns)
        types = ("int", *(d.type for d in draft.columns.values()))
        return Table(
            name=draft.name,
            columns=tuple(TableColumn(n, t) for n, t in zip(names, types, strict=True)),
            rows=tuple((i, *(row[n] for n in draft.columns)) for i, row in enumerate(rows, start=1)),
            unique=tuple(draft.declared),
        )

    def _row_id(self, draft: Draft) -> str:
        return f"id_{self.drafts.index(draft)}"
