"""Encoders on whole data sets: the reference figures beside the sources' own, each setting chosen on dev.

`python experiments/encoders/whole.py --device cuda --processes 12 --seconds 400` runs what is left of plan.py, several
runs side by side, each result written at once into build/encoders/whole; it ends by itself at the limit, and goes on
where it was. `--write` makes docs/data/whole_sets.json, the pictures and docs/whole_sets.md of what there is.
"""

from __future__ import annotations

import argparse
import copy
import fcntl
import hashlib
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from packages import ENCODERS, model_folder
from plan import STUDIES, Job, Results, Settings, Study, plan, put_back
from recorded import train_recorded
from sharing import begin_service, end_service, measure_gain

from finetune.classification.classify import Run
from finetune.classification.config import ClassifyConfig
from finetune.classification.data import Sides, draw_examples, prepare_data
from finetune.classification.monitor import Monitor
from finetune.classification.pretrained import Pretrained, load_pretrained
from finetune.classification.result import problems_of, report
from finetune.data.collate import LabelledTexts
from finetune.data.examples import Examples
from finetune.data.tables import Columns
from finetune.data.texts import Encoded, encode
from finetune.errors import BadInput
from finetune.training.checkpoint import replace_file

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "encoders" / "whole"
RECORD = ("step", "epochs", "train_loss", "train_accuracy", "dev_loss", "dev_accuracy", "masked_lm_loss")
"""What is kept of each evaluation."""


CUT = ("train_size", "dev_size")
"""Settings that are done to the data here, since the sides are read once for all runs."""


SCORED = 256
"""Examples that are scored at once."""
LARGE = 5
"""Runs of a large encoder side by side: each takes up to 10 GiB of a GPU."""
MARKS = 6
"""Runs whose steps cannot be recorded, from which on none are."""
ALONE = 3
"""Processes where they take turns on a GPU: one computes while the others read, score and write."""


@dataclass(frozen=True)
class Place:
    """Where runs are done.

    Args: data, the folder of all sets; models, the folder of each encoder; kept, where results go; device; deadline,
        the last moment; recorded, whether steps are recorded and replayed; limit, so many examples of each side and
        one epoch, to try the way; told, what each result says besides.
    """

    data: str
    models: Mapping[str, str]
    kept: Path
    device: str
    deadline: float
    recorded: bool = False
    limit: int | None = None
    told: Mapping[str, Any] = field(default_factory=dict)


@cache
def read_pretrained(folder: str) -> Pretrained:
    """An encoder, read once for all runs of a process."""
    return load_pretrained(folder)


def fresh(folder: str) -> Pretrained:
    """An encoder as it was read."""
    found = read_pretrained(folder)
    return replace(found, encoder=copy.deepcopy(found.encoder))


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
    if place.limit is not None:
        settings, sides = replace(settings, epochs=1), shortened(sides, place.limit)
    large = pretrained.folder == Path(place.models.get("mpnet", ""))
    config = replace(
        settings, model=str(pretrained.folder), learning_rate=4e-5 if large else 1e-4, batch_size=32, pool="mean",
        precision="bfloat16", seed=job.seed, device=place.device, cache_dir=str(place.kept / "features"),
    )  # fmt: skip
    best = train_run(SharedRun(config, sides, pretrained, lambda _: None), place).best
    assert best is not None
    return float(best["dev_accuracy"])


class SharedRun(Run):
    """A run that makes ids of a side once for all runs that cut at the same length, and scores many texts at once."""

    made: ClassVar[dict[tuple[str, int, str], LabelledTexts]] = {}

    def texts(self, side: str, examples: Examples) -> LabelledTexts:
        """A side as ids, read where another process has made them."""
        tokenizer = self.pretrained.tokenizer
        key = (examples.digest(), self.max_length, str(self.pretrained.folder))
        if key not in self.made:
            path = Path(self.config.cache_dir or ".") / f"{hashlib.sha256(repr(key).encode()).hexdigest()[:24]}.npz"
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path.with_suffix(".lock"), "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not path.exists():
                    write_ids(path, encode(tokenizer, examples, self.max_length))
            self.made[key] = LabelledTexts(
                read_ids(path), examples.labels, tokenizer.pad_id, types=self.pretrained.segments
            )
        self.cut[side] = self.made[key].encoded.cut
        return self.made[key]

    def _score(self, source: Any, share: Callable[[Iterable[Any]], Iterable[Any]]) -> Any:
        trained = self.config
        self.config = replace(trained, batch_size=max(SCORED, trained.batch_size))
        try:
            return super()._score(source, share)
        finally:
            self.config = trained


