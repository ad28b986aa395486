r"""What stands over, below or in the label of a sign: an index of an operator, a remark, or a relation."""

from __future__ import annotations

import re
from collections.abc import Iterator

from attention_core.derivation.latex.braces import read_braces
from attention_core.derivation.latex.syntax import Unreadable
from attention_core.derivation.latex.tokens import ARROWS, RELATIONS
from attention_core.derivation.quick_patterns import compile_quick

_IN_BRACES = re.compile(r"[_^]\s*\{(?:[^{}]|\{[^{}]*\})*\}")
_RELATION = re.compile(r"[=<>]|\\(?:le|ge|ne|leq|geq|neq|approx|equiv|to|in|sim|propto)(?![a-zA-Z])")


def holds_relation(label: str) -> bool:
    """Whether a label holds a relation outside of subscripts.

    Args:
        label: What stands in the braces of the label.
    """
    return bool(_RELATION.search(_IN_BRACES.sub("", label)))


_OPERATOR = re.compile(
    r"\\(?:sum|prod|max|min|lim|sup|inf|argmin|argmax|mathbb|mathop|operatorname\*?|underset|overset)(?![a-zA-Z])"
)
_ONE_LETTER = re.compile(r"(?:\\math\w+|\\boldsymbol|\\bm)?\s*\{?\s*(?:\\[a-zA-Z]+|[A-Za-z])(?:_\w)?\s*\}?")
_DIMENSIONS = re.compile(r"[\s\d\w,(){}.]*(?:\\times|\\text|\\mathrm|\\cdot|\\in|\\mathbb|[\s\d\w,(){}^_.-])*")


_TYPED_OPERATOR = re.compile(r"(?:\\(?:mathrm|text|rm|mathop)\s*)?\{?\s*((?:arg\s*)?(?:max|min)|sup|inf|lim)\s*\}?")


def around_operator(name: str, label: str, base: str) -> str:
    r"""`\underset{x}{\max}` as `\max_{x}`; '' of anything but an operator.

    Args:
        name: The command, without its backslash.
        label: What stands over or below.
        base: What it stands at.
    """
    if name != "stackrel" and (typed := _TYPED_OPERATOR.fullmatch(base.strip())):
        word = "".join(typed[1].split())
        base = rf"\operatorname{{{word}}}" if word.startswith("arg") else rf"\{word}"
    if name == "stackrel" or not _OPERATOR.match(base.strip()):
        return ""
    return f"{base.strip()}{'_' if name == 'underset' else '^'}{{{label}}}"


def without_remark(name: str, label: str, base: str) -> str:
    r"""`\underset{n \times d}{X}` without its remark, `\overset{*}{x}` as a symbol of its own; '' of a relation.

    Args:
        name: The command, without its backslash.
        label: What stands over or below.
        base: What it stands at.
    """
    bare = base.strip()
    if bare in RELATIONS or bare in ARROWS or holds_relation(label):
        return ""
    if name == "underset" and r"\times" in label and _DIMENSIONS.fullmatch(label):
        return f"{{{bare}}}"
    return rf"\bar{{{bare}^{{{label}}}}}" if "$" not in label and _ONE_LETTER.fullmatch(bare) else ""


_BRACE = compile_quick(r"\\(?:under|over)brace(?=\s*\{)")
_BELOW = re.compile(r"\s*[_^](?=\s*\{)")
_WORDS_ALONE = re.compile(
    r"(?:\\(?:text\w*|mathrm|mbox)\s*\{[^{}]*\}|\\(?:to|rightarrow|longrightarrow)(?![a-z])|[\s.,;()])*"
)


def labels_of_braces(text: str) -> Iterator[tuple[int, str]]:
    r"""The labels of `\underbrace{x}_{= 1}` that hold a relation, each with its place.

    Args:
        text: The display.
    """
    for found in _BRACE.finditer(text):
        try:
            _, end = read_braces(text, found.end(), 0)
            below = _BELOW.match(text, end)
            label = read_braces(text, below.end(), 0)[0].strip() if below else ""
        except Unreadable:
            continue
        if holds_relation(label) and not _WORDS_ALONE.fullmatch(label):
            yield found.start(), label
