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
