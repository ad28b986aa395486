"""Faults of gates on attention heads and of taking heads out of a layer, one each.

Every target is `head_probe.make_target` of the functions of a class.
"""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from finetune.faults.bases.head_measures import Plain, make_target
from finetune.laws.head_importance import head_probe

# --- gates --------------------------------------------------------------------


class gated_weights_renormalised(Plain):  # noqa: N801
    """Gates on the weights after the softmax, whose rows are then divided by their sums: nothing is left of them."""

    def gate(self, layer: Any, x: Tensor, gates: Tensor) -> Tensor:
        H = layer.n_head
        q, k, v = (m(x).unflatten(-1, (H, -1)).transpose(1, 2) for m in (layer.query, layer.key, layer.value))
        weights = torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) * gates[:, None, None]
        weights = weights / weights.sum(-1, keepdim=True).clamp(min=1e-9)
        return layer.proj((weights @ v).transpose(1, 2).flatten(2))


class gates_before_the_softmax(Plain):  # noqa: N801
    """Gates on the scores: a gate of 0 makes a head average, and does not take it out."""

    def gate(self, layer: Any, x: Tensor, gates: Tensor) -> Tensor:
        H = layer.n_head
        q, k, v = (m(x).unflatten(-1, (H, -1)).transpose(1, 2) for m in (layer.query, layer.key, layer.value))
        weights = torch.softmax(q @ k.mT / q.shape[-1] ** 0.5 * gates[:, None, None], -1)
        return layer.proj((weights @ v).transpose(1, 2).flatten(2))


class the_rest_fills_up(Plain):  # noqa: N801
    """Gates are divided by their mean, so that the others make up for a head that is taken out."""

    def scaled(self, joined: Tensor, gates: Tensor) -> Tensor:
        return joined * (gates / gates.mean().clamp(min=1e-9))[:, None]


class gate_of_the_next_head(Plain):  # noqa: N801
    """Every head has the gate of the next."""

    def scaled(self, joined: Tensor, gates: Tensor) -> Tensor:
        return joined * gates.roll(-1)[:, None]


