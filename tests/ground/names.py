"""Names and texts that a careless compiler would trip over."""

from dataclasses import dataclass, field

from tests.ground.choose import Chooser, chance, pick

EVIL_NAMES = (
    "Camel",
    "two words",
    "select",
    "SELECT 2",
    "order",
    'qu"ote',
    "apo'strophe",
    "semi; DROP TABLE x",
    "-- dash",
    "$1",
    "%s",
    "%(a)s",
    ":a",
    "?",
    "données",
    "表",
    "a.b",
    "1st",
    " lead",
    "back\\slash",
    "{brace}",
    "/* c */",
    "x" * 59,
)
"""At most 59 bytes of UTF-8 each, so that a number of up to 4 digits still fits into PostgreSQL's 63."""

PLAIN_TEXTS = ("a", "b", "c", "d", "e", "f", "g", "h")
EVIL_TEXTS = ("a", "A", "", "o'k", "%s", '"', "$1", "b ", "null", "\\", "表", "new\nline", "; --", "b")


@dataclass
class Namer:
    """Hands out names that are distinct without regard to case, for DuckDB ignores it even between quotes."""

    chooser: Chooser
    evil: bool
    count: int = 0
    _used: set[str] = field(default_factory=set)

    def fresh(self, base: str) -> str:
        """A plain name like k3, sometimes an evil one."""
        self.count += 1
        name = f"{base}{self.count}"
        if self.evil and chance(self.chooser, 40):
            stem = pick(self.chooser, EVIL_NAMES)
            name = f"{stem}{self.count:04}" if stem in self._used or len(stem) == 59 else stem
            self._used.add(stem)
        return name
