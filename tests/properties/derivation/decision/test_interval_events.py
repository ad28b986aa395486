r"""A step about an interval is not refuted where its ends are out of order."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

HEAD = r"Let $X \sim \operatorname{Uniform}[0, 1]$ and let $a, b \in \mathbb{R}$"
BETWEEN = r"\Pr(X \le b) - \Pr(X \le a)"


@pytest.mark.parametrize("event", [r"a < X \le b", r"b \ge X > a"])
def test_the_ends_of_an_interval_may_be_meant_in_order(event: str) -> None:
    for ends, verdict in ((".", "UNDECIDED"), (r" with $a < b$.", "AGREES")):
        (found,) = check_document(f"{HEAD}{ends}\n\n$$ \\Pr({event}) = {BETWEEN} $$\n", infer=True).steps
        assert str(found.verdict) == verdict, found.evidence.text


@pytest.mark.parametrize("ends", [".", r" with $a < b$.", r" with $0 < a < b < 1$."])
def test_what_is_false_of_ends_in_order_is_refuted(ends: str) -> None:
    (found,) = check_document(f"{HEAD}{ends}\n\n$$ \\Pr(a < X \\le b) = \\Pr(X \\le a) $$\n", infer=True).steps
    assert str(found.verdict) == "REFUTED", found.evidence.text
