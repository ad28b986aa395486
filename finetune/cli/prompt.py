"""The command line of prompting: complete a text, classify a data set, or study the effects of how one prompts."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import click

from finetune.cli.options import SEED, Finite, Group
from finetune.errors import BadInput

MODES = click.Choice(["completion", "chat"])
ORDERS = click.Choice(["interleaved", "blocked", "reversed", "shuffled"])
SCORING = click.Choice(["answer", "likelihood"])
CONTROLS = ("temperature", "top_p", "max_tokens", "frequency_penalty", "presence_penalty", "n", "best_of", "seed")


@click.group(cls=Group)
def prompt() -> None:
    """Prompt a language model: in this process, or behind any OpenAI-compatible server.

    A server's key is read from OPENAI_API_KEY in the environment, and from nowhere else.
    """


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which model is prompted, and where answers are kept."""
    for option in reversed((
        click.option("--model", default="smollm2", show_default=True, metavar="NAME",
                     help="A folder, a .gguf file, smollm2, gemma3, or the name of a server's model."),
        click.option("--server", metavar="URL", help="An OpenAI-compatible API, or `openai` for OpenAI's own."),
        click.option("--mode", type=MODES, default="completion", show_default=True, help="Complete a text, or chat."),
        click.option("--store", metavar="FILE", help="Keep answers here (SQLite), and do not send what is kept."),
        click.option("--parallel", type=click.IntRange(1, 256), default=8, show_default=True,
                     help="Requests sent at once."),
        click.option("--retries", type=click.IntRange(0, 20), default=6, show_default=True,
                     help="Retries of a request after 429, 5xx or a broken connection."),
        click.option("--timeout", type=Finite(0, min_open=True), default=120.0, show_default=True,
                     help="Seconds per attempt."),
        click.option("--server_field", "server_fields", multiple=True, metavar="NAME=VALUE",
                     help="A further field of each request to a server, as repeat_penalty=1. Repeatable."),
        click.option("--prices", type=(Finite(0), Finite(0)), metavar="IN OUT",
                     help="Dollars per million tokens in and out, to show the cost."),
        click.option("--device", default="cpu", show_default=True, help="Device of a local model."),
        click.option("--threads", type=click.IntRange(1), help="Threads of the processor, for a local model."),
    )):  # fmt: skip
        command = option(command)
    return command


def control_options(longest: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the controls of sampling; `longest` is the default of --max_tokens."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed((
            click.option("--temperature", type=Finite(0, 2), default=0.0, show_default=True, help="0: the likeliest."),
            click.option("--top_p", type=Finite(0, 1, min_open=True), default=1.0, show_default=True,
                         help="Draw from the fewest tokens whose probabilities sum to this."),
            click.option("--max_tokens", type=click.IntRange(1), default=longest, show_default=True,
                         help="Tokens of a completion, at most."),
            click.option("--stop", multiple=True, metavar="TEXT",
                         help=r"End a completion before this text; \n is a line break. Up to four."),
            click.option("--frequency_penalty", type=Finite(-2, 2), default=0.0, show_default=True,
                         help="Penalty for each earlier use of a token."),
            click.option("--presence_penalty", type=Finite(-2, 2), default=0.0, show_default=True,
                         help="Penalty for a token that was used before."),
            click.option("--n", type=click.IntRange(1), default=1, show_default=True, help="Number of completions."),
            click.option("--best_of", type=click.IntRange(1), help="Draw this many, and keep the --n likeliest."),
            click.option("--seed", type=SEED, default=0, show_default=True, help="The same seed gives the same draws."),
        )):  # fmt: skip
            command = option(command)
        return command

    return add


