"""What the conformance suite says of a kernel before it is timed.

Failures that kernels are known to have: the file of `--known-failures`, which means what it does for `verify`.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from attention_core.bench.conventions import in_bench_words, with_convention
from attention_core.bench.targets import Named
from attention_core.conformance.contracts import find_contract
from attention_core.conformance.engine.verify import verify_target
from attention_core.conformance.report.results import Report, count
from attention_core.declaration.implementation import TargetError
from attention_core.declaration.known_failures import KnownFailure

Known = Mapping[str, KnownFailure]
"""Law -> known failure."""


def known_of(name: str, listed: Mapping[str, Known]) -> dict[str, KnownFailure]:
    """What is listed of a kernel: of its TARGET, whatever conventions stand after it, and of the whole name.

    Example:
        >>> known_of("f.py:f@dead_rows=nan", {"f.py:f": {"a_law": "a reason"}})
        {'a_law': 'a reason'}
    """
    return {**listed.get(name.partition("@")[0], {}), **listed.get(name, {})}


def check_known_failure(kernel: Named, known: Known) -> None:
    """Refuse a law that does not apply to the kernel. Raises: TargetError."""
    laws = {law.name for law in find_contract(kernel.implementation.contract).laws} if known else set()
    for name in known:
        if name not in laws:
            raise TargetError(f"known failures name {name!r} of {kernel.name}, which is not a law of its contract")


def unused_targets(names: Iterable[str], listed: Mapping[str, Known]) -> list[str]:
    """Targets of the list that no kernel of a run is."""
    targets = {part for name in names for part in (name, name.partition("@")[0])}
    return [target for target in listed if target not in targets]


def as_words(known: Known) -> str:
    """What a verdict went by, as results keep it: the laws, and which saved cases show them."""
    words = []
    for law, failure in sorted(known.items()):
        case = "" if failure.case is None else json.dumps(failure.case, sort_keys=True)
        words.append(f"{law} ({hashlib.sha256(case.encode()).hexdigest()[:8]})" if case else law)
    return ", ".join(words)


NO_GRADIENT = "the output carries no gradient"
"""How the suite says of any law, whatever its name, that there was nothing to judge."""


def verdict(
    named: Named, effort: str, seed: int, timeout: float, known: Known | None = None,
    report_progress: Callable[[int, int], None] = lambda done, whole: None,
) -> dict[str, str]:  # fmt: skip
    """{"verdict", "reason", "effort", "source", "hint", "known", "stale"} of a kernel, in a process of its own.

    `report_progress` is called after each law with how many are judged, and how many there are.

    The hint, if there is one, says in a line each what would explain a refutation: other conventions, gradients that
    are not there, faults that known kernels have too. Stale are the laws among `known` that hold after all.
    """
    known, judged = known or {}, itertools.count(1)
    # Only the verdict is wanted: `verify` makes the counterexamples small.
    report = verify_target(
        named.target, named.fields, effort=effort, seed=seed, timeout=timeout, known=known, shrink=False,
        progress=lambda target, result, whole: report_progress((next(judged) - 1) % whole + 1, whole),
    )  # fmt: skip
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

    Example:
        >>> Path("glob.py").touch()  # torch would import it in the place of its own
        >>> shadowing_files(Path())
        ['glob.py']
    """
    found = {path for folder in folders if folder.is_dir() for path in folder.resolve().glob("*.py")}
    return sorted(path.name for path in found if path.stem in sys.stdlib_module_names)


def source(named: Named) -> str:
    """The digest of the file that a kernel is in; "" for one that a module's name stands for.

    Two runs whose digests differ did not time the same kernel, whatever it is called.
    """
    path = Path(named.origin.rpartition(":")[0])
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else ""
