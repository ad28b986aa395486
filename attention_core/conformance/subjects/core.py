"""The core of a contract: plain calls of ordinary sizes that a target must accept to conform.

Refusing is allowed, but who refuses everything has shown nothing. Each contract has calls at aligned sizes and at
others (those of `attention` are drawn in `contracts`); what comes back is judged by the laws, here it only has to come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attention_core.conformance.subjects.evidence import Refused, Violation
from attention_core.conformance.subjects.parameter_case import ParameterCase, find_nearest_sizes, supports
from attention_core.declaration.gpu_advice import with_advice
from attention_core.declaration.sizes import ATTENTION

SIZES: Mapping[str, tuple[Mapping[str, int], Mapping[str, int]]] = {
    "mask-builder": ({"n_q": 16, "n_kv": 16, "size": 5, "B": 2}, {"n_q": 13, "n_kv": 13, "size": 4, "B": 3}),
    "heads": ({"B": 2, "n": 8, "H": 4, "d": 8}, {"B": 3, "n": 5, "H": 3, "d": 7}),
    "multi-head": ({"B": 2, "n": 8, "H": 4, "d": 8}, {"B": 3, "n": 5, "H": 3, "d": 6}),
    "rotary": (
        {"B": 2, "H": 4, "n": 8, "half": 8, "start": 0, "shift": 0},
        {"B": 3, "H": 3, "n": 7, "half": 5, "start": 0, "shift": 0},
    ),
    "bias": ({"H": 8, "n_q": 16, "n_kv": 16}, {"H": 4, "n_q": 13, "n_kv": 13}),
    "position-table": ({"n": 16, "d": 8, "half": 4}, {"n": 13, "d": 6, "half": 3}),
    "self-attention": ({"B": 2, "n": 8, "H": 4, "d": 8}, {"B": 3, "n": 5, "H": 3, "d": 7}),
    "self-attention-steps": ({"B": 2, "n": 8, "H": 4, "d": 8}, {"B": 3, "n": 5, "H": 3, "d": 7}),
    "kv-cache": ({"B": 2, "H": 4, "n": 8, "d": 8}, {"B": 3, "H": 3, "n": 5, "d": 7}),
    "varlen": (
        {"H_kv": 4, "group": 1, "d": 8, "d_v": 8, "most": 16},
        {"H_kv": 3, "group": 1, "d": 7, "d_v": 7, "most": 7},
    ),
    "paged": (
        {"H_kv": 4, "group": 1, "d": 8, "d_v": 8, "page": 8, "most": 16},
        {"H_kv": 3, "group": 1, "d": 7, "d_v": 7, "page": 3, "most": 7},
    ),
    "linear-attention": (
        {"B": 2, "H": 4, "n": 8, "d": 8, "d_v": 8},
        {"B": 3, "H": 3, "n": 5, "d": 7, "d_v": 7},
    ),
    "quantised": (
        {"B": 2, "H_kv": 4, "group": 1, "n_q": 1, "n_kv": 16, "d": 8, "d_v": 8},
        {"B": 3, "H_kv": 3, "group": 1, "n_q": 1, "n_kv": 7, "d": 7, "d_v": 7},
    ),
    "block-mask": (
        {"B": 2, "H_kv": 4, "group": 1, "q_block": 4, "k_block": 4, "n_q": 16, "n_kv": 16, "d": 8, "d_v": 8},
        {"B": 3, "H_kv": 3, "group": 1, "q_block": 3, "k_block": 3, "n_q": 7, "n_kv": 7, "d": 7, "d_v": 7},
    ),
    "mla": (
        {"B": 2, "H": 4, "n_q": 1, "n_kv": 16, "r": 16, "d": 8, "d_rope": 8, "d_v": 8},
        {"B": 3, "H": 3, "n_q": 1, "n_kv": 7, "r": 9, "d": 7, "d_rope": 3, "d_v": 5},
    ),
    "tree-mask": (
        {"B": 2, "H_kv": 4, "group": 1, "n": 8, "context": 8, "d": 8, "d_v": 8},
        {"B": 3, "H_kv": 3, "group": 1, "n": 5, "context": 3, "d": 7, "d_v": 7},
    ),
    "topk-index": (
        {"B": 2, "H_kv": 4, "group": 1, "n_q": 8, "n_kv": 16, "topk": 8, "block": 1, "d": 8, "d_v": 8},
        {"B": 3, "H_kv": 3, "group": 1, "n_q": 5, "n_kv": 7, "topk": 3, "block": 1, "d": 7, "d_v": 7},
    ),
    "indexer": (
        {"B": 2, "H": 4, "n_q": 8, "n_kv": 16, "topk": 8, "d": 8},
        {"B": 3, "H": 3, "n_q": 5, "n_kv": 7, "topk": 3, "d": 7},
    ),
    "variant-attention": (
        {"B": 2, "H_kv": 4, "group": 1, "n_q": 16, "n_kv": 16, "d": 8, "d_v": 8},
        {"B": 3, "H_kv": 3, "group": 1, "n_q": 7, "n_kv": 7, "d": 7, "d_v": 7},
    ),
    "cross-cache": (
        {"B": 2, "H_kv": 4, "group": 1, "n_q": 1, "n_kv": 16, "d": 8, "d_v": 8},
        {"B": 3, "H_kv": 3, "group": 1, "n_q": 1, "n_kv": 7, "d": 7, "d_v": 7},
    ),
    "merge": ({"parts": 2, "B": 2, "H": 4, "n": 8, "d": 8}, {"parts": 3, "B": 3, "H": 3, "n": 5, "d": 7}),
}
"""Aligned and unaligned sizes by contract. No size asks for more than the contract's plainest use: even features,
heads that divide them, as many queries as keys."""
WITHOUT_ARRAYS = ("mask-builder", "bias", "position-table")
"""Their calls hold no array of the case's dtype, so one dtype stands for all."""
CORE_REFUSED = "it declined a plain call, which every implementation should answer"
"""How the problem of a target begins that declines its contract's plain calls."""
SWAPPED = "is the pair given as split,merge, in this order?"