def data_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a data set, of its prompts and of the report."""
    for option in reversed((
        click.option("--data", "--data_dir", required=True, metavar="PATH", help="A folder, a file, or hub:NAME."),
        click.option("--task", type=click.Choice(["boolq", "sst2", "yelp"]), help="[default: by its files]"),
        click.option("--side", type=click.Choice(["dev", "test"]), default="dev", show_default=True,
                     help="The split to evaluate; demonstrations come from train."),
        click.option("--limit", type=click.IntRange(1), default=30, show_default=True, help="Examples, by hash."),
        click.option("--balanced/--unbalanced", default=True, help="Use equally many demonstrations of each class."),
        click.option("--order", type=ORDERS, default="interleaved", show_default=True, help="Order of demonstrations."),
        click.option("--scoring", type=SCORING, default="answer", show_default=True,
                     help="Parse the answer, or take the likeliest label word."),
        click.option("--words", metavar="WORD,WORD", help="Label words in the order of the classes."),
        click.option("--instruction", metavar="TEXT", help="Text above the demonstrations; '' for none."),
        click.option("--max_words", type=click.IntRange(1), help="Cut each text to this many words."),
        click.option("--output", metavar="FILE", help="Write the results as JSON."),
    )):  # fmt: skip
        command = option(command)
    return command


def model_of(options: dict[str, Any]) -> Any:
    """Return the model that the options name. Raises: BadInput."""
    if options["server"]:
        from finetune.prompting.server import OPENAI, ServerModel

        url = OPENAI if options["server"] == "openai" else options["server"]
        limits = {name: options[name] for name in ("parallel", "retries", "timeout")}
        return ServerModel(options["model"], url, fields=fields_of(options["server_fields"]), **limits)
    if options["server_fields"]:
        raise BadInput("--server_field is for a server: name it with --server URL")
    from finetune.prompting.local import LocalModel

    if options["threads"]:
        import torch

        torch.set_num_threads(options["threads"])
    return LocalModel(options["model"], options["device"])


OWN = frozenset({"model", "messages", "prompt", "n", "best_of", "seed", "stop", "max_tokens", "temperature", "logprobs",
                 "top_logprobs", "stream"})  # fmt: skip
"""Fields of a request that have options of their own, or that the form of its answer depends on."""


def fields_of(words: Iterable[str]) -> dict[str, Any]:
    """Return the fields that NAME=VALUE words add to a request; other values than JSON are texts.

    >>> fields_of(["repeat_penalty=1", "grammar=root"])
    {'repeat_penalty': 1, 'grammar': 'root'}
    """
    fields: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (equals and name.isidentifier()):
            raise BadInput(f"--server_field {word!r}: write NAME=VALUE, as in repeat_penalty=1")
        if name in OWN:
            raise BadInput(f"--server_field {name}: every request already says it")
        try:
            fields[name] = json.loads(value)
            json.dumps(fields[name], allow_nan=False)
        except ValueError:
            fields[name] = value
    return fields


def controls_of(options: dict[str, Any]) -> Any:
    """Return the `Controls` of a command's options. Raises: BadInput."""
    from finetune.prompting.request import Controls

    stop = tuple(text.replace("\\n", "\n") for text in options["stop"])
    return Controls(stop=stop, **{name: options[name] for name in CONTROLS})


@contextmanager
def store_of(path: str | None) -> Iterator[Any]:
    """Within, the store of answers of --store, or one in memory."""
    from finetune.prompting.answers import AnswerStore

    with AnswerStore(path) as store:
        yield store


def interrupted_is_plain(command: Callable[..., Any]) -> Callable[..., Any]:
    """Make Ctrl-C say that answers are kept, if they are."""

    @wraps(command)
    def run(**options: Any) -> Any:
        try:
            return command(**options)
        except KeyboardInterrupt:
            if options.get("store"):
                click.echo(f"finetune: interrupted; the answers so far are in {options['store']}", err=True)
                raise SystemExit(130) from None
            raise

    return run


@prompt.command()
@click.argument("text")
@model_options
@control_options(64)
@interrupted_is_plain
def complete(text: str, **options: Any) -> None:
    """Go on with TEXT; `-` reads it from standard input, @FILE from a file."""
    from finetune.prompting.ask import ask
    from finetune.prompting.request import Request, describe_usage

    with closing(model_of(options)) as model, store_of(options["store"]) as store:
        request = Request(model.identity, _text(text), controls_of(options), options["mode"])
        replies = ask(model, [request], store)
    (answer,) = replies.complete()
    for number, completion in enumerate(answer.texts, 1):
        if len(answer.texts) > 1:
            click.echo(f"--- {number}")
        click.echo(completion)
    origin = "asked" if replies.sent else "from the store"
    click.echo(f"{origin}: {describe_usage(*replies.tokens(), _prices(options))}", err=True)


@prompt.command()
@data_options
@click.option("--shots", type=click.IntRange(0), default=8, show_default=True, help="Number of demonstrations.")
@model_options
@control_options(8)
@interrupted_is_plain
def classify(shots: int, **options: Any) -> None:
    """Classify a data set by prompting: accuracy with interval, beside the majority class."""
    from finetune.prompting.evaluate import Setting, evaluate, to_text
    from finetune.prompting.request import describe_usage

    check_output(options["output"])
    template, train, examples = _task_of(options)
    controls = controls_of(options)
    setting = Setting(
        shots, options["seed"], options["balanced"], options["order"], options["scoring"], options["mode"]
    )
    with closing(model_of(options)) as model, store_of(options["store"]) as store, bar(len(examples)) as progress:
        click.echo(f"{len(examples)} examples of {options['side']}, {setting.describe()}, {model.identity}")
        result = evaluate(model, template, train, examples, setting, controls=controls, store=store, progress=progress)
    for line in result.lines():
        click.echo(line)
    click.echo(describe_usage(result.prompt_tokens, result.completion_tokens, _prices(options)))
    write_text(options["output"], to_text([result]))


