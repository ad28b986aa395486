"""The command line of classification.

`finetune classify`: its options have the names of the assignments' scripts, some of them two.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from finetune.cli.options import SEED, AnyDash, Finite, config_option, step_progress
from finetune.errors import BadInput

METHODS = ("full", "head", "prompt", "prefix", "lora", "bias")
SHARE = Finite(0, 1, max_open=True)
Option = tuple[tuple[str, ...], Any, Any, str]


def find_data() -> str:
    """Return what --data is where it was left out, as in the first assignment's command: BoolQ, here or on the hub."""
    return "data/boolq" if Path("data/boolq").is_dir() else "hub:boolq"


OPTIONS: Mapping[str, Option] = {
    "model": (("model_name_or_path",), str, None, "A folder, or a name on the hub."),
    "data": (
        ("data_dir",),
        str,
        find_data,
        "A folder, a file, or hub:NAME.  [default: data/boolq where there is such a folder, else hub:boolq]",
    ),
    "task": (("task_name",), click.Choice(["boolq", "sst2", "yelp"]), None, "The data set.  [default: by its files]"),
    "method": (
        (),
        click.Choice(METHODS),
        "full",
        "What is trained. `prefix` has vectors in every layer, as in the literature; `prompt` has vectors before the "
        "embeddings alone.",
    ),
    "pool": (
        (),
        click.Choice(["first", "mean"]),
        "first",
        "The head reads the first token, or the mean without padding.",
    ),
    "backend": ((), click.Choice(["auto", "own", "transformers"]), "auto", "Our encoder, or an AutoModel."),
    "lr": (("learning_rate",), Finite(0), None, "The peak rate.  [default: the method's]"),
    "num_epochs": (("num_train_epochs",), click.IntRange(1), None, "[default: the method's]"),
    "batch_size": (("per_gpu_train_batch_size",), click.IntRange(1), 64, "Examples per step."),
    "accumulate": (("gradient_accumulation_steps",), click.IntRange(1), 1, "Parts into which a step is split."),
    "max_seq_length": ((), click.IntRange(1), 128, "Tokens kept of a text."),
    "optimizer": ((), click.Choice(["adamw", "sgd", "adagrad"]), "adamw", "Optimizer; sgd has no momentum."),
    "schedule": (
        (),
        click.Choice(["linear", "cosine", "constant"]),
        "linear",
        "How the rate falls to the end.",
    ),
    "warmup_ratio": ((), SHARE, 0.1, "Share of training until the peak rate."),
    "weight_decay": ((), Finite(0), 0.01, "Decay of matrices."),
    "max_grad_norm": ((), Finite(0), 1.0, "Largest norm of all gradients together; 0: no clipping."),
    "logging_steps": ((), click.IntRange(1), None, "Steps between evaluations on dev.  [default: an epoch]"),
    "prompt_length": ((), click.IntRange(1), 128, "Vectors of a prompt or a prefix."),
    "rank": ((), click.IntRange(1), 8, "Rank of LoRA."),
    "alpha": ((), Finite(0), 16.0, "Scale of LoRA."),
    "dropout": ((), SHARE, 0.1, "Dropout before the head and in LoRA."),
    "train_size": ((), click.IntRange(1), None, "Use only this many training examples."),
    "mlm_alpha": ((), Finite(0), 0.0, "Weight of a masked-LM loss."),
    "train_data_file": ((), str, None, "Text for the masked-LM loss.  [default: that of the training examples]"),
    "block_size": ((), click.IntRange(3), 128, "Tokens per block of that text."),
    "device": ((), str, None, "cpu, cuda, ...  [default: cuda where there is one]"),
    "precision": ((), click.Choice(["float32", "bfloat16", "auto"]), "float32", "Dtype of matrix products."),
    "threads": ((), click.IntRange(1), None, "Processor threads.  [default: torch's choice]"),
    "seed": ((), SEED, 0, "The same seed gives the same run."),
    "output_dir": ((), str, None, "A folder for the whole run; the same command continues it."),
    "cache_dir": ((), str, None, "A folder for features of frozen encoders.  [default: in --output_dir]"),
    "text_column": (("text-column",), str, None, "Column of the text, in data that are a CSV, TSV or JSONL table."),
    "pair_column": (("pair-column",), str, None, "Column of the second text, for pairs."),
    "label_column": (("label-column",), str, "label", "Column of the labels."),
    "dev_data": ((), str, None, "A table for dev.  [default: from --data]"),
    "test_data": ((), str, None, "A table for test.  [default: from --data]"),
    "dev_size": ((), click.IntRange(1), None, "At most this many dev examples, chosen by hash."),
    "test_size": ((), click.IntRange(1), None, "At most this many test examples, chosen by hash."),
    "label_smoothing": ((), SHARE, 0.0, "This share of each label is spread over all classes."),
    "class_weights": ((), str, None, "balanced, or a number for each class, separated by commas.  [default: none]"),
    "early_stopping": ((), click.IntRange(1), None, "Stop after this many evaluations without improvement."),
    "model_type": ((), str, None, "Must be that of the model's config.json."),
}
"""By the first name of each: its other names, type, default and help."""
FLAGS: Mapping[str, str] = {
    "small_subset": "Train on 10 examples, which must be learnt by heart.",
    "drop_leaks": "Drop training examples that occur in dev or test.",
    "gradient_checkpointing": "Keep only each layer's input: far less memory, a third more time, the same result.",
    "line_by_line": "Each line of --train_data_file is one block.",
    "overwrite_output_dir": "Start over, even if the folder holds a run.",
    "do_train": "Accepted, since the assignment's command has it; always done.",
    "do_eval": "Accepted likewise; always done.",
    "evaluate_during_training": "Accepted likewise; always done.",
}
RENAMED = {
    "lr": "learning_rate", "num_epochs": "epochs", "max_grad_norm": "clip", "train_data_file": "unlabelled"
}  # fmt: skip
"""Options whose field of `ClassifyConfig` has another name."""
IGNORED = ("model_type", "do_train", "do_eval", "evaluate_during_training", "threads", "type")
TYPES = {"full": "full", "head": "head", "prefix": "prompt"}
"""The method of each `type` of the assignment's script (source 000, section 3.2), whose prefix is prompt tuning."""


