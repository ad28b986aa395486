"""The same right and broken equations put to SymPy's parse_latex with simplify and equals, and to math-verify.

A tool accepts, rejects, or cannot read or decide within the time. Neither reads declarations, so both are asked whether
the two sides are the same expression.
"""

from __future__ import annotations

import signal
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from attention_core.derivation.latex.printer import to_latex
from attention_core.derivation.reading.step import Step

SECONDS = 5
Tool = Callable[[Step], str]


class TooLong(BaseException):
    """The time is up; no `Exception`, so that no tool takes it for one of its own."""


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Stop what runs inside after some seconds of processor time, so that a busy machine takes none away."""

    def stop(signum: int, frame: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def with_sympy(step: Step) -> str:
    """parse_latex, then simplify, then equals."""
    from sympy import simplify
    from sympy.parsing.latex import parse_latex

    left, right = (parse_latex(to_latex(side)) for side in (step.left, step.right))
    if simplify(left - right) == 0:
        return "accepts"
    equal = left.equals(right)
    return "cannot tell" if equal is None else "accepts" if equal else "rejects"


def with_math_verify(step: Step) -> str:
    """An answer grader."""
    from math_verify import parse, verify

    left, right = (parse(f"${to_latex(side)}$", parsing_timeout=None) for side in (step.left, step.right))
    if not left or not right:
        return "cannot tell"
    return "accepts" if verify(left, right, timeout_seconds=None) else "rejects"


TOOLS: dict[str, Tool] = {"SymPy": with_sympy, "math-verify": with_math_verify}


def ask(name: str, step: Step) -> dict[str, Any]:
    """A tool's answer, or that it has none, and how long it took; what is missing here is no answer."""
    import_of(name)
    start = time.process_time()
    try:
        with limited(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            says = TOOLS[name](step)
    except (Exception, TooLong) as error:  # whatever a foreign parser raises means that it cannot tell
        return {"says": "cannot tell", "why": type(error).__name__, "seconds": time.process_time() - start}
    return {"says": says, "seconds": time.process_time() - start}


def import_of(name: str) -> None:
    """Raise ImportError where the tool is not installed, before its silence would count as an answer."""
    import antlr4  # noqa: F401

    if name == "math-verify":
        import math_verify  # noqa: F401
    else:
        import sympy.parsing.latex  # noqa: F401
