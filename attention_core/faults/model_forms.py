"""Attention modules of published language models, each beside a copy with one fault.

As in `module_forms`, which has the forms of teaching code and of libraries: projections that are fused or lie beside
each other, norms of queries and keys, rotations that come from outside, scales from a config. `FORMS` is the table.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from attention_core.faults.module_forms import Record, heads, joined

# --- fused layouts ---------------------------------------------------------------------------------------------


class Conv1D(nn.Module):
    """GPT-2's linear layer, with its weight transposed."""

    def __init__(self, nf: int, nx: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.empty(nx, nf)), nn.Parameter(torch.zeros(nf))

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight + self.bias


class GPT2(nn.Module):
    """GPT-2's: Conv1D layers, a mask that is added, (output, weights)."""

    def __init__(self, n_embd: int, n_head: int) -> None:
        super().__init__()
        self.n_head, self.split_size = n_head, n_embd
        self.c_attn, self.c_proj = Conv1D(3 * n_embd, n_embd), Conv1D(n_embd, n_embd)

    def width(self, d: int) -> float:
        """What scores are divided by."""
        return math.sqrt(d)

    def forward(self, hidden_states: Tensor, attention_mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        q, k, v = (heads(t, self.n_head) for t in self.c_attn(hidden_states).split(self.split_size, dim=2))
        scores = q @ k.transpose(-1, -2) / self.width(q.shape[-1])
        scores = scores if attention_mask is None else scores + attention_mask
        weights = scores.softmax(dim=-1)
        return self.c_proj(joined(weights @ v)), weights


class GPT2ScaledByModel(GPT2):
    """Scores are divided by the root of the model's size."""

    def width(self, d: int) -> float:
        return math.sqrt(self.split_size)


class NeoX(nn.Module):
    """GPT-NeoX's: query, key and value of one head beside each other."""

    def __init__(self, hidden_size: int, num_attention_heads: int) -> None:
        super().__init__()
        self.num_heads = num_attention_heads
        self.query_key_value = nn.Linear(hidden_size, 3 * hidden_size)
        self.dense = nn.Linear(hidden_size, hidden_size)

    def masked(self, scores: Tensor, mask: Tensor) -> Tensor:
        """What the mask leaves."""
        return scores.masked_fill(~mask, torch.finfo(scores.dtype).min)

    def forward(self, hidden_states: Tensor, attention_mask: Tensor) -> Tensor:
        fused = self.query_key_value(hidden_states).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        q, k, v = fused.chunk(3, dim=-1)
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        if attention_mask is not None:
            scores = self.masked(scores, attention_mask)
        out: Tensor = self.dense(joined(scores.softmax(dim=-1) @ v))
        return out


class NeoXMaskAfter(NeoX):
    """Masked scores become 0 instead of the least number."""

    def masked(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores.masked_fill(~mask, 0.0)


class CodeGen(nn.Module):
    """CodeGen's: one projection in four parts (mp_num), each query, value, key; the heads are a multiple of four."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.num_heads, self.embed_dim = config.num_attention_heads, config.hidden_size
        self.qkv_proj = nn.Linear(self.embed_dim, self.embed_dim * 3, bias=False)
        self.out_proj = nn.Linear(self.embed_dim, self.embed_dim, bias=False)

    def cut(self, qkv: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Query, value and key (B, n, E)."""
        split = qkv.reshape(*qkv.shape[:-1], 4, -1)
        q, v, k = torch.split(split, self.embed_dim // 4, dim=-1)
        return q.flatten(2), v.flatten(2), k.flatten(2)

    def forward(self, hidden_states: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, v, k = (heads(t, self.num_heads) for t in self.cut(self.qkv_proj(hidden_states)))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        scores = scores if attention_mask is None else scores + attention_mask
        out: Tensor = self.out_proj(joined(scores.softmax(-1) @ v))
        return out


class CodeGenUnjoined(CodeGen):
    """Heads of keys in another order than those of queries."""

    def cut(self, qkv: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, v, k = super().cut(qkv)
        return q, v, k.unflatten(-1, (self.num_heads, -1)).flip(-2).flatten(2)


# --- norms on queries and keys -----------------------------------------------------------------------------------


class RMSNorm(nn.Module):
    """Llama's norm."""

    def __init__(self, size: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(size)), eps

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


class Qwen3Style(nn.Module):
    """Qwen3's: norms of each head on queries and keys, grouped heads, a rotation (cos, sin) from outside."""

    def __init__(self, config: Any, layer_idx: int) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.d = config.num_attention_heads, config.num_key_value_heads, config.head_dim
        bias = config.attention_bias
        self.q_proj = nn.Linear(config.hidden_size, self.heads * self.d, bias=bias)
        self.k_proj = nn.Linear(config.hidden_size, self.kv_heads * self.d, bias=bias)
        self.v_proj = nn.Linear(config.hidden_size, self.kv_heads * self.d, bias=bias)
        self.o_proj = nn.Linear(self.heads * self.d, config.hidden_size, bias=bias)
        self.q_norm, self.k_norm = RMSNorm(self.d, config.rms_norm_eps), RMSNorm(self.d, config.rms_norm_eps)

    def scale(self) -> float:
        """Of the scores."""
        return self.d**-0.5

    def turned(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Queries or keys (B, H, n, d), rotated by halves."""
        first, second = x.chunk(2, -1)
        return x * cos[:, None] + torch.cat([-second, first], -1) * sin[:, None]

    def forward(
        self, hidden_states: Tensor, position_embeddings: tuple[Tensor, Tensor], attention_mask: Tensor | None
    ) -> tuple[Tensor, None]:
        q = self.q_norm(heads(self.q_proj(hidden_states), self.heads))
        k = self.k_norm(heads(self.k_proj(hidden_states), self.kv_heads))
        v = heads(self.v_proj(hidden_states), self.kv_heads)
        cos, sin = position_embeddings
        q, k = (self.turned(x, cos, sin) for x in (q, k))
        k, v = (x.repeat_interleave(self.heads // self.kv_heads, dim=1) for x in (k, v))
        scores = q @ k.transpose(2, 3) * self.scale()
        scores = scores if attention_mask is None else scores + attention_mask
        return self.o_proj(joined(scores.softmax(-1) @ v)), None


class Qwen3Tripled(Qwen3Style):
    """Three times the scale."""

    def scale(self) -> float:
        return 3 * self.d**-0.5


class GraniteStyle(Qwen3Style):
    """Granite's: the config's multiplier alone is the scale, 1 unless it says otherwise."""

    def scale(self) -> float:
        """As the config of Granite has it where nothing is said."""
        return 1.0


class GraniteDoubled(GraniteStyle):
    """Twice the scale."""

    def scale(self) -> float:
        return 2.0


class PartlyRotated(Qwen3Style):
    """StableLM's: the first quarter of each head is turned, by (cos, sin) of that width."""

    def turned(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """The first quarter turned, the rest as it is."""
        part = x[..., : self.d // 4]
        return torch.cat([super().turned(part, cos, sin), x[..., self.d // 4 :]], -1)


class PartlyRotatedTripled(PartlyRotated):
    """Three times the scale."""

    def scale(self) -> float:
        return 3 * self.d**-0.5


class LayerNormedHeads(nn.Module):
    """timm with qk_norm: a layer norm of each head on queries and keys."""

    def __init__(self, dim: int, num_heads: int = 8) -> None:
        super().__init__()
        self.num_heads, self.scale = num_heads, (dim // num_heads) ** -0.5
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.q_norm, self.k_norm = nn.LayerNorm(dim // num_heads), nn.LayerNorm(dim // num_heads)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (heads(part, self.num_heads) for part in self.qkv(x).chunk(3, -1))
        weights = (self.q_norm(q) * self.scale @ self.keys(k).transpose(-2, -1)).softmax(-1)
        out: Tensor = self.proj(joined(weights @ v))
        return out

    def keys(self, k: Tensor) -> Tensor:
        """Normalised."""
        out: Tensor = self.k_norm(k)
        return out


class LayerNormedOnce(LayerNormedHeads):
    """Keys are scaled and shifted, and not normalised."""

    def keys(self, k: Tensor) -> Tensor:
        return k * self.k_norm.weight + self.k_norm.bias


class Olmo2Style(nn.Module):
    """OLMo-2's: norms of all features on queries and keys."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(4)
        )  # fmt: skip
        self.q_norm, self.k_norm = RMSNorm(d_model), RMSNorm(d_model)

    def normalised(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Queries and keys after their norms."""
        return self.q_norm(q), self.k_norm(k)

    def forward(self, x: Tensor, is_causal: bool = False) -> Tensor:
        q, k = self.normalised(self.q_proj(x), self.k_proj(x))
        q, k, v = (heads(t, self.n_heads) for t in (q, k, self.v_proj(x)))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        if is_causal:
            scores = scores.masked_fill(torch.ones(x.shape[1], x.shape[1]).triu(1).bool(), -torch.inf)
        out: Tensor = self.o_proj(joined(scores.softmax(-1) @ v))
        return out


class Olmo2NormOfHeads(Olmo2Style):
    """Keys are normalised over each head's features instead of all."""

    def normalised(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        parts = k.unflatten(-1, (self.n_heads, -1))
        k = (parts * parts.pow(2).mean(-1, keepdim=True).add(1e-6).rsqrt()).flatten(-2) * self.k_norm.weight
        return self.q_norm(q), k


FORMS: tuple[tuple[type[nn.Module], type[nn.Module], Record], ...] = (
    (GPT2, GPT2ScaledByModel, {}),
    (NeoX, NeoXMaskAfter, {}),
    (CodeGen, CodeGenUnjoined, {}),
    (Qwen3Style, Qwen3Tripled, {}),
    (GraniteStyle, GraniteDoubled, {"scale": "1"}),
    (PartlyRotated, PartlyRotatedTripled, {}),
    (Olmo2Style, Olmo2NormOfHeads, {}),
    (LayerNormedHeads, LayerNormedOnce, {}),
)
"""A right module, the same with a fault, and what has to be declared of both."""
