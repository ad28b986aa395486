"""attention_core.derivation.elaborate.sums: operators that are read and not computed say so, and end no check."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

DECLARED = r"Let $N \in \mathbb{N}$, let $c \in \mathbb{R}$ and let $l_1, \dots, l_N \in \mathbb{R}$."


@pytest.mark.parametrize("operator", ["bigotimes", "bigoplus", "bigcup"])
def test_an_operator_that_is_not_computed_is_named(operator: str) -> None:
    (step,) = check_document(f"{DECLARED}\n\n$$ c + \\{operator}_{{k=1}}^N l_k = c $$\n").steps
    assert step.verdict == "UNREADABLE" and f"\\{operator} is read, and not computed" in step.evidence.text


def test_where_symbols_are_inferred_it_is_a_symbol_of_its_own() -> None:
    text = f"{DECLARED}\n\n$$ 2 \\bigotimes_{{k=1}}^N l_k = \\bigotimes_{{k=1}}^N l_k + \\bigotimes_{{k=1}}^N l_k $$\n"
    (step,) = check_document(text, infer=True).steps
    assert step.verdict == "PROVED"
