"""The options of a training, each declared once.

This table makes the command line, $SQLSVM_<NAME>, the checks of the estimator's parameters, the defaults and checks of
the dataclasses that hold options, and the list of options that a resumed training must share. Tests compare it with
docs/options.md, the signature of the estimator and the check in psql. A new option is an entry here, a field, and the
code that reads the field.
"""

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, fields
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any, Literal, get_args

from sqlsvm.errors import OptionError
from sqlsvm.measures import DECIDING
from sqlsvm.words import SPELLED, flag

ClassLoss = Literal["hinge", "squared_hinge", "smooth_hinge", "modified_huber", "logistic", "custom_margin"]
NumberLoss = Literal[
    "epsilon_insensitive", "squared_epsilon_insensitive", "quantile", "absolute", "huber", "squared", "custom"
]
LossName = Literal[ClassLoss, NumberLoss]
NUMBER_LOSSES: tuple[NumberLoss, ...] = get_args(NumberLoss)
"""Those whose label is a number; the others have two classes."""
Solver = Literal["dane", "bundle", "descent", "kernel", "pegasos"]
KernelName = Literal["rbf", "poly", "linear", "sigmoid", "additive"]
CacheKind = Literal["local", "global", "two-level"]
CacheShare = Literal["evenly", "size", "lru"]
MACHINES: tuple[Solver, ...] = "kernel", "pegasos"  # the solvers that learn from a sample of the join rows
Counting = Literal["auto", "exact", "grid", "sketch"]
Scale = Literal["standard", "maxabs", "none"]
Nulls = Literal["mean", "mean+indicator", "drop", "error"]
INDICATOR = "mean+indicator"
MEANS = ("mean", INDICATOR)  # with these a number that is NULL is replaced, and rows whose label is NULL are left out
ClassWeights = Literal["none", "balanced"] | tuple[float, float]
Intercept = bool | Literal["free"]
Steps = Literal["strong", "paper"]
ProbabilityMethod = Literal["sigmoid", "isotonic"]
LossPiece = tuple[float, float] | tuple[float | None, float, float]
"""max(0, u z + v); or with w = max(0, s z + t), w^2 / 2 up to w = tau and tau (w - tau / 2) beyond."""


# -- what a value can be: the text of each follows "must be" in a message ----------------------------------------------


@dataclass(frozen=True)
class Number:
    """From `low` to `high`. `above` and `below` leave out the ends."""

    low: float
    high: float = inf
    above: bool = False
    below: bool = False
    whole: bool = False

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, Integral if self.whole else Real) or isinstance(value, bool):
            return False
        try:
            number = float(value)
        except OverflowError:  # a whole number of 400 digits
            return False
        end = (self.above and number == self.low) or (self.below and number == self.high)
        return isfinite(number) and self.low <= number <= self.high and not end

    def __str__(self) -> str:
        kind = f"a {'whole ' * self.whole}number"
        if self.above and self.below:
            return f"{kind} between {self.low} and {self.high}"
        low = f"{kind} {'above' if self.above else 'of at least'} {self.low}"
        return low if self.high == inf else f"{low} and at most {self.high}"


@dataclass(frozen=True)
class Share(Number):
    """Or the time of the first row that is kept out."""

    def __contains__(self, value: object) -> bool:
        return self.is_start(value) if isinstance(value, str) else super().__contains__(value)

    def __str__(self) -> str:
        return f"{super().__str__()}; with a time also a date"

    @staticmethod
    def is_start(value: object) -> bool:
        """A date, or the number of a column that is one."""
        return isinstance(value, str) and _START.fullmatch(value) is not None


@dataclass(frozen=True)
class Strength(Number):
    """Or the word auto: it is chosen."""

    def __contains__(self, value: object) -> bool:
        return super().__contains__(value) or value == AUTO

    def __str__(self) -> str:
        return f"{super().__str__()}, or auto"


AUTO = "auto"
FROM_LOSSES: tuple[ClassLoss, ...] = "logistic", "squared_hinge", "hinge"
"""What --loss auto chooses from. The first is kept unless another one is better."""
OF_NUMBERS: NumberLoss = "squared"  # that of a label that is a number, where none is named
LAMBDA = "lam"
STRENGTHS = LAMBDA, "l1"
CHOSEN = *STRENGTHS, "loss"  # the options that auto chooses by rows that a training has not seen
_START = re.compile(r"\d{4}-\d\d-\d\d.*|[-+]?\d*[1-9]\d*(\.\d+)?|0")


