"""Pretrain, fine-tune, evaluate, and tell what came of it.

Where was X born?: no pretraining, vanilla, synthesizer and rotary on the real files; writes docs/birthplaces.md.
Hours on two cores. What is done is kept in build/birthplaces; the same command goes on, to the same bits.
With several processes, each on a core, a step takes as much less time (they are others' bits):

torchrun --nproc_per_node 2 experiments/birthplaces/run.py --threads 1 --recipe skeleton
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from graphed import GraphedTraining
from skeleton import SkeletonTrainer
from tell import considerations, page

from finetune.characters.answer_provenance import consider, split_table
from finetune.characters.evaluate import answers, right
from finetune.characters.recipes import finetuning, load_parameters, pretraining, save_parameters
from finetune.data.corpus import Questions, documents, read_questions, read_text
from finetune.data.mixture import Mixture
from finetune.data.names import NamePlaces
from finetune.data.span_corruption import CorruptedDocuments, Form
from finetune.data.vocabulary import Vocabulary
from finetune.errors import BadInput
from finetune.models.gpt import GPT, GPTConfig, next_token_loss
from finetune.training.metrics import jsonl
from finetune.training.processes import processes
from finetune.training.train import Trainer

ROOT = Path(__file__).resolve().parents[2]


def leg(epochs: int) -> dict[str, Any]:
    """A pretraining with Muon in small batches, its rate falling all the while; 50 epochs take an hour of one core."""
    return {
        "epochs": epochs, "batch_size": 32, "optimizer": "muon", "learning_rate": 4e-3, "precision": "auto",
        "accumulate": 4, "warmup_tokens": 50_000, "final_tokens": epochs * 2937 * 57,
    }  # fmt: skip


def rehearsal(epochs: int, times: int = 1) -> dict[str, Any]:
    """A fine-tuning that goes through the corpus too, so many times an epoch; half a minute of one core each time."""
    return {
        "rehearse": times, "epochs": epochs, "batch_size": 64, "precision": "auto", "accumulate": 8,
        "final_tokens": epochs * (2000 * 11 + times * 2937 * 57),
    }  # fmt: skip


RECIPES: dict[str, dict[str, Any]] = {
    # The source's own: 15,000 steps.
    "source": {"model": {}, "pretrain": {}, "finetune": {}},
    # The same numbers, batches and steps on a processor: products in bfloat16, and batches in parts of like widths.
    # 4.6 hours of a core for the dot-product model in place of 21.
    "source-parts": {
        "model": {"kernel": "torch:math"},
        "pretrain": {"precision": "auto", "accumulate": 8},
        "finetune": {"precision": "auto", "accumulate": 8},
    },
    # The source's numbers with its own trainer, on a processor as above.
    "skeleton": {
        "trainer": "skeleton",
        "model": {"kernel": "torch:math"},
        "pretrain": {"precision": "auto", "accumulate": 8},
        "finetune": {"precision": "auto", "accumulate": 8, "final_tokens": 200 * 2937 * 128},
    },
    # For an hour of one core: products in bfloat16, parts of like widths, no dropout while facts are to be learnt by
    # heart (where torch would take its flash kernel, whose backward is slow for so short texts), the rate's decay over
    # the run, and a quarter of the batch. With AdamW at 1e-3 an hour came to a loss of 0.9: fluent sentences, 9 of 112
    # places known in the very sentences of the corpus, 14 of 500 questions. Muon at 4e-3 is after 300 steps where AdamW
    # was after 950 (a loss of 1.84), and its steps cost a fifth more.
    "short": {
        "model": {"dropout": 0.0, "kernel": "torch:math"},
        "pretrain": leg(50),
        "finetune": {"precision": "auto", "accumulate": 8},
    },
    # After the short pretraining 80 of 112 places are known in the corpus's own sentences, and questions reach a
    # seventh of them. So the corpus is gone through again beside the questions (`finetune finetune --rehearse 1`): what
    # is stored is kept, and is stored where questions find it.
    "rehearsed": {
        "model": {"dropout": 0.0, "kernel": "torch:math"},
        "pretrain": leg(50),
        "finetune": rehearsal(6),
        "scratch": {"precision": "auto", "accumulate": 8},
    },
    # The short recipe, then as much again twice over, the rate begun anew (Loshchilov and Hutter, "SGDR", 2017).
    "long": {
        "model": {"dropout": 0.0, "kernel": "torch:math"},
        "pretrain": leg(50),
        "pretrain2": leg(100),
        "finetune": rehearsal(6),
        "scratch": {"precision": "auto", "accumulate": 8},
    },
    # Minutes of a GPU, with `--graphed cuda`: four times the epochs of the short recipe, in batches of twice the size.
    "gpu": {
        "model": {"dropout": 0.0, "kernel": "torch:math"},
        "pretrain": {**leg(200), "batch_size": 64, "accumulate": 1},
        "finetune": {"precision": "auto"},
    },
    "gpu-rehearsed": {
        "model": {"dropout": 0.0, "kernel": "torch:math"},
        "pretrain": {**leg(200), "batch_size": 64, "accumulate": 1},
        "finetune": {**rehearsal(6), "accumulate": 1},
    },
    # Seconds, and nothing learnt: to see that all of it runs.
    "tiny": {
        "model": {"n_layer": 1, "n_head": 2, "n_embd": 8},
        "pretrain": {"epochs": 2},
        "pretrain2": {"epochs": 1},
        "finetune": {"epochs": 2, "rehearse": 2},
        "scratch": {"epochs": 2},
    },
}


@dataclass(frozen=True)
class Files:
    """The real files, read."""

    documents: list[str]
    vocabulary: Vocabulary
    train: Questions
    dev: Questions
    test: Questions


def read_files(folder: Path) -> Files:
    """The corpus and the three files of questions. Raises: BadInput for what is not there."""
    text = read_text(folder / "wiki.txt")
    return Files(
        documents(text, "wiki.txt"), Vocabulary.from_text(text, "wiki.txt"),
        read_questions(folder / "birth_places_train.tsv", with_places=True),
        read_questions(folder / "birth_dev.tsv", with_places=True), read_questions(folder / "birth_test_inputs.tsv"),
    )  # fmt: skip


class Stage:
    """One training of one run, kept in its folder: checkpoint, metrics, parameters, and the seconds it took."""

    def __init__(self, folder: Path, name: str, make: type[Trainer] = Trainer) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.name, self.make = name, make
        self.checkpoint, self.metrics = folder / f"{name}.checkpoint", folder / f"{name}.jsonl"
        self.parameters, self.told = folder / f"{name}.params", folder / f"{name}.json"

    def run(self, model: GPT, source: Any, recipe: Any, files: Files, form: Form, told: Any) -> bool:
        """Train until the end, or until the time or the steps are spent; whether it came to its end."""
        if told.graphed:
            return self.run_graphed(model, source, recipe, files, form, told)
        team = processes()  # each with its share of the parts of a batch
        recipe = replace(recipe, accumulate=max(1, recipe.accumulate // team.world))
        trainer = self.make(model, next_token_loss, source, recipe, path=self.checkpoint, team=team)
        spent = json.loads(self.told.read_text())["seconds"] if self.told.exists() else 0.0
        if self.checkpoint.exists():
            trainer.load()
        trainer.sinks.append(jsonl(self.metrics, trainer.step))
        start, first = time.perf_counter(), trainer.step
        while trainer.epoch < recipe.epochs and not trainer.stop and trainer.step - first < told.steps:
            trainer.stop = time.time() >= told.until  # one of several processes stops all
            record = trainer.run(stop_after=min(10, told.steps))
            self.note(trainer, record, spent + time.perf_counter() - start)  # now: whoever is killed tells no time
        trainer.save()
        self.note(trainer, {}, spent + time.perf_counter() - start)
        done = trainer.epoch >= recipe.epochs
        if done and team.rank == 0:
            save_parameters(self.parameters, model, files.vocabulary, form, tokens=trainer.tokens)
        team.barrier()
        return done

    def run_graphed(self, model: GPT, source: Any, recipe: Any, files: Files, form: Form, told: Any) -> bool:
        """The same on a GPU, in recorded steps."""
        training, start = GraphedTraining(model, source, recipe, told.graphed, self.checkpoint), time.perf_counter()
        before = json.loads(self.told.read_text())["seconds"] if training.epoch and self.told.exists() else 0.0
        sink = jsonl(self.metrics, training.steps)
        done = training.run(sink, told.until)
        seconds = before + time.perf_counter() - start
        found = {"seconds": seconds, "steps": training.steps, "tokens": training.tokens}
        self.told.write_text(json.dumps({**found, "epochs": recipe.epochs, "seed": recipe.seed, "done": done}))
        if done:
            save_parameters(self.parameters, model.cpu(), files.vocabulary, form, tokens=training.tokens)
        return done

    def note(self, trainer: Trainer, record: dict[str, Any], seconds: float) -> None:
        """Say and write down how far it is, and what that took; the first of several processes does."""
        if trainer.team.rank:
            return
        shown = f"loss {record['loss']:.3f}" if record else ""
        print(f"{self.name}: epoch {trainer.epoch}, step {trainer.step} {shown}", file=sys.stderr, flush=True)
        found = {"seconds": seconds, "steps": trainer.step, "epochs": trainer.epoch, "tokens": trainer.tokens}
        self.told.write_text(json.dumps({**found, "seed": trainer.config.seed}))


def one_run(attention: str, pretrained: bool, files: Files, told: argparse.Namespace, folder: Path) -> bool:
    """Pretrain, fine-tune and evaluate one model, as far as the time allows; whether all of it is done."""
    recipe, form, team = RECIPES[told.recipe], Form(), processes()
    make = SkeletonTrainer if recipe.get("trainer") == "skeleton" else Trainer
    config = GPTConfig(len(files.vocabulary), attention=attention, **recipe["model"])
    kept = folder / f"{attention}.{'pretrain' if pretrained else 'nopretrain'}"
    torch.manual_seed(told.seed)
    model = GPT(config)
    ids, lengths = files.vocabulary.encode_batch([d[: form.longest] for d in files.documents])
    legs = [name for name in ("pretrain", "pretrain2") if pretrained and name in recipe]
    for number, name in enumerate(legs):
        stage, seed = (
            Stage(kept, name, make),
            told.seed + number,
        )  # other corruptions, in another order, than the leg before
        if not stage.parameters.exists():
            source = CorruptedDocuments(ids, lengths, form, seed)
            settings = pretraining(len(source), form.block, seed=seed, save_every=told.save_every, **recipe[name])
            if not stage.run(model, source, settings, files, form, told):
                return False
        model = load_parameters(stage.parameters, config, files.vocabulary)
    stage = Stage(kept, "finetune", make)
    if not stage.parameters.exists():
        own = dict(recipe["finetune"] if pretrained else recipe.get("scratch", recipe["finetune"]))
        asked: Any = NamePlaces(files.vocabulary, files.train.questions, files.train.places or [], form)
        seeds = range(told.seed + len(legs), told.seed + len(legs) + own.pop("rehearse", 0))
        if seeds:
            asked = Mixture([asked, *(CorruptedDocuments(ids, lengths, form, seed) for seed in seeds)])
        settings = finetuning(len(asked), form.block, pretrained, seed=told.seed, save_every=10, **own)
        if not stage.run(model, asked, settings, files, form, told):
            return False
    if team.rank == 0:
        model = load_parameters(stage.parameters, config, files.vocabulary).to(told.graphed or "cpu")
        evaluate(model, files, kept)
    return True


def evaluate(model: GPT, files: Files, kept: Path) -> None:
    """Write the answers under the source's names, and what the dev answers come to."""
    form = kept.name  # vanilla.pretrain, ...
    found = answers(model, files.vocabulary, files.dev.questions)
    places = files.dev.places or []
    marks = right([a.text for a in found], places)
    for part, given in (("dev", found), ("test", answers(model, files.vocabulary, files.test.questions))):
        path = kept.parent / f"{form}.{part}.predictions"
        path.write_text("".join(" ".join(a.text.split("\n")) + "\n" for a in given), encoding="utf-8")
    rows = consider(files.dev.questions, places, found, files.documents)
    (kept.parent / f"{form}.considered.txt").write_text(considerations(rows), encoding="utf-8")
    trained = set(files.train.questions)
    shared = [mark for q, mark in zip(files.dev.questions, marks, strict=True) if q in trained]
    figures: dict[str, Any] = {"right": sum(marks), "count": len(marks), "shared": [sum(shared), len(shared)]}
    figures["split"] = split_table(rows)
    figures["scores"] = [[a.log_probability, bool(m)] for a, m in zip(found, marks, strict=True)]
    (kept / "evaluate.json").write_text(json.dumps(figures))


