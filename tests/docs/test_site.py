"""The site that `make site` builds, and what a reader may expect of each of its pages."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT, documents

DOCS = ROOT / "docs"
NO_PAGES = (*(f"bench/{name}.md" for name in ("RESULTS", "MAPS", "NEURAL", "TREES", "README")), "README.md", ".github")
"""What a script writes, the first page, and what no reader opens."""
PAGES = [path for path in documents() if not str(path.relative_to(ROOT)).startswith(NO_PAGES)]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_begins_with_who_needs_it(path: Path) -> None:
    first = re.split(r"\n\n", path.read_text(encoding="utf-8"))[1].replace("\n", " ")
    assert re.match(r"This (page|tutorial|example) is for ", first), first


@pytest.mark.slow
def test_the_site(tmp_path: Path) -> None:
    """A page that the contents do not name, a link that leads nowhere and a block in no language are warnings."""
    pytest.importorskip("sphinx")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "--fail-on-warning",
        "--quiet",
        "-c",
        str(DOCS),
        str(ROOT),
        str(tmp_path),
    ]
    run = subprocess.run(command, capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, ""), run.stderr
    assert (tmp_path / "index.html").read_text() == (tmp_path / "README.html").read_text()
    for page in tmp_path.rglob("*.html"):
        check_page(page)


def check_page(page: Path) -> None:
    """A title, a language, one first heading, a text for each picture, and nothing from other servers."""
    found = Found()
    found.feed(page.read_text(encoding="utf-8"))
    assert found.language == "en", page
    assert found.title.strip(), page
    assert found.first_headings == 1 or page.name in ("search.html", "genindex.html"), page
    assert not found.without_text, (page, found.without_text)
    assert not found.foreign, (page, found.foreign)


class Found(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.language, self.title, self.first_headings = "", "", 0
        self.without_text, self.foreign = list[str](), list[str]()
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.language = given["lang"] if tag == "html" else self.language
        self.first_headings += tag == "h1"
        self._in_title = tag == "title"
        if tag == "img" and not given.get("alt"):
            self.without_text.append(given["src"])
        loaded = given.get("src") or (given.get("href") if tag == "link" else None) or ""
        if re.match(r"(https?:)?//", loaded):
            self.foreign.append(loaded)

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
