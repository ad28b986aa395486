"""What the commands share: options, a configuration file, the reading of a corpus, progress on the terminal.

A configuration file is TOML: its keys are options, in a table by command or, for all commands, at the top. click's
FloatRange lets nan through, and does not say which file a default came from; the types of values here do.
"""

from __future__ import annotations

import math
import os
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import click

from attention_core.terminal import ListedCommands
from finetune.characters.recipe_numbers import ANY
from finetune.errors import BadInput, UnknownCharacter, prefix_errors


class Real(click.types.FloatParamType):
    """Any number but infinity and NaN."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number. Raises: click.BadParameter if it is not a finite one, or lies outside of a range."""
        found = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return found


class Finite(Real, click.FloatRange):
    """A number in a range; infinity and NaN are outside of every range."""


SEED = click.IntRange(0, 2**62)
"""Seeds that torch and NumPy take, with room for the ones that are counted on from them."""


def check_value(path: str, option: click.Parameter, value: Any) -> None:
    """Refuse what a configuration file has for an option that does not take it. Raises: BadInput, in one line."""
    if option.multiple or option.nargs != 1:
        return  # a list of choices, which its command reads by itself
    kind, fits = expected_value(option)
    if not fits(value):
        raise BadInput(f"{path}: {option.name} should be {kind}, not {value!r}")
    if kind == "true or false":
        return
    try:
        option.type.convert(value, option, None)
    except click.BadParameter as error:
        raise BadInput(f"{path}: {option.name}: {error.message}") from None


def expected_value(option: click.Parameter) -> tuple[str, Any]:
    """What TOML should have for an option, in words and as a test.

    For --epochs it is "a whole number", which 1.5, true and "3" are not.
    """
    number = (int, float)
    if getattr(option, "is_flag", False):
        return "true or false", lambda value: isinstance(value, bool)
    if isinstance(option.type, click.types.IntParamType):
        return "a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool)
    if isinstance(option.type, click.types.FloatParamType):
        return "a number", lambda value: isinstance(value, number) and not isinstance(value, bool)
    return "a text in quotes", lambda value: isinstance(value, str)


class Group(ListedCommands):
    """A group whose commands say in one line what cannot be used, or that they were interrupted."""

    def invoke(self, context: click.Context) -> Any:
        """Run a command; BadInput becomes one line and exit status 2, Ctrl-C one line and 130."""
        try:
            returned = super().invoke(context)
        except BadInput as error:
            click.echo(f"finetune: {error}", err=True)
            context.exit(2)
        except KeyboardInterrupt:
            click.echo("finetune: interrupted", err=True)
            context.exit(130)
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            from finetune.training.processes import leave_group

            leave_group()
        return returned


class AnyDash(click.Command):
    """A command that takes its long options as printed pages have them: after one dash, a long one, or broken up."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, with `-name`, `\N{EM DASH}name` and `-- a name` read as `--name` and `--a_name`.

        That is where there are such options. Source: the printed commands of 002, problem 3, and 003, 2(f).
        """
        known = {name for param in self.params for name in (*param.opts, *param.secondary_opts)}
        return super().parse_args(ctx, [self._with_two_dashes(arg, known) for arg in self._join_words(args, known)])

    @staticmethod
    def _join_words(args: list[str], known: set[str]) -> list[str]:
        """The arguments, where `--` and the words of an option after it are that option again."""
        found, rest = [], list(args)
        while rest:
            word = rest.pop(0)
            lengths = [n for n in range(1, 5) if word == "--" and f"--{'_'.join(rest[:n])}" in known]
            found.append(f"--{'_'.join(rest[: lengths[0]])}" if lengths else word)
            rest = rest[lengths[0] :] if lengths else rest
        return found

    @staticmethod
    def _with_two_dashes(arg: str, known: set[str]) -> str:
        name, equals, value = arg.partition("=")
        bare = name.lstrip("-\N{EN DASH}\N{EM DASH}")
        return f"--{bare}{equals}{value}" if name != bare and name not in known and f"--{bare}" in known else arg


def read_config(context: click.Context, _: click.Parameter, path: str | None) -> None:
    """Make a file's values the defaults of a command's options; what is given on the command line wins.

    Raises: BadInput if the file cannot be read, is not valid TOML, or has a key that the command does not know.
    """
    if path is None:
        return
    from finetune.data.corpus import read_text

    try:
        data = tomllib.loads(read_text(path))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadInput(f"{path} is not valid TOML: {error}") from None
    command = context.command.name or ""
    own, group = {p.name for p in context.command.params}, context.parent and context.parent.command
    commands = group.commands.values() if isinstance(group, click.Group) else [context.command]
    of_any = {p.name for each in commands for p in each.params}
    names = group.commands if isinstance(group, click.Group) else {command: None}
    for name in names:
        if not isinstance(data.get(name, {}), dict):
            raise BadInput(f"{path}: {name} is a command: its options belong in the table [{name}]")
    shared = {k: v for k, v in data.items() if not isinstance(v, dict)}
    table = data.get(command, {})
    unknown = [k for k in shared if k not in of_any] + [k for k in table if k not in own]
    strange = [k for k, v in data.items() if isinstance(v, dict) and k not in names]
    if strange:
        raise BadInput(f"{path}: [{strange[0]}] is not a command")
    if unknown:
        raise BadInput(f"{path}: {command} has no option {unknown[0]!r}")
    values = {k: v for k, v in shared.items() if k in own} | table
    if "config" in values:
        raise BadInput(f"{path}: config names a file like this one, which cannot name another")
    for option in context.command.params:
        if option.name in values:
            check_value(path, option, values[option.name])
    context.default_map = {**(context.default_map or {}), **values}