def what_the_core_lacks(contract: Any, subject: Any) -> str:
    """ "" when the plain call is accepted at aligned and unaligned sizes in one dtype, else one line that says why."""
    accepted: dict[str, set[str]] = {}
    refusal = ""
    cases = contract.core(subject)
    for label, case in cases:
        dtype, _, kind = label.partition("/")
        try:
            contract.ask(subject, case)
        except Refused as refused:
            refusal = refusal or f"{case.describe()}: {refused}"
            continue
        except Violation:
            pass  # the laws report it; here it counts as accepted
        accepted.setdefault(dtype, set()).add(kind)
    if not cases and contract.name not in SIZES and contract.name not in ATTENTION:
        return ""
    kinds = {label.partition("/")[2] for label, _ in cases}
    if kinds and kinds in accepted.values():
        return ""
    if not refusal:
        return "no core case lies in the declared sizes"
    hint = f" ({SWAPPED})" if contract.name == "heads" and "TypeError" in refusal else ""
    return with_advice(f"{CORE_REFUSED}: {refusal}{hint}")


def plain_cases(contract: str, subject: Any) -> list[tuple[str, ParameterCase]]:
    """(dtype/kind, case) for every declared dtype; of one dtype all kinds must be accepted. None without sizes."""
    if contract not in SIZES:
        return []
    dtypes = subject.implementation.dtypes[:1] if contract in WITHOUT_ARRAYS else subject.implementation.dtypes
    if contract == "multi-head":  # its laws ask in float32 alone
        dtypes = tuple(d for d in dtypes if d == "float32")
    kinds = zip(("aligned", "unaligned"), SIZES[contract], strict=True)
    cases = [(f"{d}/{kind}", ParameterCase(sizes, dtype=d)) for kind, sizes in kinds for d in dtypes]
    declared = [(label, case) for label, case in cases if supports(subject.implementation, case)]
    if declared:
        return declared
    near = ((label, find_nearest_sizes(subject.implementation, case)) for label, case in cases[: len(dtypes)])
    return [(label, case) for label, case in near if case is not None]


