r"""Sides that vanish: under a hypothesis that makes both sides of a step zero, a factor that is wrong changes nothing.

An author who knows that both sides are zero writes 0. So a hypothesis by which $2 (S + S^\top) = 3 (S + S^\top)$ holds,
$S = -S^\top$, is not what makes good the wrong factor.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from attention_core.derivation.latex.syntax import Chain, Group, Num, Times
from attention_core.derivation.reading.step import Step


def double_right(step: Step) -> Step:
    """The step with twice its right side: it holds beside the step itself only where both sides are zero.

    Args:
        step: An equation.
    """
    twice = Times((Num(Fraction(2)), Group("(", (Chain((step.right,)),), ")")), ("",))
    return replace(step, right=twice)


__all__ = ["double_right"]
