r"""Losses that a document does not write out: "Let $L$ be a scalar function of $O$ and $dO = \partial L / \partial O$."

Such a loss stands as `L \colon O \to \mathbb{R}` then, see `any_loss`. Gradients that are named by a d, as `dO` is
beside a size d, are names of one symbol.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from attention_core.derivation.document.blocks import Block, Display, Heading, Paragraph

_NAME = (
    r"(?:\\(?:mathcal|mathbf|boldsymbol|bm|hat|tilde)\s*\{\s*\\?[A-Za-z]+\s*\}|\\(?:hat|tilde)\s*\\?[a-zA-Z]|"
    r"\\?[A-Za-z]+)"
)
_ADJECTIVES = (
    r"(?:(?:scalar|scalar-valued|real-valued|real|differentiable|continuously|smooth|arbitrary|generic|general|fixed|"
    r"given|final|downstream|training|total|overall)[ -])*"
)
_KIND = rf"(?:an?|any|some|the|our|given) {_ADJECTIVES}(?:loss|objective|cost|function|functional)(?: function)?"
_ON = r"(?:depends|depending) (?:only )?on(?: \$[^$]+\$ (?:only|just) through)?"
_FUNCTION = rf"an? {_ADJECTIVES}function of"
_OF = rf"(?:of|(?:(?:that|which) )?(?:only )?{_ON}|(?:(?:that|which) is )?{_FUNCTION})"
_ROLE = r"(?:(?:the|its|that) (?:[a-z]+ ){1,3})?"
_RUN = rf"(?P<%s>{_NAME})(?:_\s*\{{?1\}}?\s*,[^$=<>]*?\\[lc]?dots\s*,[^$=<>]*?_\s*(?:\w|\{{\w+\}}))?"
_MORE = rf"(?:(?: and|, and|,) {_ROLE}\$\s*{_RUN % 'more'}\s*\$(?=\s*(?:[.;:]|, (?:and )?(?!\$)|$)))?"
_ARGUMENTS = (
    rf"{_ROLE}\$\s*{_RUN % 'of'}\s*\$(?: (?:only|alone))?{_MORE}(?!,? (?:and|or) {_ROLE}\$\s*{_NAME}\s*\$\s*[.;:])"
)
_BEHIND = re.compile(rf"\$\s*(?P<loss>{_NAME})\s*\$ (?:be|is|denotes?) {_KIND},? {_OF} {_ARGUMENTS}")
_CALLED = re.compile(
    rf"\$\s*(?P<loss>{_NAME})\s*\(\s*(?P<of>{_NAME})\s*\)\s*\$ (?:be|is|denotes?) {_KIND}(?! {_OF})(?![\w-])"
)
_BEFORE = re.compile(
    rf"(?:(?:Consider|Given|Take|Fix|We are given|Suppose (?:that )?(?:we have|there is)|For) )?{_KIND} "
    rf"\$\s*(?P<loss>{_NAME})\s*\$(?:,? {_OF}| is {_FUNCTION}| {_ON}) {_ARGUMENTS}",
    re.IGNORECASE,
)
_NAMELESS = re.compile(rf"\bThe (?:scalar )?(?:loss|objective|cost) (?:is {_FUNCTION}|{_ON}) {_ARGUMENTS}(?=\s*[.;:])")
_TITLED = re.compile(rf"\b(?:loss|objective|cost)(?: function)? \$\s*(?P<loss>{_NAME})\s*\$")
_SLASHED = re.compile(rf"\\partial\s*({_NAME})\s*/\s*\\partial\s*({_NAME})")
_GRADIENT = re.compile(
    r"(?<![A-Za-z\\{])d(?P<of>[A-Z])\s*(?:&\s*)?:?=\s*(?:&\s*)?\\(?:[dt]?frac\s*\{\s*\\partial[^{}]*\}\s*"
    r"\{\s*\\partial\s*(?P=of)\s*\}|nabla\s*_\s*\{?\s*(?P=of)(?![A-Za-z]))"
)
_NAMED = re.compile(r"(?<![A-Za-z\\])(?<!frac\{)(?<!\}\{)d([A-Z])(?![A-Za-z])")
_NAMED_OR_TAG = re.compile(
    rf"\\(?:tag|label)\*?\s*\{{[^{{}}]*\}}|{_NAMED.pattern}"
)  # the name of a step stays as it is
_FORMULA = re.compile(r"(?<![\\$])\$((?:[^$\\]|\\.)+)\$(?!\$)")


def spell_losses(blocks: Sequence[Block]) -> list[Block]:
    r"""Write losses of a quantity as functions, and gradients named by a d as names.

    Args:
        blocks: The blocks of a document.

    Example:
        >>> spell_losses([Paragraph(1, "Let $L$ be a loss of $O$, and $G = \\partial L/\\partial O$.")])[0].text
        'Let $L \\colon O \\to \\mathbb{R}$, and $G = \\frac{\\partial L}{\\partial O}$.'
    """
    text = "\n".join(block.text for block in blocks if isinstance(block, Paragraph | Display))
    spelled = [_spell(block, text) if isinstance(block, Paragraph | Display) else block for block in blocks]
    if any(_GRADIENT.search(block.text) for block in spelled if isinstance(block, Paragraph | Display)):
        spelled = [block if isinstance(block, Heading) else _with_names(block) for block in spelled]
    return spelled


def _spell(block: Block, document: str) -> Block:
    text = block.text
    if r"\partial" in text:
        text = _SLASHED.sub(r"\\frac{\\partial \1}{\\partial \2}", text)
    if isinstance(block, Paragraph) and "$" in text:
        plain = re.sub(r"(?<=\S)\n(?=\S)", " ", text)
        if any(one.search(plain) for one in (_BEHIND, _CALLED, _BEFORE, _NAMELESS)):
            text = _with_functions(text, document)
    return block if text == block.text else replace(block, text=text)


def _with_functions(text: str, document: str) -> str:
    """A paragraph with `L \\colon O \\to \\mathbb{R}` in the place of words, in as many lines."""
    spaced = before = text.replace("\n", " ")
    named = {" ".join(found["loss"].split()) for found in _TITLED.finditer(document)}
    only = named.pop() if len(named) == 1 else ""

    def write(opening: str, found: re.Match[str]) -> str:
        loss = found.groupdict().get("loss") or only
        if not loss or _is_written_out(loss, document):
            return found[0]
        of = ", ".join(one for name in ("of", "more") if (one := found.groupdict().get(name)))
        return rf"{opening}${loss} \colon {of} \to \mathbb{{R}}$"

    for pattern in (_BEFORE, _NAMELESS):
        spaced = pattern.sub(partial(write, "Let "), spaced)
    for pattern in (_BEHIND, _CALLED):
        spaced = pattern.sub(partial(write, ""), spaced)
    return text if spaced == before else spaced + "\n" * text.count("\n")


def _is_written_out(loss: str, document: str) -> bool:
    r"""Whether a formula of the document says what a loss is, and not what its gradient is: then it is not any."""
    name = re.escape(loss)
    says = re.finditer(
        rf"(?<![A-Za-z\\{{]){name}\s*(?:\([^()]*\)\s*)?(?:&\s*)?(?::=|=|\\(?:{_SAYS})(?![a-z]))", document
    )
    return any(not _SLOPE.search(document[max(0, one.start() - MOST_BEFORE) : one.start()]) for one in says)


_SAYS = "equiv|triangleq|coloneqq|propto|approx"
_SLOPE = re.compile(
    r"(?:\\nabla\s*(?:\^\s*\{?2\}?)?\s*(?:_\s*(?:\{[^{}]*\}|\\?\w+))?|\\partial|(?<![A-Za-z])d|\{d\})\s*$"
)
MOST_BEFORE = 60  # characters of a derivative's sign


def _with_names(block: Block) -> Block:
    if isinstance(block, Display):
        return replace(block, text=_NAMED_OR_TAG.sub(_name_gradient, block.text))
    if isinstance(block, Paragraph):
        return replace(block, text=_FORMULA.sub(lambda f: _NAMED.sub(r"\\mathrm{d\1}", f[0]), block.text))
    return block


def _name_gradient(found: re.Match[str]) -> str:
    return found[0] if found[1] is None else rf"\mathrm{{d{found[1]}}}"
