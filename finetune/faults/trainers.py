"""Faults of trainers, one each, as changes of one loop in minGPT's style; and correct ones in other styles.

Every target is `probe.make_target` of a function `train(model, loss, examples, config)`. `Loop` is cut into steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

from finetune.faults.bases.trainers import (
    CORRECT,
    Loop,
    make_target,
)

# --- faulty -------------------------------------------------------------------------


class summed_loss(Loop):  # noqa: N801  # faults are called as laws name them
    """The gradient of the sum, not of the mean."""

    def divided(self, count: int) -> None:
        return None


class mean_over_examples(Loop):  # noqa: N801
    """Divided by the number of examples in place of tokens."""

    def backward(self, batch: list[int]) -> int:
        self.count = super().backward(batch)
        return len(batch)

    def counted(self, batch: list[int], count: int) -> int:
        return self.count


class gradients_never_zeroed(Loop):  # noqa: N801
    """zero_grad is missing."""

    def step(self, optimizer: torch.optim.Optimizer, batch: list[int]) -> None:
        optimizer.zero_grad = lambda *_, **__: None  # type: ignore[method-assign]
        super().step(optimizer, batch)


class zeroed_after_backward(Loop):  # noqa: N801
    """zero_grad stands between backward and step."""

    def divided(self, count: int) -> None:
        self.model.zero_grad()
        for p in self.parameters():
            p.grad = torch.zeros_like(p)


class betas_of_the_default(Loop):  # noqa: N801
    """The betas that are asked for are not passed on."""

    def built(self, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
        return torch.optim.AdamW(groups, lr=self.config.learning_rate)


class optimizer_new_each_epoch(Loop):  # noqa: N801
    """The optimizer, and its moments with it, are made anew in each epoch."""

    def run(self) -> None:
        self.checked()
        self.seeded()
        self.in_training()
        for epoch in range(self.config.epochs):
            optimizer = self.optimizer()
            for batch in self.batches(epoch):
                self.step(optimizer, batch)


class decay_in_the_gradient(Loop):  # noqa: N801
    """Adam with an L2 term in place of AdamW."""

    def built(self, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
        return torch.optim.Adam(groups, lr=self.config.learning_rate, betas=tuple(self.config.betas))


class no_decay_at_all(Loop):  # noqa: N801
    """The decay that is asked for is not passed on."""

    def decays(self, module: nn.Module, name: str) -> bool:
        return False


class norms_and_biases_decay(Loop):  # noqa: N801
    """Weight decay on norms and biases."""

    def decays(self, module: nn.Module, name: str) -> bool:
        return True


class decay_by_name(Loop):  # noqa: N801
    """All that is called weight decays: a norm and an embedding are, too."""

    def decays(self, module: nn.Module, name: str) -> bool:
        return name == "weight"


class tables_decay(Loop):  # noqa: N801
    """All with two axes decay, and it is not declared."""

    def decays(self, module: nn.Module, name: str) -> bool:
        return dict(module.named_parameters(recurse=False))[name].dim() >= 2


class frozen_decays(Loop):  # noqa: N801
    """Decay by hand over all parameters: frozen ones shrink."""

    def step(self, optimizer: torch.optim.Optimizer, batch: list[int]) -> None:
        super().step(optimizer, batch)
        with torch.no_grad():
            for p in self.model.parameters():
                if not p.requires_grad:
                    p.mul_(1 - self.config.learning_rate * self.config.weight_decay)


class frozen_is_thawed(Loop):  # noqa: N801
    """requires_grad is set for all: the base was frozen in vain."""

    def in_training(self) -> None:
        super().in_training()

    def optimizer(self) -> torch.optim.Optimizer:
        self.model.requires_grad_(True)
        return super().optimizer()


class clipped_one_by_one(Loop):  # noqa: N801
    """Each parameter's gradient is clipped by its own norm."""

    def clipped(self) -> None:
        for p in self.parameters():
            nn.utils.clip_grad_norm_([p], self.config.clip)


class clipped_by_value(Loop):  # noqa: N801
    """Numbers are clipped, not norms."""

    def clipped(self) -> None:
        nn.utils.clip_grad_value_(self.parameters(), self.config.clip)


class never_clipped(Loop):  # noqa: N801
    """The bound is not used."""

    def clipped(self) -> None:
        return None


class always_scaled_to_the_bound(Loop):  # noqa: N801
    """Small gradients are blown up to the bound, too."""

    def clipped(self) -> None:
        norm = torch.cat([p.grad.reshape(-1) for p in self.parameters() if p.grad is not None]).norm()
        for p in self.parameters():
            if p.grad is not None and self.config.clip < 1e8:
                p.grad *= self.config.clip / norm


