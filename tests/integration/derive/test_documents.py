"""derivations/*.md and derivations/README.md.

The documents of derivations/: every step is as its document says, and the table of derivations/README.md is current.
Verdicts may be raised by a proof or not, as time allows, so the table is compared in what holds and what is refuted.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.reading.step import Step

pytestmark = pytest.mark.unmeasured

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "experiments" / "derivation_table" / "run.py"
REGENERATE = "python experiments/derivation_table/run.py > derivations/README.md"


def table() -> ModuleType:
    spec = importlib.util.spec_from_file_location("derivation_table", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


TABLE = table()
TABLE.steps_of = cache(TABLE.steps_of)  # three tests read every document
LINES = [
    line for line in (ROOT / "derivations" / "README.md").read_text(encoding="utf-8").splitlines() if line[:1] == "|"
]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def outcome(verdicts: str) -> Counter[str]:
    """How many of a row's relations hold and how many are refuted."""
    found: Counter[str] = Counter()
    for verdict, count in re.findall(r"([A-Z]+)(?: (\d+))?", verdicts):
        found["refuted" if verdict == "REFUTED" else "holds"] += int(count or 1)
        assert verdict in ("PROVED", "EXACT", "AGREES", "STATISTICAL", "REFUTED")
    return found


@pytest.fixture(autouse=True)
def untraced() -> Iterator[None]:
    """Whole documents more than double their time where each call is traced; other tests measure every part."""
    tracer = sys.gettrace()
    sys.settrace(None)
    yield
    sys.settrace(tracer)


FEW: dict[str, Any] = {"total": 100, "altered": 100, "tuples": 2, "ladder": 20_000}
EFFORTS = {"error_budget": Effort(proofs=False, **FEW)}
"""A third of the cases; the long inequalities of the budget get no proof in any time that a test has.
The table itself is made with all of them, and so is `tox run -e derivations`."""


@pytest.mark.thorough(
    leave_out=(
        "second_gradients",
        "error_budget",
        "averaging",
        "merged_parts",
        "laws",
        "span_corruption",
        "key_query_value",
        "copying",
        "normalised_heads",
        "noisy_keys",
        "scaling",
        "variants",
        "extraction",
        "selection_general",
        "layer_norm",
        "chosen_keys",
        "features",
        "random_features",
        "quantised",
        "projected_heads",
    )
)
@pytest.mark.parametrize("path", TABLE.documents(), ids=lambda path: path.stem)
def test_every_step_is_as_its_document_says(path: Path) -> None:
    report = check_document(path, effort=EFFORTS.get(path.stem, Effort(**FEW)))
    assert report.passed, [(s.line, s.id, str(s.verdict), s.evidence.text) for s in report.steps if not s.passed]
    shown = {tuple(row[:4]): row[4] for row in map(cells, LINES)}
    for line in TABLE.lines_of(path, report).values():
        *row, verdicts = cells(line)
        assert outcome(shown[tuple(row)]) == outcome(verdicts), f"{line}\n{REGENERATE}"


@pytest.mark.thorough(
    leave_out=(
        "error_budget",
        "averaging",
        "scaling",
        "copying",
        "key_query_value",
        "noisy_keys",
        "span_corruption",
        "attention",
        "merged_parts",
        "variants",
        "normalised_heads",
        "extraction",
        "chosen_keys",
        "selection_general",
        "argmax",
        "laws",
        "rotary",
        "features",
        "layer_norm",
        "second_gradients",
        "random_features",
        "quantised",
        "synthesizer",
        "lora",
        "masking",
        "selection",
    )
)
@pytest.mark.parametrize("path", TABLE.documents(), ids=lambda path: path.stem)
def test_every_step_is_so_where_undeclared_symbols_are_read_too(path: Path) -> None:
    report = check_document(path, effort=EFFORTS.get(path.stem, Effort(**FEW)), infer=True)
    assert report.passed, [(s.line, s.id, str(s.verdict), s.evidence.text) for s in report.steps if not s.passed]


def test_the_table_lists_every_step_of_every_document_and_nothing_else() -> None:
    rows = [row for path in TABLE.documents() for row in TABLE.rows_of(path)]
    order = sorted(rows, key=lambda row: (row.source == "own", row.source, row.question, row.document))
    assert [cells(line)[:4] for line in LINES[2:]] == [cells(row.text(""))[:4] for row in order], REGENERATE


def test_steps_of_documents_have_names_and_sources_have_the_form_that_is_read() -> None:
    for path in TABLE.documents():
        unnamed = [row.step for row in TABLE.rows_of(path) if re.fullmatch(r"line-\d+", row.step)]
        assert not unnamed, (path.name, unnamed)
        said = re.findall(r"(?m)^Sources? \d{3}.*$", path.read_text(encoding="utf-8"))
        assert all(TABLE.SAID.match(line) for line in said), (path.name, said)


def test_every_source_and_every_wrong_claim_is_there() -> None:
    rows = [cells(line) for line in LINES[2:]]
    assert {row[0] for row in rows} == {"000", "001", "002", "003", "004", "own"}
    refuted = {row[3] for row in rows if "REFUTED" in row[4]}
    assert refuted >= {
        "larger-than-sum", "own-score-is-largest", "mean-equal-scores", "two-equal-scores", "printed-query-quoted-error",
        "third-key-unit-mean", "about-the-same", "supposed", "indexed-from-one", "explodes", "validation-perplexity",
        "sentences", "others-without-orthogonality", "one-head-averages",
    }  # fmt: skip


@pytest.mark.parametrize("path", sorted((ROOT / "derivations").glob("*.md")), ids=lambda path: path.stem)
def test_every_document_says_that_its_hypotheses_are_formulas(path: Path) -> None:
    if path.name != "README.md":
        steps = [step for step in TABLE.steps_of(path.read_text(encoding="utf-8"))[0] if isinstance(step, Step)]
        assert steps and all(step.context.formal is not None for step in steps)
