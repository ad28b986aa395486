"""Faults of measuring how important attention heads are, of comparing two measures and of choosing heads, one each.

Every target is `head_probe.make_target` of the functions of a class.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from finetune.faults.bases.head_measures import Plain, make_target

# --- importance ---------------------------------------------------------------


class signed_slopes(Plain):  # noqa: N801  # faults are called as laws name them
    """The mean of the slopes with their signs: they cancel, and a head that hurts ranks last."""

    def size(self, slope: Tensor) -> Tensor:
        return slope


class squared_slopes(Plain):  # noqa: N801
    """The mean of squares, not of absolute values: one text can outweigh all others."""

    def size(self, slope: Tensor) -> Tensor:
        return slope.square()


class half_the_gates_open(Plain):  # noqa: N801
    """Slopes where every gate is at 1/2, not at 1."""

    def slopes(self, model: Any, batch: Any, layers: int, heads: int) -> Tensor:
        gates = torch.full((len(batch["text"]), layers, heads), 0.5, dtype=torch.float64, requires_grad=True)
        (slope,) = torch.autograd.grad(model(batch, gates).sum(), gates)
        return slope.abs()


class one_gradient_a_batch(Plain):  # noqa: N801
    """One set of gates for a batch: slopes of its texts cancel before their absolute value is taken."""

    def slopes(self, model: Any, batch: Any, layers: int, heads: int) -> Tensor:
        gates = torch.ones(layers, heads, dtype=torch.float64, requires_grad=True)
        count = len(batch["text"])
        (slope,) = torch.autograd.grad(model(batch, gates).sum(), gates)
        return (slope.abs() / count).expand(count, layers, heads)


class gates_never_zeroed(Plain):  # noqa: N801
    """Gates keep the gradients of earlier texts and batches: each is counted again with all that follow."""

    def gradient(self, model: Any, batches: Any, layers: int, heads: int) -> Any:
        model.eval()
        found = []
        most = max(len(batch["text"]) for batch in batches)
        gates = torch.ones(most, layers, heads, dtype=torch.float64, requires_grad=True)
        for batch in batches:
            count = len(batch["text"])
            model(batch, gates[:count]).sum().backward()
            assert gates.grad is not None
            found.append(gates.grad[:count].abs().clone())
        return torch.cat(found).mean(0)


class mean_of_means(Plain):  # noqa: N801
    """The mean of the batches' means: texts of a small batch count more."""

    def mean(self, found: list[Tensor]) -> Tensor:
        return torch.stack([one.mean(0) for one in found]).mean(0)


class last_batch_alone(Plain):  # noqa: N801
    """The importance of the last batch, which overwrote the others."""

    def mean(self, found: list[Tensor]) -> Tensor:
        return found[-1].mean(0)


class summed_over_texts(Plain):  # noqa: N801
    """Sums in place of means: on more texts every head is more important."""

    def mean(self, found: list[Tensor]) -> Tensor:
        return torch.cat(found).sum(0)


class normalised_by_layer(Plain):  # noqa: N801
    """Each layer's importances are divided by their norm: layers can no longer be compared."""

    def mean(self, found: list[Tensor]) -> Tensor:
        return nn.functional.normalize(super().mean(found), dim=-1)


class heads_shifted_by_one(Plain):  # noqa: N801
    """Every head has the importance of the one before it."""

    def mean(self, found: list[Tensor]) -> Tensor:
        return super().mean(found).roll(1, -1)


class layers_in_reverse(Plain):  # noqa: N801
    """Hooks were collected from the last layer on: importances are those of the other end."""

    def mean(self, found: list[Tensor]) -> Tensor:
        return super().mean(found).flip(0)


class the_rest_is_scaled_up(Plain):  # noqa: N801
    """Without a head the others of its layer are scaled up, as dropout does."""

    def gates(self, layers: int, heads: int, layer: int, head: int) -> Tensor:
        gates = super().gates(layers, heads, layer, head)
        gates[layer] *= heads / (heads - 1)
        return gates


