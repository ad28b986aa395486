"""An experiment's results as a table, a picture, a page and JSON; the conclusions follow from the runs."""

from __future__ import annotations

import inspect
import json
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from finetune.errors import BadInput
from finetune.experiments.conclusions import LEVEL, Conclusion, Results, conclude, describe, difference
from finetune.experiments.experiment import Experiment, Measure, Setting
from finetune.experiments.runs import plain
from finetune.experiments.texts import Text
from finetune.pictures import figure, write
from finetune.training import checkpoint


def table(experiment: Experiment, results: Results) -> str:
    """Return the measures by variant as a Markdown table.

    A cell is the mean over the seeds with the lowest and the highest one; a column of changes has the paired difference
    to the baseline with its interval, each at 95 % by itself.
    """
    head = ["variant"]
    for measure in experiment.measures:
        head += [measure.title] + (["change, 95 % interval"] if measure.compared else [])
    rows = [head, ["---"] * len(head)]
    for variant in experiment.variants:
        cells = [variant]
        for measure in experiment.measures:
            cells.append(value_cell(results, variant, measure))
            if measure.compared:
                cells.append(change_cell(experiment, results, variant, measure))
        rows.append(cells)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in rows)


def value_cell(results: Results, variant: str, measure: Measure) -> str:
    """Return a measure's mean over the seeds, and its range where it varies."""
    found = [run.get(measure.key) for run in results[variant]]
    values = [float(value) for value in found if value is not None]
    if not values:
        return "diverged"
    mean, low, high = (measure.format(v) for v in (sum(values) / len(values), min(values), max(values)))
    lost = "" if len(values) == len(found) else f", {len(found) - len(values)} diverged"
    return mean + (f" ({low} to {high}{lost})" if low != high or lost else "")


def change_cell(experiment: Experiment, results: Results, variant: str, measure: Measure) -> str:
    """Return the paired difference of a variant to the baseline with its interval."""
    if variant == experiment.baseline:
        return ""
    interval = difference(results, variant, experiment.baseline, measure, LEVEL)
    if interval is None:
        return "diverged"
    mean, low, high = (measure.format_difference(v) for v in (interval.mean, interval.low, interval.high))
    return f"{mean} ({low} to {high})"


def draw(experiment: Experiment, results: Results, path: str | Path) -> None:
    """Draw the first measure, a point a seed, and the curve where the experiment has one. Raises: BadInput."""
    panels = 1 if experiment.curve is None else 2
    picture = figure(5.0 * panels, 0.35 * len(experiment.variants) + 2.6)
    axes = picture.subplots(1, panels, squeeze=False)[0]
    measure = experiment.measures[0]
    for height, variant in enumerate(experiment.variants):
        values = [float(v) for run in results[variant] if (v := run.get(measure.key)) is not None]
        axes[0].plot(values, [height] * len(values), "o", ms=4, alpha=0.6, color=f"C{height}")
        if values:
            axes[0].plot([sum(values) / len(values)], [height], "|", ms=18, color=f"C{height}")
        else:
            axes[0].text(0.5, height, "diverged", transform=axes[0].get_yaxis_transform(), ha="center", va="center")
    axes[0].set_yticks(range(len(experiment.variants)), list(experiment.variants))
    axes[0].invert_yaxis()
    axes[0].set_xlabel(f"{measure.title} (a point a seed, a bar their mean)")
    if experiment.curve is not None:
        draw_curve(axes[1], experiment, results)
    write(picture, path)


def draw_curve(axes: Any, experiment: Experiment, results: Results) -> None:
    """Draw the mean curve of each variant over its seeds, and the range between them."""
    assert experiment.curve is not None
    key, x_label, y_label = experiment.curve
    for number, variant in enumerate(experiment.variants):
        curves = [run[key] for run in results[variant] if run.get(key)]
        length = min((len(curve) for curve in curves), default=0)
        if not length:
            continue
        x = [point[0] for point in curves[0][:length]]
        y = np.array([[point[1] for point in curve[:length]] for curve in curves], dtype=float)
        axes.plot(x, y.mean(0), color=f"C{number}", lw=1.2, label=variant)
        axes.fill_between(x, y.min(0), y.max(0), color=f"C{number}", alpha=0.15, lw=0)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    if experiment.logarithmic:
        axes.set_xscale("log")
        axes.set_yscale("log")
    axes.legend(fontsize="x-small")


