"""A key-value cache: attention of new tokens to all tokens so far, each key and value computed once.

Feeding a sequence in any pieces gives the rows of one causal pass over the whole.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_core.kernels.dot_product import dot_product_attention
from attention_core.masking import causal, sliding_window


class KeyValueCache:
    """Keeps keys and values; a step appends new ones and attends: o_i = attention(q_i, K[: i + 1], V[: i + 1]).

    With a window W, token i attends to its last W tokens, its own included, and older ones are dropped.

    Args: window, a number of tokens W >= 1, or None for all. Raises: ValueError for W < 1.

    Example:
        >>> x, cache = torch.randn(1, 1, 5, 4), KeyValueCache()
        >>> steps = [cache(part, part, part) for part in (x[..., :3, :], x[..., 3:, :])]
        >>> whole = dot_product_attention(x, x, x, is_causal=True)
        >>> bool(torch.allclose(torch.cat(steps, -2), whole, atol=1e-5))
        True

    Source: Shazeer, "Fast Transformer Decoding" (2019), section 2.4; the window is Mistral's rolling buffer
        (Jiang et al., 2023, section 2).
    """

    def __init__(self, window: int | None = None) -> None:
        if window is not None and window < 1:
            raise ValueError(f"a window holds at least one token, got {window}")
        self.window = window
        # The last query stands at the last key, also after old keys are gone.
        self.mask = causal("bottom_right") if window is None else sliding_window(window, "bottom_right")
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.seen = 0
        self.key: Tensor | None = None
        self.value: Tensor | None = None

    def crop(self, length: int) -> None:
        """Keep the first tokens and take back those after them, as rejected drafts are.

        Args: length, how many tokens stay.
        Raises: ValueError where there are not so many, or the window has dropped what the next token would see.

        Example:
            >>> x, cache = torch.randn(1, 1, 5, 4), KeyValueCache()
            >>> out = cache(x, x, x)
            >>> cache.crop(3)
            >>> bool(torch.allclose(cache(*[x[..., 3:, :]] * 3), out[..., 3:, :], atol=1e-5))
            True

        Source: Leviathan et al., "Fast Inference from Transformers via Speculative Decoding" (2023), section 2.
        """
        if not 0 <= length <= self.seen:
            raise ValueError(f"the cache has seen {self.seen} tokens, of which {length} cannot stay")
        if self.key is None or self.value is None or length == self.seen:
            return
        first = self.seen - self.key.shape[-2]
        needed = 0 if self.window is None else max(0, length - self.window + 1)
        if needed < min(first, length):
            raise ValueError(f"the window has dropped the tokens {needed} to {first - 1}, which come back at {length}")
        self.key, self.value = (x[..., : max(0, length - first), :] for x in (self.key, self.value))
        self.seen = length

    def reorder(self, rows: Int[Tensor, " batch"]) -> None:
        """Go on with other rows of the first axis, as beams do: row b becomes row `rows[b]`."""
        if self.key is not None and self.value is not None:
            self.key, self.value = self.key[rows], self.value[rows]

    def __call__(
        self,
        query: Float[Tensor, "*batch n d"],
        key: Float[Tensor, "*batch_kv n d"],
        value: Float[Tensor, "*batch_kv n d_v"],
    ) -> Float[Tensor, "*batch n d_v"]:
        """Append n tokens and attend from them.

        Args: query, key, value of the new tokens alone; H_kv may divide H.
        Returns: (*batch, H, n, d_v). Raises: ValueError where n differs, or sizes differ from those kept.
        """
        if not query.shape[-2] == key.shape[-2] == value.shape[-2]:
            raise ValueError(f"lengths differ: query {query.shape[-2]}, key {key.shape[-2]}, value {value.shape[-2]}")
        if self.key is not None and self.value is not None:
            key, value = append(self.key, key), append(self.value, value)
        n_q, n_kv = query.shape[-2], key.shape[-2]
        grouped = query.ndim > 2 and query.shape[-3] != key.shape[-3]
        mask = self.mask.dense(n_q, n_kv, query.device)
        out = dot_product_attention(query, key, value, mask, enable_gqa=grouped)
        # The next query sees itself and W - 1 tokens before it.
        kept = n_kv if self.window is None else min(n_kv, self.window - 1)
        rest = key[..., n_kv - kept :, :], value[..., n_kv - kept :, :]
        # The first tokens still lie in the caller's arrays, which the next step may be written into.
        self.seen += n_q
        self.key, self.value = rest if self.key is not None else (rest[0].clone(), rest[1].clone())
        return out


def append(
    kept: Float[Tensor, "*batch_kv m c"], new: Float[Tensor, "*batch_kv n c"]
) -> Float[Tensor, "*batch_kv m+n c"]:
    """The kept tokens and the new ones after them; ValueError where other sizes differ."""
    if kept.shape[:-2] != new.shape[:-2] or kept.shape[-1] != new.shape[-1] or kept.dtype != new.dtype:
        raise ValueError(
            f"the cache holds {tuple(kept.shape)} of {kept.dtype}, the new tokens are {tuple(new.shape)} of {new.dtype}"
        )
    return torch.cat([kept, new], dim=-2)
