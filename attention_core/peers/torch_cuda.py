"""torch's backends of scaled_dot_product_attention that exist on CUDA devices alone."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from attention_core.declaration.implementation import Unavailable

if not torch.cuda.is_available():
    raise Unavailable("this backend runs on a CUDA device alone, and torch finds none here")


def efficient(query: Tensor, key: Tensor, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """scaled_dot_product_attention on the memory-efficient backend."""
    with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
        return scaled_dot_product_attention(query, key, value, *args, **kwargs)


def cudnn(query: Tensor, key: Tensor, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """scaled_dot_product_attention on cuDNN's backend."""
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        return scaled_dot_product_attention(query, key, value, *args, **kwargs)
