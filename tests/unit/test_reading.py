"""What is read from files and from tables, after it was edited, cut off, or written by another version: each is a model
that can be used, or an error that names the place."""

import io
import json
import random
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sqlsvm.ask.rows import options_of
from sqlsvm.cli.resuming import state_of
from sqlsvm.cli.running import run
from sqlsvm.engine.base import Meaning
from sqlsvm.errors import OptionError, SqlsvmError
from sqlsvm.maps.mapped import Mapped
from sqlsvm.model.chosen import Chosen, Measured
from sqlsvm.model.model import FORMAT, FeatureScale, Held, Model, OfClass, OfGroup, Skipped, TrainedOn, Validated, _Pass
from sqlsvm.model.predict import score_sql
from sqlsvm.model.probability import Probability
from sqlsvm.model.support import Support, SupportTable
from sqlsvm.model.weights import Weight
from sqlsvm.query.rewrites.split import Holdout
from sqlsvm.reading import in_json, parsed
from sqlsvm.report.gather import Report
from sqlsvm.report.page import html
from sqlsvm.run.resume import Part, Past, Saved, sealed
from sqlsvm.show.models import draw_model, draw_weights, weights_as_json
from sqlsvm.solve.oracle import Cut
from sqlsvm.solve.solution import State
from sqlsvm.store import open_store
from sqlsvm.store.file import laid_out
from tests.faults.profile import number
from tests.ground.models import model
from tests.ground.trained import training

MODEL = model(
    version=1,
    options=training(holdout=0.25).kept,
    trained_on=TrainedOn("f1", {"f": 3.0}, {"month": "f"}, ("heavy",), (), held_out={"-1": 1.0, "1": 2.0}),
).as_json()


def saved() -> Saved:
    cuts = [Cut(np.array([0.5, -0.25]), 0.75, 1.0, 0.0, 16 * n or None, 0.0) for n in range(3)]
    state = State.of([np.array([float(n), 1.0]) for n in range(3)], cuts, [0.1, 0.2, 0.3], [1e-3] * 3)
    columns = (("", "intercept", None), ("carrier", "category", "UA"))
    part = Part(columns, (Past(np.array([0.5, 2.0]), 3, state),), "UA")
    maps = (Mapped("spline:d:1", ("d",), {"d_spline1": "$1"}),)
    return Saved({"query": "SELECT 1", "nulls": "mean"}, {"f": "d1"}, (part,), maps)


STATE = saved().as_json()


# -- one by one --------------------------------------------------------------------------------------------------------


def changed(path: str, value: object) -> dict[str, Any]:
    """The model with another value at a path like weights.0.weight."""
    found: dict[str, Any] = deepcopy(MODEL)
    *steps, last = path.split(".")
    inner: Any = found
    for step in steps:
        inner = inner[int(step) if isinstance(inner, list) else step]
    inner[int(last) if isinstance(inner, list) else last] = value
    return found


