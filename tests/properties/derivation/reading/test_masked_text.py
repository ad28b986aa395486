"""Masked text: what stands for a formula is found, and a new formula gets a mask of its own."""

from __future__ import annotations

import re

from attention_core.derivation.reading.masked_text import FORMULA, MaskedFormulas, keep_lines


def test_masks_stand_for_formulas() -> None:
    masked = MaskedFormulas()
    masked.formulas = ["x", " y = 1 "]
    assert masked.at("\0001\000") == "y = 1"
    assert masked.all_in("let \0001\000 and \0000\000") == ["y = 1", "x"]
    mask = masked.add("z")
    assert re.fullmatch(FORMULA, mask) and masked.at(mask) == "z"


def test_what_is_written_anew_has_as_many_lines() -> None:
    found = re.match(r"a\nb\nc", "a\nb\nc")
    assert found is not None and keep_lines(lambda _, __: "d\ne", [], found) == "d\ne\n"
