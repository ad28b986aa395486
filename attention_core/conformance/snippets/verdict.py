"""The last lines of a snippet: an assertion that holds on a correct implementation, and fails on the one under test."""

from __future__ import annotations

import re

from attention_core.conformance.snippets.arrays import literal
from attention_core.conformance.subjects.evidence import Evidence

REFUSALS = "(ValueError, TypeError, NotImplementedError, AssertionError, RuntimeError)"


def verdict(evidence: Evidence, message: str) -> list[str]:
    """The last lines: what is so on a correct implementation and not here."""
    text = repr(" ".join(message.split()))
    if evidence.kind in ("value", "pair") and evidence.got is not None and evidence.want is not None:
        lines = [] if evidence.kind == "pair" else [f"want = {literal(evidence.want)}"]
        if evidence.kind == "pair" and evidence.times != 1:
            lines = [f"want = {literal(evidence.times)} * want"]
        lines.append("print('got', got, 'but should be', want)")
        if evidence.want != evidence.want:
            return [*lines, f"assert got != got, {text}"]
        if evidence.bound is None or abs(evidence.want) == float("inf"):
            return [*lines, f"assert got == want, {text}"]
        return [*lines, f"assert abs(got - want) <= {limit(evidence)}, {text}"]
    if evidence.kind == "again":
        lines = ["print('from', min(answers), 'to', max(answers))"]
        return [*lines, f"assert max(answers) - min(answers) <= {literal(evidence.bound)}, {text}"]
    if evidence.kind == "nonfinite":
        return ["print('got', got, 'but should be finite')", f"assert abs(got) < float('inf'), {text}"]
    if evidence.kind == "must_raise":
        return [f"except {REFUSALS} as error:", "    print('refused, as it should be:', error)", "else:",
                f"    raise AssertionError({text})"]  # fmt: skip
    if evidence.kind == "seeds":
        return [f"assert states[0] != states[1], {text}"]
    if evidence.kind in ("mutated", "shares", "process"):
        return [f"assert after == before, {text}"]
    if evidence.kind == "shape":
        return shape_verdict(message, text)
    return [f"# {text}"]


def limit(evidence: Evidence) -> str:
    """The allowed error in three digits, rounded up, where the failure is clear enough for that."""
    assert evidence.bound is not None and evidence.got is not None and evidence.want is not None
    short = f"{evidence.bound * 1.01:.3g}"
    clear = abs(evidence.got - evidence.want) > 1.02 * evidence.bound > 0
    return short if clear and evidence.bound < float("inf") else literal(evidence.bound)


def shape_verdict(message: str, said: str) -> list[str]:
    """What the message asks of the result's type, shape or dtype, as an assertion."""
    shape = re.search(r"shape .*should be (?:bool )?(\([\d, ]*\))", message)
    dtype = re.search(r"dtype .*should be (\w+)", message)
    count = re.search(r"declared to return '([\w,]+)'", message)
    what = "out[1]" if message.startswith("out1") else "out"
    if shape:
        return [f"assert tuple({what}.shape) == {shape[1]}, {said}"]
    if dtype:
        return [f"assert str({what}.dtype).endswith({dtype[1]!r}), {said}"]
    if count:
        wanted = count[1].count(",") + 1
        return [f"assert (len(out) if isinstance(out, tuple | list) else 1) == {wanted}, {said}"]
    return [f"assert hasattr(out, 'shape'), {said}"]