class heads_stay_out(Plain):  # noqa: N801
    """A gate is not opened again: every head is taken out on top of the earlier ones."""

    def gates(self, layers: int, heads: int, layer: int, head: int) -> Tensor:
        gates = torch.ones(layers * heads, dtype=torch.float64)
        gates[: layer * heads + head + 1] = 0
        return gates.view(layers, heads)


class all_layers_at_once(Plain):  # noqa: N801
    """A head is taken out of every layer."""

    def gates(self, layers: int, heads: int, layer: int, head: int) -> Tensor:
        gates = torch.ones(layers, heads, dtype=torch.float64)
        gates[:, head] = 0
        return gates


class one_head_left(Plain):  # noqa: N801
    """The gates are the other way round: the head stays, and the rest of its layer goes."""

    def gates(self, layers: int, heads: int, layer: int, head: int) -> Tensor:
        gates = super().gates(layers, heads, layer, head)
        gates[layer] = 1 - gates[layer]
        return gates


class rises_without_their_sign(Plain):  # noqa: N801
    """The absolute value of a rise: a head whose loss is better without it counts as important."""

    def rise(self, without: Tensor, plain: Tensor) -> Tensor:
        return (without - plain).abs()


class falls_in_place_of_rises(Plain):  # noqa: N801
    """The loss with all heads less that without one: the most important head has the smallest number."""

    def rise(self, without: Tensor, plain: Tensor) -> Tensor:
        return plain - without


class no_rise_below_zero(Plain):  # noqa: N801
    """Rises are cut off at 0: heads that hurt are as unimportant as those that do nothing."""

    def rise(self, without: Tensor, plain: Tensor) -> Tensor:
        return (without - plain).clamp(min=0)


class losses_without_the_head(Plain):  # noqa: N801
    """The loss without the head itself: the loss of the whole model is not taken off."""

    def rise(self, without: Tensor, plain: Tensor) -> Tensor:
        return without


class measured_in_training_mode(Plain):  # noqa: N801
    """The model is left in training mode: dropout is on."""

    def still(self, model: Any) -> None:
        model.train()


class parameters_are_frozen(Plain):  # noqa: N801
    """Parameters are frozen so that they get no gradient, and stay frozen."""

    def still(self, model: Any) -> None:
        model.eval()
        model.requires_grad_(False)


class parameters_are_rounded(Plain):  # noqa: N801
    """The model is put into half precision to save memory, and what was rounded comes back."""

    def still(self, model: Any) -> None:
        model.eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(1 - 2**-12)


class total_goes_on(Plain):  # noqa: N801
    """A running sum is begun once, for all calls."""

    def __init__(self) -> None:
        self.seen: list[Tensor] = []

    def gradient(self, model: Any, batches: Any, layers: int, heads: int) -> Any:
        self.still(model)
        found = [self.slopes(model, batch, layers, heads) for batch in batches]
        self.seen = [one for one in self.seen if one.shape[1:] == (layers, heads)] + found
        return torch.cat(self.seen).mean(0)


class ablation_with_a_graph(Plain):  # noqa: N801
    """no_grad is missing: every pass without a head keeps a graph."""

    def ablation(self, model: Any, batches: Any, layers: int, heads: int) -> Any:
        self.still(model)
        return self.mean([self.rises(model, batch, layers, heads).detach() for batch in batches])


# --- agreement and choice -----------------------------------------------------


class values_correlated(Plain):  # noqa: N801
    """Pearson's correlation of the values, not of their ranks."""

    def ranks(self, values: Tensor) -> Tensor:
        return values


class orders_correlated(Plain):  # noqa: N801
    """argsort gives which head has a rank, and is taken for the rank that a head has."""

    def ranks(self, values: Tensor) -> Tensor:
        return torch.argsort(values).double()


