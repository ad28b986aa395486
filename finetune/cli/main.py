"""Command line of finetune: the assignment's commands, its demonstrations, and their options under its names.

Heavy imports happen inside the commands, so that --help is quick; what a user can mend (BadInput) is reported in one
line with exit status 2, everything else is a defect and shows itself.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import click

from attention_core.console import escape_unencodable
from attention_core.terminal import HELP
from finetune.characters.recipe_numbers import EPOCHS_AFTER_PRETRAINING, FINETUNING, PRETRAINING
from finetune.cli.characters import characters
from finetune.cli.classify import classify
from finetune.cli.examples import baseline, charcorruption, namedata
from finetune.cli.exercise import exercise
from finetune.cli.experiment import experiment
from finetune.cli.heads import heads
from finetune.cli.memory import largest, memory
from finetune.cli.options import (
    AnyDash,
    Group,
    Real,
    changes_of,
    check_writable,
    config_option,
    corpus_and_vocabulary,
    device_options,
    form_options,
    model_options,
    one_line,
    questions_of,
    train_options,
)
from finetune.cli.predict import predict
from finetune.cli.prompt import prompt
from finetune.cli.scripts import scripts
from finetune.cli.select import select
from finetune.cli.standardise import standardise
from finetune.cli.train import form_of_file, model_of, train
from finetune.cli.translation import translation
from finetune.errors import BadInput


@click.group(cls=Group, context_settings=HELP)
@click.version_option(version("attention-core"), message="finetune (attention-core %(version)s)")
def app() -> None:
    """Small, readable training code that is judged by its own laws."""
    escape_unencodable()


MODEL = click.argument("model", metavar="MODEL", type=click.Choice(["vanilla", "synthesizer", "rotary"]))
CORPUS = click.argument("corpus_path", metavar="CORPUS")
DECAY = "200 N block_size for N examples"


@app.command(cls=AnyDash)
@MODEL
@CORPUS
@click.option("--writing_params_path", required=True, metavar="FILE", help="Where the trained parameters go.")
@click.option("--reading_params_path", metavar="FILE", help="Parameters to start from.")
@config_option
@model_options
@form_options
@train_options(PRETRAINING, final_tokens=DECAY)
@device_options
def pretrain(model: str, corpus_path: str, form: Any, **options: Any) -> None:
    """Pretrain MODEL (vanilla, synthesizer, rotary) by span corruption on CORPUS, one document per line."""
    written = (options["writing_params_path"], options["checkpoint_path"], options["metrics_path"])
    check_writable(*written, read=[corpus_path])
    from finetune.characters.recipes import pretraining
    from finetune.training.digests import digest

    documents, vocabulary = corpus_and_vocabulary(corpus_path)
    form, changes = form_of_file(options["reading_params_path"], form), changes_of(options)
    source = _corrupt(corpus_path, documents, vocabulary, form, changes.get("seed", 0))
    recipe = pretraining(len(source), form.block, **changes)
    train(model, vocabulary, form, source, recipe, "pretraining", options, {"another corpus": digest(documents)})


def _corrupt(path: str, documents: list[str], vocabulary: Any, form: Any, seed: int) -> Any:
    """A corpus as a source of span corruption. Raises: BadInput where it is one long line."""
    from finetune.data.span_corruption import CorruptedDocuments

    if len(documents) == 1 and len(documents[0]) > form.longest:
        raise BadInput(
            f"{path} is one line of {len(documents[0])} characters, of which a document gives the first "
            f"{form.longest} at most: it should hold one document per line"
        )
    ids, lengths = vocabulary.encode_batch([d[: form.longest] for d in documents])
    return CorruptedDocuments(ids, lengths, form, seed)


@app.command(cls=AnyDash)
@MODEL
@CORPUS
@click.option("--writing_params_path", required=True, metavar="FILE", help="Where the trained parameters go.")
@click.option("--finetune_corpus_path", required=True, metavar="FILE", help="question<TAB>place, one per line.")
@click.option("--reading_params_path", metavar="FILE", help="Pretrained parameters; without them, from scratch.")
@click.option(
    "--rehearse", type=click.IntRange(0), default=0, show_default=True, metavar="TIMES",
    help="Passes through CORPUS, corrupted anew, in every epoch, so that less of it is forgotten.",
)  # fmt: skip
@config_option
@model_options
@form_options
@train_options(
    FINETUNING, epochs=f"{FINETUNING['epochs']}, after pretraining {EPOCHS_AFTER_PRETRAINING}", final_tokens=DECAY
)
@device_options
def finetune(model: str, corpus_path: str, form: Any, **options: Any) -> None:
    """Fine-tune MODEL on questions with places; CORPUS gives the vocabulary, and with --rehearse its documents."""
    written = (options["writing_params_path"], options["checkpoint_path"], options["metrics_path"])
    check_writable(*written, read=[corpus_path, options["finetune_corpus_path"]])
    from finetune.characters.recipes import finetuning
    from finetune.data.corpus import read_questions
    from finetune.data.mixture import Mixture
    from finetune.data.names import NamePlaces
    from finetune.training.digests import digest

    documents, vocabulary = corpus_and_vocabulary(corpus_path)
    form = form_of_file(options["reading_params_path"], form)
    questions = read_questions(options["finetune_corpus_path"], with_places=True)
    with questions_of(options["finetune_corpus_path"], corpus_path):
        source: Any = NamePlaces(vocabulary, questions.questions, questions.places or [], form)
    changes = changes_of(options)
    # With other corruptions each time, and than a pretraining of the same seed had.
    seeds = range(changes.get("seed", 0) + 1, changes.get("seed", 0) + 1 + options["rehearse"])
    if seeds:
        source = Mixture([source, *(_corrupt(corpus_path, documents, vocabulary, form, seed) for seed in seeds)])
    pretrained = options["reading_params_path"] is not None
    recipe = finetuning(len(source), form.block, pretrained, **changes)
    digests = {
        "rehearse": options["rehearse"], "other questions": digest([questions.questions, questions.places]),
        "another corpus": digest([vocabulary.characters, documents if options["rehearse"] else []]),
    }  # fmt: skip
    train(model, vocabulary, form, source, recipe, "fine-tuning", options, digests)


@app.command(cls=AnyDash)
@MODEL
@CORPUS
@click.option("--reading_params_path", required=True, metavar="FILE", help="The parameters of the model.")
@click.option("--eval_corpus_path", required=True, metavar="FILE", help="Questions, with places or without.")
@click.option("--outputs_path", metavar="FILE", help="Where the answers go, one per line.")
@click.option("--details_path", metavar="FILE", help="A table of answers with what the corpus could have taught.")
@click.option("--curve_path", metavar="FILE", help="A table of what each threshold of the log-probability would keep.")
@click.option("--withhold_below", type=Real(), metavar="NATS", help="Less likely answers are written as `not known`.")
@config_option
@model_options
@form_options
@device_options
def evaluate(model: str, corpus_path: str, form: Any, **options: Any) -> None:
    """Answer the questions of a file with MODEL, write the answers, and count the right ones."""
    written = (options["outputs_path"], options["details_path"], options["curve_path"])
    check_writable(
        *written, read=[corpus_path, options["reading_params_path"], options["eval_corpus_path"]], devices=True
    )
    from finetune.characters.answer_provenance import consider, curve, split_table
    from finetune.characters.evaluate import answers, right
    from finetune.data.corpus import read_questions
    from finetune.data.names import prompts
    from finetune.training.processes import OneProcess

    documents, vocabulary = corpus_and_vocabulary(corpus_path)
    questions = read_questions(options["eval_corpus_path"])
    if questions.places is None and options["curve_path"]:
        raise BadInput(f"{options['eval_corpus_path']} has questions without places, and so no curve")
    form = form_of_file(options["reading_params_path"], form)
    made = model_of(model, vocabulary, form, options).to(OneProcess(options["device"]).device)
    with questions_of(options["eval_corpus_path"], corpus_path):
        prompts(vocabulary, questions.questions)  # refuse a question before the first line is printed
        asked = f"{len(questions)} questions of {options['eval_corpus_path']}"
        click.echo(f"finetune evaluate: {asked} for {model} of {options['reading_params_path']}", err=True)
        found = answers(made, vocabulary, questions.questions)
    least = options["withhold_below"]
    withheld = [least is not None and a.log_probability < least for a in found]
    _write_answers(options["outputs_path"], found, withheld)
    if questions.places is None:
        _print_counts(options["outputs_path"], None if least is None else withheld)
        if options["details_path"]:
            unmarked = consider(questions.questions, [None] * len(found), found, documents)
            _write(options["details_path"], details(unmarked))
        return
    marks = right([a.text for a in found], questions.places)
    _print_marks(marks, None if least is None else withheld)
    points = (f"{p.threshold:.4f}\t{p.answered}\t{p.right}\t{p.precision:.4f}\n" for p in curve(found, marks))
    _write(options["curve_path"], "threshold\tanswered\tright\tprecision\n" + "".join(points))
    rows = consider(questions.questions, questions.places, found, documents)
    for kind, good, count in split_table(rows):
        click.echo(f"  {kind}: {good} of {count}")
    _write(options["details_path"], details(rows))


def _write_answers(path: str | None, found: Any, withheld: list[bool]) -> None:
    """Write a line an answer, whatever an untrained model says."""
    from finetune.characters.answer_provenance import NOT_KNOWN

    lines = (NOT_KNOWN if hidden else one_line(a.text) for a, hidden in zip(found, withheld, strict=True))
    _write(path, "".join(f"{text}\n" for text in lines))


def _print_counts(path: str | None, withheld: list[bool] | None) -> None:
    """Print where answers to questions without places are, and how many were not withheld where some may be."""
    click.echo(f"Predictions written to {path or 'nowhere (give --outputs_path)'}; no targets provided")
    if withheld is not None:
        click.echo(f"Answered: {len(withheld) - sum(withheld)}; not known: {sum(withheld)}")


def _print_marks(marks: list[bool], withheld: list[bool] | None) -> None:
    """Print how many answers are right, and of those that were not withheld where some may be."""
    from finetune.characters.evaluate import wilson

    low, high = wilson(sum(marks), len(marks))
    click.echo(f"Correct: {sum(marks)} out of {len(marks)}: {100 * sum(marks) / len(marks):.1f}%")
    click.echo(f"95 % interval: {100 * low:.1f}% to {100 * high:.1f}%")
    if withheld is not None:
        given = [mark for mark, hidden in zip(marks, withheld, strict=True) if not hidden]
        click.echo(f"Answered: {len(given)}, of which {sum(given)} right; not known: {sum(withheld)}")


def details(rows: Any) -> str:
    """The table of --details_path; what only a place could tell is empty where there is none."""
    head = "question\tplace\tanswer\tright\tlog_probability\tname_in_corpus\tplace_with_name\n"
    lines = []
    for r in rows:
        marks = ("", "") if r.place is None else (int(r.right), int(r.place_with_name))
        lines.append(
            f"{r.question}\t{r.place or ''}\t{one_line(r.answer.text)}\t{marks[0]}\t{r.answer.log_probability:.4f}\t"
            f"{int(r.name_in_corpus)}\t{marks[1]}\n"
        )
    return head + "".join(lines)


def _write(path: str | None, text: str) -> None:
    if path is None:
        return
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}") from None


app.add_command(baseline)
app.add_command(characters)
app.add_command(charcorruption)
app.add_command(classify)
app.add_command(namedata)
app.add_command(predict)
app.add_command(prompt)
app.add_command(scripts)
app.add_command(select)
app.add_command(standardise)
app.add_command(exercise)
app.add_command(experiment)
app.add_command(heads)
app.add_command(memory)
app.add_command(translation)
app.add_command(largest)


def main() -> None:
    """Run the command `finetune`; the console script calls this.

    Example: `finetune --version` prints `finetune (attention-core 1.0.0rc1)`.
    """
    app()


if __name__ == "__main__":
    main()
