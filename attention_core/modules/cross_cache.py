"""Cross attention over a text that is kept: an encoder's keys and values are given once, and serve all steps."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_core.kernels.dot_product import dot_product_attention


class CrossCache:
    """Keeps a text's keys and values; every step attends to all of them: o_i = attention(q_i, K, V).

    Example:
        >>> x, cache = torch.randn(1, 1, 5, 4), CrossCache()
        >>> first, second = cache(x[..., :2, :], x, x), cache(x[..., 2:, :])
        >>> whole = dot_product_attention(x, x, x)
        >>> bool(torch.allclose(torch.cat([first, second], -2), whole, atol=1e-5))
        True

    Source: Vaswani et al., "Attention Is All You Need" (2017), section 3.2.3; Shazeer, "Fast Transformer Decoding"
        (2019), section 2.4.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget the text."""
        self.key: Tensor | None = None
        self.value: Tensor | None = None
        self.lengths: Tensor | None = None

    def reorder(self, rows: Int[Tensor, " B"]) -> None:
        """Go on with other rows of the batch: row b comes from row rows[b], as beams of a search do.

        Args: rows, numbers of rows; one may come twice, or not at all.
        Raises: ValueError where there is no text yet.
        """
        if self.key is None or self.value is None:
            raise ValueError("there is no text to reorder: give a key and a value first")
        self.key, self.value = self.key[rows], self.value[rows]
        self.lengths = None if self.lengths is None else self.lengths[rows]

    def __call__(
        self,
        query: Float[Tensor, "B H n_q d"],
        key: Float[Tensor, "B H_kv n_kv d"] | None = None,
        value: Float[Tensor, "B H_kv n_kv d_v"] | None = None,
        lengths: Int[Tensor, " B"] | None = None,
    ) -> Float[Tensor, "B H n_q d_v"]:
        """Attend to the text; a key and a value begin a new one.

        Args: lengths, of the texts in a batch, None for all keys; with key and value alone. H_kv may divide H.
        Returns: (B, H, n_q, d_v) in the query's dtype; rows of a text without a key are 0.
        Raises: ValueError where there is no text, or key and value do not come together.
        """
        if (key is None) != (value is None) or (key is None and lengths is not None):
            raise ValueError("key and value come together, and lengths with them")
        if key is not None and value is not None:
            self.key, self.value, self.lengths = key, value, lengths
        if self.key is None or self.value is None:
            raise ValueError("there is no text yet: give a key and a value first")
        seen = None
        if self.lengths is not None:
            seen = (torch.arange(self.key.shape[2], device=query.device) < self.lengths[:, None])[:, None, None]
            seen = seen.expand(-1, -1, query.shape[2], -1)
        grouped = query.shape[1] != self.key.shape[1]
        return dot_product_attention(query, self.key, self.value, seen, enable_gqa=grouped)
