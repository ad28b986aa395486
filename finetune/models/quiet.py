"""Keep the bars and remarks of libraries out of what a command prints; their errors are exceptions, and stay."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Within, transformers, datasets and huggingface_hub show no progress bar and no remark.

    Their switches are variables of the environment, which they read when they are imported: a library that is imported
    already is left as it is, since its importer may want to hear it.
    """
    wishes = {
        "TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "DATASETS_VERBOSITY": "error",
        "HF_DATASETS_DISABLE_PROGRESS_BARS": "1", "TOKENIZERS_PARALLELISM": "false", "TQDM_DISABLE": "1",
    }  # fmt: skip
    added = {name: value for name, value in wishes.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)
