"""Norms, inner products, derivatives, inverse functions, random symbols outside expectations.

Notation with a meaning of its own is read with that meaning, and what has two meanings is not read with either.
Every row here was once read in another way, or refuted for its notation.
"""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort

LIGHT = Effort(small=4, tuples=1, large=2, altered=40, seconds=120)
HEAD = (
    "Let $m, n \\in \\mathbb{N}$, $x, y \\in \\mathbb{R}^{n}$, $A, B \\in \\mathbb{R}^{m \\times n}$, $s, t \\in \\mathbb{R}$ and "
    "$i \\in \\{1, \\dots, n\\}$. Let $e' \\sim \\mathcal{N}(1, 1/2)$, $u \\sim \\operatorname{Uniform}[0, 2]$, "
    "$c \\sim \\operatorname{Bernoulli}(1/3)$, $g \\sim \\operatorname{Geometric}(1/2)$.\n\n"
)


def verdict(formula: str, head: str = HEAD) -> tuple[str, str]:
    (step,) = check_document(f"{head}$$ {formula} $$\n", effort=LIGHT).steps
    return str(step.verdict), step.evidence.text


@pytest.mark.parametrize(
    "formula",
    [
        r"\|x\|_2^2 = x^\top x",
        r"\|x\|_1 \ge \|x\|_2",
        r"\|x\|_\infty \le \|x\|_1",
        r"\|A\|_F^2 = \operatorname{tr}(A^\top A)",
        r"\langle x, y \rangle = x^\top y",
        r"\left\langle A, B \right\rangle = \operatorname{tr}(A^\top B)",
        r"\frac{d s^3}{d s} = 3 s^2",
        r"\frac{\mathrm{d}}{\mathrm{d} s} t s^3 = 3 t s^2",
        r"t \frac{d^2}{d s^2} s^3 = 6 s t",
        r"\frac{\partial^2}{\partial s^2} s^3 = 6 s",
        r"\frac{\partial^2 (s^2 t)}{\partial s \partial t} = 2 s",
        r"\operatorname{max}_{j} x_j \ge x_i",
        r"(e')^2 \ge 0",
        r"u > 0",
        r"c^2 = c",
    ],
)
def test_notation_is_read_with_its_meaning(formula: str) -> None:
    found, words = verdict(formula)
    assert found in ("PROVED", "EXACT", "AGREES"), words


@pytest.mark.parametrize(
    ("formula", "expected", "words"),
    [
        (r"\frac{\partial^2 s^3}{\partial s} = 3 s^2", "UNREADABLE", "the order 2 and whose lower ones say 1"),
        (r"\frac{\partial^2 s^3}{\partial s^3} = 6 s", "UNREADABLE", "the order 2 and whose lower ones say 3"),
        (r"\sin^{-1} s = \frac{1}{\sin s}", "UNREADABLE", "inverse function or the inverse number"),
        (r"\sum_{j \in \{1, \dots, n\}}^{2} x_j = x_1", "UNREADABLE", "what stands above"),
        (r"\|A\|_3 \le \|A\|_F", "UNREADABLE", "the norm with index 3"),
        (r"\Pr[s, t] = 1", "UNREADABLE", "write a probability as"),
        (r"\Pr[s \to t] = 1", "UNREADABLE", "write a probability as"),
        ("s_2 = 1", "UNREADABLE", "s_{2} is not declared"),
        ("3!! = 3", "UNREADABLE", "is not understood"),
        (r"\log(s, t) = 1", "UNREADABLE", "not understood of these arguments"),
        ("e' > 0", "REFUTED", "is not above"),
        ("u > 1", "REFUTED", "is not above"),
        ("c = 1", "REFUTED", "0 is not 1"),
        ("g > 0", "UNDECIDED", "stands outside"),
        (r"\mathbb{E}[e'] = e'", "REFUTED", "1 is not 0"),
    ],
)
def test_notation_with_two_meanings_is_not_read(formula: str, expected: str, words: str) -> None:
    found, text = verdict(formula)
    assert found == expected and words in text, text


def test_a_declared_d_makes_a_quotient_of_two_products_ambiguous() -> None:
    head = "Let $d, m \\in \\mathbb{N}$ and $x \\in \\mathbb{R}$.\n\n"
    assert verdict(r"\frac{d x^2}{d x} = 2 x", head)[0] == "UNREADABLE"
    assert verdict(r"\frac{d m}{d + d} = \frac{m}{2}", head)[0] == "PROVED"


