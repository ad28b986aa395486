"""The complete table of operations that terms are lowered by.

Handlers register themselves where they are defined; expectations, which need moments, are the last of them.
"""

from __future__ import annotations

from types import ModuleType

from attention_core.derivation.limits import evaluate
from attention_core.derivation.lowering import arithmetic, limits
from attention_core.derivation.lowering.lower import Cells, Env, Lowering, handles
from attention_core.derivation.probability.moments import expectation
from attention_core.derivation.terms.terms import Term


@handles("expect")
def _expect(low: Lowering, term: Term, env: Env) -> Cells:
    inner = low.lower(term.args[0], env)
    return Cells(inner.rows, inner.cols, tuple(expectation(low, cell) for cell in inner.cells))


def register() -> tuple[ModuleType, ...]:
    """Complete the tables: of operations, and of the values and the comparison of limits.

    Returns:
        The modules that fill them when they are imported.
    """
    return arithmetic, arithmetic, limits, evaluate
