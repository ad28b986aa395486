"""Running out of memory as something that is found out and survived: on CUDA, and on a processor with a limit."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch

T = TypeVar("T")
WORDS = ("out of memory", "can't allocate memory", "cannot allocate memory", "not enough memory", "alloc_cpu")
"""What torch's allocators say in a RuntimeError that has no kind of its own."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that there is no memory: Python's, CUDA's, or that of torch's allocator on a processor.

    Example:
        >>> is_out_of_memory(MemoryError())
        True
    """
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(word in str(error).lower() for word in WORDS)


def attempt(step: Callable[[], T]) -> tuple[T | None, str | None]:
    """The result of a step, or the message when memory ran out; every other error goes its way.

    Nothing of a step that failed is held on to: the frames of the error hold its tensors, and go before memory is
    given back.

    Returns: (result, None) or (None, words).

    Example:
        >>> attempt(lambda: 1)
        (1, None)
    """
    try:
        return step(), None
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        message = (str(error).strip().splitlines() or [type(error).__name__])[0] or type(error).__name__
        error.__traceback__ = None
    release()
    return None, message


def release() -> None:
    """Give back what nothing refers to, also to the device."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


@contextmanager
def limit_memory(bytes_more: int) -> Iterator[None]:
    """Within, this process may map so many bytes more than now; the limit that was is put back.

    A processor otherwise hands out more memory than there is, and the system ends a process that uses it.

    Raises: BadInput where the system has no such limits.
    """
    from finetune.errors import BadInput

    try:
        import resource
    except ModuleNotFoundError:
        raise BadInput("this system has no limits of memory for a process") from None
    with open("/proc/self/statm", encoding="ascii") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = mapped + bytes_more
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
