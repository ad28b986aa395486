r"""Phrases that restrict nothing though a word of theirs might, and phrases that restrict though no word does."""

from __future__ import annotations

import re


def _any(*alternatives: str) -> str:
    return "(?:" + "|".join(alternatives) + ")"


_NUMBER = r"(?:two|three|four|ten|\d+)"
PHRASES = re.compile(
    r"`[^`]*`|\]\([^()\s]*\)|https?://\S+|<[^<>]*>|\\[a-zA-Z]+\*?(?:\{[^{}]*\})?|\b"
    + _any(
        r"without (?:any )?loss of (?:any )?generality",
        r"w\.?l\.?o\.?g\.?",
        r"if and only if",
        r"even (?:if|though|when|more|so|for)",
        r"as well as",
        r"(?:as|so) long as",
        r"as opposed to",
        r"rather than",
        r"at least (?:as|in)",
        r"in (?:short|addition|common|particular|the same (?:way|manner|fashion|vein|spirit))",
        r"the same (?:holds|goes|way|argument|applies|reasoning|is true|steps?|computation|calculation|formula|result)",
        r"the same (?:symbol|notation|letters?|names?|factor|term|number|expression|quantity|on both sides)",
        r"by the same \w+",
        r"not (?:only|yet|necessarily|even|surprising(?:ly)?|hard|difficult|needed|of interest)",
        r"need not",
        r"whether or not",
        r"do(?:es)? not (?:matter|depend|change|need|assume|use|require)",
        r"no (?:longer|more|matter|doubt|wonder|surprise)",
        r"of no (?:interest|importance)",
        r"zero or more",
        r"without (?:further|more) \w+",
        r"triangle inequality",
        r"(?:expand|complet)\w* (?:out )?the squares?",
        r"(?:terms?|factors?|sums?) on the (?:right|left)",
        r"short (?:calculation|computation|proof|argument|derivation|answer|sketch)s?",
        r"closed form",
        r"linear (?:algebra|layers?|maps?|models?|regression|projections?|transformations?)",
        r"natural language(?: processing)?",
        r"large language models?",
        rf"(?:divid|multipl)\w+ by {_NUMBER}",
        r"what is more",
        r"up to now",
        r"so far",
        r"one (?:by|after) (?:one|another|the other)",
        r"i\.\s?e\.",
        r"e\.\s?g\.",
        r"et al\.?",
        r"common (?:mistakes?|errors?|practice|choices?|notations?|knowledge)",
        r"means? that",
        r"with the (?:help|above|notation|definitions?|abbreviations?)",
        r"(?:naming|notation|notational) conventions?",
        r"vice versa",
        r"(?:of|on) (?:its|our|their) own",
        r"a priori",
        r"per se",
        r"ad hoc",
    )
    + r"(?![\w-])",
    re.IGNORECASE,
)
TOGETHER = re.compile(
    r"\b"
    + _any(
        r"(?:attention|softmax) (?:weights?|probabilities|distributions?|matri(?:x|ces)|rows?|maps?)",
        r"(?:a|by the|from the) softmax(?= (?:returns?|gives?|outputs?|makes?|produces?)|[.,;]|$)",
        r"as (?:many|much|long|large|small|big) \w+",
        r"stands? out",
        r"(?:fixed|critical|extreme|end) points?",
        r"one[- ]dimensional",
        r"(?:scalar|simplest|base|limiting|degenerate|diagonal|univariate) case",
        r"unit \w+",
        r"in common",
        r"real part",
        r"identity matri(?:x|ces)",
        r"in (?:\w+ )?order(?! to\b| of (?:the )?appearance)",
        r"comes? (?:first|last|before|after)",
        r"by (?:the |our |this |its )?(?:choice|construction|assumption|hypothesis|design)",
        r"(?:in|for|with|under|of) (?:self|cross|causal)[- ]attention,",
        r"cut off",
        r"set aside",
        r"left out",
        r"taken out",
        r"switched? off",
        r"turned? off",
        r"left alone",
    )
    + r"(?!\w)",
    re.IGNORECASE,
)
_PLACE = (
    r"(?:lines?|steps?|sections?|sec|equations?|eqs?|eqn|figures?|fig|tables?|theorems?|lemmas?|propositions?|"
    r"corollar(?:y|ies)|definitions?|chapters?|pages?|parts?|examples?|remarks?|algorithms?|appendix|items?|exercises?|"
    r"claims?|properties|property|volumes?|versions?|layers?|questions?|python|source|problem)"
)
_COUNT = r"\(?\d[\d.]*(?:\([a-z]\))?(?:[ivx]+\b)?\)?"
# Numbers that only say where something stands: "line 3", "(2.1)", "[12]", years, "GPT-2".
REFERENCE = re.compile(
    rf"\b{_PLACE}\.?[ ~]*{_COUNT}(?:(?:,| and| to| or|-)\s*{_COUNT})*|\[[^\[\]]*\d[^\[\]]*\]|\(\d{{1,3}}(?:\.\d+)?\)|"
    r"^\s*\(?[\divx]{1,4}[.)]|^\s*\d\d\d, \d[\d.]*(?:\(\w+\))?[ivx]*|\b\d+(?:\.\d+){2,}|\b(?:1[5-9]|20)\d\d\b|"
    r"\b[A-Za-z]+-?\d+\b",
    re.IGNORECASE,
)
