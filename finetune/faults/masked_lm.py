"""Faults of masking for masked language modelling, one each, as changes of one small class; and correct ones.

Each class is the function itself: calling it with (ids, special, vocab_size, mask_id, seed) gives (inputs, labels).
"""

from __future__ import annotations

import random
from typing import Any, ClassVar

import torch
from torch import Tensor

IGNORED = -100
PAD = 0


class Plain:
    """The masking of most collators, cut into steps; each fault changes one."""

    rate, masked, random = 0.15, 0.8, 0.1
    ignored = IGNORED

    def __new__(cls, ids: Tensor, special: Tensor, vocab_size: int, mask_id: int, seed: int) -> Any:
        return object.__new__(cls).run(ids, special, vocab_size, mask_id, seed)

    def run(self, ids: Tensor, special: Tensor, vocab_size: int, mask_id: int, seed: int) -> tuple[Tensor, ...]:
        self.ids, self.special, self.vocab_size, self.mask_id = ids, special, vocab_size, mask_id
        self.generator = self.seeded(seed)
        chosen = self.choose()
        inputs, labels = self.copied(ids), ids.clone()
        labels[~chosen] = self.ignored
        fate = self.fate()
        inputs[chosen & (fate < self.masked)] = mask_id
        swapped = self.swapped(chosen, fate)
        inputs[swapped] = self.words()[swapped]
        return self.given(inputs, labels, chosen)

    def seeded(self, seed: int) -> torch.Generator:
        return torch.Generator().manual_seed(seed)

    def uniform(self) -> Tensor:
        return torch.rand(self.ids.shape, generator=self.generator)

    def able(self) -> Tensor:
        return ~self.special

    def choose(self) -> Tensor:
        return (self.uniform() < self.rate) & self.able()

    def copied(self, ids: Tensor) -> Tensor:
        return ids.clone()

    def fate(self) -> Tensor:
        return self.uniform()

    def swapped(self, chosen: Tensor, fate: Tensor) -> Tensor:
        return chosen & (fate >= self.masked) & (fate < self.masked + self.random)

    def words(self) -> Tensor:
        return torch.randint(self.vocab_size, self.ids.shape, generator=self.generator)

    def given(self, inputs: Tensor, labels: Tensor, chosen: Tensor) -> tuple[Tensor, ...]:
        return inputs, labels


# --- correct ------------------------------------------------------------------------


class AnExactNumber(Plain):
    """The original BERT's: round(.15 L) words of each row, at least one of a row that has any."""

    def choose(self) -> Tensor:
        able = self.able()
        count = (self.rate * able.sum(1, keepdim=True)).round().clamp(min=1)
        order = torch.where(able, self.uniform(), 2.0).argsort(1).argsort(1)
        return (order < count) & able


class OrdinaryWords(Plain):
    """Random words are never special tokens; a third result is the attention mask."""

    def words(self) -> Tensor:
        words = torch.tensor([i for i in range(3, self.vocab_size) if i != self.mask_id])
        return words[torch.randint(len(words), self.ids.shape, generator=self.generator)]

    def given(self, inputs: Tensor, labels: Tensor, chosen: Tensor) -> tuple[Tensor, ...]:
        return inputs, labels, (self.ids != PAD).long()


class OneDraw(Plain):
    """Choice and fate from one uniform number; its own rates, labels of -1."""

    rate, masked, random, ignored = 0.3, 0.5, 0.4, -1

    def uniform(self) -> Tensor:
        if not hasattr(self, "draw"):
            self.draw = torch.rand(self.ids.shape, generator=self.generator, dtype=torch.float64)
        return self.draw

    def fate(self) -> Tensor:
        return self.draw / self.rate


CORRECT: dict[type[Plain], dict[str, Any]] = {
    Plain: {},
    AnExactNumber: {},
    OrdinaryWords: {"random_words": "ordinary", "attention_mask": True},
    OneDraw: {"rate": 0.3, "masked": 0.5, "random": 0.4, "ignore_index": -1},
}


# --- faulty: form -------------------------------------------------------------------


class one_row_is_squeezed(Plain):  # noqa: N801  # faults are called as laws name them
    """A batch of one row comes back without its first axis."""

    def given(self, inputs: Tensor, labels: Tensor, chosen: Tensor) -> tuple[Tensor, ...]:
        return inputs.squeeze(0), labels.squeeze(0)