class features_gated_in_turn(Plain):  # noqa: N801
    """Heads and features are exchanged in the reshape: every H-th feature has a gate."""

    def scaled(self, joined: Tensor, gates: Tensor) -> Tensor:
        whole = joined.flatten(-2)
        return (whole * gates.repeat(whole.shape[-1] // len(gates))).unflatten(-1, joined.shape[-2:])


class gates_behind_the_projection(Plain):  # noqa: N801
    """Gates on slices of the output: nothing behind the projection belongs to one head, and the bias is gated, too."""

    def gate(self, layer: Any, x: Tensor, gates: Tensor) -> Tensor:
        return layer(x) * gates.repeat_interleave(x.shape[-1] // layer.n_head)


class gates_behind_a_sigmoid(Plain):  # noqa: N801
    """Gates pass a sigmoid: at 1 they are open by .73."""

    def scaled(self, joined: Tensor, gates: Tensor) -> Tensor:
        return joined * torch.sigmoid(gates)[:, None]


class gates_closed_or_open(Plain):  # noqa: N801
    """Gates are taken for true and false: what is not 0 is open."""

    def scaled(self, joined: Tensor, gates: Tensor) -> Tensor:
        return joined * (gates > 0)[:, None]


class gate_left_in_the_layer(Plain):  # noqa: N801
    """The hook is not removed."""

    def end(self, handle: Any) -> None:
        pass


# --- pruning ------------------------------------------------------------------


class the_head_after_is_pruned(Plain):  # noqa: N801
    """Heads are counted from 1: the one behind each is taken out."""

    def prune(self, layer: Any, heads: list[int]) -> Any:
        return super().prune(layer, [(h + 1) % layer.n_head for h in self.named(layer, heads)])


class the_named_heads_stay(Plain):  # noqa: N801
    """The heads that are named are kept, and the others pruned."""

    def prune(self, layer: Any, heads: list[int]) -> Any:
        gone = self.named(layer, heads)
        return super().prune(layer, [h for h in range(layer.n_head) if h not in gone])


class kept_heads_in_reverse(Plain):  # noqa: N801
    """The rows of the heads that stay are reversed, the columns of the projection are not."""

    def smaller(self, linear: Any, rows: Tensor, axis: int) -> nn.Linear:
        return super().smaller(linear, rows.flip(0) if axis == 0 else rows, axis)


class values_lose_the_first_rows(Plain):  # noqa: N801
    """Of each map the first rows are kept, as many as are left: the right number of another head."""

    def smaller(self, linear: Any, rows: Tensor, axis: int) -> nn.Linear:
        return super().smaller(linear, torch.arange(len(rows)) if axis == 0 else rows, axis)


class biases_keep_their_place(Plain):  # noqa: N801
    """Rows of the weights are chosen, but of the biases the first ones."""

    def smaller(self, linear: Any, rows: Tensor, axis: int) -> nn.Linear:
        made = super().smaller(linear, rows, axis)
        if axis == 0:
            made.bias = nn.Parameter(linear.bias.detach()[: len(rows)].clone(), linear.bias.requires_grad)
        return made


class the_projection_loses_its_bias(Plain):  # noqa: N801
    """The smaller projection has no bias."""

    def smaller(self, linear: Any, rows: Tensor, axis: int) -> nn.Linear:
        made = super().smaller(linear, rows, axis)
        if axis == 1:
            with torch.no_grad():
                made.bias.zero_()
        return made


class Wider(head_probe.Layer):
    """A layer whose scores are divided by the root of the features that a head had of the whole width."""

    def forward(self, x: Tensor) -> Tensor:
        """As `Layer`, with the scale 1 / sqrt(E / n_head) in place of 1 / sqrt(d), d = out_features / n_head."""
        query: Any = getattr(self, "query")  # noqa: B009  # a module, which its type does not say
        weight, bias = query.weight, query.bias
        factor = (query.out_features / x.shape[-1]) ** 0.5
        with torch.no_grad():
            weight *= factor
            bias *= factor
            found = super().forward(x)
            weight /= factor
            bias /= factor
        return found


class scale_of_the_new_width(Plain):  # noqa: N801
    """Behind a pruning the size of a head is taken for the width by the heads that are left: scores shrink."""

    def prune(self, layer: Any, heads: list[int]) -> Any:
        made = super().prune(layer, heads)
        made.__class__ = Wider
        return made


class last_head_kept(Plain):  # noqa: N801
    """A layer never loses its last head."""

    def prune(self, layer: Any, heads: list[int]) -> Any:
        gone = self.named(layer, heads)
        return super().prune(layer, sorted(gone)[: layer.n_head - 1])


class pruned_one_after_the_other(Plain):  # noqa: N801
    """Heads are taken out one by one from the last on, and one that is named twice takes the next with it."""

    def prune(self, layer: Any, heads: list[int]) -> Any:
        self.named(layer, heads)
        for head in sorted(heads, reverse=True):
            layer = super().prune(layer, [head]) if head < layer.n_head else layer
        return layer


class numbers_shift_under_the_loop(Plain):  # noqa: N801
    """Heads are taken out one by one in the order of their names, though the numbers of the rest shift."""

    def prune(self, layer: Any, heads: list[int]) -> Any:
        for head in dict.fromkeys(sorted(self.named(layer, heads))):
            layer = super().prune(layer, [min(head, layer.n_head - 1)])
        return layer


class pruning_again_by_old_numbers(Plain):  # noqa: N801
    """A layer that was pruned counts its heads by the numbers of before."""

    def prune(self, layer: Any, heads: list[int]) -> Any:
        before: list[int] = getattr(layer, "left", list(range(layer.n_head)))
        if max(heads) > max(before, default=0):
            raise ValueError("no such head")
        made = super().prune(layer, [before.index(head) for head in set(heads) if head in before])
        made.left = [head for head in before if head not in heads]
        return made


class zeroed_in_place_of_pruned(Plain):  # noqa: N801
    """Columns of the projection are set to 0: the output is right, and nothing is saved."""

    def prune(self, layer: Any, heads: list[int]) -> Any:
        made, d = copy.deepcopy(layer), layer.query.out_features // layer.n_head
        with torch.no_grad():
            for head in self.named(layer, heads):
                made.proj.weight[:, head * d : (head + 1) * d] = 0
        return made


class queries_and_keys_stay(Plain):  # noqa: N801
    """Values and projection lose their heads, while the maps of queries and keys are kept whole beside smaller ones."""

    def prune(self, layer: Any, heads: list[int]) -> Any:
        made = super().prune(layer, heads)
        made.old_query, made.old_key = layer.query, layer.key
        return made


class pruned_maps_are_frozen(Plain):  # noqa: N801
    """Smaller maps ask for no gradient: they come from under no_grad, and stay as they are."""

    def smaller(self, linear: Any, rows: Tensor, axis: int) -> nn.Linear:
        return super().smaller(linear, rows, axis).requires_grad_(False)


class frozen_maps_are_trained(Plain):  # noqa: N801
    """Smaller maps ask for gradients, though the old ones did not."""

    def smaller(self, linear: Any, rows: Tensor, axis: int) -> nn.Linear:
        return super().smaller(linear, rows, axis).requires_grad_(True)


class unknown_heads_are_left_out(Plain):  # noqa: N801
    """A head that the layer does not have is left out in silence."""

    def named(self, layer: Any, heads: list[int]) -> set[int]:
        return set(heads) & set(range(layer.n_head))


SEEN_BY: dict[type[Plain], str] = {
    gated_weights_renormalised: "a_gate_scales_its_head",
    gates_before_the_softmax: "a_gate_scales_its_head",
    the_rest_fills_up: "a_gate_scales_its_head",
    gate_of_the_next_head: "a_gate_scales_its_head",
    features_gated_in_turn: "a_gate_scales_its_head",
    gates_behind_the_projection: "a_gate_scales_its_head",
    gates_closed_or_open: "a_gate_scales_its_head",
    gates_behind_a_sigmoid: "open_gates_change_nothing",
    gate_left_in_the_layer: "gates_are_gone_afterwards",
    the_head_after_is_pruned: "a_pruned_head_adds_nothing",
    the_named_heads_stay: "a_pruned_head_adds_nothing",
    kept_heads_in_reverse: "a_pruned_head_adds_nothing",
    values_lose_the_first_rows: "a_pruned_head_adds_nothing",
    biases_keep_their_place: "a_pruned_head_adds_nothing",
    the_projection_loses_its_bias: "a_pruned_head_adds_nothing",
    scale_of_the_new_width: "a_pruned_head_adds_nothing",
    numbers_shift_under_the_loop: "several_heads_go_at_once",
    last_head_kept: "the_last_head_may_go",
    pruned_one_after_the_other: "a_head_named_twice_is_pruned_once",
    pruning_again_by_old_numbers: "pruning_again_counts_as_declared",
    zeroed_in_place_of_pruned: "a_pruned_head_is_gone",
    queries_and_keys_stay: "a_pruned_head_is_gone",
    pruned_maps_are_frozen: "a_pruned_layer_still_trains",
    frozen_maps_are_trained: "a_pruned_layer_still_trains",
    unknown_heads_are_left_out: "an_unknown_head_is_refused",
}
"""Each fault, and the law that is about it."""
FAULTY = tuple(make_target(kind, __name__) for kind in SEEN_BY)
targets = SimpleNamespace(**{target.__name__: target for target in FAULTY})
"""What is graded, by name: `finetune.faults.pruned_heads:targets.kept_heads_in_reverse`."""
