"""An audit for the terminal: the score, the subjects, the survivors, and a test to paste for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from attention_core.audit.results import REFUSED, UNSEEN, Audit, Fate

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

SHOWN = 5
"""Survivors whose test is written out, unless all are wanted."""
PLURAL = {
    UNSEEN: "no law sees them under the target's conventions",
    REFUSED: "they show only in calls that the target refuses",
}
NAMED = 8
"""Faults that do not count which are named in a line."""


def headline(audit: Audit) -> str:
    """The verdict in a sentence.

    >>> headline(Audit("mine.py:f", ("tests",), problem="the suite never calls the target"))
    'mine.py:f: not judged: the suite never calls the target'
    """
    if audit.problem:
        return f"{audit.target}: not judged: {audit.problem}"
    part = "" if audit.shard is None else f"shard {audit.shard}: "
    if audit.score is None and part:
        return f"{part}no fault counts here; the run has {len(audit.shard.targets) if audit.shard else 0}"
    if audit.score is None:
        return f"{audit.target}: not judged: no fault of the catalogue shows in the target's place"
    low, high = (100 * end for end in audit.interval)
    killed, counted = len(audit.kills), len(audit.faults)
    return (
        f"{part}{' '.join(audit.tests)} sees {killed} of {counted} faults in place of {audit.target} "
        f"({100 * audit.score:.0f} %, 95 % interval {low:.0f} to {high:.0f} %)"
    )


def remarks(audit: Audit) -> Iterator[str]:
    """What a reader of the score should know."""
    base = audit.baseline
    if base:
        yield (
            f"the suite as it is: {base['passed']} of {base['tests']} tests pass in {base['seconds']:.1f} s; "
            f"{describe_calls(base)}"
        )
    if audit.options:
        yield f"conventions found: {audit.options}"
    yield from audit.notes
    for name, words in audit.too_strict.items():
        yield f"left out, as it fails with another right implementation too: {name} ({' '.join(words.split())[:160]})"
    hung = [fate.name for fate in audit.fates if fate.status == "hung"]
    if hung:
        yield f"{len(hung)} of the faults seen made the suite hang: {', '.join(hung)}"
    yield from explain_omissions(audit)
    if audit.faults and not audit.whole:
        yield f"{len(audit.faults)} faults, spread over the catalogue by seed {audit.seed} (--all: every fault)"


def describe_calls(base: Mapping[str, Any]) -> str:
    """How often a suite calls its target.

    >>> describe_calls({"call_the_target": 1, "calls": 1}), describe_calls({"call_the_target": 2, "calls": 9})
    ('1 of them calls the target, once', '2 of them call the target, 9 times in all')
    """
    tests, calls = base["call_the_target"], base["calls"]
    return f"{tests} of them call{'s' * (tests == 1)} the target, {'once' if calls == 1 else f'{calls} times in all'}"


def explain_omissions(audit: Audit) -> Iterator[str]:
    """Which faults do not count, and why."""
    for reason in (UNSEEN, REFUSED):
        own = [
            fate.name for fate in audit.fates if fate.status == "left_out" and (fate.words or UNSEEN).startswith(reason)
        ]
        if own:
            more = f" and {len(own) - NAMED} more, which --json names" if len(own) > NAMED else ""
            do, why = ("does", reason) if len(own) == 1 else ("do", PLURAL[reason])
            yield f"{len(own)} of the faults tried {do} not count, as {why}: {', '.join(own[:NAMED])}{more}"


def subject_table(audit: Audit) -> Table:
    """How many faults of each subject are seen."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, right in (("subject", False), ("seen", True), ("of", True)):
        table.add_column(name, justify="right" if right else "left")
    for name, killed, counted in audit.subjects():
        table.add_row(name, str(killed), str(counted), style=None if killed == counted else "yellow")
    return table


def survivor_table(audit: Audit) -> Table:
    """The survivors, the most important first."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("survivor", "what is wrong", "law", "smallest case"):
        table.add_column(name, no_wrap=name == "survivor")
    for fate in audit.survivors:
        table.add_row(fate.name, fate.about, fate.law, fate.case)
    return table


def print_audit(console: Console, audit: Audit, *, everything: bool = False, quiet: bool = False) -> None:
    """Print an audit; `everything` writes out the test of each survivor."""
    if not quiet:
        for line in remarks(audit):
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        if audit.faults:
            console.print(subject_table(audit))
        if audit.survivors:
            console.print()
            console.print(survivor_table(audit))
        shown = audit.survivors if everything else audit.survivors[:SHOWN]
        for fate in shown:
            print_test(console, fate)
        if len(audit.few) > 1:
            print_few(console, audit)
        if len(audit.survivors) > len(shown):
            more = len(audit.survivors) - len(shown)
            console.print(f"{more} more survivors: -v writes out the test of each", style="dim", highlight=False)
    style = {"passes": "green", "survivors": "red"}.get(audit.verdict, "yellow")
    console.print(headline(audit), style=style, highlight=False, markup=False, soft_wrap=True)


def print_few(console: Console, audit: Audit) -> None:
    """Print how few of the tests would do."""
    caught = sum(bool(fate.caught_by) for fate in audit.survivors)
    line = f"{len(audit.few)} tests catch {caught} survivors together, those of {', '.join(audit.few)}"
    console.print(line, highlight=False, markup=False, soft_wrap=True)


def print_test(console: Console, fate: Fate) -> None:
    """Print the test of a survivor."""
    console.print()
    console.print(f"{fate.name}: {fate.about}", style="bold", highlight=False, markup=False, soft_wrap=True)
    words = fate.message or "no case was found"
    kind = "" if fate.confirmed else " (not confirmed: by itself this test does not tell the fault from the target)"
    console.print(f"{words}{kind if fate.test else ''}", highlight=False, markup=False, soft_wrap=True)
    if fate.test:
        console.print(fate.test, highlight=False, markup=False, soft_wrap=True)
