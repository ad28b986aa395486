"""Faults of latent attention, one each: an absorbed one, or a materialised one, with one step replaced.

`build()` gives f(q_nope, q_rope, c_kv, k_rope, w_uk, w_uv, causal, scale).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.row import row

Attend = Callable[..., Tensor]
BLOCK = 16


def project_query(q: Tensor, w_uk: Tensor) -> Tensor:
    """Queries of the latent's size."""
    return q @ w_uk


def project_mean(mean: Tensor, w_uv: Tensor) -> Tensor:
    """Outputs of means of latents."""
    return mean @ w_uv.mT


def score(q: Tensor, q_rope: Tensor, latent: Tensor, k_rope: Tensor, scale: float) -> Tensor:
    """Scores of both parts."""
    return (q @ latent.mT + q_rope @ k_rope.mT) * scale


def usual_scale(d: int, d_rope: int, r: int) -> float:
    """The scale of a call without one."""
    return float((d + d_rope) ** -0.5)


def hide(scores: Tensor) -> Tensor:
    """Scores of which later keys are hidden, the queries the last tokens."""
    n_q, n_kv = scores.shape[-2:]
    return scores.masked_fill(torch.ones(n_q, n_kv, dtype=torch.bool).triu(n_kv - n_q + 1), -torch.inf)


STEPS: dict[str, Callable[..., Any]] = {
    "project_query": project_query, "project_mean": project_mean, "score": score, "usual_scale": usual_scale,
    "hide": hide,
}  # fmt: skip


def build(**changed: Callable[..., Any]) -> Attend:
    """Absorbed latent attention with some steps replaced; as it is, a right one."""
    step = {**STEPS, **changed}

    def latent_attention(
        q_nope: Tensor, q_rope: Tensor, c_kv: Tensor, k_rope: Tensor, w_uk: Tensor, w_uv: Tensor,
        causal: bool = False, scale: float | None = None,
    ) -> Tensor:  # fmt: skip
        wide = torch.promote_types(q_nope.dtype, torch.float32)
        q, rotated, c, k, up_key, up_value = (x.to(wide) for x in (q_nope, q_rope, c_kv, k_rope, w_uk, w_uv))
        factor = step["usual_scale"](q.shape[-1], rotated.shape[-1], c.shape[-1]) if scale is None else scale
        latent = c[:, None]
        scores = step["score"](step["project_query"](q, up_key), rotated, latent, k[:, None], factor)
        weights = (step["hide"](scores) if causal else scores).softmax(-1)
        out: Tensor = step["project_mean"](weights @ latent, up_value)
        return out.to(q_nope.dtype)

    return latent_attention


def absorbed() -> Attend:
    """Right: absorbed."""
    return build()


def decoding() -> Attend:
    """Right: queries of the latent's size come in, means of latents go out, as of kernels for decoding."""

    def decode(q_nope: Tensor, q_pe: Tensor, ckv: Tensor, kpe: Tensor, sm_scale: float) -> Tensor:
        wide = torch.promote_types(q_nope.dtype, torch.float32)
        q, rotated, c, k = (x.to(wide) for x in (q_nope, q_pe, ckv[:, None], kpe[:, None]))
        return (score(q, rotated, c, k, sm_scale).softmax(-1) @ c).to(q_nope.dtype)

    return decode


# --- faults --------------------------------------------------------------------------


def scale_of_the_latent() -> Attend:
    """The scale is that of the absorbed features, 1/sqrt(r + d_rope) (ollama/ollama PR13893)."""
    return build(usual_scale=lambda d, d_rope, r: (r + d_rope) ** -0.5)


def scale_of_the_part_without_positions() -> Attend:
    """The scale is that of one part of a head (compare NVIDIA/Megatron-LM#1501: kv_channels)."""
    return build(usual_scale=lambda d, d_rope, r: d**-0.5)


def given_scale_of_one_part() -> Attend:
    """The part with positions is not scaled."""
    return build(score=lambda q, q_rope, c, k, scale: q @ c.mT * scale + q_rope @ k.mT * (q_rope.shape[-1] ** -0.5))


def positions_left_out() -> Attend:
    """Scores of the latents alone."""
    return build(score=lambda q, q_rope, c, k, scale: q @ c.mT * scale)


def positions_counted_twice() -> Attend:
    """The part with positions is in the absorbed query, too."""
    return build(score=lambda q, q_rope, c, k, scale: (q @ c.mT + 2 * (q_rope @ k.mT)) * scale)


def positions_of_the_first_head() -> Attend:
    """Queries share the part with positions, as keys do."""
    return build(score=lambda q, q_rope, c, k, scale: score(q, q_rope[:, :1].expand(q_rope.shape), c, k, scale))


def projection_of_the_head_before() -> Attend:
    """Up-projections of keys are one head off."""
    return build(project_query=lambda q, w: q @ w.roll(1, 0))


def values_of_the_first_head() -> Attend:
    """All heads take the first up-projection of values."""
    return build(project_mean=lambda mean, w: mean @ w[:1].mT)


def projection_of_keys_for_values() -> Attend:
    """One up-projection serves both where it fits."""
    right = build()

    def latent_attention(
        q_nope: Tensor, q_rope: Tensor, c_kv: Tensor, k_rope: Tensor, w_uk: Tensor, w_uv: Tensor, causal: bool = False,
        scale: float | None = None,
    ) -> Tensor:  # fmt: skip
        up = w_uk if w_uk.shape == w_uv.shape else w_uv
        return right(q_nope, q_rope, c_kv, k_rope, w_uk, up, causal, scale)

    return latent_attention


