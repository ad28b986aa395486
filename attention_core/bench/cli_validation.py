"""Parse and validate the options of `attention-core bench`: workloads and kernels.

Heavy modules are imported inside the functions, so `attention-core --help` stays quick.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attention_core.terminal import STANDARD_OUTPUT, check_apart

if TYPE_CHECKING:
    from attention_core.bench.workloads.workload import Workload
    from attention_core.declaration.known_failures import KnownFailure

TUNED = ("dtypes", "device", "quiet")
"""What --tune goes by, beside itself."""
NOT_SELF_TESTED = ("kernels", "gate", "json_path", "resume", "plot_path", "html_path", "markdown_path", "known_path")
"""What --self-test does not go by."""
NOT_COMPARED = ("baseline", "known_path", "resume", "plot_path", "html_path", "tune", "self_test")
"""What --base does not go by."""
WITH_BASE = ("head", "build")
"""What nothing but --base goes by."""
MAX_THREADS_PER_CORE = 4
"""With more threads on a core, times compare nothing."""


def cells_of(options: dict[str, Any]) -> list[Workload]:
    """The requested workloads, each checked against the memory of this machine."""
    from attention_core.bench.workloads.shapes import read_shapes, workloads

    directions = ("fwd", "bwd") if options["direction"] == "both" else (options["direction"],)
    return workloads(
        read_shapes(options["shapes"]), options["dtypes"], options["masks"], directions,
        lengths=parse_whole_numbers(options["lengths"]),
        decode=options["decode"], seed=options["seed"], form=options["form"],
    )  # fmt: skip


def parse_whole_numbers(text: str | None) -> list[int]:
    """`128,256` as numbers. Raises: TargetError."""
    from attention_core.bench.json_fields import parse_whole_number, shorten
    from attention_core.declaration.implementation import TargetError

    found = [parse_whole_number(p.strip()) or 0 for p in text.split(",")] if text is not None else []
    if 0 in found:
        raise TargetError(f"--lengths {shorten(str(text))!r}: write whole numbers of at least 1, e.g. 128,256,512")
    return found


def default_kernels(device: str) -> list[str]:
    """Rows of the kernel table that are attention, are meant to be right, and run on the device."""
    from attention_core.registry.table import KERNELS

    fit = [r for r in KERNELS if r.record.get("contract", "attention") == "attention" and r.expected == "conforms"]
    return [r.name for r in fit if device != "cpu" or r.record.get("device", "cpu") == "cpu"]


def known_failures(path: str | None, names: Sequence[str]) -> dict[str, dict[str, KnownFailure]]:
    """Target -> law -> known failure; entries for kernels outside this run are reported.

    Raises: TargetError where the file cannot be read.
    """
    from attention_core.bench.verdicts import unused_targets
    from attention_core.declaration.known_failures import load_known_failures

    listed = load_known_failures(path) if path is not None else {}
    for target in unused_targets(names, listed):
        click.echo(f"attention-core: known failures name {target}, which was not asked for", err=True)
    return listed


def check_dtypes(names: tuple[str, ...]) -> None:
    """Refuse a dtype that is not timed. Raises: TargetError."""
    from attention_core.declaration.implementation import DTYPES, TargetError

    for name in names:
        if name not in DTYPES:
            raise TargetError(f"dtype {name!r} is not one of {', '.join(DTYPES)}")


def check_device(device: str) -> None:
    """Refuse a device that is not there. Raises: TargetError."""
    from attention_core.bench.run import device_memory
    from attention_core.declaration.implementation import TargetError

    if device == "cpu":
        return
    if not re.fullmatch(r"cuda(:[0-9]+)?", device):
        raise TargetError(f"--device {device!r} is not cpu, cuda or cuda:N")
    device_memory(device)


def check_threads(threads: int) -> None:
    """Refuse more threads than anybody compares kernels on. Raises: TargetError."""
    from attention_core.declaration.implementation import TargetError

    cores = os.cpu_count() or 1
    if threads > MAX_THREADS_PER_CORE * cores:
        raise TargetError(
            f"--threads {threads}: there are {cores} cores; at most {MAX_THREADS_PER_CORE * cores} can be asked for"
        )


def check_together(context: click.Context) -> None:
    """Refuse options of which one would be left unread without a word. Raises: TargetError."""
    from attention_core.declaration.implementation import TargetError

    source = click.core.ParameterSource.DEFAULT
    given = {str(p.name): p for p in context.command.params if context.get_parameter_source(str(p.name)) != source}
    spelled = {name: p.opts[0] if isinstance(p, click.Option) else "KERNEL" for name, p in given.items()}
    check_base(given, spelled, context.params.get("gate"))
    if "tune" in given:
        extra = [spelled[name] for name in given if name not in ("tune", *TUNED)]
        if extra:
            raise TargetError(f"--tune does not go with {', '.join(extra)}: it takes --dtype, --device and --quiet")
    elif "self_test" in given:
        extra = [spelled[name] for name in given if name in NOT_SELF_TESTED]
        if extra:
            raise TargetError(f"--self-test does not go with {', '.join(extra)}: it compares --baseline with itself")


def check_base(given: Mapping[str, Any], spelled: Mapping[str, str], gate: float | None) -> None:
    """Refuse what does not go with --base, or without it. Raises: TargetError."""
    from attention_core.declaration.implementation import TargetError

    if "base" not in given:
        lonely = [spelled[name] for name in WITH_BASE if name in given]
        if lonely:
            raise TargetError(f"{lonely[0]} needs --base REV, the revision to compare with")
        return
    extra = [spelled[name] for name in given if name in NOT_COMPARED]
    if extra:
        raise TargetError(f"--base does not go with {', '.join(extra)}: it compares each KERNEL with itself")
    if gate == 1:
        raise TargetError("--gate 1 with --base: write a factor above 1, since equal times lie on both sides of it")
    if "kernels" not in given:
        raise TargetError("--base needs a KERNEL of this repository, as in mine.py:attention")


def check_files(options: dict[str, Any]) -> None:
    """Refuse at the door what could not be written after a long run. Raises: TargetError."""
    from attention_core.bench.files import check_writable
    from attention_core.bench.report.pictures import NAMES, check_plotting, needs_matplotlib, picture_file
    from attention_core.declaration.implementation import TargetError

    named: list[tuple[str, str]] = [
        (f"--{n}", options[f"{n}_path"]) for n in ("json", "html", "markdown") if options[f"{n}_path"] is not None
    ]
    named = [(option, path) for option, path in named if path != STANDARD_OUTPUT or option != "--json"]
    if options["resume"] and options["json_path"] in (None, STANDARD_OUTPUT):
        raise TargetError("--resume needs --json FILE, the file to continue")
    if (plot := options["plot_path"]) is not None:
        check_plotting(plot)
        named += [(f"--plot {plot}:", str(picture_file(Path(plot), name))) for name in NAMES]
    if options["html_path"] is not None:
        needs_matplotlib("--html")
    check_apart(named)
    for option, path in named:
        check_writable(path, f"{option} {path or repr(path)}")