def main() -> None:
    """Go on with what is not done, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    named = os.environ.get("ATTENTION_CORE_DATA")
    parser.add_argument(
        "--data", default=named and f"{named}/birthplaces", help="the folder of wiki.txt and its questions"
    )
    parser.add_argument("--runs", nargs="+", default=["none", "vanilla", "synthesizer", "rotary"])
    parser.add_argument("--recipe", choices=RECIPES, default="rehearsed")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so many, to go on another time")
    parser.add_argument("--steps", type=int, default=sys.maxsize, help="stop after so many of a stage, likewise")
    parser.add_argument("--kept", default=str(ROOT / "build" / "birthplaces"), help="where all that is done is kept")
    parser.add_argument("--save-every", type=int, default=5, metavar="EPOCHS", help="how often a pretraining is kept")
    parser.add_argument("--graphed", metavar="DEVICE", default="", help="train there in recorded steps: cuda")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", metavar="FILE", help="where the page goes  [default: the terminal]")
    told = parser.parse_args()
    if not told.data:
        sys.exit("birthplaces: give --data, or name the data's folder in ATTENTION_CORE_DATA")
    torch.set_num_threads(told.threads)
    if told.graphed.startswith("cuda"):
        torch.set_float32_matmul_precision("high")  # products of float32 in TF32, as others train on such a device
    told.until = time.time() + 60 * told.minutes
    folder = Path(told.kept) / f"{told.recipe}-{told.seed}"
    try:
        files = read_files(Path(told.data))
        for name in told.runs:
            attention, pretrained = ("vanilla", False) if name == "none" else (name, True)
            if not (folder / f"{attention}.{'pretrain' if pretrained else 'nopretrain'}" / "evaluate.json").exists():
                one_run(attention, pretrained, files, told, folder)
    except BadInput as error:
        sys.exit(f"birthplaces: {error}")
    if processes().rank:
        return
    text = page(Path(told.kept), told.seed, RECIPES)
    if told.write:
        Path(told.write).write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
