"""Sequences by recursion: their members are put in, and their closed forms decided by induction."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import GOOD, Verdict

DECLARED = r"Let $\alpha, x, b \in \mathbb{R}$ and $n \in \mathbb{N}$."
GEOMETRIC = r"Define $a_0 := x$ and $a_k := \alpha a_{k-1}$ for $k \ge 1$."
SUMS = r"Put $s_1 = 1$ and $s_{k+1} = s_k + k + 1$."
OF_N = r"Let $c_0 = 0, c_n = c_{n-1} + b$."
STEPS = [
    (GEOMETRIC, r"a_3 = \alpha^3 x", True),
    (GEOMETRIC, r"a_n = \alpha^n x", True),
    (GEOMETRIC, r"\alpha^{n+1} x = a_{n+1}", True),
    (SUMS, r"s_n = \frac{n (n + 1)}{2}", True),
    (SUMS, r"s_1 + s_2 = 4", True),
    (OF_N, r"c_n = n b", True),
    (GEOMETRIC, r"a_3 = \alpha^2 x", False),
    (GEOMETRIC, r"a_n = \alpha^{n-1} x", False),  # the base alone is wrong
    (GEOMETRIC, r"a_n = \alpha x", False),  # the step alone is wrong
    (SUMS, r"s_n = n^2", False),
    (SUMS, r"s_n = \frac{n (n - 1)}{2}", False),
    (OF_N, r"c_n = (n + 1) b", False),
]


@pytest.mark.parametrize(("defined", "formula", "right"), STEPS)
def test_members_and_closed_forms(defined: str, formula: str, right: bool) -> None:
    for infer in (False, True):
        found = check_document(f"{DECLARED} {defined}\n\n$$ {formula} $$\n", infer=infer).steps[-1]
        assert found.verdict in GOOD if right else found.verdict is Verdict.REFUTED, found.evidence.text


def test_what_induction_does_not_settle_is_not_decided() -> None:
    for formula in (r"a_n \le \alpha^n x", r"a_n = a_{n-1} \alpha", r"a_n a_n = \alpha^{2 n} x^2"):
        found = check_document(f"{DECLARED} {GEOMETRIC}\n\n$$ {formula} $$\n").steps[-1]
        assert found.verdict is Verdict.UNREADABLE, (formula, found.evidence.text)


def test_a_bound_on_n_leaves_the_closed_form_open() -> None:
    text = f"{DECLARED} {GEOMETRIC} Assume $n \\ge 2$.\n\n$$ a_n = \\alpha^n x $$\n"
    assert check_document(text).steps[-1].verdict not in (Verdict.REFUTED, *GOOD)


@pytest.mark.parametrize(
    "defined",
    [
        r"Define $a_0 := x$ and $a_k := \alpha a_{k-1}$ for even $k$.",
        r"Define $a_0 := x$ and $a_k := \alpha a_{k-1}$ for $k \ge 2$.",
        r"Define $a_0 := x$ and $a_k := \alpha a_{k-1}$ if $k > b$.",
        r"Define $a_0 := x$ and $a_k := \alpha a_{k-1}$, and $a_k := a_{k-2}$ for odd $k$.",
    ],
)
def test_a_recursion_that_is_not_said_of_all_members_is_not_read(defined: str) -> None:
    found = check_document(f"{DECLARED} {defined}\n\n$$ a_n = \\alpha^n x $$\n", infer=True).steps[-1]
    assert found.verdict not in (Verdict.REFUTED, *GOOD), found.evidence.text


def test_a_sequence_ends_with_its_section() -> None:
    text = f"{DECLARED}\n\n## One\n\n{GEOMETRIC}\n\n$$ a_1 = \\alpha x $$\n\n## Two\n\n$$ a_1 = \\alpha x $$\n"
    first, second = check_document(text).steps
    assert first.verdict in GOOD and second.verdict is Verdict.UNREADABLE
