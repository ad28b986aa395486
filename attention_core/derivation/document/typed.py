r"""Displays as people type them: letters of Unicode, ranges in words, "s.t.", brackets around all of it.

What is typed becomes the LaTeX for it, every line where it was.
"""

from __future__ import annotations

import re

_LETTERS = (
    "α alpha β beta γ gamma δ delta ε epsilon θ theta λ lambda μ mu π pi ρ rho σ sigma τ tau φ phi ω omega "
    "Σ Sigma Δ Delta"
)
_SIGNS = {
    "·": r"\cdot ", "×": r"\times ", "∑": r"\sum ", "∏": r"\prod ", "∞": r"\infty ", "∈": r"\in ", "→": r"\to ",
    "∂": r"\partial ", "∇": r"\nabla ", "⊙": r"\odot ", "⊗": r"\otimes ", "ℝ": r"\mathbb{R}", "𝔼": r"\mathbb{E}",
    "∀": r"\forall ", "≡": r"\equiv ", "∼": r"\sim ", "‖": r"\|", "⟨": r"\langle ", "⟩": r"\rangle ", "ᵀ": r"^\top ",
    **{sign: f"^{number}" for number, sign in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
    **{sign: f"_{number}" for number, sign in enumerate("₀₁₂₃₄₅₆₇₈₉")},
    **dict(zip(_LETTERS.split()[::2], (rf"\{name} " for name in _LETTERS.split()[1::2]), strict=True)),
}  # fmt: skip
_SIGN = re.compile("|".join(map(re.escape, _SIGNS)))
_RANGE = re.compile(
    r"\\(?:text\w*|mbox)\s*\{\s*,?\s*(?:for|where|with)(?:\s+all|\s+each)?\s+(?P<range>[a-z]\s*=\s*\d\s*,\s*(?:\d\s*,\s*)*"
    r"(?:\.\.\.|…|\\l?dots|\\cdots)\s*,?\s*[A-Za-z])\s*[.,]?\s*\}"
)
_DOTTED = re.compile(r"\s*,?\s*(?:\.\.\.|…|\\cdots)\s*,?\s*")
_SUBJECT = re.compile(
    r"(?<![\\a-zA-Z])s\.t\.?(?=\s*(?:\\q?quad|\\[ ,;:]|&|~))|\\(?:text|mbox|mathrm)\s*\{\s*s\.t\.?\s*\}"
)
_BRACKETED = re.compile(
    r"\s*(?:\\(?:left|[bB]igg?l?)\s*)?\((?P<inner>.*?)(?:\\(?:right|[bB]igg?r?)\s*)?\)\s*[.,;]?\s*", re.DOTALL
)
_RELATES = re.compile(r"[=<>]|\\(?:leq?|geq?|approx|neq?)(?![a-zA-Z])")


def as_formula(text: str) -> str:
    r"""The text of a display in LaTeX.

    Args:
        text: The display as it was typed.

    Example:
        >>> as_formula(r"x₁² + αy = 0 \text{ for i = 1, ..., n}")
        'x_1^2 + \\alpha y = 0 \\text{ for } i = 1, \\dots, n'
    """
    text = _SIGN.sub(lambda found: _SIGNS[found[0]], text)
    text = _RANGE.sub(_as_range, text)
    text = _SUBJECT.sub(lambda _: r"\text{subject to}", text)
    whole = _BRACKETED.fullmatch(text)
    if whole and _RELATES.search(_outside(whole["inner"])) and _is_balanced(whole["inner"]):
        return re.sub(r"[^\n]", " ", text[: whole.start("inner")]) + whole["inner"]
    return text


def _as_range(found: re.Match[str]) -> str:
    """The range of an index outside of the words around it."""
    return r"\text{ for } " + _DOTTED.sub(lambda _: r", \dots, ", found["range"])


def _outside(text: str) -> str:
    """What stands in no bracket of a text."""
    out, depth = [], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        out.append(letter if depth == 0 else " ")
    return "".join(out)


def _is_balanced(text: str) -> bool:
    """Whether the round brackets of a text close what they open."""
    depth = 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return False
    return depth == 0
