"""Forms of a document that are written as others before a statement is read.

Slopes of functions, members of sequences and of families with labels, complex numbers, and probabilities: a statement
has plain symbols, calls and subscripts in their place.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from operator import is_

from attention_core.derivation.document.display import DisplayStatement
from attention_core.derivation.elaborate.sample_families import declared_samples, write_samples
from attention_core.derivation.reading.complex_numbers import write_parts
from attention_core.derivation.reading.function_slopes import write_calls, write_slopes
from attention_core.derivation.reading.recursions import write_members
from attention_core.derivation.reading.written_probabilities import write_probabilities
from attention_core.derivation.terms.context import Context


def write_forms(context: Context, one: DisplayStatement) -> DisplayStatement:
    """A statement with sequences and complex numbers written as numbers and columns of numbers, and with slopes.

    Args:
        context: What is declared above it.
        one: The statement.
    """
    statement = one.statement
    with suppress(RecursionError):  # reading it as a step reports that
        statement = write_slopes(context, write_calls(context, statement))
        statement = write_members(context, statement) if context.recursions else statement
        statement = write_parts(context, statement) if context.imaginary is not None else statement
        for write in (*((write_samples,) if declared_samples(context) else ()), write_probabilities):
            parts = (statement.chains, one.conditions, one.offered, one.beside)
            chains, conditions, offered, beside = (write(context, part) for part in parts)
            if not all(map(is_, chains, statement.chains)):
                statement = replace(statement, chains=chains)
            one = replace(one, conditions=conditions, offered=offered, beside=beside)
    return one if statement is one.statement else replace(one, statement=statement)