@prompt.command()
@data_options
@click.option("--shots", default="0,2,4,8", show_default=True, metavar="K,K", help="Numbers of demonstrations.")
@click.option("--base", type=click.IntRange(1), default=4, show_default=True, help="Demonstrations in all other rows.")
@click.option("--seeds", type=click.IntRange(1), default=5, show_default=True, help="Draws of demonstrations.")
@click.option("--other_words", metavar="WORD,WORD", help="Further label words, in a row of their own.")
@model_options
@interrupted_is_plain
def study(shots: str, base: int, seeds: int, other_words: str | None, **options: Any) -> None:
    """Table the effects of the number, order and balance of demonstrations, of scoring and of label words."""
    from finetune.prompting.evaluate import Setting, to_text
    from finetune.prompting.study import study as run
    from finetune.prompting.study import table

    check_output(options["output"])
    try:
        counts = [int(number) for number in shots.split(",")]
    except ValueError:
        raise BadInput(f"--shots {shots!r}: whole numbers with commas, such as 0,2,4,8") from None
    if min(counts) < 0:
        raise BadInput(f"--shots {shots!r}: no number is below 0")
    template, train, examples = _task_of(options)
    setting = Setting(base, 0, options["balanced"], options["order"], options["scoring"], options["mode"])
    majority = examples.accuracy_of(examples.majority())
    words = _words(other_words)
    if words and len(words) != len(examples.classes):
        raise BadInput(f"--other_words: {len(words)} words for {len(examples.classes)} classes")
    with closing(model_of(options)) as model, store_of(options["store"]) as store:
        click.echo(f"{len(examples)} examples of {options['side']}, majority class {majority:.3f}, {model.identity}")
        rows = run(
            model, template, train, examples, setting, shots=counts, seeds=range(seeds), words=words, store=store,
            report=lambda name: click.echo(f"running: {name}", err=True),
        )  # fmt: skip
    click.echo(table(rows))
    write_text(options["output"], to_text([result for row in rows for result in row.results]))


def _task_of(options: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Return the template, the training examples and those that are evaluated."""
    from finetune.classification.data import draw_examples, prepare_data
    from finetune.prompting.template import TEMPLATES, cut_words, template_of

    sides = prepare_data(options["data"], options["task"]).by_name()
    if options["side"] not in sides:
        raise BadInput(f"{options['data']} has no labelled {options['side']}")
    train, examples = (cut_words(sides[side], options["max_words"]) for side in ("train", options["side"]))
    task = options["task"] or _task_by_classes(examples.classes)
    template = template_of(task, examples, _words(options["words"]), options["instruction"])
    assert task in TEMPLATES
    return template, train, draw_examples(examples, min(options["limit"], len(examples)), 0)


def _task_by_classes(classes: tuple[str, ...]) -> str:
    known: dict[tuple[str, ...], str] = {("false", "true"): "boolq", ("negative", "positive"): "sst2"}
    return known.get(classes, "yelp")


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",")) if text else ()


def _prices(options: dict[str, Any]) -> dict[str, float] | None:
    pair = options["prices"]
    return None if pair is None else {"input": pair[0], "output": pair[1]}


@contextmanager
def bar(count: int) -> Iterator[Callable[[int, int], None]]:
    """Within, a progress bar on a terminal's standard error; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield lambda done, all_: None
        return
    with click.progressbar(length=count, label="prompting", file=sys.stderr) as bar:
        yield lambda done, all_: bar.update(done - bar.pos)


def _text(text: str) -> str:
    from finetune.data.corpus import read_text

    if text == "-":
        return sys.stdin.read()
    return read_text(text[1:]) if text.startswith("@") else text


def check_output(path: str | None) -> None:
    """Raises: BadInput, before anything is paid for, if the results could not be written."""
    if path is not None and not Path(path).resolve().parent.is_dir():
        raise BadInput(f"--output {path}: there is no such folder")


def write_text(path: str | None, text: str) -> None:
    """Write a result where one is wanted, and say where. Raises: BadInput."""
    if path is not None:
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            raise BadInput(f"{path} cannot be written: {error.strerror}") from None
        click.echo(f"written to {path}")
