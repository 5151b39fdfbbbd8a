"""The site: `make site` reads the Markdown of this repository and writes build/site.

The pages are plain Markdown, as GitHub shows them. This file alone knows their order. It gives the README, which is
the first page, its list of contents.
"""

from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]

CONTENTS = {
    "Tutorials": ("docs/tutorials/files", "docs/tutorials/history", "docs/tutorials/postgresql", "docs/python"),
    "How to": (
        *(
            "docs/how-to/dates",
            "docs/how-to/leaks",
            "docs/how-to/rare-classes",
            "docs/how-to/many-categories",
            "docs/how-to/ranking",
        ),
        *(
            "docs/how-to/refresh",
            "docs/how-to/read-replica",
            "docs/how-to/dbt",
            "docs/managed-clouds",
            "docs/on-a-cluster",
            "docs/nonlinear",
            "docs/describing",
        ),
    ),
    "Examples": (
        *("examples/README", "examples/nycflights13/README", "examples/history/README", "examples/hospital/README"),
        *("examples/returns/README", "examples/ranking/README"),
    ),
    "Reference": (
        *(
            "docs/queries",
            "docs/suggest",
            "docs/command-line",
            "docs/options",
            "docs/reference",
            "docs/sql-functions",
            "docs/databases",
        ),
        *("docs/questions", "docs/security", "docs/reliability", "CHANGELOG"),
    ),
    "Explanation": (
        "docs/certificate",
        "docs/how-it-works",
        "docs/papers",
        "bench/RESULTS",
        "bench/UNSEEN",
        "bench/MAPS",
        "bench/TREES",
        "bench/NEURAL",
    ),
    "For developers": ("CONTRIBUTING", "SECURITY", "docs/internals", "sql_templates/README", "bench/README"),
}

project = "sqlsvm"
html_title = "sqlsvm"
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["*.md", "docs/**.md", "examples/**.md", "bench/*.md", "sql_templates/*.md"]
exclude_patterns = ["build", "dist", ".*", "dbt/target"]

myst_heading_anchors = 4
html_theme = "furo"
html_static_path = ["figures/site.css"]
html_css_files = ["site.css"]
html_show_sphinx = False
smartquotes = False  # `--` is the beginning of an option
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"light_css_variables": {"color-brand-primary": "#1f5f99", "color-brand-content": "#1f5f99"}}
suppress_warnings = [
    "misc.highlighting_failure"
]  # `$1` and `\\gexec` are PostgreSQL's, and no SQL that the highlighter knows


def tree(caption: str, pages: tuple[str, ...]) -> str:
    return "\n".join(
        ["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *(f"/{page}" for page in pages), "```", ""]
    )


def with_contents(app: Sphinx, page: str, source: list[str]) -> None:
    if page == root_doc:
        source[0] += "".join(tree(caption, pages) for caption, pages in CONTENTS.items())


def first_page(app: Sphinx, failure: Exception | None) -> None:
    """A browser that opens the folder looks for index.html."""
    if failure is None:
        (app.outdir / "index.html").write_text(
            (app.outdir / f"{root_doc}.html").read_text(encoding="utf-8"), encoding="utf-8"
        )


def setup(app: Sphinx) -> None:
    app.connect("source-read", with_contents)
    app.connect("build-finished", first_page)
