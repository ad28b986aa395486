"""Write docs/questions.md from docs/data/questions.toml: each question of the sources, an answer, and what shows it.

Run from the root of the repository: python experiments/questions/run.py > docs/questions.md
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "docs" / "data" / "questions.toml"
SOURCES = {
    "000": "Johns Hopkins 601.471, homework 6 (spring 2024)",
    "001": "University of Washington CSE 517, assignment 2 (winter 2024)",
    "002": "an NLP course's assignment 4 (November 2023)",
    "003": "an assignment on self-attention, transformers and pretraining",
    "004": "Cornell CS 5787, homework 4 (spring 2023)",
}
HEAD = """# Questions, answered

Every question of the five assignments that this project comes from, each with a short answer and with what shows it: a
step of a derivation, a law, a measured page. Where a written answer of a source is wrong, or our measurements do not
bear it out, it says so. Written by `python experiments/questions/run.py > docs/questions.md` from
`docs/data/questions.toml`; a test follows every link.
"""


def read_answers() -> list[dict[str, Any]]:
    """Return the answers in the order of the file."""
    found: list[dict[str, Any]] = tomllib.loads(DATA.read_text(encoding="utf-8"))["answer"]
    return found


def anchor(heading: str) -> str:
    """Return the anchor that GitHub gives a heading.

    >>> anchor("A long axis: x_a (y)")
    'a-long-axis-x_a-y'
    """
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")


def evidence(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield the links of an answer."""
    for entry in answer.get("steps", ()):
        document, _, tags = entry.partition(": ")
        names = ", ".join(f"`{tag.strip()}`" for tag in tags.split(","))
        yield f"[{document}](../derivations/{document}.md) {names}"
    for law in answer.get("laws", ()):
        yield f"law [{law}](laws.md)"
    for entry in answer.get("pages", ()):
        words, _, target = entry.partition(" | ")
        yield f"[{words}]({target})"
    for name in answer.get("experiments", ()):
        yield f"[experiment {name}](experiments/{name}.md)"


def sort_key(question: str) -> list[Any]:
    """Return what sorts questions as their source numbers them."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.findall(r"\d+|\D+", question)]


def page(answers: list[dict[str, Any]]) -> str:
    """Return the whole page."""
    lines = [HEAD]
    places = {asked: answer for answer in answers for asked in answer["asked"]}
    for source, title in SOURCES.items():
        own = sorted((asked for asked in places if asked.startswith(source)), key=sort_key)
        links = ", ".join(f"[{asked[4:]}](#{anchor(places[asked]['question'])})" for asked in own)
        lines += [f"**Source {source}**, {title}: {links}.", ""]
    for topic in dict.fromkeys(answer["topic"] for answer in answers):
        lines += [f"## {topic}", ""]
        for answer in (each for each in answers if each["topic"] == topic):
            lines += [f"### {answer['question']}", "", answer["answer"], ""]
            if "finding" in answer:
                lines += [f"**The written answer:** {answer['finding']}", ""]
            shown = "; ".join(evidence(answer))
            lines += [f"*{', '.join(answer['asked'])}.* Shown by {shown}.", ""]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    print(page(read_answers()), end="")