BROADCAST = "Let $n, d \\in \\mathbb{N}$, $X \\in \\mathbb{R}^{n \\times d}$, $b \\in \\mathbb{R}^{1 \\times d}$, $s \\in \\mathbb{R}$"


@pytest.mark.parametrize(
    ("true", "false"),
    [
        (r"\operatorname{softmax}(X + s) = \operatorname{softmax}(X)", r"\operatorname{softmax}(X + b) = X"),
        (r"\mathbf{1}_n^\top (X + b) = \mathbf{1}_n^\top X + n b", r"\mathbf{1}_n^\top (X + b) = \mathbf{1}_n^\top X + b"),
    ],
)  # fmt: skip
def test_sums_are_broadcast_only_where_the_document_says_so(true: str, false: str) -> None:
    for formula in (true, false):
        found, words = verdict(formula, f"{BROADCAST}.\n\n")
        assert found == "UNREADABLE" and "say in a declaration that sums" in words
    assert verdict(true, f"{BROADCAST}; sums are broadcast.\n\n")[0] == "PROVED"
    assert verdict(false, f"{BROADCAST}; sums are broadcast.\n\n")[0] == "REFUTED"
    ended = f"# A\n\n{BROADCAST}; sums are broadcast.\n\n# B\n\n{BROADCAST}.\n\n"
    assert verdict(true, ended)[0] == "UNREADABLE"


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (r"\frac{1}{1 + e^{-s}} \xrightarrow{s \to \infty} 1", "AGREES"),
        (r"\frac{1}{1 + e^{-s}} \xrightarrow[s \to -\infty]{} 1", "REFUTED"),
        (r"s \xrightarrow{p} 1", "UNREADABLE"),
    ],
)
def test_an_arrow_says_what_moves(formula: str, expected: str) -> None:
    assert verdict(formula)[0] == expected


TWO_READINGS = (
    "Let $n, d \\in \\mathbb{N}$, $P, B \\in \\mathbb{R}^{n \\times n}$, $G, V \\in \\mathbb{R}^{n \\times d}$, $s, t \\in \\mathbb{R}$ and "
    "$z \\sim \\mathcal{N}(s, 1)$, $w \\sim \\mathcal{N}(t, 1)$ independent.\n\n"
)


@pytest.mark.parametrize(
    ("formula", "expected", "words"),
    [
        (r"P \odot G V^\top = P \odot (G V^\top)", "PROVED", ""),  # from the left, the shapes do not fit
        (r"G \odot V V^\top G = (G \odot V) V^\top G", "UNREADABLE", "may come first or last"),
        (r"P \odot B P = P", "UNREADABLE", "may come first or last: write brackets"),
        (r"s P \odot B = P \odot s B", "PROVED", ""),
        (r"e^{-s^2 / 2 t^2} = 1", "UNREADABLE", "may divide by one factor or by two"),
        (r"s / 2 t = 1", "UNREADABLE", "may divide by one factor or by two"),
        (r"1/2 s = s / 2", "PROVED", ""),
        (r"s / 2 \cdot t = \frac{s t}{2}", "PROVED", ""),
        (r"\mathbb{E}_{z}[z] = s", "PROVED", ""),
        (r"\mathbb{E}_{z, w}[z w] = s t", "PROVED", ""),
        (r"\mathbb{E}_{z}[z w] = s w", "UNREADABLE", "a subscript of E"),
        (r"\frac{\partial}{\partial s} \operatorname{erf}(s) = \frac{2}{\sqrt{\pi}} e^{-s^2}", "PROVED", ""),
        (r"\operatorname{nullity}(P) \le n", "UNREADABLE", "no function of that name is known"),
        (r"\prod_{i=0}^{\infty} (1 + 2^{-i}) = 2", "UNREADABLE", "a series is"),
    ],
)
def test_what_may_be_read_in_two_ways_needs_brackets(formula: str, expected: str, words: str) -> None:
    found, text = verdict(formula, TWO_READINGS)
    assert found == expected and words in text, text


def test_a_slip_is_told_once() -> None:
    text = (
        "Let $n \\in \\mathbb{N}$ and $y, p \\in \\mathbb{R}^n$.\n\nNow we look at the gradient of the loss in the wild.\n\n"
        "$$ \\sum_{i=1}^{n} i^2 = \\frac{n (n + 1) (2 n - 1)}{6} $$\n"
    )
    (step,) = check_document(text, infer=True).steps
    assert str(step.verdict) == "REFUTED" and step.evidence.text.count("read as: ") <= 1
    assert "and it holds with $2 n + 1$" in step.evidence.text and not step.evidence.advice
