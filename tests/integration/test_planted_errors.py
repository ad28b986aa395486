# Errors planted in right steps are refuted: a few documents, the kinds of break that cannot leave a step true there.
# All documents and all kinds: tox run -e derivations, with its figures in docs/derivation_figures.md.
"""Breaks of right steps."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from attention_core.derivation.check import Step, decide_step, steps_of
from attention_core.derivation.decide import Effort

ROOT = Path(__file__).resolve().parents[2]
CHOSEN = {
    "lora": {"factor", "transpose"},
    "extraction": {"factor", "transpose", "exponent"},
    "parameter_counts": {"factor", "exponent"},
    "softmax_backward": {"factor", "transpose"},
    "online_softmax": {"factor", "index"},
    "scaling": {"bound", "exponent"},
}
TRUE = {
    ("extraction", "projection[2]", "transpose"),  # M = M instead of M = M^T
    ("scaling", "jacobian-norm", "exponent"),  # a norm of at most 1/2 cubed is smaller still
    ("scaling", "two-keys[3]", "exponent"),
    ("scaling", "vanishes", "exponent"),
}


def breaks_module() -> ModuleType:
    path = ROOT / "experiments" / "planted_errors" / "breaks.py"
    spec = importlib.util.spec_from_file_location("planted_breaks", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("document", CHOSEN)
def test_a_planted_error_is_refuted_with_small_sizes(document: str) -> None:
    text = (ROOT / "derivations" / f"{document}.md").read_text(encoding="utf-8")
    tried = 0
    for step in steps_of(text)[0]:
        assert isinstance(step, Step)
        if step.option("expect") or step.option("as"):
            continue
        for one in breaks_module().breaks(step):
            if one.kind not in CHOSEN[document] or (document, step.id, one.kind) in TRUE:
                continue
            tried += 1
            found = decide_step(one.step, Effort())
            if one.what.startswith("coefficient") and found.verdict in ("PROVED", "EXACT"):
                continue  # a term that is 0 may be doubled
            assert found.verdict == "REFUTED", (step.id, one.kind, one.what, found.verdict, found.evidence.text)
            if found.counterexample is not None:
                known = step.context.symbols
                sizes = [
                    int(v) for n, v in found.counterexample.values.items() if n in known and known[n].kind == "size"
                ]
                assert max(sizes, default=0) <= 3
    assert tried >= 9


def test_every_kind_of_break_is_made() -> None:
    steps = [
        step
        for path in sorted((ROOT / "derivations").glob("*.md"))
        for step in steps_of(path.read_text(encoding="utf-8"))[0]
        if isinstance(step, Step) and not step.option("expect")
    ]
    module = breaks_module()
    counts = [len({one.kind for one in module.breaks(step)}) for step in steps]
    kinds = {one.kind for step in steps for one in module.breaks(step)}
    assert kinds == {"factor", "sign", "index", "transpose", "exponent", "bound", "hypothesis", "off by one"}
    assert sum(counts) / len(counts) >= 3
