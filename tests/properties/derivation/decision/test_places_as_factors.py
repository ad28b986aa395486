r"""`\arg\max` read as a factor decides nothing."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import Verdict

PLACES = [r"\arg\min_w", r"\operatorname{argmin}_w", r"\text{argmin}_w", r"\operatorname*{arg\,min}_w"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("as_read", [False, True])
def test_a_place_is_not_a_factor(place: str, as_read: bool) -> None:
    for left, right in (("c^2", "c^2"), ("c^2", "3 c^2")):
        formula = rf"2 + {place} \|w\|^2 + {left} = {right} + {place} \|w\|^2 + 2"
        (step,) = check_document(f"We get\n\n$$ {formula} $$\n", infer=True, as_read=as_read).steps
        assert step.verdict is Verdict.UNDECIDED
        assert "slip" not in step.evidence.figures and "was read as a factor" in step.evidence.text


def test_another_word_is_a_factor() -> None:
    (step,) = check_document(
        "$$ 2 + \\text{rate}_w \\|w\\|^2 + c^2 = c^2 + \\text{rate}_w \\|w\\|^2 + 2 $$\n", infer=True
    ).steps
    assert step.verdict is Verdict.PROVED


def test_places_of_equal_functions_are_equal() -> None:
    place = r"\underset{w}{argmax}"
    text = rf"$$ {place} \log(a b) = {place} (\log a + \log b) $$"
    (step,) = check_document(text, infer=True).steps
    assert step.verdict in (Verdict.PROVED, Verdict.EXACT, Verdict.AGREES)
    (step,) = check_document(rf"$$ {place} \log(a b) + c = {place} (\log a + \log b) + c $$", infer=True).steps
    assert step.verdict is Verdict.UNDECIDED
