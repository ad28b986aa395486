"""One file for everything: tensors as safetensors, all else as JSON in its header, written so that none is ever half.

Nothing is ever unpickled: a file of torch's own format is read with `weights_only`, a plain pickle is refused.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as tensors_of
from safetensors.torch import save as bytes_of
from torch import Tensor

from finetune.errors import BadInput

KEY = "finetune"
"""The name of our JSON in the header."""
SUM = "finetune.sha256"
"""The name of the sum over our JSON and all tensors."""
SCHEMA = 1


def flatten(tree: Any, tensors: dict[str, Tensor], name: str = "") -> Any:
    """A tree of dicts, lists, tuples, numbers, strings and tensors as JSON values; tensors are put into `tensors`.

    Raises: BadInput for a value of another kind.
    """
    if isinstance(tree, Tensor):
        tensors[name] = tree.detach().to("cpu", copy=True).contiguous()
        return {"tensor": name}
    if isinstance(tree, Mapping):
        return {"dict": [[k, flatten(v, tensors, f"{name}.{k}" if name else str(k))] for k, v in tree.items()]}
    if isinstance(tree, list | tuple):
        items = [flatten(v, tensors, f"{name}.{i}") for i, v in enumerate(tree)]
        return {"list" if isinstance(tree, list) else "tuple": items}
    if tree is None or isinstance(tree, bool | int | float | str):
        return tree
    raise BadInput(f"{name}: a {type(tree).__name__} cannot be kept in a checkpoint")


def rebuilt(node: Any, tensors: Mapping[str, Tensor]) -> Any:
    """The inverse of `flattened`."""
    if not isinstance(node, dict):
        return node
    ((kind, value),) = node.items()
    if kind == "tensor":
        return tensors[value]
    if kind == "dict":
        return {k: rebuilt(v, tensors) for k, v in value}
    items = [rebuilt(v, tensors) for v in value]
    return items if kind == "list" else tuple(items)


def save(path: str | Path, tree: Any) -> None:
    """Write a tree of values and tensors to one file, all or nothing.

    The bytes go to a file beside it, are flushed to the disk, and then take its place in one step of the file system:
    a run that is killed on the way, or fills the disk, leaves the last whole file as it was.

    Args: path; tree, of dicts, lists, tuples, numbers, strings, None and tensors.
    Raises: BadInput where the file cannot be written (the old one is there as before), or holds something else.
    Example:
        >>> save("run.checkpoint", {"weights": torch.zeros(2), "step": 7})
        >>> sorted(load("run.checkpoint"))
        ['step', 'weights']

    Source: the format is https://huggingface.co/docs/safetensors; os.replace is atomic on POSIX and Windows.
    """
    tensors: dict[str, Tensor] = {}
    header = json.dumps({"schema": SCHEMA, "summed": True, "tree": flatten(tree, tensors)})
    replace_file(path, bytes_with_sum(tensors, {KEY: header}))


def bytes_with_sum(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> bytes:
    """The bytes of a safetensors file whose header holds a SHA-256 of what is in it; `load` compares it."""
    data: bytes = bytes_of(dict(tensors), {**metadata, SUM: sum_of(tensors, metadata.get(KEY, ""))})
    return with_sorted_metadata(data)


def with_sorted_metadata(data: bytes) -> bytes:
    """The same safetensors file with its metadata in alphabetical order, so that equal contents are equal bytes.

    The library keeps them in a hash map, whose order changes from process to process.
    """
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)  # the format wants tensors to begin at a multiple of eight
    return len(text).to_bytes(8, "little") + text + data[end:]


def sum_of(tensors: Mapping[str, Tensor], header: str = "") -> str:
    """The SHA-256 of a text and of tensors by name: their types, shapes and bytes.

    Example:
        >>> sum_of({"w": torch.zeros(2)}) != sum_of({"w": torch.zeros(1, 2)})
        True
    """
    found = hashlib.sha256(header.encode())
    for name, tensor in sorted(tensors.items()):
        found.update(json.dumps([name, str(tensor.dtype), list(tensor.shape)]).encode())
        found.update(tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return found.hexdigest()


def replace_file(path: str | Path, data: bytes) -> None:
    """Write a file, all or nothing: beside it first, flushed, then put in its place in one step of the file system.

    A symbolic link is followed, and stays: what it points to is written, all or nothing as well.

    Raises: BadInput where it cannot be written; the old file is there as before then.
    """
    path = Path(os.path.realpath(path))
    if path.is_symlink():  # links in a circle lead nowhere
        raise BadInput(f"{path} cannot be written: its symbolic links lead in a circle")
    if path.exists() and not path.is_file():  # a device or a folder, which os.replace would put an end to
        raise BadInput(f"{path} cannot be written: it is not a regular file")
    part = path.with_name(f".{path.name}.part")
    try:
        with open(part, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise BadInput(f"{path} cannot be written: {error.strerror or error}") from None


def sync_folder(folder: Path) -> None:
    """Flush a folder, so that a rename in it survives a power cut (where the system lets a folder be opened)."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def load(path: str | Path) -> Any:
    """What `save` wrote; of a file that others wrote, {"model": its tensors}.

    Args: path of a safetensors file, or of one by torch.save (read with weights_only, tensors by name alone).
    Raises: BadInput where it is absent, cut short, damaged, a pickle, or something else. No code in it is ever run.
    Example:
        >>> save("run.checkpoint", {"step": 7})
        >>> load("run.checkpoint")["step"]
        7
    """
    try:
        raw = Path(path).read_bytes()
    except FileNotFoundError:
        raise BadInput(f"no such file: {path}") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from None
    if raw[:4] == b"PK\x03\x04":
        return {"model": _of_torch(path, raw)}
    try:
        tensors = tensors_of(raw)
        header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")]).get("__metadata__", {})
    except (SafetensorError, ValueError) as error:
        # Only now: a header's length may begin with the byte that begins a pickle; its first character tells.
        if raw[:1] == b"\x80" and raw[8:9] != b"{":
            raise BadInput(
                f"{path} is a pickle, which can run code when it is read, and is refused: save the parameters as "
                "safetensors"
            ) from None
        raise BadInput(f"{path} is not a complete safetensors file ({error}): it may be cut short") from None
    if SUM in header and header[SUM] != sum_of(tensors, header.get(KEY, "")):
        raise BadInput(f"{path} is damaged: what it holds does not have the SHA-256 that it was written with")
    if KEY not in header:
        return {"model": tensors}
    try:
        data = json.loads(header[KEY])
        if data.get("summed") and SUM not in header:
            raise BadInput(f"{path} is damaged: it does not hold the SHA-256 that it was written with")
        if data["schema"] != SCHEMA:
            raise BadInput(f"{path} has the form {data['schema']} of checkpoints, this version reads {SCHEMA}")
        return rebuilt(data["tree"], tensors)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"{path}: its header cannot be understood ({type(error).__name__}: {error})") from None


