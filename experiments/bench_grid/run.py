"""The page docs/benchmark_figures.md, its pictures, and every row as docs/data/benchmark_figures.csv.

The published grid: models, masks, forms, decoding and growth; writes docs/benchmark_figures.md and its pictures.
`python experiments/bench_grid/run.py` wants a quiet machine and half an hour; what is done is kept in build/bench.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))

from asked import asked
from tables import Table, split, summary, write

from attention_core.bench.report.pictures import write_pictures
from attention_core.bench.report.render_markdown import disagreements, to_markdown
from attention_core.bench.report.results import Results, read_results, write_text
from attention_core.bench.run import Settings, run_benchmark
from attention_core.bench.timing.machine import describe_machine, versions
from attention_core.bench.timing.roofline import HALVES
from attention_core.bench.workloads.shapes import read_shapes, workloads
from attention_core.bench.workloads.workload import Workload

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "bench"
PAGE, PICTURES = ROOT / "docs" / "benchmark_figures.md", ROOT / "docs" / "pictures"
KERNELS = ("auto", "torch:math", "torch:flash", "core:tiled", "auto:core:half_accuracy")

FAST = ("auto", "torch:flash", "auto:core:half_accuracy")
"""Where a call of the others takes seconds."""


@dataclass(frozen=True)
class Section:
    """A part of the page: its title, what it asks, and its workloads.

    Args: longer, times the seconds of a cell: four kernels of a tenth of a second fill four seconds with ten blocks.
    """

    name: str
    title: str
    cells: tuple[Workload, ...]
    kernels: tuple[str, ...] = KERNELS
    longer: float = 1.0


def sections() -> list[Section]:
    """The grid."""
    both, floats = ("fwd", "bwd"), ("float32", "bfloat16")
    models = read_shapes(["BERT-base", "GPT-2", "Llama-3-8B:512", "Llama-3-8B:1024"])
    square = read_shapes(["B=1,H=8,n=4096,d=64"])
    masks = ["window:256", "segments:8", "causal+segments:8", "prefix:512", "causal", "none", "bool", "bias"]
    llama = read_shapes(["Llama-3-8B:4096", "Llama-3-8B:512"])
    fallen = read_shapes(["B=1,H=8,n=512,d=64"])
    short = read_shapes(["B=1,H=4,n=256,d=64"])
    unlike = read_shapes(["B=1,H=8,n=512,d=64,d_v=32"])
    lengths = [256, 512, 1024, 2048, 4096]
    fell = [
        *(w for form in ("3d", "5d", "strided") for w in workloads(fallen, ["float32"], ["none"], both, form=form)),
        *workloads(unlike, ["float32"], ["none"], both),
    ]
    brief = read_shapes(["B=1,H=4,n=64,d=64"])
    ways = ["none", "causal", "bool", "window:16", "segments:4"]
    calls = [
        *workloads(brief, floats, ways, both),
        *workloads(read_shapes(["B=1,H=8,H_kv=2,n=128,d=64"]), floats, ["none"], ["fwd"], decode=True),
    ]
    growing = workloads(short, ["float32"], ["causal", "window:256"], ["fwd"], lengths=lengths)
    return [
        Section("models", "Models", tuple(workloads(models, floats, [], both))),
        Section("masks", "Masks at n = 4096", tuple(workloads(square, floats, masks, ["fwd"])), FAST, 7.5),
        Section("decoding", "Decoding one query", tuple(workloads(llama, floats, ["none"], ["fwd"], decode=True))),
        Section("fallback", "Where torch falls back without a word", tuple(fell)),
        Section("growth", "Growth with n", tuple(growing)),
        Section("brief", "Calls of microseconds", tuple(calls), ("auto", "torch:flash")),
    ]


def measured(section: Section, settings: Settings, suffix: str, verdicts: dict[str, dict[str, str]]) -> Results:
    """A section's results; finished cells are taken from build/bench, verdicts from the sections before."""
    path = KEPT / f"{section.name}{suffix}.json"
    settings = replace(settings, seconds=settings.seconds * section.longer)
    if path.exists():
        previous = read_results(path)
    else:
        previous = Results(describe_machine(), versions(), asdict(settings), verdicts=dict(verdicts))
    found = run_benchmark(
        section.kernels, section.cells, settings, previous=previous, progress=lambda t: print(t, file=sys.stderr),
        save=lambda results: write_text(path, results.to_json()),
    )  # fmt: skip
    verdicts |= found.verdicts
    return found


