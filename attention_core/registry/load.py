"""Rows of the kernel table as functions: those that take and return what torch's scaled_dot_product_attention does."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

from torch import Tensor

from attention_core.declaration.kernel import Kernel
from attention_core.registry.table import KERNELS

# Declaring one of these, a kernel wants or gives something else than torch's function does.
OTHER_CONVENTIONS = {"contract", "layout", "out_layout", "returns", "mask_true", "causal", "factory"}

ITSELF = "core:attention"


def answers(row: Kernel) -> bool:
    """Whether `attention` can call a row: torch's conventions, not wrong on purpose, and not `attention` itself."""
    return row.expected == "conforms" and row.name != ITSELF and not OTHER_CONVENTIONS & row.record.keys()


@cache
def load(name: str) -> Callable[..., Tensor]:
    """The function of a kernel, imported when first asked for.

    Raises: ValueError for a name that no row has or whose row `attention` cannot call; Unavailable where the
        kernel cannot run on this machine. Example: load("core:tiled") is `tiled_attention`.
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
