r"""Domains that a sentence of a later section says, and that a step above it was read with.

A domain that any sentence of a document says counts, since authors say it where they like. In a later section it may
be of another symbol with the same letter: "Let $M \in \mathbb{R}^{p \times p}$ be any matrix." on line 108 says nothing
of the M of line 8. So such a domain refutes nothing above its section.
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
    names = inferred_names(step.context, step.formulas())
    stated = (_SAYS.search(step.context.inferred[name]) for name in names)
    last = max((int(one[1]) for one in stated if one is not None), default=0)
    return any(one.title and step.line < one.line <= last for one in step.far_words)


__all__ = ["is_stated_later"]
