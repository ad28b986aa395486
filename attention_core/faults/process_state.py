"""Faults of what a call leaves behind in its process: right results, and everything after them goes otherwise.

Each function builds one faulty attention; its docstring tells the fault.
"""

from __future__ import annotations

import os
import random
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attention_core.faults.bases.reference import build

Fault = Callable[..., Tensor]


def after_each_call(change: Callable[[], object]) -> Fault:
    """The correct attention, with something done at each call."""
    attention = build()

    def call(query: Tensor, key: Tensor, value: Tensor, attn_mask: Any = None, is_causal: bool = False) -> Tensor:
        out = attention(query, key, value, attn_mask=attn_mask, is_causal=is_causal)
        change()
        return out

    return call


def seeds_the_global_generator() -> Fault:
    """torch.manual_seed(0) at each call: dropout, shuffling and sampling elsewhere repeat themselves from there on."""
    return after_each_call(lambda: torch.manual_seed(0))


def seeds_numpys_generator() -> Fault:
    """np.random.seed(0) at each call, then a draw."""
    return after_each_call(lambda: (np.random.seed(0), np.random.rand()))


def seeds_pythons_generator() -> Fault:
    """random.seed(1) at each call, then a draw."""
    return after_each_call(lambda: (random.seed(1), random.random()))


def sets_the_default_dtype() -> Fault:
    """torch.set_default_dtype(float64), as a debugging aid leaves it: later tensors take twice the memory."""
    return after_each_call(lambda: torch.set_default_dtype(torch.float64))


def sets_the_number_of_threads() -> Fault:
    """torch.set_num_threads(2), and never back."""
    return after_each_call(lambda: torch.set_num_threads(2))


def turns_gradients_off() -> Fault:
    """torch.set_grad_enabled(False), and never back: whatever is computed later is not trained."""
    return after_each_call(lambda: torch.set_grad_enabled(False))


def goes_to_another_folder() -> Fault:
    """os.chdir, for a cache of compiled kernels."""
    return after_each_call(lambda: os.chdir(tempfile.gettempdir()))


def sets_the_environment() -> Fault:
    """os.environ is written to at each call: child processes are other ones."""
    return after_each_call(lambda: os.environ.update({"ATTENTION_KERNEL": "fast"}))


def asks_for_determinism() -> Fault:
    """torch.use_deterministic_algorithms(True), and never back: other people's operations raise, or are slow."""
    return after_each_call(lambda: torch.use_deterministic_algorithms(True))


def flushes_subnormal_numbers() -> Fault:
    """torch.set_flush_denormal(True), and never back."""
    return after_each_call(lambda: torch.set_flush_denormal(True))


def turns_fused_kernels_off() -> Fault:
    """torch.backends.cuda.enable_flash_sdp(False), and never back: everybody else's attention is another kernel."""
    return after_each_call(lambda: torch.backends.cuda.enable_flash_sdp(False))


def silences_all_warnings() -> Fault:
    """warnings.simplefilter("ignore") at each call."""
    return after_each_call(lambda: warnings.simplefilter("ignore"))


def float32_products_in_ten_bits() -> Fault:
    """torch.set_float32_matmul_precision("medium"), and never back."""
    return after_each_call(lambda: torch.set_float32_matmul_precision("medium"))


def settings_of_the_first_call() -> Fault:
    """The default dtype is set once, when the first call finds no cache yet."""
    done: list[int] = []

    def once() -> None:
        if not done:
            torch.set_default_dtype(torch.float64)
            done.append(1)

    return after_each_call(once)


def loads_a_library_at_first() -> Fault:
    """Correct: the first call loads something that sets a variable and a filter, as compilers do; later ones do not."""
    done: list[int] = []

    def once() -> None:
        if not done:
            os.environ["A_COMPILERS_CACHE"] = "/nowhere"
            warnings.filterwarnings("ignore", "words of that library")
            done.append(1)

    return after_each_call(once)


def draws_without_seeding() -> Fault:
    """Correct: random numbers are drawn and the generators go on, as of dropout with p = 0."""
    return after_each_call(lambda: (torch.rand(3), np.random.rand(), random.random()))


def settings_in_a_context() -> Fault:
    """Correct: what is set for the call is set back after it."""
    attention = build()

    def call(query: Tensor, key: Tensor, value: Tensor, attn_mask: Any = None, is_causal: bool = False) -> Tensor:
        threads = torch.get_num_threads()
        with torch.random.fork_rng(), warnings.catch_warnings(), torch.autocast("cpu", enabled=False):
            torch.manual_seed(0)
            warnings.simplefilter("ignore")
            torch.set_num_threads(2)
            try:
                return attention(query, key, value, attn_mask=attn_mask, is_causal=is_causal)
            finally:
                torch.set_num_threads(threads)

    return call


FAULTY = (
    seeds_the_global_generator, seeds_numpys_generator, seeds_pythons_generator, sets_the_default_dtype,
    sets_the_number_of_threads, turns_gradients_off, goes_to_another_folder, sets_the_environment, asks_for_determinism,
    flushes_subnormal_numbers, turns_fused_kernels_off, silences_all_warnings, float32_products_in_ten_bits,
    settings_of_the_first_call,
)  # fmt: skip
CORRECT = (loads_a_library_at_first, draws_without_seeding, settings_in_a_context)
