"""Which sizes a target of the contracts beside `attention` declares, and cases that lie within them.

A condition speaks of the contract's own sizes (n, H, d, ...), also where a case holds them in another form: a rotary
case counts pairs of features, and d is twice their number.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attention_core.conformance.subjects.parameter_case import ParameterCase
    from attention_core.declaration.implementation import Implementation

OF_ATTENTION = ("n_q", "n_kv", "d", "d_v", "H", "H_kv")
NAMES: Mapping[str, tuple[str, ...]] = {
    "attention": OF_ATTENTION, "attention-lse": OF_ATTENTION, "mask-builder": ("n_q", "n_kv", "size", "B"),
    "heads": ("B", "n", "H", "d", "E"), "multi-head": ("B", "n", "H", "H_kv", "d", "E"),
    "rotary": ("B", "H", "n", "d"), "bias": ("H", "n_q", "n_kv"), "position-table": ("n", "d"),
    "kv-cache": ("B", "H", "n", "d"), "self-attention": ("B", "n", "H", "d", "E"),
    "self-attention-steps": ("B", "n", "H", "d", "E"),
}  # fmt: skip
"""The sizes that a condition may speak of, by contract."""
WIDER = (8, 16, 32, 64, 128)
"""Sizes that are tried where none of a law's own range is declared."""
TRIES = 50


def named_sizes(sizes: Mapping[str, int]) -> list[dict[str, int]]:
    """The sizes that a case asks for, by the names of its contract; two sets where its laws ask for two widths.

    Example:
        >>> named_sizes({"n": 3, "half": 4})
        [{'n': 3, 'd': 8}]
    """
    plain = {name: value for name, value in sizes.items() if name not in ("half", "start", "shift")}
    if "H" in plain and "d" in plain:
        plain |= {"E": plain["H"] * plain["d"], "H_kv": plain.get("H_kv", plain["H"])}
    if "half" not in sizes:
        return [plain]
    paired = {**plain, "d": 2 * sizes["half"]}
    return [plain, paired] if "d" in plain else [paired]


def supports(implementation: Implementation, case: ParameterCase) -> bool:
    """Whether a case lies within the sizes that are declared."""
    condition = implementation.sizes
    return condition is None or all(condition(**sizes) for sizes in named_sizes(case.sizes))


def nearest_supported(implementation: Implementation, case: ParameterCase) -> ParameterCase | None:
    """The case, or the first with some of its sizes replaced by usual larger ones that are declared; None without."""
    names = [name for name in case.sizes if name not in ("start", "shift")]
    for values in product(*((case[name], *WIDER) for name in names)):
        other = case.with_(**dict(zip(names, values, strict=True)))
        if supports(implementation, other):
            return other
    return None
