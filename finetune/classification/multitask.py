"""Joint training L_cls + alpha L_mlm: two sources, one encoder, each loss a mean over its targets of the whole step.

The number of targets is known before anything is computed, so that parts of a step add up to the whole one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from finetune.errors import BadInput
from finetune.models.classifier import IGNORED, Classifier, MaskedLM, masked_lm_loss
from finetune.training.config import TrainConfig
from finetune.training.train import Loss, Source, Trainer, order


class Joint(nn.Module):
    """A classifier and a masked-LM head on one encoder.

    Raises: BadInput where they stand on two.
    """

    def __init__(self, classifier: Classifier, masked_lm: MaskedLM) -> None:
        super().__init__()
        if classifier.encoder is not masked_lm.encoder:
            raise BadInput("joint training is of one encoder: the two heads have different ones")
        self.classifier, self.masked_lm = classifier, masked_lm


class JointTrainer(Trainer):
    """Trains on two sources at once.

    A step takes the trainer's examples of the labelled source and as many blocks, or `blocks`, of the other, which
    begins anew, in another order and with other tokens hidden, when it has been through. The mean of a step is
    sum L_cls / n_cls + alpha sum L_mlm / n_mlm, over the parts that it is computed in.

    Args: as `Trainer`'s; loss, of the classifier; unlabelled, a source with labels (B, n), -100 without a
        prediction; alpha, at least 0; blocks of a step, None for batch_size.
    Raises: BadInput for a negative alpha, and for several processes.
    Source: the assignment's section 3, problem 3.
    """

    def __init__(
        self, model: Joint, loss: Loss, source: Source, unlabelled: Source, alpha: float, config: TrainConfig,
        *, blocks: int | None = None, **others: Any,
    ) -> None:  # fmt: skip
        super().__init__(model, loss, source, config, **others)
        if not alpha >= 0:
            raise BadInput(f"mlm_alpha must not be negative, got {alpha}")
        if self.team.world > 1:
            raise BadInput("joint training runs in one process")
        self.joint, self.unlabelled, self.alpha = model, unlabelled, alpha
        self.blocks = blocks or config.batch_size
        self.masked_lm_loss = 0.0

    def blocks_of_step(self, step: int) -> list[tuple[int, int]]:
        """The blocks of a step, as (epoch of the unlabelled source, number)."""
        count, first = len(self.unlabelled), step * self.blocks
        found = []
        orders: dict[int, npt.NDArray[np.int64]] = {}
        for place in range(first, first + self.blocks):
            epoch, at = divmod(place, count)
            if epoch not in orders:
                orders[epoch] = order(self.config.seed + 1, epoch, count)  # another order than that of the labels
            found.append((epoch, int(orders[epoch][at])))
        return found

    def _batches(self) -> list[Mapping[str, Tensor]]:
        """The step's blocks in as many parts as the labelled examples, and at times one more at the end of an epoch."""
        places = self.blocks_of_step(self.step)
        found: list[Mapping[str, Tensor]] = []
        for part in np.array_split(np.arange(len(places)), min(self.config.accumulate, len(places))):
            for epoch in sorted({places[n][0] for n in part}):
                chosen = np.array([places[n][1] for n in part if places[n][0] == epoch])
                found.append({k: v.to(self.team.device) for k, v in self.unlabelled.batch(epoch, chosen).items()})
        return found

    def _gradients(self, indices: npt.NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Both losses' gradients, scaled so that dividing by the number of labels gives the mean of the step."""
        total, labels = super()._gradients(indices)
        if self.alpha == 0:
            return total, labels
        batches = self._batches()
        targets = sum(int((batch["labels"] != IGNORED).sum()) for batch in batches)
        scale = self.alpha * int(labels) / max(targets, 1)
        summed = torch.zeros((), dtype=torch.float64, device=self.team.device)
        for batch in batches:
            with self._autocast():
                loss, _ = masked_lm_loss(self.joint.masked_lm, batch)
            self.team.backward(loss * scale)
            summed = summed + loss.detach()
        self.masked_lm_loss = float(summed) / max(targets, 1)
        return total + scale * summed, labels
