"""`finetune characters`: train a model of characters or words on any text, watch its perplexity, and let it write."""

from __future__ import annotations

import math
from typing import Any

import click

from finetune.characters.recipe_numbers import CHARACTERS
from finetune.cli.options import (
    Finite,
    changes_of,
    check_writable,
    config_option,
    device_options,
    model_options,
    train_options,
)
from finetune.errors import BadInput, prefix_errors


@click.command()
@click.argument("text_path", metavar="TEXT")
@click.option("--model", type=click.Choice(["vanilla", "synthesizer", "rotary"]), default="vanilla", show_default=True)
@click.option(
    "--attention",
    metavar="FILE.py:NAME",
    help="Your own attention function, verified first: "
    "f(Q, K, V, n_heads, causal), as self_attention of the exercise, or f(query, key, value, is_causal=...).",
)
@click.option("--unverified", is_flag=True, help="Train with --attention without verifying it.")
@click.option("--words", is_flag=True, help="Tokens are words and punctuation instead of characters.")
@click.option(
    "--vocabulary_size",
    type=click.IntRange(1),
    default=5000,
    show_default=True,
    help="Number of commonest words to keep with --words.",
)
@click.option("--picture", metavar="FILE", help="Draw loss and smoothed perplexity: png, svg or pdf.")
@click.option("--block_size", type=click.IntRange(1), default=128, show_default=True, help="Characters per block.")
@click.option("--minutes", type=Finite(0), default=5.0, show_default=True, help="Train at most this long.")
@click.option("--held_out", type=Finite(0, 0.5, min_open=True), default=0.1, show_default=True,
              help="Share of the text, at its end, held out for evaluation.")  # fmt: skip
@click.option("--every", type=Finite(0), default=30.0, show_default=True, help="Seconds between evaluations.")
@click.option(
    "--sample", type=click.IntRange(0), default=300, show_default=True, help="Characters to write at the end."
)
@click.option("--prompt", help="Text that the sample continues, printed first.  [default: the text's first character]")
@click.option("--temperature", type=Finite(0, min_open=True), default=0.8, show_default=True)
@config_option
@model_options
@train_options(CHARACTERS, epochs="until --minutes are over", final_tokens="none, the rate stays")
@device_options
def characters(text_path: str, **options: Any) -> None:
    """Train a model on TEXT; show the perplexity of its held-out end over time, then a sample.

    With --checkpoint_path the same command continues where it stopped.
    """
    check_options(text_path, options)
    import torch

    from finetune.characters.recipes import character_model
    from finetune.data.running_text import RunningText, split
    from finetune.models.gpt import next_token_loss
    from finetune.training.digests import digest
    from finetune.training.metrics import sinks
    from finetune.training.processes import processes
    from finetune.training.train import Trainer, stopped_by_signals

    if options["threads"]:
        torch.set_num_threads(options["threads"])
    text, vocabulary = read_vocabulary(text_path, options)
    first, last = split(vocabulary.encode(text), options["held_out"])
    changes = changes_of(options)
    source = RunningText(first, options["block_size"], changes.get("seed", 0))
    with prefix_errors(f"{text_path}, the held-out end (--held_out)"):
        judged = RunningText(last, options["block_size"]).beside()[:16]  # at most 131,072 characters at a block of 128
    prompt = _prompt(vocabulary, text, options["prompt"])
    model, own = _model(options, len(vocabulary))
    recipe, team = character_model(**changes), processes(options["device"])
    about = {"another text": digest(text), "held_out": options["held_out"], **model.config.to_json(), **own}
    trainer = Trainer(model, next_token_loss, source, recipe, path=options["checkpoint_path"], team=team, about=about)
    if goes_on := trainer.path is not None and trainer.path.exists():
        trainer.load()
    trainer.sinks += sinks(options["metrics_path"], options["tensorboard_path"], trainer.step if goes_on else None)
    records: list[Any] = []
    trainer.sinks.append(records.append)
    size, tokens = sum(p.numel() for p in model.parameters()), "words" if options["words"] else "characters"
    line = f"{options['model']}, {size:,} parameters, on {len(first):,} {tokens} of {text_path}"
    click.echo(f"finetune characters: {line}, {options['minutes']:g} minutes, seed {recipe.seed}", err=True)
    with stopped_by_signals(trainer):
        figures = _watch(trainer, judged, options)
    trainer.save()
    if options["picture"]:
        draw(records, figures, options)
    if options["sample"]:
        click.echo(_continue_prompt(model, vocabulary, prompt, options))


def check_options(text_path: str, options: dict[str, Any]) -> None:
    """Refuse what cannot be written or does not go together, before anything is read. Raises: BadInput."""
    from finetune.pictures import kind_of

    written = (options["checkpoint_path"], options["metrics_path"], options["picture"])
    check_writable(*written, read=[text_path])
    if options["picture"]:
        kind_of(options["picture"])
    if options["attention"] and options["model"] != "vanilla":
        raise BadInput("--attention replaces the attention of --model vanilla, not of another model")
    if options["unverified"] and not options["attention"]:
        raise BadInput("--unverified goes with --attention, which is missing")


