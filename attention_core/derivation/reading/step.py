"""What reading makes of a document: steps, and places that cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from attention_core.derivation.document.blocks import Option, Paragraph
from attention_core.derivation.latex.syntax import Chain, Expr
from attention_core.derivation.reading.far_words import FarRelation, FarWords
from attention_core.derivation.terms.context import Context


@dataclass
class Step:
    """One relation to decide: its context, its two written sides, hypotheses of its own, options."""

    id: str
    line: int
    text: str
    context: Context
    left: Expr
    op: str
    right: Expr
    options: list[Option] = field(default_factory=list)
    assumed: list[tuple[Chain, list[Chain]]] = field(default_factory=list)
    conditions: tuple[Chain, ...] = ()
    chained: bool = False  # one of several relations of a chain
    quoted: tuple[str, ...] = ()  # reasons that hold a formula: they are named in the evidence, not checked
    restricts: bool = False  # it reads as a hypothesis
    later: list[Paragraph] = field(default_factory=list)  # those below in its section, for advice
    peers: list[Step | Unread] = field(default_factory=list, repr=False)  # all steps of the document
    far_words: Sequence[FarWords] = field(default_factory=list, repr=False)  # all words of the document
    far_relations: Sequence[FarRelation] = field(default_factory=list, repr=False)  # those that its prose states
    strange: str = ""  # why its section's readings do not fit it, if it is read by itself
    sharing: int = 1  # how many steps of the document are tested with random samples: they share alpha

    def option(self, key: str) -> str:
        """The value of an option, '' without."""
        return next((o.value for o in reversed(self.options) if o.key == key), "")


@dataclass
class Unread:
    """A place that cannot be read."""

    id: str
    line: int
    text: str
    message: str
    options: list[Option] = field(default_factory=list)
    remark: bool = False  # it stands beside relations and has none
