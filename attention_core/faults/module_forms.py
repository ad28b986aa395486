"""Modules of multi-head attention as people write them, each beside a copy with one fault.

The forms are those of well-known code, rewritten in a few lines: how a class is built (sizes under many names, a
config), how it is called, how its projections lie. `FORMS` is the table: a right one, its fault, what has to be
declared. Forms of language models (GPT-2 to OLMo-2) stand in `model_forms`.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

Record = dict[str, Any]


def heads(x: Tensor, number: int) -> Tensor:
    """(B, n, H d) to (B, H, n, d)."""
    return x.unflatten(-1, (number, -1)).transpose(1, 2)


def joined(x: Tensor) -> Tensor:
    """(B, H, n, d) to (B, n, H d)."""
    return x.transpose(1, 2).flatten(2)


# --- nanoGPT and minGPT: a config, always causal -------------------------------------------------------


class CausalSelfAttention(nn.Module):
    """nanoGPT: one projection, `config` with n_embd, n_head, block_size, bias, dropout."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        assert config.n_embd % config.n_head == 0
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.attn_dropout, self.resid_dropout = nn.Dropout(config.dropout), nn.Dropout(config.dropout)
        self.n_head, self.n_embd = config.n_head, config.n_embd
        past = torch.tril(torch.ones(config.block_size, config.block_size))
        self.register_buffer("bias", past.view(1, 1, config.block_size, config.block_size))

    def seen(self, T: int) -> Tensor:
        """What each token sees."""
        past: Any = self.bias
        return past[:, :, :T, :T]

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.size()
        q, k, v = (heads(part, self.n_head) for part in self.c_attn(x).split(self.n_embd, dim=2))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.seen(T) == 0, float("-inf")).softmax(dim=-1)
        y = self.attn_dropout(att) @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        out: Tensor = self.resid_dropout(self.c_proj(y))
        return out


class NanoSeesOneAhead(CausalSelfAttention):
    """The diagonal is one too far."""

    def seen(self, T: int) -> Tensor:
        return super().seen(T).squeeze().tril() if T < 2 else torch.ones(T, T).tril(1)


class MinGPT(CausalSelfAttention):
    """minGPT: attn_pdrop and resid_pdrop, no bias flag."""

    def __init__(self, config: Any) -> None:
        nn.Module.__init__(self)
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd)
        self.attn_dropout, self.resid_dropout = nn.Dropout(config.attn_pdrop), nn.Dropout(config.resid_pdrop)
        past = torch.tril(torch.ones(config.block_size, config.block_size))
        self.register_buffer("bias", past.view(1, 1, config.block_size, config.block_size))
        self.n_head, self.n_embd = config.n_head, config.n_embd


class MinGPTUnscaled(MinGPT):
    """No scale: queries are multiplied by sqrt(d) beforehand."""

    def forward(self, x: Tensor) -> Tensor:
        T = x.shape[1]
        q, k, v = (heads(part, self.n_head) for part in self.c_attn(x).split(self.n_embd, dim=2))
        att = (q @ k.transpose(-2, -1)).masked_fill(self.seen(T) == 0, float("-inf")).softmax(dim=-1)
        out: Tensor = self.c_proj(joined(att @ v))
        return out


class FromScratch(nn.Module):
    """LLMs-from-scratch: (d_in, d_out, context_length, dropout, num_heads), always causal."""

    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ) -> None:
        super().__init__()
        self.num_heads, self.d_out = num_heads, d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def merged(self, context: Tensor) -> Tensor:
        """(B, H, n, d) to (B, n, E)."""
        return joined(context)

    def forward(self, x: Tensor) -> Tensor:
        n = x.shape[1]
        q, k, v = (heads(W(x), self.num_heads) for W in (self.W_query, self.W_key, self.W_value))
        later: Any = self.mask
        scores = (q @ k.transpose(2, 3)).masked_fill(later.bool()[:n, :n], -torch.inf)
        weights = self.dropout(torch.softmax(scores / k.shape[-1] ** 0.5, dim=-1))
        out: Tensor = self.out_proj(self.merged(weights @ v))
        return out


class FromScratchUnmerged(FromScratch):
    """Heads are joined without their transpose."""

    def merged(self, context: Tensor) -> Tensor:
        return context.reshape(context.shape[0], -1, self.d_out)


# --- BERT: a config, additive masks, a tuple ------------------------------------------------------------