def config_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option --config."""
    return click.option(
        "--config", metavar="FILE", is_eager=True, expose_value=False, callback=read_config,
        help="TOML with defaults for these options.",
    )(command)  # fmt: skip


def form_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of the string `prefix M suffix M masked`, handed over as one `form`."""

    @click.option("--block_size", type=click.IntRange(1), default=128, show_default=True, help="Characters per block.")
    @click.option(
        "--corruption_length", type=click.Choice(["block + 1", "block"]), default="block + 1", show_default=True,
        help="Length of the corrupted string; x and y are one shorter. Both conventions exist.",
    )  # fmt: skip
    @click.option("--trailing_mask/--no_trailing_mask", default=False, help="Add a third mask after the stretch.")
    @wraps(command)
    def with_form(block_size: int, corruption_length: Any, trailing_mask: bool, **options: Any) -> Any:
        from finetune.data.span_corruption import Form

        return command(form=Form(block_size, corruption_length, trailing_mask), **options)

    return with_form


MODEL_OPTIONS: Mapping[str, tuple[Any, Any, str]] = {
    "n_layer": (click.IntRange(1), 4, "Blocks."),
    "n_head": (click.IntRange(1), 8, "Heads per block."),
    "n_embd": (click.IntRange(1), 256, "Features per character."),
    "dropout": (Finite(0, 1, max_open=True), 0.1, "Dropout in training."),
    "synthesizer": (
        click.Choice(["per_head", "per_head_bias", "shared"]),
        "per_head",
        "Weights that the synthesizer's heads share.",
    ),
}
TRAIN_OPTIONS: Mapping[str, tuple[Any, str]] = {
    "epochs": (click.IntRange(1), "Passes over the examples."),
    "batch_size": (click.IntRange(1), "Examples per step."),
    "learning_rate": (Finite(0), "The peak rate."),
    "warmup_tokens": (click.IntRange(0), "Targets until the peak rate."),
    "final_tokens": (click.IntRange(1), "Targets until a tenth of the peak rate."),
    "weight_decay": (Finite(0), "Decay of matrices."),
    "optimizer": (
        click.Choice(["adamw", "muon", "sgd", "adagrad"]),
        "Optimizer; muon is for matrices, AdamW for the rest.",
    ),
    "accumulate": (click.IntRange(1), "Parts into which a step is split."),
    "precision": (click.Choice(["float32", "bfloat16", "auto"]), "Dtype of matrix products."),
    "log_every": (click.IntRange(1), "Steps between records."),
    "save_every": (click.IntRange(1), "Epochs between checkpoints."),
    "seed": (SEED, "The same seed gives the same run."),
}


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The sizes of a model."""
    for name, (kind, default, text) in reversed(list(MODEL_OPTIONS.items())):
        command = click.option(f"--{name}", type=kind, default=default, show_default=True, help=text)(command)
    return command


def train_options(numbers: Mapping[str, Any], **words: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """How to train; what is not given is the recipe's, and the help says what that is.

    Args: numbers: of the recipe, over those of any; words: shown in place of a number, or where there is none.
    """
    known = {**ANY, **numbers, **words}

    def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
        command = click.option("--compile", is_flag=True, default=None, help="Use torch.compile.")(command)
        for name, (kind, text) in reversed(list(TRAIN_OPTIONS.items())):
            message = f"{text}  [default: {known[name]}]"
            command = click.option(f"--{name}", type=kind, default=None, help=message)(command)
        command = click.option("--metrics_path", metavar="FILE", help="Write records, one JSON object a line.")(command)
        command = click.option("--tensorboard_path", metavar="FOLDER", help="Write records for TensorBoard.")(command)
        return click.option(
            "--checkpoint_path", metavar="FILE", help="State of the run; if the file exists, the run continues from it."
        )(command)

    return with_options


def device_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Where to compute."""
    command = click.option("--device", metavar="NAME", help="cpu, cuda, ...  [default: cuda where there is one]")(
        command
    )
    return click.option("--threads", type=click.IntRange(1), help="Processor threads.  [default: torch's choice]")(
        command
    )