def conclusion_lines(experiment: Experiment, results: Results) -> list[str]:
    """Return the verdict of each claim as a line of Markdown."""
    found = conclude(experiment, results)
    return [f"* {describe(each, experiment.measure(each.claim.measure))}" for each in found]


def page(experiment: Experiment, results: Results, setting: Setting, text: Text) -> str:
    """Return the page of an experiment: question, table, picture, conclusions, how it was made, code."""
    variants = "\n".join(f"* **{name}**: {words}" for name, words in experiment.variants.items())
    parts = [
        f"# {experiment.title}", f"**{experiment.question}**", experiment.background, "## Variants", variants,
        "## Results", table(experiment, results), f"![{experiment.title}]({experiment.name}.png)",
        "## What follows", *(["\n".join(conclusion_lines(experiment, results)), RULE] if experiment.claims else []),
        "## How it was made", provenance(experiment, results, setting, text),
    ]  # fmt: skip
    if experiment.code:
        code = "\n\n\n".join(inspect.getsource(part).rstrip() for part in experiment.code)
        parts += ["## Code", f"```python\n{code}\n```"]
    return "\n\n".join(parts) + "\n"


RULE = (
    "The rule: a claim is borne out or contradicted if the whole interval of the paired difference lies on one "
    "side of 0; there is no difference that counts if the interval holds 0 and lies within the stated margin; "
    "else nothing is decided. The intervals are Student's over the seeds, widened by Bonferroni's inequality so "
    "that all of this list hold together with 95 %. They cover the start of the weights and the order of the "
    "data, not another text or a larger model."
)


def provenance(experiment: Experiment, results: Results, setting: Setting, text: Text) -> str:
    """Return the command, the numbers, the versions and the time of an experiment."""
    seconds = sum(float(run.get("seconds", 0)) for runs in results.values() for run in runs)
    numbers = ", ".join(f"{name} {value:g}" for name, value in numbers_of(setting).items())
    lines = [
        f"`finetune experiment {experiment.name} --write FOLDER`: {numbers}.",
        f"Data: {text.name}" + (f", {text.digest[:19]}." if text.digest else "."),
        f"Python {platform.python_version()}, torch {torch.__version__}, one thread, {seconds:.0f} s of the processor.",
    ]
    if any(measure.timed for measure in experiment.measures):
        lines.append("Times are those of the processor; other work kept the machine busy: compare within the table.")
    return "\n".join(lines)


def numbers_of(setting: Setting) -> dict[str, float]:
    """Return the numbers of a setting by name, those of one experiment among them."""
    found = asdict(setting)
    more = found.pop("more")
    return {**found, **more}


def to_json(experiment: Experiment, results: Results, setting: Setting, text: Text) -> dict[str, Any]:
    """Return all of an experiment as JSON values."""

    def verdict(each: Conclusion) -> dict[str, Any]:
        return {
            **asdict(each.claim), "verdict": each.verdict, "reason": each.reason,
            "interval": None if each.interval is None else asdict(each.interval),
        }  # fmt: skip

    found: Mapping[str, Any] = {
        "experiment": experiment.name, "revision": experiment.revision, "setting": asdict(setting),
        "text": {"name": text.name, "digest": text.digest}, "versions": {"torch": torch.__version__},
        "conclusions": [verdict(each) for each in conclude(experiment, results)], "results": results,
    }  # fmt: skip
    return dict(plain(found))


def write_report(experiment: Experiment, results: Results, setting: Setting, text: Text, folder: Path) -> list[Path]:
    """Write NAME.md, NAME.png and NAME.json into a folder, which is made if needed. Raises: BadInput."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{folder} cannot be written: {error.strerror}") from None
    paths: Sequence[Path] = [folder / f"{experiment.name}{kind}" for kind in (".md", ".png", ".json")]
    draw(experiment, results, paths[1])
    checkpoint.replace_file(paths[0], page(experiment, results, setting, text).encode())
    record = json.dumps(to_json(experiment, results, setting, text), indent=1)
    checkpoint.replace_file(paths[2], (compact_pairs(record) + "\n").encode())
    return list(paths)


def compact_pairs(text: str) -> str:
    """Return JSON with lists of two numbers on one line each.

    >>> compact_pairs('[\\n [\\n  1,\\n  2.5\\n ]\\n]')
    '[\\n [1, 2.5]\\n]'
    """
    return re.sub(r"\[\n\s*(-?[\d.e+-]+),\n\s*(-?[\d.e+-]+)\n\s*\]", r"[\1, \2]", text)
