r"""Readings of undeclared symbols that a person has confirmed.

A report says what each undeclared symbol was read as. Whoever looked at that, and finds it meant so, may have it taken
for declared: then a step that is false as it was read is false. What no declaration could say stays as it is: values of
functions that the document does not define, forms that were read as symbols of their own, and a step that uses its
symbols in another way than its section does.
"""

from __future__ import annotations

from dataclasses import replace

from attention_core.derivation.inference.infer import inferred_names
from attention_core.derivation.inference.opaque import is_opaque
from attention_core.derivation.reading.step import Step, Unread
from attention_core.derivation.terms.context import Context


def confirm_readings(step: Step | Unread) -> Step | Unread:
    """Take what the undeclared symbols of a step were read as for declared.

    Args:
        step: A step of a document that was read with inference.

    Returns:
        The step in a context that declares them; itself where its readings say too little to be confirmed.
    """
    if isinstance(step, Unread) or step.context.loose or step.strange:
        return step
    return replace(step, context=_confirm(step.context))


def confirmed_readings(step: Step) -> list[str]:
    """What confirmed symbols of a step were read as.

    Args:
        step: The step.
    """
    context = replace(step.context, inferred=step.context.confirmed)
    return [context.inferred[name] for name in inferred_names(context, step.formulas())]


def _confirm(context: Context) -> Context:
    """A context whose readings are declarations, but for values of functions."""
    found = context.copy()
    found.confirmed = {name: text for name, text in context.inferred.items() if not is_opaque(name)}
    found.inferred = {name: text for name, text in context.inferred.items() if is_opaque(name)}
    return found
