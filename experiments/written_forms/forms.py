"""Attention and its parts as people write them, from well-known code, each with one fault that may be planted.

`FORMS` holds the functions as text, so that each is a file of its own as its author has it; the modules are those of
`attention_core/faults/module_forms.py` and `model_forms.py`. A form is right under some conventions; its fault is
wrong under all.
"""

from __future__ import annotations

from typing import NamedTuple

HEADER = "import math\n\nimport numpy as np\nimport torch\nimport torch.nn.functional as F\n\n\n"


class Form(NamedTuple):
    """One form: its name, its text, the function in it, its contract, and a piece of its text and what replaces it."""

    name: str
    text: str
    function: str
    contract: str
    right: str
    wrong: str

    def file(self, *, faulty: bool) -> str:
        """The form as a file.

        Raises: ValueError where the piece that is to be replaced does not stand in the text.
        """
        if self.right not in self.text:
            raise ValueError(f"{self.name}: {self.right!r} is not in its text")
        return HEADER + (self.text.replace(self.right, self.wrong, 1) if faulty else self.text)


FORMS: tuple[Form, ...] = (
    Form("the annotated transformer", '''def attention(query, key, value, mask=None, dropout=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = scores.softmax(dim=-1)
    if dropout is not None:
        p_attn = dropout(p_attn)
    return torch.matmul(p_attn, value), p_attn
''', "attention", "attention", "-1e9", "-1e1"),
    Form("Llama, repeat_kv", '''def repeat_kv(hidden_states, n_rep):
    batch, num_key_value_heads, slen, head_dim = hidden_states.shape
    if n_rep == 1:
        return hidden_states
    hidden_states = hidden_states[:, :, None, :, :].expand(batch, num_key_value_heads, n_rep, slen, head_dim)
    return hidden_states.reshape(batch, num_key_value_heads * n_rep, slen, head_dim)


def attention(query, key, value, attention_mask=None, scaling=None):
    n_rep = query.shape[1] // key.shape[1]
    if n_rep * key.shape[1] != query.shape[1]:
        raise ValueError("heads do not divide")
    key, value = repeat_kv(key, n_rep), repeat_kv(value, n_rep)
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    weights = torch.matmul(query, key.transpose(2, 3)) * scaling
    if attention_mask is not None:
        weights = weights + attention_mask
    weights = F.softmax(weights, dim=-1, dtype=torch.float32).to(query.dtype)
    return torch.matmul(weights, value)
''', "attention", "attention", "repeat_kv(value, n_rep)", "value.repeat(1, n_rep, 1, 1)"),
    Form("einsum, causal flag", '''def attention(q, k, v, causal=False):
    s = torch.einsum("b h i d, b h j d -> b h i j", q, k) * q.shape[-1] ** -0.5
    if causal:
        i, j = s.shape[-2:]
        m = torch.ones((i, j), dtype=torch.bool, device=q.device).triu(j - i + 1)
        s = s.masked_fill(m, -torch.finfo(s.dtype).max)
    a = s.softmax(dim=-1)
    return torch.einsum("b h i j, b h j d -> b h i d", a, v)
''', "attention", "attention", "triu(j - i + 1)", "triu(j - i + 2)"),
    Form("flash_attn_func", '''def flash_attn_func(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False):
    scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    s = torch.einsum("bqhd,bkhd->bhqk", q, k) * scale
    if causal:
        n, m = s.shape[-2:]
        s = s.masked_fill(torch.ones(n, m, dtype=torch.bool).triu(m - n + 1), float("-inf"))
    p = torch.softmax(s, -1)
    p = F.dropout(p, dropout_p) if dropout_p else p
    return torch.einsum("bhqk,bkhd->bqhd", p, v)
''', "flash_attn_func", "attention", "F.dropout(p, dropout_p)", "F.dropout(p, dropout_p) * (1 - dropout_p)"),
    Form("one head, one sequence", '''def attention(Q, K, V):
    return torch.softmax(Q @ K.T / math.sqrt(K.shape[1]), dim=1) @ V
''', "attention", "attention", "K.shape[1]", "V.shape[1]"),
    Form("returns its weights", '''def attention(q, k, v, mask=None):
    s = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        s = s.masked_fill(~mask, float("-inf"))
    w = s.softmax(-1)
    return w @ v, w
''', "attention", "attention", "return w @ v, w", "return w @ v, w.exp()"),
    Form("True hides", '''def attention(q, k, v, mask=None):
    """mask: True where a position is hidden"""
    s = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        s = s.masked_fill(mask, float("-inf"))
    return s.softmax(-1) @ v
''', "attention", "attention", "if mask is not None:", "if mask is not None and not mask.all(-1).any():"),
    Form("T5, a bias", '''def attention(q, k, v, bias=None):
    s = q @ k.transpose(-2, -1)
    if bias is not None:
        s = s + bias
    return s.softmax(-1) @ v
''', "attention", "attention", "s = s + bias", "s = s + bias / math.sqrt(q.size(-1))"),
    Form("always causal", '''def attention(q, k, v):
    s = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    T, S = s.shape[-2:]
    s = s.masked_fill(torch.tril(torch.ones(T, S)) == 0, float("-inf"))
    return s.softmax(-1) @ v
''', "attention", "attention", "torch.ones(T, S))", "torch.ones(T, S), diagonal=1)"),
    Form("BERT, 1 keeps and 0 pads", '''def attention(q, k, v, mask=None):
    """mask: 1 = keep, 0 = pad"""
    s = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        s = s.masked_fill((1 - mask).bool(), torch.finfo(s.dtype).min)
    return s.softmax(-1) @ v
''', "attention", "attention", "torch.finfo(s.dtype).min", "-5.0"),
    Form("NumPy", '''def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(q, k, v, mask=None):
    s = np.matmul(q, np.swapaxes(k, -1, -2)) / np.sqrt(q.shape[-1]).astype(q.dtype)
    if mask is not None:
        s = np.where(mask, s, s.dtype.type(-np.inf))
    return np.matmul(softmax(s), v)
''', "attention", "attention", "x - x.max(axis=-1, keepdims=True)", "x - x.max()"),
    Form("a Triton tutorial's interface", '''def attention(q, k, v, causal=False, sm_scale=None, BLOCK_M=64):
    sm_scale = q.shape[-1] ** -0.5 if sm_scale is None else sm_scale
    outs = []
    for i in range(0, max(q.shape[-2], 1), BLOCK_M):
        s = (q[..., i : i + BLOCK_M, :].float() @ k.float().transpose(-1, -2)) * sm_scale
        if causal:
            r = torch.arange(i, i + s.shape[-2])[:, None]
            s = s.masked_fill(torch.arange(s.shape[-1]) > r, float("-inf"))
        outs.append((s.softmax(-1) @ v.float()).to(q.dtype))
    return torch.cat(outs, -2)
''', "attention", "attention", "r = torch.arange(i, i +", "r = torch.arange(min(i, 64), min(i, 64) +"),
    Form("the seed's exercise", '''def self_attention(Q, K, V, n_heads=1, causal=True):
    assert Q.shape == K.shape == V.shape
    n, d = Q.shape
    dh = d // n_heads
    outs = []
    for h in range(n_heads):
        q, k, v = (x[:, h * dh : (h + 1) * dh] for x in (Q, K, V))
        s = q @ k.T / math.sqrt(dh)
        if causal:
            s = s + torch.triu(torch.full((n, n), float("-inf")), diagonal=1)
        outs.append(torch.softmax(s, dim=-1) @ v)
    return torch.cat(outs, dim=-1)
''', "self_attention", "attention", "math.sqrt(dh)", "math.sqrt(d)"),
    Form("heads joined at the end", '''def attention(q, k, v):
    B, H, n, d = q.shape
    a = (q @ k.transpose(-2, -1) / math.sqrt(d)).softmax(-1)
    return (a @ v).transpose(1, 2).reshape(B, n, -1)
''', "attention", "attention", "(a @ v).transpose(1, 2)", "(a @ v)"),
    Form("x-transformers, softmax in float32", '''def attend(q, k, v, mask=None, causal=False):
    sim = torch.einsum("b h i d, b h j d -> b h i j", q, k) * q.shape[-1] ** -0.5
    fill = -torch.finfo(sim.dtype).max
    if mask is not None:
        sim = sim.masked_fill(~mask, fill)
    if causal:
        i, j = sim.shape[-2:]
        sim = sim.masked_fill(torch.ones(i, j, dtype=torch.bool).triu(j - i + 1), fill)
    attn = F.softmax(sim, dim=-1, dtype=torch.float32).type(sim.dtype)
    return torch.einsum("b h i j, b h j d -> b h i d", attn, v)
''', "attend", "attention", "triu(j - i + 1)", "triu(j - i)"),
    Form("GPT-J, rotary", '''def rotate_half(x):
    x1, x2 = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


def apply_rope(x, positions):
    d = x.shape[-1]
    inv = 1.0 / (10000 ** (torch.arange(0, d, 2).float() / d))
    f = torch.outer(positions.float(), inv)
    e = torch.cat((f, f), dim=-1)
    return (x * e.cos() + rotate_half(x) * e.sin()).to(x.dtype)
''', "apply_rope", "rotary", "10000 **", "10001 **"),
    Form("Llama's own, rotary of complex numbers", '''def apply_rotary_emb(x, positions):
    """x: (B, n, H, d)"""
    d = x.shape[-1]
    freqs = 1.0 / (500000.0 ** (torch.arange(0, d, 2).float() / d))
    angles = torch.outer(positions.float(), freqs)
    cis = torch.polar(torch.ones_like(angles), angles)
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * cis[:, None]).flatten(-2).type_as(x)
''', "apply_rotary_emb", "rotary", "pairs * cis[:, None]", "pairs * cis[:, None].conj()"),
    Form("ALiBi", '''def alibi(n_heads, n_q, n_kv):
    def pow2(n):
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    if math.log2(n_heads).is_integer():
        s = pow2(n_heads)
    else:
        c = 2 ** math.floor(math.log2(n_heads))
        s = pow2(c) + pow2(2 * c)[0::2][: n_heads - c]
    d = torch.arange(n_kv)[None, :] - torch.arange(n_q)[:, None]
    return torch.tensor(s)[:, None, None] * -d.abs()
''', "alibi", "bias", "[0::2]", "[1::2]"),
    Form("a sinusoidal table", '''def sinusoidal(n, d):
    pe = torch.zeros(n, d)
    p = torch.arange(n).unsqueeze(1).float()
    div = torch.exp(torch.arange(0, d, 2).float() * (-math.log(10000.0) / d))
    pe[:, 0::2] = torch.sin(p * div)
    pe[:, 1::2] = torch.cos(p * div[: d // 2])
    return pe
''', "sinusoidal", "position-table", "log(10000.0) / d", "log(10000.0) / (d - 1)"),
    Form("Whisper's table", '''def sinusoids(length, channels):
    assert channels % 2 == 0
    step = np.log(10000) / (channels // 2 - 1)
    inv = torch.exp(-step * torch.arange(channels // 2))
    t = torch.arange(length)[:, np.newaxis] * inv[np.newaxis, :]
    return torch.cat([torch.sin(t), torch.cos(t)], dim=1)
''', "sinusoids", "position-table", "torch.cos(t)", "torch.cos(t + 1)"),
    Form("a causal mask", '''def causal_mask(n_q, n_kv):
    return torch.tril(torch.ones(n_q, n_kv, dtype=torch.bool))
''', "causal_mask", "mask-builder", "torch.bool))", "torch.bool), diagonal=int(n_q == 7))"),
    Form("a causal mask to add", '''def causal_mask(n_q, n_kv):
    return torch.full((n_q, n_kv), float("-inf")).triu(n_kv - n_q + 1)
''', "causal_mask", "mask-builder", "n_kv - n_q + 1", "n_kv - n_q"),
    Form("Mistral's window", '''def sliding_window_mask(n_q, n_kv, window):
    i = torch.arange(n_kv - n_q, n_kv)[:, None]
    j = torch.arange(n_kv)[None]
    return (j <= i) & (j > i - window)
''', "sliding_window_mask", "mask-builder", "j > i - window", "j >= i - window"),
    Form("a padding mask, True pads", '''def padding_mask(n_q, n_kv, lengths):
    pad = torch.arange(n_kv)[None] >= lengths[:, None]
    return pad[:, None, None, :].repeat(1, 1, n_q, 1)
''', "padding_mask", "mask-builder", ">= lengths", "> lengths"),
    Form("a key/value cache", '''class attend:
    def __init__(self):
        self.k = self.v = None

    def __call__(self, q, k, v):
        self.k = k.clone() if self.k is None else torch.cat([self.k, k], dim=-2)
        self.v = v.clone() if self.v is None else torch.cat([self.v, v], dim=-2)
        n, m = q.shape[-2], self.k.shape[-2]
        return F.scaled_dot_product_attention(q, self.k, self.v, torch.ones(n, m, dtype=torch.bool).tril(m - n))
''', "attend", "kv-cache", "[self.v, v]", "[v, self.v]"),
    Form("a loop over heads in NumPy", '''def multi_head_attention(Q, K, V, causal=False):
    assert Q.shape[:2] == K.shape[:2] == V.shape[:2]
    B, H, n_q, d = Q.shape
    out = np.empty((B, H, n_q, V.shape[-1]), dtype=Q.dtype)
    for b in range(B):
        for h in range(H):
            scores = Q[b, h] @ K[b, h].T / np.sqrt(d).astype(Q.dtype)
            if causal:
                later = np.triu(np.ones(scores.shape, dtype=bool), k=1)
                scores = np.where(later, -np.inf, scores).astype(Q.dtype)
            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
            out[b, h] = weights / weights.sum(axis=-1, keepdims=True) @ V[b, h]
    return out
''', "multi_head_attention", "attention", "K[b, h].T", "K[b, 0].T"),
    Form("flash tiles, an online softmax", '''def flash_attention(q, k, v, causal=False, block=32):
    n, m, scale = q.shape[-2], k.shape[-2], q.shape[-1] ** -0.5
    out = torch.zeros(*q.shape[:-1], v.shape[-1], dtype=torch.promote_types(q.dtype, torch.float32))
    top = torch.full((*q.shape[:-1], 1), float("-inf"), dtype=out.dtype)
    total = torch.zeros_like(top)
    for start in range(0, m, block):
        keys, values = (x[..., start : start + block, :].to(out.dtype) for x in (k, v))
        s = q.to(out.dtype) @ keys.transpose(-2, -1) * scale
        if causal:
            rows = torch.arange(n)[:, None]
            s = s.masked_fill(torch.arange(start, start + s.shape[-1]) > rows, float("-inf"))
        new = torch.maximum(top, s.amax(-1, keepdim=True))
        p, old = torch.exp(s - new), torch.exp(top - new)
        total, out, top = total * old + p.sum(-1, keepdim=True), out * old + p @ values, new
    return (out / total).to(q.dtype)
''', "flash_attention", "attention", "out * old + p @ values", "out + p @ values"),
    Form("a padding mask of keys alone", '''def attention(q, k, v, key_padding_mask=None):
    """key_padding_mask: (B, n_kv), True where a key is padding"""
    s = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if key_padding_mask is not None:
        s = s.masked_fill(key_padding_mask[:, None, None, :], float("-inf"))
    return s.softmax(-1) @ v
''', "attention", "attention", "[:, None, None, :]", "[:1, None, None, :]"),
    Form("a mask that is added alone", '''def attention(query, key, value, mask=None):
    scores = torch.einsum("bhqd,bhkd->bhqk", query, key) / query.shape[-1] ** 0.5
    if mask is not None:
        if mask.dtype == torch.bool:
            raise TypeError("an additive mask is expected")
        scores = scores + mask
    return torch.einsum("bhqk,bhkd->bhqd", torch.nn.functional.softmax(scores, dim=-1), value)
''', "attention", "attention", "scores + mask", "scores + mask * 0.5"),
    Form("JAX, by hand", '''import jax
import jax.numpy as jnp


def attention(q, k, v):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / jnp.sqrt(q.shape[-1]).astype(q.dtype)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, axis=-1), v)
''', "attention", "attention", "axis=-1", "axis=-2"),
)  # fmt: skip
"""Functions; what is replaced by what makes the fault."""