def add_options(
    command: Callable[..., Any], options: Mapping[str, Option], flags: Mapping[str, str]
) -> Callable[..., Any]:  # fmt: skip
    """Options in the order of a table, flags after them."""
    for name, description in reversed(list(flags.items())):
        command = click.option(f"--{name}", is_flag=True, help=description)(command)
    for name, (others, kind, default, description) in reversed(list(options.items())):
        names = [f"--{each}" for each in (name, *others)]
        required = (
            {"required": True}
            if name == "model"
            else {"default": default, "show_default": default is not None and not callable(default)}
        )
        command = click.option(*names, name, type=kind, help=description, **required)(command)
    return command


def classify_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a run."""
    return add_options(command, OPTIONS, FLAGS)


def config_of(options: dict[str, Any]) -> Any:
    """The `ClassifyConfig` of a command's options. Raises: BadInput where --model_type is not the model's."""
    from finetune.classification.config import ClassifyConfig

    if options.get("threads"):
        import torch

        torch.set_num_threads(options["threads"])
    config = ClassifyConfig(**{RENAMED.get(k, k): v for k, v in options.items() if k not in IGNORED})
    if options.get("model_type"):
        from finetune.classification.pretrained import folder_of
        from finetune.models.huggingface import read_json

        found = read_json(folder_of(config.model) / "config.json").get("model_type", "bert")
        if found != options["model_type"]:
            raise BadInput(f"{config.model} is of the type {found}, not {options['model_type']}")
    return config


def method_of(options: Mapping[str, Any]) -> str:
    """Return the method that --method or the assignment's --type names.

    Raises:
        BadInput: if both are given, and not the same.
    """
    method, kind = str(options["method"]), options.get("type")
    if kind is None:
        return method
    source = click.get_current_context().get_parameter_source("method")
    if source is not ParameterSource.DEFAULT and TYPES[kind] != method:
        raise BadInput(f"--type {kind} is --method {TYPES[kind]}, but --method {method} was given: leave one out")
    return TYPES[kind]


@click.command(cls=AnyDash)
@config_option
@click.option("--type", type=click.Choice(list(TYPES)), help="The assignment's names: its `prefix` is --method prompt.")
@classify_options
def classify(**options: Any) -> None:
    """Fine-tune a classifier, whole or in part; keep the best by dev, and read test once.

    Exit status: 1 if training diverges or a --small_subset is not learnt by heart.
    """
    config = config_of(options | {"method": method_of(options)})
    if is_first_process():
        click.echo(f"finetune classify: {config.method} tuning of {config.model} on {config.data}, seed {config.seed}")
        if options["type"] == "prefix":
            click.echo(
                f"--type prefix: {config.prompt_length} vectors before the embeddings, as in the assignment; the "
                "literature calls this prompt tuning, and --method prefix has vectors in every layer"
            )
    from finetune.classification.result import classify as run
    from finetune.models.quiet import quiet_libraries
    from finetune.training.processes import leave_group

    with quiet_libraries(), step_progress("training") as on_step, interrupted_is_plain(config.output_dir):
        result = run(config, click.echo, on_step)
    if is_first_process():
        show(result, config.output_dir)
    if result["problems"]:
        leave_group()
        raise SystemExit(1)


@contextmanager
def interrupted_is_plain(folder: str | None) -> Iterator[None]:
    """Within, Ctrl-C says what a run's folder keeps, if it does. Raises: SystemExit then."""
    try:
        yield
    except KeyboardInterrupt:
        if folder is None or not (Path(folder) / "checkpoint").exists():
            raise
        click.echo(
            f"finetune: interrupted; {folder} keeps the last whole epoch, and the same command continues from there",
            err=True,
        )
        raise SystemExit(130) from None


def is_first_process() -> bool:
    """Whether this is the only process, or the first of those that a launcher started."""
    return os.environ.get("RANK", "0") == "0"


def show(result: Mapping[str, Any], folder: str | None) -> None:
    """Print what came out: the best by dev, the test set with a table of its classes, and where it is written."""
    from finetune.classification.result import lines

    best = result["best"]
    click.echo(f"best on dev: accuracy {best['dev_accuracy']:.4f} at epoch {best['epochs']:.2f}, step {best['step']}")
    if result["test"] is None:
        click.echo("test: no labels")
    else:
        low, high = result["test"]["interval"]
        click.echo(
            f"test: accuracy {result['test']['accuracy']:.4f} (95 % interval {low:.4f} to {high:.4f}), "
            f"majority class {result['majority']['test']:.4f}"
        )
    side = "test" if result["test"] is not None and "classes" in result["test"] else "dev"
    click.echo(f"by class, on {side}:")
    for line in lines(result[side]):
        click.echo(f"  {line}")
    click.echo(
        f"written to {folder}" if folder else "nothing is kept: --output_dir FOLDER has curves.png, the model and more"
    )