def read_vocabulary(text_path: str, options: dict[str, Any]) -> tuple[str, Any]:
    """Return the text and the vocabulary of its characters or words. Raises: BadInput."""
    from finetune.data.corpus import read_text
    from finetune.data.vocabulary import Vocabulary, WordVocabulary

    text = read_text(text_path)
    if not text:
        raise BadInput(f"{text_path} is empty: there is nothing to train on")
    if not options["words"]:
        return text, Vocabulary.from_text(text, text_path)
    # Of the part that is trained on: a word of the held-out end alone could not be learnt.
    first = text[: round(len(text) * (1 - options["held_out"]))]
    vocabulary = WordVocabulary.from_text(first, options["vocabulary_size"])
    ids = vocabulary.encode(text)
    unknown = float((ids == 1).mean()) if len(ids) else 0.0
    click.echo(f"{len(ids)} words, {len(vocabulary) - 2} kinds are kept, {unknown:.1%} are unknown", err=True)
    return text, vocabulary


def _prompt(vocabulary: Any, text: str, given: str | None) -> Any:
    """Return the numbers of the text that the sample continues. Raises: BadInput where there is none."""
    prompt = vocabulary.encode(text)[:1] if given is None else vocabulary.encode(given)
    if not len(prompt):
        raise BadInput("a prompt has at least one character")
    return prompt


def _model(options: dict[str, Any], tokens: int) -> tuple[Any, dict[str, str]]:
    """Return the model that the options ask for, and what a checkpoint keeps of the user's own attention."""
    import torch

    from finetune.cli.options import MODEL_OPTIONS
    from finetune.models.gpt import GPT, GPTConfig

    torch.manual_seed(options.get("seed") or 0)
    sizes = {k: options[k] for k in MODEL_OPTIONS}
    model = GPT(GPTConfig(tokens, options["block_size"], attention=options["model"], **sizes))
    if options["attention"] is None:
        return model, {}
    from finetune.characters.own_attention import plug_own_attention, source_of
    from finetune.training.digests import digest

    click.echo(plug_own_attention(model, options["attention"], unverified=options["unverified"]), err=True)
    return model, {"another attention": digest([options["attention"], source_of(options["attention"])])}


def _watch(trainer: Any, judged: list[Any], options: dict[str, Any]) -> list[tuple[int, float]]:
    """Train until the minutes are spent or the epochs are; a line of figures now and then, and at the end.

    What is shown counts the seconds of the steps, those before an interruption too, and not what judging takes.

    Returns:
        The held-out loss in nats by step.
    """
    from finetune.models.gpt import mean_loss

    device, token = trainer.team.device, "word" if options["words"] else "character"
    judged = [{k: v.to(device) for k, v in batch.items()} for batch in judged]
    click.echo(f"seconds\t{token}s\tbits per {token}\tperplexity")
    begun = shown = trainer.seconds
    figures: list[tuple[int, float]] = []
    while not trainer.stop:
        spent = trainer.seconds
        done = spent - begun >= options["minutes"] * 60 or trainer.epoch >= trainer.config.epochs
        if done or spent >= shown:
            loss = mean_loss(trainer.model, judged)
            figures.append((trainer.step, loss))
            click.echo(f"{spent:.0f}\t{trainer.tokens}\t{loss / math.log(2):.3f}\t{math.exp(min(loss, 99)):.3f}")
            shown = spent + options["every"]
        if done:
            break
        trainer.run(stop_after=5)
    return figures


def draw(records: list[Any], figures: list[tuple[int, float]], options: dict[str, Any]) -> None:
    """Draw the losses of a run and the perplexities that follow from them."""
    from finetune.pictures import losses

    losses([(r["step"], r["loss"]) for r in records], figures, "word" if options["words"] else "character",
           options["picture"])  # fmt: skip
    click.echo(f"drawn in {options['picture']}", err=True)


def _continue_prompt(model: Any, vocabulary: Any, prompt: Any, options: dict[str, Any]) -> str:
    """The prompt, and what the model writes after it."""
    import torch

    from finetune.models.sampling import generate

    device = next(model.parameters()).device
    start = torch.from_numpy(prompt)[None].to(device)
    cached = options["attention"] is None  # a function of one's own sees whole stretches
    ids, _ = generate(model, start, options["sample"], temperature=options["temperature"], cached=cached)
    if options["words"]:
        return str(vocabulary.decode([*prompt.tolist(), *ids[0].tolist()]))
    return str(vocabulary.decode(prompt) + vocabulary.decode(ids[0].cpu().numpy()))