def heading(results: Results) -> list[str]:
    """How, when and on what the figures were taken."""
    machine, versions = results.machine, results.versions
    told = ", ".join(f"{name} {number}" for name, number in versions.items())
    peaks = ", ".join(f"{t} {rate / 1e9:.0f} GFLOP/s" for t, rate in results.limits["flops"].items())
    rates = results.limits["bandwidth"].values()
    limits = f"{peaks}; {results.limits['exponentials'] / 1e9:.2f} G exponentials/s; copies {min(rates) / 1e9:.0f} to"
    command = " ".join(["experiments/bench_grid/run.py", *sys.argv[1:]])
    where = f"{machine['processor']} ({torch.backends.cpu.get_cpu_capability()}), one of {machine['cores']} cores"
    return [
        "# Figures of the benchmarks",
        f"Written by `{command}` on {date.today()};\n"
        "`tox run -e bench` does it where you are. [benchmarks.md](benchmarks.md) says what the columns mean.",
        f"{where}, {machine['memory'] / 2**30:.0f} GiB; {told}.",
        f"Measured limits of one core: {limits} {max(rates) / 1e9:.0f} GB/s.",
    ]


def all_rows(stem: str) -> str:
    """Where the rows of all kernels are."""
    return (
        "One row a workload: torch's default, `auto` beside it, and the fastest kernel that conforms. Every kernel"
        f" of every\nworkload, with memory, error and the operator that ran: [data/{stem}.csv](data/{stem}.csv)."
    )


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=10.0, help="for the samples of a cell")
    parser.add_argument("--section", action="append", help="only this one (the page is then not written)")
    parser.add_argument(
        "--without", help="a kernel to leave out of sections with half precision: it takes minutes here"
    )
    parser.add_argument("--page", type=Path, default=PAGE, help="another page, with pictures of its own name")
    parser.add_argument("--again", action="store_true", help="measure twice, and compare the orders of kernels")
    options = parser.parse_args()
    own = options.page.resolve() == PAGE.resolve()
    KEPT.mkdir(parents=True, exist_ok=True)
    PICTURES.mkdir(parents=True, exist_ok=True)
    settings = Settings(seconds=options.seconds)
    verdicts: dict[str, dict[str, str]] = {}
    parts: list[str] = []
    found: dict[str, Results] = {}
    orders: list[str] = []
    kept: dict[str, list[Table]] = {}
    for section in sections():
        if options.section and section.name not in options.section:
            continue
        if options.without and any(cell.dtype in HALVES for cell in section.cells):
            section = replace(section, kernels=tuple(name for name in section.kernels if name != options.without))
        results = measured(section, settings, "", verdicts)
        found[section.name] = results
        parts = parts or heading(results)
        drawn = write_pictures(results, KEPT / f"bench-{section.name}.svg")
        wanted = [p for p in drawn if p.stem.endswith(("growth", "roofline") if section.name == "growth" else "pareto")]
        named = [p.name if own else f"{options.page.stem}-{p.name}" for p in wanted]
        for picture, name in zip(wanted, named, strict=True):
            shutil.copy(picture, PICTURES / name)
        shown = [f"![{p.stem}](pictures/{name})" for p, name in zip(wanted, named, strict=True)]
        kept[section.name], left = split(to_markdown(results))
        parts += [f"## {section.title}", *shown, summary(kept[section.name]), *([left] if left else [])]
        if options.again:
            orders += disagreements(results, measured(section, settings, "-again", verdicts))
    if options.again:
        told = "; ".join(orders) or "none"
        parts.append(f"Kernels more than 10 % apart whose order a second run did not confirm: {told}.")
    head = len(heading(next(iter(found.values()))))
    parts[head:head] = ["## What was asked", asked(found)]
    if options.section:
        print("\n\n".join(parts))
        return
    write(options.page.parent / "data" / f"{options.page.stem}.csv", kept)
    parts.insert(1, all_rows(options.page.stem))
    options.page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
