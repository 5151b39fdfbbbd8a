"""A small wheel: bz2 packs the SQL templates as one file, and all files are compressed as far as deflate can.

`sqlsvm extension` writes the SQL as plain text. Where the package `deflate` is installed, as for a release and for
tests, its slowest level packs the files again. Without it the wheel has the same content and 25,000 bytes more.
"""

import bz2
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

try:
    from deflate import deflate_compress
except ImportError:
    deflate_compress = None


class Smallest:
    """What zipfile asks of a compressor."""

    def __init__(self) -> None:
        self.given = bytearray()

    def compress(self, data: bytes) -> bytes:
        self.given += data
        return b""

    def flush(self) -> bytes:
        return bytes(deflate_compress(bytes(self.given), 12))


def packed_again(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as read:
        items = [(item, read.read(item)) for item in read.infolist()]
    usual = zipfile._get_compressor  # type: ignore[attr-defined]
    zipfile._get_compressor = lambda *_: Smallest()  # type: ignore[attr-defined]
    try:
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as written:
            for item, data in items:
                written.writestr(item, data)
    finally:
        zipfile._get_compressor = usual  # type: ignore[attr-defined]


class Hook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        templates = Path(self.root) / "sql_templates"
        self.folder = tempfile.TemporaryDirectory()
        packed = Path(self.folder.name) / "sql_templates.sql.bz2"
        names = sorted(file.relative_to(templates).as_posix() for file in templates.rglob("*.sql"))
        texts = (f"-- sql_templates/{name}\n{(templates / name).read_text(encoding='utf-8')}" for name in names)
        packed.write_bytes(bz2.compress("".join(texts).encode()))
        build_data["force_include"][str(packed)] = "sqlsvm/sql_templates.sql.bz2"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version == "editable":
            return
        self.folder.cleanup()
        if deflate_compress:
            packed_again(Path(artifact_path))
