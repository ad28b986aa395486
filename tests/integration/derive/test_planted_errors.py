"""Breaks of right steps.

Errors planted in right steps are refuted: a few documents, the kinds of break that cannot leave a step true there.
All documents and all kinds: tox run -e derivations, with its figures in docs/derivation_figures.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from attention_core.derivation.effort import Effort
from attention_core.derivation.judge import decide_step
from attention_core.derivation.reading.step import Step
from attention_core.derivation.reading.steps import steps_of

pytestmark = pytest.mark.unmeasured

ROOT = Path(__file__).resolve().parents[3]
HOME = ROOT / "experiments" / "planted_errors"
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


@pytest.fixture(scope="module")
def planted() -> Iterator[dict[str, ModuleType]]:
    """The modules of experiments/planted_errors, which are scripts beside one another."""
    sys.path.insert(0, str(HOME))
    try:
        import breaks
        import displays
        import numeric

        yield {module.__name__: module for module in (breaks, displays, numeric)}
    finally:
        sys.path.remove(str(HOME))


def right_steps(*documents: str) -> list[Step]:
    """Steps that are not expected to be refuted."""
    paths = [ROOT / "derivations" / f"{d}.md" for d in documents] or sorted((ROOT / "derivations").glob("*.md"))
    steps = [s for path in paths for s in steps_of(path.read_text(encoding="utf-8"))[0]]
    return [s for s in steps if isinstance(s, Step) and not s.option("expect")]


@pytest.mark.parametrize("document", CHOSEN)
def test_a_planted_error_is_refuted_with_small_sizes(document: str, planted: dict[str, ModuleType]) -> None:
    tried = 0
    for step in right_steps(document):
        if step.option("as"):
            continue
        for one in planted["breaks"].breaks(step):
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


@pytest.mark.thorough
def test_every_kind_of_break_is_made(planted: dict[str, ModuleType]) -> None:
    steps = right_steps()
    made = [list(planted["breaks"].breaks(step)) for step in steps]
    kinds = {one.kind for some in made for one in some}
    assert kinds == {"factor", "sign", "index", "transpose", "exponent", "bound", "hypothesis", "off by one"}
    assert sum(len(some) < 3 for some in made) <= 4
    names = [(step.id, step.line, one.kind, one.what) for step, some in zip(steps, made, strict=True) for one in some]
    assert len(set(names)) > 0.99 * len(names), "a break is named by its step, its kind and what it changes"


CAN = ("extraction", "online_softmax", "sensitivity", "span_corruption", "laws")


@pytest.mark.parametrize("document", CAN)
def test_the_second_opinion_finds_no_fault_in_right_steps_and_doubled_sides_false(
    document: str, planted: dict[str, ModuleType]
) -> None:
    told = 0
    for step in right_steps(document)[::2]:
        found = planted["numeric"].opinion(step, 3)
        assert found["says"] in ("holds", "cannot"), (step.id, found)
        told += found["says"] == "holds"
        for one in planted["breaks"].breaks(step):
            if one.what == "right side doubled" and found["says"] == "holds" and not step.option("as"):
                assert planted["numeric"].opinion(one.step, 6)["says"] == "false", (step.id, one.what)
    assert told >= 2


RULES = [
    ("\\nabla_x (x^\\top x) = 2 x", True), ("\\nabla_x (x^\\top x) = x", False),
    ("\\operatorname{Var}[z^\\top u] = \\sigma^2 u^\\top u", True), ("\\operatorname{Var}[z^\\top u] = \\sigma u^\\top u", False),
    ("\\max_{i} x_i \\le \\|x\\|", True), ("\\|x\\| \\le \\max_{i} x_i", False),
    ("\\operatorname{softmax}(x + \\mathbf{1}_d) = \\operatorname{softmax}(x)", True),
    ("\\operatorname{softmax}(2 x) = \\operatorname{softmax}(x)", False),
    ("\\lim_{s \\to \\infty} \\frac{s + 1}{s} = 1", True), ("\\lim_{s \\to \\infty} \\frac{2 s + 1}{s} = 1", False),
    ("\\sum_{i=1}^{d} x_i u_i = x^\\top u", True), ("\\sum_{i=1}^{d} x_i^2 = x^\\top u", False),
]  # fmt: skip


@pytest.mark.parametrize(("formula", "true"), RULES)
def test_the_second_opinion_computes(formula: str, true: bool, planted: dict[str, ModuleType]) -> None:
    head = "Let $d \\in \\mathbb{N}$, $x, u \\in \\mathbb{R}^{d}$, $s, \\sigma > 0$ and $z \\sim \\mathcal{N}(x, \\sigma^2 I_d)$.\n\n"
    (step,) = steps_of(f"{head}$$ {formula} $$\n")[0]
    assert isinstance(step, Step)
    assert planted["numeric"].opinion(step, 24)["says"] == ("holds" if true else "false")


def run(results: Path, *arguments: str) -> str:
    """The command, on one small document."""
    command = [sys.executable, str(HOME / "run.py"), "masking_rates", "--results", str(results), *arguments]
    environment = {k: v for k, v in os.environ.items() if k != "ATTENTION_CORE_DATA"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=ROOT)
    return done.stdout


@pytest.mark.thorough
def test_a_run_goes_on_where_it_was_stopped_and_the_page_comes_from_what_is_kept(tmp_path: Path) -> None:
    kept = tmp_path / "pieces.jsonl"
    assert run(tmp_path, "--only", "right", "--only", "breaks") == ""
    whole = kept.read_text(encoding="utf-8").splitlines()
    kept.write_text("\n".join(whole[:-2]) + "\n" + whole[-2][:20], encoding="utf-8")  # stopped while it wrote
    run(tmp_path, "--only", "right", "--only", "breaks")
    again = kept.read_text(encoding="utf-8").splitlines()
    assert again[: len(whole) - 2] == whole[:-2] and again[len(whole) - 2] == whole[-2][:20]
    keys = [json.loads(line)["key"] for line in again if line.endswith("}")]
    assert sorted(keys) == sorted(json.loads(line)["key"] for line in whole)
    page = run(tmp_path, "--page")
    assert "0 decisions" in page and "| factor |" in page and "Not measured: math-verify" in page
    refuted = sum(json.loads(line)["verdict"] == "REFUTED" for line in whole)
    assert f"of these {refuted} are refuted" in page
