r"""A domain that a later section states is left to it where the formulas of a section do not fit."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.claims import why_unreadable
from attention_core.derivation.reading.scaffold import scaffold
from attention_core.derivation.records import GOOD

SIGMOID = r"""# Activations

## Sigmoid

Put $\sigma(t) := \frac{1}{1 + e^{-t}}$.

$$ %s $$

%s

## Softmax

Let $C \in \mathbb{N}$ and $z \in \mathbb{R}^C$. Put $p := \operatorname{softmax}(z)$.

$$ \sum_{i=1}^C p_i = 1 $$
"""


@pytest.mark.parametrize(
    "formula", [r"\sigma'(z) = \sigma(z) (1 - \sigma(z))", r"\frac{1}{1 + e^{-z}} = \frac{e^z}{e^z + 1}"]
)
def test_a_domain_that_does_not_fit_is_left_to_its_section(formula: str) -> None:
    text = SIGMOID % (formula, "")
    sigmoid, softmax = check_document(text, infer=True).steps
    assert sigmoid.verdict in GOOD and softmax.verdict in GOOD
    assert sigmoid.evidence.figures["read_as"] == [r"z \in \mathbb{R} (a small letter)"]
    assert scaffold(text, why_unreadable) == "Below line 3, 'Sigmoid':\n\nLet $z \\in \\mathbb{R}$.\n"


def test_one_that_fits_is_used_and_so_is_one_of_the_same_section() -> None:
    fitting, _ = check_document(SIGMOID % (r"\|z\|^2 = z^\top z", ""), infer=True).steps
    assert r"z \in \mathbb{R}^{C} (line 13 says so)" in fitting.evidence.figures["read_as"]
    own, _ = check_document(
        SIGMOID % (r"\frac{1}{1 + z} = 1", r"Here $z \in \mathbb{R}^C$ is a column."), infer=True
    ).steps
    assert "cannot divide" in own.evidence.text


def test_a_symbol_stays_what_it_is_for_the_rest_of_its_section() -> None:
    more = r"$$ \sigma(z) + \sigma(-z) = 1 $$"
    steps = check_document(SIGMOID % (r"\frac{1}{1 + e^{-z}} = \frac{e^z}{e^z + 1}", more), infer=True).steps
    assert all(step.verdict in GOOD for step in steps)
    assert all("line" not in one for step in steps[:2] for one in step.evidence.figures["read_as"])
