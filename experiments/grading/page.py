"""Writes docs/grade.md from what `run.py` measured."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

from cheats import CHEATS
from honest import HONEST

from attention_core.grading.rules import RULES

Known = Mapping[str, Mapping[str, Any]]
TOP = """# Cheats that graders met, and what refuses them

*Made by `python experiments/grading/run.py --write docs/grade.md --data docs/data/grade.json` (`tox run -e grading`) on
the processor of one machine; the seeds of all grades stand in `docs/data/grade.json`. What is done is kept in a log, so
that rows may come from earlier revisions of the grader. How submissions are graded, and what cannot be defended:
[how-to](how_to/grade.md).*

"""
COLUMNS = """| cheat | the whole grader | without a look at the source | published |
|---|---|---|---|
"""
ABOUT = """Each cheat is graded twice: by the whole grader, and by one that does not look at the source, as an
author who hides words would have it. A cell is the rule that refused it. *accepted* in the second says
that what is left of the cheat gains nothing: every answer was right, and its time is the true one (a
handler at exit that never runs, a question to the environment that gets no answer).

"""

NOT_RUN = {"verdict": "not run", "rule": "", "held": 0, "seconds": 0.0}
"""In the place of what the log lacks."""


def to_markdown(known: Known) -> str:
    """The page."""
    known = {f"{mode} {c.name}": NOT_RUN for mode in ("whole", "blind") for c in CHEATS} | dict(known)
    refused = sum(known[f"whole {c.name}"]["verdict"] == "refused" for c in CHEATS)
    blind = sum(known[f"blind {c.name}"]["verdict"] == "refused" for c in CHEATS)
    honest = [known.get(f"honest {h.name}", NOT_RUN) for h in HONEST]
    run = [each for each in honest if each is not NOT_RUN]
    wrongly = sum(each["verdict"] != "accepted" for each in run)
    seconds = [each["seconds"] for each in run]
    lines = [
        TOP,
        f"**{refused} of {len(CHEATS)} cheats are refused** ({blind} without a look at the source), and ",
        f"**{wrongly} of {len(run)} honest submissions**. An honest one takes ",
        f"{median(seconds):.0f} s of processor time from the source to the verdict, {max(seconds):.0f} s at most.\n\n",
        "## Cheats\n\n",
        ABOUT,
        COLUMNS,
    ]
    for cheat in CHEATS:
        cells = [cell(known[f"{mode} {cheat.name}"]) for mode in ("whole", "blind")]
        lines.append(f"| {cheat.about} | {' | '.join(cells)} | {'; '.join(map(linked, cheat.sources))} |\n")
    lines += ["\n## Rules\n\n", "| rule | what is refused | seen by | cheats |\n|---|---|---|---|\n"]
    for rule in RULES.values():
        rules = [known[f"{mode} {c.name}"]["rule"] for c in CHEATS for mode in ("whole", "blind")]
        who = {"grader": "the grader alone", "process": "a look into its process", "source": "a look at its source"}
        lines.append(f"| `{rule.name}` | {rule.sentence} | {who[rule.seen]} | {rules.count(rule.name)} |\n")
    lines += ["\n## Honest submissions\n\n", "| submission | verdict | laws that hold | seconds |\n|---|---|---|---|\n"]
    for one, grade in zip(HONEST, honest, strict=True):
        name = one.name.replace("_", " ")
        lines.append(f"| {name} | {cell(grade)} | {grade['held']} | {grade['seconds']:.0f} |\n")
    return "".join(lines)


def cell(grade: Mapping[str, Any]) -> str:
    """A grade in a cell."""
    return f"`{grade['rule']}`" if grade["rule"] else f"*{grade['verdict']}*"


def linked(source: str) -> str:
    """A source as a link, where it names a thread or a page."""
    if source.startswith("https://"):
        return f"[{source.split('/')[2]}]({source})"
    name, hash_, number = source.partition(" #")
    if hash_ and "/" in name and number.isdigit():
        return f"[{source}](https://github.com/{name}/issues/{number})"
    return source
