r"""Domains that a sentence of a later section says, and that a step above it was read with.

A domain that any sentence of a document says counts, since authors say it where they like. In a later section it may
be of another symbol with the same letter: "Let $M \in \mathbb{R}^{p \times p}$ be any matrix." on line 108 says nothing
of the M of line 8. So such a domain refutes nothing above its section, and a step there that is false of symbols
of another kind is ambiguous.
"""

from __future__ import annotations

import re

from attention_core.derivation.inference.infer import inferred_names
from attention_core.derivation.reading.step import Step

_SAYS = re.compile(r"\(line (\d+) says so\)$")


def is_stated_later(step: Step) -> bool:
    """Whether a reading of a step rests on a sentence of a section that begins below it.

    Args:
        step: The step.
    """
    return bool(find_stated_later(step))


def find_stated_later(step: Step) -> frozenset[str]:
    """The undeclared symbols of a step that are read by a sentence of a section that begins below it.

    Args:
        step: The step.
    """
    begins = min((one.line for one in step.far_words if one.title and one.line > step.line), default=0)
    if not begins:
        return frozenset()
    stated = {name: _SAYS.search(step.context.inferred[name]) for name in inferred_names(step.context, step.formulas())}
    return frozenset(name for name, one in stated.items() if one is not None and int(one[1]) >= begins)


__all__ = ["find_stated_later", "is_stated_later"]
