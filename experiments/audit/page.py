"""The page of the audit: which published rule sees which faults, and the smallest case of each fault that passes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

SUITES = Path(__file__).resolve().parent / "suites"
KILLED = ("killed", "hung", "died")
NAMES = {
    "course": "a course notebook", "flash_attention": "flash-attention", "flashinfer": "FlashInfer",
    "flashinfer_bench": "flashinfer-bench", "kernel_bench": "KernelBench", "plain_hypothesis": "plain Hypothesis",
    "torch_sdpa": "torch's SDPA tests", "transformer_engine": "TransformerEngine", "transformers": "transformers",
}  # fmt: skip
"""What a suite is called on the page."""
HEADS = {"TransformerEngine": "Transformer Engine", "KernelBench": "Kernel Bench", "transformers": "trans\u00adformers"}
"""Long names, as heads of narrow columns."""
INTRODUCTION = """\
# What published tests of attention see

`attention-core audit` on {suites} suites: {faults} faults of the catalogue, from its subjects in turn by one fixed
draw, take the place of one right function, one after another, and each suite runs on each of them. Written by
`python experiments/audit/run.py --faults {faults} --write docs/audit.md` (`tox run -e audit`), not by hand.

The suites are in `experiments/audit/suites/`. Each is re-created from a published rule (sizes, dtypes, inputs,
tolerance), not copied: what is audited is the rule, with the arguments that it is about, and not the project. A rule
that never passes a mask cannot see a fault of masks. The lengths are sized down to some hundreds. Intervals are
Wilson's, 95 %, for faults drawn as these were: with so few they are wide.
[What follows for tests of attention](tests_of_attention.md).
"""


def render(figures: Mapping[str, Any]) -> str:
    """The page."""
    suites: Mapping[str, Any] = figures["suites"]
    cases: Mapping[str, Any] = figures["cases"]
    names = sorted(suites, key=lambda name: (-suites[name]["score"], name))
    one = suites[names[0]]
    lines = [INTRODUCTION.format(suites=len(names), faults=one["counted"])]
    lines += [*scores(names, suites), *by_subject(names, suites), *by_fault(names, suites)]
    lines += [*survivors(names, suites, cases)]
    versions = ", ".join(f"{name} {number}" for name, number in one["versions"].items())
    lines += [
        "",
        f"{versions}; seed {one['seed']}. Faults left out, since no law sees them here: {one['left_out']}.",
    ]
    return "\n".join(lines) + "\n"


def rule_and_source(suite: str) -> tuple[str, str]:
    """The rule in a sentence, and where it is published, out of the docstring of a suite."""
    text = ast.get_docstring(ast.parse((SUITES / f"test_{suite}.py").read_text(encoding="utf-8"))) or ""
    rule, _, rest = text.partition("\n\n")
    words = " ".join(rest.removeprefix("Source of the rule: ").split())
    return " ".join(rule.split()).partition(": ")[2] or rule, words


def scores(names: Sequence[str], suites: Mapping[str, Any]) -> Iterator[str]:
    """The table of scores."""
    yield from [
        "## Scores",
        "",
        "| suite | its rule | seen | share | 95 % interval | tests | seconds |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for name in names:
        one = suites[name]
        low, high = (round(100 * end) for end in one["interval"])
        base = one["baseline"]
        yield (
            f"| {NAMES[name]} | {rule_and_source(name)[0]} | {one['killed']} of {one['counted']} | "
            f"{100 * one['score']:.0f} % | {low} to {high} % | {base['tests']} | {base['seconds']:.0f} |"
        )
    yield from ["", "Sources:", ""]
    yield from (f"* {NAMES[name]}: {rule_and_source(name)[1]}" for name in names)


def fates(suite: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The faults that count, by name."""
    return {fate["name"]: fate for fate in suite["faults"] if fate["status"] != "left_out"}


def by_subject(names: Sequence[str], suites: Mapping[str, Any]) -> Iterator[str]:
    """How many faults of each subject a suite sees."""
    subjects = sorted({fate["subject"] for fate in fates(suites[names[0]]).values()})
    heads = [HEADS.get(NAMES[name], NAMES[name]) for name in names]
    yield from ["", "## By subject", "", f"| subject | of | {' | '.join(heads)} |"]
    yield f"|---|--:|{'--:|' * len(names)}"
    for subject in subjects:
        own = {name: [f for f in fates(suites[name]).values() if f["subject"] == subject] for name in names}
        seen = [str(sum(f["status"] in KILLED for f in own[name])) for name in names]
        yield f"| {subject} | {len(own[names[0]])} | {' | '.join(seen)} |"


def by_fault(names: Sequence[str], suites: Mapping[str, Any]) -> Iterator[str]:
    """Who sees which fault."""
    yield from ["", "## By fault", "", "| fault | what is wrong | seen by |", "|---|---|---|"]
    for fault, fate in sorted(fates(suites[names[0]]).items()):
        seers = [NAMES[name] for name in names if fates(suites[name])[fault]["status"] in KILLED]
        yield f"| `{fault}` | {fate['about']} | {', '.join(seers) or 'none'} |"


def survivors(names: Sequence[str], suites: Mapping[str, Any], cases: Mapping[str, Any]) -> Iterator[str]:
    """Each fault that some suite lets through, with the smallest case as a test."""
    yield from ["", "## The cases that show them", ""]
    yield (
        "For each fault that at least one suite lets through, the smallest case as a test to paste. Each was tried: "
        "it fails with the fault in place and passes on the right function, unless the line says otherwise. Where no "
        "single case shows the fault, the test asks the laws."
    )
    for fault in sorted(cases):
        fate = cases[fault]
        through = [NAMES[name] for name in names if fates(suites[name]).get(fault, {}).get("status") == "survived"]
        source = "" if list(fate["source"]) == ["own"] else f" ({', '.join(fate['source'])})"
        yield from [
            "",
            f"### {fault}",
            "",
            f"{fate['about']}{source if source.strip(' ()') not in fate['about'] else ''}",
        ]
        yield from ["", f"Passes: {', '.join(through)}."]
        if fate["test"]:
            yield from [
                "" if fate["confirmed"] else "\nNot confirmed: by itself this test passes with the fault.",
                "```python",
            ]
            yield from [fate["test"].rstrip(), "```"]
