"""Which letters a section writes in bold: bold is style, and says that a symbol is an array."""

from __future__ import annotations

import re
from dataclasses import dataclass

from attention_core.derivation.inference.usage import MEMBER, letter_of
from attention_core.derivation.latex.printer import FAMILY_LABEL


@dataclass(frozen=True)
class Bold:
    """The letters that a section writes in bold: alone, and with a subscript."""

    alone: frozenset[str] = frozenset()
    indexed: frozenset[str] = frozenset()

    def holds(self, name: str) -> bool:
        """Whether a symbol is in bold."""
        letter = letter_of(name)
        if FAMILY_LABEL in name:  # the label is its index
            return letter in self.alone | self.indexed
        return letter in (self.indexed if "_{" in name or name.endswith(MEMBER) else self.alone)


_BOLD = re.compile(
    r"\\(?:mathbf|boldsymbol|bm|pmb|vec|mathbfit)\s*(?:\{\s*(?:\\mathbf\s*\{?)?\s*(\\[a-zA-Z]+|[a-zA-Z])[\s}']*|"
    r"(\\[a-zA-Z]+|[a-zA-Z]))(\s*(?:\^\{?[^_\s]*\}?)?_)?"
)


def bold_letters(text: str) -> Bold:
    r"""The letters in bold in a text.

    Example:
        >>> bold_letters(r"\mathbf{x}_i^\top \mathbf W").indexed
        frozenset({'x'})
    """
    found = [(one or other, bool(index)) for one, other, index in _BOLD.findall(text)]
    return Bold(
        frozenset(letter for letter, index in found if not index), frozenset(letter for letter, index in found if index)
    )
