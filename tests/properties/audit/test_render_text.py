"""What an audit says on the terminal."""

from __future__ import annotations

import io

from rich.console import Console

from attention_core.audit.render_text import headline, print_audit
from attention_core.audit.results import Audit, Fate

BASELINE = {"tests": 4, "passed": 3, "seconds": 1.25, "call_the_target": 2, "calls": 9, "in_place": 9}


def shown(audit: Audit, **how: bool) -> str:
    out = io.StringIO()
    print_audit(Console(file=out, width=200), audit, **how)
    return out.getvalue()


def example() -> Audit:
    fates = [
        Fate("tiles.a", "The last tile is lost.", "tiles", status="survived", law="agrees_with_truth", case="n_kv=65",
             message="got 1", test="def test_a():\n    assert 1 == 2\n", confirmed=True),
        Fate("tiles.b", "", "tiles", status="hung", killed_by="t.py::test_x"),
        Fate("scores.c", "", "scores", status="killed"), Fate("scores.d", "", "scores"),
    ]  # fmt: skip
    return Audit("m:f", ("t.py",), fates=fates, baseline=BASELINE, too_strict={"t.py::test_bits": "assert a is b"})


def test_the_score_the_survivor_and_its_test_are_shown() -> None:
    text = shown(example())
    for words in ("sees 2 of 3 faults in place of m:f (67 %, 95 % interval 21 to 94 %)", "tiles.a",
                  "The last tile is lost.", "assert 1 == 2", "1 of the faults seen made the suite hang: tiles.b", "1 of the faults tried does not count, as no law sees it",
                  "3 of 4 tests pass in 1.2 s; 2 of them call the target, 9 times in all", "t.py::test_bits"):  # fmt: skip
        assert words in text, words


def test_quiet_is_the_score_alone() -> None:
    assert shown(example(), quiet=True).strip() == headline(example())
