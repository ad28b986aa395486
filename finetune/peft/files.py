"""Adapters on the disk, in the format of the library `peft`: adapter_config.json and adapter_model.safetensors.

JSON and numbers alone; the older adapter_model.bin is a pickle and is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from finetune.data.corpus import read_text
from finetune.errors import BadInput
from finetune.training import checkpoint

CONFIG, WEIGHTS, PICKLE = "adapter_config.json", "adapter_model.safetensors", "adapter_model.bin"


@dataclass(frozen=True)
class Saved:
    """An adapter as it was found in a folder."""

    path: Path
    config: Mapping[str, Any]
    tensors: Mapping[str, Tensor]

    @property
    def peft_type(self) -> str:
        """The method's word."""
        return str(self.config.get("peft_type"))

    def number(self, name: str, default: float | None = None) -> float:
        """A number of the configuration. Raises: BadInput where it is another value, negative, or absent."""
        value = self.config.get(name)
        value = default if value is None else value
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 2**31:
            raise BadInput(f"{self.path}: {name} should be a number, got {value!r}")
        return value

    def refuse(self, *names: str) -> None:
        """Raises: BadInput where the configuration asks for one of these, which change what an adapter computes."""
        for name in names:
            if self.config.get(name):
                raise BadInput(f"{self.path}: {name}={self.config[name]!r} is not supported here")


def read_adapter(folder: str | Path) -> Saved:
    """An adapter's configuration and tensors. Raises: BadInput where a file is absent or malformed."""
    folder = Path(folder)
    text = read_text(folder / CONFIG)
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{folder / CONFIG} is not valid JSON ({error})") from None
    if not isinstance(config, dict):
        raise BadInput(f"{folder / CONFIG} should hold a JSON object, got a {type(config).__name__}")
    if not (folder / WEIGHTS).exists() and (folder / PICKLE).exists():
        raise BadInput(f"{folder / PICKLE} is a pickle, which can run code, and is refused: save it as safetensors")
    return Saved(folder, config, checkpoint.load_tensors(folder / WEIGHTS))


def write_adapter(folder: str | Path, config: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Write both files, the configuration last: a folder that has one has both. Raises: BadInput where it cannot."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{folder} cannot be made: {error.strerror}") from None
    kept = {name: value.detach().to("cpu", copy=True).contiguous() for name, value in tensors.items()}
    checkpoint.replace_file(folder / WEIGHTS, checkpoint.bytes_with_sum(kept, {"format": "pt"}))
    checkpoint.replace_file(folder / CONFIG, (json.dumps(dict(config), indent=2, sort_keys=True) + "\n").encode())
