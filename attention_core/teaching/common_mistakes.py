"""Common mistakes in the exercise of self-attention: a function that is wrong in a known way gets the hint for it.

A law says that something is wrong, and shows where; a student wants to know what. Each mistake here is a function that
makes it; a function that gives the same numbers on drawn inputs makes it as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

B, N, HEADS, D = 2, 5, 2, 3
"""Sizes of the drawn inputs: no two of a function's axes are of one size, so that none is taken for another."""


def attend(
    Q: Float[Tensor, "B n E"], K: Float[Tensor, "B n E"], V: Float[Tensor, "B n E"], n_heads: int, causal: bool, *,
    scale: Callable[[int, int], float] = lambda d, E: d**-0.5, last: int = 0, late: bool = False, axis: int = -1,
    cut: bool = True, join: bool = True, mask: bool = True,
) -> Float[Tensor, "B n E"]:  # fmt: skip
    """Causal multi-head attention with one thing done in another way.

    Args:
        Q, K, V, n_heads, causal: of the exercise.
        scale: the factor of the scores, of the size of a head and of all heads.
        last: so many tokens after a token are seen by it.
        late: weights are set to 0 after the softmax.
        axis: of the softmax.
        cut, join: tokens and heads change places where heads are cut and where they are joined.
        mask: whether `causal` is heeded.
    """
    size, n, E = Q.shape
    d = E // n_heads

    def heads(x: Tensor) -> Tensor:
        return x.reshape(size, n, n_heads, d).transpose(1, 2) if cut else x.reshape(size, n_heads, n, d)

    q, k, v = heads(Q), heads(K), heads(V)
    scores = q @ k.transpose(-1, -2) * scale(d, E)
    hidden = torch.ones(n, n, dtype=torch.bool).triu(last + 1) & (causal and mask)
    weights = torch.softmax(scores if late else scores.masked_fill(hidden, -torch.inf), axis)
    out = (weights.masked_fill(hidden, 0.0) if late else weights) @ v
    return (out.transpose(1, 2) if join else out).reshape(size, n, E)


def vary(**changes: Any) -> Callable[..., Tensor]:
    """Return `attend` with changes."""
    return lambda Q, K, V, n_heads, causal: attend(Q, K, V, n_heads, causal, **changes)


