"""Braces: the arguments of commands, also a single character or command without them, and braces around a product."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from attention_core.derivation.latex.syntax import Expr, Group, Times, Unreadable


def read_braces(text: str, at: int, line: int) -> tuple[str, int]:
    """The content of `{...}` at or after `at` and where it ends; without braces a single character or command."""
    while at < len(text) and text[at] in " \t\n\r":
        at += 1
    if at >= len(text):
        raise Unreadable("a command at the end misses its argument", line)
    if text[at] == "\\":
        found = re.compile(r"\\(?:[a-zA-Z]+|.)").match(text, at)
        assert found is not None or at + 1 >= len(text)
        return (found.group(), found.end()) if found else ("\\", at + 1)
    if text[at] != "{":
        return text[at], at + 1
    depth, start = 0, at
    while at < len(text):
        if text[at] == "\\":
            at += 2
            continue
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
        if depth == 0:
            return text[start + 1 : at - 1], at
    raise Unreadable("a brace { is never closed", line)


def change_last_bracket(base: Expr, change: Callable[[Expr], Expr]) -> Expr:
    r"""What has an exponent or a transpose: of `{X (Y)}^{-1}` the bracket alone, since braces are not shown.

    Args:
        base: What the exponent stands behind; a product without brackets around it stands in braces.
        change: Puts the exponent.
    """
    if isinstance(base, Times) and isinstance(base.factors[-1], Group):
        return replace(base, factors=(*base.factors[:-1], change(base.factors[-1])))
    return change(base)
