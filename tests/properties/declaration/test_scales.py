"""Scales and mask fills that can be declared."""

from __future__ import annotations

import math

import pytest

from attention_core.declaration.errors import TargetError
from attention_core.declaration.scales import HIGHEST_FILL, RULES, check_fill, check_scale, scale_of


@pytest.mark.parametrize(
    ("rule", "at_nine"), [("1/sqrt(d)", 1 / 3), ("1/d", 1 / 9), ("sqrt(d)", 3.0), ("d", 9.0), ("0.25", 0.25)]
)
def test_a_rule_is_a_number_at_every_head_size(rule: str, at_nine: float) -> None:
    assert scale_of(rule, 9) == pytest.approx(at_nine, rel=1e-15)
    assert math.isfinite(scale_of(rule, 0)), "heads of no features have a scale, too"


def test_what_is_kept_of_a_number_is_the_number() -> None:
    assert [check_scale(text) for text in (" 1 / sqrt( d ) ", "2.0", "0.1", "0.12345678901")] == [
        "1/sqrt(d)", "2", "0.1", "0.12345678901",
    ]  # fmt: skip
    assert all(check_scale(rule) == rule for rule in RULES)


@pytest.mark.parametrize("wrong", ["0", "-1", "nan", "inf", "1/d2", ""])
def test_other_scales_are_refused(wrong: str) -> None:
    with pytest.raises(TargetError, match=r"write a positive number or one of 1/sqrt\(d\)"):
        check_scale(wrong)


def test_a_fill_hides_a_key_at_every_score_that_models_have() -> None:
    assert check_fill("-inf") == "-inf" and float(check_fill(str(HIGHEST_FILL))) == HIGHEST_FILL
    for weak in ("-1e4", "0", "1e9", "nan", "low"):
        with pytest.raises(TargetError):
            check_fill(weak)
