"""Greedy, temperature, top-k and top-p sampling.

finetune.models.sampling: the distributions as they are defined, and generation with and without a cache.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from finetune.errors import BadInput
from finetune.models.gpt import ATTENTIONS, GPT, GPTConfig
from finetune.models.sampling import generate, next_distribution


def model(attention: str = "vanilla", block: int = 12) -> GPT:
    torch.manual_seed(0)
    made = GPT(GPTConfig(7, block, 2, 2, 8, attention)).double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(torch.randn(parameter.shape))
    return made


PROMPT = torch.tensor([[2, 3, 1], [5, 6, 4]])


@given(
    st.lists(st.integers(-40, 40), min_size=1, max_size=8, unique=True),
    st.floats(0.1, 5),
    st.none() | st.integers(1, 9),
    st.none() | st.floats(0.05, 1),
)
def test_the_distribution_is_its_definition(tenths: list[int], t: float, k: int | None, p: float | None) -> None:
    logits = torch.tensor([tenths]).float() / 10
    got = next_distribution(logits, t, k, p)[0]
    order = sorted(range(len(tenths)), key=lambda j: -tenths[j])
    kept = order[: k or len(order)]
    weights = {j: float((logits[0, j].double() / t).exp()) for j in kept}
    total, mass, nucleus = sum(weights.values()), 0.0, []
    for j in kept:
        if p is not None and mass >= p - 1e-6 and mass < p + 1e-6:
            return  # on the edge, where float32 may decide either way
        if p is None or mass < p:
            nucleus.append(j)
        mass += weights[j] / total
    left = sum(weights[j] for j in nucleus)
    for j in range(len(tenths)):
        want = weights[j] / left if j in nucleus else 0.0
        # exp of a number up to 40/0.1/10 rounded in float32: relative error |x| u plus a few u for the sums.
        assert abs(float(got[j]) - want) <= (2 * max(map(abs, tenths)) / 10 / t + 2 * len(tenths) + 8) * 2.0**-24


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("steps", [6, 20])
def test_greedy_takes_the_likeliest_of_the_full_pass_also_beyond_the_block(attention: str, steps: int) -> None:
    made = model(attention)
    text, scores = PROMPT, []
    made.eval()
    for _ in range(steps):
        logits = made(text[:, -12:])[:, -1]
        best = logits.argmax(-1, keepdim=True)
        scores.append(torch.log_softmax(logits, -1).gather(1, best))
        text = torch.cat([text, best], 1)
    made.train()
    for cached in (True, False):
        new, logs = generate(made, PROMPT, steps, greedy=True, cached=cached)
        assert torch.equal(new, text[:, 3:])
        # Logits below 100 from sums of 32 terms in float64, over two layers: far below any other choice of logit.
        assert (logs - torch.cat(scores, 1)).abs().max() < 100 * 32 * 100 * 2.0**-53
    assert made.training


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_draws_are_the_same_with_and_without_a_cache(attention: str) -> None:
    made = model(attention)
    options: dict[str, Any] = {"temperature": 0.8, "top_k": 5, "top_p": 0.9}
    drawn = [
        generate(made, PROMPT, 8, cached=cached, generator=torch.Generator().manual_seed(3), **options)[0]
        for cached in (True, False)
    ]
    assert torch.equal(*drawn)
    other = generate(made, PROMPT, 8, generator=torch.Generator().manual_seed(4), temperature=3.0)[0]
    assert not torch.equal(drawn[0], other)


def test_draws_follow_the_distribution() -> None:
    """Chi-square over seven outcomes with a fixed seed: 45 is passed with probability below 1e-7."""
    made = model().eval()
    rows = PROMPT[:1].expand(4000, -1)
    drawn = generate(made, rows, 1, temperature=2.0, generator=torch.Generator().manual_seed(0))[0][:, 0]
    want = next_distribution(made(PROMPT[:1])[:, -1], 2.0)[0].detach() * 4000
    counts = torch.bincount(drawn, minlength=7)
    assert float(((counts - want) ** 2 / want).sum()) < 45


def test_it_may_stop_when_every_row_has_stopped() -> None:
    made = model().eval()
    whole, _ = generate(made, PROMPT, 9, greedy=True)
    stop = int(whole[0, 2])
    new, logs = generate(made, PROMPT[:1], 9, greedy=True, stop=stop)
    first = whole[0].tolist().index(stop)
    assert torch.equal(new[0], whole[0, : first + 1]) and logs.shape == new.shape
    assert generate(made, PROMPT, 0)[0].shape == (2, 0)


@pytest.mark.parametrize("options", [{"temperature": 0.0}, {"top_k": 0}, {"top_p": 0.0}, {"top_p": 1.5}])
def test_bad_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="must be positive"):
        next_distribution(torch.zeros(1, 3), **options)
    with pytest.raises(BadInput, match="at least one character"):
        generate(model(), torch.zeros(1, 0, dtype=torch.long), 3)


def test_equally_likely_ones_at_the_edge_of_the_top_k_stay() -> None:
    assert next_distribution(torch.zeros(1, 4), top_k=2)[0].tolist() == [0.25] * 4
