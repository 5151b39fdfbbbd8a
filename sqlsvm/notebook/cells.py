"""How results print: `print` shows the text of the command line, and a cell of a notebook the same in HTML, in the
colours of the notebook."""

from collections.abc import Callable, Mapping
from html import escape
from io import StringIO
from typing import Any, TextIO

from sqlsvm.ask.describe import Description
from sqlsvm.ask.explain import Explanation
from sqlsvm.ask.inspect import Inspection
from sqlsvm.model.by_group import ByGroup
from sqlsvm.model.confusion import Confusion
from sqlsvm.model.evaluation import Evaluation, Residuals
from sqlsvm.model.model import Model
from sqlsvm.notebook.told import reworded
from sqlsvm.run.components import Components

_STYLE = (
    "font: 0.9em/1.3 monospace; white-space: pre; overflow-x: auto; text-align: left; color: inherit; background: none"
)


def text(found: object) -> str:
    return reworded(_DRAWN[type(found)](found, StringIO()))


def html(found: object) -> str:
    return preformatted(text(found))


def preformatted(said: str) -> str:
    return f'<pre style="{_STYLE}">{escape(said)}</pre>'


def _model(model: Model, stream: TextIO) -> str:
    from sqlsvm.show.training import draw_training

    return draw_training(model, _place(model), stream)


def _place(model: Model) -> str:
    return f"trained in {model.engine}"


def _measured(found: Any, stream: TextIO) -> str:
    from sqlsvm.show.evaluation import draw_evaluation

    return draw_evaluation(found, found.of.label, found.of.values, stream, weighted=found.of.weighted)


def _inspection(found: Inspection, stream: TextIO) -> str:
    from sqlsvm.show.inspection import draw

    return draw(found, stream)


def _description(found: Description, stream: TextIO) -> str:
    from sqlsvm.show.description import draw

    return draw(found, stream)


def _components(found: Components, stream: TextIO) -> str:
    from sqlsvm.show.components import draw

    return draw(found, stream)


def _explanation(found: Explanation, stream: TextIO) -> str:
    from sqlsvm.show.plan import draw_plan

    return draw_plan(found, stream)


_DRAWN: Mapping[type, Callable[[Any, TextIO], str]] = {
    Model: _model,
    Evaluation: _measured,
    Residuals: _measured,
    Confusion: _measured,
    ByGroup: _measured,
    Inspection: _inspection,
    Description: _description,
    Components: _components,
    Explanation: _explanation,
}

for _kind in _DRAWN:  # their layers do not know how they are shown
    for _name, _method in {"__str__": text, "_repr_html_": html}.items():
        setattr(_kind, _name, _method)
    setattr(_kind, "_repr_pretty_", lambda found, printer, cycle: printer.text(text(found)))  # noqa: B010
