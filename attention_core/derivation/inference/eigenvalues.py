r"""Eigenvalues and singular values that are written as functions: `\lambda_{\max}(A)`, `\sigma_1(A B)`."""

from __future__ import annotations

import re

from attention_core.derivation.elaborate.expressions import Elaborator
from attention_core.derivation.elaborate.matrix_functions import is_matrix_formula
from attention_core.derivation.latex.syntax import Chain, names_in
from attention_core.derivation.terms.context import Context

_SPECTRAL = re.compile(r"\\(?:lambda|sigma)_\{(?:\\?(?:text\{)?(?:max|min)\}?|\d+|[a-z])\}")
_CAPITAL = re.compile(r"[A-Z]|\\[A-Z][a-z]+")
_SIGNS = frozenset([r"\top", "T", "I"])


def is_spectral(name: str) -> bool:
    r"""Whether a name is that of an eigenvalue or a singular value in front of a matrix: `\lambda_{\max}`."""
    return _SPECTRAL.fullmatch(name) is not None


def is_eigenvalue(context: Context, name: str, inside: Chain) -> bool:
    r"""Whether `\lambda_i` stands in front of a matrix, as far as this is declared or written with capitals.

    Args:
        context: What is declared.
        name: The name in front of a bracket.
        inside: What stands in the bracket.
    """
    if not is_spectral(name) or not inside.alone:
        return False
    names = names_in(inside) - _SIGNS
    if names and all(_is_matrix(context, one) for one in names):
        return True
    return is_matrix_formula(Elaborator(context), inside.exprs[0])


def _is_matrix(context: Context, name: str) -> bool:
    """Whether a name is declared as a matrix, or is a capital that is not declared."""
    symbol = context.symbols.get(name)
    if symbol is None:
        return _CAPITAL.fullmatch(name) is not None
    kind = symbol.type
    return kind is not None and kind.kind == "matrix" and not kind.vector