SCALED = {
    "the scores are not scaled: divide them by the square root of d, the features of one head": lambda d, E: 1.0,
    "the scores are divided by the square root of all features; a head has only n_embd / n_heads of them": (
        lambda d, E: E**-0.5
    ),
    "the scores are divided by d, and not by its square root": lambda d, E: 1 / d,
    "the scores are multiplied by the square root of d: divide by it": lambda d, E: d**0.5,
}
WHOLE: Mapping[str, Callable[..., Tensor]] = {
    "the mask comes after the softmax, whose sum has seen the later tokens: set scores to -inf before it": (
        vary(late=True)
    ),
    "the causal mask goes one token too far: token i sees token i + 1": vary(last=1),
    "the causal mask hides a token from itself, so the first token sees nothing": vary(last=-1),
    "it gives the same with causal=True as without: the mask is missing": vary(mask=False),
    "the softmax runs over the queries: it has to run over the keys, the last axis": vary(axis=-2),
    "heads are cut by reshape alone, which mixes tokens: reshape to (B, n, heads, d), then transpose": (
        vary(cut=False)
    ),
    "heads are joined by reshape alone, which mixes tokens: transpose back to (B, n, heads, d) first": (
        vary(join=False)
    ),
    "heads are cut and joined by reshape alone, which mixes tokens: transpose heads and tokens as well": (
        vary(cut=False, join=False)
    ),
    **{words: vary(scale=scale) for words, scale in SCALED.items()},
}
SEEN = "the mask is upside down: a token sees itself and what comes after it"
STEPS: Mapping[str, Mapping[str, Callable[..., Tensor]]] = {
    "pairwise_similarities": {
        "it is transposed: row i belongs to query i, so it is Q K^T and not K Q^T": lambda Q, K: K @ Q.mT,
    },
    "attn_scaled": {
        words: (lambda A, n_embd, n_heads, scale=scale: A * scale(n_embd // n_heads, n_embd))
        for words, scale in SCALED.items()
    },
    "attn_softmax": {
        "the softmax runs over the queries: it has to run over the keys, the last axis": lambda A: torch.softmax(A, -2),
        "the softmax runs over another axis than the last": lambda A: torch.softmax(A, 1),
    },
    "compute_outputs": {
        "the weights are transposed: row i of them belongs to query i": lambda A, V: A.mT @ V,
    },
    "make_causal_mask": {
        SEEN: lambda n: torch.ones(n, n, dtype=torch.bool).triu(),
        "a token is hidden from itself: the diagonal belongs to what is seen": (
            lambda n: torch.ones(n, n, dtype=torch.bool).tril(-1)
        ),
        "the mask goes one token too far: token i sees token i + 1": lambda n: torch.ones(n, n, dtype=torch.bool).tril(
            1
        ),
        "True marks what is hidden; here it marks what may be seen": lambda n: torch.ones(n, n, dtype=torch.bool).triu(
            1
        ),
    },
    "apply_causal_mask": {
        "hidden scores are set to 0, which is a score like others: e^0 is 1, and only e^-inf is 0": (
            lambda mask, A: A.masked_fill(~mask, 0.0)
        ),
        "what may be seen is hidden: the mask is True where a token may look": (
            lambda mask, A: A.masked_fill(mask, -torch.inf)
        ),
    },
    "split_heads": {
        "reshape alone mixes tokens: reshape to (B, n, heads, d), then transpose": (
            lambda Q, n_heads: Q.reshape(Q.shape[0], n_heads, Q.shape[1], -1)
        ),
        "tokens still stand before heads: transpose these two axes": (
            lambda Q, n_heads: Q.reshape(*Q.shape[:2], n_heads, -1)
        ),
    },
    "merge_heads": {
        "reshape alone mixes tokens: transpose back to (B, n, heads, d) first": (
            lambda y: y.reshape(y.shape[0], y.shape[2], -1)
        ),
    },
}


def draw_inputs(kind: str) -> list[tuple[Any, ...]]:
    """Return arguments for a step of the exercise, or for the whole of it where `kind` is ""."""
    draw = torch.Generator().manual_seed(0)

    def numbers(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=draw, dtype=torch.float64)

    E, head = HEADS * D, (B, HEADS, N, D)
    scores = numbers(B, HEADS, N, N)
    seen = torch.ones(N, N, dtype=torch.bool).tril()
    inputs: dict[str, list[tuple[Any, ...]]] = {
        "": [(*(numbers(B, N, E) for _ in range(3)), HEADS, causal) for causal in (True, False)],
        "pairwise_similarities": [(numbers(*head), numbers(*head))],
        "attn_scaled": [(scores, E, HEADS)],
        "attn_softmax": [(scores,)],
        "compute_outputs": [(scores, numbers(*head))],
        "make_causal_mask": [(N,)],
        "apply_causal_mask": [(seen, scores)],
        "split_heads": [(numbers(B, N, E), HEADS)],
        "merge_heads": [(numbers(*head),)],
    }
    return inputs.get(kind, [])


def name_mistake(function: Callable[..., Any], contract: str, kind: str = "") -> str:
    """Return what a function does wrong, if it gives the very numbers of a common mistake; else "".

    Args:
        function: of the exercise, called by place.
        contract: "self-attention" or "self-attention-steps"; of others no mistakes are known here.
        kind: the step.

    >>> name_mistake(lambda A: torch.softmax(A, -2), "self-attention-steps", "attn_softmax")
    'the softmax runs over the queries: it has to run over the keys, the last axis'
    """
    mistakes = {"self-attention": WHOLE, "self-attention-steps": STEPS.get(kind, {})}.get(contract, {})
    inputs = draw_inputs(kind if contract == "self-attention-steps" else "")
    with suppress(Exception):  # the laws report how it fails
        given = [function(*(_copy(value) for value in values)) for values in inputs]
        for words, wrong in mistakes.items():
            if all(_agree(got, wrong(*values)) for got, values in zip(given, inputs, strict=True)):
                return words
    return ""


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def _agree(got: Any, wrong: Tensor) -> bool:
    """Whether two results are one but for rounding."""
    if not isinstance(got, Tensor) or got.shape != wrong.shape or got.dtype != wrong.dtype:
        return False
    return torch.allclose(got.detach().double(), wrong.double(), equal_nan=True)
