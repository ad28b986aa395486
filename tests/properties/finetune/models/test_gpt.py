"""The GPT: value, causality, cache, loss, parameter counts, refusals.

finetune.models.gpt against the same model written in NumPy, float64, row by row; its cache, losses and sizes.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from finetune.errors import BadInput
from finetune.models.gpt import ATTENTIONS, GPT, GPTConfig, mean_loss, next_token_loss, perplexity

FORMS = list(ATTENTIONS)
SMALL: dict[str, Any] = {"vocab_size": 11, "block_size": 9, "n_layer": 2, "n_head": 3, "n_embd": 12}
U = 2.0**-53


def model(attention: str, seed: int = 0, **changes: Any) -> GPT:
    """A small model in float64 and evaluation mode, with weights large enough that every part matters."""
    made = GPT(GPTConfig(**{**SMALL, "attention": attention, **changes})).double().eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator).double() / 3)
    return made


def ids(n: int = 9, rows: int = 2, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, 11, (rows, n), generator=torch.Generator().manual_seed(seed))


def rounding(made: GPT, x: torch.Tensor) -> float:
    """What rounding can do to a logit, to first order: the change from weights rounded to float32 (a relative 2^-24
    of each), scaled to u = 2^-53 and to the longest sum, 4 E terms and the block's n, each rounded once a term."""
    rounded = GPT(made.config).double().eval()
    rounded.load_state_dict({name: value.float().double() for name, value in made.state_dict().items()})
    moved = float((rounded(x) - made(x)).detach().abs().max())
    return 4 * (moved / 2.0**-24 + 1) * (4 * made.config.n_embd + made.config.block_size) * U


def layer_norm(x: np.ndarray, p: dict[str, np.ndarray], name: str) -> np.ndarray:
    x = x - x.mean()
    return np.asarray(x / np.sqrt((x**2).mean() + 1e-5) * p[f"{name}.weight"] + p[f"{name}.bias"])


def linear(x: np.ndarray, p: dict[str, np.ndarray], name: str) -> np.ndarray:
    return np.asarray(p[f"{name}.weight"] @ x + p[f"{name}.bias"])


def turned(x: np.ndarray, position: int) -> np.ndarray:
    """Rotary positions of one head: pair c is (c, c + d/2)."""
    half = len(x) // 2
    t = position * 10000.0 ** (-2.0 * np.arange(half) / len(x))
    a, b = x[:half], x[half:]
    return np.concatenate([a * np.cos(t) - b * np.sin(t), a * np.sin(t) + b * np.cos(t)])


