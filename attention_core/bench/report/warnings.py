"""Times that no kernel can have which does all the work at every call; a sentence says so below their cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attention_core.bench.report.numbers import duration
from attention_core.bench.report.results import Cell
from attention_core.bench.timing.roofline import Roofline

ALLOWED = 2.0
"""So many times faster than products and bytes allow is still believed: reading alone goes up to 1.5 times as fast as
copying, by which bandwidth is measured and which also reads what it overwrites; the rest is for the noise of the limit.
No kernel in docs/benchmark_figures*.md comes beyond 0.81; what keeps its answers came to 69."""


def doubts(cell: Cell, limits: Mapping[str, Any]) -> list[str]:
    """A sentence for every kernel whose time is below the machine's limit; `limits` as `Results` holds them.

    Exponentials are left out of this limit: a kernel may have faster ones than torch's.
    """
    if cell.workload.dtype not in limits.get("flops", {}):
        return []
    least = Roofline.from_json(limits).without_exponentials(cell.workload)
    return [
        f"{name} cannot be believed: {duration(column.seconds)} is {least / column.seconds:.3g} times less than the "
        f"{duration(least)} that products and bytes alone take here: it leaves work out, or keeps an answer from an "
        "earlier call"
        for name, column in cell.kernels.items()
        if column.seconds is not None and least > ALLOWED * column.seconds
    ]
