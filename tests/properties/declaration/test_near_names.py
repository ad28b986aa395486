"""A word that is not known gets the names that it may mean."""

from __future__ import annotations

from attention_core.declaration.near_names import suggest

NAMES = ("stays_finite", "agrees_with_truth", "agrees_in_tiles", "agrees_in_blocks", "agrees_at_once")


def test_the_nearest_name_is_meant_or_those_that_begin_so() -> None:
    assert suggest("stay_finite", NAMES) == "did you mean stays_finite? "
    assert suggest("agree", NAMES[:2]) == "did you mean agrees_with_truth? "
    assert suggest("agree", NAMES) == "did you mean agrees_with_truth, agrees_in_tiles or agrees_in_blocks? "
    assert suggest("nothing", NAMES) == suggest("", NAMES) == ""
