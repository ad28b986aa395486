"""Witnesses of faults of heads and of multi-head modules.

`WITNESS` has, by the name of a fault, how far a target is off on the call that shows it, and a correct target in its place.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from witnesses.measures import Witness, distance, normal, off

from attention_core.faults import split_merge_heads
from attention_core.faults.bases.multi_head import MultiHead


def input_of_the_merge(target: Any) -> float:
    """The tensor that was merged, afterwards."""
    x = normal(2, 3, 5, 4)
    before = x.clone()
    target[1](x)
    return 0.0 if x.shape == before.shape and torch.equal(x, before) else math.inf


def module_in_evaluation(target: Any, batch: int, again: bool) -> float:
    """A module in evaluation against the correct one with its weights; `again`: after a call and other weights."""
    torch.manual_seed(0)
    got, want, x = target(8, 2).eval(), MultiHead(8, 2), normal(batch, 5, 8)
    mask = torch.arange(batch * 25).reshape(batch, 1, 5, 5) % 7 < 4
    mask = mask | torch.eye(5, dtype=torch.bool)
    with torch.no_grad():
        if again:
            got(x)
            got.load_state_dict({name: -given for name, given in got.state_dict().items()})
        want.load_state_dict(got.state_dict())
        return distance(got(x, mask), want.double()(x.double(), mask), 1e-5)


def module(target: Any, embed: int) -> float:
    """A module of two heads in evaluation, with a mask for each sequence, against the formula with its weights."""
    torch.manual_seed(0)
    got, want, x = target(embed, 2).eval(), MultiHead(embed, 2), normal(2, 5, embed)
    mask = (torch.arange(50).reshape(2, 1, 5, 5) % 7 < 4) | torch.eye(5, dtype=torch.bool)
    want.load_state_dict(got.state_dict())
    with torch.no_grad():
        return off(got(x, mask), want.double()(x.double(), mask))


def third_of_a_projection(target: Any) -> float:
    """The middle third of (B, n, 3 E), in three heads."""
    x = normal(2, 5, 18)[..., 6:12]
    return off(target[0](x, 3), x.double().unflatten(-1, (3, 2)).transpose(1, 2))


def module_in_calls(target: Any, *calls: dict[str, Any]) -> float:
    """The last of some calls of a module of two heads, and its weights if it gives them, by the formula with its weights."""
    torch.manual_seed(0)
    got, want, x = target(8, 2).eval(), MultiHead(8, 2), normal(2, 5, 8)
    want.load_state_dict(got.state_dict())
    want = want.double()
    with torch.no_grad():
        found, true = [(got(x, **named), want(x.double(), **named)) for named in calls][-1]
    return off(found[1], true[1]) if isinstance(found, tuple) else off(found, true)


lower = torch.eye(5, dtype=torch.bool) | (torch.arange(5) == 2)


def twice(target: Any) -> float:
    """inf where a module in evaluation gives two results."""
    torch.manual_seed(0)
    made, x = target(8, 2).eval(), normal(2, 9, 8)
    return 0.0 if torch.equal(made(x), made(x)) else math.inf


def module_of_tokens(target: Any, tokens: int, batch: int = 2, **named: Any) -> float:
    """A module of two heads in evaluation against the formula with its weights."""
    torch.manual_seed(0)
    got, want, x = target(8, 2).eval(), MultiHead(8, 2), normal(batch, tokens, 8)
    want.load_state_dict(got.state_dict())
    with torch.no_grad():
        found, true = got(x, **named), want.double()(x.double(), **named)
    return max(map(off, found, true)) if isinstance(found, tuple) else off(found, true)


diagonal = torch.eye(5, dtype=torch.bool) | (torch.arange(5) == 4)


WITNESS: dict[str, Witness] = {
    "merge_transposes_in_place": (input_of_the_merge, split_merge_heads.correct),
    "fused_weights_of_the_first_evaluation": (lambda t: module_in_evaluation(t, 2, True), lambda: MultiHead),
    "mask_of_the_first_four_sequences": (lambda t: module_in_evaluation(t, 5, False), lambda: MultiHead),
    "split_of_a_chunk_reads_its_neighbours": (third_of_a_projection, split_merge_heads.correct),
    "scaled_by_one_half": (lambda t: module(t, 16), lambda: MultiHead),
    "fast_path_knows_padding_alone": (lambda t: module(t, 8), lambda: MultiHead),
    "masks_of_sequences_for_heads": (lambda t: module(t, 8), lambda: MultiHead),
    "weights_without_causality": (
        lambda t: module_in_calls(t, {"is_causal": True, "need_weights": True}),
        lambda: MultiHead,
    ),
    "triangle_keeps_a_mask": (
        lambda t: module_in_calls(t, {"is_causal": True, "attn_mask": lower}, {"is_causal": True}),
        lambda: MultiHead,
    ),
    "evaluation_still_drops": (twice, lambda: MultiHead),
    "open_by_mask_or_causality": (
        lambda t: module_of_tokens(t, 5, attn_mask=diagonal, is_causal=True),
        lambda: MultiHead,
    ),
    "masks_tiled_over_folded_heads": (lambda t: module(t, 8), lambda: MultiHead),
    "merged_by_a_test_of_shapes": (lambda t: module_of_tokens(t, 2), lambda: MultiHead),
    "squeezed_before_the_projection": (lambda t: module_of_tokens(t, 5, batch=1), lambda: MultiHead),
    "weights_by_the_scale_of_the_model": (lambda t: module_of_tokens(t, 5, need_weights=True), lambda: MultiHead),
}
