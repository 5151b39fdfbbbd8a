"""`--holdout`: rows of the label's relation that the training does not see.

A row is held out iff the MD5 of a seed and of its values, as text, is below the fraction. Only the columns count that
the query uses: rows that are equal there are in the same part, and a column that is added later changes nothing.
`--split-by` names one column instead, which need not be in the query. Numbers and times have the same text for any
type, engine and session, except non-integers beyond 1e15. Other values are cast to text by the database.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Column
from sqlsvm.errors import OptionError, nearest
from sqlsvm.query.facts import Facts, Rule
from sqlsvm.query.ir import FeatureQuery
from sqlsvm.query.names import meant

Part = Literal["train", "holdout"]
PARTS: tuple[Part, ...] = get_args(Part)

DIGITS = 13
"""The hexadecimal digits of the MD5 that are compared: as many as a double has."""
WHOLE = 1e16
"""Smaller whole numbers are written without a point or an exponent."""


@dataclass(frozen=True)
class Holdout:
    fraction: float
    seed: int = 0
    by: str | None = None
    """The column of the label's relation that decides."""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "Holdout | None":
        """From the options of a training, or those stored with a model."""
        fraction = options.get("holdout")
        return cls(float(fraction), int(options["effort"]["seed"]), options.get("split_by")) if fraction else None


def marked(holdout: Holdout | None) -> Rule:
    """With the condition by which rows of the label's relation are held out."""

    def rule(query: FeatureQuery, facts: Facts) -> FeatureQuery:
        if holdout is None:
            return query
        alias = query.label_relation
        end = exp.Literal.string(threshold(holdout.fraction))
        without_maps = (c for c in deciding(query, holdout.by, facts) if not c.name.startswith(sql.WORKING))
        return replace(query, held_out=exp.LT(this=digest(without_maps, alias, holdout.seed), expression=end))

    return rule


def deciding(query: FeatureQuery, by: str | None, facts: Facts) -> tuple[Column, ...]:
    """The columns of the label's relation that say in which part a row is: all that the query uses, or the one that
    `--split-by` names."""
    alias = query.label_relation
    if by is None:
        return query.used_columns(alias)
    columns = {c.name: c for c in query.relation(alias).columns}
    own = meant(by, columns, facts.engine.fold)
    if own is None:
        hint = nearest(by, columns)
        raise OptionError(f"--split-by: {alias}, which has the label, has no column {by}", hint=hint)
    return (columns[own],)


def part_of(part: Part) -> Rule:
    """A marked query with one more conjunct in its WHERE."""

    def rule(query: FeatureQuery, facts: Facts) -> FeatureQuery:
        assert query.held_out is not None
        held = query.held_out.copy()
        return query.where(query.label_relation, held if part == "holdout" else exp.not_(exp.paren(held)))

    return rule


def digest(columns: Iterable[Column], alias: str, seed: int) -> exp.Expression:
    """MD5(seed || '|' || value || ...) COLLATE "C": hexadecimal digits compare as the numbers do."""
    text: exp.Expression = exp.Literal.string(str(seed))
    for column in columns:
        value = sql.coalesce(_written(column, alias), exp.Literal.string(""))
        text = exp.DPipe(this=exp.DPipe(this=text, expression=exp.Literal.string("|")), expression=value)
    return exp.Collate(this=exp.MD5(this=text), expression=exp.to_identifier("C", quoted=True))


def threshold(share: float) -> str:
    """So large a share of all digests comes before it."""
    return f"{int(share * 16**DIGITS):0{DIGITS}x}"


def _written(column: Column, alias: str) -> exp.Expression:
    own = sql.named(column.name, alias)
    if column.kind == "numeric":
        return _number_written(sql.double(own))
    type = column.type.lower()
    if type == "date" or (type.startswith("timestamp") and not type.endswith("]")):
        return _number_written(sql.double(exp.Extract(this=exp.var("EPOCH"), expression=own)))
    return sql.text(own)


def _number_written(value: exp.Expression) -> exp.Expression:
    """The same text for 3, 3.0 and 3.00: engines agree on that of integers, and of most other numbers."""
    is_small = exp.LT(this=exp.Abs(this=value.copy()), expression=sql.number(WHOLE))
    whole = sql.every([is_small, sql.equal(value, exp.Floor(this=value.copy()))])
    return sql.case(whole, sql.text(exp.cast(value.copy(), exp.DType.BIGINT)), sql.digits(value.copy()))