class ties_ranked_in_their_order(Plain):  # noqa: N801
    """Equal heads get different ranks, by where they stand."""

    def ranks(self, values: Tensor) -> Tensor:
        return torch.argsort(torch.argsort(values, stable=True), stable=True).double()


class size_of_the_agreement(Plain):  # noqa: N801
    """The absolute value: measures that rank the other way round seem to agree."""

    def agreement(self, first: Tensor, second: Tensor) -> Any:
        return super().agreement(first, second).abs()


class most_important_chosen(Plain):  # noqa: N801
    """The heads with the largest importance."""

    def key(self, importance: Tensor) -> Tensor:
        return -importance


class chosen_by_size(Plain):  # noqa: N801
    """The heads with the smallest absolute value: those that hurt most stay."""

    def key(self, importance: Tensor) -> Tensor:
        return importance.abs()


class divided_by_the_layers(Plain):  # noqa: N801
    """A place in the row of all heads is divided by the number of layers, not of heads."""

    def choose(self, importance: Tensor, count: int) -> Any:
        order = torch.argsort(importance.reshape(-1))[:count]
        return [divmod(int(n), importance.shape[0]) for n in order]


class one_layer_after_the_other(Plain):  # noqa: N801
    """The least important heads of the first layer, then of the second, and so on."""

    def choose(self, importance: Tensor, count: int) -> Any:
        pairs = [(layer, int(h)) for layer, row in enumerate(importance) for h in torch.argsort(row)]
        return pairs[:count]


SEEN_BY: dict[type[Plain], str] = {
    signed_slopes: "a_slope_counts_by_its_size",
    squared_slopes: "a_slope_counts_by_its_size",
    half_the_gates_open: "a_slope_counts_by_its_size",
    heads_shifted_by_one: "a_slope_counts_by_its_size",
    layers_in_reverse: "a_slope_counts_by_its_size",
    normalised_by_layer: "a_slope_counts_by_its_size",
    one_gradient_a_batch: "texts_of_a_batch_do_not_cancel",
    summed_over_texts: "texts_of_a_batch_do_not_cancel",
    gates_never_zeroed: "each_batch_has_its_own_slopes",
    last_batch_alone: "each_batch_has_its_own_slopes",
    mean_of_means: "every_text_weighs_the_same",
    the_rest_is_scaled_up: "a_head_is_taken_out_alone",
    heads_stay_out: "a_head_is_taken_out_alone",
    all_layers_at_once: "a_head_is_taken_out_alone",
    one_head_left: "a_head_is_taken_out_alone",
    falls_in_place_of_rises: "a_head_is_taken_out_alone",
    losses_without_the_head: "a_head_is_taken_out_alone",
    rises_without_their_sign: "a_head_that_hurts_has_a_negative_rise",
    no_rise_below_zero: "a_head_that_hurts_has_a_negative_rise",
    measured_in_training_mode: "heads_are_measured_without_dropout",
    parameters_are_frozen: "measuring_changes_nothing",
    parameters_are_rounded: "measuring_changes_nothing",
    total_goes_on: "a_measure_remembers_nothing",
    ablation_with_a_graph: "ablation_keeps_no_graph",
    values_correlated: "agreement_is_spearmans",
    orders_correlated: "agreement_is_spearmans",
    size_of_the_agreement: "agreement_is_spearmans",
    ties_ranked_in_their_order: "ties_share_their_mean_rank",
    most_important_chosen: "the_least_important_are_chosen",
    chosen_by_size: "the_least_important_are_chosen",
    divided_by_the_layers: "the_least_important_are_chosen",
    one_layer_after_the_other: "the_least_important_are_chosen",
}
"""Each fault, and the law that is about it."""
FAULTY = tuple(make_target(kind, __name__) for kind in SEEN_BY)
targets = SimpleNamespace(**{target.__name__: target for target in FAULTY})
"""What is graded, by name: `finetune.faults.measured_heads:targets.signed_slopes`."""
