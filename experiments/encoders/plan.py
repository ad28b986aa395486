"""What is run on whole data sets: studies in the order of their importance, and how dev chooses in each.

A study has candidates, each trained with the seeds of the choice and read on dev alone. The one with the highest mean
on dev is then trained with other seeds, and only these runs read test.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Settings = dict[str, Any]
FRESH = tuple(range(10, 20))
"""Seeds of the runs that read test: none of them took part in a choice."""


@dataclass(frozen=True)
class Study:
    """Candidates, of which dev chooses one.

    Args: name; data, a set; settings, fields of `ClassifyConfig` that all candidates share, "texts": so many training
        texts are the unlabelled text, and "first": what the encoder is trained on before, a name in whole.py;
        candidates, what each changes, by its row; choosing, the seeds of the choice, none where there is one candidate;
        final, the seeds that read test; like, a study whose choice comes before these settings; asked, what the sources
        have or the aim is.
    """

    name: str
    data: str
    settings: Settings
    candidates: Mapping[str, Settings]
    final: tuple[int, ...]
    choosing: tuple[int, ...] = ()
    like: str | None = None
    asked: str = ""


@dataclass(frozen=True)
class Job:
    """One run: a candidate with a seed, for the choice (row named) or for test (row None: the one that was chosen)."""

    study: Study
    row: str | None
    seed: int

    @property
    def name(self) -> str:
        """The name of its file."""
        kind = "test" if self.row is None else f"{list(self.study.candidates).index(self.row)}"
        return f"{self.study.name}-{kind}-{self.seed}".replace(" ", "_")


def rates(*values: float) -> dict[str, Settings]:
    """Candidates that differ in the learning rate."""
    return {f"{value:g}": {"learning_rate": value} for value in values}


HALF: Settings = {"precision": "bfloat16"}
FULL: Settings = HALF | {"method": "full", "pool": "mean", "batch_size": 32}
SST: Settings = FULL | {"max_seq_length": 64, "epochs": 5}
YELP: Settings = FULL | {"max_seq_length": 256, "epochs": 3}
BOOLQ: Settings = FULL | {"max_seq_length": 256, "epochs": 10}
LARGE: Settings = {"encoder": "mpnet"}
"""all-mpnet-base-v2 in the place of MiniLM."""
BALANCED: Settings = {"class_weights": "balanced"}
FEW: Settings = FULL | {
    "max_seq_length": 128, "batch_size": 10, "train_size": 50, "epochs": 40, "logging_steps": 25, "learning_rate": 1e-4
}  # fmt: skip
"""Fifty labels: 200 steps, eight evaluations; the seed draws the labels, too."""

SHAPES: Mapping[str, Settings] = {
    "sst": HALF | {"max_seq_length": 64, "epochs": 4},
    "boolq": HALF | {"max_seq_length": 128, "epochs": 8},
    "yelp": HALF | BALANCED | {"max_seq_length": 128, "epochs": 3},
}
METHODS: Mapping[str, tuple[Settings, tuple[float, ...]]] = {
    "full": ({"batch_size": 64}, (1e-4, 2e-4)),
    "head": ({"batch_size": 64, "epochs": 12}, (3e-3, 1e-2)),
    "lora": ({"batch_size": 64}, (1e-3, 3e-3)),
    "bias": ({"batch_size": 64}, (1e-3, 3e-3)),
    "prompt": ({"batch_size": 64, "prompt_length": 16}, (3e-3, 1e-2)),
    "prefix": ({"batch_size": 64, "prompt_length": 16}, (3e-3, 1e-2)),
}


def methods() -> Iterator[Study]:
    """Every method on every set, two rates each, three seeds on test; the head, whose runs take seconds, ten."""
    for data, shape in SHAPES.items():
        for method, (settings, values) in METHODS.items():
            yield Study(
                f"{data} {method}", data, {"method": method, "pool": "mean"} | shape | settings, rates(*values),
                FRESH if method == "head" else FRESH[:3], (0,),
            )  # fmt: skip


SHORTER: Mapping[str, Settings] = {
    "sst": FULL | {"max_seq_length": 64, "epochs": 2, "learning_rate": 1e-4},
    "yelp": FULL | BALANCED | {"max_seq_length": 64, "epochs": 1, "learning_rate": 2e-4},
}
"""All labels within minutes of a processor, to be run in pairs with and without masked-LM."""


def shorter() -> Iterator[Study]:
    """All labels with and without masked-LM on the same texts, in pairs by seed, for a processor."""
    names = {"sst": "sst, two epochs", "yelp": "yelp, one epoch"}
    for data, settings in SHORTER.items():
        yield Study(names[data], data, settings, {"alone": {}}, FRESH[:3], asked="the pair of the one with masked-LM")
        yield Study(
            f"{names[data]} and masked-LM",
            data,
            settings,
            {"weight 0.1": {"mlm_alpha": 0.1}},
            FRESH[:3],
            asked="whether masked-LM helps with all labels (source 002: .554 without, .576 with it, one run each)",
        )


ROBERTA = ".933 with RoBERTa-base (source 001); aim .91"
TINYBERT = "above .55 with TinyBERT (source 002); aim .58"
DISTILBERT = ".712 on dev and .708 on test with DistilBERT and 8,000 examples (source 000)"
CURVE = "30 epochs, in which train keeps improving and dev turns (source 000)"

STUDIES: Sequence[Study] = (
    Study(
        "sst, mpnet", "sst", SST | LARGE | {"epochs": 3}, rates(2e-5, 4e-5, 8e-5), FRESH[:5], (0, 1), asked=ROBERTA,
    ),
    Study(
        "yelp, mpnet", "yelp", YELP | LARGE | {"epochs": 2},
        {
            "4e-5, balanced": {"learning_rate": 4e-5} | BALANCED,
            "8e-5, balanced": {"learning_rate": 8e-5} | BALANCED,
            "4e-5": {"learning_rate": 4e-5},
        },
        FRESH[:5], (0,), asked=TINYBERT,
    ),
    Study("boolq, mpnet", "boolq", BOOLQ | LARGE | {"epochs": 6}, rates(2e-5, 4e-5, 8e-5), FRESH[:5], (0, 1),
          asked=DISTILBERT),
    Study("sst", "sst", SST, rates(3e-5, 6e-5, 1.2e-4, 2.4e-4), FRESH[:5], (0, 1), asked=ROBERTA),
    Study("yelp, 50 labels", "yelp", FEW, {"1e-4": {}}, FRESH, asked=".366 (source 002, one run)"),
    Study(
        "yelp, 50 labels and masked-LM", "yelp", FEW | {"texts": 2000},
        {f"weight {weight:g}": {"mlm_alpha": weight} for weight in (0.02, 0.1, 0.5)},
        FRESH, (0,), asked=".398 (source 002, one run)",
    ),
    Study(
        "boolq-30", "boolq", FULL | {"max_seq_length": 128, "epochs": 30, "learning_rate": 1e-4}, {"1e-4": {}},
        FRESH[:3], asked=CURVE,
    ),
    Study(
        "boolq-30 on 300", "boolq",
        FULL | {"max_seq_length": 96, "epochs": 30, "learning_rate": 1e-4, "train_size": 300, "dev_size": 150},
        {"1e-4": {}}, (0,), asked=CURVE,
    ),
    Study(
        "yelp", "yelp", YELP,
        {
            "1e-4, balanced": {"learning_rate": 1e-4} | BALANCED,
            "2e-4, balanced": {"learning_rate": 2e-4} | BALANCED,
            "1e-4": {"learning_rate": 1e-4},
        },
        FRESH[:5], (0,), asked=TINYBERT,
    ),
    Study("boolq", "boolq", BOOLQ, rates(5e-5, 1e-4, 2e-4), FRESH[:5], (0, 1), asked=DISTILBERT),
    Study(
        "boolq, the source's grid", "boolq", FULL | {"max_seq_length": 128, "batch_size": 64},
        {
            f"{rate:g}, {epochs} epochs": {"learning_rate": rate, "epochs": epochs}
            for rate in (1e-4, 5e-4, 1e-3) for epochs in (7, 9)
        },
        FRESH[:3], (0,), asked=DISTILBERT,
    ),
    Study("boolq after sick, mpnet", "boolq", {"first": "sick"}, {"as boolq, mpnet": {}}, FRESH[:5],
          like="boolq, mpnet", asked=DISTILBERT),
    *methods(),
    Study("sst after yelp", "sst", {"first": "yelp"}, {"as sst": {}}, FRESH[:5], like="sst", asked=ROBERTA),
    Study("boolq after sick", "boolq", {"first": "sick"}, {"as boolq": {}}, FRESH[:5], like="boolq", asked=DISTILBERT),
    Study(
        "sst variants", "sst", SST | {"learning_rate": 1.2e-4},
        {"first token": {"pool": "first"}, "smoothing 0.1": {"label_smoothing": 0.1}}, FRESH[:3], (0,),
        asked="the first token, as in sources 001 and 002; smoothed labels",
    ),
    Study(
        "yelp, all labels and masked-LM", "yelp", {"mlm_alpha": 0.1}, {"weight 0.1": {}}, FRESH[:3], like="yelp",
        asked=".554 without, .576 with it (source 002, one run each)",
    ),
    *shorter(),
    *(
        Study(
            f"sst {optimizer}", "sst", SST | {"epochs": 3, "optimizer": optimizer}, rates(*values), FRESH[:3], (0,),
            asked="three optimisers compared (source 001)",
        )
        for optimizer, values in {"adamw": (6e-5, 1.2e-4), "sgd": (3e-2, 1e-1), "adagrad": (1e-3, 3e-3)}.items()
    ),
    Study(
        "sst in float32", "sst", {"precision": "float32"}, {"as sst": {}}, FRESH[:3], like="sst", asked=ROBERTA,
    ),
    Study(
        "sst, three epochs", "sst", SST | {"epochs": 3, "precision": "float32"}, rates(1e-4), (0,), asked=ROBERTA,
    ),
)  # fmt: skip
"""The whole plan; what stands first is begun first."""


def plan(studies: Sequence[Study] = STUDIES) -> Iterator[Job]:
    """All jobs in their order."""
    for study in studies:
        for seed in study.choosing:
            for row in study.candidates:
                yield Job(study, row, seed)
        for seed in study.final:
            yield Job(study, None, seed)


@dataclass
class Results:
    """What is kept in a folder, one file a run; a file is read once.

    Args: folder; studies, all that may be asked for.
    """

    folder: Path
    studies: Sequence[Study] = STUDIES
    read: dict[str, dict[str, Any]] = field(default_factory=dict)

    def of(self, job: Job) -> dict[str, Any] | None:
        """The result of a run with these very settings; None where there is none yet."""
        settings = self.settings(job)
        if job.name not in self.read:
            path = self.folder / f"{job.name}.json"
            if settings is None or not path.exists():
                return None
            self.read[job.name] = json.loads(path.read_text(encoding="utf-8"))
        found = self.read[job.name]
        return found if found["settings"] == settings else None

    def choice(self, study: Study) -> str | None:
        """The row with the highest mean accuracy on dev; None where a run of the choice is missing, or all failed."""
        rows = list(study.candidates)
        if len(rows) == 1:
            return rows[0]
        found = {row: [self.of(Job(study, row, seed)) for seed in study.choosing] for row in rows}
        if any(result is None for results in found.values() for result in results):
            return None
        means = {
            row: statistics.fmean(result["dev"]["accuracy"] for result in results if result is not None)
            for row, results in found.items()
            if not any(result is None or "failed" in result for result in results)
        }
        return max(means, key=lambda row: means[row]) if means else None

    def settings(self, job: Job) -> Settings | None:
        """The settings of a run; None where a choice that they depend on is not made yet."""
        study, before = job.study, {}
        if study.like is not None:
            other = next(each for each in self.studies if each.name == study.like)
            chosen = self.settings(Job(other, None, job.seed))
            if chosen is None:
                return None
            before = chosen
        row = job.row if job.row is not None else self.choice(study)
        return None if row is None else {**before, **study.settings, **study.candidates[row]}


def put_back(written: Path, results: Results) -> list[str]:
    """Write the runs on test that docs/data/whole_sets.json has to where they were kept, and return their names.

    A run counts where its study has these very settings; one that is kept already stays as it is. So other seeds are
    added to a page on a machine that has nothing of the earlier ones.
    """
    told, names = json.loads(written.read_text(encoding="utf-8")), []
    for job in plan(results.studies):
        found = told.get(job.study.name)
        if found is None or job.row is not None or results.settings(job) != found["settings"]:
            continue
        path = results.folder / f"{job.name}.json"
        for run in found["runs"]:
            if run["seed"] == job.seed and not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(as_kept(job.name, found["settings"], run)) + "\n", encoding="utf-8")
                names.append(job.name)
    return names


def as_kept(name: str, settings: Settings, run: Mapping[str, Any]) -> dict[str, Any]:
    """A run of the page in the form of a kept one; of the labels of each side their number alone is known."""
    labels = {side: {"": count} for side, count in run["examples"].items()}
    test = {**run["test"], "classes": run["classes"]}
    rest = {key: value for key, value in run.items() if key not in ("classes", "examples")}
    return {**rest, "name": name, "settings": settings, "labels": labels, "test": test}
