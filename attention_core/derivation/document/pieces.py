"""A statement that is being gathered.

One statement while `rows` gathers it: its own tokens apart from its conditions, its reasons and its tags, and which
segment goes on with it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from attention_core.derivation.document.segments import first_kind, has_relation, starts_with_relation
from attention_core.derivation.latex.tokens import Tok, depth_zero

OPERATORS = ("PLUS", "TIMES")
GOES_ON = ("REL", "ARROW", "AND", "PLUS", "MINUS", "TIMES")  # what a complete statement does not end with


@dataclass
class Piece:
    """Tokens of one statement while the rows are read.

    `conditions` were said with "for" or the like; `offered` only stand behind a comma, and may be claims, those
    `beside` it behind a gap; `quoted` are formulas in reasons, each with the words before it; `tags` are lines, names
    and how many relations stand before each; `moves` is what stands behind "as", `arrow` what an arrow says.
    """

    tokens: list[Tok] = field(default_factory=list)
    conditions: list[list[Tok]] = field(default_factory=list)
    offered: list[list[Tok]] = field(default_factory=list)
    beside: list[list[Tok]] = field(default_factory=list)
    quoted: list[tuple[str, list[Tok]]] = field(default_factory=list)
    tags: list[tuple[int, str, int]] = field(default_factory=list)
    defines: bool = False
    moves: list[Tok] = field(default_factory=list)
    arrow: str = ""

    def relations(self) -> int:
        """How many relations it has by now."""
        return sum(t.kind in ("REL", "ARROW") for _, t in depth_zero(self.tokens))

    def last(self) -> Tok | None:
        """Its last token."""
        return next((t for t in reversed(self.tokens) if t.kind != "GAP"), None)

    def continues(self, segment: list[Tok], kind: str) -> bool:
        """Whether a segment behind a mark of this kind goes on with the statement."""
        if not self.tokens or starts_with_relation(segment):
            return True
        last = self.last()
        if (last is not None and last.kind in GOES_ON) or first_kind(segment) in OPERATORS:
            return True
        if (
            first_kind(segment) == "MINUS"
            and kind in ("AMP", "TEXT", "")
            and (not has_relation(segment) or kind == "AMP")
        ):
            return True
        if kind in ("COMMA", "WIDE", "SEMI", "STOP") or (kind in ("GAP", "AMP", "NEXT") and self.relations()):
            return False
        return not (has_relation(segment) and self.relations())
