"""Equalities -> variables, and the filters that they imply."""

from sqlsvm.query import FeatureQuery
from sqlsvm.query.ir import join_variables
from sqlsvm.query.rewrites.kinds import implied_filters
from tests.unit.queries import NoKeys, read

TABLES = {t: ["a", "b", "k"] for t in ("r", "s", "t", "u")}


def query(text: str) -> FeatureQuery:
    return read(text, tables=TABLES)


def variables(text: str) -> list[str]:
    """Each variable as its terms, in the order of the query."""
    return [" ".join(sql(t.expression.sql("postgres")) for t in v.terms) for v in join_variables(query(text))]


def sql(text: str) -> str:
    return text.replace('"', "")


def filters(text: str) -> dict[str, list[str]]:
    relations = implied_filters(query(text), NoKeys()).relations
    return {r.alias: [sql(f.sql("postgres")) for f in r.filters] for r in relations}


def test_no_join_has_no_variable() -> None:
    assert variables("SELECT a FROM r") == []
    assert variables("SELECT r.a FROM r CROSS JOIN s") == []


def test_equality_is_transitive() -> None:
    assert variables("SELECT r.a FROM r JOIN s ON r.k = s.k JOIN t ON s.k = t.k") == ["r.k s.k t.k"]


def test_two_classes_that_meet_late_are_one() -> None:
    text = "SELECT r.a FROM r, s, t, u WHERE r.k = s.k AND t.k = u.k AND s.k = t.k"
    assert variables(text) == ["r.k s.k t.k u.k"]


def test_said_twice_or_turned_round_is_said_once() -> None:
    assert variables("SELECT r.a FROM r JOIN s ON r.k = s.k AND s.k = r.k AND r.k = s.k") == ["r.k s.k"]


def test_expressions_are_values_too() -> None:
    assert variables("SELECT r.a FROM r JOIN s ON r.k + 1 = s.k AND LOWER(r.b) = s.b") == [
        "r.k + 1 s.k",
        "LOWER(r.b) s.b",
    ]


def test_a_self_join_has_a_term_for_each_alias() -> None:
    assert variables("SELECT x.a FROM r AS x JOIN r AS y ON x.k = y.k") == ["x.k y.k"]


def test_a_left_join_has_a_variable_of_its_own() -> None:
    text = "SELECT r.a FROM r JOIN s ON r.k = s.k LEFT JOIN t ON t.k = r.k AND t.a = r.a"
    found = join_variables(query(text))
    assert [v.index for v in found] == [0, 1]
    assert [v.is_found for v in found] == [False, True]
    assert found[1].holders == {"r", "t"}


def test_one_spelling_implies_nothing() -> None:
    assert filters("SELECT r.a FROM r JOIN s ON r.k = s.k") == {"r": [], "s": []}


def test_two_spellings_must_agree() -> None:
    assert filters("SELECT r.a FROM r JOIN s ON r.k = s.k AND r.b = s.k") == {"r": ["r.k = r.b"], "s": []}


def test_spellings_agree_across_other_relations() -> None:
    text = "SELECT r.a FROM r, s, t WHERE r.k = s.k AND s.k = t.k AND t.k = r.b"
    assert filters(text) == {"r": ["r.k = r.b"], "s": [], "t": []}


def test_three_spellings_all_equal_the_first() -> None:
    text = "SELECT r.a FROM r JOIN s ON r.k = s.k AND r.b = s.k AND r.a = s.k"
    assert filters(text)["r"] == ["r.k = r.b", "r.k = r.a"]


def test_own_filters_stay_first() -> None:
    text = "SELECT r.a FROM r JOIN s ON r.k = s.k AND r.b = s.k WHERE r.a > 0"
    assert filters(text)["r"] == ["r.a > 0", "r.k = r.b"]


def test_on_the_optional_side_they_hold_after_the_join() -> None:
    """WHERE t.a = s.a AND t.b = s.a says nothing of which rows of t match, but of which rows are left."""
    text = "SELECT r.a FROM r JOIN s ON r.k = s.k LEFT JOIN t ON t.k = r.k WHERE t.a = s.a AND t.b = s.a"
    optional = implied_filters(query(text), NoKeys()).relation("t")
    assert optional.optional == ()
    assert [sql(f.sql("postgres")) for f in optional.filters] == ["t.a = t.b"]
