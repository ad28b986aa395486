"""Faults of causal language models, one each, as changes of one small model.

`Plain`, of `bases`, is cut into steps, as most people write them; each fault changes one.
"""

from __future__ import annotations

import math
import random
from typing import Any

import torch
from torch import Tensor, nn

from finetune.faults.bases import causal_lm as bases
from finetune.faults.bases.causal_lm import (
    IGNORED,
    E,
    H,
    Plain,
    TransformersShaped,
)

# --- faulty: what a token sees ------------------------------------------------------


class mask_one_place_late(Plain):  # noqa: N801  # faults are called as laws name them
    """tril(1): each token sees the next one."""

    def allowed(self, start: int, n: int) -> Tensor:
        found: Tensor = torch.ones(start + n, start + n, dtype=torch.bool).tril(1)[start:]
        return found


class mask_after_softmax(Plain):  # noqa: N801
    """Masked after the softmax: the normaliser sees the future."""

    def attend(self, number: int, x: Tensor, start: int, cache: list[Tensor] | None) -> Tensor:
        B, n, _ = x.shape
        q, k, v = (part.view(B, n, H, -1).transpose(1, 2) for part in self.qkv[number](x).split(E, dim=-1))
        weights = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).softmax(-1) * self.allowed(start, n)
        return self.out[number]((weights @ v).transpose(1, 2).reshape(B, n, E))


class last_column_seen_by_all(Plain):  # noqa: N801
    """The mask's buffer is one short, and padded with True: the last token of a whole block is seen by all."""

    def allowed(self, start: int, n: int) -> Tensor:
        found = super().allowed(start, n).clone()
        found[:, self.block_size - 1 :] = True
        return found


class not_causal_beyond_sixteen(Plain):  # noqa: N801
    """Blocks of sixteen: keys beyond the first block are not masked."""

    def allowed(self, start: int, n: int) -> Tensor:
        found = super().allowed(start, n).clone()
        found[:, 16:] = True
        return found


class causal_lost_in_training(Plain):  # noqa: N801
    """The fused path is causal, the one with dropout forgets the mask (keras-team/keras#23038)."""

    def allowed(self, start: int, n: int) -> Tensor:
        return super().allowed(start, n) | self.training


class batch_and_heads_mixed(Plain):  # noqa: N801
    """(B, H, n, d) is viewed as (H, B, n, d) (gazelle93/Transformer-Various-Positional-Encoding#1)."""

    def attend(self, number: int, x: Tensor, start: int, cache: list[Tensor] | None) -> Tensor:
        B, n, _ = x.shape
        q, k, v = (part.view(B, n, H, -1).transpose(1, 2) for part in self.qkv[number](x).split(E, dim=-1))
        scores = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).masked_fill(~self.allowed(start, n), -math.inf)
        mixed = (scores.softmax(-1) @ v).reshape(H, B, n, -1).transpose(0, 1)
        return self.out[number](mixed.transpose(1, 2).reshape(B, n, E))


class attention_unused(Plain):  # noqa: N801
    """x = residual only (lucidrains/audiolm-pytorch PR265)."""

    def attend(self, number: int, x: Tensor, start: int, cache: list[Tensor] | None) -> Tensor:
        return 0.0 * super().attend(number, x, start, cache)


class heads_merged_without_transpose(Plain):  # noqa: N801
    """(B, H, n, d) is read as (B, n, H d) (jsbaan/transformer-from-scratch PR6): places mix, the future included."""

    def attend(self, number: int, x: Tensor, start: int, cache: list[Tensor] | None) -> Tensor:
        B, n, _ = x.shape
        q, k, v = (part.view(B, n, H, -1).transpose(1, 2) for part in self.qkv[number](x).split(E, dim=-1))
        scores = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).masked_fill(~self.allowed(start, n), -math.inf)
        return self.out[number]((scores.softmax(-1) @ v).reshape(B, n, E))