class labels_of_the_chosen_alone(Plain):  # noqa: N801
    """Labels are a list of the chosen tokens."""

    def given(self, inputs: Tensor, labels: Tensor, chosen: Tensor) -> tuple[Tensor, ...]:
        return inputs, labels[chosen]


class labels_in_floats(Plain):  # noqa: N801
    """Labels come as float32, which holds no large ids."""

    def given(self, inputs: Tensor, labels: Tensor, chosen: Tensor) -> tuple[Tensor, ...]:
        return inputs, labels.float()


class labels_are_the_new_inputs(Plain):  # noqa: N801
    """Labels are cut out after the tokens were hidden: the model is asked for the mask."""

    def given(self, inputs: Tensor, labels: Tensor, chosen: Tensor) -> tuple[Tensor, ...]:
        return inputs, torch.where(chosen, inputs, IGNORED)


class ids_through_half_precision(Plain):  # noqa: N801
    """Tokens go through float16 on their way, which rounds ids above 2048."""

    def given(self, inputs: Tensor, labels: Tensor, chosen: Tensor) -> tuple[Tensor, ...]:
        return inputs, torch.where(chosen, labels.half().long(), labels)


class labels_one_place_on(Plain):  # noqa: N801
    """Labels are shifted by a place, as a decoder's are."""

    def given(self, inputs: Tensor, labels: Tensor, chosen: Tensor) -> tuple[Tensor, ...]:
        return inputs, labels.roll(-1, 1)


class mask_of_another_vocabulary(Plain):  # noqa: N801
    """The mask has the id that it has in bert-base-uncased (103), or the last one of a smaller vocabulary."""

    def run(self, ids: Tensor, special: Tensor, vocab_size: int, mask_id: int, seed: int) -> tuple[Tensor, ...]:
        return super().run(ids, special, vocab_size, min(103, vocab_size - 1), seed)


class minus_one_asks_for_nothing(Plain):  # noqa: N801
    """Labels of -1, which cross_entropy does not leave out (EricFillion/happy-transformer#128)."""

    ignored = -1


class padding_asks_for_nothing(Plain):  # noqa: N801
    """Labels of 0, the id of padding, where nothing is asked."""

    ignored = PAD


class hides_what_it_does_not_ask_for(Plain):  # noqa: N801
    """Random words are put in at a tenth of a tenth of all places, asked for or not."""

    def swapped(self, chosen: Tensor, fate: Tensor) -> Tensor:
        return (fate >= self.masked) & (fate < self.masked + self.random) & self.able()


class masks_in_place(Plain):  # noqa: N801
    """The mask is written into the tensor that was handed over."""

    def copied(self, ids: Tensor) -> Tensor:
        return ids


class labels_in_place(Plain):  # noqa: N801
    """The labels are the tensor that was handed over, with -100 written into it."""

    def given(self, inputs: Tensor, labels: Tensor, chosen: Tensor) -> tuple[Tensor, ...]:
        self.ids[~chosen] = IGNORED
        return inputs, self.ids


class crashes_where_nothing_is_chosen(Plain):  # noqa: N801
    """The mean over the chosen tokens is looked at, and an empty choice is an error."""

    def choose(self) -> Tensor:
        chosen = super().choose()
        if not chosen.any():
            raise ValueError("nothing was chosen")
        return chosen


class short_texts_are_left_alone(Plain):  # noqa: N801
    """Of a text of fewer than eight words nothing is chosen."""

    def choose(self) -> Tensor:
        return super().choose() & (self.able().sum(1, keepdim=True) >= 8)


class last_bits_of_the_seed(Plain):  # noqa: N801
    """Only the last eight bits of the seed count: epochs repeat after 256."""

    def seeded(self, seed: int) -> torch.Generator:
        return super().seeded(seed & 0xFF)


class at_least_one_a_row(Plain):  # noqa: N801
    """A row of which nothing was chosen gets its first token chosen, special or not."""

    def choose(self) -> Tensor:
        chosen = super().choose()
        chosen[:, 0] |= ~chosen.any(1)
        return chosen


class attention_mask_after_masking(OrdinaryWords):  # noqa: N801
    """The attention mask is made of the inputs, so that a random word 0 is taken for padding."""

    def words(self) -> Tensor:
        return Plain.words(self)

    def given(self, inputs: Tensor, labels: Tensor, chosen: Tensor) -> tuple[Tensor, ...]:
        return inputs, labels, (inputs != PAD).long()


