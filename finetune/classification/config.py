"""The settings of a classification run, with the defaults of each method, and how they set the trainer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from finetune.data.tables import Columns
from finetune.errors import BadInput
from finetune.models.classifier import Pool
from finetune.models.encoder import Encoder
from finetune.peft import METHODS, Method
from finetune.training.config import TrainConfig

DEFAULTS: Mapping[str, tuple[float, int]] = {
    "full": (1e-4, 7), "head": (1e-2, 12), "prompt": (5e-3, 9), "prefix": (5e-3, 9), "lora": (1e-4, 9),
    "bias": (1e-3, 9),
}  # fmt: skip
"""Learning rate and epochs of each method where none are given: what the assignment's solution ended with."""


@dataclass(frozen=True)
class ClassifyConfig:
    """One fine-tuning run; the fields have the names of the command's options.

    Args: model, a folder or a name on the hub; data, a folder, a file, or `hub:NAME`; task, None to find it by the
        files; learning_rate, epochs, None for the method's; warmup_ratio, of all examples; logging_steps, steps between
        evaluations, None for once an epoch; prompt_length, also of a prefix; train_size, so many training examples
        alone, drawn by hash; small_subset, 10 examples a side; mlm_alpha, the weight of the masked-LM loss, 0 for none;
        unlabelled, its text, None for that of the training examples; gradient_checkpointing, keep the input of each
        layer alone, and compute the rest again on the way back; output_dir, None to keep nothing; text_column, the data
        are a table with this column; label_column, pair_column, its others; dev_data, test_data, files that take the
        place of those of data; dev_size, test_size, so many examples of dev and test, drawn by hash; label_smoothing;
        class_weights, None, "balanced" or numbers; early_stopping, end after so many evaluations without a better one.
    """

    model: str
    data: str = "hub:boolq"
    task: str | None = None
    method: str = "full"
    pool: Pool = "first"
    backend: str = "auto"
    learning_rate: float | None = None
    epochs: int | None = None
    batch_size: int = 64
    accumulate: int = 1
    max_seq_length: int = 128
    optimizer: str = "adamw"
    schedule: str = "linear"
    warmup_ratio: float = 0.1
    weight_decay: float = 0.01
    clip: float = 1.0
    logging_steps: int | None = None
    prompt_length: int = 128
    rank: int = 8
    alpha: float = 16.0
    dropout: float = 0.1
    small_subset: bool = False
    train_size: int | None = None
    drop_leaks: bool = False
    mlm_alpha: float = 0.0
    unlabelled: str | None = None
    block_size: int = 128
    line_by_line: bool = False
    device: str | None = None
    precision: str = "float32"
    gradient_checkpointing: bool = False
    seed: int = 0
    output_dir: str | None = None
    cache_dir: str | None = None
    overwrite_output_dir: bool = False
    text_column: str | None = None
    pair_column: str | None = None
    label_column: str = "label"
    dev_data: str | None = None
    test_data: str | None = None
    dev_size: int | None = None
    test_size: int | None = None
    label_smoothing: float = 0.0
    class_weights: str | None = None
    early_stopping: int | None = None

    def __post_init__(self) -> None:
        if self.method not in DEFAULTS:
            raise BadInput(f"method {self.method!r} is not one of {', '.join(DEFAULTS)}")
        if not 0 <= self.warmup_ratio < 1:
            raise BadInput(f"a warm-up takes a share of training from 0 to below 1, got {self.warmup_ratio}")
        if not 0 <= self.label_smoothing < 1:
            raise BadInput(f"label_smoothing is a share from 0 to below 1, got {self.label_smoothing}")
        if self.text_column is None:
            for name in ("pair_column", "dev_data", "test_data"):
                if getattr(self, name) is not None:
                    raise BadInput(f"{name} belongs to a table: give text_column as well")
        elif self.task is not None:
            raise BadInput(f"a table with text_column is not the data set {self.task}: leave one of them out")
        if not self.mlm_alpha >= 0:
            raise BadInput(f"mlm_alpha must not be negative, got {self.mlm_alpha}")
        if self.mlm_alpha and self.method == "head":
            raise BadInput(
                "head tuning freezes the encoder: a masked-LM loss would change nothing; take another method"
            )

    @property
    def columns(self) -> Columns | None:
        """The columns of the table that the data are; None for a known data set."""
        if self.text_column is None:
            return None
        return Columns(self.text_column, self.label_column, self.pair_column)

    @property
    def prompt_positions(self) -> int:
        """The positions that a prompt or a prefix takes."""
        return self.prompt_length if self.method in ("prompt", "prefix") else 0

    def training(self, examples: int, **changes: Any) -> TrainConfig:
        """How the trainer is set: rates by examples, ending with the run, so that no schedule outlasts it."""
        rate, epochs = DEFAULTS[self.method]
        epochs = self.epochs or epochs
        total = epochs * examples
        steps = -(-examples // self.batch_size)
        return TrainConfig(
            epochs=epochs, batch_size=self.batch_size, accumulate=self.accumulate, precision=self.precision,
            learning_rate=rate if self.learning_rate is None else self.learning_rate, betas=(0.9, 0.999),
            weight_decay=self.weight_decay, clip=self.clip, optimizer=self.optimizer, schedule=self.schedule,
            warmup_tokens=int(self.warmup_ratio * total), seed=self.seed, floor=0.0,
            # One step more than there is: the rate of the last step would be 0.
            final_tokens=total + self.batch_size, log_every=self.logging_steps or steps, **changes,
        )  # fmt: skip


def recompute_layers(encoder: nn.Module, config: ClassifyConfig) -> None:
    """Where the configuration asks for it, let a step of the encoder keep the input of each layer alone.

    Raises: BadInput where the encoder cannot, or would lose a prefix by it, as those of transformers do: they compute
        the layers again without `past_key_values`, and nothing of the prefix is trained.
    """
    if not config.gradient_checkpointing:
        return
    if isinstance(encoder, Encoder):
        encoder.gradient_checkpointing_enable()
        return
    if config.method == "prefix":
        raise BadInput(
            "with gradient_checkpointing an AutoModel drops the prefix: take --backend own, or no checkpointing"
        )
    if not getattr(encoder, "supports_gradient_checkpointing", False):
        raise BadInput(f"{type(encoder).__name__} has no gradient_checkpointing")
    encoder.gradient_checkpointing_enable({"use_reentrant": False})  # type: ignore[operator]  # a method of theirs


def method_of(config: ClassifyConfig) -> Method | None:
    """The options of the adapter; None for full fine-tuning."""
    if config.method == "full":
        return None
    options: dict[str, dict[str, Any]] = {
        "prompt": {"length": config.prompt_length}, "prefix": {"length": config.prompt_length},
        "lora": {"rank": config.rank, "alpha": config.alpha, "dropout": config.dropout},
    }  # fmt: skip
    made: Any = METHODS[config.method]
    found: Method = made(**options.get(config.method, {}))
    return found
