r"""A letter $\pi$ that is not 3.14: a probability, a policy, a distribution, a permutation.

Nothing else declares it, so a bare $\pi$ is read as the number. Where the document uses the letter otherwise ("with
probability $\pi$", `\pi(a \mid s)`, `V^\pi`), a step is not refuted, and is accepted if it holds of any number there.
Beside functions and roots `2 \pi` is the number all the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.inference.usage import walk, whole_names
from attention_core.derivation.latex.syntax import Name, Num, Times, Unreadable
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, Evidence, Finding, Verdict
from attention_core.derivation.terms.context import Symbol
from attention_core.derivation.terms.terms import SCALAR, Relation, ShapeMismatch
from attention_core.derivation.words.caveats import shorten_quote

Decide = Callable[[Step, Sequence[Relation]], Finding]
PI = r"\pi"
_PI = r"\\pi(?![a-zA-Z])"
_STYLE = r"(?:\\(?:mathbf|boldsymbol|bm|vec|hat)\s*\{?\s*)?"
_NOUN = (
    r"(?:polic(?:y|ies)|probabilit(?:y|ies)|distributions?|priors?|proportions?|(?:mixture|mixing|prior) \w+|weights?|"
    r"permutations?|strateg(?:y|ies)|projections?|partitions?|propensit(?:y|ies)|parameters?)"
)
_IN_PROSE = compile_quick(
    rf"\b{_NOUN}(?: vector| matrix| function)?,? (?:is |of |called |named )?\$\s*{_STYLE}{_PI}|"
    rf"\$\s*{_STYLE}{_PI}[^$]*\$,? (?:(?:is|are|be|denotes?|for|as|gives?) )?"
    rf"(?:(?:the|an?|our|its|some) )?(?:[\w-]+ ){{0,3}}?{_NOUN}\b",
    re.IGNORECASE,
)
_IN_FORMULA = re.compile(
    rf"{_PI}\s*(?:\\left)?\(\s*[^()$=]*?(?:\\mid|\\vert|\\given|\||;|,)|\\sim\s*{_PI}|{_PI}\s*\\(?:in|sim)(?![a-zA-Z])|"
    rf"(?:[A-QS-Zvq]|\\mathbb\s*\{{?E\}}?)\s*[_^]\s*\{{?\s*{_PI}(?!\s*[/\d+-])|\\(?:max|min|sup|nabla)\s*_\s*\{{?\s*{_PI}|{_PI}\s*(?:\^\s*\{{?\s*\*|')"
)
_OF_NUMBERS = re.compile(r"\\(?:sqrt|log|ln|exp|sin|cos|tan|int|det)(?![a-zA-Z])|\be\s*\^|i\s*\\pi|\\pi\s*i")


def weigh_letter_pi(step: Step, found: Finding, decide: Decide) -> Finding:
    r"""The finding on a step, or UNDECIDED where it rests on a $\pi$ that its document may use for something else.

    Args:
        step: The step.
        found: What was found of it.
        decide: Decides a step under some more hypotheses.
    """
    if not _has_bare(step) or not (where := next(_find_uses(step), "")):
        return found
    if found.verdict in GOOD:
        context = step.context.copy()
        context.symbols[PI] = Symbol(PI, "array", step.line, context.level, SCALAR)
        try:
            other = decide(replace(step, context=context), ())
        except (Unreadable, ShapeMismatch, Unsettled):
            other = found
        if other.verdict in GOOD and other is not found:
            text = f"whatever number ${PI}$ is: {found.evidence.text}"
            return replace(found, verdict=other.verdict, evidence=replace(found.evidence, text=text))
    text = f"{where}, and it was read as the number: declare it, as in 'Let ${PI} \\in (0, 1)$'; as it was read, "
    return Finding(Verdict.UNDECIDED, Evidence(text + found.evidence.text, found.evidence.figures))


def _has_bare(step: Step) -> bool:
    r"""Whether a $\pi$ without an index that nothing declares stands in a step, but for `2 \pi` beside a root."""
    if PI in step.context.symbols or PI not in whole_names(step.left) | whole_names(step.right):
        return False
    nodes = [one for side in (step.left, step.right) for one in walk(side)]
    count = sum(one == Name(PI) for one in nodes)
    products = [one.factors for one in nodes if isinstance(one, Times)]
    led = sum(
        isinstance(first, Num) and second == Name(PI) for factors in products for first, second in pairwise(factors)
    )
    return led < count or not _OF_NUMBERS.search(step.text)


def _find_uses(step: Step) -> Iterator[str]:
    r"""Where the document uses $\pi$ as something else, in words."""
    for words in step.far_words:
        quote = " ".join(words.quote.split())
        if PI in quote and (_IN_PROSE.search(quote) or _IN_FORMULA.search(quote)):
            yield f"line {words.line} may say that ${PI}$ is something else ('{shorten_quote(quote)}')"
    for peer in (step, *step.peers):
        if found := _IN_FORMULA.search(peer.text):
            yield f"line {peer.line} has ${PI}$ as something else (${found[0].strip()}$)"


__all__ = ["weigh_letter_pi"]
