r"""Sentences that declare a known letter anew: "Now let $k \in [d]$" where k was something else above.

An index is declared anew where nothing but the declaration is in the sentence: what was assumed of the letter before
is about another index. A letter that would become anything else keeps its meaning, and the report says so.
"""

from __future__ import annotations

import re

from attention_core.derivation.document.blocks import Paragraph, Sentence
from attention_core.derivation.latex.printer import symbol_name
from attention_core.derivation.latex.syntax import Unreadable
from attention_core.derivation.terms.context import Context
from attention_core.derivation.terms.terms import ShapeMismatch
from attention_core.derivation.words.caveats import chains_of
from attention_core.derivation.words.paragraphs import says_domain

_NOTHING_ELSE = re.compile(
    r"(?:\W|\b(?:now|next|then|finally|again|here|so|also|and|us|let|fix|take|choose|pick|consider|any|some|an?|the|"
    r"arbitrary|fixed|index|indices|position|positions|be|are|is)\b)*",
    re.IGNORECASE,
)


_FORMULA = re.compile(r"(?<!\\)\$[^$]*(?<!\\)\$")


def only_declares(text: str) -> bool:
    r"""Whether a sentence has no word but those of a declaration, such as "Now let $k \in [d]$".

    Args:
        text: The sentence.
    """
    return bool(_NOTHING_ELSE.fullmatch(_FORMULA.sub(" ", text)))


def declare_anew(context: Context, sentence: Sentence, text: str) -> bool:
    """Declare the indices of a sentence, known letters among them; report it where a letter keeps its meaning.

    Args:
        context: What is declared; it is changed where that succeeds.
        sentence: The sentence.
        text: The declaration that it makes.

    Returns:
        Whether the sentence was read.
    """
    from attention_core.derivation.reading.declare import declare

    formulas = sentence.parts[1::2]
    if not formulas or not all(says_domain(one, sentence.line, False) for one in formulas):
        return False
    trial = context.copy()
    trial.understood = []
    try:
        declare(trial, Paragraph(sentence.line, text), context.infers)
    except (Unreadable, ShapeMismatch, RecursionError):
        _report_meaning(context, sentence)
        return False
    declared = {symbol_name(chain.exprs[0]) for one in formulas for chain in chains_of(one, sentence.line)}
    fresh = [one for one in trial.symbols.values() if context.symbols.get(one.name) is not one]
    lost = set(context.symbols) - set(trial.symbols)
    indices = all(one.kind == "index" or one.name not in context.symbols for one in fresh)
    if lost or not indices or not only_declares(sentence.text):
        _report_meaning(context, sentence)
        return False
    if any(one.name not in declared and one.kind != "size" for one in fresh):
        return False
    context.symbols, context.dropped, context.hypotheses = trial.symbols, trial.dropped, trial.hypotheses
    context.understood += trial.understood
    return True


def _report_meaning(context: Context, sentence: Sentence) -> None:
    """Say which letters of a sentence keep the meaning that they have."""
    for formula in sentence.parts[1::2]:
        for chain in chains_of(formula, sentence.line):
            symbol = context.symbols.get(symbol_name(chain.exprs[0]) or "")
            if symbol is not None:
                advice = (
                    f"{symbol.name} is declared in line {symbol.line}: open a paragraph with 'Let' to declare it anew"
                )
                context.understood.append((sentence.line, f"not assumed: ${' '.join(formula.split())}$ ({advice})"))
