"""The conformance suite: laws of attention, the search for a counterexample, and the report.

from attention_core.conformance import Implementation, check_implementation
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attention_core.conformance.engine.verify import check_implementation as check_implementation
    from attention_core.conformance.parametrize import parametrize_with_laws as parametrize_with_laws
    from attention_core.conformance.report.law_result import Counterexample as Counterexample
    from attention_core.conformance.report.law_result import LawResult as LawResult
    from attention_core.conformance.report.results import Report as Report
    from attention_core.declaration.implementation import Implementation as Implementation
    from attention_core.declaration.implementation import TargetError as TargetError

_HOMES = {
    "check_implementation": "attention_core.conformance.engine.verify",
    "parametrize_with_laws": "attention_core.conformance.parametrize",
    "Implementation": "attention_core.declaration.implementation",
    "TargetError": "attention_core.declaration.implementation",
    "Counterexample": "attention_core.conformance.report.law_result",
    "LawResult": "attention_core.conformance.report.law_result",
    "Report": "attention_core.conformance.report.results",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