def absorbed_query_in_bfloat16() -> Attend:
    """What is stored between the projection and the scores is bfloat16, whatever the inputs are."""
    return build(project_query=lambda q, w: project_query(q, w).bfloat16().to(q.dtype))


def diagonal_from_the_first_key() -> Attend:
    """Decoding sees the first keys alone: a mask for as many queries as keys."""

    def hide_above(scores: Tensor) -> Tensor:
        n_q, n_kv = scores.shape[-2:]
        return scores.masked_fill(torch.ones(n_q, n_kv, dtype=torch.bool).triu(1), -torch.inf)

    return build(hide=hide_above)


def causality_left_out() -> Attend:
    """The absorbed path is for decoding, and hides nothing."""
    return build(hide=lambda scores: scores)


def latent_features_beyond_128_dropped() -> Attend:
    """A loop over the latent's features ends after 128."""
    return build(score=lambda q, q_rope, c, k, scale: score(q[..., :128], q_rope, c[..., :128], k, scale))


def heads_beyond_16_are_the_first() -> Attend:
    """A block of 16 heads is loaded once."""
    return build(project_query=lambda q, w: q @ w[torch.arange(len(w)) % 16])


def last_key_of_a_block_lost() -> Attend:
    """The last key of each whole block of 16 is hidden."""

    def lose(q: Tensor, q_rope: Tensor, c: Tensor, k: Tensor, scale: float) -> Tensor:
        lost = torch.arange(c.shape[-2]) % BLOCK == BLOCK - 1
        return score(q, q_rope, c, k, scale).masked_fill(lost, -torch.inf)

    return build(score=lose)


def latents_read_in_order() -> Attend:
    """Slices of the cache are read as if they were whole."""
    right = build()

    def flat(x: Tensor) -> Tensor:
        return x if x.is_contiguous() else x.as_strided(x.shape, torch.empty(x.shape).stride(), 0)

    def latent_attention(
        q_nope: Tensor, q_rope: Tensor, c_kv: Tensor, k_rope: Tensor, w_uk: Tensor, w_uv: Tensor, causal: bool = False,
        scale: float | None = None,
    ) -> Tensor:  # fmt: skip
        return right(q_nope, q_rope, flat(c_kv), flat(k_rope), w_uk, w_uv, causal, scale)

    return latent_attention


def projection_of_the_first_call() -> Attend:
    """Weights are absorbed once and kept by their shape."""
    kept: dict[Any, Tensor] = {}
    return build(project_query=lambda q, w: q @ kept.setdefault((w.shape, w.dtype), w.clone()))


def latent_normed_in_place() -> Attend:
    """The latents are normed where they lie in the cache."""
    right = build()

    def latent_attention(
        q_nope: Tensor, q_rope: Tensor, c_kv: Tensor, k_rope: Tensor, w_uk: Tensor, w_uv: Tensor, causal: bool = False
    ) -> Tensor:
        out = right(q_nope, q_rope, c_kv, k_rope, w_uk, w_uv, causal)
        c_kv.div_(c_kv.norm(dim=-1, keepdim=True) + 1.0)
        return out

    return latent_attention


def scale_of_decoding_ignored() -> Attend:
    """A kernel for decoding has the scale of its model built in (192 features)."""
    right = decoding()

    def decode(q_nope: Tensor, q_pe: Tensor, ckv: Tensor, kpe: Tensor, sm_scale: float) -> Tensor:
        return right(q_nope, q_pe, ckv, kpe, 192**-0.5)

    return decode


def maximum_of_the_latent_scores_alone() -> Attend:
    """The largest score is looked for before the part with positions is added: that one may overflow."""

    def latent_attention(
        q_nope: Tensor, q_rope: Tensor, c_kv: Tensor, k_rope: Tensor, w_uk: Tensor, w_uv: Tensor,
    ) -> Tensor:  # fmt: skip
        wide = torch.promote_types(q_nope.dtype, torch.float32)
        q, rotated, c, k, up_key, up_value = (x.to(wide) for x in (q_nope, q_rope, c_kv, k_rope, w_uk, w_uv))
        scale = usual_scale(q.shape[-1], rotated.shape[-1], c.shape[-1])
        first, second = project_query(q, up_key) @ c[:, None].mT * scale, rotated @ k[:, None].mT * scale
        p = (first - first.amax(-1, keepdim=True) + second).exp()
        return project_mean(p / p.sum(-1, keepdim=True) @ c[:, None], up_value).to(q_nope.dtype)

    return latent_attention


def positions_of_sequences_beyond_8_wrap() -> Attend:
    """Sequences from the ninth on take the keys with positions of the first ones."""
    return build(score=lambda q, q_rope, c, k, scale: score(q, q_rope, c, k[torch.arange(len(k)) % 8], scale))


FAULTY = (
    scale_of_the_latent, scale_of_the_part_without_positions, given_scale_of_one_part, positions_left_out,
    positions_counted_twice, positions_of_the_first_head, projection_of_the_head_before, values_of_the_first_head,
    projection_of_keys_for_values, absorbed_query_in_bfloat16, diagonal_from_the_first_key, causality_left_out,
    latent_features_beyond_128_dropped, heads_beyond_16_are_the_first, last_key_of_a_block_lost, latents_read_in_order,
    projection_of_the_first_call, latent_normed_in_place, scale_of_decoding_ignored,
    maximum_of_the_latent_scores_alone, positions_of_sequences_beyond_8_wrap,
)  # fmt: skip
ROWS = tuple(row(fault, "law", contract="mla", accumulate="float32") for fault in FAULTY)
