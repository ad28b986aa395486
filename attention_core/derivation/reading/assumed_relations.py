r"""Symbols that nothing declares in relations that a sentence assumes: "Suppose $x = y + z$".

A relation between declared symbols is assumed by `declare` and `premises`. Where it has symbols that nothing declares,
their shapes are inferred here, from the relation and the displays of its section together. They are kept only if the
paragraph then assumes more than it does without them.
"""

from __future__ import annotations

import re
from contextlib import suppress

from attention_core.derivation.document.blocks import Display, Paragraph
from attention_core.derivation.document.display import DisplayStatement, statements_of
from attention_core.derivation.inference.infer import Inference
from attention_core.derivation.inference.usage import whole_names
from attention_core.derivation.latex.syntax import Unreadable, names_in
from attention_core.derivation.reading.assuming import Standing, standings
from attention_core.derivation.reading.conditional_relations import find_conditional
from attention_core.derivation.reading.declare import declare
from attention_core.derivation.reading.premises import read_prose, split_paragraph
from attention_core.derivation.terms.context import Context
from attention_core.derivation.terms.terms import ShapeMismatch

_FORMULAS = re.compile(r"(?<!\\)\$")
_OF_ARRAYS = re.compile(
    r"\\in(?![a-zA-Z])|\b(?:vectors?|matri(?:x|ces)|columns?|rows?|arrays?|tensors?|quer(?:y|ies)|keys?|embeddings?)\b",
    re.IGNORECASE,
)
_OF_CASE = re.compile(r"\b(?:if|when|whenever|for|unless|once)\s*$", re.IGNORECASE)
_OPENS = re.compile(
    r"(?:^|[.;:]\s)\W*(?:(?:now|then|so|but|and|also|thus|hence)\W+)?(?:if|when|whenever|for|in case)\s*$",
    re.IGNORECASE,
)
_SIGN = re.compile(r"[=<>]|\\[lgn]e")
_RELATIONS = frozenset(("=", "<", ">", "<=", ">=", "!="))


def infer_assumptions(context: Context, inference: Inference, place: int, block: Paragraph, leads: bool) -> None:
    """Declare the undeclared symbols of the relations that a paragraph assumes, if that lets it assume them.

    Args:
        context: What is declared; it is changed where that succeeds.
        inference: Infers declarations in the document.
        place: Which block the paragraph is.
        block: The paragraph.
        leads: Whether it leads into a display.
    """
    found = [one for one in _list_assumptions(block) if _has_undeclared(context, one)]
    if not found:
        return
    inference.parsed[place] = [*inference.statements(place), *found]
    trial = context.copy()
    for one in found:
        with suppress(Unreadable, ShapeMismatch, RecursionError):
            inference.supply(trial, place, one)
    fresh = [one for name, one in trial.symbols.items() if name not in context.symbols]
    numbers = any(one.type is not None and one.type.scalar for one in fresh)
    fits = bool(fresh) and not (numbers and _OF_ARRAYS.search(block.text))  # "Let $x \ne 0$ be a vector"
    if fits and _count_gains(context, block, leads) <= 0 < _count_gains(trial, block, leads):
        context.symbols, context.inferred, context.dropped = trial.symbols, trial.inferred, trial.dropped
        context.related |= {name for one in found for chain in one.statement.chains for name in whole_names(chain)}
    else:
        inference.parsed[place] = inference.parsed[place][: -len(found)]


def _list_assumptions(block: Paragraph) -> list[DisplayStatement]:
    """The relations of a paragraph that stand after words that assume, as far as they can be read."""
    parts = _FORMULAS.split(block.text)
    stands, conditional = standings(parts), find_conditional(parts)
    out: list[DisplayStatement] = []
    line = block.line
    for place, part in enumerate(parts):
        if (
            place % 2
            and place not in conditional
            and _is_assumed(parts[place - 1], stands[place])
            and _SIGN.search(part)
        ):
            with suppress(Unreadable, RecursionError):
                out += [one for one in statements_of(Display(line, part), lenient=True) if _relates(one)]
        line += part.count("\n")
    return out


def _is_assumed(before: str, standing: Standing) -> bool:
    """Whether a formula is assumed, or opens a condition: "If $a = b$, then"; not "where the first is when $i = l$"."""
    if _OPENS.search(before):
        return True
    return standing is Standing.ASSUMED and not _OF_CASE.search(before)


def _relates(statement: DisplayStatement) -> bool:
    """Whether a statement is a relation between formulas, and nothing else."""
    chains = statement.statement.chains
    return bool(chains) and all(chain.ops and set(chain.ops) <= _RELATIONS for chain in chains)


def _has_undeclared(context: Context, statement: DisplayStatement) -> bool:
    return any(names_in(chain) - set(context.symbols) for chain in statement.statement.chains)


def _count_gains(context: Context, block: Paragraph, leads: bool) -> int:
    """How many hypotheses and symbols a paragraph brings, -1 if it cannot be read as a declaration."""
    trial = context.copy()
    trial.understood = []
    declaring, rest = split_paragraph(block, leads)
    local = 0
    try:
        if declaring is not None:
            declare(trial, declaring, infer=True)
        if rest is not None:
            local = len(read_prose(trial, rest, leads))
    except (Unreadable, ShapeMismatch, RecursionError):
        return -1
    fresh = [name for name, one in trial.symbols.items() if context.symbols.get(name) is not one]
    return len(trial.hypotheses) - len(context.hypotheses) + local + len(fresh)