WRONG: dict[str, tuple[object, str]] = {
    "weights.3.weight": ("NaN", 'weights[3].weight: expected a finite number, found "NaN"'),
    "weights.3.scaled_weight": (1e999, "weights[3].scaled_weight: expected a finite number, found a number that is"),
    "weights.0.missing": ("Infinity", 'weights[0].missing: expected a finite number or null, found "Infinity"'),
    "weights.0.wieght": (1, "weights[0].wieght: unknown field\nHINT: did you mean weight?"),
    "weights.3.category": (["UA"], "weights[3].category: expected text, a number, true, false or null, found a list"),
    "weights.2.category": ({"other": True}, "weights[2].category: the weight of all others must be the last"),
    "weights.0.category": (
        {"other": False},
        "weights[0].category: expected text, a number, true, false or null, found an",
    ),
    "weights.4.category": (7, "weights[4].category: expected text as in weights[2], found 7"),
    "weights.4.feature": ("heavy", "weights[4].feature: the weights of heavy must stand together"),
    "weights.5": (None, "weights[5]: expected an object, found null"),
    "weights": ({}, "weights: expected a list, found an object"),
    "intercept": (float("nan"), "intercept: expected a finite number, found NaN"),
    "join_rows": (10**400, "join_rows: expected a finite number, found a number that is too large"),
    "gap": ("much", 'gap: expected a number or Infinity, found "much"'),
    "version": (-1, "version: expected a whole number of at least 0, found -1"),
    "bags": (True, "bags: expected a whole number, found true"),
    "converged": ("yes", 'converged: expected true or false, found "yes"'),
    "solver": ("adam", 'solver: expected one of dane, bundle, descent, kernel, pegasos, found "adam"'),
    "dialect": ("oracle", 'dialect: expected postgres, duckdb or spark, found "oracle"'),
    "label": ("\ud800", 'label: expected text, found "\\ud800"'),
    "label_rows.2": (1.0, 'label_rows["2"]: expected one of -1, 1, found "2"'),
    "history.1.gap": ([], "history[1].gap: expected a finite number, found a list of 0"),
    "history.0": ({"pass": 1}, "history[0].objective: is missing"),
    "options.problem": (5, "options.problem: expected an object, found 5"),
    "options.effort.seed": ("x", 'options.effort.seed: expected a whole number of at least 0, found "x"'),
    "trained_on.label_values": (["no"], "trained_on.label_values: expected a list of 2, found a list of 1"),
    "trained_on.booleans": ("heavy", 'trained_on.booleans: expected a list, found "heavy"'),
    "zoo": (["hinge"], "zoo: unknown field\nHINT: remove it. If a newer sqlsvm wrote it, upgrade this one"),
    "owner": ("postgres", "owner: unknown field\nHINT: remove it. If a newer sqlsvm wrote it, upgrade this one"),
    "losses": (["hinge"], "losses: unknown field\nHINT: did you mean classes? If a newer sqlsvm wrote it, upgrade"),
    "format": (99, f"made by a newer sqlsvm (format 99; this one reads up to {FORMAT})\nHINT: upgrade sqlsvm"),
}


@pytest.mark.parametrize("path", WRONG)
def test_the_error_names_the_field(path: str) -> None:
    value, said = WRONG[path]
    with pytest.raises(OptionError, match=f"^{re.escape(f'm.json: {said}')}"):
        Model.from_json(changed(path, value), "m.json")


MAP = {"map": "bins:d:1", "columns": ["d"], "formulas": {"distance": "$1"}}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"formulas": {"distance": "$2"}}, r"maps\[0\]: a formula reads \$2, and the last argument is \$1"),
        ({"formulas": {"distance": "$0"}}, r"maps\[0\]: a formula reads \$0"),
        (
            {"steps": [["$1", "$1"], ["$2", "$1", "$3"]]},
            r"maps\[0\]: a formula reads \$3, and the last argument is \$2",
        ),
        ({"formulas": {"d_bin1": "$1"}}, r"maps\[0\]\.formulas: the feature d_bin1 has no weight"),
    ],
)
def test_a_map_fits_the_model(change: dict[str, Any], said: str) -> None:
    assert Model.from_json({**MODEL, "maps": [MAP]}).maps
    with pytest.raises(OptionError, match=said):
        Model.from_json({**MODEL, "maps": [{**MAP, **change}]}, "m.json")


def test_a_newer_model_is_called_newer_and_not_wrong() -> None:
    """Also if the rest of its form is wrong."""
    with pytest.raises(OptionError, match="made by a newer sqlsvm"):
        Model.from_json({"format": 99, "model": "late", "weights": {"distance": 1}})


def test_an_older_model_lacks_what_came_later() -> None:
    first = ("history", "options", "trained_on", "version", "features", "format")
    later = (*first, "scaled_intercept", "scaling", "notes", "phases", "total_seconds")
    old = {name: value for name, value in MODEL.items() if name not in later}
    assert Model.from_json(old) == model(history=(), options={}, trained_on=TrainedOn())


