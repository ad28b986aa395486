"""A comparison of revisions in words: the comment of a pull request, and the terminal."""

from __future__ import annotations

import pytest

from attention_core.bench.revisions.comment import MARK, headline, print_comparison, remarks, to_markdown
from attention_core.bench.revisions.outcomes import Comparison, Outcome, Revision
from attention_core.bench.revisions.rounds import compare_rounds
from attention_core.terminal import make_console

BASE, HEAD = Revision("main", "a" * 40), Revision("the working tree", "b" * 40 + "+")


def outcome(kernel: str, *logs: float) -> Outcome:
    change = compare_rounds(logs)
    return Outcome(kernel, "B=1 H=2 n=8 d=4 float32 fwd", change.verdict, change=change)


def comparison(*outcomes: Outcome) -> Comparison:
    machine = {"processor": "a|b", "cores": 2, "busy": 1.25}
    return Comparison(BASE, HEAD, 1.02, machine, {"torch": "9"}, {"seconds": 10.0}, list(outcomes))


SLOW, SAME, WIDE = outcome("s", 0.05, 0.0501), outcome("e", 0.0, 0.0), outcome("w", -0.1, 0.1)
LOST = Outcome("l", "n=8", message="head (x): it is wrong | <b>")


def test_the_comment_begins_with_its_mark_and_the_result() -> None:
    text = to_markdown(comparison(SAME, SLOW, LOST, WIDE))
    assert text.startswith(
        f"{MARK}\n### Attention kernels, head against base: 1 of 4 slower, 1 not judged, 1 undecided"
    )
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 6 and all(line.replace("\\|", "").count("|") == 7 for line in rows)
    assert "**slower**" in text and "| no difference |" in text
    assert "it is wrong \\| &lt;b&gt;" in text and "give it more --seconds" in text
    assert "the working tree (bbbbbbbb+)" in text and "1.2 were busy" in text


def test_the_terminal_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    print_comparison(make_console(), comparison(SLOW, LOST))
    out = capsys.readouterr().out
    assert "head the working tree (bbbbbbbb+) against base main (aaaaaaaa)" in out
    assert out.rstrip().endswith("1 of 2 slower, 1 not judged") and "l, n=8: not judged: head (x)" in out


def test_headlines() -> None:
    assert headline(comparison(SAME)) == "no difference" and headline(comparison(SAME, SAME)) == "all 2 no difference"
    assert headline(comparison()) == "nothing was measured" and remarks(comparison(SAME, SLOW)) == []
