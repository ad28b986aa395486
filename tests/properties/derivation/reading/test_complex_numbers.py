"""Complex numbers as rotary embeddings use them, decided by their real and imaginary parts."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import GOOD, Verdict

DECLARED = r"Let $\theta, m, n \in \mathbb{R}$ and $q, k \in \mathbb{C}$."
STEPS = [
    (r"(q e^{i m \theta}) \overline{(k e^{i n \theta})} = q \bar{k} e^{i (m - n) \theta}", True),
    (
        r"\operatorname{Re}\left[ (q e^{i m \theta}) (k e^{i n \theta})^* \right] = \operatorname{Re}[q k^* e^{i (m - n) \theta}]",
        True,
    ),
    (r"e^{i \theta} = \cos \theta + i \sin \theta", True),
    (r"i^2 = -1", True),
    (r"|e^{i \theta}| = 1", True),
    (r"|q k| = |q| |k|", True),
    (r"\frac{1}{q} = \frac{\bar{q}}{|q|^2}", True),
    (r"(q + k)^2 = q^2 + 2 q k + k^2", True),
    (r"\operatorname{Re}(q \bar{k}) = \operatorname{Re}(k \bar{q})", True),
    (r"\operatorname{Re}(q) \le |q|", True),
    (r"(q e^{i m \theta}) \overline{(k e^{i n \theta})} = q \bar{k} e^{i (m + n) \theta}", False),
    (r"q \bar{k} = k \bar{q}", False),
    (r"e^{i \theta} e^{-i \theta} = i", False),
    (r"|q + k| = |q| + |k|", False),
    (r"\operatorname{Im}(q \bar{k}) = \operatorname{Im}(k \bar{q})", False),
    (r"\operatorname{Re}(q) \ge |q|", False),
    (r"|q|^2 = q^2", False),  # true of real numbers
]


@pytest.mark.parametrize(("formula", "right"), STEPS)
def test_steps_about_complex_numbers(formula: str, right: bool) -> None:
    for infer in (False, True):
        found = check_document(f"{DECLARED}\n\n$$ {formula} $$\n", infer=infer).steps[-1]
        assert found.verdict in GOOD if right else found.verdict is Verdict.REFUTED, found.evidence.text


def test_what_has_no_parts_is_not_read() -> None:
    for formula in (r"q \le k", r"\log q = 1", r"q^{k} = 1", r"\sin q = 0"):
        found = check_document(f"{DECLARED}\n\n$$ {formula} $$\n").steps[-1]
        assert found.verdict in (Verdict.UNREADABLE, Verdict.UNDECIDED), (formula, found.evidence.text)


def test_an_index_is_no_imaginary_unit() -> None:
    text = r"Let $n \in \mathbb{N}$, $i \in \{1, \dots, n\}$ and $q \in \mathbb{C}$." "\n\n$$ i^2 = -1 $$\n"
    assert check_document(text).steps[-1].verdict is Verdict.REFUTED
    plain = "Let $x \\in \\mathbb{R}$.\n\n$$ e^{i x} = \\cos x + i \\sin x $$\n"
    assert check_document(plain, infer=True).steps[-1].verdict not in (Verdict.REFUTED, *GOOD)
    said = f"With the imaginary unit $i$:\n\n{plain}"
    assert check_document(said, infer=True).steps[-1].verdict in GOOD


@pytest.mark.parametrize(
    ("given", "formula"),
    [
        (r"Let $q \in \mathbb{C}$ with $|q| = 1$.", r"q \bar{q} = 1"),
        (r"Let $q, k \in \mathbb{C}$ be nonzero.", r"q k \ne 0"),
        (r"Let $q, k \in \mathbb{C}$. Assume $q = k$.", r"q \bar{k} = |q|^2"),
        (r"Let $q, k \in \mathbb{C}$. If $q = k$, then", r"q \bar{k} = |q|^2"),
        (r"Let $q, k \in \mathbb{C}$ be real.", r"\bar{q} = q"),
        (r"Let $q \in \mathbb{C}$. Here $q$ is real.", r"\bar{q} = q"),
    ],
)
def test_a_hypothesis_about_a_complex_number_that_is_not_read_leaves_the_step_open(given: str, formula: str) -> None:
    found = check_document(f"{given}\n\n$$ {formula} $$\n", infer=True).steps[-1]
    assert found.verdict is Verdict.UNDECIDED and "was not read" in found.evidence.text, found.evidence.text


def test_a_subscript_i_is_not_the_imaginary_unit() -> None:
    head = "Let $E_\\mathrm{i}, E_\\mathrm{r} \\in \\mathbb{R}$ and $i^2 = -1$."
    square = (
        "(E_\\mathrm{r} + i E_\\mathrm{i})^2 = E_\\mathrm{r}^2 %s E_\\mathrm{i}^2 + 2 i E_\\mathrm{r} E_\\mathrm{i}"
    )
    for sign, verdict in (("-", "PROVED"), ("+", "REFUTED")):
        (found,) = check_document(f"{head}\n\n$$ {square % sign} $$\n", infer=True).steps
        assert str(found.verdict) == verdict, found.evidence.text
