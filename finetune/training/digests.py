"""Short names of what a run is made of, so that one does not go on with other data or other weights."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from torch import Tensor


def digest(what: Any) -> str:
    """ "sha256:" and the digest of texts and lists of them, or of tensors by name.

    Example:
        >>> digest(["a", "b"]) != digest(["ab"])
        True
    """
    found = hashlib.sha256()
    if isinstance(what, Mapping):
        for name, tensor in sorted(what.items()):
            assert isinstance(tensor, Tensor)
            found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
            found.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    else:
        found.update(json.dumps(what, ensure_ascii=True).encode())
    return f"sha256:{found.hexdigest()}"
