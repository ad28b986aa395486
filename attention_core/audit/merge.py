"""Shards of an audit as one: the fates in the order of the whole run, and its score, whatever the number of shards."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from attention_core.audit.results import SCHEMA, Audit, Fate
from attention_core.conformance.report.shards import check_shards, shard_of
from attention_core.declaration.implementation import TargetError

SAME = ("target", "tests", "declared", "seed", "floor", "whole", "too_strict", "claims", "versions")
"""What shards of one run have in common."""
OWN_TESTS = "the run was in shards: each test to paste was tried on its own survivor alone"


def is_audit(path: Path) -> bool:
    """Whether a file looks as if `audit --json` wrote it; `merge_audits` says what is wrong with it."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(data, dict) and all(key in data for key in ("faults", "survivors", "tests"))


def merge_audits(paths: Sequence[Path]) -> Audit:
    """Return all shards of an audit as one.

    Args:
        paths: what `audit --shard I/N --json` wrote.

    Returns:
        The audit; the same for any number of shards, but for the seconds that suites took.

    Raises:
        TargetError: a file is of something else, a shard is missing or there twice, or shards are of different runs.
    """
    files = [(path, *read_audit(path)) for path in paths]
    shards = [(path, shard_of(path, data)) for path, data, _ in files]
    parts = [(path, shard) for path, shard in shards if shard is not None]
    if not parts:
        raise TargetError(f"{files[0][0]} is a whole audit: merge joins what `audit --shard I/N` wrote")
    order = check_shards(parts, len(files))
    first = files[0]
    fates: dict[str, Fate] = {}
    for (path, data, audit), (_, shard) in zip(files, parts, strict=True):
        if audit.problem:
            raise TargetError(f"{path} judged nothing: {audit.problem}")
        for name in SAME:
            if data[name] != first[1][name]:
                raise TargetError(f"{first[0]} and {path} differ in {name}: they are not of one run")
        names = [fate.name for fate in audit.fates]
        if names != shard.choose():
            raise TargetError(f"{path} does not hold the faults of shard {shard}: its run did not end")
        fates |= dict(zip(names, audit.fates, strict=True))
    whole = first[2]
    return replace(whole, fates=[fates[name] for name in order], notes=[*whole.notes, OWN_TESTS], shard=None)


def read_audit(path: Path) -> tuple[dict[str, Any], Audit]:
    """The JSON of an audit, and the audit. Raises: TargetError."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["schema_version"] != SCHEMA:
            raise TargetError(f"{path} has schema {data['schema_version']}, and this version reads {SCHEMA}")
        return data, Audit.from_dict(data)
    except OSError as error:
        raise TargetError(f"{path} cannot be read: {error.strerror}") from error
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise TargetError(f"{path} was not written by `attention-core audit --json`") from error