def load_record(path: str | Path, kinds: Mapping[str, type], what: str) -> dict[str, Any]:
    """The values of a file by name, once those that are needed are there and of their kinds.

    Args: path; kinds, of what is needed, by name; what, the words for such a file in the message.
    Raises: BadInput as `load`, and where the file holds something else.
    """
    values = load(path)
    if not isinstance(values, dict):
        raise BadInput(f"{path} does not hold {what}")
    for name, kind in kinds.items():
        if not isinstance(values.get(name), kind) or isinstance(values[name], bool):
            raise BadInput(
                f"{path} does not hold {what}: its {name!r} is missing, or is not of the type {kind.__name__}"
            )
    return values


def step_of(path: str | Path) -> int:
    """The step at which a training run's checkpoint was written. Raises: BadInput as `load_record`."""
    return int(load_record(path, {"step": int}, "the checkpoint of a training run")["step"])


def load_tensors(path: str | Path) -> dict[str, Tensor]:
    """A model's tensors by name. Raises: BadInput as `load`, and where the file holds something else."""
    found = load(path)
    model = found.get("model") if isinstance(found, dict) else None
    if not isinstance(model, dict) or not all(isinstance(value, Tensor) for value in model.values()):
        raise BadInput(f"{path} does not hold a model's tensors by name")
    return model


def _of_torch(path: str | Path, raw: bytes) -> dict[str, Tensor]:
    """The tensors of a file by torch.save, without running what is in it, whatever the file is called."""
    try:
        found = torch.load(io.BytesIO(raw), map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, OSError) as error:
        # What torch says of a file with more in it is advice to read it without weights_only: not repeated.
        line = "" if isinstance(error, pickle.UnpicklingError) else f" ({str(error).strip().splitlines()[0][:100]})"
        raise BadInput(
            f"{path} holds more than tensors, or is cut short, and is refused: only safetensors, or torch.save of a "
            f"state dict (read with weights_only), is loaded{line}"
        ) from None
    if not isinstance(found, dict) or not all(isinstance(v, Tensor) for v in found.values()):
        raise BadInput(f"{path} holds a {type(found).__name__} that is not a state dict (tensors by name)")
    return {str(k): v for k, v in found.items()}