class BertSelfAttention(nn.Module):
    """BERT as people rewrite it: a config, an additive mask (B, 1, 1, n), no output projection, a tuple."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        if config.hidden_size % config.num_attention_heads != 0 and not hasattr(config, "embedding_size"):
            raise ValueError("the hidden size is not a multiple of the heads")
        self.num_attention_heads = config.num_attention_heads
        size = int(config.hidden_size / config.num_attention_heads) * config.num_attention_heads
        self.query, self.key, self.value = (nn.Linear(config.hidden_size, size) for _ in range(3))
        self.dropout = nn.Dropout(config.attention_probs_dropout_prob)

    def masked(self, scores: Tensor, attention_mask: Tensor) -> Tensor:
        """Scores with the mask added."""
        return scores + attention_mask

    def forward(
        self, hidden_states: Tensor, attention_mask: Tensor | None = None, output_attentions: bool = False
    ) -> tuple[Tensor, ...]:
        parts = (self.query(hidden_states), self.key(hidden_states), self.value(hidden_states))
        q, k, v = (heads(part, self.num_attention_heads) for part in parts)
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        if attention_mask is not None:
            scores = self.masked(scores, attention_mask)
        probs = self.dropout(nn.functional.softmax(scores, dim=-1))
        context = joined(probs @ v)
        return (context, probs) if output_attentions else (context,)


class BertMaskForgotten(BertSelfAttention):
    """The sum is thrown away."""

    def masked(self, scores: Tensor, attention_mask: Tensor) -> Tensor:
        scores + attention_mask
        return scores


# --- the annotated transformer: (h, d_model), forward(query, key, value, mask) -----------------------------


class MultiHeadedAttention(nn.Module):
    """The annotated transformer's: four linear layers in a list, masks (B, 1, n) or (1, n, n)."""

    def __init__(self, h: int, d_model: int, dropout: float = 0.1) -> None:
        super().__init__()
        assert d_model % h == 0
        self.d_k, self.h = d_model // h, h
        self.linears = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(4))
        self.dropout = nn.Dropout(dropout)

    def allowed(self, mask: Tensor) -> Tensor:
        """Where the mask allows."""
        return mask.unsqueeze(1) != 0

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v = (heads(f(x), self.h) for f, x in zip(self.linears, (query, key, value), strict=False))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(~self.allowed(mask), -1e9)
        x = joined(self.dropout(scores.softmax(dim=-1)) @ v)
        out: Tensor = self.linears[-1](x)
        return out


class AnnotatedReversed(MultiHeadedAttention):
    """The mask's polarity is reversed."""

    def allowed(self, mask: Tensor) -> Tensor:
        return mask.unsqueeze(1) == 0


# --- Llama: grouped heads --------------------------------------------------------------------------------


class LlamaStyle(nn.Module):
    """Llama's attention without its rotation: fewer heads of keys, repeated."""

    def __init__(self, dim: int, n_heads: int, n_kv_heads: int | None = None) -> None:
        super().__init__()
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads or n_heads
        self.head_dim = dim // n_heads
        self.wq = nn.Linear(dim, n_heads * self.head_dim, bias=False)
        self.wk = nn.Linear(dim, self.n_kv_heads * self.head_dim, bias=False)
        self.wv = nn.Linear(dim, self.n_kv_heads * self.head_dim, bias=False)
        self.wo = nn.Linear(n_heads * self.head_dim, dim, bias=False)

    def repeat_kv(self, x: Tensor) -> Tensor:
        """Every head of keys for its group of queries."""
        return x.repeat_interleave(self.n_heads // self.n_kv_heads, dim=1)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v = (
            heads(self.wq(x), self.n_heads),
            heads(self.wk(x), self.n_kv_heads),
            heads(self.wv(x), self.n_kv_heads),
        )
        k, v = self.repeat_kv(k), self.repeat_kv(v)
        scores = q @ k.transpose(2, 3) / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores + mask
        out: Tensor = self.wo(joined(scores.float().softmax(dim=-1) @ v))
        return out


