"""What the conformance suite says of a kernel before it is timed."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from attention_core.bench.conventions import in_bench_words, with_convention
from attention_core.bench.known_failures import Known, as_words
from attention_core.bench.targets import Named
from attention_core.conformance.engine.verify import verify_target
from attention_core.conformance.report.results import Report, count

NO_GRADIENT = "the output carries no gradient"
"""How the suite says of any law, whatever its name, that there was nothing to judge."""


def verdict(named: Named, effort: str, seed: int, timeout: float, known: Known | None = None) -> dict[str, str]:
    """{"verdict", "reason", "effort", "source", "hint", "known", "stale"} of a kernel, in a process of its own.

    The hint, if there is one, says in a line each what would explain a refutation: other conventions, gradients that
    are not there, faults that known kernels have too. Stale are the laws among `known` that hold after all.

    Example: verdict(read_target("torch:flash"), "quick", 0, 60.0)["verdict"] is "conforms".
    """
    known = known or {}
    # Only the verdict is wanted: `verify` makes the counterexamples small.
    report = verify_target(
        named.target, named.fields, effort=effort, seed=seed, timeout=timeout, known=known, shrink=False
    )
    return {
        "verdict": report.verdict, "reason": reason(report, named), "effort": effort, "source": source(named),
        "hint": "\n".join(hints(report, named.name)), "known": as_words(known),
        "stale": ", ".join(r.law for r in report.with_status("unexpected_pass") if r.law in known),
    }  # fmt: skip


def reason(report: Report, named: Named) -> str:
    """Why the verdict is what it is, in one line."""
    refuted, silent = report.with_status("refuted"), laws_without_gradient(report)
    if refuted and len(silent) == len(refuted):
        return f"{NO_GRADIENT} ({count(len(silent), 'law')})"  # the laws' names would say something else each
    found = in_bench_words(report.reason(), named.name)
    names = shadowing_files(Path(named.origin.rpartition(":")[0]).parent, Path()) if report.failed else []
    return f"{found}; files here hide Python's own modules (rename them): {', '.join(names)}" if names else found


def laws_without_gradient(report: Report) -> list[str]:
    """The refuted laws that met an output without a gradient."""
    return [r.law for r in report.with_status("refuted") if r.message.startswith(NO_GRADIENT)]


def hints(report: Report, name: str) -> list[str]:
    """What would explain a refutation, a line each; missing gradients are named once, as an option of `bench`."""
    silent = without_gradients(report, name)
    return [*silent, *(line for line in report.advice if not (silent and line.endswith("with --no-gradients")))]


def without_gradients(report: Report, name: str) -> list[str]:
    """What to write of a kernel that gives no gradients, as a line."""
    silent = laws_without_gradient(report)
    if not silent:
        return []
    others = len(report.with_status("refuted")) - len(silent)
    rest = f" ({count(others, 'other law')} would still be refuted)" if others else ""
    return [f"it gives no gradients; if that is meant, name it {with_convention(name, 'gradients=false')}{rest}"]


def shadowing_files(*folders: Path) -> list[str]:
    """Files in the folders from which a kernel imports that are named like modules of Python's own.

    Example: in a folder with glob.py, which torch would import in the place of its own, hidden(Path()) is ["glob.py"].
    """
    found = {path for folder in folders if folder.is_dir() for path in folder.resolve().glob("*.py")}
    return sorted(path.name for path in found if path.stem in sys.stdlib_module_names)


def source(named: Named) -> str:
    """The digest of the file that a kernel is in; "" for one that a module's name stands for.

    Example: two runs whose digests differ did not time the same kernel, whatever it is called.
    """
    path = Path(named.origin.rpartition(":")[0])
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else ""
