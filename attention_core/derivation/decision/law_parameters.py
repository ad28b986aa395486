r"""Parameters of exponential laws: the 2 of $T \sim \mathrm{Exp}(2)$ is a rate here, and the mean in other texts."""

from __future__ import annotations

from dataclasses import replace

from attention_core.derivation.reading.law_words import RATES
from attention_core.derivation.reading.step import Step
from attention_core.derivation.terms.context import Context
from attention_core.derivation.terms.terms import SCALAR, Term, integer

MEANS = r"with the parameter of the exponential law as its mean; here it is the rate: write \mathrm{Exp}(1/m)"


def take_for_means(step: Step) -> Context | None:
    r"""The context with the parameters of exponential laws as means, None where the document leaves no doubt.

    Args:
        step: A false step.

    Returns:
        The context; None also of a step without such a law.
    """
    drawn = {
        name: one for name, one in step.context.symbols.items() if one.law is not None and one.law.name == "exponential"
    }
    if not drawn or RATES in step.context.stated:
        return None
    context = step.context.copy()
    for name, one in drawn.items():
        assert one.law is not None
        inverse = tuple(Term("div", (integer(1), value), SCALAR) for value in one.law.parameters)
        context.symbols[name] = replace(one, law=replace(one.law, parameters=inverse))
    return context
