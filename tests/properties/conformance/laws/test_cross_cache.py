"""Power and false alarms of the laws of kept texts: each refutes its fault, every fault is refuted, right ones conform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from judging import refuted
from judging_contracts import conforming, first_refuting
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attention_core.conformance.laws import cross_cache
from attention_core.conformance.laws.cross_cache import CONTRACT
from attention_core.faults import cross_cache as faults
from attention_core.faults.bases.one_row import read_behind_the_row
from attention_core.modules.cross_cache import CrossCache

WIDE: dict[str, Any] = {"accumulate": "float32"}
FLOAT: dict[str, Any] = {"dtypes": ("float32",)}
NEW, BEAMS = "a_new_text_takes_the_place_of_the_last", "beams_are_reordered_with_their_texts"
SEEN_BY = {  # what no law but these is sure to see
    "text_slides_with_the_decoder": "dozens_of_steps_leave_the_text_whole",
    "first_256_keys_kept": "long_texts_are_kept_whole",
    "last_512_keys_kept": "long_texts_are_kept_whole",
    **dict.fromkeys(("first_text_kept", "new_text_appended", "values_of_the_first_text", "lengths_of_the_first_text"), NEW),
    **dict.fromkeys(("texts_not_reordered", "values_not_reordered", "lengths_not_reordered"), BEAMS),
    **dict.fromkeys(("reordered_while_there_are_fewer", "reordered_from_the_first_order"), BEAMS),
    "lengths_ignored": "texts_have_their_own_lengths",
    "lengths_of_the_first_step_alone": "texts_have_their_own_lengths",
    "declined_keys_replace_the_text": "a_declined_text_leaves_the_last_one",
    "text_known_by_its_keys": "arguments_changed_in_place_are_read_anew",
    "order_of_the_last_text": NEW,
    "crop_cuts_the_text": "taking_tokens_back_leaves_the_text",
    "key_heads_in_turn": "query_heads_share_kept_key_heads_in_order",
    "maximum_not_subtracted": "large_scores_on_a_kept_text_stay_numbers",
    "one_text_for_all_objects": "two_objects_keep_their_own_texts",
    "key_heads_of_groups_of_four_in_turn": "query_heads_share_kept_key_heads_in_order",
    "maximum_from_zero": "large_scores_on_a_kept_text_stay_numbers",
}  # fmt: skip
MADE = {
    **{fault.__name__: fault for fault in faults.DIRECT},
    "one_text_for_all_objects": faults.one_text_for_all_objects(),
}


class Started:
    """A text is given to a method of its own; the decoder's tokens can be taken back."""

    def start(self, key: Tensor, value: Tensor, encoder_lens: Tensor) -> None:
        self.text, self.seen = (key, value), torch.arange(key.shape[2]) < encoder_lens[:, None]

    def step(self, query: Tensor) -> Tensor:
        seen, grouped = self.seen[:, None, None], query.shape[1] != self.text[0].shape[1]
        return scaled_dot_product_attention(query, *self.text, seen, enable_gqa=grouped)

    def index_select(self, rows: Tensor) -> "Started":
        self.text, self.seen = (self.text[0][rows], self.text[1][rows]), self.seen[rows]
        return self

    def crop(self, n: int) -> None:
        """Nothing of the decoder is kept here."""


class Updated(torch.nn.Module):
    """The form of transformers: keys come every time, and are kept until a reset; True hides padding."""

    def __init__(self) -> None:
        super().__init__()
        self.reset()

    def reset(self) -> None:
        self.is_updated = False

    def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None) -> Tensor:
        if not self.is_updated:
            self.k, self.v, self.is_updated = key.transpose(1, 2), value.transpose(1, 2), True
            self.hidden = key_padding_mask
        scores = query.transpose(1, 2) @ self.k.mT * query.shape[-1] ** -0.5
        if self.hidden is not None:
            scores = scores.masked_fill(self.hidden[:, None, None], -torch.inf)
        return (scores.softmax(-1) @ self.v).transpose(1, 2)


class BehindTheRow(Updated):
    """Padding that is expanded from one row is read as if each text had memory of its own."""

    def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None) -> Tensor:
        own = None if key_padding_mask is None else read_behind_the_row(key_padding_mask)
        return super().forward(query, key, value, own)


def closure() -> Callable[..., Tensor]:
    """A function that keeps the last text; it knows no lengths and no beams."""
    text: list[Tensor] = []

    def attend(query: Tensor, key: Tensor | None = None, value: Tensor | None = None) -> Tensor:
        if key is not None and value is not None:
            if query.shape[1] != key.shape[1]:
                raise ValueError("heads differ")
            text[:] = key, value
        return (query @ text[0].mT * query.shape[-1] ** -0.5).softmax(-1) @ text[1]

    return attend


RIGHT: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "kernel": (CrossCache, WIDE),
    "steps": (faults.Cross, {**WIDE, "dtypes": ("float32", "bfloat16")}),
    "started": (Started, FLOAT),
    "updated": (Updated, {**FLOAT, "layout": "bnhd"}),
    "closure": (closure, {}),
}


@pytest.mark.parametrize("law", cross_cache.LAWS, ids=lambda law: law.name)
def test_every_law_refutes_the_fault_it_names(law: cross_cache.Law) -> None:
    refuted(law.name, MADE[law.fault], "quick", contract=CONTRACT, **WIDE)


@pytest.mark.thorough(leave_out=tuple(dict.fromkeys(law.fault for law in cross_cache.LAWS)))
@pytest.mark.parametrize("fault", MADE)
def test_every_fault_is_refuted(fault: str) -> None:
    if fault in SEEN_BY:
        refuted(SEEN_BY[fault], MADE[fault], "quick", contract=CONTRACT, **WIDE)
    else:
        assert first_refuting(MADE[fault], CONTRACT, **WIDE) == cross_cache.LAWS[0].name


@pytest.mark.thorough(table=True, keep=("*-0",))
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("name", RIGHT)
def test_right_objects_conform(name: str, seed: int) -> None:
    target, record = RIGHT[name]
    conforming(target, CONTRACT, "quick", seed, **record)


def test_wrong_masks_are_all_wrong_somewhere() -> None:
    """A null model that is never wrong would count as power that no case can have."""
    x = np.zeros((2, 1, 12, 1))
    call = cross_cache.Step(x[:, :, :3], x, x, np.array([12, 11]))
    mask = np.broadcast_to(np.arange(12) < call.counts[:, None, None, None], (2, 1, 3, 12))
    assert not [name for name, other in cross_cache.wrong_masks(call, mask).items() if (other == mask).all()]


def test_padding_expanded_from_one_row_is_read_by_its_strides() -> None:
    refuted("texts_have_their_own_lengths", BehindTheRow, "quick", contract=CONTRACT, layout="bnhd", **FLOAT)
