"""torch's flex_attention under torch.compile: the kernel that torch generates for a call.

On the CPU torch builds C++ for every size, half a minute each, and with dynamic sizes a given mask does not
compile (docs/findings.md, 3): there the row is unavailable.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import flex_attention

from attention_core.declaration.implementation import Unavailable
from attention_core.peers.torch_flex import attend_with

if not torch.cuda.is_available():
    raise Unavailable("runs on CUDA alone: on the CPU every size is compiled anew, half a minute each")

torch._dynamo.config.recompile_limit = 64  # of 8, the ninth form of a call would run without a kernel
GENERATED: Any = torch.compile(flex_attention, dynamic=True)


def flex_compiled(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """flex_attention's generated kernel, at sizes that may change from call to call."""
    return attend_with(GENERATED, query, key, value, attn_mask, is_causal, scale, enable_gqa)
