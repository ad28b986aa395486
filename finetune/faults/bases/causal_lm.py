"""Correct causal language models in several styles.

`Plain` is cut into steps, as most people write them; each fault changes one.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

E, H = 16, 2

IGNORED = -100


class Plain(nn.Module):
    """Two blocks with a fused projection, learned positions, dropout and a list of keys and values as its cache."""

    rate = 0.1

    def __init__(self, vocab_size: int, block_size: int) -> None:
        super().__init__()
        self.vocab_size, self.block_size = vocab_size, block_size
        self.wte, self.wpe = nn.Embedding(vocab_size, E), nn.Embedding(block_size, E)
        self.norms = nn.ModuleList(nn.LayerNorm(E) for _ in range(5))
        self.qkv = nn.ModuleList(nn.Linear(E, 3 * E) for _ in range(2))
        self.out = nn.ModuleList(nn.Linear(E, E) for _ in range(2))
        self.mlp = nn.ModuleList(nn.Sequential(nn.Linear(E, 2 * E), nn.GELU(), nn.Linear(2 * E, E)) for _ in range(2))
        self.head = nn.Linear(E, vocab_size, bias=False)
        self.register_buffer("allow", torch.ones(block_size, block_size, dtype=torch.bool).tril(), persistent=False)
        self.reset()

    # --- one pass

    def drop(self, x: Tensor) -> Tensor:
        return nn.functional.dropout(x, self.rate, self.training)

    def allowed(self, start: int, n: int) -> Tensor:
        """(n, start + n): what each new token may see."""
        found: Tensor = self.allow[start : start + n, : start + n]  # type: ignore[index]
        return found

    def places(self, start: int, n: int) -> Tensor:
        return torch.arange(start, start + n)

    def attend(self, number: int, x: Tensor, start: int, cache: list[Tensor] | None) -> Tensor:
        B, n, _ = x.shape
        q, k, v = (part.view(B, n, H, -1).transpose(1, 2) for part in self.qkv[number](x).split(E, dim=-1))
        if cache is not None:
            if len(cache) > 2 * number:
                k, v = torch.cat([cache[2 * number], k], 2), torch.cat([cache[2 * number + 1], v], 2)
                cache[2 * number : 2 * number + 2] = [k, v]
            else:
                cache += [k, v]
        scores = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).masked_fill(~self.allowed(start, n), -math.inf)
        weights = self.drop(scores.softmax(-1))
        return self.out[number]((weights @ v).transpose(1, 2).reshape(B, n, E))

    def normed(self, number: int, x: Tensor) -> Tensor:
        return self.norms[number](x)

    def run(self, ids: Tensor, start: int = 0, cache: list[Tensor] | None = None) -> Tensor:
        n = ids.shape[1]
        if start + n > self.block_size:
            raise ValueError(f"{start + n} tokens do not fit into a block of {self.block_size}")
        x = self.drop(self.wte(ids) + self.wpe(self.places(start, n)))
        for number in range(2):
            x = x + self.drop(self.attend(number, self.normed(2 * number, x), start, cache))
            x = x + self.drop(self.mlp[number](self.normed(2 * number + 1, x)))
        return self.scored(self.normed(4, x))

    def scored(self, x: Tensor) -> Tensor:
        return self.head(x)

    def forward(self, ids: Tensor) -> Tensor:
        return self.run(ids)

    # --- loss

    def per_token(self, logits: Tensor, targets: Tensor) -> Tensor:
        return nn.functional.cross_entropy(logits.transpose(1, 2), targets, ignore_index=IGNORED, reduction="none")

    def count(self, targets: Tensor) -> Tensor:
        return (targets != IGNORED).sum().clamp(min=1)

    def aligned(self, ids: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        return self(ids), targets

    def loss(self, ids: Tensor, targets: Tensor) -> Tensor:
        logits, targets = self.aligned(ids, targets)
        return self.per_token(logits, targets).sum() / self.count(targets)

    def perplexity(self, ids: Tensor, targets: Tensor) -> Tensor:
        return self.loss(ids, targets).exp()

    # --- cache

    def reset(self) -> None:
        self.kept: list[Tensor] = []
        self.seen = 0

    def first(self) -> int:
        """The position of the next token."""
        return self.seen

    def step(self, ids: Tensor) -> Tensor:
        logits = self.run(ids, self.first(), self.kept)
        self.seen += ids.shape[1]
        return logits

    # --- generation

    def support(self, logits: Tensor, top_k: int | None, top_p: float | None) -> Tensor:
        if top_k is not None:
            edge = logits.topk(min(top_k, logits.shape[-1])).values[:, -1:]
            logits = logits.masked_fill(logits < edge, -math.inf)
        if top_p is not None:
            ordered, order = logits.softmax(-1).sort(descending=True)
            out = self.outside(ordered.cumsum(-1), ordered, top_p)
            logits = logits.masked_fill(torch.zeros_like(out).scatter(-1, order, out), -math.inf)
        return logits

    def outside(self, total: Tensor, p: Tensor, top_p: float) -> Tensor:
        """Of tokens in the order of their probability: which are left out."""
        return total - p >= top_p

    def heated(self, logits: Tensor, temperature: float) -> Tensor:
        return logits / temperature

    def seen_by(self, text: Tensor) -> Tensor:
        return text[:, -self.block_size :]

    def last(self, logits: Tensor) -> Tensor:
        return logits[:, -1]

    def draw(self, p: Tensor) -> Tensor:
        return torch.multinomial(p, 1)

    def generate(
        self, ids: Tensor, max_new_tokens: int, do_sample: bool = False, temperature: float = 1.0,
        top_k: int | None = None, top_p: float | None = None,
    ) -> Tensor:  # fmt: skip
        text = ids
        for _ in range(max_new_tokens):
            logits = self.support(self.heated(self.last(self(self.seen_by(text))), temperature), top_k, top_p)
            new = self.draw(logits.softmax(-1)) if do_sample else logits.argmax(-1, keepdim=True)
            text = torch.cat([text, new], 1)
        return text


class MinGPTShaped(nn.Module):
    """(idx, targets) -> (logits, loss), -1 ignored, NaN where all is; no cache, no perplexity, top k alone."""

    def __init__(self, vocab_size: int, block_size: int) -> None:
        super().__init__()
        self.transformer = Plain(vocab_size, block_size)
        self.block_size = block_size

    def forward(self, idx: Tensor, targets: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        logits = self.transformer(idx)
        loss = None
        if targets is not None:
            loss = nn.functional.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)
        return logits, loss

    @torch.no_grad()
    def generate(
        self, idx: Tensor, max_new_tokens: int, temperature: float = 1.0, do_sample: bool = False,
        top_k: int | None = None,
    ) -> Tensor:  # fmt: skip
        for _ in range(max_new_tokens):
            idx_cond = idx if idx.size(1) <= self.block_size else idx[:, -self.block_size :]
            logits, _ = self(idx_cond)
            logits = logits[:, -1, :] / temperature
            if top_k is not None:
                v, _ = torch.topk(logits, top_k)
                logits[logits < v[:, [-1]]] = -float("Inf")
            probs = nn.functional.softmax(logits, dim=-1)
            following = torch.multinomial(probs, 1) if do_sample else torch.topk(probs, k=1, dim=-1)[1]
            idx = torch.cat((idx, following), dim=1)
        return idx


class LongerThanItsBlock(Plain):
    """Takes texts of any length, as rotary models do, and goes on from all of them."""

    def allowed(self, start: int, n: int) -> Tensor:
        return torch.ones(start + n, start + n, dtype=torch.bool).tril()[start:]

    def places(self, start: int, n: int) -> Tensor:
        return super().places(start, n) % self.wpe.num_embeddings

    def run(self, ids: Tensor, start: int = 0, cache: list[Tensor] | None = None) -> Tensor:
        block, self.block_size = self.block_size, 10**9
        try:
            return super().run(ids, start, cache)
        finally:
            self.block_size = block

    def seen_by(self, text: Tensor) -> Tensor:
        return text


class Rows(nn.Module):
    """A matrix that multiplies from the right, as transformers' Conv1D."""

    def __init__(self, into: int, out: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(0.02 * torch.randn(into, out)), nn.Parameter(torch.zeros(out))

    def forward(self, x: Tensor) -> Tensor:
        return torch.addmm(self.bias, x.reshape(-1, x.shape[-1]), self.weight).view(*x.shape[:-1], -1)


class TransformersShaped(nn.Module):
    """GPT-2 in transformers' style: labels are the ids and shifted inside, tied weights, finfo.min as a
    mask, SDPA off.
    """

    def __init__(self, vocab_size: int, block_size: int) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab_size, E), nn.Embedding(block_size, E)
        self.c_attn, self.c_proj = Rows(E, 3 * E), Rows(E, E)
        self.ln_1, self.ln_2, self.ln_f = nn.LayerNorm(E), nn.LayerNorm(E), nn.LayerNorm(E)
        self.c_fc, self.down = Rows(E, 4 * E), Rows(4 * E, E)
        self.lm_head = nn.Linear(E, vocab_size, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, input_ids: Tensor) -> Tensor:
        B, n = input_ids.shape
        h = self.wte(input_ids) + self.wpe(torch.arange(n, device=input_ids.device))[None]
        q, k, v = (y.view(B, n, H, E // H).permute(0, 2, 1, 3) for y in self.c_attn(self.ln_1(h)).split(E, dim=2))
        w = torch.matmul(q, k.transpose(-1, -2)) / (E // H) ** 0.5
        lowest = torch.finfo(w.dtype).min
        w = torch.where(torch.tril(torch.ones(n, n, dtype=torch.bool)), w, torch.full([], lowest, dtype=w.dtype))
        h = h + self.c_proj(torch.matmul(nn.functional.softmax(w, dim=-1), v).permute(0, 2, 1, 3).reshape(B, n, E))
        h = h + self.down(nn.functional.gelu(self.c_fc(self.ln_2(h)), approximate="tanh"))
        return self.lm_head(self.ln_f(h))

    def loss(self, input_ids: Tensor, labels: Tensor) -> Tensor:
        logits = self(input_ids).float()[..., :-1, :].contiguous()
        return nn.functional.cross_entropy(logits.view(-1, logits.size(-1)), labels[..., 1:].reshape(-1))


DECLARED: dict[Any, dict[str, Any]] = {
    MinGPTShaped: {"ignore_index": -1, "all_ignored": "nan"},
    TransformersShaped: {"shift": "inside", "all_ignored": "nan", "tied": True},
}

CORRECT = (Plain, LongerThanItsBlock, MinGPTShaped, TransformersShaped)
