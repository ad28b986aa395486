"""Fine-tune a classifier: any method on any encoder, dev at every record, the best kept, all of it resumable.

`run_of` reads data and model; `Run.train` trains; `classify_result` reads the test set and writes what came out.

What a classifier is trained on: cross-entropy with smoothed labels and weights of classes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from finetune.classification.config import ClassifyConfig, method_of, recompute_layers
from finetune.classification.data import Sides, prepare_data
from finetune.classification.frozen_features import Features, OnFeatures, features, weights_digest
from finetune.classification.monitor import Monitor
from finetune.classification.multitask import Joint, JointTrainer
from finetune.classification.pretrained import Pretrained, load_pretrained, masked_lm_of
from finetune.classification.scores import Tally, scores
from finetune.data.collate import LabelledTexts, in_order
from finetune.data.corpus import read_text
from finetune.data.examples import Examples
from finetune.data.masked_lm import MaskedTexts, read_unlabelled_texts
from finetune.data.texts import encode
from finetune.errors import BadInput
from finetune.models.classifier import TEXTS, Classifier
from finetune.models.gpt import at_least_single
from finetune.peft import Adapter, inject
from finetune.training import checkpoint
from finetune.training.config import TrainConfig
from finetune.training.metrics import jsonl
from finetune.training.processes import processes
from finetune.training.train import Trainer, multiply_in


def class_weights(wish: str | None, counts: Sequence[int]) -> list[float] | None:
    """The weight of each class, with mean 1 over the training examples.

    "balanced" gives each class the same total, w_c = N / (C n_c); numbers a_c give w_c = a_c N / sum_k a_k n_k.
    With mean 1 the loss keeps its size, so that a learning rate means the same with weights and without.

    Args: wish: None or "none", "balanced", or numbers separated by commas in the order of the classes; counts: training
        examples of each class.
    Raises: BadInput where a number is not positive, there are too few or too many, or a class to balance is empty.

    >>> class_weights("balanced", [30, 10])
    [0.666..., 2.0]
    >>> class_weights("1,3", [30, 10])
    [0.666..., 2.0]
    """
    if wish is None or wish == "none":
        return None
    if wish == "balanced":
        if not all(counts):
            raise BadInput("class_weights balanced: a class has no training example, and no weight makes up for it")
        given = [1 / count for count in counts]
    else:
        try:
            given = [float(part) for part in wish.split(",")]
        except ValueError:
            given = []
        if not given or not all(0 < number < float("inf") for number in given):
            raise BadInput(f"class_weights are balanced, none, or positive numbers such as 1,2.5, got {wish!r}")
        if len(given) != len(counts):
            raise BadInput(f"class_weights names {len(given)} weights for {len(counts)} classes")
    scale = sum(counts) / sum(a * n for a, n in zip(given, counts, strict=True))
    return [a * scale for a in given]


def training_losses(
    logits: Float[Tensor, "batch classes"], labels: Int[Tensor, " batch"], smoothing: float = 0.0,
    weights: Sequence[float] | None = None,
) -> Float[Tensor, " batch"]:  # fmt: skip
    """The loss of each example.

    w_y (-(1 - s) log p_y - s / C sum_c log p_c): the true class keeps 1 - s, and s is spread over all classes.

    Args: logits; labels; smoothing, s from 0 to below 1; weights, of the classes, None for 1.
    Source: Szegedy et al. (2016), "Rethinking the Inception architecture", section 7. torch's `cross_entropy` weighs
        the smoothed part by the weight of each class in it; here an example has one weight, that of its own class.

    >>> training_losses(torch.zeros(1, 4), torch.tensor([2]), smoothing=0.1)
    tensor([1.3863])
    """
    logs = torch.log_softmax(at_least_single(logits), -1)
    losses = -logs.gather(-1, labels[:, None])[:, 0]
    if smoothing:
        losses = (1 - smoothing) * losses - smoothing * logs.mean(-1)
    if weights is not None:
        losses = losses * torch.tensor(weights, dtype=losses.dtype, device=losses.device)[labels]
    return losses


MANY_UNKNOWN = 0.1
"""The share of unknown tokens above which a person is told: a model learns nothing from them."""
KEPT = ("checkpoint", "best", "metrics.jsonl", "result.json", "test.json", "curves.png", "confusion.png")
"""The files of a run, besides run.json that says whose they are."""


def logits_of(model: nn.Module, batch: Mapping[str, Tensor]) -> Tensor:
    """The logits of a batch of texts."""
    found: Tensor = model(**{name: batch[name] for name in TEXTS if name in batch})
    return found


def logits_of_features(model: nn.Module, batch: Mapping[str, Tensor]) -> Tensor:
    """The logits of a batch of vectors."""
    found: Tensor = model(batch["features"])
    return found


class Run:
    """One fine-tuning run, prepared: nothing is trained yet.

    Args: config; sides, data that was read; pretrained, to be used and changed; say, called with lines for a person.
    Raises: BadInput where a prompt leaves no room, or a method does not fit the model.
    """

    def __init__(
        self, config: ClassifyConfig, sides: Sides, pretrained: Pretrained, say: Callable[[str], None] = print
    ) -> None:
        self.config, self.sides, self.pretrained = config, sides, pretrained
        self.team = processes(config.device)
        self.device = self.team.device
        self.say: Callable[[str], None] = say if self.team.rank == 0 else (lambda line: None)
        weights = class_weights(config.class_weights, list(sides.train.counts().values()))
        self.losses = None
        if weights is not None or config.label_smoothing:
            self.losses = partial(training_losses, smoothing=config.label_smoothing, weights=weights)
        room = pretrained.block_size - config.prompt_positions
        if room < 1:
            message = f"a {config.method} of {config.prompt_positions} leaves no room"
            raise BadInput(f"{message} in a model of {pretrained.block_size} positions")
        self.max_length = min(config.max_seq_length, room)
        self.weights = weights_digest(pretrained.encoder)
        torch.manual_seed(config.seed)  # of the head, and of what the method adds
        classes = len(sides.train.classes)
        self.classifier = Classifier(pretrained.encoder, classes, pool=config.pool, dropout=config.dropout)
        method = method_of(config)
        self.adapter: Adapter | None = None if method is None else inject(self.classifier, method)
        recompute_layers(pretrained.encoder, config)
        self.classifier.to(self.device)
        self.folder = None if config.output_dir is None else Path(config.output_dir)
        self.cut: dict[str, int] = {}
        self.read: dict[str, LabelledTexts | Features] = {}

    def parameters(self) -> tuple[int, int]:
        """How many parameters are trained, and how many there are; those of a masked-LM head are not counted."""
        every = list(self.classifier.parameters())
        return sum(p.numel() for p in every if p.requires_grad), sum(p.numel() for p in every)

    def identity(self) -> dict[str, Any]:
        """Everything that decides what is trained, as JSON; where it is computed and kept, and test, are none of it."""
        free = (
            "output_dir", "cache_dir", "overwrite_output_dir", "device", "model", "data", "gradient_checkpointing",
            "dev_data", "test_data", "test_size",
        )  # fmt: skip
        settings = {
            "options": {name: value for name, value in asdict(self.config).items() if name not in free},
            "data": {side: examples.digest() for side, examples in self.sides.train_and_dev().items()},
            "weights": self.weights, "tokenizer": self.pretrained.tokenizer.digest(),
        }  # fmt: skip
        found: dict[str, Any] = json.loads(json.dumps(settings))  # as it will be read again
        return found

    # --- batches --------------------------------------------------------------------------------------

    def texts(self, side: str, examples: Examples) -> LabelledTexts:
        """A side as ids; cut texts are counted and reported."""
        encoded = encode(self.pretrained.tokenizer, examples, self.max_length)
        self.cut[side] = encoded.cut
        if encoded.cut:
            self.say(f"{side}: {encoded.cut} of {len(encoded)} texts are cut to {self.max_length} tokens")
        unknown = self.pretrained.tokenizer.share_unknown(encoded.ids)
        if unknown > MANY_UNKNOWN:
            self.say(f"{side}: {unknown:.0%} of the tokens are unknown to the tokenizer: is it made for these texts?")
        return LabelledTexts(encoded, examples.labels, self.pretrained.tokenizer.pad_id, types=self.pretrained.segments)

    def source(self, side: str, examples: Examples) -> LabelledTexts | Features:
        """A side as what the trained part reads: texts, or for head tuning what the frozen encoder makes of them."""
        if side not in self.read:
            self.read[side] = self._read(side, examples)
        return self.read[side]

    def _read(self, side: str, examples: Examples) -> LabelledTexts | Features:
        texts = self.texts(side, examples)
        if self.config.method != "head":
            return texts
        cache = self.config.cache_dir or (None if self.folder is None else str(self.folder / "features"))
        cache = None if self.team.rank else cache  # two processes would write one file
        found, there = features(
            self.classifier, texts, self.pretrained.tokenizer.digest(), folder=None if cache is None else Path(cache),
            device=self.device, batch_size=self.config.batch_size,
        )  # fmt: skip
        self.say(f"{side}: features of {len(found)} texts {'were kept' if there else 'computed, once'}")
        return found

    def score(self, source: LabelledTexts | Features) -> Tally:
        """What the classifier does on a side, in this process."""
        return self._score(source, lambda batches: batches)

    def score_together(self, source: LabelledTexts | Features) -> Tally:
        """The same counts, each process having done its share of the batches; without the single predictions."""
        if self.team.world == 1:
            return self.score(source)
        tally = self._score(source, lambda batches: islice(batches, self.team.rank, None, self.team.world))
        return tally.totals(self.team.all_reduce, self.device)

    def _score(self, source: LabelledTexts | Features, share: Callable[[Iterable[Any]], Iterable[Any]]) -> Tally:
        on_features = isinstance(source, Features)
        model = OnFeatures(self.classifier) if on_features else self.classifier
        lengths = None if isinstance(source, Features) else source.lengths
        batches = share(in_order(source, self.config.batch_size, lengths))
        with multiply_in(self.config.precision, self.device):
            return scores(model, logits_of_features if on_features else logits_of, batches, self.device)

    # --- training -------------------------------------------------------------------------------------

    def train(
        self, on_record: Callable[[Mapping[str, Any]], None] | None = None,
        on_step: Callable[[int, int], None] | None = None,
    ) -> Monitor:  # fmt: skip
        """Train to the end, keep the best by dev, and put it into the model.

        A run in a folder goes on from its last whole epoch, to the bits of one that was not interrupted.

        Args: on_record, called with every evaluation; what it raises ends training; on_step, called after each step
            with its number and that of all steps.
        Returns: what was seen.
        Raises: BadInput where the training examples have one class, or the folder holds another run.
        """
        self.sides.check_trainable()
        resume = self._begin()
        source, dev = self.source("train", self.sides.train), self.source("dev", self.sides.dev)
        model: nn.Module = OnFeatures(self.classifier) if isinstance(source, Features) else self.classifier
        call = logits_of_features if isinstance(source, Features) else logits_of
        best = None if self.folder is None else self.folder / "best"
        monitor = Monitor(
            model, call, lambda: self.score_together(dev), len(source), best, losses=self.losses,
            patience=self.config.early_stopping, team=self.team,
        )  # fmt: skip
        trainer = self._trainer(model, monitor, source)
        after = None
        if self.folder is not None:
            path = self.folder / "checkpoint"
            after = checkpoint.step_of(path) if resume and path.exists() else None
            if self.team.rank == 0:
                monitor.listeners.append(jsonl(self.folder / "metrics.jsonl", after))
            self.team.barrier()
            monitor.recall(after, self.folder / "metrics.jsonl")
            self.team.barrier()
        if on_record is not None and self.team.rank == 0:
            for record in monitor.records:
                on_record(record)
            monitor.listeners.append(on_record)
        trainer.watchers.append(monitor)
        trainer.steppers += [] if on_step is None else [on_step]
        monitor.trainer = trainer
        trainer.stop = monitor.is_over()
        trainer.run(resume=resume)
        if trainer.stop:
            self.say(f"no better evaluation in the last {self.config.early_stopping}: training ends")
            if self.folder is not None:
                trainer.save()
        monitor.put_best()
        return monitor

    def _trainer(self, model: nn.Module, monitor: Monitor, source: LabelledTexts | Features) -> Trainer:
        settings: TrainConfig = self.config.training(len(source))
        others: dict[str, Any] = {
            "path": None if self.folder is None else self.folder / "checkpoint", "team": self.team
        }  # fmt: skip
        if not self.config.mlm_alpha or isinstance(source, Features):
            return Trainer(model, monitor.loss, source, settings, **others)
        joint = Joint(self.classifier, masked_lm_of(self.pretrained, self.say))
        texts = self._make_masked_texts(source)
        alpha = self.config.mlm_alpha
        return JointTrainer(
            joint, lambda _, batch: monitor.loss(self.classifier, batch), source, texts, alpha, settings, **others
        )  # fmt: skip

    def _make_masked_texts(self, source: LabelledTexts) -> MaskedTexts:
        """The text of masked-LM training: that of a file, or that of the training examples."""
        tokenizer, config = self.pretrained.tokenizer, self.config
        encoded = source.encoded
        if config.unlabelled is not None:
            size = min(config.block_size, self.max_length)
            encoded = read_unlabelled_texts(config.unlabelled, tokenizer, size, line_by_line=config.line_by_line)
        self.say(f"masked-LM on {len(encoded)} blocks, {encoded.cut} of them cut, with the weight {config.mlm_alpha}")
        return MaskedTexts(encoded, tokenizer, config.seed, types=self.pretrained.segments)

    def _begin(self) -> bool:
        """Whether there is a run of the same identity to go on with. Raises: BadInput where there is another one."""
        if self.folder is None:
            return False
        found = self._begin_in(self.folder) if self.team.rank == 0 else False
        return bool(self.team.all_reduce(torch.tensor(int(found), device=self.device)))

    def _begin_in(self, folder: Path) -> bool:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"{folder} cannot be made: {error.strerror}") from None
        path, text = folder / "run.json", json.dumps(self.identity(), indent=2) + "\n"
        if path.exists() and not self.config.overwrite_output_dir:
            if read_text(path) == text:
                return True
            raise BadInput(f"{folder} holds another run: give --overwrite_output_dir, or another --output_dir")
        for name in KEPT:
            try:
                (folder / name).unlink(missing_ok=True)
            except OSError as error:
                raise BadInput(f"{folder / name} cannot be removed: {error.strerror}") from None
        checkpoint.replace_file(path, text.encode())
        return False


def run_of(config: ClassifyConfig, say: Callable[[str], None] = print) -> Run:
    """Read data and model, and say what there is: label counts, the majority baseline, leaks.

    Raises: BadInput for whatever is wrong with them.
    """
    if config.unlabelled is not None and config.mlm_alpha:
        read_text(config.unlabelled)  # refused before anything else is read
    sides = data_of(config)
    run = Run(config, sides, load_pretrained(config.model, config.backend), say)
    for line in sides.report():
        run.say(line)
    if config.unlabelled is not None and not config.mlm_alpha:
        run.say(f"no masked-LM: {config.unlabelled} is not read without a weight, such as --mlm_alpha 0.1")
    return run


def data_of(config: ClassifyConfig) -> Sides:
    """The data that a configuration names. Raises: BadInput for whatever is wrong with them."""
    return prepare_data(
        config.data, config.task, config.seed, config.small_subset, config.train_size, config.drop_leaks,
        columns=config.columns, dev_data=config.dev_data, test_data=config.test_data, dev_size=config.dev_size,
        test_size=config.test_size,
    )  # fmt: skip
