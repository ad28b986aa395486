"""What `attention-core bench` is asked for, as workloads and kernels; what cannot be done is refused at the door.

Heavy modules are imported inside the functions, so `attention-core --help` stays quick.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attention_core.bench.workload import Workload


def cells_of(options: dict[str, Any]) -> list[Workload]:
    """The workloads asked for, each checked against the memory of this machine."""
    from attention_core.bench.shapes import read_shapes, workloads

    directions = ("fwd", "bwd") if options["direction"] == "both" else (options["direction"],)
    return workloads(
        read_shapes(options["shapes"]), options["dtypes"], options["masks"], directions,
        lengths=whole_numbers(options["lengths"]), decode=options["decode"], seed=options["seed"], form=options["form"],
    )  # fmt: skip


def whole_numbers(text: str | None) -> list[int]:
    """`128,256` as numbers. Raises: TargetError."""
    from attention_core.bench.masks import shortened, whole_number
    from attention_core.conformance.implementation import TargetError

    found = [whole_number(p.strip()) or 0 for p in text.split(",")] if text is not None else []
    if 0 in found:
        raise TargetError(f"--lengths {shortened(str(text))!r}: write whole numbers of at least 1, e.g. 128,256,512")
    return found


def default_kernels(device: str) -> list[str]:
    """Rows of the kernel table that are attention, are meant to be right, and run on the device."""
    from attention_core.kernels import KERNELS

    fit = [r for r in KERNELS if r.record.get("contract", "attention") == "attention" and r.expected == "conforms"]
    return [r.name for r in fit if device != "cpu" or r.record.get("device", "cpu") == "cpu"]


def check_dtypes(names: tuple[str, ...]) -> None:
    """Refuse a dtype that nobody times. Raises: TargetError."""
    from attention_core.conformance.implementation import DTYPES, TargetError

    for name in names:
        if name not in DTYPES:
            raise TargetError(f"dtype {name!r} is not one of {', '.join(DTYPES)}")


def check_device(device: str) -> None:
    """Refuse a device that is not there. Raises: TargetError."""
    from attention_core.bench.run import device_memory
    from attention_core.conformance.implementation import TargetError

    if device == "cpu":
        return
    if device != "cuda" and not device.startswith("cuda:"):
        raise TargetError(f"--device {device!r} is neither cpu nor cuda, nor cuda:N")
    device_memory(device)


def check_files(options: dict[str, Any]) -> None:
    """Refuse at the door what could not be written after a long run. Raises: TargetError."""
    from attention_core.bench.pictures import check_plotting, needs_matplotlib
    from attention_core.bench.results import beside
    from attention_core.conformance.implementation import TargetError

    if options["resume"] and options["json_path"] is None:
        raise TargetError("--resume needs --json FILE, the file to go on from")
    if options["plot_path"]:
        check_plotting(options["plot_path"])
    if options["html_path"]:
        needs_matplotlib("--html")
    for name in ("json", "plot", "html"):
        path = options[f"{name}_path"]
        if path is None:
            continue
        folder = Path(path).absolute().parent
        if not folder.is_dir():
            raise TargetError(f"--{name} {path} cannot be written: there is no folder {Path(path).parent}")
        try:
            beside(Path(path)).touch()  # the file that is written before it takes the name
            beside(Path(path)).unlink()
        except OSError as error:
            raise TargetError(f"--{name} {path} cannot be written: {error.strerror}") from None