class clipped_before_the_division(Loop):  # noqa: N801
    """Clipped as sums, then divided by the tokens."""

    def step(self, optimizer: torch.optim.Optimizer, batch: list[int]) -> None:
        divided = self.divided
        self.divided = lambda count: None  # type: ignore[method-assign]
        self.clip_then = divided
        super().step(optimizer, batch)
        self.divided = divided  # type: ignore[method-assign]

    def clipped(self) -> None:
        super().clipped()
        self.clip_then(self.count)

    def counted(self, batch: list[int], count: int) -> int:
        return count

    def backward(self, batch: list[int]) -> int:
        self.count = super().backward(batch)
        return self.count


class mean_of_the_parts(Loop):  # noqa: N801
    """Accumulation normalised by micro-batch instead of by tokens (huggingface/transformers#34191)."""

    def backward(self, batch: list[int]) -> int:
        count, parts = 0, self.parts(batch)
        for part in parts:
            total, tokens = self.loss(self.model, self.collated(part))
            (total / tokens.clamp(min=1) / len(parts)).backward()
            count += int(tokens)
        return count

    def divided(self, count: int) -> None:
        return None


class last_part_alone(Loop):  # noqa: N801
    """zero_grad inside the loop over the parts: only the last one counts."""

    def backward(self, batch: list[int]) -> int:
        count = 0
        for part in self.parts(batch):
            self.model.zero_grad()
            total, tokens = self.loss(self.model, self.collated(part))
            total.backward()
            count += int(tokens)
        return count


class accumulation_ignored(Loop):  # noqa: N801
    """The batch is computed at once, whatever was asked for: memory is not saved."""

    def parts(self, batch: list[int]) -> list[list[int]]:
        return [batch]


class rate_of_another_optimizer(Loop):  # noqa: N801
    """The scheduler is bound to another optimizer."""

    def set_rate(self, optimizer: torch.optim.Optimizer) -> None:
        other = self.__dict__.setdefault("other", self.built([{"params": self.parameters()}]))
        super().set_rate(other)


class rate_one_step_late(Loop):  # noqa: N801
    """The step is made before its rate is set."""

    def step(self, optimizer: torch.optim.Optimizer, batch: list[int]) -> None:
        optimizer.zero_grad()
        count = self.backward(batch)
        self.divided(count)
        self.clipped()
        optimizer.step()
        self.tokens += self.counted(batch, count)
        self.set_rate(optimizer)


class warm_up_by_steps(Loop):  # noqa: N801
    """The schedule counts steps where tokens were meant."""

    def counted(self, batch: list[int], count: int) -> int:
        return 1


class linear_in_place_of_the_cosine(Loop):  # noqa: N801
    """A straight line from 1 to the floor."""

    def curve(self, progress: float) -> float:
        return 1.0 - min(progress, 1.0)


class whole_cosine(Loop):  # noqa: N801
    """cos(2 pi p): down and up again within the schedule."""

    def curve(self, progress: float) -> float:
        return super().curve(min(2 * progress, 2 - 2 * min(progress, 1.0)))


class cosine_comes_back(Loop):  # noqa: N801
    """Progress grows beyond 1, and the rate rises again."""

    def curve(self, progress: float) -> float:
        return 0.5 * (1.0 + math.cos(math.pi * progress))


class floor_forgotten(Loop):  # noqa: N801
    """The rate falls to 0."""

    def rate(self) -> float:
        c = self.config
        return (
            super().rate()
            if self.tokens < c.warmup_tokens or c.final_tokens is None
            else self.curve((self.tokens - c.warmup_tokens) / (c.final_tokens - c.warmup_tokens))
        )


class padding_counted(Loop):  # noqa: N801
    """All places count as tokens."""

    def counted(self, batch: list[int], count: int) -> int:
        return int(self.collated(batch)["y"].numel())


class long_warm_up_unnoticed(Loop):  # noqa: N801
    """A warm-up longer than the schedule goes unnoticed."""

    def checked(self) -> None:
        return None


class last_batch_lost(Loop):  # noqa: N801
    """The last, incomplete batch is dropped, and it is not declared."""

    def batches(self, epoch: int) -> Iterator[list[int]]:
        yield from (b for b in super().batches(epoch) if len(b) == min(self.config.batch_size, len(self.examples)))


class drawn_with_replacement(Loop):  # noqa: N801
    """Examples are drawn with replacement: some come twice, some never."""

    def order(self, epoch: int) -> list[int]:
        n = len(self.examples)
        return torch.randint(n, (n,), generator=self.generator).tolist()


class one_epoch_too_few(Loop):  # noqa: N801
    """range(1, epochs)."""

    def run(self) -> None:
        self.config.epochs = max(1, self.config.epochs - 1)
        super().run()


class never_shuffled(Loop):  # noqa: N801
    """The order of the data."""

    def order(self, epoch: int) -> list[int]:
        return list(range(len(self.examples)))


