"""What `pretrain`, `finetune` and `evaluate` share: the model and the form that a file tells, and a whole run."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from finetune.cli.options import progress
from finetune.errors import BadInput


def model_of(name: str, vocabulary: Any, form: Any, options: dict[str, Any]) -> Any:
    """A new model, or the one of --reading_params_path."""
    import torch

    from finetune.characters.recipes import load_parameters
    from finetune.cli.options import MODEL_OPTIONS
    from finetune.models.gpt import GPT, GPTConfig

    if options["threads"]:
        torch.set_num_threads(options["threads"])
    sizes = {k: options[k] for k in MODEL_OPTIONS if k in options}
    config = GPTConfig(len(vocabulary), form.block, attention=name, **sizes)
    torch.manual_seed(options.get("seed") or 0)
    if options["reading_params_path"] is None:
        return GPT(config)
    made = load_parameters(options["reading_params_path"], config, vocabulary)
    _refuse_other_sizes(options["reading_params_path"], made.config, options)
    return made


def form_of_file(path: str | None, form: Any) -> Any:
    """The form of the strings that a file's model was trained on, for settings without an option."""
    if path is None:
        return form
    from dataclasses import replace

    from finetune.training import checkpoint

    found = checkpoint.load(path)
    saved = found.get("form") if isinstance(found, dict) else None
    if saved is None:  # minGPT's tell none
        return form
    context = click.get_current_context()
    fields = {"block_size": "block", "corruption_length": "variant", "trailing_mask": "trailing_mask"}
    given = [n for n in fields if context.get_parameter_source(n) is not ParameterSource.DEFAULT]
    try:
        adopted = replace(form, **{fields[n]: saved[fields[n]] for n in fields if n not in given})
        block = int(saved["block"])
    except (TypeError, ValueError, KeyError) as error:
        raise BadInput(f"{path} tells a form of strings that is none: {error}") from None
    if adopted.block != block:
        raise BadInput(
            f"{path} holds a model for a block of {block}, but {form.block} was given; leave --block_size out, the "
            "file tells it"
        )
    return adopted


def _refuse_other_sizes(path: str, own: Any, options: dict[str, Any]) -> None:
    """A file tells its model's sizes: others must not have been given, on the command line or in a configuration."""
    names = ["n_layer", "n_head", "n_embd", *(["synthesizer"] if own.attention == "synthesizer" else [])]
    context = click.get_current_context()
    for name in names:
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT and options[name] != getattr(own, name):
            raise BadInput(
                f"{path} holds a model with {name} = {getattr(own, name)}, but {options[name]} was given; leave "
                f"--{name} out, the file tells it"
            )


def train(
    name: str, vocabulary: Any, form: Any, source: Any, recipe: Any, what: str, options: dict[str, Any],
    digests: dict[str, Any],
) -> None:  # fmt: skip
    """Train and write the parameters; `digests` are of the data, so that no run goes on with others."""
    from finetune.training.locks import only_writer_of

    with only_writer_of(options["writing_params_path"]):
        _train(name, vocabulary, form, source, recipe, what, options, digests)


def _train(
    name: str, vocabulary: Any, form: Any, source: Any, recipe: Any, what: str, options: dict[str, Any],
    digests: dict[str, Any],
) -> None:  # fmt: skip
    from finetune.characters.recipes import save_parameters
    from finetune.models.gpt import next_token_loss
    from finetune.training.digests import digest
    from finetune.training.processes import processes
    from finetune.training.train import Trainer, stopped_by_signals

    made = model_of(name, vocabulary, form, options)
    # New weights follow from the seed, and another processor may draw them otherwise.
    begun = "new ones" if options["reading_params_path"] is None else digest(made.state_dict())
    about = {
        "command": what, **made.config.to_json(), "block_size": form.block, "corruption_length": form.variant,
        "trailing_mask": form.trailing_mask, **digests,
        "other parameters to begin with (--reading_params_path)": begun,
    }  # fmt: skip
    _refuse_short_block(made.config.block_size, form.total - 1, options["reading_params_path"])
    team = processes(options["device"])
    path = options["checkpoint_path"]
    trainer = Trainer(made, next_token_loss, source, recipe, path=path, team=team, about=about)
    if team.rank == 0:
        trainer.sinks += _figures(path, options)
        size = sum(p.numel() for p in made.parameters())
        line = f"finetune: {what} of {name}, {size:,} parameters, on {len(source):,} examples: {recipe.epochs} epochs"
        line += f" in batches of {recipe.batch_size}, seed {recipe.seed}"
        trainer.beginnings.append(lambda: click.echo(line, err=True))
    bar = progress(what, recipe.epochs, len(source), recipe.batch_size)
    with stopped_by_signals(trainer), bar as sink:
        trainer.sinks.append(sink)
        last = trainer.run(resume=True)
    if team.rank == 0:
        _warn_of_warm_up(trainer.tokens, recipe)
        save_parameters(options["writing_params_path"], made, vocabulary, form, tokens=trainer.tokens)
        loss = f"loss {last['loss']:.4f}" if last else "nothing left to do"
        click.echo(
            f"{what} of {name}: {trainer.step} steps, {trainer.tokens} tokens, {loss}; "
            f"parameters written to {options['writing_params_path']}"
        )


def _figures(path: str | None, options: dict[str, Any]) -> Any:
    """What writes the figures of a run, on from the step of its checkpoint where there is one."""
    from finetune.training import checkpoint
    from finetune.training.metrics import sinks

    goes_on = options["metrics_path"] and path is not None and _exists(path)
    step = checkpoint.step_of(path) if goes_on and path is not None else None
    return sinks(options["metrics_path"], options["tensorboard_path"], step)


def _refuse_short_block(block: int, length: int, path: str | None) -> None:
    """The examples must fit the model of a file."""
    if block < length:
        raise BadInput(
            f"{path} holds a model with a block of {block}, examples are {length} long; give --block_size {block}"
        )


def _warn_of_warm_up(tokens: int, recipe: Any) -> None:
    """Say so where a run ended before its warm-up did."""
    if tokens < recipe.warmup_tokens:
        click.echo(
            f"finetune: the warm-up of {recipe.warmup_tokens} targets was not over after {tokens}, and the "
            f"rate at {tokens / recipe.warmup_tokens:.0%} of {recipe.learning_rate:g}; see --warmup_tokens",
            err=True,
        )


def _exists(path: str) -> bool:
    from pathlib import Path

    return Path(path).exists()
