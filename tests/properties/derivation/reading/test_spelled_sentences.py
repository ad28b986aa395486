"""Sentences that define or declare in another order, with other verbs or words between, are read as what they say."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.reading.spelled_sentences import spell_sentences
from attention_core.derivation.records import GOOD, Verdict

HEAD = r"Let $x, y \in \mathbb{R}$."


def last(text: str) -> Verdict:
    return check_document(text, infer=True, effort=Effort(seconds=4.0)).steps[-1].verdict


@pytest.mark.parametrize("between", ["\n\n", " "])
@pytest.mark.parametrize(
    "sentence",
    [
        "Put $s = xy$ and $t = s^2$.",
        "Set $s = xy$, $t = s^2$.",
        "Write $s = xy$ and then $t = s^2$.",
        "Take $s = xy$ and $t = s^2$.",
        "Let us put $s = xy$, and $t = s^2$.",
        "Now set $s = xy$, then $t = s^2$.",
        "Let us write $s = xy$. We put $t = s^2$.",
        "Set $s = xy$, $r = s + 1$ and $t = (r - 1)^2$.",
    ],
)
def test_definitions_behind_each_other_are_read(sentence: str, between: str) -> None:
    assert last(f"{HEAD}{between}{sentence} Hence\n\n$$ t = x^2 y^2 $$\n") in GOOD
    assert last(f"{HEAD}{between}{sentence} Hence\n\n$$ t = x^2 y^3 $$\n") is Verdict.REFUTED


def test_definitions_of_undeclared_letters_are_read() -> None:
    for verb in ("Put", "Set", "Write", "Take", "Let us put"):
        assert last(f"{verb} $s = xy$ and $t = s^2$.\n\n$$ t = x^2 y^2 $$\n") in GOOD
        assert last(f"{verb} $s = xy$ and $t = s^2$. Hence\n\n$$ t = x^3 y^2 $$\n") is Verdict.UNDECIDED


@pytest.mark.parametrize("sentence", ["Now put \x000\x00 if \x001\x00.", "We write \x001\x00.", "Put \x002\x00."])
def test_what_is_no_list_of_definitions_stays(sentence: str) -> None:
    assert spell_sentences(sentence, ["s = x y", "x > 0", "x"]) == sentence
