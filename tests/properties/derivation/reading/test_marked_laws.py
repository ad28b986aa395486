r"""A mark over the sign of a law says that what is drawn is independent."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

MEAN = r"Put $\bar X := \frac{1}{n} \sum_{i=1}^n X_i$."
RIGHT, WRONG = r"\operatorname{Var}(\bar X) = \frac{\sigma^2}{n}", r"\operatorname{Var}(\bar X) = \sigma^2"
SIGNS = [
    r"\overset{iid}{\sim}", r"\stackrel{\text{i.i.d.}}{\sim}", r"\overset{\mathrm{iid}}{\sim}", r"\stackrel{ind}{\sim}",
    r"\overset{\text{i.\,i.\,d.}}\sim", r"\sim_{\text{iid}}", r"\iidsim",
]  # fmt: skip


def verdict(head: str, formula: str) -> str:
    return str(check_document(f"{head}\n\n$$ {formula} $$\n", infer=True).steps[-1].verdict)


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("opens", ["Let ", ""])
def test_what_is_drawn_with_a_mark_is_independent(sign: str, opens: str) -> None:
    head = rf"{opens}$X_1, \dots, X_n {sign} N(\mu, \sigma^2)$. {MEAN}"
    assert verdict(head, RIGHT) == "EXACT"
    assert verdict(head, WRONG) == "REFUTED"


@pytest.mark.parametrize("sign", [r"\sim", r"\overset{?}{\sim}", r"\overset{d}{\sim}"])
def test_without_a_mark_or_with_another_nothing_is_said_of_independence(sign: str) -> None:
    assert verdict(rf"Let $X_1, \dots, X_n {sign} N(\mu, \sigma^2)$. {MEAN}", RIGHT) == "UNDECIDED"


def test_two_samples_are_not_independent_of_each_other() -> None:
    drawn = (rf"${name}_1, \dots, {name}_n \overset{{iid}}{{\sim}} \mathcal{{N}}(0, 1)$" for name in "XY")
    assert verdict(f"Let {' and '.join(drawn)}.", r"\operatorname{Cov}(X_1, Y_1) = 0") == "UNDECIDED"
