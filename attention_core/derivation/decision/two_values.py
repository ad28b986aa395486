r"""Steps that hold of labels, masks, bits and signs, where a document mentions them anywhere.

A person who confirms that y is a number has not said that it may be 2. `(m x)^2 = m x^2` is true of a mask, and
`(y - f)^2 = 1 - 2 y f + f^2` of a sign. So a step that is false as it was confirmed stays open where it holds with
y^2 = y or y^2 = 1, and the document has a word for such numbers, or names their values. Where it speaks of classes, of
a softmax or of an entropy, entries may sum to one, as labels and shares do,
and where it normalizes, columns may have the norm one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from attention_core.derivation.decision.conventions import collect_symbols
from attention_core.derivation.decision.usual import verdict_under
from attention_core.derivation.reading.step import FarWords, Step
from attention_core.derivation.records import GOOD, Finding
from attention_core.derivation.terms.terms import Relation

Decide = Callable[[Step, Sequence[Relation]], Finding]
MOST = 16
"""Hypotheses that are tried."""
_SHARES = re.compile(
    r"softmax|cross\W?entrop|one\W?hot|\bclass(?:es|ifi\w+)?\b|categor|probabilit|distribution", re.IGNORECASE
)

_MARGINS = re.compile(r"\b(?:hinge|margins?|svms?|support[ -]vector|perceptron|\w*boost\w*)\b", re.IGNORECASE)
_UNITS = re.compile(r"\b(?:re)?normali[sz]\w*|\bunit\b|\bspher\w+|\bcosine\b", re.IGNORECASE)
_TWO_VALUES = re.compile(
    r"\b(?:binary|boolean\w*|bernoulli|indicator\w*|bits?|one-hot|mask\w*|labels?|class\w*|logistic|zero-one|0[-/]1|"
    r"idempoten\w*|project\w*|involut\w*|signs?|spins?|rademacher|coins?|unit\w*|normali[sz]\w*|standardi[sz]\w*|"
    r"whiten\w*|adjacen\w*|graphs?|select\w*|gat(?:e[sd]?|ing)|presen(?:t|ce)|absen(?:t|ce)|success\w*|fail\w*|"
    r"outcomes?|events?|votes?|clicks?|true|false|flags?|parity|either|dumm(?:y|ies)|treat(?:ed|ments?)|control|"
    r"w[io]n|lost|loses?|switch\w*|heads?|tails?|alive|dead|open|closed|spam|yes|no|on|off|spouse|member\w*|choos\w*|"
    r"chosen|selector|included?|modulus|phases?|circle|"
    r"(?:equals?|is|are|to|of|be|with|variance) (?:0|1|one|zero))\b",
    re.IGNORECASE,
)
_RANGE = re.compile(r"_\s*\{[^{}]*\}")  # the i = 1 of a sum gives no value
_LETTER = re.compile(r"(?<!\\)[a-zA-Z]")
_TWO_NUMBERS = re.compile(r"\{\s*[-+]?\s*[01]\s*,|\\pm\s*1|=\s*[-+]?\s*[01](?![\d.])|\^\s*\{?2\}?\s*=")
NEAR = 6  # lines around a step whose words may be about it, whatever they name


def find_two_values(step: Step, confirmed: Step, decide: Decide) -> str:
    """The formula by which undeclared numbers have two values and a false step holds, '' for none.

    Args:
        step: The step as its document has it.
        confirmed: The step with its readings declared, which is false so.
        decide: Decides a step under some more hypotheses.
    """
    formulas: list[str] = []
    if any(_SHARES.search(one.words) for one in step.far_words):
        formulas += [
            rf"\sum_{{{_choose_index(confirmed)}}} {one} = 1" for one, many in _list_numbers(step, confirmed) if many
        ]
    if any(_UNITS.search(one.words) for one in step.far_words):
        formulas += _write_norms(step, confirmed)
    if mentions_two_values(step) or any(_MARGINS.search(one.words) for one in step.far_words):
        formulas += _write_values(step, confirmed)
    return next((one for one in formulas[:MOST] if verdict_under(confirmed, one, decide) in GOOD), "")


def mentions_two_values(step: Step, symbol: str = "") -> bool:
    """Whether a document may say that numbers are 0 and 1, or signs, whose squares are not new.

    Words far from a step that speak of other symbols say nothing of this one.

    Args:
        step: The step.
        symbol: The symbol they may be said of, '' for any.
    """
    relations = (one.formula for one in step.far_relations)
    own = (one.text for one in step.context.hypotheses)
    named = re.compile(rf"(?<![a-zA-Z\\]){re.escape(symbol)}(?![a-zA-Z])")

    def is_about(one: FarWords) -> bool:
        formulas = re.split(r"(?<!\\)\$", one.quote)[1::2]
        near = abs(one.line - step.line) <= NEAR
        return not symbol or near or not any(map(_LETTER.search, formulas)) or any(map(named.search, formulas))

    return any(_TWO_VALUES.search(one.words) and is_about(one) for one in step.far_words) or any(
        _TWO_NUMBERS.search(_RANGE.sub(" ", one)) and (not symbol or named.search(one)) for one in (*relations, *own)
    )


def _write_values(step: Step, confirmed: Step) -> Iterator[str]:
    """That each number has two values, and that all have."""
    numbers = [one for one, _ in _list_numbers(step, confirmed)]
    for values in ("{0}^2 = {0}", "{0}^2 = 1"):
        each = [values.format(one) for one in numbers]
        yield from each
        yield from [", ".join(each)] if len(each) > 1 else []


def _write_norms(step: Step, confirmed: Step) -> list[str]:
    """That each column has the norm 1, and that all have."""
    known = confirmed.context.symbols
    names = sorted(collect_symbols(step) & set(step.context.inferred) & set(known))
    arrays = [known[name] for name in names if known[name].kind == "array" and known[name].term is None]
    each = [rf"\|{one.name}\| = 1" for one in arrays if one.type is not None and one.type.vector and one.type.column]
    return [*each, ", ".join(each)] if len(each) > 1 else each


def _choose_index(step: Step) -> str:
    return next((one for one in "ijklrst" if one not in step.context.symbols), "i'")


def _list_numbers(step: Step, confirmed: Step) -> Iterator[tuple[str, bool]]:
    """The undeclared numbers of a step as they are written, and whether each is one of many."""
    known, index = confirmed.context.symbols, _choose_index(confirmed)
    for name in sorted(collect_symbols(step) & set(step.context.inferred) & set(known)):
        one = known[name]
        if one.term is not None or one.type is None or step.context.inferred[name].endswith("says so)"):
            continue
        if one.kind == "family" or (one.kind == "array" and one.type.vector and one.type.column):
            yield f"{name}_{index}", True
        elif one.kind == "array" and one.type.scalar:
            yield name, False


__all__ = ["find_two_values", "mentions_two_values"]
