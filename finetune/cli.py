# The `finetune` command. Heavy imports happen inside the commands, so that --help is quick;
# what a user can mend (BadInput) is told in one line with exit status 2, everything else is a defect and shows itself.
"""Command line of finetune: the assignment's commands, its demonstrations, and their options under its names."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib.metadata import version
from typing import Any

import click

from finetune.errors import BadInput


class Group(click.Group):
    """A group whose commands say in one line what cannot be used."""

    def invoke(self, context: click.Context) -> Any:
        """Run a command; BadInput becomes one line and exit status 2."""
        try:
            return super().invoke(context)
        except BadInput as error:
            click.echo(f"finetune: {error}", err=True)
            context.exit(2)


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("attention-core"), message="finetune (attention-core %(version)s)")
def app() -> None:
    """Small, readable training code that is judged by its own laws."""


def form_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of the string `prefix M suffix M masked`, handed over as one `form`."""

    @click.option("--block_size", type=click.IntRange(1), default=128, show_default=True, help="Characters of a block.")
    @click.option(
        "--corruption_length", type=click.Choice(["block + 1", "block"]), default="block + 1", show_default=True,
        help="Length of the corrupted string; x and y are one shorter. Both are in use.",
    )  # fmt: skip
    @click.option("--trailing_mask/--no_trailing_mask", default=False, help="A third mask behind the masked stretch.")
    @wraps(command)
    def with_form(block_size: int, corruption_length: Any, trailing_mask: bool, **options: Any) -> Any:
        from finetune.data.span_corruption import Form

        return command(form=Form(block_size, corruption_length, trailing_mask), **options)

    return with_form


def corpus_and_vocabulary(path: str) -> tuple[list[str], Any]:
    """The documents of a corpus and the vocabulary of its text (line ends included, as in the assignment)."""
    from finetune.data.corpus import documents, read_text
    from finetune.data.vocabulary import Vocabulary

    text = read_text(path)
    found = documents(text, path)
    return found, Vocabulary.from_text(text, path)


@app.command()
@click.argument("corpus_path", default="wiki.txt")
@click.argument("names_path", default="birth_places_train.tsv")
@click.option("--count", type=click.IntRange(1), default=4, show_default=True, help="How many examples.")
@form_options
def namedata(corpus_path: str, names_path: str, count: int, form: Any) -> None:
    """Print examples for fine-tuning: questions and places of NAMES_PATH, in the vocabulary of CORPUS_PATH."""
    from finetune.data.corpus import read_questions
    from finetune.data.names import examples

    _, vocabulary = corpus_and_vocabulary(corpus_path)
    asked = read_questions(names_path, with_places=True)
    assert asked.places is not None
    for x, y in zip(*examples(vocabulary, asked.questions[:count], asked.places[:count], form), strict=True):
        click.echo(f"x: {vocabulary.decode(x)}\ny: {vocabulary.decode(y)}")


@app.command()
@click.argument("corpus_path", default="wiki.txt")
@click.option("--count", type=click.IntRange(1), default=4, show_default=True, help="How many examples.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The same seed, the same examples.")
@form_options
def charcorruption(corpus_path: str, count: int, seed: int, form: Any) -> None:
    """Print examples for pretraining: documents of CORPUS_PATH with one stretch masked."""
    import numpy as np

    from finetune.data.span_corruption import CorruptedDocuments

    found, vocabulary = corpus_and_vocabulary(corpus_path)
    ids, lengths = vocabulary.encode_batch(found[:count])
    source = CorruptedDocuments(ids, lengths, form, seed)
    batch = source.batch(0, np.arange(len(source)))
    for x, y in zip(batch["x"].numpy(), batch["y"].numpy(), strict=True):
        click.echo(f"x: {vocabulary.decode(x)}\ny: {vocabulary.decode(y)}")


def main() -> None:
    """Run the command `finetune`; the console script calls this.

    Example: `finetune --version` prints `finetune (attention-core 0.1.0)`.
    """
    app()


if __name__ == "__main__":
    main()
