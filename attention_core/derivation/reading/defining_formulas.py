r"""Formulas that define or declare, as their text shows: `g(x) = ...`, `S = ... \in \mathbb{R}^{n \times n}`, `c > 0`.

What rewrites sentences asks here what a formula does and which symbols it introduces, before anything is read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from attention_core.derivation.inference.usage import is_constant
from attention_core.derivation.words.caveats import names_of_formula

_STYLES = r"operatorname|mathrm|mathbf|mathcal|mathsf|boldsymbol|bm|text|bar|hat|tilde|vec"
NAME = (
    rf"(?:\\(?:{_STYLES})\s*(?:\{{\s*\\?[A-Za-z]+\s*\}}|\\?[A-Za-z]+)|(?!\\(?:{_STYLES})(?![A-Za-z]))\\?[A-Za-z]+)"
    r"(?:_(?:\{\s*\w+\s*\}|\w))?"
)
_NAMES = rf"{NAME}(?:\s*,\s*{NAME})*"
_SPACE = r"\\math(?:bb|bf)\s*\{?\s*R\s*\}?\s*(?:\^\s*(?:\{[^{}]*\}|\w))?"
_DEFINES = re.compile(
    rf"^\s*(?P<name>{NAME})\s*(?:\^\s*(?:2|\{{\s*2\s*\}})\s*|\(\s*(?P<args>{_NAMES})\s*\))?\s*(?::=|=)\s*(?P<value>(?:(?!\\(?:in|sim|to|[lg]eq?|neq?"
    rf"|approx|implies)(?![A-Za-z]))[^=<>~])+?)\s*(?:\\in\s*(?P<space>{_SPACE}))?\s*$"
)
_LIVES = re.compile(rf"^\s*(?P<names>{_NAMES})\s*\\in(?![A-Za-z])\s*(?P<set>[^=<>]+)$")
_SIGN = r"(?:[<>]|\\(?:[lg]eq?(?:slant)?|neq?)(?![A-Za-z]))"
_NUMBER = r"(?:[^=<>,A-Za-z\\]|\\(?:pi|infty|frac|sqrt|tfrac|dfrac)(?![A-Za-z]))+"
_BOUNDED = re.compile(
    rf"^\s*(?:(?P<names>{_NAMES})\s*{_SIGN}{_NUMBER}|{_NUMBER}{_SIGN}\s*(?P<inner>{NAME})\s*{_SIGN}{_NUMBER}"
    rf"|\|\s*(?P<bars>{NAME})\s*\|\s*{_SIGN}{_NUMBER})$"
)
_RELATES = re.compile(r"[=<>~]|\\(?:in|sim|to|[lg]eq?|neq?|approx|equiv|propto|implies|iff|perp|mid)(?![A-Za-z])")
_SCRIPT = re.compile(r"_\{[^{}]*\}")


@dataclass(frozen=True)
class Definition:
    """What a formula defines: the name, its arguments if it is a function, and its value, or that of its square."""

    name: str
    args: tuple[str, ...]
    value: str

    def is_closed(self) -> bool:
        """Whether the value has no symbols but the arguments: then no words can say anything of others by it."""
        names = names_of_formula(self.value)
        return bool(self.args) and names is not None and all(n in self.args or is_constant(n) for n in names)


def definition_in(formula: str) -> Definition | None:
    r"""What a formula defines, if that is all it does; a space behind the value says of what shape this is.

    Args:
        formula: An inline formula.

    Example:
        >>> definition_in(r"g(x) = \frac{x}{2}"), definition_in(r"x + y = 2")
        (Definition(name='g', args=('x',), value='\\frac{x}{2}'), None)
    """
    plain = " ".join(formula.split())
    found = _DEFINES.match(_SCRIPT.sub(lambda one: one[0].replace("=", "\1").replace(r"\in", "\2"), plain))
    if found is None:
        return None
    args = tuple(one.strip() for one in (found["args"] or "").split(",") if one.strip())
    return Definition(found["name"].strip(), args, found["value"].replace("\1", "=").replace("\2", r"\in").strip())


def declared_in(formula: str) -> list[str]:
    r"""The symbols of which a formula only says where they live, or between which numbers; [] of any other formula.

    Args:
        formula: An inline formula.

    Example:
        >>> [declared_in(one) for one in (r"x, y \in \mathbb{R}^n", "c > 0", r"|t| < 1", "x = 2", "a > b")]
        [['x', 'y'], ['c'], ['t'], [], []]
    """
    formula = " ".join(formula.split())
    lives = _LIVES.match(formula)
    if lives is not None:
        return [one.strip() for one in lives["names"].split(",")]
    found = _BOUNDED.match(formula)
    if found is None:
        return []
    return [one.strip() for one in (found["names"] or found["inner"] or found["bars"]).split(",")]


def says_where(formula: str) -> bool:
    """Whether a formula says in which set symbols live."""
    return _LIVES.match(formula) is not None


def relates(formula: str) -> bool:
    """Whether a formula has a relation."""
    return _RELATES.search(_SCRIPT.sub("", formula)) is not None


def mentions(name: str, formula: str) -> bool:
    r"""Whether a formula mentions a name, `\alpha` also right behind a letter.

    Args:
        name: The name.
        formula: Any text of formulas.

    Example:
        >>> mentions("x", r"\exp y + x^2"), mentions("x", r"\exp y"), mentions(r"\beta", r"a\beta")
        (True, False, True)
    """
    start = "" if name.startswith("\\") else r"(?<![A-Za-z\\])"
    return re.search(rf"{start}{re.escape(name)}(?![A-Za-z])", formula) is not None