class attention_mask_dropped(Plain):  # noqa: N801
    """Inputs and labels alone come back (huggingface/transformers#12998)."""


# --- faulty: what may be chosen -----------------------------------------------------


class padding_is_chosen(Plain):  # noqa: N801
    """The mask of special tokens leaves padding out (huggingface/transformers#11155)."""

    def able(self) -> Tensor:
        return ~self.special | (self.ids == PAD)


class special_tokens_are_chosen(Plain):  # noqa: N801
    """Padding alone is never chosen."""

    def able(self) -> Tensor:
        return self.ids != PAD


class special_mask_inverted(Plain):  # noqa: N801
    """The mask of special tokens is read the other way round."""

    def able(self) -> Tensor:
        return self.special


class small_ids_taken_for_special(Plain):  # noqa: N801
    """Ids below 5 are taken for special tokens, as in another vocabulary."""

    def able(self) -> Tensor:
        return super().able() & (self.ids >= 5)


class first_word_never_chosen(Plain):  # noqa: N801
    """The first place is left out, whether a special token stands there or not."""

    def able(self) -> Tensor:
        able = super().able().clone()
        able[:, 0] = False
        return able


class last_place_never_chosen(Plain):  # noqa: N801
    """range(n - 1): the last place is left out."""

    def able(self) -> Tensor:
        able = super().able().clone()
        able[:, -1] = False
        return able


class nothing_beyond_a_place(Plain):  # noqa: N801
    """No more than 256 places are looked at."""

    def able(self) -> Tensor:
        able = super().able().clone()
        able[:, 256:] = False
        return able


class one_row_in_ten_is_skipped(Plain):  # noqa: N801
    """Each tenth row comes back as it was."""

    def able(self) -> Tensor:
        able = super().able().clone()
        able[9::10] = False
        return able


class last_row_is_skipped(Plain):  # noqa: N801
    """The last row of a larger batch is left out."""

    def able(self) -> Tensor:
        able = super().able().clone()
        able[1:][-1:] = False
        return able


# --- faulty: rates ------------------------------------------------------------------


class a_fifth_is_chosen(Plain):  # noqa: N801
    """20 % are chosen."""

    rate = 0.2


class rate_of_what_is_masked(Plain):  # noqa: N801
    """Only the tokens that became the mask are asked for: 12 %."""

    def given(self, inputs: Tensor, labels: Tensor, chosen: Tensor) -> tuple[Tensor, ...]:
        return inputs, torch.where(inputs == self.mask_id, labels, IGNORED)


class rate_of_all_places(Plain):  # noqa: N801
    """15 % of all places, padding counted, are taken from the words."""

    def choose(self) -> Tensor:
        able = self.able()
        share = self.rate * able.numel() / max(int(able.sum()), 1)
        return (self.uniform() < share) & able


class labels_of_everything(Plain):  # noqa: N801
    """Every word is asked for, hidden or not."""

    def given(self, inputs: Tensor, labels: Tensor, chosen: Tensor) -> tuple[Tensor, ...]:
        return inputs, torch.where(self.special, IGNORED, self.ids)


class always_the_mask(Plain):  # noqa: N801
    """What is chosen is always masked."""

    masked, random = 1.0, 0.0


class ten_percent_of_the_rest(Plain):  # noqa: N801
    """bernoulli(.1) among those that were not masked: 2 % random, 18 % kept."""

    random = 0.02


class nothing_stays(Plain):  # noqa: N801
    """80 % masked, 20 % random."""

    random = 0.2


class ninety_percent_masked(Plain):  # noqa: N801
    """85 % masked, 10 % random, 5 % kept."""

    masked = 0.85


# --- faulty: random words -----------------------------------------------------------


class last_word_never_drawn(Plain):  # noqa: N801
    """randint(V - 1) excludes its end once too often."""

    def words(self) -> Tensor:
        return torch.randint(self.vocab_size - 1, self.ids.shape, generator=self.generator)


class one_word_too_many(Plain):  # noqa: N801
    """randint(0, V) with both ends included: an id beyond the table."""

    def words(self) -> Tensor:
        return torch.randint(self.vocab_size + 1, self.ids.shape, generator=self.generator)


