"""Identities of averages hold whatever depends on what; what needs independence does not."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.check import document_steps
from attention_core.derivation.claims import find_claim
from attention_core.derivation.probability.linear_averages import holds_for_any_law
from attention_core.derivation.reading.step import Step

GIVEN = "Let $X$, $Y$ and $Z$ be random variables."
TRUE = [
    r"\operatorname{Var}(X + Y) = \operatorname{Var} X + \operatorname{Var} Y + 2 \operatorname{Cov}(X, Y)",
    r"\operatorname{Var}(X - Y) = \operatorname{Var}(X) + \operatorname{Var}(Y) - 2 \operatorname{Cov}(X, Y)",
    r"\operatorname{Cov}(X, Y) = \mathbb{E}[X Y] - \mathbb{E}[X] \mathbb{E}[Y]",
    r"\operatorname{Cov}(X + Y, Z) = \operatorname{Cov}(X, Z) + \operatorname{Cov}(Y, Z)",
]
FALSE = [
    r"\operatorname{Var}(X + Y) = \operatorname{Var} X + \operatorname{Var} Y + \operatorname{Cov}(X, Y)",
    r"\operatorname{Var}(X + Y) = \operatorname{Var} X + \operatorname{Var} Y",
    r"\operatorname{Var}(X - Y) = \operatorname{Var}(X) + \operatorname{Var}(Y) + 2 \operatorname{Cov}(X, Y)",
    r"\mathbb{E}[X Y] = \mathbb{E}[X] \mathbb{E}[Y]",
    r"\operatorname{Cov}(X + Y, Z) = \operatorname{Cov}(X, Z)",
]


def verdict(step: str, given: str = GIVEN) -> str:
    return str(check_document(f"{given}\n\n$$ {step} $$\n", infer=True).steps[-1].verdict)


@pytest.mark.parametrize("step", TRUE)
def test_identities_need_no_law(step: str) -> None:
    assert verdict(step) == "PROVED"


@pytest.mark.parametrize("step", FALSE)
def test_what_needs_independence_is_not_accepted(step: str) -> None:
    assert verdict(step) not in ("PROVED", "EXACT", "AGREES")


@pytest.mark.parametrize(
    ("step", "holds"),
    [*((one, True) for one in TRUE), *((one, False) for one in FALSE), ("X + Y = Y + X", False),
     (r"\operatorname{Var}(X) \ge \operatorname{Var}(X)", False), (r"\mathbb{E}[|X|] = \mathbb{E}[|X|]", False)],
)  # fmt: skip
def test_which_relations_hold_for_any_law(step: str, holds: bool) -> None:
    (one,) = (each for each in document_steps(f"{GIVEN}\n\n$$ {step} $$\n", infer=True)[1] if isinstance(each, Step))
    claim = find_claim(one)
    assert claim is not None and holds_for_any_law(claim) is holds
