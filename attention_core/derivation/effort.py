"""The effort that a step is given.

How much is tried for one relation, and what is said where its time runs out.
Each number may be raised for a document that deserves it; `--seconds` is one of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

LATE = (
    "the time of a step ran out before all sizes were tried: split the step, give its parts names of their own, "
    "or give it more time (--seconds)"
)
SECONDS = 8.0  # of processor time for one step
CEILING = 1.15  # of a step's time: what it does in one go may take longer than planned


@dataclass(frozen=True)
class Effort:
    """How much is tried.

    `small` cases at each small tuple, fewer where `total` would be passed; `tuples` larger tuples with `large` cases
    each; for an inequality `altered` cases that differ a little from the tightest one, shared among the tuples,
    `climb` at each at least; `ladder` operations at sizes far larger; without `proofs` a step that holds AGREES
    at best; `seconds` of processor time for one step, of which a stage may take a share.
    """

    small: int = 9
    tuples: int = 4
    large: int = 4
    seconds: float = field(default_factory=lambda: SECONDS)
    seed: int = 0
    total: int = 320
    climb: int = 6
    altered: int = 320
    ladder: int = 60_000
    proofs: bool = True
