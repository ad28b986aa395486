"""From a target's text to its record, and rows of the kernel table as functions.

Those functions take and return what torch's scaled_dot_product_attention does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from attention_core.declaration.implementation import Implementation, TargetError
from attention_core.declaration.kernel import Kernel
from attention_core.declaration.options import check_applies, takes
from attention_core.registry.table import KERNELS, implementation
from attention_core.worker.foreign import SUFFIXES
from attention_core.worker.target import split_target

if TYPE_CHECKING:
    from torch import Tensor

# Declaring one of these, a kernel wants or gives something else than torch's function does.
OTHER_CONVENTIONS = {"contract", "layout", "out_layout", "returns", "mask_true", "causal", "factory"}

ITSELF = "core:attention"


def answers(row: Kernel) -> bool:
    """Whether `attention` can call a row: torch's conventions, not wrong on purpose, and not `attention` itself."""
    return row.expected == "conforms" and row.name != ITSELF and not OTHER_CONVENTIONS & row.record.keys()


@cache
def load(name: str) -> Callable[..., Tensor]:
    """The function of a kernel, imported on first use.

    Raises: ValueError for a name that no row has or whose row `attention` cannot call; Unavailable where the
        kernel cannot run on this machine.

    Example:
        >>> load("core:tiled").__name__
        'tiled_attention'
    """
    rows = {row.name: row for row in KERNELS}
    if name not in rows or not answers(rows[name]):
        usable = ", ".join(row.name for row in KERNELS if answers(row))
        why = "has other conventions or is wrong on purpose" if name in rows else "is not known"
        why = "is attention itself" if name == ITSELF else why
        raise ValueError(f"kernel {name!r} {why}; use auto, {usable}")
    module, _, attribute = rows[name].origin.partition(":")
    function: Callable[..., Tensor] = getattr(import_module(module), attribute)
    return function


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
        if fields.get("device", record.device) != record.device:  # what fails on one need not fail on another
            fields = {"known_failures": {}, **fields}
        return record.with_(**fields), rows[target].origin
    family = target.partition(":")[0]
    near = [name for name in rows if name.startswith(f"{family}:")]
    if near and not target.endswith(".py"):
        raise TargetError(f"no kernel {target!r} in the table; there are: {', '.join(near)}")
    where, _ = split_target(target)
    contract = fields.get("contract", "attention")
    check_applies(contract, fields)
    fields = {"name": target, **fields}
    if where.endswith(SUFFIXES):  # NumPy's arrays, which have no gradients
        fields = {"array": "numpy", **({"gradients": False} if takes(contract, "gradients") else {}), **fields}
    return Implementation(None, **fields), target