class LlamaRepeated(LlamaStyle):
    """`repeat` in place of `repeat_interleave`."""

    def repeat_kv(self, x: Tensor) -> Tensor:
        return x.repeat(1, self.n_heads // self.n_kv_heads, 1, 1)


# --- einops and lucidrains ------------------------------------------------------------------------------


class EinopsStyle(nn.Module):
    """lucidrains' vit-pytorch: to_qkv, (dim, heads, dim_head), an inner size of its own."""

    def __init__(self, dim: int, heads: int = 8, dim_head: int = 64, dropout: float = 0.0) -> None:
        super().__init__()
        inner = dim_head * heads
        self.heads, self.scale = heads, dim_head**-0.5
        self.to_qkv = nn.Linear(dim, inner * 3, bias=False)
        self.to_out = nn.Sequential(nn.Linear(inner, dim), nn.Dropout(dropout))

    def dots(self, q: Tensor, k: Tensor) -> Tensor:
        """The scores."""
        return torch.einsum("bhid,bhjd->bhij", q, k) * self.scale

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (heads(t, self.heads) for t in self.to_qkv(x).chunk(3, dim=-1))
        out = torch.einsum("bhij,bhjd->bhid", self.dots(q, k).softmax(dim=-1), v)
        y: Tensor = self.to_out(joined(out))
        return y


class EinopsTransposed(EinopsStyle):
    """Scores are those of keys with queries."""

    def dots(self, q: Tensor, k: Tensor) -> Tensor:
        return torch.einsum("bhid,bhjd->bhji", q, k) * self.scale


class CrossAttention(nn.Module):
    """lucidrains' x/context attention: to_q, to_kv, a mask (B, m) of the context's keys."""

    def __init__(self, query_dim: int, context_dim: int | None = None, heads: int = 8, dim_head: int = 64) -> None:
        super().__init__()
        inner, context_dim = dim_head * heads, context_dim or query_dim
        self.heads, self.scale = heads, dim_head**-0.5
        self.to_q, self.to_kv = nn.Linear(query_dim, inner, bias=False), nn.Linear(context_dim, inner * 2, bias=False)
        self.to_out = nn.Linear(inner, query_dim)

    def of_context(self, x: Tensor, context: Tensor | None) -> Tensor:
        """Where keys and values come from."""
        return x if context is None else context

    def forward(self, x: Tensor, context: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        q = heads(self.to_q(x), self.heads)
        k, v = (heads(t, self.heads) for t in self.to_kv(self.of_context(x, context)).chunk(2, dim=-1))
        sim = torch.einsum("bhid,bhjd->bhij", q, k) * self.scale
        if mask is not None:
            sim = sim.masked_fill(~mask[:, None, None, :], -torch.finfo(sim.dtype).max)
        y: Tensor = self.to_out(joined(sim.softmax(dim=-1) @ v))
        return y


class CrossForgotten(CrossAttention):
    """The context is not used: keys and values come from the input."""

    def of_context(self, x: Tensor, context: Tensor | None) -> Tensor:
        return x


# --- timm -----------------------------------------------------------------------------------------------


class TimmAttention(nn.Module):
    """timm's: qkv by reshape and permute, num_heads with a default."""

    def __init__(
        self, dim: int, num_heads: int = 8, qkv_bias: bool = False, attn_drop: float = 0.0, proj_drop: float = 0.0
    ) -> None:
        super().__init__()
        self.num_heads, self.scale = num_heads, (dim // num_heads) ** -0.5
        self.qkv, self.proj = nn.Linear(dim, dim * 3, bias=qkv_bias), nn.Linear(dim, dim)
        self.attn_drop, self.proj_drop = nn.Dropout(attn_drop), nn.Dropout(proj_drop)

    def order(self, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values."""
        return q, k, v

    def forward(self, x: Tensor) -> Tensor:
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, C // self.num_heads).permute(2, 0, 3, 1, 4)
        q, k, v = self.order(*qkv.unbind(0))
        attn = self.attn_drop((q * self.scale @ k.transpose(-2, -1)).softmax(dim=-1))
        y: Tensor = self.proj_drop(self.proj((attn @ v).transpose(1, 2).reshape(B, N, C)))
        return y


class TimmHeadsMixed(TimmAttention):
    """Values of the next head."""

    def order(self, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return q, k, v.roll(1, dims=1)


# --- torch's own --------------------------------------------------------------------------------------------


class Wrapped(nn.Module):
    """A wrapper of nn.MultiheadAttention with key_padding_mask (B, n), True where a key is left out."""

    def __init__(self, d_model: int, nhead: int) -> None:
        super().__init__()
        self.mha = nn.MultiheadAttention(d_model, nhead, batch_first=True)

    def padding(self, mask: Tensor | None) -> Tensor | None:
        """The mask as torch wants it."""
        return mask

    def forward(self, x: Tensor, key_padding_mask: Tensor | None = None) -> Tensor:
        out: Tensor = self.mha(x, x, x, key_padding_mask=self.padding(key_padding_mask), need_weights=False)[0]
        return out


class WrappedForgotten(Wrapped):
    """The mask is not handed on."""

    def padding(self, mask: Tensor | None) -> Tensor | None:
        return None


class SequenceFirst(nn.Module):
    """A wrapper of nn.MultiheadAttention whose sequences are (n, B, E)."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.mha = nn.MultiheadAttention(embed_dim, num_heads)

    def value(self, x: Tensor) -> Tensor:
        """What the values come from."""
        return x

    def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None) -> Any:
        return self.mha(query, key, self.value(value), key_padding_mask=key_padding_mask)


class SequenceFirstShifted(SequenceFirst):
    """Values of the token before."""

    def value(self, x: Tensor) -> Tensor:
        return x.roll(1, dims=0)


CAUSAL: Record = {"always_causal": True}
IGNORE: Record = {"mask_true": "ignore"}
FORMS: tuple[tuple[type[nn.Module], type[nn.Module], Record], ...] = (
    (CausalSelfAttention, NanoSeesOneAhead, CAUSAL),
    (MinGPT, MinGPTUnscaled, CAUSAL),
    (FromScratch, FromScratchUnmerged, CAUSAL),
    (BertSelfAttention, BertMaskForgotten, {}),
    (MultiHeadedAttention, AnnotatedReversed, {}),
    (LlamaStyle, LlamaRepeated, {}),
    (EinopsStyle, EinopsTransposed, {}),
    (CrossAttention, CrossForgotten, {}),
    (TimmAttention, TimmHeadsMixed, {}),
    (Wrapped, WrappedForgotten, IGNORE),
    (SequenceFirst, SequenceFirstShifted, {**IGNORE, "parameters": {"batch_first": False}}),
)
"""A right module, the same with a fault, and what has to be declared of both."""