class words_of_the_batch(Plain):  # noqa: N801
    """Random words are taken from the batch, padding among them."""

    def words(self) -> Tensor:
        order = torch.randperm(self.ids.numel(), generator=self.generator)
        return self.ids.flatten()[order].view_as(self.ids)


class words_below_a_thousand(Plain):  # noqa: N801
    """Random words come from the first thousand ids of a vocabulary."""

    def words(self) -> Tensor:
        return torch.randint(min(self.vocab_size, 1000), self.ids.shape, generator=self.generator)


class special_tokens_never_drawn(OrdinaryWords):  # noqa: N801
    """Random words are ordinary ones, which is not declared."""

    def given(self, inputs: Tensor, labels: Tensor, chosen: Tensor) -> tuple[Tensor, ...]:
        return inputs, labels


class one_random_word_for_all(Plain):  # noqa: N801
    """One random word stands for every one of a batch."""

    def words(self) -> Tensor:
        return torch.randint(self.vocab_size, (1, 1), generator=self.generator).expand(self.ids.shape)


class one_random_word_a_row(Plain):  # noqa: N801
    """One random word for each row."""

    def words(self) -> Tensor:
        return torch.randint(self.vocab_size, (len(self.ids), 1), generator=self.generator).expand(self.ids.shape)


class one_row_of_random_words(Plain):  # noqa: N801
    """One row of random words for the whole batch."""

    def words(self) -> Tensor:
        return torch.randint(self.vocab_size, self.ids.shape[1:], generator=self.generator).expand(self.ids.shape)


# --- faulty: draws that are not their own -------------------------------------------


class one_draw_for_all_rows(Plain):  # noqa: N801
    """One row of draws is broadcast over the batch."""

    def choose(self) -> Tensor:
        draw = torch.rand(self.ids.shape[1], generator=self.generator)
        return (draw < self.rate).expand(self.ids.shape) & self.able()


class rows_share_a_stream(Plain):  # noqa: N801
    """Row b reads one stream of draws from place b on."""

    def choose(self) -> Tensor:
        B, n = self.ids.shape
        draws = torch.rand(B + n, generator=self.generator)
        return (draws.unfold(0, n, 1)[:B] < self.rate) & self.able()


