"""What a language model goes on with: greedy, or drawn at a temperature from the top k or the top share p.

Works for any model that takes ids and gives logits, with a cache where it offers one.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from finetune.errors import BadInput
from finetune.models.gpt import GPT, at_least_single


def next_distribution(
    logits: Float[Tensor, "B vocab"], temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Float[Tensor, "B vocab"]:
    """The probabilities to draw from: softmax(logits / T), then the k likeliest, then the fewest that reach p.

    Where several are equally likely at the edge of the top k, all of them stay; the likeliest one always stays.

    Args: temperature > 0; top_k >= 1 or None; 0 < top_p <= 1 or None. Returns: (B, vocab), rows sum to 1.
    Raises: BadInput for other values.
    Example:
        >>> next_distribution(torch.tensor([[0.5, 0.3, 0.2]]).log(), top_p=0.6)
        tensor([[0.6250, 0.3750, 0.0000]])

    Source: Fan et al. (2018), section 5.1 (top k); Holtzman et al. (2020), section 3.1 (nucleus).
    """
    if (
        not 0 < temperature < math.inf
        or (top_k is not None and top_k < 1)
        or (top_p is not None and not 0 < top_p <= 1)
    ):
        raise BadInput(
            f"temperature={temperature} must be positive and finite, top_k={top_k} at least 1, "
            f"top_p={top_p} above 0 and at most 1"
        )
    logits = at_least_single(logits)
    # Largest 0: a temperature near 0 sends all others to -inf, where the quotients themselves would overflow.
    logits = (logits - logits.amax(-1, keepdim=True)) / max(temperature, torch.finfo(logits.dtype).tiny)
    if top_k is not None and top_k < logits.shape[-1]:
        edge = logits.topk(top_k, dim=-1).values[:, -1:]
        logits = logits.masked_fill(logits < edge, -torch.inf)
    probabilities = torch.softmax(logits, dim=-1)
    if top_p is not None:
        ordered, order = probabilities.sort(dim=-1, descending=True, stable=True)
        before = ordered.cumsum(-1) - ordered
        left_out = torch.zeros_like(probabilities, dtype=torch.bool).scatter(-1, order, before >= top_p)
        probabilities = probabilities.masked_fill(left_out, 0.0)
        probabilities = probabilities / probabilities.sum(-1, keepdim=True)
    return probabilities


@torch.no_grad()
def generate(
    model: GPT, prompt: Int[Tensor, "B n"], steps: int, *, greedy: bool = False, temperature: float = 1.0,
    top_k: int | None = None, top_p: float | None = None, generator: torch.Generator | None = None,
    stop: int | None = None, cached: bool = True,
) -> tuple[Int[Tensor, "B m"], Float[Tensor, "B m"]]:  # fmt: skip
    """Go on from prompts of one length, one character at a time.

    While the text fits into the model's block, keys and values are kept; beyond it the last block is read anew.

    Args: prompt (B, n), n >= 1; steps, how many more; greedy, the likeliest; generator, for repeatable draws; stop,
        an id: the text may end before `steps` once every row has drawn it.
    Returns: the new ids (B, m), m <= steps, and the log-probability of each under softmax(logits).
    Raises: BadInput for an empty prompt, and as `next_distribution`. The model is left in the mode it was in.
    """
    if prompt.ndim != 2 or not prompt.shape[1]:
        raise BadInput(f"a prompt has at least one character, got shape {tuple(prompt.shape)}")
    training = model.training
    model.eval()
    block, text = model.config.block_size, prompt
    cache = model.new_cache() if cached and prompt.shape[1] <= block else None
    fresh, scores = prompt, []
    done = torch.zeros(len(prompt), dtype=torch.bool, device=prompt.device)
    for _ in range(steps):
        if cache is not None and text.shape[1] > block:
            cache = None
        logits = model(text[:, -block:])[:, -1] if cache is None else model(fresh, cache=cache)[:, -1]
        if greedy:
            fresh = logits.argmax(-1, keepdim=True)
        else:
            fresh = torch.multinomial(next_distribution(logits, temperature, top_k, top_p), 1, generator=generator)
        scores.append(torch.log_softmax(at_least_single(logits), -1).gather(-1, fresh))
        text = torch.cat([text, fresh], dim=1)
        done |= fresh[:, 0] == stop if stop is not None else False
        if bool(done.all()):
            break
    model.train(training)
    new = text[:, prompt.shape[1] :]
    return new, torch.cat(scores, 1) if scores else torch.zeros(new.shape, device=new.device)
