"""Our kernels in Triton as rows of the table: unavailable where triton is not installed."""

from __future__ import annotations

try:
    import triton  # noqa: F401
except ImportError as error:
    from attention_core.declaration.implementation import Unavailable

    raise Unavailable(f"triton cannot be imported ({error}; pip install triton, on Linux)") from error

from attention_core.kernels.triton.flash import flash_attention
from attention_core.kernels.triton.paged import paged_decode

__all__ = ["flash_attention", "paged_decode"]
