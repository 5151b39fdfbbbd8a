"""The README as PyPI shows it, where no link may be relative.

A build reads the address of the repository from $SQLSVM_REPOSITORY, which the release sets. Links, the picture and
[project.urls] come from it. Without the variable, the README stays as it is and the package has no URLs.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PAGES = {"Documentation": "tree/main/docs", "Changelog": "blob/main/CHANGELOG.md", "Issues": "issues"}


def absolute(text: str, repository: str) -> str:
    """The Markdown with each relative link as one into the repository."""

    def link(found: re.Match[str]) -> str:
        kind = "raw" if found["picture"] else "blob"
        return f"{found['picture']}[{found['label']}]({repository}/{kind}/main/{found['path']})"

    return re.sub(r"(?P<picture>!?)\[(?P<label>[^]]*)\]\((?P<path>(?![a-z]+:|#)[^)]+)\)", link, text)


class Hook(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        if repository := os.environ.get("SQLSVM_REPOSITORY", "").rstrip("/"):
            text = absolute(text, repository)
            metadata["urls"] = {"Source": repository} | {name: f"{repository}/{path}" for name, path in PAGES.items()}
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
