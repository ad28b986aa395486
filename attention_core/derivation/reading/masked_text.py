r"""Text whose formulas are masked: what stands for one, groups of them, and rewriting that keeps the lines."""

from __future__ import annotations

import re
from collections.abc import Callable

Rewrite = Callable[[re.Match[str], list[str]], str]
FORMULA = r"\x00\d+\x00"  # a formula
GROUP = rf"{FORMULA}(?:(?:\s*,\s*|\s*,?\s+and\s+){FORMULA})*"
BEGINS = r"(?P<begins>(?:^|(?<=[.;:!?])\s)\s*)"
ENDS = r"(?=\s*(?:[.,;:)]|$|(?:and|so|then|for|we|with|such|that)\b))"
# ... where no other formula is joined: "orthogonal to $y$ and $z$" says more than "orthogonal to $y$"
STRICT_ENDS = (
    r"(?=\s*(?:[.;:)]|$|,(?!\s*\x00)|(?:and(?!\s+(?:to\s+|of\s+|in\s+)?\x00)|so|then|for|we|with|such|that|where)\b))"
)
CLOSES = r"(?=\s*(?:[.;:!?]|$))"
NAME = re.compile(r"\s*\\?[A-Za-z]+(?:_\{?\w+\}?)?\s*")
RELATED = re.compile(r"[=<>]|\\(?:[lg]eq?(?:slant)?|neq?|succ|prec)(?![A-Za-z])")


def keep_lines(rewrite: Rewrite, formulas: list[str], found: re.Match[str]) -> str:
    """What a clause becomes, with as many line breaks as it had."""
    text = rewrite(found, formulas)
    return text + "\n" * (found[0].count("\n") - text.count("\n"))


def formula_at(mask: str, formulas: list[str]) -> str:
    """The formula that a mask stands for."""
    return formulas[int(mask.strip("\0"))].strip()


def add_formula(formulas: list[str], text: str) -> str:
    """Append a formula, and return its mask."""
    formulas.append(text)
    return f"\0{len(formulas) - 1}\0"


def texts_of(group: str, formulas: list[str]) -> list[str]:
    """The formulas of a group, each name of a list apart."""
    return [one.strip() for place in re.findall(FORMULA, group) for one in formula_at(place, formulas).split(",")]


def has_name(name: str, text: str) -> bool:
    """Whether a formula mentions a name."""
    return re.search(rf"(?<![A-Za-z\\]){re.escape(name)}(?![A-Za-z])", text) is not None


class MaskedFormulas:
    """The formulas that the masks of some text stand for."""

    formulas: list[str]

    def at(self, mask: str) -> str:
        """The formula that a mask stands for."""
        return formula_at(mask, self.formulas)

    def all_in(self, text: str) -> list[str]:
        """The formulas that some text holds."""
        return [self.at(one) for one in re.findall(FORMULA, text)]

    def add(self, formula: str) -> str:
        """Append a formula, and return its mask."""
        return add_formula(self.formulas, formula)
