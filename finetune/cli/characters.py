"""`finetune characters`: train a character model on any text, watch its bits per character, and let it write."""

from __future__ import annotations

import math
from typing import Any

import click

from finetune.characters.recipe_numbers import CHARACTERS
from finetune.cli.options import changes_of, check_writable, config_option, device_options, model_options, train_options
from finetune.cli.values import Finite
from finetune.errors import BadInput, said_of


@click.command()
@click.argument("text_path", metavar="TEXT")
@click.option("--model", type=click.Choice(["vanilla", "synthesizer", "rotary"]), default="vanilla", show_default=True)
@click.option("--block_size", type=click.IntRange(1), default=128, show_default=True, help="Characters of a block.")
@click.option("--minutes", type=Finite(0), default=5.0, show_default=True, help="Train at most so long.")
@click.option("--held_out", type=Finite(0, 0.5, min_open=True), default=0.1, show_default=True,
              help="The share of the text, at its end, that is judged by.")  # fmt: skip
@click.option("--every", type=Finite(0), default=30.0, show_default=True, help="Seconds between two figures.")
@click.option(
    "--sample", type=click.IntRange(0), default=300, show_default=True, help="Characters to write at the end."
)
@click.option("--prompt", help="What they go on from, and stands before them.  [default: the text's first character]")
@click.option("--temperature", type=Finite(0, min_open=True), default=0.8, show_default=True)
@config_option
@model_options
@train_options(CHARACTERS, epochs="until --minutes are over", final_tokens="none, the rate stays")
@device_options
def characters(text_path: str, **options: Any) -> None:
    """Train a character model on TEXT; bits per character of the held-out end against time, then a sample.

    With --checkpoint_path the same command goes on where it stopped.
    """
    check_writable(options["checkpoint_path"], options["metrics_path"], read=[text_path])
    import torch

    from finetune.characters.recipes import character_model
    from finetune.data.corpus import read_text
    from finetune.data.running_text import RunningText, split
    from finetune.data.vocabulary import Vocabulary
    from finetune.models.gpt import next_token_loss
    from finetune.training.digests import digest
    from finetune.training.interruption import stopped_by_signals
    from finetune.training.metrics import sinks
    from finetune.training.processes import processes
    from finetune.training.train import Trainer

    if options["threads"]:
        torch.set_num_threads(options["threads"])
    text = read_text(text_path)
    if not text:
        raise BadInput(f"{text_path} is empty: there is nothing to train on")
    vocabulary = Vocabulary.from_text(text, text_path)
    first, last = split(vocabulary.encode(text), options["held_out"])
    changes = changes_of(options)
    source = RunningText(first, options["block_size"], changes.get("seed", 0))
    with said_of(f"{text_path}, the held-out end (--held_out)"):
        judged = RunningText(last, options["block_size"]).beside()[:16]  # at most 131,072 characters at a block of 128
    prompt = vocabulary.encode(text[:1] if options["prompt"] is None else options["prompt"])
    if not len(prompt):
        raise BadInput("a prompt has at least one character")
    model = _model(options, len(vocabulary))
    recipe, team = character_model(**changes), processes(options["device"])
    about = {"another text": digest(text), "held_out": options["held_out"], **model.config.to_json()}
    trainer = Trainer(model, next_token_loss, source, recipe, path=options["checkpoint_path"], team=team, about=about)
    goes_on = trainer.path is not None and trainer.path.exists()
    if goes_on:
        trainer.load()
    trainer.sinks += sinks(options["metrics_path"], options["tensorboard_path"], trainer.step if goes_on else None)
    with stopped_by_signals(trainer):
        _watch(trainer, judged, options["minutes"] * 60, options["every"])
    trainer.save()
    if options["sample"]:
        click.echo(_continue_prompt(model, vocabulary, prompt, options))


def _model(options: dict[str, Any], characters: int) -> Any:
    """The model that the options ask for."""
    import torch

    from finetune.cli.options import MODEL_OPTIONS
    from finetune.models.gpt import GPT, GPTConfig

    torch.manual_seed(options.get("seed") or 0)
    sizes = {k: options[k] for k in MODEL_OPTIONS}
    return GPT(GPTConfig(characters, options["block_size"], attention=options["model"], **sizes))


def _watch(trainer: Any, judged: list[Any], seconds: float, every: float) -> None:
    """Train until the time is spent or the epochs are; a line of figures now and then, and at the end.

    What is shown counts the seconds of the steps, those before an interruption too, and not what judging takes.
    """
    from finetune.models.gpt import mean_loss

    device = trainer.team.device
    judged = [{k: v.to(device) for k, v in batch.items()} for batch in judged]
    click.echo("seconds\tcharacters\tbits per character")
    begun = shown = trainer.seconds
    while not trainer.stop:
        spent = trainer.seconds
        done = spent - begun >= seconds or trainer.epoch >= trainer.config.epochs
        if done or spent >= shown:
            bits = mean_loss(trainer.model, judged) / math.log(2)
            click.echo(f"{spent:.0f}\t{trainer.tokens}\t{bits:.3f}")
            shown = spent + every
        if done:
            return
        trainer.run(stop_after=5)


def _continue_prompt(model: Any, vocabulary: Any, prompt: Any, options: dict[str, Any]) -> str:
    """The prompt, and what the model writes behind it."""
    import torch

    from finetune.models.sampling import generate

    device = next(model.parameters()).device
    start = torch.from_numpy(prompt)[None].to(device)
    ids, _ = generate(model, start, options["sample"], temperature=options["temperature"])
    return str(vocabulary.decode(prompt) + vocabulary.decode(ids[0].cpu().numpy()))
