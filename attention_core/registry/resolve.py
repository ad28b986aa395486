"""From a target's text to its record: a row of the kernel table, or a function with declared fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attention_core.declaration.implementation import Implementation, TargetError
from attention_core.declaration.options import check_applies
from attention_core.registry.table import KERNELS, implementation
from attention_core.worker.target import split_target


def implementation_for(target: str, fields: Mapping[str, Any]) -> tuple[Implementation, str]:
    """The record for a TARGET text and the origin a worker loads: a row of the kernel table, or a bare function.

    Raises:
        TargetError: the text does not name a target.
    """
    rows = {row.name: row for row in KERNELS}
    if target in rows:
        record = implementation(target)
        check_applies(fields.get("contract", record.contract), fields)
        if "parameters" in fields:
            fields = {**fields, "parameters": {**record.parameters, **fields["parameters"]}}
        return record.with_(**fields), rows[target].origin
    family = target.partition(":")[0]
    near = [name for name in rows if name.startswith(f"{family}:")]
    if near and not target.endswith(".py"):
        raise TargetError(f"no kernel {target!r} in the table; there are: {', '.join(near)}")
    split_target(target)
    check_applies(fields.get("contract", "attention"), fields)
    fields = {"name": target, **fields}
    return Implementation(None, **fields), target