def written_out(made: GPT, sequence: list[int]) -> np.ndarray:
    """The logits at every place, from the formulas, one row at a time."""
    p = {name: value.detach().numpy() for name, value in made.named_parameters()}
    c = made.config
    d = c.n_embd // c.n_head
    rows = [
        p["tok_emb.weight"][t] + (0 if made.pos_emb is None else p["pos_emb"][0, i]) for i, t in enumerate(sequence)
    ]
    for layer in (f"blocks.{k}" for k in range(c.n_layer)):
        normed = [layer_norm(x, p, f"{layer}.ln1") for x in rows]
        names = ("w1", "value") if c.attention == "synthesizer" else ("query", "key", "value")
        parts = {name: [linear(x, p, f"{layer}.attn.{name}") for x in normed] for name in names}
        mixed = []
        for i in range(len(rows)):
            heads = []
            for h in (slice(k * d, (k + 1) * d) for k in range(c.n_head)):
                if c.attention == "synthesizer":
                    w2, b2 = p[f"{layer}.attn.w2"][h.start // d], p[f"{layer}.attn.b2"]
                    scores = np.array([np.maximum(parts["w1"][i][h], 0) @ w2[:, j] + b2[j] for j in range(i + 1)])
                else:
                    turn = turned if c.attention == "rotary" else lambda x, _: x
                    q = turn(parts["query"][i][h], i)
                    scores = np.array([q @ turn(parts["key"][j][h], j) / math.sqrt(d) for j in range(i + 1)])
                weights = np.exp(scores - scores.max())
                values = np.array([parts["value"][j][h] for j in range(i + 1)])
                heads.append(weights @ values / weights.sum())
            mixed.append(linear(np.concatenate(heads), p, f"{layer}.attn.proj"))
        rows = [x + y for x, y in zip(rows, mixed, strict=True)]
        for i, x in enumerate(rows):
            inner = linear(layer_norm(x, p, f"{layer}.ln2"), p, f"{layer}.mlp.0")
            inner = inner * np.array([(1 + math.erf(v / math.sqrt(2))) / 2 for v in inner])
            rows[i] = x + linear(inner, p, f"{layer}.mlp.2")
    return np.array([p["head.weight"] @ layer_norm(x, p, "ln_f") for x in rows])


@pytest.mark.parametrize("attention", FORMS)
def test_it_is_the_formulas(attention: str) -> None:
    changes = {"n_embd": 12, "n_head": 3} if attention != "rotary" else {"n_embd": 12, "n_head": 2}
    made, x = model(attention, **changes), ids()
    want = np.array([written_out(made, row) for row in x.tolist()])
    bound = rounding(made, x)
    # erf of libm and of torch agree to a few u, and rotary's angles are rounded once in both: inside the factor 4.
    if attention == "rotary":
        bound += 1e-15
    assert np.abs(made(x).detach().numpy() - want).max() <= bound


@pytest.mark.parametrize("attention", FORMS)
def test_no_place_sees_a_later_one(attention: str) -> None:
    made, x = model(attention, n_head=2), ids()
    before, bound = made(x), rounding(made, x)
    for place in range(1, 9):
        changed = x.clone()
        changed[:, place:] = (changed[:, place:] + 1) % 11
        after = made(changed)
        assert (after[:, :place] - before[:, :place]).abs().max() <= bound
        assert (after[:, place] - before[:, place]).abs().max() > bound


@pytest.mark.parametrize("attention", FORMS)
@pytest.mark.parametrize("cuts", [set(), {1}, {8}, {3, 4}, set(range(1, 9))], ids=str)
def test_the_cache_equals_the_full_pass(attention: str, cuts: set[int]) -> None:
    made, x = model(attention, n_head=2), ids()
    cache = made.new_cache()
    pieces = [made(x[:, a:b], cache=cache) for a, b in pairwise([0, *sorted(cuts), 9])]
    assert cache.length == 9
    assert (torch.cat(pieces, 1) - made(x)).abs().max() <= rounding(made, x)
    with pytest.raises(BadInput, match="10 characters do not fit into a block of 9"):
        made(x[:, :1], cache=cache)


@pytest.mark.parametrize("attention", FORMS)
def test_logits_at_chosen_places_are_those_of_all_places(attention: str) -> None:
    made, x = model(attention, n_head=2), ids()
    where = torch.rand(x.shape, generator=torch.Generator().manual_seed(1)) < 0.4
    assert (made(x, where=where) - made(x)[where]).abs().max() <= rounding(made, x)


@pytest.mark.parametrize("attention", FORMS)
def test_every_parameter_has_a_gradient(attention: str) -> None:
    made = model(attention, n_head=2)
    loss, _ = next_token_loss(made, {"x": ids(), "y": ids(seed=1)})
    loss.backward()
    for name, parameter in made.named_parameters():
        # A bias of all keys adds the same to every score of a row, which softmax does not see.
        if not (name.endswith("key.bias") and attention == "vanilla"):
            assert parameter.grad is not None and parameter.grad.abs().max() > 1e-9, name


def test_the_loss_counts_targets_and_not_padding() -> None:
    made = model("vanilla")
    x, y = ids(), ids(seed=1)
    y[0, 3:], y[1, :4], y[1, 8] = 0, 0, 0
    loss, tokens = next_token_loss(made, {"x": x, "y": y})
    logs = torch.log_softmax(made(x), -1)
    want = -sum(logs[b, i, y[b, i]] for b in range(2) for i in range(9) if y[b, i])
    assert int(tokens) == int((y != 0).sum())
    assert abs(float((loss - want).detach())) <= 9 * rounding(made, x) * 2
    nothing, none = next_token_loss(made, {"x": x, "y": torch.zeros_like(y)})
    assert int(none) == 0 and float(nothing.detach()) == 0


def test_columns_behind_the_last_target_are_not_computed() -> None:
    made, y = model("vanilla"), ids(seed=1)
    y[:, 5:] = 0
    seen = []
    made.tok_emb.register_forward_hook(lambda _, given, __: seen.append(tuple(given[0].shape)))
    next_token_loss(made, {"x": ids(), "y": y})
    assert seen == [(2, 5)]


def test_perplexity_is_by_tokens_and_not_a_mean_of_means() -> None:
    made = model("vanilla").train()
    short = ids(seed=3)
    short[:, 2:] = 0
    batches = [{"x": ids(), "y": ids(seed=1)}, {"x": ids(seed=2), "y": short}]
    whole = {k: torch.cat([b[k] for b in batches]) for k in "xy"}
    assert abs(mean_loss(made, batches) - mean_loss(made, [whole])) <= rounding(made.eval(), whole["x"]) * 40
    assert perplexity(made, batches) == math.exp(mean_loss(made, batches))
    made.train()
    mean_loss(made, batches)
    assert made.training
    with pytest.raises(BadInput, match="no target"):
        mean_loss(made, [{"x": ids(), "y": torch.zeros_like(ids())}])


def test_a_model_that_knows_nothing_has_the_perplexity_of_its_vocabulary() -> None:
    made = model("vanilla")
    torch.nn.init.zeros_(made.head.weight)
    assert abs(perplexity(made, [{"x": ids(), "y": ids(seed=1)}]) - 11) <= 11 * 40 * U


@pytest.mark.parametrize(
    ("attention", "form", "count"),
    [
        ("vanilla", "per_head", 3_323_392),
        ("rotary", "per_head", 3_290_624),
        ("synthesizer", "per_head", 3_191_808),
        ("synthesizer", "per_head_bias", 3_195_392),
    ],
)
def test_parameters_are_as_many_as_published(attention: str, form: Any, count: int) -> None:
    with torch.device("meta"):
        made = GPT(GPTConfig(256, attention=attention, synthesizer=form))
    assert sum(p.numel() for p in made.parameters()) == count


def test_starting_values_are_those_of_mingpt() -> None:
    torch.manual_seed(0)
    made = GPT(GPTConfig(256))
    for name, parameter in made.named_parameters():
        if name.endswith("bias") or name == "pos_emb":
            assert not parameter.any(), name
        elif "ln" in name:
            assert (parameter == 1).all(), name
        else:  # a standard deviation from n numbers is off by about 1/sqrt(2n): six of those
            assert abs(float(parameter.detach().std()) / 0.02 - 1) < 6 / math.sqrt(2 * parameter.numel()), name


def test_dropout_is_on_in_training_alone() -> None:
    made, x = model("vanilla", dropout=0.5), ids()
    assert torch.equal(made(x), made(x))
    made.train()
    assert not torch.equal(made(x), made(x))


def test_the_kernel_can_be_chosen() -> None:
    x = ids()
    one, other = model("vanilla"), model("vanilla", kernel="core:dot_product")
    assert (one(x) - other(x)).abs().max() <= rounding(one, x)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"attention": "linear"}, "attention 'linear' is not one of vanilla, synthesizer, rotary"),
        ({"n_head": 5}, "n_embd=12 is not divisible by n_head=5"),
        ({"vocab_size": 0}, "vocab_size must be at least 1"),
        ({"dropout": 1.0}, "dropout must be"),
        ({"gelu": "new"}, "gelu 'new'"),
    ],
)
def test_bad_sizes_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        GPTConfig(**{**SMALL, **changes})


def test_too_long_a_text_is_refused() -> None:
    with pytest.raises(BadInput, match="10 characters do not fit into a block of 9"):
        model("vanilla")(ids(10))
