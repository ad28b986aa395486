r"""All eigenvalues of a symmetric matrix by name: "symmetric with eigenvalues $\lambda_1, \dots, \lambda_n$".

They become numbers whose sum is the trace and whose product is the determinant. That is less than is said, so what
holds of such numbers holds of the eigenvalues, and the words stay in a sentence of their own: a step that is false of
such numbers may depend on them.
"""

from __future__ import annotations

import re

from attention_core.derivation.document.blocks import Sentence
from attention_core.derivation.reading.masked_text import CLOSES, FORMULA, Rewrite, add_formula, formula_at
from attention_core.derivation.terms.context import Caveat, Context
from attention_core.derivation.words.caveats import declared_names, shorten_quote

_WITH = r",?\s+(?:and\s+)?(?:with|having|has|have)\s+(?:the\s+)?(?:real\s+)?eigenvalues\s+"
_SYMMETRIC = re.compile(
    rf"(?P<of>{FORMULA})\s+(?P<verb>be|is)\s+(?P<what>(?:an?\s+)?(?:real\s+)?symmetric)(?:\s+(?P<size>{FORMULA}))?"
    rf"(?P<noun>\s+matrix)?{_WITH}(?P<values>{FORMULA}){CLOSES}",
    re.IGNORECASE,
)
_SQUARE = re.compile(
    r"^\s*(?P<name>[A-Z])\s*\\in\s*\\mathbb\s*\{?R\}?\s*\^\s*\{\s*(?P<n>[a-zA-Z])\s*\\times\s*(?P=n)\s*\}\s*$"
)
_SIZE = re.compile(r"^\s*(?P<n>[a-zA-Z])\s*\\times\s*(?P=n)\s*$")
_VALUES = re.compile(
    r"^\s*(?P<name>\\?[A-Za-z]+)_\{?1\}?\s*,\s*(?:(?P=name)_\{?2\}?\s*,\s*)?\\[lc]?dots\s*,\s*(?P=name)_\{?(?P<n>[a-zA-Z])\}?\s*$"
)


def _name_values(found: re.Match[str], formulas: list[str]) -> str:
    r"""`$A$ be a symmetric $n \times n$ matrix with eigenvalues $\lambda_1, \dots, \lambda_n$` in four sentences."""
    of, values = formula_at(found["of"], formulas), _VALUES.match(formula_at(found["values"], formulas))
    if found["size"]:
        name, square = re.fullmatch(r"[A-Z]", of), _SIZE.match(formula_at(found["size"], formulas))
        matrix = name and name[0]
    else:
        square = _SQUARE.match(of)
        matrix = square and square["name"]
    if values is None or square is None or not matrix or values["n"] != square["n"]:
        return found[0]  # not all of them, or not of a square matrix
    letter, several = "j" if square["n"] == "i" else "i", formula_at(found["values"], formulas)
    entry, ends = f"{values['name']}_{letter}", f"{{{letter}=1}}^{{{square['n']}}}"
    lives = add_formula(formulas, rf"{several} \in \mathbb{{R}}")
    trace = add_formula(formulas, rf"\operatorname{{tr}}({matrix}) = \sum_{ends} {entry}")
    determinant = add_formula(formulas, rf"\det({matrix}) = \prod_{ends} {entry}")
    size = f" {found['size']}" if found["size"] else ""
    about = add_formula(formulas, matrix)
    return (
        f"{found['of']} {found['verb']} {found['what']}{size}{found['noun'] or ''}. Let {lives}. "
        f"Assume {trace} and {determinant}. Here {found['values']} are the eigenvalues of {about}"
    )


_ARE = re.compile(r"^\W*Here \$\$ are the eigenvalues of \$\$\W*$")


def keep_open(context: Context, sentence: Sentence) -> list[Caveat]:
    """What a sentence says of eigenvalues beyond their sum and product: a hypothesis on them that was not read.

    Args:
        context: What is declared there.
        sentence: The sentence.
    """
    if not _ARE.match(sentence.prose):
        return []
    names = declared_names(context, sentence.formulas[0], sentence.line)
    return [Caveat(sentence.line, shorten_quote(sentence.text), context.level, names, plain=True)] if names else []


EIGENVALUES: tuple[re.Pattern[str], Rewrite] = (_SYMMETRIC, _name_values)
"""The rule for all eigenvalues of a symmetric matrix, before "with" begins a clause."""
