"""Failures that kernels are known to have: the file of `--known-failures`, which means what it does for `verify`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping

from attention_core.bench.targets import Named
from attention_core.conformance.contracts import find_contract
from attention_core.declaration.implementation import TargetError
from attention_core.declaration.known_failures import KnownFailure

Known = Mapping[str, KnownFailure]
"""Law -> known failure."""


def known_of(name: str, listed: Mapping[str, Known]) -> dict[str, KnownFailure]:
    """What is listed of a kernel: of its TARGET, whatever conventions stand behind it, and of the whole name.

    Example: known_of("f.py:f@dead_rows=nan", {"f.py:f": {"a_law": failure}}) is {"a_law": failure}.
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
