r"""Optimization problems in displays: "minimize $f(x)$ subject to $g(x) \le 0$" claims nothing.

What is to be made small stands first, as `\min_x` or as a word, and the constraints behind "subject to" or "s.t.".
A display with a relation in front of these words, as in `p^* = \min_x f(x) \text{ s.t. } A x = b`, says more, and is
read.
"""

from __future__ import annotations

import re

_WORDS = r"\\(?:text\w*|mathrm|mbox|operatorname\*?|mathop)\s*\{\s*"
_OBJECTIVE = re.compile(
    rf"(?:{_WORDS}(?:minimi[sz]e|maximi[sz]e|min|max)\b|\\(?:min|max|minimize|maximize)(?![a-zA-Z]))", re.IGNORECASE
)
_CONSTRAINTS = re.compile(rf"{_WORDS}(?:and\s+)?(?:subject\s+to|such\s+that|s\.\s*t\.)|\\st(?![a-zA-Z])", re.IGNORECASE)
_SUBSCRIPT = re.compile(r"_\s*\{(?:[^{}]|\{[^{}]*\})*\}")
_LAYOUT = re.compile(r"[\s&{}$]|\\(?:quad|qquad|displaystyle|left|[,;:! ])(?![a-zA-Z])|\\\\")
_RELATION = re.compile(
    r"[=<>]|\\(?:leq?|geq?|neq?|approx|equiv|sim|to|implies|iff|rightarrow|Rightarrow|propto)(?![a-zA-Z])"
)


def is_problem(text: str) -> bool:
    r"""Whether a display, without its frames, is an optimization problem.

    Args:
        text: The display.

    Example:
        >>> is_problem(r"\min_x f(x) \quad \text{s.t. } x \ge 1"), is_problem(r"p = \min_x f(x) \text{ s.t. } x \ge 1")
        (True, False)
    """
    constraints = _CONSTRAINTS.search(text)
    if constraints is None:
        return False
    objective = text[: constraints.start()]
    start = _OBJECTIVE.search(objective)
    leads = start is not None and not _LAYOUT.sub("", objective[: start.start()])
    return leads and not _RELATION.search(_SUBSCRIPT.sub("", objective))
