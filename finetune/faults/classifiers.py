"""Faults of sequence classifiers, one each, as changes of one small encoder.

`Plain`, of `bases`, is cut into steps, as most people write them; each fault changes one.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from finetune.faults.bases.classifiers import (
    CORRECT,
    PAD,
    E,
    H,
    Meaned,
    P,
    Plain,
    Prompted,
)

# --- faulty: form -------------------------------------------------------------------


class squeezed_at_one(Plain):  # noqa: N801  # faults are called as laws name them
    """squeeze() takes the batch away where it holds one text."""

    def given(self, logits: Tensor) -> Any:
        return logits.squeeze()


class logits_in_single(Plain):  # noqa: N801
    """Logits of a model in float64 come in float32."""

    def given(self, logits: Tensor) -> Any:
        return logits.float()


class chosen_class_alone(Plain):  # noqa: N801
    """The class is returned in the place of its logits."""

    def given(self, logits: Tensor) -> Any:
        return logits.argmax(1)


class returns_probabilities(Plain):  # noqa: N801
    """A softmax, which the loss takes once more."""

    def given(self, logits: Tensor) -> Any:
        return logits.softmax(1)


class logits_in_one_buffer(Plain):  # noqa: N801
    """Logits are written into a buffer that the next batch uses again."""

    kept: Tensor

    def given(self, logits: Tensor) -> Any:
        if getattr(self, "kept", None) is None or self.kept.shape != logits.shape:
            self.kept = logits.detach().clone()
        return self.kept.copy_(logits.detach())


class mask_changed_in_place(Plain):  # noqa: N801
    """(1 - mask) * -10000 is worked out in the tensor that was handed over."""

    def real(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        real = super().real(ids, mask)
        return real if mask is None else mask.sub_(1).mul_(10000) == 0


# --- faulty: padding ----------------------------------------------------------------


class mask_ignored(Plain):  # noqa: N801
    """Attention sees padding (TransformerLensOrg/TransformerLens#1005)."""

    def masked(self, scores: Tensor, real: Tensor) -> Tensor:
        return scores


class mask_inverted(Plain):  # noqa: N801
    """Attention sees padding alone, where there is any."""

    def masked(self, scores: Tensor, real: Tensor) -> Tensor:
        return super().masked(scores, ~real | real.all(1, keepdim=True))


class mask_is_added_as_it_is(Plain):  # noqa: N801
    """The mask of ones and zeros is added to the scores."""

    def masked(self, scores: Tensor, real: Tensor) -> Tensor:
        return scores + real[:, None, None, :]


class masked_by_minus_ten(Plain):  # noqa: N801
    """-10 is no minus infinity: padding keeps a weight of e^-10."""

    def masked(self, scores: Tensor, real: Tensor) -> Tensor:
        return scores - 10.0 * ~real[:, None, None, :]


class mask_on_the_queries(Plain):  # noqa: N801
    """The mask lies along the queries, and hides nothing from the real ones."""

    def masked(self, scores: Tensor, real: Tensor) -> Tensor:
        return scores.masked_fill(~real[:, None, :, None], -1e9)


class mask_after_softmax(Plain):  # noqa: N801
    """Weights of padding are cut out, and the rest is not normalised again."""

    def attend(self, number: int, x: Tensor, real: Tensor) -> Tensor:
        B, n, _ = x.shape
        q, k, v = (part.view(B, n, H, -1).transpose(1, 2) for part in self.qkv[number](x).split(E, dim=-1))
        weights = (q @ k.transpose(-1, -2) / math.sqrt(E / H)).softmax(-1) * real[:, None, None, :]
        return self.out[number]((self.drop(weights) @ v).transpose(1, 2).reshape(B, n, E))


class mask_in_the_first_layer_alone(Plain):  # noqa: N801
    """The second layer is not given the mask."""

    def attend(self, number: int, x: Tensor, real: Tensor) -> Tensor:
        return super().attend(number, x, real if number == 0 else torch.ones_like(real))


class mask_of_the_first_batch(Plain):  # noqa: N801
    """The extended mask is kept, and used again for every batch of the same shape."""

    kept: dict[torch.Size, Tensor]

    def real(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        self.kept = getattr(self, "kept", {})
        return self.kept.setdefault(ids.shape, super().real(ids, mask))


class positions_of_the_first_batch(Plain):  # noqa: N801
    """Positions are worked out at the first call, and cut or repeated for later ones."""

    kept: Tensor

    def numbers(self, real: Tensor) -> Tensor:
        if not hasattr(self, "kept") or self.kept.shape[1] < real.shape[1]:
            self.kept = super().numbers(real)[:1]
        return self.kept[:, : real.shape[1]].expand(real.shape)


class padding_in_the_mean(Meaned):  # noqa: N801
    """The mean goes over all places."""

    def pooled(self, x: Tensor, real: Tensor) -> Tensor:
        return x.mean(1)


class padding_counted_in_the_mean(Meaned):  # noqa: N801
    """The sum over real tokens is divided by the number of places."""

    def pooled(self, x: Tensor, real: Tensor) -> Tensor:
        return (x * real[..., None]).sum(1) / x.shape[1]


class pools_the_last_place(Plain):  # noqa: N801
    """The vector of the last place is pooled, real or not."""

    def pooled(self, x: Tensor, real: Tensor) -> Tensor:
        return x[:, -1]


class pools_the_first_place(Plain):  # noqa: N801
    """The vector of the first place is pooled, also where padding stands there."""

    def pooled(self, x: Tensor, real: Tensor) -> Tensor:
        return x[:, 0]


class largest_with_padding(Meaned):  # noqa: N801
    """The largest of each feature, zeros of padding among them."""

    def pooled(self, x: Tensor, real: Tensor) -> Tensor:
        return (x * real[..., None]).amax(1)


class normalised_over_the_text(Plain):  # noqa: N801
    """The last norm takes mean and variance over all places, padding included."""

    def normed(self, number: int, x: Tensor) -> Tensor:
        return (
            (x - x.mean((1, 2), keepdim=True)) / x.std((1, 2), keepdim=True) if number == 3 else self.norms[number](x)
        )


class positions_count_the_padding(Plain):  # noqa: N801
    """arange: a text behind padding stands elsewhere (unslothai/unsloth#3699)."""

    def numbers(self, real: Tensor) -> Tensor:
        return torch.arange(real.shape[1]).expand(real.shape)


class mask_not_extended_over_the_prompt(Prompted):  # noqa: N801
    """The ones for the prompt are put behind the mask: the last tokens are hidden, the last padding is seen."""

    def extended(self, real: Tensor) -> Tensor:
        return super().extended(real).roll(-P, 1)


class prompt_before_left_padding(Prompted):  # noqa: N801
    """Positions go on counting behind the prompt, through the padding (huggingface/peft#54)."""

    def numbers(self, real: Tensor) -> Tensor:
        return P + torch.arange(real.shape[1]).expand(real.shape)


class padding_of_id_zero_alone(Plain):  # noqa: N801
    """The mask is made of the ids; the one that is given is not read."""

    def real(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        return ids != PAD


class words_of_id_zero_hidden(Plain):  # noqa: N801
    """A real token with the id of padding is masked, as after masked-LM training with a random word 0."""

    def real(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        return super().real(ids, mask) & (ids != PAD)


class mask_guessed_from_ids(Plain):  # noqa: N801
    """Without a mask, ids tell the padding."""

    def real(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        return ids != PAD if mask is None else mask.bool()


class empty_texts_dropped(Plain):  # noqa: N801
    """Texts without a token are left out of the batch."""

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> Any:
        rows = self.real(input_ids, attention_mask).any(1)
        parts = [None if part is None else part[rows] for part in (attention_mask, token_type_ids)]
        return super().forward(input_ids[rows], *parts)


class empty_texts_spoil_all(Plain):  # noqa: N801
    """Logits are divided by the length of the shortest text, over which 0 / 0 comes to all."""

    def masked(self, scores: Tensor, real: Tensor) -> Tensor:
        least = real.sum(1).min()
        return super().masked(scores, real) * (least / least)


# --- faulty: batches ----------------------------------------------------------------


class mask_of_the_first_text(Plain):  # noqa: N801
    """One text's mask stands for all (lucidrains/graph-transformer-pytorch PR2)."""

    def masked(self, scores: Tensor, real: Tensor) -> Tensor:
        return super().masked(scores, real[:1])


class normalised_over_the_batch(Plain):  # noqa: N801
    """The pooled vectors are centred over the batch, in evaluation, too."""

    def pooled(self, x: Tensor, real: Tensor) -> Tensor:
        found = super().pooled(x, real)
        return found - found.mean(0) if len(found) > 1 else found


class batch_and_heads_mixed(Plain):  # noqa: N801
    """Heads are split off before the batch by view, without a transpose."""

    def attend(self, number: int, x: Tensor, real: Tensor) -> Tensor:
        B, n, _ = x.shape
        q, k, v = (part.reshape(H, B, n, -1).transpose(0, 1) for part in self.qkv[number](x).split(E, dim=-1))
        weights = self.drop(self.masked(q @ k.transpose(-1, -2) / math.sqrt(E / H), real).softmax(-1))
        return self.out[number]((weights @ v).transpose(1, 2).reshape(B, n, E))


class segments_of_the_first_text(Plain):  # noqa: N801
    """All texts get the segments of the first."""

    def types(self, ids: Tensor, types: Tensor | None) -> Tensor:
        return super().types(ids, types)[:1].expand(ids.shape)


# --- faulty: what counts ------------------------------------------------------------


class attention_unused(Plain):  # noqa: N801
    """The output of attention is dropped: the first token alone decides (lucidrains/audiolm-pytorch PR265)."""

    def attend(self, number: int, x: Tensor, real: Tensor) -> Tensor:
        return 0 * super().attend(number, x, real)


class last_token_cut(Plain):  # noqa: N801
    """A mask that is one too short: the last real token is hidden."""

    def real(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        real = super().real(ids, mask)
        place = torch.arange(ids.shape[1])
        last = torch.where(real, place, -1).amax(1, keepdim=True)
        return real & ((place < last) | (real.sum(1, keepdim=True) < 2))


class segments_ignored(Plain):  # noqa: N801
    """Token types are taken, and not read."""

    def types(self, ids: Tensor, types: Tensor | None) -> Tensor:
        return torch.zeros_like(ids)


class segments_default_to_the_second(Plain):  # noqa: N801
    """Without token types every token is in the second segment."""

    def types(self, ids: Tensor, types: Tensor | None) -> Tensor:
        return torch.ones_like(ids) if types is None else types


class first_in_place_of_the_mean(Plain):  # noqa: N801
    """The first token is pooled where the mean is declared."""


class mean_in_place_of_the_first(Meaned):  # noqa: N801
    """The mean is pooled where the first token is declared."""


class sum_in_place_of_the_mean(Meaned):  # noqa: N801
    """A sum over real tokens, which grows with the text."""

    def pooled(self, x: Tensor, real: Tensor) -> Tensor:
        return (x * real[..., None]).sum(1)


class mean_of_two_at_least(Meaned):  # noqa: N801
    """The mean over real tokens is divided by two at least."""

    def pooled(self, x: Tensor, real: Tensor) -> Tensor:
        return (x * real[..., None]).sum(1) / real.sum(1, keepdim=True).clamp(min=2)


# --- faulty: modes ------------------------------------------------------------------


class dropout_in_evaluation(Plain):  # noqa: N801
    """The head's dropout is always on (huggingface/pytorch-image-models PR1978)."""

    def scored(self, x: Tensor) -> Tensor:
        return self.head(nn.functional.dropout(x, 0.5))


class dropout_never_on(Plain):  # noqa: N801
    """Dropout is declared, and p is 0."""

    rate = 0.0


class evaluation_ends_dropout(Plain):  # noqa: N801
    """eval() sets p to 0, and train() does not bring it back (NVIDIA/Megatron-LM PR411)."""

    def train(self, mode: bool = True) -> Any:
        self.rate = self.rate if mode else 0.0
        return super().train(mode)


class training_stays_on(Plain):  # noqa: N801
    """What was once put into training mode draws for ever."""

    def train(self, mode: bool = True) -> Any:
        self.once = getattr(self, "once", False) or (mode and hasattr(self, "built"))
        self.built = True
        return super().train(mode or self.once)


class running_mean_in_evaluation(Plain):  # noqa: N801
    """Statistics drift in evaluation, too."""

    def pooled(self, x: Tensor, real: Tensor) -> Tensor:
        found = super().pooled(x, real)
        self.mean = 0.9 * getattr(self, "mean", torch.zeros_like(found[0])) + 0.1 * found.mean(0).detach()
        return found - self.mean


# --- faulty: gradients --------------------------------------------------------------


class encoder_under_no_grad(Plain):  # noqa: N801
    """The encoder is run without a graph though it asks for gradients, as reentrant checkpointing of frozen inputs
    does.
    """

    def encoded(self, x: Tensor, real: Tensor) -> Tensor:
        with torch.no_grad():
            return super().encoded(x, real)


class head_detached(Plain):  # noqa: N801
    """The head's weight is used without its graph."""

    def scored(self, x: Tensor) -> Tensor:
        return nn.functional.linear(x, self.head.weight.detach(), self.head.bias)


class prompt_from_data(Prompted):  # noqa: N801
    """The prompt is read through .data: it is never trained."""

    def encoded(self, x: Tensor, real: Tensor) -> Tensor:
        front = (self.prompt.data + self.places.weight[:P]).expand(len(x), P, E)
        return Plain.encoded(self, torch.cat([front, x], 1), self.extended(real))[:, P:]


class padding_in_the_gradient(Meaned):  # noqa: N801
    """Padding is cut out of the numbers alone: straight through, its vectors get a gradient."""

    def pooled(self, x: Tensor, real: Tensor) -> Tensor:
        cut = x * real[..., None]
        return super().pooled(x + (cut - x).detach(), torch.ones_like(real)) * real.shape[1] / real.sum(1, keepdim=True)


SEEN_BY: dict[type[nn.Module], str] = {  # one law that must see it
    squeezed_at_one: "logits_are_a_row_for_each_text",
    logits_in_single: "logits_are_a_row_for_each_text",
    chosen_class_alone: "logits_are_a_row_for_each_text",
    returns_probabilities: "logits_are_no_probabilities",
    logits_in_one_buffer: "logits_outlive_the_next_batch",
    mask_changed_in_place: "padding_behind_changes_nothing",
    mask_ignored: "padding_behind_changes_nothing",
    mask_inverted: "padding_behind_changes_nothing",
    mask_is_added_as_it_is: "padding_behind_changes_nothing",
    masked_by_minus_ten: "padding_behind_changes_nothing",
    mask_on_the_queries: "padding_behind_changes_nothing",
    mask_after_softmax: "padding_behind_changes_nothing",
    mask_in_the_first_layer_alone: "padding_behind_changes_nothing",
    mask_of_the_first_batch: "texts_are_judged_by_themselves",
    positions_of_the_first_batch: "padding_in_front_changes_nothing",
    padding_in_the_mean: "padding_behind_changes_nothing",
    padding_counted_in_the_mean: "padding_behind_changes_nothing",
    pools_the_last_place: "padding_behind_changes_nothing",
    pools_the_first_place: "padding_in_front_changes_nothing",
    largest_with_padding: "padding_behind_changes_nothing",
    normalised_over_the_text: "padding_behind_changes_nothing",
    positions_count_the_padding: "padding_in_front_changes_nothing",
    mask_not_extended_over_the_prompt: "padding_behind_changes_nothing",
    prompt_before_left_padding: "padding_in_front_changes_nothing",
    padding_of_id_zero_alone: "the_ids_of_padding_do_not_matter",
    words_of_id_zero_hidden: "a_word_with_the_id_of_padding_counts",
    mask_guessed_from_ids: "no_mask_means_no_padding",
    empty_texts_dropped: "an_empty_text_spoils_no_other",
    empty_texts_spoil_all: "an_empty_text_spoils_no_other",
    mask_of_the_first_text: "texts_are_judged_by_themselves",
    normalised_over_the_batch: "texts_are_judged_by_themselves",
    batch_and_heads_mixed: "texts_are_judged_by_themselves",
    segments_of_the_first_text: "texts_are_judged_by_themselves",
    attention_unused: "every_token_counts",
    last_token_cut: "every_token_counts",
    segments_ignored: "segments_count",
    segments_default_to_the_second: "no_segments_are_the_first",
    first_in_place_of_the_mean: "the_pooling_is_the_stated_one",
    mean_in_place_of_the_first: "the_pooling_is_the_stated_one",
    sum_in_place_of_the_mean: "a_text_said_twice_has_the_same_mean",
    mean_of_two_at_least: "a_text_said_twice_has_the_same_mean",
    dropout_in_evaluation: "evaluation_gives_the_same_logits",
    dropout_never_on: "training_draws_after_an_evaluation",
    evaluation_ends_dropout: "training_draws_after_an_evaluation",
    training_stays_on: "evaluation_gives_the_same_logits",
    running_mean_in_evaluation: "evaluation_gives_the_same_logits",
    encoder_under_no_grad: "what_moves_the_logits_has_a_gradient",
    head_detached: "what_moves_the_logits_has_a_gradient",
    prompt_from_data: "what_moves_the_logits_has_a_gradient",
    padding_in_the_gradient: "padding_adds_nothing_to_gradients",
}
DECLARED: dict[type[nn.Module], dict[str, Any]] = {
    **CORRECT,
    segments_of_the_first_text: {"token_types": True},
    segments_ignored: {"token_types": True},
    segments_default_to_the_second: {"token_types": True},
    first_in_place_of_the_mean: {"pool": "mean"},
    mean_in_place_of_the_first: {"pool": "first"},
    sum_in_place_of_the_mean: {"pool": "mean"},
    mean_of_two_at_least: {"pool": "mean"},
    dropout_never_on: {"dropout": True},
}
FAULTY = tuple(SEEN_BY)
