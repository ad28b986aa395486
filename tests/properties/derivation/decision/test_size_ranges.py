"""Up to which size a false relation is true, in the advice beside a refuted step."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.decision.size_ranges import BEHIND, _describe
from attention_core.derivation.records import Verdict

N = r"Let $n \in \mathbb{N}$."


@pytest.mark.usefixtures("searched")
@pytest.mark.parametrize(
    ("step", "advice"),
    [
        (r"n! \le 10^{58}", r"true for $n \le 46$"),
        (r"n^2 \le 4 n", r"true for $n \le 4$"),
        (r"2^n \ge n^3", r"true for $n \ge 10$"),
        (r"n^2 \ge 2 n + 1", r"true for $n \ge 3$"),
    ],
)
def test_a_bound_that_is_true_of_some_sizes_says_of_which(step: str, advice: str) -> None:
    (found,) = check_document(f"{N}\n\n$$ {step} $$\n").steps
    assert found.verdict is Verdict.REFUTED
    assert advice in repr(found).replace("\\\\", "\\")


def test_only_one_run_of_sizes_is_described() -> None:
    long = 2 * BEHIND
    below = {n: n <= 7 for n in range(1, long)}
    assert r"$n \le 7$" in _describe("n", below)
    assert r"$n \ge 8$" in _describe("n", {n: not held for n, held in below.items()})
    assert _describe("n", {n: n in (2, 3, 9) for n in range(1, long)}) == ""  # two runs
    assert _describe("n", {n: n == 1 for n in range(1, long)}) == ""  # one value
    assert _describe("n", {n: n < BEHIND for n in range(1, BEHIND + 3)}) == ""  # too few behind the change
    assert _describe("n", {}) == ""
