"""A hypothesis about some number or array declares it, where it cannot depend on what else the sentence speaks of."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import GOOD, Verdict

HEAD = r"Let $n \in \mathbb{N}$, $A \in \mathbb{R}^{n \times n}$ and $u, v \in \mathbb{R}^n$ with "


@pytest.mark.parametrize(
    ("hypothesis", "right", "wrong"),
    [
        (r"$u = \beta v$ for some $\beta > 0$", r"u^\top v = \|u\| \|v\|", r"u^\top v = \|u\|^2"),
        (
            r"$u = \beta v$ for some $\beta \in \mathbb{R}$",
            r"(u^\top v)^2 = \|u\|^2 \|v\|^2",
            r"u^\top v = \|u\| \|v\|",
        ),
        (r"$\|u\| = \|v\| = \beta$ for some $\beta > 0$", r"u^\top u = v^\top v", r"u^\top u = u^\top v"),
        (r"$A v = \lambda v$, for some number $\lambda \in \mathbb{R}$", r"A A v = \lambda^2 v", r"A A v = \lambda v"),
        (r"$A = B B^\top$ for some $B \in \mathbb{R}^{n \times n}$", r"v^\top A v \ge 0", r"v^\top A v \ge 1"),
    ],
)
def test_some_number_or_array_is_declared(hypothesis: str, right: str, wrong: str) -> None:
    first, second = check_document(f"{HEAD}{hypothesis}.\n\n$$ {right} $$\n\nThen\n\n$$ {wrong} $$\n").steps
    assert first.verdict in GOOD, first.evidence.text
    assert second.verdict is Verdict.REFUTED, second.evidence.text


@pytest.mark.parametrize(
    "hypothesis",
    [
        r"$u_i = \beta v_i$ for some $\beta > 0$",
        r"$A = \beta A$ for some $\beta > 0$ of each size",
        r"$u_i > 0$ for some $i \in \{1, \dots, n\}$",
    ],
)
def test_what_may_depend_on_others_is_not_read(hypothesis: str) -> None:
    steps = check_document(f"{HEAD}{hypothesis}.\n\n$$ u^\\top v = \\|u\\| \\|v\\| $$\n").steps
    assert steps[0].verdict is Verdict.UNREADABLE and "for some" in steps[0].evidence.text
    assert steps[-1].verdict is not Verdict.REFUTED
