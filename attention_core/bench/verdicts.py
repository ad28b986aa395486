"""What the conformance suite says of a kernel before it is timed."""

from __future__ import annotations

import hashlib
from pathlib import Path

from attention_core.bench.targets import Named
from attention_core.conformance.verify import verify_target


def verdict(named: Named, effort: str, seed: int, timeout: float) -> dict[str, str]:
    """{"verdict", "reason", "effort", "source", "hint"} of a kernel, in a process of its own.

    The hint, if there is one, names the conventions that would explain a refutation.

    Example: verdict(read_target("torch:flash"), "quick", 0, 60.0)["verdict"] is "conforms".
    """
    # Only the verdict is wanted: `verify` makes the counterexamples small.
    report = verify_target(named.target, named.fields, effort=effort, seed=seed, timeout=timeout, shrink=False)
    hint = report.advice[0] if report.advice else ""
    return {
        "verdict": report.verdict, "reason": report.reason(), "effort": effort, "source": source(named), "hint": hint
    }  # fmt: skip


def source(named: Named) -> str:
    """The digest of the file that a kernel is in; "" for one that a module's name stands for.

    Example: two runs whose digests differ did not time the same kernel, whatever it is called.
    """
    path = Path(named.origin.rpartition(":")[0])
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else ""