class normalised_over_the_batch(Plain):  # noqa: N801
    """The final norm takes its statistics over the batch."""

    def normed(self, number: int, x: Tensor) -> Tensor:
        if number == 4:
            x = x - x.mean(0, keepdim=True) * 0.1
        return super().normed(number, x)


class positions_counted_from_the_end(Plain):  # noqa: N801
    """The last token is at position 0."""

    def places(self, start: int, n: int) -> Tensor:
        return torch.arange(start + n - 1, start - 1, -1)


class scaled_by_the_length(Plain):  # noqa: N801
    """Scores are divided by the root of the length in place of the head size, as where axes are mistaken."""

    def scored(self, x: Tensor) -> Tensor:
        return self.head(x) * (x.shape[1] ** 0.5)


class synthesizer_not_sliced(Plain):  # noqa: N801
    """Scores for the whole block are kept for a shorter text, whose softmax then counts places that are not there."""

    def attend(self, number: int, x: Tensor, start: int, cache: list[Tensor] | None) -> Tensor:
        n = x.shape[1]
        more = self.block_size - start - n
        x = nn.functional.pad(x, (0, 0, 0, more)).roll(more, 1)
        return super().attend(number, x, start, cache)[:, -n:]


class mask_of_the_first_call(Plain):  # noqa: N801
    """The mask is made for the first text and stretched for later ones (facebookresearch/xformers PR660, PR66)."""

    made: Tensor | None = None

    def allowed(self, start: int, n: int) -> Tensor:
        if self.made is None:
            self.made = super().allowed(start, n)
        found = torch.ones(n, start + n, dtype=torch.bool)
        part = self.made[:n, : start + n]
        found[: part.shape[0], : part.shape[1]] = part
        return found


class ids_changed_in_place(Plain):  # noqa: N801
    """The ids of the caller are wrapped in place."""

    def forward(self, ids: Tensor) -> Tensor:
        logits = self.run(ids)
        ids[:, -1] = 0
        return logits


# --- faulty: modes and state ---------------------------------------------------------


class dropout_in_evaluation(Plain):  # noqa: N801
    """F.dropout without `training` (huggingface/pytorch-image-models PR1978)."""

    def drop(self, x: Tensor) -> Tensor:
        return nn.functional.dropout(x, self.rate)


class evaluation_ends_dropout(Plain):  # noqa: N801
    """Evaluation sets p to 0 and leaves it there (NVIDIA/Megatron-LM PR411)."""

    def drop(self, x: Tensor) -> Tensor:
        if not self.training:
            self.rate = 0.0
        return super().drop(x)


class logits_in_one_buffer(Plain):  # noqa: N801
    """All logits of one shape are written to one buffer."""

    def forward(self, ids: Tensor) -> Tensor:
        logits = self.run(ids)
        kept = self.__dict__.setdefault("buffers_of", {})
        return kept.setdefault(logits.shape, torch.empty_like(logits)).copy_(logits)


class running_mean_in_evaluation(Plain):  # noqa: N801
    """Running statistics drift in evaluation, too."""

    mean = 0.0

    def scored(self, x: Tensor) -> Tensor:
        self.mean = 0.9 * self.mean + 0.1 * float(x.mean() + 0.1)
        return self.head(x - self.mean)


# --- faulty: losses ------------------------------------------------------------------


