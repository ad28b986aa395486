"""Reports for the terminal: the opening (what is under test, which claims), one line a law, the verdict table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from attention_core.conformance.first_look.findings import FirstLook, command, select_non_defaults
from attention_core.conformance.report.flaky import SAME_CALL
from attention_core.conformance.report.law_result import LOST, NOT_RUN, LawResult
from attention_core.conformance.report.ranking import choose_counterexamples, met_a_change, sort_worst_first
from attention_core.conformance.report.results import Report, count, join_names
from attention_core.conformance.subjects.core import CORE_REFUSED
from attention_core.declaration.errors import plain
from attention_core.declaration.implementation import usual, usual_dead_rows
from attention_core.declaration.sizes import FIT_BLOCKS

STYLES = {
    "held": "green", "refuted": "bold red", "refused": "yellow", "not_applicable": "dim", "known_failure": "magenta",
    "unexpected_pass": "bold yellow", "error": "bold red", "conforms": "bold green", "incomplete": "yellow",
}  # fmt: skip
ONE_HEAD_SIZE = re.compile(r"^out: got shape \((.*), \d+\), but should be \(\1, \d+\)")
"""Of a result whose head size is not that of the values."""
READABLE, LONG = 8000, 160
"""Characters of a snippet, and of a line in a longer one, that a person may be expected to read."""
PLAIN = {
    "layout": "bhnd", "causal": "top_left", "mask_true": "attend", "returns": "out",
    "accumulate": "input", "merges": "none", "array": "torch", "device": "cpu", "contract": "attention",
    "masked_nan": "unspecified", "grouping": "interleaved",
}  # fmt: skip


def opening(report: Report) -> list[str]:
    """What is under test and under which conventions, in two or three lines."""
    declared = report.declared
    contract = declared.get("contract", "attention")
    plain_ones = {**PLAIN, "dead_rows": usual_dead_rows(contract)}
    plain_ones |= {name: usual(name, contract) for name in ("causal", "masked_nan")}
    unusual = [f"{k}={declared[k]}" for k, v in plain_ones.items() if declared.get(k, v) != v]
    out = declared.get("out_layout")
    if out not in (None, declared.get("layout", out)):
        unusual.append(f"out_layout={out}")
    lines = [f"{report.target}: {', '.join(unusual) if unusual else 'conventions of torch'}"]
    if declared:
        lines[0] += f"; dtypes {', '.join(declared.get('dtypes', []))}; effort {report.effort}, seed {report.seed}"
    under = report.under_found
    judged = (
        report if under is None or not under.claims else under
    )  # its laws stopped where the conventions explained it
    if report.claims:
        where = "" if judged is report else " (under the conventions found)"
        tested = [k for k, v in judged.claims.items() if v == "tested"]
        why: dict[str, list[str]] = {}
        for claim, status in judged.claims.items():
            if status != "tested":
                why.setdefault(status.removeprefix("not tested: "), []).append(claim)
        other = "; ".join(f"{', '.join(claims)} ({reason})" for reason, claims in why.items())
        lines.append(f"claims tested{where}: {', '.join(tested) or 'none'}; not tested: {other or 'none'}")
    for names, accepted in ((judged.untested, ""), (report.accepted_untested, ", as accepted")):
        lines += [f"parameters that no law tests{accepted}: {', '.join(names)}"] if names else []
    lines += report.notes
    if not report.isolated:
        lines.append("ran in this process, without isolation")
    return lines


def print_report(
    console: Console, report: Report, *, details: bool = True, traceback: bool = False, everything: bool = False,
    looked: bool = False,
) -> None:  # fmt: skip
    """One target's result for people; `everything` adds the laws that do not apply and all counterexamples.

    `looked` leaves out the first look, which was shown before the laws ran.
    """
    if report.first_look is not None and details and not looked:
        print_first_look(console, report.first_look)
    if report.laws and details:
        for line in opening(report):
            say(console, line)
        print_laws(console, report, everything)
    for line in report.advice if details else []:
        say(console, line, "bold")
    if details:
        print_counterexamples(console, report, everything)
    if report.traceback and traceback:
        say(console, report.traceback)
    console.print(verdict_line(report), highlight=False, soft_wrap=not console.is_terminal)
    for line in under_found_lines(report) if details else []:
        say(console, line, "bold")
    if report.under_found is not None and details:
        print_counterexamples(console, report.under_found, everything)


def print_replay(console: Console, report: Report) -> None:
    """The result of one saved case: that it passes now, or the report on how it fails."""
    if not report.passed:
        print_report(console, report)
        return
    (law,) = (result.law for result in report.laws)
    line = f"{report.target}: the saved case passes now ({law} holds on it)"
    console.print(line, style="green", highlight=False, markup=False, soft_wrap=not console.is_terminal)
    say(console, f"for a verdict on the target, run attention-core verify {report.target}", "dim")


def print_first_look(console: Console, look: FirstLook) -> None:
    """What a few calls found, before any law."""
    for number, line in enumerate(look.lines):
        say(console, f"first look: {line}" if number == 0 else f"  {line}")


def under_found_lines(report: Report) -> list[str]:
    """The verdict under the conventions found, and the command that declares them."""
    under, look = report.under_found, report.first_look
    if under is None or look is None:
        return []
    unjudged = f"; {look.unjudged}" if look.unjudged else ""
    lines = [f"under the conventions found ({look.options()}): {under.verdict} ({under.reason()}){unjudged}"]
    them = "them, and sizes that its blocks fit" if fitting_sizes(under) else "them"
    if not under.untested or under.problem or not report.isolated:
        return [*lines, f"to declare {them}: {how_to_declare(report)}", *under.advice]
    accepted = f"--untested {','.join(under.untested)}"  # all that keeps it from conforming
    return [*lines, f"to declare {them}, and to accept what no law tests: {how_to_declare(report)} {accepted}"]


def fitting_sizes(under: Report) -> dict[str, str]:
    """The sizes that a report advises to declare, as a field of the record; {} where it advises none."""
    if under.declared.get("sizes") or f"--sizes '{FIT_BLOCKS}'" not in under.reason():
        return {}
    one = any(ONE_HEAD_SIZE.search(r.message) for r in under.with_status("refuted"))
    return {"sizes": f"{FIT_BLOCKS} and d == d_v" if one else FIT_BLOCKS}


def how_to_declare(report: Report) -> str:
    """The command, or the record of a target in this process, that declares the conventions found."""
    look, under = report.first_look, report.under_found
    assert look is not None and under is not None
    declared = {**under.declared, **fitting_sizes(under)}
    if report.isolated:
        return command(report.target, declared)
    fields = ", ".join(f"{name}={value!r}" for name, value in select_non_defaults(report.target, declared).items())
    return f"Implementation({report.target}, {fields})"


def say(console: Console, line: str, style: str = "") -> None:
    """One line, whole where it goes to a file or another program; never taken for markup."""
    console.print(escape(plain(line)), highlight=False, style=style, soft_wrap=not console.is_terminal)


def print_laws(console: Console, report: Report, everything: bool) -> None:
    """The table of laws, the worst first; below it, counted, what does not apply, was not run, or was declined."""
    nothing_said = report.problem.startswith(CORE_REFUSED)
    silent = {
        "not applicable": [r for r in report.with_status("not_applicable") if not r.message.startswith(NOT_RUN)],
        "not run": [r for r in report.with_status("not_applicable") if r.message.startswith(NOT_RUN)],
        "refuted for the reason that another law shows": met_a_change(report.with_status("refuted"))[1:],
        "declined every time": report.with_status("refused") if nothing_said else [],
    }
    hidden = [] if everything else [r for results in silent.values() for r in results]
    shown = [r for r in report.laws if r not in hidden]
    if shown:
        console.print(law_table(sort_worst_first(shown)))
    for what, results in silent.items() if hidden else ():
        why = Counter(r.message for r in results)
        commonest = [f"{number} x {reason}" if number > 1 else reason for reason, number in why.most_common(3)]
        rest = sum(why.values()) - sum(number for _, number in why.most_common(3))
        reasons = "; ".join([*commonest, *([f"{rest} for other reasons"] if rest else [])])
        if what == "not run":
            reasons = next(iter(why), "").removeprefix(NOT_RUN)
        if results:
            say(console, f"{count(len(results), 'law')} {what} (-v lists them): {reasons}", "dim")


def print_counterexamples(console: Console, report: Report, everything: bool) -> None:
    """The most telling ones in full; a convention that explains them all leaves one to look at."""
    refuted = [c for c in report.counterexamples if c.law in {r.law for r in report.with_status("refuted")}]
    shown = refuted if everything else choose_counterexamples(report.laws, report.explained)
    for found in shown:
        console.print(f"\n[bold red]{escape(found.title)}[/]: ", end="", highlight=False)
        say(console, found.message.removeprefix(f"{SAME_CALL}: "))
        if found.case:
            say(console, f"  {'smallest ' if found.shrunk else ''}case: {found.case}")
        text, cut = (found.snippet.rstrip(), 0) if everything else readable(found.snippet.rstrip())
        console.print(text, highlight=False, markup=False, soft_wrap=True)  # whole lines, to be pasted
        if cut:
            rest = "the whole program is shown by -v and attention-core replay, and is in --json and --html"
            say(console, f"  {count(cut, 'long line')} left out (arrays of many numbers): {rest}", "dim")
    left = len(refuted) - len(shown)
    if left:
        say(console, f"and {count(left, 'more counterexample')}: see -v, --json, --html or the saved cases", "dim")
    for result in report.with_status("known_failure"):
        say(console, f"known failure: {result.law}: {result.message}")


def readable(snippet: str) -> tuple[str, int]:
    """A snippet as it is where people can read it, else with comments for its long lines; how many there are.

    A line cut short would be a syntax error when it is copied.

    Example:
        >>> readable("a = 1")
        ('a = 1', 0)
    """
    if len(snippet) <= READABLE:
        return snippet, 0
    lines = snippet.splitlines()
    long = [line for line in lines if len(line) > LONG]
    readable_lines = [
        line if len(line) <= LONG else f"# {line[:40]} ... ({len(line)} characters, left out)" for line in lines
    ]
    return "\n".join(readable_lines), len(long)


def verdict_line(report: Report) -> str:
    """The verdict with its reason, in rich markup."""
    return f"[{STYLES[report.verdict]}]{escape(report.target)}: {report.verdict}[/] ({escape(report.reason())})"


def law_table(laws: Sequence[LawResult]) -> Table:
    """One row a law."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("law", "status", "problems", "seconds", ""):
        justify: Any = "right" if name in ("problems", "seconds") else "left"
        table.add_column(name, justify=justify, no_wrap=name not in ("law", ""), overflow="fold")
    for r in laws:
        status = f"[{STYLES[r.status]}]{r.status.replace('_', ' ')}[/]"
        met = r.counterexample.event if r.counterexample is not None else ""
        remark = r.message if r.status != "refuted" or met in LOST else met
        if not r.minimum_met:
            remark = f"too few cases could be judged; {remark}"
        table.add_row(r.law, status, str(r.cases), f"{r.seconds:.2f}", escape(remark[:100]))
    return table


