"""The matrix as a page that is read in two minutes: counts, packages, refutations and why, and every row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from attention_core.matrix.measure import Record
from attention_core.matrix.rows import ARGUMENTS, HERE, ROWS, Argument

HEAD = """# The public matrix

Attention that other people ship, verified as it is. Each row is one implementation under one contract, at quick effort:
first with nothing but the contract, then, where it does not conform, with the conventions that the first run finds.
A row can be run again by anybody who has its package:

    attention-core verify TARGET --contract CONTRACT --effort quick CONVENTIONS

with the target, the contract and the conventions of the tables below. `attention_core.peers` has short adapters, which
name arguments and move axes and repair no number; a class whose signature is known needs none. This page and its data,
`docs/data/matrix.json`, are written by `python -m attention_core.matrix` (`tox run -e matrix`), not by hand;
`attention-core report docs/data/matrix.json` makes a page of them with a field that keeps the rows with a word.

With your packages, `python -m attention_core.matrix --data mine.json --page mine.md` makes yours; `--only`,
`--shard I/N` and `--join` choose rows and put parts together, and a row that is there for a release is not run again.

Most rows whose runtime is Triton's interpreter were judged on a GPU, too: [what came there](gpu.md#verdicts), beside
the verdicts of this page, and why some differ.
"""
ARGUED = """## Refutations, argued

A **flaw** gives a wrong number, or an error at a call that the library means to serve; each was confirmed in plain code
that imports nothing of ours. A **convention** is a choice that the library's own callers keep to and nothing checks.
The [findings](findings.md) say more of each by its number, and [reports](findings/index.md) can be sent as they stand.
"""
ROWS_HEAD = """## Every row

*Conventions* are options of `attention-core verify`, those that the first run found and those that the row declares;
*laws* is how many held.
"""
COLUMNS = ("target", "contract", "runtime", "verdict", "laws", "conventions")


def order(records: Iterable[Record]) -> list[Record]:
    """Records by package and target, the releases of one beside each other."""
    return sorted(records, key=lambda one: (one.package.lower(), one.target, one.runtime, one.version))


def table(head: Iterable[str], lines: Iterable[Iterable[object]]) -> str:
    """A table in Markdown.

    >>> table(["a"], [[1]])
    '| a |\\n|---|\\n| 1 |'
    """
    cells = [[str(cell).replace("|", "\\|") for cell in line] for line in ([*head], *lines)]
    rule = "|" + "---|" * len(cells[0])
    written = [f"| {' | '.join(line)} |" for line in cells]
    return "\n".join([written[0], rule, *written[1:]])


def kinds(one: Record) -> list[str]:
    """Of a refuted row: flaw, convention or both; "not argued" where a law is left that nothing accounts for."""
    if one.verdict != "refuted":
        return []
    return sorted({argument.kind for argument in accounts(one)}) if one.findings else ["not argued"]


def accounts(one: Record) -> list[Argument]:
    """The arguments that account for what a row breaks."""
    named = {name for row in ROWS if (row.target, row.runtime) == (one.target, one.runtime) for name in row.argued}
    return [ARGUMENTS[name] for name in ARGUMENTS if name in named and {*ARGUMENTS[name].laws} & {*one.refuted}]


def say(one: Record) -> str:
    """The verdict of a row in the tables: a refuted one names what accounts for it."""
    if one.verdict != "refuted":
        return one.verdict
    numbers = ", ".join(map(str, one.findings))
    return f"refuted: {' and '.join(kinds(one))}" + (f" ({numbers})" if numbers else "")


def short(target: str) -> str:
    """A target without the folder of the adapters.

    >>> short("attention_core.peers.x:f"), short("timm.layers:Attention")
    ('x:f', 'timm.layers:Attention')
    """
    return target.removeprefix(f"{HERE}.")


def count(records: list[Record]) -> str:
    """The first lines: how many there are, and how they were judged."""
    right = [one for one in records if one.verdict == "conforms"]
    wrong = [one for one in records if one.verdict == "refuted"]
    others = len(records) - len(right) - len(wrong)
    at_once = sum(one.first == "conforms" for one in right)
    flaws = sum("flaw" in kinds(one) for one in wrong)
    unargued = sum("not argued" in kinds(one) for one in wrong)
    packages, runtimes = (len({getattr(one, what) for one in records}) for what in ("package", "runtime"))
    return (
        f"**{len(records)} rows, {packages} packages, {runtimes} runtimes.** {len(right)} conform, {at_once} of\n"
        f"them at the first run. {len(wrong)} are refuted: {flaws} for flaws, {len(wrong) - flaws - unargued} for\n"
        f"conventions that nothing checks, {unargued} not argued. {others} were not judged to the end."
    )


def packages(records: list[Record]) -> str:
    """One line a package and release."""
    lines = []
    known = sorted(records, key=lambda one: (one.package.lower(), one.version))
    for (name, release), group in groupby(known, lambda one: (one.package, one.version)):
        rows = [*group]
        refuted = ", ".join(f"{short(one.target)} ({', '.join(map(str, one.findings))})" for one in rows if kinds(one))
        conform = sum(one.verdict == "conforms" for one in rows)
        runtimes = ", ".join(sorted({one.runtime for one in rows}))
        when = max(one.date for one in rows)
        lines.append((f"[{name}](#{name}) {release}", runtimes, len(rows), conform, refuted, when))
    return table(("package", "runtime", "rows", "conform", "refuted (findings)", "run"), lines)


def argue(records: list[Record]) -> Iterator[str]:
    """Each argument with its rows, then the smallest case of each refuted row."""
    lines = []
    for name, argument in sorted(ARGUMENTS.items(), key=lambda item: item[1].finding):
        rows = [one for one in records if argument in accounts(one)]
        if rows:
            where = ", ".join(sorted({short(one.target) for one in rows}))
            report = f"[{argument.report}](findings/{argument.report}.md)" if argument.report else ""
            number = f"[{argument.finding}](findings.md)"
            lines.append((name, argument.kind, argument.what, argument.avoid, where, number, report))
    if lines:
        yield table(("", "kind", "what", "avoid it", "rows", "finding", "report"), lines)
    for one in records:
        if one.verdict == "refuted":
            laws = ", ".join(f"`{law}`" for law in one.refuted)
            yield f"**{short(one.target)}** ({one.package} {one.version}), {say(one)}: {laws}."
            if one.snippet:
                shown = f"```python\n{one.snippet.strip()}\n```"
                yield f"<details><summary>The smallest case of {short(one.target)}</summary>\n\n{shown}\n\n</details>"


def list_rows(records: list[Record]) -> Iterator[str]:
    """A table a package."""
    for name, group in groupby(records, lambda one: one.package):
        rows = [*group]
        several = len({one.version for one in rows}) > 1
        lines = [
            (
                f"`{one.target}`" + (f" at {one.version}" if several else ""),
                one.contract,
                one.runtime,
                say(one),
                one.held or "",
                f"`{one.conventions}`" if one.conventions else "",
            )
            for one in rows
        ]
        yield f"### {name}\n\n{table(COLUMNS, lines)}"


def make(records: list[Record]) -> str:
    """The page of records, which are in the order of `order`."""
    run = {(one.target, one.runtime) for one in records}
    missing = [f"{short(row.target)} ({row.package})" for row in ROWS if (row.target, row.runtime) not in run]
    parts = [HEAD, count(records), packages(records), ARGUED, *argue(records), ROWS_HEAD, *list_rows(records)]
    if missing:
        parts.append(f"Rows without a run here, not installed or not run yet: {', '.join(missing)}.")
    return "\n\n".join(part.strip() for part in parts) + "\n"