class shifted_once_more(Plain):  # noqa: N801
    """The targets, shifted by the data already, are shifted again (label shift by one)."""

    def aligned(self, ids: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        return self(ids)[:, :-1], targets[:, 1:]


class targets_not_shifted(Plain):  # noqa: N801
    """Each token is to predict itself: the ids are the targets."""

    def aligned(self, ids: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        return self(ids), torch.where(targets == IGNORED, targets, ids)


class loss_in_bits(Plain):  # noqa: N801
    """log2 in place of log."""

    def loss(self, ids: Tensor, targets: Tensor) -> Tensor:
        return super().loss(ids, targets) / math.log(2)


class softmax_before_cross_entropy(Plain):  # noqa: N801
    """cross_entropy is given probabilities."""

    def per_token(self, logits: Tensor, targets: Tensor) -> Tensor:
        return super().per_token(logits.softmax(-1), targets)


class mean_of_row_means(Plain):  # noqa: N801
    """The mean of the sequences' means (evaluation as mean of batch means)."""

    def loss(self, ids: Tensor, targets: Tensor) -> Tensor:
        each = self.per_token(self(ids), targets).sum(1) / (targets != IGNORED).sum(1).clamp(min=1)
        return each[(targets != IGNORED).any(1)].mean() if bool((targets != IGNORED).any()) else each.mean()


class padding_counted_as_tokens(Plain):  # noqa: N801
    """The sum is divided by all places."""

    def count(self, targets: Tensor) -> Tensor:
        return torch.tensor(targets.numel())


class another_ignore_index(Plain):  # noqa: N801
    """-100 is taken for the last token (EricFillion/happy-transformer#128)."""

    def aligned(self, ids: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        return self(ids), torch.where(targets < 0, self.vocab_size - 1, targets)


class end_of_text_is_padding(Plain):  # noqa: N801
    """pad = eos: targets equal to the end of text are lost with the padding."""

    def aligned(self, ids: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        return self(ids), torch.where(targets == self.vocab_size - 1, IGNORED, targets)


class no_target_is_not_a_number(Plain):  # noqa: N801
    """0 / 0 where every target is ignored."""

    def count(self, targets: Tensor) -> Tensor:
        return (targets != IGNORED).sum()


class perplexity_as_a_mean_of_perplexities(Plain):  # noqa: N801
    """exp of each sequence's loss, then the mean."""

    def perplexity(self, ids: Tensor, targets: Tensor) -> Tensor:
        real = (targets != IGNORED).any(1)
        each = self.per_token(self(ids), targets).sum(1) / (targets != IGNORED).sum(1).clamp(min=1)
        return each[real].exp().mean()


class perplexity_by_powers_of_two(Plain):  # noqa: N801
    """2 ** loss, with the loss in nats."""

    def perplexity(self, ids: Tensor, targets: Tensor) -> Tensor:
        return 2 ** self.loss(ids, targets)


# --- faulty: cache -------------------------------------------------------------------


class cached_tokens_at_position_zero(Plain):  # noqa: N801
    """Each step counts its positions from 0."""

    def places(self, start: int, n: int) -> Tensor:
        return torch.arange(n)


class offset_grows_by_one(Plain):  # noqa: N801
    """The offset of the positions grows by one a step, whatever its length."""

    steps = 0

    def places(self, start: int, n: int) -> Tensor:
        return super().places(self.steps if start else 0, n)

    def step(self, ids: Tensor) -> Tensor:
        logits = super().step(ids)
        self.steps += 1
        return logits

    def reset(self) -> None:
        super().reset()
        self.steps = 0


class cache_of_one_length_too_short(Plain):  # noqa: N801
    """The mask is that of the new tokens alone: the second step raises."""

    def allowed(self, start: int, n: int) -> Tensor:
        return super().allowed(0, max(n, 1)) if start else super().allowed(start, n)


class no_mask_with_a_cache(Plain):  # noqa: N801
    """With a prefix cached, a stretch is not causal inside (huggingface/candle PR3743)."""

    def allowed(self, start: int, n: int) -> Tensor:
        return super().allowed(start, n) | (start > 0)


class reset_keeps_the_position(Plain):  # noqa: N801
    """reset() empties the cache but not the count."""

    fresh = True

    def reset(self) -> None:
        self.kept = []
        if self.fresh:
            self.seen, self.fresh = 0, False

    def allowed(self, start: int, n: int) -> Tensor:
        found = super().allowed(start, n)
        return found if not self.kept_length or self.kept_length == start else found[:, -n:]

    @property
    def kept_length(self) -> int:
        return self.kept[0].shape[2] if self.kept else 0


# --- faulty: generation --------------------------------------------------------------


class one_token_behind(Plain):  # noqa: N801
    """The next token is read from the place before the last."""

    def last(self, logits: Tensor) -> Tensor:
        return logits[:, max(0, logits.shape[1] - 2)]


class greedy_takes_the_second(Plain):  # noqa: N801
    """The second of topk(2), once in a while: where the text is of even length."""

    def generate(  # type: ignore[override]
        self, ids: Tensor, max_new_tokens: int, do_sample: bool = False, **given: Any
    ) -> Tensor:
        if do_sample:
            return super().generate(ids, max_new_tokens, True, **given)
        text = ids
        for _ in range(max_new_tokens):
            best = self(self.seen_by(text))[:, -1].topk(2).indices
            text = torch.cat([text, best[:, 1 - text.shape[1] % 2, None]], 1)
        return text


class first_block_beyond_the_block(Plain):  # noqa: N801
    """Beyond the block, the first block of the text is read in place of the last."""

    def seen_by(self, text: Tensor) -> Tensor:
        return text[:, : self.block_size]


class multiplied_by_the_temperature(Plain):  # noqa: N801
    """Logits times the temperature."""

    def heated(self, logits: Tensor, temperature: float) -> Tensor:
        return logits * temperature


class probabilities_divided_by_the_temperature(Plain):  # noqa: N801
    """The temperature divides the logarithm of nothing: it is applied twice."""

    def heated(self, logits: Tensor, temperature: float) -> Tensor:
        return logits / temperature**2


class top_k_one_more(Plain):  # noqa: N801
    """k + 1 tokens are kept."""

    def support(self, logits: Tensor, top_k: int | None, top_p: float | None) -> Tensor:
        return super().support(logits, None if top_k is None else top_k + 1, top_p)


class top_k_set_to_zero(Plain):  # noqa: N801
    """What is not among the top k gets the logit 0 in place of -inf."""

    def support(self, logits: Tensor, top_k: int | None, top_p: float | None) -> Tensor:
        found = super().support(logits, top_k, top_p)
        return found.masked_fill(found == -math.inf, 0.0) if top_k is not None else found


class nucleus_without_its_last(Plain):  # noqa: N801
    """The token that reaches p is left out, too."""

    def outside(self, total: Tensor, p: Tensor, top_p: float) -> Tensor:
        out = total > top_p
        out[:, 0] = False
        return out


class nucleus_of_the_least_likely(Plain):  # noqa: N801
    """Sorted upwards: the tail is kept."""

    def outside(self, total: Tensor, p: Tensor, top_p: float) -> Tensor:
        return total <= 1 - top_p


class nucleus_of_the_widest_row(Plain):  # noqa: N801
    """Every row of a batch keeps as many tokens as the row that needs most."""

    def outside(self, total: Tensor, p: Tensor, top_p: float) -> Tensor:
        out = super().outside(total, p, top_p)
        return out.all(0, keepdim=True).expand_as(out)


class token_zero_ends_the_text(Plain):  # noqa: N801
    """After a token 0 there are only further ones: an end of text that nobody asked for."""

    def generate(
        self, ids: Tensor, max_new_tokens: int, do_sample: bool = False, temperature: float = 1.0,
        top_k: int | None = None, top_p: float | None = None,
    ) -> Tensor:  # fmt: skip
        text = super().generate(ids, max_new_tokens, do_sample, temperature, top_k, top_p)
        new = text[:, ids.shape[1] :]
        return torch.cat([ids, new * (new != 0).cumprod(1)], 1)


class draws_from_the_clock(Plain):  # noqa: N801
    """A generator that nobody seeds."""

    def draw(self, p: Tensor) -> Tensor:
        generator = torch.Generator().manual_seed(random.SystemRandom().getrandbits(60))
        return torch.multinomial(p, 1, generator=generator)


class prompt_lost(Plain):  # noqa: N801
    """The prompt's first token is dropped on the way."""

    def generate(  # type: ignore[override]
        self, ids: Tensor, max_new_tokens: int, **given: Any
    ) -> Tensor:
        text = super().generate(ids, max_new_tokens + 1, **given)
        return text[:, 1:]


# --- faulty: tying -------------------------------------------------------------------


class head_is_a_copy(TransformersShaped):  # noqa: N801
    """Tied weights untied: the head was given a copy of the embedding."""

    def __init__(self, vocab_size: int, block_size: int) -> None:
        super().__init__(vocab_size, block_size)
        self.lm_head.weight = nn.Parameter(self.wte.weight.detach().clone())


DECLARED: dict[Any, dict[str, Any]] = {**bases.DECLARED, head_is_a_copy: bases.DECLARED[TransformersShaped]}
SEEN_BY = {  # one law that must see it
    mask_one_place_late: "later_tokens_change_nothing_before",
    mask_after_softmax: "later_tokens_change_nothing_before",
    last_column_seen_by_all: "later_tokens_change_nothing_before",
    not_causal_beyond_sixteen: "later_tokens_change_nothing_before",
    causal_lost_in_training: "training_sees_no_later_tokens",
    batch_and_heads_mixed: "sequences_are_independent",
    attention_unused: "the_token_before_counts",
    heads_merged_without_transpose: "later_tokens_change_nothing_before",
    normalised_over_the_batch: "sequences_are_independent",
    positions_counted_from_the_end: "a_beginning_gives_the_same",
    scaled_by_the_length: "a_beginning_gives_the_same",
    synthesizer_not_sliced: "a_beginning_gives_the_same",
    mask_of_the_first_call: "a_beginning_gives_the_same",
    ids_changed_in_place: "later_tokens_change_nothing_before",
    dropout_in_evaluation: "evaluation_repeats_itself",
    evaluation_ends_dropout: "dropout_comes_back_after_evaluation",
    logits_in_one_buffer: "logits_outlive_the_next_call",
    running_mean_in_evaluation: "evaluation_repeats_itself",
    shifted_once_more: "one_target_is_judged_at_its_own_place",
    targets_not_shifted: "the_loss_is_the_mean_over_targets",
    loss_in_bits: "the_loss_is_the_mean_over_targets",
    softmax_before_cross_entropy: "the_loss_is_the_mean_over_targets",
    mean_of_row_means: "ignored_targets_do_not_count",
    padding_counted_as_tokens: "ignored_targets_do_not_count",
    another_ignore_index: "ignored_targets_do_not_count",
    end_of_text_is_padding: "the_loss_is_the_mean_over_targets",
    no_target_is_not_a_number: "no_target_gives_a_number",
    perplexity_as_a_mean_of_perplexities: "perplexity_is_the_exponential_of_the_loss",
    perplexity_by_powers_of_two: "perplexity_is_the_exponential_of_the_loss",
    cached_tokens_at_position_zero: "steps_with_a_cache_are_the_full_pass",
    offset_grows_by_one: "steps_with_a_cache_are_the_full_pass",
    cache_of_one_length_too_short: "steps_with_a_cache_are_the_full_pass",
    no_mask_with_a_cache: "steps_with_a_cache_are_the_full_pass",
    reset_keeps_the_position: "a_reset_forgets",
    one_token_behind: "greedy_takes_the_likeliest",
    greedy_takes_the_second: "greedy_takes_the_likeliest",
    first_block_beyond_the_block: "beyond_the_block_the_last_block_counts",
    multiplied_by_the_temperature: "sampling_follows_the_softmax",
    probabilities_divided_by_the_temperature: "sampling_follows_the_softmax",
    top_k_one_more: "sampling_stays_in_the_top_k",
    top_k_set_to_zero: "sampling_stays_in_the_top_k",
    nucleus_without_its_last: "sampling_stays_in_the_nucleus",
    nucleus_of_the_least_likely: "sampling_stays_in_the_nucleus",
    nucleus_of_the_widest_row: "sampling_stays_in_the_nucleus",
    token_zero_ends_the_text: "drawn_texts_go_on_from_what_was_drawn",
    draws_from_the_clock: "one_seed_gives_one_text",
    prompt_lost: "greedy_takes_the_likeliest",
    head_is_a_copy: "tied_weights_are_one",
}
FAULTY = tuple(SEEN_BY)
