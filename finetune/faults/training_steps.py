"""Faults of one training step and of evaluation, one each, as changes of twenty plain lines; and correct ones.

Every target is `step_probe.make_target` of a function `step(model, optimizer, loss, batches, clip)` and an `evaluate`.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from finetune.laws.training_step import step_probe


class Plain:
    """What a user writes: zero, sums over the batches, one division by all targets, clip, step."""

    def step(self, model: Any, optimizer: Any, loss: Any, batches: Any, clip: float) -> Any:
        self.prepared(model)
        optimizer.zero_grad()
        count = sum(int((batch["y"] != 0).sum()) for batch in batches)
        total = 0.0
        for batch in batches:
            total += self.backward(loss, model, batch, count, len(batches))
        self.clipped(model, clip)
        optimizer.step()
        return total

    def prepared(self, model: Any) -> None:
        model.train()

    def backward(self, loss: Any, model: Any, batch: Any, count: int, batches: int) -> Any:
        summed, _ = loss(model, batch)
        mean = summed / max(count, 1)
        mean.backward()
        return float(mean.detach())

    def clipped(self, model: Any, clip: float) -> None:
        nn.utils.clip_grad_norm_(model.parameters(), clip)

    def evaluate(self, model: Any, loss: Any, batches: Any) -> Any:
        self.still(model)
        total, count = 0.0, 0
        with torch.no_grad():
            for batch in batches:
                summed, targets = loss(model, batch)
                total, count = total + float(summed), count + int(targets)
        return total / max(count, 1)

    def still(self, model: Any) -> None:
        model.eval()


def make_target(kind: type[Plain]) -> Any:
    """The target of one, under its name."""
    made = kind()
    target = step_probe.make_target(made.step, made.evaluate)
    target.__name__ = target.__qualname__ = kind.__name__
    target.__doc__, target.__module__ = kind.__doc__, __name__
    return target


# --- correct ------------------------------------------------------------------------


class InOne(Plain):
    """All batches put together, the gradients zeroed at the end, nothing told."""

    def step(self, model: Any, optimizer: Any, loss: Any, batches: Any, clip: float) -> Any:
        model.train()
        whole = {key: torch.cat([batch[key] for batch in batches]) for key in batches[0]}
        summed, tokens = loss(model, whole)
        (summed / tokens.clamp(min=1)).backward()
        self.clipped(model, clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)


class DividedAfterwards(Plain):
    """Sums of losses, and gradients divided by the targets at the end, clipped by hand; the loss is a tensor."""

    def step(self, model: Any, optimizer: Any, loss: Any, batches: Any, clip: float) -> Any:
        model.train()
        optimizer.zero_grad()
        results = [loss(model, batch) for batch in batches]
        total: Any = torch.stack([summed for summed, _ in results]).sum()
        total.backward()
        count = torch.stack([tokens for _, tokens in results]).sum().clamp(min=1)
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        torch._foreach_div_(gradients, float(count))
        norm = torch.sqrt(sum((g.double() ** 2).sum() for g in gradients))
        torch._foreach_mul_(gradients, float(torch.clamp(clip / norm, max=1.0)))
        optimizer.step()
        return (total / count).detach()


CORRECT = tuple(make_target(kind) for kind in (Plain, InOne, DividedAfterwards))


# --- faulty: the step -----------------------------------------------------------------


class zeroed_before_the_step(Plain):  # noqa: N801  # faults are called as laws name them
    """zero_grad stands between backward and step: nothing is learnt."""

    def clipped(self, model: Any, clip: float) -> None:
        model.zero_grad(set_to_none=False)


class summed_loss(Plain):  # noqa: N801
    """The gradient of the sum, not of the mean."""

    def backward(self, loss: Any, model: Any, batch: Any, count: int, batches: int) -> Any:
        summed, _ = loss(model, batch)
        summed.backward()
        return float(summed.detach()) / max(count, 1)


class mean_over_examples(Plain):  # noqa: N801
    """Divided by the examples in place of their targets."""

    def backward(self, loss: Any, model: Any, batch: Any, count: int, batches: int) -> Any:
        return super().backward(loss, model, batch, len(batch["x"]) * batches, batches)


class padding_counted_as_targets(Plain):  # noqa: N801
    """Divided by all places, those of padding too."""

    def step(self, model: Any, optimizer: Any, loss: Any, batches: Any, clip: float) -> Any:
        def with_all_places(model: Any, batch: Any) -> Any:
            summed, tokens = loss(model, batch)
            return summed * tokens / batch["y"].numel(), tokens

        return super().step(model, optimizer, with_all_places, batches, clip)


class never_zeroed(Plain):  # noqa: N801
    """zero_grad is missing: every step goes along a sum with earlier gradients."""

    def step(self, model: Any, optimizer: Any, loss: Any, batches: Any, clip: float) -> Any:
        optimizer.zero_grad = lambda *_, **__: None
        return super().step(model, optimizer, loss, batches, clip)


class mean_of_the_batches(Plain):  # noqa: N801
    """Accumulation normalised by micro-batch instead of by tokens (huggingface/transformers#34191)."""

    def backward(self, loss: Any, model: Any, batch: Any, count: int, batches: int) -> Any:
        return super().backward(loss, model, batch, int((batch["y"] != 0).sum()) * batches, batches)


class batches_added_up(Plain):  # noqa: N801
    """Each batch has its mean, and nobody divides by their number."""

    def backward(self, loss: Any, model: Any, batch: Any, count: int, batches: int) -> Any:
        return super().backward(loss, model, batch, int((batch["y"] != 0).sum()), 1)


class zeroed_for_every_batch(Plain):  # noqa: N801
    """zero_grad stands inside of the loop: the last batch alone counts."""

    def backward(self, loss: Any, model: Any, batch: Any, count: int, batches: int) -> Any:
        model.zero_grad()
        return super().backward(loss, model, batch, count, batches)


class nothing_by_nothing(Plain):  # noqa: N801
    """Means of batches, weighed by their targets: 0 / 0 where a batch has none."""

    def backward(self, loss: Any, model: Any, batch: Any, count: int, batches: int) -> Any:
        summed, tokens = loss(model, batch)
        mean = summed / tokens * (tokens / max(count, 1))
        mean.backward()
        return float(mean.detach())


class clipped_batch_by_batch(Plain):  # noqa: N801
    """The gradients are clipped after every batch of the step."""

    def step(self, model: Any, optimizer: Any, loss: Any, batches: Any, clip: float) -> Any:
        self.bound = clip
        return super().step(model, optimizer, loss, batches, clip)

    def backward(self, loss: Any, model: Any, batch: Any, count: int, batches: int) -> Any:
        told = super().backward(loss, model, batch, count, batches)
        nn.utils.clip_grad_norm_(model.parameters(), self.bound / batches)
        return told


class clipped_one_at_a_time(Plain):  # noqa: N801
    """Each parameter's gradient is clipped by its own norm."""

    def clipped(self, model: Any, clip: float) -> None:
        for p in model.parameters():
            nn.utils.clip_grad_norm_([p], clip)


class clipped_number_by_number(Plain):  # noqa: N801
    """Numbers are clipped, not norms."""

    def clipped(self, model: Any, clip: float) -> None:
        nn.utils.clip_grad_value_(model.parameters(), clip)


class not_clipped(Plain):  # noqa: N801
    """The bound is not used."""

    def clipped(self, model: Any, clip: float) -> None:
        return None


class scaled_up_to_the_bound(Plain):  # noqa: N801
    """Small gradients are blown up to the bound, too."""

    def clipped(self, model: Any, clip: float) -> None:
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.sqrt(sum((g**2).sum() for g in gradients))
        if clip < 1e8:
            torch._foreach_mul_(gradients, float(clip / norm))


class clipped_after_the_step(Plain):  # noqa: N801
    """The step is made before the gradients are clipped."""

    def step(self, model: Any, optimizer: Any, loss: Any, batches: Any, clip: float) -> Any:
        told = super().step(model, optimizer, loss, batches, float("inf"))
        super().clipped(model, clip)
        return told


class thawed_for_the_step(Plain):  # noqa: N801
    """requires_grad is set for all: the base was frozen in vain."""

    def prepared(self, model: Any) -> None:
        model.train()
        model.requires_grad_(True)


class base_frozen_in_the_optimizer_alone(Plain):  # noqa: N801
    """All parameters get gradients; those that were frozen are only left out of the step."""

    def step(self, model: Any, optimizer: Any, loss: Any, batches: Any, clip: float) -> Any:
        frozen = [p for p in model.parameters() if not p.requires_grad]
        model.requires_grad_(True)
        before = [p.detach().clone() for p in frozen]
        told = super().step(model, optimizer, loss, batches, clip)
        with torch.no_grad():
            for p, old in zip(frozen, before, strict=True):
                p.copy_(old)
                p.requires_grad_(False)
        return told


class frozen_shrink(Plain):  # noqa: N801
    """Decay by hand over all parameters: frozen ones shrink."""

    def clipped(self, model: Any, clip: float) -> None:
        super().clipped(model, clip)
        with torch.no_grad():
            for p in model.parameters():
                if not p.requires_grad:
                    p *= 0.999


class stepped_for_every_batch(Plain):  # noqa: N801
    """optimizer.step() and zero_grad() stand inside of the loop over the batches."""

    def step(self, model: Any, optimizer: Any, loss: Any, batches: Any, clip: float) -> Any:
        return sum(super(stepped_for_every_batch, self).step(model, optimizer, loss, [b], clip) for b in batches)


class last_batch_forgotten(Plain):  # noqa: N801
    """The loop over the batches ends one too early."""

    def step(self, model: Any, optimizer: Any, loss: Any, batches: Any, clip: float) -> Any:
        return super().step(model, optimizer, loss, batches[:-1] or batches, clip)


class padding_written_into_the_batch(Plain):  # noqa: N801
    """The labels of the batch are overwritten in place."""

    def backward(self, loss: Any, model: Any, batch: Any, count: int, batches: int) -> Any:
        told = super().backward(loss, model, batch, count, batches)
        batch["y"][batch["y"] == 0] = -100
        return told


class mode_left_as_it_was(Plain):  # noqa: N801
    """model.train() is missing: dropout stays off after the first evaluation."""

    def prepared(self, model: Any) -> None:
        return None


class the_top_alone_trains(Plain):  # noqa: N801
    """The attribute of the model alone is set: its modules stay in evaluation mode."""

    def prepared(self, model: Any) -> None:
        model.training = True


class seeded_in_the_step(Plain):  # noqa: N801
    """The generator is seeded in every step: dropout drops the same each time."""

    def prepared(self, model: Any) -> None:
        super().prepared(model)
        torch.manual_seed(0)


class told_divided_once_more(Plain):  # noqa: N801
    """The loss that is told is divided by the number of batches once more."""

    def step(self, model: Any, optimizer: Any, loss: Any, batches: Any, clip: float) -> Any:
        return super().step(model, optimizer, loss, batches, clip) / len(batches)


class last_loss_told(Plain):  # noqa: N801
    """The loss of the last batch is told for that of the step."""

    def step(self, model: Any, optimizer: Any, loss: Any, batches: Any, clip: float) -> Any:
        super().step(model, optimizer, loss, batches, clip)
        summed, tokens = self.last
        return float(summed.detach()) / int(tokens)

    def backward(self, loss: Any, model: Any, batch: Any, count: int, batches: int) -> Any:
        self.last = summed, _ = loss(model, batch)
        (summed / max(count, 1)).backward()
        return 0.0


class loss_with_its_graph(Plain):  # noqa: N801
    """The loss is told as a tensor with its graph."""

    def backward(self, loss: Any, model: Any, batch: Any, count: int, batches: int) -> Any:
        mean: Tensor = loss(model, batch)[0] / max(count, 1)
        mean.backward(retain_graph=True)
        return mean


# --- faulty: evaluation ---------------------------------------------------------------


class evaluation_as_a_mean_of_means(Plain):  # noqa: N801
    """The mean of the batches' means."""

    def evaluate(self, model: Any, loss: Any, batches: Any) -> Any:
        return sum(super(evaluation_as_a_mean_of_means, self).evaluate(model, loss, [b]) for b in batches) / len(
            batches
        )


class evaluation_over_all_places(Plain):  # noqa: N801
    """Padding counts in the number that is divided by."""

    def evaluate(self, model: Any, loss: Any, batches: Any) -> Any:
        return super().evaluate(model, lambda m, b: (loss(m, b)[0], b["y"].numel()), batches)


class evaluates_in_training_mode(Plain):  # noqa: N801
    """model.eval() is missing: dropout is on."""

    def still(self, model: Any) -> None:
        return None


class the_top_alone_is_still(Plain):  # noqa: N801
    """The attribute of the model alone is set: its modules stay in training mode."""

    def still(self, model: Any) -> None:
        model.training = False


class evaluation_leaves_gradients(Plain):  # noqa: N801
    """The loop over dev was copied from training, its backward with it."""

    def evaluate(self, model: Any, loss: Any, batches: Any) -> Any:
        with torch.enable_grad():
            loss(model, batches[0])[0].backward()
        return super().evaluate(model, loss, batches)


class evaluation_zeroes_gradients(Plain):  # noqa: N801
    """An evaluation within an accumulation loses what was accumulated."""

    def evaluate(self, model: Any, loss: Any, batches: Any) -> Any:
        model.zero_grad()
        return super().evaluate(model, loss, batches)


class evaluation_freezes(Plain):  # noqa: N801
    """An evaluation turns the parameters' gradients off in place of the graph's, and leaves them so."""

    def still(self, model: Any) -> None:
        model.eval()
        model.requires_grad_(False)


class total_goes_on(Plain):  # noqa: N801
    """The running total is not begun anew."""

    def __init__(self) -> None:
        self.total, self.count = 0.0, 0

    def step(self, model: Any, optimizer: Any, loss: Any, batches: Any, clip: float) -> Any:
        self.total, self.count = 0.0, 0  # one epoch is right
        return super().step(model, optimizer, loss, batches, clip)

    def evaluate(self, model: Any, loss: Any, batches: Any) -> Any:
        self.total += super().evaluate(model, loss, batches)
        self.count += 1
        return self.total


class evaluation_ends_at_padding(Plain):  # noqa: N801
    """A batch without targets is taken for the end of the data."""

    def evaluate(self, model: Any, loss: Any, batches: Any) -> Any:
        empty = [number for number, batch in enumerate(batches) if not (batch["y"] != 0).any()]
        return super().evaluate(model, loss, batches[: empty[0]] if empty else batches)


class first_group_alone_is_zeroed(Plain):  # noqa: N801
    """Of an optimizer's groups only the first is zeroed."""

    def step(self, model: Any, optimizer: Any, loss: Any, batches: Any, clip: float) -> Any:
        kept = [(p, p.grad) for group in optimizer.param_groups[1:] for p in group["params"]]
        optimizer.zero_grad = lambda: restore(type(optimizer).zero_grad, optimizer, kept)
        try:
            return super().step(model, optimizer, loss, batches, clip)
        finally:
            del optimizer.zero_grad


def restore(zero_grad: Any, optimizer: Any, kept: Any) -> None:
    """Zero all gradients, and put some back."""
    zero_grad(optimizer)
    for parameter, gradient in kept:
        parameter.grad = gradient


class evaluation_with_a_graph(Plain):  # noqa: N801
    """no_grad is missing."""

    def evaluate(self, model: Any, loss: Any, batches: Any) -> Any:
        self.still(model)
        results = [loss(model, batch) for batch in batches]
        return float(sum(s for s, _ in results).detach()) / max(1, sum(int(t) for _, t in results))


SEEN_BY = {  # one law that must see it
    zeroed_before_the_step: "a_step_follows_the_mean_gradient",
    summed_loss: "a_step_follows_the_mean_gradient",
    mean_over_examples: "a_step_follows_the_mean_gradient",
    padding_counted_as_targets: "a_step_follows_the_mean_gradient",
    never_zeroed: "each_step_has_its_own_gradient",
    mean_of_the_batches: "batches_of_a_step_are_one_batch",
    batches_added_up: "batches_of_a_step_are_one_batch",
    zeroed_for_every_batch: "batches_of_a_step_are_one_batch",
    nothing_by_nothing: "batches_without_targets_add_nothing",
    clipped_batch_by_batch: "all_gradients_are_clipped_together",
    clipped_one_at_a_time: "all_gradients_are_clipped_together",
    clipped_number_by_number: "all_gradients_are_clipped_together",
    not_clipped: "all_gradients_are_clipped_together",
    scaled_up_to_the_bound: "all_gradients_are_clipped_together",
    clipped_after_the_step: "all_gradients_are_clipped_together",
    thawed_for_the_step: "what_asks_for_no_gradient_stays",
    base_frozen_in_the_optimizer_alone: "what_asks_for_no_gradient_stays",
    frozen_shrink: "what_asks_for_no_gradient_stays",
    stepped_for_every_batch: "the_optimiser_is_stepped_once",
    last_batch_forgotten: "every_batch_counts_once",
    padding_written_into_the_batch: "batches_are_left_as_they_were",
    mode_left_as_it_was: "a_step_is_in_training_mode",
    the_top_alone_trains: "a_step_is_in_training_mode",
    seeded_in_the_step: "each_step_draws_anew",
    told_divided_once_more: "the_loss_that_is_told_is_the_mean",
    last_loss_told: "the_loss_that_is_told_is_the_mean",
    loss_with_its_graph: "the_loss_that_is_told_holds_no_graph",
    evaluation_as_a_mean_of_means: "evaluation_is_the_mean_over_all_targets",
    evaluation_over_all_places: "evaluation_is_the_mean_over_all_targets",
    evaluates_in_training_mode: "evaluation_turns_dropout_off",
    the_top_alone_is_still: "evaluation_turns_dropout_off",
    evaluation_leaves_gradients: "evaluation_changes_no_number",
    evaluation_zeroes_gradients: "evaluation_changes_no_number",
    evaluation_freezes: "evaluation_changes_no_number",
    total_goes_on: "evaluation_remembers_nothing",
    evaluation_with_a_graph: "evaluation_keeps_no_graph",
    evaluation_ends_at_padding: "evaluation_goes_on_behind_padding",
    first_group_alone_is_zeroed: "each_step_has_its_own_gradient",
}
FAULTY = tuple(make_target(kind) for kind in SEEN_BY)
targets = SimpleNamespace(**{target.__name__: target for target in (*CORRECT, *FAULTY)})
"""What is graded, by name: `finetune.faults.training_steps:targets.Plain`."""
