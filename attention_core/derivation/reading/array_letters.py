r"""Letters that a document writes as arrays or complex numbers: `x_i`, `x^\top`, `\mathbf{x}`, `x \in \mathbb{R}^n`.

"Let $|x| < 1$." says that x is a number where bars around it cannot be a norm, a determinant or a modulus: nothing
else in the document may write this letter as an array. An index 0 is that of another number, `x_0`.
"""

from __future__ import annotations

from collections.abc import Sequence

from attention_core.derivation.document.blocks import Block, Heading
from attention_core.derivation.quick_patterns import compile_quick

_LETTER = r"(?<![A-Za-z])(\\?[A-Za-z]++)"  # a run of letters is looked at once, and none of its first letters alone
_STYLES = (
    r"\\(?:mathbf|boldsymbol|bm|vec|overrightarrow|bar|overline|operatorname\s*\{\s*(?:Re|Im|arg)\s*\})(?![A-Za-z])"
)
_WRITTEN = (
    compile_quick(rf"{_LETTER}\s*_(?!\s*(?:0|\{{\s*0\s*\}}))"),
    compile_quick(rf"{_LETTER}\s*\^\s*\{{?\s*(?:\\top|\\intercal|\\mathsf|\\ast|\*|T(?![A-Za-z]))"),
    compile_quick(rf"(?:\\[|lr]V?(?:ert)?|\|\|)\s*{_LETTER}\s*(?:\\[|lr]V?(?:ert)?|\|\|)"),
    compile_quick(rf"{_STYLES}\s*(?:[{{(]\s*)?{_LETTER}"),
    compile_quick(rf"{_LETTER}(?:\s*,\s*\\?[A-Za-z]++){{0,9}}\s*\\in\s*\\math(?:bb|bf)\s*\{{?\s*(?:C|R\s*\}}?\s*\^)"),
)


def array_letters(blocks: Sequence[Block]) -> frozenset[str]:
    r"""Find the letters that a document writes as arrays, or as complex numbers.

    Args:
        blocks: The blocks of the document.

    Example:
        >>> from attention_core.derivation.document.blocks import Display
        >>> sorted(array_letters([Display(1, "x^\\top y = y_0 + z_i")]))
        ['x', 'z']
    """
    text = "\n".join(block.text for block in blocks if not isinstance(block, Heading))
    found = (match.group(1) for pattern in _WRITTEN for match in pattern.finditer(text))
    return frozenset(found)
