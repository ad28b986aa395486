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
from attention_core.derivation.reading.any_function import spell_functions

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
_VALUED = re.compile(
    rf"(\b(?:{_FUNCTION}|{_ON}))\s+\$\s*({_NAME})\s*=\s*((?:[^$=\\_]|\\[A-Za-z,;!|]+|_(?:\{{[^{{}}$]*\}}|\w))+?)\s*\$"
)
"""A loss that is a function of what the same formula defines: "a function of $z = W x$"."""
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
    blocks = _write_shorthand(blocks)
    spelled = [_spell(block, text) if isinstance(block, Paragraph | Display) else block for block in blocks]
    spelled = [part for block in spelled for part in _cut(block)]
    if any(_GRADIENT.search(block.text) for block in spelled if isinstance(block, Paragraph | Display)):
        spelled = [block if isinstance(block, Heading) else _with_names(block) for block in spelled]
    return spelled


_CUT = re.compile(r"(?<=[.;])\s+(?=(?:Let|If|For|Suppose|We|Given|Consider)\b[^.;]*\\colon)")


def _cut(block: Block) -> list[Block]:
    """A paragraph that goes on with a display and then says of what a loss is a function, as two."""
    opens = isinstance(block, Paragraph) and re.match(r"\s*(?:where|with|here)\b", block.text)
    found = _CUT.search(block.text) if opens else None
    if found is None or not isinstance(block, Paragraph):
        return [block]
    line = block.line + block.text.count("\n", 0, found.end())
    return [replace(block, text=block.text[: found.start()]), replace(block, line=line, text=block.text[found.end() :])]


_MARK = r"(?P<mark>d|\\(?:bar|overline|dot|hat|tilde|delta))"
_WRITES = re.compile(
    rf"\$\s*{_MARK}\s*(?:\{{\s*)?(?P<of>\\?[A-Za-z])\s*\}}?\s*(?:\$\s*(?:for|denotes|is|means|stands for|to denote)\s*"
    rf"(?:the (?:gradient|derivative)\s*)?\$|:?=)\s*(?:\\[dt]?frac\s*\{{\s*\\partial\s*(?P<loss>{_NAME})\s*\}}\s*"
    rf"\{{\s*\\partial\s*(?P=of)\s*\}}|\\partial\s*(?P<other>{_NAME})\s*/\s*\\partial\s*(?P=of))\s*\$"
)


_CALLED_SO = re.compile(r"\b(?:shorthands?|abbreviations?|abbreviate|notation)\b[^.;:!?$]*$", re.IGNORECASE)
_NOT_OURS = re.compile(
    r"\b(?:not|never|unlike|instead\s+of|rather\s+than|others?|(?:some|many|most)\s+[a-z]+)\b[^.;:!?]*$", re.IGNORECASE
)
_GREEK = (
    r"\\(?:var)?(?:alpha|beta|gamma|delta|epsilon|zeta|eta|theta|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|phi|chi|psi|omega|"
    r"ell|Gamma|Delta|Theta|Lambda|Xi|Sigma|Phi|Psi|Omega)"
)


def _write_shorthand(blocks: Sequence[Block]) -> list[Block]:
    r"""Write gradients out that a document has a sign for: "We write $\bar{v}$ for $\partial L / \partial v$."

    The letter of such a sentence is any symbol if no display has it, or if the sentence calls it a shorthand.
    """
    displays = "\n".join(block.text for block in blocks if isinstance(block, Display))
    for block in blocks:
        found = _WRITES.search(block.text) if isinstance(block, Paragraph) else None
        if found is None or _NOT_OURS.search(block.text[: found.start()]):
            continue
        named = bool(_CALLED_SO.search(block.text[: found.start()]))
        if not named and re.search(rf"(?<![A-Za-z\\]){re.escape(found['of'])}(?![A-Za-z])", displays):
            continue
        mark, loss = found["mark"], found["loss"] or found["other"]
        letter = rf"(?:\{{\s*(\\?[A-Za-z])\s*\}}|({_GREEK}|[A-Za-z])(?![A-Za-z]))(\s*_\s*(?:\{{[^{{}}]*\}}|\w))?"
        head = r"(?<![A-Za-z\\])d" if mark == "d" else rf"{re.escape(mark)}(?![A-Za-z])"
        sign = re.compile(rf"{head}\s*{letter}")

        return [_with_gradients(each, sign, loss, found[0] if each is block else "") for each in blocks]
    return list(blocks)


def _with_gradients(block: Block, sign: re.Pattern[str], loss: str, sentence: str) -> Block:
    """A block with gradients in the place of a sign, and without the sentence that says what the sign is for."""

    def write(one: re.Match[str]) -> str:
        return rf"\frac{{\partial {loss}}}{{\partial {one[1] or one[2]}{(one[3] or '').strip()}}}"

    if isinstance(block, Display):
        integral = r"\int" in block.text  # over what stands behind its d
        return block if integral else replace(block, text=sign.sub(write, block.text))
    if not isinstance(block, Paragraph):
        return block
    text = block.text.replace(sentence, "\x00") if sentence else block.text
    text = _FORMULA.sub(lambda one: sign.sub(write, one[0]), text)
    text = _WE_WRITE.sub(lambda one: "\n" * one[0].count("\n"), text).replace("\x00", "")
    return replace(block, text=text.lstrip(" "))


_WE_WRITE = re.compile(r"(?:(?<=[.;]\s)|^)[^.;$\x00]*\x00[^.;$]*(?:\$[^$=]*\$[^.;$=]*)*(?:[.;]|$)")


def _spell(block: Block, document: str) -> Block:
    text = block.text
    if r"\partial" in text:
        text = _SLASHED.sub(r"\\frac{\\partial \1}{\\partial \2}", text)
    if isinstance(block, Paragraph) and "wise" in text:
        text = spell_functions(text)
    if isinstance(block, Paragraph) and "$" in text:
        text = _VALUED.sub(r"\1 $\2$ with $\2 = \3$", text)
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
