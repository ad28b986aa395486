"""The same right and broken equations put to SymPy's parse_latex with simplify and equals, and to math-verify.

A tool accepts, rejects, or cannot read or decide within the time. Broken equations are those that have a certified
counterexample, so that accepting one is false.
"""

from __future__ import annotations

import signal
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from breaks import breaks

from attention_core.derivation.check import Step, decide_step
from attention_core.derivation.decide import Effort
from attention_core.derivation.records import GOOD, Verdict
from attention_core.derivation.written import written

SECONDS = 5
KINDS = ("factor", "sign", "index", "transpose")
Tool = Callable[[Step], str]


class TooLong(Exception):
    """The time is up."""


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Stop what runs inside after some seconds."""

    def stop(signum: int, frame: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def ours(step: Step) -> str:
    """attention-core derive."""
    verdict = decide_step(step, Effort()).verdict
    return "accepts" if verdict in GOOD else "rejects" if verdict is Verdict.REFUTED else "cannot tell"


def with_sympy(step: Step) -> str:
    """parse_latex, then simplify, then equals."""
    from sympy import simplify
    from sympy.parsing.latex import parse_latex

    left, right = (parse_latex(written(side)) for side in (step.left, step.right))
    if simplify(left - right) == 0:
        return "accepts"
    equal = left.equals(right)
    return "cannot tell" if equal is None else "accepts" if equal else "rejects"


def with_math_verify(step: Step) -> str:
    """An answer grader."""
    from math_verify import parse, verify

    left, right = (parse(f"${written(side)}$", parsing_timeout=None) for side in (step.left, step.right))
    if not left or not right:
        return "cannot tell"
    return "accepts" if verify(left, right, timeout_seconds=None) else "rejects"


def asked(tool: Tool, step: Step) -> str:
    """A tool's answer, or that it has none."""
    try:
        with limited(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tool(step)
    except Exception:  # whatever a foreign parser raises means that it cannot tell
        return "cannot tell"


def equations(steps: Sequence[tuple[str, Step]]) -> tuple[list[Step], list[Step]]:
    """Right equations, and broken ones with a counterexample, one of a kind each."""
    right = [step for _, step in steps if step.op == "=" and not step.assumed]
    broken = []
    for step in right:
        for kind in KINDS:
            one = next((b for b in breaks(step) if b.kind == kind), None)
            if one is not None and decide_step(one.step, Effort()).counterexample is not None:
                broken.append(one.step)
    return right, broken


def compare_tools(steps: Sequence[tuple[str, Step]]) -> str:
    """The section on other tools."""
    right, broken = equations(steps)
    tools: dict[str, Tool] = {
        "attention-core derive": ours,
        "SymPy parse_latex, simplify, equals": with_sympy,
        "math-verify": with_math_verify,
    }
    lines = [
        "## Beside other tools\n",
        f"{len(right)} right equations and {len(broken)} broken ones, the same LaTeX for all tools in one run,",
        f"{SECONDS} s each at most. Neither of the others reads declarations, so they are asked whether the two",
        "sides are the same expression.\n",
        "| tool | right: accepted | right: rejected | right: cannot tell | broken: accepted | broken: rejected | "
        "broken: cannot tell | seconds a step |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, tool in tools.items():
        start = time.perf_counter()
        good, bad = (Counter(asked(tool, step) for step in some) for some in (right, broken))
        seconds = (time.perf_counter() - start) / max(len(right) + len(broken), 1)
        cells = [str(found[a]) for found in (good, bad) for a in ("accepts", "rejects", "cannot tell")]
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {seconds:.2f} |")
    return "\n".join(lines) + "\n"
