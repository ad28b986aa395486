r"""Words around mathematics that say nothing of it: joints, what a chatbot answers first, labels of list items.

A joint points at other lines. An interjection, or words that announce a derivation, speak to the reader: "Sure! Here is
a step-by-step derivation.". A result is called after people, and its kin after it: "Bernoulli and friends:".
"""

from __future__ import annotations

import re

from attention_core.derivation.words.inert import PEOPLE

CONNECTIVES = (
    r"and", r"so", r"but", r"hence", r"thus", r"then", r"therefore", r"consequently", r"accordingly", r"now", r"next",
    r"finally", r"lastly", r"first", r"second", r"third", r"firstly", r"secondly", r"also", r"again", r"moreover",
    r"furthermore", r"here", r"indeed", r"in fact", r"of course", r"clearly", r"obviously", r"evidently", r"trivially",
    r"similarly", r"likewise", r"equivalently", r"in particular", r"in other words", r"in addition", r"in turn",
    r"in short", r"in total", r"for example", r"for instance", r"that is", r"namely", r"however",
    r"as a result", r"as a consequence", r"it is", r"or", r"more precisely", r"more generally",
    r"to begin with", r"to see this", r"formally", r"more formally", r"additionally", r"explicitly", r"concretely",
    r"specifically", r"i\.e\.", r"that is to say", r"yielding", r"to conclude", r"to summarize", r"in summary",
    r"more compactly", r"more concisely",
)  # fmt: skip
"""Words and phrases that join lines."""
_TEXT = (
    r"(?:derivations?|solutions?|proofs?|answers?|explanations?|calculations?|computations?|summary|summaries|overview|"
    r"walk-?through|breakdown|argument|sketch|write-?up|worked example|details|steps|outline|recap)"
)
_SORT = (
    r"(?:(?:step[- ]by[- ]step|short|full|detailed|complete|quick|brief|clear|concise|careful|rigorous|simple|possible|"
    r"self-contained|line[- ]by[- ]line|main|formal|informal|explicit|compact|nice|clean),? )*"
)
_PEOPLE = "|".join(
    sorted({re.escape(one.removesuffix("'s").removesuffix("'")) for one in PEOPLE}, key=len, reverse=True)
)
ASIDES: dict[str, str] = {
    "interjection": (
        r"(?:sure(?: thing)?|certainly|absolutely|of course|yes|okay|ok|alright|all right|great|happy to help|"
        r"with pleasure|no problem|(?:that(?:'s|\u2019s| is) )?(?:an? )?(?:great|good|nice|excellent) question|"
        r"let(?:'s|\u2019s| us) (?:begin|start|go|dive in|get started|work through (?:it|this)(?: step by step)?))"
    ),
    "here is": (
        rf"(?:and )?(?:here (?:is|are|comes|follows?)|(?:this|what follows|below) is|i(?:'ll| will) give(?: you)?) "
        rf"(?:an? |the |my |our |your |some )?{_SORT}{_TEXT}(?: (?:below|step by step|in detail|in full))*"
    ),
    "people": (
        rf"(?:(?:{_PEOPLE})(?:'s)?(?: inequality)?(?:,? and )?)+(?:its |his |her |their )?"
        r"(?:friends|relatives|company|co|kin)"
    ),
}
"""Sentences that speak to the reader, and names of results; each must match from its first word to its last."""
_ITEM = re.compile(
    r"^(?:\((?:\d{1,2}|[a-z]|[ivx]{1,4})\)|(?:\d{1,2}|[a-z])\)|\d{1,2}\.|(?:answer|solution|proof|exercise|problem|question|remark|"
    r"note|example|claim|fact|step|part|lemma|theorem|proposition|corollary)(?: \d{1,2}[a-z]?)?:)\s+(?=\S)",
    re.IGNORECASE,
)


def without_item_label(text: str) -> str:
    """Drop the label of an item of a list, or of a part of a text, in front of its words.

    Args:
        text: The words.

    Example:
        >>> [without_item_label(one) for one in ("(a) I get", "2. Hence", "Answer: we have", "(1)")]
        ['I get', 'Hence', 'we have', '(1)']
    """
    return _ITEM.sub("", text)
