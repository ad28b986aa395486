"""A badge is one SVG, whose words are escaped and have room."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from attention_core.badge import draw_badge

SVG = "{http://www.w3.org/2000/svg}"


def test_both_words_stand_in_it_and_a_longer_one_has_more_room() -> None:
    short, long = (ET.fromstring(draw_badge("audit", word, "#2a7d3f")) for word in ("9", "a < b & c of 40"))
    assert [text.text for text in long.iter(f"{SVG}text")] == ["audit", "a < b & c of 40"]
    assert int(long.get("width", "0")) > int(short.get("width", "0")) + 60
    assert long.get("aria-label") == "audit: a < b & c of 40"
