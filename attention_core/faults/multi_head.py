"""Faults of multi-head self-attention, one each: factories (embed_dim, num_heads) -> nn.Module.

`MultiHead`, of `bases`, is correct and cut into steps; a fault replaces one.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from attention_core.faults.bases.multi_head import (
    Apart,
    Crossing,
    MultiHead,
    normalised,
    two_masks,
)

# --- the attention ------------------------------------------------------------------


class scaled_by_model_size(MultiHead):  # noqa: N801
    """1 / sqrt(E): one head hides it (lucidrains/vit-pytorch#65, FrancescoSaverioZuppichini/ViT#1)."""

    def scale(self) -> float:
        return 1 / math.sqrt(self.embed)


class unscaled(MultiHead):  # noqa: N801
    """No scale; d = 1 hides it (mlc-ai/mlc-llm PR3426)."""

    def scale(self) -> float:
        return 1.0


class softmax_over_queries(MultiHead):  # noqa: N801
    """softmax(dim=-2) (labmlai/annotated_deep_learning_paper_implementations#146)."""

    def weights(self, s: Tensor, allow: Tensor) -> Tensor:
        return s.masked_fill(~allow, -math.inf).softmax(-2)


class softmax_over_heads(MultiHead):  # noqa: N801
    """softmax(dim=1) of four axes (PetrochukM/PyTorch-NLP#2, FudanNLP/fastNLP#254)."""

    def weights(self, s: Tensor, allow: Tensor) -> Tensor:
        return s.masked_fill(~allow, -1e9).softmax(1)


# --- masks and causality ------------------------------------------------------------


class causal_flag_dropped(MultiHead):  # noqa: N801
    """is_causal is not handed on (lucidrains/dreamer4#2, huggingface/transformers#48745)."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        return super().allowed(n, attn_mask, False, need_weights)


class mask_dropped_beside_causality(MultiHead):  # noqa: N801
    """A fast causal path takes no mask (compare pytorch/pytorch#99282)."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        return super().allowed(n, None if is_causal else attn_mask, is_causal, need_weights)


class past_spoiled_by_a_mask(MultiHead):  # noqa: N801
    """The buffer of past positions is combined with the caller's mask in place."""

    def build(self) -> None:
        super().build()
        self.past = torch.ones(64, 64, dtype=torch.bool).tril()

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        if not is_causal:
            return super().allowed(n, attn_mask, is_causal, need_weights)
        past = self.past[:n, :n]
        if attn_mask is not None and attn_mask.ndim == 2:
            past &= attn_mask
            return past
        return past if attn_mask is None else past & attn_mask


class causal_needs_a_mask(MultiHead):  # noqa: N801
    """Causality is combined with a mask where there is one, and else forgotten (facebookresearch/xformers#103)."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        return super().allowed(n, attn_mask, is_causal and attn_mask is not None, need_weights)


class causal_lost_on_the_weights_path(MultiHead):  # noqa: N801
    """With weights asked for, is_causal is ignored (pytorch/pytorch#99282, keras-team/keras#23038)."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        return super().allowed(n, attn_mask, is_causal and not need_weights, need_weights)


class dead_rows_on_the_weights_path(MultiHead):  # noqa: N801
    """The fast path gives zeros for a token without keys, the weights path NaN (pytorch/pytorch#160064)."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        self.asked = need_weights
        return super().allowed(n, attn_mask, is_causal, need_weights)

    def weights(self, s: Tensor, allow: Tensor) -> Tensor:
        p = super().weights(s, allow)
        return p if self.asked else p.nan_to_num()


class causal_in_inference_alone(MultiHead):  # noqa: N801
    """The training path forgets is_causal."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        return super().allowed(n, attn_mask, is_causal and not self.training, need_weights)


class causal_mask_of_the_first_length(MultiHead):  # noqa: N801
    """The causal mask is a buffer of the first length; tokens beyond it see everything (facebookresearch/xformers
    PR660).
    """

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        if not is_causal:
            return super().allowed(n, attn_mask, False, need_weights)
        self.first = getattr(self, "first", n)
        return super().allowed(n, attn_mask, True, need_weights) | (torch.arange(n)[:, None] >= self.first)


class mask_lost_on_the_weights_path(MultiHead):  # noqa: N801
    """With weights asked for, the mask is ignored (compare keras-team/keras#23038)."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        return super().allowed(n, None if need_weights else attn_mask, is_causal, need_weights)


class padding_dropped_beside_a_mask(two_masks):  # noqa: N801
    """The mask of keys is read only where there is no mask of pairs."""

    def together(self, keys: Tensor | None, pairs: Tensor | None) -> Tensor | None:
        return super().together(keys if pairs is None else None, pairs)


class far_keys_lost_beyond_a_hundred(MultiHead):  # noqa: N801
    """Beyond 100 tokens those that lie 100 back are forgotten: a table of distances ends there."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        near = ~torch.ones(n, n, dtype=torch.bool).tril(-100)
        return super().allowed(n, attn_mask, is_causal, need_weights) & near


class last_of_twelve_heads_uniform(MultiHead):  # noqa: N801
    """With twelve heads or more the last one's scores are zeros: a loop over heads ends early."""

    def weights(self, s: Tensor, allow: Tensor) -> Tensor:
        s = torch.cat([s[:, :-1], 0 * s[:, -1:]], 1) if self.heads >= 12 else s
        return super().weights(s, allow)


class mask_polarity_reversed(MultiHead):  # noqa: N801
    """Keeps what the mask forbids (rasbt/LLMs-from-scratch PR1062, lucidrains/halonet-pytorch#4)."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        return super().allowed(n, None if attn_mask is None else ~attn_mask, is_causal, need_weights)

    def weights(self, s: Tensor, allow: Tensor) -> Tensor:
        return s.masked_fill(~allow, -1e9).softmax(-1)


class mask_after_softmax(MultiHead):  # noqa: N801
    """softmax(s) * keep, not normalised again (huggingface/pytorch-image-models PR2236)."""

    def weights(self, s: Tensor, allow: Tensor) -> Tensor:
        return s.softmax(-1) * allow


class masked_scores_discarded(MultiHead):  # noqa: N801
    """masked_fill without assignment (lucidrains/flamingo-pytorch#10, opendilab/DI-engine#333)."""

    def weights(self, s: Tensor, allow: Tensor) -> Tensor:
        return s.softmax(-1)


class mask_of_sequences_on_heads(MultiHead):  # noqa: N801
    """The mask's axis of sequences meets the heads; B = H hides it (lucidrains/vit-pytorch#71)."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        moved = attn_mask if attn_mask is None or attn_mask.ndim < 4 else attn_mask.transpose(0, 1)
        return super().allowed(n, moved, is_causal, need_weights)


class mask_of_the_first_sequence(MultiHead):  # noqa: N801
    """One sequence's mask serves the batch."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        first = attn_mask if attn_mask is None or attn_mask.ndim < 4 else attn_mask[:1]
        return super().allowed(n, first, is_causal, need_weights)


class mask_repeated_by_heads(MultiHead):  # noqa: N801
    """A mask (B, n, n) is repeated in the order (H, B) for scores in the order (B, H)."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        if attn_mask is not None and attn_mask.ndim == 3:
            repeated = attn_mask.repeat(self.heads, 1, 1)
            attn_mask = repeated.view(attn_mask.shape[0], self.heads, *attn_mask.shape[1:])
        return super().allowed(n, attn_mask, is_causal, need_weights)


class dead_rows_zeroed_behind_the_projection(MultiHead):  # noqa: N801
    """NaN is made 0 in the output, and not in the heads: the bias of the output projection is lost."""

    def finish(self, x: Tensor) -> Tensor:
        return super().finish(x).nan_to_num()


# --- heads --------------------------------------------------------------------------


class split_by_view(MultiHead):  # noqa: N801
    """A view without a transpose (reczoo/FuxiCTR#30, 649453932/Chinese-Text-Classification-Pytorch#53)."""

    def split(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[0], self.heads, x.shape[1], -1)


class merge_without_permute(MultiHead):  # noqa: N801
    """Heads are joined as they lie (jsbaan/transformer-from-scratch PR6, hackiey/QAnet-pytorch#2)."""

    def merge(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[0], x.shape[2], -1)


class batch_and_heads_mixed(MultiHead):  # noqa: N801
    """view(H, B, ...) of (B, H, ...) (gazelle93/Transformer-Various-Positional-Encoding#1)."""

    def merge(self, x: Tensor) -> Tensor:
        B, H, n, d = x.shape
        return x.reshape(H, B, n, d).permute(1, 2, 0, 3).reshape(B, n, -1)


class sequence_first_by_view(MultiHead):  # noqa: N801
    """A view in place of a transpose to sequence-first (rish-16/tokenlearner-pytorch#1, meta-pytorch/opacus PR825)."""

    def finish(self, x: Tensor) -> Tensor:
        B, n, E = x.shape
        return super().finish(x.reshape(n, B, E).transpose(0, 1))


class heads_reversed(MultiHead):  # noqa: N801
    """Heads are joined in the reverse order."""

    def merge(self, x: Tensor) -> Tensor:
        return super().merge(x.flip(1))


class head_size_truncated(MultiHead):  # noqa: N801
    """The last feature of every head gets lost and is padded with zeros (sgl-project/sglang PR32028)."""

    def merge(self, x: Tensor) -> Tensor:
        lost = x.clone()
        lost[..., -1] = 0
        return super().merge(lost)


class attention_unused(MultiHead):  # noqa: N801
    """What comes out is the values, not what attention made of them (lucidrains/audiolm-pytorch PR265)."""

    def forward(self, x: Tensor, attn_mask: Any = None, is_causal: bool = False, need_weights: bool = False) -> Any:
        super().forward(x, attn_mask, is_causal)
        y = self.finish(self.v_proj(x))
        return (y, None) if need_weights else y


# --- modes --------------------------------------------------------------------------


class mode_changes_the_output(MultiHead):  # noqa: N801
    """A fast path of evaluation forgets the bias of the output (compare huggingface/pytorch-image-models PR1978)."""

    def finish(self, x: Tensor) -> Tensor:
        y: Tensor = super().finish(x) if self.training else x @ self.out_proj.weight.T
        return y


class evaluation_leaves_a_trace(MultiHead):  # noqa: N801
    """Training moves the scale, and evaluation keeps it (compare NVIDIA/Megatron-LM PR411)."""

    def scale(self) -> float:
        self.moved = getattr(self, "moved", 1.0) * (0.5 if self.training else 1.0)
        return super().scale() * self.moved


# --- projections that are not recognised ------------------------------------------------


class normalised_and_mixed(normalised, batch_and_heads_mixed):  # noqa: N801
    """The fault of mixing, where projections are not recognised."""


class normalised_and_not_causal(normalised, causal_flag_dropped):  # noqa: N801
    """The fault of causality, where projections are not recognised."""


class joined_in_one_buffer(MultiHead):  # noqa: N801
    """In evaluation the result lies in one buffer of the module: the next call of its shape overwrites it."""

    def build(self) -> None:
        super().build()
        self.buffers: dict[tuple[int, ...], Tensor] = {}  # type: ignore[assignment]

    def finish(self, x: Tensor) -> Tensor:
        y = super().finish(x)
        return y if y.requires_grad else self.buffers.setdefault(tuple(y.shape), y).copy_(y)


class joined_in_four_buffers(joined_in_one_buffer):  # noqa: N801
    """In evaluation results go round four buffers of the module: the fifth call overwrites the first one's output."""

    def finish(self, x: Tensor) -> Tensor:
        y = MultiHead.finish(self, x)
        if y.requires_grad:
            return y
        self.calls = getattr(self, "calls", 0) + 1
        return self.buffers.setdefault((*y.shape, self.calls % 4), torch.empty_like(y)).copy_(y)


class returned_weights_scaled_by_model_size(MultiHead):  # noqa: N801
    """The output is right; weights that are asked for are computed once more, by 1 / sqrt(E)."""

    def forward(
        self, x: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False, need_weights: bool = False
    ) -> Any:
        y = super().forward(x, attn_mask, is_causal, False)
        if not need_weights:
            return y
        q, k, _ = (self.split(part) for part in self.project(x))
        s = q @ k.transpose(-1, -2) / math.sqrt(self.embed)
        return y, self.weights(s, self.allowed(x.shape[1], attn_mask, is_causal, need_weights))


class returned_weights_of_the_first_head(MultiHead):  # noqa: N801
    """Weights that are asked for are those of head 0, in the form of a mean over heads."""

    def forward(
        self, x: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False, need_weights: bool = False
    ) -> Any:
        y, p = super().forward(x, attn_mask, is_causal, True)
        return (y, p[:, 0]) if need_weights else y


# --- a context of its own --------------------------------------------------------------


class context_for_keys_alone(Crossing):  # noqa: N801
    """Values come from the input; a context of another length than the input is cut (lucidrains/x-transformers#174)."""

    def parts(self, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        n = min(x.shape[1], context.shape[1])
        return self.q_proj(x), self.k_proj(context[:, :n]), self.v_proj(x[:, :n])


class values_of_the_input_where_lengths_agree(Crossing):  # noqa: N801
    """A context as long as the input is taken for the input, by its values."""

    def parts(self, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.q_proj(x), self.k_proj(context), self.v_proj(x if x.shape == context.shape else context)


class mask_kept_by_its_shape(MultiHead):  # noqa: N801
    """The first mask of a shape serves every later one."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        if attn_mask is not None:
            attn_mask = self.__dict__.setdefault("seen", {}).setdefault(attn_mask.shape, attn_mask.clone())
        return super().allowed(n, attn_mask, is_causal, need_weights)


class mask_kept_by_its_place(MultiHead):  # noqa: N801
    """A mask is kept for its place in memory: one that is changed there is not read anew."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        if attn_mask is not None:
            key = attn_mask.data_ptr(), attn_mask.shape
            kept = self.__dict__.setdefault("places", {})
            if kept.get("key") != key:
                kept |= {"key": key, "mask": attn_mask, "copy": attn_mask.clone()}  # alive: its place stays its own
            attn_mask = kept["copy"]
        return super().allowed(n, attn_mask, is_causal, need_weights)


class context_kept_by_its_shape(Crossing):  # noqa: N801
    """In evaluation the keys and values of a context serve every later one of its shape."""

    kept: dict[torch.Size, tuple[Tensor, Tensor]]

    def parts(self, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = super().parts(x, context)
        if x is context or self.training:
            return q, k, v
        self.__dict__.setdefault("kept", {}).setdefault(context.shape, (k.detach(), v.detach()))
        return (q, *self.kept[context.shape])


class projections_kept_by_identity(Crossing):  # noqa: N801
    """In evaluation the keys and values of a context are kept as long as the same tensor comes."""

    def parts(self, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        kept = self.__dict__.setdefault("kept", [])
        if self.training or context.requires_grad:
            return super().parts(x, context)
        if not kept or kept[0] is not context:
            kept[:] = [context, self.k_proj(context).detach(), self.v_proj(context).detach()]
        return self.q_proj(x), kept[1], kept[2]


class mask_kept_for_later_calls(MultiHead):  # noqa: N801
    """A mask stays in an attribute, and serves later calls of its size that bring none."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        if attn_mask is not None:
            self.kept = attn_mask
        kept = getattr(self, "kept", None)
        serves = attn_mask is None and kept is not None and kept.shape[-1] == n
        return super().allowed(n, kept if serves else attn_mask, is_causal, need_weights)


class scores_clamped_at_thirty(MultiHead):  # noqa: N801
    """Scores are clamped so that no exponential overflows."""

    def weights(self, s: Tensor, allow: Tensor) -> Tensor:
        return super().weights(s.clamp(-30, 30), allow)


class bias_scaled_with_the_scores(MultiHead):  # noqa: N801
    """An additive mask is added before the scores are scaled; 0 and -inf hide it."""

    def forward(self, x: Tensor, attn_mask: Tensor | None = None) -> Any:  # type: ignore[override]
        """attn_mask is added to the scores."""
        q, k, v = (self.split(part) for part in self.project(x))
        s = q @ k.transpose(-1, -2)
        s = s if attn_mask is None else s + attn_mask
        return self.finish(self.merge((self.scale() * s).softmax(-1) @ v))


class dropped_in_every_mode(MultiHead):  # noqa: N801
    """torch's fused attention is told how much to drop in evaluation, too."""

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.1) -> None:
        super().__init__(embed_dim, num_heads)
        self.dropout = dropout

    def weights(self, s: Tensor, allow: Tensor) -> Tensor:
        return nn.functional.dropout(super().weights(s, allow), self.dropout)


class values_read_from_the_key(Apart):  # noqa: N801
    """Values are projected from the key: self-attention and one context for both hide it."""

    def read(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        return super().read(key, key)


class self_attention_recognised_by_its_key(Apart):  # noqa: N801
    """Where query and key are one tensor all three are projected from it: q = k = x + pos of DETR loses its value."""

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Any:  # type: ignore[override]
        return super().forward(query, key, key if query is key else value)


FAULTY = (
    self_attention_recognised_by_its_key, projections_kept_by_identity,
    bias_scaled_with_the_scores, mask_kept_for_later_calls, scores_clamped_at_thirty,
    dropped_in_every_mode, values_read_from_the_key,
    context_for_keys_alone, values_of_the_input_where_lengths_agree, context_kept_by_its_shape,
    mask_kept_by_its_shape, mask_kept_by_its_place,
    mask_repeated_by_heads, dead_rows_zeroed_behind_the_projection,
    scaled_by_model_size, unscaled, softmax_over_queries, softmax_over_heads, causal_flag_dropped, causal_needs_a_mask,
    causal_lost_on_the_weights_path, mask_lost_on_the_weights_path, mask_polarity_reversed, mask_after_softmax,
    masked_scores_discarded, mask_of_sequences_on_heads, mask_of_the_first_sequence, split_by_view,
    merge_without_permute, batch_and_heads_mixed, sequence_first_by_view, heads_reversed, head_size_truncated,
    attention_unused, mode_changes_the_output, evaluation_leaves_a_trace, dead_rows_on_the_weights_path,
    causal_in_inference_alone, causal_mask_of_the_first_length, joined_in_one_buffer, mask_dropped_beside_causality,
    past_spoiled_by_a_mask, joined_in_four_buffers, returned_weights_scaled_by_model_size,
    returned_weights_of_the_first_head, padding_dropped_beside_a_mask, far_keys_lost_beyond_a_hundred,
    last_of_twelve_heads_uniform,
)  # fmt: skip
