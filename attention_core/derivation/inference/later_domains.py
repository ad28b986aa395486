r"""Domains that a later section states, where the formulas of a section do not fit them: its symbols are others.

"$z \in \mathbb{R}^C$" below the heading "Softmax" says nothing of the z of "Sigmoid" above it, where z divides.
"""

from __future__ import annotations

import re

from attention_core.derivation.terms.context import Context

_STATED = re.compile(r"\(line (\d+) says so\)$")


def without_later_domains(context: Context, before: Context, line: int) -> Context | None:
    r"""A context in which what a statement needs is read without the domains that later sections state.

    Args:
        context: What is known with the statement as it was read.
        before: What was known before it.
        line: Its line.

    Returns:
        None if none of its symbols was read by a domain that is stated below it.

    Example:
        >>> known = Context(inferred={"z": "z \\in \\mathbb{R}^{C} (line 11 says so)"})
        >>> without_later_domains(known, Context(), 7) is None, without_later_domains(known, Context(), 13) is None
        (False, True)
    """
    stated = {name: _STATED.search(text) for name, text in context.inferred.items()}
    later = [name for name, found in stated.items() if found is not None and int(found[1]) > line]
    if not later:
        return None
    trial = before.copy()
    trial.understood, trial.own_domains = [], True
    for name in later:
        trial.forget(name, line)
        trial.dropped.pop(name, None)
    return trial