def plain_call(contract: str, subject: Any, case: ParameterCase) -> None:
    """The plain call of a contract; raises `Refused` where the target declines it, `Violation` where it breaks."""
    PLAIN[contract](subject, case)


def _mask(subject: Any, case: ParameterCase) -> None:
    subject.build_mask(case)


def _heads(subject: Any, case: ParameterCase) -> None:
    x = case.values("x", case["B"], case["n"], case["H"] * case["d"])
    y = case.values("y", case["B"], case["H"], case["n"], case["d"])
    subject.call(x, case["H"], method_="split", dtype=case.dtype)
    subject.call(y, method_="merge", dtype=case.dtype)


def _module(subject: Any, case: ParameterCase) -> None:
    subject.fill(subject.adapt_case(case))


def _rotary(subject: Any, case: ParameterCase) -> None:
    x = case.values("x", case["B"], case["H"], case["n"], 2 * case["half"])
    subject.rotate(case, x, np.arange(case["n"]))


def _bias(subject: Any, case: ParameterCase) -> None:
    subject.call(case["H"], case["n_q"], case["n_kv"])


def _table(subject: Any, case: ParameterCase) -> None:
    subject.call(case["n"], case["d"])


def _cache(subject: Any, case: ParameterCase) -> None:
    subject.run(case, subject.fresh_instance(), subject.inputs(case), [0, case["n"] - 1, case["n"]])


def _attention(subject: Any, case: ParameterCase) -> None:
    case = subject.adapt_case(case)
    subject.attend(case, subject.inputs(case), subject.has_flag)


def _step(subject: Any, case: ParameterCase) -> None:
    subject.step(case)


def _merge(subject: Any, case: ParameterCase) -> None:
    case = subject.adapt_case(case)
    subject.merge(case, subject.parts(case))


def _recur(subject: Any, case: ParameterCase) -> None:
    subject.attend(case, subject.tokens(case))


def _attend_to_numbers(subject: Any, case: ParameterCase) -> None:
    case = subject.adapt_case(case)
    subject.attend(case, subject.operands(case))


def _attend_to_latents(subject: Any, case: ParameterCase) -> None:
    subject.attend(case, subject.inputs(case))


def _pack(subject: Any, case: ParameterCase) -> None:
    case = subject.adapt_case(case)
    subject.attend(case, subject.pack(case), subject.setting(case))


def _draw_and_attend(subject: Any, case: ParameterCase) -> None:
    case = subject.adapt_case(case)
    subject.attend(case, subject.draw(case))


def _begin_a_text(subject: Any, case: ParameterCase) -> None:
    subject.begin(case, subject.fresh_instance(), subject.draw(case))


PLAIN: Mapping[str, Callable[[Any, ParameterCase], None]] = {
    "mask-builder": _mask, "heads": _heads, "multi-head": _module, "rotary": _rotary, "bias": _bias,
    "position-table": _table, "kv-cache": _cache, "self-attention": _attention, "self-attention-steps": _step,
    "merge": _merge, "varlen": _pack, "paged": _pack, "linear-attention": _recur,
    "quantised": _attend_to_numbers,
    "block-mask": _draw_and_attend,
    "mla": _attend_to_latents,
    "tree-mask": _draw_and_attend,
    "topk-index": _draw_and_attend,
    "indexer": _draw_and_attend,
    "variant-attention": _draw_and_attend,
    "cross-cache": _begin_a_text,
}  # fmt: skip
