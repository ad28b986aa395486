"""A step whose reason is false is not accepted, and is not called false."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

HEAD = "Let $x, y \\in \\mathbb{R}$.\n\n"


def decide(display: str) -> tuple[str, str]:
    (step,) = check_document(f"{HEAD}$$ {display} $$\n").steps
    return str(step.verdict), step.evidence.text


@pytest.mark.parametrize(
    "display",
    [
        r"1 = 1 \text{ since } 1 + 1 = 3", r"x + y = y + x \quad \text{by } |x| = x + 1", r"1 = 1 \text{ because $1 + 1 = 3$}",
        r"\text{From } x^2 < 0, \quad x = x", r"(x - y)^2 \ge 0 \quad \text{as } x \le x^2",
    ],
)  # fmt: skip
def test_a_reason_that_is_false_is_not_accepted(display: str) -> None:
    verdict, text = decide(display)
    assert verdict == "UNDECIDED" and "its reason" in text and "is false" in text and "itself holds" in text, text


@pytest.mark.parametrize("tag", ["$1 + 1 = 3$", "so $x = x + 1$", "1+1=3", "$x > x + 1$"])
def test_a_tag_that_nothing_satisfies_is_not_accepted(tag: str) -> None:
    verdict, text = decide(rf"x = x \tag{{{tag}}}")
    assert verdict == "UNDECIDED" and "nothing satisfies what its tag" in text, text


@pytest.mark.parametrize(
    "display",
    [
        r"x \le |x| \text{ since } |x|^2 = x^2", r"x^2 + 1 > 0 \text{ as } x^2 \ge 0", r"x^2 \ge 0 \tag{$x > y$}",
        r"x + y = y + x \text{ since } x = 2",
    ],
)  # fmt: skip
def test_a_reason_that_is_true_or_says_what_a_symbol_is_is_named(display: str) -> None:
    verdict, text = decide(display)
    assert verdict in ("PROVED", "AGREES") and "not checked: the reason" in text, text


def test_a_false_step_stays_refuted_whatever_its_reason() -> None:
    verdict, text = decide(r"x^2 + 1 = x^2 \text{ since } 1 + 1 = 3")
    assert verdict == "REFUTED" and "not checked" in text, text
