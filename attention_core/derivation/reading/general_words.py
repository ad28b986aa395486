r"""Sentences that go from an example to all values: "For example, let $x = 2$. In general $x$ is any real number."

What the example assumes, or the value that it gives a symbol, may have ended there. So after such a sentence no step is
accepted that holds for the example alone (see `withdrawals`).
"""

from __future__ import annotations

import re
from dataclasses import replace

from attention_core.derivation.document.blocks import Sentence
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.terms.context import Caveat, Context, Symbol
from attention_core.derivation.words.caveats import declared_names, shorten_quote
from attention_core.derivation.words.paragraphs import says_domain
from attention_core.derivation.words.vocabulary import PROPERTY

_GENERAL = compile_quick(
    r"\b(?:in\s+general|in\s+the\s+general\s+case|more\s+generally|generally|in\s+(?:full|complete|all)\s+generality|"
    r"of\s+course|in\s+truth|in\s+reality|actually|otherwise|beyond\s+th(?:is|e)\s+example|"
    r"apart\s+from\s+th(?:is|e)\s+example|after\s+th(?:is|e)\s+example|back\s+to)\b",
    re.IGNORECASE,
)
_ANY = re.compile(
    r"\$\$\s*,?\s*(?:(?:and|or)\s+\$\$\s*)?(?:is|are|be|may\s+be|can\s+be|could\s+be|denotes?|"
    r"stands\s+for|ranges\s+over|runs\s+over|"
    r"varies|vary|takes?|may\s+take|can\s+take)\b(?P<what>[^$]*)",
    re.IGNORECASE,
)
_KIND = re.compile(
    r"^\s*(?:(?:just|simply|only|allowed\s+to\s+be|of\s+course)\s+)*(?:(?:an?|any|every|all|the|some|arbitrary|general|generic|real|square|"
    r"given|possible)\s+)*(?:numbers?|reals?|scalars?|vectors?|matri(?:x|ces)|values?|arbitrary|general|anything|free|"
    r"points?|integers?|functions?|arrays?|unrestricted|unconstrained|inputs?)?\s*(?:[,.;:(]|$|(?:of|in|with|from|and)\b)",
    re.IGNORECASE,
)
_ALONE = re.compile(
    r"^\W*(?:but\s+|and\s+)?(?:in\s+general|more\s+generally|generally|in\s+the\s+general\s+case)\W*"
    r"(?:(?:we|one)\s+(?:\w+\s+)?(?:have|has|get|gets|find|finds|obtain|obtains|see|sees)(?:\s+that)?|it\s+holds(?:\s+that)?|"
    r"the\s+\w+\s+(?:is|reads|holds|becomes)|this\s+(?:is|reads|gives|becomes|holds))?\W*$",
    re.IGNORECASE,
)
NEAR = 2  # lines between an example and words that name no symbol
_SQUARE = re.compile(r"\bsquare\b", re.IGNORECASE)
_FOR_ANY = re.compile(
    r"\bfor\s+(?:an?\s+|any\s+|all\s+|every\s+)?(?:general|arbitrary|generic)\s+(?:(?:real|square)\s+)?(?:\w+\s+)?\$\$",
    re.IGNORECASE,
)


def find_general(context: Context, sentence: Sentence) -> Caveat | None:
    """What a sentence takes back of an example above it, None if it takes nothing back.

    Args:
        context: What is declared there.
        sentence: The sentence.
    """
    prose = sentence.prose
    general = bool(_GENERAL.search(prose))
    if not general and not _FOR_ANY.search(prose):
        return None
    names = _names_at_large(context, sentence)
    if not names and _ALONE.match(prose):
        near = range(sentence.line - NEAR, sentence.line + 1)
        names = frozenset(name for name, one in context.symbols.items() if one.line in near and is_example(one))
    if not names:
        return None
    return Caveat(sentence.line, shorten_quote(sentence.text), context.level, names, ends=sentence.line)


def _names_at_large(context: Context, sentence: Sentence) -> frozenset[str]:
    """The symbols that a sentence calls arbitrary, or of which it says no more than where they live."""
    names: frozenset[str] = frozenset()
    for formula in sentence.formulas:
        if says_domain(formula, sentence.line, False):
            names |= declared_names(context, formula.split(r"\in")[0], sentence.line)
    if PROPERTY.search(_SQUARE.sub(" ", sentence.prose)):
        return names
    found = _ANY.search(sentence.prose)
    if _FOR_ANY.search(sentence.prose) or (found is not None and _KIND.match(found["what"])):
        for formula in sentence.formulas:
            if not re.search(r"[=<>]|\\in", formula):
                names |= declared_names(context, formula, sentence.line)
    return names


def is_example(symbol: Symbol) -> bool:
    """Whether a symbol is defined as a value without symbols, which may be an example: $x = 2$."""
    return symbol.kind == "definition" and symbol.term is not None and not symbol.params and not symbol.mentions


def widen(symbol: Symbol) -> Symbol:
    """A symbol without its bounds and without the value that an example gave it."""
    if is_example(symbol) and symbol.term is not None:
        symbol = replace(symbol, kind="array", type=symbol.term.type, term=None)
    return replace(symbol, lower=None, upper=None, values=())