# A new field is a new FORMAT: then an older sqlsvm says that a model is newer. List its fields here under that number.
_FORM_1 = {
    *("name", "engine", "query", "dialect", "label", "positive", "lam", "solver", "counting", "nulls", "bags"),
    *("join_rows", "label_rows", "passes", "seconds", "objective", "objective_upper", "lower_bound", "gap"),
    *("converged", "intercept", "weights", "history", "options", "trained_on", "version"),
    *("feature", "category", "weight", "scaled_weight", "missing"),
    *("fingerprint", "rows", "relations", "booleans", "padded", "caseless", "label_values", "database"),
    *("versions", "held_out", "pass_", "buckets"),
}
_FORM_2 = _FORM_1 | {"scaled_intercept", "scaling", "notes", "centre", "width"}
_FORM_4 = _FORM_2 | {"phases", "label_centre"}
_FORM_5 = _FORM_4 | {"constraints", "row", "slack"}
_FORM_6 = (
    _FORM_5
    | {"probability", "method", "slope", "offset", "scores", "shares"}
    | {"validation", "mean", "standard_error", "folds"}
)
_FORM_7 = _FORM_6 | {"maps", "map", "columns", "formulas", "steps", "kind", "replaces", "note"}
_FORM_8 = _FORM_7 | {"classes", "value"}
_FORM_9 = (
    _FORM_8
    | {"support", "kernel", "gamma", "sample", "whole", "coefficients", "tables"}
    | {"relation", "numeric", "categorical", "numbers", "codes"}
)
_FORM_10 = _FORM_9 | {"by", "groups", "skipped", "ungrouped", "why"}
_FORM_14 = _FORM_10 | {"times", "digests", "chosen"}
_FORM_14 |= {"options", "loss", "strength", "measure", "split", "rows", "tried", "mean", "error", "parts"}
_FORM_20 = _FORM_14 | {"label_width", "l1", "threshold", "share", "base", "origin", "of"}
_FORM_20 |= {"typed", "names", "zone", "schema", "name", "oids", "owner"}
FIELDS = {
    1: _FORM_1,
    2: _FORM_2,
    3: _FORM_2 | {"phases"},
    4: _FORM_4,
    5: _FORM_5,
    6: _FORM_6,
    7: _FORM_7,
    8: _FORM_8,
    9: _FORM_9,
    10: _FORM_10,
    11: _FORM_10,
    12: _FORM_10 | {"times"},
    13: _FORM_10 | {"times", "digests"},
    14: _FORM_14,
    15: _FORM_14,
    16: _FORM_14 | {"label_width"},
    17: _FORM_14 | {"label_width", "l1"},
    18: _FORM_14 | {"label_width", "l1", "threshold", "share"},
    19: _FORM_14
    | {"label_width", "l1", "threshold", "share", "typed", "names", "zone", "schema", "name", "oids", "owner"},
    20: _FORM_20,
    21: _FORM_20 | {"cut"},
    22: _FORM_20 | {"cut", "codes", "before"},
}
"""In form 3 a category may be that of all other values, too. In form 15 a group may have what its folds measured, in
form 17 classes."""


def test_each_form_has_its_fields() -> None:
    of_model = (Model, Weight, FeatureScale, Held, Mapped, OfClass, OfGroup, Skipped, Probability, Validated)
    of_choice = Chosen, Measured
    kinds = (*of_model, *of_choice, Meaning, Support, SupportTable, TrainedOn, _Pass)
    assert FIELDS[FORMAT] == {field.name for kind in kinds for field in in_json(kind)}


# -- states ------------------------------------------------------------------------------------------------------------


def test_a_state_there_and_back() -> None:
    found = Saved.from_json(json.loads(json.dumps(STATE)))
    assert found.as_json() == STATE


def test_cuts_that_were_lifted_prove_nothing() -> None:
    """By 1e-5, which every later bound would believe."""
    made = saved()
    (state,) = made.parts[0].states or []
    state.offsets[:] += 1e-5
    lifted = {**STATE, "parts": made.as_json()["parts"]}
    said = r"^x: digest: the state was changed after it was kept\nHINT: leave out --resume to train anew$"
    with pytest.raises(OptionError, match=said):
        Saved.from_json(lifted, "x")


def test_a_state_of_an_older_sqlsvm() -> None:
    old = {name: value for name, value in STATE.items() if name not in ("format", "digest")}
    with pytest.raises(OptionError, match=r"^x: kept by an older sqlsvm\nHINT: leave out --resume"):
        Saved.from_json(old, "x")
    with pytest.raises(OptionError, match=r"^x: made by a newer sqlsvm \(format 5; this one reads up to 4\)"):
        Saved.from_json({**STATE, "format": 5}, "x")


