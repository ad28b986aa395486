"""Signs are written as others before a document is read, those of undeclared symbols where these are read."""

from __future__ import annotations

from attention_core.derivation.document.blocks import Paragraph
from attention_core.derivation.reading.spelled_signs import spell_signs


def test_what_undeclared_symbols_need_is_written_where_they_are_read() -> None:
    block = Paragraph(1, r"Let $i$ be the imaginary unit, $x, y \overset{iid}{\sim} P$ and $p \in \mathbb{R}^{|V|}$.")
    plain, inferred = (spell_signs([block], infer)[0].text for infer in (False, True))
    assert plain == block.text.replace(r"\overset{iid}{\sim} P$", r"\sim P$ independent")
    assert "$i^2 = -1$" in inferred and "|V|" not in inferred
