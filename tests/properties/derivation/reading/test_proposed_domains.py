"""What to write for a letter that nothing declares, by its use."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.source import blocks_of
from attention_core.derivation.reading.proposed_domains import averaged_names, is_noise, laws_in
from attention_core.derivation.reading.step import Step
from attention_core.derivation.reading.steps import steps_of

HEAD = "Let $n, d \\in \\mathbb{N}$, $c \\in \\mathbb{R}$ and $x_1, \\dots, x_n \\in \\mathbb{R}^d$.\n\n"


@pytest.mark.parametrize(
    ("formula", "advice"),
    [
        (r"\sum_{i=1}^m x_i = 0", r"'Let $m \in \mathbb{N}$' above"),
        (r"\frac{1}{m} \sum_{i=1}^m c = c", r"'Let $m \in \mathbb{N}$' above"),
        (r"i x_i = 0", r"'Let $i \in \{1, \dots, n\}$' (or its range) above"),
        (r"\mathbb{E}[(c + \epsilon)^2] = c^2", r"'Draw $\epsilon \sim \mathcal{N}(0, 1)$' (or its law) above"),
        (r"\lambda c = c", r"'Let $\lambda \in \mathbb{R}$' (or its shape) above"),
        (r"\mathbb{E}[\mu] = c", r"'Let $\mu \in \mathbb{R}$' (or its shape) above"),
    ],
)
def test_the_use_of_a_letter_says_what_to_declare(formula: str, advice: str) -> None:
    (step,) = check_document(f"{HEAD}$$ {formula} $$\n", infer=False).steps
    assert step.verdict == "UNREADABLE" and f"write {advice} the display" in step.evidence.text


def test_the_end_of_a_sum_is_a_size_in_the_whole_document() -> None:
    text = "$$ m c = c m $$\n\n$$ \\sum_{i=1}^m i = 1 $$\n"
    assert r"'Let $m \in \mathbb{N}$'" in check_document(text, infer=False).steps[0].evidence.text


def test_laws_and_averages_are_found() -> None:
    blocks = blocks_of("Noise: $\\epsilon \\sim \\mathcal{N}(0, 1)$, and $x \\sim y \\sim z$.\n")
    assert laws_in(blocks) == {r"\epsilon": r"\mathcal{N}(0, 1)"}
    text = "Let $a, b \\in \\mathbb{R}$. Put $y := a + b$.\n\n$$ \\mathbb{E}[y] + b = 0 $$\n"
    (step,) = steps_of(text)[0]
    assert isinstance(step, Step) and averaged_names(step) == {"y", "a", "b"}
    assert is_noise(r"\varepsilon_{i}") and not is_noise(r"\mu")


@pytest.mark.parametrize(
    ("above", "formula", "name"),
    [
        ("", "n! = n (n - 1)!", "n"),
        ("", r"\binom{n}{k} = \binom{n}{n - k}", "n"),
        ("Let $x \\in \\mathbb{R}^{d}$.", r"\frac{1}{d} = \frac{2}{2 d}", "d"),
        ("We have $Q \\in \\mathbb{R}^{n \\times d_k}$.", r"\sqrt{d_k} = d_k / \sqrt{d_k}", "d_{k}"),
        ("The inputs are $x_1, \\dots, x_N$.", r"\frac{N}{2} = N", "N"),
        ("Here $i \\in [m]$.", r"\frac{m}{2} = m", "m"),
    ],
)
def test_what_counts_entries_anywhere_is_a_size(above: str, formula: str, name: str) -> None:
    step = check_document(f"{above}\n\n$$ {formula} $$\n", infer=False).steps[-1]
    assert f"write 'Let ${name} \\in \\mathbb{{N}}$' above the display" in step.evidence.text


@pytest.mark.parametrize(
    "above", ["Here $x \\in \\mathbb{R}^{dm}$.", "Here $m_1 \\in \\mathbb{R}^{m_2}$.", "Here $x \\in [0, m]$."]
)
def test_other_places_say_nothing_of_it(above: str) -> None:
    step = check_document(f"{above}\n\n$$ m = 2 m $$\n", infer=False).steps[-1]
    assert r"'Let $m \in \mathbb{R}$' (or its shape)" in step.evidence.text
