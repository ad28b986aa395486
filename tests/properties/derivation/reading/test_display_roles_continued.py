"""Displays that begin with a relation, behind words."""

from __future__ import annotations

from attention_core.derivation import check_document
from attention_core.derivation.document.blocks import Display
from attention_core.derivation.document.source import blocks_of
from attention_core.derivation.reading.display_roles import complete_displays

TEXT = "$$ a = b + c $$\n\nWhich is:\n\n$$ = c + b $$\n\n# Next\n\n$$ = d $$\n"


def displays(text: str) -> list[str]:
    return [block.text.strip() for block in complete_displays(blocks_of(text)) if isinstance(block, Display)]


def test_the_last_side_stands_in_front() -> None:
    assert displays(TEXT) == ["a = b + c", "b + c = c + b", "= d"]


def test_two_statements_have_no_last_side() -> None:
    assert displays("$$ a = b \\\\ c = d $$\n\nSo\n\n$$ = e $$\n")[1] == "= e"


def test_such_a_display_is_read_where_symbols_are_inferred() -> None:
    verdicts = [str(step.verdict) for step in check_document(TEXT, infer=True).steps]
    assert verdicts[0] in ("PROVED", "EXACT") and verdicts[1] == "UNREADABLE"
    assert str(check_document(TEXT).steps[1].verdict) == "UNREADABLE"


def test_frames_and_what_only_keeps_room_may_stand_before_the_relation() -> None:
    text = "$$ a = b + c $$\n\nSo\n\n$$ \\begin{aligned} &= c + b \\end{aligned} $$\n\nSo\n\n$$ \\phantom{a} = d $$\n"
    assert displays(text)[1:] == ["\\begin{aligned} b + c = c + b \\end{aligned}", "c + b = d"]


def test_a_remark_is_not_the_last_side() -> None:
    text = "$$ a = b + c \\qquad \\text{substitute } \\log d $$\n\nSo\n\n$$ = c + b $$\n"
    assert displays(text)[1] == "b + c = c + b"
