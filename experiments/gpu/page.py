"""Write docs/gpu.md from what was measured: python experiments/gpu/page.py > docs/gpu.md."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[2] / "docs" / "data"


def verdict_lines(found: dict[str, Any]) -> Iterator[str]:
    """A line for each report."""
    for name, one in found.items():
        about = name.removeprefix(one["target"].replace(":", "_").replace(".", "_")).strip("_").replace("_", " ")
        laws = ", ".join(f"`{law}`" for law in one["refuted"][:5])
        laws += f" and {len(one['refuted']) - 5} more" if len(one["refuted"]) > 5 else ""
        largest = max(one["ratios"].values(), default=0.0)
        target = f"`{one['target']}`" + (f", {about}" if about else "")
        yield f"| {target} | {one['verdict']} | {one['held']} | {one['problems']} | {largest:.2f} | {laws} |"


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
    verdicts, times = (json.loads((DATA / f"gpu_{name}.json").read_text()) for name in ("verdicts", "times"))
    timed = [one for p in times["problems"] for one in p["kernels"].values() if "times" in one]
    spread = max(max(abs(t / statistics.median(one["times"]) - 1) for t in one["times"]) for one in timed)
    about = {**times, "spread": spread, "error": max(one["error"] for one in timed)}
    about |= {"flops": times["rates"]["flops"] / 1e12, "bytes": times["rates"]["bytes"] / 1e12}
    about["verdict_lines"] = "\n".join(verdict_lines(verdicts))
    about["time_lines"] = "\n".join(time_lines(times["problems"]))
    return Path(__file__).with_suffix(".md").read_text(encoding="utf-8").format(**about)


if __name__ == "__main__":
    print(page(), end="")