def write_ids(path: Path, encoded: Encoded) -> None:
    """Write ids and types as one row each, with the lengths of the texts."""
    lengths = [len(row) for row in encoded.ids]
    ids, types = (np.concatenate([np.array(row, np.int32) for row in rows]) for rows in (encoded.ids, encoded.types))
    whole = path.with_suffix(f".{os.getpid()}.npz")
    np.savez(whole, ids=ids, types=types, lengths=lengths, about=[encoded.max_length, encoded.cut])
    whole.replace(path)


def read_ids(path: Path) -> Encoded:
    """What `write_ids` has written."""
    with np.load(path, allow_pickle=False) as found:
        ends = np.cumsum(found["lengths"])[:-1]
        ids, types = ([row.tolist() for row in np.split(found[name], ends)] for name in ("ids", "types"))
        longest, cut = found["about"].tolist()
    return Encoded(ids, types, longest, cut)


def train_run(run: SharedRun, place: Place) -> Monitor:
    """Train a run as its place says."""
    return train_recorded(run) if place.recorded else run.train()


def prepare(job: Job, settings: Settings, place: Place) -> tuple[ClassifyConfig, Sides]:
    """The configuration of a run, and its data; without test where dev chooses.

    Fifty labels are drawn by the seed, and the unlabelled text is that of the whole training set.
    """
    whole = read_sides(f"{place.data}/{job.study.data}")
    known = {field.name for field in fields(ClassifyConfig)}
    chosen = {name: value for name, value in settings.items() if name in known and name not in CUT}
    features = str(place.kept / "features")
    config = ClassifyConfig(
        place.models[settings.get("encoder", "minilm")],
        job.study.data,
        seed=job.seed,
        device=place.device,
        cache_dir=features,
        **chosen,
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
    sides = Sides(train, dev, whole.test if job.row is None else None, whole.leaks)
    return (config, sides) if place.limit is None else (replace(config, epochs=1), shortened(sides, place.limit))


def shortened(sides: Sides, limit: int) -> Sides:
    """The same with so many examples of each side at most."""
    train, dev, test = (
        None if side is None else draw_examples(side, min(limit, len(side)), 0)
        for side in (sides.train, sides.dev, sides.test)
    )
    assert train is not None and dev is not None
    return Sides(train, dev, test, sides.leaks)


def train(job: Job, settings: Settings, place: Place) -> dict[str, Any]:
    """Do a run: the best epoch by dev, and test where the job is one that reads it."""
    start = time.perf_counter()
    config, sides = prepare(job, settings, place)
    pretrained = fresh(config.model)
    before = {}
    if "first" in settings:
        before["first"] = teach_first(settings["first"], pretrained, job, place)
    run = SharedRun(config, sides, pretrained, lambda _: None)
    monitor = train_run(run, place)
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


def take(path: Path) -> bool:
    """Make a file that says which process has taken something; False where it is there already."""
    try:
        with open(path, "x") as stream:
            stream.write(str(os.getpid()))
    except FileExistsError:
        return False
    return True


def claim(results: Results, studies: Sequence[Study], place: Place) -> tuple[Job, Settings, Path | None] | None:
    """The first job that may begin and nobody has, and its place among the large ones; None where there is none now."""
    full = False
    for job in plan(studies):
        settings = results.settings(job)
        if settings is None or results.of(job) is not None or (place.kept / f"{job.name}.claim").exists():
            continue
        large = None
        if "encoder" in settings:
            places = [] if full else [place.kept / f"large-{n}.claim" for n in range(LARGE)]
            large = next((path for path in places if take(path)), None)
            full = large is None
            if full:
                continue
        if take(place.kept / f"{job.name}.claim"):
            return job, settings, large
        if large is not None:
            large.unlink()
    return None


def work(place: Place, studies: Sequence[Study], rank: int = 0, count: int = 1, barrier: Any = None) -> None:
    """Do one job after the other until the deadline, or until all have begun.

    Raises: whatever a run raises that no user can mend; it is written down first, and the job is not begun again.
    """
    torch.set_num_threads(1)
    if place.device == "cuda":
        # Its plans are made anew for each length of a batch.
        torch.backends.cuda.enable_cudnn_sdp(False)
    if barrier is not None and not goes_on(place, rank, count, barrier):
        return
    results = Results(place.kept)
    while time.monotonic() < place.deadline:
        claimed = claim(results, studies, place)
        if claimed is None:
            if all((place.kept / f"{job.name}.claim").exists() or results.of(job) for job in plan(studies)):
                return
            time.sleep(0.1)
            continue
        job, settings, large = claimed
        try:
            do(job, settings, place)
        finally:
            if large is not None:
                large.unlink(missing_ok=True)
        if place.device == "cuda":
            torch.cuda.empty_cache()


def do(job: Job, settings: Settings, place: Place) -> None:
    """Do a job and write its result.

    One that fails with recorded steps is left to another process, which launches its steps one by one: a device may not
    be usable after a recording that failed. Where that happens often, nothing is recorded any more.

    An error behind the deadline leaves no mark: the processes beside this one are being ended.

    Raises: whatever no user can mend.
    """
    marks = [path.stem for path in place.kept.glob("*.launched")]
    place = replace(place, recorded=place.recorded and job.name not in marks and len(marks) < MARKS)
    found: dict[str, Any] = {"name": job.name, "seed": job.seed, "settings": settings, **about(place.device)}
    found |= {"place": {**place.told, "recorded": place.recorded}}
    try:
        found |= train(job, settings, place)
    except BadInput as error:
        found["failed"] = str(error)
    except Exception as error:
        if time.monotonic() >= place.deadline:
            pass
        elif place.recorded:
            (place.kept / f"{job.name}.launched").write_text(f"{type(error).__name__}: {error}")
            (place.kept / f"{job.name}.claim").unlink(missing_ok=True)
        else:
            found["failed"] = f"{type(error).__name__}: {error}"
        raise
    finally:
        if "failed" in found or "dev" in found:
            replace_file(place.kept / f"{job.name}.json", (json.dumps(found) + "\n").encode())
    print(line_of(job, found), flush=True)


class TimeIsUp(BaseException):
    """The limit of time came; nothing is wrong with the run."""


def work_in_a_process(
    place: Place, studies: Sequence[Study], rank: int = 0, count: int = 1, barrier: Any = None
) -> None:
    """`work`, which SIGTERM ends once the GPU has done what it was given.

    A process that is killed while it computes takes those beside it under the Multi-Process Service with it: each of
    them sees an illegal memory access that is not its own.
    """

    def stop(*_: Any) -> None:
        raise TimeIsUp

    signal.signal(signal.SIGTERM, stop)
    try:
        work(place, studies, rank, count, barrier)
    except TimeIsUp:
        if place.device == "cuda":
            torch.cuda.synchronize()


def end_processes(running: Iterable[Any], seconds: float = 10.0) -> None:
    """Ask all processes to end, wait for them, and kill those that have not ended after so many seconds."""
    running = list(running)
    for process in running:
        process.terminate()
    last = time.monotonic() + seconds
    for process in running:
        process.join(max(0.0, last - time.monotonic()))
    for process in running:
        if process.is_alive():
            process.kill()
            process.join()


def goes_on(place: Place, rank: int, count: int, barrier: Any) -> bool:
    """Whether this process goes on: all do where they compute side by side, and a few where they take turns."""
    path = place.kept / "gain.json"
    try:
        gain = measure_gain(rank, count, barrier)
        if rank == 0:
            path.write_text(json.dumps({"gain": gain, "processes": count}))
            print(f"{count} processes do {gain:.2f} times as much as one", flush=True)
        barrier.wait(30)
        gain = json.loads(path.read_text())["gain"]
    except (threading.BrokenBarrierError, RuntimeError, OSError) as error:
        print(f"process {rank}: sharing was not measured: {type(error).__name__} {error}"[:300], flush=True)
        gain = 0.0
    return gain > 1.3 or rank < ALONE


def line_of(job: Job, found: dict[str, Any]) -> str:
    """A result in one line."""
    if "failed" in found:
        return f"{job.name}: failed: {found['failed']}"
    test = f", test {found['test']['accuracy']:.3f}" if "test" in found else ""
    return f"{job.name}: dev {found['dev']['accuracy']:.3f}{test}, {found['seconds']:.1f} s"


def side_by_side(place: Place, studies: Sequence[Study], processes: int, measure: bool) -> None:
    """Do what is left in so many processes; one that an error ends is replaced, and all end at the deadline.

    Args: place; studies; processes; measure: whether the number of processes is chosen by what sharing gains.
    """
    place.kept.mkdir(parents=True, exist_ok=True)
    for old in place.kept.glob("*.claim"):
        old.unlink()
    context = multiprocessing.get_context("spawn")
    spare = 2 * processes
    barrier = context.Barrier(processes) if measure and processes > 1 else None

    def begin(rank: int, barrier: Any) -> multiprocessing.process.BaseProcess:
        process = context.Process(
            target=work_in_a_process, args=(place, studies, rank, processes, barrier), daemon=True
        )
        process.start()
        return process

    running = [begin(rank, barrier) for rank in range(processes)]
    while running and time.monotonic() < place.deadline:
        time.sleep(0.2)
        for process in [each for each in running if not each.is_alive()]:
            running.remove(process)
            if process.exitcode and spare:
                print(f"a process ended with {process.exitcode}", flush=True)
                free_large(place.kept, process.pid)
                spare -= 1
                running.append(begin(0, None))
    end_processes(running)


def free_large(kept: Path, pid: int | None) -> None:
    """Give back the place of a large run whose process has ended."""
    for path in kept.glob("large-*.claim"):
        if path.read_text() == str(pid):
            path.unlink()


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
    parser.add_argument("--seeds", type=int, help="only so many of the seeds that read test: pairs one by one")
    parser.add_argument("--model", help="MiniLM's folder; default: that of the installed package")
    parser.add_argument("--mpnet", help="MPNet's folder; default: joined from the installed packages")
    parser.add_argument("--limit", type=int, help="so many examples of each side, one epoch: to try the way")
    parser.add_argument("--launched", action="store_true", help="launch steps one by one on a GPU, record none")
    parser.add_argument("--recorded", action="store_true", help="the steps of a GPU on a processor, to try them")
    parser.add_argument("--kept", type=Path, default=KEPT, help="where results are (default: build/encoders/whole)")
    parser.add_argument(
        "--note", help="a sentence on the encoders' weights, kept with each result and told on the page"
    )
    parser.add_argument(
        "--put_back", action="store_true", help="begin with the runs that docs/data/whole_sets.json has"
    )
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
    chosen = tuple(study for study in STUDIES if not options.studies or study.name in options.studies)
    chosen = tuple(replace(study, final=study.final[: options.seeds]) for study in chosen)
    if options.put_back:
        print("put back:", *put_back(ROOT / "docs" / "data" / "whole_sets.json", Results(options.kept, chosen)))
    wanted = {str(study.settings.get("encoder", "minilm")) for study in chosen}
    wishes = {"minilm": options.model, "mpnet": options.mpnet}
    models = {
        name: model_folder(name, wishes[name], ROOT / "build" / "encoders") for name in ENCODERS if name in wanted
    }
    cuda = options.device == "cuda"
    service = begin_service(options.kept / "service", sys.executable) if cuda and options.processes > 1 else {}
    os.environ.update(service)
    recorded = options.recorded or (cuda and not options.launched)
    told = {"processes": options.processes, "service": bool(service), "recorded": recorded}
    told |= {} if options.note is None else {"rounded": options.note}
    place = Place(data, models, options.kept, options.device, deadline, recorded, options.limit, told)
    try:
        side_by_side(place, chosen, options.processes, cuda)
    finally:
        end_service(service)


if __name__ == "__main__":
    main()
