r"""What a document says of signs that authors use differently: "where $\otimes$ denotes the Kronecker product".

Such a sentence, or the part of one, is taken from the prose, since it says nothing of symbols. It holds for the whole
document. That eigenvalues or singular values of a matrix are ordered, the largest first, is how they are counted
anyway. A document that speaks of Kronecker products, of pseudo-inverses or of the spectral norm anywhere means them
by $\otimes$, $A^\dagger$ and $\|A\|_2$, unless it says otherwise of the sign itself. Where "$x^i$ is the $i$th entry of
$x$", no $x^2$ is a power. Where a softmax runs over columns by words, steps are tried so too. Where a document says
what $e$ is, it may be that elsewhere as well, but below an exponent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from attention_core.derivation.document.blocks import Block, Display, Paragraph
from attention_core.derivation.elaborate.calls import SOFTMAX_OF_COLUMNS
from attention_core.derivation.elaborate.matrix_functions import (
    E_DECLARED,
    ENTRIES_ABOVE,
    ENTRYWISE,
    KRONECKER,
    OUTER,
    PSEUDO_INVERSE,
    SPECTRAL_NORM,
    UNITS,
    VEC_BY_ROWS,
)
from attention_core.derivation.quick_patterns import compile_quick

_SAYS = r"\s*(?:denotes?|is|are|means|stands\s+for|for|stacks?|:|,)\s+"
_LEAD = r"(?:[,;(]?\s*(?:\b(?:where|here|and|with|let|if|throughout|as\s+usual|we\s+write|write)\b[,\s]*)*)"
_OF = r"(?:\s+of\s+(?:(?:two|an?|the|its|their|all)\s+)?(?:matri(?:x|ces)|vectors?|arrays?|\$[^$]{1,12}\$))?"
_TENSOR = {
    KRONECKER: r"kronecker(?:\s+product)?",
    OUTER: r"outer\s+product",
    ENTRYWISE: r"(?:hadamard|element-?wise|entry-?wise|component-?wise)\s+(?:product|multiplication)",
}
_NORM = r"\\(?:\||Vert|lVert)\s*(?:\\cdot|\.|[A-Z])\s*\\(?:\||Vert|rVert)"
_VEC = r"\\(?:operatorname|mathrm|text)\s*\{\s*[vV]ec\s*\}\s*(?:\(\s*(?:\\cdot|[A-Z])\s*\))?"
_STATEMENTS: tuple[tuple[str, str, str], ...] = (
    *((name, r"\\otimes", noun) for name, noun in _TENSOR.items()),
    ("", r"\\odot", _TENSOR[ENTRYWISE]),
    ("", r"\\delta\s*_\s*\{?\s*[a-z]\s*,?\s*[a-z]\s*\}?", r"kronecker(?:'s)?[\s-]+delta(?:\s+(?:function|symbol))?"),
    (SPECTRAL_NORM, rf"{_NORM}(?:_\{{?2\}}?)?", r"(?:spectral|operator)\s+norm|largest\s+singular\s+value"),
    ("", rf"{_NORM}_\{{?\*\}}?", r"(?:nuclear|trace)\s+norm"),
    ("", rf"{_NORM}_\{{?F\}}?", r"frobenius\s+norm"),
    ("", r"[A-Z]\^\{?(?:\+|\\dagger)\}?", r"(?:moore[-\u2013]penrose\s+)?(?:pseudo-?inverse|inverse)"),
    (VEC_BY_ROWS, _VEC, r"(?:the\s+)?rows(?:\s+of\s+a\s+matrix(?:\s+into\s+a\s+vector)?)?"),
    ("", _VEC, r"(?:the\s+)?(?:columns(?:\s+of\s+a\s+matrix(?:\s+into\s+a\s+vector)?)?|vectori[sz]ation)"),
    ("", r"\\lambda_\{?\\?(?:text\{)?max\}*(?:\([A-Z]\))?", r"largest\s+eigenvalue"),
    (
        UNITS,
        r"(?:\\(?:mathbf|boldsymbol|bm)\s*\{?\s*)?e\s*\}?_\{?[a-z]\}?",
        r"\$\s*[a-z]\s*\$-?(?:th|st|nd)\s+(?:(?:standard|canonical|natural|euclidean)\s+)?"
        r"(?:basis|unit|coordinate)\s+vector(?:\s+(?:in|of)\s+\$[^$]{1,24}\$)?",
    ),
    (
        "",
        r"\\(?:mathbf|mathbb|boldsymbol|bm)\s*\{?\s*1\s*\}?(?:\s*_\s*\{?\w+\}?)?(?:\s*\\in\s*\\mathbb\s*\{?\s*R\s*\}?"
        r"\s*\^\s*\{?\w+\}?)?",
        r"(?:vector\s+of\s+(?:all\s+)?ones|all[- ]ones\s+vector)",
    ),
    (
        "",
        r"(?:\\(?:mathbf|boldsymbol|bm|mathrm)\s*\{?\s*)?I\s*\}?(?:\s*_\s*\{?\w+\}?)?",
        r"(?:\$[^$]{1,24}\$\s+)?identity(?:\s+matrix)?(?:\s+of\s+(?:size|order|dimension)\s+\$[^$]{1,24}\$)?",
    ),
    ("", r"\\lambda_\{?\\?(?:text\{)?min\}*(?:\([A-Z]\))?", r"smallest\s+eigenvalue"),
    ("", r"\\sigma_\{?(?:\\?(?:text\{)?max|1)\}*(?:\([A-Z]\))?", r"largest\s+singular\s+value"),
)
_COMPILED = tuple(
    (name, compile_quick(
        rf"{_LEAD}\$\s*{mark}\s*\${_SAYS}(?:(?:the|a|its)\s+)?(?:usual\s+|matrix\s+)?(?:{noun}){_OF}\)?",
        re.IGNORECASE))
    for name, mark, noun in _STATEMENTS
)  # fmt: skip
_MENTIONS = (
    (KRONECKER, re.compile(r"\bkronecker(?!'s)(?! delta)", re.IGNORECASE)),
    (PSEUDO_INVERSE, re.compile(r"\bpseudo-?inverse|\bmoore[-\u2013]penrose", re.IGNORECASE)),
)
_ABOVE = r"\$\s*(?:\\(?:mathbf|boldsymbol|bm|vec)\s*)?\{?\s*(\\?[A-Za-z]+)\s*\}?\s*\^\s*"
_ORDINAL = r"(?:\$\s*[a-z]\s*\$|[a-z])\s*-?\s*(?:th|st|nd|\$\^\{?\\?(?:text|textrm|mathrm)?\{?th\}*\$)"
_ENTRIES = (
    re.compile(
        rf"{_ABOVE}\{{?\s*[a-z]\s*\}}?\s*\$\s+(?:is|denotes|be|being|means|stands\s+for|for|represents)\s+(?:the|an?|its)\s+"
        rf"(?:{_ORDINAL}|respective|corresponding)\s+(?:component|entry|coordinate|element)\b"
    ),
    re.compile(
        r"\b(?:components|entries|coordinates)\s+(?:are\s+|be\s+)?"
        rf"{_ABOVE}\{{?\s*1\s*\}}?\s*,\s*(?:\\[cl]?dots|\.\.\.)\s*,[^$]*\^"
    ),
)
_BY_COLUMNS = (  # "for each query" is of rows
    r"column-?\s?wise|column\s+by\s+column|(?:on|over|along|across|per|to|for|in)\s+(?:(?:each|every|the|its|all|a)\s+)*"
    r"(?:columns?|(?:first|query)\s+(?:axis|dimension)|(?:axis|dim(?:ension)?)\s*=?\s*\$?\s*0)|"
    r"(?:over|along|across)\s+(?:all\s+)?(?:the\s+)?queries|"
    r"(?:(?:whose|so\s+that|such\s+that)\s+)?(?:(?:the|its|all|each|every)\s+)?columns?\s+(?:of\s+\$[^$]{1,12}\$\s+)?"
    r"(?:each\s+)?sums?\s+(?:up\s+)?to\s+(?:one|\$?1)"
)
_COLUMN_SOFTMAX = compile_quick(
    r"\bcolumn-?\s?wise\s+softmax|\bsoftmax\b\}?(?:[^$.;]*\$)?(?:[\s,(]|\b(?:is|are|be|being|acts?|runs?|works?|taken|applied|"
    rf"computed|normali[sz]e[sd]?|where|with|the|softmax|operates?|operation|function)\b)*\b(?:{_BY_COLUMNS})\b",
    re.IGNORECASE,
)
_NOT_EULER = r"(?!\s*(?:2\.7|\\(?:lim|sum|exp)(?![a-zA-Z])|(?:\\left\s*)?\(\s*1\s*\+))"
_E_IN_PROSE = re.compile(rf"\$\s*e\s*(?:(?::?=){_NOT_EULER}|\\in\b|\\sim\b)")
_E_ALONE = re.compile(r"\$\s*e\s*\$")
_OF_EULER = re.compile(
    r"\b(?:euler\w*|bases?|exponential\w*|logarithm\w*|natural|numbers?|constants?|powers?|transcendental|irrational)\b",
    re.IGNORECASE,
)
"""What a sentence says of the number e: "one-hot vectors $e$" are another e."""
_E_IN_DISPLAY = re.compile(rf"(?:^|\\\\|\}}|,|\\quad)\s*&?\s*e\s*&?\s*(?:(?::?=){_NOT_EULER}|\\sim\b)", re.MULTILINE)
_SIGNS = compile_quick(
    r"kronecker|identity|product|multiplication|norm|singular value|eigenvalue|inverse|stacks|vectori[sz]ation|"
    r"columns|basis vector|unit vector|coordinate vector|ones",
    re.I,
)
_OF_A = r"(?:\\lambda|\\sigma)_\{?\w+\}?\s*\([^$()]+\)"
_DESCENDING = rf"{_OF_A}(?:\s*\\geq?\s*(?:\\[cl]?dots|{_OF_A}))+"
_ORDER = re.compile(
    r"(?:,?\s*\b(?:and|with|have|has|having|let|write|denote|order(?:ing)?|sort(?:ing)?|label(?:ling)?)\b)?\s*(?:(?:the|its|their)\s+)?"
    rf"(?:eigenvalues|singular\s+values)(?:\s+of\s+\$[^$]{{1,12}}\$)?\s*(?:(?:as|by|are|ordered|sorted|so\s+that)\s+)*\${_DESCENDING}\$,?",
    re.IGNORECASE,
)
r"""The largest first, which is how they are counted here: `\lambda_1(A) \ge \dots \ge \lambda_n(A)`."""
_SUMMED = re.compile(
    r"^\s*[^.$]*(?:repeated indices|einstein)[^.$]*\.\s+(?=(?:Let|Given|Assume|Suppose)\b)", re.IGNORECASE
)
_EMPTY = re.compile(r"(?:^|(?<=[.]))\s*(?:where|here|and|with|let)?\s*[.,;]", re.IGNORECASE)


def take_notations(blocks: Sequence[Block]) -> tuple[list[Block], frozenset[str]]:
    """The blocks without what they say of signs, and what these stand for.

    Args:
        blocks: The blocks of a document.
    """
    found: set[str] = set()
    mentioned: set[str] = set()
    out: list[Block] = []
    for block in blocks:
        if isinstance(block, Paragraph | Display) and _declares_e(block):
            found.add(E_DECLARED)
        if isinstance(block, Paragraph) and _COLUMN_SOFTMAX.search(block.text):
            found.add(SOFTMAX_OF_COLUMNS)
        if isinstance(block, Paragraph) and "^" in block.text:
            found |= {f"{ENTRIES_ABOVE}{one[1]}" for pattern in _ENTRIES for one in pattern.finditer(block.text)}
        if isinstance(block, Paragraph) and (summed := _SUMMED.match(block.text)):  # what follows declares
            out.append(replace(block, text=summed[0]))
            block = replace(block, line=block.line + summed[0].count("\n"), text=block.text[summed.end() :])
        if not isinstance(block, Paragraph) or not _SIGNS.search(block.text):
            out.append(block)
            continue
        text = block.text
        mentioned |= {name for name, pattern in _MENTIONS if pattern.search(text)}
        for name, pattern in _COMPILED if "$" in text else ():
            text, count = pattern.subn(lambda match: "\n" * match[0].count("\n"), text)
            found |= {name} if count and name else set()
        if "value" in text:
            text = _ORDER.sub(lambda match: "\n" * match[0].count("\n"), text)
        if text != block.text:
            text = _EMPTY.sub(lambda match: "\n" * match[0].count("\n"), text)
        if text.strip(" \n.,;") or text == block.text:
            out.append(replace(block, text=text))
    tensors = found & set(_TENSOR)
    return out, frozenset(found | {name for name in mentioned if name not in _TENSOR or not tensors})


def _declares_e(block: Paragraph | Display) -> bool:
    """Whether a block says what e is, and not only that it is Euler's number."""
    if isinstance(block, Display):
        return bool(_E_IN_DISPLAY.search(block.text))
    sentences = re.split(r"(?<=[.;!?])\s", block.text) if _E_ALONE.search(block.text) else ()
    called = any(_E_ALONE.search(one) and not _OF_EULER.search(one) for one in sentences)
    return called or bool(_E_IN_PROSE.search(block.text))
