"""Settings that save time in a process which does nothing but judge, such as the command line's."""

from __future__ import annotations

import ctypes
import gc
import sys
from contextlib import suppress

COLLECTED_AFTER = 200_000
"""New objects between two collections of garbage; a run makes few cycles, and its arrays are freed without."""
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT = 1 << 25
"""Bytes of freed memory that the process keeps (glibc allows no more): what is given back costs page faults."""


def be_thrifty() -> None:
    """Collect garbage seldom and keep freed memory, in this process, which must be ours alone.

    Example:
        >>> be_thrifty()
        >>> gc.get_threshold()[0]
        200000
    """
    gc.freeze()
    gc.set_threshold(COLLECTED_AFTER, *gc.get_threshold()[1:])
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library has no such function
            set_limit = ctypes.CDLL(None).mallopt
            set_limit(M_MMAP_THRESHOLD, KEPT)
            set_limit(M_TRIM_THRESHOLD, KEPT)