def test_a_state_that_was_edited_is_not_resumed(tmp_path: Path) -> None:
    store = open_store(tmp_path / "m.json")
    store.save_state("late", STATE)
    found = state_of(store, "late")
    assert found
    assert found.as_json() == STATE
    file = tmp_path / "m.json.state"
    file.write_text(file.read_text().replace('"passes": 3', '"passes": 4'))
    said = 'unfinished training of "late": digest: the state was changed after it was kept\nHINT: leave out --resume'
    with pytest.raises(OptionError, match=said):
        state_of(store, "late")


SHORT = {"shape": [1], "float64": "AAAAAAAA8D8="}
(PART,) = STATE["parts"]
(PAST,) = PART["pasts"]
UNFIT: dict[str, tuple[object, str]] = {
    "parts": (
        [{**PART, "pasts": [PAST, {**PAST, "theta": SHORT}]}],
        "parts[0].pasts[1].theta: expected the shape [2], found [1]",
    ),
    "parts ": (
        [PART, {**PART, "pasts": [{**PAST, "passes": 2}]}],
        "parts[1].pasts[0].state.points: expected the shape [2, 2], found [3, 2]",
    ),
    " parts ": (
        [{**PART, "columns": [["", "intercept"]]}],
        "parts[0].columns[0]: expected a list of 3, found a list of 2",
    ),
    "digests": ({"f": 1}, "digests.f: expected text, found 1"),
    "maps": (
        [{**STATE["maps"][0], "formulas": {"d_spline1": "pg_sleep(1)"}}],
        "maps[0].formulas.d_spline1: PG_SLEEP(1) is not allowed in a formula",
    ),
    " parts": (
        [{**PART, "pasts": [{**PAST, "state": {**PAST["state"], "lows": SHORT}}]}],
        "parts[0].pasts[0].state.lows: expected the shape [3], found [1]",
    ),
}


@pytest.mark.parametrize("name", UNFIT)
def test_the_parts_of_a_state_fit_together(name: str) -> None:
    """Also of one that was sealed again."""
    value, said = UNFIT[name]
    with pytest.raises(OptionError, match=f"^x: {re.escape(said)}\nHINT: leave out --resume"):
        Saved.from_json(sealed({**STATE, name.strip(): value}), "x")


