r"""What was read of a document, confirmed by a person.

A report says what each undeclared symbol was read as, and quotes the words that may restrict it and were not read.
Whoever has looked at both, and finds that the symbols are what they were read as and that nothing else restricts them,
may have that taken for declared: then a step that is false as it was read is false.

What no declaration could say stays open: forms that were read as symbols of their own, a step that uses its symbols in
another way than its section does, and how one symbol depends on another that it is differentiated by. So do the
conventions that the step may follow (see `decision.conventions`), and whether it defines a symbol. Values of functions
that the document does not define are undeclared still: such a step is refuted only by a slip (see `decision.slips`).
"""

from __future__ import annotations

from dataclasses import replace

from attention_core.derivation.inference.opaque import is_opaque
from attention_core.derivation.reading.step import Step


def confirm_readings(step: Step, words: bool = False) -> Step | None:
    """Take what a step was read as for all that its document says.

    Args:
        step: A step of a document that was read with inference.
        words: Whether the words around it count still.

    Returns:
        The step with its undeclared symbols declared; None where its readings say too little.
    """
    if step.context.loose or step.strange or step.unread_words:
        return None
    context = step.context.copy()
    context.inferred = {name: text for name, text in context.inferred.items() if is_opaque(name)}
    if words:
        return replace(step, context=context)
    context.caveats = []
    return replace(step, context=context, far_words=[], far_relations=[])
