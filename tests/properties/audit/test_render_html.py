"""The page and the badge of an audit: all that is in it is escaped, and nothing is loaded."""

from __future__ import annotations

from attention_core.audit.render_html import to_badge, to_html
from attention_core.audit.results import Audit, Fate

HOSTILE = "<script>alert(1)</script>"


def example(**changes: object) -> Audit:
    fates = [
        Fate("tiles.a", f"Lost {HOSTILE}", "tiles", status="survived", test=f"assert '{HOSTILE}'\n", confirmed=True),
        Fate("tiles.b", "", "tiles", status="killed", killed_by=f"t.py::test[{HOSTILE}]"),
    ]
    return Audit("m:f", ("t.py",), fates=fates, versions={"torch": "2"}, **changes)  # type: ignore[arg-type]


def test_the_page_has_the_score_and_the_test_and_escapes_all() -> None:
    page = to_html(example())
    assert "sees 1 of 2 faults in place of m:f (50 %" in page and "tiles.a" in page
    assert page.index(">Survivors<") < page.index(">By subject<") < page.index(">A test for each survivor<")
    assert HOSTILE not in page and page.count("&lt;script&gt;") == 4
    assert "http" not in page.replace("http-equiv", "") and "<script" not in page


def test_the_page_of_what_could_not_be_judged() -> None:
    assert "the suite never calls the target" in to_html(
        Audit("m:f", ("t.py",), problem="the suite never calls the target")
    )


def test_the_colour_of_the_badge_is_that_of_the_floor() -> None:
    assert "see 1 of 2 faults" in to_badge(example()) and "#c0392b" in to_badge(example())
    assert "#2a7d3f" in to_badge(example(floor=0.5))
