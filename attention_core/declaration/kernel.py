"""One row of the kernel table, and the conventions that many rows declare alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Kernel:
    """One row.

    Args:
        name: what people call it, "origin:kernel", e.g. "torch:flash".
        origin: "package.module:name", imported only where the kernel runs; that may raise `Unavailable`.
        about: one line.
        record: fields of `Implementation` (contract, dtypes, dead_rows, accumulate, ...), with `sizes` as a
            text such as "d == d_v".
        expected: "conforms", or "refuted" for a counterexample that is wrong on purpose.
        known_failures: law name -> reason, for laws a real kernel breaks.
        untested: parameter -> reason, for parameters that no law tests.
        compiles: for seconds at every size, so that it is judged with the arguments of its record, which say not to,
            and timed without them.
    """

    name: str
    origin: str
    about: str
    record: Mapping[str, Any] = field(default_factory=dict)
    expected: str = "conforms"
    known_failures: Mapping[str, str] = field(default_factory=dict)
    untested: Mapping[str, str] = field(default_factory=dict)
    compiles: bool = False


SDPA_CLAIMS = ("attn_mask", "is_causal", "scale", "dropout_p", "enable_gqa")
# torch multiplies a weight of 0 with a masked NaN, which gives NaN.
TORCH: dict[str, Any] = {"claims": SDPA_CLAIMS, "masked_nan": "propagates", "accumulate": "float32"}

# Laws that real kernels break, with the number of the finding in docs/findings.md. The smallest case of each
# is saved in peers/cases; it must go on failing, at any effort.
LENGTHS, GARBAGE = "lengths_of_key_and_value_must_agree", "garbage_is_not_turned_into_a_number"
FLASH_FAILURES = {
    LENGTHS: "flash on the CPU counts keys by the values and reads past them (1)",
    "causal_holds_at_any_scale": "flash on the CPU masks before it scales: -inf * scale <= 0 (2)",
    GARBAGE: "flash on the CPU gives 0 for a NaN query, with few keys (3)",
}

# This flag makes a module return its weights.
WEIGHTS: dict[str, Any] = {"weights_flag": "need_weights"}
