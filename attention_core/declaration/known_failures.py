"""Known failures: a list in TOML of laws that a target is known to break, kept strict in both directions.

    [[known_failure]]
    target = "torch:default"
    law = "dead_rows_are_as_declared"
    reason = "see docs/findings.md"
    case = "cases/dead_rows.json"     # optional: the smallest case, as `verify` saved it

A listed law must still fail (on its saved case, if there is one); when it no longer does, the run says so and is not
green: the entry has to go.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attention_core.declaration.implementation import TargetError


@dataclass(frozen=True)
class KnownFailure:
    """Why a law is known to fail, and the saved case (JSON values) that shows it, if any."""

    reason: str
    case: Mapping[str, Any] | None = None


def load_known_failures(path: str | Path) -> dict[str, dict[str, KnownFailure]]:
    """Target -> law -> known failure.

    Raises:
        TargetError: the file cannot be read or an entry lacks a key.
    """
    path = Path(path)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TargetError(f"known failures: {path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise TargetError(f"known failures: {path} is not valid TOML: {error}") from error
    found: dict[str, dict[str, KnownFailure]] = {}
    entries = data.pop("known_failure", [])
    if data or not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        raise TargetError(f"known failures: {path}: write every entry under [[known_failure]]")
    for number, entry in enumerate(entries, 1):
        lacking = [key for key in ("target", "law", "reason") if not isinstance(entry.get(key), str)]
        if lacking:
            raise TargetError(f"known failures: {path}: entry {number} lacks {', '.join(lacking)}")
        unknown = sorted(entry.keys() - {"target", "law", "reason", "case"})
        if unknown or not isinstance(entry.get("case", ""), str):
            raise TargetError(f"known failures: {path}: entry {number}: {(unknown or ['case'])[0]!r} is not understood")
        case = _load_case(path.parent / entry["case"]) if "case" in entry else None
        found.setdefault(entry["target"], {})[entry["law"]] = KnownFailure(entry["reason"], case)
    return found


def _load_case(path: Path) -> Mapping[str, Any]:
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
        return dict(saved["case"])
    except OSError as error:
        raise TargetError(f"known failures: {path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        raise TargetError(f"known failures: {path} is not a saved case: {error}") from error


def as_known_failure(value: str | KnownFailure) -> KnownFailure:
    """A plain reason as a known failure without a saved case."""
    return value if isinstance(value, KnownFailure) else KnownFailure(value)
