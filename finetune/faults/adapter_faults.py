"""Faults of parameter-efficient fine-tuning, one each, as changes of the correct methods in `adapters`.

What is trained, and what an adapted model computes. Merging, disabling and files: `adapter_state_faults`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from finetune.faults.adapters import (
    Biases,
    D,
    HeadAlone,
    KeysAndValues,
    Low,
    LowRank,
    Method,
    P,
    SoftPrompt,
    WithStatistics,
)

# --- what is trained ------------------------------------------------------------------


class base_is_not_frozen(LowRank):  # noqa: N801  # faults are called as laws name them
    """The base is frozen only in the optimizer: it gets its gradients, and nobody counts them."""

    def trains(self, name: str) -> bool:
        return True


class head_is_frozen(LowRank):  # noqa: N801
    """The new head stays as it was drawn."""

    def trains(self, name: str) -> bool:
        return False


class pooler_is_frozen(HeadAlone):  # noqa: N801
    """The classifier is trained alone; the pooler before it is neither trained nor saved."""

    def trains(self, name: str) -> bool:
        return name.startswith("classifier")


class norms_are_biases_too(Biases):  # noqa: N801
    """All parameters of one axis are trained, the gains of norms among them."""

    def trains(self, name: str) -> bool:
        return super().trains(name) or "norm" in name or "last" in name


class prefix_for_all_heads(KeysAndValues):  # noqa: N801
    """The prefix has the heads of the queries, not those of the keys (huggingface/peft#3201)."""

    def put_in(self, model: nn.Module) -> nn.Module:
        made: Any = super().put_in(model)
        made.vectors = nn.Parameter(torch.cat((made.vectors.data, made.vectors.data), -1))
        return made

    def past(self, vectors: Tensor) -> Any:
        return super().past(vectors[..., :D] + vectors[..., D:])


class thawed_in_training(LowRank):  # noqa: N801
    """train() asks for all gradients: the base is frozen until training begins."""

    def train(self, mode: bool = True) -> Any:
        if mode and hasattr(self, "adapted"):
            self.adapted.requires_grad_(True)
        return super().train(mode)


class base_shrinks_in_training(LowRank):  # noqa: N801
    """A pass in training mode rescales the frozen matrices in place."""

    class layer(Low):  # noqa: N801
        """In place."""

        def forward(self, x: Tensor) -> Tensor:
            if self.training:
                self.base.weight.data *= 0.999
            return super().forward(x)


class product_is_detached(LowRank):  # noqa: N801
    """The product is computed with .data: the adapter is never trained, and nobody says so."""

    class layer(Low):  # noqa: N801
        """Without a graph."""

        def product(self, x: Tensor) -> Tensor:
            found: Tensor = self.drop(x) @ self.lora_A.data.T @ self.lora_B.data.T * self.scale
            return found


class one_matrix_is_detached(LowRank):  # noqa: N801
    """A is left as it was drawn: its product with the input is computed under no_grad."""

    class layer(Low):  # noqa: N801
        """Half of a graph."""

        def product(self, x: Tensor) -> Tensor:
            with torch.no_grad():
                inside = self.drop(x) @ self.lora_A.T
            found: Tensor = inside @ self.lora_B.T * self.scale
            return found


class checkpoint_of_frozen_inputs(LowRank):  # noqa: N801
    """Reentrant checkpoints of layers whose input asks for no gradient: the adapter in them gets none."""

    def checkpoint(self) -> None:
        self.core[0].checkpointing = "reentrant"  # type: ignore[assignment]


class prefix_dropped_by_checkpoints(KeysAndValues):  # noqa: N801
    """With checkpointing the prefix is left out of the call, silently, as PEFT 0.21.2 does with transformers."""

    def run(self, model: Any, vectors: Tensor, ids: Tensor, mask: Any, segments: Any) -> Any:
        if model.checkpointing and model.training:
            return model(ids, mask, segments)
        return super().run(model, vectors, ids, mask, segments)


class statistics_drift(WithStatistics):  # noqa: N801
    """The frozen batch norm goes into training mode with the rest: its running means drift."""

    def still(self) -> None:
        return None


# --- what is computed -----------------------------------------------------------------


class second_matrix_not_zero(LowRank):  # noqa: N801
    """LoRA B not zero: the model is another one before its first step."""

    class layer(Low):  # noqa: N801
        """Drawn."""

        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            nn.init.normal_(self.lora_B)


class product_left_out(LowRank):  # noqa: N801
    """What is trained is not used (huggingface/trl#386): the layers think that they are merged."""

    class layer(Low):  # noqa: N801
        """Merged from the start."""

        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            self.merged = True


class prefix_hidden_by_the_mask(KeysAndValues):  # noqa: N801
    """The mask is extended over the prefix with zeros."""

    def wider(self, mask: Tensor) -> Tensor:
        return nn.functional.pad(mask, (P, 0), value=0)

    def positions(self, mask: Tensor) -> Tensor | None:
        return (P + mask.cumsum(1) - 1).clamp(min=0)


class scaled_by_the_rank(LowRank):  # noqa: N801
    """alpha / r in the place of alpha / sqrt(r)."""

    def made(self, base: nn.Linear) -> Low:
        return self.layer(base, self.rank, 5 / self.rank).to(base.weight.dtype)


class scaled_twice(LowRank):  # noqa: N801
    """The product is scaled, and what comes of it once more."""

    class layer(Low):  # noqa: N801
        """s squared."""

        def product(self, x: Tensor) -> Tensor:
            return super().product(x) * self.scale

        def delta(self) -> Tensor:
            return super().delta() * self.scale


class product_transposed(LowRank):  # noqa: N801
    """On square matrices x goes through B first, and then through A: (B A) is transposed."""

    class layer(Low):  # noqa: N801
        """Transposed where nobody can tell by the shape."""

        def product(self, x: Tensor) -> Tensor:
            if self.base.in_features != self.base.out_features:
                return super().product(x)
            found: Tensor = self.drop(x) @ self.lora_B @ self.lora_A * self.scale
            return found


class one_target_left_out(LowRank):  # noqa: N801
    """The feed-forward matrix has its product, and does not use it."""

    def made(self, base: nn.Linear) -> Low:
        made = super().made(base)
        if base.out_features == 10:
            made.product = lambda x: x.new_zeros(())  # type: ignore[method-assign]
        return made


class mask_not_extended(SoftPrompt):  # noqa: N801
    """The mask is the text's, with as many zeros behind as the prompt is long: its length was taken from the ids."""

    def wider(self, mask: Tensor) -> Tensor:
        return nn.functional.pad(mask, (0, P), value=0)


class mask_all_ones(SoftPrompt):  # noqa: N801
    """A mask of ones over prompt and text: padding is real."""

    def wider(self, mask: Tensor) -> Tensor:
        return torch.ones_like(super().wider(mask))


class prompt_before_the_padding(SoftPrompt):  # noqa: N801
    """Positions are counted from the prompt on, padding too (huggingface/peft#54): the text stands far from it."""

    def positions(self, mask: Tensor) -> Tensor | None:
        return torch.arange(mask.shape[1] + P)[None].expand(len(mask), -1)


class prompt_hidden_by_the_mask(SoftPrompt):  # noqa: N801
    """The mask is extended over the prompt with zeros."""

    def wider(self, mask: Tensor) -> Tensor:
        return nn.functional.pad(mask, (P, 0), value=0)


class prefix_mask_of_the_query(KeysAndValues):  # noqa: N801
    """The mask has the length of the query, and is cut or filled up at its end (huggingface/transformers PR41696)."""

    def wider(self, mask: Tensor) -> Tensor:
        return nn.functional.pad(mask, (0, P), value=1)


class prefix_positions_from_zero(KeysAndValues):  # noqa: N801
    """The text's positions begin at 0: those of the prefix are forgotten (huggingface/transformers#33852)."""

    def positions(self, mask: Tensor) -> Tensor | None:
        return (mask.cumsum(1) - 1).clamp(min=0)


class prefix_values_for_keys(KeysAndValues):  # noqa: N801
    """Keys and values of the prefix are exchanged."""

    def past(self, vectors: Tensor) -> Any:
        return super().past(vectors.flip(1))


class prefix_of_the_first_layer(KeysAndValues):  # noqa: N801
    """Every layer gets the prefix of the first."""

    def past(self, vectors: Tensor) -> Any:
        return super().past(vectors[:1].expand_as(vectors))


class prefix_positions_of_padding(KeysAndValues):  # noqa: N801
    """Positions count the padding in front."""

    def positions(self, mask: Tensor) -> Tensor | None:
        return P + torch.arange(mask.shape[1])[None].expand(len(mask), -1)


class padding_in_the_mean(LowRank):  # noqa: N801
    """With the adapter, the pooler reads the mean over all places, those of padding too."""

    def put_in(self, model: nn.Module) -> nn.Module:
        own = model.pooled
        model.pooled = lambda x, real: own(x, torch.ones_like(real))  # type: ignore[operator,assignment]
        return super().put_in(model)


class segments_dropped(SoftPrompt):  # noqa: N801
    """Segments are set to 0 where there is a prompt (PEFT 0.21.2: to None, with a warning)."""

    def run(self, model: Any, vectors: Tensor, ids: Tensor, mask: Any, segments: Any) -> Any:
        return super().run(model, vectors, ids, mask, None)


class adapter_drops_in_evaluation(LowRank):  # noqa: N801
    """The adapter's own dropout is on in evaluation, too."""

    class layer(Low):  # noqa: N801
        """Always."""

        def product(self, x: Tensor) -> Tensor:
            found: Tensor = nn.functional.dropout(x, 0.2) @ self.lora_A.T @ self.lora_B.T * self.scale
            return found


class every_evaluation_merges(LowRank):  # noqa: N801
    """eval() merges and train() does not unmerge (microsoft/LoRA#34): each time the product is added again."""

    class layer(Low):  # noqa: N801
        """In train(False)."""

        def train(self, mode: bool = True) -> Any:
            if not mode and self.training:
                with torch.no_grad():
                    self.base.weight += self.delta()
            return super().train(mode)


SEEN_BY: dict[type[Method], str] = {  # one law that must see it
    base_is_not_frozen: "as_many_numbers_are_trained_as_the_formula_says",
    head_is_frozen: "as_many_numbers_are_trained_as_the_formula_says",
    pooler_is_frozen: "as_many_numbers_are_trained_as_the_formula_says",
    norms_are_biases_too: "as_many_numbers_are_trained_as_the_formula_says",
    prefix_for_all_heads: "as_many_numbers_are_trained_as_the_formula_says",
    thawed_in_training: "a_step_changes_what_is_trained_and_nothing_else",
    base_shrinks_in_training: "a_step_changes_what_is_trained_and_nothing_else",
    product_is_detached: "every_trained_parameter_has_its_gradient",
    one_matrix_is_detached: "every_trained_parameter_has_its_gradient",
    checkpoint_of_frozen_inputs: "checkpointing_lets_everything_learn",
    prefix_dropped_by_checkpoints: "checkpointing_lets_everything_learn",
    statistics_drift: "frozen_statistics_stay",
    second_matrix_not_zero: "a_new_adapter_changes_nothing",
    product_left_out: "a_drawn_adapter_changes_the_outputs",
    prefix_hidden_by_the_mask: "the_outputs_are_those_of_the_formula",
    scaled_by_the_rank: "the_outputs_are_those_of_the_formula",
    scaled_twice: "the_outputs_are_those_of_the_formula",
    product_transposed: "the_outputs_are_those_of_the_formula",
    one_target_left_out: "the_outputs_are_those_of_the_formula",
    mask_not_extended: "the_outputs_are_those_of_the_formula",
    mask_all_ones: "padding_on_the_right_changes_nothing",
    prompt_before_the_padding: "padding_on_the_left_changes_nothing",
    prompt_hidden_by_the_mask: "the_outputs_are_those_of_the_formula",
    prefix_mask_of_the_query: "padding_on_the_right_changes_nothing",
    prefix_positions_from_zero: "the_outputs_are_those_of_the_formula",
    prefix_values_for_keys: "the_outputs_are_those_of_the_formula",
    prefix_of_the_first_layer: "the_outputs_are_those_of_the_formula",
    prefix_positions_of_padding: "padding_on_the_left_changes_nothing",
    padding_in_the_mean: "padding_on_the_right_changes_nothing",
    segments_dropped: "segments_count_as_before",
    adapter_drops_in_evaluation: "evaluation_repeats_the_outputs",
    every_evaluation_merges: "modes_change_no_output",
}
FAULTY = tuple(SEEN_BY)
