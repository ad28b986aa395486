"""docs/questions.md: every question of the sources is answered, and every link leads to what it names."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from page_links import dead_links

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "experiments" / "questions" / "run.py"
PAGE = ROOT / "docs" / "questions.md"
QUESTIONS = {
    "000": "1.1 1.2 1.3 1.4 1.5 1.6 2.1.1 2.1.2 2.2.1 2.2.2 2.2.3 2.3.1 2.3.2 2.3.3 3.1.1 3.1.2 3.1.3 3.1.4 3.2.1 3.2.2 3.2.3 "
    "3.2.4 3.2.5 3.2.6 3.3.1 3.3.2 3.3.3 3.3.4",
    "001": "1.2.1 1.2.2 1.2.3 1.3.1 1.3.2 1.3.3 1.4.1 1.4.2 1.4.3 2.1 Q1.1 Q1.2 Q2.1 Q2.2 Q2.3 Q3.1 Q3.2 Q3.3 Q4.1 Q4.2 Q4.3 "
    "Q4.4 Q4.5 Q4.6 Q4.7 Q5.1",
    "002": "1.1(a) 1.1(b) 1.2(a) 1.2(b) 1.3(a) 1.3(b) 1.4(a) 1.4(b) 2 3.2 3.3",
    "003": "1(a)i 1(a)ii 1(a)iii 1(a)iv 1(b)i 1(b)ii 1(c)i 1(c)ii 1(d)i 1(d)ii 2(d) 2(e) 2(f) 2(g)i 2(g)ii 3(a) 3(b) 3(c)",
    "004": " ".join(f"1.{n}" for n in range(1, 16)) + " 2.1 2.2 2.3 2.4",
}
"""As the sources number them."""
TOPICS = ("score", "tied", "positions", "late mask", "projections", "AFT", "fast")
"""The explorations that 001 2.2 suggests."""


@cache
def script() -> Any:
    spec = spec_from_file_location("questions_run", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def wanted() -> set[str]:
    named = {f"{source} {number}" for source, numbers in QUESTIONS.items() for number in numbers.split()}
    return named | {f"001 2.2 {topic}" for topic in TOPICS}


def test_every_question_is_answered_once() -> None:
    asked = [question for answer in script().read_answers() for question in answer["asked"]]
    assert sorted(asked) == sorted(wanted())


def test_the_page_is_that_of_the_table() -> None:
    page = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=True).stdout
    assert page == PAGE.read_text(encoding="utf-8"), "python experiments/questions/run.py > docs/questions.md"


def test_answers_are_short_and_shown_by_something() -> None:
    for answer in script().read_answers():
        assert len(answer["answer"]) < 700, answer["question"]
        kinds = ("steps", "laws", "pages", "experiments")
        assert any(answer.get(kind) for kind in kinds), answer["question"]
        assert set(answer) <= {"topic", "asked", "question", "answer", "finding", *kinds}, answer["question"]


def problems(text: str, answers: list[dict[str, Any]]) -> list[str]:
    """Every link of a page that leads nowhere, every step and every law that is not there."""
    found = dead_links(text, PAGE)
    laws = set(re.findall(r"(?m)^\| `(\w+)` \|", (ROOT / "docs" / "laws.md").read_text(encoding="utf-8")))
    for answer in answers:
        found += [f"no such law: {law}" for law in answer.get("laws", ()) if law not in laws]
        for entry in answer.get("steps", ()):
            document, _, tags = entry.partition(": ")
            path = ROOT / "derivations" / f"{document}.md"
            written = path.read_text(encoding="utf-8") if path.is_file() else ""
            found += [f"no such step: {entry}: {t}" for t in tags.split(", ") if f"\\tag{{{t}}}" not in written]
    return found


def test_every_link_step_and_law_is_there() -> None:
    found = problems(PAGE.read_text(encoding="utf-8"), script().read_answers())
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "answer", "words"),
    [
        ("[a](nowhere.md)", {}, "no such page"),
        ("[a](laws.md#no-such)", {}, "no such heading"),
        ("", {"laws": ["nobody_wrote_this"]}, "no such law"),
        ("", {"steps": ["copying: nothing"]}, "no such step"),
        ("", {"steps": ["nothing: copy"]}, "no such step"),
    ],
)
def test_a_dead_link_is_seen(text: str, answer: dict[str, Any], words: str) -> None:
    (found,) = problems(text, [answer])
    assert found.startswith(words)