def changes_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a recipe that were given."""
    names = [*TRAIN_OPTIONS, "compile"]
    return {name: options[name] for name in names if options.get(name) is not None}


def corpus_and_vocabulary(path: str) -> tuple[list[str], Any]:
    """The documents of a corpus and the vocabulary of its text (line ends included, as in the assignment)."""
    from finetune.data.corpus import documents, read_text
    from finetune.data.vocabulary import Vocabulary

    text = read_text(path)
    found = documents(text, path)
    return found, Vocabulary.from_text(text, path)


@contextmanager
def questions_of(path: str, corpus_path: str) -> Iterator[None]:
    """Within, errors name the file of questions, and a character that its corpus lacks with a way out.

    Raises: BadInput.
    """
    try:
        with prefix_errors(path):
            yield
    except UnknownCharacter as error:
        raise BadInput(
            f"{error}, {corpus_path}; add a line with it there and pretrain anew, or leave this question out of {path}"
        ) from None


def check_writable(*paths: str | None, read: Sequence[str | None] = (), devices: bool = False) -> None:
    """Refuse at the door what could not be written at the end of a long run, or would write over something else.

    Args: read: files that the command reads; devices: /dev/stdout and its like will do, and for several files, since
        the file is written in its place and not replaced.
    Raises: BadInput, naming the path.
    """
    import os

    taken = {Path(path).resolve() for path in read if path is not None}
    for path in paths:
        if path is None:
            continue
        target = Path(path)
        if not (devices and target.exists() and not target.is_file()):
            if target.resolve() in taken:
                raise BadInput(f"{path} is named twice: one output would overwrite the other")
            taken.add(target.resolve())
        if target.is_dir():
            raise BadInput(f"{path} cannot be written: it is a folder")
        if target.exists() and not target.is_file() and not devices:
            raise BadInput(f"{path} cannot be written: it is not a regular file")
        if not target.absolute().parent.is_dir():
            raise BadInput(f"{path} cannot be written: there is no folder {target.parent}")
        if not os.access(target if target.exists() else target.absolute().parent, os.W_OK):
            raise BadInput(f"{path} cannot be written: no permission")


def one_line(text: str) -> str:
    """A text without line ends and tabs, for a table."""
    return " ".join(text.replace("\t", " ").splitlines())


@contextmanager
def progress(what: str, epochs: int, examples: int, batch_size: int) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """A sink that shows how far training is: a bar on a terminal, elsewhere a line a minute, for logs."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    total = epochs * -(-examples // batch_size)
    if not Console(stderr=True).is_terminal:
        yield _lines(what, epochs, total)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=total)

        def sink(record: Mapping[str, Any]) -> None:
            message = f"{what} epoch {record['epoch'] + 1}/{epochs} loss {record['loss']:.3f}"
            bar.update(task, completed=record["step"], description=message)

        yield sink


@contextmanager
def step_progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A function of a step and the number of all steps that shows both: a bar on a terminal, else a line a minute.

    Lines that are printed meanwhile stand above the bar, which is gone at the end.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal or os.environ.get("RANK", "0") != "0":
        yield _step_lines(what)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, redirect_stdout=sys.stdout.isatty()) as bar:
        task = bar.add_task(what, total=None)
        yield lambda step, steps: bar.update(task, completed=step, total=steps)


def _step_lines(what: str, every: float = 60.0) -> Callable[[int, int], None]:
    """A function that writes the step on standard error when so many seconds have gone by since the last line."""
    clock = _Clock(every)

    def show(step: int, steps: int) -> None:
        if clock.is_due(step):
            click.echo(f"{what}: step {step} of {steps}{clock.describe_rest(step, steps)}", err=True)

    return show


def _lines(what: str, epochs: int, total: int, every: float = 60.0) -> Callable[[Mapping[str, Any]], None]:
    """A sink that writes a line on standard error when so many seconds have gone by since the last one."""
    clock = _Clock(every)

    def sink(record: Mapping[str, Any]) -> None:
        if clock.is_due(record["step"]):
            left = clock.describe_rest(record["step"], total)
            click.echo(f"{what} epoch {record['epoch'] + 1}/{epochs} loss {record['loss']:.3f}{left}", err=True)

    return sink


class _Clock:
    """When a line of progress is due, and how long the rest takes.

    Args: every, seconds between two lines; now, gives seconds.
    """

    def __init__(self, every: float, now: Callable[[], float] | None = None) -> None:
        self.every, self.now = every, now or time.monotonic
        self.last = self.at = self.now()
        self.first: tuple[float, int] | None = None  # when the first step was heard of, and which: runs are resumed

    def is_due(self, step: int) -> bool:
        """Whether a line is due; if so, the next one is not before `every` seconds."""
        self.at = self.now()
        self.first = self.first or (self.at, step)
        if self.at - self.last < self.every:
            return False
        self.last = self.at
        return True

    def describe_rest(self, step: int, steps: int) -> str:
        """About how long the steps after this one take, at the pace so far; "" before there is one.

        >>> clock = _Clock(60.0, iter([0.0, 10.0, 130.0]).__next__)
        >>> clock.is_due(5), clock.is_due(11), clock.describe_rest(11, 311)
        (False, True, ', about 2 hours left')
        """
        if self.first is None or step <= self.first[1]:
            return ""
        seconds = (self.at - self.first[0]) / (step - self.first[1]) * (steps - step)
        for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
            if seconds >= 1.5 * size:
                return f", about {seconds / size:.0f} {unit} left"
        return f", about {seconds:.0f} seconds left"