@pytest.mark.parametrize(
    ("array", "said"),
    [
        ({"shape": [3], "float64": "AAAAAAAA8D8="}, r"the shape \[3\] does not fit 8 bytes"),
        ({"shape": [-1], "float64": ""}, r"the shape \[-1\] does not fit 0 bytes"),
        ({"shape": [1], "float64": "?"}, r"theta\.float64: expected base64"),
    ],
)
def test_an_array_has_the_bytes_of_its_shape(array: object, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        Saved.from_json(sealed({**STATE, "parts": [{**PART, "pasts": [{**PAST, "theta": array}]}]}))


# -- several hundred at random -----------------------------------------------------------------------------------------

VALUES: tuple[object, ...] = (
    *(None, True, False, 0, -1, 1.5, 10**30, 10**400, float("nan"), 1e999, "NaN", "Infinity", "", "x", "\ud800"),
    *([], {}, [[]], [None], {"a": 1}, "x" * 1000, 2**63),
)


def places(found: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    steps = found if isinstance(found, dict) else range(len(found)) if isinstance(found, list) else ()
    for step in steps:
        yield (*path, step)
        yield from places(found[step], (*path, step))


def mutated(rng: random.Random, whole: dict[str, Any]) -> str:
    """The text of an object, with one change."""
    found = deepcopy(whole)
    *steps, last = rng.choice(list(places(found)))
    inner: Any = found
    for step in steps:
        inner = inner[step]
    how = rng.choice(["value", "value", "value", "delete", "add", "twice", "cut", "noise"])
    if how == "delete":
        del inner[last]
    elif how == "add" and isinstance(inner, dict):
        inner[rng.choice(["losses", "", "wieght", 'a"b', "\n"])] = rng.choice(VALUES)
    elif how == "twice" and isinstance(inner, list):
        inner.insert(last, inner[last])
    else:
        inner[last] = rng.choice(VALUES)
    text = laid_out(found) if rng.random() < 0.5 else json.dumps(found)
    if how in ("cut", "noise"):
        place = rng.randrange(len(text))
        text = text[:place] + ("" if how == "cut" else rng.choice('[]{},:"0e-n\\') + text[place + 1 :])
    return text


def used(made: Model) -> None:
    """Everything that asks no database."""
    draw_model(made, io.StringIO())
    draw_weights(made, 3, io.StringIO())
    json.dumps([made.as_json(), weights_as_json(made, 3)], allow_nan=False)
    options_of(made)
    Holdout.of(made.options)
    html(Report(made), datetime.now(UTC))
    for of in ("features", "query"):
        try:
            text = score_sql(made, of=of)
        except SqlsvmError:
            assert of == "query"  # the query is no SQL any more
        else:
            assert not re.search("nane0|infe0", text)


def answered(read: Callable[[], Any]) -> str | None:
    """The message of the error, or None."""
    try:
        read()
    except SqlsvmError as error:
        return error.message if error.hint else f"{error.message}, without a hint"
    return None


WHOLE = "not JSON|not UTF-8|made by a newer|kept by an older|lists and objects are|the field|expected an object"
NAMED = rf"m\.json: ({WHOLE}|([\w.]|\[(\d+|\"(\\.|[^\"\\])*\")\])+: )"


@pytest.mark.parametrize("seed", range(number(100, 1)))
def test_a_changed_model_is_read_or_refused(seed: int) -> None:
    rng, refused = random.Random(seed), 0
    for _ in range(150):
        text = mutated(rng, MODEL)
        said = answered(lambda text=text: used(Model.from_json(parsed(text, "m.json"), "m.json")))  # type: ignore[misc]
        refused += said is not None
        assert said is None or re.match(NAMED, said), (said, text)
    assert 50 < refused < 150


@pytest.mark.parametrize("seed", range(number(50, 2)))
def test_a_changed_state_is_refused(seed: int) -> None:
    """Or it is the same, or it was sealed again and fits."""
    rng = random.Random(seed)
    for _ in range(100):
        text = mutated(rng, STATE)
        said = answered(lambda text=text: Saved.from_json(parsed(text, "m.json"), "m.json"))  # type: ignore[misc]
        assert re.match(NAMED, said) if said else json.loads(text) == STATE, (said, text)
        try:
            again = sealed(json.loads(text))
        except (ValueError, AttributeError):
            continue
        said = answered(lambda again=again: Saved.from_json(again, "m.json"))  # type: ignore[misc]
        assert said is None or re.match(NAMED, said), (said, text)


# -- through the command line ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(number(40, 3)))
def test_the_command_line_has_no_internal_error(tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int) -> None:
    file, rng = tmp_path / "m.json", random.Random(seed)
    for _ in range(5):
        file.write_text(mutated(rng, MODEL), encoding="utf-8", errors="surrogatepass")
        for command in (["models"], ["show"], ["weights"], ["predict", "--sql"]):
            code = run([*command, "--model-file", str(file)])
            said = capsys.readouterr()
            assert code in (0, 1)
            assert "internal error" not in said.err
            assert (said.err == "") == (code == 0)


@pytest.mark.slow
def test_a_name_that_is_there_twice_is_soon_found() -> None:
    """In an object of 200,000 names, where each was counted among all of them."""
    text = ", ".join(f'"k{i}": 0' for i in (*range(200_000), 199_999))
    with pytest.raises(OptionError, match=r'^here: the field "k199999" is there twice in one object'):
        parsed(f"{{{text}}}", "here")


def test_a_file_of_100_000_weights_is_soon_read(tmp_path: Path) -> None:
    many = tuple(Weight("c", f"v{n}", 0.5, 0.5) for n in range(100_000))
    store = open_store(tmp_path / "m.json")
    store.save(model(weights=many))
    assert store.load("late").weights == many