class chooses_spans(Plain):  # noqa: N801
    """Two neighbours are chosen together, as spans are; the rate is right."""

    def choose(self) -> Tensor:
        draw = self.uniform()
        draw[:, 1::2] = draw[:, : draw.shape[1] // 2 * 2 : 2]
        return (draw < self.rate) & self.able()


class every_seventh_word(Plain):  # noqa: N801
    """A grid of steps of 20/3 places with a random start: the rate is right, neighbours are never chosen."""

    def choose(self) -> Tensor:
        B, n = self.ids.shape
        phase = torch.rand(B, 1, generator=self.generator) + self.rate * torch.arange(n)
        return (phase % 1 < self.rate) & self.able()


class one_fate_for_a_row(Plain):  # noqa: N801
    """All chosen tokens of a row are masked, or swapped, or kept."""

    def fate(self) -> Tensor:
        return torch.rand(len(self.ids), 1, generator=self.generator).expand(self.ids.shape)


class seed_plus_place(Plain):  # noqa: N801
    """The draw of a place is a hash of the seed plus its number: the next seed moves all of them by a place."""

    def choose(self) -> Tensor:
        size = self.ids.numel()
        at = self.generator.initial_seed() % 65536 + torch.arange(size)
        draws = torch.rand(65536 + size, generator=torch.Generator().manual_seed(5))
        return (draws[at].view(self.ids.shape) < self.rate) & self.able()


class seed_unused(Plain):  # noqa: N801
    """Static masking: the same tokens under every seed."""

    def seeded(self, seed: int) -> torch.Generator:
        return torch.Generator().manual_seed(0)


class draws_from_the_global_generator(Plain):  # noqa: N801
    """The seed is not used, the library's own generator is."""

    def seeded(self, seed: int) -> torch.Generator:
        return torch.default_generator


class seeded_once(Plain):  # noqa: N801
    """The generator is seeded by the first call and goes on in later ones, as a collator's does."""

    kept: ClassVar[dict[int, torch.Generator]] = {}

    def seeded(self, seed: int) -> torch.Generator:
        return self.kept.setdefault(seed, torch.Generator().manual_seed(seed))


class draws_from_the_clock(Plain):  # noqa: N801
    """A generator that nobody seeds."""

    def seeded(self, seed: int) -> torch.Generator:
        return torch.Generator().manual_seed(random.SystemRandom().getrandbits(60))


class seeds_all_generators(Plain):  # noqa: N801
    """torch.manual_seed(seed) for the batch: dropout of the next step repeats itself with the batch's number."""

    def seeded(self, seed: int) -> torch.Generator:
        return torch.manual_seed(seed)


SEEN_BY: dict[type[Plain], str] = {  # one law that must see it
    seeds_all_generators: "a_call_leaves_the_process_as_it_was",
    one_row_is_squeezed: "results_have_the_shape_of_the_ids",
    labels_of_the_chosen_alone: "results_have_the_shape_of_the_ids",
    labels_in_floats: "results_have_the_shape_of_the_ids",
    labels_are_the_new_inputs: "labels_are_the_old_ids",
    ids_through_half_precision: "labels_are_the_old_ids",
    labels_one_place_on: "labels_are_the_old_ids",
    mask_of_another_vocabulary: "eighty_ten_ten",
    minus_one_asks_for_nothing: "labels_are_the_old_ids",
    padding_asks_for_nothing: "labels_are_the_old_ids",
    hides_what_it_does_not_ask_for: "what_is_not_chosen_stays",
    masks_in_place: "the_ids_are_left_as_they_are",
    labels_in_place: "the_ids_are_left_as_they_are",
    crashes_where_nothing_is_chosen: "nothing_to_hide_comes_back",
    at_least_one_a_row: "nothing_to_hide_comes_back",
    attention_mask_after_masking: "the_attention_mask_is_that_of_the_text",
    attention_mask_dropped: "the_attention_mask_is_that_of_the_text",
    padding_is_chosen: "special_tokens_and_padding_stay",
    special_tokens_are_chosen: "special_tokens_and_padding_stay",
    special_mask_inverted: "special_tokens_and_padding_stay",
    small_ids_taken_for_special: "every_word_is_chosen_alike",
    first_word_never_chosen: "every_place_is_chosen_alike",
    last_place_never_chosen: "every_place_is_chosen_alike",
    nothing_beyond_a_place: "every_place_is_chosen_alike",
    one_row_in_ten_is_skipped: "no_row_is_skipped",
    last_row_is_skipped: "no_row_is_skipped",
    a_fifth_is_chosen: "fifteen_percent_are_chosen",
    rate_of_what_is_masked: "fifteen_percent_are_chosen",
    rate_of_all_places: "fifteen_percent_are_chosen",
    labels_of_everything: "fifteen_percent_are_chosen",
    always_the_mask: "eighty_ten_ten",
    ten_percent_of_the_rest: "eighty_ten_ten",
    nothing_stays: "eighty_ten_ten",
    ninety_percent_masked: "eighty_ten_ten",
    last_word_never_drawn: "random_words_come_alike",
    one_word_too_many: "a_chosen_token_becomes_a_word",
    words_of_the_batch: "random_words_come_alike",
    words_below_a_thousand: "random_words_come_from_all_of_a_large_vocabulary",
    special_tokens_never_drawn: "random_words_come_alike",
    one_random_word_for_all: "random_words_come_alike",
    one_random_word_a_row: "random_words_are_independent",
    one_row_of_random_words: "random_words_are_independent",
    one_draw_for_all_rows: "rows_are_chosen_independently",
    rows_share_a_stream: "rows_are_chosen_independently",
    chooses_spans: "neighbours_are_chosen_independently",
    every_seventh_word: "neighbours_are_chosen_independently",
    one_fate_for_a_row: "fates_are_independent",
    seed_plus_place: "seeds_choose_independently",
    seed_unused: "seeds_choose_independently",
    last_bits_of_the_seed: "seeds_choose_independently",
    short_texts_are_left_alone: "short_texts_have_their_share",
    draws_from_the_global_generator: "one_seed_gives_one_result",
    seeded_once: "one_seed_gives_one_result",
    draws_from_the_clock: "one_seed_gives_one_result",
}
DECLARED: dict[type[Plain], dict[str, Any]] = {
    **CORRECT,
    attention_mask_after_masking: {"attention_mask": True},
    attention_mask_dropped: {"attention_mask": True},
}
FAULTY = tuple(SEEN_BY)
