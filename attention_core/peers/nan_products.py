"""Whether this processor's bfloat16 products keep NaN in its row: with AMX they do not (docs/findings.md, 16)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

SPREADS = "this processor's bfloat16 products carry NaN into the row before (finding 16)"


def keeps_nan_in_its_row() -> bool:
    """Multiply a row of NaN among rows of zeros in bfloat16, with an odd number of columns, and look at the others.

    Example:
        >>> keeps_nan_in_its_row() in (True, False)
        True
    """
    weights = torch.zeros(59, 7, dtype=torch.bfloat16)
    weights[46] = torch.nan
    return (weights @ torch.zeros(7, 10, dtype=torch.bfloat16)).isnan().any(-1).nonzero().flatten().tolist() == [46]


def leave_out_bfloat16(adapter: Callable[..., Any]) -> None:
    """Mark an adapter whose dead rows are NaN as not to be judged in bfloat16 where NaN leaves its row.

    What is wrong there is torch's product, which finding 16 shows by itself: a verdict on the attention that
    calls it would depend on the processor.
    """
    setattr(adapter, "dtypes_left_out", {} if keeps_nan_in_its_row() else {"bfloat16": SPREADS})  # noqa: B010, mypy
