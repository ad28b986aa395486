"""Where a trainer's records go: a file of JSON lines, and TensorBoard where it is installed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from finetune.errors import BadInput


def jsonl(path: str | Path, after_step: int | None = None) -> Callable[[Mapping[str, Any]], None]:
    """A sink that appends each record to a file as one line of JSON, and flushes it.

    Args: path; after_step: None begins the file anew; else what it has up to that step stays, and later lines, of a run
        that was interrupted before its next checkpoint, go.
    Raises: BadInput where the file cannot be written.
    Example:
        >>> jsonl("metrics.jsonl")({"step": 1, "loss": 5.5})
        >>> Path("metrics.jsonl").read_text()
        '{"step": 1, "loss": 5.5}\\n'
    """
    path = Path(path)
    kept = ""
    try:
        if after_step is not None and path.exists():
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()  # a damaged line has no step
            kept = "".join(f"{line}\n" for line in lines if _step(line) <= after_step)
        path.write_text(kept, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}") from None

    def sink(record: Mapping[str, Any]) -> None:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    return sink


def _step(line: str) -> float:
    """The step of a line; infinity for one that was cut short."""
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return float("inf")


def tensorboard(folder: str | Path) -> Callable[[Mapping[str, Any]], None]:
    """A sink that writes every number of a record to TensorBoard. Raises: BadInput where it is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise BadInput("TensorBoard is not installed: python -m pip install tensorboard") from None
    writer = SummaryWriter(str(folder))

    def sink(record: Mapping[str, Any]) -> None:
        for name, value in record.items():
            if isinstance(value, int | float) and name != "step":
                writer.add_scalar(name, value, record["step"])
        writer.flush()

    return sink


def sinks(
    metrics_path: str | Path | None, tensorboard_path: str | Path | None, after_step: int | None = None
) -> list[Callable[[Mapping[str, Any]], None]]:
    """The requested sinks: none, one or both. Args, Raises: as `jsonl` and `tensorboard`."""
    lines = [jsonl(metrics_path, after_step)] if metrics_path else []
    return lines + ([tensorboard(tensorboard_path)] if tensorboard_path else [])
