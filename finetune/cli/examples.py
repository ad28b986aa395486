"""The assignment's demonstrations on the command line: one answer for all, and what the examples look like."""

from __future__ import annotations

from typing import Any

import click

from finetune.cli.options import SEED, corpus_and_vocabulary, form_options, questions_of


@click.command()
@click.option("--answer", default="London", show_default=True, help="The answer to every question.")
@click.option("--eval_corpus_path", default="birth_dev.tsv", show_default=True, metavar="FILE", help="With places.")
def baseline(answer: str, eval_corpus_path: str) -> None:
    """Count how often one answer is right."""
    from finetune.characters.evaluate import right
    from finetune.data.corpus import read_questions

    questions = read_questions(eval_corpus_path, with_places=True)
    marks = right([answer] * len(questions), questions.places or [])
    click.echo(f"Correct: {sum(marks)} out of {len(marks)}: {100 * sum(marks) / len(marks):.1f}%")


@click.command()
@click.argument("corpus_path", default="wiki.txt")
@click.argument("names_path", default="birth_places_train.tsv")
@click.option("--count", type=click.IntRange(1), default=4, show_default=True, help="How many examples.")
@form_options
def namedata(corpus_path: str, names_path: str, count: int, form: Any) -> None:
    """Print examples for fine-tuning: questions and places of NAMES_PATH, in the vocabulary of CORPUS_PATH."""
    from finetune.data.corpus import read_questions
    from finetune.data.names import examples

    _, vocabulary = corpus_and_vocabulary(corpus_path)
    questions = read_questions(names_path, with_places=True)
    places = questions.places or []
    with questions_of(names_path, corpus_path):
        made = examples(vocabulary, questions.questions[:count], places[:count], form)
    for x, y in zip(*made, strict=True):
        click.echo(f"x: {vocabulary.decode(x)}\ny: {vocabulary.decode(y)}")


@click.command()
@click.argument("corpus_path", default="wiki.txt")
@click.option("--count", type=click.IntRange(1), default=4, show_default=True, help="How many examples.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="The same seed gives the same examples.")
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
