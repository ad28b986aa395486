"""What the conformance suite says of a kernel before it is timed."""

from __future__ import annotations

from attention_core.bench.targets import Named
from attention_core.conformance.verify import verify_target


def verdict(named: Named, effort: str, seed: int, timeout: float) -> dict[str, str]:
    """{"verdict", "reason", "effort"} of a kernel, in a process of its own.

    Example: verdict(read_target("torch:flash"), "quick", 0, 60.0)["verdict"] is "conforms".
    """
    # Only the verdict is wanted: `verify` makes the counterexamples small.
    report = verify_target(named.target, named.fields, effort=effort, seed=seed, timeout=timeout, shrink=False)
    return {"verdict": report.verdict, "reason": report.reason(), "effort": effort}
