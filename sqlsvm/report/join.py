"""The section about the join: the tree, all relations and all edges."""

from sqlsvm.ask.inspect import Inspection
from sqlsvm.ask.remarks import remarks
from sqlsvm.model.evaluation import Residuals
from sqlsvm.model.model import Model
from sqlsvm.report.gather import Report
from sqlsvm.report.markup import Element, el
from sqlsvm.report.parts import section, table
from sqlsvm.report.plots import classes
from sqlsvm.report.tree import draw_tree, edge_condition
from sqlsvm.show.inspection import kind
from sqlsvm.terminal import amount, row_count, share


def join_section(report: Report) -> Element:
    found, model = report.inspection, report.model
    if found is None:
        known = [(alias, amount(rows)) for alias, rows in model.trained_on.rows.items()]
        rows = table(("relation", "rows in the training"), known, words=1) if known else None
        return section("join", "The join", el("p", _trained_join(model)), rows)
    notes = [el("li", el("strong", f"{kind_}: "), line) for kind_, line in remarks(found)]
    return section(
        "join",
        "The join",
        el("p", _trained_join(model), _moved(report, found)),
        el("ul", notes, class_="notes") if notes else None,
        el("div", draw_tree(found), _relations(found), class_="beside"),
        _edges(found) if found.edges else None,
    )


def _trained_join(model: Model) -> str:
    if model.of_numbers:
        return f"The model was trained on {row_count(model.join_rows, model.weighted)}."
    if model.classes:
        number = len(model.classes)
        return f"The model was trained on {row_count(model.join_rows, model.weighted)} of {number} classes."
    negative, positive = (model.label_rows.get(label, 0.0) for label in ("-1", "1"))
    names = zip(classes(model), (negative, positive), strict=True)
    parts = [f"{row_count(n, model.weighted)} with {name} ({share(n, negative + positive)})" for name, n in names if n]
    return f"The model was trained on {' and '.join(parts)}."


def _held_out(report: Report) -> float:
    """If the label is a number, the model does not say how many."""
    if isinstance(report.evaluation, Residuals):
        return report.evaluation.rows if report.seen else 0.0
    of_classes = sum(of.held_out for of in report.model.classes)
    return of_classes or sum(report.model.trained_on.held_out.values())


def _moved(report: Report, found: Inspection) -> str:
    model, held_out = report.model, _held_out(report)
    unseen = f" Held out were {row_count(held_out, model.weighted)}." if held_out else ""
    if model.weighted:  # the model has the total weight of its rows, not their number
        return f"{unseen} The join has {row_count(found.join_rows)} now."
    if round(found.join_rows) == round(model.join_rows + held_out):
        return unseen
    why = "rows with a NULL feature were left out" if model.nulls == "drop" else "the tables have changed since"
    return f" The join has {row_count(found.join_rows)} now: {why}."


def _relations(found: Inspection) -> Element:
    rows = []
    for r in found.relations:
        nulls = sum(f.nulls for f in found.features if f.relation == r.alias)
        rows.append((r.alias, r.table, amount(r.rows), amount(r.rows_surviving), amount(nulls)))
    return table(("relation", "table", "rows", "in the join", "NULLs"), rows, words=2, caption="Relations")


def _edges(found: Inspection) -> Element:
    tree, rows = found.tree, []
    for edge, facts in zip(tree.edges, found.edges, strict=True):
        most = f"{amount(facts.max_left)} \u00d7 {amount(facts.max_right)}"
        alone = f"{amount(facts.dangling_left)}, {amount(facts.dangling_right)}"
        rows.append((edge_condition(tree, edge), kind(tree, edge), most, alone, amount(facts.null_keys)))
    return table(("joined on", "kind", "most per key", "without partner", "NULL keys"), rows, words=2, caption="Edges")
