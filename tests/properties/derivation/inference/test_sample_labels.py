r"""`x^{(i)}` under a sum over i is another vector for each i, and a symbol of its own elsewhere."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.inference.sample_labels import find_samples
from attention_core.derivation.words.caveats import chains_of


def verdicts(text: str, infer: bool = True) -> list[str]:
    return [str(step.verdict) for step in check_document(text, infer=infer).steps]


@pytest.mark.parametrize(
    "false",
    [
        r"\sum_{i=1}^n x^{(i)} = n x^{(i)}",
        r"\frac{\sum_{i=1}^n p_i x^{(i)}}{\sum_{i=1}^n p_i} = x^{(i)}",
        r"\sum_{i=1}^n \| \mathbf x^{(i)} - \mu \|^2 = n \| \mathbf x^{(i)} - \mu \|^2",
        r"\prod_{i=1}^n y^{(i)} = (y^{(i)})^n",
    ],
)
def test_a_sum_over_samples_is_no_multiple_of_one(false: str) -> None:
    assert verdicts(f"$$ {false} $$\n") == ["UNDECIDED"]


def test_a_sample_in_the_place_of_all_may_be_like_all() -> None:
    assert verdicts("$$ \\sum_{i=1}^n x^{(i)} = n x^{(1)} $$\n") == ["UNDECIDED"]  # an author who knows it writes so
    assert verdicts("$$ \\sum_{i=1}^n 2 x^{(i)} = 2 \\sum_{i=1}^n x^{(1)} $$\n") == ["REFUTED"]


@pytest.mark.parametrize(
    "true",
    [
        r"\sum_{i=1}^n 2 x^{(i)} = 2 \sum_{i=1}^n x^{(i)}",
        r"\sum_{i=1}^n (w^\top \mathbf x^{(i)} - y^{(i)})^2 = \sum_{i=1}^n (y^{(i)} - w^\top \mathbf x^{(i)})^2",
        r"\sum_{i=1}^n \sum_{j=1}^d x_j^{(i)} = \sum_{j=1}^d \sum_{i=1}^n x_j^{(i)}",
        r"W^{(2)} (a + b) = W^{(2)} a + W^{(2)} b",
    ],
)
def test_what_holds_of_samples_is_accepted(true: str) -> None:
    assert set(verdicts(f"$$ {true} $$\n")) <= {"PROVED", "EXACT", "AGREES"}


def test_a_declared_label_is_no_index() -> None:
    text = "Let $n \\in \\mathbb{N}$ and $x^{(i)} \\in \\mathbb{R}$.\n\n$$ \\sum_{i=1}^n x^{(i)} = n x^{(i)} $$\n"
    (step,) = check_document(text, infer=False).steps
    assert step.verdict == "UNREADABLE" and "declare a family" in step.evidence.text
    assert verdicts(text) == ["UNDECIDED"]
    entries = "Let $a \\in \\mathbb{R}^4$.\n\n$$ \\sum_{i=1}^4 a^{(i)} = a^{(1)} + a_2 + a_3 + a^{(4)} $$\n"
    assert verdicts(entries, infer=False) == ["PROVED"]


def test_letters_whose_label_a_sum_runs_over_are_found() -> None:
    chains = chains_of(r"\sum_{i=1}^n W^{(2)} x^{(i)} + b^{(j)} = y", 1)
    assert find_samples(chains) == {"x"}


@pytest.mark.parametrize("name", ["x_i", "x^{(i)}"])
def test_one_declared_symbol_is_no_family_under_a_sum(name: str) -> None:
    head = f"Let $m, d \\in \\mathbb{{N}}$ and ${name} \\in \\mathbb{{R}}^d$.\n\n"
    false = f"$$ \\| \\sum_{{i=1}}^m {name} \\|^2 = m \\sum_{{i=1}}^m \\|{name}\\|^2 $$\n"
    (step,) = check_document(head + false, infer=False).steps
    assert step.verdict == "UNREADABLE" and "was declared as one symbol" in step.evidence.text
    assert verdicts(head + false) == ["UNDECIDED"]
    true = "$$ \\sum_{i=1}^m w^\\top x_i = w^\\top \\sum_{i=1}^m x_i $$\n".replace("x_i", name)
    assert verdicts(head + true) == ["PROVED"]


def test_what_was_assumed_of_one_is_not_forgotten_in_silence() -> None:
    text = "Let $x_i \\in \\mathbb{R}^d$ with $\\|x_i\\| = 1$.\n\n$$ \\sum_{i=1}^n \\|x_i\\| = 2 n $$\n"
    (step,) = check_document(text, infer=True).steps
    assert step.verdict == "UNDECIDED"