def verdict_table(reports: Sequence[Report]) -> Table:
    """One row a target: verdict, laws held, refuted, known to fail, refused, problems judged, seconds."""
    table = Table(title="Verdicts", title_justify="left", header_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    columns = ("target", "verdict", "held", "refuted", "known", "refused", "problems", "seconds")
    for name in columns:
        numeric = name in columns[2:8]
        # A long path is folded rather than cut: its end holds the name.
        table.add_column(name, justify="right" if numeric else "left", no_wrap=name != "target", overflow="fold")
    for report in reports:
        counts = Counter(result.status for result in report.laws)
        verdict = report.verdict if not report.unavailable else "not here"
        style = STYLES.get(verdict, "dim")
        cases, seconds = sum(r.cases for r in report.laws), sum(r.seconds for r in report.laws)
        table.add_row(
            escape(report.target), f"[{style}]{verdict}[/]",
            *(str(counts[status]) for status in ("held", "refuted", "known_failure", "refused")),
            str(cases), f"{seconds:.1f}",
        )  # fmt: skip
    return table


def verdict_remarks(reports: Sequence[Report], expected: Mapping[str, str] | None = None) -> list[str]:
    """One line for every target whose verdict needs a reason."""
    lines = []
    for report in reports:
        text = remark(report, (expected or {}).get(report.target, ""))
        lines += [f"{report.target}: {text}"] if text else []
    return lines


def remark(report: Report, expected: str = "") -> str:
    """Why a verdict is what it is; "" for a plain `conforms`."""
    if report.unavailable:
        return f"cannot run here: {report.unavailable}"
    if report.verdict == "refuted":
        text = join_names(report.refuted_as(), 3)
        return f"a labelled counterexample: {text}" if expected == "refuted" else text
    known = [r.law for r in report.with_status("known_failure")]
    reason = report.reason() if report.verdict in ("incomplete", "error") else report.problem
    return reason or (f"known {'failure' if len(known) == 1 else 'failures'}: {', '.join(known)}" if known else "")
