r"""Products of functions of the entries of one array have entries; what may be meant so refutes nothing."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import GOOD, Verdict

HEAD = r"Let $z, w \in \mathbb{R}^n$ and $Z \in \mathbb{R}^{m \times n}$."
SIGMOID = HEAD + r" Put $s(t) := \frac{1}{1 + e^{-t}}$, applied element-wise."


def verdict(formula: str, head: str = HEAD) -> Verdict:
    return check_document(f"{head}\n\n$$ {formula} $$\n", infer=True).steps[-1].verdict


@pytest.mark.parametrize(
    ("right", "wrong", "head"),
    [
        (r"\tanh'(z) = (1 - \tanh z) (1 + \tanh z)", r"\tanh'(z) = (1 - \tanh z) (1 - \tanh z)", HEAD),
        (r"\sin(2 z) = 2 \sin z \cos z", r"\sin(2 z) = 2 \sin z \sin z", HEAD),
        (r"e^{z} e^{z} = e^{2 z}", r"e^{z} e^{z} = e^{3 z}", HEAD),
        (r"\exp(Z) \exp(Z) = \exp(2 Z)", r"\exp(Z) \exp(Z) = \exp(Z)", HEAD),
        (r"s'(z) = s(z) (1 - s(z))", r"s'(z) = s(z) (1 - 2 s(z))", SIGMOID),
    ],
)
def test_functions_of_one_array_are_multiplied_entry_by_entry(right: str, wrong: str, head: str) -> None:
    assert verdict(right, head) in GOOD
    assert verdict(wrong, head) is Verdict.REFUTED


def test_what_has_a_product_of_its_shapes_keeps_it() -> None:
    assert verdict(r"(\sin z)^\top \cos z = \sum_{i=1}^n \sin(z_i) \cos(z_i)") in GOOD
    assert verdict(r"(\sin z) (\cos z)^\top = \sin z \cos z") is Verdict.REFUTED


@pytest.mark.parametrize("formula", ["z w = w z", "Z Z = Z", "w z = z"])
def test_arrays_that_no_function_of_entries_holds_have_no_product(formula: str) -> None:
    assert verdict(formula) is Verdict.REFUTED
