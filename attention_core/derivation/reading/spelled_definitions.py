r"""Definitions inside sentences that say more: "Let the loss be $L = ...$", "For $x > 0$ we use the map $s(x) = ...$".

A formula that gives a value to a new name, with the words that only say what this is called, becomes a sentence of its
own behind what its sentence declares. A name of a closed list restricts nothing of what has a value; with any other the
sentence stays as it is. Formulas are masked, as in `spelled_laws`.
"""

from __future__ import annotations

import re

from attention_core.derivation.reading.masked_text import FORMULA, formula_at, has_name

CALLED = (  # restricts nothing of what has a value
    r"(?:(?:squared|logistic|hinge|cross-entropy|training|total|predicted|hidden|sample|empirical|arithmetic|linear|quadratic|scaled|"
    r"sigmoid|softplus|relu|tanh|score|loss|cost|objective|activation|output|usual|corresponding|resulting)\s+)*"
    r"(?:loss(?:es)?|costs?|objective|outputs?|predictions?|residuals?|errors?|logits?|scores?|mean|average|sum|total|"
    r"difference|product|ratio|gradient|update|state|layer|representation|activations?|function|softplus|sigmoid|relu|tanh|"
    r"gelu|matrix|vector|network|model|predictor|midpoint|number of ones|quantity|variable|estimator)"
)
_NAME = r"(?P<name>\\?[A-Za-z]+(?:_\{?\w+\}?)?|\\(?:bar|hat|tilde|mathbf|boldsymbol)\s*\{?\s*\\?[A-Za-z]+\s*\}?)"
_DEFINES = re.compile(
    rf"^\s*{_NAME}\s*(?P<call>\(\s*\\?[A-Za-z]+(?:\s*,\s*\\?[A-Za-z]+)*\s*\))?\s*:?=\s*(?P<value>[^=<>]+)$"
)
_LIVES = re.compile(r"\\(?:in|sim)(?![A-Za-z])|[<>]|\\(?:[lg]eq?|neq?)(?![A-Za-z])")
_UNIT = re.compile(
    rf"(?P<lead>(?:^|[,;]\s*|\s+)(?:(?:and|where|with|so)\s+)?(?:(?:we|let us)\s+)?(?:(?:let|put|set|define"
    rf"|write|consider|use|take|"
    rf"introduce)\s+)?(?:(?:the|an?|our|its|their)\s+{CALLED}\s+)?(?:(?:be|by|is|as|given\s+by|defined\s+(?:by|as))\s+)?)"
    rf"(?P<what>{FORMULA})(?P<role>\s+(?:(?:be|is|denotes?|for|as)\s+)?(?:the|an?|its|their)\s+{CALLED}(?=\s*(?:[.,;]|$|(?:and|with|where|for)\b)))?",
    re.IGNORECASE,
)
_DOMAIN = re.compile(r"\\in(?![A-Za-z])")
_CLAIMS = re.compile(
    r"\b(?:show|prove|claim|verify|check|find|found|obtain|get|have|has|if|unless|when|whenever|then|hence|thus|therefore|"
    r"since|because|not|never|follow|imply|implies|yields?|gives?|becomes?|minimi[sz]\w*|maximi[sz]\w*|equals?|that)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?:(?<=[.!?])\s+|^\s*)(?P<text>[^.!?\x00]*\x00[^.!?]*)(?P<end>[.]?)", re.DOTALL)
_OPENS = re.compile(r"^\s*(?:let|suppose|assume|given|consider|fix|take)\b", re.IGNORECASE)
_HEAD = re.compile(
    r"^(?:[\s,;]|(?:and|where|with|for|let|put|define|write|set|if|when|all|any|every|each|we|us)\b)+", re.IGNORECASE
)
_TAIL = re.compile(r"(?:[\s,;]|\b(?:and|where|with|for|let|put|we|write|so)\b)+$", re.IGNORECASE)


def spell_definitions(above: str, masked: str, formulas: list[str]) -> str:
    r"""Write definitions inside sentences behind what these sentences declare.

    Args:
        above: The formulas of the document above: a name of theirs is not defined anew.
        masked: The text with its formulas masked.
        formulas: What the masks stand for.

    Example:
        >>> made = ["L = 2 w", "w \\in \\mathbb{R}"]
        >>> spell_definitions("", "Let the loss be \x000\x00, with \x001\x00.", made)
        'Given \x001\x00. Put \x000\x00.'
    """
    if not any("=" in one for one in formulas):
        return masked
    return _SENTENCE.sub(lambda found: _rewrite(above, found, formulas), masked)


def _rewrite(above: str, found: re.Match[str], formulas: list[str]) -> str:
    text, taken, called = found["text"], list[str](), False
    if _CLAIMS.search(text):
        return found[0]
    every = [formula_at(one, formulas) for one in re.findall(FORMULA, found.string)]
    rest, at = "", 0
    for unit in _UNIT.finditer(text):
        made = _DEFINES.match(re.sub(r"_\{[^{}]*\}", "", formula_at(unit["what"], formulas)))
        if made is None or not _is_new(made, above, every, formula_at(unit["what"], formulas)):
            continue
        rest, at = rest + text[at : unit.start()] + " ", unit.end()
        taken.append(unit["what"])
        called = called or (re.match(r"\s*with\s", unit["lead"], re.IGNORECASE) is not None and not unit.start())
        called = called or bool(unit["role"]) or re.search(CALLED, unit["lead"], re.IGNORECASE) is not None
    rest = (rest + text[at:]).strip()
    opened = bool(_OPENS.match(rest) and re.match(r"[^\0]*\0", rest))
    rest = _TAIL.sub("", rest) if opened else _TAIL.sub("", _HEAD.sub("", rest))
    left = [formula_at(one, formulas) for one in re.findall(FORMULA, rest)]
    lives = [one for one in left if _LIVES.search(one)]
    if re.match(r"\s*for\b", text, re.IGNORECASE) and not all(_DOMAIN.search(one) for one in lives):
        return found[0]  # "For $x < 0$ the output is ...": a case
    if not taken or not called or (rest and not left) or len(lives) < len(left):
        return found[0]
    opens = "" if not rest else f"{rest}. " if opened else f"{_verb(text)} {rest}. "
    begins = re.match(r"\s*", found[0])
    end = "" if found["end"] else " Then"
    written = f"{begins[0] if begins else ''}{opens}{' '.join(f'Put {one}.' for one in taken)}{end}"
    return written + "\n" * (found[0].count("\n") - written.count("\n"))


def _verb(text: str) -> str:
    """What opens the sentence of what is left: an assumption stays one."""
    return "Suppose" if re.match(r"\s*(?:suppose|assume)\b", text, re.IGNORECASE) else "Given"


def _is_new(made: re.Match[str], above: str, every: list[str], own: str) -> bool:
    """Whether a name is given a value, or a domain, by one formula alone, and has other letters for it."""
    name = made["name"].strip()
    if not re.search(r"[A-Za-z]", made["value"]) or has_name(name, made["value"]) or has_name(name, above):
        return False
    behind = r"(?:\([^()]*\))?\s*(?:,|:?=|[<>]|\\(?:in|sim|[lg]eq?|neq?)(?![A-Za-z])|$)"
    valued = re.compile(rf"(?:^|,)\s*{re.escape(name)}\s*{behind}")
    return not any(name in one and one != own and valued.search(one) for one in every)