_UNITS = {
    "second": 1,
    "minute": 60,
    "hour": 3600,
    "day": 86_400,
    "week": 604_800,
    "month": 2_592_000,
    "year": 31_536_000,
}


class Span:
    """A length of time: 30 days; or a number, of days or in the unit of a column of numbers."""

    def __contains__(self, value: object) -> bool:
        return value in Number(0) or (isinstance(value, str) and _SPAN.fullmatch(value.strip()) is not None)

    def __str__(self) -> str:
        return "a span such as '30 days', or a number of at least 0"

    @staticmethod
    def read(value: float | str) -> tuple[float, int | None]:
        """The number, and the seconds of its unit, if it has one."""
        found = _SPAN.fullmatch(str(value).strip())
        assert found
        return float(found[1]), _UNITS[found[2]] if found[2] else None


_SPAN = re.compile(rf"(\d+\.?\d*)(?: ?({'|'.join(_UNITS)})s?)?")


@dataclass(frozen=True)
class Choice:
    words: tuple[str, ...]
    also: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Other names of some words, on the command line and in the estimators."""

    def __contains__(self, value: object) -> bool:
        return isinstance(value, str) and value in self.words

    def __str__(self) -> str:
        return f"{', '.join(self.words[:-1])} or {self.words[-1]}"


@dataclass(frozen=True)
class ClassWeight:
    """A word, or the weights of the two classes."""

    words: tuple[str, ...]

    def __contains__(self, value: object) -> bool:
        pair = isinstance(value, tuple) and len(value) == 2 and all(w in Number(0, above=True) for w in value)
        return pair or value in self.words

    def __str__(self) -> str:
        return f"{', '.join(self.words)} or two numbers above 0"


@dataclass(frozen=True)
class Name:
    """`of` says what it names; if it can be `repeated` it is a tuple of texts."""

    of: str
    repeated: bool = False

    def __contains__(self, value: object) -> bool:
        return isinstance(value, tuple if self.repeated else str)

    def __str__(self) -> str:
        return f"a list of {self.of} names" if self.repeated else f"the name of a {self.of}"


@dataclass(frozen=True)
class Texts:
    """A list of texts of one form. What columns there are is not known here."""

    of: str
    form: re.Pattern[str]
    each: str  # what one of them is, after "is not" in a message; and
    metavar: str  # its name on the command line

    def __contains__(self, value: object) -> bool:
        return isinstance(value, tuple) and all(isinstance(text, str) and self.form.fullmatch(text) for text in value)

    def __str__(self) -> str:
        return f"a list of {self.of}, each {self.each}"


_LIMIT = re.compile(r".+:[1-9][0-9]{0,8}", re.DOTALL)
LIMITS = Texts("limits", _LIMIT, "a column with a number above 0, such as city:50", "COLUMN:NUMBER")
_FORMS = "nonnegative, increasing:COLUMN, decreasing:COLUMN, box:COLUMN:LOW:HIGH, fair:COLUMN:RHO or custom:FILE"
_NUMBER = r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?"
_CONSTRAINT = re.compile(
    rf"nonnegative|(increasing|decreasing):.+|box:.+:({_NUMBER})?:({_NUMBER})?|fair:.+:{_NUMBER}|custom:.+", re.DOTALL
)
CONSTRAINTS = Texts("constraints", _CONSTRAINT, f"of the form {_FORMS}", "CONSTRAINT")
MAP_FORMS = {
    "spline": "spline:COLUMN[:KNOTS[:DEGREE[:constant|linear]]]",
    "bins": "bins:COLUMN:K",
    "poly2": "poly2:TABLE",
    "fourier": "fourier:TABLE:D[:GAMMA]",
    "nystroem": "nystroem:TABLE:D[:GAMMA]",
    "hash": "hash:COLUMN:K",
    "date": "date:COLUMN",
    "pca": "pca:K",
    "net": "net:TABLE[:D]",
    "trees": "trees[:NUMBER[:LEAVES]]",
}
_MAP = re.compile(rf"auto|trees|({'|'.join(MAP_FORMS)}):.+", re.DOTALL)
MAPS = Texts("maps", _MAP, f"of the form {', '.join(MAP_FORMS.values())} or auto", "MAP")


class Pieces:
    """Tuples (u, v) and (tau, s, t), where tau may be None."""

    def __contains__(self, value: object) -> bool:
        return isinstance(value, tuple) and all(map(self._is_piece, value))

    def _is_piece(self, piece: object) -> bool:
        if not isinstance(piece, tuple) or len(piece) not in (2, 3):
            return False
        *tau, slope, constant = piece
        ended = all(end is None or end in Number(0, above=True) for end in tau)
        return ended and slope in Number(-inf) and constant in Number(-inf)

    def __str__(self) -> str:
        return "a list of pieces, each [u, v] or [tau, s, t], with a tau above 0 or null"


@dataclass(frozen=True)
class Truth:
    """True, False, or a word that says more."""

    words: tuple[str, ...] = ()

    def __contains__(self, value: object) -> bool:
        return isinstance(value, bool) or (isinstance(value, str) and value in self.words)

    def __str__(self) -> str:
        named = ["True", "False", *map(repr, self.words)]
        return f"{', '.join(named[:-1])} or {named[-1]}"


# -- the table ---------------------------------------------------------------------------------------------------------


_TRAIN = ("train", "compile")
_COUNT = (*_TRAIN, "explain", "count")
_QUERY = (*_COUNT, "inspect", "describe")
_COLUMNS = (*_QUERY, "components")
_LOOKING = ("train", "evaluate", "report", "inspect", "describe", "components", "explain", "count")


@dataclass(frozen=True)
class Option:
    """`name` is that of Python, and `spelled` that of the command line and of psql, where it is another."""

    name: str
    default: Any
    domain: Container[Any]
    help: str
    verbs: tuple[str, ...] = _TRAIN
    changes: Literal["objective", "steps"] | None = "objective"
    """What cannot be resumed under another value: any training, or only one by descent."""
    example: Any = None  # of a value, where the default is none
    several: Literal["list", "list or range"] | None = None  # how `train` takes several values, for a model each
    auto: bool = False  # None is called auto on the command line and in the estimator
    descent: Any = None  # another default, for --solver descent on the command line
    read_by: tuple[str, tuple[str, ...]] | None = None
    """The only option with values that make this one count, and these values."""
    unnamed: str | None = None  # what takes the place of the default where a person trains a model and names no value
    of_session: bool = False
    """Does it say where the session has its working tables? `Engine.place` takes it, and no training knows it."""

    @property
    def said(self) -> str:
        return SPELLED.get(self.name, self.name)

    @property
    def flag(self) -> str:
        return flag(self.name)

    @property
    def flags(self) -> str:
        """With that for no, where neither means something else."""
        return f"{self.flag}/--no-{self.flag[2:]}" if self.auto and isinstance(self.domain, Truth) else self.flag

    @property
    def must(self) -> str:
        values = str(self.domain)
        return f"must be {('auto, ' if ' or ' in values else 'auto or ') * self.auto}{values}"

    def allows(self, value: object) -> bool:
        return value in self.domain or (value is None and (self.default is None or self.unnamed is not None))


REHLINE = {
    "svm": "hinge",
    "sSVM": "smooth_hinge",
    "QR": "quantile",
    "check": "quantile",
    "SVR": "epsilon_insensitive",
    "MAE": "absolute",
    "MSE": "squared",
}
"""The names that losses have in ReHLine."""

_TABLE = (
    Option("label", None, Name("column"), "The column of the query to predict.", _COLUMNS),
    Option("weight", None, Name("column"), "The column of the query that says how much a row counts.", _COLUMNS),
    Option(
        "positive",
        None,
        Name("value"),
        "The positive class. By default true, 1 or a value that means yes, or else the last of the two values.",
        _QUERY,
    ),
    Option(
        "classes",
        False,
        Truth(),
        "Make a class of each value of a label that is a number. Otherwise more than two numbers are predicted as a "
        "number, with the squared loss, unless ⟦loss⟧, ⟦positive⟧, ⟦class_weight⟧, ⟦probability⟧ or ⟦measure⟧ is for "
        "classes.",
    ),
    Option("categorical", (), Name("column", repeated=True), "Take its numbers as categories. Repeatable.", _COLUMNS),
    Option(
        "top",
        (),
        LIMITS,
        "Give a weight of its own to each of the NUMBER most frequent categories of this column. All others share one. "
        "Repeatable.",
        _COUNT,
    ),
    Option(
        "rare",
        0,
        Number(0, whole=True),
        "In each column, all categories with fewer join rows than this share one weight. It costs three statements for "
        "each column. With 0 each category has a weight of its own.",
        _COUNT,
    ),
    Option(
        "map",
        (),
        MAPS,
        f"Turn columns into other columns: {', '.join(MAP_FORMS.values())}, or auto, a spline for every number and, "
        "where lambda is chosen and they help, trees. Repeatable.",
        (*_TRAIN, "explain"),
    ),
    Option(
        "nulls",
        "mean",
        Choice(get_args(Nulls)),
        "How to treat NULLs. mean: put the column's mean there, and leave out rows whose label is NULL. "
        "mean+indicator: also add a feature COLUMN_known, 1 for a number and 0 for a NULL. drop: leave out every row "
        "with a NULL. error: stop. If nulls is not named, a training that chooses lambda or the loss adds COLUMN_known "
        "where it helps on rows not seen.",
        (*_COUNT, "components"),
        unnamed="mean",
    ),
    Option(
        "scale",
        "standard",
        Choice(get_args(Scale)),
        "How to scale numbers. standard: to mean 0 and deviation 1. maxabs: to a largest size of 1. none: not at all.",
        (*_TRAIN, "components"),
        descent="maxabs",
    ),
    Option(
        "intercept",
        True,
        Truth(("free",)),
        "The constant term of the score. yes: one with a penalty. free: one without a penalty. no: none. "
        "By default free if lambda or l1 is auto, and otherwise yes.",
        unnamed="free",
    ),
    Option(
        "class_weight",
        "none",
        ClassWeight(("none", "balanced")),
        "How much a row of each class counts. balanced: both classes have equal weight in total.",
    ),
    Option(
        "loss",
        "hinge",
        Choice((*get_args(LossName), AUTO), REHLINE),
        "The loss of a row. For classes: hinge (the SVM), squared_hinge, smooth_hinge, modified_huber, logistic, "
        "custom_margin. For a number: squared, absolute, huber, quantile, epsilon_insensitive, "
        "squared_epsilon_insensitive, custom. auto, the default for classes if lambda is auto too: logistic, or "
        "squared_hinge or hinge if cross-validation finds it better by more than one standard error. Over several bags "
        "that are not in memory auto begins with squared_hinge, and leaves out logistic.",
        (*_TRAIN, "explain"),
        unnamed=AUTO,
    ),
    Option(
        "width",
        0.5,
        Number(0, above=True),
        "How far around its edge smooth_hinge is rounded.",
        (*_TRAIN, "explain"),
        read_by=("loss", ("smooth_hinge",)),
    ),
    Option(
        "tube",
        0.1,
        Number(0),
        "The largest error without a cost, in the label's unit, for the epsilon-insensitive losses.",
        (*_TRAIN, "explain"),
        read_by=("loss", ("epsilon_insensitive", "squared_epsilon_insensitive")),
    ),
    Option(
        "quantile",
        0.5,
        Number(0, 1, above=True, below=True),
        "The quantile to predict: the share of rows with a label below their score.",
        (*_TRAIN, "explain"),
        several="list",
        read_by=("loss", ("quantile",)),
    ),
    Option(
        "delta",
        1.0,
        Number(0, above=True),
        "The largest error that huber squares, in the label's unit. Beyond, it is linear.",
        (*_TRAIN, "explain"),
        read_by=("loss", ("huber",)),
    ),
    Option(
        "pieces",
        (),
        Pieces(),
        "A loss of your own, as a JSON list of pieces. [u, v] adds max(0, u z + v). [tau, s, t] adds w^2 / 2 up to "
        "w = tau and tau (w - tau / 2) beyond, with w = max(0, s z + t). tau may be null.",
        (*_TRAIN, "explain"),
        read_by=("loss", ("custom", "custom_margin")),
    ),
    Option(
        "counting",
        "auto",
        Choice(get_args(Counting)),
        "How to count join rows. exact. grid: with rounded scores. sketch: within a factor.",
        _COUNT,
        changes="steps",
    ),
    Option(
        "lam",
        1e-4,
        Strength(0, above=True),
        "The weight of the penalty. auto picks it from 10 to 1e-5, by cross-validation on a sample: it takes the "
        "strongest one that is at most one standard error worse than the best (for a number, at most a thousandth). "
        "With ⟦by⟧ each group picks its own. The default is auto, but 1e-4 with ⟦by⟧, ⟦l1⟧, ⟦constrain⟧, ⟦map net⟧, "
        "kernels, pegasos, descent, several values of an option, or Spark without ⟦offload⟧.",
        (*_TRAIN, "explain"),
        changes="steps",
        unnamed=AUTO,
        several="list or range",
    ),
    Option(
        "l1",
        0.0,
        Strength(0),
        "Add this times the sum of |scaled weight| to the penalty, so that weights that help little become exactly 0. "
        "auto picks it as ⟦lam auto⟧ does.",
        ("train", "explain"),
        changes=None,
        several="list or range",
    ),
    Option(
        "measure",
        None,
        Choice(DECIDING),
        "The measure by which auto picks ⟦lam⟧, ⟦l1⟧ or ⟦loss⟧. By default auc for two classes, accuracy for more, "
        "and the loss for a number.",
        ("train",),
        changes=None,
        example="accuracy",
    ),
    Option(
        "constrain",
        (),
        CONSTRAINTS,
        f"A constraint on weights: {_FORMS}. fair limits the covariance of the column and the score over the join to "
        "RHO. Repeatable.",
        ("train", "explain"),
        changes=None,
    ),
    Option("tol", 1e-3, Number(0), "Stop when the proof shows a gap of at most this.", (*_TRAIN, "explain"), None),
    Option(
        "solver",
        "dane",
        Choice(get_args(Solver)),
        "How to search. dane: with the curvature of a sample. bundle: by cuts alone. descent: as in the paper. kernel: "
        "a kernel machine on a sample of the join. pegasos: steps from one sampled row to the next.",
        changes=None,
    ),
    Option(
        "kernel",
        None,
        Choice(get_args(KernelName)),
        "The kernel of two join rows. rbf: exp(-gamma |x - x'|^2). poly: (gamma x.x' + 1)^3. linear: x.x'. sigmoid: "
        "tanh(gamma x.x'). additive: the sum of an rbf for each table. By default rbf for kernel, and for pegasos a "
        "linear model.",
        ("train",),
        changes=None,
        example="rbf",
        read_by=("solver", MACHINES),
    ),
    Option(
        "gamma",
        None,
        Number(0, above=True),
        "The gamma of the kernel. auto: 1 / the median squared distance of join rows, or for poly and sigmoid 1 / the "
        "mean of x.x.",
        ("train",),
        changes=None,
        example=0.1,
        auto=True,
        read_by=("solver", MACHINES),
    ),
    Option(
        "cache",
        "two-level",
        Choice(get_args(CacheKind)),
        "Which rows of the kernel stay in memory. local: of each table. global: of the join. two-level: both.",
        ("train",),
        changes=None,
        read_by=("solver", ("kernel",)),
    ),
    Option(
        "cache_mb",
        200.0,
        Number(0, above=True),
        "How many megabytes of memory these rows may take.",
        ("train",),
        changes=None,
        read_by=("solver", ("kernel",)),
    ),
    Option(
        "cache_share",
        "lru",
        Choice(get_args(CacheShare)),
        "How tables share the memory of ⟦cache local⟧. evenly. size: by their size. lru: the rows used last stay.",
        ("train",),
        changes=None,
        read_by=("cache", ("local",)),
    ),
    Option(
        "epsilon",
        0.1,
        Number(0, 1, above=True),
        "The largest relative error of a count of descent.",
        changes="steps",
        read_by=("solver", ("descent",)),
    ),
    Option("max_passes", 100, Number(1, whole=True), "Stop after so many passes, even without a proof.", changes=None),
    Option(
        "sample",
        None,
        Number(1, whole=True),
        "The number of sampled join rows: dane takes the curvature from them, and kernel and pegasos train on them.",
        changes=None,
        read_by=("solver", ("dane", *MACHINES)),
        example=10000,
        auto=True,
    ),
    Option(
        "in_memory",
        None,
        Number(0, whole=True),
        "Read a join with at most this many rows once, then train and prove in memory. 0: never. auto: 110,000, or "
        "twice as many rows as the sample would have (six times for few columns).",
        changes=None,
        read_by=("solver", ("dane",)),
        example=0,
        auto=True,
    ),
    Option(
        "holdout",
        None,
        Share(0, 1, above=True, below=True),
        "Keep this share of the rows of the label's table out of the training. `evaluate` then measures both parts. "
        "With ⟦time⟧, keep out the latest rows, or the rows from a date on.",
        example=0.2,
    ),
    Option(
        "folds",
        None,
        Number(2, 100, whole=True),
        "Also cross-validate: part the rows of the label's table, train without each part, and measure on it. With "
        "⟦time⟧, train on all earlier parts instead.",
        ("train",),
        changes=None,
        example=5,
    ),
    Option(
        "by",
        None,
        Name("column"),
        "Train one model for each value of this column of the label's table, on the rows with that value.",
        ("train",),
    ),
    Option(
        "split_by",
        None,
        Name("column"),
        "A column of the label's table. ⟦holdout⟧, ⟦folds⟧ and auto keep rows with equal values in one part.",
    ),
    Option(
        "time",
        None,
        Name("column"),
        "The time of a row: an output or a column of the label's table, of dates, timestamps or numbers. ⟦holdout⟧, "
        "⟦folds⟧ and auto then train on earlier rows and measure on later ones. An output is then no feature.",
    ),
    Option(
        "as_of",
        None,
        Name("column"),
        "The time of a row: an output or a column of the label's table. Refuse the query if a feature comes from a row "
        "of this time or later. Counts over the join compare it with each date that the query reads.",
        ("train", "inspect"),
        changes=None,
    ),
    Option(
        "gap",
        None,
        Span(),
        "With ⟦time⟧, leave this span out between training and measuring, because labels are known late.",
        example="'30 days'",
    ),
    Option(
        "probability",
        None,
        Choice(get_args(ProbabilityMethod)),
        "Fit the probability of each class to the scores of unseen rows, of ⟦holdout⟧ or ⟦folds⟧. sigmoid: Platt's "
        "curve. isotonic: steps that rise.",
        ("train",),
        changes=None,
        example="sigmoid",
    ),
    Option(
        "seed",
        0,
        Number(0, whole=True),
        "The seed for the sample, for the rows that are held out, and for folds.",
        changes=None,
    ),
    Option(
        "offload",
        None,
        Truth(),
        "Copy the columns that the query uses into a DuckDB of this process, and work there. The default is yes only "
        "for Spark, if these columns have at most 20 million values.",
        ("train", "evaluate", "report", "describe", "components"),
        changes=None,
        auto=True,
    ),
    Option(
        "work_schema",
        None,
        Name("schema"),
        "Make unlogged working tables in this schema, because PostgreSQL reads them in parallel.",
        ("train",),
        changes=None,
        of_session=True,
    ),
    Option(
        "no_temp",
        False,
        Truth(),
        "Make no working tables in PostgreSQL, so that a pass is one statement. For a standby, or without the right "
        "TEMPORARY.",
        _LOOKING,
        changes=None,
        of_session=True,
    ),
    Option(
        "work_folder",
        None,
        Name("folder"),
        "Make working tables in this folder. All executors of Spark must reach it.",
        _LOOKING,
        changes=None,
        of_session=True,
    ),
    Option(
        "make_at_most",
        50_000_000,
        Number(1, whole=True),
        "Refuse a query if sqlsvm has to make more rows than this for a part that is no plain join.",
        _LOOKING,
        changes=None,
        of_session=True,
    ),
    Option(
        "buckets",
        None,
        Number(1, 1 << 16, whole=True),
        "Buckets of the grid per unit of the score.",
        (),
        None,
        example=16,
    ),
    Option(
        "step",
        "strong",
        Choice(get_args(Steps)),
        "The steps of descent.",
        (),
        "steps",
        read_by=("solver", ("descent",)),
    ),
)
OPTIONS: Mapping[str, Option] = {option.name: option for option in _TABLE}  # by name, in the order of the command line
UNNAMED = tuple(name for name, option in OPTIONS.items() if option.unnamed)
OF_SESSION = tuple(name for name, option in OPTIONS.items() if option.of_session)
DEFAULTS: Mapping[str, Any] = {name: option.default for name, option in OPTIONS.items()}
"""For the fields of these names."""


def check(held: Any) -> None:
    """Refuse a dataclass with a field that the option of that name does not allow."""
    for each in fields(held):
        option, value = OPTIONS.get(each.name), getattr(held, each.name)
        if option and not option.allows(value):
            example = option.example or option.default
            hint = f"try ⟦{option.name} {example}⟧" if isinstance(option.domain, Number) else None
            raise OptionError(f"{option.said} {option.must}, not {value!r}", hint=hint)
