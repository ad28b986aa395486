"""Write docs/gpu.md from what was measured: python experiments/gpu/page.py > docs/gpu.md."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[2] / "docs"
DATA = DOCS / "data"
KNOWN = {"attention_core.peers.cuda_triton_multiarch:flash": "refuted", "attention_core.peers.fla:parallel": "conforms"}
"""Verdicts in Triton's interpreter, with the options of the GPU's row, of targets that docs/matrix.md does not have."""


def group_of(target: str) -> str:
    """Whose a target is: ours, torch's (or of what calls torch), or a kernel of others."""
    if target.startswith("core:") or target.endswith(":flex_blocks"):
        return "ours"
    return "others" if target.startswith("attention_core.peers.") else "torch"


def row_of(name: str, one: dict[str, Any]) -> str:
    """A target, and what sets its row apart."""
    about = name.removeprefix(re.sub(r"\W+", "_", one["target"])).strip("_").replace("_", " ")
    return f"`{one['target']}`" + (f", {about}" if about else "")


def some_laws(laws: list[str], most: int = 5) -> str:
    """The first of some laws."""
    return ", ".join(f"`{law}`" for law in laws[:most]) + (f" and {len(laws) - most} more" if laws[most:] else "")


def verdict_lines(found: dict[str, Any], group: str) -> Iterator[str]:
    """A line for each report of a group."""
    for name, one in found.items():
        if group_of(one["target"]) == group:
            largest = f"{max(one['ratios'].values()):.2f}" if one["ratios"] else ""
            why = some_laws(one["refuted"]) or (
                "" if one["verdict"] == "conforms" else one["reason"].partition(": ")[0]
            )
            yield f"| {row_of(name, one)} | {one['verdict']} | {one['held']} | {one['problems']} | {largest} | {why} |"


def other_lines(found: dict[str, Any]) -> Iterator[str]:
    """A line for each kernel of others: in the interpreter, on the GPU in two bytes, and in float32."""
    matrix = json.loads((DATA / "matrix.json").read_text())["rows"]
    interpreted = {one["target"]: one for one in matrix if one["runtime"] == "Triton's interpreter"}
    for name, one in found.items():
        target = one["target"]
        if group_of(target) != "others" or name.endswith("_in_float32"):
            continue
        known = interpreted.get(target)
        first = say(known["verdict"], known["refuted"]) if known else KNOWN.get(target, "not run")
        single = found.get(f"{name}_in_float32")
        cells = [say(one["verdict"], one["refuted"]), say(single["verdict"], single["refuted"]) if single else ""]
        yield f"| `{target.removeprefix('attention_core.peers.')}` | {first} | {' | '.join(cells)} |"


def say(verdict: str, refuted: list[str]) -> str:
    """A verdict, with how many laws refute."""
    return f"{verdict}, {len(refuted)} law{'s' * (len(refuted) > 1)}" if refuted else verdict


def interpreted_laws() -> dict[str, str]:
    """For each planted fault the law that refutes it in the interpreter, from its page."""
    line = re.compile(
        r"^\| (\w+) \| (?:flash|paged) \|.*\| (?:quick|standard|missed) \| (.*?) \| [\d.]+ \|$", re.MULTILINE
    )
    return dict(line.findall((DOCS / "triton_faults.md").read_text(encoding="utf-8")))


def fault_lines(faults: list[dict[str, Any]]) -> Iterator[str]:
    """A line for each fault that another law refutes on the GPU than in the interpreter, or none."""
    known = interpreted_laws()
    for one in faults:
        if one["law"] != known[one["fault"]]:
            here = f"`{one['law']}`" if one["law"] else "missed"
            yield f"| {one['fault']} | {here} | `{known[one['fault']]}` |"


def count_faults(faults: list[dict[str, Any]]) -> dict[str, int]:
    """How many faults were judged, refuted, and by the law of the interpreter; the median of processor seconds."""
    known = interpreted_laws()
    return {
        "judged": len(faults),
        "refuted_faults": sum(bool(one["law"]) for one in faults),
        "alike": sum(one["law"] == known[one["fault"]] for one in faults),
        "middle": round(statistics.median(one["seconds"] for one in faults)),
    }


def problem(p: dict[str, Any]) -> str:
    """A problem in a few words."""
    heads = f"{p['H']} heads" + (f", {p['H_kv']} of keys" if p["H_kv"] != p["H"] else "")
    causal, way = "causal" if p["causal"] else "full", "forward and backward" if p["backward"] else "forward"
    return f"B {p['B']}, {heads}, n {p['n']}, d {p['d']}, {p['dtype']}, {causal}, {way}"


def time_lines(problems: list[dict[str, Any]]) -> Iterator[str]:
    """A table of all problems."""
    names = list(problems[0]["kernels"])
    yield f"| | floor | {' | '.join(names)} |"
    yield "|---" * (2 + len(names)) + "|"
    for p in problems:
        times = [p["kernels"].get(name, {}).get("times") for name in names]
        shown = [f"{1e3 * statistics.median(t):.3f}" if t else "-" for t in times]
        yield f"| {problem(p)} | {1e3 * p['floor']:.3f} | {' | '.join(shown)} |"


def page() -> str:
    """The whole page."""
    verdicts, times, faults = (
        json.loads((DATA / f"gpu_{name}.json").read_text()) for name in ("verdicts", "times", "faults")
    )
    timed = [one for p in times["problems"] for one in p["kernels"].values() if "times" in one]
    spread = max(max(abs(t / statistics.median(one["times"]) - 1) for t in one["times"]) for one in timed)
    about = {**times, "spread": spread, "error": max(one["error"] for one in timed), **count_faults(faults)}
    about |= {"flops": times["rates"]["flops"] / 1e12, "bytes": times["rates"]["bytes"] / 1e12}
    about |= {f"{group}_lines": "\n".join(verdict_lines(verdicts, group)) for group in ("ours", "torch")}
    about |= {"other_lines": "\n".join(other_lines(verdicts)), "fault_lines": "\n".join(fault_lines(faults))}
    about["time_lines"] = "\n".join(time_lines(times["problems"]))
    return Path(__file__).with_suffix(".md").read_text(encoding="utf-8").format(**about)


if __name__ == "__main__":
    print(page(), end="")