class shuffled_once(Loop):  # noqa: N801
    """One order for all epochs."""

    def order(self, epoch: int) -> list[int]:
        self.generator.manual_seed(self.config.seed)
        return super().order(epoch)


class order_from_the_clock(Loop):  # noqa: N801
    """The order's generator is not seeded."""

    def seeded(self) -> None:
        torch.manual_seed(self.config.seed)
        self.generator.seed()


class draws_unseeded(Loop):  # noqa: N801
    """The order is seeded, dropout is not."""

    def seeded(self) -> None:
        self.generator.manual_seed(self.config.seed)


class seed_unused(Loop):  # noqa: N801
    """A seed of its own, whatever was asked for."""

    def seeded(self) -> None:
        torch.manual_seed(0)
        self.generator.manual_seed(0)


class last_bits_of_the_seed(Loop):  # noqa: N801
    """Only the last six bits of the seed count."""

    def seeded(self) -> None:
        torch.manual_seed(self.config.seed % 64)
        self.generator.manual_seed(self.config.seed % 64)


class left_in_evaluation(Loop):  # noqa: N801
    """model.train() is missing."""

    def in_training(self) -> None:
        return None


class evaluation_after_an_epoch(Loop):  # noqa: N801
    """model.train() stands before the loop, and an evaluation after each epoch: from the second on, dropout is off."""

    def batches(self, epoch: int) -> Iterator[list[int]]:
        yield from super().batches(epoch)
        self.model.eval()


class divided_by_no_token(Loop):  # noqa: N801
    """0 / 0 where a batch is padding alone."""

    def divided(self, count: int) -> None:
        for p in self.parameters():
            if p.grad is not None:
                p.grad /= torch.tensor(float(count))


SEEN_BY = {  # one law that must see it
    summed_loss: "a_step_is_that_of_adamw",
    mean_over_examples: "a_step_is_that_of_adamw",
    gradients_never_zeroed: "moments_are_kept_over_steps",
    zeroed_after_backward: "a_step_is_that_of_adamw",
    betas_of_the_default: "moments_are_kept_over_steps",
    optimizer_new_each_epoch: "moments_are_kept_over_steps",
    decay_in_the_gradient: "matrices_decay",
    no_decay_at_all: "matrices_decay",
    norms_and_biases_decay: "nothing_else_decays",
    decay_by_name: "nothing_else_decays",
    tables_decay: "nothing_else_decays",
    frozen_decays: "frozen_parameters_keep_their_bits",
    frozen_is_thawed: "frozen_parameters_keep_their_bits",
    clipped_one_by_one: "gradients_are_clipped_by_their_common_norm",
    clipped_by_value: "gradients_are_clipped_by_their_common_norm",
    never_clipped: "gradients_are_clipped_by_their_common_norm",
    always_scaled_to_the_bound: "gradients_are_clipped_by_their_common_norm",
    clipped_before_the_division: "gradients_are_clipped_by_their_common_norm",
    mean_of_the_parts: "accumulated_parts_are_the_whole_batch",
    last_part_alone: "accumulated_parts_are_the_whole_batch",
    accumulation_ignored: "accumulated_parts_are_the_whole_batch",
    rate_of_another_optimizer: "the_rate_warms_up_by_tokens",
    rate_one_step_late: "the_rate_warms_up_by_tokens",
    warm_up_by_steps: "the_rate_warms_up_by_tokens",
    linear_in_place_of_the_cosine: "the_rate_follows_the_cosine",
    whole_cosine: "the_rate_follows_the_cosine",
    cosine_comes_back: "the_rate_stays_at_its_floor",
    floor_forgotten: "the_rate_stays_at_its_floor",
    padding_counted: "padding_is_no_token",
    long_warm_up_unnoticed: "a_warm_up_beyond_the_schedule_is_told",
    last_batch_lost: "every_example_comes_once_an_epoch",
    drawn_with_replacement: "every_example_comes_once_an_epoch",
    one_epoch_too_few: "every_example_comes_once_an_epoch",
    never_shuffled: "epochs_are_shuffled",
    shuffled_once: "epochs_are_shuffled",
    order_from_the_clock: "one_seed_gives_one_run",
    draws_unseeded: "one_seed_gives_one_run",
    seed_unused: "another_seed_gives_another_run",
    last_bits_of_the_seed: "another_seed_gives_another_run",
    left_in_evaluation: "the_model_is_in_training_mode",
    evaluation_after_an_epoch: "the_model_is_in_training_mode",
    divided_by_no_token: "a_step_without_targets_stays_finite",
}
FAULTY = tuple(make_target(loop) for loop in SEEN_BY)
targets = SimpleNamespace(**{target.__name__: target for target in (*CORRECT, *FAULTY)})
"""What is graded, by name: `finetune.faults.trainers:targets.Loop`."""
