"""Faults of what becomes of an adapter: merged and unmerged, disabled and enabled, saved and loaded.

One each, as changes of the correct methods in `adapters`. What an adapter trains and computes: `adapter_faults`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from finetune.faults.adapters import (
    HeadAlone,
    Low,
    LowRank,
    Method,
    SoftPrompt,
    Tiny,
)

# --- merging and disabling ------------------------------------------------------------


class merged_with_another_scale(LowRank):  # noqa: N801
    """Merging ignores that the rank is stabilised (paiml/aprender PR2189)."""

    class layer(Low):  # noqa: N801
        """alpha / r."""

        def delta(self) -> Tensor:
            return super().delta() / math.sqrt(3)


class merged_transposed(LowRank):  # noqa: N801
    """Square matrices are merged transposed (microsoft/LoRA#61, #103)."""

    class layer(Low):  # noqa: N801
        """Transposed where nobody can tell by the shape."""

        def delta(self) -> Tensor:
            found = super().delta()
            return found.T if found.shape[0] == found.shape[1] else found


class merged_is_added_again(LowRank):  # noqa: N801
    """The forward pass ignores that it is merged (EricLBuehler/candle-lora#26): the product counts twice."""

    class layer(Low):  # noqa: N801
        """Both."""

        def forward(self, x: Tensor) -> Tensor:
            y: Tensor = self.base(x)
            return y + self.product(x) if self.on else y


class merges_a_clone(LowRank):  # noqa: N801
    """What is merged is a copy of the weights that nobody reads (EricLBuehler/candle-lora#26)."""

    class layer(Low):  # noqa: N801
        """A clone."""

        def merge(self) -> None:
            self.copied = self.base.weight.detach().clone() + self.delta().detach()

        def unmerge(self) -> None:
            self.copied = self.base.weight.detach().clone()


class every_merge_adds(LowRank):  # noqa: N801
    """Each merge adds again (unslothai/unsloth#219)."""

    class layer(Low):  # noqa: N801
        """Without a look at the flag."""

        @torch.no_grad()
        def merge(self) -> None:
            self.base.weight += self.delta()
            self.merged = True


class first_sum_kept(LowRank):  # noqa: N801
    """The sum of the first merge is kept, and put back at every later one."""

    class layer(Low):  # noqa: N801
        """Without a look at what was trained since."""

        kept: Tensor | None = None

        @torch.no_grad()
        def merge(self) -> None:
            if self.kept is not None and not self.merged:
                self.before = self.base.weight.clone()
                self.base.weight.copy_(self.kept)
                self.merged = True
                return
            if not self.merged:
                self.before = self.base.weight.clone()
            super().merge()
            self.kept = self.base.weight.clone()

        @torch.no_grad()
        def unmerge(self) -> None:
            if self.merged:
                self.base.weight.copy_(self.before)
                self.merged = False


class unmerged_with_another_scale(LowRank):  # noqa: N801
    """Unmerging subtracts the product without its scale."""

    class layer(Low):  # noqa: N801
        """Another sum."""

        @torch.no_grad()
        def unmerge(self) -> None:
            if self.merged:
                self.base.weight -= self.lora_B @ self.lora_A
                self.merged = False


class every_unmerge_subtracts(LowRank):  # noqa: N801
    """Each unmerge subtracts, merged or not."""

    class layer(Low):  # noqa: N801
        """Without a look at the flag."""

        @torch.no_grad()
        def unmerge(self) -> None:
            self.base.weight -= self.delta()
            self.merged = False


class head_stays_trained(LowRank):  # noqa: N801
    """Disabling turns the products off, and leaves the trained head."""

    def swap(self) -> None:
        return None


class prompt_cannot_be_turned_off(SoftPrompt):  # noqa: N801
    """disabled() names what it keeps under one condition and puts it back under another (PEFT 0.21.2)."""

    @contextlib.contextmanager
    def disabled(self) -> Iterator[None]:
        if isinstance(self.adapted, Tiny):
            kept = self.on
        self.on = False
        yield
        self.on = kept  # type: ignore[possibly-undefined]


class disabled_for_ever(LowRank):  # noqa: N801
    """The switch is not set back."""

    def switch(self, on: bool) -> None:
        super().switch(False)


class enabling_thaws_the_adapter(LowRank):  # noqa: N801
    """Whatever was frozen by the user, the adapter is trained again once it was disabled (huggingface/peft#3447)."""

    def switch(self, on: bool) -> None:
        super().switch(on)
        for low in self.low:
            low.lora_A.requires_grad_(on)
            low.lora_B.requires_grad_(on)


class head_frozen_by_disabling(LowRank):  # noqa: N801
    """Disabling freezes everything; enabling thaws the adapter and forgets the head."""

    def switch(self, on: bool) -> None:
        super().switch(on)
        if not on:
            self.asking = [p for low in self.low for p in (low.lora_A, low.lora_B) if p.requires_grad]
            self.adapted.requires_grad_(False)
        for parameter in self.asking if on else []:
            parameter.requires_grad_(True)


class unmerging_thaws_the_base(LowRank):  # noqa: N801
    """The old weight is put back as a new parameter, which asks for a gradient."""

    class layer(Low):  # noqa: N801
        """Keeps the old weight, to the bit."""

        @torch.no_grad()
        def merge(self) -> None:
            if not self.merged:
                self.kept = self.base.weight.detach().clone()
            super().merge()

        @torch.no_grad()
        def unmerge(self) -> None:
            if self.merged:
                self.base.weight, self.merged = nn.Parameter(self.kept), False


class head_lost_when_disabled(LowRank):  # noqa: N801
    """Disabling puts the old head in and does not keep the trained one."""

    @torch.no_grad()
    def swap(self) -> None:
        for name, parameter in self.core[0].named_parameters():
            if name in self.old:
                parameter.copy_(self.old[name])


class merged_ignores_the_switch(LowRank):  # noqa: N801
    """The switch is looked at where nothing is merged alone: a merged adapter stays on."""

    class layer(Low):  # noqa: N801
        """Without unmerging."""

        def switch(self, on: bool) -> None:
            self.on = on


# --- files ------------------------------------------------------------------------------


class head_not_saved(LowRank):  # noqa: N801
    """The adapter is saved without the head."""

    def tensors(self) -> dict[str, Tensor]:
        return {n: t for n, t in super().tensors().items() if "lora" in n}


class saves_what_asks_for_gradients(LowRank):  # noqa: N801
    """What is saved are the parameters that ask for a gradient: of an adapter frozen for serving, none."""

    def tensors(self) -> dict[str, Tensor]:
        asking = {name for name, parameter in self.adapted.named_parameters() if parameter.requires_grad}
        return {n: t for n, t in super().tensors().items() if n in asking}


class pooler_not_saved(HeadAlone):  # noqa: N801
    """The classifier is saved, the trained pooler before it is not."""

    def tensors(self) -> dict[str, Tensor]:
        return {n: t for n, t in super().tensors().items() if "pooler" not in n}


class saved_in_two_bytes(LowRank):  # noqa: N801
    """Saved in bfloat16."""

    def tensors(self) -> dict[str, Tensor]:
        return {n: t.bfloat16() for n, t in super().tensors().items()}


class first_save_kept(LowRank):  # noqa: N801
    """What is saved is collected at the first save, and never again."""

    def tensors(self) -> dict[str, Tensor]:
        found: dict[str, Tensor] = self.__dict__.setdefault("found", super().tensors())
        return found


class second_matrix_not_loaded(LowRank):  # noqa: N801
    """Loading draws B anew where its name is not the one that was saved."""

    def tensors(self) -> dict[str, Tensor]:
        return {n.replace("lora_B", "lora_b"): t for n, t in super().tensors().items()}


class saving_merges(LowRank):  # noqa: N801
    """Saving merges first, and leaves it so."""

    def save(self, folder: str) -> None:
        self.merge()
        super().save(folder)


class saved_merged(LowRank):  # noqa: N801
    """The matrices under the adapter are saved as they are, merged or not, and loaded: the product is added again."""

    def tensors(self) -> dict[str, Tensor]:
        return super().tensors() | {
            n: p.detach().clone() for n, p in self.adapted.named_parameters() if "base.weight" in n
        }


KEPT: dict[str, Tensor] = {}
"""What one process keeps beside the file."""


class kept_beside_the_file(SoftPrompt):  # noqa: N801
    """The vectors stay in the process that saved them."""

    def tensors(self) -> dict[str, Tensor]:
        found = super().tensors()
        KEPT["vectors"] = found.pop("vectors")
        return found

    def load(self, model: nn.Module, folder: str) -> nn.Module:
        made: Any = super().load(model, folder)
        if KEPT:
            made.vectors.data.copy_(KEPT["vectors"])
        return made


SEEN_BY: dict[type[Method], str] = {  # one law that must see it
    merged_with_another_scale: "merging_changes_no_output",
    merged_transposed: "merging_changes_no_output",
    merged_is_added_again: "merging_changes_no_output",
    merges_a_clone: "merging_changes_the_weights",
    every_merge_adds: "merging_twice_is_once",
    first_sum_kept: "merging_again_holds_what_was_trained_since",
    unmerged_with_another_scale: "unmerging_restores_the_weights",
    every_unmerge_subtracts: "unmerging_twice_is_once",
    head_stays_trained: "disabling_gives_the_plain_outputs",
    prompt_cannot_be_turned_off: "disabling_gives_the_plain_outputs",
    disabled_for_ever: "enabling_again_gives_the_adapter_back",
    enabling_thaws_the_adapter: "what_was_frozen_stays_frozen",
    head_frozen_by_disabling: "what_is_trained_stays_trained",
    unmerging_thaws_the_base: "what_is_trained_stays_trained",
    head_lost_when_disabled: "enabling_again_gives_the_adapter_back",
    merged_ignores_the_switch: "disabling_a_merged_adapter_gives_the_plain_outputs",
    head_not_saved: "a_saved_adapter_comes_back",
    saves_what_asks_for_gradients: "a_saved_adapter_comes_back",
    pooler_not_saved: "a_saved_adapter_comes_back",
    saved_in_two_bytes: "a_saved_adapter_comes_back",
    first_save_kept: "a_saved_adapter_comes_back",
    second_matrix_not_loaded: "a_saved_adapter_comes_back",
    saving_merges: "saving_changes_no_number",
    saved_merged: "a_merged_adapter_is_saved_as_it_is",
}
IN_ANOTHER_PROCESS: dict[type[Method], str] = {kept_beside_the_file: "another_process_reads_the_adapter"}
FAULTY = tuple(SEEN_BY)
