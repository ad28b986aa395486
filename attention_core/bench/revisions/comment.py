"""A comparison of two revisions for people: at the terminal, and as the comment of a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attention_core.annotations import cell
from attention_core.bench.report.number_words import duration, factor, format_end
from attention_core.bench.revisions.outcomes import UNJUDGED, Comparison, Outcome, Side

if TYPE_CHECKING:
    from rich.console import Console

MARK = "<!-- attention-core bench --base -->"
"""The first line of a comment, by which a job finds the one that it wrote before."""
WORDS = {
    "SLOWER": "slower", "FASTER": "faster", "SAME": "no difference", "AMBIGUOUS": "undecided", UNJUDGED: "not judged",
}  # fmt: skip
ORDER = ("SLOWER", UNJUDGED, "AMBIGUOUS", "FASTER", "SAME")
HEADS = ("kernel", "workload", "base", "head", "head / base", "verdict")


def headline(found: Comparison) -> str:
    """The result in a sentence.

    >>> from attention_core.bench.revisions.outcomes import Comparison, Outcome, Revision
    >>> found = Comparison(Revision("main", "a" * 40), Revision("HEAD", "b" * 40), 1.02)
    >>> found.outcomes = [Outcome("f.py:f", "n=8", "SAME"), Outcome("f.py:g", "n=8", "SLOWER")]
    >>> headline(found)
    '1 of 2 slower, 1 no difference'
    """
    verdicts = [one.verdict for one in found.outcomes]
    counts = [(WORDS[verdict], verdicts.count(verdict)) for verdict in ORDER if verdict in verdicts]
    if not counts:
        return "nothing was measured"
    if len(counts) == 1:
        return counts[0][0] if len(verdicts) == 1 else f"all {len(verdicts)} {counts[0][0]}"
    (first, number), *rest = counts
    return ", ".join([f"{number} of {len(verdicts)} {first}", *(f"{number} {words}" for words, number in rest)])


def explain(found: Comparison) -> str:
    """What the words of the verdict mean, in a sentence."""
    beyond = factor(found.limit, 2)
    return (
        f"Slower: by all of the 99 % interval, head takes more than {beyond} times as long as base; faster: the other "
        "way round; no difference: all of the interval lies between; undecided: it crosses a limit."
    )


def row(one: Outcome) -> tuple[str, ...]:
    """One kernel on one workload, in the order of `HEADS`."""
    ratio = ""
    if one.change is not None:
        ratio = f"{factor(one.change.ratio)} [{format_end(one.change.low)}, {format_end(one.change.high)}]"
    return one.kernel, one.workload, seconds(one.base), seconds(one.head), ratio, WORDS[one.verdict]


def seconds(side: Side) -> str:
    """The time of a call."""
    return "" if side.seconds is None else duration(side.seconds)


def remarks(found: Comparison) -> list[str]:
    """A sentence for each outcome that is not plain."""
    lines = [
        f"{one.kernel}, {one.workload}: not judged: {one.message}" for one in found.outcomes if one.verdict == UNJUDGED
    ]
    lines += [
        f"{one.kernel}, {one.workload}: undecided: give it more --seconds, or another --gate than {found.limit:g}"
        for one in found.outcomes
        if one.verdict == "AMBIGUOUS"
    ]
    return lines


def print_comparison(console: Console, found: Comparison) -> None:
    """Print the table, a sentence for what is not plain, and the result."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=f"head {found.head.words} against base {found.base.words}", title_justify="left")
    for head in HEADS:
        table.add_column(head)
    for one in found.outcomes:
        table.add_row(*map(escape, row(one)))
    console.print(table)
    for line in [*remarks(found), headline(found)]:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def to_markdown(found: Comparison) -> str:
    """Return the comment: the result, a row a kernel and workload, and below, folded, how it was measured."""
    lines = [MARK, f"### Attention kernels, head against base: {headline(found)}", ""]
    lines += [f"| {' | '.join(HEADS)} |", "|" + " --- |" * len(HEADS)]
    lines += [f"| {' | '.join(map(mark, row(one)))} |" for one in found.outcomes]
    lines += ["", *(f"- {cell(line)}" for line in remarks(found))]
    lines += ["", "<details><summary>How this was measured</summary>", ""]
    machine, busy = found.machine, found.machine.get("busy")
    lines += [
        f"- base: {cell(found.base.words)}; head: {cell(found.head.words)}",
        f"- {explain(found)}",
        "- Both revisions gave results within their bounds of the truth on the timed inputs before any was timed.",
        f"- {cell(str(machine.get('processor', '')))}, {machine.get('cores')} cores"
        + (f", of which {busy:.1f} were busy with other work" if isinstance(busy, float) else ""),
        f"- {', '.join(f'{name} {version}' for name, version in found.versions.items())}",
        "", "</details>",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def mark(text: str) -> str:
    """A text for a cell; the verdict of a slower kernel stands out."""
    return f"**{text}**" if text == WORDS["SLOWER"] else cell(text)
