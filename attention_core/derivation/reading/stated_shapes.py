r"""Relations that only say which shapes their symbols have: `Q = X W \in \mathbb{R}^{n \times d}`.

Where nothing else gives a symbol in $X W$ its shape, it is read as the relation says. Then nothing is left to check:
the relation declares, and is not a step. One that does not fit the others of its section is read by itself, and stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attention_core.derivation.inference.infer import inferred_names
from attention_core.derivation.latex.syntax import Name, Sup
from attention_core.derivation.reading.step import Step, Unread
from attention_core.derivation.terms.context import Context

SPACES = (Name(r"\mathbb{R}"), Name("R"))
DECLARED = "declared by the display: "


def take_out_shapes(
    context: Context, found: Sequence[Step | Unread], why_unreadable: Callable[[Step], str] | None
) -> list[Step | Unread]:
    """Return the steps of a display without those that only say shapes; what is understood names these.

    Args:
        context: What is understood so far.
        found: The steps.
        why_unreadable: Says why a step cannot be read, '' if its shapes fit; without it nothing is taken out.
    """
    out: list[Step | Unread] = []
    for step in found:
        if isinstance(step, Step) and why_unreadable is not None and _says_shape(step) and not why_unreadable(step):
            context.understood.append((step.line, f"{DECLARED}{step.text}"))
        else:
            out.append(step)
    return out


def _says_shape(step: Step) -> bool:
    r"""Whether a step claims no more than `\in \mathbb{R}^n`, of arrays of which no other line says it."""
    space = isinstance(step.right, Sup) and step.right.base in SPACES
    alone = step.strange or step.context.loose
    if step.op != "in" or not space or alone or step.options or step.assumed or step.conditions or step.unread_words:
        return False
    read = (step.context.inferred[name] for name in inferred_names(step.context, step.formulas()))
    return any(r"\in \mathbb{R}^" in one and not one.endswith("says so)") for one in read)


__all__ = ["take_out_shapes"]
